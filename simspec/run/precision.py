"""When may a point stop?  Looked at after fixed numbers of chunks, with intervals that hold at all looks together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from simspec.model import Cost, Stop
from simspec.run.decided import decided
from simspec.run.dispatch import play_jobs
from simspec.run.engine import Job, merge
from simspec.run.keeping import Kept
from simspec.run.planning import sections, windows_of
from simspec.run.progress import Progress
from simspec.run.tables import Block, estimate_table
from simspec.run.workers import Workers


def decide(
    jobs: Sequence[Job], stop: Stop, costs: Sequence[Cost], level: float, workers: Workers, kept: Kept,
    progress: Progress | None = None,
) -> list[Job]:  # fmt: skip
    """Jobs in the order given, each up to the first look at which it is known well enough, or as far as it may go.

    They are looked at together: each up to its first look, those that are not known up to their second, and so on.
    Each look plays as much as all before it.  What is decided depends on the counts of the first chunks alone, not on
    who plays them or when they arrive; what was played is in ``kept``, and no more of it in memory than of one section.

    A budget over all of them is spent in that order too: a job whose next look takes more than what is left goes no
    further, and those after it that take less still do.

    Parameters
    ----------
    jobs : sequence of Job
        With ``windows`` the most that is played of each.
    stop : Stop
    costs : sequence of Cost
        At all of which a simulation has to be known.
    level : float
        Confidence level of the intervals at all looks together.
    kept : Kept
        Keeps what is played, and gives it out again.
    """
    out, left = list(jobs), math.inf if stop.budget is None else stop.budget
    going, number, known = list(range(len(jobs))), 0, 0
    while going:
        number += 1
        asked = []
        for i in going:
            further = jobs[i].at_look(number)
            more = windows_of(further) - (windows_of(out[i]) if number > 1 else 0)
            if more <= left:
                left, out[i] = left - more, further
                asked.append(i)
        if progress is not None:
            points = f"{known * len(costs):,} of {len(jobs) * len(costs):,} points decided"
            progress.say(f"look {number}, {points}, {len(asked) * len(costs):,} played on")
        found = dict(_looked_at([out[i] for i in asked], stop, costs, level, workers, kept, progress))
        known += sum(found.values())
        going = [i for i in asked if not found.get(out[i].simulation.id, True)]
        kept.flush()
    return out


def _looked_at(
    asked: list[Job], stop: Stop, costs: Sequence[Cost], level: float, workers: Workers, kept: Kept,
    progress: Progress | None,
) -> Iterator[tuple[str, bool]]:  # fmt: skip
    """Ids of the simulations that could be played further, and whether they are known well enough."""
    for section in sections(asked, len(costs)):
        played = play_jobs(section, workers, progress, kept)
        going = [(job, pieces) for job, pieces in played if not job.failure and job.prefix < job.cuts[-1]]
        blocks = [Block(job, merge(pieces), costs, level) for job, pieces in going]
        known = decided(stop, estimate_table(blocks)) if blocks else set()
        yield from ((job.simulation.id, (job.simulation.id, job.seed) in known) for job, _ in going)
