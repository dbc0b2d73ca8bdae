"""Which rows does a table of measurements hold?  CSV, TSV, Markdown, JSON or JSON lines; names by synonym."""

from __future__ import annotations

import contextlib
import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simspec.evidence.costs.names import NAMES, PLAIN_CELLS, canonical, holds_times, refuse_half
from simspec.evidence.lines import Text
from simspec.evidence.readers.table import header
from simspec.model.errors import ParameterError, did_you_mean, shown

Value = float | str

MOST_ROWS = 500_000
SMALLEST, LARGEST = 1e-9, 1e12
"""Figures between which nothing overflows."""
PLAIN_CELL = "; allowed: a whole number, 0 or baseline for plain decoding"
_ONE_NUMBER = ("base_tpot_ms", "base_tok_s", "loop_tpot_ms", "loop_tok_s", "draft_cost", "draft_token_ms")
"""What `simspec.costs` takes once, not by row."""
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


@dataclass(frozen=True)
class Record:
    """One row: figures by simspec's names, other columns by their own, where it stands, and a caveat about its time."""

    figures: Mapping[str, Value]
    others: Mapping[str, Value]
    place: str
    says: str = ""


def record_of(row: Mapping[str, Any], place: str, decimal: str = ".") -> Record:
    """A row with the names of simspec.

    Raises
    ------
    ParameterError
        Two columns mean the same, or a value is no number.

    Examples
    --------
    >>> record_of({"K": "2", "TPOT": "4.37", "AL": "2.1"}, "x.csv:2").figures
    {'kappa': 2.0, 'tpot_ms': 4.37, 'emitted': 2.1}
    >>> record_of({"K": "baseline", "TPOT": "7.07"}, "x.csv:3").figures
    {'kind': 'plain', 'tpot_ms': 7.07}
    """
    figures: dict[str, Value] = {}
    others: dict[str, Value] = {}
    for column, value in row.items():
        text = "" if value is None else str(value).strip()
        if column is None or text in ("", "-", "–", "nan", "None", "null"):
            continue
        name = NAMES.get(canonical(column))
        if name == "kind":
            figures["kind"] = _kind(canonical(column), text)
            continue
        if name is None or (name in ("draft_tokens", "drafts") and not _is_number(text, decimal)):
            others[canonical(column)] = text
            continue
        if name == "kappa" and canonical(text) in PLAIN_CELLS:
            figures["kind"] = "plain"
            continue
        if name in figures:
            raise ParameterError(column, f"{place}: {column} and another column both mean {name}; keep one")
        figures[name] = _as_number(text, decimal, f"{place}: {column}", PLAIN_CELL if name == "kappa" else "")
    return Record(figures, others, place)


def _kind(column: str, text: str) -> str:
    """``baseline = 1`` and ``speculation = no`` mean plain decoding; other words stand for themselves.

    Examples
    --------
    >>> _kind("baseline_flag", "1"), _kind("speculation", "False"), _kind("baseline", "no"), _kind("mode", "loop")
    ('plain', 'plain', 'speculation', 'loop')
    """
    word = text.lower()
    yes, no = word in ("1", "1.0", "true", "yes", "on"), word in ("0", "0.0", "false", "no", "off")
    if not yes and not no:
        return word
    return "plain" if yes == column.startswith("baseline") else "speculation"


def _is_number(text: str, decimal: str) -> bool:
    return _NUMBER.fullmatch(_pointed(text, decimal)) is not None


def _pointed(text: str, decimal: str) -> str:
    return text.replace(",", ".") if decimal == "," else text


def _as_number(text: str, decimal: str, where: str, allowed: str = "") -> float:
    plain = _pointed(text, decimal)
    share = plain.endswith("%")
    if _NUMBER.fullmatch(plain.rstrip("%").strip()) is None:
        raise ParameterError("files", f"{where} = {shown(text)} is not a number{allowed}")
    value = float(plain.rstrip("%").strip()) / (100.0 if share else 1.0)
    if value and not SMALLEST <= abs(value) <= LARGEST:
        raise ParameterError("files", f"{where} = {shown(text)} is out of range; allowed: 0, or 1e-9 to 1e12")
    return value


def records_of(name: str) -> list[Record] | None:
    """Rows of a file; None if it is no table of measurements.

    Raises
    ------
    ParameterError
        The file cannot be read, a value is no number, or there is κ without a time, or a time per token without κ.
    """
    text = Text(name)
    with contextlib.closing(text):
        head = text.head()
        whole = b"".join(text.blocks()).decode("utf-8", errors="replace").lstrip("\ufeff")
    start = whole.lstrip()[:1]
    if start in ("[", "{"):
        rows = _json_rows(whole)
        if rows is None or not rows or not holds_times(list({key: 0 for row in rows for key in row})):
            return None
        return [record_of(row, f"{name}: entry {i + 1}") for i, row in enumerate(rows)]
    if start == "|":
        return _markdown(name, whole)
    own = header(head)
    if own is None:
        return None
    if not holds_times(own.columns):
        refuse_half(name, own.columns)
        return None
    lines = csv.reader(whole.splitlines()[1:], delimiter=own.separator)
    return list(_csv_rows(name, own.columns, lines, own.decimal))


def _csv_rows(name: str, columns: Sequence[str], lines: Any, decimal: str) -> Iterator[Record]:
    for i, cells in enumerate(lines, start=2):
        if i > MOST_ROWS:
            raise ParameterError("files", f"{name}: more than {MOST_ROWS:,} rows; means by κ are enough")
        if not any(cell.strip() for cell in cells) or cells[0].startswith("#") or list(cells) == list(columns):
            continue
        if len(cells) != len(columns):
            raise ParameterError("files", f"{name}:{i}: {len(cells)} cells under {len(columns)} columns")
        yield record_of(dict(zip(columns, cells, strict=True)), f"{name}:{i}", decimal)


def _markdown(name: str, whole: str) -> list[Record] | None:
    rows = [
        (i, [cell.strip() for cell in line.strip().strip("|").split("|")])
        for i, line in enumerate(whole.splitlines(), start=1)
        if line.strip().startswith("|")
    ]
    columns = rows[0][1]
    if not holds_times(columns):
        refuse_half(name, columns)
        return None
    out = []
    for i, cells in rows[1:]:
        if all(set(cell) <= set("-: ") for cell in cells):
            continue
        if len(cells) != len(columns):
            raise ParameterError("files", f"{name}:{i}: {len(cells)} cells under {len(columns)} columns")
        out.append(record_of(dict(zip(columns, cells, strict=True)), f"{name}:{i}"))
    return out


def _json_rows(whole: str) -> list[dict[str, Any]] | None:
    """A list of objects, lines of objects, ``{"rows": […]}``, or an object of equally long lists."""
    try:
        found = json.loads(whole)
    except (ValueError, RecursionError):
        try:
            found = [json.loads(line) for line in whole.splitlines() if line.strip()]
        except (ValueError, RecursionError):
            return None
    if isinstance(found, dict):
        found = found.get("rows", found)
    if isinstance(found, dict):
        lists = {key: value for key, value in found.items() if isinstance(value, list)}
        if not lists or len({len(value) for value in lists.values()}) > 1:
            return None
        found = [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]
    return found if isinstance(found, list) and all(isinstance(row, dict) for row in found) else None


def columns_to_records(columns: Mapping[str, Any], where: str = "numbers given") -> list[Record]:
    """Equally long lists by name, as rows; a single number stands for every row.

    Examples
    --------
    >>> [r.figures["kappa"] for r in columns_to_records({"k": [2, 3], "round_ms": [9.2, 9.8], "batch": 1})]
    [2.0, 3.0]
    """
    for name in columns:
        if canonical(name) not in NAMES:
            raise ParameterError(name, f"unknown column {name}{did_you_mean(canonical(name), [*NAMES, *_ONE_NUMBER])}")
    lists = {name: list(v) if isinstance(v, Sequence) or hasattr(v, "tolist") else [v] for name, v in columns.items()}
    rows = max(map(len, lists.values()), default=0)
    for name, own in lists.items():
        if len(own) not in (1, rows):
            raise ParameterError(
                name, f"{name} has {len(own)} entries, others {rows}; allowed: as many, or one for all"
            )
    full = {name: own * rows if len(own) == 1 else own for name, own in lists.items()}
    return [record_of({n: own[i] for n, own in full.items()}, f"{where}, entry {i + 1}") for i in range(rows)]
