"""The picture of the league: it is drawn, says what it shows, and refuses other forms before any work."""

import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import pytest

from simspec import theory
from simspec.cli.main import main
from simspec.model import Cost, DiscreteMixture, ParameterError
from simspec.report.league import _apart, check_path, picture
from simspec.run.league_curves import ALONG, FEW, league_curves
from simspec.run.surroundings import surroundings

pytest.importorskip("matplotlib")
COST = Cost(c_d=0.1)


@pytest.fixture(scope="module")
def curves():
    mix = DiscreteMixture(alphas=(0.9, 0.4), weights=(0.5, 0.5), weights_of="requests", request_tokens=2000)
    return league_curves(COST, mix, "code & <prose>")


def test_names_and_titles_stand_in_the_drawing(curves, tmp_path):
    text = "".join(ET.parse(picture(curves, tmp_path / "a.svg")).getroot().itertext())
    for name in (*FEW, *ALONG, "best fixed κ", "plan, α known", "code & <prose>", "below 0: ahead of it"):
        assert name in text
    assert "mathdefault" not in text


def test_what_is_drawn_beside_the_paths_is_exact(curves):
    falls = surroundings()["falls"].process
    assert curves.drift == falls
    assert curves.plan.tolist() == theory.optimal_plan(falls, COST, 8).kappas.tolist()
    assert curves.plan[0] > curves.plan[-100]
    assert curves.fixed == theory.optimum(falls, COST, 8).kappa_star


def test_the_same_picture_again(curves, tmp_path):
    for form in ("png", "svg"):
        one, two = (picture(curves, tmp_path / f"{i}.{form}").read_bytes() for i in range(2))
        assert one == two


def test_names_do_not_cover_each_other():
    for heights in ([0.5] * 7, [0.0, 0.9, 0.95, 0.99], [0.3]):
        found = _apart(heights)
        assert all(b - a > 0.054 for a, b in pairwise(found))
        assert found[-1] <= 1.0


def test_another_form_is_refused_before_any_work(tmp_path, capsys):
    with pytest.raises(ParameterError, match=r"figure = 'a\.gif' is of unknown form"):
        check_path(Path("a.gif"))
    assert main(["league", "--alpha", "0.7", "--figure", str(tmp_path / "a.gif"), "--quiet"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_command_draws(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("simspec.run.league_curves.ROUNDS", 100)
    path, words = tmp_path / "own.png", ["league", "--survival", ".7,.4", "--windows", "2000", "--quiet", "--figure"]
    assert main([*words, str(path)]) == 0
    assert path.read_bytes()[1:4] == b"PNG"
    assert capsys.readouterr().out.startswith("yours: ")
    assert main([*words, str(path / "x.png")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
