"""The page of a run with several schemes: one figure and one table of all systems at one price."""

import re

import pytest
from matplotlib.figure import Figure

from simspec import sweep, write_report
from simspec.report.page import esc
from simspec.report.systems import HEAD_ROW, draw, paint, picture, rows, systems_section
from simspec.report.systems_folder import main
from simspec.run.systems import families

HOSTILE = "<b>big & little\x1b[31m</b>"
SCENARIO = {
    "name": "ways",
    "windows": 20_000,
    "kappa": [1, 4],
    "process": {"type": "iid", "alpha": 0.7, "label": "pair"},
    "scheme": [
        {"type": "chain", "label": "chain of one"},
        {"type": "medusa", "kappa": [8], "max_depth": 4},
        {"type": "pearl", "label": "PEARL"},
        {"type": "big_little", "p_fallback": 0.2, "label": HOSTILE},
    ],
    "cost": {"c_d": 0.06, "c_v": 0.004},
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return sweep(SCENARIO, tmp_path_factory.mktemp("ways") / "out")


@pytest.fixture(scope="module")
def section(data):
    return systems_section(data)


def test_one_figure_and_one_table_name_every_system(section):
    assert section.count("<svg") == section.count("<table>") == 1
    figure = section.split("<svg")[1].split("</svg>")[0]
    for name in ("chain of one", "medusa", "PEARL"):
        assert name in figure
        assert f'<th scope="row">{name}' in section.replace("&nbsp;", " ")
    for title in HEAD_ROW:
        assert esc(title).replace(" = ", "&nbsp;=&nbsp;") in section
    assert "medusa is fastest" in section
    assert "lossy, so no rivals" in section
    assert "assumed misses" in section
    assert "<b>" not in section
    assert "\x1b" not in section


def test_the_figure_shows_what_the_table_says(data):
    (family,) = families(data.systems())
    assert [system.name for system in family][:3] == ["chain of one", "medusa", "PEARL"]
    figure = draw(family, "k")
    for system in family:
        assert f">{system.speedup:.2f}<" in figure
    paper = Figure()
    paint(paper, family)
    speed, tail, tokens = paper.axes
    for i, system in enumerate(family):
        assert [(x, i) for x in (system.speedup, system.row["speedup_exact"])] == [
            point for point in dots(speed) if point[1] == i
        ]  # fmt: skip
        assert (system.request_p99, i) in dots(tail)
        assert {(system.width, i), (system.row["mean_tokens"], i)} <= set(dots(tokens))
    assert figure.startswith('<svg viewBox="0 0 760 ')
    for row, system in zip(rows(family), family, strict=True):
        assert row[0].startswith(system.name)
        assert len(row) == len(HEAD_ROW)
        assert f"{system.row['mean_drafted']:.2f}" in row or f"{system.row['mean_drafted']:g}" in row


def dots(axes):
    """The single points of a panel."""
    lines = [line.get_xydata() for line in axes.lines]
    return [(float(line[0][0]), int(line[0][1])) for line in lines if len(line) == 1]


def test_the_page_holds_the_section_once_and_the_best_lengths_by_name(data, tmp_path):
    page = write_report(data.path, tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count('<section id="systems"') == 1
    assert page.index('<section id="systems"') < page.index('<section id="summary"')
    assert len(re.findall("medusa", page)) > 4
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_exact_values_and_grids_have_their_figures(tmp_path):
    grid = {**SCENARIO, "method": "exact", "scheme": [{"type": "chain"}, {"type": "tree", "misses": [0.4]}]}
    grid["process"], grid["cost"] = {"type": "iid", "alpha": [0.5, 0.7]}, {"c_d": [0.05, 0.1]}
    section = systems_section(sweep(grid, tmp_path / "grid"))
    assert section.count("<svg") == section.count("<table>") == 4  # two processes at two prices
    assert "no answers" in section.replace("\n", " ") or "exact values:" in section
    assert "[" not in section.split("<tbody>")[1].split("</tbody>")[0]


def test_one_scheme_has_no_such_section(tmp_path):
    assert systems_section(sweep({**SCENARIO, "scheme": [{"type": "chain"}]}, tmp_path / "one")) == ""
    several = {**SCENARIO, "scheme": [{"type": "chain"}, {"type": "pearl", "process": "b"}]}
    several["process"] = [{"type": "iid", "alpha": 0.7, "label": "a"}, {"type": "iid", "alpha": 0.6, "label": "b"}]
    assert systems_section(sweep(several, tmp_path / "two")).count("<table>") == 1  # the chain alone on a is no choice


def test_the_picture_is_a_png(data, tmp_path):
    made = picture(families(data.systems())[0], tmp_path / "s.png")
    assert made.read_bytes()[1:4] == b"PNG"


def test_the_command_says_what_it_cannot_write(tmp_path, capsys):
    path = tmp_path / "one.toml"
    path.write_text('windows = 1000\nkappa = [2]\n[process]\ntype = "iid"\nalpha = 0.7\n')
    out = tmp_path / "out"
    assert main([str(out), "--scenario", str(path)]) == 2
    assert "allowed: several schemes at one price" in capsys.readouterr().err
    assert main([str(out), "--scenario", str(tmp_path / "none.toml")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not out.exists()
    out.mkdir()
    (out / "README.md").write_text("mine")
    assert main([str(out), "--scenario", str(path)]) == 2
    assert "is another page" in capsys.readouterr().err
    assert [own.name for own in out.iterdir()] == ["README.md"]


def test_the_folder_of_systems_is_written_whole(tmp_path):
    path = tmp_path / "two.toml"
    path.write_text('windows = 1000\nkappa = [2]\n[process]\ntype = "iid"\nalpha = 0.7\n[cost]\nc_d = 0.1\n'
                    '[[scheme]]\ntype = "chain"\n[[scheme]]\ntype = "dsi"\n')  # fmt: skip
    out = tmp_path / "deep" / "out"
    assert main([str(out), "--scenario", str(path)]) == 0
    assert sorted(own.name for own in out.iterdir()) == ["README.md", "systems.parquet", "systems.png"]
    text = (out / "README.md").read_text(encoding="utf-8")
    assert f"--scenario {path}" in " ".join(text.split())
    assert "κ is drafts of a round (chain), drafts of a block (dsi)" in " ".join(text.split())
    assert "copies of the target" in text
