"""What does one of the surroundings say of each controller?  The best fixed κ plays too, and its luck is taken off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from simspec import theory
from simspec.kernels.tally import Tally
from simspec.model import Cost, Drift, ParameterError, Process, Simulation, Trace
from simspec.model.policies import Foresight, Policy, Schedule
from simspec.model.serving import NORMAL, Serving
from simspec.run.comparators import FIXED, FORESIGHT, Comparator, comparators
from simspec.run.contenders import contenders
from simspec.run.engine import Job, run_jobs
from simspec.run.layout import Layout
from simspec.run.progress import Progress
from simspec.run.stretches import by_stretch
from simspec.run.surroundings import Surrounding
from simspec.run.traces import load
from simspec.stats.controlled import controlled
from simspec.stats.counts import Counts
from simspec.stats.intervals import Ratio, student
from simspec.stats.point import speedups

KNOWS = {"schedule": "knows α by position", "oracle": "knows the rate", "foresight": "knows each round"}
"""What no controller is told, and what it would be worth: exact speeds, but for that of known rounds in some places."""


@dataclass(frozen=True)
class Place:
    """One controller in one of the surroundings.

    Attributes
    ----------
    surrounding, controller : str
    speedup, half : float
        S and half the width of its interval; 0 of an exact value.
    best_fixed, kappa_star : float, int
        The exact S of the best fixed κ, and that κ.
    mean_drafted, flips_per_1000, tokens_per_round, share_off : float
        Of what was played; ``share_off`` counts rounds without a draft.  NaN of an exact value.
    switch : float
        Price of a change of κ in ``speedup``.
    period : int
        Tokens between changes of α, if an adversary chose them; else 0.
    error : float
        Standard error of ``speedup``.
    units : int
        Independent lanes behind it.
    informed : bool
        Whether it knows what no controller is told.
    """

    surrounding: str
    controller: str
    speedup: float
    half: float
    best_fixed: float
    kappa_star: int
    mean_drafted: float = float("nan")
    flips_per_1000: float = float("nan")
    tokens_per_round: float = float("nan")
    share_off: float = float("nan")
    switch: float = 0.0
    period: int = 0
    error: float = 0.0
    units: int = 0
    informed: bool = False

    @property
    def exact(self) -> bool:
        """Whether nothing was played."""
        return self.half == 0.0 and self.mean_drafted != self.mean_drafted

    @property
    def gain(self) -> float:
        """S over that of the best fixed κ, less 1."""
        return self.speedup / self.best_fixed - 1.0

    @property
    def gain_half(self) -> float:
        """Half the width of the interval of `gain`."""
        return self.half / self.best_fixed

    @property
    def verdict(self) -> str:
        """``"beats"``, ``"loses"`` or ``"cannot tell"``."""
        if abs(self.gain) <= max(self.gain_half, 1e-12):
            return "cannot tell"
        return "beats" if self.gain > 0.0 else "loses"

    def surely_ahead(self, level: float, of: int) -> bool:
        """Whether it beats the best fixed κ although it may be the luckiest ``of`` so many (Bonferroni)."""
        return (
            self.exact
            or self.speedup - student(1.0 - (1.0 - level) / of, self.units - 1) * self.error > self.best_fixed
        )

    @property
    def break_even_switch(self) -> float:
        """Price of a change of κ at which it is as fast as the best fixed κ; NaN where it is not ahead for nothing."""
        if self.exact or self.flips_per_1000 == 0.0:
            return float("nan")
        spare = self.tokens_per_round * (1.0 / self.best_fixed - 1.0 / self.speedup)
        price = self.switch + 1000.0 * spare / self.flips_per_1000
        return price if price > 0.0 else float("nan")

    def record(self) -> dict[str, object]:
        """A plain dictionary; None for what does not exist."""
        extra = ("exact", "gain", "gain_half", "verdict", "break_even_switch")
        own = vars(self) | {name: getattr(self, name) for name in extra}
        return {name: None if value != value else value for name, value in own.items()}


class Stage:
    """One of the surroundings, with what is known of it exactly, and the best fixed κ played in it."""

    def __init__(
        self, name: str, surrounding: Surrounding, cost: Cost, windows: int, seed: int, level: float, longest: int,
        held: dict[str, Comparator] | None = None, serving: Serving = NORMAL,
    ) -> None:  # fmt: skip
        self.name, self.surrounding, self.cost, self.windows, self.seed = name, surrounding, cost, windows, seed
        ends = [end for end in (surrounding.process.longest_draft, cost.longest_draft) if end is not None]
        self.serving = serving
        self.level, self.longest = level, min([longest, *ends])
        self.held = _held(surrounding, cost.without_changes(), self.longest) if held is None else held
        self.fixed = self.held[FIXED]
        self.windows = self._enough()
        Simulation(surrounding.process, policy=Schedule(kappas=(self.longest,))).check((self.longest,), [cost])

    @property
    def process(self) -> Process:
        return self.surrounding.process

    def _enough(self) -> int:
        """The budget that makes about ``windows`` rounds: a layout plans for requests whose drafts are all accepted."""
        plan = Job(Simulation(self.process), (self.longest,), self.windows, self.seed).layout
        if not plan.generations:
            return self.windows
        each = self.fixed.speedup * self.cost.base(self.fixed.kappa)  # tokens of a round, but for rollbacks
        rounds = _tokens(self.process, plan) / each
        return max(1, min(self.windows, round(self.windows * self.windows / rounds)))

    def places(self, threads: int | None = None, progress: Progress | None = None) -> list[Place]:
        """Every controller's place, and the exact ones."""
        own = contenders(self.cost, self.longest, self.surrounding.kappa)
        found = list(self.play(own | self._foresight(), threads, progress))
        found = [replace(place, informed=place.controller not in own) for place in found]
        return found + [self._exact(KNOWS[name], other) for name, other in self.held.items() if name != FIXED]

    def _foresight(self) -> dict[str, Policy]:
        """Who knows each round, where that is played and not exact."""
        policy = Foresight(highest=self.longest, cost=self.cost.without_changes())
        try:
            policy.check_process(self.process)
        except ParameterError:
            return {}
        return {} if FORESIGHT in self.held else {KNOWS[FORESIGHT]: policy}

    def play(
        self, own: Mapping[str, Policy], threads: int | None = None, progress: Progress | None = None
    ) -> Iterator[Place]:
        """Places of some controllers; the best fixed κ plays first."""
        seen = self._seen([Schedule(kappas=(self.fixed.kappa,)), *own.values()], threads, progress)
        _, control = next(seen)
        for name, (tally, speed) in zip(own, seen, strict=True):
            yield self._place(name, tally, speed, control)

    def _seen(
        self, policies: list[Policy], threads: int | None, progress: Progress | None
    ) -> Iterator[tuple[Tally, Ratio]]:
        """What each policy played, and its tokens over cost by lane."""
        if self.surrounding.dearer:
            prices = self.surrounding.prices(self.cost)
            where = (self.process, policies, prices, self.longest, self.windows, self.seed)
            yield from by_stretch(*where, threads, self.serving)
            return
        played = [Simulation(self.process, policy=one, serving=self.serving.under(one)) for one in policies]
        jobs = [Job(own, (self.longest,), self.windows, self.seed) for own in played]
        for _, (tally,) in run_jobs(jobs, threads, progress):
            yield tally, speedups(Counts.of([tally], fresh=False), self.cost)

    def _place(self, name: str, tally: Tally, speed: Ratio, control: Ratio) -> Place:
        found = controlled(speed, control, self.fixed.speedup)
        rounds = tally.total("n")
        return Place(
            surrounding=self.name,
            controller=name,
            speedup=float(found.value[0]),
            half=float(student(self.level, speed.units - 1) * found.error[0]),
            best_fixed=self.fixed.speedup,
            kappa_star=self.fixed.kappa,
            mean_drafted=tally.total("drafted") / rounds,
            flips_per_1000=1000.0 * float(np.sum(tally.flips)) / rounds,
            tokens_per_round=tally.total("tokens") / rounds,
            share_off=float(tally.histogram[0].sum()) / rounds,
            switch=self.cost.c_switch,
            error=float(found.error[0]),
            units=speed.units,
        )

    def _exact(self, controller: str, other: Comparator) -> Place:
        speeds = (other.speedup, 0.0, self.fixed.speedup, self.fixed.kappa)
        return Place(self.name, controller, *speeds, informed=True)


def _tokens(process: Process, plan: Layout) -> int:
    """Tokens of all requests of a plan."""
    if isinstance(process, Trace):
        return int(load(process).offsets[-1]) * plan.generations
    each = process.n_tokens if isinstance(process, Drift) else getattr(process, "request_tokens", 1)
    return plan.lanes * plan.generations * int(each)


def _held(surrounding: Surrounding, cost: Cost, longest: int) -> dict[str, Comparator]:
    """Exact speeds of one of the surroundings."""
    if not surrounding.dearer:
        return comparators(surrounding.process, cost, longest)
    assert isinstance(surrounding.process, Drift)  # by_stretch says so to others
    best = theory.stretch_optimum(surrounding.process, surrounding.prices(cost), longest)
    fixed = Comparator(FIXED, float(best.speedup_by_kappa[best.kappa_star]), "the best fixed κ", best.kappa_star)
    return {FIXED: fixed, "schedule": Comparator("schedule", best.plan_speedup, "the best plan by output position")}
