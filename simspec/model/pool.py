"""What is a draft copied from what followed the same token last time?  The third form of a round: tokens and a pool."""

from __future__ import annotations

from dataclasses import dataclass

from simspec.model.rounds import RoundKind


@dataclass(frozen=True)
class PoolRounds:
    """The target's tokens come from a chain; a draft follows, from token to token, what came after each when last seen.

    Attributes
    ----------
    target : tuple of rows
        Law of the next token, by the last one.
    kappa : int
        Longest draft; it ends earlier at a token not seen before.
    """

    target: tuple[tuple[float, ...], ...]
    kappa: int

    @property
    def kinds(self) -> list[RoundKind]:
        """By (drafted, accepted): number drafted·(kappa + 1) + accepted; copies take no draft step."""
        return [
            RoundKind(min(a, d), d, 0, a < d, min(a, d) + 1)
            for d in range(self.kappa + 1)
            for a in range(self.kappa + 1)
        ]

    def check(self) -> None:
        """Nothing can be wrong that the process has not said."""
