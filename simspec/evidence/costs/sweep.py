"""What do measurements say about the cost of a round?  Tables, engine outputs or numbers → R(κ) by load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from simspec.evidence.costs.cell_fit import fit_cell
from simspec.evidence.costs.choice import chosen
from simspec.evidence.costs.model import MODELS
from simspec.evidence.costs.names import NEEDED
from simspec.evidence.costs.points import ROOFLINE
from simspec.evidence.costs.roofline import Roofline
from simspec.evidence.costs.roofline_fit import fit_roofline
from simspec.evidence.costs.round_costs import CostGrid, Load, RoundCosts
from simspec.evidence.costs.rows import PLAIN, ROUND, VERIFY, Timed, timed
from simspec.evidence.costs.sources import records_of_sources
from simspec.evidence.costs.speeds import speeds_alone
from simspec.evidence.costs.tables import Record, columns_to_records, records_of
from simspec.model.errors import ParameterError

_TABLE = f"; a table of measurements needs {NEEDED}"
_BESIDE = ("kappa", "batch", "context")
FEWEST_ROWS = 6
"""Rows at several loads from which a roofline is tried unasked."""


def costs(
    *files: str | Path,
    base_tpot_ms: float | None = None,
    base_tok_s: float | None = None,
    loop_tpot_ms: float | None = None,
    loop_tok_s: float | None = None,
    draft_cost: float | None = None,
    draft_token_ms: float | None = None,
    model: str | None = None,
    where: Mapping[str, str] | None = None,
    **columns: Any,
) -> CostGrid:
    """Round costs R(κ) in plain target steps, from a κ sweep.

    Parameters
    ----------
    *files : str or Path
        Tables (CSV, TSV, Markdown, JSON, JSON lines) with one row per measurement: κ, perhaps batch and context, and a
        time (docs/costs.md lists the names), several rows per κ being repeats; or outputs of engines with times.
    base_tpot_ms, base_tok_s : float, optional
        Plain decoding, the unit, where no row has it: ms per token, or tokens per second.
    loop_tpot_ms, loop_tok_s : float, optional
        The loop of speculation running with κ = 0: what "off" costs in an engine that stays in it.
    draft_cost, draft_token_ms : float, optional
        One draft token, in plain steps or ms.  Needed where target passes were timed alone (``verify_ms``).
    model : str, optional
        ``"affine"``, ``"table"`` or ``"roofline"``.  By default a line per load, a table where the sweep has edges or
        the line misses, and a roofline beside them where several loads were measured.
    where : mapping, optional
        Column → value: which rows of a table that holds several models or machines.
    **columns
        The same names as in a table, as equally long lists: ``kappa=[2, 3], emitted=[2.1, 2.3], tpot_ms=[4.4, 4.3]``.

    Returns
    -------
    CostGrid
        ``grid.at(batch, context).at(kappa)`` is R(κ); its text says the answer first.

    Raises
    ------
    ParameterError
        Plain decoding is missing, a row is not as it should be, or rows are not comparable.

    References
    ----------
    Leviathan, Kalman, Matias (2023), section 3.3, for the cost of a round in units of a target step.

    Examples
    --------
    >>> import simspec
    >>> own = simspec.costs(kappa=[2, 3, 4], emitted=[2.1, 2.29, 2.39], tpot_ms=[4.37, 4.29, 4.48], base_tpot_ms=7.07)
    >>> [round(own.at().at(kappa), 3) for kappa in (2, 3, 4)]
    [1.292, 1.401, 1.509]
    """
    if model is not None and model not in (*MODELS, ROOFLINE):
        raise ParameterError("model", f'model = "{model}" is unknown; allowed: {", ".join(MODELS)}, {ROOFLINE}')
    records = _read(list(map(str, files)), columns) if files else columns_to_records(columns)
    if not records:
        raise ParameterError("files", "nothing to read: give a table, or --kappa with --round-ms, --tpot or --tok-s")
    records = chosen(records, where or {})
    records += _told(base_tpot_ms, base_tok_s, None) + _told(loop_tpot_ms, loop_tok_s, "loop")
    speeds_alone(records)
    rows = _one_load([timed(record) for record in records])
    origin = ", ".join(dict.fromkeys(Path(file).name for file in files)) or "numbers given"
    grid = _grid(rows, model, draft_cost, draft_token_ms, origin)
    return _noted(grid, list(dict.fromkeys(record.says for record in records if record.says)))


def _read(files: Sequence[str], beside: Mapping[str, Any]) -> list[Record]:
    """Rows of all files; beside them the κ of engine outputs and one load for all may be given."""
    from simspec.evidence.recognise import fit

    for name in beside:
        if name not in _BESIDE:
            raise ParameterError(name, f"{name} beside a file: give it in the file, or all as numbers")
    found = {file: records_of(file) for file in files}
    others = [file for file in files if found[file] is None]
    if "kappa" in beside and not others:
        raise ParameterError("kappa", "kappa beside a table: the table holds it; it is for outputs of engines")
    records = [record for own in found.values() for record in own or ()]
    if "-" in others:
        raise ParameterError("files", f"standard input is no table{_TABLE}")
    if others:
        try:
            sources = fit(*others)
        except ParameterError as error:
            raise ParameterError(error.key, f"{error.message}{_TABLE}") from None
        records += records_of_sources(sources, _numbers(beside.get("kappa")))
    load = {name: _numbers(beside.get(name)) for name in ("batch", "context")}
    for name, own in load.items():
        if len(own) > 1:
            raise ParameterError(name, f"{name} beside a file is one number for all of it; {len(own)} given")
    told = {name: own[0] for name, own in load.items() if own}
    return [replace(record, figures={**told, **record.figures}) for record in records]


def _numbers(value: Any) -> list[float]:
    if value is None:
        return []
    return [float(own) for own in (value if isinstance(value, Sequence) or hasattr(value, "tolist") else [value])]


def _told(tpot_ms: float | None, tok_s: float | None, kind: str | None) -> list[Record]:
    """A row of plain decoding, or of the loop, given as a number."""
    flag = "base" if kind is None else kind
    if tpot_ms is not None and tok_s is not None:
        raise ParameterError(f"{flag}_tpot", f"{flag}: give ms per token or tokens per second, not both")
    if tpot_ms is None and tok_s is None:
        return []
    figures = {"tpot_ms": tpot_ms} if tok_s is None else {"tok_s": tok_s}
    own: dict[str, float | str] = {"kappa": 0.0, **{key: float(value) for key, value in figures.items() if value}}
    if len(own) < 2:
        raise ParameterError(flag, f"{flag} = 0 is out of range; allowed: more than 0")
    return [Record(own if kind is None else own | {"kind": kind}, {}, f"--{flag}")]


def _one_load(rows: list[Timed]) -> list[Timed]:
    """Numbers given beside a table belong to its load, if there is one only."""
    loads = {(row.batch, row.context) for row in rows if not row.place.startswith("--")}
    beside = [row for row in rows if row.place.startswith("--")]
    if beside and len(loads) > 1:
        raise ParameterError(
            "base_tpot", f"{beside[0].place} is one number for {len(loads)} loads: give a row with κ = 0 for each batch"
        )
    if any(row.kind == PLAIN for row in beside) and any(row.kind == PLAIN for row in rows if row not in beside):
        raise ParameterError(
            "base_tpot", "plain decoding stands in the rows (κ = 0) and is given as a number: keep one"
        )
    if not loads:
        return rows
    batch, context = loads.pop() if beside else (None, None)
    return [Timed(**(vars(row) | _at_load(row, batch, context, rows))) if row in beside else row for row in rows]


def _at_load(row: Timed, batch: float | None, context: float | None, rows: Sequence[Timed]) -> dict[str, Any]:
    """Load of a number given beside; a speed counts as the speeds of the table do."""
    out: dict[str, Any] = {"batch": batch, "context": context}
    kinds = {other.speed_of for other in rows if not other.place.startswith("--") and other.speed_of}
    if row.speed_of and len(kinds) == 1 and batch is not None:
        kind = kinds.pop()
        out |= {"speed_of": kind, "ms": row.ms * (batch if kind != row.speed_of else 1.0)}
    return out


def _grid(
    rows: list[Timed], model: str | None, draft_cost: float | None, draft_ms: float | None, origin: str
) -> CostGrid:
    loads: dict[Load, list[Timed]] = {}
    for row in rows:
        loads.setdefault((row.batch, row.context), []).append(row)
    surface, notes = _surface(rows, loads, model, draft_cost, origin)
    cells: dict[Load, RoundCosts] = {}
    for load, own in loads.items():
        complete = _complete(own)
        if surface is not None and (model == ROOFLINE or not complete):
            if any(row.kappa for row in own) or model == ROOFLINE:
                cells[load] = surface.at(load[0] or 1.0, load[1])
        elif complete or len(loads) == 1 or surface is None:
            cells[load] = fit_cell(own, None if model == ROOFLINE else model, draft_cost, draft_ms, origin)
    return CostGrid(cells, surface, tuple(notes))


def _noted(grid: CostGrid, says: list[str]) -> CostGrid:
    """With what is to be said about the times: of the one load, or of all."""
    if not says:
        return grid
    if len(grid.cells) > 1:
        return CostGrid(grid.cells, grid.surface, (*says, *grid.notes))
    cells = {load: RoundCosts(**(vars(own) | {"notes": (*says, *own.notes)})) for load, own in grid.cells.items()}
    return CostGrid(cells, grid.surface, grid.notes)


def _complete(rows: Sequence[Timed]) -> bool:
    """Whether a load has both plain decoding and rounds."""
    plain = any(row.kind == PLAIN or (row.kind == VERIFY and row.kappa == 0) for row in rows)
    return plain and any(row.kappa > 0 and row.kind in (ROUND, VERIFY) for row in rows)


def _surface(
    rows: list[Timed], loads: Mapping[Load, Any], model: str | None, draft_cost: float | None, origin: str
) -> tuple[Roofline | None, list[str]]:
    """A roofline if asked for, or where several loads were measured; unasked, why there is none."""
    if model == ROOFLINE:
        return fit_roofline(rows, draft_cost or 0.0, origin), []
    if model is not None or len(loads) < 2 or len(rows) < FEWEST_ROWS:
        return None, []
    try:
        return fit_roofline(rows, draft_cost or 0.0, origin), []
    except ParameterError as error:
        return None, [f"no roofline for other loads: {error.message}"]
