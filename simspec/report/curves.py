"""How does the speed-up depend on κ?  One small figure per point, with its interval and the exact values."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simspec.report.draw import (
    AMBER,
    BLUE,
    INK,
    ORANGE,
    RUST,
    SOFT,
    VERMILION,
    WIDTH,
    few_ticks,
    heading,
    place,
    render,
)
from simspec.report.points import Exact, Point
from simspec.run.best_table import with_interval
from simspec.text import kappa_set, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]
HEIGHT, STRIP = 300, 62
LEFT, RIGHT = 40, 12
WIDEST_GAP, FEWEST = 8, 5
"""A step in κ wider than this ends the drawn part, if at least so many κ remain."""


def curve(point: Point, key: str) -> str:
    """The κ-curve of a point as inline SVG.

    Upper part: speed-up with its band, exact values as open circles, κ* as a diamond, a tint behind the κ that cannot
    be told apart, a dashed line at 1/off.  Lower part: simulated minus exact, where the band is wide enough to see.

    Parameters
    ----------
    point : Point
    key : str
        Prefix of ids, unique on the page.

    Returns
    -------
    str
    """

    def paint(figure: Figure) -> None:
        exact = None if point.known else point.exact  # exact values differ from themselves by nothing
        foot = 36 + (STRIP + 26 if exact else 0)
        top = place(figure, LEFT, foot, WIDTH - LEFT - RIGHT, HEIGHT - foot - 20)
        _speedups(top, point)
        last = top
        if exact:
            last = place(figure, LEFT, 36, WIDTH - LEFT - RIGHT, STRIP, sharex=top)
            _differences(last, point, exact)
            top.tick_params(labelbottom=False)
        last.set_xlabel("κ, draft length", labelpad=3)

    return render(paint, HEIGHT, alternative(point), key)


def drawn(point: Point) -> Point:
    """The part of a curve that is drawn: without far κ behind a gap, which would squeeze the rest.

    Examples
    --------
    >>> cost, row = None, {"kappa_star": 4}
    >>> long = Point("p", "s", "iid", "", {}, cost, [{**row, "kappa": k} for k in (0, 1, 2, 3, 4, 5, 64)])
    >>> drawn(long).kappas
    [0, 1, 2, 3, 4, 5]
    """
    kappas = point.kappas
    end = next((i + 1 for i, (a, b) in enumerate(itertools.pairwise(kappas)) if b - a > WIDEST_GAP), len(kappas))
    if end == len(kappas) or end < FEWEST or int(point.best["kappa_star"]) > kappas[end - 1]:
        return point
    return dataclasses.replace(point, rows=point.rows[:end])


def alike(point: Point) -> str:
    """Which κ cannot be told apart from the best, in words."""
    own = point.indistinguishable
    return f"cannot be told apart: {kappa_set(own)}" if len(own) > 1 else "told apart from every other κ run"


def alternative(point: Point) -> str:
    """The figure in one sentence."""
    best = point.best
    exact = f"exact best κ {point.exact.kappa_star}, {number(max(point.exact.speedups))}; " if point.exact else ""
    return (
        f"Speed-up against κ for {point.name}, {point.price}: best κ {best['kappa_star']} at "
        f"{with_interval(best, 'speedup')}; {alike(point)}; {exact}without speculation {1 / point.cost.off:.4g}."
    )


def _speedups(axes: Axes, point: Point) -> None:
    kappas, value = _column(point, "kappa"), _column(point, "speedup")
    low, high = _column(point, "speedup_low"), _column(point, "speedup_high")
    for kappa in point.indistinguishable:
        axes.axvspan(kappa - 0.5, kappa + 0.5, color=ORANGE, alpha=0.28, linewidth=0)
    axes.fill_between(kappas, low, high, color=BLUE, alpha=0.25, linewidth=0)
    axes.plot(kappas, value, color=BLUE, linewidth=1.6, marker="." if len(kappas) < 3 else "")
    values = [*low, *high, 1 / point.cost.off]
    if point.exact:
        values += point.exact.speedups
        axes.plot(kappas, point.exact.speedups, "o", markersize=3.6, markerfacecolor="white", markeredgecolor=INK,
                  markeredgewidth=0.8)  # fmt: skip
    best = point.best
    axes.plot([best["kappa"]], [best["speedup"]], "D", color=VERMILION, markersize=6.5)
    bottom, top = min(values), max(values)
    room = (top - bottom) or 0.1
    axes.set_ylim(bottom - 0.16 * room, top + 0.24 * room)
    axes.set_xlim(kappas[0] - 0.6, kappas[-1] + 0.6)
    few_ticks(axes.xaxis, 9, whole=True)
    _off_line(axes, 1 / point.cost.off, kappas, value)
    _names(axes, point)
    heading(axes, "speed-up S against a plain target step")


def _column(point: Point, name: str) -> Floats:
    return np.array([row[name] for row in point.rows], dtype=np.float64)


def _off_line(axes: Axes, level: float, kappas: Floats, value: Floats) -> None:
    """The line at 1/off, named at its right end, or where the curve is farthest if it ends near the line."""
    axes.axhline(level, color=SOFT, linewidth=1, linestyle=(0, (4, 3)))
    bottom, top = axes.get_ylim()
    at = -1 if abs(value[-1] - level) > 0.16 * (top - bottom) else int(np.argmax(np.abs(value - level)))
    under = value[at] >= level
    axes.annotate(
        f"speculation off: {level:.4g}", (1 if at == -1 else kappas[at], level), (0, -3 if under else 3),
        xycoords=axes.get_yaxis_transform() if at == -1 else "data", textcoords="offset points",
        ha="right" if at == -1 else "left", va="top" if under else "bottom", color=SOFT, fontsize=10,
    )  # fmt: skip


def _names(axes: Axes, point: Point) -> None:
    """Direct labels of κ* and of the tint."""
    best, alike = point.best, point.indistinguishable
    first, last = axes.get_xlim()
    share = (best["kappa"] - first) / (last - first)
    side = "left" if share < 0.3 else "right" if share > 0.7 else "center"
    axes.annotate(
        f"κ* = {best['kappa_star']}, S = {number(best['speedup'])}", (best["kappa"], best["speedup"]), (0, 8),
        textcoords="offset points", ha=side, va="bottom", color=RUST, fontweight="bold", fontsize=11,
    )  # fmt: skip
    if len(alike) < 2:
        return
    middle = (alike[0] + alike[-1]) / 2
    right = middle > (first + last) / 2
    axes.text(
        alike[0] - 0.6 if right else alike[-1] + 0.6, 0.5, f"κ = {kappa_set(alike)}\ncannot be\ntold apart",
        transform=axes.get_xaxis_transform(), ha="right" if right else "left", va="center", color=AMBER, fontsize=10,
    )  # fmt: skip


def _differences(axes: Axes, point: Point, exact: Exact) -> None:
    kappas, truth = _column(point, "kappa"), np.array(exact.speedups)
    low, high = ((_column(point, f"speedup_{end}") - truth) * 1000 for end in ("low", "high"))
    for kappa in point.indistinguishable:
        axes.axvspan(kappa - 0.5, kappa + 0.5, color=ORANGE, alpha=0.28, linewidth=0)
    axes.fill_between(kappas, low, high, color=BLUE, alpha=0.25, linewidth=0)
    if len(kappas) < 3:
        axes.vlines(kappas, low, high, color=BLUE, alpha=0.5)
    axes.plot(kappas, (_column(point, "speedup") - truth) * 1000, color=BLUE, linewidth=1.2)
    axes.axhline(0, color=INK, linewidth=0.8)
    most = 1.15 * max(1e-9, float(np.abs([low, high]).max()))
    axes.set_ylim(-most, most)
    few_ticks(axes.yaxis, 3)
    heading(axes, "simulated − exact, thousandths, with interval")
