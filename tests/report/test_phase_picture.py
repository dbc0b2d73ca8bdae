"""The picture of the phase diagram: whole, small, the same every time, and showing what the table holds."""

import itertools
import struct
import sys

import numpy as np
import pytest

from simspec.model import Cost, SimspecError
from simspec.theory import CriticalAlpha, critical_alphas, step_alpha, surroundings

pytest.importorskip("matplotlib")

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from PIL import Image

from simspec.report import phase as drawing
from simspec.report.phase import BANDS, picture
from simspec.report.phase_words import SHOWN, critical_markdown, critical_text, verdict
from simspec.run.phase import phase

ALPHAS = [round(0.3 + 0.02 * i, 2) for i in range(35)]
BETAS = [round(0.02 * i, 2) for i in range(1, 21)]
STANDARD = Cost(c_d=0.1)


@pytest.fixture(scope="module")
def rows():
    return {beta: critical_alphas(Cost(c_d=beta)) for beta in (0.05, 0.1, 0.3)}


@pytest.fixture(scope="module")
def table():
    return phase(ALPHAS, BETAS, kappa_max=32)


def painted(table, beta=0.1, rows=(), notes=()):
    figure = Figure(figsize=(drawing.WIDTH, drawing.height(table, rows, notes)), dpi=drawing.DPI)
    canvas = FigureCanvasAgg(figure)
    drawing.paint(figure, table, beta, rows, notes)
    canvas.draw()
    return figure


@pytest.fixture(scope="module")
def plain(table):
    """The picture without a list of critical rates."""
    return painted(table)


def texts(axes):
    return [text for text in axes.texts if text.get_text().strip()]


def test_the_file_is_small_wide_and_the_same_every_time(table, rows, tmp_path):
    first = picture(table, tmp_path / "a.png", 0.1, rows[0.1], ("nothing there",)).read_bytes()
    again = picture(table, tmp_path / "b.png", 0.1, rows[0.1], ("nothing there",)).read_bytes()
    assert first == again
    assert len(first) < 300_000
    assert struct.unpack(">I", first[16:20])[0] == 1200
    assert b"matplotlib" not in first.lower()
    with Image.open(tmp_path / "a.png") as image:
        found = {"#{:02x}{:02x}{:02x}".format(*pixel) for _, pixel in image.convert("RGB").getcolors(1 << 24)}
    assert set(drawing._PALETTE) <= found  # every colour of the key is there, exactly


def test_the_colours_are_the_best_kappa(table, plain):
    axes = plain.axes[0]
    (mesh,) = [c for c in axes.collections if type(c).__name__ == "QuadMesh"]
    shown = mesh.get_array().reshape(len(BETAS), len(ALPHAS))
    star = table["kappa_star"].to_numpy().reshape(len(ALPHAS), len(BETAS)).T
    assert (shown == [[sum(k >= first for first in BANDS) - 1 for k in row] for row in star]).all()
    assert to_hex(mesh.cmap(mesh.norm(0))) == drawing._PALETTE[0]


def test_the_lines_are_the_exact_steps_and_the_articles_rate(plain):
    axes = plain.axes[0]
    lines = {line.get_linewidth(): [] for line in axes.lines}
    for line in axes.lines:
        lines[line.get_linewidth()].append(line)
    (article,) = lines[2.0]
    assert set(article.get_xdata()) == {0.74}
    (even,) = lines[3.0]
    np.testing.assert_allclose(even.get_xdata(), even.get_ydata())  # break-even is α = β
    assert len(lines[1.0]) == len(BANDS) - 2
    for first, line in zip(BANDS[2:], lines[1.0], strict=True):
        beta = float(line.get_ydata()[77])
        assert line.get_xdata()[77] == step_alpha(first - 1, Cost(c_d=beta))


def test_the_curves_are_the_best_speedup_and_its_slope(plain):
    by_title = {axes.get_title(loc="left"): axes for axes in plain.axes}
    (speed,) = [axes for title, axes in by_title.items() if title.startswith("Best speed-up")]
    (slope,) = [axes for title, axes in by_title.items() if title.startswith("Its slope")]
    x, y = speed.lines[0].get_data()
    np.testing.assert_allclose(np.interp(0.7, x, y), 1.98079, atol=1e-4)
    np.testing.assert_allclose(np.gradient(y, x)[700], slope.lines[0].get_ydata()[700], rtol=0.01)
    assert slope.get_yscale() == "log"


@pytest.mark.parametrize("beta", [0.05, 0.1])
def test_every_critical_rate_is_in_the_picture_and_no_label_covers_another(table, rows, beta):
    figure = painted(table, beta, rows[beta], ("a note", "of two lines"))
    lanes = figure.axes[-1]
    inside = [row for row in rows[beta] if 0.3 < row.alpha < 1]
    assert {row.alpha for row in inside} <= {float(line.get_xdata()[0]) for line in lanes.lines}
    words = " ".join(text.get_text() for text in texts(lanes)) + lanes.get_xlabel()
    for row in rows[beta]:
        if row.family in ("model", "article"):
            assert row.name in words.replace("\n", " ")
    renderer = figure.canvas.get_renderer()
    boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in texts(lanes)]
    for (one, a), (two, b) in itertools.combinations(boxes, 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0)
        along = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert across < 1 or along < 1, (one, two)
    right = figure.bbox.x1
    for axes in figure.axes:
        for text in (*texts(axes), axes.xaxis.label, axes.yaxis.label):
            box = text.get_window_extent(renderer)
            assert box.x0 >= 0 and box.x1 <= right and box.y0 >= 0, text.get_text()  # noqa: PT018


def test_a_label_that_covers_another_would_be_seen(table):
    twins = [CriticalAlpha(name, "model", 0.7, "", "") for name in ("one", "two")]
    lanes = painted(table, 0.1, twins).axes[-1]
    heights = {text.get_position()[1] for text in texts(lanes) if text.get_text().startswith(("one", "two"))}
    assert len(heights) == 2


@pytest.mark.parametrize("more", [{"c_r": 0.5}, {"rho": 0.3, "start": "carry"}, {"c_v": 1.5}], ids=str)
def test_other_prices_and_chains_are_drawn_too(more):
    table = phase(ALPHAS, BETAS[::4], kappa_max=16, tokens=32, **more)
    panels = len(painted(table).axes)
    assert panels == (4 if more.get("c_r") else 5)  # without the law of the time there is no second map


def test_notes_cover_no_curve_and_no_label_lies_under_a_line(table, rows):
    figure = painted(table, 0.1, rows[0.1], ["a note"] * 6)
    renderer = figure.canvas.get_renderer()
    (notes,) = figure.texts
    box = notes.get_window_extent(renderer)
    for axes in figure.axes:
        whole_axes = axes.get_tightbbox(renderer)
        assert not box.overlaps(whole_axes)
    for text in texts(figure.axes[-1]):  # all that could lie on the article's line stand on paper
        assert text.get_bbox_patch() is not None or "steps" in text.get_text()


def test_a_colour_is_named_beside_the_lines():
    """In the second map too, whose lines are not the rims of its colours."""
    fine = phase(np.arange(40, 199) / 200, np.arange(1, 81) / 200, kappa_max=20)
    cell_alpha, cell_beta = 0.015, 0.015
    named = 0
    for axes in painted(fine).axes[:2]:
        for text in texts(axes):
            if not text.get_text().split("-")[0].rstrip("+").isdigit():
                continue
            named += 1
            alpha, beta = text.get_position()
            assert not 0.74 - 0.02 < alpha <= 0.74
            for line in axes.lines:
                if line.get_linewidth() in (1.0, 3.0):
                    x, y = line.get_data()
                    assert not ((abs(x - alpha) < cell_alpha) & (abs(y - beta) < cell_beta)).any()
    assert named >= 5


def test_the_steps_of_a_chain_are_smooth_lines():
    table = phase(ALPHAS, BETAS, kappa_max=16, tokens=16, rho=0.3)
    axes = painted(table).axes[0]
    lines = [c for c in axes.collections if type(c).__name__ == "QuadContourSet" and c.levels.tolist() == [0.0]]
    assert len(lines) > 4
    for line in lines:
        (path, *_) = (p for p in line.get_paths() if len(p.vertices) > 5)
        moves = np.diff(path.vertices, axis=0)
        moves = moves[np.abs(moves).sum(axis=1) > 1e-12]
        flat = (np.abs(moves) < 1e-9).any(axis=1)  # along a rim of the grid's cells
        assert flat.mean() < 0.2


def test_where_drafting_never_pays_nothing_else_is_said():
    costs = [1.0, 1.5, 2.0]
    figure = painted(phase(ALPHAS, costs, kappa_max=8, tokens=16), 1.2, critical_alphas(Cost(c_d=1.2), tokens=16))
    said = " ".join(text.get_text() for axes in figure.axes for text in texts(axes))
    assert "Thick line" not in said
    assert "Dashed" not in said
    (slope,) = [axes for axes in figure.axes if axes.get_title(loc="left").startswith("Its slope")]
    assert "logarithmic" not in slope.get_title(loc="left")
    assert not any(text.get_text().endswith("steps") for text in texts(figure.axes[-1]))  # lanes without a step


def test_the_words_say_what_lies_at_74(rows):
    found = surroundings(0.74, STANDARD, rows[0.1])
    first, second, third = verdict(found, STANDARD, 128)
    assert first.startswith("α = .74 at β = 0.1: no formula and no other step; only the κ for slow sequences")
    assert all(figure in first for figure in (".7442 for 128", ".7682 for 64", ".7121 for 256"))
    assert first.endswith("at .7344 at β = 0.0999 and at .7442 at β = 0.1001.")
    assert "κ* 4|5 at .7323" in second
    assert "still accelerates" in third
    nothing = verdict(surroundings(0.74, Cost(c_d=0.3), rows[0.3]), Cost(c_d=0.3), 128)[0]
    assert nothing.endswith("nothing; no critical rate with a definition rounds to it.")
    fixed = verdict(surroundings(0.74, Cost(c_d=0.05), rows[0.05]), Cost(c_d=0.05), 128)[0]
    assert fixed == "α = .74 at β = 0.05: κ_0.9 3|4 at .7410."


def test_the_tables_hold_every_row(rows):
    page = critical_markdown(rows[0.1], ["A.", "B."], "β = .1")
    lines = page.splitlines()
    assert lines[2] == "A. B."
    assert len([line for line in lines if line.startswith("| ")]) == len(rows[0.1]) + 1
    assert all(line.replace("\\|", "").count("|") == 5 for line in lines if line.startswith("| "))
    shown = critical_text(rows[0.1])
    assert [line.split(":")[0] for line in shown.splitlines()] == [
        "drafting pays above α = .1000", "κ* steps", "κ for slow sequences steps", "κ for 90% of S* steps",
    ]  # fmt: skip
    steps = [row for row in rows[0.1] if row.step is not None and row.step < SHOWN]
    assert all(f"{row.step}|{row.step + 1} at {row.alpha:.4f}".replace(" 0.", " .") in shown for row in steps)
    assert critical_text(critical_alphas(Cost(c_d=1.2))) == "drafting pays at no α"


def test_without_matplotlib_there_is_one_line(table, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(SimspecError, match=r"pip install 'simspec\[report\]'"):
        picture(table, tmp_path / "p.png", 0.1)
    assert list(tmp_path.iterdir()) == []
