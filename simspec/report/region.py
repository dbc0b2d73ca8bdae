"""Which acceptance rates does a divergence leave possible?  A cloud of random pairs between the two edges."""

from __future__ import annotations

import os
import shutil
import uuid
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simspec.model import DatasetError
from simspec.report.draw import AMBER, BLUE, INK, STYLE, VERMILION, heading, need_matplotlib, place
from simspec.run.region import write_region
from simspec.theory.alpha_bounds import alpha_bounds_from_half

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SIZE = (720, 480)
LARGEST = 5.0
"""Divergence at which the picture ends; α is below .09 beyond."""

CLOUD = 10_000
"""Pairs from which on dots lie so thick that they are drawn small and pale."""

_EDGES = {"swapped": VERMILION, "apart": AMBER}
"""Families that lie on an edge, and its colour."""


def draw_region(region: pd.DataFrame, path: str | Path) -> Path:
    """Draw α against D_½ with both edges of what is possible, as a PNG.

    Parameters
    ----------
    region : DataFrame
        Of `simspec.run.region.attainable_region`.
    path : path
        The picture; replaced if it exists, whole or not at all.

    Returns
    -------
    Path

    Raises
    ------
    DatasetError
        The file cannot be written.
    SimspecError
        matplotlib is missing.

    Examples
    --------
    >>> import tempfile
    >>> from simspec.run.region import attainable_region
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     draw_region(attainable_region(400), Path(folder) / "region.png").read_bytes()[1:4]
    b'PNG'
    """
    need_matplotlib()
    from matplotlib import style
    from matplotlib.figure import Figure

    target = Path(path)
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    with style.context(["default", STYLE]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure = Figure(figsize=(SIZE[0] / 72, SIZE[1] / 72), dpi=144, facecolor="white")
        _paint(place(figure, 56, 52, SIZE[0] - 76, SIZE[1] - 92), region)
        try:
            figure.savefig(temporary, format="png")
            os.replace(temporary, target)
        except OSError as error:
            raise DatasetError(f"{target}: cannot be written ({error.strerror or error})") from None
        finally:
            temporary.unlink(missing_ok=True)
    return target


def write_both(region: pd.DataFrame, folder: Path) -> list[Path]:
    """Table and picture in a folder as ``region.parquet`` and ``region.png``: both or, after an error, neither.

    Raises
    ------
    DatasetError
        A file cannot be written.
    """
    building = folder / f".building-{uuid.uuid4().hex}"
    try:
        building.mkdir()
        made = [write_region(region, building / "region.parquet"), draw_region(region, building / "region.png")]
        for own in made:
            os.replace(own, folder / own.name)
    except DatasetError as error:
        raise DatasetError(str(error).replace(str(building), str(folder))) from None
    except OSError as error:
        raise DatasetError(f"{folder}: cannot be written ({error.strerror or error})") from None
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return [folder / own.name for own in made]


def _paint(axes: Axes, region: pd.DataFrame) -> None:
    d = np.linspace(0.0, LARGEST, 501) ** 2 / LARGEST  # close together where the edges are steep
    lower, upper = np.array([alpha_bounds_from_half(float(value)) for value in d]).T
    axes.fill_between(d, lower, upper, color="#f0f2f4", linewidth=0)
    for name, own in region.groupby("family"):
        _dots(axes, own, _EDGES.get(str(name)), len(region))
    for edge in (lower, upper):
        axes.plot(d, edge, color=INK, linewidth=0.7)
    axes.plot(d, np.exp(-d), color=INK, linewidth=1.0, linestyle=(0, (4, 3)))
    note: dict[str, Any] = {"fontsize": 10.5, "va": "center"}
    axes.text(1.55, 0.55, "α = e^(−D/2), attained by (a, 1 − a, 0) and (a, 0, 1 − a)", color=AMBER, **note)
    low = "α = 1 − √(1 − e^−D),\nattained by (a, 1 − a)\nand (1 − a, a)"
    axes.text(0.06, 0.09, low, color=VERMILION, linespacing=1.35, **note)
    axes.text(3.55, 0.075, "α = e^−D, no bound", color=INK, **note)
    axes.set_xlim(0.0, LARGEST)
    axes.set_ylim(0.0, 1.0)
    axes.set_xlabel("Rényi divergence of order ½ between target and draft, D = −2 ln Σ√(pq), in nats")
    pairs = len(region)
    heading(axes, f"acceptance rate α of one examined draft; {pairs:,} random pairs of token laws")


def _dots(axes: Axes, own: pd.DataFrame, colour: str | None, many: int) -> None:
    """A cloud of thousands may be pale; a few dots have to be seen one by one."""
    few = float(np.clip(np.log10(CLOUD / many), 0.0, 2.0)) / 2.0  # 0: a cloud, 1: a hundredth of one
    size, ink = (5.0, 0.22) if colour is None else (12.0, 0.6)
    style: dict[str, Any] = {"linewidths": 0, "color": BLUE if colour is None else colour}
    style |= {"s": size + (30.0 - size) * few, "alpha": ink + (0.9 - ink) * few}
    axes.scatter(own["d_0.5"], own["alpha"], zorder=1.5 if colour is None else 1.8, rasterized=True, **style)
