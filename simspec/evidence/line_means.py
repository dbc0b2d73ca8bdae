"""What do log lines say that print a mean without its number of rounds?  Tokens per round, and how far lines differ.

SGLang prints a line every ``decode_log_interval`` decode steps (40 unless set otherwise), and a step verifies one
round of each running request: lines cover equal numbers of steps, and rounds in proportion to the batch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from simspec.stats.intervals import student
from simspec.text import number, plural


@dataclass(frozen=True)
class LineMeans:
    """The mean of printed means.

    Attributes
    ----------
    lines : int
        Lines, at least 1.
    emitted : float
        Tokens per round, each line weighted by its running requests.
    unweighted : float
        The same with lines weighted alike.
    error : float
        Standard error of ``emitted`` between lines; infinite for one line.
    """

    lines: int
    emitted: float
    unweighted: float
    error: float

    def interval(self, level: float) -> tuple[float, float] | None:
        """Interval of ``emitted`` between lines, not below 1; None for one line.

        Examples
        --------
        >>> LineMeans(1, 2.1, 2.1, math.inf).interval(0.95) is None
        True
        """
        if self.lines < 2:
            return None
        half = student(level, self.lines) * self.error
        return (max(1.0, self.emitted - half), self.emitted + half)

    @property
    def says(self) -> str:
        """What is assumed, in words."""
        return (
            f"E is the mean of {plural(self.lines, 'printed accept length')}, weighted by #running-req: the lines hold "
            "no number of rounds, and are taken to cover equal numbers of decode steps (decode_log_interval) at the "
            f"batch they print; weighted alike it is {number(self.unweighted, 3)}; the error is between lines, and "
            "neighbours share requests"
        )


@dataclass
class LineSums:
    """Lines added up: a ratio estimator in memory that does not grow.

    Examples
    --------
    >>> own = LineSums()
    >>> for weight, length in ((8, 2.0), (8, 2.2), (4, 2.4)):
    ...     own.add(weight, length)
    >>> found = own.means()
    >>> round(found.emitted, 2), round(found.unweighted, 2), round(found.error, 2)
    (2.16, 2.2, 0.1)
    """

    lines: int = 0
    length: float = 0.0
    weight: float = 0.0
    product: float = 0.0
    squares: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Σ w², Σ w²·x, Σ w²·x²."""

    def add(self, weight: int, length: float) -> None:
        """One line: its running requests (one at least, as it printed), and its mean."""
        w, (a, b, c) = float(max(1, weight)), self.squares
        self.lines, self.length = self.lines + 1, self.length + length
        self.weight, self.product = self.weight + w, self.product + w * length
        self.squares = (a + w * w, b + w * w * length, c + w * w * length * length)

    def means(self) -> LineMeans | None:
        """The mean with its error; None without a line."""
        if self.lines == 0:
            return None
        mean, (a, b, c) = self.product / self.weight, self.squares
        spread = max(0.0, c - 2.0 * mean * b + mean * mean * a)
        error = math.sqrt(spread * self.lines / (self.lines - 1)) / self.weight if self.lines > 1 else math.inf
        return LineMeans(self.lines, mean, self.length / self.lines, error)
