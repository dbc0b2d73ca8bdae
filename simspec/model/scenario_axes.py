"""Which values do the keys of each table of a scenario run through?  How a table is called, and its axes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pydantic.fields import FieldInfo

from simspec.model import grid
from simspec.model.errors import ParameterError
from simspec.model.policies import Policies
from simspec.model.process import Processes
from simspec.model.scenario_values import plain
from simspec.model.schemes import Schemes

Tables = tuple[dict[str, Any], ...]
Axes = dict[str, Sequence[Any]]
BINDING = ("process", "kappa")
"""Keys of a [scheme] that say where it runs, not what it is."""


def tables(key: str, value: Any) -> Tables:
    """One table or several."""
    out = value if isinstance(value, (list, tuple)) else [value]
    if not out or not all(isinstance(entry, dict) for entry in out):
        raise ParameterError(key, f"{key} is not a table; allowed: [{key}] or several [[{key}]]")
    return tuple(out)


def axes(
    prefix: str, table: Mapping[str, Any], fields: Mapping[str, FieldInfo], single: Collection[str] = ()
) -> Axes:  # fmt: skip
    """The values of each key; a list is one value where the key takes a list, and of a ``single`` key anything is."""
    out: Axes = {}
    for key, value in table.items():
        out[key] = [plain(value)] if key in single else grid.axis(f"{prefix}.{key}", value, _depth(fields, key))
    return out


def _depth(fields: Mapping[str, FieldInfo], key: str) -> int:
    """How deep one value of a key is: 0 a scalar, 1 a list, 2 a list of lists."""
    return str(fields[key].annotation).count("tuple[") if key in fields else 0


def _prefix(key: str, own: Tables, index: int) -> str:
    return f"{key}[{index}]" if len(own) > 1 else key


def process_axes(own: Tables, index: int) -> tuple[str, Axes]:
    """Axes of a [process]."""
    kind, prefix = own[index].get("type"), _prefix("process", own, index)
    fields = Processes.table[kind].model_fields if isinstance(kind, str) and kind in Processes.table else {}
    return prefix, axes(prefix, own[index], fields, ("type", "label", "where"))


def scheme_axes(own: Tables, index: int) -> tuple[str, Axes]:
    """Axes of a [scheme]; whatever is a list is one value here."""
    table = {key: value for key, value in own[index].items() if key not in BINDING}
    fields, prefix = Schemes.fields(table.get("type")), _prefix("scheme", own, index)
    return prefix, axes(prefix, table, fields, ("type", "label", *(key for key in table if _depth(fields, key))))


def policy_axes(own: Tables, index: int) -> tuple[str, Axes]:
    """Axes of a [policy]; a table is one value."""
    fields, prefix = Policies.fields(own[index].get("type")), _prefix("policy", own, index)
    return prefix, axes(prefix, own[index], fields, ("type", "label", "cost", "draft_len_schedule"))
