"""Requests that are served together, all histories listed: against single requests, by hand, and edges."""

import numpy as np
import pytest

from simspec import theory
from simspec.model import BetaMixture, Cost, DiscreteMixture, Drift, ParameterError

COST = Cost(c_d=0.1, c_v=0.02, c_r=0.3)
FALLS = Drift(alpha_start=0.9, alpha_end=0.4, tokens=5)
MIX = DiscreteMixture(alphas=(0.9, 0.3), weights=(0.4, 0.6), weights_of="requests", request_tokens=4)


def own(rounds, kappa=2):
    for drafted, accepted in rounds:
        kappa = min(5, kappa + 2) if accepted == drafted else max(1, kappa - 1)
    return kappa


def shared(rounds):
    return own([outcome for places in rounds for outcome in places])


def same(law, single):
    np.testing.assert_allclose(law.expected_counts, single.expected_counts, atol=1e-14)
    assert (law.mean_rounds, law.mean_flips, law.own_cost) == pytest.approx(
        (single.mean_rounds, single.mean_flips, single.mean_cost), abs=1e-13
    )


@pytest.mark.parametrize("process", [FALLS, FALLS.model_copy(update={"truncate": False})], ids=["cut", "uncut"])
def test_a_request_that_chooses_for_itself_is_as_if_alone(process):
    single = theory.enumerate_policy(process, own, COST)
    same(theory.enumerate_batch(process, own, COST, batch=2, shares=False), single)
    alone = theory.enumerate_batch(process, shared, COST, batch=1)
    same(alone, single)
    assert alone.straggling == pytest.approx(0.0, abs=1e-14)
    assert alone.speedup == pytest.approx(single.speedup, rel=1e-14)


def test_a_mix_is_the_mean_of_its_classes():
    found = theory.enumerate_batch(MIX, own, COST, batch=2, shares=False)
    each = [
        theory.enumerate_policy(Drift(alpha_start=alpha, alpha_end=alpha, tokens=4), own, COST) for alpha in MIX.alphas
    ]
    assert found.own_cost == pytest.approx(0.4 * each[0].mean_cost + 0.6 * each[1].mean_cost, rel=1e-13)


@pytest.mark.parametrize(("rule", "shares"), [(own, False), (shared, True)])
def test_every_round_of_a_request_is_in_a_step(rule, shares):
    found = theory.enumerate_batch(FALLS, rule, COST, shares=shares)
    assert found.expected_steps.sum() == pytest.approx(found.mean_rounds, rel=1e-13)
    assert found.step_cost > found.own_cost
    assert found.straggling == pytest.approx(1 - found.own_cost / found.step_cost)
    assert found.speedup == pytest.approx(5 / found.step_cost)


@pytest.mark.parametrize(("alpha", "kappa"), [(0.0, 3), (1.0, 3), (0.6, 0)])
def test_nobody_waits_where_all_are_alike(alpha, kappa):
    process = Drift(alpha_start=alpha, alpha_end=alpha, tokens=5)
    found = theory.enumerate_batch(process, lambda rounds: kappa, COST, batch=3)
    assert found.straggling == pytest.approx(0.0, abs=1e-14)
    assert found.mean_flips == 0.0


def test_one_token_is_one_round():
    found = theory.enumerate_batch(FALLS.model_copy(update={"tokens": 1}), shared, COST, batch=4)
    assert (found.mean_rounds, found.step_cost, found.speedup) == (1.0, 1.0, 1.0)


def test_a_step_by_hand():
    """κ = 1, uncut, N = 2, c_r = 1: a step costs 1 more unless both accept, ¾ of them; a place alone pays it in ½."""
    flat = Drift(shape="table", alphas=(0.5, 0.5), truncate=False)
    found = theory.enumerate_batch(flat, lambda rounds: 1, Cost(c_r=1.0))
    assert found.mean_rounds == 1.5
    assert found.own_cost == pytest.approx(1.5 * 1.5)
    assert found.step_cost == pytest.approx(1.5 * 1.75)


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"process": BetaMixture(alpha=0.5, rho=0.1, request_tokens=4)}, "no requests of fixed length"),
        ({"process": MIX.model_copy(update={"weights_of": "rounds"})}, "no requests of fixed length"),
        ({"batch": 0}, "batch = 0"),
        ({"cost": Cost(c_switch=0.1)}, "c_switch = 0.1 is not priced"),
        ({"policy": lambda rounds: -1}, "asks for -1"),
        ({"policy": lambda rounds: True}, "asks for True"),
        ({"policy": lambda rounds: 2.0}, "asks for 2.0"),
        ({"process": Drift(alpha_start=0.5, alpha_end=0.5, tokens=200), "batch": 4}, "in all histories"),
    ],
)
def test_what_is_refused(keys, told, monkeypatch):
    monkeypatch.setattr("simspec.theory.batch_histories.BATCH_HISTORIES_LIMIT", 1000)
    with pytest.raises(ParameterError, match=told):
        theory.enumerate_batch(**{"process": FALLS, "policy": shared, "cost": COST} | keys)
