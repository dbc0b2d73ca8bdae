"""Claims C44, C45, C54 and C56: does a rolling estimate with λ = .85 steer κ well, and how fast does it learn?

Controllers are judged by their exact long-run law and by backward induction over a generation; the only approximation
is the grid of estimates, whose error is some 1e-4 of S.
"""

from __future__ import annotations

import functools
import math
from functools import partial

import numpy as np
import numpy.typing as npt

from simspec import theory
from simspec.claims.claim import Claim, Says, above, below, formula, printed, untestable
from simspec.claims.quantity import Formula
from simspec.claims.setup import STANDARD, USUAL
from simspec.model import Cost, Drift, Iid
from simspec.theory import article
from simspec.theory.law import FloatArray

SMOOTHING = 0.85
FALLING = Drift(shape="linear", alpha_start=0.85, alpha_end=0.62, tokens=1024)
STEEP = Drift(shape="linear", alpha_start=0.95, alpha_end=0.3, tokens=64)
LONGEST = 20
"""Longest draft of a controller: κ* has no bound as an estimate nears 1."""
GRID, COARSE = 3e-4, 513
"""What a grid of estimates may be off, in S; points of the coarser grid that it is held against."""

IntArray = npt.NDArray[np.int64]


def claims() -> list[Claim]:
    """Rows of C44, C45, C54 and C56."""
    return [*_noise(), *_losses(), *_stuck(), *_falling(), *_regret(), *_adaptive(), *_loop()]


def plug_in(estimates: FloatArray) -> IntArray:
    """κ*(e), at least 1 and at most 20, at the standard cost."""
    return theory.plug_in_kappas(estimates, STANDARD, LONGEST)


def guarded(estimates: FloatArray) -> IntArray:
    """The same, lowered while the article's σ/α exceeds .25."""
    pairs = zip(np.maximum(estimates, 1e-9), plug_in(estimates), strict=True)
    return np.array([article.guard_settles_at(float(rate), int(kappa)) for rate, kappa in pairs], dtype=np.int64)


@functools.cache
def long_run(alpha: float, smoothing: float = SMOOTHING, guard: bool = False) -> theory.LongRun:
    """A controller on independent drafts."""
    return theory.controller_long_run(alpha, guarded if guard else plug_in, STANDARD, smoothing)


@functools.cache
def steady(alpha: float, smoothing: float = SMOOTHING, guard: bool = False) -> float:
    """The same throughput from what 96 more tokens of a long generation cost."""
    costs = []
    for tokens in (192, 288):
        level = Drift(shape="linear", alpha_start=alpha, alpha_end=alpha, tokens=tokens)
        own = theory.controller_generation(level, guarded if guard else plug_in, STANDARD, smoothing, alpha, COARSE)
        costs.append(own.mean_cost)
    return 96 / (costs[1] - costs[0])


def _loss(alpha: float) -> float:
    return 1 - long_run(alpha).speedup / best(alpha)


def _loss_again(alpha: float) -> float:
    return 1 - steady(alpha) / best(alpha)


@functools.cache
def best(alpha: float) -> float:
    """S* of independent drafts."""
    return theory.optimum(Iid(alpha=alpha), STANDARD, 64).best_speedup


def _noise() -> list[Claim]:
    row = partial(Claim, "C44", "5.2")
    low = theory.ewma_below(0.7, 0.6)
    return [
        row(
            "lambda = .85, alpha = .7: how often the estimate is below .6 although alpha never is",
            "An estimate below .6 shows that alpha has fallen.",
            below(0.01),
            Formula(lambda: theory.ewma_below(0.7, 0.6), again=lambda: _below_by_grid(0.7, 0.6), tolerance=2e-3),
            f"The estimate has a standard deviation of {theory.ewma_deviation(0.7):.4f}, as the mean of "
            f"{theory.ewma_effective_sample():.1f} drafts: it lies below .6 in {low:.1%} of the time.",
        ),
        row(
            "lambda = .85: number of drafts whose plain mean is as noisy",
            "The estimate averages over about 1/(1 - lambda) = 6.7 drafts.",
            formula(1 / (1 - SMOOTHING)),
            Formula(theory.ewma_effective_sample, again=_effective_by_weights),
            f"Half its weight lies on the last {theory.ewma_half_life():.2f} drafts; its noise is that of "
            f"(1 + lambda)/(1 - lambda) = {theory.ewma_effective_sample():.2f} drafts.",
        ),
    ]


def _effective_by_weights() -> float:
    weights = (1 - SMOOTHING) * SMOOTHING ** np.arange(400)
    return float(1.0 / (weights**2).sum())


def _below_by_grid(alpha: float, level: float, points: int = 8001) -> float:
    """P(estimate < level) from the chain of single verdicts on a grid."""
    grid = np.linspace(0.0, 1.0, points)
    law = np.full(points, 1.0 / points)
    for _ in range(200):
        after = np.zeros(points)
        for chance, place in ((alpha, SMOOTHING * grid + 1 - SMOOTHING), (1 - alpha, SMOOTHING * grid)):
            below_ = np.minimum((place * (points - 1)).astype(np.int64), points - 2)
            part = place * (points - 1) - below_
            after += np.bincount(below_, chance * law * (1 - part), points)
            after += np.bincount(below_ + 1, chance * law * part, points)
        law = after
    return float(law[grid < level].sum())


def _losses() -> list[Claim]:
    row = partial(Claim, "C44", "5.2")
    rows = []
    for alpha in (0.6, 0.7, 0.74, 0.8, 0.85):
        slow = ", ".join(f"{1 - long_run(alpha, smoothing).speedup / best(alpha):.2%}" for smoothing in (0.95, 0.99))
        rows.append(
            row(
                f"controller with kappa*(estimate), lambda = .85, constant alpha = {alpha}, beta = .1: share lost",
                "kappa chosen by this estimate is as fast as the best fixed kappa.",
                Says(-0.0025, 0.0025),
                Formula(partial(_loss, alpha), again=partial(_loss_again, alpha), tolerance=GRID),
                f"With lambda = .95 and .99 the loss is {slow}; with .85 the controller makes "
                f"{long_run(alpha).speedup:.4f} of {best(alpha):.4f} and loses {_loss(alpha):.2%}.",
            )
        )
    return rows


def _stuck() -> list[Claim]:
    level = Drift(shape="linear", alpha_start=0.3, alpha_end=0.3, tokens=1024)

    def fed(shortest: int, points: int = 1025) -> float:
        def rule(estimates: FloatArray) -> IntArray:
            return theory.plug_in_kappas(estimates, STANDARD, LONGEST, shortest)

        return theory.controller_generation(level, rule, STANDARD, SMOOTHING, 0.3, points).speedup

    return [
        Claim(
            "C44",
            "5.2",
            "controller that may draft nothing, alpha = .3, beta = .1, 1,024 tokens: S minus that with kappa >= 1",
            "kappa*(estimate) can be followed as it is.",
            Says(-0.0025, 0.0025),
            Formula(lambda: fed(0) - fed(1), again=lambda: fed(0, COARSE) - fed(1, COARSE), tolerance=GRID),
            "An estimate below the break-even rate asks for no drafts, and without drafts it never moves again: "
            "every such "
            f"controller stops in the end, and S tends to 1. Over 1,024 tokens S is {fed(0):.3f}; with at least one "
            "draft "
            f"per round {fed(1):.3f}.",
        )
    ]


def _falling() -> list[Claim]:
    row = partial(Claim, "C44", "5.2")
    rules = _rules()
    rows = []
    for smoothing in (SMOOTHING, 0.98, 0.99):
        own = along(smoothing)
        rows.append(
            row(
                f"controller along a fall .85 to .62 over 1,024 tokens, lambda = {smoothing}, beta = .1: S minus fixed",
                "Where alpha drifts, the rolling estimate beats a fixed kappa.",
                above(0.0),
                Formula(partial(_gain, smoothing), again=partial(_gain, smoothing, COARSE), tolerance=GRID),
                f"The best fixed kappa = {rules.fixed_kappa} makes {rules.fixed:.5f}, knowing alpha_i "
                f"{rules.optimal:.5f}, "
                f"lambda = .95 {along(0.95):.4f}; lambda = {smoothing} makes {own:.4f} ({own / rules.fixed - 1:+.2%}).",
            )
        )
    short = Drift(shape="linear", alpha_start=0.85, alpha_end=0.62, tokens=14)
    gridded, listed = (theory.controller_generation(short, plug_in, STANDARD, SMOOTHING, 0.85, p) for p in (1025, None))
    fixed = theory.optimum(short, STANDARD, LONGEST).best_speedup
    rows.append(
        row(
            "the same fall over 14 tokens, lambda = .85, by listing all verdicts: S minus fixed",
            "Where alpha drifts, the rolling estimate beats a fixed kappa.",
            above(0.0),
            Formula(lambda: gridded.speedup - fixed, again=lambda: listed.speedup - fixed, tolerance=GRID),
            f"The best fixed kappa makes {fixed:.4f}, the estimate {listed.speedup:.4f}.",
        )
    )
    return rows


@functools.cache
def _rules(drift: Drift = FALLING) -> theory.StopRules:
    return theory.stop_rules(drift, STANDARD)


@functools.cache
def along(smoothing: float, points: int = 1025) -> float:
    """S of the controller along the fall, its first estimate being the first rate."""
    return theory.controller_generation(FALLING, plug_in, STANDARD, smoothing, 0.85, points).speedup


def _gain(smoothing: float, points: int = 1025) -> float:
    return along(smoothing, points) - _rules().fixed


@functools.cache
def regret(tokens: int) -> float:
    """Cost of a generation under the controller beyond that of the best fixed κ in the long run, alpha = .7."""
    level = Drift(shape="linear", alpha_start=0.7, alpha_end=0.7, tokens=tokens)
    spent = theory.controller_generation(level, plug_in, STANDARD, SMOOTHING, 0.7)
    return spent.mean_cost - tokens / best(0.7)


def _regret() -> list[Claim]:
    row = partial(Claim, "C45", "5.2")
    slope = math.log(regret(1024) / regret(256)) / math.log(4)
    apart = {kappa: windows_apart(kappa) for kappa in (3, 5)}
    return [
        untestable(
            "C45",
            "5.2",
            "the source",
            "Sun et al. 2024 give an online algorithm for kappa*_i with regret O(sqrt T).",
            "a statement about the literature; reference 6 is Big Little Decoder, which has no online algorithm",
            "Regret bounds for speculative decoding: Hou et al. (2025), BanditSpec, arXiv 2505.15141.",
        ),
        row(
            "the words: growth of sqrt T when T grows fourfold",
            "Regret O(sqrt T) is linear regret.",
            formula(4.0),
            Formula(lambda: math.sqrt(4.0), again=lambda: float(np.sqrt(4e6) / np.sqrt(1e6))),
            f"sqrt T is sublinear: it grows by {math.sqrt(4.0):.0f}.",
        ),
        row(
            "rolling estimate, lambda = .85, alpha = .7, beta = .1: slope of log regret from 256 to 1,024 tokens",
            "The regret of the adaptive rule is O(sqrt T), slope 1/2.",
            printed("0.5", about=True),
            Formula(
                lambda: math.log(regret(1024) / regret(256)) / math.log(4),
                again=lambda: math.log((regret(256) + 768 * _per_token()) / regret(256)) / math.log(4),
                tolerance=5e-3,
            ),
            "A rule that learns must tell kappa = 4 from 5 and 3, which takes "
            f"{apart[5]:,.0f} and {apart[3]:,.0f} windows of each at one standard error. This estimate never "
            "settles: its "
            f"regret is linear, slope {slope:.3f}.",
        ),
        row(
            "rolling estimate, lambda = .85, alpha = .7, beta = .1: regret per token in the long run",
            "The regret per token vanishes.",
            Says(-0.001, 0.001),
            Formula(_per_token, again=lambda: (regret(1024) - regret(256)) / 768, tolerance=GRID),
            f"It stays at {_per_token():.4f} plain target steps, {_loss(0.7):.2%} of the speed.",
        ),
    ]


def _per_token() -> float:
    return 1 / long_run(0.7).speedup - 1 / best(0.7)


def windows_apart(kappa: int) -> float:
    """Windows of each of two κ after which the gap S(4) − S(κ) is one standard error wide (alpha = .7)."""
    gap = theory.speedup(USUAL, 4, STANDARD) - theory.speedup(USUAL, kappa, STANDARD)
    spread = sum(theory.window(USUAL, own).var_accepted / STANDARD.base(own) ** 2 for own in (4, kappa))
    return spread / gap**2


def forward_speedup(process: Drift, kappas: IntArray, cost: Cost = STANDARD) -> float:
    """N/E[cost] of given lengths by position: how often a round starts where, added up forwards."""
    rates, n = process.rates(), process.n_tokens
    starts, spent = np.zeros(n + 1), 0.0
    starts[0] = 1.0
    for i in range(n):
        drafts = min(int(kappas[i]), n - 1 - i)
        alive = starts[i]
        for j in range(drafts):
            starts[i + j + 1] += alive * (1 - rates[i + j])
            alive *= rates[i + j]
        starts[i + drafts + 1] += alive
        spent += starts[i] * cost.base(drafts) + cost.c_r * (starts[i] - alive)
    return n / spent


def _adaptive() -> list[Claim]:
    row = partial(Claim, "C54", "8")
    rules, steep = _rules(), _rules(STEEP)
    plan = theory.optimal_plan(FALLING, STANDARD, 40)
    closed, one_price = theory.closed_kappas(FALLING, STANDARD, 40), theory.threshold_plan(FALLING, STANDARD, 40)
    return [
        untestable(
            "C54",
            "8",
            "the state of the literature",
            "No result on optimal stopping for varying alpha was public by 2026-07-06.",
            "a statement about the literature",
            "Huang, Guo, Wang, SpecDec++, arXiv 2405.19715 (2024), prove that a threshold rule is optimal.",
        ),
        row(
            "linear fall .85 to .62 over 1,024 tokens, beta = .1: loss of the rounded closed form of kappa*(alpha_i)",
            "There is no closed-form adaptive kappa*_i: any misses the optimum by more than a quarter percent.",
            above(0.0025),
            Formula(
                lambda: 1 - rules.closed / rules.optimal,
                again=lambda: 1 - forward_speedup(FALLING, closed) / forward_speedup(FALLING, plan.kappas),
            ),
            f"The optimum by backward induction is {rules.optimal:.5f}, kappa*(alpha_i) makes {rules.local:.5f}; "
            "Lambert's W "
            f"at alpha_i, rounded, makes {rules.closed:.5f}, {1 - rules.closed / rules.optimal:.3%} less than the "
            "optimum.",
        ),
        row(
            "the same fall: loss of a survival threshold with one price of a token for the whole generation",
            "A threshold on the survival product misses the optimum by more than a quarter percent.",
            above(0.0025),
            Formula(
                lambda: 1 - rules.threshold / rules.optimal,
                again=lambda: 1 - forward_speedup(FALLING, one_price.kappas) / forward_speedup(FALLING, plan.kappas),
            ),
            f"It makes {rules.threshold:.5f}, {1 - rules.threshold / rules.optimal:.2%} below the optimum, since "
            "along a "
            "drift a token is worth its local price; at that price, S*(alpha_i), the threshold makes "
            f"{rules.threshold_local:.5f}.",
        ),
        row(
            "steep fall .95 to .3 over 64 tokens, beta = .1: loss of the rounded closed form of kappa*(alpha_i)",
            "There is no closed-form adaptive kappa*_i: any misses the optimum by more than a quarter percent.",
            above(0.0025),
            Formula(
                lambda: 1 - steep.closed / steep.optimal,
                again=lambda: (
                    1
                    - forward_speedup(STEEP, theory.closed_kappas(STEEP, STANDARD, 40))
                    / forward_speedup(STEEP, theory.optimal_plan(STEEP, STANDARD, 40).kappas)
                ),
            ),
            f"Where alpha changes within a round, kappa*(alpha_i) makes {steep.local:.4f}, its closed form "
            f"{steep.closed:.4f}, the optimum {steep.optimal:.4f}; the best fixed kappa {steep.fixed:.4f}.",
        ),
    ]


def _loop() -> list[Claim]:
    row = partial(Claim, "C56", "Figure 1")
    free, held = long_run(0.7), long_run(0.7, guard=True)
    slope = -9 * (1 + 0.1) / (0.74 + 0.1) ** 2
    return [
        row(
            "kappa*(estimate), lambda = .85, with the guard at .25; alpha = .7, beta = .1: S minus that of the best "
            "kappa",
            "The closed loop finds the best kappa.",
            above(0.0),
            Formula(
                lambda: long_run(0.7, guard=True).speedup - best(0.7),
                again=lambda: steady(0.7, guard=True) - best(0.7),
                tolerance=5 * GRID,  # the guard cuts κ by whole lengths at once, so the grid matters more
            ),
            f"kappa = 4 makes {best(0.7):.4f}, the loop without guard {free.speedup:.4f}; with it "
            f"{held.kappa_law[1]:.0%} of "
            f"the rounds draft one token and the loop makes {held.speedup:.4f}.",
        ),
        row(
            "alpha_c from (14) of reading R1: slope of kappa_0.9 at alpha = .74, beta = .1",
            "At alpha_c = .74 equations (14) and (15) have a saddle, so the slope vanishes.",
            Says(-0.0025, 0.0025),
            Formula(
                lambda: slope,
                again=lambda: (article.kappa_09_r1(0.74 + 1e-5, 0.1) - article.kappa_09_r1(0.74 - 1e-5, 0.1)) / 2e-5,
                tolerance=1e-6,
            ),
            f"There is no saddle: the slope is -9(1 + beta)/(alpha + beta)^2 = {slope:.2f}. The model's only "
            "threshold is "
            f"the break-even rate {theory.break_even_alpha(STANDARD):.1f}.",
        ),
    ]
