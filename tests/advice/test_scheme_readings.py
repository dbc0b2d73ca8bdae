"""What is said beside the exact answer of a scheme, so that a number is not misread; and what is refused."""

from __future__ import annotations

import pytest

import simspec
from simspec.cli.main import main
from simspec.model import Cost, Iid, ParameterError
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
        (["medusa typical"], "simspec run FILE --method exact"),
        (["pool"], "simspec run FILE --method exact"),
        (["bild"], "simspec run FILE --method exact"),
        (["tree", "misses=.4", "misses=.2"], "misses is given twice"),
        (["tree", "type=chain"], "type is given twice"),
    ],
)
def test_one_line_that_says_where_to_go(words, says, capsys):
    assert main(["exact", "--scheme", *words]) == 2
    err = capsys.readouterr().err
    assert says in err
    assert err.count("\n") == 1


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
