"""What does the article say of a critical α and of fluctuations (sections 4.1, 4.2 and 5.1, equations 14 to 16)?"""

from __future__ import annotations

import math

from simspec.theory.ranges import check_finite, check_inside, check_positive, check_range, check_share


def kappa_09_r1(alpha: float, beta: float) -> float:
    """Draft length for 90% of the bound 1/(α + β), exact under R1: section 4.1, equation (14).

    Correct: `simspec.theory.kappa_for_share`, which rises with α instead of falling.

    Parameters
    ----------
    alpha, beta : float
        Acceptance rate in [0, 1], c_d/c_t ≥ 0, alpha + beta > 0.

    Returns
    -------
    float
        9(1 − α)/(α + β).

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Claims C30 and C32.

    Examples
    --------
    >>> round(kappa_09_r1(0.7, 0.1), 4)
    3.375
    """
    _check(alpha, beta)
    return 9.0 * (1.0 - alpha) / (alpha + beta)


def kappa_09_first_order(alpha: float, beta: float) -> float:
    """Draft length for 90% of the bound 1/(α + β) by the expansion (13): section 4.1, equation (14).

    Correct: `simspec.theory.kappa_for_share`; even under R1 the factor is 9, not 10.

    Parameters
    ----------
    alpha, beta : float
        Acceptance rate in [0, 1], c_d/c_t ≥ 0, alpha + beta > 0.

    Returns
    -------
    float
        10(1 − α)/(α + β).

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Claim C30.

    Examples
    --------
    >>> round(kappa_09_first_order(0.7, 0.1), 4)
    3.75
    """
    _check(alpha, beta)
    return 10.0 * (1.0 - alpha) / (alpha + beta)


def kappa_09_r4(alpha: float, beta: float) -> float:
    """Draft length for 90% of the bound 1/(α + β) under R4: section 4.1, equation (14), implicit.

    Correct: `simspec.theory.kappa_for_share`, which rises with α instead of falling.

    Parameters
    ----------
    alpha, beta : float
        Acceptance rate in [0, 1], c_d/c_t ≥ 0, alpha + beta > 0.

    Returns
    -------
    float
        Smallest κ from which κ(α + β) ≥ 9(1 − α^κ) holds for ever; 0 where it holds from the start.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Claims C30 and C32.

    Examples
    --------
    >>> round(kappa_09_r4(0.7, 0.1), 3)
    11.03
    """
    _check(alpha, beta)
    if alpha == 1.0 or (alpha > 0.0 and alpha + beta >= 9.0 * -math.log(alpha)):
        return 0.0  # a line against a concave curve: no crossing if it starts steeper
    low, high = 0.0, 9.0 / (alpha + beta)  # 1 − α^κ ≤ 1
    for _ in range(200):  # down to one float
        middle = 0.5 * (low + high)
        reached = middle * (alpha + beta) >= 9.0 * (1.0 - alpha**middle)
        low, high = (low, middle) if reached else (middle, high)
    return high


def alpha_c_formula(beta: float) -> tuple[float, float]:
    """The article's critical acceptance rate, and the other root: section 4.1.

    Correct: nothing is critical; drafting pays from `simspec.theory.break_even_alpha` on and gains accelerate with α.

    Parameters
    ----------
    beta : float
        c_d/c_t ≥ 0.

    Returns
    -------
    tuple of float
        1 − β − √((1 − β)² − β²/9), the article's, and 1 − β + √(…); NaN for .75 < beta < 1.5, where neither is real.

    Raises
    ------
    ParameterError
        If ``beta`` is negative.

    References
    ----------
    Claim C31: the article reads .74 off this at β = .1.

    Examples
    --------
    >>> [round(root, 6) for root in alpha_c_formula(0.1)]
    [0.000617, 1.799383]
    """
    check_finite("beta", beta, 0)
    squared = (1.0 - beta) ** 2 - beta**2 / 9.0
    root = math.sqrt(squared) if squared >= 0 else math.nan
    return 1.0 - beta - root, 1.0 - beta + root


def relative_fluctuation_a(alpha: float, kappa: float) -> float:
    """Fluctuation of the judged share, as displayed: section 4.2, equation (15), reading (a).

    Correct for κ judged drafts; the true relative fluctuation of a window is √Var(A)/E[A], which grows with κ.

    Parameters
    ----------
    alpha, kappa : float
        Acceptance rate in [0, 1], draft length > 0.

    Returns
    -------
    float
        √(κα(1 − α))/κ.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Claim C34.

    Examples
    --------
    >>> round(relative_fluctuation_a(0.74, 4), 4)
    0.2193
    """
    check_range("alpha", alpha, 0, 1)
    check_positive("kappa", kappa)
    return math.sqrt(kappa * alpha * (1.0 - alpha)) / kappa


def relative_fluctuation_b(alpha: float, kappa: float) -> float:
    """Fluctuation of the judged share relative to α: section 4.2, equation (15), reading (b), and guide 2 of section 7.

    Correct for κ judged drafts; as a guard it fires more the shorter the draft, so lowering κ makes it fire again.

    Parameters
    ----------
    alpha, kappa : float
        Acceptance rate, 0 < alpha ≤ 1, draft length > 0.

    Returns
    -------
    float
        √((1 − α)/(κα)).

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Claims C34 and C51.

    Examples
    --------
    >>> round(relative_fluctuation_b(0.74, 4), 4)
    0.2964
    """
    check_share("alpha", alpha)
    check_positive("kappa", kappa)
    return math.sqrt((1.0 - alpha) / (kappa * alpha))


def variance_factor_nearest(rho: float, kappa: float) -> float:
    """Variance factor with neighbours correlated and no others: section 5.1, equation (16), reading (i).

    Correct for a two-state chain: `simspec.theory.judged_variance_factor`, with every lag.

    Parameters
    ----------
    rho, kappa : float
        Correlation of neighbouring outcomes in [−1, 1], draft length ≥ 1.

    Returns
    -------
    float
        1 + 2ρ(1 − 1/κ).

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Claim C39.

    Examples
    --------
    >>> round(variance_factor_nearest(0.3, 4), 4)
    1.45
    """
    _check_pair(rho, kappa)
    return 1.0 + 2.0 * rho * (1.0 - 1.0 / kappa)


def variance_factor_asymptotic(rho: float, kappa: float) -> float:
    """Variance factor of a two-state chain as κ → ∞: section 5.1, equation (16), reading (ii).

    Correct only in the limit; at finite κ `simspec.theory.judged_variance_factor`.

    Parameters
    ----------
    rho, kappa : float
        Correlation of neighbouring outcomes, −1 ≤ rho < 1; draft length ≥ 1, without effect.

    Returns
    -------
    float
        (1 + ρ)/(1 − ρ).

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Claim C39.

    Examples
    --------
    >>> round(variance_factor_asymptotic(0.3, 4), 4)
    1.8571
    """
    _check_pair(rho, kappa)
    check_inside("rho", rho, -math.inf, 1)
    return (1.0 + rho) / (1.0 - rho)


def variance_factor_exchangeable(rho: float, kappa: float) -> float:
    """Variance factor with every pair equally correlated: section 5.1, equation (16), reading (iii).

    Correct for exchangeable outcomes, not for a chain; `simspec.theory.judged_variance_factor` is the chain's.

    Parameters
    ----------
    rho, kappa : float
        Correlation of any two outcomes in [−1, 1], draft length ≥ 1.

    Returns
    -------
    float
        1 + (κ − 1)ρ; negative where no such outcomes exist.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Claim C39.

    Examples
    --------
    >>> round(variance_factor_exchangeable(-0.1, 4), 4)
    0.7
    """
    _check_pair(rho, kappa)
    return 1.0 + (kappa - 1.0) * rho


def hoeffding_bound(alpha: float, kappa: float) -> float:
    """What Hoeffding's inequality really gives for "no judged draft accepted": section 4.2 names it.

    Correct as a bound; the exact value (1 − α)^κ is smaller, and decoding has 1 − α.

    Parameters
    ----------
    alpha, kappa : float
        Acceptance rate in [0, 1], draft length ≥ 0.

    Returns
    -------
    float
        exp(−2κα²).

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Hoeffding (1963), Theorem 1 (the exponent 2κt² at t = α); claim C35.

    Examples
    --------
    >>> round(hoeffding_bound(0.7, 4), 4)
    0.0198
    """
    check_range("alpha", alpha, 0, 1)
    check_finite("kappa", kappa, 0)
    return math.exp(-2.0 * kappa * alpha**2)


def all_rejected(alpha: float, kappa: float) -> float:
    """The article's probability of complete rejection: section 4.2.

    Correct if all κ drafts were judged; in decoding "no draft accepted" has probability 1 − α at every κ ≥ 1.

    Parameters
    ----------
    alpha, kappa : float
        Acceptance rate in [0, 1], draft length ≥ 0.

    Returns
    -------
    float
        (1 − α)^κ.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Claims C35 and C36.

    Examples
    --------
    >>> round(all_rejected(0.7, 4), 6)
    0.0081
    """
    check_range("alpha", alpha, 0, 1)
    check_finite("kappa", kappa, 0)
    return float((1.0 - alpha) ** kappa)


def _check(alpha: float, beta: float) -> None:
    check_range("alpha", alpha, 0, 1)
    check_finite("beta", beta, 0)
    check_positive("alpha + beta", alpha + beta)


def _check_pair(rho: float, kappa: float) -> None:
    check_range("rho", rho, -1, 1)
    check_finite("kappa", kappa, 1)
