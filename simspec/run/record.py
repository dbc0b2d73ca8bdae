"""What did single rounds look like?  The first rounds behind the counts, written while the next ones are played.

Off by default: Parquet takes some ten million rows a second, the kernels play up to a hundred times as many.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from simspec.kernels.jit import DISABLED
from simspec.kernels.words import LANES, STREAM_VERSION
from simspec.model import ParameterError, SimspecError
from simspec.run.engine import Job
from simspec.run.pages import MOST_PER_LANE, pages
from simspec.run.progress import Progress
from simspec.run.schema import ROUNDS
from simspec.run.store import ROW_GROUP, TEMPORARY, mark, rounds_path, whole

WRITER: dict[str, Any] = {
    "compression": "zstd",
    "compression_level": 1,
    "use_dictionary": ["accepted"],
    "column_encoding": {"round": "DELTA_BINARY_PACKED", "position": "DELTA_BINARY_PACKED"},
    "write_statistics": ["unit"],
}
"""Within 4 ns a row of the fastest settings at half the size; pyarrow's own take longer and 3 to 6 times the room.
Readers skip row groups by ``unit``; no other column has a use for statistics."""

FILE_BYTES, ROW_BYTES, PLACED_BYTES = 4000, 0.5, 1.2
"""Rough size of a file beside its rows; of a row; of a row with an output position."""


@dataclass(frozen=True)
class Recording:
    """How much is recorded of each simulation at each κ.

    Attributes
    ----------
    record : int
        Rounds, at most 4096 of each lane.
    every : int
        Only chunks 0, ``every``, 2·``every``, … are taken: a sample spread over the budget.
    """

    record: int
    every: int = 1

    def __post_init__(self) -> None:
        for key, value in (("record", self.record), ("record_every", self.every)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ParameterError(key, f"{key} = {value!r} is out of range; allowed: a whole number of at least 1")

    def check(self, method: str) -> None:
        """Raise `ParameterError` if a method plays no rounds, or if nothing can list them."""
        if method != "simulate":
            raise ParameterError(
                "record", f'record = {self.record} needs rounds, and method = "{method}" plays none; allowed: '
                'method = "simulate"'
            )  # fmt: skip
        if DISABLED:
            raise SimspecError("rounds are recorded by the compiled kernels only; unset NUMBA_DISABLE_JIT")

    def size(self, jobs: Iterable[Job]) -> tuple[int, int, int]:
        """(files, rows, bytes) at most; of generations, which end by themselves, 4096 rounds per lane are assumed."""
        files = rows = size = 0
        for job in jobs:
            many, own = len(job.kappas), self.rows(job)
            files, rows = files + many, rows + many * own
            size += many * int(FILE_BYTES + own * (PLACED_BYTES if job.layout.generations else ROW_BYTES))
        return files, rows, size

    def rows(self, job: Job) -> int:
        """Rows of one κ, at most."""
        plan = job.layout
        taken = range(0, plan.chunks, self.every)
        lanes = LANES * (len(taken) - 1) + plan.lanes_of(taken[-1])
        return min(self.record, lanes * min(plan.rounds or MOST_PER_LANE, MOST_PER_LANE))


def vouched(note: dict[str, Any], recording: Recording) -> dict[str, Any]:
    """[bytes, SHA-256] of files that were recorded like that, by name, as the entry ``rounds`` of a manifest says."""
    same = all(note.get(key) == own for key, own in asdict(recording).items())
    return dict(note.get("files", {})) if same else {}


def unrecorded(
    folder: Path, jobs: Iterable[Job], recording: Recording, marks: dict[str, Any] | None = None
) -> list[tuple[Job, int]]:
    """Simulations and κ whose file is not there, not whole, not what ``marks`` say, or holds other rounds."""
    missing = []
    for job in jobs:
        for kappa in job.kappas:
            path = rounds_path(folder, job.simulation.id, kappa)
            known = (marks or {}).get(path.name)
            if not _holds(path, _note(job, kappa, recording)) or (known is not None and mark(path) != known):
                missing.append((job, kappa))
    return missing


def record_all(
    folder: Path, todo: list[tuple[Job, int]], recording: Recording, threads: int, progress: Progress | None = None
) -> None:
    """Record simulations, each at one κ, into files of a dataset; what a crash left there before is removed.

    Raises
    ------
    DatasetError
        A file cannot be written.
    """
    for left in (folder / "rounds").glob(f".*{TEMPORARY}"):
        left.unlink(missing_ok=True)
    if progress is not None:
        progress.begin("recording rounds", sum(recording.rows(job) for job, _ in todo))
    for number, (job, kappa) in enumerate(todo, 1):
        if progress is not None:
            progress.say(f"recording rounds, file {number:,} of {len(todo):,}")
            before = progress.ready
        record(job, kappa, rounds_path(folder, job.simulation.id, kappa), recording, threads, progress)
        if progress is not None:  # requests end before they have all rounds that were reckoned with
            progress.add(0, recording.rows(job) - (progress.ready - before))


def record(
    job: Job, kappa: int, path: Path, recording: Recording, threads: int = 2, progress: Progress | None = None
) -> None:
    """Write rounds of a simulation at one κ, chunk after chunk and lane after lane; the file is whole or not there.

    Parameters
    ----------
    job : Job
    kappa : int
        One of the job's.
    path : Path
        Gets the columns of `simspec.run.schema.ROUNDS`; these are the rounds that were counted.
    recording : Recording
    threads : int
        With 2 or more, rounds are played while those before are written; changes no byte.
    progress : Progress, optional
        Told of the rows.

    Raises
    ------
    DatasetError
        The file cannot be written.
    """
    schema = ROUNDS.with_metadata(_note(job, kappa, recording))
    source = pages(job, kappa, recording.record, recording.every)
    coming = ahead(source) if threads > 1 else source
    with whole(path) as temporary, contextlib.closing(coming), pq.ParquetWriter(temporary, schema, **WRITER) as writer:
        for table in coming:
            writer.write_table(table, ROW_GROUP)
            if progress is not None:
                progress.add(table.num_rows)


def _note(job: Job, kappa: int, recording: Recording) -> dict[str, str]:
    """What a file says of itself; one that says the same holds the same rows."""
    origin = {"simulation_id": job.simulation.id, "kappa": kappa, "seed": job.seed, "windows": job.windows}
    origin |= {"looks": job.looks} if job.looks else {}
    return {k: str(v) for k, v in {**origin, "stream_version": STREAM_VERSION, **asdict(recording)}.items()}


def _holds(path: Path, note: dict[str, str]) -> bool:
    try:
        found = pq.read_schema(path).metadata
    except (OSError, ValueError):  # not there, or not whole
        return False
    return bool(found == {key.encode(): value.encode() for key, value in note.items()})


def ahead(source: Iterator[pa.Table]) -> Generator[pa.Table, None, None]:
    """The same tables, each made while the one before is used; never more than two at a time."""
    with ThreadPoolExecutor(1, thread_name_prefix="simspec-record") as pool:
        coming = pool.submit(next, source, None)
        while (table := coming.result()) is not None:
            coming = pool.submit(next, source, None)
            yield table
