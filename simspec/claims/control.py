"""Claims C44, C54 and C56: does a rolling estimate with λ = .85 steer κ well, alone and in the article's loop?

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
from simspec.claims.claim import FORMULA_MARGIN, Claim, Says, above, below, between, untestable
from simspec.claims.quantity import Formula
from simspec.claims.setup import STANDARD
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

BY_HAND = (3, 4, 5, 6, 7)
"""Draft lengths that one may choose without measuring anything: the article's own interval."""
DRIFTING = "Where alpha drifts, kappa chosen by the rolling estimate makes a higher speed-up S than a fixed one."

IntArray = npt.NDArray[np.int64]


def claims() -> list[Claim]:
    """Rows of C44, C54 and C56."""
    return [*_noise(), *_losses(), *_falling(), *_adaptive(), *_loop()]


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
    low = theory.ewma_below(0.7, 0.6)
    return [
        Claim(
            "C44",
            "5.2",
            "lambda = .85, constant alpha = .7: share of the time in which the estimate is below .6",
            "The rolling estimate shows alpha: one below .6 means that alpha has fallen (wrongly in at most 5%).",
            below(0.05),
            Formula(lambda: theory.ewma_below(0.7, 0.6), again=lambda: _below_by_grid(0.7, 0.6), tolerance=2e-3),
            f"Half the weight lies on the last {theory.ewma_half_life():.2f} drafts. The estimate is as noisy as the "
            f"mean of {theory.ewma_effective_sample():.2f} drafts, with a standard deviation of "
            f"{theory.ewma_deviation(0.7):.4f}: it lies below .6 in {low:.1%} of the time, alpha never does.",
        )
    ]


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
                "kappa chosen by this estimate is as fast as the best fixed kappa (up to a quarter percent).",
                below(0.0025),
                Formula(partial(_loss, alpha), again=partial(_loss_again, alpha), tolerance=GRID),
                f"With lambda = .95 and .99 the loss is {slow}; with .85 the controller makes "
                f"{long_run(alpha).speedup:.4f} of {best(alpha):.4f} and loses {_loss(alpha):.2%}.",
            )
        )
    return rows


def _falling() -> list[Claim]:
    row = partial(Claim, "C44", "5.2")
    rules = _rules()
    rows = []
    for smoothing in (SMOOTHING, 0.98, 0.99):
        own = along(smoothing)
        rows.append(
            row(
                f"controller along a fall .85 to .62 over 1,024 tokens, lambda = {smoothing}, beta = .1: S minus that "
                "of the best fixed kappa",
                DRIFTING,
                above(0.0),
                Formula(partial(_gain, smoothing)),
                f"S is {rules.fixed:.5f} with the best fixed kappa = {rules.fixed_kappa}, {rules.optimal:.5f} where "
                f"alpha_i is known, {along(0.95):.4f} with lambda = .95; lambda = {smoothing} makes {own:.4f} "
                f"({own / rules.fixed - 1:+.2%}).",
            )
        )
    beaten = share_beaten(along(SMOOTHING), FALLING, STANDARD)
    rows.append(
        row(
            "controller along the same fall, lambda = .85: share of kappa = 3, 4, 5, 6, 7, held fixed, that it beats",
            DRIFTING,
            between(0.5, 1.0),
            Formula(lambda: beaten),
            f"It beats {beaten * len(BY_HAND):.0f} of {len(BY_HAND)}: S is {along(SMOOTHING):.4f} against "
            + ", ".join(f"{theory.generation(FALLING, kappa, STANDARD).speedup:.4f}" for kappa in BY_HAND)
            + ".",
        )
    )
    short = Drift(shape="linear", alpha_start=0.85, alpha_end=0.62, tokens=14)
    gridded, listed = (theory.controller_generation(short, plug_in, STANDARD, SMOOTHING, 0.85, p) for p in (1025, None))
    fixed = theory.optimum(short, STANDARD, LONGEST).best_speedup
    rows.append(
        row(
            "the same fall over 14 tokens, lambda = .85, by listing all verdicts: S minus that of the best fixed kappa",
            DRIFTING,
            above(0.0),
            Formula(lambda: gridded.speedup - fixed, again=lambda: listed.speedup - fixed, tolerance=GRID),
            f"Over so few tokens nothing can be learned: the best fixed kappa makes {fixed:.4f}, the estimate "
            f"{listed.speedup:.4f}.",
        )
    )
    return rows


@functools.cache
def _rules(drift: Drift = FALLING) -> theory.StopRules:
    return theory.stop_rules(drift, STANDARD)


def share_beaten(speed: float, process: Drift, cost: Cost) -> float:
    """Share of the lengths `BY_HAND` that are slower than ``speed`` when held fixed."""
    return sum(theory.generation(process, kappa, cost).speedup < speed for kappa in BY_HAND) / len(BY_HAND)


@functools.cache
def along(smoothing: float) -> float:
    """S of the controller along the fall, its first estimate being the first rate."""
    return theory.controller_generation(FALLING, plug_in, STANDARD, smoothing, 0.85).speedup


def _gain(smoothing: float) -> float:
    return along(smoothing) - _rules().fixed


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
    closed = theory.closed_kappas(FALLING, STANDARD, 40)
    return [
        untestable(
            "C54",
            "8",
            "the state of the literature",
            "No result on optimal stopping for varying alpha was public by 2026-07-06.",
            "a statement about the literature",
            "Huang, Guo, Wang, SpecDec++, arXiv 2405.19715 (2024), prove that a threshold rule is optimal; at a known "
            f"alpha_i it makes {rules.threshold_local:.5f} of {rules.optimal:.5f} (next row).",
        ),
        row(
            "linear fall .85 to .62 over 1,024 tokens, beta = .1: loss of the rounded closed form of kappa*(alpha_i)",
            "There is no closed-form adaptive kappa*_i: any misses the optimum by more than a quarter percent.",
            above(0.0025),
            Formula(
                lambda: 1 - rules.closed / rules.optimal,
                again=lambda: 1 - forward_speedup(FALLING, closed) / forward_speedup(FALLING, plan.kappas),
            ),
            f"The optimum by backward induction makes S = {rules.optimal:.5f}, kappa*(alpha_i) from the whole curve "
            f"{rules.local:.5f}, a threshold on the survival of the draft {rules.threshold_local:.5f}; the closed form "
            f"with Lambert's W at alpha_i, rounded, makes {rules.closed:.5f}, {1 - rules.closed / rules.optimal:.3%} "
            "less than the optimum.",
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
            f"Where alpha changes within a round a form in alpha_i alone does miss it: S is {steep.fixed:.4f} with the "
            f"best fixed kappa, {steep.local:.4f} with kappa*(alpha_i), {steep.optimal:.4f} at the optimum, and "
            f"{steep.closed:.4f} with the closed form, {1 - steep.closed / steep.optimal:.2%} less.",
        ),
    ]


def _loop() -> list[Claim]:
    row = partial(Claim, "C56", "Figure 1")
    free, held = long_run(0.7), long_run(0.7, guard=True)
    slope = -9 * (1 + 0.1) / (0.74 + 0.1) ** 2
    spread = (1 - 2 * 0.74) / (2 * math.sqrt(4 * 0.74 * 0.26))
    saddle = "alpha_c = .74 comes from a saddle of equations (14) and (15), so this slope vanishes there."
    only = f"the model's only threshold is the break-even rate {theory.break_even_alpha(STANDARD):.1f}."
    return [
        row(
            "kappa*(estimate), lambda = .85, with the guard at .25; alpha = .7, beta = .1: S minus that of the best "
            "kappa",
            "The closed loop is as fast as the best kappa (speed-up S, up to a quarter percent).",
            above(-FORMULA_MARGIN * best(0.7)),
            Formula(
                lambda: long_run(0.7, guard=True).speedup - best(0.7),
                again=lambda: steady(0.7, guard=True) - best(0.7),
                tolerance=5 * GRID,  # the guard cuts κ by whole lengths at once, so the grid matters more
            ),
            f"kappa = 4 throughout makes {best(0.7):.4f}, the loop without the guard {free.speedup:.4f}; with it "
            f"{held.kappa_law[1]:.0%} of the rounds draft one token, and the loop makes {held.speedup:.4f}, "
            f"{1 - held.speedup / best(0.7):.1%} less.",
        ),
        row(
            "equation (14) of reading R1: slope of kappa_0.9 in alpha at .74, beta = .1",
            saddle,
            Says(-0.0025, 0.0025),
            Formula(
                lambda: slope,
                again=lambda: (article.kappa_09_r1(0.74 + 1e-5, 0.1) - article.kappa_09_r1(0.74 - 1e-5, 0.1)) / 2e-5,
                tolerance=1e-6,
            ),
            f"There is no saddle: the slope is -9(1 + beta)/(alpha + beta)^2 = {slope:.2f}; {only}",
        ),
        row(
            "equation (15) as printed, sqrt(kappa alpha (1 - alpha))/kappa, kappa = 4: slope in alpha at .74",
            saddle,
            Says(-0.0025, 0.0025),
            Formula(
                lambda: spread,
                again=lambda: (_binomial_spread(0.74 + 1e-5) - _binomial_spread(0.74 - 1e-5)) / 2e-5,
                tolerance=1e-6,
            ),
            f"There is no saddle: the slope is (1 - 2 alpha)/(2 sqrt(kappa alpha (1 - alpha))) = {spread:.4f}, 0 only "
            f"at alpha = .5; {only}",
        ),
    ]


def _binomial_spread(alpha: float, kappa: int = 4) -> float:
    """Standard deviation of the accepted share of κ judged drafts, from their law."""
    law = [math.comb(kappa, n) * alpha**n * (1 - alpha) ** (kappa - n) for n in range(kappa + 1)]
    mean = sum(n * share for n, share in enumerate(law))
    return math.sqrt(sum((n - mean) ** 2 * share for n, share in enumerate(law))) / kappa
