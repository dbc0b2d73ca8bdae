"""How numbers come about is said in every row: rounds played, one multinomial draw, or exact values."""

import dataclasses
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from scipy.special import chdtri

import simspec
from simspec import theory
from simspec.kernels.draw import ONE, draw_runs, reaching
from simspec.kernels.forms import Rows, Steps
from simspec.kernels.words import stream_keys
from simspec.model import (
    BetaMixture,
    Cost,
    DatasetError,
    DiscreteMixture,
    Drift,
    GaussianCopulaAr1,
    Hmm,
    Iid,
    Markov,
    ParameterError,
    Position,
    Processes,
    RowProcess,
    RowTable,
    Scenario,
    ScenarioError,
    Simulation,
    Survival,
    TokenChain,
    Trace,
)
from simspec.model.process import METHODS, Process
from simspec.report.points import points
from simspec.run import planning, store
from simspec.run.compare import compare
from simspec.run.dataset import read
from simspec.run.dispatch import run_jobs
from simspec.run.engine import Job, form_of, play
from simspec.run.known import laws_of
from simspec.run.planning import plan
from simspec.run.schema import TABLES
from simspec.run.sweep import sweep
from simspec.theory.routes import has_route

FALSE_ALARM = 1e-6
CARRIED = Markov(alpha=0.7, rho=0.3, start="carry")
FRESH = [
    Iid(alpha=0.7),
    Survival(survival=[0.8, 0.55, 0.5, 0.2, 0.19, 0.1, 0.01, 0.001]),
    Position(alphas=[0.9, 0.5, 1.0, 0.7, 0.2, 0.9, 0.9, 0.4]),
    Markov(alpha=0.7, rho=0.3),
    Markov(alpha=0.6, rho=-0.4),
    DiscreteMixture(alphas=[0.3, 0.9], weights=[0.4, 0.6]),
    BetaMixture(alpha=0.7, rho=0.2),
    Hmm(P=[[0.9, 0.1], [0.2, 0.8]], alphas=[0.9, 0.3]),
    GaussianCopulaAr1(alpha=0.7, rho=0.5),
]
DEPENDENT = [
    CARRIED,
    Hmm(P=[[0.9, 0.1], [0.2, 0.8]], alphas=[0.9, 0.3], start="carry"),
    TokenChain(target=[[0.6, 0.4], [0.3, 0.7]], draft=[[0.5, 0.5], [0.5, 0.5]]),
    Drift(alpha_start=0.85, alpha_end=0.62, tokens=64),
    DiscreteMixture(alphas=[0.3, 0.9], weights=[0.4, 0.6], weights_of="requests", request_tokens=32),
    BetaMixture(alpha=0.7, rho=0.2, request_tokens=32),
]
NAME = {"ids": lambda p: f"{p.type}-{p.unit}"}


def drawn(process, kappas=(8,), windows=10**8, seed=11):
    return Job(Simulation(process), kappas, windows, seed, method="multinomial")


def runs_of(job):
    ((_, tallies),) = run_jobs([job], threads=1)
    return tallies[-1].accepted_counts()


def chi_square(counts, pmf):
    """Distance of counts from a law in pooled bins, and its bound; false alarm 1e-6."""
    expected = counts.sum() * np.asarray(pmf)
    common = expected >= 25.0
    seen, wanted = (
        np.append(counts[common], counts[~common].sum()),
        np.append(expected[common], expected[~common].sum()),
    )
    kept = wanted > 0.0
    assert seen[~kept].sum() == 0
    return float(((seen - wanted)[kept] ** 2 / wanted[kept]).sum()), float(chdtri(kept.sum() - 1, FALSE_ALARM))


@pytest.mark.parametrize("process", FRESH, **NAME)
@pytest.mark.parametrize("windows", [10**4, 10**8, 10**12])
def test_a_draw_follows_the_exact_law(process, windows):
    found, bound = chi_square(runs_of(drawn(process, windows=windows)), theory.window(process, 8).pmf_accepted)
    assert found <= bound


@pytest.mark.parametrize("process", FRESH, **NAME)
def test_a_planted_law_is_found_out(process):
    """A survival curve that is off by a thousandth in its second value fails at 10⁸ windows."""
    pmf = np.array(theory.window(process, 8).pmf_accepted)
    pmf[1], pmf[2] = pmf[1] + 1e-3, pmf[2] - 1e-3
    found, bound = chi_square(runs_of(drawn(process)), pmf)
    assert found > bound


@pytest.mark.parametrize("process", FRESH, **NAME)
def test_the_chances_are_those_of_theory(process):
    """Thresholds of 64 bits to 1e-15; a chain of 32-bit thresholds to 1e-9, the copula's quadrature to 1e-8."""
    form = form_of(process, 8)
    reach = np.array([r / ONE for r in reaching(form, 8)])
    exact = np.append(1.0, np.cumsum(theory.window(process, 8).pmf_accepted[::-1])[::-1][1:])
    assert np.abs(reach - exact).max() < (1e-8 if process.type in ("hmm", "gaussian_copula_ar1") else 1e-15)


def test_bins_of_many_seeds_spread_as_binomials_do():
    """2000 seeds at 10¹² windows; mean and variance of a bin within 5 standard errors (false alarm 1e-6)."""
    form, kappa, chance = form_of(Iid(alpha=0.7), 8), 8, 0.3 * 0.7**3
    seen = [draw_runs(form, stream_keys(s, "x", "multinomial"), 10**12, kappa)[3] for s in range(2000)]
    z = (np.array(seen) - 1e12 * chance) / np.sqrt(1e12 * chance * (1 - chance))
    assert abs(z.mean()) < 5 / np.sqrt(2000)
    assert abs(z.var() - 1) < 5 * np.sqrt(2 / 2000)


def test_what_cannot_happen_never_does_and_what_must_always_does():
    never = runs_of(drawn(Position(alphas=[0.7, 0.3, 0.0, 0.5]), kappas=(4,), windows=10**12))
    assert never[3:].tolist() == [0, 0]
    assert never.sum() == 10**12
    assert runs_of(drawn(Iid(alpha=1.0), windows=10**12)).tolist() == [0] * 8 + [10**12]
    assert runs_of(drawn(Iid(alpha=0.0), windows=10**12)).tolist() == [10**12] + [0] * 8
    assert runs_of(drawn(Iid(alpha=0.7), kappas=(0,), windows=5)).tolist() == [5]


@pytest.mark.parametrize("process", FRESH, **NAME)
def test_drawn_and_simulated_counts_follow_one_law(process):
    """Two samples of 10⁶, bins of at least 25 on both sides; false alarm 1e-6."""
    ((_, (simulated,)),) = run_jobs([Job(Simulation(process), (8,), 10**6, 3)])
    a, b = simulated.accepted_counts().astype(float), runs_of(drawn(process, windows=10**6)).astype(float)
    common = (a >= 25) & (b >= 25)
    a, b = a[common], b[common]
    pooled = (a + b) / (a.sum() + b.sum())
    found = sum(((x - x.sum() * pooled) ** 2 / (x.sum() * pooled)).sum() for x in (a, b))
    assert found <= chdtri(common.sum() - 1, FALSE_ALARM)


def test_a_draw_depends_on_seed_and_process_alone():
    job = drawn(Iid(alpha=0.7), kappas=(0, 4, 8))
    ((_, once),) = run_jobs([job], threads=1)
    ((_, again),) = run_jobs([job], threads=2)
    assert [t.accepted_counts().tolist() for t in once] == [t.accepted_counts().tolist() for t in again]
    assert runs_of(dataclasses.replace(job, seed=12)).tolist() != once[-1].accepted_counts().tolist()
    assert not np.array_equal(job.keys, dataclasses.replace(job, method="simulate").keys)


def test_the_generator_is_philox_under_the_first_two_keys():
    """Those of the domain "multinomial"; at one threshold the draw is numpy's binomial."""
    keys = stream_keys(7, "x", "multinomial")
    first = int(np.random.Generator(np.random.Philox(key=keys[:2])).binomial(10**9, 0.5))
    assert draw_runs(form_of(Iid(alpha=0.5), 1), keys, 10**9, 1).tolist() == [first, 10**9 - first]
    job = drawn(Iid(alpha=0.7))
    assert job.keys.tolist() == stream_keys(11, job.simulation.process_id, "multinomial").tolist()


def test_a_threshold_below_all_but_one_word_is_certain_as_it_is_where_levels_are_compared():
    one = np.array([[2**32]])
    sure, next_to_sure = (Steps(np.array([[t, 2**32]]), one, one, one[0], True) for t in (2**32 - 1, 2**32 - 2))
    assert reaching(sure, 3) == 4 * [ONE]
    assert reaching(next_to_sure, 1) == [ONE, ONE - 2**33]


def test_draft_lengths_are_nested():
    """One draw over the bins of the longest κ is folded; asked for alone, a shorter κ gives the same windows."""
    ((_, tallies),) = run_jobs([drawn(Iid(alpha=0.7), kappas=(0, 4, 16), windows=10**9)])
    whole = tallies[-1].accepted_counts()
    for tally in tallies:
        kappa = tally.kappa
        assert tally.accepted_counts().tolist() == [*whole[:kappa], whole[kappa:].sum()]
    assert runs_of(drawn(Iid(alpha=0.7), kappas=(4,), windows=10**9)).tolist() == tallies[1].accepted_counts().tolist()


def test_the_cost_does_not_grow_with_the_budget():
    """Best of many: 10¹² windows take less than 1.5 times as long as 10⁴ (measured .8 to 1.1)."""

    def best(windows):
        job, times = drawn(Iid(alpha=0.7), kappas=tuple(range(17)), windows=windows), []
        for _ in range(300):
            began = time.perf_counter()
            play(job, range(1))
            times.append(time.perf_counter() - began)
        return min(times)

    assert best(10**12) < 1.5 * best(10**4)


@pytest.mark.parametrize("process", DEPENDENT, **NAME)
def test_windows_that_depend_on_each_other_cannot_be_drawn_at_once(process):
    with pytest.raises(ParameterError) as caught:
        simspec.simulate(process, kappa=4, method="multinomial")
    assert caught.value.key == "method"
    assert "independent windows" in str(caught.value)
    assert 'allowed: "simulate", "exact"' in str(caught.value)
    with pytest.raises(ParameterError):
        play(drawn(process), range(1))


def test_a_form_of_dependent_windows_has_no_law_of_one():
    assert isinstance(form_of(CARRIED, 4), Rows)
    with pytest.raises(TypeError, match="not independent"):
        reaching(form_of(CARRIED, 4), 4)


def test_processes_know_the_methods_their_routes_allow(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("request,len\na,1\na,2\nb,0\n")
    trace = Trace(path=str(file), accepted="len", request="request", drafted=4, bonus_included=False)
    assert trace.methods == ("simulate",)
    for process in [*FRESH, *DEPENDENT, trace]:
        assert ("exact" in process.methods) == has_route(process)
        assert ("multinomial" in process.methods) == (process.unit == "window")
    for method in METHODS[1:]:
        with pytest.raises(ParameterError, match=f'method = "{method}" is impossible for trace'):
            simspec.simulate(trace, kappa=2, method=method)


def test_rows_of_a_users_own_and_a_process_without_a_route():
    class Coin(RowProcess):
        type: str = "coin_of_method"

        def rows(self, kappa):
            return RowTable([[0.5 ** (j + 1) for j in range(kappa)]])

    class Odd(Process):
        type: str = "odd_of_method"

    assert simspec.simulate(Coin(), kappa=2, method="exact").to_pandas()["mean_tokens"].tolist() == [1.75]
    assert simspec.simulate(Coin(), kappa=2, method="multinomial", windows=1000).tallies[0].total("n") == 1000
    with pytest.raises(ParameterError, match="no exact route") as caught:
        simspec.simulate(Odd(), kappa=2, method="exact")
    assert caught.value.key == "method"


COSTS = [{"c_d": 0.1, "c_r": 0.3, "c_v": 0.02}, {"verify_table": [1.0, 1.1, 1.2, 1.4, 1.9, 2.5, 2.6, 2.7, 3.0]}]


@pytest.mark.parametrize("cost", COSTS, ids=["prices", "table"])
@pytest.mark.parametrize("process", FRESH + DEPENDENT, **NAME)
def test_exact_rows_are_theory(process, cost):
    rows = simspec.simulate(process, cost, kappa=range(9), method="exact").to_pandas()
    answer = simspec.exact(process, cost, kappa_max=8)
    assert rows["speedup"].tolist() == answer.optimum.speedup_by_kappa.tolist()
    assert set(rows["kappa_star"]) == {answer.kappa_star}
    assert set(rows["at_kappa_max"]) == {answer.optimum.at_kappa_max}
    assert set(rows["off_is_better"]) == {answer.optimum.off_is_better}
    assert rows["kappa"][rows["within_2pct"]].tolist() == list(answer.optimum.within(0.02))
    for row in rows.to_dict("records"):
        law = theory.window(process, row["kappa"])
        for name in ("mean_accepted", "mean_tokens", "var_accepted", "p_zero_accepted", "p_full"):
            assert row[name] == getattr(law, name)
        assert row["mean_round_cost"] == theory.mean_round_cost(law, Cost(**cost))
        if row["kappa"]:
            assert row["alpha_examined"] == law.mean_accepted / law.mean_examined
    assert (rows["speedup"] - rows["mean_tokens"] / rows["mean_round_cost"]).abs().max() < 1e-12
    assert rows["alpha_examined"].isna().tolist() == [True] + 8 * [False]
    assert set(rows["rounds"]) == set(rows["units"]) == {0}
    assert set(rows["method"]) == {"exact"}
    for name in [c.removesuffix("_low") for c in rows if c.endswith("_low")]:
        pd.testing.assert_series_equal(rows[f"{name}_low"], rows[name], check_names=False)
        pd.testing.assert_series_equal(rows[f"{name}_high"], rows[name], check_names=False)


@pytest.mark.parametrize("cost", COSTS, ids=["prices", "table"])
@pytest.mark.parametrize("process", FRESH + DEPENDENT, **NAME)
def test_exact_rows_are_what_a_simulation_converges_to(process, cost):
    """2·10⁶ windows; means within eight half-widths, quantiles equal unless a share lies within .002 of a jump."""
    exact = simspec.simulate(process, cost, kappa=[0, 1, 4, 8], method="exact").to_pandas()
    own = simspec.simulate(process, cost, kappa=[0, 1, 4, 8], windows=2 * 10**6, seed=4).to_pandas()
    for name in [c.removesuffix("_low") for c in own if c.endswith("_low") and not c.startswith(("behind", "unit"))]:
        room = 8 * (own[f"{name}_high"] - own[f"{name}_low"]) / 2 + 1e-9
        assert ((own[name] - exact[name]).abs() <= room)[own[name].notna()].all(), name
        assert own[name].isna().tolist() == exact[name].isna().tolist()
    jumps = {
        kappa: np.cumsum(theory.window(process, kappa).pmf_accepted) for kappa in (0, 1, 4, 8)
    }  # of the tokens; a cost jumps at those of 1 − them
    for name in [c for c in own if c.rpartition("_p")[2] in ("05", "50", "95", "99") and "unit" not in c]:
        share = int(name.rpartition("_p")[2]) / 100
        for kappa, a, b in zip(own["kappa"], own[name], exact[name], strict=True):
            near = np.abs(np.append(jumps[kappa], 1 - jumps[kappa]) - share).min() < 0.002
            assert np.isnan(b) or near or a == pytest.approx(b, abs=1e-12), (name, kappa)
    if process.unit == "window":
        assert exact["unit_tokens"].tolist() == exact["mean_tokens"].tolist()
        assert exact["unit_token_cost_p50"].tolist() == exact["round_token_cost_p50"].tolist()
    else:
        assert exact[["unit_tokens", "unit_token_cost_p50", "unit_token_cost_p99"]].isna().all(axis=None)
    if process.unit != "generation":
        assert exact[["round_cost_p99", "round_token_cost_p50"]].notna().all(axis=None)


@pytest.mark.parametrize("method", METHODS)
def test_to_draft_nothing_is_not_worse_than_off_at_the_same_cost(method):
    """A tie at κ* = 0: switching off gains nothing."""
    rows = simspec.simulate(Iid(alpha=0.5), {"c_d": 5.0}, kappa=[0, 2], windows=1000, method=method).to_pandas()
    assert set(rows["kappa_star"]) == {0}
    assert set(rows["off_is_better"]) == {False}


def test_quantiles_are_unknown_where_the_end_cuts_drafts():
    rows = simspec.simulate(Drift(alpha_start=0.8, alpha_end=0.6, tokens=16), kappa=[0, 4], method="exact").to_pandas()
    assert rows["round_cost_p50"].isna().tolist() == [False, True]
    assert rows["tokens_p50"].notna().all()


@pytest.fixture
def runs(tiny, tmp_path):
    return {method: sweep(Scenario.from_dict(tiny | {"method": method}), tmp_path / method) for method in METHODS}


def test_every_row_says_how_it_came_about(runs):
    for method, data in runs.items():
        for name in ("chunks", "counts", "estimates"):
            frame = getattr(data, name)
            assert set(frame["method"]) == (set() if method == "exact" and name != "estimates" else {method})
            assert list(frame.columns) == TABLES[name].names
    assert runs["multinomial"].chunks["n"].unique().tolist() == [20_000]
    assert (runs["multinomial"].estimates["units"] == 20_000).all()


def test_a_folder_reads_back_as_it_was_asked_for(runs, tmp_path):
    for method, data in runs.items():
        own = read(data.path)
        assert own.scenario.method == method
        again = sweep(own.scenario, tmp_path / f"again-{method}")
        pd.testing.assert_frame_equal(again.estimates, data.estimates)
        for name in TABLES:
            for file in (data.path / name).iterdir():
                assert (again.path / name / file.name).read_bytes() == file.read_bytes()
        assert ("method" in own.summary().splitlines()[0]) == (method != "simulate")
        assert sweep(own.scenario, data.path).complete
    assert "numpy" in runs["multinomial"].summary()
    assert "numpy" in runs["multinomial"].manifest["provenance"]["libraries"]
    assert "nothing was drawn" in repr(runs["exact"])


def test_another_method_is_another_run(runs, tiny):
    with pytest.raises(DatasetError, match=r"method \(exact there, simulate asked for\)"):
        sweep(Scenario.from_dict(tiny), runs["exact"].path)


def test_a_folder_from_before_there_were_methods_is_continued(runs, tiny):
    path = runs["simulate"].path / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["scenario"]["method"]
    path.write_text(json.dumps(manifest))
    assert sweep(Scenario.from_dict(tiny), runs["simulate"].path).complete
    for name in TABLES:
        part = store.part_path(runs["simulate"].path, name, 0)
        pq.write_table(pq.read_table(part).drop_columns(["method"]), part)
    assert set(compare(runs["simulate"].path, runs["multinomial"].path).pairs["how"]) == {"independent"}
    assert points(read(runs["simulate"].path).estimates)[0].method == "simulate"


def test_memory_and_folder_agree(runs):
    for method, data in runs.items():
        own = simspec.simulate(
            Iid(alpha=0.7), {"c_d": 0.1}, kappa=[0, 2, 4], windows=20_000, method=method
        ).to_pandas()  # fmt: skip
        stored = data.estimates.query("alpha == 0.7 and c_d == 0.1")
        assert own["speedup"].tolist() == stored["speedup"].tolist()
        assert own["mean_tokens_low"].tolist() == stored["mean_tokens_low"].tolist()


def test_a_point_that_has_no_law_fails_alone(tiny, tmp_path, monkeypatch):
    def some(job, costs):
        if job.process.alpha == 0.6:
            raise ParameterError("kappa", "no long-run law")
        return laws_of(job, costs)

    monkeypatch.setattr("simspec.run.known.laws_of", some)
    data = sweep(Scenario.from_dict(tiny | {"method": "exact"}), tmp_path / "some")
    assert [entry["error"] for entry in data.failed] == ["no long-run law"]
    assert len(data.estimates) == 2 * 3


def test_nothing_is_simulated_to_forecast_another_method(tiny, monkeypatch):
    monkeypatch.setattr("simspec.run.engine.players", lambda: pytest.fail("simulated"))
    monkeypatch.setattr(planning, "_sample", lambda _: pytest.fail("simulated"))
    rounds, seconds = plan(Scenario.from_dict(tiny | {"method": "multinomial", "windows": 10**12})).forecast(2)
    assert (rounds, seconds < 1.0) == (2 * 3 * 10**12, True)
    exact = plan(Scenario.from_dict(tiny | {"method": "exact"}))
    assert exact.forecast(2)[0] == 0
    assert exact.bytes < 50_000


def test_drawn_and_simulated_runs_share_no_windows(runs):
    found = compare(runs["simulate"], runs["multinomial"])
    assert set(found.pairs["how"]) == {"independent"}
    assert not found.differs
    assert set(compare(runs["multinomial"], runs["multinomial"]).pairs["how"]) == {"identical"}


@pytest.mark.parametrize("method", METHODS)
def test_exact_values_are_compared_by_their_law(runs, method):
    for pair in ((runs[method], runs["exact"]), (runs["exact"], runs[method])):
        found = compare(*pair, error=1e-6)
        assert not found.differs
        assert set(found.pairs["how"]) == {"exact"}
        assert "exact values have no counts" in repr(found)
        assert found.left_out == ()
    side = "rounds_a" if method == "simulate" else "rounds_b"
    assert (found.pairs["rounds_a"] == 0).all()
    assert (found.pairs[side] == 0).all() == (side == "rounds_a" or method == "exact")


def test_exact_values_add_no_error_of_their_own(runs):
    """The error of the difference is that of the run: its variance, or that of the law if larger, over its windows."""
    found = compare(runs["simulate"], runs["exact"]).frame.query("quantity == 'mean_accepted' and kappa == 4")
    points = runs["simulate"].estimates.query("kappa == 4").drop_duplicates("simulation_id").set_index("simulation_id")
    for own, error in zip(found["simulation_id"], found["error"], strict=True):
        point = points.loc[own]
        law = theory.window(Iid(alpha=point["alpha"]), 4)
        variance = max(point["var_accepted"], law.var_accepted)
        assert error == pytest.approx(np.sqrt(variance / point["rounds"]), rel=1e-3)


def test_a_planted_law_differs_from_exact_values(tmp_path, monkeypatch):
    """Counts of alpha + .01 under the ids of a run of 10⁶ windows."""
    table = {"name": "p", "windows": 10**6, "kappa": [4], "process": {"type": "iid", "alpha": 0.7}}
    exact = sweep(Scenario.from_dict(table | {"method": "exact"}), tmp_path / "exact")
    monkeypatch.setattr("simspec.run.engine.form_of", lambda p, k: form_of(Iid(alpha=p.alpha + 0.01), k))
    wrong = sweep(Scenario.from_dict(table), tmp_path / "wrong")
    found = compare(wrong, exact)
    assert {row.quantity for row in found.differences} >= {"mean_accepted", "p_full", "speedup"}


def test_rare_events_raise_no_alarm_against_exact_values(tmp_path):
    """Nothing accepted in 20,000 windows at α = 10⁻⁹, nothing full at κ = 64: as it should be."""
    table = {"name": "r", "windows": 20_000, "kappa": [0, 2, 64], "process": {"type": "iid", "alpha": [1e-9, 0.5, 1.0]}}
    made = [sweep(Scenario.from_dict(table | {"method": m}), tmp_path / m) for m in ("simulate", "exact")]
    assert not compare(*made).differs


def test_what_has_no_law_of_one_round_is_left_out_of_a_comparison(tmp_path):
    process = [{"type": "drift", "alpha_start": 0.85, "alpha_end": 0.6, "tokens": 32, "truncate": [True, False]}]
    table = {"name": "d", "windows": 20_000, "kappa": [4], "process": process}
    made = [sweep(Scenario.from_dict(table | {"method": m}), tmp_path / m) for m in ("simulate", "exact")]
    with pytest.raises(DatasetError, match="holds exact values and no counts"):
        compare(*made)
    table["process"] = [*process, CARRIED.identity()]
    made = [sweep(Scenario.from_dict(table | {"method": m}), tmp_path / f"{m}2") for m in ("simulate", "exact")]
    found = compare(*made)
    assert [entry.why for entry in found.left_out] == 2 * [
        "one side holds exact values and no counts, and the end of a generation leaves no law of one round"
    ]
    assert len(found.pairs) == 1


@pytest.mark.parametrize("method", METHODS)
def test_a_report_says_how(runs, method, tmp_path):
    pytest.importorskip("matplotlib")
    page = simspec.write_report(runs[method].path, tmp_path / "page.html").read_text(encoding="utf-8")
    said = {"simulate": "simulated, with its interval", "multinomial": "drawn at once", "exact": "nothing was drawn"}
    assert [m for m, text in said.items() if text in page] == [method]
    assert ("Accepted length against the exact law" in page) == (method != "exact")


FILE = """\
name = "m"
windows = 20000
kappa = [0, 4]
method = "{method}"
[process]
type = "markov"
alpha = 0.7
rho = 0.3
"""


def test_a_file_names_its_method_and_the_command_line_overrides_it(tmp_path):
    path = tmp_path / "m.toml"
    path.write_text(FILE.format(method="exact"))
    assert Scenario.from_toml(path).method == "exact"
    assert Scenario.from_toml(path, method="multinomial").method == "multinomial"

    def simspec_run(*arguments):
        command = [sys.executable, "-m", "simspec.cli.main", "run", "m.toml", "--quiet", *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120)

    told = simspec_run("-o", "e")
    assert told.returncode == 0
    assert "method exact" in told.stdout
    told = simspec_run("-o", "m", "--method", "multinomial", "--windows", "1e12", "--json")
    points = json.loads(told.stdout)["points"]
    assert [(row["method"], row["rounds"]) for row in points] == [("multinomial", 10**12)]
    told = simspec_run("--method", "multinomial", "--dry-run", "--json")
    assert json.loads(told.stdout)["windows"] == 40_000
    told = simspec_run("--method", "multinomal")
    assert (told.returncode, told.stderr.strip()) == (
        2, "m.toml:4: method = 'multinomal' is unknown; did you mean \"multinomial\"?",
    )  # fmt: skip


def test_an_impossible_method_is_named_with_file_and_line(tmp_path):
    path = tmp_path / "m.toml"
    path.write_text(FILE.format(method="multinomial") + 'start = "carry"\n')
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_toml(path)
    assert str(caught.value).startswith(f'{path}:4: method = "multinomial" is impossible for markov(')
    assert "\n" not in str(caught.value)


def test_every_type_of_process_is_tried_here():
    tried = {process.type for process in FRESH + DEPENDENT}
    shipped = {name for name, cls in Processes.table.items() if cls.__module__.startswith("simspec.")}
    assert shipped - tried == {"trace"}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_one_window_tells_nothing_apart():
    own = simspec.simulate(simspec.Iid(alpha=0.7), {"c_d": 0.1}, kappa=[0, 1, 2, 8], windows=1, method="multinomial")
    assert own.indistinguishable == [0, 1, 2, 8]


def test_a_run_in_which_everything_fails_says_so(tmp_path):
    """A trace cannot be asked for more drafts than were made: no row is written, and nothing crashes."""
    trace = Path(__file__).parents[2] / "scenarios" / "data" / "smollm2_windows_k8.parquet"
    (tmp_path / "t.toml").write_text(
        f'windows = 1000\nkappa = [9]\n[process]\ntype = "trace"\npath = "{trace}"\nrequest = "request"\n'
        'accepted = "accepted_full"\ndrafted = 8\nbonus_included = false\n'
    )
    command = [sys.executable, "-m", "simspec", "run", "t.toml", "-o", "out", "--quiet"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "kappa = 9 is above the 8 drafts" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
