"""One chain of κ drafts per round, verified in one target pass."""

from __future__ import annotations

from typing import Any, Literal

from simspec.model.cost import Cost
from simspec.model.process import KAPPA_LIMIT
from simspec.model.rounds import DraftLaw, End, RoundTable
from simspec.model.schemes.drafting import Drafting, by_steps
from simspec.model.schemes.scheme import Schemes


@Schemes.add
class Chain(Drafting):
    """One chain of κ drafts per round, verified in one target pass.

    Parameters
    ----------
    drafting : {"depth", "window", "node"}
        Whether a draft step is paid per draft (a draft model, EAGLE, one prediction head reused over depth; the same as
        per node) or once for all of them (heads side by side, block drafters).
    heads : int
        Drafts made by one step: n heads side by side, used again for draft n + 1.

    References
    ----------
    Leviathan, Kalman, Matias (2023), Algorithm 1; Gloeckle et al. (2024), Better & Faster Large Language Models via
    Multi-token Prediction (heads side by side).

    Examples
    --------
    >>> table = Chain().rounds(DraftLaw(((0.7,), (0.5,))), 2)
    >>> len(table.states), len(table.kinds)
    (2, 3)
    >>> heads, cost = Chain(drafting="window"), Cost(c_d=0.1)
    >>> [round(scheme.priced(cost).of_round(3, rejected=False), 12) for scheme in (Chain(), heads, Chain(heads=2))]
    [1.3, 1.1, 1.2]
    """

    type: Literal["chain"] = "chain"

    @property
    def chained(self) -> bool:
        return True

    def chain_steps(self, drafted: int) -> int:
        return self.steps(drafted, drafted)

    def priced(self, cost: Cost) -> Cost:
        if self.chain_steps(KAPPA_LIMIT) == KAPPA_LIMIT:
            return cost
        return by_steps(cost, [self.chain_steps(drafted) for drafted in range(KAPPA_LIMIT + 1)])

    def identity(self) -> dict[str, Any]:
        own = super().identity()
        return {key: value for key, value in own.items() if (key, value) != ("drafting", "node")}  # a node is a level

    def rounds(self, draft: DraftLaw, kappa: int) -> RoundTable:
        return chain_rounds(draft, kappa)


def chain_rounds(draft: DraftLaw, kappa: int) -> RoundTable:
    """The table of a chain: draft after draft until one is rejected."""
    table = RoundTable()
    rates = draft.rates(kappa)
    for j, rate in enumerate(rates):
        following: int | End = j + 1 if j + 1 < kappa else table.end(kappa, kappa)
        table.add([(rate, following), (1.0 - rate, table.end(j, kappa))])
    if not rates:
        table.add([(1.0, table.end(0, 0))])
    return table
