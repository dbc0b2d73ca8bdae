"""Claims C34 and C36–C38: does a window's fluctuation, or a service level, single out α = .74, and which ρ can be?"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np

from simspec import theory
from simspec.claims.claim import Claim, above, below, formula, printed, untestable
from simspec.claims.quantity import AllRejected, Formula, NoneAccepted, Weighted
from simspec.claims.search import root, verdict_paths
from simspec.claims.setup import STANDARD
from simspec.claims.window_quantity import JudgedSpread, WindowSpread
from simspec.model import Iid
from simspec.theory import article

C = 0.74
AT_C = Iid(alpha=C)
LEVEL = 0.2
"""Relative fluctuation that section 4.2 names as an example of too much."""


def claims() -> list[Claim]:
    """Rows of C34 and C36–C38."""
    return [*_c34(), *_c36(), *_c37(), *_c38()]


READINGS: dict[str, tuple[str, Callable[[float, float], float], str]] = {
    "(a)": ("sqrt(kappa alpha (1 - alpha))/kappa", article.relative_fluctuation_a, "deviation of the share"),
    "(b)": ("sqrt((1 - alpha)/(kappa alpha))", article.relative_fluctuation_b, "relative deviation"),
}
"""Reading of equation (15) → formula as text, formula, name of the spread it is."""


def _c34() -> list[Claim]:
    row = functools.partial(Claim, "C34", "4.2")
    rows = []
    for name, (text, value, what) in READINGS.items():
        judged = {kappa: JudgedSpread(AT_C, kappa, what) for kappa in (4, 5)}
        decoded = WindowSpread(AT_C, 4, what)
        crossing = root(_short_of_level(value), 1.0, 20.0)
        for kappa, own in judged.items():
            rows.append(
                row(
                    f"{name} {text}, every draft judged, kappa = {kappa}",
                    "At alpha = .74 the relative fluctuation exceeds .2.",
                    above(LEVEL),
                    own,
                    f"It is {own.exact():.4f} at kappa = {kappa} and falls below .2 from kappa = {crossing:.2f} on.",
                )
            )
        rows.append(
            row(
                f"{name} {text}, decoded window, kappa = 4",
                f"At alpha = .74 and kappa = 4 the relative fluctuation of a window is {value(C, 4):.4f}.",
                formula(value(C, 4)),
                decoded,
                "Where judging stops at the first rejection the deviation of the number accepted over "
                f"{OVER[name]} is {decoded.exact():.4f}, not {value(C, 4):.4f}.",
            )
        )
    return [*rows, *_c34_edges(), *_c34_direction(), *_c34_tail()]


OVER = {"(a)": "kappa", "(b)": "its mean"}


def _short_of_level(value: Callable[[float, float], float]) -> Callable[[float], float]:
    return lambda kappa: LEVEL - value(C, kappa)


def _c34_edges() -> list[Claim]:
    """The α at which a fluctuation passes .2: is it α_c?"""
    row = functools.partial(Claim, "C34", "4.2")
    statement = "alpha = .74 is where the relative fluctuation at kappa = 4 passes .2."

    def decoded(alpha: float) -> float:
        return float(theory.accepted_variance(alpha, 4) ** 0.5 / theory.expected_accepted(alpha, 4))

    edge_a, edge_b = 0.5 + (0.25 - 4 * LEVEL**2) ** 0.5, 1.0 / (1.0 + 4 * LEVEL**2)
    edge = root(lambda alpha: LEVEL - decoded(alpha), 0.5, 1.0 - 1e-9)
    return [
        row(
            "(a), every draft judged: the alpha above .5",
            statement,
            printed("0.74", about=True),
            Formula(lambda: edge_a, again=lambda: root(lambda a: LEVEL - _judged_by_listing(a)[1] / 4, 0.5, 0.999)),
            f"Reading (a) passes .2 at alpha = {edge_a:.4f}.",
        ),
        row(
            "(b), every draft judged",
            statement,
            printed("0.74", about=True),
            Formula(
                lambda: edge_b,
                again=lambda: root(lambda a: LEVEL - _judged_by_listing(a)[1] / _judged_by_listing(a)[0], 0.5, 0.999),
            ),
            f"Reading (b) passes .2 at alpha = {edge_b:.4f}.",
        ),
        row(
            "decoded window, deviation of the number accepted over its mean",
            statement,
            printed("0.74", about=True),
            Formula(lambda: edge, again=lambda: root(lambda a: LEVEL - _cv_by_law(a, 4), 0.5, 1.0 - 1e-9)),
            f"In decoding it passes .2 at alpha = {edge:.4f}.",
        ),
    ]


def _judged_by_listing(alpha: float) -> tuple[float, float]:
    """Mean and deviation of the number accepted of 4 judged drafts, all verdicts listed."""
    mean = square = 0.0
    for path, chance in verdict_paths(alpha, 4):
        mean += chance * sum(path)
        square += chance * sum(path) ** 2
    return mean, (square - mean**2) ** 0.5


def _cv_by_law(alpha: float, kappa: int) -> float:
    law = theory.window(Iid(alpha=alpha), kappa)
    return float(law.var_accepted**0.5 / law.mean_accepted)


def _c34_direction() -> list[Claim]:
    row = functools.partial(Claim, "C34", "4.2")
    falls = "A longer draft makes the relative fluctuation smaller (alpha = .74, kappa = 7 against 3)."
    judged = [JudgedSpread(AT_C, kappa, "relative deviation") for kappa in (7, 3)]
    true = [WindowSpread(AT_C, kappa, "relative deviation") for kappa in (7, 3)]
    return [
        row(
            "every draft judged",
            falls,
            below(0.0),
            Weighted(((1.0, judged[0]), (-1.0, judged[1]))),
            f"If every draft were judged it would fall from {judged[1].exact():.4f} to {judged[0].exact():.4f}.",
        ),
        row(
            "decoded window",
            falls,
            below(0.0),
            Weighted(((1.0, true[0]), (-1.0, true[1]))),
            f"Where judging stops at the first rejection it rises from {true[1].exact():.4f} to {true[0].exact():.4f}, "
            f"towards 1/sqrt(alpha) = {C**-0.5:.4f}.",
        ),
    ]


def _c34_tail() -> list[Claim]:
    """Above the level, is falling to 0 accepted drafts not to be neglected?"""
    row = functools.partial(Claim, "C34", "4.2")
    statement = "Where the relative fluctuation exceeds .2, a fall to 0 accepted drafts is not negligible: 1% or more."
    judged, decoded = AllRejected(AT_C, 4), NoneAccepted(AT_C, 4)
    spread = WindowSpread(AT_C, 4, "relative deviation").exact()
    return [
        row(
            f"every draft judged, alpha = .74, kappa = 4, where (a) is {READINGS['(a)'][1](C, 4):.4f} and (b) "
            f"{READINGS['(b)'][1](C, 4):.4f}",
            statement,
            above(0.01),
            judged,
            f"(1 - alpha)^4 is {judged.exact():.3%}, less than half of the 1% that section 4.2 calls the limit.",
        ),
        row(
            f"decoded window, alpha = .74, kappa = 4, where the relative deviation is {spread:.4f}",
            statement,
            above(0.01),
            decoded,
            f"No draft is accepted with probability 1 - alpha = {decoded.exact():.2f} whatever kappa and fluctuation.",
        ),
    ]


def _c36() -> list[Claim]:
    row = functools.partial(Claim, "C36", "4.2")
    below_c, above_c = (AllRejected(Iid(alpha=alpha), 4) for alpha in (0.72, 0.76))
    decoded = NoneAccepted(Iid(alpha=0.76), 4)
    levels = {kappa: theory.complete_rejection_threshold(0.01, kappa) for kappa in (3, 4, 5)}
    middle = math.log(0.01) / math.log(1 - C)
    spread = ", ".join(f"{level:.4f} at kappa = {kappa}" for kappa, level in levels.items())

    def level_again(kappa: int) -> float:
        return root(lambda a: 0.01 - theory.complete_rejection(Iid(alpha=a), kappa), 0.0, 1.0)

    return [
        *(
            row(
                f"every draft judged, kappa = {kappa}: the alpha of 1%",
                "Complete rejection exceeds 1% below alpha = .74.",
                printed("0.74"),
                Formula(functools.partial(float, level), again=functools.partial(level_again, kappa)),
                f"(1 - alpha)^kappa = 1% at alpha = 1 - .01^(1/kappa): {spread}; at .74 it takes kappa = {middle:.2f}.",
            )
            for kappa, level in levels.items()
        ),
        *(
            row(
                f"every draft judged, kappa = {kappa}, alpha = .72",
                "Just below .74, complete rejection exceeds 1%.",
                above(0.01),
                AllRejected(Iid(alpha=0.72), kappa),
                f"(1 - alpha)^kappa is {AllRejected(Iid(alpha=0.72), kappa).exact():.3%} there; 1% lies at alpha = "
                f"{levels[kappa]:.4f}.",
            )
            for kappa in (3, 4)
        ),
        row(
            "every draft judged, kappa = 4, alpha = .76",
            "Above .74, complete rejection stays below 1%.",
            below(0.01),
            above_c,
            f"(1 - alpha)^4 is {above_c.exact():.3%} there, and below 1% already at .72, {below_c.exact():.3%}.",
        ),
        row(
            "first draft rejected, where judging stops at a rejection, alpha = .72, kappa = 4",
            "Just below .74, complete rejection exceeds 1%.",
            above(0.01),
            NoneAccepted(Iid(alpha=0.72), 4),
            f"In decoding, for every kappa, no draft is accepted with probability 1 - alpha, here "
            f"{NoneAccepted(Iid(alpha=0.72), 4).exact():.0%}, on both sides of .74.",
        ),
        row(
            "decoding window, no draft accepted, alpha = .76, kappa = 4",
            "Above .74, complete rejection stays below 1%.",
            below(0.01),
            decoded,
            f"In decoding, for every kappa, no draft is accepted with probability 1 - alpha, at .76 "
            f"{decoded.exact():.0%}; below 1% it is only from alpha = {1 - 0.01:.2f}.",
        ),
    ]


def _c37() -> list[Claim]:
    row = functools.partial(Claim, "C37", "4.2")
    level, formula_value = theory.complete_rejection_threshold(0.01, 4), article.alpha_c_formula(0.1)[0]
    decoded = root(lambda alpha: 0.01 - theory.window(Iid(alpha=alpha), 4).p_zero_accepted, 0.5, 1.0)
    judged, good = AllRejected(Iid(alpha=0.8), 4), NoneAccepted(Iid(alpha=0.8), 4)
    holds = "Above alpha_c = .74 the service level holds: complete rejection stays below 1%."
    return [
        row(
            "every draft judged, alpha = .8, kappa = 4, limit 1%",
            holds,
            below(0.01),
            judged,
            f"(1 - alpha)^4 is {judged.exact():.2%} at alpha = .8, and below 1% from alpha = {level:.4f} on.",
        ),
        row(
            "decoded window, no draft accepted, alpha = .8, kappa = 4, limit 1%",
            holds,
            below(0.01),
            good,
            f"No draft is accepted with probability 1 - alpha, at .8 {good.exact():.0%}.",
        ),
        row(
            "decoded window, no draft accepted, limit 1%: the alpha from which it holds",
            "The service level holds from alpha = .74 on.",
            printed("0.74", about=True),
            Formula(lambda: 1.0 - 0.01, again=lambda: decoded),
            f"No draft is accepted with probability 1 - alpha at every kappa, so 1% needs alpha = {decoded:.4f}.",
        ),
        row(
            "sections 4.1 and 4.2 together: alpha_c formula at beta = .1, and 1% with every draft judged, kappa = 4",
            "Both derivations meet in one threshold (they differ by less than .01).",
            below(0.01),
            Formula(lambda: level - formula_value, again=lambda: _judged_level() - _root_of_the_square(0.1)),
            f"They give {formula_value:.6f} and {level:.4f}; the threshold that throughput has is break-even, alpha = "
            f"{theory.break_even_alpha(STANDARD):.4f} at c_v = c_r = 0.",
        ),
        _slow_sequences(),
    ]


def _judged_level() -> float:
    """The alpha of 1% for four judged drafts, all verdicts listed."""
    return root(lambda alpha: 0.01 - sum(p for path, p in verdict_paths(alpha, 4) if not any(path)), 0.0, 1.0)


def _slow_sequences() -> Claim:
    """What is true of tail risk: the κ that is best for the slowest sequences is shorter than the best on average."""
    alpha, tokens = 0.85, 128
    laws = [theory.emission_time(Iid(alpha=alpha), kappa, STANDARD, tokens) for kappa in range(1, 11)]
    mean, slow = _shortest([law.mean for law in laws]), _shortest([law.quantile(0.99) for law in laws])
    usual, late = laws[mean - 1], laws[slow - 1]
    return Claim(
        "C37",
        "4.2",
        "128 tokens, the last round cut to what is needed, alpha = .85, beta = .1: kappa best for the 99th percentile "
        "of the time minus that for the mean",
        "Tail risk asks for shorter drafts than the mean does.",
        below(-1.0),
        Formula(lambda: float(slow - mean), again=functools.partial(_slow_again, alpha, tokens)),
        f"At alpha = .85 the mean is least at kappa = {mean} ({usual.mean:.2f} steps, 99th percentile "
        f"{usual.quantile(0.99):.1f}), the 99th percentile at kappa = {slow} ({late.mean:.2f} and "
        f"{late.quantile(0.99):.1f}).",
    )


def _shortest(times: list[float]) -> int:
    """Draft length, from 1 on, with the least time."""
    return 1 + int(np.flatnonzero(np.array(times) <= min(times) + 1e-9)[0])


def _slow_again(alpha: float, tokens: int) -> float:
    """The same from a pass forwards over the tokens that are out, time counted in tenths of a step."""
    means, slow = [], []
    for kappa in range(1, 11):
        law = np.zeros((tokens + 1, 11 * tokens + 1))
        law[0, 0] = 1.0
        for out in range(tokens):
            drafts = min(kappa, tokens - 1 - out)
            for accepted in range(drafts + 1):
                chance = alpha**accepted * (1.0 - alpha if accepted < drafts else 1.0)
                law[out + accepted + 1, 10 + drafts :] += chance * law[out, : law.shape[1] - 10 - drafts]
        ticks = np.arange(law.shape[1])
        means.append(float(law[-1] @ ticks))
        slow.append(float(np.argmax(np.cumsum(law[-1]) >= 0.99 - 1e-12)))
    return float(_shortest(slow) - _shortest(means))


def _root_of_the_square(beta: float) -> float:
    """The smaller α with α² − 2(1 − β)α + β²/9 = 0, which is what the formula of α_c solves."""
    return root(lambda alpha: -(alpha**2) + 2.0 * (1.0 - beta) * alpha - beta**2 / 9.0, 0.0, 1.0 - beta)


def _least_rho(alpha: float) -> float:
    """Smallest correlation two outcomes with this rate can have."""
    return -min(alpha / (1.0 - alpha), (1.0 - alpha) / alpha)


def _least_rho_of_tables(alpha: float) -> float:
    """The same: both rejected, or both accepted, as rarely as the rates allow, and the correlation of that table."""
    both = max(0.0, 2.0 * alpha - 1.0)
    return (both - alpha**2) / (alpha * (1.0 - alpha))


def _c38() -> list[Claim]:
    row = functools.partial(Claim, "C38", "5.1")
    edge = root(lambda alpha: _least_rho(alpha) + 0.1, 0.6, 0.99)
    return [
        *(
            row(
                f"alpha = {alpha}: the smallest possible correlation",
                "A correlation of -.1 between neighbouring outcomes is possible.",
                below(-0.1),
                Formula(functools.partial(_least_rho, alpha), again=functools.partial(_least_rho_of_tables, alpha)),
                f"The smallest is -min(alpha/(1 - alpha), (1 - alpha)/alpha) = {_least_rho(alpha):.4f}; -.1 becomes "
                f"impossible above alpha = {edge:.4f}.",
            )
            for alpha in (0.7, 0.85)
        ),
        untestable(
            "C38",
            "5.1",
            "the interval as measured",
            "Measured correlations lie in [-.1, .3] (Spector and Re 2023).",
            "the paper of Spector and Re (2023) is on staged speculation and reports no correlation of outcomes",
            f"What is certain is the admissible range: at alpha = .7 rho lies between {_least_rho(0.7):.4f} and 1, at "
            f".85 between {_least_rho(0.85):.4f} and 1.",
        ),
    ]
