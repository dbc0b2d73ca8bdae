"""What do measured rounds say, with errors that know which rounds belong to one request?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simspec.stats.intervals import Floats, ratio, student

Ints = NDArray[np.int64]
Statistic = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Figure:
    """A value with its interval; ``units`` requests stand behind it."""

    value: float
    low: float
    high: float
    error: float
    units: int


def by_request(values: NDArray[np.generic], offsets: Ints) -> Floats:
    """Sum of ``values`` over the rounds of each request."""
    running = np.concatenate([[0.0], np.cumsum(np.asarray(values, np.float64))])
    return np.asarray(running[offsets[1:]] - running[offsets[:-1]])


def share(hits: NDArray[np.generic], at_risk: NDArray[np.generic], offsets: Ints, level: float = 0.95) -> Figure:
    """Σ hits over Σ at_risk with an error between requests (ratio estimator).

    Examples
    --------
    >>> share(np.array([1, 0, 1, 1]), np.ones(4), np.array([0, 2, 4])).value
    0.75
    """
    top, bottom = by_request(hits, offsets), by_request(at_risk, offsets)
    kept = bottom > 0
    own = ratio(top[kept][None, :], bottom[kept][None, :])
    units = int(kept.sum())
    half = student(level, units) * float(own.error[0]) if units > 1 else float("inf")
    value = float(own.value[0])
    return Figure(value, value - half, value + half, float(own.error[0]) if units > 1 else float("nan"), units)


def jackknife(sums: Floats, statistic: Statistic, level: float = 0.95) -> Figure:
    """A statistic of sums over requests; its error by leaving out one request at a time.

    Parameters
    ----------
    sums : array (sums, requests)
    statistic : callable
        From sums of shape (sums, …) to values of shape (…).
    level : float
        Of the Student interval.

    References
    ----------
    Efron and Stein (1981), section 2, for the jackknife error of a function of sums.

    Examples
    --------
    >>> jackknife(np.array([[1.0, 3.0], [2.0, 2.0]]), lambda s: s[0] / s[1]).value
    1.0
    """
    kept = sums[:, np.abs(sums).sum(axis=0) > 0.0]
    total, units = kept.sum(axis=1), kept.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(statistic(total[:, None])[0])
        without = statistic(total[:, None] - kept)
    if units < 2 or not (np.isfinite(value) and np.isfinite(without).all()):
        return Figure(value, float("nan"), float("nan"), float("nan"), units)
    error = float(np.sqrt((units - 1) / units * ((without - without.mean()) ** 2).sum()))
    half = student(level, units) * error
    return Figure(value, value - half, value + half, error, units)


def successive_correlation(values: NDArray[np.generic], offsets: Ints, within: bool, level: float = 0.95) -> Figure:
    """Correlation of neighbouring values inside a request; error by leaving one request out at a time.

    Parameters
    ----------
    values : array (rounds,)
        E.g. accepted lengths, or whether the first draft was accepted.
    offsets : int64 array (requests + 1,)
    within : bool
        Whether each request's own mean is taken off first, which leaves only what happens inside a request (and is
        biased down by about one over the rounds of a request).
    level : float

    Returns
    -------
    Figure
        NaN where values do not vary.
    """
    x = np.asarray(values, np.float64)
    if within:
        sizes = np.diff(offsets)
        x = x - np.repeat(by_request(x, offsets) / np.maximum(sizes, 1), sizes)
    later = np.ones(len(x), bool)
    later[offsets[:-1][np.diff(offsets) > 0]] = False  # the first round of a request has no predecessor inside it
    earlier = np.roll(later, -1)
    earlier[-1] = False
    pair = np.zeros((5, len(x)))
    pair[:, later] = [np.ones(later.sum()), x[earlier], x[later], x[earlier] * x[later], x[earlier] ** 2]
    last_sq = np.where(later, x**2, 0.0)
    sums = np.stack([by_request(row, offsets) for row in (*pair, last_sq)])
    return jackknife(sums, _correlation, level)


def _correlation(sums: Floats) -> Floats:
    n, x, y, xy, xx, yy = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        covariance = xy / n - x / n * y / n
        return np.asarray(covariance / np.sqrt((xx / n - (x / n) ** 2) * (yy / n - (y / n) ** 2)))
