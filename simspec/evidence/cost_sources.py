"""Which times does an engine's output hold?  Sources as `simspec fit` reads them, as rows of a κ sweep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from simspec.evidence.cost_tables import Record
from simspec.evidence.source import Source
from simspec.model.errors import ParameterError

_FIGURES = (
    ("implied_round_ms", "round_ms"),
    ("measured_round_ms", "round_ms"),
    ("round_ms", "round_ms"),
    ("mean_emitted_per_round", "emitted"),
    ("output_tok_s", "tok_s_total"),
    ("concurrency", "batch"),
    ("kappa", "kappa"),
    ("kappa_max", "kappa"),
)
"""Field of a source → column of a table of measurements."""
_PARTS = ("per_task", "per_request", "items")


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
    parts = [part for name in _PARTS for part in _listed(source.body.get(name))]
    found = [record for part in parts if (record := _row(part, pooled, place, kappa)) is not None]
    if found:
        yield from found
    elif (record := _row(pooled, pooled, place, kappa)) is not None:
        yield record


def _listed(part: Any) -> list[Mapping[str, Any]]:
    rows = part if isinstance(part, list) else list(part.values()) if isinstance(part, dict) else []
    return [row for row in rows if isinstance(row, dict)]


def _row(part: Mapping[str, Any], pooled: Mapping[str, Any], place: str, kappa: float | None) -> Record | None:
    """A part as a row, or None if it has no time."""
    if part.get("speculation") is False:
        speed = part.get("predicted_per_second")
        if isinstance(speed, (int, float)):
            return Record({"kind": "plain", "tok_s_per_request": float(speed)}, {}, place)
        figures: dict[str, Any] = {"kind": "plain"}
    else:
        figures = {} if kappa is None else {"kappa": float(kappa)}
    for field, name in _FIGURES:
        value = part.get(field)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and name not in figures:
            figures[name] = float(value)
    if not figures.keys() & {"round_ms", "tok_s_total"} or ("tok_s_total" in figures and "batch" not in figures):
        return None
    drafted = part.get("mean_drafted_per_round")
    if isinstance(drafted, float):
        figures |= {"draft_tokens": drafted, "drafts": 1.0}
        if isinstance(part.get("draft_ms_per_token"), float):
            figures["draft_ms"] = drafted * part["draft_ms_per_token"]
    if "kappa" not in figures and "kind" not in figures:
        raise ParameterError("kappa", f"{place}: its κ is not known; give it (--kappa N, one for each source)")
    return Record(figures, {}, place)
