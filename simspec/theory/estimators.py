"""How good is an acceptance rate estimated from a number of windows?

A window accepts A drafts and examines N = min(A + 1, κ).  Accepted over examined estimates α; accepted over drafted
estimates E[A]/κ, which is not α once κ > 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simspec.theory.law import FloatArray, moments
from simspec.theory.ranges import EXACT_KAPPA_LIMIT, check_least, check_range

_PANELS = np.concatenate(([0.0], 2.0 ** np.arange(-16.0, 7.0)))
"""Ends of the panels of the integrals below; e^(−64) is left out."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


@dataclass(frozen=True)
class Estimator:
    """Exact moments of an estimate from independent windows.

    Attributes
    ----------
    mean, var : float
        Mean and variance of the estimate.
    asymptotic_var : float
        The leading term of the variance as the number of windows grows.
    """

    mean: float
    var: float
    asymptotic_var: float


def accepted_over_examined(alpha: float, kappa: int, windows: int) -> Estimator:
    """ΣA/ΣN, the maximum-likelihood estimate of α.

    Parameters
    ----------
    alpha : float
        Acceptance rate of one examined draft, 0 ≤ alpha ≤ 1.
    kappa : int
        Draft length, 1 ≤ kappa ≤ 1000.
    windows : int
        Number of independent windows n, ≥ 1.

    Returns
    -------
    Estimator
        Biased downwards by a term of order 1/n; its asymptotic variance is α(1 − α)/(n·E[N]).

    Raises
    ------
    ParameterError
        If an argument is out of range.

    Notes
    -----
    1/ΣN and 1/ΣN² are Laplace integrals of e^(−sΣN), and windows are independent, so both moments of ΣA/ΣN − α are
    one integral over the transform of one window; with D = A − αN, whose mean is 0, nothing cancels.

    References
    ----------
    Negative-binomial sampling cut at κ; α(1 − α)/E[N] is the inverse Fisher information of a window.

    Examples
    --------
    >>> found = accepted_over_examined(0.7, 4, 8)
    >>> round(found.mean, 5), round(8 * found.asymptotic_var, 6)
    (0.6828, 0.082906)
    """
    _check(alpha, kappa, windows)
    accepted = np.arange(kappa + 1.0)
    examined = np.minimum(accepted + 1.0, kappa)
    chance = _window(alpha, kappa)
    excess = accepted - alpha * examined
    u, weight = _quadrature()
    s = u[:, None] / windows
    fall = np.log1p(np.maximum(np.expm1(-s * (examined - 1.0)) @ chance, -1.0 + 1e-16))  # ln e^s E[e^(−sN)]
    first = np.expm1(-s * examined) @ (chance * excess)  # E[D e^(−sN)], as E[D] = 0
    second = np.exp(-s * examined) @ (chance * excess**2)
    one = np.exp((windows - 1) * fall - u + s[:, 0])  # the transform of the n − 1 other windows
    bias = float(weight @ (first * one))
    square = second * one
    if windows > 1:
        square += (windows - 1) * first**2 * np.exp((windows - 2) * fall - u + 2.0 * s[:, 0])
    spread = float(weight @ (u * square)) / windows
    asymptotic = alpha * (1.0 - alpha) / (windows * float(chance @ examined))
    return Estimator(mean=min(max(alpha + bias, 0.0), 1.0), var=max(spread - bias**2, 0.0), asymptotic_var=asymptotic)


def accepted_over_drafted(alpha: float, kappa: int, windows: int) -> Estimator:
    """ΣA/(nκ), what engines print as the acceptance rate.

    Parameters
    ----------
    alpha : float
        Acceptance rate of one examined draft, 0 ≤ alpha ≤ 1.
    kappa : int
        Draft length, 1 ≤ kappa ≤ 1000.
    windows : int
        Number of independent windows n, ≥ 1.

    Returns
    -------
    Estimator
        Mean E[A]/κ = α(1 − α^κ)/(κ(1 − α)) and variance Var(A)/(nκ²), which is also its asymptotic variance.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Leviathan, Kalman, Matias (2023), Eq. (1), for E[A] + 1.

    Examples
    --------
    >>> round(accepted_over_drafted(0.7, 4, 8).mean, 5)
    0.44327
    """
    _check(alpha, kappa, windows)
    mean, var = moments(_window(alpha, kappa))
    var /= windows * kappa**2
    return Estimator(mean=mean / kappa, var=var, asymptotic_var=var)


def _check(alpha: float, kappa: int, windows: int) -> None:
    check_range("alpha", alpha, 0, 1)
    check_range("kappa", kappa, 1, EXACT_KAPPA_LIMIT)
    check_least("windows", windows, 1)


def _window(alpha: float, kappa: int) -> FloatArray:
    """P(A = j), j = 0 … κ."""
    survival = np.power(alpha, np.arange(kappa + 1.0))
    return np.append(survival[:-1] * (1.0 - alpha), survival[-1])


def _quadrature() -> tuple[FloatArray, FloatArray]:
    """Points and weights of ∫₀^∞ du of a function that falls like e^(−u) and varies on scales above 1e-4."""
    low, width = _PANELS[:-1, None], np.diff(_PANELS)[:, None]
    return (low + 0.5 * width * (1.0 + _NODES)).ravel(), (0.5 * width * _WEIGHTS).ravel()
