"""How does a drawing become part of the page?  matplotlib draws it, its SVG is cleaned and put inline."""

from __future__ import annotations

import io
import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from simspec.model import SimspecError
from simspec.text import clean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# Okabe and Ito's palette, distinguishable under every common colour blindness.
BLUE, ORANGE, VERMILION, INK, SOFT = "#0072B2", "#E69F00", "#D55E00", "#1a1a1a", "#5f6368"
RUST, AMBER = "#a34700", "#8a5a00"  # vermilion and orange dark enough for text
WIDTH = 360
"""Width of a figure in its own pixels: about that of a phone, so that text keeps its size there."""

STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "simspec",
    "text.parse_math": False,  # a label is text, never mathematics
    "axes.unicode_minus": True,
    "font.size": 11.0,
    "axes.labelsize": 11.0,
    "xtick.labelsize": 10.5,
    "ytick.labelsize": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#9aa0a6",
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#e8eaed",
    "grid.linewidth": 0.8,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}


def need_matplotlib() -> None:
    """Say how to get the plotting library if it is missing, before any work.

    Examples
    --------
    >>> need_matplotlib()
    """
    try:
        import matplotlib.figure
        import matplotlib.style  # noqa: F401
    except ImportError:
        raise SimspecError(
            "simspec report draws with matplotlib, which is missing; pip install 'simspec[report]'"
        ) from None


def render(paint: Callable[[Figure], None], height: int, title: str, key: str, width: int = WIDTH) -> str:
    """Draw into a figure of ``width`` by ``height`` and return it as an inline ``<svg>``.

    Parameters
    ----------
    paint : callable
        Draws into the figure it is given.
    height, width : int
        In pixels.
    title : str
        What the figure shows, for those who cannot see it.
    key : str
        Prefix of the ids in the drawing; unique on the page.

    Examples
    --------
    >>> svg = render(lambda figure: None, 100, "nothing <yet>", "f1")
    >>> svg.startswith('<svg viewBox="0 0 360 100" role="img" aria-labelledby="f1-title"')
    True
    >>> "nothing &lt;yet&gt;" in svg
    True
    """
    need_matplotlib()
    from matplotlib import style
    from matplotlib.figure import Figure

    unsigned = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    buffer = io.StringIO()
    with style.context(["default", STYLE]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # the browser brings the font
        figure = Figure(figsize=(width / 72, height / 72), dpi=72)
        paint(figure)
        figure.savefig(buffer, format="svg", metadata=unsigned)
    return inline(buffer.getvalue(), title, key)


def inline(svg: str, title: str, key: str) -> str:
    """An SVG document as an element of an HTML page: no namespaces, no foreign ids, a title.

    Examples
    --------
    >>> inline('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><g id="a"/></svg>', "t", "k")
    '<svg viewBox="0 0 9 9" role="img" aria-labelledby="k-title"><title id="k-title">t</title><g /></svg>'
    """
    root = ET.fromstring(svg)
    used = set(re.findall(r'(?:url\(|href=")#([^)"]+)', svg))
    for node in list(root.iter()):
        _localise(node, used, key)
        for child in list(node):
            if child.tag.rpartition("}")[2] == "metadata" or (len(child) and child[0].tag.endswith("style")):
                node.remove(child)
    box = root.get("viewBox", "")
    root.attrib.clear()
    root.attrib.update({"viewBox": box, "role": "img", "aria-labelledby": f"{key}-title"})
    heading = ET.Element("title", {"id": f"{key}-title"})
    heading.text = clean(title)
    root.insert(0, heading)
    for node in root.iter():
        if node.tag not in ("text", "tspan", "title"):
            node.text = None
        node.tail = None
    return ET.tostring(root, encoding="unicode")


def _localise(node: ET.Element, used: set[str], key: str) -> None:
    """Drop the namespace, keep an id only if something points at it, and make it unique on the page."""
    node.tag = node.tag.rpartition("}")[2]
    for name, value in list(node.attrib.items()):
        del node.attrib[name]
        short = name.rpartition("}")[2]
        if short == "id":
            if value in used:
                node.set("id", f"{key}-{value}")
        else:
            pattern = r"^#" if short == "href" else r"(?<=url\()#"
            node.set(short, re.sub(pattern, f"#{key}-", value))


def place(figure: Figure, left: float, bottom: float, width: float, height: float, **more: Any) -> Axes:
    """Axes at a place given in pixels from the lower left corner."""
    w, h = figure.get_size_inches() * 72
    axes: Axes = figure.add_axes((left / w, bottom / h, width / w, height / h), **more)
    axes.tick_params(length=3, pad=3)
    return axes


def few_ticks(axis: Axis, most: int, whole: bool = False) -> None:
    """At most ``most`` steps between ticks, at whole numbers if ``whole``."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(most, integer=whole))


def heading(axes: Axes, text: str) -> None:
    """What the y axis measures, written level above it."""
    axes.text(0, 1, text, transform=axes.transAxes, ha="left", va="bottom", color=SOFT, fontsize=10.5)


def fit(text: str, most: int) -> str:
    """A label as harmless text of limited length.

    Examples
    --------
    >>> fit("a very long name", 8), fit("red\\x1b[31m", 20)
    ('a very …', 'red�[31m')
    """
    text = clean(text)
    return text if len(text) <= most else text[: most - 1] + "…"
