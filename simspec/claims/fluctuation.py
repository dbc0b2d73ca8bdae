"""Claims C34, C37 and C38: does a window's fluctuation, or a service level, single out α = .74, and which ρ can be?"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from simspec import theory
from simspec.claims.claim import Claim, above, below, formula, printed, untestable
from simspec.claims.quantity import Formula, NoneAccepted
from simspec.claims.search import root, verdict_paths
from simspec.claims.setup import KAPPAS, STANDARD, step_alpha
from simspec.claims.window_quantity import BestSpeedup, JudgedSpread, Weighted, WindowSpread, second_difference
from simspec.model import Iid, Markov, ParameterError
from simspec.theory import article

C = 0.74
AT_C = Iid(alpha=C)
LEVEL = 0.2
"""Relative fluctuation that section 4.2 names as an example of too much."""


def claims() -> list[Claim]:
    """Rows of C34, C37 and C38."""
    return [*_c34(), *_c37(), *_c38()]


READINGS: dict[str, tuple[str, Callable[[float, float], float], str]] = {
    "(a)": ("sqrt(kappa alpha (1 - alpha))/kappa", article.relative_fluctuation_a, "deviation of the share"),
    "(b)": ("sqrt((1 - alpha)/(kappa alpha))", article.relative_fluctuation_b, "relative deviation"),
}
"""Reading of equation (15) → formula as text, formula, name of the spread it is."""


def _c34() -> list[Claim]:
    row = functools.partial(Claim, "C34", "4.2")
    true = {kappa: WindowSpread(AT_C, kappa, "relative deviation") for kappa in (3, 4, 7)}
    rows = []
    for name, (text, value, what) in READINGS.items():
        judged = {kappa: JudgedSpread(AT_C, kappa, what) for kappa in (4, 5)}
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
                true[4],
                f"In decoding sqrt(Var A)/E[A] = {true[4].exact():.4f}, not {value(C, 4):.4f}.",
            )
        )
    return [*rows, *_c34_edges(), *_c34_direction(true)]


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
            "decoded window, sqrt(Var A)/E[A]",
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


def _c34_direction(true: dict[int, WindowSpread]) -> list[Claim]:
    row = functools.partial(Claim, "C34", "4.2")
    falls = "A longer draft makes the relative fluctuation smaller (alpha = .74, kappa = 7 against 3)."
    judged = [JudgedSpread(AT_C, kappa, "relative deviation") for kappa in (7, 3)]
    none = NoneAccepted(AT_C, 9)
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
            Weighted(((1.0, true[7]), (-1.0, true[3]))),
            f"In decoding it rises from {true[3].exact():.4f} to {true[7].exact():.4f}, towards 1/sqrt(alpha) = "
            f"{C**-0.5:.4f}.",
        ),
        row(
            "decoded window, no draft accepted, kappa = 9, where reading (b) is below .2",
            "Once the relative fluctuation is below .2, falling to 0 accepted drafts is negligible (below 1%).",
            below(0.01),
            none,
            f"The chance of it does not depend on kappa: 1 - alpha = {none.exact():.2f}.",
        ),
    ]


def _c37() -> list[Claim]:
    row = functools.partial(Claim, "C37", "4.2")
    judged, formula_value = theory.complete_rejection_threshold(0.01, 4), article.alpha_c_formula(0.1)[0]
    decoded = root(lambda alpha: 0.01 - theory.window(Iid(alpha=alpha), 4).p_zero_accepted, 0.5, 1.0)
    good = NoneAccepted(Iid(alpha=0.8), 4)
    bend = second_difference(lambda a: BestSpeedup(Iid(alpha=a), STANDARD, KAPPAS), (0.66, 0.74, 0.82))
    three = (formula_value, judged, 0.99)
    return [
        row(
            "decoded window, no draft accepted, alpha = .8, kappa = 4, limit 1%",
            "Above alpha_c = .74 the service level holds: complete rejection stays below 1%.",
            below(0.01),
            good,
            f"At alpha = .8 it is {good.exact():.0%}.",
        ),
        row(
            "decoded window, no draft accepted, limit 1%: the alpha from which it holds",
            "The service level holds from alpha = .74 on.",
            printed("0.74", about=True),
            Formula(lambda: 1.0 - 0.01, again=lambda: decoded),
            f"P(A = 0) = 1 - alpha at every kappa, so 1% needs alpha = {decoded:.4f}.",
        ),
        row(
            "sections 4.1 and 4.2 together: alpha_c formula at beta = .1, 1% with every draft judged, 1% in decoding",
            "The derivations meet in one threshold (they differ by less than .01).",
            below(0.01),
            Formula(lambda: max(three) - min(three), again=lambda: decoded - _root_of_the_square(0.1)),
            f"They give {formula_value:.6f}, {judged:.4f} and {decoded:.4f}; what the model has is break-even, alpha = "
            f"{theory.break_even_alpha(STANDARD):.4f}.",
        ),
        row(
            "best kappa, beta = .1: S*(.82) - 2 S*(.74) + S*(.66)",
            "At .74 an engineering phase passes into another: gains shrink beyond it.",
            below(0.0),
            bend,
            f"Gains grow through .74 (second difference {bend.exact():.4f}); kappa* steps from 4 to 5 at "
            f"{step_alpha(4, STANDARD):.4f} and from 5 to 6 at {step_alpha(5, STANDARD):.4f}.",
        ),
        _slow_sequences(),
    ]


def _slow_sequences() -> Claim:
    """What is true of tail risk: the κ that is best for the slowest sequences is shorter than the best on average."""
    alpha, tokens = 0.85, 128
    laws = [theory.emission_time(Iid(alpha=alpha), kappa, STANDARD, tokens) for kappa in range(1, 11)]
    mean, slow = _shortest([law.mean for law in laws]), _shortest([law.quantile(0.99) for law in laws])
    usual, late = laws[mean - 1], laws[slow - 1]
    return Claim(
        "C37",
        "4.2",
        "128 tokens, alpha = .85, beta = .1: kappa best for the 99th percentile of the time minus that for the mean",
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
    """Smallest correlation two outcomes with this rate can have: a joint probability would be negative below."""
    return -min(alpha / (1.0 - alpha), (1.0 - alpha) / alpha)


def _least_rho_of_chains(alpha: float) -> float:
    """The same, by asking for chains."""

    def possible(rho: float) -> float:
        try:
            Markov(alpha=alpha, rho=rho)
        except ParameterError:
            return -1.0
        return 1.0

    return -1.0 if possible(-1.0) > 0 else root(possible, -1.0, 0.0)


def _c38() -> list[Claim]:
    row = functools.partial(Claim, "C38", "5.1")
    statement = "A correlation of -.1 between neighbouring outcomes is possible."
    edge = 1.0 / 1.1
    rows = [
        row(
            f"alpha = {alpha}: the smallest possible correlation",
            statement,
            below(-0.1),
            Formula(
                functools.partial(_least_rho, alpha),
                again=functools.partial(_least_rho_of_chains, alpha),
                tolerance=1e-8,
            ),
            f"At alpha = {alpha} it is -min(alpha/(1 - alpha), (1 - alpha)/alpha) = {_least_rho(alpha):.4f}.",
        )
        for alpha in (0.7, 0.85, 0.95)
    ]
    return [
        *rows,
        row(
            "the alpha beyond which rho = -.1 is impossible",
            "The interval [-.1, .3] holds for every acceptance rate.",
            printed("1.00"),
            Formula(lambda: edge, again=lambda: root(lambda alpha: _least_rho_of_chains(alpha) + 0.1, 0.6, 0.99)),
            f"rho = -.1 is impossible above alpha = 1/1.1 = {edge:.4f}.",
        ),
        untestable(
            "C38",
            "5.1",
            "the interval as measured",
            "Measured correlations lie in [-.1, .3] (Spector and Re 2023).",
            "the paper of Spector and Re (2023) is on staged speculation and reports no correlation of outcomes",
            f"What is certain is the admissible range: at alpha = .7 rho lies between {_least_rho(0.7):.4f} and 1, at "
            f".95 between {_least_rho(0.95):.4f} and 1.",
        ),
    ]
