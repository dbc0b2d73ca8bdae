"""When may a point stop?  Looked at after fixed numbers of chunks, with intervals that hold at all looks together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from simspec.kernels.tally import Tally
from simspec.model import Cost, Stop
from simspec.run.decided import decided
from simspec.run.dispatch import Shelf, Work, play_jobs
from simspec.run.engine import Job, Parts, merge
from simspec.run.executors import Workers
from simspec.run.progress import Progress
from simspec.run.tables import Block, estimate_table

FIRST_CHUNKS = 2


def looks(chunks: int) -> tuple[int, ...]:
    """Numbers of chunks after which intervals are looked at; the last is all of them.

    Examples
    --------
    >>> looks(11), looks(1)
    ((2, 4, 8, 11), (1,))
    """
    out, at = [], FIRST_CHUNKS
    while at < chunks:
        out.append(at)
        at *= 2
    return (*out, chunks)


class _Further:
    """Gives out what comes after the chunks that were played before."""

    def __init__(self, shelf: Shelf, before: int) -> None:
        self._shelf, self._before = shelf, before

    def split(self, job: Job, after: int = 0) -> list[Work]:
        """The work of a job beyond those chunks."""
        return self._shelf.split(job, max(after, self._before))

    def keep(self, job: Job, chunks: range, outcome: Sequence[Tally]) -> None:
        """Keep what was just played."""
        self._shelf.keep(job, chunks, outcome)


def play_until(
    jobs: Sequence[Job], stop: Stop, costs: Sequence[Cost], level: float, workers: Workers, shelf: Shelf,
    progress: Progress | None = None,
) -> Iterator[tuple[Job, Parts]]:  # fmt: skip
    """Jobs in the order given, each played to the first look at which it is known well enough, or to its end.

    What is decided depends on the counts of the first chunks alone, not on who plays them or when they arrive.

    Parameters
    ----------
    jobs : sequence of Job
        With ``windows`` the most that is played.
    stop : Stop
    costs : sequence of Cost
        At all of which the simulation has to be known.
    level : float
        Confidence level of the intervals at all looks together.
    """
    ends = [looks(job.layout.chunks) for job in jobs]
    open_jobs, done = dict(enumerate(jobs)), dict[int, tuple[Job, Parts]]()
    before, number = 0, 0
    while open_jobs:
        number += 1
        if progress is not None:
            progress.say(f"look {number}, {len(jobs) - len(open_jobs):,} of {len(jobs):,} known")
        asked = {
            i: replace(job, cuts=ends[i], prefix=ends[i][min(number, len(ends[i])) - 1], looks=number)
            for i, job in open_jobs.items()
        }
        played = list(play_jobs(asked.values(), workers, progress, _Further(shelf, before)))
        for (i, _), (job, parts) in zip(asked.items(), played, strict=True):
            old = done[i][1] if i in done else {}
            done[i] = job, {kappa: old.get(kappa, []) + own for kappa, own in parts.items()}
        before = max(job.prefix for job in asked.values())
        open_jobs = _undecided(open_jobs, {i: done[i] for i in asked}, ends, stop, costs, level)
    yield from (done[i] for i in range(len(jobs)))


def _undecided(
    open_jobs: dict[int, Job], played: dict[int, tuple[Job, Parts]], ends: Sequence[tuple[int, ...]], stop: Stop,
    costs: Sequence[Cost], level: float,
) -> dict[int, Job]:  # fmt: skip
    """Those that are to be played further."""
    going = {i: own for i, own in played.items() if not own[0].failure and own[0].prefix < ends[i][-1]}
    blocks = [Block(job, merge(parts), costs, level) for job, parts in going.values()]
    known = decided(stop, estimate_table(blocks)) if blocks else set()
    return {i: open_jobs[i] for i, (job, _) in going.items() if (job.simulation.id, job.seed) not in known}
