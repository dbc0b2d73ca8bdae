"""Drafting never waits: target passes run beside it on copies of the target: distributed speculative inference."""

from __future__ import annotations

from typing import ClassVar, Literal

from simspec.model.cost import Cost
from simspec.model.rounds import DraftLaw, End, RoundTable
from simspec.model.schemes.drafting import always_drafted, one_rate
from simspec.model.schemes.scheme import Scheme, Schemes


@Schemes.add
class Parallel(Scheme):
    """A target pass starts after every κ drafts, and drafting goes on; κ is the lookahead.

    A round is a block of κ drafts.  A block that is accepted takes its drafting alone, its pass being hidden by what is
    drafted meanwhile; where a draft is rejected, the pass that judges it is waited for.  That of the first draft starts
    with the block, that of the others behind it.  There is no bonus token.  It takes 1/(κ·c_d) copies of the target.

    References
    ----------
    Timor et al. (2024), Distributed Speculative Inference.

    Examples
    --------
    >>> table = Parallel().rounds(DraftLaw(((0.5,),) * 2), 2)
    >>> [(kind.tokens, kind.steps, kind.waits) for kind in table.kinds]
    [(1, 0, True), (2, 2, False), (2, 2, True)]
    """

    usual_kappas: ClassVar[tuple[int, ...]] = tuple(range(1, 17))

    type: Literal["parallel"] = "parallel"

    def priced(self, cost: Cost) -> Cost:
        return always_drafted(cost)

    def rounds(self, draft: DraftLaw, kappa: int) -> RoundTable:
        table, rate = RoundTable(), one_rate(draft, kappa, "blocks")
        for j in range(kappa):
            # the pass before this block judges its first draft, the pass behind it the others
            lost = table.end(j, kappa, steps=kappa if j else 0, rejected=True)
            full: int | End = table.end(kappa, kappa, rejected=False, tokens=kappa, waits=False)
            table.add([(rate, j + 1 if j + 1 < kappa else full), (1.0 - rate, lost)])
        return table
