"""What do rounds of another scheme than a chain come to?  Means per round and speed-ups, exact and simulated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from simspec import theory
from simspec.claims.lab import Lab, Need, Observed
from simspec.model import Cost, Process, Scheme
from simspec.stats.intervals import ratio, student
from simspec.stats.point import speedups
from simspec.theory import SchemeLaw


@dataclass(frozen=True)
class Mean:
    """A ratio of two sums over rounds, columns of a tally, and what the exact law makes of it."""

    top: str
    bottom: str
    exact: Callable[[SchemeLaw], float]


MEANS = {
    "tokens per round": Mean("tokens", "n", lambda law: law.mean_tokens),
    "accepted per round": Mean("accepted", "n", lambda law: law.mean_accepted),
    "rounds per token": Mean("n", "tokens", lambda law: 1.0 / law.mean_tokens),
}
"""Name → what is divided by what."""


@dataclass(frozen=True)
class SchemeMean:
    """One of `MEANS` of a scheme on a process, ``many`` times."""

    scheme: Scheme
    process: Process
    kappa: int
    what: str
    many: float = 1.0

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need(self.process, (self.kappa,), scheme=self.scheme),)

    def exact(self) -> float:
        return self.many * MEANS[self.what].exact(theory.scheme_law(self.scheme, self.process, self.kappa))

    def observe(self, lab: Lab, level: float) -> Observed:
        counts, mean = lab.counts(self.process, self.scheme), MEANS[self.what]
        at = counts.kappas.index(self.kappa)
        own = ratio(counts.by_unit(mean.top), counts.by_unit(mean.bottom), counts.weight)
        half = student(level, counts.units) * float(own.error[at])
        rounds = int(counts.total("n")[at])
        return Observed.around(self.many * float(own.value[at]), self.many * half, rounds)


@dataclass(frozen=True)
class SchemeSpeed:
    """E[tokens]/E[cost] of a scheme on a process at a cost."""

    scheme: Scheme
    process: Process
    kappa: int
    cost: Cost

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need(self.process, (self.kappa,), costs=(self.cost,), scheme=self.scheme),)

    def exact(self) -> float:
        return theory.scheme_law(self.scheme, self.process, self.kappa).speedup(self.cost)

    def observe(self, lab: Lab, level: float) -> Observed:
        counts = lab.counts(self.process, self.scheme)
        at = counts.kappas.index(self.kappa)
        speed = speedups(counts, self.scheme.priced(self.cost))
        half = student(level, counts.units) * float(speed.error[at])
        return Observed.around(float(speed.value[at]), half, int(counts.total("n")[at]))
