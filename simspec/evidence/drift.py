"""Does the acceptance rate move along a file more than chance allows?  In memory that does not grow with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
_BLOCKS = 64
_MERGED = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
_FEWEST_ROUNDS = 8
"""A block of fewer rounds has no normal sum."""


@dataclass
class Drift:
    """Rounds in order, summed in at most 64 blocks of equal length, which doubles as the file goes on.

    Requests, each with its sums, may stand for rounds.  The statistic is Σ R²/(n·v) over blocks, R the block's sum of
    accepted − α·examined with α of the whole file, n its rounds, v the variance of one round: χ² if rounds are
    independent and alike.  Blocks of several lengths are tried.

    Examples
    --------
    >>> low, high = np.tile([0, 1, 0, 2, 4], 100), np.tile([4, 4, 1, 3, 4], 100)
    >>> steady, moving = Drift(), Drift()
    >>> for pair in ((low, low), (low, high)):
    ...     for own, accepted in zip((steady, moving), pair, strict=True):
    ...         own.add(accepted, np.minimum(accepted + 1, 4))
    >>> steady.chance() > Drift.FALSE_ALARM, moving.chance() < Drift.FALSE_ALARM
    (True, True)
    """

    FALSE_ALARM: ClassVar[float] = 1e-4
    length: int = 1
    rounds: list[int] = field(default_factory=list)
    accepted: list[int] = field(default_factory=list)
    examined: list[int] = field(default_factory=list)
    squares: list[int] = field(default_factory=lambda: [0, 0, 0])

    def add(self, accepted: Ints, examined: Ints) -> None:
        """More rounds, in order."""
        self.squares = [
            total + int(np.dot(a, b))
            for total, (a, b) in zip(
                self.squares, ((accepted, accepted), (accepted, examined), (examined, examined)), strict=True
            )
        ]
        start = 0
        while start < len(accepted):
            if not self.rounds or self.rounds[-1] == self.length:
                if len(self.rounds) == _BLOCKS:
                    self.rounds, self.accepted, self.examined = map(_pairs, (self.rounds, self.accepted, self.examined))
                    self.length *= 2
                for column in (self.rounds, self.accepted, self.examined):
                    column.append(0)
            end = min(len(accepted), start + self.length - self.rounds[-1])
            self.rounds[-1] += end - start
            self.accepted[-1] += int(accepted[start:end].sum())
            self.examined[-1] += int(examined[start:end].sum())
            start = end

    def chance(self) -> float | None:
        """Probability of as much movement without any, over all block lengths (Bonferroni); None for too few rounds."""
        from scipy.special import chdtrc

        n, a, e = (np.array(column, float) for column in (self.rounds, self.accepted, self.examined))
        if e.sum() == 0 or not 0 < a.sum() < e.sum():
            return None
        alpha = a.sum() / e.sum()
        aa, ae, ee = self.squares
        variance = (aa - 2 * alpha * ae + alpha**2 * ee) / n.sum()
        found = []
        for merged in _MERGED:
            rounds, top, bottom = (_merge(column, merged) for column in (n, a, e))
            if len(rounds) > 1 and _long_enough(rounds) and variance > 0:
                found.append(float(chdtrc(len(rounds) - 1, ((top - alpha * bottom) ** 2 / (rounds * variance)).sum())))
        return min(1.0, len(found) * min(found)) if found else None


def _long_enough(rounds: NDArray[np.float64]) -> bool:
    """Whether all blocks but the last, which may have just begun, are long enough."""
    return bool(rounds[:-1].min() >= _FEWEST_ROUNDS)


def _pairs(column: list[int]) -> list[int]:
    return [a + b for a, b in zip(column[::2], column[1::2], strict=True)]


def _merge(column: NDArray[np.float64], by: int) -> NDArray[np.float64]:
    padded = np.append(column, np.zeros(-len(column) % by))
    return np.asarray(padded.reshape(-1, by).sum(axis=1))
