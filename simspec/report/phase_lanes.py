"""Where are all the critical α at one cost?  A lane of labelled ticks per kind of step, and places for the others."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from simspec.report.draw import BLUE, INK, RUST, SOFT, VERMILION
from simspec.report.phase_words import FAMILIES, short
from simspec.theory import CriticalAlpha
from simspec.theory.critical import ARTICLE_ALPHA

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STEPS = ("step", "share", "tail")
"""Families with a lane of their own."""
LANE = 2.5
"""Lines of a lane: its name, the labels, the ticks."""
INCH = 0.24
"""Height of a line of labels."""
_LETTER = 0.0057
"""Width of a letter as a share of the axes: 11.1 inches, 9 points."""
TENTHS = tuple(i / 10 for i in range(11))
_ROOM = 0.03
"""Ticks of one lane closer than this, as a share of the axes, go without a label."""


def lanes_height(rows: Sequence[CriticalAlpha], first: float = 0.3) -> float:
    """Height of the panel in inches, its rates beginning at ``first``.

    Examples
    --------
    >>> lanes_height([CriticalAlpha("a", "model", 0.5, "", "")])
    0.36
    """
    return (
        round(INCH * (1.5 + _step_lanes(rows, first) * LANE + max(spread(rows, first).values(), default=-1)), 2) or INCH
    )


def _step_lanes(rows: Sequence[CriticalAlpha], first: float) -> int:
    return len({row.family for row in rows if first < row.alpha < 1.0} & set(STEPS))


def spread(rows: Sequence[CriticalAlpha], first: float = 0.3) -> dict[str, int]:
    """Line of each label that stands beside its tick: the highest where it overlaps none before it.

    Examples
    --------
    >>> spread([CriticalAlpha("a", "model", 0.50, "", ""), CriticalAlpha("b", "article", 0.51, "", "")])
    {'a': 0, 'b': 1}
    """
    ends: list[float] = []
    lines = {}
    for row in beside(rows, first):
        start, end = _extent(row, first)
        line = next((i for i, busy in enumerate(ends) if busy < start), len(ends))
        ends[line : line + 1] = [end]
        lines[row.name] = line
    return lines


def beside(rows: Sequence[CriticalAlpha], first: float) -> list[CriticalAlpha]:
    """Those that are no steps and lie in the panel, from left to right."""
    return sorted((row for row in rows if row.family not in STEPS and first < row.alpha < 1.0), key=lambda r: r.alpha)


def _extent(row: CriticalAlpha, first: float) -> tuple[float, float]:
    """Where a label with its tick begins and ends; it stands left of the tick where the right has no room."""
    width = _LETTER * (1.0 - first) * (len(label(row)) + 2)
    return (row.alpha - width, row.alpha + 0.006) if row.alpha + width > 1.0 else (row.alpha - 0.004, row.alpha + width)


def label(row: CriticalAlpha) -> str:
    """Name and value."""
    return f"{row.name}  {short(row.alpha, 3)}"


def critical_lanes(axes: Axes, rows: Sequence[CriticalAlpha], beta: float) -> None:
    """Every critical α: lanes of steps above, the others below, and what lies outside in words."""
    first, last = axes.get_xlim()
    y = 0.0
    for family in STEPS:
        own = [row for row in rows if row.family == family and first < row.alpha < last]
        if own:
            axes.text(first, y + 0.45, FAMILIES[family], va="center", fontsize=9.5, color=BLUE)
            _lane(axes, y - 0.75, own, last - first)
            y -= LANE
    lines = spread(rows, first)
    for row in beside(rows, first):
        _beside_its_tick(axes, row, y - lines[row.name], first)
    axes.axvline(ARTICLE_ALPHA, color=VERMILION, linewidth=2.0, zorder=0)
    axes.set_ylim(y - max(lines.values(), default=0) - 0.6, 0.9)
    axes.set_xticks([*(tick for tick in TENTHS if first <= tick <= last), ARTICLE_ALPHA])
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(False)
    axes.set_title(
        f"Every critical α that has a definition, at β = {beta:g}.  4|5: a step from 4 to 5.  "
        "Blue: true of decoding.  Rust: a formula of the article.", loc="left", fontsize=11,
    )  # fmt: skip
    axes.set_xlabel(outside(rows, first), fontsize=9.5, loc="left", color=SOFT)


def outside(rows: Sequence[CriticalAlpha], first: float) -> str:
    """The rows that have no place in the panel."""
    others = [row for row in rows if row.family not in STEPS and not first < row.alpha < 1.0]
    there = [f"{row.name} {short(row.alpha)}" for row in others if not math.isnan(row.alpha)]
    never = [row.name for row in others if math.isnan(row.alpha)]
    never += [f"{FAMILIES[f]}" for f in STEPS if (own := [r for r in rows if r.family == f]) and _none(own)]
    text = f"Outside: {'; '.join(there)}." if there else ""
    text += f"  No α fits: {'; '.join(never)}." if never else ""
    return "\n".join(textwrap.wrap(f"{text}  Each is explained in critical.md.".strip(), 175))


def _none(rows: Sequence[CriticalAlpha]) -> bool:
    return all(math.isnan(row.alpha) for row in rows)


def _lane(axes: Axes, y: float, rows: Sequence[CriticalAlpha], width: float) -> None:
    before = -math.inf
    for row in sorted(rows, key=lambda row: row.alpha):
        axes.plot([row.alpha, row.alpha], [y - 0.55, y + 0.1], color=BLUE, linewidth=1.8)
        if row.alpha - before > _ROOM * width:
            text = f"{row.step}|{int(row.step or 0) + 1}"
            axes.text(row.alpha, y + 0.16, text, ha="center", va="bottom", fontsize=9, color=INK,
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6})  # fmt: skip
            before = row.alpha


def _beside_its_tick(axes: Axes, row: CriticalAlpha, y: float, first: float) -> None:
    start, _ = _extent(row, first)
    to_left = row.alpha - start > 0.01
    colour = BLUE if row.family == "model" else RUST
    axes.plot([row.alpha, row.alpha], [y - 0.4, y + 0.4], color=colour, linewidth=1.8)
    axes.text(row.alpha + (-0.003 if to_left else 0.003), y, label(row), va="center",
              ha="right" if to_left else "left", fontsize=9, color=colour,
              bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6})  # fmt: skip
