"""What is in a result folder?  The three tables as pandas frames, the scenario that made them, where they come from."""

from __future__ import annotations

import functools
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simspec.model import DatasetError, Scenario
from simspec.run.schema import SCHEMA_VERSION, TABLES
from simspec.run.store import MANIFEST
from simspec.text import clean, kappa_set, number, plural, table

if TYPE_CHECKING:
    import pandas as pd


class Dataset:
    """A stored run.

    Attributes
    ----------
    path : Path
        The folder.
    manifest : dict
        Scenario, versions, and the volatile provenance: time, host, command.
    """

    def __init__(self, path: Path, manifest: dict[str, Any]) -> None:
        self.path, self.manifest = path, manifest

    @property
    def complete(self) -> bool:
        """Whether the run went to its end."""
        return bool(self.manifest.get("complete"))

    @functools.cached_property
    def scenario(self) -> Scenario:
        """The scenario, read from the metadata of the data files themselves."""
        import pyarrow.parquet as pq

        first = self._files("estimates")[0]
        try:
            note = (pq.read_schema(first).metadata or {}).get(b"simspec")
        except (OSError, ValueError) as error:  # pyarrow's errors are one or the other
            raise DatasetError(f"{first}: cannot be read ({error})") from None
        if note is None:
            raise DatasetError(f"{first}: carries no simspec metadata")
        folder = self.manifest.get("provenance", {}).get("scenario_folder", "")
        return replace(Scenario.from_dict(json.loads(note)["scenario"]), base=folder)

    def _files(self, name: str) -> list[Path]:
        files = sorted((self.path / name).glob("part-*.parquet"))
        if not files:
            raise DatasetError(f"{self.path}: holds no {name} yet; run the scenario again to continue it")
        return files

    def _frame(self, name: str) -> pd.DataFrame:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            parts = [pq.read_table(file, schema=TABLES[name]) for file in self._files(name)]
        except (pa.ArrowInvalid, OSError) as error:
            raise DatasetError(f"{self.path / name}: cannot be read ({error})") from None
        frame: pd.DataFrame = pa.concat_tables(parts).unify_dictionaries().to_pandas()
        return frame

    @functools.cached_property
    def chunks(self) -> pd.DataFrame:
        """Totals by simulation, κ, chunk and lane."""
        return self._frame("chunks")

    @functools.cached_property
    def counts(self) -> pd.DataFrame:
        """Rounds by simulation, κ, drafted and accepted."""
        return self._frame("counts")

    @functools.cached_property
    def estimates(self) -> pd.DataFrame:
        """One row per point and κ: estimates with intervals."""
        return self._frame("estimates")

    def to_pandas(self) -> pd.DataFrame:
        """The estimates."""
        return self.estimates

    def best(self) -> pd.DataFrame:
        """One row per point: the row of κ*, with ``indistinguishable_kappas`` and ``within_2pct_kappas``."""
        frame = self.estimates
        rows = frame[frame["kappa"] == frame["kappa_star"]].reset_index(drop=True)
        for flag in ("indistinguishable", "within_2pct"):
            kept = frame.loc[frame[flag], ["point_id", "kappa"]]
            sets: dict[str, list[int]] = {}
            for point, kappa in zip(kept["point_id"], kept["kappa"], strict=True):
                sets.setdefault(str(point), []).append(int(kappa))
            rows[f"{flag}_kappas"] = [tuple(sets[str(point)]) for point in rows["point_id"]]
        return rows

    def __repr__(self) -> str:
        return self.summary(most=20)

    def summary(self, most: int | None = 40) -> str:
        """Best κ per point with its interval, and where the numbers come from."""
        lines = [f"{clean(self.scenario.name)}: {plural(len(self.best()), 'point')} in {clean(str(self.path))}"]
        if not self.complete:
            lines[0] += "  (not complete; run the scenario again to continue it)"
        lines += ["", best_table(self.best(), most), "", *self._failures(), *self._origin()]
        return "\n".join(lines)

    @property
    def failed(self) -> list[dict[str, str]]:
        """Simulations that could not be played, each with process and error; the others are complete."""
        return list(self.manifest.get("failed", []))

    def _failures(self) -> list[str]:
        lines = [f"not simulated: {clean(entry['process'])}: {clean(entry['error'])}" for entry in self.failed]
        return [f"{plural(len(lines), 'simulation')} failed, the others are complete", *lines[:20], ""] if lines else []

    def _origin(self) -> list[str]:
        made, own = self.manifest.get("provenance", {}), self.scenario
        return [
            f"intervals at {own.level:.0%}: the noise of this simulation, not the error of your rates and costs; tied",
            "κ cannot be told from the best at this budget (paired, simultaneous).  More: the estimates table.",
            f"seed {own.seed}, {own.windows:,} windows per simulation and κ, stream version "
            f"{self.manifest.get('stream_version')};",
            f"made {made.get('finished', made.get('started', '?'))} by simspec {made.get('simspec', '?')} "
            f"in {made.get('seconds', '?')} s.",
        ]


def best_table(best: pd.DataFrame, most: int | None = 40) -> str:
    """Text table of the rows of `Dataset.best`; parameters that all rows of a process share stand above it."""
    records = [{str(key): value for key, value in record.items()} for record in best.to_dict("records")]
    names, shared = _process_names(records)
    varies = [key for key in ("c0", "c_d", "c_v", "c_r", "off") if key == "c_d" or best[key].nunique() > 1]
    dear_off = bool((best["off"] != 1.0).any())
    rows = []
    for name, row in zip(names, records, strict=True):
        star = f"{row['kappa_star']}{' (largest run)' if row['at_kappa_max'] else ''}"
        rows.append(
            [
                name,
                *(f"{row[key]:g}" for key in varies),
                f"off ({row['kappa_star']})" if row["off_is_better"] else star,
                kappa_set(row["indistinguishable_kappas"]),
                kappa_set(row["within_2pct_kappas"]),
                f"{number(row['speedup'])} [{number(row['speedup_low'])}, {number(row['speedup_high'])}]",
                number(row["speedup_exact"]),
                *([f"{row['speedup'] * row['off']:.4f}"] if dear_off else []),
                number(row["mean_tokens"]),
                number(row["p_zero_accepted"]),
            ]
        )
    header = ["process", *varies, "best κ", "tied κ", "within 2%", "speed-up", "exact"]
    header += [*(["against off"] if dear_off else []), "E[tokens]", "P(A=0)"]
    return "\n".join([*shared, table(header, rows, most)])


def _process_names(records: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """A short name per row, and a line per process type with what all its rows have in common."""
    parameters = [json.loads(record["parameters"]) for record in records]
    seen: dict[tuple[str, str], set[str]] = {}
    for record, own in zip(records, parameters, strict=True):
        for key, value in own.items():
            seen.setdefault((record["process"], key), set()).add(json.dumps(value))
    common = {where for where, values in seen.items() if len(values) == 1 and where[1] not in ("alpha", "rho")}
    names = []
    for record, own in zip(records, parameters, strict=True):
        inside = _short_all({key: value for key, value in own.items() if (record["process"], key) not in common})
        names.append(record["label"] or " ".join([record["process"], *inside]))
    lines = []
    for kind in dict.fromkeys(record["process"] for record in records):
        own = next(p for record, p in zip(records, parameters, strict=True) if record["process"] == kind)
        inside = _short_all({key: value for key, value in own.items() if (kind, key) in common})
        if inside:
            lines.append(f"every {kind} here has {', '.join(inside)}")
    return names, [*lines, ""] if lines else []


def _short_all(parameters: dict[str, Any]) -> list[str]:
    """``alpha=0.7 rho=0.3 carry(1, 2)``: the boundary between windows in one word."""
    own = dict(parameters)
    reject, full = own.pop("steps_after_reject", None), own.pop("steps_after_full", None)
    out = [_short(key, value) for key, value in own.items() if key != "start"]
    if "start" in own or reject is not None or full is not None:
        steps = "" if reject is None and full is None else f"({'·' if reject is None else reject}, {full or '·'})"
        out.append(f"{own.get('start', 'carry')}{steps}")
    return out


def _short(key: str, value: Any) -> str:
    if isinstance(value, list):
        return f"{len(value)} values of {key}"
    return f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}"


def read(path: str | Path) -> Dataset:
    """Open a stored run.

    Parameters
    ----------
    path : str or Path
        A folder that ``simspec run`` or ``simspec validate`` wrote.

    Raises
    ------
    DatasetError
        The folder is missing, is not a simspec dataset, or is of a newer schema.

    Examples
    --------
    >>> read("results/never-run")
    Traceback (most recent call last):
    ...
    simspec.model.errors.DatasetError: results/never-run: there is no such folder
    """
    folder = Path(path)
    try:
        if not folder.exists():
            raise DatasetError(f"{folder}: there is no such folder")
        if not folder.is_dir():
            raise DatasetError(f"{folder}: is a file; allowed: the folder of a run, e.g. results/quickstart")
    except OSError as error:
        raise DatasetError(f"{folder}: cannot be read ({error.strerror})") from None
    manifest = read_manifest(folder)
    if manifest is None:
        raise DatasetError(f"{folder}: is not a simspec dataset (it has no {MANIFEST})")
    if not isinstance(manifest.get("schema_version"), int):
        raise DatasetError(f"{folder}: its {MANIFEST} names no schema version, so it is not a simspec dataset")
    if manifest["schema_version"] > SCHEMA_VERSION:
        raise DatasetError(f"{folder}: was written by a newer simspec (schema {manifest['schema_version']})")
    return Dataset(folder, manifest)


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest of a folder; None if there is none."""
    path = folder / MANIFEST
    if not path.is_file():
        return None
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DatasetError(f"{path}: cannot be read ({error})") from None
    if not isinstance(value, dict):
        raise DatasetError(f"{path}: is not a manifest")
    return value
