"""Do two survival curves differ anywhere, do two speeds, and what difference could two runs have shown?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simspec.stats.ab_tests import Change, Outcomes
from simspec.stats.difference import POWER
from simspec.stats.intervals import Floats, ratio

FEW_STOPS = 25
"""Rounds that must end at a position, and go beyond it, in each run, for the joint test to look at it."""
UNITS_PER_POSITION = 4
"""Independent units per position of the joint test, at least: a covariance needs as many and more."""


@dataclass(frozen=True)
class Joint:
    """Test of S_1 … S_positions at once; ``freedom`` of the denominator of F."""

    positions: int
    statistic: float
    freedom: float
    p_value: float


def joint_change(a: Outcomes, b: Outcomes, pairs: bool = False) -> Joint | None:
    """Do the survival curves differ anywhere?  None where no position has enough rounds and units for it.

    References
    ----------
    Yao (1965), *An approximate degrees of freedom solution to the multivariate Behrens–Fisher problem*.

    Examples
    --------
    >>> same, other = np.array([300, 200, 500]), np.array([300, 300, 400])
    >>> joint_change(Outcomes.alone(same), Outcomes.alone(other)).p_value < 1e-5
    True
    """
    positions = _positions(a, b)
    if positions == 0:
        return None
    chosen = slice(1, positions + 1)
    ratios = [ratio(own.reached.T[chosen], own.reached.T[:1], own.weight) for own in (a, b)]
    gap = ratios[1].value - ratios[0].value
    if pairs:
        parts = [_covariance(ratios[1].influence - ratios[0].influence, None, a.units)]
    else:
        parts = [_covariance(r.influence, r.weight, own.units) for r, own in zip(ratios, (a, b), strict=True)]
    sizes = [float(own.units - 1) for own in ((a,) if pairs else (a, b))]
    whole = np.sum(parts, axis=0)
    towards = np.linalg.lstsq(whole, gap, rcond=None)[0]
    statistic = float(gap @ towards)
    if not statistic > 0.0:
        return Joint(positions, 0.0, sum(sizes), 1.0)
    weights = [float(towards @ part @ towards) / statistic for part in parts]
    freedom = 1.0 / sum(weight**2 / size for weight, size in zip(weights, sizes, strict=True))
    return Joint(positions, statistic, freedom, _f_tail(statistic, positions, freedom))


def _f_tail(statistic: float, positions: int, freedom: float) -> float:
    """Chance of a larger T² of Hotelling."""
    from scipy.special import fdtrc

    left = max(1.0, freedom - positions + 1.0)
    return float(fdtrc(positions, left, statistic * left / (max(freedom, left) * positions)))


def _positions(a: Outcomes, b: Outcomes) -> int:
    """How many positions, from the first on, have enough rounds that end there and that go on, and enough units."""
    found = min(a.kappa, int(min(a.units, b.units) / UNITS_PER_POSITION))
    for own in (a, b):
        reached = np.array([own.total(column) for column in own.reached.T])
        enough = (reached[1:] >= FEW_STOPS) & (-np.diff(reached) >= FEW_STOPS)
        found = min(found, int(np.argmin([*enough, False])))
    return found


def _covariance(influence: Floats, weight: NDArray[np.generic] | None, units: int) -> Floats:
    weighted = influence if weight is None else influence * np.asarray(weight, np.float64)
    return np.asarray(weighted @ influence.T) * units / max(units - 1, 1)


def speed_change(a: Sequence[float], b: Sequence[float], level: float = 0.95) -> Change:
    """Difference of mean speed between repeated measurements, Welch's test; NaN error for one measurement each.

    Examples
    --------
    >>> own = speed_change([60.1, 61.0, 59.5, 60.4], [55.0, 56.1, 54.2, 55.5])
    >>> round(own.difference, 2), own.p_value < 0.001
    (-5.05, True)
    """
    from scipy.stats import ttest_ind

    first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)
    means = float(first.mean()), float(second.mean())
    gap = means[1] - means[0]
    if min(len(first), len(second)) < 2 or np.ptp(first) == np.ptp(second) == 0.0:
        return Change(*means, gap, math.nan, math.nan, math.nan, math.nan)
    test = ttest_ind(second, first, equal_var=False)
    low, high = test.confidence_interval(level)
    error = math.sqrt(float(first.var(ddof=1)) / len(first) + float(second.var(ddof=1)) / len(second))
    return Change(*means, gap, float(low), float(high), error, float(test.df))


@dataclass(frozen=True)
class Power:
    """What two runs can tell.

    Attributes
    ----------
    significant : float
        Smallest difference that is beyond chance.
    detectable : float
        Smallest true difference that is found with probability 0.9.
    """

    significant: float
    detectable: float


def power(error: float, freedom: float, level: float = 0.95) -> Power:
    """Smallest differences that two runs can show, from the standard error of their difference.

    Examples
    --------
    >>> own = power(0.034 * 2**0.5, 9_000)
    >>> round(own.significant, 3), round(own.detectable, 3)
    (0.094, 0.156)
    """
    from scipy.special import stdtrit

    beyond = float(stdtrit(freedom, 0.5 + level / 2))
    return Power(error * beyond, error * (beyond + float(stdtrit(freedom, POWER))))


def rounds_needed(per_round: float, shift: float, rounds_per_unit: float = 1.0, level: float = 0.95) -> int:
    """Rounds of each run that find a true difference ``shift`` with probability 0.9.

    Parameters
    ----------
    per_round : float
        Variance of the difference times the rounds of one run: the variance of a round of either run, added, times the
        design effect.
    shift : float
        True difference, > 0.
    rounds_per_unit : float
        Rounds of one independent unit; at least two units are asked for.
    level : float

    Examples
    --------
    >>> rounds_needed(2 * 2.39**2, 0.1)
    12005
    """
    from scipy.special import stdtrit

    needed = 0.0
    for _ in range(8):
        freedom = max(2.0, 2.0 * (needed / rounds_per_unit - 1.0)) if needed else 1e9
        needed = per_round * ((float(stdtrit(freedom, 0.5 + level / 2)) + float(stdtrit(freedom, POWER))) / shift) ** 2
    return math.ceil(max(needed, 2.0 * rounds_per_unit))
