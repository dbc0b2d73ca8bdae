"""Which rows of a run are meant?  ``policy = rolling``, ``c_d = 0.1``: what was run, by columns of the estimates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simspec.model import DatasetError, ParameterError
from simspec.model.errors import did_you_mean, shown
from simspec.run.best_table import policy_names, scheme_names
from simspec.run.columns import values

if TYPE_CHECKING:
    import pyarrow as pa

Mask = NDArray[np.bool_]
_NAMED = {"policy": policy_names, "scheme": scheme_names}
"""Columns that are also known by a label, and by the name that tables show."""
_SHOWN = 12


def where_of(texts: Sequence[str]) -> dict[str, str]:
    """Conditions as a command line has them.

    Examples
    --------
    >>> where_of(["policy=rolling", "c_d = 0.1"])
    {'policy': 'rolling', 'c_d': '0.1'}
    """
    found: dict[str, str] = {}
    for text in texts:
        key, mark, value = (part.strip() for part in text.partition("="))
        if not mark or not key or not value:
            raise ParameterError(
                "where", f"where = {text!r} is no condition; allowed: COLUMN=VALUE, e.g. policy=rolling"
            )
        if key in found:
            raise ParameterError("where", f"where names {key} twice; allowed: once")
        found[key] = value
    return found


def picked(table: pa.Table, where: Mapping[str, Any], folder: object) -> Mask:
    """The rows of an estimates table that fulfil every condition.

    Parameters
    ----------
    table : pyarrow.Table
        Columns as in the estimates.
    where : mapping
        Column to value, a number or a word; one of the columns before ``kappa``, which say what was run.  ``process``,
        ``scheme`` and ``policy`` may also be named by their label, the latter two by the name that tables show.
    folder : path
        Named in errors.

    Raises
    ------
    ParameterError
        There is no such column, or a column of numbers is held against a word.
    DatasetError
        No row is left.
    """
    left = np.ones(table.num_rows, np.bool_)
    columns = table.column_names[: table.column_names.index("kappa")]
    for key, wanted in where.items():
        if key not in columns:
            raise ParameterError(key, f"where: {key} says not what was run{did_you_mean(key, columns)}")
        own = _fulfils(table, key, wanted)
        if not (left & own).any():
            raise DatasetError(f"{folder}: no row has {key} = {wanted}; there are {_known(table, key, left)}")
        left &= own
    return left


def _fulfils(table: pa.Table, key: str, wanted: Any) -> Mask:
    own = values(table, key)
    if own.dtype == object:
        found = own == str(wanted)
        for column in _names(table, key):
            found |= column == str(wanted)
        return np.asarray(found, np.bool_)
    try:
        number = float(wanted)
    except (TypeError, ValueError):
        raise ParameterError(key, f"where: {key} = {shown(wanted)} is no number; allowed: a number") from None
    return np.asarray(np.isclose(own.astype(np.float64), number, rtol=1e-9, atol=0.0))


def _names(table: pa.Table, key: str) -> list[NDArray[Any]]:
    """Other names of the entries of a column: labels, and what tables call them."""
    out = []
    label = {"process": "label", "scheme": "scheme_label", "policy": "policy_label"}.get(key)
    if label is not None:
        out.append(values(table, label))
    if key in _NAMED:
        served = [name for name in table.column_names if name.startswith("serving_") and key == "policy"]
        columns = {name: values(table, name) for name in (key, f"{key}_parameters", f"{key}_label", *served)}
        kinds = list(dict.fromkeys(zip(*(column.tolist() for column in columns.values()), strict=True)))
        told = dict(zip(kinds, _NAMED[key]([dict(zip(columns, kind, strict=True)) for kind in kinds]), strict=True))
        out.append(np.array([told[row] for row in zip(*columns.values(), strict=True)], object))
    return out


def _known(table: pa.Table, key: str, left: Mask) -> str:
    """What a column holds in the rows that are left, in words."""
    columns = [values(table, key), *_names(table, key)[-1:]]
    found = {str(one) for column in columns for one in column[left].tolist() if one not in ("", None) and one == one}
    words = sorted(found, key=lambda word: (_number(word), word))
    rest = [f"… and {len(words) - _SHOWN} more"] if len(words) > _SHOWN else []
    return ", ".join(words[:_SHOWN] + rest) or "none"


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        return math.inf
