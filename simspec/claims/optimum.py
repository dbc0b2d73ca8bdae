"""Claims C20–C25 of section 3: is ρ(κ) the speed-up, has T(κ) a minimum, and is formula (12) the best κ?"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from simspec import theory
from simspec.claims.claim import Claim, above, below, between, formula, integer, printed
from simspec.claims.quantity import BestKappa, CostCurve, Formula, Speedup, SpeedupGain, difference
from simspec.claims.search import limit, peak, root, slope
from simspec.claims.setup import ARTICLE, KAPPAS, OVERHEADS, STANDARD, USUAL, article_cost, best_at, usual_s
from simspec.model import Cost, Iid
from simspec.theory import article


def claims() -> list[Claim]:
    """Rows of C20–C25."""
    return [*_c20(), *_c21(), *_c22(), *_c23(), *_c24(), *_c25()]


A, B = 0.7, 0.1
CONSISTENT = ("R1", "R4")
"""Readings of equation (5) whose rho has the limit that the text states; the others it excludes are no claims."""
STAR = best_at(A, STANDARD)
"""κ* of the usual process at the usual cost."""


def _c20() -> list[Claim]:
    truth = (
        f"Throughput rises to {usual_s(STAR):.4f} at kappa = {STAR} and falls after it, to {usual_s(8):.4f} at 8 and "
        f"{usual_s(100):.4f} at 100 (alpha = .7, beta = .1)."
    )

    def least_step(rho: Callable[[float, float, float], float]) -> float:
        return min(rho(k + 1, A, B) - rho(k, A, B) for k in range(1, 64))

    def least_by_algebra(rejects: Callable[[int], float], latency: Callable[[float, float, float], float]) -> float:
        """(k + 1)T(k) − kT(k + 1) holds only the rejection term, so the step is that over T(k)T(k + 1)."""
        return min(
            ((k + 1) * rejects(k) - k * rejects(k + 1)) / (latency(k, A, B) * latency(k + 1, A, B))
            for k in range(1, 64)
        )

    return [
        Claim(
            "C20",
            "3.2",
            "algebra, reading R1 of eq. (5)",
            "The article's rho(kappa) increases with kappa.",
            above(0.0),
            Formula(
                lambda: least_step(article.rho_r1), again=lambda: least_by_algebra(lambda k: 1 - A, article.latency_r1)
            ),
            f"rho of reading R1 does increase (smallest step for kappa < 64: {least_step(article.rho_r1):.2g}), but it "
            f"is not the speed-up. {truth}",
        ),
        Claim(
            "C20",
            "3.2",
            "algebra, reading R4 of eq. (5)",
            "The article's rho(kappa) increases with kappa.",
            above(0.0),
            Formula(
                lambda: least_step(article.rho_r4),
                again=lambda: least_by_algebra(lambda k: 1 - A**k, article.latency_r4),
            ),
            f"rho of reading R4 does increase (smallest step for kappa < 64: {least_step(article.rho_r4):.2g}), but it "
            f"is not the speed-up. {truth}",
        ),
        Claim(
            "C20",
            "3.2",
            "throughput, alpha = .7, beta = .1: speed-up at kappa = 8 minus that at 4",
            "The speed-up increases with kappa.",
            above(0.0),
            SpeedupGain(USUAL, 8, 4, STANDARD),
            truth,
        ),
    ]


def _c21() -> list[Claim]:
    row = functools.partial(Claim, "C21", "3.2")
    bound = article.rho_infinity(A, B)
    better = "rho is the speed-up, so a better draft makes it larger: its value at alpha = .9 is above that at .6."
    gain = f"the best speed-up rises from {_best_speedup(0.6):.4f} to {_best_speedup(0.9):.4f}."
    return [
        *(_limit(name) for name in CONSISTENT),
        row(
            "algebra, the limit 1/(alpha + beta), beta = .1: rho at alpha = .9 minus that at .6",
            better,
            above(0.0),
            Formula(
                lambda: article.rho_infinity(0.9, B) - article.rho_infinity(0.6, B),
                again=lambda: limit(lambda kappa: article.rho_r4(kappa, 0.9, B) - article.rho_r4(kappa, 0.6, B)),
                tolerance=1e-6,
            ),
            f"The limit falls as drafts get better, from {article.rho_infinity(0.6, B):.4f} to "
            f"{article.rho_infinity(0.9, B):.4f}; {gain}",
        ),
        row(
            "algebra, reading R1, kappa = 4, beta = .1: rho at alpha = .9 minus that at .6",
            better,
            above(0.0),
            Formula(lambda: article.rho_r1(4, 0.9, B) - article.rho_r1(4, 0.6, B)),
            f"It falls as drafts get better, from {article.rho_r1(4, 0.6, B):.4f} to {article.rho_r1(4, 0.9, B):.4f}; "
            f"{gain}",
        ),
        row(
            "throughput, speed-up S(4) at kappa = 4, alpha = .7, beta = .1",
            "1/(alpha + beta) is an upper bound of the speed-up.",
            below(bound),
            Speedup(USUAL, 4, STANDARD),
            f"The speed-up at kappa = 4 exceeds {bound:.2f}; the bounds are {usual_s(STAR):.4f} for a fixed kappa and "
            f"{theory.foresight_bound(A, B):.4f} with perfect foresight.",
        ),
        row(
            "throughput, speed-up S(100) at kappa = 100, alpha = .7, beta = .1",
            "The bound is reached as kappa grows.",
            formula(bound),
            Speedup(USUAL, 100, STANDARD),
            f"With any drafting cost the speed-up tends to 0: at kappa = 100 it is {usual_s(100):.4f}.",
        ),
    ]


def _best_speedup(alpha: float) -> float:
    return theory.optimum(Iid(alpha=alpha), STANDARD, 64).best_speedup


def _limit(name: str) -> Claim:
    """Does a reading of equation (5) have the limit that the text states?"""
    own = article.rho_limit(name, A, B)
    return Claim(
        "C21",
        "3.2",
        f"algebra, limit of reading {name}",
        "rho(kappa) tends to 1/(alpha + beta).",
        formula(article.rho_infinity(A, B)),
        Formula(
            lambda: own, again=lambda: limit(lambda kappa: article.rho_by_reading(name, kappa, A, B)), tolerance=1e-6
        ),
        f"The limit of {name}, T = {article.LATENCIES[name].text}, is {own:.4f} at alpha = .7, beta = .1; the speed-up "
        f"itself tends to 0 and is largest at kappa = {STAR}, {usual_s(STAR):.4f}.",
    )


def _c22() -> list[Claim]:
    return [
        Claim(
            "C22",
            "3.2",
            "throughput with drafting cost alone: speed-up at kappa = 64 minus that at 4",
            "Only cache size, verification cost and variance keep kappa finite; without them longer is faster.",
            above(0.0),
            SpeedupGain(USUAL, 64, 4, STANDARD),
            f"Drafting cost alone makes kappa* finite: {STAR} at alpha = .7, beta = .1; at 64 "
            f"the speed-up is {usual_s(64):.4f}.",
        ),
    ]


def _c23() -> list[Claim]:
    bend = CostCurve(USUAL, ((3, 1.0), (4, -2.0), (5, 1.0)), ARTICLE)
    first = CostCurve(USUAL, ((0, -1.0), (1, 1.0)), ARTICLE)
    return [
        Claim(
            "C23",
            "3.2",
            "T of eq. (10), curvature at kappa = 4, alpha = .7, the article's costs, any c0",
            "T(kappa) is convex because alpha^kappa falls.",
            above(0.0),
            bend,
            f"T is concave: its second difference at kappa = 4 is {bend.exact():.4f}.",
        ),
        Claim(
            "C23",
            "3.2",
            "T of eq. (10), T(1) against T(0), alpha = .7, the article's costs, any c0",
            "T(kappa) has a minimum at some kappa > 0.",
            below(0.0),
            first,
            f"The cost of a round has no minimum, only throughput has a maximum: T rises from the start, by "
            f"{first.exact():.4f} with the first draft.",
        ),
    ]


def coded_again() -> float:
    """κ of eq. (12) at the article's point by search: the peak of (c_d + c_v)κ − c_r α^(−κ), whose slope it solves."""
    return peak(lambda kappa: 0.6 * kappa - A**-kappa, 0.0, 5.0)


def _c24() -> list[Claim]:
    row = functools.partial(Claim, "C24", "3.2")
    coded = article.kappa_star_as_coded(A)
    steep = article.latency_slope(coded, A)
    dear, cheap = BestKappa(USUAL, Cost(c_d=0.3), KAPPAS), BestKappa(USUAL, Cost(c_d=0.05), KAPPAS)
    root_11 = article.kappa_of_stationarity(A)
    lambert = (
        f"the kappa of largest throughput solves another equation, closed by Lambert's W: "
        f"{theory.kappa_star_continuous(A, STANDARD):.4f} at alpha = .7, beta = .1, c_v = c_r = 0."
    )
    return [
        row(
            "eq. (12) as a root of eq. (11): dT/dkappa there",
            "The kappa of (12) makes dT/dkappa vanish.",
            between(-0.0025, 0.0025),
            Formula(
                lambda: steep,
                again=lambda: slope(lambda kappa: article.latency_constrained(kappa, A), coded),
                tolerance=1e-8,
            ),
            f"T rises with every kappa, at {coded:.4f} by {steep:.4f} per draft, and has no minimum; {lambert}",
        ),
        row(
            "eq. (12) as a root of c_r alpha^kappa ln(1/alpha) = c_d + c_v, the article's costs",
            f"(12) solves (11): kappa = {coded:.4f}.",
            formula(coded),
            Formula(
                lambda: root_11,
                again=lambda: root(lambda kappa: article.stationarity(kappa, A), -10.0, 10.0),
                tolerance=1e-8,
            ),
            f"Even with its sign mended (11) has the root {root_11:.4f}, no draft length; {lambert}",
        ),
        *(
            row(
                f"eq. (12) as the optimum of throughput, the article's costs, {text}",
                f"The best kappa is that of (12), {coded:.2f}, so {round(coded)}.",
                integer(round(coded)),
                BestKappa(USUAL, article_cost(c0), KAPPAS),
                f"{_with_overhead(c0)} At alpha = .84 it is {best_at(0.84, article_cost(c0))}, and (12) gives "
                f"{article.kappa_star_as_coded(0.84):.2f}.",
            )
            for text, c0 in OVERHEADS.items()
        ),
        row(
            "eq. (12) as the optimum of the article's rho = kappa c_t/T with T of (10), any c0: best kappa up to 64",
            f"The best kappa is that of (12), {coded:.2f}, so {round(coded)}.",
            integer(round(coded)),
            Formula(_longest_is_best, again=_longest_by_slope),
            "That rho has no maximum: it rises with every kappa towards 1/(c_d + c_v) = "
            f"{1 / 0.6:.4f}, as it counts kappa tokens per round; throughput has kappa* = {STAR} with c_v = c_r = 0.",
        ),
        row(
            "direction of eq. (12) in beta: kappa*(beta = .3) - kappa*(beta = .05), standard costs",
            "(12) rises with the draft cost: dearer drafts ask for longer drafts.",
            above(1.0),
            difference(dear, cheap),
            f"(12) rises from {article.kappa_star_as_coded(A, 0.05):.3f} to {article.kappa_star_as_coded(A, 0.3):.3f} "
            f"as beta goes from .05 to .3, while the best kappa falls from {cheap.exact():.0f} to {dear.exact():.0f}.",
        ),
    ]


def _with_overhead(overhead: float) -> str:
    """What is best at the article's costs once its c_0 is given a value."""
    cost = article_cost(overhead)
    return (
        f"With c_v = .5, c_r = 1 and c0 = {overhead:g} one draft has the speed-up {usual_s(1, cost):.4f} and two "
        f"{usual_s(2, cost):.4f} against 1 without drafts, so the best kappa is {best_at(A, cost)}."
    )


def _longest_is_best() -> float:
    """κ ≤ 64 of largest κ/T(κ), the same for every c_0 tried; 0 if it is not."""
    found = {
        max(range(1, 65), key=lambda kappa: kappa / article.latency_constrained(kappa, A, c0=c0))
        for c0 in OVERHEADS.values()
    }
    return float(found.pop() if len(found) == 1 else 0)


def _longest_by_slope() -> float:
    """κ/T rises where T > κT'; with c_0 = 0, the hardest case, that is 1 > α^κ(1 + κ ln(1/α))."""
    rises = [A**kappa * (1.0 - kappa * math.log(A)) < 1.0 for kappa in range(1, 65)]
    return float(64 if all(rises) else rises.index(False) + 1)


def _c25() -> list[Claim]:
    row = functools.partial(Claim, "C25", "3.3")
    coded = article.kappa_star_as_coded(A)
    continuous = theory.kappa_star_continuous(A, STANDARD)
    standard = BestKappa(USUAL, STANDARD, KAPPAS)
    needed = root(lambda alpha: article.kappa_star_as_coded(alpha) - 4.3, 0.7, 0.9)
    return [
        row(
            "eq. (12) as coded, alpha = .7, beta = .1, c_v = .5, c_r = 1",
            "kappa* is about 4.3.",
            printed("4.3", about=True),
            Formula(lambda: article.kappa_star_as_coded(A), again=coded_again, tolerance=1e-7),
            f"The printed formula gives {coded:.4f} and reaches 4.3 at alpha = {needed:.4f}; the kappa of largest "
            f"throughput is {continuous:.4f} with c_v = c_r = 0.",
        ),
        *(
            row(
                f"optimum of throughput, the same costs, {text}",
                "kappa* is about 4.3, so 4.",
                integer(4),
                BestKappa(USUAL, article_cost(c0), KAPPAS),
                f"Four drafts lose, with a speed-up of {usual_s(4, article_cost(c0)):.4f}. {_with_overhead(c0)}",
            )
            for text, c0 in OVERHEADS.items()
        ),
        row(
            "optimum of throughput, standard costs, continuous kappa",
            "kappa* is about 4.3.",
            printed("4.3", about=True),
            Formula(
                lambda: continuous,
                again=lambda: peak(lambda kappa: theory.speedup_continuous(A, kappa, STANDARD), 0.0, 20.0),
                tolerance=1e-7,
            ),
            f"With c_v = c_r = 0 the continuous optimum is {continuous:.4f}.",
        ),
        row(
            "optimum of throughput, standard costs, integer kappa",
            "kappa* is about 4.3, so 4.",
            integer(4),
            standard,
            "The stated answer, but from other costs and another formula: with c_v = c_r = 0 the best kappa is "
            f"{standard.exact():.0f}, with the speed-up {usual_s(4):.4f}.",
        ),
    ]
