"""Claims of section 4: is there a critical acceptance rate near .74, and what happens to complete rejection?"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from simspec import theory
from simspec.claims.claim import Claim, above, below, formula, integer, printed
from simspec.claims.quantity import AllRejected, Formula, KappaForShare, NoneAccepted, Speedup, difference
from simspec.claims.search import peak, root, slope
from simspec.claims.setup import KAPPAS, STANDARD, USUAL, step_alpha
from simspec.model import Iid
from simspec.theory import article

A, B = 0.7, 0.1


def claims() -> list[Claim]:
    """Rows of C29–C33 and C35."""
    return [*_expansion(), *_ninety_percent(), *_alpha_c(), *_sign_change(), *_saddle(), *_rejection()]


def _expansion() -> list[Claim]:
    coefficient = (1 - A) / (A + B)

    def of(rho: Callable[[float, float, float], float]) -> float:
        kappa = 1e6
        return kappa * (1 - rho(kappa, A, B) * (A + B))

    truth = (
        f"the speed-up falls like 1/((1 - alpha) beta kappa), {1 / ((1 - A) * B * 64):.4f} at kappa = 64, where it is "
        f"{theory.speedup(USUAL, 64, STANDARD):.4f}."
    )
    return [
        Claim(
            "C29",
            "4.1",
            "algebra, reading R1: coefficient of 1/kappa",
            "rho = rho_inf (1 - (1 - alpha)/((alpha + beta) kappa) + ...).",
            formula(coefficient),
            Formula(lambda: of(article.rho_r1), again=lambda: coefficient, tolerance=1e-5),
            f"The coefficient of R1 is {of(article.rho_r1):.4f}; {truth}",
        ),
        Claim(
            "C29",
            "4.1",
            "algebra, reading R4: coefficient of 1/kappa",
            "rho = rho_inf (1 - (1 - alpha)/((alpha + beta) kappa) + ...).",
            formula(coefficient),
            Formula(lambda: of(article.rho_r4), again=lambda: 1 / (A + B), tolerance=1e-5),
            f"The coefficient of R4 is 1/(alpha + beta) = {of(article.rho_r4):.4f}; {truth}",
        ),
        Claim(
            "C29",
            "4.1",
            "throughput, speed-up at kappa = 64, alpha = .7, beta = .1",
            "The speed-up follows this expansion.",
            formula(article.rho_expansion(64, A, B)),
            Speedup(USUAL, 64, STANDARD),
            f"No: {truth}",
        ),
    ]


def _ninety_percent() -> list[Claim]:
    r1, first = article.kappa_09_r1(A, B), article.kappa_09_first_order(A, B)
    limit = article.rho_infinity(A, B)
    true = theory.kappa_for_share(A, STANDARD)
    truth = f"90% of the best speed-up needs kappa = {true:.3f}."
    own = KappaForShare(USUAL, STANDARD, KAPPAS)
    return [
        Claim(
            "C30",
            "4.1",
            "algebra, reading R1 with 9(1 - alpha)/(alpha + beta): share of rho_inf reached",
            "At kappa_0.9 the article's rho reaches 90% of its limit.",
            formula(0.9),
            Formula(lambda: article.rho_r1(r1, A, B) / limit, again=lambda: 9 / (9 + 1)),
            f"At kappa = {r1:.3f} reading R1 reaches {article.rho_r1(r1, A, B) / limit:.1%} of its limit; {truth}",
        ),
        Claim(
            "C30",
            "4.1",
            "algebra, reading R1 with the first-order 10(1 - alpha)/(alpha + beta): share reached",
            "At kappa_0.9 the article's rho reaches 90% of its limit, to first order in 1/kappa.",
            printed("0.9", about=True),
            Formula(lambda: article.rho_r1(first, A, B) / limit, again=lambda: 10 / (10 + 1)),
            f"The first-order kappa = {first:.2f} reaches {article.rho_r1(first, A, B) / limit:.2%}; {truth}",
        ),
        Claim(
            "C30",
            "4.1",
            "algebra, reading R4",
            f"kappa_0.9 = 9(1 - alpha)/(alpha + beta) = {r1:.3f}.",
            formula(r1),
            Formula(
                lambda: article.kappa_09_r4(A, B),
                again=lambda: root(lambda kappa: article.rho_r4(kappa, A, B) - 0.9 * limit, 1e-6, 1e3),
            ),
            f"In reading R4 it is {article.kappa_09_r4(A, B):.3f}; {truth}",
        ),
        Claim(
            "C30",
            "4.1",
            "throughput, continuous kappa, alpha = .7, beta = .1",
            f"90% of the best speed-up needs kappa = {r1:.3f}.",
            formula(r1),
            Formula(lambda: true, again=_share_again, tolerance=1e-8),
            f"90% of the best speed-up is reached at kappa = {true:.3f}.",
        ),
        Claim(
            "C30",
            "4.1",
            "throughput, integer kappa, alpha = .7, beta = .1",
            f"90% of the best speed-up needs kappa = {math.ceil(r1)}.",
            integer(math.ceil(r1)),
            own,
            f"Whole drafts need no more than kappa = {own.exact():.0f}.",
        ),
    ]


def _share_again() -> float:
    """κ for 90% of the best speed-up, peak and crossing both found numerically."""

    def speed(kappa: float) -> float:
        return theory.speedup_continuous(A, kappa, STANDARD)

    best = peak(speed, 0.0, 20.0)
    return root(lambda kappa: speed(kappa) - 0.9 * speed(best), 0.0, best)


def _square(alpha: float) -> float:
    """What the formula of α_c solves, α² − 2(1 − β)α + β²/9 = 0."""
    return alpha**2 - 2 * (1 - B) * alpha + B**2 / 9


def _alpha_c() -> list[Claim]:
    low, high = article.alpha_c_formula(B)
    statement = "The critical rate 1 - beta - sqrt((1 - beta)^2 - beta^2/9) is about .74 at beta = .1."
    largest = max(article.alpha_c_formula(0.0005 * i)[0] for i in range(1, 1501))
    steps = (
        f"no step of kappa* lies at .74, it goes from 4 to 5 at alpha = {step_alpha(4, STANDARD):.4f} and from 5 to 6 "
        f"at {step_alpha(5, STANDARD):.4f}."
    )
    return [
        Claim(
            "C31",
            "4.1",
            "the formula as printed, beta = .1",
            statement,
            printed("0.74", about=True),
            Formula(lambda: low, again=lambda: root(_square, 0.0, 1 - B)),
            f"It evaluates to {low:.6f} at beta = .1; {steps}",
        ),
        Claim(
            "C31",
            "4.1",
            "the other root, beta = .1",
            statement,
            printed("0.74", about=True),
            Formula(lambda: high, again=lambda: root(_square, 1 - B, 2.0)),
            f"The other root is no probability, {high:.5f}; {steps}",
        ),
        Claim(
            "C31",
            "4.1",
            "the largest value over all beta for which it is real",
            "The critical rate is about .74 for some beta.",
            printed("0.74", about=True),
            Formula(lambda: largest, again=lambda: 1 - 0.75),
            f"At beta = .75, the last at which it is real, it is 1 - beta and largest: {largest:.3f}.",
        ),
    ]


def _sign_change() -> list[Claim]:
    def steep(kappa_09: Callable[[float, float], float]) -> float:
        return slope(lambda alpha: kappa_09(alpha, B), 0.8)

    rises = slope(lambda alpha: theory.kappa_for_share(alpha, STANDARD), 0.8)
    truth = f"the kappa for 90% of the best speed-up rises there by {rises:.2f} per unit of alpha."
    at = {alpha: KappaForShare(Iid(alpha=alpha), STANDARD, KAPPAS) for alpha in (0.6, 0.74, 0.9)}
    found = ", ".join(f"{quantity.exact():.0f} at {alpha}" for alpha, quantity in at.items())
    return [
        Claim(
            "C32",
            "4.1",
            "algebra, reading R1: slope at alpha = .8",
            "Above alpha_c, kappa_0.9 rises with alpha.",
            above(0.0),
            Formula(lambda: steep(article.kappa_09_r1), again=lambda: -9 * (1 + B) / (0.8 + B) ** 2, tolerance=1e-7),
            f"The slope of R1 is negative everywhere, {steep(article.kappa_09_r1):.2f} at .8; {truth}",
        ),
        Claim(
            "C32",
            "4.1",
            "algebra, reading R4: slope at alpha = .8",
            "Above alpha_c, kappa_0.9 rises with alpha.",
            above(0.0),
            Formula(lambda: steep(article.kappa_09_r4), again=_slope_of_r4, tolerance=1e-5),
            f"The slope of R4 is negative everywhere, {steep(article.kappa_09_r4):.2f} at .8; {truth}",
        ),
        Claim(
            "C32",
            "4.1",
            "throughput, below: kappa for 90% at alpha = .74 minus that at .6, beta = .1",
            "Below alpha_c, kappa_0.9 falls with alpha.",
            below(-1.0),
            difference(at[0.74], at[0.6]),
            f"The kappa that reaches 90% of the best speed-up never falls: {found}.",
        ),
        Claim(
            "C32",
            "4.1",
            "throughput, above: kappa for 90% at alpha = .9 minus that at .74, beta = .1",
            "Above alpha_c, kappa_0.9 rises with alpha.",
            above(1.0),
            difference(at[0.9], at[0.74]),
            f"There is no change of sign, it rises above .74 as it does below: {found}.",
        ),
    ]


def _slope_of_r4() -> float:
    """dκ/dα of κ(α + β) = 9(1 − α^κ) at α = .8, by implicit differentiation."""
    alpha, kappa = 0.8, article.kappa_09_r4(0.8, B)
    by_alpha = kappa + 9 * kappa * alpha ** (kappa - 1)
    return float(-by_alpha / (alpha + B + 9 * alpha**kappa * math.log(alpha)))


def _saddle() -> list[Claim]:
    row = functools.partial(Claim, "C33", "4.1")

    def steep(alpha: float) -> float:
        return slope(lambda a: article.rho_infinity(a, B), alpha)

    def relative(alpha: float) -> float:
        return slope(lambda a: math.log(article.rho_infinity(a, B)), alpha)

    best = [theory.optimum(Iid(alpha=alpha), STANDARD, 64).best_speedup for alpha in (0.7, 0.74, 0.78)]
    truth = (
        f"the best speed-up has no saddle, it gains {best[1] - best[0]:.4f} from alpha = .70 to .74 and "
        f"{best[2] - best[1]:.4f} from .74 to .78."
    )
    absolute, share, both = 1 - B, (math.sqrt((1 + 2 * B) ** 2 + 4 * (1 - B**2)) - (1 + 2 * B)) / 2, (1 - B) / 2
    matches = {
        "the alpha at which the slope of rho_inf is that of 1 - alpha, beta = .1": (
            absolute,
            lambda: root(lambda a: steep(a) + 1, 0.5, 0.99),
        ),
        "the alpha at which the slope of rho_inf is the relative rate -1/(1 - alpha), beta = .1": (
            share,
            lambda: root(lambda a: steep(a) + 1 / (1 - a), 0.4, 0.7),
        ),
        "the alpha at which both relative rates agree, beta = .1": (
            both,
            lambda: root(lambda a: relative(a) + 1 / (1 - a), 0.2, 0.7),
        ),
    }
    return [
        row(
            "d rho_inf/d alpha at alpha = .74, beta = .1, against the slope -1 of 1 - alpha",
            "Near alpha_c the slope of rho_inf matches the decay of 1 - alpha.",
            formula(-1.0),
            Formula(lambda: -1 / (0.74 + B) ** 2, again=lambda: steep(0.74), tolerance=1e-8),
            f"The slope at .74 is {-1 / (0.74 + B) ** 2:.3f}, not -1; {truth}",
        ),
        *(
            row(
                reading,
                "The decay of rho_inf and that of 1 - alpha match at .74.",
                printed("0.74", about=True),
                Formula(functools.partial(float, value), again=again, tolerance=1e-8),
                f"They match at alpha = {value:.4f}; {truth}",
            )
            for reading, (value, again) in matches.items()
        ),
    ]


def _rejection() -> list[Claim]:
    good = Iid(alpha=0.85)
    p7, p85 = article.all_rejected(0.7, 4), article.all_rejected(0.85, 4)
    judged = "P(all 4 drafts rejected) = (1 - alpha)^4"
    return [
        Claim(
            "C35",
            "4.2",
            "every draft judged, alpha = .7",
            f"{judged} = .81%.",
            printed("0.81", scale=0.01),
            AllRejected(USUAL, 4),
            f"If every draft were judged it would be {p7:.4%}; where judging stops at a rejection it is 30%.",
            exact_only=True,
        ),
        Claim(
            "C35",
            "4.2",
            "every draft judged, alpha = .85",
            f"{judged} = .05%.",
            printed("0.05", scale=0.01),
            AllRejected(good, 4),
            f"If every draft were judged it would be {p85:.4%}; where judging stops at a rejection it is 15%.",
            exact_only=True,
        ),
        Claim(
            "C35",
            "4.2",
            "decoding window, no draft accepted, alpha = .7, kappa = 4",
            "The window is completely rejected with probability .81%.",
            printed("0.81", scale=0.01),
            NoneAccepted(USUAL, 4),
            f"In decoding, for every kappa, no draft is accepted with probability 1 - alpha = "
            f"{NoneAccepted(USUAL, 4).exact():.0%}.",
        ),
        Claim(
            "C35",
            "4.2",
            "decoding window, no draft accepted, alpha = .85, kappa = 4",
            "The window is completely rejected with probability .05%.",
            printed("0.05", scale=0.01),
            NoneAccepted(good, 4),
            f"In decoding, for every kappa, no draft is accepted with probability 1 - alpha = "
            f"{NoneAccepted(good, 4).exact():.0%}.",
        ),
        Claim(
            "C35",
            "4.2",
            "Hoeffding's bound exp(-2 kappa alpha^2), alpha = .7, kappa = 4",
            "Hoeffding's inequality gives .81%.",
            printed("0.81", scale=0.01),
            Formula(lambda: article.hoeffding_bound(0.7, 4), again=_hoeffding_again),
            f"Hoeffding's bound is {article.hoeffding_bound(0.7, 4):.2%}; the exact product (1 - alpha)^kappa is "
            f"{p7:.2%}.",
        ),
    ]


def _hoeffding_again() -> float:
    """The exponent by search: the best t in E e^(t(α − A)) ≤ e^(t²/8), for κ = 4 outcomes and a deficit of κα."""

    def exponent(t: float) -> float:
        return 4 * (t * 0.7 - t * t / 8)

    return math.exp(-exponent(peak(exponent, 0.0, 10.0)))
