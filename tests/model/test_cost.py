"""Costs: the affine form, tables with kernel edges, and what is refused."""

import numpy as np
import pytest

import simspec
from simspec.model import Cost, Iid, Markov, ParameterError


def test_a_table_that_is_affine_prices_like_the_affine_cost():
    affine = Cost(c0=1.0, c_d=0.1, c_v=0.05, c_r=0.3)
    tables = Cost(draft_table=[0.1 * k for k in range(9)], verify_table=[1.0 + 0.05 * k for k in range(9)], c_r=0.3)
    for process in (Iid(alpha=0.7), simspec.Drift(alpha_start=0.8, alpha_end=0.5, tokens=40)):
        one, other = (
            simspec.simulate(process, cost, kappa=range(9), windows=20_000).to_pandas() for cost in (affine, tables)
        )
        for column in (
            "speedup",
            "speedup_low",
            "mean_round_cost",
            "speedup_exact",
            "round_cost_p99",
            "unit_token_cost_p99",
        ):
            assert np.allclose(one[column], other[column])


def test_a_kernel_edge_moves_the_best_kappa():
    """A pass of width 9 costs half as much again as width 8 (report U60 of a tile edge)."""
    passes = [1.0, 1.17, 1.25, 1.36, 1.5, 1.7, 1.95, 2.22, 3.45, 3.5]
    own = simspec.exact(Iid(alpha=0.9), Cost(verify_table=passes))
    assert own.optimum.speedup_by_kappa[8] < own.optimum.speedup_by_kappa[7]
    assert len(own.optimum.speedup_by_kappa) == 10


WRONG = [
    ({"c0": 0.0}, "c0"),
    ({"verify_table": [1.0], "c0": 1.0}, "c0"),
    ({"verify_table": [1.0], "c_v": 0.1}, "c_v"),
    ({"draft_table": [0.0, 0.1], "c_d": 0.1}, "c_d"),
    ({"draft_table": []}, "draft_table"),
    ({"verify_table": [1.0, 0.0]}, "verify_table"),
    ({"off": 0.0}, "off"),
]


@pytest.mark.parametrize(("keys", "key"), WRONG, ids=str)
def test_what_is_refused(keys, key):
    with pytest.raises(ParameterError) as caught:
        Cost(**keys)
    assert caught.value.key == key


def test_kappa_beyond_a_table_is_an_error_before_any_work():
    with pytest.raises(ParameterError, match="beyond the cost tables"):
        simspec.simulate(Iid(alpha=0.7), Cost(draft_table=[0.0, 0.1]), kappa=[4])


def test_cost_per_token_in_two_ways():
    """(a) one round over its tokens: the worst 1% are rounds of one token; (b) N tokens over N: the mean is 1/S."""
    lanes = Markov(alpha=0.7, rho=0.0, start="carry")
    row = simspec.simulate(lanes, Cost(c_d=0.1), kappa=[4], windows=2**20).to_pandas().iloc[0]
    assert row["round_token_cost_p99"] == pytest.approx(1.4)
    assert row["round_token_cost_p50"] == pytest.approx(0.7)
    assert row["unit_token_cost_p50"] == pytest.approx(1 / row["speedup"], rel=0.02)
    assert row["unit_token_cost_p50"] < row["unit_token_cost_p99"] < row["round_token_cost_p99"]
    assert row["unit_tokens"] == pytest.approx(row["rounds"] / row["units"] * 2.77, rel=0.01)


def test_the_unit_of_fresh_windows_is_a_window():
    row = simspec.simulate(Iid(alpha=0.7), Cost(c_d=0.1), kappa=[4], windows=200_000).to_pandas().iloc[0]
    assert row["units"] == row["rounds"]
    assert row["unit_tokens"] == pytest.approx(row["mean_tokens"])
    assert row["unit_token_cost_p99"] == row["round_token_cost_p99"]
