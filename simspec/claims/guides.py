"""Claims C50–C52: do the three guides of section 7 help?"""

from __future__ import annotations

import functools
import itertools
import math
from functools import partial

import numpy as np

from simspec import theory
from simspec.claims.claim import FORMULA_MARGIN, Claim, above, below, between, untestable
from simspec.claims.control import BY_HAND, FALLING, forward_speedup, planned, share_beaten
from simspec.claims.correlation import CONSTRUCTIONS, LOWERED, LOWERED_COST
from simspec.claims.loops import IntArray
from simspec.claims.policy_quantity import Against
from simspec.claims.quantity import AllRejected, BestKappa, Formula, SpeedupGain, difference
from simspec.claims.setup import KAPPAS, STANDARD, USUAL, article_cost, one_draft_pays_from, step_alpha, usual_s
from simspec.claims.window_quantity import JudgedSpread, WindowSpread
from simspec.model import Cost, Iid, Markov
from simspec.theory import article

ALPHAS, BETAS, RHOS = (0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85), (0.05, 0.1, 0.2), (0.1, 0.2, 0.3)
GRID = tuple(itertools.product(ALPHAS, BETAS, RHOS, range(len(CONSTRUCTIONS))))
"""α, β, ρ and construction of two-state chains in the article's range."""
STEPS = ((0, 0), (1, 1), (1, 2), (2, 2))
"""Steps of a chain from a rejected and from a last accepted draft to the next window; (0, 0) starts afresh."""
DEEPEST = 24


def claims() -> list[Claim]:
    """Rows of C50–C52."""
    return [*_formula(), *_guard(), *_correction()]


def coded_kappas(beta: float) -> IntArray:
    """κ of eq. (12) at the true α_i of the fall, rounded, at least 1."""
    values = [round(article.kappa_star_as_coded(alpha, beta)) for alpha in FALLING.rates()]
    return np.maximum(np.array(values, dtype=np.int64), 1)


def _coded_speed(beta: float) -> float:
    """S of eq. (12) along the fall."""
    return theory.plan_of(FALLING, coded_kappas(beta), Cost(c_d=beta)).speedup


def _beaten_again(beta: float) -> float:
    """Share of the fixed κ that eq. (12) beats, all added up forwards."""
    cost = Cost(c_d=beta)
    own = forward_speedup(FALLING, coded_kappas(beta), cost)
    return sum(forward_speedup(FALLING, np.full(1024, kappa), cost) < own for kappa in BY_HAND) / len(BY_HAND)


def _formula() -> list[Claim]:
    row = partial(Claim, "C50", "7")
    shorter, usual = BestKappa(Iid(alpha=0.6), STANDARD, KAPPAS), BestKappa(USUAL, STANDARD, KAPPAS)
    return [
        *(_against_best(beta) for beta in (0.05, 0.1, 0.2)),
        *(_against_hands(beta) for beta in (0.05, 0.1, 0.2)),
        *(_at_article_costs(c0) for c0 in (1.0, 0.5)),
        row(
            "kappa* at alpha = .7 minus kappa* at .6, beta = .1",
            "If alpha is lower, kappa has to be smaller.",
            above(1.0),
            difference(usual, shorter),
            f"kappa* rises with alpha: {shorter.exact():.0f} at .6, {usual.exact():.0f} at .7.",
        ),
    ]


def _against_best(beta: float) -> Claim:
    """The strict reading: no fixed κ whatever does better than the formula."""
    fixed, coded = theory.optimum(FALLING, Cost(c_d=beta), 32), coded_kappas(beta)
    return Claim(
        "C50",
        "7",
        f"eq. (12) at the true alpha_i, rounded, at least 1; fall .85 to .62, beta = {beta}: S minus that of the best "
        "fixed kappa",
        "kappa by formula (12) is at least as fast (speed-up S, up to a quarter percent) as any kappa held fixed.",
        above(-FORMULA_MARGIN * fixed.best_speedup),
        Against(planned(FALLING, coded, Cost(c_d=beta)), fixed.best_speedup),
        f"(12) drafts {coded.min()} to {coded.max()} tokens and makes {_coded_speed(beta):.4f}; kappa = "
        f"{fixed.kappa_star} throughout makes {fixed.best_speedup:.4f}.",
    )


def _against_hands(beta: float) -> Claim:
    """The charitable one: intuition is any κ of the article's interval, and (12) need only beat most of them."""
    cost = Cost(c_d=beta)
    speeds = ", ".join(f"{theory.generation(FALLING, kappa, cost).speedup:.4f}" for kappa in BY_HAND)
    return Claim(
        "C50",
        "7",
        f"eq. (12) as above, beta = {beta}: share of kappa = 3, 4, 5, 6, 7, each held fixed, that it beats",
        "kappa by formula (12) is faster than most choices by intuition.",
        between(0.5, 1.0),
        Formula(
            lambda: share_beaten(_coded_speed(beta), FALLING, cost),
            again=lambda: _beaten_again(beta),
        ),
        f"S is {speeds} with kappa = 3 to 7 throughout, and {_coded_speed(beta):.4f} with (12): it beats "
        f"{share_beaten(_coded_speed(beta), FALLING, cost) * len(BY_HAND):.0f} of {len(BY_HAND)}.",
    )


def _at_article_costs(c0: float) -> Claim:
    """c_v = .5, c_r = 1 and beta = .1 are the article's; of c_0 it says only that it is constant."""
    cost = article_cost(c0)
    own = theory.plan_of(FALLING, coded_kappas(0.1), cost).speedup
    return Claim(
        "C50",
        "7",
        f"the same at the article's own costs, c_v = .5, c_r = 1, and c_0 = {c0:g}, which it does not give: S minus "
        "that without drafts",
        "Drafting by formula (12) is faster than not drafting.",
        above(0.0),
        Against(planned(FALLING, coded_kappas(0.1), cost), 1.0),
        f"It depends on c_0: one draft beats plain decoding above alpha = {one_draft_pays_from(c0):.2f} here; (12) "
        f"makes {own:.4f}, no drafts 1.",
    )


@functools.cache
def guard_edge_at_best(beta: float) -> float:
    """Largest α at which the guard at .25 fires although κ is the best: at an edge of the guard or at a step of κ*."""
    cost = Cost(c_d=beta)
    steps = [step_alpha(kappa, cost) for kappa in range(20)]  # κ* goes from kappa to kappa + 1
    silent = [16 / (16 + kappa) for kappa in range(20)]  # from here on the guard lets kappa pass
    return max(min(silent[kappa], steps[kappa]) for kappa in range(1, 20) if silent[kappa] > steps[kappa - 1])


def _guard() -> list[Claim]:
    return [*_fluctuation(), *_tails(), *_lowering()]


def _fluctuation() -> list[Claim]:
    """Does a shorter draft fluctuate less?  By the article's own σ/α, and by that of decoded windows."""
    row = partial(Claim, "C51", "7")
    longer, shorter = JudgedSpread(USUAL, 4, "relative deviation"), JudgedSpread(USUAL, 3, "relative deviation")
    decoded, cut = WindowSpread(USUAL, 4, "relative deviation"), WindowSpread(USUAL, 3, "relative deviation")
    good = WindowSpread(Iid(alpha=0.9), 1, "relative deviation")
    return [
        row(
            "equation (15), kappa judged drafts, alpha = .7: sigma/alpha at kappa = 3 minus at kappa = 4",
            "Lowering kappa lowers the relative fluctuation.",
            below(0.0),
            difference(shorter, longer),
            f"It grows, so a guard that fires fires on: {longer.exact():.4f} at kappa = 4, {shorter.exact():.4f} at 3.",
        ),
        row(
            "decoded windows, alpha = .7: relative deviation of the accepted length at kappa = 3 minus at kappa = 4",
            "Lowering kappa lowers the relative fluctuation.",
            below(0.0),
            difference(cut, decoded),
            f"Of the length that is really accepted it does, from {decoded.exact():.4f} to {cut.exact():.4f}; but that "
            f"one is far above .25 at any kappa: with alpha = .9 and a single draft it is {good.exact():.4f}, and "
            f"below .25 only for alpha above {16 / 17:.4f}.",
        ),
    ]


def _tails() -> list[Claim]:
    """Does the guard answer to a drop of α, and does it lower the risk that the article fears?"""
    row = partial(Claim, "C51", "7")
    low, end = Iid(alpha=0.6), article.guard_settles_at(0.6, 4)
    spread = JudgedSpread(low, 4, "relative deviation")
    edges = ", ".join(f"{guard_edge_at_best(beta):.4f}" for beta in (0.05, 0.1, 0.15, 0.2))
    before, after = AllRejected(low, 4), AllRejected(low, end)
    return [
        row(
            "alpha has dropped to .6, kappa = 4: sigma/alpha of equation (15)",
            "The guard at .25 covers drops of alpha below .6: it fires.",
            above(0.25),
            spread,
            f"It fires, sigma/alpha = {spread.exact():.4f}; but it fires without any drop as well, at the best kappa "
            f"for all steady rates below {edges} at beta = .05, .10, .15, .20.",
        ),
        row(
            f"the article's own tail, all drafts rejected, every draft judged, alpha = .6: probability at kappa = "
            f"{end}, to which the guard leads, minus that at kappa = 4",
            "The guard covers the tail: lowering kappa makes complete rejection rarer.",
            below(0.0),
            difference(after, before),
            f"By its own formula (1 - alpha)^kappa a shorter draft is rejected as a whole more often: "
            f"{before.exact():.4f} at kappa = 4, {after.exact():.4f} at kappa = {end}.",
        ),
    ]


def _lowering() -> list[Claim]:
    """Is a shorter draft faster: after a drop, and where nothing has dropped?"""
    row = partial(Claim, "C51", "7")
    end, low = article.guard_settles_at(0.7, 4), Iid(alpha=0.6)
    once, down = SpeedupGain(low, 3, 4, STANDARD), SpeedupGain(USUAL, end, 4, STANDARD)
    speeds = [theory.speedup(low, kappa, STANDARD) for kappa in (4, 3, 1)]
    statement = "To lower kappa when sigma/alpha exceeds .25 keeps decoding fast (speed-up S)."
    return [
        row(
            "alpha has dropped to .6, kappa lowered once, from 4 to 3, beta = .1: S(3) - S(4)",
            statement,
            above(0.0),
            once,
            f"kappa* falls with alpha, so one step down is right after a drop: S goes from {speeds[0]:.4f} "
            f"to {speeds[1]:.4f}; but at 3 the guard still fires, and kappa = 1 makes {speeds[2]:.4f}.",
        ),
        row(
            f"steady alpha = .7, kappa lowered from 4 until the guard is silent or kappa = 1, beta = .1: S({end}) - "
            "S(4)",
            statement,
            above(-FORMULA_MARGIN * usual_s(4)),
            down,
            f"It ends at kappa = {end}: S falls from {usual_s(4):.4f} to {usual_s(end):.4f}, "
            f"{usual_s(end) / usual_s(4) - 1:.0%}.",
        ),
    ]


@functools.cache
def _lowered(kept: tuple[int, ...], closed: bool = False) -> tuple[float, int, int, int]:
    """Share of the grid, of the constructions ``kept``, whose κ* correlation lowers by 1 or 2; shifts; cases."""
    shifts = []
    for alpha, beta, rho, which in GRID:
        if which not in kept:
            continue
        cost = Cost(c_d=beta)
        if closed:
            moved, free = (_best_closed(alpha, own, STEPS[which], beta) for own in (rho, 0.0))
        else:
            chain = tuple(CONSTRUCTIONS.values())[which].model_copy(update={"alpha": alpha, "rho": rho})
            moved = theory.optimum(chain, cost, DEEPEST).kappa_star
            free = theory.optimum(Iid(alpha=alpha), cost, DEEPEST).kappa_star
        shifts.append(moved - free)
    return sum(-2 <= shift <= -1 for shift in shifts) / len(shifts), min(shifts), max(shifts), len(shifts)


def _best_closed(alpha: float, rho: float, steps: tuple[int, int], beta: float) -> int:
    """κ* from closed forms: P(A ≥ j) = s a^(j−1), s the first draft's rate given how the window before ended."""
    a = alpha + rho * (1 - alpha)
    speeds = [1.0]
    for kappa in range(1, DEEPEST + 1):
        start = alpha
        if steps != (0, 0):
            after_reject, after_full = alpha * (1 - rho ** steps[0]), alpha + (1 - alpha) * rho ** steps[1]
            full = after_reject * a ** (kappa - 1) / (1 - (after_full - after_reject) * a ** (kappa - 1))
            start = (1 - full) * after_reject + full * after_full
        accepted = start * (kappa if math.isclose(a, 1.0) else (1 - a**kappa) / (1 - a))
        speeds.append((1 + accepted) / (1 + beta * kappa))
    return int(np.argmax(np.array(speeds) > max(speeds) - 1e-12))


SETS = {
    "fresh windows": (0,),
    "carried from the last verdict to the next draft, which lowers kappa* most often": (1,),
    "fresh and three carried constructions": (0, 1, 2, 3),
}
"""Name → constructions of the grid."""


def _correction() -> list[Claim]:
    row = partial(Claim, "C52", "7")
    rows = []
    for name, kept in SETS.items():
        share, least, most, cases = _lowered(kept)
        rows.append(
            row(
                f"two-state chains, {name}, alpha .55 to .85, rho .1 to .3, beta .05 to .2: share lowered by 1 or 2",
                "Bringing in rho_A usually lowers kappa* by 1 to 2.",
                above(0.5),
                Formula(partial(_share, kept), again=partial(_share, kept, True)),
                f"Over {cases} cases the shift runs from {least:+d} to {most:+d}; kappa* is lowered in {share:.1%} "
                "of them.",
            )
        )
    chain = Markov(alpha=0.75, rho=0.3)
    fresh, free = BestKappa(chain, STANDARD, KAPPAS), BestKappa(Iid(alpha=0.75), STANDARD, KAPPAS)
    carried = BestKappa(Markov(alpha=LOWERED, rho=0.3, start="carry"), LOWERED_COST, KAPPAS)
    alone = BestKappa(Iid(alpha=LOWERED), LOWERED_COST, KAPPAS)
    statement = "Bringing in rho_A lowers kappa* by 1 to 2."
    return [
        untestable(
            "C52",
            "7",
            "eq. (16) put into eq. (12)",
            "Correcting (12) by rho_A lowers kappa* by 1 to 2.",
            "(12) contains neither a variance nor rho_A, and the article does not say how (16) enters it",
            f"By the throughput itself, rho_A = .3 moves kappa* by {fresh.exact() - free.exact():+.0f} at alpha = .75, "
            "beta = .1, fresh windows.",
        ),
        row(
            "fresh windows of a two-state chain, alpha = .75, rho = .3, beta = .1: kappa* minus that without "
            "correlation",
            statement,
            between(-2.0, -1.0),
            difference(fresh, free),
            "In a fresh window an accepted draft makes the next one likelier, P(A >= j) >= alpha^j, so longer drafts "
            f"pay: kappa* goes from {free.exact():.0f} to {fresh.exact():.0f}.",
        ),
        row(
            f"two-state chain carried from the last verdict to the next draft, alpha = {LOWERED}, rho = .3, beta = .2: "
            "kappa* minus that without correlation",
            statement,
            between(-2.0, -1.0),
            difference(carried, alone),
            "A window that begins right after a rejection begins badly, so here kappa* does fall, from "
            f"{alone.exact():.0f} to {carried.exact():.0f}; over the whole range it falls in "
            f"{_share((1,)):.1%} of such chains.",
        ),
        *rows,
    ]


def _share(kept: tuple[int, ...], closed: bool = False) -> float:
    return _lowered(kept, closed)[0]
