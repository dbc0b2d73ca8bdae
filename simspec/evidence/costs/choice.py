"""Which rows of a table may be compared?  Those of one target, and of one draft per κ; and which are plain?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from simspec.evidence.costs.names import canonical
from simspec.evidence.costs.tables import Record, Value
from simspec.model.errors import ParameterError, did_you_mean, shown

TARGET = ("model", "target", "target_model", "gpu", "hardware", "device", "backend", "phase", "engine")
"""Columns whose values must be one in what is compared: another target is another cost."""
DRAFT = ("draft", "draft_model", "drafter", "method", "config")
"""The same among rows of one κ; plain rows have none."""
PLAIN_WORDS = frozenset(
    ("plain", "baseline", "base", "vanilla", "off", "none", "no", "false", "autoregressive", "nospec", "no_spec")
)


def chosen(records: Sequence[Record], where: Mapping[str, str]) -> list[Record]:
    """Rows that fit ``where``; a condition on the draft leaves rows without one (plain decoding) in.

    Raises
    ------
    ParameterError
        No such column, nothing is left, or rows of several targets or drafts are left.
    """
    known = {name for record in records for name in record.others}
    for column in where:
        if canonical(column) not in known:
            raise ParameterError("where", f"where: no column {shown(column)}{did_you_mean(canonical(column), known)}")
    wanted = {canonical(column): value for column, value in where.items()}
    kept = [
        record
        for record in records
        if all(
            record.others.get(column) == value or (column in DRAFT and is_plain(record))
            for column, value in wanted.items()
        )
    ]
    if not kept:
        told = "; ".join(f"{c}: {', '.join(sorted({str(r.others.get(c)) for r in records})[:8])}" for c in wanted)
        raise ParameterError("where", f"where: no row is left; the columns hold {told}")
    for column in sorted(known, key=lambda name: (name not in TARGET, name)):
        values = _values_that_mix(kept, column)
        if values:
            raise ParameterError(
                "where",
                f"column {column} holds {', '.join(values[:6])}: not comparable; choose one (--where {column}="
                f"{shown(values[0])})",
            )
    return kept


def _values_that_mix(records: Sequence[Record], column: str) -> list[str]:
    """Values of a column that stand for different machines or models."""
    if column in TARGET:
        values = {str(record.others[column]) for record in records if column in record.others}
        return sorted(values) if len(values) > 1 else []
    by_kappa: dict[Value | None, set[str]] = {}
    for record in records:
        if column in DRAFT and column in record.others and not is_plain(record):
            by_kappa.setdefault(record.figures.get("kappa"), set()).add(str(record.others[column]))
    return next((sorted(values) for values in by_kappa.values() if len(values) > 1), [])


def is_plain(record: Record) -> bool:
    """Whether a row is plain decoding, by its own word; κ = 0 alone is told elsewhere."""
    words = [str(record.figures.get("kind", "")), *(str(record.others.get(name, "")) for name in DRAFT)]
    return any(canonical(word) in PLAIN_WORDS for word in words if word)
