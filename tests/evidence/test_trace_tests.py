"""simspec trace --tests: what is printed, what is refused, what a shipped name means."""

import json

import numpy as np
import pytest

from simspec.advice.trace import TraceSummary
from simspec.advice.trace_tests import TraceTests
from simspec.cli.main import main
from simspec.evidence import prediction
from simspec.evidence.files import first_trace
from simspec.evidence.ngram import record_ngram
from simspec.evidence.prediction import CRITERIA
from simspec.model import Scenario

KEYS = ["--alpha", "tok_accept", "--request", "request"]


@pytest.fixture(autouse=True)
def few_groups(monkeypatch):
    """Errors from 4 groups of requests: the figures are not looked at here."""
    monkeypatch.setattr(prediction, "GROUPS", 4)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    import pyarrow.parquet as pq

    path = tmp_path_factory.mktemp("trace") / "bytes.parquet"
    pq.write_table(record_ngram(level="byte", draft_order=2, target_order=3, requests=8, tokens=30), path)
    return str(path)


def test_a_recording_can_be_tested(file, capsys):
    assert main(["trace", file, *KEYS, "--tests", "--quiet", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["requests"] == 8
    assert told["kappa"] == 8
    assert set(told["best"]) == set(CRITERIA)
    assert {row["model"] for row in told["models"]} >= {"i.i.d.", "hidden Markov"}
    assert len(told["tests"]) == 7
    assert main(["trace", file, *KEYS, "--tests", "--quiet", "--kappa", "4"]) == 0
    text = capsys.readouterr().out
    for said in ("no memory", "best by unseen verdicts", "accepted per round, κ = 4", "(Holm)"):
        assert said in text


def test_too_few_requests_are_tested_but_not_fitted(file):
    told = TraceTests(first_trace(file, alpha="tok_accept", request="request", where={"request": 3}))
    assert told.contest is None
    assert "too few" in repr(told)
    assert told.to_dict()["models"] is None


def test_positions_that_are_missing_are_not_replayed():
    told = TraceTests(first_trace("shipped:smollm2", where={"draft": "plu2"}))
    assert len(told.assumptions.tests) == 5
    assert "missing" in told.why_not
    assert len(told.to_pandas()) == 5


def test_a_shipped_name_needs_no_column(capsys):
    assert main(["trace", "shipped:smollm2"]) == 0
    assert capsys.readouterr().out.startswith(
        "shipped:smollm2 (draft = tl24, temperature = 1.0): 17,991 output positions"
    )
    assert main(["trace", "shipped:smollm2", "--where", "draft=q3", "--where", "temperature=0", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["trace"]["where"] == {"draft": "q3", "temperature": 0}
    assert abs(told["figures"]["mean acceptance"]["value"] - 0.623) < 0.001
    assert main(["trace", "shipped:smollm2_windows"]) == 0
    assert "4,632 rounds of 48 requests" in capsys.readouterr().out


def test_the_chance_asked_for_is_the_one_taken():
    own = first_trace("shipped:smollm2", alpha="alpha")
    assert (own.alpha, own.where) == ("alpha", {"draft": "tl24", "temperature": 1.0})
    assert abs(dict(TraceSummary(own).rows)["mean acceptance"].value - 0.546) < 0.001


def test_a_scenario_replays_a_shipped_trace(tmp_path):
    import simspec

    (tmp_path / "own.toml").write_text(
        'kappa = [8]\n[process]\ntype = "trace"\npath = "shipped:smollm2_windows"\naccepted = "accepted_full"\n'
        'drafted = 8\nbonus_included = false\nrequest = "request"\n'
    )
    scenario = Scenario.from_toml(tmp_path / "own.toml")
    (own,) = [simulation.process for simulation, _ in scenario.simulations()]
    row = simspec.simulate(own, kappa=[8], windows=100).to_pandas().iloc[0]
    assert abs(row["mean_accepted"] - 1.2027) < 1e-4


REFUSED = [
    (["shipped:smolm2"], 'did you mean "smollm2"'),
    (["shipped:smollm2_windows", "--tests", "--quiet"], "only a chance of acceptance"),
    (["shipped:smollm2", "--kappa", "4"], "--kappa has no meaning without --tests"),
    (["shipped:smollm2", "--tests", "--quiet", "--kappa", "400"], "allowed: 1 ≤ kappa ≤ 256"),
    (["shipped:smollm2", "--where", "draft=L99"], "no row is left"),
]


@pytest.mark.parametrize(("arguments", "said"), REFUSED, ids=str)
def test_what_cannot_be_answered_is_one_line(arguments, said, capsys):
    assert main(["trace", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


@pytest.mark.deep
def test_the_shipped_trace_is_told_as_it_was_published():
    """Replay against an i.i.d. prediction at κ = 8: E as published within its error, and a hidden state fits best."""
    found = TraceTests(first_trace("shipped:smollm2")).contest
    assert found.best("unseen verdicts")[0] == "hidden Markov"
    iid = found.predictions[0]
    assert abs(iid.accepted[8][0] - 0.002) < 0.009  # published: overstated by .2 ± .9%
    assert abs(np.exp(-iid.full[8][0]) - 1.39) < 0.22


@pytest.mark.deep
def test_the_committed_tables_are_what_the_command_makes(monkeypatch):
    """One trace of results/traces made again: every number of its models and tests to 1e-6, or 1e-4 of itself."""
    from pathlib import Path

    import pandas as pd

    from simspec.evidence import tables
    from simspec.evidence.dense import read_dense

    where = {"draft": "q3", "temperature": 0.0}
    trace = read_dense(first_trace("shipped:smollm2", where=where))
    monkeypatch.setattr(prediction, "GROUPS", 32)
    made = tables.frames([tables.tell("SmolLM2, q3, T = 0", trace)])
    folder = Path(__file__).parents[2] / "results" / "traces"
    for name in ("figures", "tests", "models"):
        committed = pd.read_parquet(folder / f"{name}.parquet")
        committed = committed[committed["trace"] == "SmolLM2, q3, T = 0"]
        for column in ("value", "error"):
            own = pd.DataFrame(made[name])[column].to_numpy(float)
            assert np.allclose(own, committed[column].to_numpy(float), rtol=1e-4, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("rounds", [False, True])
def test_a_recorded_file_says_its_columns_itself(rounds, tmp_path, monkeypatch, capsys):
    """As the last line of simspec record proposes: no column is named."""
    monkeypatch.chdir(tmp_path)
    more = ["--rounds", "4"] if rounds else []
    assert main(["record", "--requests", "6", "--tokens", "64", "--quiet", *more]) == 0
    following = capsys.readouterr().out.splitlines()[-1].removeprefix("next: simspec ")
    assert main([word for word in following.split() if word != "--tests"]) == 0
    assert "of 6 requests" in capsys.readouterr().out


def test_an_unknown_file_says_which_columns_it_lacks(tmp_path, capsys):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    assert main(["trace", str(tmp_path / "x.csv")]) == 2
    error = capsys.readouterr().err
    assert "no column request" in error
    assert error.count("\n") == 1
