"""Which independent units does a result folder hold, simulation by simulation?  Lanes as stored, or windows counted."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simspec.kernels.tally import SUMS
from simspec.model import DatasetError
from simspec.run.comparison import LeftOut
from simspec.run.dataset import Dataset, read
from simspec.run.schema import WHOLE_CHUNK
from simspec.stats import difference as stats
from simspec.stats.counts import Ints, round_sums
from simspec.text import clean

if TYPE_CHECKING:
    import pandas as pd

COST = ["c0", "c_d", "c_v", "c_r", "off"]
_SUMS = [name if name == "n" else f"sum_{name}" for name in SUMS]
_N = SUMS.index("n")
_UNIT = ["kappa", "chunk", "lane"]
_ORIGIN = ["seed", "stream_version"]
_COUNT = ["drafted", "accepted", "count"]
_POINT = ["point_id", "simulation_id", "process", "parameters", "label", *COST, "cost_tables"]


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
        plain = dict.fromkeys(_POINT[:5], object)
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
    origin : uint64 array (rows, 2)
        Seed and stream version.
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
        return Units(place, sums, chunks[_ORIGIN].to_numpy(np.uint64)[order], keys, starts, moments)

    @property
    def size(self) -> Ints:
        """Rows per group."""
        return np.diff(np.append(self.starts, len(self.sums)))

    @property
    def whole(self) -> NDArray[np.bool_]:
        """Groups whose units are windows."""
        return np.asarray(self.place[self.starts, 1] == WHOLE_CHUNK)

    def take(self, chosen: NDArray[np.bool_]) -> Units:
        """Some of the groups."""
        rows = np.repeat(chosen, self.size)
        starts = np.append(0, np.cumsum(self.size[chosen]))[:-1]
        own = self.place[rows], self.sums[rows], self.origin[rows], self.keys[chosen]
        return Units(*own, starts, self.moments.take(chosen))

    def paired(self, other: Units, replayed: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Groups whose rows are unit by unit the same words, or (``replayed``) the same requests of a file."""
        same = (self.size == other.size) & ~self.whole & ~other.whole
        same &= replayed | (self.origin[self.starts] == other.origin[other.starts]).all(axis=1)
        if same.any():  # the same words: also the same units of the same number of rounds
            x, y = self.take(same), other.take(same)
            rounds = (x.sums[:, _N] == y.sums[:, _N]) | np.repeat(replayed[same], x.size)
            same[same] = np.logical_and.reduceat((x.place == y.place).all(axis=1) & rounds, x.starts)
        return np.asarray(same)

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
