"""How good is a rolling estimate e ← λe + (1 − λ)A of the acceptance rate, fed with independent outcomes A?

λ is the smoothing: the weight of the past.  Nothing here says what a controller makes of the estimate.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simspec.theory.law import FloatArray
from simspec.theory.ranges import check_inside, check_range

_CELLS = 1 << 14
"""Grid of the law of the estimate; four times as many cells change P(estimate < .6) by 2e-8."""
_FORGOTTEN = 1e-10
"""Weight of the start below which an estimate is called stationary."""


@dataclass(frozen=True)
class Estimate:
    """Mean and variance of an estimate."""

    mean: float
    var: float


def ewma_moments(smoothing: float, alphas: Sequence[float], initial: float = 0.5) -> Estimate:
    """Estimate after independent outcomes of known rates, from a fixed start.

    Parameters
    ----------
    smoothing : float
        λ, 0 ≤ smoothing < 1.
    alphas : sequence of float
        Acceptance rate of each outcome in order, each in [0, 1]; may be empty.
    initial : float
        The estimate before the first outcome, in [0, 1].

    Returns
    -------
    Estimate
        Mean λ^n·initial + (1 − λ) Σ λ^(n−i) α_i and variance (1 − λ)² Σ λ^(2(n−i)) α_i(1 − α_i).

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Roberts (1959), for constant variance; equation (17) of the article, section 5.2, is one step of it.

    Examples
    --------
    >>> found = ewma_moments(0.85, [0.7] * 200)
    >>> round(found.mean, 6), round(found.var**0.5, 4)
    (0.7, 0.1305)
    """
    _check(smoothing)
    check_range("initial", initial, 0, 1)
    mean, var = float(initial), 0.0
    for alpha in alphas:
        check_range("alphas", alpha, 0, 1)
        mean = smoothing * mean + (1.0 - smoothing) * alpha
        var = smoothing**2 * var + (1.0 - smoothing) ** 2 * alpha * (1.0 - alpha)
    return Estimate(mean, var)


def ewma_deviation(alpha: float, smoothing: float = 0.85) -> float:
    """Long-run standard deviation of the estimate at a constant rate; its mean is the rate.

    Parameters
    ----------
    alpha : float
        Acceptance rate of one examined draft, 0 ≤ alpha ≤ 1.
    smoothing : float
        λ, 0 ≤ smoothing < 1; the article's is .85.

    Returns
    -------
    float
        √(α(1 − α)(1 − λ)/(1 + λ)).

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Roberts (1959); claim C44.

    Examples
    --------
    >>> round(ewma_deviation(0.7), 4), round(ewma_deviation(0.62), 4)
    (0.1305, 0.1382)
    """
    check_range("alpha", alpha, 0, 1)
    return math.sqrt(alpha * (1.0 - alpha) / ewma_effective_sample(smoothing))


def ewma_effective_sample(smoothing: float = 0.85) -> float:
    """Number of outcomes whose plain mean is as noisy as the estimate.

    Parameters
    ----------
    smoothing : float
        λ, 0 ≤ smoothing < 1.

    Returns
    -------
    float
        (1 + λ)/(1 − λ).

    Raises
    ------
    ParameterError
        If ``smoothing`` is out of range.

    Examples
    --------
    >>> round(ewma_effective_sample(0.85), 2)
    12.33
    """
    _check(smoothing)
    return (1.0 + smoothing) / (1.0 - smoothing)


def ewma_half_life(smoothing: float = 0.85) -> float:
    """Number of outcomes after which an old one has half its weight.

    Parameters
    ----------
    smoothing : float
        λ, 0 < smoothing < 1.

    Returns
    -------
    float
        ln ½/ln λ, in outcomes.

    Raises
    ------
    ParameterError
        If ``smoothing`` is out of range.

    Examples
    --------
    >>> round(ewma_half_life(0.85), 2)
    4.27
    """
    check_inside("smoothing", smoothing, 0, 1)
    return math.log(0.5) / math.log(smoothing)


def ewma_drift_bias(slope: float, smoothing: float = 0.85) -> float:
    """How far the estimate lags behind a rate that changes steadily, in the long run.

    Parameters
    ----------
    slope : float
        Change of the rate per outcome.
    smoothing : float
        λ, 0 ≤ smoothing < 1.

    Returns
    -------
    float
        slope·λ/(1 − λ): the present rate minus the mean of the estimate.

    Raises
    ------
    ParameterError
        If ``smoothing`` is out of range.

    Examples
    --------
    >>> round(ewma_drift_bias((0.85 - 0.62) / 49), 4)
    0.0266
    """
    _check(smoothing)
    return slope * smoothing / (1.0 - smoothing)


def ewma_below(alpha: float, level: float, smoothing: float = 0.85) -> float:
    """How often the estimate lies below a level although the rate is constant.

    Parameters
    ----------
    alpha : float
        Acceptance rate of one examined draft, 0 ≤ alpha ≤ 1.
    level : float
        The level, 0 ≤ level ≤ 1.
    smoothing : float
        λ, ½ ≤ smoothing < 1: below ½ the law of the estimate is no longer smooth.

    Returns
    -------
    float
        Long-run P(estimate < level), to about 1e-7.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    Notes
    -----
    The stationary law is F(x) = αF((x − 1 + λ)/λ) + (1 − α)F(x/λ), a Bernoulli convolution; iterating the equation
    forgets the start like λ^n.

    References
    ----------
    Peres, Schlag, Solomyak (2000), Sixty years of Bernoulli convolutions; claim C44.

    Examples
    --------
    >>> [round(ewma_below(alpha, 0.6), 4) for alpha in (0.7, 0.74, 0.8)]
    [0.2223, 0.1398, 0.0549]
    """
    check_range("alpha", alpha, 0, 1)
    check_range("level", level, 0, 1)
    _check(smoothing)
    check_range("smoothing", smoothing, 0.5, 1)
    if alpha in (0.0, 1.0):
        return float(level > alpha)
    return float(np.interp(level, np.linspace(0.0, 1.0, _CELLS + 1), _stationary_law(alpha, smoothing)))


@functools.lru_cache(maxsize=16)
def _stationary_law(alpha: float, smoothing: float) -> FloatArray:
    x = np.linspace(0.0, 1.0, _CELLS + 1)
    law = (x >= alpha).astype(np.float64)
    after_accepted, after_rejected = _places((x - 1.0 + smoothing) / smoothing), _places(x / smoothing)
    for _ in range(math.ceil(math.log(_FORGOTTEN) / math.log(smoothing))):
        law = alpha * _read(law, after_accepted) + (1.0 - alpha) * _read(law, after_rejected)
        law[0], law[-1] = 0.0, 1.0
    return law


_Places = tuple[npt.NDArray[np.int64], FloatArray]


def _places(at: FloatArray) -> _Places:
    """Cell and share of the way through it, of points that may lie outside [0, 1]."""
    scaled = np.clip(at, 0.0, 1.0) * _CELLS
    cell = np.minimum(scaled.astype(np.int64), _CELLS - 1)
    return cell, scaled - cell


def _read(law: FloatArray, places: _Places) -> FloatArray:
    cell, share = places
    return np.asarray(law[cell] + share * (law[cell + 1] - law[cell]))


def _check(smoothing: float) -> None:
    check_range("smoothing", smoothing, 0, 1)
    check_inside("smoothing", smoothing, -1, 1)
