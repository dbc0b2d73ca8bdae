"""How does the league look?  Regret over time, and the κ that controllers choose along a change, as PNG or SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simspec.model import ParameterError
from simspec.report.draw import BLUE, INK, ORANGE, SOFT, STYLE, VERMILION, fit, need_matplotlib
from simspec.run.league_curves import LeagueCurves
from simspec.run.regret import Floats
from simspec.run.store import whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg")
DPI = 100
SIZE = (12.0, 5.4)
"""Inches: 1200 by 540 pixels."""
SPAN = 1000
"""The last mark over the first one, where regret is drawn per token: before them it is mostly chance."""
LONGEST_LINE = 62
"""Letters below a title."""
GREEN, SKY, PINK = "#009E73", "#56B4E9", "#CC79A7"
COLOURS = {
    "+2/−1 kept": ORANGE, "article's loop": VERMILION, "rolling .85": BLUE, "rolling .99 kept": SKY, "UCB": PINK,
    "EXP3": SOFT, "Thompson": GREEN,
}  # fmt: skip
"""Okabe and Ito's, distinguishable under every common colour blindness; labels stand at the lines too."""


def check_path(path: Path) -> Path:
    """Raise `ParameterError` unless the name ends as a picture that is drawn, before any work.

    Examples
    --------
    >>> check_path(Path("league.svg")).suffix
    '.svg'
    """
    if path.suffix.lower() not in FORMATS:
        raise ParameterError("figure", f"figure = {path.name!r} is of unknown form; allowed: {', '.join(FORMATS)}")
    need_matplotlib()
    return path


def picture(found: LeagueCurves, path: Path) -> Path:
    """Draw both panels into a file.

    Parameters
    ----------
    found : LeagueCurves
        From `simspec.run.league_curves.league_curves`.
    path : Path
        Ends in .png or .svg; replaced if it exists.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ParameterError
        The name ends in something else.
    SimspecError
        matplotlib is missing.
    DatasetError
        The file cannot be written.
    """
    check_path(path)
    from matplotlib import style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    white = {"figure.facecolor": "white", "axes.facecolor": "white"}
    with style.context(["default", STYLE | white]):
        figure = Figure(figsize=SIZE, dpi=DPI)
        FigureCanvasAgg(figure)
        paint(figure, found)
        unsigned: dict[str, Any] = {"Date": None, "Creator": None} if path.suffix.lower() == ".svg" else {}
        with whole(path) as temporary:
            figure.savefig(temporary, format=path.suffix.lower()[1:], metadata=unsigned or {"Software": None})
    return path


def paint(figure: Figure, found: LeagueCurves) -> None:
    """Both panels."""
    regrets(figure.add_axes((0.07, 0.115, 0.32, 0.735)), found)
    paths(figure.add_axes((0.555, 0.115, 0.3, 0.735)), found)


def regrets(axes: Axes, found: LeagueCurves) -> None:
    """Regret against the best fixed κ with its bands; per token where adapting may win, so that both signs are seen."""
    curves = found.regrets
    kappa = next(iter(curves.values())).kappa_star
    if any(own.unit == "requests" or own.mean[-1] < 0.0 for own in curves.values()):
        title, ends = "Regret per 1,000 tokens,", _regrets_per_token(axes, found)
    else:
        title, ends = "Regret", _regrets_so_far(axes, found)
    axes.set_xscale("log")
    axes.set_xlim(right=max(float(own.tokens[-1]) for own in curves.values()))
    axes.grid(True, which="major", axis="both")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,.10g}".replace("-", "−"))
        axis.set_minor_formatter("")
    _label_ends(axes, ends)
    axes.set_xlabel("tokens of one lane")
    _title(axes, f"{title} against the best fixed κ = {kappa}", f"plain target steps; {found.says}")


def _regrets_so_far(axes: Axes, found: LeagueCurves) -> list[tuple[float, str]]:
    """Where nobody wins: all that was lost, on logarithms, whose slope says how it grows; the ends of the lines."""
    curves = found.regrets
    lowest = min(float(np.min(own.mean[own.mean > 0.0], initial=1.0)) for own in curves.values())
    ends = []
    for name, own in curves.items():
        shown = own.mean > 0.0
        low = np.maximum(own.mean - own.half, lowest / 2)
        _line(axes, name, own.tokens[shown], own.mean[shown], low[shown], (own.mean + own.half)[shown])
        if shown[-1]:
            ends.append((float(own.mean[-1]), name))
    axes.set_yscale("log")
    axes.set_ylim(bottom=lowest / 2)
    return ends


def _regrets_per_token(axes: Axes, found: LeagueCurves) -> list[tuple[float, str]]:
    """Where adapting may win: losses and gains grow alike, so per 1,000 tokens; the ends of lines."""
    ends, seen = [(0.0, "best fixed κ")], [0.0]
    for name, own in found.regrets.items():
        shown = own.marks >= own.marks[-1] / SPAN
        mean, half = (1000 * each[shown] / own.tokens[shown] for each in (own.mean, own.half))
        _line(axes, name, own.tokens[shown], mean, mean - half, mean + half)
        ends.append((float(mean[-1]), name))
        seen += [*mean, mean[-1] - half[-1], mean[-1] + half[-1]]
    # Early bands may be wider than all lines lie apart, so they are cut; what the sign means takes room below.
    low, high = min(seen), max(seen)
    axes.set_ylim(low - 0.13 * (high - low or 1.0), high + 0.05 * (high - low or 1.0))
    axes.axhline(0.0, color=INK, linewidth=1.0, linestyle=(0, (4, 3)))
    axes.text(0.02, 0.03, "below 0: ahead of it", transform=axes.transAxes, fontsize=9.5, color=SOFT)
    return ends


def _line(axes: Axes, name: str, at: Floats, mean: Floats, low: Floats, high: Floats) -> None:
    """One controller and its band."""
    axes.fill_between(at, low, high, color=COLOURS[name], alpha=0.22, linewidth=0)
    axes.plot(at, mean, color=COLOURS[name], linewidth=1.8)


def paths(axes: Axes, found: LeagueCurves) -> None:
    """Mean κ along the output, the best plan, and the best fixed κ."""
    ends = []
    for name, own in found.paths.items():
        middle = own.starts + np.diff(own.starts, append=found.drift.n_tokens) / 2
        _line(axes, name, middle, own.mean, own.mean - own.half, own.mean + own.half)
        ends.append((float(own.mean[-2:].mean()), name))
    inner = max(1, len(found.plan) - int(found.plan.max()))  # the last drafts are cut to what is needed
    axes.plot(np.arange(inner), found.plan[:inner], color=INK, linewidth=1.4)
    axes.axhline(found.fixed, color=INK, linewidth=1.0, linestyle=(0, (4, 3)))
    ends += [(float(found.plan[inner - 1]), "plan, α known"), (float(found.fixed), "best fixed κ")]
    axes.set_ylim(0.0, None)
    axes.set_xlim(0, found.drift.n_tokens)
    axes.set_xlabel("output position")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    _label_ends(axes, ends)
    where = "a fixed example (not yours)" if found.example else "the output"
    _title(axes, f"Mean κ along {where}", found.says_drift)


def _title(axes: Axes, title: str, below: str) -> None:
    axes.text(0, 1.085, title, transform=axes.transAxes, fontsize=12, color=INK, fontweight="bold")
    axes.text(0, 1.025, fit(below, LONGEST_LINE), transform=axes.transAxes, fontsize=9.5, color=SOFT)


def _label_ends(axes: Axes, ends: Sequence[tuple[float, str]]) -> None:
    """Names to the right of where lines end, moved apart so that none covers another."""
    axes.figure.canvas.draw()
    to_axes = axes.transData + axes.transAxes.inverted()
    right = axes.get_xlim()[1]
    heights = sorted((float(to_axes.transform((right, end))[1]), name) for end, name in ends)
    places = _apart([height for height, _ in heights])
    for (height, name), place in zip(heights, places, strict=True):
        axes.annotate(
            name, xy=(1.0, height), xytext=(1.04, place), xycoords="axes fraction", textcoords="axes fraction",
            va="center", fontsize=10, color=_ink(name), annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": "#c4c7cc", "linewidth": 0.7, "shrinkA": 1, "shrinkB": 0},
        )  # fmt: skip


def _apart(heights: Sequence[float], step: float = 0.055) -> list[float]:
    """Ascending heights moved as little as they must so that neighbours are a step apart.

    Examples
    --------
    >>> [round(own, 3) for own in _apart([0.1, 0.12, 0.9])]
    [0.083, 0.138, 0.9]
    """
    out = list(heights)
    for _ in range(500):
        for i in range(len(out) - 1):
            lack = step - (out[i + 1] - out[i])
            if lack > 1e-9:
                out[i], out[i + 1] = out[i] - lack / 2, out[i + 1] + lack / 2
    over = max(0.0, out[-1] - 1.0) if out else 0.0
    return [own - over for own in out] if over > 0.0 else out


def _ink(name: str) -> str:
    return COLOURS.get(name, INK)
