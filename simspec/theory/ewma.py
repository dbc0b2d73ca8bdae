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

_TERMS, _BLOCK = 1 << 17, 64
"""Most terms of the sine series of P(estimate < level), and how many are taken first; then as many as there were."""
_NOTHING = 1e-12
"""Sum of the sizes of a block of terms after which no further one is taken."""
_NEAR = 0.3
"""Angle from which on all further outcomes together are known by their cumulants."""
_CUMULANTS = 16
_SMOOTHEST = 1.0 - 1e-6
_RAREST = 0.02


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
        Change of the rate per outcome, −1 ≤ slope ≤ 1.
    smoothing : float
        λ, 0 ≤ smoothing < 1.

    Returns
    -------
    float
        slope·λ/(1 − λ): the present rate minus the mean of the estimate.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    Examples
    --------
    >>> round(ewma_drift_bias((0.85 - 0.62) / 49), 4)
    0.0266
    """
    check_range("slope", slope, -1, 1)
    _check(smoothing)
    return slope * smoothing / (1.0 - smoothing)


def ewma_below(alpha: float, level: float, smoothing: float = 0.85) -> float:
    """How often the estimate lies below a level although the rate is constant.

    Parameters
    ----------
    alpha : float
        Acceptance rate of one examined draft: 0, 1, or .02 ≤ alpha ≤ .98; a rarer outcome makes a law of steps.
    level : float
        The level, 0 ≤ level ≤ 1.
    smoothing : float
        λ, max(alpha, 1 − alpha) ≤ smoothing ≤ .999999, and at least ½: below, the law of the estimate is too rough.

    Returns
    -------
    float
        Long-run P(estimate < level), to 1e-6 at the least smoothing and to 1e-9 where the rarer outcome has 1½ times
        its chance there.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    Notes
    -----
    The estimate is (1 − λ) Σ λ^k A_k, a Bernoulli convolution.  With φ its characteristic function, a square wave in
    place of the step gives F(x) = ½ + Σ 2/(πn) Im(e^(iπnx) φ(−πn)) over odd n, without an error but that of the terms
    left out.  |φ(t)| falls like t^−γ with γ = ln max(α, 1 − α)/ln λ, which is 1 or more in the range allowed.  Below
    λ = α^α(1 − α)^(1 − α) the law has no density at all.

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
    if alpha in (0.0, 1.0):
        _check(smoothing)
        return float(level > alpha)
    check_range("alpha", alpha, _RAREST, 1.0 - _RAREST)
    check_range("smoothing", smoothing, max(alpha, 1.0 - alpha), _SMOOTHEST)
    at, wave = _waves(alpha, smoothing)
    total = 0.5 + float((wave * np.exp(1j * level * at)).imag.sum())
    return min(max(total, 0.0), 1.0)


@functools.lru_cache(maxsize=8)
def _waves(alpha: float, smoothing: float) -> tuple[FloatArray, npt.NDArray[np.complex128]]:
    """The series of one law for all levels: t = πn over odd n, and 2/t·φ(−t)."""
    places, waves, first, last = [], [], 0, _BLOCK
    while first < _TERMS:
        t = math.pi * (2.0 * np.arange(first, last) + 1.0)
        places.append(t)
        waves.append(2.0 / t * _transform(alpha, smoothing, np.asarray(-t, np.float64)))
        if np.abs(waves[-1]).sum() < _NOTHING:
            break
        first, last = last, 2 * last
    return np.concatenate(places), np.concatenate(waves)


def _transform(alpha: float, smoothing: float, t: FloatArray) -> npt.NDArray[np.complex128]:
    """E exp(it·estimate): outcomes one by one while their angle is large, the rest by cumulants."""
    angle = (1.0 - smoothing) * t
    many = max(0, math.ceil(math.log(_NEAR / float(np.abs(angle).max())) / math.log(smoothing)))
    found = np.ones(t.shape, np.complex128)
    for _ in range(many):
        found *= 1.0 - alpha + alpha * np.exp(1j * angle)
        if not (np.abs(found) > _NOTHING**2).any():
            return found
        angle = smoothing * angle
    power, rest = np.ones(t.shape, np.complex128), np.zeros(t.shape, np.complex128)
    for j, cumulant in enumerate(_cumulants(alpha), start=1):
        power = power * 1j * angle / j
        rest += cumulant * power / (1.0 - smoothing**j)
    return np.asarray(found * np.exp(rest))


def _cumulants(alpha: float) -> list[float]:
    """Of one outcome: the first is α, each further one α(1 − α) times the derivative of the last in α."""
    found, polynomial = [], np.polynomial.Polynomial([0.0, 1.0])
    for _ in range(_CUMULANTS):
        found.append(float(polynomial(alpha)))
        polynomial = np.polynomial.Polynomial([0.0, 1.0, -1.0]) * polynomial.deriv()
    return found


def _check(smoothing: float) -> None:
    check_range("smoothing", smoothing, 0, 1)
    check_inside("smoothing", smoothing, -1, 1)
