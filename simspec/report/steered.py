"""Who chooses κ, and is it worth it?  One figure per process and price: every policy against the best fixed κ."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from simspec.report.draw import BLUE, INK, ORANGE, SOFT, VERMILION, few_ticks, fit, heading, place, render
from simspec.report.page import figure, paragraph, table
from simspec.report.points import Point
from simspec.report.select import shown, spread
from simspec.run.best_table import policy_names, with_interval
from simspec.text import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, ROW, HEAD, FOOTER = 760, 22, 26, 40
"""Pixels: of the figure, of a policy, above and below the panels."""
LEFT, GAP = 178, 26
SHARES = (0.5, 0.3, 0.2)
"""Of the width that the names leave: speed-up, κ, changes of κ."""
MOST = 12
"""Figures."""
MOST_ROWS = 40
"""Policies of a figure."""
_HEADS = ("Process", "Costs", "Who chooses κ", "Speed-up [interval]", "Over the best fixed κ", "Mean κ", "sd", "κ = 0",
          "Changes per 1,000", "p99 cost of a token")  # fmt: skip
Row = dict[str, Any]


def steered_section(held: Sequence[Point]) -> str:
    """A figure of each process and price at which a policy ran, and a table of all; nothing where κ is fixed."""
    found = groups(held)
    chosen = spread(found, MOST)
    if not chosen:
        return ""
    intro = (
        "A policy changes κ from round to round: it has no curve over κ but a speed-up. Bars are intervals, the solid "
        "line is the best fixed κ, exact, which nobody knows beforehand; the dotted one the best κ by output position, "
        "where rates are known by position. Right: κ over the rounds, mean and standard deviation, and how many rounds "
        f"in 1,000 ask for another κ than the round before. {_upper(shown(len(chosen), len(found), 'figures'))}."
    )
    figures = [
        '<div class="wide">'
        + figure(_draw(own, f"w{i}"), f"{own[0].question} · {own[0].price}", _under(own))
        + "</div>"
        for i, own in enumerate(chosen)
    ]
    return "\n".join([paragraph(intro), *figures, _table(found)])


def _under(own: Sequence[Point]) -> list[str]:
    """What the lines of a figure are, with their numbers."""
    row = next(row for _, row in rows_of(own) if row["policy"] != "fixed")
    fixed, plan = _number(row, "best_fixed"), _number(row, "best_schedule")
    if math.isnan(fixed):
        return ["no exact route: the best fixed κ is not known"]
    told = f"line: the best fixed κ = {_number(row, 'kappa_fixed'):.0f}, exact S = {number(fixed)}"
    return [told, "" if math.isnan(plan) else f"dotted: the best κ by output position, exact S = {number(plan)}"]


def groups(held: Sequence[Point]) -> list[list[Point]]:
    """Points by process, scheme and price, where a policy ran; a fixed κ first."""
    by: dict[str, list[Point]] = {}
    for point in held:
        key = json.dumps(
            [point.kind, point.parameters, point.label, point.scheme, point.cost.identity()], sort_keys=True
        )
        by.setdefault(key, []).append(point)
    steered = [own for own in by.values() if any(point.policy for point in own)]
    return [sorted(own, key=lambda point: bool(point.policy)) for own in steered]


def rows_of(own: Sequence[Point]) -> list[tuple[str, Row]]:
    """Each policy by name with its row, the best fixed κ that was run first."""
    rows = [point.best if not point.policy else point.rows[0] for point in own]
    names = [name or f"κ = {row['kappa_star']}, fixed" for name, row in zip(policy_names(rows), rows, strict=True)]
    return list(zip(names, rows, strict=True))


def _draw(own: Sequence[Point], key: str) -> str:
    rows = rows_of(own)[:MOST_ROWS]
    return render(lambda paper: _paint(paper, rows), HEAD + ROW * len(rows) + FOOTER, _alternative(own), key, WIDTH)


def _alternative(own: Sequence[Point]) -> str:
    each = ", ".join(f"{name} {row['speedup']:.3f}" for name, row in rows_of(own))
    return f"Speed-up by who chooses κ for {own[0].question}, {own[0].price}: {each}"


def _paint(paper: Figure, rows: Sequence[tuple[str, Row]]) -> None:
    room, tall, left = WIDTH - LEFT - GAP * len(SHARES), ROW * len(rows), float(LEFT)
    panels: list[Axes] = []
    for share in SHARES:
        panels.append(place(paper, left, FOOTER, room * share, tall, **({"sharey": panels[0]} if panels else {})))
        left += room * share + GAP
    best = max(range(len(rows)), key=lambda i: float(rows[i][1]["speedup"]))
    for i, (_, row) in enumerate(rows):
        colour = VERMILION if i == best else INK if row["policy"] == "fixed" else BLUE
        _speed(panels[0], row, i, colour)
        _kappa(panels[1], row, i, colour)
        panels[2].plot([_number(row, "flips_per_1000")], [i], "o", color=colour, markersize=5)
    _lines(panels[0], rows)
    panels[0].set_ylim(len(rows) - 0.5, -0.5)
    panels[0].set_yticks(range(len(rows)), [fit(name, 27) for name, _ in rows])
    for axes, text, what in (
        (panels[0], "speed-up", "times a plain target step"),
        (panels[1], "κ", "mean, standard deviation"),
        (panels[2], "changes", "of 1,000 rounds"),
    ):
        axes.grid(True, axis="x")
        axes.tick_params(labelleft=axes is panels[0])
        heading(axes, text)
        axes.set_xlabel(what, labelpad=3)
    few_ticks(panels[0].xaxis, 5)
    few_ticks(panels[1].xaxis, 4, whole=True)
    few_ticks(panels[2].xaxis, 2)
    panels[2].set_xlim(left=-20)


def _speed(axes: Axes, row: Row, i: int, colour: str) -> None:
    low, high, value = (float(row[name]) for name in ("speedup_low", "speedup_high", "speedup"))
    axes.plot([low, high], [i, i], color=colour, linewidth=5, alpha=0.35, solid_capstyle="butt")
    axes.plot([value], [i], "D" if colour == VERMILION else "o", color=colour, markersize=5.5)


def _kappa(axes: Axes, row: Row, i: int, colour: str) -> None:
    mean, spread_ = _number(row, "mean_kappa"), _number(row, "sd_kappa")
    axes.plot([max(mean - spread_, 0.0), mean + spread_], [i, i], color=colour, linewidth=1.6, alpha=0.6)
    axes.plot([mean], [i], "o", color=colour, markersize=5)


def _lines(axes: Axes, rows: Sequence[tuple[str, Row]]) -> None:
    """What is exact: the best fixed κ and the best plan."""
    steered = [row for _, row in rows if row["policy"] != "fixed"]
    for name, colour, style in (("best_fixed", ORANGE, "-"), ("best_schedule", SOFT, (0, (1, 2)))):
        value = _number(steered[0], name)
        if not math.isnan(value):
            axes.axvline(value, color=colour, linewidth=1.6, linestyle=style, zorder=0)


def _number(row: Row, name: str) -> float:
    """A figure of a row; NaN in files of before there was such a column."""
    value = row.get(name)
    return math.nan if value is None else float(value)


def _table(found: Sequence[Sequence[Point]]) -> str:
    cells = []
    for own in found:
        for name, row in rows_of(own):
            loss, high = _number(row, "loss_fixed"), _number(row, "loss_fixed_high")
            gain = "–" if math.isnan(loss) else f"{-100 * loss:+.2f}% ± {100 * (high - loss):.2f}"
            off = _number(row, "share_off")
            cells.append([
                own[0].question, own[0].price, name, with_interval(row, "speedup"), gain,
                number(_number(row, "mean_kappa"), 2), number(_number(row, "sd_kappa"), 2),
                "–" if math.isnan(off) else f"{off:.1%}", number(_number(row, "flips_per_1000"), 0),
                number(_number(row, "unit_token_cost_p99"), 3),
            ])  # fmt: skip
    return table(_HEADS, cells, "Policies against the best fixed κ", words=(0, 1, 2))


def _upper(text: str) -> str:
    return text[0].upper() + text[1:]
