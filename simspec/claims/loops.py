"""Which closed loops do claims speak of?  Each as a rule for the exact chain of estimates, and as a policy to play.

Both are written from the same sentence and share nothing: rules ask `simspec.theory` what to draft at an estimate, the
engine finds its own table.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from simspec import theory
from simspec.claims.policy_quantity import PolicySpeed
from simspec.claims.setup import STANDARD, step_alpha
from simspec.model import Cost, Drift, Iid, Markov
from simspec.model.policies import Policy, Rolling
from simspec.theory import article
from simspec.theory.article.control import GUARD
from simspec.theory.law import FloatArray

IntArray = npt.NDArray[np.int64]

SMOOTHING = 0.85
LONGEST = 20
"""Longest draft of a controller: κ* has no bound as an estimate nears 1."""
GRID, COARSE = 3e-4, 513
"""What a grid of estimates may be off, in S, and with it the rounds after a start; points of the coarser grid."""
FINE = 8193
"""Points where a formula or a guard changes κ by whole lengths at once, so that the grid matters more."""


@dataclass(frozen=True)
class Loop:
    """How an estimate becomes a draft length.

    Attributes
    ----------
    kappas : callable
        Array of estimates and β → array of lengths, 1 to `LONGEST`; for the exact route.
    keys : dict
        The same for the engine: parameters of `Rolling` beside smoothing, start and bounds.
    points : int
        Of the grid of estimates.
    """

    kappas: Callable[[FloatArray, float], IntArray]
    keys: dict[str, Any] = field(default_factory=dict, hash=False)
    points: int = 2049

    @property
    def off(self) -> float:
        """What the grid may be off, in S: more where κ jumps by whole lengths at once, although it is finer there."""
        return GRID if self.points < FINE else 2 * GRID

    def rule(self, beta: float = STANDARD.c_d) -> Callable[[FloatArray], IntArray]:
        """Lengths at estimates, at a price of drafts."""
        return lambda estimates: self.kappas(estimates, beta)

    def policy(self, start: float, smoothing: float = SMOOTHING, beta: float = STANDARD.c_d) -> Policy:
        """What the engine plays from the estimate ``start``."""
        first = int(self.kappas(np.array([start]), beta)[0])
        keys: dict[str, Any] = {"smoothing": smoothing, "initial": start, "first": first, "highest": LONGEST}
        return Rolling(**keys, **self.keys).told((Cost(c_d=beta),))

    def steady_speed(self, process: Iid | Markov, smoothing: float = SMOOTHING) -> PolicySpeed:
        """S in the long run, at the standard cost."""
        policy = self.policy(process.alpha, smoothing)
        truth = functools.partial(steady_truth, self, process, smoothing)
        return PolicySpeed(process, policy, STANDARD, truth, self.off)

    def speed_along(self, process: Drift, smoothing: float = SMOOTHING, beta: float = STANDARD.c_d) -> PolicySpeed:
        """S of generations, the first estimate being the first rate."""
        policy = self.policy(process.rates()[0], smoothing, beta)
        truth = functools.partial(along, self, process, smoothing, beta)
        return PolicySpeed(process, policy, Cost(c_d=beta), truth, self.off)


def _plug_in(estimates: FloatArray, beta: float) -> IntArray:
    return theory.plug_in_kappas(estimates, Cost(c_d=beta), LONGEST)


def _coded(estimates: FloatArray, beta: float) -> IntArray:
    """Equation (12) as coded, at the article's c_v and c_r, rounded; the bounds where it has no value."""
    inside = [article.kappa_star_as_coded(float(e), beta) if 0.0 < e < 1.0 else LONGEST * float(e) for e in estimates]
    return np.asarray(np.clip(np.round(inside), 1, LONGEST), dtype=np.int64)


def _held(
    kappas: Callable[[FloatArray, float], IntArray], settles: Callable[[float, int], int]
) -> Callable[[FloatArray, float], IntArray]:
    """The same behind the guard at .25."""

    def own(estimates: FloatArray, beta: float) -> IntArray:
        pairs = zip(np.maximum(estimates, 1e-9), kappas(estimates, beta), strict=True)
        return np.array([settles(float(rate), int(kappa)) for rate, kappa in pairs], dtype=np.int64)

    return own


def _once(rate: float, kappa: int) -> int:
    return kappa - 1 if kappa > 1 and article.guard_fires(rate, kappa) else kappa


AT_QUARTER = {"guard": GUARD}
PLUG_IN = Loop(_plug_in)
"""κ*(e), the best length if e were the rate."""
GUARDED = Loop(_held(_plug_in, article.guard_settles_at), AT_QUARTER, FINE)
"""The same, lowered while the article's σ/α exceeds .25."""
LOWERED_ONCE = Loop(_held(_plug_in, _once), {**AT_QUARTER, "degrade": "once"}, FINE)
"""The same, lowered by one where it does."""
CODED = Loop(_coded, {"rule": "article"}, FINE)
"""Equation (12) at e, rounded."""
ARTICLE = Loop(_held(_coded, article.guard_settles_at), {"rule": "article", **AT_QUARTER}, FINE)
"""The loop of Figure 1 as written: (12) at e, lowered while σ/α exceeds .25."""


def shortened(by: int) -> Loop:
    """κ*(e) less ``by``, at least 1: what "κ* falls by 1 to 2" makes of the loop."""
    cuts = [step_alpha(kappa, STANDARD) for kappa in range(1 + by, LONGEST)]
    lengths = range(1, LONGEST + 1 - by)
    keys: dict[str, Any] = {"rule": "table", "cuts": tuple(cuts), "kappas": tuple(lengths)}
    return Loop(lambda estimates, beta: np.maximum(_plug_in(estimates, beta) - by, 1), keys)


@functools.cache
def steady_law(loop: Loop, process: Iid | Markov, smoothing: float = SMOOTHING) -> theory.LongRun:
    """What a loop does in the long run, at the standard cost."""
    rates = process.alpha if isinstance(process, Iid) else process
    return theory.controller_long_run(rates, loop.rule(), STANDARD, smoothing, loop.points)


def steady_truth(loop: Loop, process: Iid | Markov, smoothing: float = SMOOTHING) -> float:
    """S in the long run."""
    return steady_law(loop, process, smoothing).speedup


@functools.cache
def steady_again(loop: Loop, alpha: float, smoothing: float = SMOOTHING) -> float:
    """The same for independent drafts, from what 96 more tokens of a long generation cost."""
    costs = []
    for tokens in (192, 288):
        level = Drift(shape="linear", alpha_start=alpha, alpha_end=alpha, tokens=tokens)
        costs.append(theory.controller_generation(level, loop.rule(), STANDARD, smoothing, alpha, COARSE).mean_cost)
    return 96 / (costs[1] - costs[0])


@functools.cache
def along(loop: Loop, process: Drift, smoothing: float = SMOOTHING, beta: float = STANDARD.c_d) -> float:
    """S of a generation, the first estimate being the first rate."""
    start, points = process.rates()[0], min(loop.points, 4097)
    return theory.controller_generation(process, loop.rule(beta), Cost(c_d=beta), smoothing, start, points).speedup


@functools.cache
def best(alpha: float) -> float:
    """S* of independent drafts."""
    return theory.optimum(Iid(alpha=alpha), STANDARD, 64).best_speedup
