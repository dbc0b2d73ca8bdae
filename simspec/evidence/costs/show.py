"""How do round costs look on a terminal?  The answer in a sentence, the table by κ, then what it cannot tell."""

from __future__ import annotations

from simspec.evidence.costs.points import ROOFLINE, TABLE, THROUGH_PLAIN
from simspec.evidence.costs.roofline import MEANING, NAMES, Roofline
from simspec.evidence.costs.round_costs import CostGrid, Load, RoundCosts
from simspec.model.errors import ParameterError
from simspec.text import number, table, wrapped

MOST_LOADS = 24
GRID_KAPPAS = (1, 2, 3, 4, 6, 8)


def shown(grid: CostGrid) -> str:
    """A grid as text: one load in full, several in a table and their roofline.

    Examples
    --------
    >>> print(shown(CostGrid.of(RoundCosts.affine(1.09, 0.105, kappas=(2, 3)))).splitlines()[0])
    a round of κ drafts costs R(κ) = 1.0900 + 0.1050·κ plain steps; it pays if it emits more tokens than
    """
    parts = [_cell(grid.cells[load]) for load in grid.loads] if len(grid.cells) == 1 else [_several(grid)]
    if isinstance(grid.surface, Roofline):
        parts.append(_roofline(grid.surface))
    return "\n\n".join([*parts, *_bullets(grid.notes)])


def _bullets(notes: tuple[str, ...]) -> list[str]:
    return ["\n".join(wrapped(f"- {note}", "", "  ") for note in notes)] if notes else []


def _cell(own: RoundCosts) -> str:
    lines = [sentence(own), *map(str, own.edges)]
    if own.plain_ms is not None:
        lines.append(f"plain decoding takes {own.plain_ms:.4g} ms per token (1 plain step){_origin(own)}")
    else:
        lines.append(f"in plain steps{_origin(own)}")
    return "\n\n".join(["\n".join(map(wrapped, lines)), _by_kappa(own), *_bullets(own.notes)])


def _origin(own: RoundCosts) -> str:
    return f"; from {own.origin}" if own.origin else ""


def sentence(own: RoundCosts) -> str:
    """The answer in one sentence."""
    pays = "it pays if it emits more tokens than that"
    if own.model == TABLE or (own.given is not None and own.given.longest_draft is not None):
        first, last = own.nodes[own.nodes > 0.0][0], own.nodes[-1]
        return (
            f"a round costs {own.at(first):.3f} plain steps at κ = {first:g} and {own.at(last):.3f} at κ = {last:g}, "
            f"as in the table, straight between; {pays}"
        )
    fixed = float(own.mean[0])  # the first node of a line is κ = 0
    slope = float(own.mean[1] - own.mean[0]) / float(own.nodes[1] - own.nodes[0])
    if own.model == ROOFLINE:
        return (
            f"a round costs {own.at(1):.3f} plain steps at κ = 1 and {own.at(4):.3f} at κ = 4 by the roofline; {pays}"
        )
    if own.model == THROUGH_PLAIN:
        point = own.measured[0]
        return (
            f"a round costs {point.cost:.3f} plain steps at κ = {point.kappa} ({point.drafted:.4g} drafts); if its "
            f"fixed cost is none, R(κ) = 1 {'−' if slope < 0.0 else '+'} {abs(slope):.4f}·κ"
        )
    sign = "−" if slope < 0.0 else "+"
    misses = own.figures.get("largest_residual")
    within = "" if misses is None else f", within {misses:.1%} of every measured round"
    errors = [own.figures.get(name) for name in ("fixed_error", "slope_error")]
    figures = [
        number(value) + ("" if error is None else f" (± {number(error)})")
        for value, error in zip((fixed, abs(slope)), errors, strict=True)
    ]
    return f"a round of κ drafts costs R(κ) = {figures[0]} {sign} {figures[1]}·κ plain steps{within}; {pays}"


def _by_kappa(own: RoundCosts) -> str:
    """Measured and fitted R by κ, and a few κ beyond, marked."""
    measured = {point.kappa: point for point in own.measured if point.kappa > 0}
    last = max(measured, default=0)
    kappas = sorted({*measured, *(k for k in range(1, 9) if len(own.nodes) > 1), *([last + 1] if last > 8 else [])})
    ms_column = [] if own.plain_ms is None else ["ms"]
    header = ["κ", "R (plain steps)", "±", *ms_column, "measured R", "tokens", "speed-up", "from"]
    rows = []
    for kappa in kappas:
        point = measured.get(kappa)
        place = kappa if point is None else point.at
        try:
            value = own.at(place)
        except ParameterError:
            continue
        emitted = None if point is None else point.emitted
        ms = [] if own.plain_ms is None else [f"{value * own.plain_ms:.2f}"]
        error = own.error(place)  # 0 where nothing is known
        rows.append(
            [f"{kappa}", number(value), number(error) if own.known_noise and error > 0.0 else "–", *ms,
             "–" if point is None else number(point.cost), "–" if emitted is None else number(emitted),
             "–" if emitted is None or point is None else f"{emitted / point.cost:.3f}",
             "measured" if point is not None else "extrapolated" if own.extrapolated(kappa) else "between"]
        )  # fmt: skip
    return table(header, rows)


def _several(grid: CostGrid) -> str:
    """R at a few κ by load."""
    kappas = sorted({point.kappa for own in grid.cells.values() for point in own.measured if point.kappa > 0})
    kappas = (kappas or list(GRID_KAPPAS))[:8]
    header = ["batch", "context", "plain ms", *(f"R({kappa})" for kappa in kappas), "off", "model"]
    rows, notes = [], []
    for load in grid.loads:
        own = grid.cells[load]
        rows.append(
            [*("–" if part is None else f"{part:g}" for part in load),
             "–" if own.plain_ms is None else f"{own.plain_ms:.4g}",
             *(_value(own, kappa) for kappa in kappas), f"{own.off:.3f}", own.model]
        )  # fmt: skip
        notes += [f"{_load(load)}: {text}" for text in (*map(str, own.edges), *own.notes)]
    low, high = _extremes(grid, kappas[-1])
    first = (
        f"R({kappas[-1]}) goes from {low[0]:.2f} plain steps at {_load(low[1])} to {high[0]:.2f} at {_load(high[1])}; "
        "a round pays if it emits more tokens than that"
    )
    if any("*" in cell for row in rows for cell in row):
        notes.append("all: * extrapolated")
    return "\n\n".join([wrapped(first), table(header, rows, MOST_LOADS), *_bullets(tuple(_together(notes)))])


def _together(notes: list[str]) -> list[str]:
    """Each note once, with the loads it holds of."""
    loads: dict[str, list[str]] = {}
    for note in notes:
        load, _, text = note.partition(": ")
        loads.setdefault(text, []).append(load)
    return [f"{text} ({'; '.join(own[:4])}{'; …' if len(own) > 4 else ''})" for text, own in loads.items()]


def _value(own: RoundCosts, kappa: int) -> str:
    try:
        return f"{own.at(kappa):.3f}" + ("*" if own.extrapolated(kappa) else "")
    except ParameterError:
        return "–"


def _extremes(grid: CostGrid, kappa: int) -> tuple[tuple[float, Load], tuple[float, Load]]:
    values = []
    for load in grid.loads:
        try:
            values.append((grid.cells[load].at(kappa), load))
        except ParameterError:
            continue
    return min(values, key=lambda v: v[0]), max(values, key=lambda v: v[0])


def _load(load: Load) -> str:
    words = [f"{name} {part:g}" for name, part in zip(("batch", "context"), load, strict=True) if part is not None]
    return ", ".join(words) or "the load"


def _roofline(own: Roofline) -> str:
    """What was fitted to all loads."""
    rows = []
    for i, (name, meaning) in enumerate(zip(NAMES, MEANING, strict=True)):
        error = float((own.spread[i] ** 2).sum()) ** 0.5 if own.spread.size else None
        unknown = own.unknown.get(name)
        value = "–" if unknown and not own.values[i] else f"{own.values[i]:.4g}"
        known = "–" if error is None or unknown else f"{error:.2g}"
        rows.append([name, value, known, meaning])
    ridge = own.ridge()
    says = (
        f"the ridge is not told: every row up to {own.ridge_above:g} tokens per step is bound by memory"
        if own.ridge_above is not None
        else f"the ridge lies at {ridge:.3g} tokens per step (batch · (κ + 1)) without context"
        if ridge is not None
        else "no ridge: every row is bound by compute"
    )
    first = f"roofline over batch · context · width, within {own.largest_residual:.1%} of every row; {says}"
    reasons = {text: [name for name in NAMES if own.unknown.get(name) == text] for text in own.unknown.values()}
    untold = tuple(f"not told: {', '.join(names)}: {text}" for text, names in reasons.items())
    return "\n\n".join([wrapped(first), table(["in ms", "value", "±", "of"], rows), *_bullets(untold)])
