"""What does the article say of latency, speed-up and the best draft length (sections 3 and 4.1, equations 5 to 13)?"""

from __future__ import annotations

import math

from simspec.theory.ranges import check_finite, check_inside, check_positive, check_range


def latency_r1(kappa: float, alpha: float, beta: float) -> float:
    """Latency of a window as the article's text forces it: section 3.1, equation (5), reading R1.

    Correct: one verification pass per round, c0 + κ(c_d + c_v) + c_r·P(A < κ); see `simspec.theory.mean_round_cost`.

    Parameters
    ----------
    kappa, alpha, beta : float
        Draft length ≥ 0, acceptance rate in [0, 1], c_d/c_t ≥ 0.

    Returns
    -------
    float
        κβ + ακ + (1 − α).

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Claim C17.

    Examples
    --------
    >>> round(latency_r1(4, 0.7, 0.1), 4)
    3.5
    """
    _check(kappa, alpha, beta)
    return kappa * beta + alpha * kappa + (1.0 - alpha)


def latency_r4(kappa: float, alpha: float, beta: float) -> float:
    """Latency of a window in the other reading with the limit 1/(α + β): section 3.1, equation (5), reading R4.

    Correct: one verification pass per round, c0 + κ(c_d + c_v) + c_r·P(A < κ); see `simspec.theory.mean_round_cost`.

    Parameters
    ----------
    kappa, alpha, beta : float
        Draft length ≥ 0, acceptance rate in [0, 1], c_d/c_t ≥ 0.

    Returns
    -------
    float
        κβ + ακ + (1 − α^κ).

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Claim C17.

    Examples
    --------
    >>> round(latency_r4(4, 0.7, 0.1), 4)
    3.9599
    """
    _check(kappa, alpha, beta)
    return float(kappa * beta + alpha * kappa + (1.0 - alpha**kappa))


def rho_r1(kappa: float, alpha: float, beta: float) -> float:
    """The article's speed-up under R1: section 3.1, equations (6) and (7).

    Correct: a round yields E[A] + 1 tokens, not κ; see `simspec.theory.speedup`.

    Parameters
    ----------
    kappa, alpha, beta : float
        Draft length > 0, acceptance rate in [0, 1], c_d/c_t ≥ 0.

    Returns
    -------
    float
        κ/(κ(α + β) + 1 − α).

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Claim C18.

    Examples
    --------
    >>> round(rho_r1(4, 0.7, 0.1), 4)
    1.1429
    """
    check_positive("kappa", kappa)
    return kappa / latency_r1(kappa, alpha, beta)


def rho_r4(kappa: float, alpha: float, beta: float) -> float:
    """The article's speed-up under R4: section 3.1, equations (6) and (7).

    Correct: a round yields E[A] + 1 tokens, not κ; see `simspec.theory.speedup`.

    Parameters
    ----------
    kappa, alpha, beta : float
        Draft length > 0, acceptance rate in [0, 1], c_d/c_t ≥ 0.

    Returns
    -------
    float
        κ/(κ(α + β) + 1 − α^κ).

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Claims C18 and C20.

    Examples
    --------
    >>> round(rho_r4(4, 0.7, 0.1), 4)
    1.0101
    """
    check_positive("kappa", kappa)
    return kappa / latency_r4(kappa, alpha, beta)


def rho_infinity(alpha: float, beta: float) -> float:
    """The article's upper bound of the speed-up: section 3.2, equation (9).

    Correct: S(κ) → 0 as κ grows, and its supremum S(κ*) may lie above this; see `simspec.theory.foresight_bound`.

    Parameters
    ----------
    alpha, beta : float
        Acceptance rate in [0, 1] and c_d/c_t ≥ 0.

    Returns
    -------
    float
        1/(α + β); ``inf`` where both are 0.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Claim C21.

    Examples
    --------
    >>> round(rho_infinity(0.7, 0.1), 4)
    1.25
    """
    _check(0, alpha, beta)
    return 1.0 / (alpha + beta) if alpha + beta > 0 else math.inf


def latency_constrained(
    kappa: float, alpha: float, beta: float = 0.1, c_v: float = 0.5, c0: float = 1.0, c_r: float = 1.0
) -> float:
    """Latency with verification and rollback costs: section 3.2, equation (10).

    Correct: it is concave and rising in κ, not convex, so it has no minimum; it must be divided into E[A] + 1.

    Parameters
    ----------
    kappa, alpha, beta, c_v, c0, c_r : float
        Draft length ≥ 0, acceptance rate in [0, 1], and costs ≥ 0 in plain target steps.  The defaults are the typical
        values of section 3.3; c0 = 1 is one target pass.

    Returns
    -------
    float
        κ(β + c_v) + c0 + c_r(1 − α^κ).

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Claim C23.

    Examples
    --------
    >>> round(latency_constrained(4, 0.7), 4)
    4.1599
    """
    _check(kappa, alpha, beta)
    for key, value in (("c_v", c_v), ("c0", c0), ("c_r", c_r)):
        check_finite(key, value, 0)
    return float(kappa * (beta + c_v) + c0 + c_r * (1.0 - alpha**kappa))


def kappa_star_as_coded(alpha: float, beta: float = 0.1, c_v: float = 0.5, c_r: float = 1.0) -> float:
    """The article's best draft length, as its code evaluates it: section 3.2, equation (12), and section 3.3.

    Correct: `simspec.theory.kappa_star_continuous`; this one has two sign errors and rises with β.

    Parameters
    ----------
    alpha, beta, c_v, c_r : float
        Acceptance rate, 0 < alpha < 1; costs in plain target steps, beta + c_v > 0 and c_r > 0.  The defaults are the
        article's.

    Returns
    -------
    float
        ln(c_r ln(1/α)/(β + c_v))/ln α; negative for α < e^(−(β + c_v)/c_r).

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Claims C24 to C27.

    Examples
    --------
    >>> round(kappa_star_as_coded(0.7), 4)
    1.4582
    """
    check_inside("alpha", alpha, 0, 1)
    check_positive("c_r", c_r)
    for key, value in (("beta", beta), ("c_v", c_v), ("c_r", c_r)):
        check_finite(key, value, 0)
    check_positive("beta + c_v", beta + c_v)
    return math.log(c_r * math.log(1.0 / alpha) / (beta + c_v)) / math.log(alpha)


def rho_expansion(kappa: float, alpha: float, beta: float) -> float:
    """First-order expansion of the article's speed-up for large κ: section 4.1, equation (13).

    Correct for R1 only; the true S(κ) falls like 1/((1 − α)βκ).

    Parameters
    ----------
    kappa, alpha, beta : float
        Draft length > 0, acceptance rate in [0, 1], c_d/c_t ≥ 0, alpha + beta > 0.

    Returns
    -------
    float
        (1 − (1 − α)/((α + β)κ))/(α + β).

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Claim C29.

    Examples
    --------
    >>> round(rho_expansion(100, 0.7, 0.1), 4), round(rho_r1(100, 0.7, 0.1), 4)
    (1.2453, 1.2453)
    """
    check_positive("kappa", kappa)
    _check(kappa, alpha, beta)
    check_positive("alpha + beta", alpha + beta)
    return rho_infinity(alpha, beta) * (1.0 - (1.0 - alpha) / ((alpha + beta) * kappa))


def _check(kappa: float, alpha: float, beta: float) -> None:
    check_finite("kappa", kappa, 0)
    check_range("alpha", alpha, 0, 1)
    check_finite("beta", beta, 0)
