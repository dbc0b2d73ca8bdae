"""All masks of a block filled in parallel, by a schedule or where the model is confident: LLaDA, Fast-dLLM."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from simspec.model.base import Probability
from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.model.loss import Loss
from simspec.model.rounds import DraftLaw, RoundTable
from simspec.model.schemes.drafting import undrafted
from simspec.model.schemes.scheme import Scheme, Schemes


@Schemes.add
class Unmask(Scheme):
    """Blocks of κ + 1 masks; a round is a pass over the whole block, κ + 1 wide, which fills some of them.

    Without ``steps`` a pass fills every confident mask, or the most confident one if none is (Fast-dLLM).  With
    ``steps`` it fills as many as the schedule says, the most confident ones, and masks the others again (LLaDA).

    Every mask that is left gets a confidence of its own in every pass.  The process says its law: one rate is the
    chance that a mask is confident; an ``hmm`` with equal rows has the confidences ``alphas``, and ``tau`` says which
    count as confident.  Nothing is verified and nothing rejected: a pass that fills m masks emits m tokens and counts
    as m − 1 accepted.  Speed says nothing of quality; a proxy for it, no measure, is counted as lost: tokens filled in
    though they were not confident.

    Parameters
    ----------
    steps : int, optional
        Passes per block, 1 to κ + 1: (κ + 1)/steps tokens each, the first (κ + 1) mod steps passes one more.
    tau : float, optional
        Least confidence that counts as confident, for confidences by state; a proxy alone where there are ``steps``.

    References
    ----------
    Nie et al. (2025), LLaDA; Wu et al. (2025), Fast-dLLM.

    Examples
    --------
    >>> table = Unmask().rounds(DraftLaw(((0.5,),)), 1)
    >>> [(kind.tokens, kind.start, kind.lost) for kind in table.kinds], table.first
    ([(1, 1, 1), (1, 1, 0), (2, 0, 0), (1, 0, 1), (1, 0, 0)], [(0.5714285714285714, 0), (0.42857142857142855, 1)])
    >>> table = Unmask(steps=2).rounds(DraftLaw(((0.5,),) * 2), 2)
    >>> [(kind.tokens, kind.start, kind.lost) for kind in table.kinds]
    [(2, 1, 0), (2, 1, 1), (2, 1, 2), (1, 0, 0), (1, 0, 1)]
    """

    usual_kappas: ClassVar[tuple[int, ...]] = (7, 15, 31, 63)

    type: Literal["unmask"] = "unmask"
    steps: Annotated[int, Field(ge=1, le=10_000)] | None = None
    tau: Probability | None = None

    @property
    def kappas(self) -> tuple[int, ...]:
        """A schedule takes blocks at least as long as it has passes."""
        if self.steps is None:
            return super().kappas
        return tuple(kappa for kappa in sorted({*super().kappas, self.steps - 1}) if kappa >= self.steps - 1)

    @property
    def lossless(self) -> bool:
        return False

    @property
    def loses(self) -> Loss:
        below = "that were not confident" if self.tau is None else f"whose confidence was below {self.tau:g}"
        return Loss(f"share of tokens filled in {below}", proxy=True)

    def priced(self, cost: Cost) -> Cost:
        return undrafted(cost)

    def rounds(self, draft: DraftLaw, kappa: int) -> RoundTable:
        if draft.tokens is not None:
            draft.rates(kappa)  # says that tokens have no rates
        chance = self._confident(draft) if kappa or draft.alphas else 1.0
        return _by_confidence(kappa, chance) if self.steps is None else self._by_schedule(kappa, chance, self.steps)

    def _confident(self, draft: DraftLaw) -> float:
        """Chance that a mask is confident in a pass."""
        if draft.states == 1:
            if self.tau is not None:
                raise ParameterError(
                    "tau", "tau has no confidences to be compared with: one rate is the chance of being confident; "
                    "allowed: tau with an hmm of equal rows"
                )  # fmt: skip
            return draft.rates(1)[0]
        if len(set(draft.moves)) > 1:
            raise ParameterError(
                "process", "rows of P differ; allowed: equal rows, so that masks have confidences alike"
            )
        if self.tau is None:
            raise ParameterError("tau", "tau is missing; it says which confidences of the process count as confident")
        sure = sum(share for share, own in zip(draft.first, draft.alphas[0], strict=True) if own >= self.tau)
        return min(sure, 1.0)

    def _by_schedule(self, kappa: int, chance: float, steps: int) -> RoundTable:
        """State t is pass t of a block; it fills k of the masks left, of which all beyond the confident are unsure."""
        length, table = kappa + 1, RoundTable()
        if steps > length:
            raise ParameterError(
                "steps", f"steps = {steps} for {length} masks leaves passes without a token; allowed: 1 to kappa + 1"
            )
        each, more = divmod(length, steps)
        left = length
        for step in range(steps):
            filled = each + (step < more)
            law = binomial(left, chance)
            unsure = [sum(law[filled:]), *(law[filled - u] for u in range(1, filled + 1))]
            start = (step + 1) % steps
            ends = [
                table.end(filled - 1, kappa, steps=0, rejected=False, start=start, lost=u) for u in range(filled + 1)
            ]
            table.add(list(zip(unsure, ends, strict=True)))
            left -= filled
        table.first = [(1.0 / steps, step) for step in range(steps)]
        return table


def _by_confidence(kappa: int, chance: float) -> RoundTable:
    """State i has i masks of the block filled."""
    table, length = RoundTable(), kappa + 1
    visits = [1.0] + [0.0] * length  # of the state with i masks filled, per block
    for filled in range(length):
        left = length - filled
        law = binomial(left, chance)
        outcomes = []
        for confident, share in enumerate(law):
            tokens = max(confident, 1)
            visits[filled + tokens] += visits[filled] * share
            start = (filled + tokens) % length
            unsure = int(confident == 0)
            end = table.end(tokens - 1, kappa, steps=0, rejected=False, tokens=tokens, start=start, lost=unsure)
            outcomes.append((share, end))
        table.add(outcomes)
    passes = sum(visits[:length])
    table.first = [(own / passes, state) for state, own in enumerate(visits[:length])]
    return table


def binomial(trials: int, chance: float) -> list[float]:
    """Law of how many of so many happen.

    Examples
    --------
    >>> binomial(2, 0.5)
    [0.25, 0.5, 0.25]
    """
    return [math.comb(trials, m) * chance**m * (1.0 - chance) ** (trials - m) for m in range(trials + 1)]
