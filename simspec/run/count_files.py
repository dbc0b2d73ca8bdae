"""How are files of counts written, found out about, read a little at a time, and kept few?"""

from __future__ import annotations

import os
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
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
MOST_FILES = 12
"""Where there are more files of counts, the smaller ones become one: a long run writes some every few minutes."""
OPEN_GROUPS = 4
"""Groups of rows kept in memory while they are asked for."""


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
    """Rows of files of counts, of which a few groups are in memory: a file may be larger than that."""

    def __init__(self) -> None:
        self._ends: dict[Path, np.ndarray] = {}
        self._groups: OrderedDict[tuple[Path, int], pa.Table] = OrderedDict()

    def of(self, at: At) -> pa.Table:
        """The rows of one stretch."""
        if at.path not in self._ends:
            meta = pq.read_metadata(at.path)
            self._ends[at.path] = np.cumsum([meta.row_group(i).num_rows for i in range(meta.num_row_groups)])
        ends = self._ends[at.path]
        first, last = np.searchsorted(ends, [at.rows.start, at.rows.stop - 1], side="right").tolist()
        before = int(ends[first - 1]) if first else 0
        groups = [self._group(at.path, number) for number in range(first, last + 1)]
        whole = groups[0] if len(groups) == 1 else pa.concat_tables(groups)
        return whole.slice(at.rows.start - before, len(at.rows))

    def _group(self, path: Path, number: int) -> pa.Table:
        key = path, number
        if key not in self._groups:
            with _opened(path) as own:
                self._groups[key] = own.read_row_group(number)
            if len(self._groups) > OPEN_GROUPS:
                self._groups.popitem(last=False)
        self._groups.move_to_end(key)
        return self._groups[key]


def write(folder: Path, played: Sequence[Played]) -> Path:
    """Write counts into a file that is named by its content; the same content twice is one file.

    Raises
    ------
    DatasetError
        The file cannot be written.
    """
    return _written(folder, lambda writer: writer.write_table(tally_table(played)))


def fewer(folder: Path, files: Sequence[Path]) -> list[Path]:
    """The same counts in at most `MOST_FILES` files: if there are more, the smaller ones are written as one.

    A process that dies on the way leaves some counts twice, which does no harm.

    Raises
    ------
    DatasetError
        The file cannot be written, or one of them holds no counts.
    """
    if len(files) <= MOST_FILES:
        return list(files)
    small = set(sorted(files, key=lambda path: path.stat().st_size)[: len(files) - MOST_FILES // 2])

    def copy(writer: pq.ParquetWriter) -> None:
        for path in (path for path in files if path in small):
            with _opened(path) as own:
                for number in range(own.num_row_groups):
                    writer.write_table(own.read_row_group(number))

    whole = _written(folder, copy)
    for path in small - {whole}:
        path.unlink()
    return [*(path for path in files if path not in small), whole]


def _written(folder: Path, fill: Callable[[pq.ParquetWriter], None]) -> Path:
    temporary = folder / f".{uuid.uuid4().hex}{TEMPORARY}"
    with cannot_write(folder):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with pq.ParquetWriter(temporary, TALLIES, **TALLY_WRITER) as writer:
                fill(writer)
            sync(temporary)
            path = folder / f"{digest(temporary)[:NAME_DIGITS]}.parquet"
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    return path
