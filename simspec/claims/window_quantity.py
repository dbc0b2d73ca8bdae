"""What else can be read off counted windows?  Shares, variances and spreads of A, the best speed-up, and sums of them.

Errors come from independent units: windows where they are fresh, else lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simspec import theory
from simspec.claims.lab import Lab, Need, Observed
from simspec.claims.quantity import Quantity, Weighted
from simspec.claims.spread import SPREADS, observed_spread
from simspec.model import Cost, Process
from simspec.stats.counts import Counts
from simspec.stats.intervals import Floats, ratio, student
from simspec.stats.point import speedups
from simspec.theory.law import WindowLaw, moments


@dataclass(frozen=True)
class Share:
    """A ratio of sums over windows, and what the exact law makes of it."""

    top: Callable[[Counts], Floats]
    bottom: Callable[[Counts], Floats]
    exact: Callable[[WindowLaw], float]


def _sum(*names: str) -> Callable[[Counts], Floats]:
    return lambda counts: np.asarray(sum(counts.by_unit(name) for name in names))


SHARES = {
    "accepted per window": Share(_sum("accepted"), _sum("n"), lambda law: law.mean_accepted),
    "tokens per window": Share(_sum("tokens"), _sum("n"), lambda law: law.mean_tokens),
    "accepted over drafted": Share(_sum("accepted"), _sum("drafted"), lambda law: law.mean_accepted / law.mean_drafted),
    "accepted over examined": Share(
        _sum("accepted"), _sum("accepted", "rejected"), lambda law: law.mean_accepted / law.mean_examined
    ),
    "windows with a rejection": Share(_sum("rejected"), _sum("n"), lambda law: 1.0 - law.p_full),
}
"""Name → what is divided by what."""


@dataclass(frozen=True)
class WindowShare:
    """One of `SHARES` for a process at a draft length."""

    process: Process
    kappa: int
    what: str

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need(self.process, (self.kappa,)),)

    def exact(self) -> float:
        return SHARES[self.what].exact(theory.window(self.process, self.kappa))

    def observe(self, lab: Lab, level: float) -> Observed:
        counts = lab.counts(self.process)
        at = counts.kappas.index(self.kappa)
        own = ratio(SHARES[self.what].top(counts), SHARES[self.what].bottom(counts), counts.weight)
        half = student(level, counts.units) * float(own.error[at])
        return Observed.around(float(own.value[at]), half, int(counts.total("n")[at]))


@dataclass(frozen=True)
class CostPer:
    """Cost of ``many`` accepted drafts, or of ``many`` tokens, in rounds of κ drafts in the long run."""

    process: Process
    kappa: int
    cost: Cost
    many: float
    of: str

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need(self.process, (self.kappa,), costs=(self.cost,)),)

    def exact(self) -> float:
        law = theory.window(self.process, self.kappa)
        yielded = {"accepted": law.mean_accepted, "tokens": law.mean_tokens}[self.of]
        return self.many * theory.mean_round_cost(law, self.cost) / yielded

    def observe(self, lab: Lab, level: float) -> Observed:
        counts = lab.counts(self.process)
        at = counts.kappas.index(self.kappa)
        own = ratio(counts.cost_by_unit(self.cost), counts.by_unit(self.of), counts.weight)
        half = student(level, counts.units) * float(own.error[at])
        return Observed.around(self.many * float(own.value[at]), self.many * half, int(counts.total("n")[at]))


@dataclass(frozen=True)
class WindowSpread:
    """One of `SPREADS` of the accepted length A of a decoded window."""

    process: Process
    kappa: int
    what: str

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need(self.process, (self.kappa,)),)

    def exact(self) -> float:
        law = theory.window(self.process, self.kappa)
        return SPREADS[self.what].value(law.mean_accepted, law.var_accepted, self.kappa)

    def observe(self, lab: Lab, level: float) -> Observed:
        counts = lab.counts(self.process)
        at = counts.kappas.index(self.kappa)
        n, first, second = (counts.by_unit(name)[at] for name in ("n", "accepted", "accepted_sq"))
        return observed_spread(SPREADS[self.what], self.kappa, n, first, second, counts.weight, level)


@dataclass(frozen=True)
class JudgedSpread:
    """One of `SPREADS` of the number accepted among κ drafts that all get a verdict."""

    process: Process
    kappa: int
    what: str

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need(self.process, (self.kappa,), judged=True),)

    def exact(self) -> float:
        mean, variance = moments(theory.judged_sum(self.process, self.kappa))
        return SPREADS[self.what].value(mean, variance, self.kappa)

    def observe(self, lab: Lab, level: float) -> Observed:
        judged = lab.judged(self.process, self.kappa).astype(np.float64)
        passed = np.arange(self.kappa + 1.0)
        sums = judged.sum(axis=1), judged @ passed, judged @ passed**2
        return observed_spread(SPREADS[self.what], self.kappa, *sums, None, level)


@dataclass(frozen=True)
class JudgedShare:
    """Share accepted of κ drafts that all get a verdict."""

    process: Process
    kappa: int

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need(self.process, (self.kappa,), judged=True),)

    def exact(self) -> float:
        return moments(theory.judged_sum(self.process, self.kappa))[0] / self.kappa

    def observe(self, lab: Lab, level: float) -> Observed:
        judged = lab.judged(self.process, self.kappa).astype(np.float64)
        n = judged.sum(axis=1)
        own = ratio((judged @ np.arange(self.kappa + 1.0))[None, :], self.kappa * n[None, :])
        half = student(level, len(n)) * float(own.error[0])
        return Observed.around(float(own.value[0]), half, int(n.sum()))


@dataclass(frozen=True)
class BestSpeedup:
    """S* = max S(κ) over given κ; the interval holds for all κ at once."""

    process: Process
    cost: Cost
    kappas: tuple[int, ...]

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need(self.process, self.kappas, costs=(self.cost,)),)

    def exact(self) -> float:
        curve = theory.optimum(self.process, self.cost, max(self.kappas)).speedup_by_kappa
        return float(max(curve[kappa] for kappa in self.kappas))

    def observe(self, lab: Lab, level: float) -> Observed:
        counts = lab.counts(self.process)
        kept = [counts.kappas.index(kappa) for kappa in self.kappas]
        speed = speedups(counts, self.cost).take(kept)
        half = student(1.0 - (1.0 - level) / len(kept), counts.units) * speed.error
        low, high = (speed.value - half).max(), (speed.value + half).max()
        return Observed(float(speed.value.max()), float(low), float(high), int(counts.total("n")[0]))


def second_difference(at: Callable[[float], Quantity], alphas: tuple[float, float, float]) -> Weighted:
    """Q(α₁) − 2Q(α₂) + Q(α₃) at equal steps of α: positive where Q is convex."""
    low, middle, high = alphas
    return Weighted(((1.0, at(low)), (-2.0, at(middle)), (1.0, at(high))))
