"""Is a share, or tokens per round, of two runs really different?  From totals by independent unit.

Differences of ratio estimators with the sum of both variances, or the variance of paired differences, and Student's
quantile (Welch).  Where a share has few hits or misses, its interval comes from the interval of each run (Clopper and
Pearson, with fewer trials where units hang together), and p is the level at which that interval reaches 0.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from simspec.stats.counts import FEW_EVENTS
from simspec.stats.intervals import Ratio, ratio, standard_error, student
from simspec.stats.request_sums import FEW_ENDS, Interval, mean_between, proportion_interval

Counts = NDArray[np.int64] | NDArray[np.float64]
SMALLEST_P = 1e-15
"""Levels closer to 1 cannot be told from it."""


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Rounds of one run at one κ by independent unit.

    Attributes
    ----------
    rounds : int array (units, kappa + 1)
        Rounds of a unit that accepted exactly 0 … kappa drafts; fractions where rounds are weighted.
    weight : int array (units,) or None
        Units alike per row; None: one each.
    """

    rounds: Counts
    weight: Counts | None = None

    @classmethod
    def alone(cls, counts: Counts) -> Outcomes:
        """Every round a unit of its own.

        Examples
        --------
        >>> Outcomes.alone(np.array([3, 0, 2])).weight.tolist()
        [3, 2]
        """
        seen = np.flatnonzero(counts)
        rounds = np.zeros((len(seen), len(counts)), np.int64)
        rounds[np.arange(len(seen)), seen] = 1
        return cls(rounds, np.asarray(counts, np.int64)[seen])

    @property
    def kappa(self) -> int:
        """Draft length."""
        return int(self.rounds.shape[1]) - 1

    @property
    def units(self) -> int:
        """Independent units."""
        return len(self.rounds) if self.weight is None else int(np.sum(self.weight))

    @functools.cached_property
    def reached(self) -> Counts:
        """Rounds with at least 0 … kappa drafts accepted, (units, kappa + 1)."""
        out: Counts = np.flip(self.rounds, 1).cumsum(1)[:, ::-1]
        return out

    @functools.cached_property
    def accepted(self) -> Counts:
        """Accepted drafts of each unit."""
        return np.asarray(self.rounds @ np.arange(self.kappa + 1))

    def total(self, values: Counts) -> int:
        """Sum over units."""
        weighted = values if self.weight is None else values * self.weight
        return int(weighted.sum())

    def share(self, j: int) -> Share:
        """S_j: rounds that accepted drafts 1 … j, of all rounds."""
        reached = self.reached
        return Share(reached[:, j], reached[:, 0], self.weight)


@dataclass(frozen=True, eq=False)
class Share:
    """One share of one run by independent unit: hits of those at risk; ``weight`` units alike, None: one each."""

    hits: Counts
    risk: Counts
    weight: Counts | None = None

    @classmethod
    def alone(cls, hits: int, risk: int) -> Share:
        """Every trial a unit of its own.

        Examples
        --------
        >>> Share.alone(2, 5).weight.tolist()
        [2, 3]
        """
        kinds = [(1, hits), (0, risk - hits)]
        kept = np.array([own for own in kinds if own[1] > 0], np.int64).reshape(-1, 2)
        return cls(kept[:, 0], np.ones(len(kept), np.int64), kept[:, 1])


@dataclass(frozen=True)
class Change:
    """One quantity in two runs.

    Attributes
    ----------
    a, b, difference : float
        NaN where a run has nothing at risk; ``difference`` is b − a.
    low, high : float
        Interval of the difference.
    error : float
        Its standard error; 0 where no unit differs from another.
    freedom : float
        Degrees of freedom of the error.
    """

    a: float
    b: float
    difference: float
    low: float
    high: float
    error: float
    freedom: float
    interval: Callable[[float], Interval] | None = field(default=None, repr=False, compare=False)

    @functools.cached_property
    def p_value(self) -> float:
        """Two-sided chance of a difference as large between runs alike, not below 1e-15; NaN where none is known."""
        from scipy.special import stdtr

        if math.isnan(self.error):
            return math.nan
        if self.difference == 0.0:
            return 1.0
        if self.interval is not None:
            return _level_reaching_zero(self.interval)
        if not self.error > 0.0:
            return math.nan
        return max(SMALLEST_P, 2.0 * float(stdtr(self.freedom, -abs(self.difference) / self.error)))


NOTHING = Change(math.nan, math.nan, math.nan, math.nan, math.nan, math.nan, math.nan)


def share_change(a: Share, b: Share, level: float = 0.95, pairs: bool = False) -> Change:
    """Difference of a share between two runs.

    Parameters
    ----------
    a, b : Share
        With ``pairs``, row for row the same unit, without weights.
    level : float
        Of the interval.
    pairs : bool

    References
    ----------
    Zou and Donner (2008), *Construction of confidence limits about effect measures*, for the interval of a difference
    from those of its terms; Korn and Graubard (1998) for these where trials depend on each other.

    Examples
    --------
    >>> own = share_change(Share.alone(70, 100), Share.alone(52, 100))
    >>> round(own.difference, 2), round(own.low, 2), round(own.high, 2), round(own.p_value, 3)
    (-0.18, -0.31, -0.04, 0.012)
    """
    a, b = _at_risk(a, b) if pairs else (_at_risk(a)[0], _at_risk(b)[0])
    if not (len(a.risk) and len(b.risk)):
        return NOTHING
    ratios = (ratio(a.hits[None], a.risk[None], a.weight), ratio(b.hits[None], b.risk[None], b.weight))
    few = min(_fewest(a), _fewest(b)) < FEW_EVENTS
    return _change(
        ratios, level, pairs, (lambda own: [_share_interval(a, own), _share_interval(b, own)]) if few else None
    )


def mean_change(a: Outcomes, b: Outcomes, level: float = 0.95, pairs: bool = False) -> Change:
    """Difference of tokens per round, E = accepted + 1, between two runs at one κ.

    Examples
    --------
    >>> own = mean_change(Outcomes.alone(np.array([30, 20, 50])), Outcomes.alone(np.array([50, 20, 30])))
    >>> round(own.a, 2), round(own.difference, 2), own.p_value < 0.01
    (2.2, -0.4, True)
    """
    ratios = (_mean(a), _mean(b))
    few = min(min(_fewest(own.share(1)), _fewest(own.share(own.kappa))) for own in (a, b)) < FEW_ENDS
    ends = (lambda own: [mean_interval(a, own), mean_interval(b, own)]) if few else None
    found = _change(ratios, level, pairs, ends)
    return replace(found, a=found.a + 1.0, b=found.b + 1.0)


def difference_of(
    a: float, b: float, error_a: float, error_b: float, units_a: int, units_b: int, level: float = 0.95
) -> Change:
    """Difference of two figures with known errors, from so many independent units each.

    Examples
    --------
    >>> round(difference_of(3.53, 3.43, 0.034, 0.034, 4_816, 4_816).p_value, 3)
    0.038
    """
    error, freedom = math.hypot(error_a, error_b), _freedom([error_a, error_b], [units_a - 1, units_b - 1])
    half = error * _student(level, freedom)
    return Change(a, b, b - a, b - a - half, b - a + half, error, freedom)


def mean_interval(own: Outcomes, level: float = 0.95) -> Interval:
    """Interval of accepted drafts per round; wider where too few acceptances, or rejections, show their spread.

    Examples
    --------
    >>> [round(end, 3) for end in mean_interval(Outcomes.alone(np.array([300, 0, 0])))]
    [0.0, 0.024]
    """
    share = _mean(own)
    half = student(level, own.units) * float(share.error[0]) if own.units > 1 else math.inf
    ends = own.total(own.reached[:, 1]), own.total(own.reached[:, own.kappa])
    rounds, accepted = own.total(own.reached[:, 0]), own.total(own.accepted)
    return mean_between(own.kappa, rounds, accepted, ends, half, lambda j: _share_interval(own.share(j), level))


def _mean(own: Outcomes) -> Ratio:
    return ratio(own.accepted[None], own.reached[None, :, 0], own.weight)


def _change(
    ratios: tuple[Ratio, Ratio], level: float, pairs: bool, ends: Callable[[float], list[Interval]] | None
) -> Change:
    a, b = (float(r.value[0]) for r in ratios)
    own, sizes = [float(r.error[0]) for r in ratios], [r.units - 1 for r in ratios]
    if pairs:
        error, freedom = float(standard_error(ratios[1].influence - ratios[0].influence)[0]), float(sizes[0])
    else:
        error, freedom = math.hypot(*own), _freedom(own, sizes)
    gap = b - a
    if ends is None:
        half = error * _student(level, freedom)
        return Change(a, b, gap, gap - half, gap + half, error, freedom)
    together = 0.0
    if pairs and own[0] > 0.0 < own[1]:
        together = max(-1.0, min(1.0, (own[0] ** 2 + own[1] ** 2 - error**2) / (2.0 * own[0] * own[1])))

    def interval(at: float) -> Interval:
        (a_low, a_high), (b_low, b_high) = ends(at)
        return gap - _joined(b - b_low, a_high - a, together), gap + _joined(b_high - b, a - a_low, together)

    return Change(a, b, gap, *interval(level), error, freedom, interval)


def _student(level: float, freedom: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + level / 2)) if freedom > 0.0 else math.inf


def _level_reaching_zero(interval: Callable[[float], Interval]) -> float:
    """1 less the level at which the interval just holds 0, by bisection of its logarithm."""
    low, high = math.log(SMALLEST_P), 0.0
    for _ in range(30):
        middle = (low + high) / 2.0
        ends = interval(1.0 - math.exp(middle))
        low, high = (middle, high) if ends[0] <= 0.0 <= ends[1] else (low, middle)
    return math.exp(high)


def _joined(x: float, y: float, together: float) -> float:
    return math.sqrt(max(0.0, x * x + y * y - 2.0 * together * x * y))


def _freedom(errors: list[float], sizes: list[int]) -> float:
    """Degrees of freedom after Welch and Satterthwaite."""
    below = sum(error**4 / size for error, size in zip(errors, sizes, strict=True) if size > 0)
    alone = [float(size) for size in sizes if size > 0]
    if not alone:
        return 1.0
    return sum(error**2 for error in errors) ** 2 / below if below > 0.0 else max(alone)


def _at_risk(*shares: Share) -> tuple[Share, ...]:
    """Without the units that had nothing at risk in any of the runs."""
    kept = np.sum([own.risk for own in shares], axis=0) > 0
    return tuple(
        Share(own.hits[kept], own.risk[kept], None if own.weight is None else own.weight[kept]) for own in shares
    )


def _fewest(own: Share) -> int:
    """Hits or misses, whichever are fewer."""
    weight = 1 if own.weight is None else own.weight
    return int(min((own.hits * weight).sum(), ((own.risk - own.hits) * weight).sum()))


def _share_interval(own: Share, level: float) -> Interval:
    found = ratio(own.hits[None], own.risk[None], own.weight)
    trials = int((own.risk * (1 if own.weight is None else own.weight)).sum())
    if own.weight is not None:
        return proportion_interval(float(found.value[0]), trials, level)
    error = float(found.error[0]) if found.units > 1 else math.inf
    return proportion_interval(float(found.value[0]), trials, level, error, found.units)
