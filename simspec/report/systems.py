"""Which way to draft keeps most for what it costs?  One figure and one table of all systems of a run at one price."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simspec.report.draw import (
    BLUE,
    INK,
    SOFT,
    STYLE,
    VERMILION,
    few_ticks,
    fit,
    heading,
    need_matplotlib,
    place,
    render,
)
from simspec.report.page import figure, paragraph, table
from simspec.run.dataset import Dataset
from simspec.run.store import whole
from simspec.run.systems import FOOT, HEADER, System, cost_of, families, remarks, sentence
from simspec.stats.request_tail import REQUEST_TOKENS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, ROW, HEAD, FOOTER = 760, 22, 26, 40
"""Pixels: of the figure, of a system, above and below the panels."""
LEFT, GAP = 178, 26
SHARES = (0.46, 0.22, 0.32)
"""Of the width that the names leave: speed-up, dear answers, tokens."""
MOST = 40
"""Systems of one figure; the table has all."""
DPI = 144


def systems_section(data: Dataset) -> str:
    """A figure and a table of each family of systems; nothing where there is one scheme only."""
    if not data.many_schemes:
        return ""
    parts = []
    for i, family in enumerate(own for own in families(data.systems()) if len(own) > 1):
        shown = family[:MOST]
        where = f"{cost_of(family[0].row)}"
        parts += [
            paragraph(f"{sentence(family)}."),
            '<div class="wide">' + figure(draw(shown, f"s{i}"), where, [] if len(shown) == len(family) else [
                f"{len(shown)} of {len(family)} systems shown; the table has all"
            ]) + "</div>",
            table(HEAD_ROW, rows(family), f"systems at {where}", words=(0, 1)),
        ]  # fmt: skip
    return "\n".join([*parts, paragraph(f"{FOOT[0].upper()}{FOOT[1:]}", "note"), *reasons(data.systems())])


HEAD_ROW = ("System", "On", *(text[0].upper() + text[1:] for text in HEADER[1:]))


def rows(family: Sequence[System]) -> list[list[str]]:
    """What the table says of each system."""
    return [[own.cells()[0], own.pair, *own.cells()[1:]] for own in family]


def reasons(found: Sequence[System]) -> list[str]:
    """What must stand below the table, as paragraphs."""
    return [paragraph(f"{text}.", "note") for text in remarks(found)]


def height(family: Sequence[System]) -> int:
    """Of a figure of so many systems, in pixels."""
    return HEAD + ROW * len(family) + FOOTER


def draw(family: Sequence[System], key: str) -> str:
    """The figure as inline SVG."""
    return render(lambda paper: paint(paper, family), height(family), alternative(family), key, WIDTH)


def picture(family: Sequence[System], path: Path) -> Path:
    """The figure as a PNG; one that exists is replaced."""
    need_matplotlib()
    from matplotlib import style
    from matplotlib.figure import Figure

    with style.context(["default", STYLE | {"figure.facecolor": "white"}]):
        paper = Figure(figsize=(WIDTH / 72, height(family) / 72), dpi=DPI)
        paint(paper, family)
        with whole(path) as temporary:
            paper.savefig(temporary, format="png", metadata={"Software": None})
    return path


def alternative(family: Sequence[System]) -> str:
    """The figure in one sentence."""
    each = ", ".join(f"{own.name} {own.speedup:.2f}" for own in family)
    return f"Speed-up against a plain target step of {len(family)} ways to draft: {each}"


def paint(paper: Figure, family: Sequence[System]) -> None:
    """Speed-up with its interval and the exact value, the dearest answers, tokens emitted and read, side by side."""
    room = WIDTH - LEFT - GAP * len(SHARES)
    tall, left, panels = ROW * len(family), float(LEFT), list[Any]()
    for share in SHARES:
        panels.append(place(paper, left, FOOTER, room * share, tall, **({"sharey": panels[0]} if panels else {})))
        left += room * share + GAP
    best = max((own for own in family if own.lossless), key=lambda own: own.speedup, default=family[0])
    for i, own in enumerate(family):
        colour = SOFT if not own.lossless else VERMILION if own is best else BLUE
        _speed(panels[0], own, i, colour)
        _tail(panels[1], own, i, colour)
        _tokens(panels[2], own, i, colour)
    panels[0].set_ylim(len(family) - 0.5, -0.5)
    panels[0].set_yticks(range(len(family)), [fit(own.cells()[0], 27) for own in family])
    for axes, text, what in (
        (panels[0], "speed-up", "times a plain target step (white: exact)"),
        (panels[1], "p99 cost of a token", f"answers of {REQUEST_TOKENS} tokens"),
        (panels[2], "tokens of a round", "emitted (full), read (white)"),
    ):
        axes.grid(True, axis="x")
        axes.tick_params(labelleft=axes is panels[0])
        heading(axes, text)
        axes.set_xlabel(what, labelpad=3)
    few_ticks(panels[0].xaxis, 6)
    few_ticks(panels[1].xaxis, 3)
    _finish(panels, family)


def _finish(panels: Sequence[Axes], family: Sequence[System]) -> None:
    first = panels[0]
    first.axvline(1.0 / float(family[0].row["off"]), color=SOFT, linewidth=1, linestyle=(0, (4, 3)))
    most = max(max(own.speedup, float(own.row["speedup_high"])) for own in family)
    first.set_xlim(min(0.9, *(0.95 * own.speedup for own in family)), 1.1 * most)
    if all(math.isnan(own.request_p99) for own in family):
        panels[1].text(0.5, 0.5, "exact values:\nno answers", transform=panels[1].transAxes, ha="center", color=SOFT)
    panels[2].set_xscale("log", base=2)
    panels[2].xaxis.set_major_formatter(lambda value, _: f"{value:g}")


def _speed(axes: Axes, own: System, i: int, colour: str) -> None:
    low, high, exact = (float(own.row[name]) for name in ("speedup_low", "speedup_high", "speedup_exact"))
    axes.plot([low, high], [i, i], color=colour, linewidth=5, alpha=0.35, solid_capstyle="butt")
    axes.plot([own.speedup], [i], "D" if colour == VERMILION else "o", color=colour, markersize=6)
    if not math.isnan(exact):
        axes.plot([exact], [i], "o", markersize=3.2, markerfacecolor="white", markeredgecolor=INK, markeredgewidth=0.8)
    axes.annotate(f"{own.speedup:.2f}", (max(high, own.speedup), i), (6, 0), textcoords="offset points", va="center",
                  fontsize=9.5, color=INK)  # fmt: skip


def _tail(axes: Axes, own: System, i: int, colour: str) -> None:
    if not math.isnan(own.request_p99):
        axes.plot([own.request_p99], [i], "o", color=colour, markersize=5)


def _tokens(axes: Axes, own: System, i: int, colour: str) -> None:
    emitted = float(own.row["mean_tokens"])
    axes.plot([emitted, own.width], [i, i], color=colour, linewidth=1.2, alpha=0.6)
    axes.plot([own.width], [i], "o", markersize=5, markerfacecolor="white", markeredgecolor=colour)
    axes.plot([emitted], [i], "o", color=colour, markersize=5)
