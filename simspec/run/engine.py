"""Who plays the chunks?  Threads; the result is the same integers for any number of them and in any order."""

from __future__ import annotations

import contextlib
import functools
import importlib
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np

from simspec.kernels import lower
from simspec.kernels.draw import draw_runs
from simspec.kernels.forms import Form, FreshRow, Steps
from simspec.kernels.forms import Policy as PolicyForm
from simspec.kernels.jit import DISABLED
from simspec.kernels.lower_schemes import KindTally, SchemeForm, join_kinds, scheme_form, tally_of
from simspec.kernels.tally import BY_LANE, Folded, Tally, together
from simspec.kernels.words import LANES, stream_keys
from simspec.model import ParameterError, Process, SimspecError, Simulation, Trace
from simspec.run.layout import Layout, layout
from simspec.run.plans import steered_form_of, steering
from simspec.run.processors import default_threads
from simspec.run.progress import Progress
from simspec.run.traces import trace_form, trace_layout

PIECE_WINDOWS, FRESH_PIECE_WINDOWS = 2**22, 2**24
"""Windows × κ in one piece of work: some milliseconds, so that dispatch is free and progress is smooth; fresh windows
are ten times cheaper and answer every κ at once."""

SMALLEST_JOB = 2**12
"""Windows that take as long as the handling of a job."""


@dataclass(frozen=True)
class Job:
    """One simulation at all its κ, with its budget and seed; ``failure`` says why it could not be played.

    ``method`` is ``"simulate"``, or ``"multinomial"``: the counts of all windows are one draw over the runs up to the
    longest κ, folded for the others.
    """

    simulation: Simulation
    kappas: tuple[int, ...]
    windows: int
    seed: int
    failure: str = ""
    method: str = "simulate"

    @property
    def process(self) -> Process:
        return self.simulation.process

    @functools.cached_property
    def layout(self) -> Layout:
        if isinstance(self.process, Trace):
            return trace_layout(self.process, self.windows, max(self.kappas))
        if self.simulation.fresh:
            return layout(self.process, self.windows, self.kappas, LANES // 2)
        together = self.simulation.serving.batch
        return layout(self.process, self.windows, self.kappas, rounds_only=not self.simulation.chained, batch=together)

    @property
    def keys(self) -> np.ndarray:
        """Stream keys; they know the process and the seed, and neither κ nor policy nor cost."""
        domain = self.method
        if self.method == "simulate":
            domain = "windows" if self.simulation.chained else "rounds"
        return stream_keys(self.seed, self.simulation.process_id, domain)

    def scheme_form(self, kappa: int) -> SchemeForm:
        """The scheme as integers, made once."""
        if kappa not in self._scheme_forms:
            self._scheme_forms[kappa] = scheme_form(self.simulation.rounds(kappa))
        return self._scheme_forms[kappa]

    @functools.cached_property
    def _scheme_forms(self) -> dict[int, SchemeForm]:
        return {}

    def pieces(self) -> list[range]:
        """Ranges of chunks that make one piece of work each."""
        if self.method != "simulate":
            return [range(1)]
        plan = self.layout
        per_chunk = LANES * (plan.rounds or self.windows // plan.lanes + 1)
        most = FRESH_PIECE_WINDOWS
        if not self.simulation.fresh:
            most, per_chunk = PIECE_WINDOWS, per_chunk * len(self.kappas)
        step = max(1, most // per_chunk)
        return [range(first, min(first + step, plan.chunks)) for first in range(0, plan.chunks, step)]


def play(job: Job, chunks: Iterable[int]) -> Sequence[Tally]:
    """Tallies per κ of some successive chunks of a job; a draw counts as one chunk."""
    if job.method == "multinomial":
        job.process.check_method(job.method)
        longest = max(job.kappas)
        return Folded(draw_runs(form_of(job.process, longest), job.keys, job.windows, longest)[None, :], job.kappas)
    if not job.simulation.chained:
        return [_play_scheme(job, kappa, list(chunks)) for kappa in job.kappas]
    if job.simulation.steered:
        return [_play_policy(job, kappa, list(chunks)) for kappa in job.kappas]
    runs = _play_once(job, form_of(job.process, max(job.kappas)), list(chunks))
    if runs is not None:
        return Folded(runs, job.kappas)
    return [_play_each(job, form_of(job.process, kappa), kappa, list(chunks)) for kappa in job.kappas]


def _play_scheme(job: Job, kappa: int, chunks: list[int]) -> KindTally:
    """Rounds by the table of a scheme."""
    plan, form = job.layout, job.scheme_form(kappa)
    played = [players().scheme_counts(form, job.keys, c, plan.lanes_of(c), plan.rounds) for c in chunks]
    return tally_of(form.kinds, np.concatenate(played), kappa)


def _play_policy(job: Job, kappa: int, chunks: list[int]) -> Tally:
    """Rounds of the general loop: a policy chooses κ, at most ``kappa``, or requests are served together at one."""
    plan, policy, serving = job.layout, job.simulation.policy, job.simulation.serving
    rows = steered_form_of(job.process, kappa)
    steer, first = PolicyForm(lowest=kappa, highest=kappa, serving=serving), kappa
    if policy.adapts:
        steer, first = steering(job.process, policy, serving)
    played = [players().play(rows, job.keys, c, plan.lanes_of(c), plan.length, first, steer) for c in chunks]
    tally = replace(join(played), kappa=kappa)
    return together(tally, serving.batch) if serving.batch > 1 else tally


def _play_once(job: Job, form: Form, chunks: list[int]) -> np.ndarray | None:
    """Uncapped runs of fresh windows, which hold the answer for every κ; None if windows are not fresh."""
    plan, keys, play = job.layout, job.keys, players()
    if isinstance(form, FreshRow):
        windows = np.array([plan.windows_of(chunk) for chunk in chunks])
        out: np.ndarray = play.fresh_runs(form, keys, chunks[0], windows)
        return out
    if isinstance(form, Steps) and form.restarts:
        kappa = max(job.kappas)
        return np.concatenate([play.step_runs(form, keys, c, plan.lanes_of(c), plan.rounds, kappa) for c in chunks])
    return None


@functools.cache
def players() -> ModuleType:
    """The compiled kernels, or their readable twins under ``NUMBA_DISABLE_JIT=1``; either is imported when needed."""
    return importlib.import_module("simspec.kernels.twin" if DISABLED else "simspec.kernels.play")


def form_of(process: Process, kappa: int) -> Form:
    """The integer form of a process; a trace is opened here, since kernels know no files."""
    return trace_form(process, kappa) if isinstance(process, Trace) else lower.form(process, kappa)


def _play_each(job: Job, form: Form, kappa: int, chunks: list[int]) -> Tally:
    plan, keys = job.layout, job.keys
    return join([players().play(form, keys, chunk, plan.lanes_of(chunk), plan.length, kappa) for chunk in chunks])


def join(parts: Sequence[Tally]) -> Tally:
    """One tally from those of successive chunks."""
    kinds = [part for part in parts if isinstance(part, KindTally)]
    if kinds:
        return join_kinds(kinds)
    histogram = np.sum([t.histogram for t in parts], axis=0)
    by_lane = {name: np.concatenate([getattr(t, name) for t in parts]) for name in BY_LANE}
    return Tally(parts[0].kappa, np.concatenate([t.sums for t in parts]), histogram, **by_lane)


def merge(parts: Sequence[Sequence[Tally]]) -> Sequence[Tally]:
    """Join the pieces of one job, given in chunk order."""
    if len(parts) == 1:
        return parts[0]
    folded = [part for part in parts if isinstance(part, Folded)]
    if folded:
        return Folded.join(folded)
    return [join(same) for same in zip(*parts, strict=True)]


def run_jobs(
    jobs: Iterable[Job],
    threads: int | None = None,
    progress: Progress | None = None,
    order: Callable[[list[range]], list[range]] | None = None,
    keep_going: bool = False,
) -> Iterator[tuple[Job, Sequence[Tally]]]:
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
    pool = ThreadPoolExecutor(workers, thread_name_prefix="simspec")
    try:
        played = _played(pool, 4 * workers, _handfuls(jobs, order))
        for _, pieces in itertools.groupby(played, key=lambda piece: piece.number):
            yield _collect(list(pieces), progress, keep_going)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True, eq=False)
class _Piece:
    """Some chunks of job number ``number``, and what became of them."""

    number: int
    job: Job
    chunks: range
    outcome: Sequence[Tally] | SimspecError = ()


def _handfuls(jobs: Iterable[Job], order: Callable[[list[range]], list[range]] | None) -> Iterator[list[_Piece]]:
    """Pieces in the order of jobs, small ones together, so that handing out work costs little beside it."""
    hand: list[_Piece] = []
    load = 0
    for number, job in enumerate(jobs):
        pieces = order(job.pieces()) if order else job.pieces()
        each = job.windows * (1 if job.simulation.fresh else len(job.kappas)) // len(pieces)
        each = each if job.method == "simulate" else 0
        for chunks in pieces:
            hand.append(_Piece(number, job, chunks))
            load += max(each, SMALLEST_JOB)
            if load >= PIECE_WINDOWS // 8:
                yield hand
                hand, load = [], 0
    if hand:
        yield hand


def _play_all(hand: list[_Piece]) -> list[_Piece]:
    done = []
    for piece in hand:
        try:
            done.append(replace(piece, outcome=play(piece.job, piece.chunks)))
        except SimspecError as error:
            done.append(replace(piece, outcome=error))
    return done


def _played(pool: ThreadPoolExecutor, ahead: int, hands: Iterable[list[_Piece]]) -> Iterator[_Piece]:
    """Finished pieces in the order given; at most ``ahead`` handfuls are under way."""
    waiting: deque[Future[list[_Piece]]] = deque()
    for hand in hands:
        waiting.append(pool.submit(_play_all, hand))
        if len(waiting) > ahead:
            yield from waiting.popleft().result()
    while waiting:
        yield from waiting.popleft().result()


def _collect(pieces: list[_Piece], progress: Progress | None, keep_going: bool) -> tuple[Job, Sequence[Tally]]:
    job, parts = pieces[0].job, dict[int, Sequence[Tally]]()
    for piece in pieces:
        if isinstance(piece.outcome, SimspecError):
            if not keep_going:
                raise piece.outcome
            return replace(job, failure=str(piece.outcome)), []
        parts[piece.chunks.start] = piece.outcome
        if progress is not None and job.method == "simulate":
            own = piece.outcome
            progress.add(own.rounds if isinstance(own, Folded) else sum(t.total("n") for t in own))
    return job, merge([parts[start] for start in sorted(parts)])


def warm(jobs: Iterable[Job], progress: Progress | None = None) -> None:
    """Compile (or load from the cache) the kernels that ``jobs`` need, and say so."""
    kinds = {}
    for job in jobs:
        if job.method == "simulate":
            chained = job.simulation.chained
            unit = job.simulation.policy.type if job.simulation.policy.adapts else job.process.unit
            kinds[(job.process.type, unit) if chained else ("schemes", "")] = job
    for (kind, _), job in kinds.items():
        if progress is not None:
            progress.say(f"preparing the kernel for {kind} (compiled once, then kept on disk)")
        with contextlib.suppress(SimspecError):  # said when the job itself is played
            play(Job(job.simulation, (min(job.kappas),), 1, job.seed), [0])
