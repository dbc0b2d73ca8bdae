"""Where do observations come from?  One simulation per process, shared by all claims that need it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from simspec.kernels.tally import Tally
from simspec.model import Cost, Process, Simulation
from simspec.run.engine import Job, run_jobs
from simspec.run.judged import JudgedJob, run_judged
from simspec.run.progress import Progress
from simspec.stats.counts import Counts


@dataclass(frozen=True)
class Observed:
    """An estimate with its interval and the number of windows behind it."""

    value: float
    low: float
    high: float
    windows: int

    @staticmethod
    def around(value: float, half: float, windows: int) -> Observed:
        return Observed(value, value - half, value + half, windows)


@dataclass(frozen=True)
class Need:
    """A process that must be simulated at some κ; ``judged`` asks for a verdict on every draft.

    ``costs`` are those the stored estimates are priced at.
    """

    process: Process
    kappas: tuple[int, ...]
    judged: bool = False
    costs: tuple[Cost, ...] = ()


class Lab:
    """Simulations at one budget after another; a larger budget contains the smaller one."""

    def __init__(self, seed: int, threads: int | None = None, progress: Progress | None = None) -> None:
        self.seed, self.threads, self.progress = seed, threads, progress
        self._played: dict[str, tuple[Job, Sequence[Tally]]] = {}
        self._counts: dict[str, Counts] = {}
        self._judged: dict[tuple[str, int], tuple[JudgedJob, np.ndarray]] = {}

    def simulate(self, needs: Iterable[Need], windows: int) -> None:
        """Play everything in ``needs`` with ``windows`` rounds per κ, once per process; κ played before stay."""
        kappas: dict[str, set[int]] = {}
        processes: dict[str, Process] = {}
        judged: dict[tuple[str, int], JudgedJob] = {}
        for need in needs:
            key = Simulation(need.process).id
            if need.judged:
                for kappa in need.kappas:
                    judged[key, kappa] = JudgedJob(need.process, kappa, windows, self.seed)
            else:
                processes[key] = need.process
                before = self._counts[key].kappas if key in self._counts else ()
                kappas.setdefault(key, set(before)).update(need.kappas)
        jobs = [Job(Simulation(processes[key]), tuple(sorted(kappas[key])), windows, self.seed) for key in processes]
        for job, tallies in run_jobs(jobs, self.threads, self.progress):
            key = job.simulation.id
            self._played[key] = (job, tallies)
            self._counts[key] = Counts.of(tallies, job.process.unit == "window")
        for key_kappa, outcome in zip(judged, run_judged(judged.values(), self.threads, self.progress), strict=True):
            self._judged[key_kappa] = outcome

    def counts(self, process: Process) -> Counts:
        """Counts of a simulated process."""
        return self._counts[Simulation(process).id]

    def tallies(self, process: Process) -> Sequence[Tally]:
        """Tallies of a simulated process, by ascending κ."""
        return self._played[Simulation(process).id][1]

    def judged(self, process: Process, kappa: int) -> np.ndarray:
        """``[lane, s]`` = windows of the lane in which s of the κ judged drafts would have been accepted."""
        return self._judged[Simulation(process).id, kappa][1]

    def played(self) -> Sequence[tuple[Job, Sequence[Tally]]]:
        """All window simulations at their last budget."""
        return list(self._played.values())

    def all_judged(self) -> Sequence[tuple[JudgedJob, np.ndarray]]:
        """All simulations with every draft judged, at their last budget."""
        return list(self._judged.values())
