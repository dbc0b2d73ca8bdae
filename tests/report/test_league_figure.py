"""The picture of the league: it is drawn, says what it shows, and refuses other forms before any work."""

import json
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import pytest

from simspec import theory
from simspec.cli.main import main
from simspec.model import Cost, DiscreteMixture, Drift, ParameterError
from simspec.report.league import _apart, check_path, paths, picture, regrets
from simspec.run.league_curves import ALONG, FEW, league_curves
from simspec.run.surroundings import surroundings

Figure = pytest.importorskip("matplotlib.figure").Figure
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


def drawn(panel, found):
    """A panel by itself, and its title."""
    axes = Figure().add_subplot()
    panel(axes, found)
    return axes, next(text.get_text() for text in axes.texts if text.get_fontweight() == "bold")


def test_regret_is_drawn_per_token_where_adapting_may_win(curves):
    axes, title = drawn(regrets, curves)
    assert title.startswith("Regret per 1,000 tokens, against the best fixed κ = ")
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "linear")
    low, high = axes.get_ylim()
    for line, own in zip(axes.get_lines(), curves.regrets.values(), strict=False):
        heights = line.get_ydata()
        assert heights == pytest.approx(1000 * own.mean / own.tokens)
        assert low < heights.min()
        assert heights.max() < high
    assert min(own.mean[-1] for own in curves.regrets.values()) < 0.0


def test_regret_is_drawn_as_a_sum_where_nobody_wins():
    found = league_curves(COST, rounds=100)
    axes, title = drawn(regrets, found)
    assert title.startswith("Regret against the best fixed κ = ")
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.get_lines()[0].get_ydata() == pytest.approx(found.regrets[FEW[0]].mean)


def test_a_fall_that_is_not_the_users_is_said_to_be_an_example(curves):
    assert drawn(paths, curves)[1] == "Mean κ along a fixed example (not yours)"
    falls = Drift(shape="linear", alpha_start=0.9, alpha_end=0.5, tokens=128)
    assert drawn(paths, league_curves(COST, falls, "my drift"))[1] == "Mean κ along the output"


def test_records_are_the_curves(curves):
    rows = curves.records()
    assert {(row["controller"], row["against"]) for row in rows} == {(a, b) for a in FEW for b in ("fixed", "oracle")}
    for row in rows:
        own = curves.regrets[row["controller"]]
        assert (row["unit"], row["marks"]) == ("requests", own.marks.tolist())
        assert row["mean"] == own.against[row["against"]].mean.tolist()
        assert row["half"] == own.against[row["against"]].half.tolist()


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
    path, words = (
        tmp_path / "own.png",
        ["league", "--survival", ".7,.4", "--windows", "2000", "--quiet", "--json", "--figure"],
    )
    assert main([*words, str(path)]) == 0
    assert path.read_bytes()[1:4] == b"PNG"
    found = json.loads(capsys.readouterr().out)
    assert found["answer"].startswith("yours: ")
    rows = found["curves"]
    assert {row["controller"] for row in rows if row["against"] == "fixed"} == set(FEW)
    assert {tuple(row) for row in rows} == {("controller", "unit", "marks", "tokens", "against", "mean", "half")}
    assert all(row["unit"] == "rounds" and row["marks"][-1] == 100 for row in rows)
    assert all(len(row["marks"]) == len(row["mean"]) == len(row["half"]) for row in rows)
    assert main([*words, str(path / "x.png")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
