"""simspec league on the user's own: a log, a figure, a scenario; and what it refuses."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from simspec.advice import own_league
from simspec.advice.own_league import INDEPENDENT, ONE_FIGURE, STILL, WEIGHED
from simspec.cli.main import main
from simspec.evidence.observed import Observed

QUICK = ["--windows", "4000", "--quiet"]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A table of rounds: half of the requests accept nine drafts in ten, half nine in twenty."""
    chance, lines = np.random.default_rng(1), ["request,accepted,kappa"]
    for request in range(60):
        alpha, tokens = (0.9 if request % 2 else 0.45), 0
        while tokens < 200:
            accepted = min(5, int(chance.geometric(1 - alpha)) - 1)
            lines.append(f"{request},{accepted},5")
            tokens += accepted + 1
    path = tmp_path_factory.mktemp("logs") / "rounds.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def answer_of(capsys, *words):
    assert main(["league", *QUICK, *words]) == 0
    return capsys.readouterr().out


def test_a_log_whose_requests_differ_rewards_adapting(mixed, capsys):
    words = [str(mixed), "--json", "--kappa-max", "6", "--draft-cost", "0.05", "--switch-cost", "0.01"]
    found = json.loads(answer_of(capsys, *words, "--windows", "8000"))
    assert (found["windows"], found["longest"], found["cost"]["c_switch"]) == (8000, 6, 0.01)
    assert found["answer"].startswith("2 classes of requests: adapting pays: ")
    assert "plain steps per change of κ nothing is left of it" in found["answer"]
    assert "requests have its mean of 202 tokens" in found["surroundings"]["2 classes of requests"]
    assert "request_tokens = 202" in found["surroundings"]["2 classes of requests"]
    assert STILL in found["notes"]
    assert {place["surrounding"] for place in found["places"]} == set(found["surroundings"])
    exact = [place for place in found["places"] if place["exact"]]
    assert [(place["controller"], place["mean_drafted"]) for place in exact] == [("knows the rate", None)]
    assert "NaN" not in json.dumps(found)
    assert "curves" not in found


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--alpha", "0.7"], "yours: no controller beats the best fixed κ = 4 (S = 1.981)"),
        (["--emitted", "2.77", "--kappa", "4"], "yours: no controller beats the best fixed κ = 4"),
        (["--survival", ".74,.54,.41"], "yours: no controller beats the best fixed κ = 3"),
        (["--survival", ".74"], "yours: no controller beats the best fixed κ = 1"),
        (["--alpha", "0"], "yours: no controller beats the best fixed κ = 0 (S = 1.000)"),
        (["--alpha", "1"], "yours: no controller beats the best fixed κ = 8 (S = 5.000)"),
    ],
)
def test_a_figure(words, told, capsys):
    found = answer_of(capsys, *words)
    assert found.startswith(told)
    said = " ".join(found.split())
    assert "as rounds are taken not to depend on each other; " in said
    assert " ".join(ONE_FIGURE.split()) in said
    assert INDEPENDENT not in said
    assert "+2/−1 is Hugging Face's rule" in said
    assert "nan" not in found


def test_off_is_a_server_without_speculation_and_no_controller(capsys):
    words = ["--alpha", "0.7", "--windows", "2000", "--quiet"]
    plays = []
    for off in ("1", "1.25"):
        assert main(["league", *words, "--off-cost", off, "--json"]) == 0
        plays.append(json.loads(capsys.readouterr().out))
    assert plays[0]["places"] == plays[1]["places"]
    assert not any("off =" in note for note in plays[0]["notes"])
    told = "off = 1.25: a server without speculation makes S = 0.8000; a round with κ = 0 costs the target pass, 1"
    assert told in plays[1]["notes"]


def test_the_draft_length_that_is_set_now_plays_too(mixed, capsys):
    """By hand: α = .7, c_d = .1: (1 − α⁴)/(1 − α) tokens in 1.3 steps at κ = 3, against 1.981 at κ = 4."""
    found = json.loads(answer_of(capsys, "--alpha", "0.7", "--kappa", "3", "--windows", "100000", "--json"))
    (now,) = (place for place in found["places"] if place["controller"] == "κ = 3, as now")
    assert now["gain"] == pytest.approx((1 - 0.7**4) / 0.3 / 1.3 / 1.98082 - 1, abs=0.003)
    assert f"; κ = 3, as now, makes {100 * now['gain']:+.2f}%." in found["answer"]
    assert not any(place["controller"] == "κ = 4" for place in found["places"])
    best = answer_of(capsys, "--alpha", "0.7", "--kappa", "4")
    assert "κ = 4, as now " in best
    assert "as now, makes" not in best
    own = json.loads(answer_of(capsys, str(mixed), "--json", "--windows", "500"))
    assert any(place["controller"] == "κ = 5, as now" for place in own["places"])
    unknown = answer_of(capsys, "--alpha", "0.7")
    assert "as now" not in unknown


def test_where_a_process_ends_is_said(capsys):
    found = json.loads(answer_of(capsys, "--survival", ".7,.5", "--kappa-max", "6", "--json"))
    assert found["surroundings"]["yours"].endswith("; κ up to 2, where it ends")
    assert max(place["mean_drafted"] or 0.0 for place in found["places"]) <= 2.0


def test_rounds_behind_a_figure_are_said(tmp_path, capsys):
    path = tmp_path / "one.csv"
    path.write_text("kappa,accepted\n4,2\n")
    assert "; 1 round; " in " ".join(answer_of(capsys, str(path)).split())


def test_processes_that_explain_a_log_about_as_well_are_played_too():
    """By BIC: within six of the named one, of another kind of memory, and no worse at explaining."""

    def fitted(name, bic, wants):
        return SimpleNamespace(name=name, bic=bic, model=SimpleNamespace(wants=wants))

    named = fitted("named", 100.0, "requests")
    others = [fitted("far", 106.1, "order"), fitted("near", 105.9, "order"), fitted("nearer", 101.0, "requests"),
              fitted("fails", 101.0, "nothing")]  # fmt: skip
    fits = SimpleNamespace(
        best=named, fits=[*others, named], checks={"fails": SimpleNamespace(adequate=False)}, adequate=True
    )
    assert [fit.name for fit in own_league._worth_a_look(fits)] == ["named", "near"]
    fits.fits = [others[0], named]
    assert own_league._worth_a_look(fits) == [named]


def test_the_processes_of_a_scenario(tmp_path, capsys):
    path = tmp_path / "own.toml"
    path.write_text('[process]\ntype = "markov"\nalpha = 0.7\nrho = [0.2, 0.4]\nstart = "carry"\n')
    found = json.loads(answer_of(capsys, "--process", str(path), "--json"))
    assert list(found["surroundings"]) == ["markov 1", "markov 2"]
    assert found["notes"] == ["the default draft cost 0.1; measure yours (simspec costs, --draft-cost)"]


def test_the_cost_of_a_scenario_holds_unless_another_is_given(tmp_path, capsys):
    path = tmp_path / "own.toml"
    path.write_text('[process]\ntype = "iid"\nalpha = 0.7\n[cost]\nc_d = 0.3\nc_switch = 0.01\n')
    words = ["--process", str(path), "--json"]
    own, with_change, other = (
        json.loads(answer_of(capsys, *words, *more))["cost"]
        for more in ([], ["--switch-cost", "0.02"], ["--draft-cost", "0.2"])
    )
    assert (own["c_d"], own["c_switch"]) == (0.3, 0.01)
    assert (with_change["c_d"], with_change["c_switch"]) == (0.3, 0.02)
    assert other["c_d"] == 0.2
    assert "c_switch" not in other
    path.write_text(path.read_text().replace("0.3", "[0.1, 0.3]"))
    assert main(["league", *QUICK, *words]) == 2
    assert "has 2 costs; allowed: one" in capsys.readouterr().err


def test_costs_that_end_before_the_longest_draft_are_said_to_be_extrapolated(tmp_path, capsys):
    path = tmp_path / "costs.toml"
    path.write_text("[cost]\nverify_table = [1.0, 1.05, 1.1, 1.4, 1.45, 1.5]\nc_d = 0.05\n")
    told = answer_of(capsys, "--alpha", "0.8", "--costs", str(path))
    assert "are extrapolated beyond what it holds" in " ".join(told.split())
    assert "extrapolated" not in answer_of(capsys, "--alpha", "0.8", "--costs", str(path), "--kappa-max", "5")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--alpha", "0.7", "--windows", "0"], "windows = 0 is out of range"),
        (["--alpha", "0.7", "--level", "1"], "level = 1 is out of range"),
        (["--alpha", "0.7", "--seed", "-1"], "seed = -1 is out of range"),
        (["--alpha", "1.7"], "alpha = 1.7 is out of range"),
        (["--alpha", "0.7", "--windows", "1e13"], "windows = 10000000000000 is out of range; allowed: 1 ≤ windows ≤"),
        (["--alpha", "0.7", "--kappa-max", "40"], "kappa-max = 40 is out of range; allowed: 1 ≤ kappa-max ≤ 32"),
        (["--kappa", "3"], "--kappa goes with a log or a figure"),
        (["--alpha", "0.7", "--process", "x.toml"], "--process beside a log or a figure"),
        (["--process", "nowhere.toml"], "nowhere.toml"),
        (["nowhere.log"], "cannot be read"),
        (["--alpha", "0.7", "--switch-cost", "-1"], "c_switch = -1"),
        (["--alpha", "0.7", "--draft-cost", "-1"], "c_d = -1"),
    ],
)
def test_rubbish_gets_one_line(words, told, capsys):
    assert main(["league", *QUICK, *words]) == 2
    out, said = capsys.readouterr()
    assert (out, said.count("\n")) == ("", 1)
    assert told in said


@pytest.mark.parametrize(
    ("text", "words", "told"),
    [
        ("Accept length:                           5.86\n", ["--kappa", "4"], "E = 5.860 is above κ + 1 = 5"),
        ("Accept length:                           5.86\n", [], "give --kappa"),
    ],
)
def test_a_mean_without_its_kappa(text, words, told, tmp_path, capsys):
    """The advice to give --kappa is not repeated to who gave one."""
    head = "============ Serving Benchmark Result ============\nBackend:                                 sglang\n"
    path = tmp_path / "bench.txt"
    path.write_text(head + text + "=" * 50 + "\n")
    assert main(["league", *QUICK, str(path), *words]) == 2
    assert told in capsys.readouterr().err


def test_a_file_that_is_no_log(tmp_path, capsys):
    path = tmp_path / "rubbish.log"
    path.write_text("rubbish\n")
    assert main(["league", *QUICK, str(path)]) == 2
    assert "unknown shape" in capsys.readouterr().err


def test_how_log_lines_weigh_is_said_where_recommend_weighs_them_otherwise():
    rng, lines = np.random.default_rng(5), []
    for i in range(40):
        accepted = np.minimum(rng.geometric(0.15 if i // 5 % 2 else 0.55, 100) - 1, 5)
        lines.append((5, 100, [int((accepted >= j).sum()) for j in range(1, 6)]))
    said = WEIGHED.format(unit="log line")
    found = own_league.of_source(Observed.of_counts(lines, "log line"))
    assert said in found.notes
    asked = own_league.of_source(Observed.of_counts(lines, "request"))
    assert not any("recommend" in note for note in asked.notes)
    assert [own.process.unit for own in asked.where.values()] == [own.process.unit for own in found.where.values()]
