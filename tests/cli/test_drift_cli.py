"""simspec drift as typed: what it prints, its JSON, and one line where a log cannot be used."""

import json
import sys

import numpy as np
import pytest
from writers import Truth, sglang_decode, trtllm_iteration, vllm_current

import simspec
from simspec.advice.acceptance import acceptance_of_numbers
from simspec.advice.drift.parts import Part, part_of_lines
from simspec.advice.drift.worth import worth_of
from simspec.cli.main import main
from simspec.evidence.changes.course import course_of_lines
from simspec.evidence.changes.stretches import Stretch
from simspec.evidence.costs.round_costs import RoundCosts
from simspec.evidence.line_course import LineCourse


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
    assert change["round"] == said["stretches"][1]["from"]["round"] == own.changes[0].unit + 1
    assert change["mean_kappa_before"] == change["mean_kappa_after"] == 5
    assert sum(part["rounds"] for part in said["stretches"]) == said["rounds"] == 4000
    assert said["worth"] is None


def test_steady_log_and_requests(tmp_path, capsys):
    file = table(tmp_path, np.full(4000, 0.7), request=np.repeat(np.arange(100), 40))
    assert main(["drift", str(file)]) == 0
    out = words(capsys)
    assert "acceptance does not change along the log as far as 4,000 rounds tell: α = 0." in out
    assert "requests are taken in the order of the file" in out
    assert "in the middle would have been told" in out


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


def test_what_stretches_are_worth_by_their_tokens():
    """Good, bad and short: one κ for all is the best by tokens over cost, each stretch counting by its tokens."""
    rates, tokens, costs = (0.9, 0.5, 0.8), (9000.0, 500.0, 20.0), RoundCosts.affine(1.0, 0.1)
    parts = [
        Part((4,), own, acceptance_of_numbers(kappa=4, alpha=rate, rounds=3000))
        for rate, own in zip(rates, tokens, strict=True)
    ]
    found = worth_of(parts, costs)
    cost = [[(1 + 0.1 * k) / sum(rate**j for j in range(k + 1)) for k in range(9)] for rate in rates]
    spent = [sum(own * each[k] for own, each in zip(tokens, cost, strict=True)) for k in range(9)]
    assert found.kappas == tuple(int(np.argmin(each)) for each in cost)
    assert found.fixed == int(np.argmin(spent)) != int(np.argmin(np.sum(cost, axis=0)))
    assert found.speedup_fixed == pytest.approx(sum(tokens) / min(spent), rel=1e-6)
    changing = sum(own * min(each) for own, each in zip(tokens, cost, strict=True))
    assert found.speedup_changing == pytest.approx(sum(tokens) / changing, rel=1e-6)


def test_tokens_of_lines_count_one_more_in_every_round():
    """50 lines of 100 rounds with 177 and 150 drafts accepted: 277 tokens and 250."""
    accepted = np.repeat([177.0, 150.0], 25)
    course = course_of_lines(
        LineCourse(np.full(50, 4.0), np.full(50, 100.0), accepted, (("a.log", 1),) * 50, "log line")
    )
    for first, tokens in ((0, 277.0), (25, 250.0)):
        part = part_of_lines(course, Stretch(first, first + 25, 2500, 0, 0, 0.5, (0.4, 0.6), 0.5, 4.0))
        assert part.tokens == 25 * tokens
        assert part.acceptance.emitted == pytest.approx(tokens / 100)


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


def log_of(folder, parts, name="server.log"):
    """A vLLM log: a statistics line of so many rounds each, between lines that say nothing of it."""
    rng = np.random.default_rng(3)
    out = []
    for alpha, kappa, lines in parts:
        for _ in range(lines):
            far = np.minimum(rng.geometric(1.0 - alpha, int(rng.integers(40, 200))) - 1, kappa)
            histogram = tuple(np.bincount(far, minlength=kappa + 1).tolist())
            out += ["INFO: 127.0.0.1 - POST /v1/completions 200 OK", vllm_current(Truth(histogram))]
    file = folder / name
    file.write_text("\n".join(out) + "\n")
    return file


def test_a_log_names_the_line_and_kappa_that_moved_before(tmp_path, capsys):
    file = log_of(tmp_path, [(0.8, 3, 60), (0.8, 5, 60), (0.65, 5, 80)])
    assert main(["drift", str(file), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    (change,) = said["changes"]
    assert change["file"] == "server.log"
    assert abs(change["line"] - 242) <= 4
    assert [(run["line"], run["kappa"]) for run in said["kappa_from"]] == [(2, 3.0), (122, 5.0)]
    assert main(["drift", str(file)]) == 0
    out = words(capsys)
    assert f"at server.log:{change['line']}" in out
    assert "κ was 3 from server.log:2 on, 5 from server.log:122 on" in out


def test_pieces_of_a_log_are_one(tmp_path):
    first, second = (log_of(tmp_path, [(alpha, 4, 60)], f"{alpha}.log") for alpha in (0.8, 0.6))
    (change,) = simspec.drift(first, second).to_dict()["changes"]
    assert (change["file"], change["line"]) == ("0.6.log", 2)


def test_rounds_beyond_those_kept_one_by_one_are_looked_at(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("simspec.evidence.gather.MOST_KEPT", 5_000)
    file = table(tmp_path, np.repeat([0.8, 0.7], 30_000), request=np.repeat(np.arange(600), 100))
    assert simspec.fit(file)[0].observed.rounds == 5_000
    (change,) = simspec.drift(file).to_dict()["changes"]
    assert abs(change["round"] - 30_001) <= 1024
    assert main(["drift", str(file)]) == 0
    assert "rounds are more than are kept one by one" in words(capsys)


def batches(rng, alpha, kappa, rounds):
    """Drafts accepted in so many rounds together."""
    return int(np.minimum(rng.geometric(1.0 - alpha, rounds) - 1, kappa).sum())


def sglang_log(folder, rates, kappa=4, rated=True):
    rng = np.random.default_rng(4)
    lines = []
    for alpha in rates:
        running = int(rng.integers(1, 9))
        length = 1 + batches(rng, alpha, kappa, 40 * running) / (40 * running)
        lines.append(sglang_decode(length, (length - 1) / kappa if rated else None, running))
    file = folder / "sglang.log"
    file.write_text("\n".join(lines) + "\n")
    return file


def test_sglang_lines_are_weighed_as_means(tmp_path, capsys):
    file = sglang_log(tmp_path, np.repeat([0.8, 0.65], 150))
    own = simspec.drift(file, costs={"c_d": 0.1})
    (change,) = own.to_dict()["changes"]
    assert abs(change["line"] - 151) <= 3
    assert [part.alpha for part in own.stretches] == pytest.approx([0.8, 0.65], abs=0.015)
    assert own.worth.kappas[0] > own.worth.kappas[1]
    assert main(["drift", str(file)]) == 0
    assert "α of a line is that of i.i.d. drafts with the mean it prints" in words(capsys)
    assert not simspec.drift(sglang_log(tmp_path, np.full(300, 0.7))).changes


def test_sglang_lines_without_a_rate_need_kappa(tmp_path, capsys):
    file = sglang_log(tmp_path, np.repeat([0.8, 0.6], 100), rated=False)
    assert main(["drift", str(file)]) == 2
    assert "at which κ? the source does not say; give --kappa" in capsys.readouterr().err
    assert len(simspec.drift(file, kappa=4).changes) == 1


def test_tensorrt_iterations(tmp_path, capsys):
    rng = np.random.default_rng(6)
    parts = [(0.8, 3)] * 300 + [(0.8, 5)] * 300 + [(0.6, 5)] * 300
    rows = [trtllm_iteration(i, 16, kappa, batches(rng, alpha, kappa, 16)) for i, (alpha, kappa) in enumerate(parts)]
    file = tmp_path / "iterations.json"
    file.write_text("\n".join(rows) + "\n")
    said = simspec.drift(file).to_dict()
    (change,) = said["changes"]
    assert abs(change["line"] - 601) <= 15
    assert [run["kappa"] for run in said["kappa_from"]] == [3.0, 5.0]
    assert main(["drift", str(file), "--draft-cost", "0.1"]) == 0
    assert "κ cannot be weighed" in words(capsys)


def lines_by_turns(folder, rates):
    """80 vLLM lines of 300 rounds at κ = 5, whose rate takes turns every five lines."""
    rng, lines = np.random.default_rng(5), []
    for i in range(80):
        accepted = np.minimum(rng.geometric(1.0 - rates[i // 5 % 2], 300) - 1, 5)
        lines.append(vllm_current(Truth(tuple(np.bincount(accepted, minlength=6).tolist()))))
    file = folder / "turns.log"
    file.write_text("\n".join(lines) + "\n")
    return file


def test_a_rate_that_goes_up_and_down_is_not_called_steady(tmp_path, capsys):
    file = lines_by_turns(tmp_path, (0.85, 0.45))
    assert main(["drift", str(file)]) == 0
    out = words(capsys)
    assert "acceptance does not change along the log as far as 24,000 rounds tell" in out
    assert "But acceptance goes up and down within stretches shorter than what can be placed (stretches" in out
    assert "of about 600 rounds and more vary" in out
    assert "independent verdicts would): no proof of a steady rate" in out
    assert simspec.drift(file).to_dict()["notes"][0].startswith("But acceptance goes up and down")


def test_a_steady_rate_is_not_doubted(tmp_path, capsys):
    assert main(["drift", str(lines_by_turns(tmp_path, (0.7, 0.7)))]) == 0
    out = words(capsys)
    assert "acceptance does not change" in out
    assert "no proof" not in out


@pytest.mark.parametrize("seed", ["-1", str(2**64)])
def test_a_seed_out_of_range_is_refused_without_costs_too(seed, tmp_path, capsys):
    assert main(["drift", str(table(tmp_path, np.full(400, 0.7))), "--seed", seed]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"simspec drift: seed = {seed} is out of range; allowed: 0 ≤ seed < 2⁶⁴"
    )


def test_one_file_twice_is_named(tmp_path, monkeypatch, capsys):
    file = table(tmp_path, np.full(400, 0.7), name="a.csv")
    monkeypatch.chdir(tmp_path)
    for again, told in (("a.csv", "a.csv is given twice"), (str(file), f"a.csv and {file} are one file")):
        assert main(["drift", "a.csv", again]) == 2
        assert told in capsys.readouterr().err.splitlines()[-1]
