"""What do rounds come to if a policy chooses κ between them?  Speed-ups, played and by the exact law of the rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from simspec.claims.lab import Lab, Need, Observed, RegretNeed
from simspec.claims.quantity import Quantity
from simspec.model import Cost, Process
from simspec.model.policies import Policy
from simspec.stats.intervals import student
from simspec.stats.point import speedups


@dataclass(frozen=True)
class PolicySpeed:
    """E[tokens]/E[cost] of rounds under a policy.

    Attributes
    ----------
    process : Process
    policy : Policy
        Knowing the prices that it reads.
    cost : Cost
        What rounds pay.
    truth : callable
        The exact value, from a law that shares nothing with the policy played.
    off : float
        What the exact value may be off, by a grid of estimates or by the rounds after the start; intervals are wider by
        it.
    """

    process: Process
    policy: Policy
    cost: Cost
    truth: Callable[[], float]
    off: float = 0.0

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need(self.process, (self.policy.longest,), costs=(self.cost,), policy=self.policy),)

    def exact(self) -> float:
        return float(self.truth())

    def observe(self, lab: Lab, level: float) -> Observed:
        counts = lab.counts(self.process, policy=self.policy)
        speed = speedups(counts, self.cost)
        half = student(level, counts.units) * float(speed.error[0]) + self.off
        return Observed.around(float(speed.value[0]), half, int(counts.total("n")[0]))


@dataclass(frozen=True)
class Against:
    """A quantity held against an exact value: what it is above it, or, as a ``share``, what it lacks to it.

    Examples
    --------
    >>> from simspec.claims.quantity import Formula
    >>> Against(Formula(lambda: 1.5), 2.0).exact(), Against(Formula(lambda: 1.5), 2.0, share=True).exact()
    (-0.5, 0.25)
    """

    own: Quantity
    value: float
    share: bool = False

    @property
    def needs(self) -> tuple[Need, ...]:
        return tuple(self.own.needs)

    def exact(self) -> float:
        return self._of(self.own.exact())

    def observe(self, lab: Lab, level: float) -> Observed:
        seen = self.own.observe(lab, level)
        low, high = sorted((self._of(seen.low), self._of(seen.high)))
        return Observed(self._of(seen.value), low, high, seen.windows)

    def _of(self, value: float) -> float:
        return 1.0 - value / self.value if self.share else value - self.value


@dataclass(frozen=True)
class RegretSlope:
    """Growth of regret over the last decade of rounds: 1 is linear, 1/2 that of a square root; only by simulation."""

    process: Process
    policy: Policy
    cost: Cost
    marks: tuple[int, ...]

    @property
    def needs(self) -> tuple[RegretNeed, ...]:
        return (RegretNeed.of(self.process, self.policy, self.cost, self.marks),)

    def exact(self) -> float:
        return float("nan")

    def observe(self, lab: Lab, level: float) -> Observed:
        curve = lab.regret(self.needs[0])
        lanes = curve.against["fixed"].by_lane.shape[1]
        return Observed.around(curve.slope, curve.slope_half(level), lanes * self.marks[-1])
