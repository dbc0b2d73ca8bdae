"""Which acceptance rates are critical in a sense that can be written down, and does any of them lie at a given rate?

Each sense is one row of `DEFINITIONS` with the function that finds its α; ``nan`` where no α fits the definition.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.theory.article.speed import kappa_star_as_coded
from simspec.theory.article.threshold import alpha_c_formula, kappa_09_r1
from simspec.theory.closed import break_even_alpha, kappa_for_share
from simspec.theory.judged import complete_rejection_threshold
from simspec.theory.law import FloatArray
from simspec.theory.ranges import check_inside, check_whole
from simspec.theory.step_rates import (
    GUARD,
    best_speedup,
    fluctuation_alpha_a,
    fluctuation_alpha_b,
    guard_alpha,
    most_variable_alpha,
    per_draft_of,
    share_step_alpha,
    staircase,
)
from simspec.theory.tail_steps import tail_staircase

STEP_SOURCE = "Leviathan, Kalman, Matias (2023), Theorem 3.8, in whole κ"
SHARE_SOURCE = "the article, section 4.1, asked of the throughput in whole κ"
TAIL_SOURCE = "the article, section 4.2, asked of the time of a reply"
ARTICLE_ALPHA = 0.74
"""The article's critical rate (summary and section 4.1), printed with two digits."""
HALF_DIGIT = 0.005
"""What rounds to a rate of two digits lies no further from it."""
STEPS, SHARE_STEPS, TAIL_STEPS = 12, 6, 8
"""Steps that are listed: of κ*, of κ_0.9, of the κ that is best for slow sequences."""
USUAL_RATES = (0.5, 0.95)
"""Where another rate might as well have been called critical."""

_SCAN = np.linspace(0.001, 0.989, 989)
BEND = 0.04
"""Half-width of the second differences of S*: several kinks wide, so that they do not jump with each single one."""


@dataclass(frozen=True)
class Definition:
    """One sense of "critical".

    Attributes
    ----------
    name : str
        Short label.
    family : str
        ``"model"`` (true of the throughput), ``"step"`` (κ* changes), ``"share"`` (κ_0.9 changes), ``"tail"`` (the κ
        for slow sequences changes) or ``"article"`` (a formula or limit of the article).
    words : str
        The definition in one sentence.
    source : str
        Where it comes from.
    at : callable
        (cost, kappa) → α, or ``nan``.
    """

    name: str
    family: str
    words: str
    source: str
    at: Callable[[Cost, int], float]


@dataclass(frozen=True)
class CriticalAlpha:
    """A `Definition` at one price list, with its α, ``nan`` where none fits; a step κ|κ + 1 also has its κ."""

    name: str
    family: str
    alpha: float
    words: str
    source: str
    step: int | None = None


def _article_cost(cost: Cost) -> Cost:
    return Cost(c_d=cost.c_d, c_v=0.5, c_r=1.0)


def _twelve_negative(cost: Cost) -> float:
    return math.exp(-(cost.c_d + cost.c_v) / cost.c_r) if cost.c_r > 0 else math.nan


def _twelve_equals(goal: float, cost: Cost, kappa: int) -> float:
    own = _article_cost(cost)
    low, high = _twelve_negative(own), 1.0 - 1e-12
    for _ in range(60):
        middle = 0.5 * (low + high)
        reached = kappa_star_as_coded(middle, own.c_d, own.c_v, own.c_r) >= goal
        low, high = (low, middle) if reached else (middle, high)
    return high


def first_turn(rates: FloatArray, values: FloatArray) -> float:
    """The first rate at which values turn from rising to falling or back; ``nan`` if they never do.

    Examples
    --------
    >>> rates = np.array([0.1, 0.2, 0.3, 0.4])
    >>> first_turn(rates, rates**2), first_turn(rates, (rates - 0.3) ** 2)
    (nan, 0.3)
    """
    turns = np.flatnonzero(np.diff(np.sign(np.diff(values))) != 0)
    return float(rates[turns[0] + 1]) if turns.size else math.nan


def _share_turns(cost: Cost, kappa: int) -> float:
    if not _pays(cost):
        return math.nan
    curve = np.array([kappa_for_share(float(alpha), cost) for alpha in _SCAN])
    there = curve > 0
    return first_turn(_SCAN[there], curve[there])


def _article_share_turns(cost: Cost, kappa: int) -> float:
    return first_turn(_SCAN, np.array([kappa_09_r1(float(alpha), cost.c_d) for alpha in _SCAN]))


def _gain_slows(cost: Cost, kappa: int) -> float:
    """First rate above break-even at which S* is not convex."""
    if not _pays(cost):
        return math.nan
    rates = _SCAN[break_even_alpha(cost) + 0.002 < _SCAN]
    bends = np.diff([best_speedup(float(alpha), cost) for alpha in rates], 2)
    slow = np.flatnonzero(bends < -1e-12)
    return float(rates[slow[0] + 1]) if slow.size else math.nan


def _pays(cost: Cost) -> bool:
    return 0.0 < per_draft_of(cost) < cost.c0


def _inside(alpha: float) -> float:
    return alpha if 0.0 <= alpha <= 1.0 else math.nan


DEFINITIONS: tuple[Definition, ...] = (
    Definition(
        "break-even", "model", "Drafting pays above it and nowhere below: κ* ≥ 1.",
        "Leviathan, Kalman, Matias (2023), Corollary 3.9", lambda cost, kappa: _inside(break_even_alpha(cost)),
    ),
    Definition(
        "S* stops accelerating", "model", "The slope of the best speed-up S*(α) falls for the first time.",
        "the article, summary: linear gain turns into saturation", _gain_slows,
    ),
    Definition(
        "κ_0.9 turns", "model", "The κ for 90% of S* turns from falling to rising or back.",
        "the article, section 4.1, asked of the throughput", _share_turns,
    ),
    Definition(
        "Var A largest", "model", "The accepted length of a decoded window of κ drafts varies most.",
        "the article, section 2.3, asked of decoding", lambda cost, kappa: most_variable_alpha(kappa),
    ),
    Definition(
        "P(none accepted) = 1%", "model", "A decoded window accepts nothing with probability 1 − α = 1%.",
        "the article, section 4.2, asked of decoding", lambda cost, kappa: 0.99,
    ),
    Definition(
        "CV(A) = .25 at κ = 1", "model", "The true relative fluctuation of A exceeds .25 at every κ below this rate.",
        "the article, section 7, guide 2, asked of decoding", lambda cost, kappa: fluctuation_alpha_b(1, GUARD),
    ),
    Definition(
        "α_c formula", "article", "1 − β − √((1 − β)² − β²/9), which the article evaluates to .74.",
        "the article, section 4.1", lambda cost, kappa: alpha_c_formula(cost.c_d)[0],
    ),
    Definition(
        "α_c formula, other root", "article", "1 − β + √((1 − β)² − β²/9), above 1 for small β.",
        "the article, section 4.1", lambda cost, kappa: alpha_c_formula(cost.c_d)[1],
    ),
    Definition(
        "slopes match", "article", "dρ∞/dα equals −1, the slope of 1 − α; ρ∞ = 1/(α + β) is 1 there.",
        "the article, section 4.1", lambda cost, kappa: _inside(1.0 - cost.c_d),
    ),
    Definition(
        "κ_0.9 of (14) turns", "article", "9(1 − α)/(α + β) turns from falling to rising.",
        "the article, section 4.1", _article_share_turns,
    ),
    Definition(
        "P(all rejected) = 1%", "article", "(1 − α)^κ = 1%, if all κ drafts were judged.",
        "the article, section 4.2", lambda cost, kappa: complete_rejection_threshold(0.01, kappa),
    ),
    Definition(
        "judged share varies most", "article", "α(1 − α)/κ is largest, if all κ drafts were judged.",
        "the article, section 2.3", lambda cost, kappa: 0.5,
    ),
    Definition(
        "(15a) = .2", "article", "√(κα(1 − α))/κ falls to .2.",
        "the article, section 4.2, equation (15)", lambda cost, kappa: fluctuation_alpha_a(kappa, 0.2),
    ),
    Definition(
        "(15b) = .2", "article", "√((1 − α)/(κα)) falls to .2.",
        "the article, section 4.2, equation (15)", lambda cost, kappa: fluctuation_alpha_b(kappa, 0.2),
    ),
    Definition(
        "(15b) = .25", "article", "√((1 − α)/(κα)) falls to .25: guide 2 fires below, at this κ.",
        "the article, section 7, guide 2", lambda cost, kappa: fluctuation_alpha_b(kappa, GUARD),
    ),
    Definition(
        "guide 2 at κ*", "article", "√((1 − α)/(κα)) > .25 at the best whole κ below this rate.",
        "the article, section 7, guide 2", lambda cost, kappa: guard_alpha(cost),
    ),
    Definition(
        "guide 2 at real κ*", "article", "√((1 − α)/(κα)) > .25 at the best real κ below this rate.",
        "the article, section 7, guide 2", lambda cost, kappa: guard_alpha(cost, whole=False),
    ),
    Definition(
        "(12) = 0", "article", "Equation (12) is negative below e^(−(c_d + c_v)/c_r); nowhere if c_r = 0.",
        "the article, section 3.2, equation (12)", lambda cost, kappa: _twelve_negative(cost),
    ),
    Definition(
        "(12) = 0, its own costs", "article", "Equation (12) is negative below, at the article's c_v = .5 and c_r = 1.",
        "the article, section 3.3", lambda cost, kappa: _twelve_negative(_article_cost(cost)),
    ),
    Definition(
        "(12) = 3, its own costs", "article", "Equation (12) at c_v = .5, c_r = 1 reaches 3, where the usual κ begin.",
        "the article, section 3.3", partial(_twelve_equals, 3.0),
    ),
    Definition(
        "(12) = 7, its own costs", "article", "Equation (12) at c_v = .5, c_r = 1 reaches 7, where the usual κ end.",
        "the article, section 3.3", partial(_twelve_equals, 7.0),
    ),
    Definition(
        "ρ = −.1 possible", "article", "A two-state chain can have lag-1 correlation −.1 only up to this rate.",
        "the article, section 5.1", lambda cost, kappa: 1.0 / 1.1,
    ),
)  # fmt: skip
"""One row per sense; the steps of κ*, of κ_0.9 and of the tail are added by `critical_alphas`."""


def critical_alphas(cost: Cost, kappa: int = 4, tokens: int = 128) -> tuple[CriticalAlpha, ...]:
    """Every acceptance rate that some definition makes critical, i.i.d. drafts.

    Parameters
    ----------
    cost : Cost
        Prices c0, c_d, c_v, c_r; no cost tables.
    kappa : int
        Draft length where a definition names one, ≥ 1.
    tokens : int
        Sequence length of the tail steps, in tokens.

    Returns
    -------
    tuple of CriticalAlpha
        `DEFINITIONS`, then the steps of κ*, of κ_0.9, and, if c_r = 0, of the κ with the least P99 of the time.

    Raises
    ------
    ParameterError
        If an argument is out of range or the costs are tables.

    References
    ----------
    docs/theory.md sections 3 and 7, claims C16, C24, C31 to C38 and C51.

    Examples
    --------
    >>> found = {row.name: row.alpha for row in critical_alphas(Cost(c_d=0.1))}
    >>> found["break-even"], round(found["κ* 4|5"], 4), round(found["P(all rejected) = 1%"], 4)
    (0.1, 0.7323, 0.6838)
    """
    check_whole("kappa", kappa, 1)
    per_draft_of(cost)
    rows = [CriticalAlpha(d.name, d.family, d.at(cost, kappa), d.words, d.source) for d in DEFINITIONS]
    for k, alpha in enumerate(staircase(cost, STEPS)):
        words = f"κ* steps from {k} to {k + 1}: S({k}) = S({k + 1})."
        rows.append(CriticalAlpha(f"κ* {k}|{k + 1}", "step", _inside(alpha), words, STEP_SOURCE, k))
    for k in range(SHARE_STEPS):
        words = f"κ = {k} no longer reaches 90% of S*."
        alpha = share_step_alpha(k, cost)
        rows.append(CriticalAlpha(f"κ_0.9 {k}|{k + 1}", "share", alpha, words, SHARE_SOURCE, k))
    for k, alpha in enumerate(tail_staircase(cost, TAIL_STEPS, tokens) if cost.c_r == 0 else ()):
        words = f"The κ with the least P99 of the time for {tokens} tokens first exceeds {k}."
        rows.append(CriticalAlpha(f"P99 κ {k}|{k + 1}", "tail", alpha, words, TAIL_SOURCE, k))
    return tuple(rows)


@dataclass(frozen=True)
class Surroundings:
    """What lies at a rate, and how remarkable that is.

    Attributes
    ----------
    alpha : float
        The rate asked for.
    nearest : tuple of CriticalAlpha
        The critical rates by distance, those inside (0, 1) only.
    here : tuple of CriticalAlpha
        Those that round to ``alpha`` at two digits: no further than .005.
    share_as_near : float
        Share of the rates from .5 to .95 that are as near to a critical rate as ``alpha`` is, or nearer.
    bends : tuple of float
        Second differences of S* divided by h² at ``alpha`` − .04, ``alpha`` and ``alpha`` + .04, h = .04: where gains
        accelerate they are positive; ``nan`` where drafting never pays or is free.
    """

    alpha: float
    nearest: tuple[CriticalAlpha, ...]
    here: tuple[CriticalAlpha, ...]
    share_as_near: float
    bends: tuple[float, float, float]


def surroundings(alpha: float, cost: Cost, rows: tuple[CriticalAlpha, ...]) -> Surroundings:
    """What lies at an acceptance rate: its nearest critical rates, their number by chance, and the bend of S*.

    Parameters
    ----------
    alpha : float
        Rate to look at, .1 < alpha < .9.
    cost : Cost
        Prices c0, c_d, c_v, c_r; no cost tables.
    rows : tuple of CriticalAlpha
        From `critical_alphas` at the same prices.

    Returns
    -------
    Surroundings

    Raises
    ------
    ParameterError
        If ``alpha`` is out of range, the costs are tables, or no row has a rate inside (0, 1).

    References
    ----------
    docs/theory.md, claims C01, C31 and C37.

    Examples
    --------
    >>> price = Cost(c_d=0.1)
    >>> found = surroundings(0.74, price, critical_alphas(price))
    >>> [(row.name, round(row.alpha, 4)) for row in found.nearest[:2]], round(found.share_as_near, 2)
    ([('P99 κ 3|4', 0.7442), ('κ* 4|5', 0.7323)], 0.48)
    """
    check_inside("alpha", alpha, 0.1, 0.9)
    inside = [row for row in rows if 0.0 < row.alpha < 1.0]
    if not inside:
        raise ParameterError("rows", f"rows: none of {len(rows)} lies inside (0, 1); allowed: at least one that does")
    nearest = tuple(sorted(inside, key=lambda row: abs(row.alpha - alpha)))
    places = np.array([row.alpha for row in inside])
    others = np.linspace(*USUAL_RATES, 4501)
    distance = np.abs(others[:, None] - places).min(axis=1)
    bends = [_bend(alpha + shift, cost) if _pays(cost) else math.nan for shift in (-BEND, 0.0, BEND)]
    return Surroundings(
        alpha=alpha,
        nearest=nearest,
        here=tuple(row for row in nearest if abs(row.alpha - alpha) <= HALF_DIGIT),
        share_as_near=float((distance <= abs(nearest[0].alpha - alpha)).mean()),
        bends=(bends[0], bends[1], bends[2]),
    )


def _bend(alpha: float, cost: Cost) -> float:
    below, here, above = (best_speedup(alpha + shift, cost) for shift in (-BEND, 0.0, BEND))
    return (below - 2.0 * here + above) / BEND**2
