"""Does a dataset come out again?  All of it, one simulation or one chunk, held against what is stored."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from simspec.kernels.words import STREAM_VERSION
from simspec.model import DatasetError, ParameterError, Simulation
from simspec.model.simulation import point_ids
from simspec.run import store
from simspec.run.columns import column, values
from simspec.run.dataset import Dataset, read
from simspec.run.differences import (
    UNREADABLE,
    folders_differ,
    lacking,
    of_simulation,
    rounds_differ,
    tables_differ,
    unread,
)
from simspec.run.dispatch import play_jobs
from simspec.run.engine import Job, Pieces, merge, play
from simspec.run.executors import Crew
from simspec.run.folder import check_form, stored_scenario
from simspec.run.known import Laws, known_jobs
from simspec.run.planning import Plan, plan
from simspec.run.played import compacted, played_of, tally_table
from simspec.run.processors import default_threads
from simspec.run.progress import Progress
from simspec.run.reasons import check_traces, compared, not_as_written, of_before, versions
from simspec.run.record import Recording, record_all
from simspec.run.sweep import sweep
from simspec.run.tables import Block, chunk_table
from simspec.text import clean, plural

SHOWN = 5
"""Differences that are listed."""
MOST = 10**9
"""Points of a stored run, whose number was agreed to when it was begun."""


@dataclass(frozen=True)
class Replayed:
    """What came of it.

    Attributes
    ----------
    what : str
        What was played again.
    differs : tuple of str
        Where it is something else, nothing if it came out the same.
    compared : tuple of str
        What was held against what is stored.
    notes : tuple of str
        What could not be compared and why; where something differs, whether other versions may be the reason.
    """

    what: str
    differs: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        """Whether it came out the same."""
        return not self.differs

    def __str__(self) -> str:
        head = f"{self.what}: played again, {'the same' if self.same else 'NOT the same'}"
        head += f" (compared: {', '.join(self.compared)})" if self.compared else ""
        more = [f"… and {len(self.differs) - SHOWN:,} more"] if len(self.differs) > SHOWN else []
        return "\n".join([head, *self.differs[:SHOWN], *more, *self.notes])


def replay(
    folder: str | Path, point: str | None = None, chunk: int | None = None, crew: Crew | None = None,
    progress: Progress | None = None,
) -> Replayed:  # fmt: skip
    """Play a stored run again and compare every table, and single rounds where they were recorded.

    A file that is not the one that was written is a difference by itself, whatever stands in it.

    Parameters
    ----------
    folder : path or address
        Of a complete run.
    point : str, optional
        A point id or simulation id, or its first digits: only that simulation, at all its κ and costs.
    chunk : int, optional
        Only the counts of that chunk of it, which is played without those before.
    crew : Crew, optional
        Who plays again.
    progress : Progress, optional

    Raises
    ------
    DatasetError
        There is no such run, point or chunk, or it was made from a trace or by a stream of random words that is not
        here.

    Examples
    --------
    >>> import simspec
    >>> from tempfile import TemporaryDirectory
    >>> table = {"name": "tiny", "windows": 10_000, "kappa": [0, 4], "process": {"type": "iid", "alpha": 0.7}}
    >>> with TemporaryDirectory() as place:
    ...     own = simspec.sweep(table, output=f"{place}/tiny")
    ...     replay(own.path, chunk=0).same
    True
    """
    found = _opened(folder)
    todo = plan(stored_scenario(found.path, found.manifest), MOST)
    crew = crew or Crew()
    if point is None and chunk is None:
        done = _whole(found, todo, crew, progress)
    else:
        job = _job(found, todo, point)
        check_traces(found, [job])
        done = _simulation(found, todo, job, crew, progress) if chunk is None else _chunk(found, job, chunk)
    differs = (*not_as_written(found), *done.differs)
    reasons = [versions(found.manifest)] if differs else []
    return replace(done, differs=differs, notes=(*of_before(found), *reasons))


def _opened(folder: str | Path) -> Dataset:
    """The run; raises `DatasetError` if it cannot be played again."""
    found = read(folder)
    own = found.manifest
    if "shard" in own:
        raise DatasetError(f"{found.place}: holds shard {own['shard']} only; combine all of them, and replay that")
    if not found.complete:
        raise DatasetError(f"{folder}: is not complete; run the scenario again to continue it, and replay it then")
    if own.get("stream_version") != STREAM_VERSION:
        told = f"was played with stream version {own.get('stream_version')}, and this simspec has {STREAM_VERSION}"
        raise DatasetError(
            f"{found.place}: {told}: other random words give other numbers; allowed: the simspec of then"
        )
    if "files" in own:
        check_form(found.path, own)
    return found


def _whole(found: Dataset, todo: Plan, crew: Crew, progress: Progress | None) -> Replayed:
    jobs, recording = list(todo.jobs), _recording(found)
    check_traces(found, jobs)
    with tempfile.TemporaryDirectory(prefix="simspec-replay-") as place:
        again = sweep(todo.scenario, Path(place) / "again", crew.many, progress, MOST, recording, crew)
        differs = [*folders_differ(found, again), *_failures_differ(found.failed, again.failed)]
        vouched = (found.manifest.get("rounds") or {}).get("files", {})
        differs += rounds_differ(found.path, again.path, vouched)
    what = f"{clean(found.place)}, {plural(len(jobs), 'simulation')}"
    return Replayed(what, tuple(differs), compared(found, recording is not None))


def _simulation(found: Dataset, todo: Plan, job: Job, crew: Crew, progress: Progress | None) -> Replayed:
    recording, level, own = _recording(found), todo.scenario.level, job.simulation
    played, pieces, laws = _played(job, todo, crew, progress)
    failed = [entry for entry in found.failed if entry["simulation_id"] == own.id]
    if played.failure:
        now = [{"simulation_id": own.id, "process": str(own), "error": played.failure}]
        return Replayed(_named(found, job), tuple(_failures_differ(failed, now)), ("why it could not be played",))
    blocks = [Block(played, merge(pieces) if pieces else (), todo.costs, level, laws)]
    tables = {name: pa.concat_tables(make(blocks)) for name, make in store.MAKERS.items()}
    tables["tallies"] = tally_table(compacted(played, pieces))
    differs = [told for name, new in tables.items() for told in _table_differs(found, name, own, new)]
    differs += _failures_differ(failed, [])
    if recording is not None:
        with tempfile.TemporaryDirectory(prefix="simspec-replay-") as place:
            rounds = [(job, kappa) for kappa in job.kappas]
            record_all(Path(place), rounds, recording, crew.many or default_threads(), progress)
            differs += rounds_differ(found.path, Path(place))
    return Replayed(_named(found, job), tuple(differs), compared(found, recording is not None))


def _played(job: Job, todo: Plan, crew: Crew, progress: Progress | None) -> tuple[Job, Pieces, Laws]:
    if job.method == "exact":
        ((known, laws),) = known_jobs([job], todo.costs)
        return known, {}, laws
    with crew.workers(progress) as workers:
        ((played, pieces),) = play_jobs([job], workers, progress)
    return played, pieces, ()


def _chunk(found: Dataset, job: Job, chunk: int) -> Replayed:
    if job.method == "exact":
        raise ParameterError("chunk", 'method = "exact" plays no chunks; allowed: without --chunk')
    last = job.layout.chunks - 1 if job.method == "simulate" else 0
    if not 0 <= chunk <= last:
        raise DatasetError(f"{found.place}: chunk {chunk} was not played; allowed: 0 to {last}")
    outcome = play(job, [chunk])
    new = chunk_table([Block(replace(job, prefix=1), outcome, (), 0.5)])  # as if it were the first one
    place = new.schema.get_field_index("chunk")
    numbers = column(values(new, "chunk") + np.int32(chunk), new.schema.field(place).type)
    new = new.set_column(place, new.schema.field(place), numbers)
    differs = list(_table_differs(found, "chunks", job.simulation, new, chunk=chunk))
    tables = ["chunks"]
    if _has_alone(found, job, chunk):
        counts = tally_table(played_of(job, range(chunk, chunk + 1), outcome))
        differs += _table_differs(found, "tallies", job.simulation, counts, first=chunk, chunks=1)
        tables.append("tallies")
    return Replayed(f"{_named(found, job)}, chunk {chunk}", tuple(differs), tuple(tables))


def _has_alone(found: Dataset, job: Job, chunk: int) -> bool:
    """Whether the counts of a chunk stand by themselves, and not in one sum with those of others."""
    try:
        return len(of_simulation(found, "tallies", job.simulation.id, first=chunk, chunks=1)) > 0
    except UNREADABLE:  # said of the file itself
        return False


def _table_differs(found: Dataset, name: str, own: Simulation, new: pa.Table, **where: int) -> Iterator[str]:
    absent = lacking(found).get(name, [])
    columns = [one for one in new.column_names if one not in absent]
    if not columns:
        return
    try:
        yield from tables_differ(name, of_simulation(found, name, own.id, **where), new, columns)
    except UNREADABLE as error:
        yield unread(name, error)


def _failures_differ(stored: Sequence[dict[str, str]], now: Sequence[dict[str, str]]) -> Iterator[str]:
    """Where other simulations could not be played, or for other reasons."""
    old, new = ({own["simulation_id"]: own["error"] for own in entries} for entries in (stored, now))
    for key in sorted(old.keys() | new.keys()):
        then, here = (own.get(key, "it was played") for own in (old, new))
        if then != here:
            yield f"failed: simulation {clean(key)[:12]}: then: {clean(then)[:200]}; now: {clean(here)[:200]}"


def _job(found: Dataset, todo: Plan, point: str | None) -> Job:
    """The job of a simulation, with the budget that it had in the end."""
    jobs = list(todo.jobs)
    chosen = [job for job in jobs if point is None or _is_meant(job, todo, point)]
    if len(chosen) != 1:
        told = "there is no such point" if not chosen else f"{len(chosen):,} simulations are meant"
        named = "--point is needed, where there is more than one simulation" if point is None else f"point {point!r}"
        digits = max(12, len(point or "") + 4)
        ids = ", ".join(job.simulation.id[:digits] for job in (chosen or jobs)[:SHOWN])
        raise DatasetError(f"{found.place}: {told} ({named}); ids: {ids}")
    (job,) = chosen
    if todo.scenario.stop is None:
        return job
    looks = values(of_simulation(found, "estimates", job.simulation.id), "looks")
    number = int(looks[0]) if len(looks) else 0
    return job.at_look(number) if number > 0 else job


def _is_meant(job: Job, todo: Plan, point: str) -> bool:
    own = job.simulation
    return own.id.startswith(point) or any(one.startswith(point) for one in point_ids([own], todo.costs))


def _recording(found: Dataset) -> Recording | None:
    """How single rounds were recorded; raises `DatasetError` while that is not complete."""
    note = found.manifest.get("rounds")
    if note and not note["complete"]:
        raise DatasetError(f"{found.place}: its rounds/ are not complete; simspec run continues them, replay them then")
    return Recording(note["record"], note["every"]) if note else None


def _named(found: Dataset, job: Job) -> str:
    return f"{clean(found.place)}, {clean(str(job.simulation))} ({job.simulation.id[:12]})"
