"""How does the phase diagram look?  Best κ over (α, β), best κ for slow sequences, and every critical α at one cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from simspec.model import Cost
from simspec.report.draw import BLUE, INK, RUST, SOFT, STYLE, VERMILION, need_matplotlib
from simspec.report.phase_lanes import critical_lanes, lanes_height
from simspec.run.phase import phase
from simspec.run.store import whole
from simspec.theory import CriticalAlpha, step_alpha
from simspec.theory.critical import ARTICLE_ALPHA
from simspec.theory.many_rates import long_run, starts

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]
DPI, WIDTH = 100, 12.0
"""1200 pixels wide."""
COLOURS = 128
"""Of the PNG: a third of the size of a full one."""
BANDS = (0, 1, 2, 3, 4, 5, 6, 7, 9, 12, 17)
"""First κ of each colour."""
GAINS = (1.1, 1.5, 2.0, 3.0, 5.0)
"""Speed-ups whose contours are drawn."""
_PALETTE = (
    "#e4e7eb", "#fde725", "#c2df23", "#86d549", "#52c569", "#2ab07f", "#1e9b8a", "#25858e", "#2d708e", "#38588c",
    "#482173",
)  # fmt: skip
"""Grey for no drafting, then viridis from light to dark, which keeps its order under every common colour blindness."""
_WHITE_FROM = 6
"""First colour dark enough for white letters."""
_PAPER: dict[str, Any] = {"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": "none", "alpha": 0.9}


def picture(
    frame: pd.DataFrame, path: Path, beta: float, rows: Sequence[CriticalAlpha] = (), notes: Sequence[str] = ()
) -> Path:
    """Draw the phase diagram as one PNG, 1200 pixels wide.

    Parameters
    ----------
    frame : DataFrame
        From `simspec.phase`, at least two rates and two costs.
    path : Path
        The file; replaced if it exists.
    beta : float
        Draft cost of the lower panels.
    rows : sequence of CriticalAlpha
        Critical rates at that cost, or none.
    notes : sequence of str
        Short lines on what lies at the article's rate.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    SimspecError
        matplotlib is missing.
    DatasetError
        The file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> frame = phase([0.5, 0.7, 0.9], [0.1, 0.2, 0.3])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     picture(frame, Path(folder) / "phase.png", 0.1).read_bytes()[1:4]
    b'PNG'
    """
    need_matplotlib()
    from matplotlib import style
    from matplotlib.figure import Figure

    with style.context(["default", STYLE | {"figure.facecolor": "white", "axes.facecolor": "white"}]):
        figure = Figure(figsize=(WIDTH, height(frame, rows, notes)), dpi=DPI)
        paint(figure, frame, beta, rows, notes)
        _save(figure, path)
    return path


def height(frame: pd.DataFrame, rows: Sequence[CriticalAlpha] = (), notes: Sequence[str] = ()) -> float:
    """Height of the picture in inches."""
    return 10.9 + _notes_height(notes) + (lanes_height(rows, first_rate(frame)) + 1.1 if rows else 0.0)


def _notes_height(notes: Sequence[str]) -> float:
    return 0.18 * len(notes) + 0.15 if notes else 0.0


def first_rate(frame: pd.DataFrame) -> float:
    """Where the lower panels begin: at .3 if the table has rates above.

    Examples
    --------
    >>> first_rate(phase([0.1, 0.7], [0.1])), first_rate(phase([0.1, 0.2], [0.1]))
    (0.3, 0.1)
    """
    alphas = frame.attrs["alphas"]
    return float(max(0.3, alphas[0]) if alphas[-1] > 0.3 else alphas[0])


def _save(figure: Figure, path: Path) -> None:
    """A PNG of few colours, without date or version."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image  # matplotlib brings it

    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    image = Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3].copy())
    with whole(path) as temporary:
        image.quantize(COLOURS, dither=Image.Dither.NONE).save(temporary, format="png", optimize=True)


def paint(
    figure: Figure, frame: pd.DataFrame, beta: float, rows: Sequence[CriticalAlpha], notes: Sequence[str]
) -> None:
    """All panels into one figure; places in inches from its upper left corner."""
    tails = bool(frame["kappa_p99"].notna().any())
    main = _place(figure, 0.7, 0.5, 5.9 if tails else 10.2, 5.5)
    diagram(main, frame)
    if tails:
        slow_diagram(_place(figure, 7.15, 0.5, 3.95, 5.5), frame)
    _colour_key(_place(figure, 11.25, 0.5, 0.17, 5.5))
    w, h = figure.get_size_inches()
    if notes:
        figure.text(0.7 / w, 1.0 - 7.15 / h, "\n".join(notes), va="top", fontsize=9.5, color=RUST)
    below = _notes_height(notes)
    curve = _place(figure, 0.7, 7.55 + below, 11.1, 1.35)
    slope = _place(figure, 0.7, 9.3 + below, 11.1, 1.15, sharex=curve)
    curves(curve, slope, frame, beta)
    if rows:
        lanes = _place(figure, 0.7, 11.25 + below, 11.1, lanes_height(rows, first_rate(frame)), sharex=curve)
        critical_lanes(lanes, rows, beta)


def _place(figure: Figure, left: float, top: float, width: float, height: float, **more: Any) -> Axes:
    w, h = figure.get_size_inches()
    axes: Axes = figure.add_axes((left / w, 1.0 - (top + height) / h, width / w, height / h), **more)
    axes.tick_params(length=3, pad=3)
    return axes


def diagram(axes: Axes, frame: pd.DataFrame) -> None:
    """Regions of κ*, their boundaries, break-even, contours of S*, and the article's rate."""
    alphas, betas, star = _grid(frame, "kappa_star")
    _, _, gain = _grid(frame, "best_speedup")
    levels = [level for level in GAINS if gain.min() < level < gain.max()]
    _regions(axes, alphas, betas, star, np.digitize(gain, levels))
    _boundaries(axes, frame, alphas, betas)
    lines = axes.contour(alphas, betas, gain.T, levels=levels, colors=INK, linewidths=1.1, linestyles="dashed")
    for text in axes.clabel(lines, fmt=lambda level: f"S* = {level:g}", fontsize=9.5):
        text.set_bbox({**_PAPER, "boxstyle": "round,pad=0.1", "alpha": 0.75})
    _finish(axes, alphas, betas)
    axes.set_ylabel("β, cost of one draft token (1 = a plain target step)")
    axes.set_title(f"Best draft length κ* over α and β{circumstances(frame)}", loc="left", fontsize=12.5)
    thick = "Thick line: break-even, above it drafting never pays.  " if star.min() < 1 <= star.max() else ""
    dashed = "Dashed: equal best speed-up S*." if levels else ""
    thin = "; thin lines: its steps" if star.min() < star.max() else ""
    _caption(axes, f"Colours: κ*, the draft length with the best speed-up{thin}.\n{thick}{dashed}")


def circumstances(frame: pd.DataFrame) -> str:
    """What is not as usual: prices other than β, and correlated drafts.

    Examples
    --------
    >>> circumstances(phase([0.7], [0.1])), circumstances(phase([0.7], [0.1], c_r=0.5, rho=0.3))
    ('', ', c_r = 0.5, ρ = 0.3 stationary')
    """
    asked = frame.attrs
    words = [f", {name} = {asked[key]:g}" for key, name in (("c_v", "c_v"), ("c_r", "c_r"), ("rho", "ρ")) if asked[key]]
    return "".join(words) + (f" {asked['start']}" if asked["rho"] else "")


def slow_diagram(axes: Axes, frame: pd.DataFrame) -> None:
    """The κ with the least P99 of the time, under the boundaries of κ*."""
    asked = frame.attrs
    alphas, betas, slow = _grid(frame, "kappa_p99")
    _, _, star = _grid(frame, "kappa_star")
    _regions(axes, alphas, betas, slow, np.digitize(star, BANDS))
    _boundaries(axes, frame, alphas, betas)
    _finish(axes, alphas, betas)
    axes.set_title(f"Best κ for the slowest {1 - asked['level']:.0%} of replies", loc="left", fontsize=12.5)
    _caption(axes, f"Colours: κ with the least P{100 * asked['level']:g} of the time for {asked['tokens']} tokens\n"
             "(ragged: whole rounds).  Lines: steps of κ*, as left.")  # fmt: skip


def _caption(axes: Axes, text: str) -> None:
    axes.annotate(text, (0, 0), (0, -36), xycoords="axes fraction", textcoords="offset points", va="top", fontsize=9.5,
                  color=SOFT)  # fmt: skip


def _grid(frame: pd.DataFrame, name: str) -> tuple[Floats, Floats, Floats]:
    """Rates, costs, and one column as an array (rates, costs)."""
    alphas, betas = np.array(frame.attrs["alphas"]), np.array(frame.attrs["betas"])
    values = frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
    return alphas, betas, values.reshape(alphas.size, betas.size)


def _regions(axes: Axes, alphas: Floats, betas: Floats, kappas: Floats, drawn: npt.NDArray[np.intp]) -> None:
    """A colour per κ, named where neither the rim of its region nor a line is near: where ``drawn`` changes."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patheffects import withStroke

    bands = np.digitize(kappas, BANDS) - 1
    colours = ListedColormap(list(_PALETTE))
    axes.pcolormesh(alphas, betas, bands.T, cmap=colours, vmin=-0.5, vmax=len(BANDS) - 0.5, shading="nearest")
    width = alphas[-1] - alphas[0]
    free = np.broadcast_to(((alphas < ARTICLE_ALPHA - 0.04 * width) | (alphas > ARTICLE_ALPHA))[:, None], bands.shape)
    for axis in (0, 1):
        free = free & (np.diff(drawn, axis=axis, append=np.take(drawn, [-1], axis)) == 0)
    for index in range(len(BANDS)):
        spot = roomiest((bands == index) & free)
        if spot is not None:
            colour, rim = ("white", INK) if index >= _WHITE_FROM else (INK, "white")
            axes.text(alphas[spot[0]], betas[spot[1]], band_name(index), ha="center", va="center", color=colour,
                      fontweight="bold", fontsize=11,
                      path_effects=[withStroke(linewidth=2.5, foreground=rim)])  # fmt: skip


def _boundaries(axes: Axes, frame: pd.DataFrame, alphas: Floats, betas: Floats) -> None:
    """Where κ* steps from one colour to the next: exact roots for i.i.d. drafts, else where two speed-ups are equal."""
    asked = frame.attrs
    for first in BANDS[1:]:
        width = 3.0 if first == 1 else 1.0
        if asked["rho"] != 0.0:
            gain = _gain_of_step(asked, first, alphas, betas) if first <= asked["kappa_max"] else np.zeros(1)
            if gain.min() < 0.0 < gain.max():
                axes.contour(alphas, betas, gain.T, levels=[0.0], colors=INK, linewidths=width)
            continue
        costs = np.linspace(betas[0], betas[-1], 200)
        prices = [Cost(c_d=float(beta), c_v=asked["c_v"], c_r=asked["c_r"]) for beta in costs]
        axes.plot([step_alpha(first - 1, price) for price in prices], costs, color=INK, linewidth=width)


def _gain_of_step(asked: dict[Any, Any], kappa: int, alphas: Floats, betas: Floats) -> Floats:
    """S(κ) − S(κ − 1) over rates and costs."""
    steps = (asked["steps_after_reject"], asked["steps_after_full"]) if asked["start"] == "carry" else None
    tokens, full = long_run(starts(alphas, asked["rho"], steps), kappa)
    own, before = (
        tokens[:, k, None] / (1.0 + (betas + asked["c_v"]) * k + asked["c_r"] * (1.0 - full[:, k, None]))
        for k in (kappa, kappa - 1)
    )
    return np.asarray(own - before)


def band_name(index: int) -> str:
    """What a colour stands for.

    Examples
    --------
    >>> band_name(0), band_name(7), band_name(8), band_name(10)
    ('0', '7-8', '9-11', '17+')
    """
    first = BANDS[index]
    if index == len(BANDS) - 1:
        return f"{first}+"
    last = BANDS[index + 1] - 1
    return str(first) if first == last else f"{first}-{last}"


def roomiest(inside: npt.NDArray[np.bool_], least: int = 5) -> tuple[int, int] | None:
    """The cell farthest from the rim of a region, found by peeling; None if fewer than ``least`` rims come off.

    Examples
    --------
    >>> roomiest(np.ones((5, 5), bool), least=2), roomiest(np.ones((5, 2), bool), least=2)
    ((2, 2), None)
    """
    left, peels = np.pad(inside, 1), 0
    while True:
        peeled = left.copy()
        for axis in (0, 1):
            for shift in (-1, 1):
                peeled &= np.roll(left, shift, axis)
        if not peeled.any():
            break
        left, peels = peeled, peels + 1
    if peels < least:
        return None
    spots = np.argwhere(left)
    best = spots[len(spots) // 2]
    return int(best[0]) - 1, int(best[1]) - 1


def _finish(axes: Axes, alphas: Floats, betas: Floats) -> None:
    axes.axvline(ARTICLE_ALPHA, color=VERMILION, linewidth=2.0)
    axes.grid(False)
    axes.set_xlim(alphas[0], alphas[-1])
    axes.set_ylim(betas[0], betas[-1])
    axes.set_xlabel("α, acceptance rate of one examined draft")
    axes.text(ARTICLE_ALPHA - 0.012 * (alphas[-1] - alphas[0]), 0.985, "α = .74, the article's critical rate",
              transform=axes.get_xaxis_transform(), color=RUST, rotation=90, ha="right", va="top",
              fontsize=9.5, bbox=_PAPER | {"boxstyle": "round,pad=0.12"})  # fmt: skip
    axes.set_xticks([tick for tick in np.arange(0, 11) / 10 if alphas[0] <= tick <= alphas[-1]])


def _colour_key(axes: Axes) -> None:
    """Which colour is which κ."""
    for index, colour in enumerate(_PALETTE):
        axes.axhspan(index - 0.5, index + 0.5, color=colour, linewidth=0)
    axes.set_ylim(-0.5, len(BANDS) - 0.5)
    axes.set_xticks([])
    axes.yaxis.tick_right()
    axes.set_yticks(range(len(BANDS)), [band_name(index) for index in range(len(BANDS))])
    axes.grid(False)
    axes.set_title("κ", fontsize=12.5)


def curves(top: Axes, bottom: Axes, frame: pd.DataFrame, beta: float) -> None:
    """S* and its slope along α at one draft cost, on a finer grid than the table's."""
    asked = frame.attrs
    first = first_rate(frame)
    keys = ("c_v", "c_r", "rho", "start", "steps_after_reject", "steps_after_full", "kappa_max")
    rates = np.linspace(first, asked["alphas"][-1], 1400).tolist()
    fine = phase(rates, [beta], tokens=1, **{key: asked[key] for key in keys})
    pays = bool((fine["slope"] > 0.0).any())
    about = "(logarithmic): jumps up wherever κ* steps; a saturation would fall" if pays else "is 0: no draft pays"
    for axes, name, title in (
        (top, "best_speedup", f"Best speed-up S* at β = {beta:g}"),
        (bottom, "slope", f"Its slope dS*/dα {about}"),
    ):
        axes.plot(fine["alpha"], fine[name], color=BLUE, linewidth=2)
        axes.axvline(ARTICLE_ALPHA, color=VERMILION, linewidth=2.0)
        axes.set_title(title, loc="left", fontsize=11.5)
        axes.set_xlim(first, 1.0)
    _plain_log(bottom, fine["slope"].to_numpy())
    top.tick_params(labelbottom=False)


def _plain_log(axes: Axes, values: Floats) -> None:
    """A logarithmic scale with plain numbers; values of 0, where drafting does not pay, are left out."""
    from matplotlib.ticker import FixedLocator, FormatStrFormatter, NullLocator

    there = values[values > 0.0]
    if not there.size:
        return
    axes.set_yscale("log", nonpositive="mask")
    axes.set_ylim(0.7 * there.min(), 1.4 * there.max())
    axes.yaxis.set_major_locator(FixedLocator([0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000]))
    axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
    axes.yaxis.set_minor_locator(NullLocator())
