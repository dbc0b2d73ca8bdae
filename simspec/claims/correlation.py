"""Claims of section 5.1: what does correlation of neighbouring outcomes do to variance, tail risk and κ*?"""

from __future__ import annotations

import math

from simspec import theory
from simspec.claims.claim import Claim, above, below, formula
from simspec.claims.quantity import (
    AllRejected,
    BestKappa,
    Formula,
    JudgedVarianceFactor,
    NoneAccepted,
    Speedup,
    difference,
)
from simspec.claims.setup import KAPPAS, STANDARD, USUAL
from simspec.model import BetaMixture, Cost, DiscreteMixture, GaussianCopulaAr1, Hmm, Iid, Markov, Process
from simspec.theory import article
from simspec.theory.law import moments

RHO = 0.3
CONSTRUCTIONS: dict[str, Process] = {
    "each window starts afresh": Markov(alpha=0.7, rho=RHO),
    "chain carried from the last verdict to the next draft": Markov(alpha=0.7, rho=RHO, start="carry"),
    "indexed by sequence position, past a bonus token": Markov(alpha=0.7, rho=RHO, start="carry", steps_after_full=2),
    "advanced over corrected and bonus token": Markov(
        alpha=0.7, rho=RHO, start="carry", steps_after_reject=2, steps_after_full=2
    ),
}
_HALF = math.sqrt(RHO * 0.7 * 0.3)
OTHERS: dict[str, Process] = {
    "Beta mixture of windows": BetaMixture(alpha=0.7, rho=RHO),
    "two-point mixture of windows": DiscreteMixture(alphas=(0.7 + _HALF, 0.7 - _HALF), weights=(0.5, 0.5)),
    "Gaussian copula AR(1), fresh windows": GaussianCopulaAr1(alpha=0.7, rho=RHO),
    "hidden Markov, two states that stay with .9, fresh windows": Hmm(
        P=((0.9, 0.1), (0.1, 0.9)), alphas=(0.7 + _HALF / math.sqrt(0.8), 0.7 - _HALF / math.sqrt(0.8))
    ),
}
"""The same marginal rate and lag-1 correlation without a two-state chain of outcomes."""

LOWERED, LOWERED_COST = 0.69, Cost(c_d=0.2)
"""A point of the article's working range where a carried chain's κ* lies one below the independent one."""


def claims() -> list[Claim]:
    """Rows of C39–C41."""
    return [*_variance(), *_risk(), *_lowered(), *_negative()]


def _variance() -> list[Claim]:
    chain, kappa = Markov(alpha=0.7, rho=RHO), 4
    factor = JudgedVarianceFactor(chain, kappa)
    truth = f"For a two-state chain the factor is 1 + 2 sum (1 - j/kappa) rho^j = {factor.exact():.4f}."
    readings = {
        "(i) nearest neighbours, 1 + 2 rho (1 - 1/kappa)": article.variance_factor_nearest(RHO, kappa),
        "(ii) asymptotic, (1 + rho)/(1 - rho)": article.variance_factor_asymptotic(RHO, kappa),
        "(iii) equal correlation, 1 + (kappa - 1) rho": article.variance_factor_exchangeable(RHO, kappa),
        "all lags, 1 + 2 sum (1 - j/kappa) rho^j": factor.exact(),
    }
    statement = "Correlation multiplies the variance of the number accepted by this factor (rho = .3, kappa = 4)."
    rows = [
        Claim("C39", "5.1", f"{name}; two-state chain", statement, formula(value), factor, truth)
        for name, value in readings.items()
    ]
    mixture = BetaMixture(alpha=0.7, rho=RHO)
    equal = theory.exchangeable_variance_factor(RHO, kappa)
    rows.append(
        Claim(
            "C39",
            "5.1",
            "(iii) equal correlation; exchangeable outcomes",
            statement,
            formula(article.variance_factor_exchangeable(RHO, kappa)),
            Formula(
                lambda: theory.exchangeable_variance_factor(RHO, kappa),
                again=lambda: moments(theory.judged_sum(mixture, kappa))[1] / (kappa * 0.7 * 0.3),
            ),
            f"For exchangeable outcomes reading (iii) is exact: {equal:.4f}.",
        )
    )
    return rows


def _risk() -> list[Claim]:
    chain = CONSTRUCTIONS["each window starts afresh"]
    carried = CONSTRUCTIONS["chain carried from the last verdict to the next draft"]
    factor, rejected = JudgedVarianceFactor(chain, 4), AllRejected(chain, 4)
    return [
        Claim(
            "C40",
            "5.1",
            "variance of the number accepted, every draft judged",
            "rho = .3 inflates the variance.",
            above(1.0),
            factor,
            f"It is kappa alpha (1 - alpha) times {factor.exact():.4f} at kappa = 4.",
        ),
        Claim(
            "C40",
            "5.1",
            "all 4 drafts rejected, every draft judged",
            "rho = .3 raises the risk of complete rejection.",
            above(AllRejected(USUAL, 4).exact()),
            rejected,
            f"From {AllRejected(USUAL, 4).exact():.4f} to {rejected.exact():.4f} at alpha = .7, kappa = 4.",
        ),
        Claim(
            "C40",
            "5.1",
            "no draft accepted in a decoding window, chain carried, kappa = 4",
            "rho = .3 raises the risk of complete rejection, by .01 at least.",
            above(0.01),
            difference(NoneAccepted(carried, 4), NoneAccepted(USUAL, 4)),
            _first_rejected(),
        ),
        *(
            Claim(
                "C40",
                "5.1",
                f"first draft rejected, so none accepted, {short}, kappa = 4",
                "rho = .3 raises the risk of complete rejection, by .01 at least.",
                above(0.01),
                difference(NoneAccepted(CONSTRUCTIONS[name], 4), NoneAccepted(USUAL, 4)),
                _first_rejected(),
            )
            for short, name in SHORT.items()
        ),
    ]


SHORT = {
    "each window afresh": "each window starts afresh",
    "chain by sequence position": "indexed by sequence position, past a bonus token",
    "chain advanced over both tokens": "advanced over corrected and bonus token",
}
"""Other starts of a window's chain, in words that no figure of carried windows is about."""


def _first_rejected() -> str:
    """P(A = 0) by the start of the chain, in words."""
    places = ("where each window starts afresh", "where the chain is carried", "by sequence position",
              "where it advances over corrected and bonus token")  # fmt: skip
    found = [NoneAccepted(process, 4).exact() for process in CONSTRUCTIONS.values()]
    by_start = ", ".join(f"{value:.4f} {place}" for value, place in zip(found, places, strict=True))
    return f"From {NoneAccepted(USUAL, 4).exact():.4f} without correlation, at alpha = .7, it becomes {by_start}."


def _lowered() -> list[Claim]:
    """Does correlation lower κ*?  Construction by construction, and once where it does."""
    independent = BestKappa(USUAL, STANDARD, KAPPAS)
    rows = []
    for name, process in (CONSTRUCTIONS | OTHERS).items():
        own = BestKappa(process, STANDARD, KAPPAS)
        at_best = theory.speedup(process, int(own.exact()), STANDARD)
        rows.append(
            Claim(
                "C40",
                "5.1",
                f"{name}: kappa* at rho = .3 minus kappa* at 0 (alpha = .7, beta = .1)",
                "Positive correlation lowers kappa*.",
                below(-1.0),
                difference(own, independent),
                f"kappa* goes from {independent.exact():.0f} to {own.exact():.0f}, where the speed-up is "
                f"{at_best:.4f}.",
            )
        )
    low_carried = BestKappa(Markov(alpha=LOWERED, rho=RHO, start="carry"), LOWERED_COST, KAPPAS)
    low_free = BestKappa(Iid(alpha=LOWERED), LOWERED_COST, KAPPAS)
    rows.append(
        Claim(
            "C40",
            "5.1",
            f"chain carried from the last verdict to the next draft, alpha = {LOWERED}, beta = .2: kappa* at rho = .3 "
            "minus kappa* at 0",
            "Positive correlation lowers kappa* somewhere.",
            below(-1.0),
            difference(low_carried, low_free),
            f"A carried chain can lower it: from {low_free.exact():.0f} to {low_carried.exact():.0f} at "
            f"alpha = {LOWERED}, beta = .2.",
        )
    )
    return rows


def _negative() -> list[Claim]:
    fresh, carried, free = Markov(alpha=0.8, rho=-0.1), Markov(alpha=0.8, rho=-0.1, start="carry"), Iid(alpha=0.8)
    factor = JudgedVarianceFactor(fresh, 4)
    best = {
        name: BestKappa(process, STANDARD, KAPPAS)
        for name, process in (("fresh", fresh), ("carried", carried), ("free", free))
    }
    speeds = {process: theory.speedup(process, 6, STANDARD) for process in (carried, free)}
    return [
        Claim(
            "C41",
            "5.1",
            "variance of the number accepted, every draft judged, alpha = .8, rho = -.1",
            "Negative correlation shrinks the variance.",
            below(1.0),
            factor,
            f"It is kappa alpha (1 - alpha) times {factor.exact():.4f} at kappa = 4.",
        ),
        Claim(
            "C41",
            "5.1",
            "each window starts afresh: kappa* at rho = -.1 minus kappa* at 0 (alpha = .8, beta = .1)",
            "Negative correlation favours a longer kappa.",
            above(1.0),
            difference(best["fresh"], best["free"]),
            f"kappa* goes from {best['free'].exact():.0f} to {best['fresh'].exact():.0f}.",
        ),
        Claim(
            "C41",
            "5.1",
            "chain carried: kappa* at rho = -.1 minus kappa* at 0 (alpha = .8, beta = .1)",
            "Negative correlation favours a longer kappa.",
            above(1.0),
            difference(best["carried"], best["free"]),
            f"kappa* goes from {best['free'].exact():.0f} to {best['carried'].exact():.0f}.",
        ),
        Claim(
            "C41",
            "5.1",
            "chain carried: speed-up at kappa = 6 with rho = -.1 minus that with 0 (alpha = .8, beta = .1)",
            "Negative correlation favours long drafts.",
            above(0.0),
            difference(Speedup(carried, 6, STANDARD), Speedup(free, 6, Cost(c_d=0.1))),
            f"The gain is one of speed, not of kappa*: at kappa = 6 the speed-up rises from {speeds[free]:.4f} to "
            f"{speeds[carried]:.4f}.",
        ),
    ]
