"""What does the article make of one draft token and of κ judged ones (section 2, equations 1 to 4)?"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

from simspec.model.errors import ParameterError
from simspec.theory.ranges import check_inside, check_least, check_range, check_whole


def alpha_from_distance(distance: float) -> float:
    """Acceptance rate from "the total variation distance", as printed: section 2.2.

    Correct if the distance is Σ |p − q|; total variation is half of that, and then α = 1 − D.

    Parameters
    ----------
    distance : float
        D, 0 ≤ distance ≤ 2.

    Returns
    -------
    float
        1 − D/2.

    Raises
    ------
    ParameterError
        If ``distance`` is out of range.

    See Also
    --------
    simspec.theory.overlap : α = Σ min(p, q) and both distances of two laws.

    References
    ----------
    Leviathan, Kalman, Matias (2023), Lemma 3.3 and Corollary 3.6 (unnumbered as equations; their D_LK is total
    variation).  The article names Chen et al. (2023), Eq. (3), which is another equation.  Claim C10.

    Examples
    --------
    >>> round(alpha_from_distance(0.6), 4), round(alpha_from_distance(0.3), 4)
    (0.7, 0.85)
    """
    check_range("distance", distance, 0, 2)
    return 1.0 - distance / 2.0


@dataclass(frozen=True)
class RenyiBound:
    """One reading of the lost equation (3): a bound of α from a Rényi divergence.

    Attributes
    ----------
    text : str
        The inequality.
    side : {"lower", "upper"}
        On which side of α the value stands.
    value : callable
        (divergence, order) → bound.
    half_only : bool
        Whether it speaks of the order ½ only.
    """

    text: str
    side: str
    value: Callable[[float, float], float]
    half_only: bool = False


RENYI_BOUNDS: dict[str, RenyiBound] = {
    "root of half": RenyiBound(
        "1 − α ≤ √(1 − e^(−D_½))", "lower", lambda d, order: 1.0 - math.sqrt(-math.expm1(-d)), half_only=True
    ),
    "coefficient of half": RenyiBound("α ≤ e^(−D_½/2)", "upper", lambda d, order: math.exp(-0.5 * d), half_only=True),
    "chernoff": RenyiBound("α ≤ e^(−(1−λ)D_λ)", "upper", lambda d, order: _times(1.0 - order, d)),
    "at least exponential of half": RenyiBound("α ≥ e^(−D_½)", "lower", lambda d, order: math.exp(-d), half_only=True),
    "at most exponential of half": RenyiBound("α ≤ e^(−D_½)", "upper", lambda d, order: math.exp(-d), half_only=True),
    "at least exponential": RenyiBound("α ≥ e^(−D_λ)", "lower", lambda d, order: math.exp(-d)),
    "at most exponential": RenyiBound("α ≤ e^(−D_λ)", "upper", lambda d, order: math.exp(-d)),
    "pinsker of any order": RenyiBound("1 − α ≤ √(D_λ/2)", "lower", lambda d, order: 1.0 - math.sqrt(0.5 * d)),
    "linear": RenyiBound("α ≥ 1 − D_λ", "lower", lambda d, order: 1.0 - d),
}
"""Name → reading of equation (3).  The first three hold for all laws; the others fail for some."""


def _times(share: float, divergence: float) -> float:
    """e^(−share·divergence), with 0·∞ = 0: the order 1 bounds nothing."""
    return 1.0 if share == 0.0 else math.exp(-share * divergence)


def renyi_bound(reading: str, divergence: float, order: float = 0.5) -> float:
    """Bound of α from a Rényi divergence, in one reading of the lost inequality: section 2.2, equation (3).

    Correct: the first three of `RENYI_BOUNDS`; the rest are violated by some laws.

    Parameters
    ----------
    reading : str
        A key of `RENYI_BOUNDS`, whose ``side`` says on which side of α the value stands.
    divergence : float
        D_λ in nats, ≥ 0, possibly ``inf``.
    order : float
        λ, 0 ≤ order ≤ 1; ½ for readings that speak of that order only.

    Returns
    -------
    float
        The bound; it may lie outside [0, 1] and then says nothing.

    Raises
    ------
    ParameterError
        If ``reading`` is unknown or a number is out of range.

    See Also
    --------
    simspec.theory.alpha_bounds_from_half : both sharp bounds from D_½.
    simspec.theory.alpha_upper_chernoff, simspec.theory.alpha_lower_hoelder : from other orders below 1.
    simspec.theory.alpha_lower_pinsker : 1 − α ≤ √(D_λ/(2λ)), the right constant.

    References
    ----------
    van Erven, Harremoës (2014), for divergences of all orders; claim C13.

    Examples
    --------
    >>> round(renyi_bound("root of half", 0.1), 6), round(renyi_bound("coefficient of half", 0.1), 6)
    (0.691516, 0.951229)
    >>> round(renyi_bound("at least exponential of half", 0.1), 6)  # laws with D_½ = .1 may have α = .6916
    0.904837
    """
    if reading not in RENYI_BOUNDS:
        raise ParameterError("reading", f"reading = {reading!r} is unknown; allowed: {', '.join(RENYI_BOUNDS)}")
    check_least("divergence", divergence, 0)
    check_range("order", order, 0, 1)
    own = RENYI_BOUNDS[reading]
    if own.half_only and order != 0.5:
        raise ParameterError("order", f"order = {order:g} does not fit {own.text}; allowed: 0.5")
    return own.value(divergence, order)


@dataclass(frozen=True)
class NormalShare:
    """The normal law that equation (4) gives the share of accepted drafts.

    Attributes
    ----------
    mean, variance : float
        α and α(1 − α)/κ.
    low, high : float
        Central interval of the level asked for; it may leave [0, 1].
    """

    mean: float
    variance: float
    low: float
    high: float


def normal_share(alpha: float, kappa: int, level: float = 0.95) -> NormalShare:
    """Law of the share of accepted drafts by the central limit theorem: section 2.3, equation (4).

    Correct for mean and variance of κ judged drafts, whose exact law is binomial; in decoding drafts after a rejection
    are never judged.

    Parameters
    ----------
    alpha : float
        Acceptance rate, 0 ≤ alpha ≤ 1.
    kappa : int
        Drafts, ≥ 1.
    level : float
        Probability of the interval, 0 < level < 1.

    Returns
    -------
    NormalShare
        Â/κ ~ N(α, α(1 − α)/κ).

    Raises
    ------
    ParameterError
        If an argument is out of range.

    See Also
    --------
    simspec.theory.judged_sum : the exact law of κ judged drafts.
    simspec.theory.accepted_variance : Var A of a decoded window.
    simspec.theory.accepted_over_examined : how well α is really estimated.

    References
    ----------
    Claim C15.

    Examples
    --------
    >>> own = normal_share(0.7, 4)
    >>> round(own.variance, 4), round(own.low, 3), round(own.high, 3)
    (0.0525, 0.251, 1.149)
    """
    check_range("alpha", alpha, 0, 1)
    check_whole("kappa", kappa, 1)
    check_inside("level", level, 0, 1)
    variance = alpha * (1.0 - alpha) / kappa
    half = NormalDist().inv_cdf(0.5 + level / 2.0) * math.sqrt(variance)
    return NormalShare(alpha, variance, alpha - half, alpha + half)
