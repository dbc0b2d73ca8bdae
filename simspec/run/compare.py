"""Do two result folders follow the same law?  Matched by simulation, κ and point; judged with one family-wise error."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simspec.kernels.tally import SUMS
from simspec.model import Cost, DatasetError, ParameterError, Processes, SimspecError
from simspec.run.comparison import Comparison, LeftOut, Row
from simspec.run.dataset import Dataset, read
from simspec.run.layout import USUAL_ROUNDS
from simspec.stats import difference as stats
from simspec.text import clean, kappa_set

if TYPE_CHECKING:
    import pandas as pd

_SUMS = [name if name == "n" else f"sum_{name}" for name in SUMS]
_N = SUMS.index("n")
_UNIT = ["kappa", "chunk", "lane"]
_ORIGIN = ["seed", "stream_version"]
_COST = ["c0", "c_d", "c_v", "c_r", "off"]
_POINT = ["point_id", "simulation_id", "process", "parameters", "label", *_COST, "cost_tables"]


def compare(a: str | Path | Dataset, b: str | Path | Dataset, error: float = 1e-3, shift: float = 0.002) -> Comparison:
    """Compare two stored runs, point by point and quantity by quantity.

    Parameters
    ----------
    a, b : path or Dataset
        Folders that ``simspec run`` wrote.
    error : float
        Probability that any difference at all is reported of runs of the same law (Holm), 0 < error < 1.
    shift : float
        Relative shift of E[A] whose budget is wanted, > 0.

    Returns
    -------
    Comparison
        With ``differs``, ``differences``, ``pairs``, ``left_out``, ``to_pandas()`` and a readable repr.

    Raises
    ------
    DatasetError
        A folder is missing or no dataset, or the two have nothing in common.
    ParameterError
        ``error`` or ``shift`` is outside its range.

    Examples
    --------
    >>> import simspec, tempfile, pathlib
    >>> table = {"name": "tiny", "windows": 10_000, "kappa": [0, 4], "process": {"type": "iid", "alpha": 0.7}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     runs = [simspec.sweep(table, pathlib.Path(folder) / f"{seed}", seed=seed) for seed in (1, 2)]
    ...     compare(*runs).differs
    False
    """
    if not 0.0 < error < 1.0:
        raise ParameterError("error", f"error = {error!r} is out of range; allowed: 0 < error < 1")
    if not 0.0 < shift < float("inf"):
        raise ParameterError("shift", f"shift = {shift!r} is out of range; allowed: shift > 0")
    return Matching(Side(a), Side(b), error, shift).compare()


class Side:
    """One folder: which part holds a simulation, and what its points cost."""

    def __init__(self, dataset: str | Path | Dataset) -> None:
        self.path = (dataset if isinstance(dataset, Dataset) else read(dataset)).path
        self.left_out: list[LeftOut] = []
        self.load = functools.lru_cache(maxsize=2)(self._load)
        parts = self._parts("chunks")
        if not parts:
            raise DatasetError(f"{self.path}: holds no chunk tables; allowed: a folder that simspec run wrote")
        self.where: dict[str, tuple[Path, ...]] = {}
        for part in parts:
            ids = self._read(part, ["simulation_id"])
            for own in [] if ids is None else ids["simulation_id"].unique():
                self.where[str(own)] = (*self.where.get(str(own), ()), part)
        if not self.where:
            raise DatasetError(f"{self.path / 'chunks'}: cannot be read ({self.left_out[0].why})")
        self.points = self._points()

    def _parts(self, name: str) -> list[Path]:
        return sorted((self.path / name).glob("part-*.parquet"))

    def _read(self, part: Path, columns: list[str]) -> pd.DataFrame | None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            frame: pd.DataFrame = pq.read_table(part, columns=columns).to_pandas()
            return frame[columns]
        except (pa.ArrowException, OSError, KeyError, ValueError) as error:
            why = clean(str(error).strip().split("\n")[0])
            self.left_out.append(LeftOut(str(part), f"cannot be read ({why})"))
            return None

    def _load(self, parts: tuple[Path, ...]) -> pd.DataFrame | None:
        """Rows of units in these parts, None if one cannot be read."""
        import pandas as pd

        frames = [self._read(part, ["simulation_id", *_UNIT, *_SUMS, *_ORIGIN]) for part in parts]
        return None if any(f is None for f in frames) else pd.concat(frames, ignore_index=True)

    def _points(self) -> pd.DataFrame:
        import pandas as pd

        found = [self._read(part, _POINT) for part in self._parts("estimates")]
        plain = dict.fromkeys(_POINT[:5], object)
        frames = [f.drop_duplicates("point_id").astype(plain) for f in found if f is not None]
        whole = pd.concat(frames) if frames else pd.DataFrame(columns=_POINT)
        return whole.drop_duplicates("point_id").set_index("point_id")


@dataclass(frozen=True)
class Units:
    """Rows of one side by simulation, κ, chunk, lane: place, sums, seed and version, keys of groups, their starts."""

    place: NDArray[np.int64]
    sums: NDArray[np.int64]
    origin: NDArray[np.uint64]
    keys: NDArray[np.int64]
    starts: NDArray[np.int64]

    @staticmethod
    def of(frame: pd.DataFrame, ids: list[str]) -> Units:
        import pandas as pd

        own = frame["simulation_id"].astype("category").cat
        code = pd.Index(ids).get_indexer(own.categories).astype(np.int64)[own.codes]
        frame, code = frame[code >= 0], code[code >= 0]
        key = code * 2**16 + frame["kappa"].to_numpy(np.int64)
        place = frame[["chunk", "lane"]].to_numpy(np.int64)
        order = np.lexsort((place[:, 1], place[:, 0], key))
        sums, origin = frame[_SUMS].to_numpy(np.int64)[order], frame[_ORIGIN].to_numpy(np.uint64)[order]
        return Units(place[order], sums, origin, *np.unique(key[order], return_index=True))

    @property
    def size(self) -> NDArray[np.int64]:
        return np.diff(np.append(self.starts, len(self.sums)))

    def take(self, chosen: NDArray[np.bool_]) -> Units:
        """Some of the groups."""
        rows = np.repeat(chosen, self.size)
        starts = np.append(0, np.cumsum(self.size[chosen]))[:-1]
        return Units(self.place[rows], self.sums[rows], self.origin[rows], self.keys[chosen], starts)


class Matching:
    """The comparison in the making: batch by batch, so that memory holds one part of each side."""

    def __init__(self, one: Side, two: Side, error: float, shift: float) -> None:
        self.one, self.two, self.error, self.shift = one, two, error, shift
        self.left_out: list[LeftOut] = []
        self.names = {own: f"simulation {own[:12]}" for own in one.where}
        every = [*one.points.to_dict("records"), *two.points.to_dict("records")]
        self.replays = {row["simulation_id"] for row in every if row["process"] == "trace"}
        for points in (two.points, one.points):
            for row in points.drop_duplicates("simulation_id").to_dict("records"):
                self.names[row["simulation_id"]] = _name(row)
        self.points = one.points[one.points.index.isin(two.points.index)]
        self.frames: list[dict[str, Any]] = []
        self.pairs: list[dict[str, Any]] = []
        self.plans: list[tuple[stats.Moments, stats.Moments]] = []

    def compare(self) -> Comparison:
        """Match, test, adjust."""
        import pandas as pd

        one, two = self.one, self.two
        for mine, other in ((one, two), (two, one)):
            self._only(mine, [self.names.get(own, own) for own in mine.where if own not in other.where])
            both = mine.points[mine.points["simulation_id"].isin(one.where.keys() & two.where.keys())]
            alone = both[~both.index.isin(other.points.index)]
            self._only(mine, [f"{self.names[r['simulation_id']]}; {_cost_name(r)}" for _, r in alone.iterrows()])
        for ids, a, b in self._batches():
            self._batch(ids, a, b)
        left_out = (*one.left_out, *two.left_out, *self.left_out)
        if not self.frames:
            why = f"; {left_out[0].what}: {left_out[0].why}" if left_out else ""
            raise DatasetError(f"{one.path} and {two.path}: have no simulation and κ in common{why}")
        order = [field.name for field in dataclasses.fields(Row)][:9]
        frame = pd.concat([pd.DataFrame(f)[order] for f in self.frames], ignore_index=True).dropna(subset=["p_value"])
        frame["p_holm"] = stats.holm(frame["p_value"].to_numpy())
        frame["differs"] = frame["p_holm"] <= self.error
        frame = frame.sort_values(["simulation_id", "kappa"], kind="stable", ignore_index=True)
        plans = [stats.planning(*m, self.error / len(frame), self.shift, USUAL_ROUNDS) for m in self.plans]
        pairs = pd.concat([pd.DataFrame(f) for f in self.pairs], ignore_index=True)
        pairs["detectable_shift"], pairs["windows_needed"] = np.concatenate(plans, axis=1)
        no_budget = pairs["simulation_id"].isin(self.replays)  # more windows do not bring more requests
        pairs.loc[no_budget, ["detectable_shift", "windows_needed"]] = np.nan
        pairs = pairs.sort_values(["simulation_id", "kappa"], kind="stable", ignore_index=True)
        self.names.update({str(point): _cost_name(row) for point, row in self.points.iterrows()})
        folders, left_out = (str(one.path), str(two.path)), tuple(dict.fromkeys(left_out))
        return Comparison(*folders, self.error, self.shift, frame, pairs, left_out, self.names)

    def _only(self, side: Side, names: list[str]) -> None:
        self.left_out += [LeftOut(name, f"only in {side.path}") for name in names]

    def _batches(self) -> Iterator[tuple[list[str], Units, Units]]:
        """Simulations both sides have, by the parts that hold them, cut to the κ both have."""
        together: dict[tuple[tuple[Path, ...], tuple[Path, ...]], list[str]] = {}
        for own, held in self.one.where.items():
            if own in self.two.where:
                together.setdefault((held, self.two.where[own]), []).append(own)
        for parts, ids in together.items():
            mine, other = self.one.load(parts[0]), self.two.load(parts[1])
            if mine is None or other is None:
                self.left_out += [LeftOut(self.names[own], "its part cannot be read") for own in ids]
                continue
            a, b = Units.of(mine, ids), Units.of(other, ids)
            for side, keys, others in ((self.one, a.keys, b.keys), (self.two, b.keys, a.keys)):
                alone = keys[~np.isin(keys, others)]
                kappas = {ids[c]: (alone[alone // 2**16 == c] % 2**16).tolist() for c in np.unique(alone // 2**16)}
                self._only(side, [f"{self.names[own]}; κ = {kappa_set(found)}" for own, found in kappas.items()])
            a, b = a.take(np.isin(a.keys, b.keys)), b.take(np.isin(b.keys, a.keys))
            enough = (a.size > 1) & (b.size > 1)
            for key in a.keys[~enough]:
                name = f"{self.names[ids[key // 2**16]]}; κ = {key % 2**16}"
                self.left_out.append(LeftOut(name, "a single unit has no error estimate"))
            if enough.any():
                yield ids, a.take(enough), b.take(enough)

    def _batch(self, ids: list[str], a: Units, b: Units) -> None:
        replayed = np.array([own in self.replays for own in ids])[a.keys // 2**16]  # units are the requests of one file
        same = (a.size == b.size) & (replayed | (a.origin[a.starts] == b.origin[b.starts]).all(axis=1))
        x, y = a.take(same), b.take(same)
        if same.any():  # the same words: also the same units of the same number of rounds
            rounds = (x.sums[:, _N] == y.sums[:, _N]) | np.repeat(replayed[same], x.size)
            same[same] = np.logical_and.reduceat((x.place == y.place).all(axis=1) & rounds, x.starts)
        for paired in (True, False):
            if not (same == paired).any():
                continue
            x, y = a.take(same == paired), b.take(same == paired)
            first, second = stats.moments(x.sums, x.starts), stats.moments(y.sums, y.starts)
            both = stats.shared(x.sums, y.sums, x.starts) if paired else None
            names = np.array(ids, object)[x.keys // 2**16]
            group = {"simulation_id": names, "kappa": x.keys % 2**16}
            how = "independent" if both is None else np.where(both.changed == 0.0, "identical", "paired")
            self.plans.append((first, second))
            self.pairs.append(group | {
                "how": how, "rounds_a": first.total[:, _N].astype(int), "rounds_b": second.total[:, _N].astype(int),
                "units_a": x.size, "units_b": y.size,
                "mean_accepted": stats.estimate("mean_accepted", first.total + second.total)[0],
            })  # fmt: skip
            for quantity in stats.WINDOW_QUANTITIES:
                self._test(quantity, group, None, first, second, both, None)
            mine = self.points["simulation_id"].isin(ids)
            for _, points in self.points[mine].groupby([*_COST, "cost_tables"], observed=True):
                first_point = points.iloc[0]
                if first_point["cost_tables"] != "{}":  # priced by κ, not by sums: their counts are compared above
                    continue
                price = Cost(**{key: float(first_point[key]) for key in _COST})  # type: ignore[arg-type]
                where = dict(zip(points["simulation_id"], points.index, strict=True))
                point = np.array([where.get(own) for own in names], object)
                has = np.array([own in where for own in names])
                if has.any():
                    some = {name: values[has] for name, values in group.items()}
                    moments = first.take(has), second.take(has), None if both is None else both.take(has)
                    for quantity in stats.PRICED_QUANTITIES:
                        self._test(quantity, some, point[has], *moments, price)

    def _test(
        self, quantity: str, group: dict[str, Any], point: Any, a: stats.Moments, b: stats.Moments,
        both: stats.Shared | None, cost: Cost | None,
    ) -> None:  # fmt: skip
        done = stats.independent(quantity, a, b, cost) if both is None else stats.paired(quantity, a, b, both, cost)
        self.frames.append({**group, "point_id": point, "quantity": quantity, **vars(done)})


def _name(row: Any) -> str:
    try:
        return str(Processes.make(type=row["process"], label=row["label"], **json.loads(row["parameters"])))
    except (SimspecError, ValueError, TypeError):  # of a process this version does not know
        return f"{row['label'] or row['process']} {row['simulation_id'][:12]}"


def _cost_name(row: Any) -> str:
    return ", ".join(f"{key} = {row[key]:g}" for key in _COST)
