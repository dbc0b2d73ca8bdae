"""Claims C50–C52: do the three guides of section 7 help?"""

from __future__ import annotations

import functools
import itertools
import math
from functools import partial

import numpy as np

from simspec import theory
from simspec.claims.claim import Claim, above, below, between, printed, untestable
from simspec.claims.control import FALLING, IntArray, forward_speedup
from simspec.claims.correlation import CONSTRUCTIONS
from simspec.claims.quantity import BestKappa, Difference, Formula, SpeedupGain
from simspec.claims.setup import ARTICLE, KAPPAS, STANDARD, USUAL, step_alpha, usual_s
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


def _coded_gain(beta: float, cost: Cost | None = None) -> float:
    """S of eq. (12) along the fall minus the best fixed κ's."""
    own = Cost(c_d=beta) if cost is None else cost
    return theory.plan_of(FALLING, coded_kappas(beta), own).speedup - theory.optimum(FALLING, own, 32).best_speedup


def _coded_gain_again(beta: float) -> float:
    """The same, both added up forwards."""
    cost = Cost(c_d=beta)
    fixed = max(forward_speedup(FALLING, np.full(1024, kappa), cost) for kappa in range(1, 9))
    return forward_speedup(FALLING, coded_kappas(beta), cost) - fixed


def _formula() -> list[Claim]:
    row = partial(Claim, "C50", "7")
    rows = []
    for beta in (0.05, 0.1, 0.2):
        fixed = theory.optimum(FALLING, Cost(c_d=beta), 32)
        coded = coded_kappas(beta)
        rows.append(
            row(
                f"eq. (12) at the true alpha_i, rounded, at least 1; fall .85 to .62, beta = {beta}: S minus best "
                "fixed kappa",
                "Choosing kappa by formula (12) beats choosing by intuition.",
                above(0.0),
                Formula(partial(_coded_gain, beta), again=partial(_coded_gain_again, beta)),
                f"(12) drafts {coded.min()} to {coded.max()} tokens and makes "
                f"{theory.plan_of(FALLING, coded, Cost(c_d=beta)).speedup:.4f}; kappa = {fixed.kappa_star} "
                "throughout makes "
                f"{fixed.best_speedup:.4f}.",
            )
        )
    own = theory.plan_of(FALLING, coded_kappas(0.1), ARTICLE).speedup
    shorter, usual = BestKappa(Iid(alpha=0.6), STANDARD, KAPPAS), BestKappa(USUAL, STANDARD, KAPPAS)
    return [
        *rows,
        row(
            "the same at the article's own costs, c_v = .5, c_r = 1: S minus that without drafts",
            "Choosing kappa by formula (12) beats choosing by intuition.",
            above(0.0),
            Formula(
                lambda: theory.plan_of(FALLING, coded_kappas(0.1), ARTICLE).speedup - 1.0,
                again=lambda: forward_speedup(FALLING, coded_kappas(0.1), ARTICLE) - 1.0,
            ),
            f"At these costs every draft below the break-even rate {theory.break_even_alpha(ARTICLE):.1f} loses: "
            "(12) makes "
            f"{own:.4f}, no drafts 1.",
        ),
        row(
            "kappa* at alpha = .7 minus kappa* at .6, beta = .1",
            "If alpha is lower, kappa has to be smaller.",
            above(1.0),
            Difference(usual, shorter),
            f"kappa* rises with alpha: {shorter.exact():.0f} at .6, {usual.exact():.0f} at .7.",
        ),
    ]


@functools.cache
def guard_edge_at_best(beta: float) -> float:
    """Largest α at which the guard at .25 fires although κ is the best: at an edge of the guard or at a step of κ*."""
    cost = Cost(c_d=beta)
    steps = [step_alpha(kappa, cost) for kappa in range(20)]  # κ* goes from kappa to kappa + 1
    silent = [16 / (16 + kappa) for kappa in range(20)]  # from here on the guard lets kappa pass
    return max(min(silent[kappa], steps[kappa]) for kappa in range(1, 20) if silent[kappa] > steps[kappa - 1])


def _edge_by_scan(beta: float) -> float:
    """The same from σ/α of the printed formula on a grid of α, at the best κ of each."""
    alphas = np.arange(0.5, 0.95, 2e-4)
    kappas = theory.plug_in_kappas(alphas, Cost(c_d=beta), 40)
    return float(alphas[np.sqrt((1 - alphas) / (kappas * alphas)) > 0.25].max())


def _guard() -> list[Claim]:
    row = partial(Claim, "C51", "7")
    longer, shorter = JudgedSpread(USUAL, 4, "relative deviation"), JudgedSpread(USUAL, 3, "relative deviation")
    end = article.guard_settles_at(0.7, 4)
    down = SpeedupGain(USUAL, end, 4, STANDARD)
    good = Iid(alpha=0.9)
    first = WindowSpread(good, 1, "relative deviation")
    edges = ", ".join(f"{guard_edge_at_best(beta):.4f}" for beta in (0.05, 0.1, 0.15, 0.2))
    return [
        row(
            "sigma/alpha of kappa judged drafts, alpha = .7: at kappa = 3 minus at kappa = 4",
            "Lowering kappa lowers the relative fluctuation.",
            below(0.0),
            Difference(shorter, longer),
            f"It grows, so a guard that fires fires on: {longer.exact():.4f} at kappa = 4, {shorter.exact():.4f} at 3.",
        ),
        row(
            f"the guard at .25 applied until it is silent, from kappa* = 4 at alpha = .7, beta = .1: S({end}) - S(4)",
            "The guard protects the speed.",
            above(0.0),
            down,
            f"It ends at kappa = {end}: S falls from {usual_s(4):.4f} to {usual_s(end):.4f}, "
            f"{usual_s(end) / usual_s(4) - 1:.0%}.",
        ),
        row(
            "the largest alpha at which the guard fires at the best kappa, beta = .1",
            "The guard answers to alpha dropping below .6.",
            printed("0.6", about=True),
            Formula(lambda: guard_edge_at_best(0.1), again=lambda: _edge_by_scan(0.1), tolerance=3e-4),
            f"At the best kappa it fires for steady rates below {edges} at beta = .05, .10, .15, .20.",
        ),
        row(
            "sigma/alpha of the accepted length of a decoded window, alpha = .9, kappa = 1, where it is least",
            "With a good draft the guard at .25 is silent.",
            below(0.25),
            first,
            f"The relative deviation of A is sqrt((1 - alpha)/alpha) at kappa = 1 and grows with kappa: at .9 it is "
            f"{first.exact():.4f}, and below .25 only for alpha above {16 / 17:.4f}.",
        ),
    ]


@functools.cache
def _lowered(fresh_only: bool, closed: bool = False) -> tuple[float, int, int]:
    """Share of the grid whose κ* correlation lowers by 1 or 2; least and largest shift."""
    shifts = []
    for alpha, beta, rho, which in GRID:
        if fresh_only and which > 0:
            continue
        cost = Cost(c_d=beta)
        if closed:
            moved, free = (_best_closed(alpha, own, STEPS[which], beta) for own in (rho, 0.0))
        else:
            chain = tuple(CONSTRUCTIONS.values())[which].model_copy(update={"alpha": alpha, "rho": rho})
            moved = theory.optimum(chain, cost, DEEPEST).kappa_star
            free = theory.optimum(Iid(alpha=alpha), cost, DEEPEST).kappa_star
        shifts.append(moved - free)
    return sum(-2 <= shift <= -1 for shift in shifts) / len(shifts), min(shifts), max(shifts)


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


def _correction() -> list[Claim]:
    row = partial(Claim, "C52", "7")
    rows = []
    for name, fresh in (("fresh windows", True), ("fresh and three carried constructions", False)):
        share, least, most = _lowered(fresh)
        cases = sum(1 for *_, which in GRID if which == 0 or not fresh)
        rows.append(
            row(
                f"two-state chains, {name}, alpha .55 to .85, rho .1 to .3, beta .05 to .2: share lowered by 1 or 2",
                "Bringing in rho_A usually lowers kappa* by 1 to 2.",
                above(0.5),
                Formula(partial(_share, fresh), again=partial(_share, fresh, True)),
                f"Over {cases} cases the shift runs from {least:+d} to {most:+d}; kappa* is lowered in {share:.1%} "
                "of them.",
            )
        )
    chain = Markov(alpha=0.75, rho=0.3)
    shift = Difference(BestKappa(chain, STANDARD, KAPPAS), BestKappa(Iid(alpha=0.75), STANDARD, KAPPAS))
    return [
        untestable(
            "C52",
            "7",
            "eq. (16) put into eq. (12)",
            "Correcting (12) by rho_A lowers kappa* by 1 to 2.",
            "(12) contains neither a variance nor rho_A, and the article does not say how (16) enters it",
            f"By the throughput itself, rho_A = .3 moves kappa* by {shift.exact():+.0f} at alpha = .75, beta = .1, "
            "fresh windows.",
        ),
        row(
            "fresh windows of a two-state chain, alpha = .75, rho = .3, beta = .1: kappa* minus that without "
            "correlation",
            "Bringing in rho_A lowers kappa* by 1 to 2.",
            between(-2.0, -1.0),
            shift,
            f"The shift is {shift.exact():+.0f}.",
        ),
        *rows,
    ]


def _share(fresh_only: bool, closed: bool = False) -> float:
    return _lowered(fresh_only, closed)[0]
