"""Where do two tables differ?  Column by column, with the first row that does and what stands in it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from simspec.model import DatasetError
from simspec.run import store
from simspec.run.columns import column, values
from simspec.run.dataset import Dataset
from simspec.run.played import lists_of
from simspec.run.schema import ROUNDS, SCHEMA_VERSION, WHOLE_CHUNK
from simspec.text import clean, plural

PLACES = {
    "chunks": ("simulation_id", "kappa", "chunk", "lane"),
    "counts": ("simulation_id", "kappa", "drafted", "accepted"),
    "estimates": ("point_id", "kappa"),
    "tallies": ("simulation_id", "kappa", "first", "field"),
    "rounds": ("unit", "round"),
}
"""Columns that tell rows of a table apart."""
UNREADABLE = (DatasetError, pa.ArrowException, OSError, TypeError, ValueError)
"""What a file raises that is damaged, or of another form."""


def folders_differ(found: Dataset, again: Dataset) -> Iterator[str]:
    """Where the tables of a run differ from those of another one of the same scenario.

    Files of the same bytes are not read.
    """
    absent = lacking(found)
    for name, schema in store.SCHEMAS.items():
        columns = [own for own in schema.names if own not in absent.get(name, ())]
        if columns and not _same_bytes(found, again, name):
            try:
                yield from tables_differ(name, found.table(name), again.table(name), columns)
            except UNREADABLE as error:
                yield unread(name, error)


def _same_bytes(found: Dataset, again: Dataset, name: str) -> bool:
    old, new = (sorted((own.path / name).glob("part-*.parquet")) for own in (found, again))
    return len(old) == len(new) and all(map(_alike, old, new))


def _alike(old: Path, new: Path) -> bool:
    return old.name == new.name and store.mark(old) == store.mark(new)


def unread(name: str, error: Exception) -> str:
    """What is said of a table that cannot be read."""
    return f"{name}: cannot be read, and was not compared: {clean(' '.join(str(error).split()))[:160]}"


def of_simulation(found: Dataset, name: str, simulation: str, **where: int) -> pa.Table:
    """The rows of a stored table that are of one simulation, and of those where columns have these values."""
    stored = found.table(name)
    for key, value in {"simulation_id": simulation, **where}.items():
        stored = stored.filter(column(values(stored, key) == value, pa.bool_()))
    return stored


def lacking(found: Dataset) -> dict[str, list[str]]:
    """What tables of an earlier schema lack: columns by table, all of them where there is no such table."""
    if found.manifest["schema_version"] == SCHEMA_VERSION:
        return {}
    out = {}
    for name, schema in store.SCHEMAS.items():
        files = sorted((found.path / name).glob("part-*.parquet"))
        try:
            stored = pq.read_schema(files[0]).names if files else []
        except UNREADABLE:  # said when it is to be compared
            stored = schema.names
        out[name] = [own for own in schema.names if own not in stored]
    return {name: own for name, own in out.items() if own}


def tables_differ(name: str, old: pa.Table, new: pa.Table, columns: Sequence[str] = ()) -> Iterator[str]:
    """Where what is stored differs from what came out now, row by row in the same order.

    Parameters
    ----------
    name : str
        Of the table.
    old, new : pyarrow.Table
    columns : sequence of str, optional
        Those to be compared; default all.

    Examples
    --------
    >>> old, new = (pa.table({"unit": [0, 0], "round": [0, 1], "accepted": [4, own]}) for own in (2, 3))
    >>> list(tables_differ("rounds", old, new))
    ['rounds.accepted: differs in 1 row, first at unit 0, round 1: 2 stored, 3 now']
    """
    if len(old) != len(new):
        yield f"{name}: {len(old):,} rows stored, {len(new):,} now"
        return
    for entry in columns or new.column_names:
        rows = np.flatnonzero(_unequal(old, new, entry))
        if rows.size:
            first = int(rows[0])
            told = [_shown(own.column(entry)[first].as_py()) for own in (old, new)]
            where = f"first at {_place(name, new, first)}: {told[0]} stored, {told[1]} now"
            yield f"{name}.{entry}: differs in {plural(rows.size, 'row')}, {where}"


def _unequal(old: pa.Table, new: pa.Table, name: str) -> np.ndarray:
    """Rows in which a column differs; what is not there equals what is not there."""
    if pa.types.is_list(new.schema.field(name).type):
        pairs = zip(lists_of(old.column(name)), lists_of(new.column(name)), strict=True)
        return np.array([not np.array_equal(*pair) for pair in pairs], np.bool_)
    one, other = values(old, name), values(new, name)
    if one.dtype.kind == "f" and other.dtype.kind == "f":
        return np.asarray(~((one == other) | (np.isnan(one) & np.isnan(other))))
    return np.asarray(one != other)


def _place(name: str, table: pa.Table, row: int) -> str:
    """Which row it is, as the one that came out now says."""
    own = {key: table.column(key)[row].as_py() for key in PLACES[name]}
    return ", ".join(
        f"{key} {own[key][:12] if key.endswith('_id') else own[key]}"
        for key in own
        if not (key == "lane" and own[key] == WHOLE_CHUNK)
    )


def _shown(value: Any) -> str:
    """An entry of a table, which may be anything; of a list the beginning."""
    text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    text = clean(text)
    return text if len(text) <= 60 else f"{text[:59]}…"


def rounds_differ(stored: Path, again: Path, vouched: Collection[str] = ()) -> Iterator[str]:
    """The same of single rounds, file by file.

    Parameters
    ----------
    stored, again : Path
        Folders, of which the second has what was recorded again.
    vouched : collection of str
        Files that the stored run says it has; others, of points that are no longer asked for, stand there too.
    """
    new = {own.name for own in (again / "rounds").glob("*.parquet")}
    yield from (f"rounds/{clean(name)}: is not of this run" for name in sorted({*vouched} - new))
    for name in sorted(new):
        there, now = (folder / "rounds" / name for folder in (stored, again))
        if not there.is_file():
            yield f"rounds/{name}: is not there"
        elif store.mark(there) != store.mark(now):
            yield from (told.replace("rounds", f"rounds/{name}", 1) for told in _file_differs(there, now))


def _file_differs(stored: Path, again: Path) -> Iterator[str]:
    try:
        old = pq.read_table(stored)
    except UNREADABLE as error:
        yield unread("rounds", error)
        return
    new = pq.read_table(again)
    if old.schema.names != ROUNDS.names or old.schema.types != new.schema.types:
        yield "rounds: has other columns"
        return
    yield from tables_differ("rounds", old, new)
