"""Who plays the chunks?  Threads; the result is the same integers for any number of them and in any order."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from simspec.kernels import lower
from simspec.kernels.forms import Form, FreshRow, Steps
from simspec.kernels.tally import Tally, fold
from simspec.kernels.words import LANES, stream_keys
from simspec.model import ParameterError, Process, SimspecError, Simulation, Trace
from simspec.model.identity import digest
from simspec.run.layout import Layout, layout
from simspec.run.progress import Progress
from simspec.run.traces import trace_form, trace_layout

PIECE_WINDOWS = 2**22
"""Windows × κ in one piece of work: some tens of milliseconds, so that dispatch is free and progress is smooth."""


@dataclass(frozen=True)
class Job:
    """One simulation at all its κ, with its budget and seed; ``failure`` says why it could not be played."""

    simulation: Simulation
    kappas: tuple[int, ...]
    windows: int
    seed: int
    failure: str = ""

    @property
    def process(self) -> Process:
        return self.simulation.process

    @property
    def layout(self) -> Layout:
        if isinstance(self.process, Trace):
            return trace_layout(self.process, self.windows, max(self.kappas))
        return layout(self.process, self.windows, self.kappas)

    @property
    def keys(self) -> np.ndarray:
        """Stream keys; they know the process and the seed, and neither κ nor policy nor cost."""
        return stream_keys(self.seed, digest(self.process.identity()))

    def pieces(self) -> list[range]:
        """Ranges of chunks that make one piece of work each."""
        plan = self.layout
        per_chunk = LANES * (plan.rounds or self.windows // plan.lanes + 1)
        if self.process.unit != "window":
            per_chunk *= len(self.kappas)
        step = max(1, PIECE_WINDOWS // per_chunk)
        return [range(first, min(first + step, plan.chunks)) for first in range(0, plan.chunks, step)]


def play(job: Job, chunks: Iterable[int]) -> list[Tally]:
    """Tallies per κ of some chunks of a job."""
    chunks = list(chunks)
    longest = form_of(job.process, max(job.kappas))
    if isinstance(longest, FreshRow) or (isinstance(longest, Steps) and longest.restarts):
        return _play_once(job, longest, chunks)
    return [_play_each(job, form_of(job.process, kappa), kappa, chunks) for kappa in job.kappas]


def form_of(process: Process, kappa: int) -> Form:
    """The integer form of a process; a trace is opened here, since kernels know no files."""
    return trace_form(process, kappa) if isinstance(process, Trace) else lower.form(process, kappa)


def _play_once(job: Job, form: FreshRow | Steps, chunks: list[int]) -> list[Tally]:
    """Fresh windows: one run of uncapped lengths holds the answer for every κ."""
    plan, keys, longest = job.layout, job.keys, max(job.kappas)
    runs = np.concatenate([form.runs(keys, chunk, plan.lanes_of(chunk), plan.length, longest) for chunk in chunks])
    return [fold(runs, kappa) for kappa in job.kappas]


def _play_each(job: Job, form: Form, kappa: int, chunks: list[int]) -> Tally:
    plan, keys = job.layout, job.keys
    assert not isinstance(form, FreshRow)  # `play` sends those to `_play_once`
    return join([form.play(keys, chunk, plan.lanes_of(chunk), plan.length, kappa) for chunk in chunks])


def join(parts: Sequence[Tally]) -> Tally:
    """One tally from those of successive chunks."""
    histogram = np.sum([t.histogram for t in parts], axis=0)
    return Tally(parts[0].kappa, np.concatenate([t.sums for t in parts]), histogram)


def merge(parts: Sequence[list[Tally]]) -> list[Tally]:
    """Join the pieces of one job, given in chunk order."""
    return [join(same) for same in zip(*parts, strict=True)]


def default_threads() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_jobs(
    jobs: Iterable[Job],
    threads: int | None = None,
    progress: Progress | None = None,
    order: Callable[[list[range]], list[range]] | None = None,
    keep_going: bool = False,
) -> Iterator[tuple[Job, list[Tally]]]:
    """Play jobs on threads and yield each with its tallies, in the order given.

    Parameters
    ----------
    jobs : iterable of Job
    threads : int, optional
        Worker threads; default all processors this process may use.  Changes no number.
    progress : Progress, optional
        Told of finished windows.
    order : callable, optional
        Permutation of the pieces of a job, for the test that order changes no number.
    keep_going : bool
        Yield a job that cannot be played with an empty list of tallies, its error in ``job.failure``, and go on.
    """
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise ParameterError("threads", f"threads = {threads!r} is out of range; allowed: a whole number of at least 1")
    workers = threads or default_threads()
    waiting: deque[tuple[Job, list[range], list[Future[list[Tally]]]]] = deque()
    pool = ThreadPoolExecutor(workers, thread_name_prefix="simspec")
    try:
        in_flight = 0
        for job in jobs:
            pieces = order(job.pieces()) if order else job.pieces()
            futures = [pool.submit(play, job, piece) for piece in pieces]
            waiting.append((job, pieces, futures))
            in_flight += len(futures)
            while in_flight > 4 * workers and waiting:
                done = waiting.popleft()
                in_flight -= len(done[2])
                yield _collect(*done, progress, keep_going)
        while waiting:
            yield _collect(*waiting.popleft(), progress, keep_going)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _collect(
    job: Job, pieces: list[range], futures: list[Future[list[Tally]]], progress: Progress | None, keep_going: bool
) -> tuple[Job, list[Tally]]:
    parts = {}
    for piece, future in zip(pieces, futures, strict=True):
        try:
            tallies = future.result()
        except SimspecError as error:
            if not keep_going:
                raise
            return replace(job, failure=str(error)), []
        parts[piece.start] = tallies
        if progress is not None:
            progress.add(sum(t.total("n") for t in tallies))
    return job, merge([parts[start] for start in sorted(parts)])


def warm(jobs: Iterable[Job], progress: Progress | None = None) -> None:
    """Compile (or load from the cache) the kernels that ``jobs`` need, and say so."""
    kinds = {(job.process.type, job.process.unit): job for job in jobs}
    for (kind, _), job in kinds.items():
        if progress is not None:
            progress.say(f"preparing the kernel for {kind} (compiled once, then kept on disk)")
        with contextlib.suppress(SimspecError):  # said when the job itself is played
            play(Job(job.simulation, (min(job.kappas),), 1, job.seed), [0])
