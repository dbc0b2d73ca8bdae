"""Which single rounds does a result folder hold?  Those of one simulation at one κ, read back as a pandas frame."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from simspec.model import DatasetError
from simspec.run.columns import values
from simspec.run.store import rounds_path
from simspec.text import clean, plural

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def read_rounds(folder: Path, estimates: pa.Table, which: str | None, kappa: int | None) -> pd.DataFrame:
    """The rounds of `simspec.run.dataset.Dataset.rounds`, whose estimates say what ids and κ there are."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not (folder / "rounds").is_dir():
        raise DatasetError(f"{folder}: holds no single rounds; run the scenario again with --record N")
    path = _path(folder, estimates, which, kappa)
    try:
        stored = pq.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise DatasetError(f"{path}: cannot be read ({error})") from None
    unplaced = stored["position"].null_count == len(stored)
    frame: pd.DataFrame = (stored.drop_columns(["position"]) if unplaced else stored).to_pandas()
    return frame


def _path(folder: Path, estimates: pa.Table, which: str | None, kappa: int | None) -> Path:
    """The file of one simulation, found by its id, by a point, or as the only one, at one κ, likewise."""
    ids, points = values(estimates, "simulation_id"), values(estimates, "point_id")
    pairs = set(zip(ids, points, strict=True))
    found = {own for own, point in pairs if which is None or own.startswith(which) or point.startswith(which)}
    if len(found) != 1:
        asked = "which of" if which is None else f"{clean(repr(which))} is {'more than one of' if found else 'none of'}"
        raise DatasetError(f"{folder}: {asked} {plural(len(set(ids)), 'simulation')}; ids are in the estimates")
    files = {k: rounds_path(folder, found.copy().pop(), k) for k in sorted(set(values(estimates, "kappa").tolist()))}
    there = [k for k, file in files.items() if file.is_file()]
    if kappa is None and len(there) == 1:
        return files[there[0]]
    if kappa not in there:
        asked = "kappa is missing" if kappa is None else f"no rounds at kappa = {kappa}"
        raise DatasetError(f"{folder}: {asked}; recorded: {', '.join(map(str, there)) or 'none'}")
    return files[kappa]
