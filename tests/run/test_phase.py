"""The phase table against the exact route point by point, against the engine, and as a file."""

import json
import random
import time

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.stats import binom

import simspec
from simspec.model import Cost, DatasetError, ParameterError
from simspec.run.phase import _FIELDS, phase, process_of, write_phase
from simspec.run.schema import SCHEMA_VERSION
from simspec.theory import break_even_alpha, emission_time, optimum, speedup

ALPHAS = [round(0.3 + 0.03 * i, 2) for i in range(21)]
BETAS = [0.02, 0.07, 0.1, 0.25, 0.6]
CHAINS = [
    {},
    {"c_v": 0.05, "c_r": 0.5},
    {"rho": 0.3},
    {"rho": -0.1, "c_r": 0.2},
    {"rho": 0.3, "start": "carry"},
    {"rho": 0.25, "start": "carry", "steps_after_full": 2, "c_v": 0.01},
]


def price(row):
    return Cost(c_d=row.beta, c_v=row.c_v, c_r=row.c_r)


@pytest.mark.parametrize("more", CHAINS, ids=str)
def test_every_column_is_what_the_exact_route_says(more):
    table = phase(ALPHAS, BETAS, kappa_max=40, tokens=60, **more)
    assert list(table.columns) == list(_FIELDS)
    assert len(table) == len(ALPHAS) * len(BETAS)
    for row in table.sample(25, random_state=1).itertuples():
        process, cost = process_of(table, row.alpha), price(row)
        best = optimum(process, cost, 40)
        assert (row.kappa_star, row.at_kappa_max) == (best.kappa_star, best.at_kappa_max)
        assert row.best_speedup == pytest.approx(best.best_speedup, rel=1e-13)
        assert (row.kappa_low, row.kappa_high) == (best.within(0.02)[0], best.within(0.02)[-1])
        assert row.speedup_kappa_4 == pytest.approx(best.speedup_by_kappa[4], rel=1e-13)
        above, below = (speedup(process_of(table, row.alpha + s * 1e-5), row.kappa_star, cost) for s in (1, -1))
        assert row.slope == pytest.approx((above - below) / 2e-5, rel=1e-7, abs=1e-9)
        assert (
            row.break_even == pytest.approx(break_even_alpha(cost)) if not more.get("rho") else np.isnan(row.break_even)
        )


@pytest.mark.parametrize("more", [{}, {"c_v": 0.05}, {"rho": 0.3}, {"rho": 0.3, "start": "carry"}], ids=str)
def test_the_time_columns_are_those_of_the_exact_law(more):
    table = phase([0.4, 0.74, 0.9], [0.1, 0.25], kappa_max=12, tokens=40, **more)
    for row in table.itertuples():
        laws = [emission_time(process_of(table, row.alpha), k, price(row), 40, truncate=False) for k in range(13)]
        slow, mean = [law.quantile(0.99) for law in laws], [law.mean for law in laws]
        assert row.p99_time == pytest.approx(min(slow))
        assert row.kappa_p99 == next(k for k in range(13) if slow[k] <= min(slow) + 1e-9)
        assert row.kappa_mean_time == int(np.argmin(mean))


def test_with_a_rollback_cost_the_time_columns_are_missing():
    table = phase([0.7], [0.1], c_r=0.5)
    assert table[["kappa_mean_time", "kappa_p99", "p99_time"]].isna().all(axis=None)


def test_a_large_grid_takes_seconds():
    """.4 s on an idle core, 1.8 s at four times as many rates; ten times as many allowed."""
    alphas, betas = np.linspace(0.02, 0.99, 100), np.linspace(0.005, 0.5, 200)
    began = time.process_time()
    table = phase(alphas, betas)
    assert time.process_time() - began < 4
    draw = random.Random(2)
    for row in (table.iloc[draw.randrange(len(table))] for _ in range(40)):
        best = optimum(simspec.Iid(alpha=row.alpha), Cost(c_d=row.beta), 64)
        assert (row.kappa_star, row.best_speedup) == (best.kappa_star, pytest.approx(best.best_speedup, rel=1e-13))


@pytest.mark.parametrize("more", [{}, {"rho": 0.3}, {"rho": 0.3, "start": "carry"}], ids=str)
def test_the_engine_agrees(more):
    """Two points, 200,000 windows each; intervals of level 1 − 1e-7, so a false alarm in all has odds below 1e-6."""
    table = phase([0.6, 0.74], [0.1], **more)
    for row in table.itertuples():
        kappas = sorted({4, row.kappa_star})
        run = simspec.simulate(
            process_of(table, row.alpha), price(row), kappa=kappas, windows=200_000, seed=3, level=1 - 1e-7
        ).to_pandas()
        own = run[run["kappa"] == row.kappa_star].iloc[0]
        assert own.speedup_low < row.best_speedup < own.speedup_high
        at_4 = run[run["kappa"] == 4].iloc[0]
        assert at_4.speedup_low < row.speedup_kappa_4 < at_4.speedup_high
        wrong = phase([row.alpha + 0.02], [0.1], **more).iloc[0]  # and a rate wrong by .02 would be seen
        assert not at_4.speedup_low < wrong.speedup_kappa_4 < at_4.speedup_high


def odds_of_times(times, law):
    """Least two-sided odds over four quantiles: as many sequences are out by then as the law says."""
    least = 1.0
    for level in (0.1, 0.5, 0.9, 0.99):
        end = law.quantile(level)
        share = law.probabilities[law.times <= end + 1e-9].sum()
        out = int((times <= end + 1e-9).sum())
        least = min(least, 2 * binom.cdf(out, len(times), share), 2 * binom.sf(out - 1, len(times), share))
    return least


def test_the_engine_takes_the_time_of_the_exact_law(tmp_path):
    """4,000 replies of 128 tokens with a rollback cost; four quantiles, each at odds of 2.5e-7: false alarm 1e-6."""
    own = {"name": "time", "windows": 180_000, "kappa": [4], "process": {"type": "drift", "shape": "table"}}
    own["process"]["alphas"] = [0.7] * 128
    rounds = simspec.sweep(own, tmp_path / "out", seed=5, record=10**7).rounds()
    reply = (rounds["position"] == 0).cumsum()
    last = rounds.groupby(reply).tail(1)
    assert (last["position"] + last["accepted"] + 1 >= 128).all()  # none is cut short
    price = 1 + 0.1 * rounds["drafted"] + 0.3 * (rounds["accepted"] < rounds["drafted"])
    times = price.groupby(reply).sum().to_numpy()
    assert len(times) > 3000
    cost = Cost(c_d=0.1, c_r=0.3)
    assert odds_of_times(times, emission_time(simspec.Iid(alpha=0.7), 4, cost)) > 2.5e-7
    assert odds_of_times(times, emission_time(simspec.Iid(alpha=0.71), 4, cost)) < 2.5e-7  # .01 off would be seen


def test_the_file_is_the_table_with_its_parameters(tmp_path):
    table = simspec.phase([0.5, 0.7], [0.1, 0.2], rho=0.1)
    write_phase(table, tmp_path / "deep" / "phase.parquet")
    stored = pq.read_table(tmp_path / "deep" / "phase.parquet")
    note = json.loads(stored.schema.metadata[b"simspec"])
    assert note == {"kind": "phase", "schema_version": SCHEMA_VERSION, "parameters": table.attrs}
    assert note["parameters"]["alphas"] == [0.5, 0.7]
    assert all(field.metadata[b"description"] for field in stored.schema)
    for name in table.columns:
        assert stored.column(name).to_pylist() == [None if value != value else value for value in table[name].tolist()]
    first = (tmp_path / "deep" / "phase.parquet").read_bytes()
    write_phase(simspec.phase([0.5, 0.7], [0.1, 0.2], rho=0.1), tmp_path / "deep" / "phase.parquet")
    assert (tmp_path / "deep" / "phase.parquet").read_bytes() == first
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["phase.parquet"]


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(DatasetError):
        write_phase(phase([0.5], [0.1]), tmp_path / "taken" / "phase.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_the_edges_of_the_unit_interval():
    table = phase([0.0, 1.0], [0.0, 0.5, 2.0], kappa_max=8, tokens=10)
    assert table["kappa_star"].tolist() == [0, 0, 0, 8, 8, 0]
    assert table["best_speedup"].tolist() == [1, 1, 1, 9, pytest.approx(9 / 5), 1]
    carried = phase([1.0], [0.1], rho=0.3, start="carry", kappa_max=8, tokens=10)
    assert carried["best_speedup"].tolist() == [pytest.approx(9 / 1.8)]


@pytest.mark.parametrize(
    ("alphas", "betas", "more"),
    [
        ([], [0.1], {}), ([0.7], [], {}), ([0.7, 0.6], [0.1], {}), ([0.7, 0.7], [0.1], {}), ([1.2], [0.1], {}),
        ([float("nan")], [0.1], {}), ([0.7], [-0.1], {}), ([0.7], [0.1], {"c_v": -1}), ([0.7], [0.1], {"c_r": -1}),
        ([0.7], [0.1], {"kappa_max": 0}), ([0.7], [0.1], {"kappa_max": 257}), ([0.7], [0.1], {"tokens": 0}),
        ([0.7], [0.1], {"tokens": 10**6}), ([0.7], [0.1], {"level": 1.0}), ([0.7, 0.95], [0.1], {"rho": -0.1}),
        ([0.7], [0.1], {"rho": 1.0, "start": "carry"}), ([0.7], [0.1], {"rho": 0.3, "start": "never"}),
        ([0.7], [0.1], {"start": "never"}), ([0.7], [0.1, float("nan")], {}), ([0.7], [0.1, float("inf")], {}),
        ([0.7], [0.1], {"kappa_max": 2.5}), ([0.7], [0.1], {"tokens": 2.5}), ([0.7], [0.1], {"c_v": float("inf")}),
        (["a"], [0.1], {}), (0.7, [0.1], {}),
        (np.linspace(0, 1, 2000), np.linspace(0, 1, 2000), {}),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("error")
def test_rubbish_says_what_is_allowed(alphas, betas, more):
    with pytest.raises(ParameterError) as error:
        phase(alphas, betas, **more)
    assert "\n" not in str(error.value)


def test_a_correlation_is_no_percentage_and_a_cost_that_is_none_is_not_said_to_fall():
    with pytest.raises(ParameterError, match=r"^rho = 2 is out of range; allowed: -1 ≤ rho ≤ 1$"):
        phase([0.7], [0.1], rho=2)
    with pytest.raises(ParameterError, match="beta = nan is out of range"):
        phase([0.7], [0.1, float("nan")])


def test_numbers_of_numpy_are_written_too(tmp_path):
    write_phase(phase(np.array([0.5]), np.array([0.1]), kappa_max=np.int64(8)), tmp_path / "a.parquet")
    assert pq.read_table(tmp_path / "a.parquet").num_rows == 1
