"""What will a scenario do?  Cut into jobs, sections and parts by the scenario alone; seconds and bytes ahead."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from simspec.model import Cost, ParameterError, Scenario
from simspec.model.scenario import POINTS_LIMIT
from simspec.run.engine import Job, play
from simspec.run.known import laws_of

ROWS_PER_SECTION = 2**20
SIMULATIONS_PER_SECTION = 4096
"""What is in memory at a time, and stands together in a file."""
ROWS_PER_PART = 2**20
MOST_PARTS = 7
"""A part, a file of each table, has more rows where there would be more parts than twice this."""
CHUNK_ROW_BYTES = 13
ESTIMATE_ROW_BYTES = 90
SAMPLES = (2**14, 2**17, 2**20)
"""Rounds that are timed, more where fewer would time how a call begins."""
LONG_ENOUGH = 0.02
"""Seconds that tell a speed."""
POINT_SECONDS = 1.5e-4
LANE_ROW_SECONDS = 3e-7
"""Rough cost of estimates and Parquet, beside the kernels: measured on one core of a server of 2021."""


@dataclass(frozen=True)
class Plan:
    """What a scenario will do.

    Attributes
    ----------
    parts : list of list of Job
        Jobs by output part; a function of the scenario alone.
    costs : list of Cost
    """

    scenario: Scenario
    parts: list[list[Job]]
    costs: list[Cost] = field(default_factory=list)

    @property
    def jobs(self) -> Iterator[Job]:
        return (job for part in self.parts for job in part)

    @property
    def points(self) -> int:
        return sum(len(part) for part in self.parts) * len(self.costs)

    @property
    def bytes(self) -> int:
        """Rough size of the dataset on disk."""
        return (
            self._chunk_rows() * CHUNK_ROW_BYTES + self._estimate_rows() * ESTIMATE_ROW_BYTES + 40_000 * len(self.parts)
        )

    def _chunk_rows(self) -> int:
        return sum(_rows(job) * len(job.kappas) for job in self.jobs)

    def _estimate_rows(self) -> int:
        return sum(len(job.kappas) for job in self.jobs) * len(self.costs)

    def forecast(self, threads: int) -> tuple[int, float]:
        """Rounds over all simulations and κ, and seconds on ``threads``, from a chunk of each kind played now.

        Both are the most there can be where a run stops by itself.  Where nothing is played, one draw or one exact law
        of each kind of process is timed instead.
        """
        if self.scenario.method != "simulate":
            return self._forecast_unplayed()
        known: dict[str, tuple[float, float]] = {}
        rounds = seconds = 0.0
        for job in self.jobs:
            plan, kind = job.layout, f"{job.process.type} {job.process.unit} {job.layout.generations > 0}"
            kind = kind if job.simulation.chained else job.simulation.scheme.type
            kind += f" {job.simulation.policy.type}"
            if kind not in known:
                known[kind] = _sample(job)
            per_generation, each = known[kind]
            own = plan.played(plan.chunks) * (1 if plan.rounds else per_generation) * len(job.kappas)
            rounds += own
            seconds += own * each / threads
        most = self.scenario.stop.budget if self.scenario.stop else None
        if most is not None and most < rounds:
            rounds, seconds = most, seconds * most / rounds
        seconds += self.points * POINT_SECONDS + self._chunk_rows() * LANE_ROW_SECONDS
        return int(rounds), seconds

    def _forecast_unplayed(self) -> tuple[int, float]:
        known: dict[str, float] = {}
        rounds, seconds = 0, self.points * POINT_SECONDS
        for job in self.jobs:
            kind = f"{job.process.type} {job.process.unit}"
            if kind not in known:
                known[kind] = _time_unplayed(job)
            rounds += 0 if job.method == "exact" else job.windows * len(job.kappas)
            seconds += known[kind]
        return rounds, seconds


def _time_unplayed(job: Job) -> float:
    """Seconds of the draw or of the exact laws of one job."""
    began = time.perf_counter()
    if job.method == "exact":
        laws_of(replace(job, kappas=job.kappas[-1:]))
        return (time.perf_counter() - began) * len(job.kappas)
    play(job, [0])
    return time.perf_counter() - began


def _rows(job: Job) -> int:
    """Rows of the chunks table per κ: lanes, whole chunks of fresh windows, or one draw; none of exact values."""
    if job.method != "simulate":
        return int(job.method == "multinomial")
    return job.layout.chunks if job.simulation.fresh else job.layout.lanes


def _sample(job: Job) -> tuple[float, float]:
    """(rounds per generation and κ, seconds per round), from one chunk that takes long enough to be timed."""
    play(Job(job.simulation, job.kappas, SAMPLES[0], job.seed), [0])  # compiles
    for few in SAMPLES:
        small = Job(job.simulation, job.kappas, few, job.seed)
        began = time.perf_counter()
        tallies = play(small, [0])
        spent = time.perf_counter() - began
        if spent >= LONG_ENOUGH:
            break
    done = sum(t.total("n") for t in tallies)
    units = small.layout.lanes_of(0) * max(1, small.layout.generations) * len(tallies)
    return done / units, spent / done


def windows_of(job: Job) -> int:
    """Rounds a job is expected to report: each κ counts, though fresh windows are drawn once for all of them."""
    return job.planned * len(job.kappas) if job.method == "simulate" else 0


def plan(scenario: Scenario, most: int = POINTS_LIMIT) -> Plan:
    """Cut a scenario into jobs and parts; raises `ParameterError` if a point is invalid or there are too many."""
    scenario.check(most)
    costs, stop = list(scenario.costs()), scenario.stop
    grows = stop is not None and stop.p99 is None  # a quantile over units takes units that are alike
    jobs = [
        Job(simulation, kappas, scenario.windows, scenario.seed, method=scenario.method, grows=grows)
        for simulation, kappas in scenario.simulations()
    ]
    if stop is not None and stop.budget is not None:
        least = sum(windows_of(job.at_look(1)) for job in jobs)
        if stop.budget < least:
            told = f"stop.budget = {stop.budget:,.16g} is less than the first look at every simulation takes"
            raise ParameterError("stop.budget", f"{told}; allowed: at least {least:,}")
    rows = [_table_rows(job, len(costs)) for job in jobs]
    most_rows = max(ROWS_PER_PART, sum(rows) // MOST_PARTS)
    return Plan(scenario, list(_cut(jobs, rows, most_rows, len(jobs))), costs)


def sections(part: list[Job], costs: int) -> Iterator[list[Job]]:
    """What of a part is in memory at a time."""
    yield from _cut(part, [_table_rows(job, costs) for job in part], ROWS_PER_SECTION, SIMULATIONS_PER_SECTION)


def _table_rows(job: Job, costs: int) -> int:
    """Rows of a job in its largest table."""
    return max(_rows(job), costs) * len(job.kappas)


def _cut(jobs: list[Job], rows: list[int], most_rows: int, most: int) -> Iterator[list[Job]]:
    """Successive jobs that have no more rows than that together, or one job."""
    own: list[Job] = []
    filled = 0
    for job, more in zip(jobs, rows, strict=True):
        if own and (filled + more > most_rows or len(own) >= most):
            yield own
            own, filled = [], 0
        own.append(job)
        filled += more
    if own:
        yield own
