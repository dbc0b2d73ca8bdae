"""Claims of sections 1 and 2: what is known of the best κ, and what is the acceptance rate a mean of?"""

from __future__ import annotations

import functools
import math

from simspec import theory
from simspec.claims.claim import Claim, above, formula, printed, untestable
from simspec.claims.quantity import Formula, Weighted
from simspec.claims.search import peak, root, run_length, verdict_paths
from simspec.claims.setup import STANDARD, USUAL, best_at
from simspec.claims.window_quantity import JudgedShare, JudgedSpread, WindowShare, WindowSpread
from simspec.model import Iid
from simspec.theory import article


def claims() -> list[Claim]:
    """Rows of C03, C05, C09, C15 and C16."""
    return [*_c03(), *_c05(), *_c09(), *_c15(), *_c16()]


def _c03() -> list[Claim]:
    star = theory.kappa_star_continuous(0.7, STANDARD)
    own = (
        f"Leviathan et al. (2023) give the speed-up (Theorem 3.8) and choose kappa by it (section 3.5); its maximum is "
        f"closed by Lambert's W, at alpha = .7, beta = .1 kappa* = {star:.4f}, so {best_at(0.7, STANDARD)}."
    )
    return [
        untestable(
            "C03",
            "1",
            "what two surveys of 2024 say",
            "In the surveys of Sun et al. 2024 and Liu et al. 2024 the best draft length is left to empirical tuning.",
            "a statement about the literature, and no such surveys are in the article's list of references or were "
            "found",
            own,
        ),
        untestable(
            "C03",
            "1",
            "a vacuum of theory",
            "There is almost no theory of the best draft length.",
            "a statement about the literature; what was published before the article contradicts it",
            own,
        ),
    ]


def _c05() -> list[Claim]:
    row = functools.partial(Claim, "C05", "3.1")
    every = Weighted(((4.0, JudgedShare(USUAL, 4)),))
    short, long = (WindowShare(USUAL, kappa, "accepted per window") for kappa in (4, 64))
    top = theory.expected_accepted(0.7, math.inf)
    return [
        row(
            "accepted drafts of a decoded window, alpha = .7, kappa = 4",
            "The expected number accepted is alpha kappa, as in reading R1 of the lost equation (5).",
            formula(0.7 * 4),
            short,
            f"Judging stops at the first rejection: alpha (1 - alpha^kappa)/(1 - alpha) = {short.exact():.4f}.",
        ),
        row(
            "accepted drafts of a decoded window, alpha = .7, kappa = 64",
            "The expected number accepted grows like alpha kappa, as in reading R1 of the lost equation (5).",
            formula(0.7 * 64),
            long,
            f"It approaches alpha/(1 - alpha) geometrically: {long.exact():.4f} at kappa = 64, limit {top:.4f}.",
        ),
        row(
            "every draft judged, alpha = .7, kappa = 4",
            "The expected number accepted is alpha kappa, as in reading R1 of the lost equation (5).",
            formula(0.7 * 4),
            every,
            f"If every draft were judged it would be {every.exact():.4f}; where judging stops at the first rejection "
            f"it is {short.exact():.4f}.",
        ),
        untestable(
            "C05",
            "1",
            "the promised asymptotic form",
            "The article gives the exact asymptotic form of E[A(kappa)].",
            "the question is put in section 1 and never answered, so there is no form to test",
            f"The expected number accepted is alpha (1 - alpha^kappa)/(1 - alpha): at alpha = .7 "
            f"{', '.join(f'{theory.expected_accepted(0.7, k):.4f}' for k in (1, 2, 4, 8))} for kappa = 1, 2, 4, 8, "
            f"limit {top:.4f}.",
        ),
    ]


def _c09() -> list[Claim]:
    row = functools.partial(Claim, "C09", "2.2")
    statement = "alpha = .7 is the mean acceptance within a window."
    drafted = WindowShare(USUAL, 4, "accepted over drafted")
    return [
        row(
            "accepted over examined drafts, decoded windows, kappa = 4",
            statement,
            formula(0.7),
            WindowShare(USUAL, 4, "accepted over examined"),
            f"Over drafts that get a verdict it is {WindowShare(USUAL, 4, 'accepted over examined').exact():.4f}.",
        ),
        row(
            "accepted over drafted, decoded windows, kappa = 4",
            statement,
            formula(0.7),
            drafted,
            f"Drafts after a rejection count as lost: the share accepted is {drafted.exact():.5f}.",
        ),
        row(
            "every draft judged, kappa = 4",
            statement,
            formula(0.7),
            JudgedShare(USUAL, 4),
            f"If every draft were judged the share would be {JudgedShare(USUAL, 4).exact():.4f}.",
        ),
    ]


def _c15() -> list[Claim]:
    row = functools.partial(Claim, "C15", "2.3")
    law = article.normal_share(0.7, 4)
    judged, decoded = (kind(USUAL, 4, "variance of the share") for kind in (JudgedSpread, WindowSpread))
    statement = "The share accepted of kappa drafts has variance alpha (1 - alpha)/kappa."
    one = theory.accepted_over_examined(0.7, 4, 1000).asymptotic_var * 1000
    return [
        row(
            "every draft judged, alpha = .7, kappa = 4",
            statement,
            formula(law.variance),
            judged,
            f"If every draft were judged it would be {judged.exact():.4f}.",
        ),
        row(
            "decoded window, number accepted over kappa, alpha = .7, kappa = 4",
            statement,
            formula(law.variance),
            decoded,
            f"Where judging stops at the first rejection it is {decoded.exact():.4f}: the number accepted has variance "
            f"{16 * decoded.exact():.4f}, not {16 * law.variance:.2f}.",
        ),
        row(
            "every draft judged, alpha = .7, kappa = 4: what the normal 95% interval covers",
            "The share is normal, so 95% of windows lie within 1.96 deviations.",
            formula(0.95),
            Formula(_covered, again=_covered_by_listing),
            f"The interval [{law.low:.3f}, {law.high:.3f}] leaves [0, 1] and covers {_covered():.4f} of the binomial "
            "law.",
        ),
        row(
            "accepted over examined drafts, alpha = .7, kappa = 4: windows times its variance",
            "A window tells as much about alpha as kappa judged drafts: variance alpha (1 - alpha)/kappa per window.",
            formula(law.variance),
            Formula(lambda: one, again=_information_by_listing),
            f"On average {theory.window(USUAL, 4).mean_examined:.4f} of 4 drafts are examined: alpha (1 - alpha) over "
            f"that is {one:.6f}.",
        ),
    ]


def _covered() -> float:
    law = article.normal_share(0.7, 4)
    return float(sum(p for n, p in enumerate(theory.judged_sum(USUAL, 4)) if law.low <= n / 4 <= law.high))


def _covered_by_listing() -> float:
    reach = 1.959963984540054 * math.sqrt(0.7 * 0.3 / 4)
    return sum(chance for path, chance in verdict_paths(0.7, 4) if abs(sum(path) / 4 - 0.7) <= reach)


def _information_by_listing() -> float:
    """Variance of the estimating equation A − αN over the square of its slope, all verdicts listed."""
    square = examined = 0.0
    for path, chance in verdict_paths(0.7, 4):
        accepted, seen = run_length(path), min(run_length(path) + 1, 4)
        square += chance * (accepted - 0.7 * seen) ** 2
        examined += chance * seen
    return square / examined**2


def _c16() -> list[Claim]:
    row = functools.partial(Claim, "C16", "2.3")
    statement = "The number accepted in a window fluctuates most at alpha = .5."
    high = round(_most_variable(4), 2)

    def at(kind: type[JudgedSpread] | type[WindowSpread], other: float) -> Weighted:
        return Weighted(((1.0, kind(Iid(alpha=0.5), 4, "variance")), (-1.0, kind(Iid(alpha=other), 4, "variance"))))

    judged, decoded = at(JudgedSpread, 0.7), at(WindowSpread, high)
    return [
        row(
            "every draft judged, kappa = 4: variance at .5 minus that at .7",
            statement,
            above(0.0),
            judged,
            f"If every draft were judged the variance would be kappa alpha (1 - alpha), larger at .5 by "
            f"{judged.exact():.4f}.",
        ),
        row(
            f"decoded window, kappa = 4: variance at .5 minus that at {high}",
            statement,
            above(0.0),
            decoded,
            f"The variance is {theory.accepted_variance(0.5, 4):.4f} at .5 and "
            f"{theory.accepted_variance(high, 4):.4f} at {high}.",
        ),
        row(
            "decoded window, kappa = 4: the alpha of the largest variance",
            statement,
            printed("0.5"),
            Formula(lambda: _most_variable(4), again=lambda: _most_variable_by_law(4), tolerance=1e-7),
            f"It lies at alpha = {_most_variable(4):.4f} for kappa = 4, {_most_variable(7):.4f} for 7 and "
            f"{_most_variable(20):.4f} for 20.",
        ),
        row(
            "decoded window, kappa = 1: the alpha of the largest variance",
            statement,
            printed("0.5"),
            Formula(lambda: _most_variable(1), again=lambda: _most_variable_by_law(1), tolerance=1e-7),
            f"A single draft is a Bernoulli outcome: alpha = {_most_variable(1):.4f}.",
        ),
    ]


@functools.cache
def _most_variable(kappa: int) -> float:
    return peak(lambda alpha: theory.accepted_variance(alpha, kappa), 0.01, 0.999)


def _most_variable_by_law(kappa: int) -> float:
    """The root of d Var A/dα, from the polynomials E[A] = Σ α^j and E[A²] = Σ (2j − 1)α^j."""

    def slope(alpha: float) -> float:
        powers = range(1, kappa + 1)
        mean, mean_slope = sum(alpha**j for j in powers), sum(j * alpha ** (j - 1) for j in powers)
        return sum((2 * j - 1) * j * alpha ** (j - 1) for j in powers) - 2.0 * mean * mean_slope

    return root(slope, 0.01, 0.999)
