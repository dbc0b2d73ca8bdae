"""How sure is a ratio of sums along a series whose neighbours hang together?  The spread between stretches of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from simspec.stats.intervals import ratio, student

Interval = tuple[float, float]
MOST = 32
"""Stretches kept; when full, neighbours are joined: memory stays constant, and stretches grow with the series."""


@dataclass
class BatchMeans:
    """Sums of equally long stretches of a series.

    Attributes
    ----------
    tops, bottoms : list of int
        Sums above and below the line, by stretch.
    length : int
        Entries of a stretch.

    References
    ----------
    Law (2015), Simulation Modeling and Analysis, section 9.5.3: batch means.

    Examples
    --------
    >>> own = BatchMeans()
    >>> for i in range(1000):
    ...     own.add(4 + i % 3, 8)
    >>> own.length, len(own.tops), [round(end, 3) for end in own.interval(0.95)]
    (32, 32, [0.624, 0.626])
    """

    tops: list[int] = field(default_factory=list)
    bottoms: list[int] = field(default_factory=list)
    length: int = 1
    filled: int = 0

    def add(self, top: int, bottom: int) -> None:
        """The next entry."""
        if not self.tops or self.filled == self.length:
            if len(self.tops) == MOST:
                self.tops, self.bottoms = (
                    [a + b for a, b in zip(own[::2], own[1::2], strict=True)] for own in (self.tops, self.bottoms)
                )
                self.length *= 2
            self.tops.append(0)
            self.bottoms.append(0)
            self.filled = 0
        self.tops[-1] += top
        self.bottoms[-1] += bottom
        self.filled += 1

    @property
    def says(self) -> str:
        """The stretches in words."""
        return f"{len(self.tops)} stretches of {self.length}"

    def interval(self, level: float) -> Interval | None:
        """Of Σ top ÷ Σ bottom; None with fewer than two stretches."""
        if len(self.tops) < 2:
            return None
        own = ratio(np.array(self.tops, np.float64)[None], np.array(self.bottoms, np.float64)[None])
        half = student(level, len(self.tops)) * float(own.error[0])
        value = float(own.value[0])
        return None if not math.isfinite(half) else (value - half, value + half)
