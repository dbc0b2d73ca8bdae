"""Which times does an engine's output hold?  Sources as `simspec fit` reads them, as rows of a κ sweep."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from simspec.evidence.bench_load import WHOLE_RUN, at_once
from simspec.evidence.costs.tables import Record
from simspec.evidence.source import PARTS, Source, rows_of
from simspec.model.errors import ParameterError

_FIGURES = (
    ("implied_round_ms", "round_ms"),
    ("measured_round_ms", "round_ms"),
    ("iteration_ms", "round_ms"),
    ("round_ms", "round_ms"),
    ("mean_tpot_ms", "tpot_ms"),
    ("mean_emitted_per_round", "emitted"),
    ("output_tok_s", "tok_s_total"),
    ("kappa", "kappa"),
    ("kappa_max", "kappa"),
)
"""Field of a source → column of a table of measurements."""
KAPPA_OF_SOURCE = "kappa_of_source"
"""Key of the error that says so where κ is not known."""
_STEADY = ("implied_round_ms", "iteration_ms")
"""Fields that stand in the pool where the batch hardly changes: the windows are repeats then, whatever their batch."""
REPEATS = 8
"""Repeats to which the windows of one κ are joined: enough to see their scatter, and each as long as a measurement."""


def records_of_sources(sources: Sequence[Source], kappas: Sequence[float] | None = None) -> list[Record]:
    """One row for each part of a source that has a time; plain decoding where a source timed it.

    Parameters
    ----------
    sources : sequence of Source
    kappas : sequence of float, optional
        κ of each source, for shapes that do not hold it: one, or as many as sources.

    Raises
    ------
    ParameterError
        A source has no time, or its κ is not known.
    """
    given = list(kappas or [])
    if len(given) not in (0, 1, len(sources)):
        raise ParameterError("kappa", f"kappa has {len(given)} entries for {len(sources)} sources; give one each")
    given = given * len(sources) if len(given) == 1 else given
    out: list[Record] = []
    for i, source in enumerate(sources):
        place = f"{', '.join(source.files)} ({source.shape})"
        rows = list(_rows(source, place, given[i] if given else None))
        if not rows:
            raise ParameterError(
                "files",
                f"{place}: holds no time of a round; give a table with round_ms, or TPOT and accept length, by κ",
            )
        out += rows
    return out


def _rows(source: Source, place: str, kappa: float | None) -> Iterator[Record]:
    pooled = source.body.get("pooled")
    pooled = pooled if isinstance(pooled, dict) else {}
    single = pooled.get("target_ms_single_token")
    if isinstance(single, float):
        yield Record({"kappa": 0.0, "tpot_ms": single}, {}, place)
    parts = [part for name in PARTS for part in rows_of(source.body.get(name))]
    found = [record for part in parts if (record := _row(part, pooled, place, kappa)) is not None]
    found = found or list(_windows(source, pooled, place))
    if found:
        yield from found
    elif (record := _row(pooled, pooled, place, kappa)) is not None:
        yield record


def _windows(source: Source, pooled: Mapping[str, Any], place: str) -> Iterator[Record]:
    """Windows of a log, joined to a few long repeats of each κ, whose scatter is the error of a round."""
    steady = any(isinstance(pooled.get(name), float) for name in _STEADY)
    listed = rows_of(source.body.get("windows"))
    left_out = source.body.get("windows_left_out")
    says = f"{place}: times are those of the first {len(listed):,} windows" if left_out else ""
    groups: dict[tuple[int, float | None], list[Mapping[str, Any]]] = {}
    for row in listed:
        counted = all(_known(row.get(name)) for name in ("kappa", "drafts", "draft_tokens", "accepted_tokens"))
        if counted and row["draft_tokens"] and _window_ms(row) is not None and (steady or "round_ms" in row):
            batch = None if steady else float(row["running"])
            groups.setdefault((math.ceil(row["kappa"]), batch), []).append(row)
    for (kappa, batch), rows in groups.items():
        own = {"kappa": float(kappa)} | ({} if batch is None else {"batch": batch})
        for part in np.array_split(np.arange(len(rows)), min(REPEATS, len(rows))):
            yield Record(own | _joined([rows[i] for i in part]), {}, place, says)


def _joined(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Windows as one: means by round."""
    drafts, drafted, accepted = (
        math.fsum(row[name] for row in rows) for name in ("drafts", "draft_tokens", "accepted_tokens")
    )
    ms = math.fsum(row["drafts"] * (_window_ms(row) or 0.0) for row in rows) / drafts
    own = {"drafts": drafts, "draft_tokens": drafted, "emitted": 1.0 + accepted / drafts, "round_ms": ms}
    if all(_known(row.get("draft_ms_per_round")) for row in rows):
        own["draft_ms"] = math.fsum(row["drafts"] * row["draft_ms_per_round"] for row in rows) / drafts
    return own


def _window_ms(row: Mapping[str, Any]) -> float | None:
    """Time of a round of a window: as told, or rounds of all running requests over the window's tokens per second."""
    if _known(row.get("round_ms")):
        return float(row["round_ms"])
    speed, running, drafts = (row.get(name) for name in ("generation_tok_s", "running", "drafts"))
    if not (_known(speed) and _known(running) and _known(drafts)) or not (speed and running and drafts):
        return None
    return float(1000.0 * running * (drafts + row["accepted_tokens"]) / drafts / speed)


def _known(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _row(part: Mapping[str, Any], pooled: Mapping[str, Any], place: str, kappa: float | None) -> Record | None:
    """A part as a row, or None if it has no time."""
    if part.get("speculation") is False:
        speed = part.get("predicted_per_second")
        if _known(speed):
            return Record({"kind": "plain", "tok_s_per_request": float(speed)}, {}, place)  # type: ignore[arg-type]
        figures: dict[str, Any] = {"kind": "plain"}
    else:
        figures = {} if kappa is None else {"kappa": float(kappa)}
    for field, name in _FIGURES:
        value = part.get(field)
        if _known(value) and name not in figures:
            figures[name] = float(value)  # type: ignore[arg-type]
    load, says = at_once(part), ""
    if load is not None:
        figures["batch"] = load
    if "tpot_ms" in figures:
        figures.pop("tok_s_total", None)
    elif "round_ms" not in figures:
        if "tok_s_total" not in figures or load is None:
            return None
        says = f"{place}: no TPOT is printed; taken instead: {load:g} requests ÷ {WHOLE_RUN}"
    drafted = part.get("mean_drafted_per_round")
    if isinstance(drafted, float):
        figures |= {"draft_tokens": drafted, "drafts": 1.0}
        if isinstance(part.get("draft_ms_per_token"), float):
            figures["draft_ms"] = drafted * part["draft_ms_per_token"]
    if "kappa" not in figures and "kind" not in figures:
        raise ParameterError(KAPPA_OF_SOURCE, f"{place}: its κ is not known; give it (--kappa N, one for each source)")
    return Record(figures, {}, place, says)
