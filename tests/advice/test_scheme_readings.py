"""What is said beside the exact answer of a scheme, so that a number is not misread; and what is refused."""

from __future__ import annotations

import json

import pytest

import simspec
from simspec.cli.main import main
from simspec.model import Cost, Iid, ParameterError
from simspec.model.scheme_readings import WHAT_KAPPA_IS
from simspec.model.schemes import Schemes, Stop


def told(scheme, process=None, **keys):
    return " ".join(simspec.exact(process or Iid(alpha=0.7), keys.pop("cost", Cost(c_d=0.06)), scheme=scheme)._notes())


@pytest.mark.parametrize(
    ("scheme", "says"),
    [
        ("dsi", "takes 16.7 copies of the target"),
        ("p_min", "as confident as α says"),
        ("kangaroo", "as confident as α says"),
        ("eagle2", "all trees are one tree"),
        ("fast dllm", "no acceptance rate"),
        ("lookahead decoding", "a draft model's α is no guess at it"),
        ({"type": "lookup", "after_match": 0.5, "after_miss": 0.2}, "where the text has a match"),
        ({"type": "bild", "p_fallback": 0.2}, "the large model keeps"),
        ("pearl", "run at once"),
    ],
)
def test_what_a_number_does_not_say(scheme, says):
    assert says in told(scheme)


def test_free_drafts_take_endless_copies():
    assert "endless copies" in told("dsi", cost=Cost())


def test_confidences_that_vary_need_no_warning():
    sure = {"type": "hmm", "P": [[0.5, 0.5]] * 2, "alphas": [0.9, 0.3]}
    assert "as confident as" in told(Stop(theta=0.5))
    assert "as confident as" not in told(Stop(theta=0.5), sure)
    assert "as confident as" not in told("layerskip")  # which never stops


@pytest.mark.parametrize("kappa_max", [64, 126, 257])
def test_a_schedule_names_its_least_block(kappa_max):
    with pytest.raises(ParameterError, match="allowed: 127 to 256"):
        simspec.exact(Iid(alpha=0.7), Cost(), kappa_max, "llada")


def test_a_schedule_is_asked_from_its_least_block_on():
    answer = simspec.exact(Iid(alpha=0.7), Cost(), 130, "llada")
    assert [row["kappa"] for row in answer.rows] == [127, 128, 129, 130]
    assert [row["kappa"] for row in simspec.exact(Iid(alpha=0.7), Cost(), 3, "fast dllm").rows] == [1, 2, 3]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["pool", "--alpha", ".6"], "from --target-rows and --draft-rows, without --alpha"),
        (["bild", "--alpha", ".6"], "and --draft-rows, without --alpha; or p_fallback, a chance"),
        (["pool", "--target-rows", ".5,.5"], "--draft-rows is missing; it goes with --target-rows"),
        (
            ["tokens", "rule=rrs_wor", "widths=4"],
            "widths asks for 4 different drafts of a law of 3; allowed: at most 3",
        ),
        (
            ["tokens", "rule=otm_wor", "widths=4"],
            "widths asks for 4 different drafts of a law of 3; allowed: at most 3",
        ),
        (
            ["dynamic_tree", "breadth=3", "depth=2"],
            "allowed: 1 to 1, the ranks with a chance (misses has those of ranks 2, 3, …)",
        ),
        (["pool", "--target-rows", ".5,.5", "--draft-rows", ".3,.3,.4"], "target[0] has 2 entries"),
        (["pool", "--target-rows", ".5,.5", "--draft-rows", ".3,.7", "--rho", ".1"], "beside --rho"),
        (["tree", "misses=.4", "misses=.2"], "misses is given twice"),
        (["tree", "type=chain"], "type is given twice"),
    ],
)
def test_one_line_that_says_where_to_go(words, says, capsys):
    assert main(["exact", "--scheme", *words]) == 2
    err = capsys.readouterr().err
    assert says in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("scheme", ["medusa typical", "pool", "bild", "tokens"])
def test_a_scheme_of_real_tokens_without_a_pair_shows_an_example_and_says_so(scheme, capsys):
    assert main(["exact", "--scheme", scheme]) == 0
    assert "is an example over three tokens" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("target", "draft", "alpha"),
    [
        (["1,0"], ["1,0"], 1.0),
        ([".9,.1"], [".1,.9"], 0.2),
        ([".5,.3,.2"], [".2,.3,.5"], 0.7),
        (["1,0"], [".25,.75"], 0.25),
        ([".5,.5", ".5,.5"], [".5,.5", "0,1"], 0.8),
    ],
)
def test_a_pair_of_rows_is_a_chain_of_its_overlap(target, draft, alpha, capsys):
    """One row stands for all contexts: α = Σ min(p, q).  In the last pair α is 1 or ½ by context; a rejection leads to
    the first, all else to both alike, so that rounds start in them with 3/5 and 2/5."""
    rows = [word for flag, own in (("--target-rows", target), ("--draft-rows", draft)) for row in own
            for word in (flag, row)]  # fmt: skip
    assert main(["exact", *rows, "--kappa-max", "1", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["by_kappa"][1]["mean_accepted"] == pytest.approx(alpha, abs=1e-12)
    assert "example" not in str(answer.get("notes"))


@pytest.mark.parametrize("name", ["mtp", "leviathan", "eagle", "pearl"])
def test_a_system_asked_for_by_name_is_named(name, capsys):
    assert main(["exact", "--scheme", name]) == 0
    assert capsys.readouterr().out.startswith(f"{name}: ")


def test_what_is_assumed_outlives_a_label():
    for name in ("eagle", "medusa", "sequoia", "lookahead decoding", "kangaroo"):
        asked = Schemes.make(type=name, label="mine")
        read_back = Schemes.make(label="mine", **asked.identity())
        assert asked.assumed, name
        assert read_back.assumed == asked.assumed, name
    assert not Schemes.make(type="tree", label="mine", misses=(0.4, 0.2)).assumed


def test_playing_trees_is_said(capsys, monkeypatch):
    monkeypatch.setattr("simspec.run.progress.TICK", 0.01)
    assert main(["tree", "--ranks", ".6,.18", "--nodes", "8", "--windows", "2000000"]) == 0
    assert "playing 2,000,000 rounds of every tree shown" in capsys.readouterr().err


def test_every_scheme_says_what_kappa_is():
    import simspec.model.schemes as own

    shipped = {kind for kind, scheme in Schemes.table.items() if scheme.__module__.startswith(own.__name__)}
    assert shipped == set(WHAT_KAPPA_IS)


@pytest.mark.parametrize(
    "words",
    [
        [
            "exact",
            "--scheme",
            "tree",
            "misses=.4,.2",
            "--drift",
            ".9,.3",
            "--tokens",
            "64",
            "--kappa-max",
            "20",
            "--json",
        ],
        ["tree", "--ranks", ".5,.2,.1", "--nodes", "200", "--json"],
    ],
)
def test_an_answer_that_takes_long_says_so_on_stderr_alone(words, monkeypatch, capsys):
    monkeypatch.setattr("simspec.run.progress.TICK", 0.01)
    assert main(words) == 0
    out, err = capsys.readouterr()
    json.loads(out)
    assert "exact values" in err or "best trees" in err
