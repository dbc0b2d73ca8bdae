"""One chain of κ drafts per round, verified in one target pass."""

from __future__ import annotations

from typing import Literal

from simspec.model.rounds import DraftLaw, End, RoundTable
from simspec.model.schemes.scheme import Scheme, Schemes


@Schemes.add
class Chain(Scheme):
    """One chain of κ drafts per round, verified in one target pass.

    References
    ----------
    Leviathan, Kalman, Matias (2023), Algorithm 1.

    Examples
    --------
    >>> table = Chain().rounds(DraftLaw(((0.7,), (0.5,))), 2)
    >>> len(table.states), len(table.kinds)
    (2, 3)
    """

    type: Literal["chain"] = "chain"

    def rounds(self, draft: DraftLaw, kappa: int) -> RoundTable:
        table = RoundTable()
        rates = draft.rates(kappa)
        for j, rate in enumerate(rates):
            following: int | End = j + 1 if j + 1 < kappa else table.end(kappa, kappa)
            table.add([(rate, following), (1.0 - rate, table.end(j, kappa))])
        if not rates:
            table.add([(1.0, table.end(0, 0))])
        return table
