"""How far can an estimate be from the truth?  Intervals on independent units: lanes, generations or fresh windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def student(level: float, units: int) -> float:
    """Two-sided Student quantile at ``level`` for ``units`` independent units; infinite for a single one.

    Examples
    --------
    >>> round(student(0.95, 64), 3)
    1.998
    """
    from scipy.special import stdtrit

    return float(stdtrit(units - 1, 0.5 + level / 2)) if units > 1 else float("inf")


@dataclass(frozen=True)
class Ratio:
    """Ratio of sums over independent units, one per row (κ).

    Attributes
    ----------
    value : float array (rows,)
        Σ numerator / Σ denominator.
    influence : float array (rows, units)
        Linearised contribution of each unit to the error of ``value``; sums to zero along a row.
    """

    value: Floats
    influence: Floats

    @property
    def error(self) -> Floats:
        """Standard error per row."""
        return standard_error(self.influence)


def ratio(numerator: NDArray[np.generic], denominator: NDArray[np.generic]) -> Ratio:
    """Ratio of sums with its influence per unit; arrays (rows, units); NaN where the denominator sums to 0."""
    top, bottom = np.asarray(numerator, np.float64), np.asarray(denominator, np.float64)
    total = bottom.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = top.sum(axis=-1, keepdims=True) / total
        influence = (top - value * bottom) / total
    return Ratio(value[..., 0], influence)


def standard_error(influence: Floats) -> Floats:
    """√(L/(L−1)·Σ influence²) along the last axis."""
    units = influence.shape[-1]
    scale = units / (units - 1) if units > 1 else np.inf
    squared = np.einsum("...l,...l->...", influence, influence)
    return np.asarray(np.sqrt(np.where(squared > 0.0, squared, 0.0) * (scale if units > 1 else 1.0)))


def proportion(
    value: Floats, error: Floats, trials: NDArray[np.generic], units: int, fresh: bool, level: float
) -> tuple[Floats, Floats]:
    """Clopper–Pearson interval of a proportion, with the sample size its dependence leaves (Korn and Graubard 1998).

    Parameters
    ----------
    value : float array
        Observed proportion.
    error : float array
        Its standard error from independent units; used only if trials depend on each other.
    trials : array
        Number of trials.
    units : int
        Number of independent units; the sample size where a dependent proportion is 0 or 1, since nothing is then
        known about the dependence.
    fresh : bool
        Whether trials are independent.
    level : float
        Confidence level.

    Returns
    -------
    (low, high)
    """
    from scipy.special import betaincinv

    size = effective_trials(value, error, trials, units, fresh)
    hits = value * size
    tail = (1.0 - level) / 2
    with np.errstate(invalid="ignore"):
        low = np.where(hits <= 0.0, 0.0, betaincinv(hits, np.maximum(size - hits, 0.0) + 1.0, tail))
        high = np.where(hits >= size, 1.0, betaincinv(hits + 1.0, np.maximum(size - hits, 1e-300), 1.0 - tail))
    return low, high


def effective_trials(value: Floats, error: Floats, trials: NDArray[np.generic], units: int, fresh: bool) -> Floats:
    """Number of independent trials that would give this error; all of them where trials are independent."""
    size = np.asarray(trials, np.float64)
    if fresh:
        return size
    binomial = value * (1.0 - value)
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = np.where(error > 0.0, binomial / error**2, float(units))
    return np.asarray(np.minimum(size, np.where(np.isfinite(effective), effective, float(units))))


def quantile(values: NDArray[np.floating[Any]], counts: NDArray[np.int64], share: float) -> float:
    """Smallest value whose cumulative count reaches ``share`` of the total.

    Examples
    --------
    >>> quantile(np.array([1.0, 2.0, 3.0]), np.array([5, 4, 1]), 0.5)
    1.0
    """
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(counts[order])
    return float(values[order][np.searchsorted(reached, share * reached[-1] - 1e-9)])
