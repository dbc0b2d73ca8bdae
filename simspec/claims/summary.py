"""Claims C01 and C02 of the summary: does the gain saturate from α = .74 on, and what would set that threshold?"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from simspec import theory
from simspec.claims.claim import Claim, above, below, between, printed, untestable
from simspec.claims.quantity import Formula, Speedup, SpeedupGain, Weighted
from simspec.claims.search import root
from simspec.claims.setup import KAPPAS, OVERHEADS, STANDARD, article_cost, one_draft_pays_from, step_alpha
from simspec.claims.window_quantity import BestSpeedup, second_difference
from simspec.model import Cost, Iid, TokenChain
from simspec.theory import article

AROUND = (0.70, 0.74, 0.78)
BELOW = (0.5, 0.6, 0.7)
NEAR = ((0.5, 0.5), (0.8, 0.2))
FAR = ((0.7, 0.3, 0.0), (0.7, 0.0, 0.3))
"""Two pairs (target, draft) with α = .7."""


def claims() -> list[Claim]:
    """Rows of C01 and C02."""
    return [*_c01(), *_c02()]


def _c01() -> list[Claim]:
    row = functools.partial(Claim, "C01", "summary")
    saturates = "Across alpha = .74 the speed-up passes to saturation: the next step of alpha buys less than the last."
    rows = [
        row(
            f"best kappa at each alpha, beta = {beta}: second difference of the best speed-up at .70, .74, .78",
            saturates,
            below(0.0),
            second_difference(_best(beta), AROUND),
            f"The gain accelerates: the best speed-up rises by {_gain(0.70, 0.74, beta):.4f} from .70 to .74 and by "
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
            "kappa = 4 at each alpha, beta = .1: second difference of the speed-up at .70, .74, .78",
            saturates,
            below(0.0),
            fixed,
            f"At a fixed kappa the gain accelerates as well: the second difference is {fixed.exact():.4f}.",
        ),
        row(
            "best kappa at each alpha, beta = .1: second difference of the best speed-up at .5, .6, .7, linear to "
            "5% of a step",
            "Below alpha = .74 the gain is linear.",
            between(-unequal, unequal),
            linear,
            f"It is convex there too: the best speed-up rises by {_gain(0.5, 0.6, 0.1):.4f} from .5 to .6 and by "
            f"{_gain(0.6, 0.7, 0.1):.4f} from .6 to .7.",
        ),
        *_c01_in_kappa(),
    ]


def _c01_in_kappa() -> list[Claim]:
    """The marginal gain read as that of one more draft: is it constant below .74 and gone above?"""
    row = functools.partial(Claim, "C01", "summary")
    gains = {alpha: [_one_more(alpha, kappa).exact() for kappa in range(6)] for alpha in (0.7, 0.74, 0.78)}
    bend = Weighted(((1.0, _one_more(0.7, 2)), (-1.0, _one_more(0.7, 1))))
    equal = 0.05 * gains[0.7][1]
    lasts = ", ".join(f"{gains[alpha][4]:+.4f} at {alpha}" for alpha in gains)
    return [
        row(
            "gain of one more draft, alpha = .7, beta = .1: third draft minus second, linear to 5% of a step",
            "Below alpha = .74 the gain is linear in kappa: each draft adds as much as the one before.",
            between(-equal, equal),
            bend,
            "Each draft adds less than the one before: the first six add "
            f"{', '.join(f'{gain:.4f}' for gain in gains[0.7])}.",
        ),
        row(
            "gain of one more draft, alpha = .78, beta = .1: fifth draft",
            "Above alpha = .74 the gain saturates in kappa: a draft beyond four adds nothing.",
            below(0.0),
            _one_more(0.78, 4),
            f"The better the draft the more the fifth one adds, {lasts}; it pays from {step_alpha(4, STANDARD):.4f} "
            f"on, as the fourth does from {step_alpha(3, STANDARD):.4f}.",
        ),
    ]


def _one_more(alpha: float, kappa: int) -> SpeedupGain:
    """What draft κ + 1 adds to the speed-up."""
    return SpeedupGain(Iid(alpha=alpha), kappa + 1, kappa, STANDARD)


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
            f"two pairs with alpha = .7 and D_1/2 = {halves[0]:.4f} and {halves[1]:.4f}: difference of the speed-up, "
            "kappa = 4, beta = .1",
            "The Rényi divergence of draft and target sets the speed-up, so the closer pair gains at least .01 more.",
            above(0.01),
            Weighted(((1.0, near), (-1.0, far))),
            f"Only alpha counts: at kappa = 4 the pairs have the speed-ups {near.exact():.4f} and {far.exact():.4f}.",
        ),
        row(
            "the alpha from which the optimal-stopping equation asks for a draft, standard costs, beta = .1",
            "The optimal-stopping equation of kappa puts the threshold at alpha = .74.",
            printed("0.74", about=True),
            Formula(lambda: edge, again=lambda: root(first_draft_pays, 0.0, 1.0)),
            f"Where c_v = c_r = 0 a draft pays from break-even on, alpha = c_d/c_0 = {edge:.4f}.",
        ),
        *_c02_steps(),
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


def _c02_steps() -> list[Claim]:
    """What else of optimal stopping could be a threshold: a step of κ*, break-even at other costs, equation (12)."""
    row = functools.partial(Claim, "C02", "summary")
    statement = "The optimal-stopping equation of kappa puts the threshold at alpha = .74."
    step = step_alpha(4, STANDARD)
    others = ", ".join(f"{step_alpha(4, Cost(c_d=beta)):.4f} at beta = {beta}" for beta in (0.05, 0.2))
    stairs = ", ".join(f"{step_alpha(kappa, STANDARD):.4f}" for kappa in range(3, 7))

    def longer_pays(alpha: float) -> float:
        return theory.speedup(Iid(alpha=alpha), 5, STANDARD) - theory.speedup(Iid(alpha=alpha), 4, STANDARD)

    def coded(goal: float) -> float:
        return root(lambda alpha: article.kappa_star_as_coded(alpha) - goal, 0.4, 0.9)

    def by_search(goal: float) -> float:
        """c_r ln(1/alpha) alpha^(−goal) = c_d + c_v for alpha."""
        return root(lambda alpha: 0.6 * alpha**goal + math.log(alpha), 0.4, 0.9)

    zero, three = coded(0.0), coded(3.0)
    return [
        row(
            "the alpha at which the best whole kappa steps from 4 to 5, standard costs, beta = .1",
            statement,
            printed("0.74", about=True),
            Formula(lambda: step, again=lambda: root(longer_pays, 0.3, 0.95)),
            f"One stair of many, {stairs} for 3 to 4 up to 6 to 7; it moves with beta, {others}, and the best speed-up "
            f"runs through it without a turn, {theory.optimum(Iid(alpha=step), STANDARD, 64).best_speedup:.4f}.",
        ),
        *(
            row(
                f"the alpha from which one draft beats none, the article's costs, {text}",
                statement,
                printed("0.74", about=True),
                Formula(functools.partial(one_draft_pays_from, c0), again=functools.partial(_one_pays_by_search, c0)),
                "One draft beats plain decoding where alpha exceeds (c0 + c_d + c_v + c_r - 1)/(1 + c_r), that is "
                f"{one_draft_pays_from(c0):.4f} with c0 = {c0:g}.",
            )
            for text, c0 in OVERHEADS.items()
        ),
        row(
            "the alpha from which eq. (12) is positive, the article's costs",
            statement,
            printed("0.74", about=True),
            Formula(lambda: zero, again=lambda: math.exp(-0.6)),
            f"(12) is positive from alpha = exp(-(c_d + c_v)/c_r) = {zero:.4f} on.",
        ),
        row(
            "the alpha from which eq. (12) lies in [3, 7], the article's costs",
            statement,
            printed("0.74", about=True),
            Formula(lambda: three, again=lambda: by_search(3.0)),
            f"(12) reaches 3 at alpha = {three:.4f}; it passes through every value smoothly, at .74 "
            f"{article.kappa_star_as_coded(0.74):.4f}.",
        ),
    ]


def _one_pays_by_search(overhead: float) -> float:
    cost = article_cost(overhead)
    return root(lambda alpha: theory.speedup(Iid(alpha=alpha), 1, cost) - 1.0, 0.0, 1.0)


def _half_range(alpha: float) -> tuple[float, float]:
    """D_½ that laws with this α can have: where each sharp bound meets α."""
    lower = root(lambda d: theory.alpha_bounds_from_half(d)[0] - alpha, 0.0, 10.0)
    upper = root(lambda d: theory.alpha_bounds_from_half(d)[1] - alpha, 0.0, 10.0)
    return lower, upper
