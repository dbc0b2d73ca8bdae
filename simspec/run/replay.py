"""Does a dataset come out again?  All of it, one simulation or one chunk, held against what is stored."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from simspec.kernels.tally import SUMS, Tally
from simspec.kernels.words import LANES
from simspec.model import DatasetError, ParameterError
from simspec.run import store
from simspec.run.columns import values
from simspec.run.dataset import Dataset, read
from simspec.run.dispatch import run_jobs
from simspec.run.engine import Job, play
from simspec.run.executors import Crew
from simspec.run.planning import plan
from simspec.run.processors import default_threads
from simspec.run.progress import Progress
from simspec.run.provenance import provenance
from simspec.run.record import Recording, record_all
from simspec.run.schema import ROUNDS, TABLES, WHOLE_CHUNK
from simspec.run.sweep import sweep
from simspec.text import clean, plural

SHOWN = 5
"""Differences that are listed."""


@dataclass(frozen=True)
class Replayed:
    """What came of it.

    Attributes
    ----------
    what : str
        What was played again.
    differs : tuple of str
        Where it is something else, nothing if it came out the same.
    versions : str
        What is another version now than when it was stored, where something differs.
    """

    what: str
    differs: tuple[str, ...] = ()
    versions: str = ""

    @property
    def same(self) -> bool:
        """Whether it came out the same."""
        return not self.differs

    def __str__(self) -> str:
        if self.same:
            return f"{self.what}: played again, the same"
        more = [f"… and {len(self.differs) - SHOWN:,} more"] if len(self.differs) > SHOWN else []
        told = f"other versions: {self.versions}; they may move the last digits of estimates and the counts of "
        why = [f"{told}multinomial draws, and no count of simulate"] if self.versions else []
        return "\n".join([f"{self.what}: played again, NOT the same", *self.differs[:SHOWN], *more, *why])


def replay(
    folder: str | Path, point: str | None = None, chunk: int | None = None, crew: Crew | None = None,
    progress: Progress | None = None,
) -> Replayed:  # fmt: skip
    """Play a stored run again and compare, single rounds too where they were recorded.

    Parameters
    ----------
    folder : path
        Of a complete run.
    point : str, optional
        A point id or simulation id, or its first digits: only that simulation.
    chunk : int, optional
        Only the counts of that chunk of it, which is played without those before.
    crew : Crew, optional
        Who plays a whole run again.
    progress : Progress, optional

    Raises
    ------
    DatasetError
        There is no such run, point or chunk.

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
    found = read(folder)
    if not found.complete:
        raise DatasetError(f"{folder}: is not complete; run the scenario again to continue it, and replay it then")
    done = _played_again(found, point, chunk, crew or Crew(), progress)
    return done if done.same else replace(done, versions=_other_versions(found))


def _other_versions(found: Dataset) -> str:
    then, now = found.manifest.get("provenance", {}), provenance()
    pairs = [(name, then.get(name), now[name]) for name in ("simspec", "python", "machine")]
    pairs += [(name, then.get("libraries", {}).get(name), own) for name, own in now["libraries"].items()]
    return ", ".join(clean(f"{name} {old} (now {own})") for name, old, own in pairs if old and old != own)


def _played_again(
    found: Dataset, point: str | None, chunk: int | None, crew: Crew, progress: Progress | None
) -> Replayed:
    if point is None and chunk is None:
        return _whole(found, crew, progress)
    if found.scenario.method != "simulate":
        raise ParameterError("chunk", f'method = "{found.scenario.method}" plays no chunks; replay the whole run')
    job = _job(found, point)
    if chunk is None:
        return _simulation(found, job, crew, progress)
    if not 0 <= chunk < job.layout.chunks:
        raise DatasetError(f"{found.place}: chunk {chunk} was not played; allowed: 0 to {job.layout.chunks - 1}")
    return _chunk(found, job, chunk)


def _whole(found: Dataset, crew: Crew, progress: Progress | None) -> Replayed:
    what = f"{clean(found.place)}, {plural(len(list(plan(found.scenario).jobs)), 'simulation')}"
    with tempfile.TemporaryDirectory(prefix="simspec-replay-") as place:
        own = _recording(found)
        again = sweep(found.scenario, Path(place) / "again", crew.many, progress, 10**9, own, crew)
        return Replayed(what, (*_tables_differ(found, again), *_rounds_differ(found.path, again.path)))


def _recording(found: Dataset) -> Recording | None:
    """How single rounds were recorded; raises `DatasetError` while that is not complete."""
    note = found.manifest.get("rounds")
    if note and not note["complete"]:
        raise DatasetError(f"{found.place}: its rounds/ are not complete; simspec run continues them, replay them then")
    return Recording(note["record"], note["every"]) if note else None


def _rounds_differ(stored: Path, again: Path) -> Iterator[str]:
    """The same of single rounds, file by file."""
    for new in sorted((again / "rounds").glob("*.parquet")):
        old = stored / store.entry(new, again)
        if not old.is_file():
            yield f"rounds/{old.name}: is not there"
        elif store.mark(old) != store.mark(new):
            yield from (f"rounds/{old.name}{told}" for told in _rows_differ(old, pq.read_table(new)))


def _rows_differ(path: Path, new: pa.Table) -> Iterator[str]:
    try:
        old = pq.read_table(path)
    except (OSError, ValueError) as error:
        yield f": cannot be read ({clean(' '.join(str(error).split()))[:80]})"
        return
    if old.schema.names != ROUNDS.names or len(old) != len(new):
        yield f": {len(old):,} rows stored, {len(new):,} now, or other columns"
        return
    for name in ROUNDS.names:
        if differs := _unequal(values(old, name), values(new, name)):
            yield f" {name}: differs in {plural(differs, 'row')}"


def _tables_differ(found: Dataset, again: Dataset) -> Iterator[str]:
    """Where bytes differ: in numbers, or in how another version of pyarrow or of the schema writes them."""
    for name in TABLES:
        pairs = [(path, again.path / store.entry(path, found.path)) for path in sorted((found.path / name).iterdir())]
        if all(new.is_file() and store.mark(old) == store.mark(new) for old, new in pairs):
            continue
        stored = set(pq.read_schema(pairs[0][0]).names)
        old, new = found._table(name), again._table(name)
        if len(old) != len(new):
            yield f"{name}: {len(old):,} rows stored, {len(new):,} now"
            continue
        for column in [field.name for field in TABLES[name] if field.name in stored]:
            differs = _unequal(values(old, column), values(new, column))
            if differs:
                yield f"{name}.{column}: differs in {plural(differs, 'row')}"


def _unequal(old: np.ndarray, new: np.ndarray) -> int:
    if old.dtype.kind == "f" and new.dtype.kind == "f":
        return int((~((old == new) | (np.isnan(old) & np.isnan(new)))).sum())
    return int((old != new).sum())


def _job(found: Dataset, point: str | None) -> Job:
    """The job of a simulation, with the budget that it had in the end."""
    table = found._table("estimates")
    ids = {name: values(table, name).astype(str) for name in ("point_id", "simulation_id")}
    rows = np.ones(len(table), np.bool_)
    if point is not None:
        rows = np.any([np.char.startswith(own, point) for own in ids.values()], axis=0)
    chosen = sorted(set(ids["simulation_id"][rows].tolist()))
    if len(chosen) != 1:
        told = "there is no such point" if not chosen else f"{len(chosen):,} simulations are meant"
        named = "--point is needed, where there is more than one simulation" if point is None else f"point {point!r}"
        raise DatasetError(f"{found.place}: {told} ({named}); ids: {', '.join(own[:12] for own in _some(ids, chosen))}")
    job = next(job for job in plan(found.scenario, 10**9).jobs if job.simulation.id == chosen[0])
    number = int(values(table, "looks")[np.flatnonzero(rows)[0]])
    return job.at_look(number) if number else job


def _some(ids: dict[str, np.ndarray], chosen: list[str]) -> list[str]:
    return (chosen or sorted(set(ids["simulation_id"].tolist())))[:SHOWN]


def _simulation(found: Dataset, job: Job, crew: Crew, progress: Progress | None) -> Replayed:
    recording = _recording(found)
    ((_, tallies),) = run_jobs([job], crew.many)
    differs = list(_sums_differ(_rows(found, job), _sums(job, tallies, range(job.layout.chunks))))
    if recording is not None:
        with tempfile.TemporaryDirectory(prefix="simspec-replay-") as place:
            todo = [(job, kappa) for kappa in job.kappas]
            record_all(Path(place), todo, recording, crew.many or default_threads(), progress)
            differs += _rounds_differ(found.path, Path(place))
    return Replayed(_named(found, job), tuple(differs))


def _chunk(found: Dataset, job: Job, chunk: int) -> Replayed:
    stored = _rows(found, job)
    stored = stored.filter(pc.equal(stored["chunk"], chunk))
    what = f"{_named(found, job)}, chunk {chunk}"
    return Replayed(what, tuple(_sums_differ(stored, _sums(job, play(job, [chunk]), range(chunk, chunk + 1)))))


def _named(found: Dataset, job: Job) -> str:
    return f"{clean(found.place)}, {clean(str(job.simulation))} ({job.simulation.id[:12]})"


def _rows(found: Dataset, job: Job) -> pa.Table:
    stored = found._table("chunks")
    return stored.filter(pc.equal(stored["simulation_id"].cast(pa.string()), job.simulation.id))


def _sums(job: Job, tallies: Sequence[Tally], chunks: range) -> np.ndarray:
    """Totals by κ and unit, as the chunks table has them."""
    sums = np.stack([tally.sums for tally in tallies])
    if job.simulation.fresh and sums.shape[1] > len(chunks):  # lanes of chunks whose windows are independent
        sums = np.add.reduceat(sums, np.arange(0, sums.shape[1], LANES), axis=1)
    return sums.reshape(-1, len(SUMS))


def _sums_differ(stored: pa.Table, played: np.ndarray) -> Iterator[str]:
    if len(stored) != len(played):
        yield f"chunks: {len(stored):,} rows stored, {len(played):,} now"
        return
    own = np.stack([values(stored, "n" if name == "n" else f"sum_{name}") for name in SUMS], axis=1)
    places = {name: values(stored, name) for name in ("kappa", "chunk", "lane")}
    for row in np.flatnonzero((own != played).any(axis=1)):
        kappa, chunk, lane = (int(own[row]) for own in places.values())
        where = f"κ = {kappa}, chunk {chunk}" + ("" if lane == WHOLE_CHUNK else f", lane {lane}")
        pairs = zip(SUMS, own[row].tolist(), played[row].tolist(), strict=True)
        yield f"{where}: {', '.join(f'{name} {a:,} stored, {b:,} now' for name, a, b in pairs if a != b)}"
