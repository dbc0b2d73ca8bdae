"""simspec trace --tests: what is printed, what is refused, what a shipped name means."""

import json

import numpy as np
import pytest
from evidence_traces import iid, markov, trace_of

from simspec.advice import trace_tests
from simspec.advice.trace import TraceSummary
from simspec.advice.trace_tests import TraceTests
from simspec.cli.main import main
from simspec.evidence import prediction
from simspec.evidence.assumptions import Test, check_assumptions
from simspec.evidence.dense import DenseTrace
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
    assert abs(told["figures"]["mean chance of acceptance (tok_accept)"]["value"] - 0.623) < 0.001
    assert main(["trace", "shipped:smollm2_windows"]) == 0
    assert "4,632 rounds of 48 requests" in capsys.readouterr().out


def test_the_chance_asked_for_is_the_one_taken():
    own = first_trace("shipped:smollm2", alpha="alpha")
    assert (own.alpha, own.where) == ("alpha", {"draft": "tl24", "temperature": 1.0})
    assert abs(dict(TraceSummary(own).rows)["mean chance of acceptance (alpha)"].value - 0.546) < 0.001


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


def written(tmp_path, sizes, chance=lambda size: np.full(size, 0.5)):
    """A file of requests of such sizes."""
    import pandas as pd

    rows = {"request": np.repeat(np.arange(len(sizes)), sizes)}
    rows |= {"position": np.concatenate([np.arange(n) for n in sizes])}
    rows |= {"tok_accept": np.concatenate([chance(n) for n in sizes])}
    pd.DataFrame(rows).to_csv(tmp_path / "t.csv", index=False)
    return first_trace(str(tmp_path / "t.csv"))


WITHOUT = [
    ([9] * 3, 0.5, "3 requests are too few"),
    ([9], 0.5, "1 request is too few"),
    ([1] * 20, 0.5, "the median request has 1 output position, too short for rounds of κ = 2; allowed: at least 2"),
    ([300, *[1] * 8], 0.5, "the median request has 1 output position"),
    ([9, 1] * 5, 0.5, "too few requests of one half have 2 output positions"),
    ([9] * 12, 1.0, "every verdict is the same"),
    ([9] * 12, 0.0, "hardly a request accepts anything"),
]


@pytest.mark.parametrize(("sizes", "chance", "said"), WITHOUT, ids=str)
def test_what_has_no_contest_keeps_its_figures_and_tests(sizes, chance, said, tmp_path, capsys):
    written(tmp_path, sizes, lambda size: np.full(size, chance))
    assert main(["trace", str(tmp_path / "t.csv"), "--tests", "--quiet"]) == 0
    text = capsys.readouterr().out
    (line,) = [line for line in text.splitlines() if line.startswith("no process is fitted: ")]
    assert said in line
    for kept in ("mean acceptance", "no memory inside requests", "acceptance of draft 1 when examined"):
        assert kept in text


def test_a_draft_that_is_never_examined_does_not_spoil_the_profile(tmp_path, recwarn):
    """Verdicts that are all known, never more than two accepted in a row: drafts 4 to 8 are never reached."""
    own = TraceTests(written(tmp_path, [24] * 8, lambda size: (np.arange(size) % 3 > 0).astype(float)))
    assert all(np.isfinite(one.profile[0]) for one in own.contest.predictions)
    assert [str(w.message) for w in recwarn] == []


def test_a_constant_chance_tells_no_process_apart(tmp_path):
    text = repr(TraceTests(written(tmp_path, [20] * 10)))
    assert "none can be told apart" in text
    assert "nothing can be said of neighbouring verdicts, since their correlation is the same" in text
    assert "rejected\n" not in text
    assert "does not vary\n" in text


def test_the_first_lines_say_what_it_comes_to(tmp_path):
    """Verdicts of a chain with ρ = .3: its size stands beside the word, and a chain is what is advised."""
    rows = iter(markov(np.random.default_rng(1), 24, 80).astype(float))
    told = TraceTests(written(tmp_path, [80] * 24, lambda size: next(rows)))
    first, of_iid, worst, memory, process = told.in_short().splitlines()
    assert first.startswith("A round at κ = 8 emits ")
    assert first.endswith("tokens (accepted + 1).")
    assert of_iid.startswith("An i.i.d. model of the same α is off by +")
    assert "the worst of 2, 4, 8, 12" in worst
    assert memory.startswith("Memory: neighbouring verdicts correlate 0.")
    assert memory.endswith(": memory matters.")
    assert process.startswith("Which process: Markov, by no criterion worse than the best beyond error")
    assert repr(told).index("A round at") < repr(told).index("95% interval")
    names = [name for name, _ in told.figures]
    assert names.index("spread between requests, by their halves") == 2


SIZES = [
    (0.4, 0.01, True, "memory matters"),
    (0.03, 0.004, True, "significant but small"),
    (0.01, 0.03, False, "no memory is seen"),
    (0.1, 0.09, False, "too uncertain to tell"),
]


@pytest.mark.parametrize(("value", "error", "rejected", "said"), SIZES, ids=str)
def test_size_and_significance_are_said_apart(value, error, rejected, said):
    own = Test("no memory inside requests", "correlation of neighbouring verdicts", value, error, 0.5, 9)
    pooled = Test("no memory", "correlation of neighbouring verdicts, pooled", 0.6, 0.01, 1e-9, 9)
    assert trace_tests._of_memory(pooled, own, [own] * rejected).endswith(f": {said}.")
    differing = "" if rejected else "; requests differ"  # what is seen pooled only is no memory
    assert trace_tests._of_memory(pooled, own, [pooled, *[own] * rejected]).endswith(f": {said}{differing}.")
    verdict = trace_tests._verdict(own, [own] * rejected)
    assert verdict == (("rejected, small" if abs(value) < 0.05 else "rejected") if rejected else "not rejected")


def test_every_test_has_a_size_below_which_it_is_called_small():
    told = check_assumptions(trace_of(iid(np.random.default_rng(1), 12, 40)), kappa=4)
    assert {test.statistic for test in told.tests} == set(trace_tests.SMALL)


def test_plain_figures_are_of_chances_know_gaps_and_want_the_order_of_the_text(tmp_path, capsys):
    import pandas as pd

    chances = np.random.default_rng(2).random(600)
    whole = pd.DataFrame({"request": np.repeat(np.arange(20), 30), "position": np.tile(np.arange(30), 20)})
    whole["tok_accept"] = (np.sin(np.arange(600) / 5) + 1) / 2 * 0.8 + 0.2 * chances
    file = str(tmp_path / "t.csv")

    def figures(frame):
        frame.to_csv(file, index=False)
        return dict(TraceSummary(first_trace(file)).rows)

    own = figures(whole)["correlation of chances 1 apart, pooled"]
    assert own.value > 0.8
    gaps = whole[whole["position"] % 3 == 0]  # no two positions are neighbours
    assert np.isnan(figures(gaps)["correlation of chances 1 apart, pooled"].value)
    assert figures(gaps)["mean chance of acceptance (tok_accept)"].units == 20
    assert len(figures(whole.assign(alpha=np.nan))) == 3  # what is not looked at need not be there
    whole.sample(frac=1.0, random_state=1).to_csv(file, index=False)
    assert main(["trace", file]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "allowed: rows in the order of the text" in line
    whole.assign(position=whole["position"] + 1).to_csv(file, index=False)
    assert main(["trace", file]) == 0
    assert "600 output positions (the file counts them from 1) of 20 requests" in capsys.readouterr().out


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


def test_the_committed_page_has_the_words_and_heads_of_its_generator():
    """Made anew only now and then: what is said of the numbers may not differ until then."""
    import re
    from pathlib import Path

    from simspec.evidence import tables

    page = (Path(__file__).parents[2] / "results" / "traces" / "README.md").read_text(encoding="utf-8")
    pieces = [piece for piece in re.split(r"\{\w+\}", tables.TEXT) if len(piece) > 60]
    assert len(pieces) > 6
    assert [piece for piece in pieces if piece not in page] == []
    trace = DenseTrace.of(np.random.default_rng(1).random(480), np.arange(0, 481, 40))
    own = [tables.tell("own", trace)] * 9
    made = [tables.overview(own), tables.rounds_table(own), tables.count_table(own), tables.contest_table(own[0])]
    assert [table.splitlines()[0] for table in made if table.splitlines()[0].split(", κ = 12")[0] not in page] == []


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
