"""How do results reach the disk?  Parquet parts under a temporary name, renamed when whole; a manifest beside them."""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from simspec.model import DatasetError
from simspec.model.identity import canonical_json
from simspec.run.schema import SCHEMA_VERSION, TABLES, TALLIES
from simspec.run.tables import Block, chunk_table, count_table, estimate_table

MANIFEST = "manifest.json"
ROW_GROUP = 262_144
TEMPORARY = ".tmp"
ESTIMATES_AT_ONCE = 2**16
"""Rows of estimates, a hundred numbers each, that are in memory at a time."""
SCHEMAS = TABLES | {"tallies": TALLIES}
PART_NAME = rf"({'|'.join(SCHEMAS)})/part-[0-9]{{6}}\.parquet"
"""What `part_name` makes, as a pattern."""
MAKERS: dict[str, Callable[[Sequence[Block]], Iterable[pa.Table]]] = {
    "chunks": lambda blocks: [chunk_table(blocks)],
    "counts": lambda blocks: [count_table(blocks)],
    "estimates": lambda blocks: map(estimate_table, portions(blocks)),
}
TALLY_WRITER: dict[str, Any] = {
    "compression": "zstd",
    "use_dictionary": ["simulation_id", "field"],
    "column_encoding": {"values.list.element": "DELTA_BINARY_PACKED"},
    "write_statistics": False,
}
"""Counts are small whole numbers beside each other."""
REPEATING = {"alpha", "rho", "c0", "c_d", "c_v", "c_r", "off", "c_switch", "c_wake", "level"}
"""Fractions of which a table holds few; in other columns of fractions a dictionary would be looked for in vain."""


class PartWriter:
    """One part of some tables, written section by section; the files take their places together at the end.

    Parameters
    ----------
    folder : Path
    part : int
    metadata : dict
        What the files say of themselves.
    names : sequence of str
        Which tables.
    """

    def __init__(self, folder: Path, part: int, metadata: dict[str, Any], names: Sequence[str] = tuple(TABLES)) -> None:
        self._note = {b"simspec": canonical_json({**metadata, "schema_version": SCHEMA_VERSION}).encode()}
        self._paths = {name: part_path(folder, name, part) for name in names}
        self.part, self._folder, self._stack = part, folder, ExitStack()
        self._writers: dict[str, pq.ParquetWriter] = {}

    def __enter__(self) -> PartWriter:
        with ExitStack() as stack:
            for name, path in self._paths.items():
                temporary = stack.enter_context(whole(path))
                schema = SCHEMAS[name].with_metadata(self._note)
                options = TALLY_WRITER if name == "tallies" else _options(schema)
                self._writers[name] = stack.enter_context(pq.ParquetWriter(temporary, schema, **options))
            self._stack = stack.pop_all()
        return self

    def add(self, name: str, table: pa.Table) -> None:
        """Append a section to one of the tables."""
        with cannot_write(self._paths[name]):
            self._writers[name].write_table(table.replace_schema_metadata(self._note), ROW_GROUP)

    def price(self, blocks: Sequence[Block]) -> None:
        """Append what follows from some finished simulations to the tables of counts and estimates."""
        for name, make in MAKERS.items():
            for table in make(blocks):
                self.add(name, table)

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def written(self) -> dict[str, list[Any]]:
        """Size and content hash of each finished file, by its place in the folder."""
        return {entry(path, self._folder): mark(path) for path in self._paths.values()}


def entry(path: Path, folder: Path) -> str:
    """How a manifest names a file."""
    return path.relative_to(folder).as_posix()


def mark(path: Path) -> list[Any]:
    """[bytes, SHA-256] of a file."""
    return [path.stat().st_size, digest(path)]


def digest(path: Path) -> str:
    """SHA-256 of a file's content."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def portions(blocks: Sequence[Block], most: int = ESTIMATES_AT_ONCE) -> Iterator[list[Block]]:
    """Successive blocks with at most ``most`` estimates together; one of more is given out a few costs at a time."""
    own: list[Block] = []
    filled = 0
    for block in blocks:
        each = len(block.job.kappas)
        rows = each * len(block.costs)
        if own and filled + rows > most:
            yield own
            own, filled = [], 0
        if rows > most:
            step = max(1, most // each)
            yield from ([block.at(slice(i, i + step))] for i in range(0, len(block.costs), step))
        else:
            own.append(block)
            filled += rows
    if own:
        yield own


def write_part(folder: Path, part: int, blocks: Sequence[Block], metadata: dict[str, Any]) -> None:
    """Write part number ``part`` of the three tables of counts and estimates."""
    with PartWriter(folder, part, metadata) as writer:
        writer.price(blocks)


def part_path(folder: Path, table: str, part: int) -> Path:
    return folder / part_name(table, part)


def part_name(table: str, part: int) -> str:
    """The place of a part in its folder, as the manifest names it."""
    return f"{table}/part-{part:06d}.parquet"


def rounds_path(folder: Path, simulation_id: str, kappa: int) -> Path:
    """Where single rounds of one simulation at one κ are kept, if they were asked for."""
    return folder / "rounds" / f"{simulation_id[:16]}-kappa-{kappa}.parquet"


def write_table(table: pa.Table, path: Path) -> None:
    """Write a Parquet file that is either whole or not there."""
    with whole(path) as temporary:
        pq.write_table(table, temporary, row_group_size=ROW_GROUP, **_options(table.schema))


def _options(schema: pa.Schema) -> dict[str, Any]:
    few = [f.name for f in schema if f.name in REPEATING or not pa.types.is_floating(f.type)]
    return {"compression": "zstd", "use_dictionary": few, "write_statistics": few}


def write_json(value: dict[str, Any], path: Path) -> None:
    """Write a JSON file that is either whole or not there."""
    with whole(path) as temporary:
        temporary.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A temporary file that takes the place of ``path`` at the end; after an error nothing is left of it.

    Raises
    ------
    DatasetError
        The file cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}{TEMPORARY}")
    with cannot_write(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            yield temporary
            sync(temporary)
            os.replace(temporary, path)
        finally:
            with suppress(OSError):  # the place of the file is none
                temporary.unlink(missing_ok=True)


@contextmanager
def cannot_write(path: Path) -> Iterator[None]:
    """Say in one line that a file cannot be written."""
    try:
        yield
    except OSError as error:
        raise DatasetError(f"{path}: cannot be written ({error.strerror or error})") from None


def sync(path: Path) -> None:
    """Have the disk hold a file."""
    with path.open("rb+") as handle:
        os.fsync(handle.fileno())


def make_folder(folder: Path) -> None:
    """Create the folder of a dataset, or say in one line why that is impossible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{uuid.uuid4().hex}{TEMPORARY}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise DatasetError(f"{folder}: cannot be written ({error.strerror or error})") from None
