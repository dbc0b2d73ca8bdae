"""How far does a count out of κ spread?  Variance and what is made of it, with intervals by the delta method."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simspec.claims.lab import Observed
from simspec.stats.intervals import Floats, standard_error, student


@dataclass(frozen=True)
class Spread:
    """A function of mean m and variance v of a count out of κ, with its slopes in both."""

    value: Callable[[float, float, int], float]
    by_mean: Callable[[float, float, int], float]
    by_variance: Callable[[float, float, int], float]


SPREADS = {
    "variance": Spread(lambda m, v, k: v, lambda m, v, k: 0.0, lambda m, v, k: 1.0),
    "variance of the share": Spread(lambda m, v, k: v / k**2, lambda m, v, k: 0.0, lambda m, v, k: 1.0 / k**2),
    "deviation of the share": Spread(
        lambda m, v, k: math.sqrt(v) / k, lambda m, v, k: 0.0, lambda m, v, k: 0.5 / (k * math.sqrt(v))
    ),
    "relative deviation": Spread(
        lambda m, v, k: math.sqrt(v) / m,
        lambda m, v, k: -math.sqrt(v) / m**2,
        lambda m, v, k: 0.5 / (m * math.sqrt(v)),
    ),
    "variance over the binomial one": Spread(
        lambda m, v, k: v / (m * (1.0 - m / k)),
        lambda m, v, k: -v * (1.0 - 2.0 * m / k) / (m * (1.0 - m / k)) ** 2,
        lambda m, v, k: 1.0 / (m * (1.0 - m / k)),
    ),
}
"""Name → spread of the number accepted."""


def observed_spread(
    spread: Spread, kappa: int, n: Floats, first: Floats, second: Floats, weight: np.ndarray | None, level: float
) -> Observed:
    """A spread from Σ1, Σx and Σx² of each unit, by the delta method."""
    many = np.ones(n.shape) if weight is None else np.asarray(weight, np.float64)
    total, units = float(n @ many), int(many.sum())
    mean = float(first @ many) / total
    variance = float(second @ many) / total - mean**2
    of_mean = (first - mean * n) / total
    of_variance = (second - 2.0 * mean * first + (mean**2 - variance) * n) / total
    slopes = spread.by_mean(mean, variance, kappa), spread.by_variance(mean, variance, kappa)
    half = student(level, units) * float(standard_error(slopes[0] * of_mean + slopes[1] * of_variance, weight))
    return Observed.around(spread.value(mean, variance, kappa), half, int(total))
