"""What does the article put in place of many rates or many lags (equation 16, sections 6.1 and 6.2)?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from simspec.model.errors import ParameterError
from simspec.theory.article.threshold import (
    variance_factor_asymptotic,
    variance_factor_exchangeable,
    variance_factor_nearest,
)
from simspec.theory.ranges import as_numbers, check_range
from simspec.theory.systems import expected_accepted

LAGS_LIMIT = 1_000_000
"""Longest draft whose lags are added up one by one, in less than a second."""


def variance_factor_all_lags(rho: float, kappa: float) -> float:
    """Variance factor of a two-state chain with every lag: what section 5.1, equation (16), should read.

    Parameters
    ----------
    rho, kappa : float
        Correlation of neighbouring outcomes in [−1, 1], draft length, 1 ≤ kappa ≤ 1,000,000; a
        fraction of κ is dropped.

    Returns
    -------
    float
        1 + 2 Σ_{j<κ} (1 − j/κ) ρ^j.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    See Also
    --------
    simspec.theory.judged_variance_factor : the same for a process, whose ρ must be possible at its α.

    References
    ----------
    Claim C39.

    Examples
    --------
    >>> round(variance_factor_all_lags(0.3, 4), 4), round(variance_factor_all_lags(-0.1, 4), 4)
    (1.5535, 0.8595)
    """
    check_range("rho", rho, -1, 1)
    check_range("kappa", kappa, 1, LAGS_LIMIT)
    return 1.0 + 2.0 * sum((1.0 - lag / int(kappa)) * rho**lag for lag in range(1, int(kappa)))


VARIANCE_FACTORS: dict[str, Callable[[float, float], float]] = {
    "nearest": variance_factor_nearest,
    "asymptotic": variance_factor_asymptotic,
    "exchangeable": variance_factor_exchangeable,
    "all lags": variance_factor_all_lags,
}
"""Reading of equation (16) → factor of (ρ, κ); the last is exact for a two-state chain, the third for exchangeable
outcomes."""


def corrected_variance(alpha: float, rho: float, kappa: float, reading: str) -> float:
    """Variance of the number accepted among κ judged drafts that are correlated: section 5.1, equation (16).

    Correct with "all lags" for a two-state chain and with "exchangeable" for a mixture of windows; it is the variance
    of judged drafts, not of the accepted length of a decoded window.

    Parameters
    ----------
    alpha, rho, kappa : float
        Acceptance rate in [0, 1], correlation of neighbouring outcomes in [−1, 1], draft length ≥ 1.
    reading : str
        A key of `VARIANCE_FACTORS`.

    Returns
    -------
    float
        κα(1 − α) times the factor; negative where no such outcomes exist.

    Raises
    ------
    ParameterError
        If ``reading`` is unknown or a number is out of range.

    See Also
    --------
    simspec.theory.judged_variance_factor : the exact factor of a process.
    simspec.theory.window : Var A of a decoded window, ``var_accepted``.

    References
    ----------
    Claims C38 to C40.

    Examples
    --------
    >>> [round(corrected_variance(0.7, 0.3, 4, reading), 4) for reading in VARIANCE_FACTORS]
    [1.218, 1.56, 1.596, 1.3049]
    """
    if reading not in VARIANCE_FACTORS:
        raise ParameterError("reading", f"reading = {reading!r} is unknown; allowed: {', '.join(VARIANCE_FACTORS)}")
    check_range("alpha", alpha, 0, 1)
    return kappa * alpha * (1.0 - alpha) * VARIANCE_FACTORS[reading](rho, kappa)


def geometric_mean_rate(alphas: Sequence[float]) -> float:
    """The rate that the article puts in place of those of several heads: section 6.2.

    Correct for P(A = κ) alone, the chance that all heads are accepted.

    Parameters
    ----------
    alphas : sequence of float
        Rates of heads 1 … κ, each in [0, 1]; at least one.

    Returns
    -------
    float
        (α_1 ⋯ α_κ)^(1/κ).

    Raises
    ------
    ParameterError
        If ``alphas`` is empty or a rate is out of range.

    See Also
    --------
    simspec.theory.expected_accepted_heads : E[A] = Σ_j α_1 ⋯ α_j.

    References
    ----------
    Claims C47 and C48.

    Examples
    --------
    >>> round(geometric_mean_rate([0.8, 0.6, 0.5, 0.4]), 4)
    0.5566
    """
    rates = as_numbers("alphas", alphas, "rates")
    for rate in rates:
        check_range("alphas", float(rate), 0, 1)
    return float(math.prod(rates) ** (1.0 / rates.size))


def accepted_by_geometric_mean(alphas: Sequence[float]) -> float:
    """Expected accepted length of several heads by their geometric mean: section 6.2.

    Correct: Σ_j α_1 ⋯ α_j, which is larger for falling rates and smaller for rising ones.

    Parameters
    ----------
    alphas : sequence of float
        As in `geometric_mean_rate`.

    Returns
    -------
    float
        E[A] of independent drafts at the geometric mean.

    Raises
    ------
    ParameterError
        As for `geometric_mean_rate`.

    See Also
    --------
    simspec.theory.expected_accepted_heads : the exact value.

    References
    ----------
    Claim C47.

    Examples
    --------
    >>> round(accepted_by_geometric_mean([0.8, 0.6, 0.5, 0.4]), 6)
    1.134936
    """
    return expected_accepted(geometric_mean_rate(alphas), len(alphas))


def accepted_by_mean_confidence(alphas: Sequence[float], weights: Sequence[float], kappa: float) -> float:
    """Expected accepted length of a window of random rate by the mean rate: section 6.1.

    Correct only if the rate is drawn anew for every draft; a branch keeps its rate, and then this is too small.

    Parameters
    ----------
    alphas, weights : sequence of float
        The possible branch confidences in [0, 1] and their probabilities ≥ 0, in any common scale.
    kappa : float
        Draft length, ≥ 0.

    Returns
    -------
    float
        E[A] of independent drafts at E[α_branch].

    Raises
    ------
    ParameterError
        If an argument is out of range.

    See Also
    --------
    simspec.theory.expected_accepted_random_rate : the exact value.
    simspec.theory.lookahead_step : what a step of lookahead decoding yields.

    References
    ----------
    Claim C46.

    Examples
    --------
    >>> round(accepted_by_mean_confidence([0.4, 0.9], [1, 1], 4), 4)
    1.5256
    """
    rates, shares = as_numbers("alphas", alphas, "rates"), as_numbers("weights", weights)
    if shares.shape != rates.shape or not (shares >= 0.0).all():
        raise ParameterError("weights", f"weights = {list(weights)} do not fit; allowed: one number ≥ 0 per rate")
    if not 0.0 < shares.sum() < math.inf:
        raise ParameterError("weights", f"weights = {list(weights)} have no sum; allowed: not all 0, all finite")
    return expected_accepted(float(rates @ shares / shares.sum()), kappa)
