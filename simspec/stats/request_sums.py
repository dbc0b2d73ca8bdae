"""How sure is a share of rounds when the rounds of one request hang together, and requests come one at a time?

The ratio estimator of `simspec.stats.clusters`, from sums of products: memory does not grow with the requests.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from simspec.stats.intervals import proportion, student

Interval = tuple[float, float]
FEW_ENDS = 20
"""Rounds with an acceptance, or a rejection, below which the spread of lengths is not trusted alone."""


def proportion_interval(
    value: float, trials: int, level: float, error: float | None = None, units: int = 0
) -> Interval:
    """Clopper–Pearson interval of one proportion; with the ``error`` of ``units`` requests, of fewer trials.

    Examples
    --------
    >>> [round(end, 3) for end in proportion_interval(0.5, 100, 0.95)]
    [0.398, 0.602]
    >>> [round(end, 3) for end in proportion_interval(0.5, 100, 0.95, error=0.1, units=8)]
    [0.255, 0.745]
    """
    fresh = error is None
    if error is not None:  # Student's quantile in place of the normal one: few requests know their own spread badly
        error *= student(level, units) / student(level, 10**9)
    if fresh or not math.isfinite(error or 0.0):
        low, high = proportion(np.array([value]), None, np.array([trials if fresh else 1]), 1, True, level)
    else:
        low, high = proportion(np.array([value]), np.array([error]), np.array([trials]), units, False, level)
    return (float(low[0]), float(high[0]))


def mean_between(
    kappa: int, rounds: int, accepted: int, reached: Interval, half: float, share: Callable[[int], Interval]
) -> Interval:
    """Interval of accepted drafts per round; wider where too few acceptances, or rejections, show their spread.

    Each acceptance, or rejection, is then worth what those seen are worth on average, or as much as it can be, and
    there are as many as the interval of their share lets be.

    Parameters
    ----------
    kappa, rounds, accepted : int
        Longest draft, rounds, and accepted drafts in all.
    reached : (int, int)
        Rounds that accepted the first draft, and all ``kappa``.
    half : float
        Half the interval from the spread; infinite where a single unit shows none.
    share : callable
        Interval of S_j, j = 1 or ``kappa``.

    Examples
    --------
    >>> mean_between(2, 300, 0, (0, 0), 0.0, lambda j: proportion_interval(0.0, 300, 0.95))[1] > 0.02
    True
    """
    if kappa == 0:
        return (0.0, 0.0)
    mean, (hits, full) = accepted / rounds, reached
    low, high = (mean - half, mean + half) if math.isfinite(half) else (0.0, float(kappa))
    if hits < FEW_ENDS:
        worth = accepted / hits if hits else kappa
        far = [worth * end for end in share(1)]
        low, high = min(low, *far), max(high, *far)
    if rounds - full < FEW_ENDS:
        worth = (kappa * rounds - accepted) / (rounds - full) if rounds > full else kappa
        far = [kappa - worth * (1.0 - end) for end in share(kappa)]
        low, high = min(low, *far), max(high, *far)
    return max(0.0, low), min(float(kappa), high)


@dataclass
class RequestSums:
    """Sums over requests of products of their totals.

    Attributes
    ----------
    requests : int
        Requests with at least one round.
    rounds, squares : int
        Σ n and Σ n² over requests, n the rounds of one.
    reached : list of int
        ``reached[j]``: Σ c_j, c_j the rounds of one request with more than j drafts accepted.
    reached_sq, with_rounds, with_before : list of int
        Σ c_j², Σ c_j·n, Σ c_j·c_{j−1}.
    """

    requests: int = 0
    rounds: int = 0
    squares: int = 0
    accepted: int = 0
    accepted_sq: int = 0
    accepted_rounds: int = 0
    reached: list[int] = field(default_factory=list)
    reached_sq: list[int] = field(default_factory=list)
    with_rounds: list[int] = field(default_factory=list)
    with_before: list[int] = field(default_factory=list)

    def add(self, rounds: int, reached: Sequence[int]) -> None:
        """One request: its rounds, and for each position how many of them accepted it."""
        if rounds == 0:
            return
        for column in (self.reached, self.reached_sq, self.with_rounds, self.with_before):
            column.extend([0] * (len(reached) - len(column)))
        accepted = sum(reached)
        self.requests += 1
        self.rounds += rounds
        self.squares += rounds * rounds
        self.accepted += accepted
        self.accepted_sq += accepted * accepted
        self.accepted_rounds += accepted * rounds
        before = rounds
        for j, count in enumerate(reached):
            self.reached[j] += count
            self.reached_sq[j] += count * count
            self.with_rounds[j] += count * rounds
            self.with_before[j] += count * before
            before = count

    def survival(self, j: int, level: float) -> Interval:
        """Interval of the share of rounds with more than j drafts accepted.

        Examples
        --------
        >>> sums = RequestSums()
        >>> for rounds, first in ((10, 9), (10, 5), (20, 14)):
        ...     sums.add(rounds, [first])
        >>> [round(end, 2) for end in sums.survival(0, 0.95)]
        [0.24, 0.97]
        """
        error = self._error(self.reached_sq[j], self.with_rounds[j], self.squares, self.reached[j], self.rounds)
        return proportion_interval(self.reached[j] / self.rounds, self.rounds, level, error, self.requests)

    def conditional(self, j: int, level: float) -> Interval | None:
        """Interval of the acceptance of draft j + 1 where draft j was accepted; None where it never was."""
        if j == 0:
            return self.survival(0, level)
        before = self.reached[j - 1]
        if before == 0:
            return None
        error = self._error(self.reached_sq[j], self.with_before[j], self.reached_sq[j - 1], self.reached[j], before)
        return proportion_interval(self.reached[j] / before, before, level, error, self.requests)

    def mean_accepted(self, level: float) -> Interval:
        """Interval of the mean accepted length of a round."""
        error = self._error(self.accepted_sq, self.accepted_rounds, self.squares, self.accepted, self.rounds)
        ends = (self.reached[0], self.reached[-1]) if self.reached else (0, 0)
        half = error * student(level, self.requests) if self.requests > 1 else math.inf
        kappa = len(self.reached)
        return mean_between(kappa, self.rounds, self.accepted, ends, half, lambda j: self.survival(j - 1, level))

    def _error(self, xx: int, xy: int, yy: int, x: int, y: int) -> float:
        """Standard error of Σx/Σy; whole numbers cancel before they are divided."""
        if self.requests < 2:
            return math.inf
        squared = (xx * y * y - 2 * x * y * xy + x * x * yy) / y**4
        return math.sqrt(squared * self.requests / (self.requests - 1))
