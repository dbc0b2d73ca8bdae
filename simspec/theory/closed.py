"""What does the i.i.d. model say in closed form: best κ, break-even, and the bound no depth rule can pass?

Here κ is a real number.  L = ln(1/α), c = c_d + c_v.
"""

from __future__ import annotations

import math

from simspec.model.cost import Cost
from simspec.theory.ranges import check_least, check_range, check_share

_HALVINGS = 60
"""Enough bisection steps to narrow [0, 1] to one float."""


def speedup_continuous(alpha: float, kappa: float, cost: Cost) -> float:
    """Throughput of i.i.d. drafts, with κ a real number.

    Parameters
    ----------
    alpha : float
        Acceptance rate of one examined draft, 0 ≤ alpha ≤ 1.
    kappa : float
        Draft length, ≥ 0; ``inf`` gives the limit.
    cost : Cost
        The prices of a round.

    Returns
    -------
    float
        (1 − α^(κ+1)) / ((1 − α)(c0 + cκ + c_r(1 − α^κ))), in tokens per plain target step.

    Raises
    ------
    ParameterError
        If ``alpha`` or ``kappa`` is out of range.

    References
    ----------
    Leviathan, Kalman, Matias (2023), Theorem 3.8; docs/theory.md section 3.

    Examples
    --------
    >>> round(speedup_continuous(0.7, 4, Cost(c_d=0.1)), 4)
    1.9808
    """
    check_range("alpha", alpha, 0, 1)
    check_least("kappa", kappa, 0)
    per_draft = cost.c_d + cost.c_v
    if math.isinf(kappa):
        return _speedup_at_infinity(alpha, cost)
    if alpha == 0.0:
        tokens, rejecting = 1.0, float(kappa > 0)
    elif alpha == 1.0:
        tokens, rejecting = kappa + 1.0, 0.0
    else:  # expm1, as 1 − α^κ cancels near α = 1
        tokens = -math.expm1((kappa + 1.0) * math.log(alpha)) / (1.0 - alpha)
        rejecting = -math.expm1(kappa * math.log(alpha))
    return tokens / (cost.c0 + per_draft * kappa + cost.c_r * rejecting)


def _speedup_at_infinity(alpha: float, cost: Cost) -> float:
    per_draft = cost.c_d + cost.c_v
    if alpha == 1.0:
        return 1.0 / per_draft if per_draft > 0 else math.inf
    return 0.0 if per_draft > 0 else 1.0 / ((1.0 - alpha) * (cost.c0 + cost.c_r))


def kappa_star_continuous(alpha: float, cost: Cost) -> float:
    """Draft length that maximises the throughput of i.i.d. drafts, as a real number.

    Parameters
    ----------
    alpha : float
        Acceptance rate of one examined draft, 0 ≤ alpha ≤ 1.
    cost : Cost
        The prices of a round.

    Returns
    -------
    float
        −[1 + W₋₁(−e^(−1 − L(A_e − 1)))]/L − A_e with A_e = (c0 − c_r(1 − α)/α)/c, where that is positive; 0 where
        drafting never pays; ``inf`` where the throughput rises for ever: α = 1 with c < c0, or free drafts (c = 0)
        with α above the break-even c_r/(c0 + c_r).  Where the throughput does not depend on κ, 0.  A value below 1 does
        not say that drafting pays: no whole draft may fit; `break_even_alpha` says.

    Raises
    ------
    ParameterError
        If ``alpha`` is outside [0, 1].

    References
    ----------
    docs/theory.md section 3; the maximum of Leviathan, Kalman, Matias (2023), Theorem 3.8 (their section 3.5 finds it
    numerically).  The integer optimum is its floor or ceiling.

    Examples
    --------
    >>> round(kappa_star_continuous(0.7, Cost(c_d=0.1)), 4)
    4.0245
    >>> kappa_star_continuous(0.7, Cost(c_d=0.1, c_v=0.5, c_r=1.0))
    0.0
    """
    check_range("alpha", alpha, 0, 1)
    per_draft = cost.c_d + cost.c_v
    if alpha == 0.0:
        return 0.0
    if alpha == 1.0:
        return math.inf if per_draft < cost.c0 else 0.0
    worth = cost.c0 - cost.c_r * (1.0 - alpha) / alpha  # a rollback acts like a smaller fixed cost
    if per_draft == 0.0:
        return math.inf if worth > 0 else 0.0
    ratio = worth / per_draft  # A_e
    steepness = -math.log(alpha)
    lift = steepness * (ratio - 1.0)
    if not 0 < lift < math.inf:  # the argument of W falls below −1/e (S only falls), or c is next to nothing
        return math.inf if lift > 0 else 0.0
    # at the root u − ln(1 + u) = lift, so u/L − A_e = ln(1 + u)/L − 1: the same number without the difference
    return max(0.0, math.log1p(_minus_one_minus_lambert(lift)) / steepness - 1.0)


def _minus_one_minus_lambert(lift: float) -> float:
    """u = −1 − W₋₁(−e^(−1−lift)): the root u ≥ 0 of u − ln(1 + u) = lift, which no exponential can underflow.

    u = lift + √(2·lift) is above the root, since e^x ≥ 1 + x + x²/2, and Halley's steps fall towards it.
    """
    u = lift + math.sqrt(2.0 * lift)
    for _ in range(20):
        value, slope, bend = u - math.log1p(u) - lift, u / (1.0 + u), 1.0 / (1.0 + u) ** 2
        step = 2.0 * value * slope / (2.0 * slope * slope - value * bend)
        u -= step
        if abs(step) <= 1e-16 * u:
            break
    return u


def kappa_for_share(alpha: float, cost: Cost, share: float = 0.9) -> float:
    """Smallest real κ whose throughput reaches a share of the best, i.i.d. drafts.

    Parameters
    ----------
    alpha : float
        Acceptance rate of one examined draft, 0 ≤ alpha ≤ 1.
    cost : Cost
        The prices of a round.
    share : float
        Share of sup S to reach, 0 < share ≤ 1.

    Returns
    -------
    float
        κ; 0 where κ = 0 is good enough, ``inf`` where the share is never reached (an unbounded or only approached
        supremum).

    Raises
    ------
    ParameterError
        If ``alpha`` or ``share`` is out of range.

    References
    ----------
    docs/theory.md, claim C30: the quantity that equation (14) of the article's section 4.1 is meant to be.

    Examples
    --------
    >>> round(kappa_for_share(0.7, Cost(c_d=0.1)), 3)
    1.793
    """
    check_share("share", share)
    peak = kappa_star_continuous(alpha, cost)
    goal = share * speedup_continuous(alpha, peak, cost)
    if speedup_continuous(alpha, 0.0, cost) >= goal:
        return 0.0
    if math.isinf(goal) or share == 1.0:
        return peak
    low, high = 0.0, peak
    if math.isinf(peak):
        high = 1.0
        while speedup_continuous(alpha, high, cost) < goal:
            high = 2.0 * high
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if speedup_continuous(alpha, middle, cost) >= goal else (middle, high)
    return high


def break_even_alpha(cost: Cost) -> float:
    """Acceptance rate above which drafting pays inside the loop: κ* ≥ 1 if and only if α exceeds it (i.i.d.).

    Parameters
    ----------
    cost : Cost
        The prices of a round.

    Returns
    -------
    float
        (c + c_r)/(c0 + c_r); 1 or more means that no acceptance rate makes drafting pay.

    References
    ----------
    Leviathan, Kalman, Matias (2023), Corollary 3.9 (α > c); docs/theory.md section 3.  The only threshold here.

    Examples
    --------
    >>> break_even_alpha(Cost(c_d=0.1))
    0.1
    >>> break_even_alpha(Cost(c_d=0.1, c_v=0.5, c_r=1.0))
    0.8
    """
    return (cost.c_d + cost.c_v + cost.c_r) / (cost.c0 + cost.c_r)


def break_even_alpha_off(cost: Cost) -> float:
    """Acceptance rate above which some κ beats switching speculation off altogether (i.i.d.).

    Parameters
    ----------
    cost : Cost
        The prices; a token without speculation costs ``cost.off``.

    Returns
    -------
    float
        The rate; 0 where the loop beats plain decoding even without drafts (c0 < off), ``inf`` where not even α = 1
        helps (c0 ≥ off and c ≥ off).  Equal to `break_even_alpha` where c0 = off.

    References
    ----------
    docs/theory.md section 3; S(κ) rises with α at every κ, so one threshold exists and bisection finds it.

    Examples
    --------
    >>> round(break_even_alpha_off(Cost(c0=1.3, c_d=0.1)), 4)
    0.366
    """
    goal = 1.0 / cost.off
    if _best_integer(0.0, cost) > goal:
        return 0.0
    if not _best_integer(1.0, cost) > goal:
        return math.inf
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if _best_integer(middle, cost) > goal else (middle, high)
    return high


def _best_integer(alpha: float, cost: Cost) -> float:
    """Best throughput over whole κ; the supremum where it is only approached."""
    peak = kappa_star_continuous(alpha, cost)
    if math.isinf(peak):
        return speedup_continuous(alpha, peak, cost)
    return max(speedup_continuous(alpha, kappa, cost) for kappa in (math.floor(peak), math.floor(peak) + 1.0))


def foresight_bound(alpha: float, beta: float) -> float:
    """Throughput of a draft that stops just before its first rejection: no depth rule does better (i.i.d.).

    Parameters
    ----------
    alpha : float
        Acceptance rate of one examined draft, 0 ≤ alpha ≤ 1.
    beta : float
        Cost of one draft token in plain target steps, ≥ 0.

    Returns
    -------
    float
        1/(1 − α(1 − β)), in tokens per plain target step; ``inf`` at α = 1, β = 0.

    Raises
    ------
    ParameterError
        If ``alpha`` or ``beta`` is out of range.

    References
    ----------
    docs/theory.md section 3, claim C21.

    Examples
    --------
    >>> round(foresight_bound(0.7, 0.1), 4)
    2.7027
    """
    check_range("alpha", alpha, 0, 1)
    check_least("beta", beta, 0)
    left = 1.0 - alpha * (1.0 - beta)
    return 1.0 / left if left > 0 else math.inf
