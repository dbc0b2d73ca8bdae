"""Which independent units does a result folder hold, simulation by simulation?  Lanes as stored, or windows counted.

A folder of exact values holds no units: its law stands for more windows than any run has.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simspec.kernels.tally import SUMS
from simspec.model import DatasetError
from simspec.model.cost import CHANGES
from simspec.model.identity import canonical_json
from simspec.model.serving import KEYS as SERVING
from simspec.model.serving import Serving
from simspec.run.comparison import LeftOut
from simspec.run.dataset import Dataset, read
from simspec.run.lawful import law_of, moments_of
from simspec.run.schema import WHOLE_CHUNK
from simspec.run.versus import Part, asked_alike
from simspec.stats import difference as stats
from simspec.stats.counts import Ints, round_sums
from simspec.text import clean
from simspec.theory.scheme_means import SchemeLaw

if TYPE_CHECKING:
    import pandas as pd

COST = ["c0", "c_d", "c_v", "c_r", "off", *CHANGES]
_SUMS = [name if name == "n" else f"sum_{name}" for name in SUMS]
_N = SUMS.index("n")
_UNIT = ["kappa", "chunk", "lane"]
_ORIGIN = ["seed", "stream_version", "method"]
_COUNT = ["drafted", "accepted", "count"]
_WORDS = [
    "point_id",
    "simulation_id",
    "process",
    "parameters",
    "label",
    "method",
    "scheme",
    "scheme_parameters",
    "scheme_label",
    "policy",
    "policy_parameters",
    "policy_label",
    *(f"serving_{key}" for key in SERVING),
]
_OF_BEFORE: dict[str, Any] = {
    "method": "simulate",
    "looks": 0,
    "scheme": "chain",
    "scheme_parameters": "{}",
    "scheme_label": "",
    "policy": "fixed",
    "policy_parameters": "{}",
    "policy_label": "",
    **{f"serving_{key}": field.default for key, field in Serving.model_fields.items()},
    **dict.fromkeys(CHANGES, 0.0),
}
"""Columns that files of before there were several lack, and what they would say."""
_POINT = [*_WORDS, *COST, "cost_tables"]


class Side:
    """One folder: which part holds a simulation, and what its points cost."""

    def __init__(self, dataset: str | Path | Dataset) -> None:
        own = dataset if isinstance(dataset, Dataset) else read(dataset)
        self.path, self.place = own.path, own.place
        self.left_out: list[LeftOut] = []
        self.lawless: set[tuple[str, int]] = set()
        self.means_only: set[tuple[str, int]] = set()
        self.load = functools.lru_cache(maxsize=2)(self._load)
        self.part: Part | None = None
        self._point_names: dict[str, str] = {}
        parts = self._parts("chunks")
        if not parts:
            told = "a shard, whose counts are in no table yet" if "shard" in own.manifest else "no chunk tables"
            allowed = "allowed: a folder that simspec run finished, or that simspec combine made of all shards"
            raise DatasetError(f"{self.path}: holds {told}; {allowed}")
        self.points = self._points()
        if isinstance(dataset, Dataset) and dataset.is_part:
            self.points = self.points[self.points["simulation_id"].isin(dataset.simulation_ids)]
        self.exact = set(self.points["method"]) == {"exact"}
        self.where = self._where(isinstance(dataset, Dataset) and dataset.is_part)
        if not self.where:
            why = self.left_out[0].why if self.left_out else "no simulation was played"
            raise DatasetError(f"{self.path / 'chunks'}: cannot be read ({why})")

    def _where(self, points_only: bool) -> dict[str, tuple[Path, ...]]:
        """Simulation to the parts that hold it."""
        found: dict[str, tuple[Path, ...]] = {}
        own_ids = set(self.points["simulation_id"])
        for part in self._parts("estimates" if self.exact else "chunks"):
            ids = self._read(part, ["simulation_id"])
            for own in [] if ids is None else ids["simulation_id"].unique():
                if not points_only or own in own_ids:
                    found[str(own)] = (*found.get(str(own), ()), part)
        return found

    def fixed_kappas(self) -> list[int]:
        """κ at which those ran that do not change it."""
        frames = [self._read(part, ["kappa", "policy"]) for part in self._parts("estimates")]
        return sorted({int(k) for f in frames if f is not None for k in f.loc[f["policy"] == "fixed", "kappa"]})

    def cut(self, part: Part) -> None:
        """Keep what one policy played, every simulation called by its question."""
        self.part = part
        own = self.points[self.points["simulation_id"].isin(list(part.question))]
        own = own.assign(simulation_id=own["simulation_id"].map(part.question))
        prices = [canonical_json([row[name] for name in (*COST, "cost_tables")]) for row in own.to_dict("records")]
        names = [f"{question} {price}" for question, price in zip(own["simulation_id"], prices, strict=True)]
        self._point_names = dict(zip(own.index, names, strict=True))
        self.points = own.set_axis(names, axis=0)
        self.where = self._where(points_only=True)

    def _parts(self, name: str) -> list[Path]:
        return sorted((self.path / name).glob("part-*.parquet"))

    def _read(self, part: Path, columns: list[str]) -> pd.DataFrame | None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            stored = pq.read_schema(part).names
            frame: pd.DataFrame = pq.read_table(part, columns=[c for c in columns if c in stored]).to_pandas()
            for name, usual in _OF_BEFORE.items():
                if name in columns and name not in stored:
                    frame[name] = usual
            return self._renamed(frame[columns])
        except (pa.ArrowException, OSError, KeyError, ValueError) as error:
            why = clean(str(error).strip().split("\n")[0])
            self.left_out.append(LeftOut(str(part), f"cannot be read ({why})"))
            return None

    def _renamed(self, frame: pd.DataFrame) -> pd.DataFrame:
        """By question, where policies are compared."""
        if self.part is None or "simulation_id" not in frame:
            return frame
        own = asked_alike(frame, self.part)
        return own.assign(point_id=own["point_id"].map(self._point_names)) if "point_id" in own else own

    def units(self, parts: tuple[Path, ...], ids: list[str], names: dict[str, str]) -> Units | None:
        """Units of some simulations that lie in ``parts``; None if one cannot be read."""
        if self.exact:
            law = ["process", "parameters", "scheme", "scheme_parameters", "mean_accepted"]
            rows = self._join(parts, ["simulation_id", "kappa", *law])
            return None if rows is None else self._lawful(rows, ids, names)
        loaded = self.load(parts)
        return None if loaded is None else Units.of(*loaded, ids)

    def _lawful(self, rows: pd.DataFrame, ids: list[str], names: dict[str, str]) -> Units:
        """Groups of exact values, by their laws; those without one are left out."""
        key = keys_of(rows, ids)
        found = {}
        for own, point in zip(key.tolist(), rows.to_dict("records"), strict=True):
            if own >= 0 and own not in found:
                alone = None if self.part is None else self.part.kappa
                found[own] = law_of(point, own % 2**16 if alone is None else alone)
        laws = {own: law for own, law in sorted(found.items()) if not isinstance(law, str)}
        for own, why in found.items():
            if isinstance(why, str):
                self.lawless.add((ids[own // 2**16], own % 2**16))
                self.left_out.append(LeftOut(f"{names[ids[own // 2**16]]}; κ = {own % 2**16}", why))
        bare = [own for own, law in laws.items() if isinstance(law, SchemeLaw) and law.pmf_accepted is None]
        self.means_only |= {(ids[own // 2**16], own % 2**16) for own in bare}
        place, nothing = np.full((len(laws), 2), WHOLE_CHUNK), np.zeros((len(laws), len(SUMS)), np.int64)
        origin, keys = np.zeros((len(laws), len(_ORIGIN)), np.uint64), np.array(list(laws), np.int64)
        return Units(place, nothing, origin, keys, np.arange(len(laws)), moments_of(list(laws.values())))

    def estimates(self, parts: tuple[Path, ...], points: pd.Index) -> pd.DataFrame | None:
        """Stored estimates of prices at some points, by point and κ; None if a part cannot be read."""
        of_parts = tuple(self.path / "estimates" / part.name for part in parts)
        ends = [f"{name}{end}" for name in stats.PRICED_QUANTITIES for end in ("", "_high")]
        rows = self._join(of_parts, ["point_id", "simulation_id", "kappa", "level", "looks", "units", *ends])
        if rows is None:
            return None
        own = rows[rows["point_id"].isin(points)]
        return own.astype({"point_id": object, "simulation_id": object}).set_index(["point_id", "kappa"])

    def _load(self, parts: tuple[Path, ...]) -> tuple[pd.DataFrame, pd.DataFrame] | None:
        """Rows of chunks in these parts, and of counts where windows are the units; None if one cannot be read."""
        chunks = self._join(parts, ["simulation_id", *_UNIT, *_SUMS, *_ORIGIN])
        if chunks is None:
            return None
        whole = (chunks["lane"] == WHOLE_CHUNK).any()
        counted = [self.path / "counts" / part.name for part in parts] if whole else []
        counts = self._join(counted, ["simulation_id", "kappa", *_COUNT]) if whole else chunks.iloc[:0]
        return None if counts is None else (chunks, counts)

    def _join(self, parts: Sequence[Path], columns: list[str]) -> pd.DataFrame | None:
        import pandas as pd

        frames = [self._read(part, columns) for part in parts]
        return None if any(f is None for f in frames) else pd.concat(frames, ignore_index=True)

    def _points(self) -> pd.DataFrame:
        import pandas as pd

        found = [self._read(part, _POINT) for part in self._parts("estimates")]
        plain = dict.fromkeys(_WORDS, object)
        frames = [f.drop_duplicates("point_id").astype(plain) for f in found if f is not None]
        whole = pd.concat(frames) if frames else pd.DataFrame(columns=_POINT)
        return whole.drop_duplicates("point_id").set_index("point_id")


def keys_of(frame: pd.DataFrame, ids: list[str]) -> Ints:
    """Place in ``ids`` · 2¹⁶ + κ per row, negative for other simulations."""
    import pandas as pd

    own = frame["simulation_id"].astype("category").cat
    code = pd.Index(ids).get_indexer(own.categories).astype(np.int64)[own.codes]
    return np.asarray(code * 2**16 + frame["kappa"].to_numpy(np.int64))


@dataclass(frozen=True)
class Units:
    """Groups (simulation and κ) of one side: their rows of chunks, and the moments of their independent units.

    Attributes
    ----------
    place : int64 array (rows, 2)
        Chunk and lane; rows are ordered by group, chunk, lane.
    sums : int64 array (rows, 8)
    origin : uint64 array (rows, 3)
        Seed, stream version and method.
    keys, starts : int64 array (groups,)
        As of `keys_of`, and the first row.
    moments : Moments
        Over rows, or over windows where a row is a whole chunk of independent ones.
    """

    place: Ints
    sums: Ints
    origin: NDArray[np.uint64]
    keys: Ints
    starts: Ints
    moments: stats.Moments

    @staticmethod
    def of(chunks: pd.DataFrame, counts: pd.DataFrame, ids: list[str]) -> Units:
        """Units of some simulations; a group whose counts do not add up to its chunks has none."""
        key = keys_of(chunks, ids)
        chunks, key = chunks[key >= 0], key[key >= 0]
        place = chunks[["chunk", "lane"]].to_numpy(np.int64)
        order = np.lexsort((place[:, 1], place[:, 0], key))
        place, sums = place[order], chunks[_SUMS].to_numpy(np.int64)[order]
        keys, starts = np.unique(key[order], return_index=True)
        moments = stats.moments(sums, starts)
        whole = place[starts, 1] == WHOLE_CHUNK
        if whole.any():
            moments = _by_window(moments, counts, keys_of(counts, ids), keys, whole)
        return Units(place, sums, _origin(chunks)[order], keys, starts, moments)

    @property
    def size(self) -> Ints:
        """Rows per group."""
        return np.diff(np.append(self.starts, len(self.sums)))

    @property
    def whole(self) -> NDArray[np.bool_]:
        """Groups whose units are windows."""
        return np.asarray(self.place[self.starts, 1] == WHOLE_CHUNK)

    @property
    def lawful(self) -> NDArray[np.bool_]:
        """Groups of exact values, of which nothing was counted."""
        return np.asarray(self.sums[self.starts, _N] == 0)

    def take(self, chosen: NDArray[np.bool_]) -> Units:
        """Some of the groups."""
        rows = np.repeat(chosen, self.size)
        starts = np.append(0, np.cumsum(self.size[chosen]))[:-1]
        own = self.place[rows], self.sums[rows], self.origin[rows], self.keys[chosen]
        return Units(*own, starts, self.moments.take(chosen))

    def paired(self, other: Units, replayed: NDArray[np.bool_], any_rounds: bool = False) -> NDArray[np.bool_]:
        """Groups whose rows are unit by unit the same words, or (``replayed``) the same requests of a file.

        ``any_rounds``: words are the same however many rounds a unit has, as under two policies.
        """
        same = (self.size == other.size) & ~self.whole & ~other.whole
        same &= replayed | (self.origin[self.starts] == other.origin[other.starts]).all(axis=1)
        if same.any():  # the same words: also the same units of the same number of rounds
            x, y = self.take(same), other.take(same)
            rounds = (x.sums[:, _N] == y.sums[:, _N]) | np.repeat(replayed[same], x.size) | any_rounds
            same[same] = np.logical_and.reduceat((x.place == y.place).all(axis=1) & rounds, x.starts)
        return np.asarray(same)

    def within(self, other: Units) -> Units:
        """Without units that the same group of ``other`` does not have, where it has units of the same words.

        Requests are planned by the longest draft, so that of two policies one may have played more of them.
        """
        _, mine, its = np.intersect1d(self.keys, other.keys, assume_unique=True, return_indices=True)
        alike = ~self.whole[mine] & ~other.whole[its]
        alike &= (self.origin[self.starts[mine]] == other.origin[other.starts[its]]).all(axis=1)
        cut = np.isin(self.keys, self.keys[mine[alike]])
        kept = ~np.repeat(cut, self.size) | np.isin(self._addresses, other._addresses)
        if kept.all():
            return self
        starts = np.append(0, np.cumsum(np.add.reduceat(kept.astype(np.int64), self.starts)))[:-1]
        place, sums, origin = self.place[kept], self.sums[kept], self.origin[kept]
        moments, own = stats.moments(sums, starts), self.moments
        left = stats.Moments(*(
            np.where(cut.reshape(-1, *[1] * (after.ndim - 1)), after, before)
            for after, before in zip(vars(moments).values(), vars(own).values(), strict=True)
        ))  # fmt: skip
        return Units(place, sums, origin, self.keys, starts, left)

    @property
    def _addresses(self) -> Ints:
        """Group, chunk and lane of each row in one number; κ, which is the same in all groups, left out."""
        group = np.repeat(self.keys // 2**16, self.size)
        return np.asarray((group * 2**26 + self.place[:, 0]) * 2**7 + self.place[:, 1] + 1)

    def shared(self, other: Units) -> stats.Moments:
        """Windows that lie in both sides: equal chunks of the same words; same groups in both, all of windows.

        The same words give the same integers, so where one chunk differs the words did, and nothing is shared.
        """
        groups = len(self.keys)
        mine, its = (np.repeat(np.arange(groups), u.size) for u in (self, other))
        address = mine * 2**32 + self.place[:, 0]
        _, i, j = np.intersect1d(address, its * 2**32 + other.place[:, 0], assume_unique=True, return_indices=True)
        same = (self.origin[i] == other.origin[j]).all(axis=1) & (self.sums[i, _N] == other.sums[j, _N])
        i, j = i[same], j[same]
        differs = np.zeros(groups, np.bool_)
        np.logical_or.at(differs, mine[i], (self.sums[i] != other.sums[j]).any(axis=1))
        total = np.zeros((groups, len(SUMS)))
        np.add.at(total, mine[i], self.sums[i])
        total[differs] = 0.0
        return stats.Moments(total[:, _N], total, np.zeros((groups, len(SUMS), len(SUMS))))


def _origin(chunks: pd.DataFrame) -> NDArray[np.uint64]:
    """Where the words came from, as numbers: those of another method are others."""
    method = chunks["method"].map(lambda word: zlib.crc32(str(word).encode())).astype(np.uint64)
    return np.asarray(chunks.assign(method=method)[_ORIGIN].to_numpy(np.uint64))


def _by_window(
    moments: stats.Moments, counts: pd.DataFrame, key: Ints, keys: Ints, whole: NDArray[np.bool_]
) -> stats.Moments:
    """Moments with those of single windows, from the counts, where a row is a whole chunk."""
    own = np.isin(key, keys[whole])
    order = np.argsort(key[own], kind="stable")
    drafted, accepted, rounds = (counts[name].to_numpy(np.int64)[own][order] for name in _COUNT)
    found, starts = np.unique(key[own][order], return_index=True)
    windows = stats.moments(round_sums(drafted, accepted), starts, rounds) if len(found) else moments.take(whole[:0])
    units, spread = np.where(whole, 0.0, moments.units), moments.spread.copy()
    at = np.searchsorted(keys, found)
    agree = (windows.total == moments.total[at]).all(axis=1)
    units[at[agree]], spread[at[agree]] = windows.units[agree], windows.spread[agree]
    return stats.Moments(units, moments.total, spread)
