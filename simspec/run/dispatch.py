"""Who plays the chunks, and which are there already?  The same integers for any workers, in any order."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from simspec.kernels.tally import Folded, Tally
from simspec.model import SimspecError
from simspec.run.engine import PIECE_WINDOWS, Job, Pieces, merge, parted, play
from simspec.run.executors import Crew
from simspec.run.progress import Progress
from simspec.run.workers import KEPT, Asked, Workers

SMALLEST_JOB = 2**12
"""Windows that take as long as the handling of a job."""


@dataclass(frozen=True)
class Work:
    """Some chunks of a job at some of its κ; ``outcome`` says what became of them, or opens what was kept of them."""

    chunks: range
    kappas: tuple[int, ...]
    outcome: Callable[[], Sequence[Tally]] | None = None


def expected_of(job: Job, work: Work) -> int:
    """Rounds that some work was planned to report; what it reports is more where requests take more rounds."""
    if job.method != "simulate":
        return 0
    at_once = job.tracks != job.kappas
    return job.planned_in(work.chunks) * len(job.kappas if at_once else work.kappas)


class Shelf(Protocol):
    """Where played chunks are kept."""

    def split(self, job: Job) -> list[Work]:
        """The work of a job: what is kept of it, and what is still to be played."""

    def keep(self, job: Job, chunks: range, outcome: Sequence[Tally]) -> None:
        """Keep what was just played."""


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
    with Crew(many=threads).workers() as workers:
        for job, pieces in play_jobs(jobs, workers, progress, None, order, keep_going):
            yield job, merge(pieces) if pieces else []


def play_jobs(
    jobs: Iterable[Job],
    workers: Workers,
    progress: Progress | None = None,
    shelf: Shelf | None = None,
    order: Callable[[list[range]], list[range]] | None = None,
    keep_going: bool = True,
) -> Iterator[tuple[Job, Pieces]]:
    """Jobs in the order given, each with its pieces; with none if it could not be played.

    Parameters
    ----------
    shelf : Shelf, optional
        What it keeps is not played again, and what is played is given to it.
    """
    played = _played(workers, _handfuls(jobs, shelf, order))
    for _, pieces in itertools.groupby(played, key=lambda piece: piece.number):
        yield _collect(pieces, shelf, progress, keep_going)


@dataclass(frozen=True, eq=False)
class _Piece:
    """Some work of job number ``number``, and what became of it."""

    number: int
    job: Job
    work: Work
    outcome: Sequence[Tally] | SimspecError = ()


def _handfuls(
    jobs: Iterable[Job], shelf: Shelf | None, order: Callable[[list[range]], list[range]] | None
) -> Iterator[list[_Piece]]:
    """Pieces in the order of jobs, small ones together, so that handing out work costs little beside it."""
    hand: list[_Piece] = []
    load = 0
    for number, job in enumerate(jobs):
        works = shelf.split(job) if shelf else [Work(chunks, job.kappas) for chunks in job.pieces()]
        if not works:  # a shard has nothing to do with this job
            continue
        if order:
            places = order([work.chunks for work in works])
            works.sort(key=lambda work: places.index(work.chunks))
        each = job.planned * (1 if job.simulation.fresh else len(job.kappas)) // len(works)
        each = each if job.method == "simulate" else 0
        for work in works:
            hand.append(_Piece(number, job, work))
            load += SMALLEST_JOB if work.outcome else max(each, SMALLEST_JOB)
            if load >= PIECE_WINDOWS // 8:
                yield hand
                hand, load = [], 0
    if hand:
        yield hand


def play_all(asked: list[tuple[Job, range, tuple[int, ...]]]) -> list[Sequence[Tally] | SimspecError]:
    """What a worker does: play some chunks; an error of the user's is an outcome like another."""
    done: list[Sequence[Tally] | SimspecError] = []
    for job, chunks, kappas in asked:
        try:
            done.append(play(job, chunks, kappas))
        except SimspecError as error:
            done.append(error)
    return done


def _played(workers: Workers, hands: Iterable[list[_Piece]]) -> Iterator[_Piece]:
    """Finished pieces in the order given; a few handfuls for each worker are under way."""
    waiting: deque[tuple[list[_Piece], Asked | None]] = deque()
    for hand in hands:
        asked = [(piece.job, piece.work.chunks, piece.work.kappas) for piece in hand if not piece.work.outcome]
        waiting.append((hand, workers.submit(play_all, asked) if asked else None))
        if len(waiting) > workers.ahead:
            yield from _finished(workers, *waiting.popleft())
    while waiting:
        yield from _finished(workers, *waiting.popleft())


def _finished(workers: Workers, hand: list[_Piece], asked: Asked | None) -> Iterator[_Piece]:
    outcomes = iter(workers.result(asked) if asked else [])
    for piece in hand:
        outcome = piece.work.outcome() if piece.work.outcome else next(outcomes)
        if isinstance(outcome, SimspecError) and not workers.near:
            outcome = _confirmed(outcome, piece, workers.kind)
        yield replace(piece, outcome=outcome)


def _confirmed(error: SimspecError, piece: _Piece, kind: str) -> SimspecError:
    """An error of the user's is one everywhere; otherwise a worker lacks something, e.g. the file of a trace."""
    (here,) = play_all([(piece.job, piece.work.chunks, piece.work.kappas)])
    if isinstance(here, SimspecError):
        return here
    raise SimspecError(f"executor {kind}: on a worker, though not here: {error}; {KEPT}")


def _windows(played: Sequence[Tally]) -> int:
    return played.rounds if isinstance(played, Folded) else sum(tally.total("n") for tally in played)


def _collect(
    pieces: Iterator[_Piece], shelf: Shelf | None, progress: Progress | None, keep_going: bool
) -> tuple[Job, Pieces]:
    """A job from its pieces, each kept and counted as it arrives: one job may take hours."""
    by_kappa = Pieces()
    for piece in pieces:
        job = piece.job
        if isinstance(piece.outcome, SimspecError):
            if not keep_going:
                raise piece.outcome
            return replace(job, failure=str(piece.outcome)), {}
        for kappa, own in parted(piece.outcome).items():
            by_kappa.setdefault(kappa, []).append((piece.work.chunks, own))
        new = piece.work.outcome is None
        if new and shelf is not None:
            shelf.keep(job, piece.work.chunks, piece.outcome)
        if progress is not None and job.method == "simulate":
            expected = expected_of(job, piece.work)
            if new:
                progress.add(_windows(piece.outcome), expected)
            else:
                progress.spare(expected)
    job.release()
    return job, {kappa: sorted(by_kappa.get(kappa, []), key=lambda own: own[0].start) for kappa in job.tracks}
