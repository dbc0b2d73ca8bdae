"""What does a divergence say about the acceptance rate α = Σ min(p, q)?

D_λ is a Rényi divergence in nats, in either direction: α does not change when target and draft swap places.  Every
bound holds for all laws; a lower bound that would be negative is given as 0.
"""

from __future__ import annotations

import math

from simspec.theory.ranges import check_inside, check_least, check_positive, check_range

_HALVINGS = 80


def alpha_bounds_from_half(divergence: float) -> tuple[float, float]:
    """Both bounds of α from the Rényi divergence of order ½, which is symmetric.

    Parameters
    ----------
    divergence : float
        D_½ = −2 ln Σ √(pq), 0 ≤ divergence ≤ ``inf``.

    Returns
    -------
    lower, upper : float
        1 − √(1 − e^(−D)) and e^(−D/2), that is 1 − √(1 − BC²) ≤ α ≤ BC.  Both are attained: by (a, 1 − a) against
        (1 − a, a), and by (a, 1 − a, 0) against (a, 0, 1 − a).

    Raises
    ------
    ParameterError
        If ``divergence`` is negative.

    References
    ----------
    Le Cam's inequalities between total variation and Hellinger distance; Tsybakov (2009), Lemma 2.3.

    Examples
    --------
    >>> [round(bound, 6) for bound in alpha_bounds_from_half(0.1)]
    [0.691516, 0.951229]
    """
    check_least("divergence", divergence, 0)
    return 1.0 - math.sqrt(-math.expm1(-divergence)), math.exp(-0.5 * divergence)


def alpha_upper_chernoff(divergence: float, order: float) -> float:
    """Upper bound of α from a divergence of an order below 1; orders from 1 on give none.

    Parameters
    ----------
    divergence : float
        D_λ, ≥ 0.
    order : float
        λ, 0 ≤ order ≤ 1.

    Returns
    -------
    float
        e^(−(1−λ)D_λ), since min(p, q) ≤ p^λ q^(1−λ); 1 at λ = 1.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Chernoff (1952): the exponent of the best test between two laws.

    Examples
    --------
    >>> round(alpha_upper_chernoff(0.1, 0.5), 6)
    0.951229
    """
    check_least("divergence", divergence, 0)
    check_range("order", order, 0, 1)
    return math.exp(-(1.0 - order) * divergence) if order < 1.0 else 1.0


def alpha_lower_hoelder(divergence: float, order: float) -> float:
    """Lower bound of α from a divergence of an order inside (0, 1); at ½ it is the sharp one.

    Parameters
    ----------
    divergence : float
        D_λ, ≥ 0.
    order : float
        λ, 0 < order < 1.

    Returns
    -------
    float
        The smaller root a of a^m (2 − a)^(1−m) = e^(−(1−λ)D_λ), with m = min(λ, 1 − λ).

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Hölder's inequality on Σ p^λ q^(1−λ) ≤ Σ min(p, q)^m max(p, q)^(1−m), with Σ max(p, q) = 2 − α.

    Examples
    --------
    >>> round(alpha_lower_hoelder(0.1, 0.5), 6), round(alpha_bounds_from_half(0.1)[0], 6)
    (0.691516, 0.691516)
    """
    check_least("divergence", divergence, 0)
    check_inside("order", order, 0, 1)
    m, goal = min(order, 1.0 - order), -(1.0 - order) * divergence
    if math.isinf(goal):
        return 0.0
    low, high = 0.0, 2.0 * m  # the left-hand side rises up to 2m, where it is at least 1
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        below = middle == 0.0 or m * math.log(middle) + (1.0 - m) * math.log(2.0 - middle) < goal
        low, high = (middle, high) if below else (low, middle)
    return low


def alpha_lower_pinsker(divergence: float, order: float = 1.0) -> float:
    """Pinsker's lower bound of α, at any order.

    Parameters
    ----------
    divergence : float
        D_λ, ≥ 0.
    order : float
        λ > 0; beyond 1 the bound of order 1 holds, as D_λ does not decrease.

    Returns
    -------
    float
        1 − √(D_λ/(2 min(λ, 1))), at least 0.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Pinsker's inequality with Csiszár's constant (λ = 1); Gilardoni (2010) for 0 < λ < 1.

    Examples
    --------
    >>> round(alpha_lower_pinsker(0.274887), 6)
    0.629266
    """
    check_least("divergence", divergence, 0)
    check_positive("order", order)
    return max(0.0, 1.0 - math.sqrt(divergence / (2.0 * min(order, 1.0))))


def alpha_lower_bretagnolle_huber(divergence: float) -> float:
    """Bretagnolle and Huber's lower bound of α, positive however large the divergence.

    Parameters
    ----------
    divergence : float
        D_1 (or any order from ½ on), ≥ 0.

    Returns
    -------
    float
        1 − √(1 − e^(−D)); never above what `alpha_bounds_from_half` gives, since D_½ ≤ D_1.

    Raises
    ------
    ParameterError
        If ``divergence`` is negative.

    References
    ----------
    Bretagnolle, Huber (1979); Tsybakov (2009), Lemma 2.6.

    Examples
    --------
    >>> round(alpha_lower_bretagnolle_huber(0.274887), 6)
    0.509753
    """
    check_least("divergence", divergence, 0)
    return 1.0 - math.sqrt(-math.expm1(-divergence))


def alpha_lower_chi_square(divergence: float) -> float:
    """Lower bound of α from the order 2, that is from χ² = e^(D_2) − 1.

    Parameters
    ----------
    divergence : float
        D_2, ≥ 0.

    Returns
    -------
    float
        1 − ½√(e^(D_2) − 1), at least 0.

    Raises
    ------
    ParameterError
        If ``divergence`` is negative.

    References
    ----------
    Cauchy-Schwarz: Σ |p − q| ≤ √χ².

    Examples
    --------
    >>> round(alpha_lower_chi_square(0.48858), 6)
    0.603137
    """
    check_least("divergence", divergence, 0)
    return 0.0 if divergence > 2.0 else max(0.0, 1.0 - 0.5 * math.sqrt(math.expm1(divergence)))


def alpha_lower_max_ratio(divergence: float, reverse: float = math.inf) -> float:
    """Lower bound of α from the largest ratio of probabilities, or from both.

    Parameters
    ----------
    divergence : float
        D_∞ in one direction, ln max p/q, ≥ 0.
    reverse : float
        D_∞ in the other, ln max q/p, ≥ 0; ``inf`` if it is not known.

    Returns
    -------
    float
        1 − (M − 1)(M' − 1)/(MM' − 1) with M = e^divergence and M' = e^reverse; e^(−divergence) for M' = ∞.

    Raises
    ------
    ParameterError
        If an argument is negative.

    References
    ----------
    p ≥ q/M' and q ≥ p/M bound the slope of the ROC curve of p against q at both ends; α is least when it has one bend.

    Examples
    --------
    >>> round(alpha_lower_max_ratio(0.916291), 6), round(alpha_lower_max_ratio(0.916291, 0.916291), 6)
    (0.4, 0.571428)
    """
    check_least("divergence", divergence, 0)
    check_least("reverse", reverse, 0)
    if min(divergence, reverse) == 0.0:  # then the laws are equal
        return 1.0
    return 1.0 - math.expm1(-divergence) * math.expm1(-reverse) / -math.expm1(-divergence - reverse)
