"""What data say: planted traces with known answers, the rule without errors, rubbish, and the way into a validation."""

import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from simspec.claims import published, validation
from simspec.claims.claim import above, between
from simspec.claims.evidence import published_witnesses
from simspec.claims.registry import all_claims
from simspec.claims.validation import Validation, validate
from simspec.claims.witness import (
    FALSE_EVIDENCE,
    Witness,
    attach,
    by_counts,
    figure_line,
    hear,
    moved,
    shown_line,
    silent,
    spokesman,
    tally,
    with_error,
    word,
)
from simspec.claims.witness_dense import best_replayed, dense_witnesses, neighbour_sums
from simspec.claims.witness_files import trace_witnesses
from simspec.claims.witness_laws import (
    MEASURED,
    TESTS,
    accepted_of_examined,
    full_over_power,
    held_out_mean,
    later_minus_first,
    mean_accepted,
    none_accepted,
    orders_above_claim,
    survival,
    tokens_over_geometric_mean,
    variance,
    variance_over_binomial,
    variance_over_geometric,
)
from simspec.claims.witness_yours import yours
from simspec.evidence.dense import DenseTrace
from simspec.evidence.files import traces_of
from simspec.evidence.replay import replay
from simspec.model import Cost, DatasetError, ParameterError, ScenarioError
from simspec.report.verdicts import data


def law(alphas):
    """Histogram of the accepted length with these conditional rates."""
    reached = np.cumprod([1.0, *alphas])
    return -np.diff([*reached, 0.0])[:, None]


def verdicts(witnesses):
    """(claim, start of what is measured) → verdict."""
    return {(own.claim, own.measured): said["verdict"] for own, said in hear(witnesses)}


# Figures of a law


def test_independent_drafts_pass_every_test_of_the_law():
    """What is true of them holds exactly: profile, full rounds, variance, a mean that was not fitted."""
    iid = law([0.7] * 8)
    assert accepted_of_examined(iid)[0] == pytest.approx(0.7)
    assert full_over_power(iid)[0] == pytest.approx(1.0)
    assert later_minus_first(iid)[0] == pytest.approx(0.0)
    assert variance_over_geometric(iid)[0] == pytest.approx(1.0)
    assert held_out_mean(iid)[0] == pytest.approx(1.0)
    assert tokens_over_geometric_mean(iid)[0] == pytest.approx(1.0)


def test_the_claims_of_the_article_fail_on_independent_drafts():
    """α = .7, κ = 4: no draft accepted with .3, not .0081; Var A 2.4218, not .84."""
    iid = law([0.7] * 4)
    assert orders_above_claim(iid)[0] == pytest.approx(np.log10(0.3 / 0.0081))
    assert variance(iid)[0] == pytest.approx(2.42182, abs=1e-5)
    assert variance_over_binomial(iid)[0] == pytest.approx(2.42182 / 0.84, abs=1e-4)


@pytest.mark.parametrize("alphas", [[0.8, 0.7, 0.6, 0.5], [0.5, 0.6, 0.7, 0.8], [0.3, 0.9, 0.9, 0.2]])
def test_the_mean_at_the_kappa_of_the_fit_is_an_identity(alphas):
    """E = a(1 − P_full)/(1 − a) for any law whatever, so no test may use it; the held-out mean does differ."""
    own = law(alphas)
    a = accepted_of_examined(own)[0]
    assert mean_accepted(own)[0] == pytest.approx(a * (1 - own[-1, 0]) / (1 - a))
    assert abs(held_out_mean(own)[0] - 1.0) > 0.03


def test_survival_and_shares_of_a_law():
    own = law([0.5, 0.5])
    assert survival(own)[:, 0].tolist() == pytest.approx([0.5, 0.25])
    assert none_accepted(own)[0] == pytest.approx(0.5)


def test_an_error_from_counts_is_that_of_independent_rounds_times_ten():
    """Binomial error of S_1 from 1,000 rounds that count as 100; rounding of two decimals comes on top."""
    _, error, count = by_counts(none_accepted, (0.7, 0.5), 1000, digits=9)
    assert count == 100
    assert error == pytest.approx(np.sqrt(0.3 * 0.7 / 100), rel=1e-6)
    _, rounded, _ = by_counts(none_accepted, (0.7, 0.5), 1000, digits=2)
    assert rounded**2 - error**2 == pytest.approx(1e-4 / 12, rel=1e-4)


# The rule


def figure(value, says, error=None, units=100, tests="claim"):
    bounds = None if error is None else with_error(value, error, units)
    return Witness("C1", "", "source", "figure", says, value, bounds, moved(value), "basis", tests)


def test_a_figure_with_an_error_is_decided_by_its_interval():
    said = [item["verdict"] for _, item in hear([
        figure(0.5, above(0.4), 0.001), figure(0.3, above(0.4), 0.001), figure(0.41, above(0.4), 0.01),
    ])]  # fmt: skip
    assert said == ["supported", "refuted", "inconclusive"]


def test_an_error_of_zero_is_no_knowledge():
    """All requests alike, or an event that never happened: the jackknife gives 0, and nothing is decided."""
    ((_, said),) = hear([figure(0.5, above(0.4), 0.0)])
    assert said["verdict"] == "inconclusive"
    assert said["interval"] == [None, None]


def test_a_figure_without_error_speaks_only_by_a_margin():
    said = [item["verdict"] for _, item in hear([figure(0.5, above(0.39)), figure(0.5, above(0.41))])]
    assert said == ["supported", "figure without error"]


def test_the_level_is_divided_over_the_figures_with_an_error():
    """More figures, wider intervals; those without an error, or silent, cost nothing."""
    (_, alone), = hear([figure(0.5, above(0.0), 0.01)])  # fmt: skip
    many = hear([figure(0.5, above(0.0), 0.01)] * 50)[0][1]
    free = hear([figure(0.5, above(0.0), 0.01), *[figure(0.5, above(0.0))] * 50, silent("C1", "", "s", "m", "why")])[0][
        1
    ]
    assert many["interval"][0] < alone["interval"][0]
    assert free["interval"] == alone["interval"]


def test_words_of_a_row():
    def items(*pairs):
        return [{"tests": tests, "verdict": verdict, "value": 1.0} for tests, verdict in pairs]

    assert word(items(("claim", "refuted"), ("claim", "inconclusive"))) == "refuted"
    assert word(items(("claim", "refuted"), ("claim", "supported"))) == "mixed"
    assert word(items(("premise", "refuted"), ("correction", "supported"), ("claim", "cannot speak"))) == "none"
    assert word([]) == "none"
    assert (
        tally(items(("claim", "refuted"), ("claim", "refuted"), ("premise", "refuted")))
        == "2 refuted; premise: 1 refuted"
    )
    assert spokesman(items(("premise", "refuted"), ("claim", "inconclusive")))["tests"] == "claim"
    assert spokesman([]) is None


# Published figures


def test_published_survival_is_survival():
    """Non-increasing within [0, 1]; EAGLE's conditional rates are chained."""
    for own in published.PROFILES:
        assert all(0.0 <= b <= a <= 1.0 for a, b in zip((1.0, *own.survival), own.survival, strict=False)), own
    chained = next(own for own in published.PROFILES if "n-alpha" in own.source)
    assert chained.survival[1] == pytest.approx(0.79 * 0.74)


@pytest.fixture(scope="module")
def claims():
    return all_claims()


def test_every_published_figure_has_a_source_and_a_row(claims):
    """A reading that was renamed would leave its figures without a row."""
    ids = {claim.id for claim in claims}
    asked = [*published_witnesses(), *trace_witnesses(["scenarios/traces.toml"])]
    for own in asked:
        assert own.source
        assert own.measured
    for claim, reading in {(own.claim, own.reading) for own in asked if own.claim in ids}:
        assert any(row.id == claim and re.search(reading, row.reading) for row in claims), (claim, reading)


def test_what_published_figures_say():
    """Complete rejection is 1 − S_1; α rises along the output; c_v = .5 is far from any measured slope."""
    every = [(own, said["verdict"]) for own, said in hear(published_witnesses())]
    assert {said for own, said in every if own.claim == "C35"} == {"refuted"}
    assert {said for own, said in every if own.claim == "C43"} == {"refuted", "supported", "figure without error"}
    assert {said for own, said in every if own.tests == "premise" and "c_v" in own.measured} == {
        "refuted", "figure without error",
    }  # fmt: skip
    assert {said for own, said in every if own.claim == "C38"} == {"supported", "cannot speak"}
    assert {said for own, said in every if own.claim == "C06" and own.tests == "claim"} >= {"supported", "refuted"}
    assert {said for own, said in every if own.claim in ("C40", "C52")} == {"cannot speak"}
    assert {said for own, said in every if own.claim == "C42" and own.reading == "looks at nothing"} == {"inconclusive"}
    heads = [own for own, _ in every if "Medusa assets" in own.source]
    assert heads
    assert all(own.why for own in heads), "accuracies of single heads are no survival"


def test_a_planted_error_in_a_published_list_is_seen(monkeypatch):
    """Were 1 − S_1 really (1 − a)^κ, the row would be supported."""
    kappa, alpha = 3, 0.7
    rest = (1 - (1 - alpha) ** kappa) * 0.6
    own = published.Profile("planted", "chain", (1 - (1 - alpha) ** kappa, rest, rest * 0.5), 10**6)
    shares = -np.diff([1.0, *own.survival, 0.0])[:, None]
    assert accepted_of_examined(shares)[0] == pytest.approx(0.7, abs=0.05)
    monkeypatch.setattr(published, "PROFILES", (own, own, own))
    said = [v for own, v in ((own, said["verdict"]) for own, said in hear(published_witnesses())) if own.claim == "C35"]
    assert "supported" in said


# Traces


def rounds_frame(requests, rounds, kappa, alpha_of, seed, bonus=False):
    """Rounds whose conditional rates are alpha_of(request, round, draft)."""
    u = np.random.default_rng(seed).random((requests, rounds, kappa))
    rates = np.array([[[alpha_of(r, i, j) for j in range(kappa)] for i in range(rounds)] for r in range(requests)])
    accepted = np.cumprod(u < rates, axis=2).sum(axis=2)
    return pd.DataFrame({
        "request": np.repeat(np.arange(requests), rounds),
        "accepted": accepted.ravel() + bonus,
        "drafted": kappa,
        "bonus_included": bonus,
    })  # fmt: skip


def said_of(frame, path):
    frame.to_parquet(path, index=False)
    return verdicts(trace_witnesses([str(path)]))


def test_independent_rounds_with_known_answers(tmp_path):
    """α = .7, κ = 4, 60 requests of 200 rounds; the bonus token counted and said to be."""
    said = said_of(rounds_frame(60, 200, 4, lambda r, i, j: 0.7, 1, bonus=True), tmp_path / "t.parquet")
    assert said["C35", "orders of magnitude from (1 − a)^κ up to P(A = 0)"] == "refuted"
    assert said["C15", "Var A over κa(1 − a)"] == "refuted"
    assert said["C15", "Var A over that of a cut geometric run"] == "supported"
    assert said["C15", "E[A] over the i.i.d. value fitted on the first half of the positions"] == "supported"
    assert said["C38", "correlation of successive accepted lengths, pooled"] == "cannot speak"
    assert said["C43", "accepted ÷ examined, second half of the rounds minus the first"] == "inconclusive"
    assert ("C36", "P(A = 0) at a ≥ .74") not in said


TRUE_OF_IID = {("C15", "P(A = κ) over a^κ"),
               ("C15", "Var A over that of a cut geometric run"),
               ("C15", "acceptance of later drafts minus that of the first"),
               ("C15", "E[A] over the i.i.d. value fitted on the first half of the positions")}  # fmt: skip


@pytest.mark.parametrize("alpha", [0.55, 0.85])
def test_no_false_word_in_many_independent_traces(tmp_path, alpha):
    """Ten traces of 24 requests of 80 rounds: nothing true of them is refuted, nothing false supported."""
    for seed in range(10):
        said = said_of(rounds_frame(24, 80, 4, lambda r, i, j: alpha, 100 + seed), tmp_path / "t.parquet")
        assert not [key for key in TRUE_OF_IID if said[key] == "refuted"]
        assert not [
            key for key, verdict in said.items() if key[0] in ("C35", "C36", "C43", "C05") and verdict == "supported"
        ]


def test_a_fall_along_the_output_is_found(tmp_path):
    """.85 to .62 over each request: the claim of section 5.2 would be supported, and the profile falls with it."""
    frame = rounds_frame(100, 120, 4, lambda r, i, j: 0.85 - 0.23 * i / 119, 2)
    said = said_of(frame, tmp_path / "t.parquet")
    assert said["C43", "accepted ÷ examined, second half of the rounds minus the first"] == "supported"


def test_rates_by_position_break_the_profile(tmp_path):
    frame = rounds_frame(60, 150, 4, lambda r, i, j: (0.85, 0.6, 0.6, 0.6)[j], 3)
    said = said_of(frame, tmp_path / "t.parquet")
    assert said["C15", "acceptance of later drafts minus that of the first"] == "refuted"


def test_drafts_that_follow_success_silence_the_law(tmp_path):
    frame = rounds_frame(20, 50, 4, lambda r, i, j: 0.7, 4)
    frame["drafted"] = np.where(np.arange(len(frame)) % 3, 1, 4)
    frame["accepted"] = np.minimum(frame["accepted"], frame["drafted"])
    said = said_of(frame, tmp_path / "t.parquet")
    assert said["C35", "orders of magnitude from (1 − a)^κ up to P(A = 0)"] == "cannot speak"


def test_the_shipped_dense_trace():
    """Replayed at any κ; none accepted far above (1 − α)^κ, though neighbouring positions, all judged, obey it."""
    found = {own.measured: (own, said) for own, said in hear(trace_witnesses(["scenarios/traces.toml"]))
             if "dense" in own.source}  # fmt: skip
    assert found["orders of magnitude from (1 − a)^κ up to P(A = 0)"][1]["verdict"] == "refuted"
    assert found["orders of magnitude from (1 − α)^κ up to P(all rejected)"][1]["verdict"] == "supported"
    drift = found["α, second half of the output minus the first"][0]
    assert drift.value == pytest.approx(0.030, abs=0.001)
    best = found["at c_d = .1, κ* by replay"][1]
    assert (best["verdict"], best["value"]) == ("cannot speak", 3)  # α = .546; the article's grid begins at .6
    full = found["P(A = κ) over a^κ"][0]
    assert full.value == pytest.approx(1.39, abs=0.01)


def test_best_kappa_by_replay_is_that_of_independent_drafts():
    """Constant chances: κ* = 4 at α = .7, c_d = .1, and 0 at the article's costs; no request differs, so no span."""
    data = DenseTrace.of(np.full(400 * 8, 0.7), np.arange(0, 400 * 8 + 1, 400))
    best, bounds = best_replayed(lambda kappa: replay(data, kappa).counts.T, Cost(c_d=0.1))
    assert best == 4
    assert bounds(0.99) == (4.0, 4.0)
    none, _ = best_replayed(lambda kappa: replay(data, kappa).counts.T, Cost(c_d=0.1, c_v=0.5, c_r=1.0))
    assert none == 0


def test_neighbours_against_listing():
    """Sums over all verdicts of runs of three positions, listed."""
    chances = np.array([0.2, 0.9, 0.5, 0.7])
    sums = neighbour_sums(DenseTrace.of(chances, np.array([0, 4])), 3).ravel()
    mean = square = none = 0.0
    for start in (0, 1):
        for path in np.ndindex(2, 2, 2):
            own = np.where(path, chances[start : start + 3], 1 - chances[start : start + 3]).prod()
            mean, square, none = mean + own * sum(path), square + own * sum(path) ** 2, none + own * (sum(path) == 0)
    products = sum(chances[i] * chances[i + 1] for i in (0, 1, 1, 2))
    assert sums.tolist() == pytest.approx([2, mean, square, none, products])


# Files


RUBBISH = [
    ("missing.parquet", "cannot be read"),
    ("missing.toml", "no such file"),
    ("text.txt", "unknown kind of file"),
    ("no_request.csv", "no column request"),
    ("no_drafted.csv", "no column drafted"),
    ("no_bonus.csv", "nothing says whether accepted counts the bonus token"),
    ("two_bonus.csv", "allowed: true in every row, or false"),
    ("nothing.csv", "neither a column tok_accept"),
    ("too_much.csv", "accepts 5 of 4"),
    ("one.csv", "holds one request"),
    ("no_trace.toml", "holds no trace"),
    ("shipped:smollm3", "no trace of that name"),
    ("broken.parquet", "cannot be read"),
    ("truncated.jsonl", "truncated.jsonl: cannot be read"),
    ("header.csv", "header.csv: holds no rows"),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("traces")
    files = {
        "text.txt": "x",
        "no_request.csv": "accepted,drafted\n1,4\n",
        "no_drafted.csv": "request,accepted\na,1\n",
        "no_bonus.csv": "request,accepted,drafted\na,1,4\nb,2,4\n",
        "two_bonus.csv": "request,accepted,drafted,bonus_included\na,1,4,0\nb,2,4,1\n",
        "nothing.csv": "request,length\na,1\n",
        "too_much.csv": "request,accepted,drafted,bonus_included\na,5,4,False\nb,2,4,False\n",
        "one.csv": "request,accepted,drafted,bonus_included\na,1,4,False\na,2,4,False\n",
        "no_trace.toml": '[process]\ntype = "iid"\nalpha = 0.7\n',
        "broken.parquet": "PAR1 no",
        "truncated.jsonl": '{"request": 1, "accepted": 2, "drafted": 4, "bonus_included": false}\n{"request": 1, "acc',
        "header.csv": "request,accepted,drafted,bonus_included\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(("name", "says"), RUBBISH)
def test_rubbish_is_one_line_before_anything_is_written(place, name, says):
    file = name if name.startswith("shipped:") else str(place / name)
    with pytest.raises((ParameterError, ScenarioError), match=says) as caught:
        validate(quick=True, output=place / "out", traces=[file])
    assert "\n" not in str(caught.value)
    assert not (place / "out").exists()


def test_a_missing_file_is_named_once(place):
    with pytest.raises(ParameterError) as caught:
        traces_of(str(place / "missing.csv"))
    assert str(caught.value).count("missing.csv") == 1


def test_the_same_rows_are_no_second_witness(tmp_path):
    """Neither under the same name, nor as a copy, nor in a scenario."""
    frame = rounds_frame(12, 20, 4, lambda r, i, j: 0.7, 7)
    one, copy, other = (str(tmp_path / f"{name}.parquet") for name in ("one", "copy", "other"))
    frame.to_parquet(one, index=False)
    frame.to_parquet(copy, index=False)
    frame.assign(accepted=4 - frame["accepted"]).to_parquet(other, index=False)
    assert len(trace_witnesses([one, other])) > len(trace_witnesses([one]))
    for again, says in ((one, "given twice"), (copy, "as well")):
        with pytest.raises(ParameterError, match=says) as caught:
            trace_witnesses([one, again])
        assert "\n" not in str(caught.value)


def test_a_perfect_trace_says_what_it_can(tmp_path):
    """Verdicts that are all alike have no correlation; figures of one stay silent, the others speak."""
    perfect = pd.DataFrame({"request": np.repeat(np.arange(20), 60), "tok_accept": 1.0})
    perfect.to_parquet(tmp_path / "p.parquet", index=False)
    said = hear(trace_witnesses([str(tmp_path / "p.parquet")]))
    words = {(own.claim, own.measured): item["verdict"] for own, item in said}
    assert words["C38", "lag-1 correlation of verdicts, pooled"] == "cannot speak"
    assert words["C39", "variance factor over the formula at the ρ of the trace"] == "cannot speak"
    assert words["C06", "at c_d = .1, κ* by replay"] == "refuted"
    assert {words[key] for key in words if key[0] == "C52"} == {"cannot speak"}


def test_columns_known_by_name(tmp_path):
    dense = pd.DataFrame({
        "request": np.repeat([1, 2], 40), "draft": np.tile(["a", "b"], 40), "temperature": np.float32(0.7),
        "tok_accept": 0.5, "alpha": 0.4,
    })  # fmt: skip
    dense.to_csv(tmp_path / "d.csv", index=False)
    found = traces_of(str(tmp_path / "d.csv"))
    assert [(own.alpha, own.where) for own in found] == [
        ("tok_accept", {"draft": "a", "temperature": 0.7}), ("tok_accept", {"draft": "b", "temperature": 0.7}),
    ]  # fmt: skip
    rounds = rounds_frame(2, 3, 4, lambda r, i, j: 0.5, 5, bonus=True)
    rounds.to_json(tmp_path / "r.jsonl", orient="records", lines=True)
    (own,) = traces_of(str(tmp_path / "r.jsonl"))
    assert (own.accepted, own.drafted, own.request, own.bonus_included) == ("accepted", "drafted", "request", True)
    assert len(traces_of("scenarios/traces.toml")) == 2
    assert traces_of("shipped:smollm2_windows")[0].bonus_included is False
    assert len({own.where["draft"] for own in traces_of("shipped:smollm2")}) == 10


def test_rounds_that_simspec_recorded_need_no_words(tmp_path):
    """Its own files count no bonus token."""
    from simspec import sweep

    table = {"name": "t", "windows": 4096, "kappa": [4], "process": {"type": "markov", "alpha": 0.7, "rho": 0.3,
             "start": "carry"}}  # fmt: skip
    data = sweep(table, output=tmp_path / "t", threads=1, record=2000)
    (file,) = (data.path / "rounds").glob("*.parquet")
    (own,) = traces_of(str(file))
    assert (own.request, own.bonus_included) == ("unit", False)
    said = verdicts(trace_witnesses([str(file)]))
    assert said["C35", "orders of magnitude from (1 − a)^κ up to P(A = 0)"] == "refuted"


# The way into a validation


@pytest.fixture(scope="module")
def few(claims):
    return [row for row in claims if row.id in ("C35", "C36", "C38")]


@pytest.fixture(scope="module")
def judged(tmp_path_factory, few):
    """A few rows only, and no check of the engine: what data say does not need it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validation, "all_claims", lambda: few)
        patch.setattr(validation, "check_engine", lambda lab: [])
        patch.setattr(validation, "sentences", lambda lab: [])
        folder = tmp_path_factory.mktemp("v")
        yield validate(quick=True, output=folder / "v", traces=["shipped:smollm2_windows"])


def test_rows_carry_what_data_say(judged):
    rows = json.loads(json.dumps(judged.to_list()))
    own = {row["evidence_verdict"] for row in rows}
    assert own <= {"supported", "refuted", "mixed", "none"}
    assert {"refuted", "none"} <= own
    (row,) = [
        r for r in rows if r["id"] == "C35" and r["reading"].startswith("decoding window") and ".7," in r["reading"]
    ]
    assert row["evidence_verdict"] == "refuted"
    assert any("smollm2_windows" in item["source"] for item in row["evidence"])
    assert {"source", "measured", "value", "interval", "verdict", "basis", "tests"} <= set(row["evidence"][0])
    assert shown_line(row) in repr(judged)
    assert f"{FALSE_EVIDENCE:g}" in repr(judged)


def test_your_traces_are_told_by_name(judged):
    """After the verdicts: the file, what was measured with its interval, and which claims it decides."""
    text = repr(judged)
    _, found, section = text.partition("\nYour traces ")
    assert found
    assert "smollm2_windows_k8.parquet, κ = 8" in section
    (line,) = [line for line in section.splitlines() if "from (1 − a)^κ up to P(A = 0)" in line]
    assert re.search(r"= [-.\d]+ \[.*\], claimed .*: refutes C35$", line)
    assert "decide nothing" in section
    assert yours([row | {"evidence": []} for row in judged.rows]) == []


def test_your_figures_come_before_published_ones(judged):
    """In the list of a row, and as the one that is shown."""
    rows = [row for row in judged.rows if any(item.get("yours") for item in row["evidence"])]
    assert rows
    for row in rows:
        own = [item.get("yours", False) for item in row["evidence"]]
        assert own == sorted(own, reverse=True)
    both = [row for row in rows if not all(item.get("yours") for item in row["evidence"])]
    assert both
    assert all("e.g." in shown_line(row) for row in both)
    (row,) = [r for r in both if r["id"] == "C35" and ".7," in r["reading"] and r["reading"].startswith("decoding")]
    assert "smollm2_windows" in shown_line(row)
    assert spokesman(row["evidence"][::-1])["yours"]


def test_a_full_disk_is_named_by_its_folder_and_nothing_is_left(few, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(validation, "all_claims", lambda: few[:1])
    monkeypatch.setattr(validation, "check_engine", lambda lab: [])
    monkeypatch.setattr(validation, "sentences", lambda lab: [])
    monkeypatch.setattr(pq, "write_table", full)
    kept = tmp_path / "kept"
    kept.mkdir()
    for folder, left in ((tmp_path / "new", False), (kept, True)):
        with pytest.raises(DatasetError, match="No space left") as caught:
            validate(quick=True, output=folder)
        assert "building" not in str(caught.value)
        assert str(caught.value).startswith(str(folder))
        assert folder.exists() == left
    assert list(kept.iterdir()) == []


def test_what_is_stored_is_what_was_said(judged):
    stored = Validation.stored(judged.dataset)
    assert [(r["evidence"], r["evidence_verdict"]) for r in stored.rows] == [
        (r["evidence"], r["evidence_verdict"]) for r in judged.rows
    ]
    assert judged.dataset.manifest["traces"] == ["shipped:smollm2_windows"]


def test_a_folder_older_than_the_column_is_still_read(judged, tmp_path):
    table = pq.read_table(judged.path / validation.VERDICTS).drop_columns(["evidence", "evidence_verdict"])
    pq.write_table(table, tmp_path / validation.VERDICTS)
    rows = validation.read_rows(tmp_path)
    assert {(row["evidence_verdict"], len(row["evidence"])) for row in rows} == {("none", 0)}


@pytest.mark.parametrize("name", ["no_bonus.csv", "missing.parquet"])
def test_the_command_line_says_one_line_and_writes_nothing(place, name):
    command = [
        sys.executable,
        "-m",
        "simspec.cli.main",
        "validate",
        "--quick",
        "--quiet",
        "-o",
        "out",
        "--traces",
        name,
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=place, timeout=120)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert name in done.stderr
    assert not (place / "out").exists()


def test_data_do_not_touch_the_verdict(judged, few):
    """The row's own verdict is that of simulation and exact route, whatever data say."""
    rows = [dict(row) for row in judged.rows]
    attach(few, rows, [])
    assert [row["verdict"] for row in rows] == [row["verdict"] for row in judged.rows]
    assert {row["evidence_verdict"] for row in rows} == {"none"}


def test_one_line_per_figure():
    item = figure(0.5, between(0.1, 0.9), 0.01).heard(0.95)
    assert figure_line(item) == "figure = 0.5 [0.4802, 0.5198], claimed 0.1 to 0.9 (source)"
    assert {test.claim for test in TESTS} == {"C05", "C09", "C15", "C35", "C36", "C47"}


def test_a_hostile_file_name_is_text(tmp_path):
    """On the terminal and on the page."""
    path = tmp_path / "a\x1b[31m<b>.parquet"
    rounds_frame(12, 20, 4, lambda r, i, j: 0.7, 7).to_parquet(path, index=False)
    evidence = [said for _, said in hear(trace_witnesses([str(path)]))]
    assert "\x1b" not in figure_line(evidence[0])
    page = data(evidence, "refuted")
    assert "<b>" not in page
    assert "&lt;b&gt;" in page
    assert page.count("<li>") == len(evidence)


def chain_trace(rho, requests=40, size=300):
    """Dense verdicts (0 or 1) of a stationary two-state chain, α = .7."""
    u = np.random.default_rng(11).random((requests, size))
    bits = np.empty((requests, size))
    bits[:, 0] = u[:, 0] < 0.7
    for i in range(1, size):
        bits[:, i] = u[:, i] < 0.7 * (1 - rho) + rho * bits[:, i - 1]
    return DenseTrace.of(bits.ravel(), np.arange(0, requests * size + 1, size))


def test_a_chain_of_verdicts_is_told_by_its_memory():
    """ρ = .5 lies outside [−.1, .3]; judged neighbours vary by all lags: more than (i) says, less than (ii), (iii)."""
    said = {
        (own.claim, own.reading, own.measured): item for own, item in hear(dense_witnesses(chain_trace(0.5), "chain"))
    }
    words = {key: item["verdict"] for key, item in said.items()}
    assert words["C38", MEASURED, "lag-1 correlation of verdicts, pooled"] == "refuted"
    assert words["C40", "variance of the number accepted", "variance of judged drafts over κα(1 − α)"] == "supported"
    factor = said["C40", "variance of the number accepted", "variance of judged drafts over κα(1 − α)"]["value"]
    assert factor == pytest.approx(1 + 2 * sum((1 - j / 4) * 0.5**j for j in (1, 2, 3)), rel=0.03)
    ratios = {key[1]: item for key, item in said.items() if key[0] == "C39" and "formula" in key[2]}
    nearest, limit, all_lags, equal = (ratios[key] for key in sorted(ratios, key=len))
    assert [own["verdict"] for own in (nearest, limit, equal)] == ["refuted"] * 3
    assert nearest["value"] > 1.0 > max(limit["value"], equal["value"])
    assert all_lags["verdict"] == "supported"


def test_without_memory_formulas_for_memory_are_not_told_apart():
    said = [item for own, item in hear(dense_witnesses(chain_trace(0.0), "free")) if own.claim in ("C39", "C40", "C52")]
    assert {item["verdict"] for item in said if "formula" in item["measured"]} == {"cannot speak"}
    assert not [item for item in said if item["tests"] == "claim" and item["verdict"] in ("supported", "refuted")]
