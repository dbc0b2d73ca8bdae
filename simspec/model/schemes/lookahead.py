"""Several n-grams verified side by side, the best of them kept: lookahead decoding."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from simspec.model.base import Probability
from simspec.model.cost import Cost
from simspec.model.rounds import DraftLaw, End, RoundTable
from simspec.model.schemes.drafting import undrafted
from simspec.model.schemes.scheme import Scheme, Schemes

Many = Annotated[int, Field(ge=1, le=10_000)]


@Schemes.add
class Lookahead(Scheme):
    """G candidates of κ = N − 1 tokens each, independently accepted token by token; the longest one is kept.

    There is no draft model, so no draft step is paid; candidates and window widen every pass.

    Parameters
    ----------
    candidates : int
        G ≥ 1.
    window : int
        W ≥ 0: tokens per level of the branch that makes new n-grams; they widen every pass.
    good : float
        Share of the steps that have candidates, 1/f; in the others all are rejected, so that they make one token and
        pay c_r as well.

    References
    ----------
    Fu, Bailis, Stoica, Zhang (2024), Lookahead Decoding, Eq. (5).

    Examples
    --------
    >>> table = Lookahead(candidates=7, window=5).rounds(DraftLaw(((0.5,),) * 4), 4)
    >>> {kind.drafted for kind in table.kinds}, max(kind.accepted for kind in table.kinds)
    ({48}, 4)
    """

    type: Literal["lookahead"] = "lookahead"
    candidates: Many = Field(description="candidates verified side by side")
    window: Annotated[int, Field(ge=0, le=10_000)] = 0
    good: Probability = 1.0

    def priced(self, cost: Cost) -> Cost:
        return undrafted(cost)

    def rounds(self, draft: DraftLaw, kappa: int) -> RoundTable:
        table = RoundTable()
        rates = draft.rates(kappa)
        length = len(rates)
        width = length * (self.candidates + self.window)

        def end(best: int) -> End:
            return table.end(best, width, steps=0, rejected=best < length)

        law, reach = list[float](), 1.0
        for rate in rates:
            law.append(reach * (1.0 - rate))
            reach *= rate
        law.append(reach)
        table.add([(1.0 - self.good, end(0)), (self.good, 1)])
        # state 1 + g·length + b: candidate g comes next, the best so far has b < length tokens
        for g in range(self.candidates if length else 1):
            for best in range(max(length, 1)):
                outcomes = list[tuple[float, int | End]]()
                for run, chance in enumerate(law):
                    longest = max(best, run)
                    over = longest == length or g + 1 == self.candidates
                    outcomes.append((chance, end(longest) if over else 1 + (g + 1) * length + longest))
                table.add(outcomes)
        return table
