"""What did single rounds look like?  The first rounds behind a tally, written while the next ones are played.

Off by default: Parquet takes some ten million rows a second, the kernels play a hundred times as many rounds.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from simspec.kernels.words import LANES
from simspec.model import DatasetError
from simspec.run.engine import Job, form_of, players
from simspec.run.schema import ROUNDS

MOST_PER_LANE = 4096
"""Rounds recorded of one lane, so that a batch is small whatever the budget; the next lanes follow."""
ROW_GROUP = 262_144


def rounds_path(folder: Path, job: Job, kappa: int) -> Path:
    """Where the rounds of one simulation at one κ are kept."""
    return folder / "rounds" / f"{job.simulation.id[:16]}-kappa-{kappa}.parquet"


def record(job: Job, kappa: int, folder: Path, most: int) -> Path:
    """Write the first ``most`` rounds of a simulation at one κ, lane after lane; the file is whole or not there.

    Parameters
    ----------
    job : Job
    kappa : int
        One of the job's.
    folder : Path
        Folder of the dataset.
    most : int
        Rounds to write, at most 4096 of each lane.

    Returns
    -------
    Path
        A Parquet file with the columns of `simspec.run.schema.ROUNDS`; these are the rounds that were counted.

    Raises
    ------
    DatasetError
        The file cannot be written.
    """
    path = rounds_path(folder, job, kappa)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    note = {"simulation_id": job.simulation.id, "kappa": str(kappa), "seed": str(job.seed)}
    schema = ROUNDS.with_metadata(note)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with pq.ParquetWriter(
            temporary, schema, compression="zstd", compression_level=1, use_dictionary=["unit", "drafted", "accepted"],
            column_encoding={"round": "DELTA_BINARY_PACKED", "position": "DELTA_BINARY_PACKED"},
        ) as writer:  # fmt: skip
            for table in ahead(tables(job, kappa, most)):
                writer.write_table(table.cast(schema), ROW_GROUP)
        os.replace(temporary, path)
    except OSError as error:
        raise DatasetError(f"{path}: cannot be written ({error.strerror or error})") from None
    finally:
        temporary.unlink(missing_ok=True)
    return path


def ahead(source: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The same tables, each made while the one before is used; never more than two at a time."""
    with ThreadPoolExecutor(1, thread_name_prefix="simspec-record") as pool:
        coming = pool.submit(next, source, None)
        while (table := coming.result()) is not None:
            coming = pool.submit(next, source, None)
            yield table


def tables(job: Job, kappa: int, most: int) -> Iterator[pa.Table]:
    """The rounds in tables of one chunk each."""
    plan, form, left = job.layout, form_of(job.process, kappa), most
    for chunk in range(plan.chunks):
        if left <= 0:
            return
        lanes = plan.lanes_of(chunk)
        rounds = players().rounds_of(form, job.keys, chunk, lanes, plan.length, kappa, MOST_PER_LANE)
        table = _table(rounds, chunk).slice(0, left)
        left -= table.num_rows
        yield table


def _table(rounds: np.ndarray, chunk: int) -> pa.Table:
    _, length, lanes = rounds.shape
    position, drafted, accepted = (np.ascontiguousarray(field.T).ravel() for field in rounds)
    columns = {
        "unit": np.repeat(np.arange(LANES * chunk, LANES * chunk + lanes, dtype=np.int32), length),
        "round": np.tile(np.arange(length, dtype=np.int32), lanes),
        "position": position,
        "drafted": drafted.astype(np.int16),
        "accepted": accepted.astype(np.int16),
    }
    played = columns["drafted"] >= 0
    if not played.all():
        columns = {name: column[played] for name, column in columns.items()}
    return pa.table(columns, schema=ROUNDS)
