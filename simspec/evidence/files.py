"""Which traces does a file hold?  A scenario, a shipped name, or columns known by name.

The bonus token is never guessed: a file of rounds says so itself (`bonus_included`), was written by simspec, or needs
somebody who says it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from simspec.model import ParameterError, Scenario, Trace
from simspec.model.trace import SHIPPED, file_of
from simspec.text import clean

REQUESTS = ("request", "unit")
CHANCES = ("tok_accept", "alpha")
SPLIT = ("draft", "temperature")
"""Columns that part a file into traces of their own."""
SHIPPED_PART = {"smollm2": {"draft": "tl24", "temperature": 1.0}}
"""Which part of a shipped file is meant unless said otherwise."""


def traces_of(file: str) -> list[Trace]:
    """The traces of one file.

    Parameters
    ----------
    file : str
        A ``.toml`` scenario with processes of ``type = "trace"``; ``shipped:<name>``; or Parquet, CSV, JSON lines with
        ``tok_accept`` (or ``alpha``) and ``request``, or with ``accepted``, ``drafted``, ``request`` and
        ``bonus_included``, or as ``simspec run --record`` writes it.  One trace per ``draft`` and ``temperature``.

    Raises
    ------
    ParameterError, ScenarioError
        There is no trace, or its columns are not all known.
    """
    if file.endswith(".toml"):
        found = [simulation.process for simulation, _ in Scenario.from_toml(file).simulations()]
        traces = [process for process in found if isinstance(process, Trace)]
        if not traces:
            raise ParameterError("traces", f'{file}: holds no trace; allowed: [[process]] tables with type = "trace"')
        return traces
    names, written_here = _columns(file)
    keys = _keys(file, names, written_here)
    parts = _parts(file, [name for name in SPLIT if name in names])
    return [Trace(path=file, **keys, where=where or None) for where in parts]


def first_trace(path: str, **keys: Any) -> Trace:
    """The trace of a path and its keys; what is not said is taken from columns known by name.

    Parameters
    ----------
    path : str
        A trace file, or ``shipped:<name>``.
    **keys
        As for `simspec.Trace`.  Of a file with several drafts or temperatures the first that fits ``where`` is taken.
        Of a file that is not shipped nothing is filled in once ``accepted`` or ``alpha`` is given.

    Raises
    ------
    ParameterError
        The file or a column cannot be read, or the columns are not known by name.

    Examples
    --------
    >>> first_trace("shipped:smollm2", where={"draft": "q3"}).where
    {'draft': 'q3', 'temperature': 1.0}
    """
    file_of(path)  # an unknown name is the first thing to be said
    shipped = path.startswith(SHIPPED)
    measured = not {"accepted", "alpha"}.isdisjoint(keys)
    if measured and not shipped:
        return Trace(path=path, **keys)
    names, written_here = _columns(path)
    known = {key: value for key, value in _keys(path, names, written_here).items() if key not in keys}
    if measured:
        known = {key: value for key, value in known.items() if key == "request"}
    asked = dict(keys.pop("where", None) or {})
    parts = [part for part in _parts(path, [name for name in SPLIT if name in names]) if _fits(part, asked)]
    usual = SHIPPED_PART.get(path.removeprefix(SHIPPED), {}) if shipped else {}
    liked = [part for part in parts if _fits(part, usual | asked)] or parts
    return Trace(path=path, **known, **keys, where=((liked[0] if liked else {}) | asked) or None)


def _fits(part: dict[str, Any], asked: dict[str, Any]) -> bool:
    return all(part[name] == value for name, value in asked.items() if name in part)


def name_of(trace: Trace) -> str:
    """File and rows of a trace, as shown.

    Examples
    --------
    >>> name_of(Trace(path="shipped:smollm2", alpha="tok_accept", request="request", where={"draft": "tl24"}))
    'smollm2_dense_alpha.parquet (draft = tl24)'
    """
    where = ", ".join(f"{column} = {_short(value)}" for column, value in (trace.where or {}).items())
    label = where or trace.label
    return clean(Path(file_of(trace.path)).name + (f" ({label})" if label else ""))


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)  # a column of 32 bits holds .699999988


def _columns(file: str) -> tuple[list[str], bool]:
    """Names of the columns, and whether simspec wrote the file (then accepted lengths count no bonus)."""
    import pandas as pd
    import pyarrow.parquet as pq

    path = file_of(file)
    try:
        if path.endswith(".parquet"):
            schema = pq.read_schema(path)
            return list(schema.names), b"stream_version" in (schema.metadata or {})
        if path.endswith(".csv"):
            return [str(name) for name in pd.read_csv(path, nrows=0)], False
        if path.endswith((".jsonl", ".ndjson")):
            return [str(name) for name in pd.read_json(path, lines=True, nrows=1)], False
    except (OSError, ValueError) as error:  # those of pyarrow and pandas are one or the other
        raise _unreadable(file, error) from None
    raise ParameterError("path", f"{file}: unknown kind of file; allowed: .toml, .parquet, .csv, .jsonl, .ndjson")


def _unreadable(file: str, error: OSError | ValueError) -> ParameterError:
    """What is wrong with a file, which is named once."""
    why = getattr(error, "strerror", None) or (str(error).splitlines() or [type(error).__name__])[0]
    return ParameterError("path", f"{file}: cannot be read ({why})")


def _keys(file: str, names: Sequence[str], written_here: bool) -> dict[str, Any]:
    """Which column is what; one line that says what to write if that is not clear."""
    request = next((name for name in REQUESTS if name in names), None)
    chance = next((name for name in CHANCES if name in names), None)
    recorded = sum(name.removeprefix("alpha_").isdigit() for name in names)
    if request is not None and "accepted_full" in names and recorded:
        return {"accepted": "accepted_full", "drafted": recorded, "bonus_included": False, "request": request}
    if request is not None and chance is not None and "accepted" not in names:
        return {"alpha": chance, "request": request}
    if request is None or "accepted" not in names or "drafted" not in names:
        raise ParameterError("path", f"{file}: {_missing(names)}; name the columns in a scenario: {_scenario(file)}")
    own = {"accepted": "accepted", "drafted": "drafted", "request": request}
    if written_here:
        return own | {"bonus_included": False}
    if "bonus_included" not in names:
        raise ParameterError(
            "path", f"{file}: nothing says whether accepted counts the bonus token; say so in a scenario: "
            f"{_scenario(file)}",
        )  # fmt: skip
    said = _values(file, ["bonus_included"])
    if not said:
        raise ParameterError("path", f"{file}: holds no rows")
    if len(said) != 1 or not isinstance(said[0][0], (bool, int)) or said[0][0] not in (0, 1):
        raise ParameterError("path", f"{file}: bonus_included holds {said}; allowed: true in every row, or false")
    return own | {"bonus_included": bool(said[0][0])}


def _missing(names: Sequence[str]) -> str:
    if not any(name in names for name in REQUESTS):
        return "no column request"
    if "accepted" in names:
        return "no column drafted"
    return "neither a column tok_accept or alpha (dense) nor accepted and drafted (rounds)"


def _scenario(file: str) -> str:
    """What to write, as one line of TOML."""
    return (
        f'process = {{ type = "trace", path = "{Path(file).name}", request = "…", accepted = "…", drafted = "…", '
        'bonus_included = true }, or alpha = "…" instead of the last three'
    )


def _parts(file: str, columns: list[str]) -> list[dict[str, Any]]:
    """Conditions that part the file, one empty if nothing does."""
    if not columns:
        return [{}]
    parts = [dict(zip(columns, values, strict=True)) for values in _values(file, columns)]
    return parts if len(parts) > 1 else [{}]


def _values(file: str, columns: list[str]) -> list[tuple[Any, ...]]:
    """Combinations of values of some columns, in order."""
    import pandas as pd

    path = file_of(file)
    try:
        if path.endswith(".parquet"):
            frame = pd.read_parquet(path, columns=columns)
        elif path.endswith(".csv"):
            frame = pd.read_csv(path, usecols=columns)
        else:
            frame = pd.read_json(path, lines=True)[columns]
    except (OSError, ValueError) as error:  # the first line could be read, a later one cannot
        raise _unreadable(file, error) from None
    rows = frame.astype(object).drop_duplicates().itertuples(index=False, name=None)
    return sorted((tuple(_plain(value) for value in row) for row in rows), key=repr)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
