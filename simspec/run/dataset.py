"""What is in a result folder?  The three tables as pandas frames, the scenario that made them, where they come from."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simspec.model import DatasetError, ParameterError, Scenario, Scheme
from simspec.model.cost import CHANGES
from simspec.model.serving import Serving
from simspec.run.address import is_remote
from simspec.run.best_table import PRICES, best_table
from simspec.run.columns import column, rows_of, values
from simspec.run.manifest import read_manifest
from simspec.run.pick import picked
from simspec.run.rounds import read_rounds
from simspec.run.schema import SCHEMA_VERSION
from simspec.run.store import MANIFEST, SCHEMAS
from simspec.run.systems import System, systems, systems_text
from simspec.text import clean, command, plural

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_KINDS = (*PRICES, "process", "parameters", "scheme", "scheme_parameters")
_OF_BEFORE: dict[str, Any] = {
    "looks": 0,
    **dict.fromkeys(CHANGES, 0.0),
    **{f"serving_{key}": field.default for key, field in Serving.model_fields.items()},
}
"""Columns that files of before there were such lack, and what they would say."""

_INTERVALS = """\
intervals at {level:.0%}: the noise of this simulation, not the error of your rates and costs; tied
κ cannot be told from the best at this budget (paired, simultaneous).  More: the estimates table.
seed {seed}, {windows} windows per simulation and κ, """
_ORIGINS = {
    "simulate": _INTERVALS + "stream version {stream};",
    "multinomial": _INTERVALS + "each in one multinomial draw by numpy {numpy};",
    "exact": "exact values: nothing was drawn or counted, intervals have no width, and tied κ are equal;",
}
"""Where the numbers come from, by method."""


class Dataset:
    """A stored run.

    Attributes
    ----------
    path : Path
        The folder.
    place : str
        The same, or the address of which the folder is a copy.
    manifest : dict
        Scenario, versions, and the volatile provenance: time, host, command.
    """

    def __init__(
        self, path: Path, manifest: dict[str, Any], where: Mapping[str, Any] | None = None, address: str = ""
    ) -> None:
        self.path, self.manifest, self._where = path, manifest, dict(where or {})
        self.place = address or str(path)

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
        files, named = sorted((self.path / name).glob("part-*.parquet")), self.manifest.get("files")
        if isinstance(named, dict):  # else of before manifests named them; others are left over, or of points before
            files = [file for file in files if f"{name}/{file.name}" in named]
        if not files:
            shard = self.manifest.get("shard")
            told = f"holds shard {shard} only; simspec combine FOLDER {self.place} … makes a dataset of all shards"
            absent = f"holds no {name} yet; {command('simspec', 'run', self.place)} continues it"
            raise DatasetError(f"{self.place}: {told if shard else absent}")
        return files

    def table(self, name: str) -> pa.Table:
        """One of the tables as Arrow has it: chunks, counts, estimates, or the tallies they follow from."""
        import pyarrow as pa

        try:
            parts = [_read_part(file, SCHEMAS[name]) for file in self._files(name)]
        except (pa.ArrowInvalid, OSError) as error:
            raise DatasetError(f"{self.path / name}: cannot be read ({error})") from None
        return pa.concat_tables(parts).unify_dictionaries()

    def _frame(self, name: str) -> pd.DataFrame:
        frame: pd.DataFrame = self.table(name).to_pandas()
        return frame

    def where(self, **columns: Any) -> Dataset:
        """The part of a run whose columns say so, e.g. ``where(policy="rolling", c_d=0.1)``.

        Parameters
        ----------
        **columns
            A column of the estimates that says what was run (those before ``kappa``), and its value.  ``process``,
            ``scheme`` and ``policy`` may be named by their label or as tables name them.

        Raises
        ------
        ParameterError, DatasetError
            There is no such column, or no such row; the message says which there are.
        """
        own = Dataset(self.path, self.manifest, self._where | columns, self.place)
        picked(own.table("estimates"), own._where, self.path)
        return own

    @functools.cached_property
    def chunks(self) -> pd.DataFrame:
        """Totals by simulation, κ, chunk and lane."""
        return self._own(self._frame("chunks"))

    @functools.cached_property
    def counts(self) -> pd.DataFrame:
        """Rounds by simulation, κ, drafted and accepted."""
        return self._own(self._frame("counts"))

    def _own(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The rows of the simulations of this part of the run."""
        if not self._where:
            return frame
        return frame[frame["simulation_id"].isin(self.simulation_ids)].reset_index(drop=True)

    @property
    def is_part(self) -> bool:
        """Whether it is not the whole run."""
        return bool(self._where)

    @property
    def simulation_ids(self) -> set[str]:
        """Which simulations it holds."""
        return set(values(self._estimates_table, "simulation_id").tolist())

    @property
    def looks(self) -> dict[str, int]:
        """How often each simulation was looked at, by id; 0 where the budget was fixed."""
        found = (values(self._estimates_table, name).tolist() for name in ("simulation_id", "looks"))
        return dict(zip(*found, strict=True))

    @functools.cached_property
    def estimates(self) -> pd.DataFrame:
        """One row per point and κ: estimates with intervals."""
        frame: pd.DataFrame = self._estimates_table.to_pandas(split_blocks=True)
        return frame

    def to_pandas(self) -> pd.DataFrame:
        """The estimates."""
        return self.estimates

    def rounds(self, which: str | None = None, kappa: int | None = None) -> pd.DataFrame:
        """Single rounds of one simulation at one κ, if they were recorded (``simspec run --record``).

        Parameters
        ----------
        which : str, optional
            A simulation id or a point id, or its first digits; not needed if there is one simulation only.
        kappa : int, optional
            Not needed if there is one only.

        Returns
        -------
        DataFrame
            ``unit``, ``round``, ``position`` (where output sequences are played), ``drafted``, ``accepted``.

        Raises
        ------
        DatasetError
            There are no such rounds; the message says which there are.
        """
        return read_rounds(self.path, self._estimates_table, which, kappa)

    def best(self) -> pd.DataFrame:
        """One row per point: the row of κ*, with ``indistinguishable_kappas`` and ``within_2pct_kappas``."""
        positions, sets = self._best_rows
        rows: pd.DataFrame = self._estimates_table.take(positions).to_pandas()
        for name, own in sets.items():
            rows[name] = own
        return rows

    def best_records(self, most: int | None = None) -> list[dict[str, Any]]:
        """The first rows of `best` as plain Python values, read without pandas; all of them by default."""
        positions, sets = self._best_rows
        records = rows_of(self._estimates_table, positions[:most])
        for name, own in sets.items():
            for record, kappas in zip(records, own[:most], strict=True):
                record[name] = kappas
        return records

    @functools.cached_property
    def _estimates_table(self) -> pa.Table:
        import pyarrow as pa

        stored = self.table("estimates")
        return stored.filter(column(picked(stored, self._where, self.path), pa.bool_())) if self._where else stored

    @functools.cached_property
    def _best_rows(self) -> tuple[np.ndarray, dict[str, list[tuple[int, ...]]]]:
        """Where the rows of κ* are, and the sets of κ that belong to each."""
        stored = self._estimates_table
        kappa, point = values(stored, "kappa"), values(stored, "point_id")
        positions = np.flatnonzero(kappa == values(stored, "kappa_star"))
        columns = {}
        for flag in ("indistinguishable", "within_2pct"):
            sets: dict[str, list[int]] = {}
            for row in np.flatnonzero(values(stored, flag)):
                sets.setdefault(point[row], []).append(int(kappa[row]))
            columns[f"{flag}_kappas"] = [tuple(sets[point[row]]) for row in positions]
        return positions, columns

    def __repr__(self) -> str:
        return self.summary(most=20)

    def summary(self, most: int | None = 40) -> str:
        """Best κ per point with its interval, and where the numbers come from."""
        points = len(self._best_rows[0])
        lines = [f"{clean(self.scenario.name)}: {plural(points, 'point')} in {clean(self.place)}"]
        if self.scenario.method != "simulate":
            lines[0] += f", method {self.scenario.method}"
        if self.failed:
            lines[0] += f"; {plural(len(self.failed), 'simulation')} without numbers, see below"
        if self._where:
            lines[0] += f", only {', '.join(f'{key} = {value}' for key, value in self._where.items())}"
        if not self.complete:
            lines[0] += f"  (not complete; {command('simspec', 'run', self.place)} continues it)"
        rest = [f"… and {points - most:,} more"] if most is not None and points > most else []
        lines += ["", self._best_text(most), *rest, "", *self._failures(), *self._origin()]
        lines += self._stopped() + self._recorded()
        return "\n".join(map(clean, "\n".join(lines).split("\n")))  # names in tables are whatever stands there

    def _best_text(self, most: int | None) -> str:
        kinds = self._kinds()
        if kinds["scheme"] <= {"chain", None} and kinds["scheme_parameters"] <= {"{}", None}:
            return best_table(self.best_records(most), kinds)
        return systems_text(self.systems(), most)

    def systems(self) -> list[System]:
        """Every scheme at its best κ, in the order of the scenario."""
        return systems(self.best_records(), self._kinds()["parameters"], self._order())

    def _order(self) -> list[Scheme]:
        """The schemes of the scenario; none where one is of a package that is not here, since numbers need none."""
        try:
            return self.scenario.schemes()
        except ParameterError as error:
            if error.key.rpartition(".")[2] != "type":
                raise
            return []

    @property
    def many_schemes(self) -> bool:
        """Whether rounds are drafted or verified in more ways than one."""
        rows = (values(self._estimates_table, name) for name in ("scheme", "scheme_parameters", "scheme_label"))
        return len(set(zip(*(row.tolist() for row in rows), strict=True))) > 1

    def _kinds(self) -> dict[str, set[Any]]:
        """What all points have together: the different prices, and pairs of process and parameters."""
        column = {name: values(self._estimates_table, name)[self._best_rows[0]].tolist() for name in _KINDS}
        return {name: set(column[name]) for name in PRICES} | {
            "parameters": set(zip(column["process"], column["parameters"], strict=True)),
            "scheme": set(column["scheme"]),
            "scheme_parameters": set(column["scheme_parameters"]),
        }

    @property
    def failed(self) -> list[dict[str, str]]:
        """Simulations that could not be played, each with process and error; the others are complete."""
        return list(self.manifest.get("failed", []))

    def _failures(self) -> list[str]:
        lines = [f"not simulated: {clean(entry['process'])}: {clean(entry['error'])}" for entry in self.failed]
        return [f"{plural(len(lines), 'simulation')} failed, the others are complete", *lines[:20], ""] if lines else []

    def _stopped(self) -> list[str]:
        """What became of a run that stops by itself."""
        from simspec.run.decided import told

        return [] if self.scenario.stop is None else told(self.scenario.stop, self._estimates_table)

    def _recorded(self) -> list[str]:
        note = self.manifest.get("rounds")
        if not note:
            return []
        sample = "" if note["every"] == 1 else f", from one chunk in {note['every']:,}"
        lack = "" if note["complete"] else f" (not all yet; {command('simspec', 'run', self.place)} goes on)"
        return [
            f"rounds/ holds up to {note['record']:,} single rounds of each simulation and κ{sample}{lack}: "
            "simspec.read(…).rounds(id, kappa)."
        ]

    def _origin(self) -> list[str]:
        made, own = self.manifest.get("provenance", {}), self.scenario
        windows = f"{'at most ' if own.stop else ''}{own.windows:,}"
        facts: dict[str, Any] = {"level": own.level, "seed": own.seed, "windows": windows}
        facts |= {"stream": self.manifest.get("stream_version"), "numpy": made.get("libraries", {}).get("numpy", "?")}
        return [
            *_ORIGINS[own.method].format(**facts).splitlines(),
            clean(
                f"made {made.get('finished', made.get('started', '?'))} by simspec {made.get('simspec', '?')} "
                f"in {made.get('seconds', '?')} s."
            ),
        ]


def _read_part(file: Path, schema: pa.Schema) -> pa.Table:
    """One file in today's schema, columns it lacks being null; else the general reader, which imports pandas."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as opened:
        stored, rows = opened.schema_arrow, opened.metadata.num_rows
        if [field.name for field in schema if field.name in stored.names] == stored.names and all(
            schema.field(field.name).type == field.type for field in stored
        ):
            columns = dict(zip(stored.names, opened.read().columns, strict=True))
            every = [columns.get(field.name, pa.nulls(rows, field.type)) for field in schema]
            return _completed(pa.Table.from_arrays(every, schema=schema), stored.names)
    return _completed(pq.read_table(file, schema=schema), stored.names)


def _completed(table: pa.Table, stored: list[str]) -> pa.Table:
    """A file of before changes of κ had a price, policies conditions, and runs looks, says that there were none."""
    for place, field in enumerate(table.schema):
        if field.name in _OF_BEFORE and field.name not in stored:
            values = np.full(table.num_rows, _OF_BEFORE[field.name])
            table = table.set_column(place, field, column(values, field.type))
    return table


def read(path: str | Path) -> Dataset:
    """Open a stored run.

    Parameters
    ----------
    path : str or Path
        A folder that ``simspec run`` or ``simspec validate`` wrote; or its address in an object store.

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
    if is_remote(path):
        from simspec.run.remote import fetched

        mirror = fetched(str(path))
        return Dataset(mirror.folder, _manifest_of(mirror.folder, mirror.name), address=mirror.name)
    folder = Path(path)
    try:
        if not folder.exists():
            raise DatasetError(f"{folder}: there is no such folder")
        if not folder.is_dir():
            raise DatasetError(f"{folder}: is a file; allowed: the folder of a run, e.g. results/quickstart")
    except OSError as error:
        raise DatasetError(f"{folder}: cannot be read ({error.strerror})") from None
    return Dataset(folder, _manifest_of(folder, str(folder)))


def _manifest_of(folder: Path, place: str) -> dict[str, Any]:
    """The manifest of a folder that has to have one we understand; errors name the place that was asked for."""
    manifest = read_manifest(folder)
    if manifest is None:
        raise DatasetError(f"{place}: is not a simspec dataset (it has no {MANIFEST})")
    if not isinstance(manifest.get("schema_version"), int):
        raise DatasetError(f"{place}: its {MANIFEST} names no schema version, so it is not a simspec dataset")
    if manifest["schema_version"] > SCHEMA_VERSION:
        raise DatasetError(f"{place}: was written by a newer simspec (schema {manifest['schema_version']})")
    return manifest
