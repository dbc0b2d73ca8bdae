"""What does a claim speak about?  A quantity that theory can state exactly and, mostly, the engine can observe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from simspec import theory
from simspec.claims.lab import Lab, Need, Observed
from simspec.claims.spread import SPREADS, observed_spread
from simspec.model import Cost, Process
from simspec.stats.intervals import proportion, ratio, standard_error, student
from simspec.stats.point import best_kappa, speedups


class Quantity(Protocol):
    """Something with an exact value; ``needs`` is empty if only the exact route speaks."""

    @property
    def needs(self) -> Sequence[Need]: ...

    def exact(self) -> float: ...

    def observe(self, lab: Lab, level: float) -> Observed: ...


@dataclass(frozen=True)
class Formula:
    """A value that algebra decides; simulation has nothing to add.

    ``again`` is a second way to the same number that shares no formula with the first (an enumeration, a root found
    numerically, a linear programme); the judge reports a disagreement if the two differ by more than ``tolerance``,
    relative to the larger of 1 and the value.
    """

    value: Callable[[], float]
    needs: tuple[Need, ...] = ()
    again: Callable[[], float] | None = None
    tolerance: float = 1e-9

    def exact(self) -> float:
        return float(self.value())

    def second(self) -> float | None:
        """The value by the second route; None if there is but one."""
        return None if self.again is None else float(self.again())

    def agrees(self, first: float, second: float) -> bool:
        """Whether the two routes say the same."""
        return abs(first - second) <= self.tolerance * max(1.0, abs(first))

    def observe(self, lab: Lab, level: float) -> Observed:
        value = self.exact()
        return Observed(value, value, value, 0)


@dataclass(frozen=True)
class Untestable:
    """Nothing a simulation or a formula could decide: what the article reports of others, or leaves undefined."""

    why: str
    needs: tuple[Need, ...] = ()

    def exact(self) -> float:
        return float("nan")

    def observe(self, lab: Lab, level: float) -> Observed:
        raise TypeError("a row that cannot be tested is never observed")


@dataclass(frozen=True)
class Speedup:
    """S(κ) = E[tokens]/E[cost] of a process at a cost."""

    process: Process
    kappa: int
    cost: Cost

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need(self.process, (self.kappa,), costs=(self.cost,)),)

    def exact(self) -> float:
        return theory.speedup(self.process, self.kappa, self.cost)

    def observe(self, lab: Lab, level: float) -> Observed:
        counts = lab.counts(self.process)
        at = counts.kappas.index(self.kappa)
        speed = speedups(counts, self.cost)
        half = student(level, counts.units) * float(speed.error[at])
        return Observed.around(float(speed.value[at]), half, int(counts.total("n")[at]))


@dataclass(frozen=True)
class SpeedupGain:
    """S(κ) − share·S(other κ) of one process, paired on the same words."""

    process: Process
    kappa: int
    other: int
    cost: Cost
    share: float = 1.0

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need(self.process, (self.kappa, self.other), costs=(self.cost,)),)

    def exact(self) -> float:
        own = theory.speedup(self.process, self.kappa, self.cost)
        return own - self.share * theory.speedup(self.process, self.other, self.cost)

    def observe(self, lab: Lab, level: float) -> Observed:
        counts = lab.counts(self.process)
        a, b = counts.kappas.index(self.kappa), counts.kappas.index(self.other)
        speed = speedups(counts, self.cost)
        error = float(standard_error(speed.influence[a] - self.share * speed.influence[b], speed.weight))
        gap = float(speed.value[a] - self.share * speed.value[b])
        return Observed.around(gap, student(level, counts.units) * error, int(counts.total("n")[a]))


@dataclass(frozen=True)
class BestKappa:
    """κ* of a process at a cost, among given κ; observed as the range of κ that cannot be told apart."""

    process: Process
    cost: Cost
    kappas: tuple[int, ...]

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need(self.process, self.kappas, costs=(self.cost,)),)

    def exact(self) -> float:
        return float(exact_best(self.process, self.cost, self.kappas))

    def observe(self, lab: Lab, level: float) -> Observed:
        counts = lab.counts(self.process)
        kept = [i for i, kappa in enumerate(counts.kappas) if kappa in self.kappas]
        speed = speedups(counts, self.cost)
        own = speed.take(kept)
        kappas = [counts.kappas[i] for i in kept]
        best = best_kappa(kappas, own, np.zeros(len(kept)), level)
        candidates = np.array(kappas)[best["indistinguishable"]]
        return Observed(
            float(best["kappa_star"]), float(candidates.min()), float(candidates.max()), int(counts.total("n")[0])
        )


def exact_best(process: Process, cost: Cost, kappas: Sequence[int]) -> int:
    """Smallest of ``kappas`` with the largest exact speed-up."""
    curve = theory.optimum(process, cost, max(kappas)).speedup_by_kappa
    own = np.array([curve[kappa] for kappa in kappas])
    return kappas[int(np.flatnonzero(own >= own.max() - 1e-12)[0])]


@dataclass(frozen=True)
class KappaForShare:
    """Smallest κ that reaches a share of the best speed-up."""

    process: Process
    cost: Cost
    kappas: tuple[int, ...]
    share: float = 0.9

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need(self.process, self.kappas, costs=(self.cost,)),)

    def exact(self) -> float:
        curve = theory.optimum(self.process, self.cost, max(self.kappas)).speedup_by_kappa
        return float(np.flatnonzero(curve >= self.share * np.nanmax(curve))[0])

    def observe(self, lab: Lab, level: float) -> Observed:
        counts = lab.counts(self.process)
        speed = speedups(counts, self.cost)
        kept = [counts.kappas.index(kappa) for kappa in self.kappas]
        best = max(kept, key=lambda i: speed.value[i])
        t = student(1.0 - (1.0 - level) / len(kept), counts.units)
        gap = speed.value[kept] - self.share * speed.value[best]
        half = t * standard_error(speed.influence[kept] - self.share * speed.influence[best], speed.weight)
        first = [self.kappas[int(np.flatnonzero(edge >= 0.0)[0])] for edge in (gap, gap + half, gap - half)]
        return Observed(float(first[0]), float(first[1]), float(first[2]), int(counts.total("n")[0]))


@dataclass(frozen=True)
class NoneAccepted:
    """P(A = 0): no draft of a decoding window is accepted."""

    process: Process
    kappa: int

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need(self.process, (self.kappa,)),)

    def exact(self) -> float:
        return theory.window(self.process, self.kappa).p_zero_accepted

    def observe(self, lab: Lab, level: float) -> Observed:
        counts = lab.counts(self.process)
        at = counts.kappas.index(self.kappa)
        zero = ratio(counts.by_unit("zero"), counts.by_unit("n"), counts.weight)
        n = counts.total("n")
        low, high = proportion(zero.value, zero.error, n, counts.units, counts.fresh, level)
        return Observed(float(zero.value[at]), float(low[at]), float(high[at]), int(n[at]))


@dataclass(frozen=True)
class CostCurve:
    """Σ weight·E[cost of a round at κ] over some κ: a difference or second difference of T(κ), paired."""

    process: Process
    weights: tuple[tuple[int, float], ...]
    cost: Cost

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need(self.process, tuple(kappa for kappa, _ in self.weights), costs=(self.cost,)),)

    def exact(self) -> float:
        return sum(
            weight * theory.mean_round_cost(theory.window(self.process, kappa), self.cost)
            for kappa, weight in self.weights
        )

    def observe(self, lab: Lab, level: float) -> Observed:
        counts = lab.counts(self.process)
        spent = ratio(counts.cost_by_unit(self.cost), counts.by_unit("n"), counts.weight)
        rows = [(counts.kappas.index(kappa), weight) for kappa, weight in self.weights]
        value = sum(weight * spent.value[i] for i, weight in rows)
        influence = sum(weight * spent.influence[i] for i, weight in rows)
        half = student(level, counts.units) * float(standard_error(np.asarray(influence), counts.weight))
        return Observed.around(float(value), half, int(counts.total("n")[0]))


@dataclass(frozen=True)
class AllRejected:
    """P(all κ drafts are rejected) when every draft is judged, also those after a rejection."""

    process: Process
    kappa: int

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need(self.process, (self.kappa,), judged=True),)

    def exact(self) -> float:
        return theory.complete_rejection(self.process, self.kappa)

    def observe(self, lab: Lab, level: float) -> Observed:
        judged = lab.judged(self.process, self.kappa)
        n, none = judged.sum(axis=1), judged[:, 0]
        share = ratio(none[None, :], n[None, :])
        low, high = proportion(share.value, share.error, n.sum(keepdims=True), len(n), True, level)
        return Observed(float(share.value[0]), float(low[0]), float(high[0]), int(n.sum()))


@dataclass(frozen=True)
class JudgedVarianceFactor:
    """Var of the number accepted among κ judged drafts, over κ·m(1 − m) with m their mean: what correlation adds."""

    process: Process
    kappa: int

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need(self.process, (self.kappa,), judged=True),)

    def exact(self) -> float:
        return theory.judged_variance_factor(self.process, self.kappa)

    def observe(self, lab: Lab, level: float) -> Observed:
        judged = lab.judged(self.process, self.kappa).astype(np.float64)
        passed = np.arange(self.kappa + 1.0)
        sums = judged.sum(axis=1), judged @ passed, judged @ passed**2
        return observed_spread(SPREADS["variance over the binomial one"], self.kappa, *sums, None, level)


@dataclass(frozen=True)
class Weighted:
    """Σ weight·quantity, a difference or second difference; intervals add up, so parts need not be independent."""

    terms: tuple[tuple[float, Quantity], ...]

    @property
    def needs(self) -> tuple[Need, ...]:
        return tuple(need for _, own in self.terms for need in own.needs)

    def exact(self) -> float:
        return sum(weight * own.exact() for weight, own in self.terms)

    def observe(self, lab: Lab, level: float) -> Observed:
        each = 1.0 - (1.0 - level) / len(self.terms)
        value = low = high = 0.0
        windows = []
        for weight, own in self.terms:
            seen = own.observe(lab, each)
            ends = sorted((weight * seen.low, weight * seen.high))
            value, low, high = value + weight * seen.value, low + ends[0], high + ends[1]
            windows.append(seen.windows)
        return Observed(value, low, high, max(windows))


def difference(first: Quantity, second: Quantity) -> Weighted:
    """First minus second."""
    return Weighted(((1.0, first), (-1.0, second)))


@dataclass(frozen=True)
class ShareInBand:
    """Share of a grid of processes × costs whose κ* lies in [low, high]."""

    processes: tuple[Process, ...]
    costs: tuple[Cost, ...]
    kappas: tuple[int, ...]
    low: int = 3
    high: int = 7

    @property
    def needs(self) -> tuple[Need, ...]:
        return tuple(Need(process, self.kappas) for process in self.processes)

    def _points(self) -> list[BestKappa]:
        return [BestKappa(process, cost, self.kappas) for process in self.processes for cost in self.costs]

    def exact(self) -> float:
        return float(np.mean([self.low <= point.exact() <= self.high for point in self._points()]))

    def observe(self, lab: Lab, level: float) -> Observed:
        points = self._points()
        each = 1.0 - (1.0 - level) / len(points)
        seen = [point.observe(lab, each) for point in points]
        return Observed(
            float(np.mean([self.low <= s.value <= self.high for s in seen])),
            float(np.mean([self.low <= s.low and s.high <= self.high for s in seen])),
            float(np.mean([s.high >= self.low and s.low <= self.high for s in seen])),
            min(s.windows for s in seen),
        )
