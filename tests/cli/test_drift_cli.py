"""simspec drift as typed: what it prints, its JSON, and one line where a log cannot be used."""

import json
import sys

import numpy as np
import pytest

import simspec
from simspec.cli.main import main


def table(folder, rates, kappa=5, request=None, name="rounds.csv"):
    rng = np.random.default_rng(11)
    drafted = np.broadcast_to(kappa, len(rates))
    accepted = np.minimum(rng.geometric(1.0 - np.asarray(rates)) - 1, drafted)
    head = "accepted,kappa" + (",request" if request is not None else "")
    rows = [
        f"{a},{k}" + (f",r{request[i]}" if request is not None else "")
        for i, (a, k) in enumerate(zip(accepted, drafted, strict=True))
    ]
    file = folder / name
    file.write_text("\n".join([head, *rows]) + "\n")
    return file


def words(capsys):
    """What was printed, on one line."""
    return " ".join(capsys.readouterr().out.split())


def test_a_fall_is_told_in_a_sentence(tmp_path, capsys):
    file = table(tmp_path, np.repeat([0.85, 0.62], 2000))
    assert main(["drift", str(file)]) == 0
    out = words(capsys)
    assert "acceptance falls from 8" in out
    assert "κ stays at 5" in out
    assert "river's ADWIN) would have told of the first change" in out
    assert f"simspec drift {file} --draft-cost 0.1" in out


def test_json_and_python_agree(tmp_path, capsys):
    file = table(tmp_path, np.repeat([0.85, 0.62], 2000))
    assert main(["drift", str(file), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    own = simspec.drift(file)
    assert said == json.loads(json.dumps(own.to_dict()))
    (change,) = said["changes"]
    assert change["interval"][0] <= 2001 <= change["interval"][1]
    assert change["round"] == said["stretches"][1]["from"] == own.changes[0].unit + 1
    assert change["mean_kappa_before"] == change["mean_kappa_after"] == 5
    assert sum(part["rounds"] for part in said["stretches"]) == said["rounds"] == 4000
    assert said["worth"] is None


def test_steady_log_and_requests(tmp_path, capsys):
    file = table(tmp_path, np.full(4000, 0.7), request=np.repeat(np.arange(100), 40))
    assert main(["drift", str(file)]) == 0
    out = words(capsys)
    assert "acceptance does not change along the log as far as 4,000 rounds tell: α = 0." in out
    assert "requests are taken in the order of the file" in out


def test_requests_bear_their_names(tmp_path):
    file = table(tmp_path, np.repeat([0.85, 0.6], 4000), request=np.repeat(np.arange(200), 40))
    (change,) = simspec.drift(file).to_dict()["changes"]
    assert abs(change["request"] - 101) <= 1
    assert change["name"] == f"r{change['request'] - 1}"


def test_a_change_of_kappa_is_told_apart(tmp_path, capsys):
    file = table(tmp_path, np.full(6000, 0.75), kappa=np.repeat([2, 7], 3000))
    assert main(["drift", str(file)]) == 0
    out = words(capsys)
    assert "acceptance does not change" in out
    assert "κ was 2 from round 1 on, 7 from round 3,001 on" in out
    assert "a change of κ is none of acceptance" in out


def test_with_costs_the_best_kappa_before_and_after(tmp_path, capsys):
    file = table(tmp_path, np.repeat([0.85, 0.55], 1500))
    assert main(["drift", str(file), "--draft-cost", "0.1", "--json"]) == 0
    worth = json.loads(capsys.readouterr().out)["worth"]
    best = [simspec.exact({"type": "iid", "alpha": alpha}, {"c_d": 0.1}).kappa_star for alpha in (0.85, 0.55)]
    assert [abs(a - b) <= 1 for a, b in zip(worth["kappas"], best, strict=True)] == [True, True]
    assert min(worth["kappas"]) <= worth["fixed"] <= max(worth["kappas"])
    assert 0.0 < worth["gain"] < 0.2
    assert worth["speedup_changing"] == pytest.approx(worth["speedup_fixed"] * (1 + worth["gain"]))


def test_rounds_without_a_draft_are_said(tmp_path, capsys):
    file = table(tmp_path, np.full(4000, 0.7), kappa=np.tile([4, 4, 4, 0], 1000))
    assert main(["drift", str(file)]) == 0
    assert "1,000 rounds without a draft (κ = 0) hold no verdict" in words(capsys)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("accepted,kappa\n" + "1,2\n0,2\n" * 50, "no change can be looked for: 100 rounds with a draft; where"),
        ("accepted,kappa\n" + "2,2\n" * 1000, "every examined draft had the same outcome"),
        ("accepted,kappa\n" + "0,0\n" * 1000, "no round was seen"),
        ("accepted,kappa\n3,2\n1,2\n", "a.csv:2: 3 accepted of 2 drafts"),
        ("hello\n", "unknown shape"),
        ("", "holds no line"),
    ],
    ids=["short", "alike", "off", "impossible", "prose", "empty"],
)
def test_a_log_that_cannot_be_used_is_one_line(tmp_path, capsys, text, why):
    file = tmp_path / "a.csv"
    file.write_text(text)
    assert main(["drift", str(file)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert why in said.err
    assert said.err.count("\n") == 1


def test_costs_and_levels_out_of_range(tmp_path, capsys):
    file = table(tmp_path, np.full(1000, 0.7))
    for flags, why in ((["--level", "2"], "level = 2.0 is out of range"), (["--draft-cost", "-1"], "c_d")):
        assert main(["drift", str(file), *flags]) == 2
        err = capsys.readouterr().err
        assert why in err
        assert err.count("\n") == 1


def test_without_river_the_extra_is_named_before_anything_is_read(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "river", None)
    assert main(["drift", str(tmp_path / "not there")]) == 2
    assert capsys.readouterr().err == (
        "simspec drift finds changes with river, which is missing; pip install 'simspec[drift]'\n"
    )
