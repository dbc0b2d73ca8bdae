"""What does a trace file hold?  Accepted lengths by round and request, or a chance of acceptance by position."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simspec.kernels.forms import Dense, Replay
from simspec.model import ParameterError, Trace
from simspec.model.errors import did_you_mean, shown
from simspec.model.identity import canonical_json
from simspec.model.trace import LONGEST_DRAFT, file_of
from simspec.run.layout import Layout

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Rounds:
    """Measured rounds.

    Attributes
    ----------
    accepted, drafted : int64 array (rounds,)
        Accepted length without bonus, and drafts, in the order of the file.
    offsets : int64 array (requests + 1,)
        Request r holds the rounds offsets[r] … offsets[r + 1] − 1.
    """

    accepted: np.ndarray
    drafted: np.ndarray
    offsets: np.ndarray


@dataclass(frozen=True)
class Chances:
    """Chance of acceptance at every output position, with offsets as in `Rounds`."""

    alpha: np.ndarray
    offsets: np.ndarray


def load(trace: Trace) -> Rounds | Chances:
    """Read the file of a trace; cached by content and columns.

    Raises
    ------
    ParameterError
        The file cannot be read, a column is missing or holds something else, nothing is left after ``where``; or it
        has changed since the trace was made.
    """
    trace.check_content()
    return _load(_Question(trace))


class _Question:
    """A trace that is equal to another when content and columns are: the key of the cache."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.key = canonical_json(trace.identity())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Question) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@functools.lru_cache(maxsize=16)
def _load(question: _Question) -> Rounds | Chances:
    trace = question.trace
    wanted = {name for name in (trace.accepted, trace.alpha, *trace.requests_by) if name}
    wanted |= {trace.drafted} if isinstance(trace.drafted, str) else set()
    frame = _filtered(_read(trace.path), trace)
    for column in wanted:
        if column not in frame.columns:
            raise ParameterError("path", f"{trace.path}: no column {column!r}{did_you_mean(column, map(str, frame))}")
    if len(frame) == 0:
        if not trace.where:
            raise ParameterError("path", f"{trace.path}: holds no rows")
        where = ", ".join(f"{column} = {shown(value)}" for column, value in trace.where.items())
        raise ParameterError("where", f"{trace.path}: no row is left with {where}")
    return _chances(frame, trace) if trace.dense else _rounds(frame, trace)


def _read(path: str) -> pd.DataFrame:
    import pandas as pd

    readers = {".parquet": pd.read_parquet, ".csv": pd.read_csv}
    file = file_of(path)
    reader = readers.get(Path(file).suffix)
    try:
        frame: pd.DataFrame = reader(file) if reader else pd.read_json(file, lines=True)  # type: ignore[operator]
    except (OSError, ValueError, ImportError) as error:
        raise ParameterError("path", f"{path}: cannot be read ({str(error).splitlines()[0]})") from None
    return frame


def _filtered(frame: pd.DataFrame, trace: Trace) -> pd.DataFrame:
    for column, value in (trace.where or {}).items():
        if column not in frame.columns:
            raise ParameterError("where", f"{trace.path}: no column {column!r}{did_you_mean(column, map(str, frame))}")
        frame = frame[frame[column] == value]
    return frame


def _rounds(frame: pd.DataFrame, trace: Trace) -> Rounds:
    column = str(trace.accepted)
    listed = [hasattr(entry, "__len__") and not isinstance(entry, str) for entry in frame[column]]
    if any(listed):
        if not trace.requests_by:
            sizes = [1] * len(frame)
        else:
            frame, sizes = _by_request(frame, trace)
        lists = [_list(entry, column, trace) for entry in frame[column]]
        drafts = _drafted_of_lists(frame, trace, [len(entry) for entry in lists])
        accepted, drafted = np.concatenate(lists), np.concatenate(drafts)
        ends = np.concatenate([[0], np.cumsum([len(entry) for entry in lists])])
        offsets = ends[np.concatenate([[0], np.cumsum(sizes)])]
    else:
        if not trace.requests_by:
            raise ParameterError("request", "request is missing: the column(s) that tell the requests of rounds apart")
        frame, sizes = _by_request(frame, trace)
        accepted, drafted = _numbers(frame, column, trace), _drafted(frame, trace)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
    accepted = accepted - (1 if trace.bonus_included else 0)
    _check_rounds(accepted, drafted, trace)
    return Rounds(accepted.astype(np.int64), drafted.astype(np.int64), offsets.astype(np.int64))


def _list(entry: Any, column: str, trace: Trace) -> np.ndarray:
    """One request's list as numbers; a gap, a text or a deeper nesting is named."""
    try:
        values = np.asarray(entry, float)
    except (TypeError, ValueError):
        values = np.zeros((0, 0))
    if values.ndim != 1:
        raise ParameterError("accepted", f"{trace.path}: {column!r} holds {shown(entry)}; allowed: lists of numbers")
    return values


def _drafted(frame: pd.DataFrame, trace: Trace) -> np.ndarray:
    if isinstance(trace.drafted, int):
        return np.full(len(frame), float(trace.drafted))
    return _numbers(frame, str(trace.drafted), trace)


def _drafted_of_lists(frame: pd.DataFrame, trace: Trace, sizes: list[int]) -> list[np.ndarray]:
    """Drafts of each round: one number for all, one per request, or a list as long as that of the accepted lengths."""
    if isinstance(trace.drafted, int):
        return [np.full(size, float(trace.drafted)) for size in sizes]
    out = []
    for entry, size in zip(frame[trace.drafted], sizes, strict=True):
        single = not hasattr(entry, "__len__")
        own = np.full(size, float(entry)) if single else _list(entry, str(trace.drafted), trace)
        if len(own) != size:
            raise ParameterError(
                "drafted", f"{trace.path}: {trace.drafted!r} has other lengths than {trace.accepted!r}"
            )
        out.append(own)
    return out


def _check_rounds(accepted: np.ndarray, drafted: np.ndarray, trace: Trace) -> None:
    if len(accepted) == 0:
        raise ParameterError("accepted", f"{trace.path}: {trace.accepted!r} holds no round")
    for key, values in (("accepted", accepted), ("drafted", drafted)):
        if not (np.isfinite(values).all() and (values == np.floor(values)).all()):
            raise ParameterError(key, f"{trace.path}: {getattr(trace, key)!r} holds values that are not whole numbers")
    if drafted.max() > LONGEST_DRAFT:
        raise ParameterError(
            "drafted", f"{trace.path}: {int(drafted.max()):,} drafts in a round; allowed: {LONGEST_DRAFT:,}"
        )
    if (accepted < 0).any():
        extra = " (after taking off the bonus token: is bonus_included right?)" if trace.bonus_included else ""
        raise ParameterError("accepted", f"{trace.path}: {trace.accepted!r} falls to {int(accepted.min())}{extra}")
    over = np.flatnonzero(accepted > drafted)
    if len(over):
        raise ParameterError(
            "drafted",
            f"{trace.path}: round {int(over[0])} accepts {int(accepted[over[0]])} of {int(drafted[over[0]])} drafts "
            "(is bonus_included right?)",
        )


def _chances(frame: pd.DataFrame, trace: Trace) -> Chances:
    frame, sizes = _by_request(frame, trace)
    alpha = _numbers(frame, str(trace.alpha), trace)
    if not ((alpha >= 0.0) & (alpha <= 1.0)).all():
        raise ParameterError("alpha", f"{trace.path}: {trace.alpha!r} holds values outside 0 … 1")
    return Chances(alpha, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))


def _by_request(frame: pd.DataFrame, trace: Trace) -> tuple[pd.DataFrame, list[int]]:
    """Rows grouped by request, requests in order of appearance, rows in the order of the file."""
    import pandas as pd

    columns = list(trace.requests_by)
    if frame[columns].isna().any(axis=None):
        raise ParameterError("request", f"{trace.path}: {', '.join(columns)} has gaps, so rounds belong to no request")
    try:
        groups = [own for _, own in frame.groupby(columns, sort=False, observed=True)]
    except TypeError:
        raise ParameterError(
            "request", f"{trace.path}: {', '.join(columns)} holds lists; allowed: numbers or texts"
        ) from None
    return pd.concat(groups), [len(own) for own in groups]


def columns(trace: Trace, names: Iterable[str]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Those of ``names`` that the file of a trace has, as numbers by request, with offsets as in `Rounds`.

    Raises
    ------
    ParameterError
        As `load`.
    """
    frame, sizes = _by_request(_filtered(_read(trace.path), trace), trace)
    found = {name: _numbers(frame, name, trace) for name in names if name in frame.columns}
    return found, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _numbers(frame: pd.DataFrame, column: str, trace: Trace) -> np.ndarray:
    try:
        values = frame[column].to_numpy(float)
    except (TypeError, ValueError):
        raise ParameterError("path", f"{trace.path}: column {column!r} holds something other than numbers") from None
    if not np.isfinite(values).all():
        raise ParameterError("path", f"{trace.path}: column {column!r} has gaps")
    return np.asarray(values)


def trace_form(trace: Trace, kappa: int) -> Replay | Dense:
    """The integer form of a trace at κ.

    Raises
    ------
    ParameterError
        κ is above what was drafted in some round.
    """
    data = load(trace)
    if isinstance(data, Chances):
        return Dense(np.asarray(data.alpha, float), data.offsets, trace.truncate)
    least = int(data.drafted.min())
    if kappa > least:
        raise ParameterError(
            "kappa", f"kappa = {kappa} is above the {least} drafts of the shortest round of {trace.path}; allowed: "
            f"0 ≤ kappa ≤ {least}"
        )  # fmt: skip
    return Replay(data.accepted, data.offsets)


def trace_layout(trace: Trace, windows: int, kappa: int) -> Layout:
    """One lane per request; a dense trace is replayed as often as it takes to reach ``windows`` rounds."""
    data = load(trace)
    requests = len(data.offsets) - 1
    if isinstance(data, Rounds):
        return Layout(requests, 0, 1)
    return Layout(requests, 0, max(1, -(-windows * (kappa + 1) // len(data.alpha))))
