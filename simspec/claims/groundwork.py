"""Claims of the summary and of sections 1 and 2: what sets the speed-up, and what is the acceptance rate a mean of?"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from simspec import theory
from simspec.claims.claim import Claim, above, below, between, formula, printed, untestable
from simspec.claims.quantity import Formula, Speedup
from simspec.claims.search import peak, root, run_length, verdict_paths
from simspec.claims.setup import KAPPAS, STANDARD, USUAL, best_at
from simspec.claims.window_quantity import (
    BestSpeedup,
    JudgedShare,
    JudgedSpread,
    Weighted,
    WindowShare,
    WindowSpread,
    second_difference,
)
from simspec.model import Cost, Iid, TokenChain
from simspec.theory import article

AROUND = (0.70, 0.74, 0.78)
BELOW = (0.5, 0.6, 0.7)
NEAR = ((0.5, 0.5), (0.8, 0.2))
FAR = ((0.7, 0.3, 0.0), (0.7, 0.0, 0.3))
"""Two pairs (target, draft) with α = .7."""


def claims() -> list[Claim]:
    """Rows of C01–C03, C05, C09, C15 and C16."""
    return [*_c01(), *_c02(), *_c03(), *_c05(), *_c09(), *_c15(), *_c16()]


def _c01() -> list[Claim]:
    row = functools.partial(Claim, "C01", "summary")
    saturates = "Across alpha = .74 the speed-up passes to saturation: the next step of alpha buys less than the last."
    rows = [
        row(
            f"best kappa at each alpha, beta = {beta}: S*(.78) - 2 S*(.74) + S*(.70)",
            saturates,
            below(0.0),
            second_difference(_best(beta), AROUND),
            f"The gain accelerates: S* rises by {_gain(0.70, 0.74, beta):.4f} from .70 to .74 and by "
            f"{_gain(0.74, 0.78, beta):.4f} from .74 to .78.",
        )
        for beta in (0.05, 0.1, 0.2)
    ]
    fixed = second_difference(lambda a: Speedup(Iid(alpha=a), 4, STANDARD), AROUND)
    linear = second_difference(_best(0.1), BELOW)
    unequal = 0.05 * _gain(0.5, 0.7, 0.1) / 2
    return [
        *rows,
        row(
            "kappa = 4 at each alpha, beta = .1: S(.78) - 2 S(.74) + S(.70)",
            saturates,
            below(0.0),
            fixed,
            f"At a fixed kappa the gain accelerates as well: the second difference is {fixed.exact():.4f}.",
        ),
        row(
            "best kappa at each alpha, beta = .1: S*(.7) - 2 S*(.6) + S*(.5), linear to 5% of a step",
            "Below alpha = .74 the gain is linear.",
            between(-unequal, unequal),
            linear,
            f"It is convex there too: S* rises by {_gain(0.5, 0.6, 0.1):.4f} from .5 to .6 and by "
            f"{_gain(0.6, 0.7, 0.1):.4f} from .6 to .7.",
        ),
    ]


def _best(beta: float) -> Callable[[float], BestSpeedup]:
    return lambda alpha: BestSpeedup(Iid(alpha=alpha), Cost(c_d=beta), KAPPAS)


def _gain(low: float, high: float, beta: float) -> float:
    best = [theory.optimum(Iid(alpha=alpha), Cost(c_d=beta), 64).best_speedup for alpha in (low, high)]
    return best[1] - best[0]


def _pair(target: tuple[float, ...], draft: tuple[float, ...]) -> TokenChain:
    """The same two laws in every context."""
    return TokenChain(target=(target,) * len(target), draft=(draft,) * len(draft))


def _c02() -> list[Claim]:
    row = functools.partial(Claim, "C02", "summary")
    near, far = (Speedup(_pair(*pair), 4, STANDARD) for pair in (NEAR, FAR))
    halves = [theory.renyi(target, draft, 0.5) for target, draft in (NEAR, FAR)]
    edge = theory.break_even_alpha(STANDARD)

    def first_draft_pays(alpha: float) -> float:
        return theory.speedup(Iid(alpha=alpha), 1, STANDARD) - theory.speedup(Iid(alpha=alpha), 0, STANDARD)

    return [
        row(
            f"two pairs with alpha = .7 and D_1/2 = {halves[0]:.4f} and {halves[1]:.4f}: difference of S(4), beta = .1",
            "The Rényi divergence of draft and target sets the speed-up, so the closer pair gains at least .01 more.",
            above(0.01),
            Weighted(((1.0, near), (-1.0, far))),
            f"Only alpha counts: both pairs reach S(4) = {near.exact():.4f} and {far.exact():.4f}.",
        ),
        row(
            "the alpha from which the optimal-stopping equation asks for a draft, beta = .1",
            "The optimal-stopping equation of kappa puts the threshold at alpha = .74.",
            printed("0.74", about=True),
            Formula(lambda: edge, again=lambda: root(first_draft_pays, 0.0, 1.0)),
            f"Its only threshold is break-even, alpha = (c_d + c_v + c_r)/(c0 + c_r) = {edge:.4f}.",
        ),
        untestable(
            "C02",
            "summary",
            "finite-sample phase transition of the Rényi divergence",
            "The threshold comes from the finite-sample phase-transition property of the Rényi divergence.",
            "no such property is stated or defined, in the article or in Rényi (1961), and D_λ(p_d‖p_t) does not occur "
            "in the article's formula of alpha_c",
            f"The divergence bounds alpha and no more: at alpha = .7 D_1/2 lies between {_half_range(0.7)[0]:.4f} and "
            f"{_half_range(0.7)[1]:.4f}.",
        ),
    ]


def _half_range(alpha: float) -> tuple[float, float]:
    """D_½ that laws with this α can have: where each sharp bound meets α."""
    lower = root(lambda d: theory.alpha_bounds_from_half(d)[0] - alpha, 0.0, 10.0)
    upper = root(lambda d: theory.alpha_bounds_from_half(d)[1] - alpha, 0.0, 10.0)
    return lower, upper


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
    row = functools.partial(Claim, "C05", "1")
    short, long = (WindowShare(USUAL, kappa, "accepted per window") for kappa in (4, 64))
    top = theory.expected_accepted(0.7, math.inf)
    return [
        row(
            "accepted drafts of a decoded window, alpha = .7, kappa = 4",
            "The expected number accepted is alpha kappa, as in equation (5).",
            formula(0.7 * 4),
            short,
            f"E[A] = alpha (1 - alpha^kappa)/(1 - alpha) = {short.exact():.4f}.",
        ),
        row(
            "accepted drafts of a decoded window, alpha = .7, kappa = 64",
            "The expected number accepted grows like alpha kappa.",
            formula(0.7 * 64),
            long,
            f"It approaches alpha/(1 - alpha) geometrically: E[A] = {long.exact():.4f} at kappa = 64, limit {top:.4f}.",
        ),
        untestable(
            "C05",
            "1",
            "the promised asymptotic form",
            "The article gives the exact asymptotic form of E[A(kappa)].",
            "the question is put in section 1 and never answered, so there is no form to test",
            f"E[A] = alpha (1 - alpha^kappa)/(1 - alpha): at alpha = .7 "
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
            f"Drafts after a rejection count as lost: E[A]/kappa = {drafted.exact():.5f}.",
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
            "decoded window, A over kappa, alpha = .7, kappa = 4",
            statement,
            formula(law.variance),
            decoded,
            f"In decoding Var(A)/kappa^2 = {decoded.exact():.4f}: Var A = {16 * decoded.exact():.4f}, not "
            f"{16 * law.variance:.2f}.",
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
            f"Only E[N] = {theory.window(USUAL, 4).mean_examined:.4f} drafts are examined: alpha (1 - alpha)/E[N] = "
            f"{one:.6f}.",
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
            f"Var A is {theory.accepted_variance(0.5, 4):.4f} at .5 and {theory.accepted_variance(high, 4):.4f} at "
            f"{high}.",
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
