"""How do results reach the disk?  Parquet parts under a temporary name, renamed when whole; a manifest beside them."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from simspec.model import DatasetError
from simspec.model.identity import canonical_json
from simspec.run.schema import SCHEMA_VERSION
from simspec.run.tables import Block, chunk_table, count_table, estimate_table

MANIFEST = "manifest.json"
ROW_GROUP = 262_144
TEMPORARY = ".tmp"
REPEATING = {"alpha", "rho", "c0", "c_d", "c_v", "c_r", "off", "c_switch", "c_wake", "level"}
"""Fractions of which a table holds few; in other columns of fractions a dictionary would be looked for in vain."""


def write_part(folder: Path, part: int, blocks: Sequence[Block], metadata: dict[str, Any]) -> None:
    """Write part number ``part`` of all three tables; the estimates last, so that their presence means it is whole."""
    note = {b"simspec": canonical_json({**metadata, "schema_version": SCHEMA_VERSION}).encode()}
    for name, make in (("chunks", chunk_table), ("counts", count_table), ("estimates", estimate_table)):
        table = make(blocks)
        whole = table.replace_schema_metadata({**(table.schema.metadata or {}), **note})
        write_table(whole, part_path(folder, name, part))


def part_path(folder: Path, table: str, part: int) -> Path:
    return folder / table / f"part-{part:06d}.parquet"


def rounds_path(folder: Path, simulation_id: str, kappa: int) -> Path:
    """Where single rounds of one simulation at one κ are kept, if they were asked for."""
    return folder / "rounds" / f"{simulation_id[:16]}-kappa-{kappa}.parquet"


def write_table(table: pa.Table, path: Path) -> None:
    """Write a Parquet file that is either whole or not there."""
    few = [f.name for f in table.schema if f.name in REPEATING or not pa.types.is_floating(f.type)]
    with whole(path) as temporary:
        pq.write_table(
            table, temporary, compression="zstd", row_group_size=ROW_GROUP, use_dictionary=few, write_statistics=few
        )


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
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        _sync(temporary)
        os.replace(temporary, path)
    except OSError as error:
        raise DatasetError(f"{path}: cannot be written ({error.strerror or error})") from None
    finally:
        with suppress(OSError):  # the place of the file is none
            temporary.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    with path.open("rb+") as handle:
        os.fsync(handle.fileno())


def make_folder(folder: Path) -> None:
    """Create the folder of a dataset, or say in one line why that is impossible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{uuid.uuid4().hex}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise DatasetError(f"{folder}: cannot be written ({error.strerror or error})") from None
