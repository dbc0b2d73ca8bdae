"""Claims of sections 1 and 3: what is the best draft length, and does the article's formula give it?"""

from __future__ import annotations

import functools
import math

import numpy as np

from simspec import theory
from simspec.claims.claim import Claim, above, below, between, formula, integer, printed
from simspec.claims.quantity import BestKappa, CostCurve, Difference, Formula, ShareInBand, Speedup, SpeedupGain
from simspec.model import Cost, Iid
from simspec.theory import article

USUAL = Iid(alpha=0.7)
STANDARD = Cost(c_d=0.1)
ARTICLE = Cost(c_d=0.1, c_v=0.5, c_r=1.0)
KAPPAS = tuple(range(17))
GRID_ALPHAS = tuple(round(0.6 + 0.005 * i, 3) for i in range(51))
GRID_BETAS = tuple(round(0.05 + 0.005 * i, 3) for i in range(31))


def _grid(c_v: float = 0.0, c_r: float = 0.0) -> ShareInBand:
    costs = tuple(Cost(c_d=beta, c_v=c_v, c_r=c_r) for beta in GRID_BETAS)
    return ShareInBand(tuple(Iid(alpha=alpha) for alpha in GRID_ALPHAS), costs, KAPPAS)


def _working_range(betas: tuple[float, ...], low: int, high: int) -> ShareInBand:
    alphas = tuple(round(0.68 + 0.01 * i, 2) for i in range(8))
    return ShareInBand(
        tuple(Iid(alpha=alpha) for alpha in alphas), tuple(Cost(c_d=beta) for beta in betas), KAPPAS, low, high
    )


@functools.cache
def _coded_on_grid() -> np.ndarray:
    return np.array([article.kappa_star_as_coded(alpha, beta) for alpha in GRID_ALPHAS for beta in GRID_BETAS])


def _true_on_grid() -> np.ndarray:
    return np.array(
        [theory.kappa_star_continuous(alpha, Cost(c_d=beta)) for alpha in GRID_ALPHAS for beta in GRID_BETAS]
    )


def _in_band(values: np.ndarray) -> float:
    return float(np.mean((values >= 3) & (values <= 7)))


def _best(alpha: float, cost: Cost) -> int:
    return theory.optimum(Iid(alpha=alpha), cost, 64).kappa_star


def step_alpha(kappa: int, cost: Cost) -> float:
    """The α at which κ* of independent drafts steps from ``kappa`` to ``kappa + 1``: where S(κ) = S(κ + 1)."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        longer = theory.speedup(Iid(alpha=middle), kappa + 1, cost) > theory.speedup(Iid(alpha=middle), kappa, cost)
        low, high = (low, middle) if longer else (middle, high)
    return high


def _speed(kappa: int, cost: Cost = STANDARD) -> float:
    return theory.speedup(USUAL, kappa, cost)


def claims() -> list[Claim]:
    """Rows of C06 and C20–C27."""
    return [*_usual_range(), *_article_speedup(), *_article_cost(), *_formula_12(), *_production()]


def _usual_range() -> list[Claim]:
    where = "grid alpha .60 to .85 x beta .05 to .20"
    statement = "The best draft length often lies in [3, 7] (on more than half of the grid)."
    low, high = _best(0.6, Cost(c_d=0.2)), _best(0.85, Cost(c_d=0.05))
    return [
        Claim(
            "C06", "1", f"throughput, standard costs (c_v = c_r = 0), {where}", statement, between(0.5, 1.0), _grid(),
            f"With the standard costs kappa* lies in [3, 7] on {_grid().exact():.1%} of the grid; it runs from {low} "
            f"to {high}.",
        ),
        Claim(
            "C06", "1", f"throughput, the article's c_v = .5 and c_r = 1, {where}", statement, between(0.5, 1.0),
            _grid(0.5, 1.0),
            f"With the article's own costs kappa* lies in [3, 7] on {_grid(0.5, 1.0).exact():.0%} of the grid: "
            f"verification and rollback are so dear that kappa* is {_best(0.7, ARTICLE)} at alpha = .7, beta = .1.",
        ),
        Claim(
            "C06", "1", f"throughput, the article's c_v = .5 without rollback cost, {where}", statement,
            between(0.5, 1.0), _grid(0.5, 0.0),
            f"With c_v = .5 alone kappa* lies in [3, 7] on {_grid(0.5, 0.0).exact():.0%} of the grid; at alpha = .7, "
            f"beta = .1 it is {_best(0.7, Cost(c_d=0.1, c_v=0.5))}.",
        ),
    ]  # fmt: skip


def _article_speedup() -> list[Claim]:
    a, b = 0.7, 0.1
    bound = article.rho_infinity(a, b)
    star = _best(a, STANDARD)
    truth = f"Throughput rises to S({star}) = {_speed(star):.4f} and falls after it: S(8) = {_speed(8):.4f}, " \
            f"S(100) = {_speed(100):.4f} at alpha = .7, beta = .1."

    def least_step(rho: object) -> float:
        return min(rho(k + 1, a, b) - rho(k, a, b) for k in range(1, 64))  # type: ignore[operator]

    return [
        Claim(
            "C20", "3.2", "algebra, reading R1 of eq. (5)", "The article's rho(kappa) increases with kappa.", above(0.0),
            Formula(lambda: least_step(article.rho_r1)),
            f"rho of reading R1 does increase (smallest step for kappa < 64: {least_step(article.rho_r1):.2g}), but it "
            "is not the speed-up.",
        ),
        Claim(
            "C20", "3.2", "algebra, reading R4 of eq. (5)", "The article's rho(kappa) increases with kappa.", above(0.0),
            Formula(lambda: least_step(article.rho_r4)),
            f"rho of reading R4 does increase (smallest step for kappa < 64: {least_step(article.rho_r4):.2g}), but it "
            "is not the speed-up.",
        ),
        Claim(
            "C20", "3.2", "throughput, alpha = .7, beta = .1: S(8) against S(4)",
            "The speed-up increases with kappa.", above(0.0), SpeedupGain(USUAL, 8, 4, STANDARD), truth,
        ),
        Claim(
            "C21", "3.2", "algebra, limit of reading R1", "rho(kappa) tends to 1/(alpha + beta).", formula(bound),
            Formula(lambda: article.rho_r1(1e9, a, b)),
            f"The limit of R1 is {bound:.4f} at alpha = .7, beta = .1; it falls as alpha rises, so it is no speed-up.",
        ),
        Claim(
            "C21", "3.2", "algebra, limit of reading R4", "rho(kappa) tends to 1/(alpha + beta).", formula(bound),
            Formula(lambda: article.rho_r4(1e9, a, b)),
            f"The limit of R4 is {bound:.4f} at alpha = .7, beta = .1 as well.",
        ),
        Claim(
            "C21", "3.2", "throughput, S(4) at alpha = .7, beta = .1", "1/(alpha + beta) is an upper bound of the speed-up.",
            below(bound), Speedup(USUAL, 4, STANDARD),
            f"S(4) = {_speed(4):.4f} exceeds {bound:.2f}; the bounds are S* = {_speed(star):.4f} for a fixed kappa and "
            f"{theory.foresight_bound(a, b):.4f} with perfect foresight.",
        ),
        Claim(
            "C21", "3.2", "throughput, S(100) at alpha = .7, beta = .1", "The bound is reached as kappa grows.",
            formula(bound), Speedup(USUAL, 100, STANDARD),
            f"S(100) = {_speed(100):.4f}; with any drafting cost the speed-up tends to 0.",
        ),
        Claim(
            "C22", "3.2", "throughput with drafting cost alone, S(64) against S(4)",
            "Only cache size, verification cost and variance keep kappa finite; without them longer is faster.",
            above(0.0), SpeedupGain(USUAL, 64, 4, STANDARD),
            f"Drafting cost alone makes kappa* finite: {star} at alpha = .7, beta = .1, and S(64) = {_speed(64):.4f}.",
        ),
    ]  # fmt: skip


def _article_cost() -> list[Claim]:
    bend = CostCurve(USUAL, ((3, 1.0), (4, -2.0), (5, 1.0)), ARTICLE)
    first = CostCurve(USUAL, ((0, -1.0), (1, 1.0)), ARTICLE)
    return [
        Claim(
            "C23", "3.2", "T of eq. (10), curvature at kappa = 4, alpha = .7, the article's costs",
            "T(kappa) is convex because alpha^kappa falls.", above(0.0), bend,
            f"T is concave: its second difference at kappa = 4 is {bend.exact():.4f}.",
        ),
        Claim(
            "C23", "3.2", "T of eq. (10), T(1) against T(0), alpha = .7, the article's costs",
            "T(kappa) has a minimum at some kappa > 0.", below(0.0), first,
            f"T rises from the start, T(1) - T(0) = {first.exact():.4f}: cost per round has no minimum, only "
            "throughput has a maximum.",
        ),
    ]  # fmt: skip


def _slope_of_t() -> float:
    """dT/dκ of eq. (10) at the κ of eq. (12)."""
    kappa = article.kappa_star_as_coded(0.7)
    return 0.1 + 0.5 + math.log(1 / 0.7) * 0.7**kappa


def _formula_12() -> list[Claim]:
    coded = article.kappa_star_as_coded(0.7)
    continuous = theory.kappa_star_continuous(0.7, STANDARD)
    own = BestKappa(USUAL, ARTICLE, KAPPAS)
    standard = BestKappa(USUAL, STANDARD, KAPPAS)
    dear, cheap = BestKappa(USUAL, Cost(c_d=0.3), KAPPAS), BestKappa(USUAL, Cost(c_d=0.05), KAPPAS)
    return [
        Claim(
            "C24", "3.2", "eq. (12) as a root of eq. (11): dT/dkappa there", "The kappa of (12) makes dT/dkappa vanish.",
            between(-0.0025, 0.0025), Formula(_slope_of_t),
            f"dT/dkappa = {_slope_of_t():.4f} at kappa = {coded:.4f}; it is positive everywhere. (12) carries two sign "
            "errors.",
        ),
        Claim(
            "C24", "3.2", "eq. (12) as the optimum of throughput, the article's costs",
            f"The best kappa is that of (12), {coded:.2f}, so {round(coded)}.", integer(round(coded)), own,
            f"With c_v = .5, c_r = 1 the best kappa is {own.exact():.0f}: S(0) = 1, S(1) = {_speed(1, ARTICLE):.4f}.",
        ),
        Claim(
            "C24", "3.2", "direction of eq. (12) in beta: kappa*(beta = .3) - kappa*(beta = .05), standard costs",
            "(12) rises with the draft cost: dearer drafts ask for longer drafts.", above(1.0), Difference(dear, cheap),
            f"The best kappa falls from {cheap.exact():.0f} to {dear.exact():.0f} as beta goes from .05 to .3, while "
            f"(12) rises from {article.kappa_star_as_coded(0.7, 0.05):.3f} to "
            f"{article.kappa_star_as_coded(0.7, 0.3):.3f}.",
        ),
        Claim(
            "C25", "3.3", "eq. (12) as coded, alpha = .7, beta = .1, c_v = .5, c_r = 1", "kappa* is about 4.3.",
            printed("4.3", about=True), Formula(lambda: article.kappa_star_as_coded(0.7)),
            f"The printed formula gives {coded:.4f}.",
        ),
        Claim(
            "C25", "3.3", "optimum of throughput, the same costs", "kappa* is about 4.3, so 4.", integer(4), own,
            f"With these costs the best kappa is {own.exact():.0f}: speculation loses.",
        ),
        Claim(
            "C25", "3.3", "optimum of throughput, standard costs, continuous kappa", "kappa* is about 4.3.",
            printed("4.3", about=True), Formula(lambda: theory.kappa_star_continuous(0.7, STANDARD)),
            f"The continuous optimum is {continuous:.4f}.",
        ),
        Claim(
            "C25", "3.3", "optimum of throughput, standard costs, integer kappa", "kappa* is about 4.3, so 4.",
            integer(4), standard,
            f"With c_v = c_r = 0 the best kappa is {standard.exact():.0f}, S = {_speed(4):.4f}: the stated answer, from "
            "other costs and another formula.",
        ),
    ]  # fmt: skip


def _production() -> list[Claim]:
    where = "grid alpha .60 to .85 x beta .05 to .20"
    coded, true = _coded_on_grid(), _true_on_grid()
    middle = tuple(article.kappa_star_as_coded(0.68 + 0.0001 * i) for i in range(701))
    few = (0.05, 0.075, 0.1, 0.125, 0.15, 0.175, 0.2)
    narrow, wide = _working_range((0.1,), 3, 7), _working_range(few, 3, 7)
    tight, tight_wide = _working_range((0.1,), 4, 6), _working_range(few, 4, 6)
    return [
        Claim(
            "C26", "3.3", f"eq. (12), share of the {where} in [3, 7]", "On the grid (12) lies in [3, 7].", formula(1.0),
            Formula(lambda: _in_band(coded)),
            f"(12) lies in [3, 7] on {_in_band(coded):.1%} of the grid, below 3 on {np.mean(coded < 3):.1%}.",
        ),
        Claim(
            "C26", "3.3", f"eq. (12), geometric median over the {where}", "[3, 7] holds the geometric median of (12).",
            between(3.0, 7.0), Formula(lambda: math.exp(float(np.median(np.log(coded))))),
            f"The geometric median of (12) is {np.median(coded):.4f}.",
        ),
        Claim(
            "C26", "3.3", f"optimum of throughput, standard costs, share of the {where} in [3, 7]",
            "On the grid kappa* lies in [3, 7].", formula(1.0), _grid(),
            f"kappa* lies in [3, 7] on {_grid().exact():.1%} of the grid.",
        ),
        Claim(
            "C26", "3.3", f"continuous optimum of throughput, standard costs, geometric median over the {where}",
            "[3, 7] holds the geometric median of kappa*.", between(3.0, 7.0),
            Formula(lambda: math.exp(float(np.median(np.log(true))))),
            f"The geometric median of the continuous optimum is {np.median(true):.2f}.",
        ),
        Claim(
            "C27", "3.3", "eq. (12), alpha in [.68, .75], beta = .1: its smallest value",
            "For alpha in [.68, .75], (12) lies in [3, 7].", between(3.0, 7.0), Formula(lambda: min(middle)),
            f"(12) runs from {min(middle):.3f} to {max(middle):.3f} there.",
        ),
        Claim(
            "C27", "3.3", "optimum of throughput, standard costs, beta = .1: share in [3, 7]",
            "For alpha in [.68, .75] kappa* lies in [3, 7].", integer(1), narrow,
            f"kappa* is {_best(0.68, STANDARD)} or {_best(0.75, STANDARD)} there: {narrow.exact():.0%} in [3, 7].",
        ),
        Claim(
            "C27", "3.3", "optimum of throughput, standard costs, beta .05 to .20: share in [3, 7]",
            "For alpha in [.68, .75] kappa* lies in [3, 7].", integer(1), wide,
            f"kappa* runs from {_best(0.68, Cost(c_d=0.2))} to {_best(0.75, Cost(c_d=0.05))} there: {wide.exact():.0%} "
            "in [3, 7].",
        ),
        Claim(
            "C27", "3.3", "optimum of throughput, standard costs, beta = .1: share in [4, 6]",
            "For alpha in [.68, .75] kappa* is 4 to 6.", integer(1), tight,
            f"kappa* is {_best(0.68, STANDARD)} or {_best(0.75, STANDARD)} there: {tight.exact():.0%} in [4, 6].",
        ),
        Claim(
            "C27", "3.3", "optimum of throughput, standard costs, beta .05 to .20: share in [4, 6]",
            "For alpha in [.68, .75] kappa* is 4 to 6.", integer(1), tight_wide,
            f"Only {tight_wide.exact():.0%} of these points lie in [4, 6]; at beta = .2 kappa* is "
            f"{_best(0.7, Cost(c_d=0.2))}.",
        ),
    ]  # fmt: skip
