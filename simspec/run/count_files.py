"""How are files of counts written, found out about, read a little at a time, and kept few?"""

from __future__ import annotations

import os
import uuid
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from simspec.model import DatasetError
from simspec.run.columns import values
from simspec.run.played import NUMBERS, Played, Stretch, tally_table
from simspec.run.schema import TALLIES
from simspec.run.store import TALLY_WRITER, TEMPORARY, cannot_write, digest, sync

NAME_DIGITS = 32
"""Of the SHA-256 of its content, by which a file of counts is called."""
KEY = b"simspec"
"""Under which a file says what it is of."""
MOST_FILES = 12
"""Where there are more files of counts, the smaller ones become one: a long run writes some every few minutes."""
OPEN_GROUPS = 4
"""Groups of rows kept in memory while they are asked for."""


def name_of(digest: str) -> str:
    """How a file of counts is called, by the SHA-256 of its content."""
    return f"{digest[:NAME_DIGITS]}.parquet"


def is_whole(path: Path) -> bool:
    """Whether the content of a file of counts is what its name says."""
    return name_of(digest(path)) == path.name


@dataclass(frozen=True)
class At:
    """Where a stretch is kept."""

    stretch: Stretch
    path: Path
    rows: range


def held(path: Path) -> Iterator[At]:
    """What a file holds.

    Raises
    ------
    DatasetError
        It is not of this kind.
    """
    with _opened(path) as own:
        table = own.read(["simulation_id", *NUMBERS])
    if not len(table):  # exact values have no counts
        return
    ids = table.column("simulation_id").combine_chunks()
    numbers = np.stack([values(pa.table({"": own}), "") for own in (ids.indices, *table.columns[1:])]).astype(np.int64)
    changes = 1 + np.flatnonzero((numbers[:, 1:] != numbers[:, :-1]).any(axis=0))
    starts, names = [0, *changes.tolist()], ids.dictionary.to_pylist()
    for start, stop, own in zip(starts, [*starts[1:], len(table)], numbers[:, starts].T.tolist(), strict=True):
        yield At(Stretch(names[own[0]], *own[1:]), path, range(start, stop))


def _opened(path: Path) -> pq.ParquetFile:
    """A file of counts; ``pyarrow.parquet.read_table`` would import pandas."""
    try:
        own = pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise DatasetError(f"{path}: cannot be read ({error})") from None
    if not own.schema_arrow.equals(TALLIES):
        own.close()
        raise DatasetError(f"{path}: holds no counts of simspec, or those of another version; remove it to go on")
    return own


class Rows:
    """Rows of files of counts, of which a few groups are in memory: a file may be larger than that.

    Attributes
    ----------
    moved : dict of Path to (Path, int)
        Files whose rows are in another one by now, and from which of its rows on.
    """

    def __init__(self) -> None:
        self.moved: dict[Path, tuple[Path, int]] = {}
        self._ends: dict[Path, np.ndarray] = {}
        self._groups: OrderedDict[tuple[Path, int], pa.Table] = OrderedDict()

    def of(self, path: Path, rows: range) -> pa.Table:
        """Some successive rows of a file, whatever became of it."""
        start = rows.start
        while path in self.moved:
            path, before = self.moved[path]
            start += before
        if path not in self._ends:
            meta = pq.read_metadata(path)
            self._ends[path] = np.cumsum([meta.row_group(i).num_rows for i in range(meta.num_row_groups)])
        ends = self._ends[path]
        first, last = np.searchsorted(ends, [start, start + len(rows) - 1], side="right").tolist()
        groups = [self._group(path, number) for number in range(first, last + 1)]
        whole = groups[0] if len(groups) == 1 else pa.concat_tables(groups)
        return whole.slice(start - (int(ends[first - 1]) if first else 0), len(rows))

    def _group(self, path: Path, number: int) -> pa.Table:
        key = path, number
        if key not in self._groups:
            with _opened(path) as own:
                self._groups[key] = own.read_row_group(number)
            if len(self._groups) > OPEN_GROUPS:
                self._groups.popitem(last=False)
        self._groups.move_to_end(key)
        return self._groups[key]


def write(folder: Path, played: Sequence[Played], run: str = "") -> Path:
    """Write counts into a file that is named by its content, and says of which run; the same content twice is one file.

    Raises
    ------
    DatasetError
        The file cannot be written.
    """
    return _written(folder, run, iter([tally_table(played)]))


def fewer(folder: Path, files: Sequence[Path], run: str) -> dict[Path, tuple[Path, int]]:
    """Keep the counts of a run in at most `MOST_FILES` files: if there are more, the smaller ones become one.

    A process that dies on the way leaves some counts twice, which does no harm.

    Returns
    -------
    dict
        By file that is no more: the one that holds its rows, and from which on.

    Raises
    ------
    DatasetError
        The file cannot be written, or one of them holds no counts.
    """
    if len(files) <= MOST_FILES:
        return {}
    small = sorted(files, key=lambda path: path.stat().st_size)[: len(files) - MOST_FILES // 2]
    small.sort(key=lambda path: path.stat().st_mtime_ns)  # what is asked for together was played together
    starts, filled = dict[Path, int](), 0

    def groups() -> Iterator[pa.Table]:
        nonlocal filled
        for path in small:
            starts[path] = filled
            with _opened(path) as own:
                for number in range(own.num_row_groups):
                    yield (table := own.read_row_group(number))
                    filled += len(table)

    whole = _written(folder, run, groups())
    for path in starts.keys() - {whole}:
        path.unlink()
    return {path: (whole, start) for path, start in starts.items() if path != whole}


def _written(folder: Path, run: str, tables: Iterator[pa.Table]) -> Path:
    note = {KEY: run} if run else None
    temporary = folder / f".{uuid.uuid4().hex}{TEMPORARY}"
    with cannot_write(folder):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with pq.ParquetWriter(temporary, TALLIES.with_metadata(note), **TALLY_WRITER) as writer:
                for table in tables:
                    writer.write_table(table.replace_schema_metadata(note))
            sync(temporary)
            path = folder / name_of(digest(temporary))
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    return path
