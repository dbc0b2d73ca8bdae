"""How do results reach the disk?  Parquet parts under a temporary name, renamed when whole; a manifest beside them."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from simspec.kernels.tally import SUMS, Tally
from simspec.kernels.words import LANES, STREAM_VERSION
from simspec.model import Cost, DatasetError, Process
from simspec.model.identity import canonical_json
from simspec.run.engine import Job
from simspec.run.schema import SCHEMA_VERSION, TABLES
from simspec.stats.point import Counts, priced_estimates, window_estimates
from simspec.theory.routes import has_route, route_of, speedups

METHOD = "simulate"
MANIFEST = "manifest.json"
ROW_GROUP = 262_144


@dataclass(frozen=True)
class Block:
    """One finished simulation with the costs it is priced at."""

    job: Job
    tallies: Sequence[Tally]
    costs: Sequence[Cost]
    level: float


def _word(value: str, times: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(times, np.int32)), pa.array([value], pa.string()))


def _origin(job: Job, times: int) -> dict[str, Any]:
    return {
        "seed": np.full(times, job.seed, np.uint64),
        "method": _word(METHOD, times),
        "stream_version": np.full(times, STREAM_VERSION, np.int16),
    }


def _table(name: str, columns: dict[str, Any]) -> pa.Table:
    schema = TABLES[name]
    arrays = []
    for column in schema:
        values = columns[column.name]
        arrays.append(values if isinstance(values, pa.Array) else pa.array(values, column.type, from_pandas=True))
    return pa.Table.from_arrays(arrays, schema=schema)


def chunk_table(block: Block) -> pa.Table:
    """Totals by lane, ordered by κ, chunk, lane."""
    sums = np.concatenate([t.sums for t in block.tallies])
    units = block.tallies[0].sums.shape[0]
    unit = np.tile(np.arange(units), len(block.tallies))
    columns: dict[str, Any] = {
        "simulation_id": _word(block.job.simulation.id, len(sums)),
        "kappa": np.repeat([t.kappa for t in block.tallies], units),
        "chunk": unit // LANES,
        "lane": unit % LANES,
        **{("n" if name == "n" else f"sum_{name}"): sums[:, i] for i, name in enumerate(SUMS)},
        **_origin(block.job, len(sums)),
    }
    return _table("chunks", columns)


def count_table(block: Block) -> pa.Table:
    """Rounds by κ, drafted and accepted; rows that were never seen are left out."""
    rows = []
    for tally in block.tallies:
        drafted, accepted = np.nonzero(tally.histogram)
        seen = tally.histogram[drafted, accepted]
        rows.append(np.stack([np.full(len(seen), tally.kappa), drafted, accepted, seen], axis=1))
    kappa, drafted, accepted, seen = np.concatenate(rows).T
    columns = {
        "simulation_id": _word(block.job.simulation.id, len(seen)),
        "kappa": kappa,
        "drafted": drafted,
        "accepted": accepted,
        "count": seen,
        **_origin(block.job, len(seen)),
    }
    return _table("counts", columns)


def estimate_tables(block: Block) -> list[pa.Table]:
    """One table per cost."""
    job, process = block.job, block.job.process
    counts = Counts.of(block.tallies, process.unit == "window")
    windows = window_estimates(counts, block.level)
    times = len(counts.kappas)
    parameters = process.parameters()
    shared: dict[str, Any] = {
        "simulation_id": _word(job.simulation.id, times),
        "process": _word(process.type, times),
        "alpha": _optional(parameters.get("alpha"), times),
        "rho": _optional(parameters.get("rho"), times),
        "parameters": _word(canonical_json(parameters), times),
        "label": _word(process.label, times),
        "windows": np.full(times, job.windows),
        "units": np.full(times, counts.units),
        "level": np.full(times, block.level),
        **windows,
        **_origin(job, times),
    }
    truth = exact_speedups(process, counts.kappas)
    out = []
    for cost in block.costs:
        priced = priced_estimates(counts, cost, block.level) | {"speedup_exact": truth(cost)}
        own = {name: np.full(times, value) if np.ndim(value) == 0 else value for name, value in priced.items()}
        own.update({name: np.full(times, value) for name, value in cost.numbers().items()})
        own["cost_tables"] = _word(canonical_json(cost.tables()), times)
        own["point_id"] = _word(job.simulation.point_id(cost), times)
        out.append(_table("estimates", shared | own))
    return out


def exact_speedups(process: Process, kappas: Sequence[int]) -> Callable[[Cost], np.ndarray]:
    """Speed-ups of the exact route at some κ as a function of cost; NaN (stored as null) where there is no route."""
    if not has_route(process):
        return lambda cost: np.full(len(kappas), np.nan)
    means = route_of(process).sweep(process, max(kappas))

    def price(cost: Cost) -> np.ndarray:
        if cost.longest_draft is None:  # costs are arithmetic on the means
            return np.asarray(means.speedup(cost)[list(kappas)])
        return np.asarray(speedups(process, max(kappas), cost)[list(kappas)])

    return price


def _optional(value: object, times: int) -> pa.Array:
    """A number for a column of numbers; null where the process has none (a trace's alpha is a column's name)."""
    return pa.array(np.full(times, value)) if isinstance(value, float) else pa.nulls(times, pa.float64())


def write_part(folder: Path, part: int, blocks: Iterable[Block], metadata: dict[str, Any]) -> None:
    """Write part number ``part`` of all three tables; the estimates last, so that their presence means it is whole."""
    tables: dict[str, list[pa.Table]] = {name: [] for name in TABLES}
    for block in blocks:
        tables["chunks"].append(chunk_table(block))
        tables["counts"].append(count_table(block))
        tables["estimates"].extend(estimate_tables(block))
    note = {b"simspec": canonical_json({**metadata, "schema_version": SCHEMA_VERSION}).encode()}
    for name, pieces in tables.items():
        whole = pa.concat_tables([TABLES[name].empty_table(), *pieces]).unify_dictionaries().combine_chunks()
        whole = whole.replace_schema_metadata({**(whole.schema.metadata or {}), **note})
        write_table(whole, part_path(folder, name, part))


def part_path(folder: Path, table: str, part: int) -> Path:
    return folder / table / f"part-{part:06d}.parquet"


def write_table(table: pa.Table, path: Path) -> None:
    """Write a Parquet file that is either whole or not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        pq.write_table(table, temporary, compression="zstd", row_group_size=ROW_GROUP)
        _sync(temporary)
        os.replace(temporary, path)
    except OSError as error:
        raise DatasetError(f"{path}: cannot be written ({error.strerror or error})") from None
    finally:
        temporary.unlink(missing_ok=True)


def write_json(value: dict[str, Any], path: Path) -> None:
    """Write a JSON file that is either whole or not there."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        temporary.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        _sync(temporary)
        os.replace(temporary, path)
    except OSError as error:
        raise DatasetError(f"{path}: cannot be written ({error.strerror or error})") from None
    finally:
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
