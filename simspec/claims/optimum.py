"""Claims C20–C25 of section 3: is ρ(κ) the speed-up, has T(κ) a minimum, and is formula (12) the best κ?"""

from __future__ import annotations

from collections.abc import Callable

from simspec import theory
from simspec.claims.claim import Claim, above, below, between, formula, integer, printed
from simspec.claims.quantity import BestKappa, CostCurve, Difference, Formula, Speedup, SpeedupGain
from simspec.claims.search import limit, peak, slope
from simspec.claims.setup import ARTICLE, KAPPAS, STANDARD, USUAL, best_at, usual_s
from simspec.model import Cost
from simspec.theory import article


def claims() -> list[Claim]:
    """Rows of C20–C25."""
    return [*_c20(), *_c21(), *_c22(), *_c23(), *_c24(), *_c25()]


A, B = 0.7, 0.1
STAR = best_at(A, STANDARD)
"""κ* of the usual process at the usual cost."""


def _c20() -> list[Claim]:
    truth = (
        f"Throughput rises to S({STAR}) = {usual_s(STAR):.4f} and falls after it: S(8) = {usual_s(8):.4f}, "
        f"S(100) = {usual_s(100):.4f} at alpha = .7, beta = .1."
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
            "throughput, alpha = .7, beta = .1: S(8) against S(4)",
            "The speed-up increases with kappa.",
            above(0.0),
            SpeedupGain(USUAL, 8, 4, STANDARD),
            truth,
        ),
    ]


def _c21() -> list[Claim]:
    bound = article.rho_infinity(A, B)
    return [
        *(_limit(name) for name in article.LATENCIES),
        Claim(
            "C21",
            "3.2",
            "throughput, S(4) at alpha = .7, beta = .1",
            "1/(alpha + beta) is an upper bound of the speed-up.",
            below(bound),
            Speedup(USUAL, 4, STANDARD),
            f"S(4) = {usual_s(4):.4f} exceeds {bound:.2f}; the bounds are S* = {usual_s(STAR):.4f} for a fixed "
            f"kappa and {theory.foresight_bound(A, B):.4f} with perfect foresight.",
        ),
        Claim(
            "C21",
            "3.2",
            "throughput, S(100) at alpha = .7, beta = .1",
            "The bound is reached as kappa grows.",
            formula(bound),
            Speedup(USUAL, 100, STANDARD),
            f"With any drafting cost the speed-up tends to 0: S(100) = {usual_s(100):.4f}.",
        ),
    ]


def _limit(name: str) -> Claim:
    """Which readings of equation (5) have the limit that the text states?"""
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
        f"tends to 0 and is largest at kappa = {STAR}, S* = {usual_s(STAR):.4f}.",
    )


def _c22() -> list[Claim]:
    return [
        Claim(
            "C22",
            "3.2",
            "throughput with drafting cost alone, S(64) against S(4)",
            "Only cache size, verification cost and variance keep kappa finite; without them longer is faster.",
            above(0.0),
            SpeedupGain(USUAL, 64, 4, STANDARD),
            f"Drafting cost alone makes kappa* finite: {STAR} at alpha = .7, beta = .1, and S(64) = {usual_s(64):.4f}.",
        ),
    ]


def _c23() -> list[Claim]:
    bend = CostCurve(USUAL, ((3, 1.0), (4, -2.0), (5, 1.0)), ARTICLE)
    first = CostCurve(USUAL, ((0, -1.0), (1, 1.0)), ARTICLE)
    return [
        Claim(
            "C23",
            "3.2",
            "T of eq. (10), curvature at kappa = 4, alpha = .7, the article's costs",
            "T(kappa) is convex because alpha^kappa falls.",
            above(0.0),
            bend,
            f"T is concave: its second difference at kappa = 4 is {bend.exact():.4f}.",
        ),
        Claim(
            "C23",
            "3.2",
            "T of eq. (10), T(1) against T(0), alpha = .7, the article's costs",
            "T(kappa) has a minimum at some kappa > 0.",
            below(0.0),
            first,
            f"The cost of a round has no minimum, only throughput has a maximum: T rises from the start, T(1) - T(0) = "
            f"{first.exact():.4f}.",
        ),
    ]


def coded_again() -> float:
    """κ of eq. (12) at the article's point by search: the peak of (c_d + c_v)κ − c_r α^(−κ), whose slope it solves."""
    return peak(lambda kappa: 0.6 * kappa - A**-kappa, 0.0, 5.0)


def _c24() -> list[Claim]:
    coded = article.kappa_star_as_coded(0.7)
    steep = article.latency_slope(coded, 0.7)
    own = BestKappa(USUAL, ARTICLE, KAPPAS)
    dear, cheap = BestKappa(USUAL, Cost(c_d=0.3), KAPPAS), BestKappa(USUAL, Cost(c_d=0.05), KAPPAS)
    return [
        Claim(
            "C24",
            "3.2",
            "eq. (12) as a root of eq. (11): dT/dkappa there",
            "The kappa of (12) makes dT/dkappa vanish.",
            between(-0.0025, 0.0025),
            Formula(
                lambda: steep,
                again=lambda: slope(lambda kappa: article.latency_constrained(kappa, 0.7), coded),
                tolerance=1e-8,
            ),
            f"(12) carries two sign errors: dT/dkappa is positive everywhere and at kappa = {coded:.4f} it is "
            f"{steep:.4f}.",
        ),
        Claim(
            "C24",
            "3.2",
            "eq. (12) as the optimum of throughput, the article's costs",
            f"The best kappa is that of (12), {coded:.2f}, so {round(coded)}.",
            integer(round(coded)),
            own,
            f"With c_v = .5, c_r = 1 the best kappa is {own.exact():.0f}: S(0) = 1, S(1) = {usual_s(1, ARTICLE):.4f}.",
        ),
        Claim(
            "C24",
            "3.2",
            "direction of eq. (12) in beta: kappa*(beta = .3) - kappa*(beta = .05), standard costs",
            "(12) rises with the draft cost: dearer drafts ask for longer drafts.",
            above(1.0),
            Difference(dear, cheap),
            f"The best kappa falls from {cheap.exact():.0f} to {dear.exact():.0f} as beta goes from .05 to .3, while "
            f"(12) rises from {article.kappa_star_as_coded(0.7, 0.05):.3f} to "
            f"{article.kappa_star_as_coded(0.7, 0.3):.3f}.",
        ),
    ]


def _c25() -> list[Claim]:
    coded = article.kappa_star_as_coded(0.7)
    continuous = theory.kappa_star_continuous(0.7, STANDARD)
    own, standard = BestKappa(USUAL, ARTICLE, KAPPAS), BestKappa(USUAL, STANDARD, KAPPAS)
    return [
        Claim(
            "C25",
            "3.3",
            "eq. (12) as coded, alpha = .7, beta = .1, c_v = .5, c_r = 1",
            "kappa* is about 4.3.",
            printed("4.3", about=True),
            Formula(lambda: article.kappa_star_as_coded(0.7), again=coded_again, tolerance=1e-7),
            f"The printed formula gives {coded:.4f}.",
        ),
        Claim(
            "C25",
            "3.3",
            "optimum of throughput, the same costs",
            "kappa* is about 4.3, so 4.",
            integer(4),
            own,
            f"With these costs speculation loses, S(4) = {usual_s(4, ARTICLE):.4f}, and the best kappa is "
            f"{own.exact():.0f}.",
        ),
        Claim(
            "C25",
            "3.3",
            "optimum of throughput, standard costs, continuous kappa",
            "kappa* is about 4.3.",
            printed("4.3", about=True),
            Formula(
                lambda: continuous,
                again=lambda: peak(lambda kappa: theory.speedup_continuous(0.7, kappa, STANDARD), 0.0, 20.0),
                tolerance=1e-7,
            ),
            f"The continuous optimum is {continuous:.4f}.",
        ),
        Claim(
            "C25",
            "3.3",
            "optimum of throughput, standard costs, integer kappa",
            "kappa* is about 4.3, so 4.",
            integer(4),
            standard,
            "The stated answer, but from other costs and another formula: with c_v = c_r = 0 the best kappa is "
            f"{standard.exact():.0f}, S = {usual_s(4):.4f}.",
        ),
    ]
