"""At which acceptance rate does a choice change, or a fluctuation cross a level?  Roots, one function each (i.i.d.)."""

from __future__ import annotations

import math

from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.theory.closed import break_even_alpha, kappa_star_continuous, speedup_continuous
from simspec.theory.ranges import EXACT_KAPPA_LIMIT, check_inside, check_positive, check_whole

GUARD = 0.25
"""Relative fluctuation above which the article's guide 2 (section 7) lowers κ."""
STEPS = 12
"""Steps of κ* that are listed unless more are asked for: 0|1 … 11|12."""

_HALVINGS = 60
"""Enough bisection steps to narrow [0, 1] to one float."""


def step_alpha(kappa: int, cost: Cost) -> float:
    """Acceptance rate at which the best draft length of i.i.d. drafts steps from κ to κ + 1: S(κ) = S(κ + 1).

    Parameters
    ----------
    kappa : int
        The shorter draft, 0 ≤ kappa ≤ 1000.
    cost : Cost
        Prices c0, c_d, c_v, c_r; no cost tables.

    Returns
    -------
    float
        1/x for the root x > 1 of (c + c_r)x + c(x² + … + x^(κ+1)) = c0 + c_r + cκ with c = c_d + c_v; ``inf`` where
        c ≥ c0, since then no rate makes draft κ + 1 pay.  With c > 0 the steps rise with κ, so below step κ no draft
        longer than κ is best; with c = 0 all steps coincide, and κ* jumps from 0 to ``inf``.

    Raises
    ------
    ParameterError
        If ``kappa`` is out of range or the costs are tables.

    References
    ----------
    docs/theory.md section 3: S(κ + 1) > S(κ) of Leviathan, Kalman, Matias (2023), Theorem 3.8, multiplied out: terms
    with c_r·α^κ cancel.  κ = 0 is `simspec.theory.break_even_alpha`.

    Examples
    --------
    >>> [round(step_alpha(kappa, Cost(c_d=0.1)), 4) for kappa in (0, 3, 4, 5)]
    [0.1, 0.6525, 0.7323, 0.7878]
    """
    check_whole("kappa", kappa, 0, EXACT_KAPPA_LIMIT)
    per_draft = per_draft_of(cost)
    if per_draft >= cost.c0:
        return math.inf
    if kappa == 0 or per_draft == 0.0:
        return break_even_alpha(cost)
    low, high = break_even_alpha(cost), 1.0  # Σ α^(−j) falls as α rises
    goal = cost.c0 + cost.c_r + per_draft * kappa
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if _worth(middle, kappa, per_draft, cost.c_r) <= goal else (middle, high)
    return high


def _worth(alpha: float, kappa: int, per_draft: float, rollback: float) -> float:
    x = 1.0 / alpha
    if (kappa + 1) * math.log(x) > 700.0:  # beyond the largest float, hence beyond any goal
        return math.inf
    powers = math.fsum(x**j for j in range(2, kappa + 2))
    return (per_draft + rollback) * x + per_draft * powers


def staircase(cost: Cost, kappa_max: int = STEPS) -> tuple[float, ...]:
    """Acceptance rates at which κ* of i.i.d. drafts steps 0|1, 1|2, …, (kappa_max − 1)|kappa_max.

    Parameters
    ----------
    cost : Cost
        Prices c0, c_d, c_v, c_r; no cost tables.
    kappa_max : int
        Number of steps, 1 ≤ kappa_max ≤ 1000.

    Returns
    -------
    tuple of float
        `step_alpha` for κ = 0 … kappa_max − 1.

    Raises
    ------
    ParameterError
        If ``kappa_max`` is out of range or the costs are tables.

    References
    ----------
    docs/theory.md section 3.

    Examples
    --------
    >>> [round(alpha, 4) for alpha in staircase(Cost(c_d=0.1), 6)]
    [0.1, 0.3504, 0.533, 0.6525, 0.7323, 0.7878]
    """
    check_whole("kappa_max", kappa_max, 1, EXACT_KAPPA_LIMIT)
    return tuple(step_alpha(kappa, cost) for kappa in range(kappa_max))


def share_step_alpha(kappa: int, cost: Cost, share: float = 0.9) -> float:
    """Acceptance rate above which κ whole i.i.d. drafts no longer reach a share of the best speed-up.

    Parameters
    ----------
    kappa : int
        Draft length, 0 ≤ kappa ≤ 999.
    cost : Cost
        Prices c0, c_d, c_v, c_r with 0 < c_d + c_v; no cost tables.
    share : float
        Share of S* to reach, 0 < share < 1.

    Returns
    -------
    float
        The α at which κ_0.9 steps from κ to κ + 1; ``nan`` where κ drafts are enough at every α < 1.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    docs/theory.md, claims C30 and C32: S(κ)/S* falls with α above the step (κ − 1)|κ, so bisection finds it.

    Examples
    --------
    >>> [round(share_step_alpha(kappa, Cost(c_d=0.1)), 4) for kappa in (1, 2, 3)]
    [0.5596, 0.729, 0.8183]
    """
    check_whole("kappa", kappa, 0, EXACT_KAPPA_LIMIT - 1)
    check_inside("share", share, 0, 1)
    if not 0.0 < per_draft_of(cost) < cost.c0:
        return math.nan
    low = 0.0 if kappa == 0 else step_alpha(kappa - 1, cost)  # there κ is itself the best
    high = 1.0 - 1e-9
    if speedup_continuous(high, kappa, cost) >= share * best_speedup(high, cost):
        return math.nan
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        enough = speedup_continuous(middle, kappa, cost) >= share * best_speedup(middle, cost)
        low, high = (middle, high) if enough else (low, middle)
    return high


def most_variable_alpha(kappa: int) -> float:
    """Acceptance rate at which the accepted length A of a decoded window varies most.

    Parameters
    ----------
    kappa : int
        Draft length, 1 ≤ kappa ≤ 1000.

    Returns
    -------
    float
        argmax of Var A, i.i.d. drafts; ½ only at κ = 1.

    Raises
    ------
    ParameterError
        If ``kappa`` is out of range.

    References
    ----------
    docs/theory.md, claim C16: the article's section 2.3 has ½, right only if every draft is judged.

    Examples
    --------
    >>> [round(most_variable_alpha(kappa), 4) for kappa in (1, 3, 4)]
    [0.5, 0.7286, 0.7805]
    """
    check_whole("kappa", kappa, 1, EXACT_KAPPA_LIMIT)
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _variance_slope(middle, kappa) > 0 else (low, middle)
    return high


def _variance_slope(alpha: float, kappa: int) -> float:
    """d Var A / dα from E[A²] = Σ (2j − 1)α^j and E[A] = Σ α^j."""
    powers = [alpha ** (j - 1) for j in range(1, kappa + 1)]
    square = math.fsum((2 * j - 1) * j * power for j, power in enumerate(powers, start=1))
    mean = alpha * math.fsum(powers)
    return square - 2.0 * mean * math.fsum(j * power for j, power in enumerate(powers, start=1))


def guard_alpha(cost: Cost, level: float = GUARD, whole: bool = True) -> float:
    """Acceptance rate below which the article's guard √((1 − α)/(κα)) > level fires at the best draft length.

    Parameters
    ----------
    cost : Cost
        Prices c0, c_d, c_v, c_r with 0 < c_d + c_v < c0; no cost tables.
    level : float
        Relative fluctuation at which the guard fires, > 0; the article's is .25.
    whole : bool
        Take κ* as a whole number (default), or as the real number of `simspec.theory.kappa_star_continuous`.

    Returns
    -------
    float
        The rate; ``nan`` where no finite draft is ever best.

    Raises
    ------
    ParameterError
        If ``level`` is not positive, so low that the best draft would be longer than 1000, or the costs are tables.

    References
    ----------
    The article's section 7, guide 2; docs/theory.md, claim C51.  κ* rises with α, 1/(κ·level² + 1) falls with κ: the
    two cross once.

    Examples
    --------
    >>> round(guard_alpha(Cost(c_d=0.1)), 4), round(guard_alpha(Cost(c_d=0.1), whole=False), 4)
    (0.7619, 0.7626)
    """
    check_positive("level", level)
    if not 0.0 < per_draft_of(cost) < cost.c0:
        return math.nan
    if not whole:
        return _guard_continuous(cost, level)
    if fluctuation_alpha_b(EXACT_KAPPA_LIMIT, level) >= step_alpha(EXACT_KAPPA_LIMIT, cost):
        raise ParameterError(
            "level", f"level = {level:g} lets the guard fire up to a best draft length above {EXACT_KAPPA_LIMIT}; "
            "allowed: a higher level, or whole = False"
        )  # fmt: skip
    kappa = 1
    while fluctuation_alpha_b(kappa, level) >= step_alpha(kappa, cost):  # still fires where κ + 1 takes over
        kappa += 1
    return max(fluctuation_alpha_b(kappa, level), step_alpha(kappa - 1, cost))


def _guard_continuous(cost: Cost, level: float) -> float:
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        fires = kappa_star_continuous(middle, cost) * middle * level**2 < 1.0 - middle
        low, high = (middle, high) if fires else (low, middle)
    return high


def fluctuation_alpha_a(kappa: int, level: float = 0.2) -> float:
    """Larger acceptance rate at which √(κα(1 − α))/κ equals a level: equation (15), reading (a).

    Parameters
    ----------
    kappa : int
        Draft length, ≥ 1.
    level : float
        Fluctuation, > 0.

    Returns
    -------
    float
        (1 + √(1 − 4κ·level²))/2; ``nan`` where the fluctuation stays below the level at every α.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    docs/theory.md section 12, equation (15) (a), claim C34.

    Examples
    --------
    >>> round(fluctuation_alpha_a(4), 4), fluctuation_alpha_a(7)
    (0.8, nan)
    """
    check_whole("kappa", kappa, 1)
    check_positive("level", level)
    inside = 1.0 - 4.0 * kappa * level**2
    return 0.5 * (1.0 + math.sqrt(inside)) if inside >= 0 else math.nan


def fluctuation_alpha_b(kappa: int, level: float = 0.2) -> float:
    """Acceptance rate at which √((1 − α)/(κα)) equals a level: equation (15), reading (b).

    Parameters
    ----------
    kappa : int
        Draft length, ≥ 1.
    level : float
        Relative fluctuation, > 0.

    Returns
    -------
    float
        1/(1 + κ·level²).

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    docs/theory.md section 12, equation (15) (b), claims C34 and C51.  At κ = 1 this is that of A too.

    Examples
    --------
    >>> round(fluctuation_alpha_b(4), 4), round(fluctuation_alpha_b(1, 0.25), 4)
    (0.8621, 0.9412)
    """
    check_whole("kappa", kappa, 1)
    check_positive("level", level)
    return 1.0 / (1.0 + kappa * level**2)


def best_speedup(alpha: float, cost: Cost) -> float:
    """S* of i.i.d. drafts, the largest S(κ) over whole κ, for 0 < c_d + c_v < c0 and α < 1.

    Examples
    --------
    >>> round(best_speedup(0.7, Cost(c_d=0.1)), 4)
    1.9808
    """
    low = math.floor(kappa_star_continuous(alpha, cost))  # the real optimum lies between the candidates
    return max(speedup_continuous(alpha, kappa, cost) for kappa in (low, low + 1.0))


def per_draft_of(cost: Cost) -> float:
    """c = c_d + c_v; `ParameterError` for cost tables, which have no such number.

    Examples
    --------
    >>> per_draft_of(Cost(c_d=0.5, c_v=0.25))
    0.75
    """
    if cost.longest_draft is not None:
        raise ParameterError("cost", "cost tables have no single price per draft; allowed: c0, c_d, c_v, c_r")
    return cost.c_d + cost.c_v
