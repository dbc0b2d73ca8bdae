"""Policies that were planned beforehand, and tables of batches, along the whole street."""

import pytest

import simspec
from simspec import theory
from simspec.model import Cost, Drift, Iid, Markov, ParameterError, Scenario, Simulation, Survival, Trace
from simspec.model.policies import BatchTable, BestFixed, Foresight, Optimal
from simspec.run.comparators import fixed_speedups
from simspec.run.plans import plan, steering

COST = {"c_d": 0.1, "c_r": 0.2}
FALLS = Drift(alpha_start=0.95, alpha_end=0.3, tokens=64)


def speed(found):
    """S and its standard error."""
    row = found.to_pandas().iloc[0]
    return row.speedup, (row.speedup_high - row.speedup_low) / 2 / 1.96


def test_no_fixed_kappa_and_no_other_plan_does_better():
    """The optimum is as fast as backward induction says, and faster than the best fixed κ, itself known exactly."""
    best, fixed = theory.optimal_plan(FALLS, Cost(**COST), 16), theory.optimum(FALLS, Cost(**COST), 16)
    for policy, due in (("optimal", best.speedup), ("best_fixed", fixed.best_speedup)):
        own, error = speed(simspec.simulate(FALLS, COST, policy=policy, windows=200_000))
        assert abs(own - due) < 6.5 * error  # false alarm 8e-11
        assert error < 0.004
    assert best.speedup > fixed.best_speedup + 0.05


def test_a_plan_for_wrong_prices_is_another_plan():
    """Its own prices make it draft long; those of the run say what that costs."""
    believed = {"type": "optimal", "cost": {"c_d": 0.01}}
    own, wrong = (simspec.simulate(FALLS, COST, policy=one, windows=50_000) for one in ("optimal", believed))
    assert wrong.to_pandas().mean_drafted[0] > own.to_pandas().mean_drafted[0] + 1
    assert wrong.to_pandas().speedup[0] < own.to_pandas().speedup[0] - 0.05


def test_what_is_planned_is_what_is_played():
    """A schedule written out by hand plays the same integers."""
    kappas = theory.optimal_plan(FALLS, Cost(**COST), 9).kappas.tolist()
    own, by_hand = (
        simspec.simulate(FALLS, COST, policy=one, windows=20_000).tallies[0]
        for one in ({"type": "optimal", "highest": 9}, {"type": "schedule", "kappas": kappas})
    )
    assert max(kappas) == 9
    assert (own.histogram == by_hand.histogram).all()
    assert (own.flips == by_hand.flips).all()


@pytest.mark.parametrize(
    ("process", "due"),
    [
        (Iid(alpha=0.0), 0),
        (Iid(alpha=1.0), 16),
        (Iid(alpha=0.7), 4),
        (Drift(alpha_start=0.5, alpha_end=0.5, tokens=1), 0),
        (Markov(alpha=0.7, rho=0.3, start="carry"), 4),
    ],
    ids=str,
)
def test_the_best_fixed_kappa(process, due):
    assert plan(process, BestFixed(cost=Cost(c_d=0.1))).kappas == (due,)


def test_a_plan_at_the_edges():
    cost = Cost(c_d=0.1)
    for rate, tokens, kappas in ((0.0, 5, (0,) * 5), (1.0, 4, (3, 2, 1, 0)), (0.5, 1, (0,))):
        flat = Drift(alpha_start=rate, alpha_end=rate, tokens=tokens)
        assert plan(flat, Optimal(cost=cost)).kappas == kappas


def test_plans_know_their_prices_in_a_grid():
    """The prices of the run join the id; without them, or with two, there is no plan."""
    table = {"name": "x", "windows": 1000, "process": {"type": "iid", "alpha": 0.7}, "cost": COST}
    ((simulation, kappas),) = Scenario.from_dict(table | {"policy": {"type": "best_fixed"}}).simulations()
    assert simulation.policy.cost == Cost(**COST)
    assert kappas == (16,)
    assert simulation.id != Simulation(Iid(alpha=0.7), policy=BestFixed()).id
    for changed, told in (
        ({"policy": {"type": "optimal"}}, "needs rates by output position, and iid has none"),
        ({"policy": {"type": "best_fixed"}, "cost": {"c_d": [0.1, 0.2]}}, "has 2 costs"),
    ):
        with pytest.raises(ParameterError, match=told):
            Scenario.from_dict(table | changed).check()
    with pytest.raises(ParameterError, match="beyond the 2 measured positions"):
        Simulation(Survival(survival=[0.8, 0.5]), policy=BestFixed(cost=Cost())).check((16,), [Cost()])
    with pytest.raises(ParameterError, match="cost is missing"):
        plan(FALLS, Optimal())


def test_a_schedule_of_draft_lengths_by_batch():
    """As the engine looks it up: the first key that is at least the batch, none beyond the last."""
    schedule = {32: 1, 4: 4, 8: 2}
    batches = tuple(range(1, 40))
    own = BatchTable(draft_len_schedule=schedule, batches=batches)
    keys = sorted(schedule)
    assert own.plan() == tuple(next((schedule[key] for key in keys if key >= batch), 0) for batch in batches)
    assert own == BatchTable(table=((1, 4, 4), (5, 8, 2), (9, 32, 1), (33, 2**31 - 1, 0)), batches=batches)


def test_a_batch_between_two_ranges_keeps_the_kappa_of_the_first():
    """As vLLM looks it up; behind the last range too."""
    table = [[8, 16, 2], [1, 4, 5]]
    assert BatchTable(table=table, batches=[1, 4, 6, 8, 16, 20]).plan() == (5, 5, 5, 2, 2, 2)


def test_a_schedule_of_draft_lengths_in_a_file(tmp_path):
    text = """
    windows = 2000
    [process]
    type = "iid"
    alpha = 0.7
    [policy]
    type = "batch_table"
    batches = [40, 40, 8, 2]
    [policy.draft_len_schedule]
    4 = 4
    8 = 2
    32 = 1
    """
    (tmp_path / "batches.toml").write_text(text)
    ((simulation, _),) = Scenario.from_toml(tmp_path / "batches.toml").simulations()
    assert simulation.policy.plan() == (0, 0, 2, 4)


def test_plans_of_a_dense_trace_with_chosen_rows():
    """Such a trace cannot be hashed; its best fixed κ is that over all of its requests."""
    trace = Trace(path="shipped:smollm2", alpha="alpha", request="request", where={"draft": "tl24", "temperature": 1.0})
    cost = Cost(c_d=0.1)
    speeds = fixed_speedups(trace, cost, 8)
    assert plan(trace, BestFixed(cost=cost, highest=8)).kappas == (int(speeds.argmax()),)
    form, _ = steering(trace, Foresight(cost=cost, highest=8))
    assert form.highest == 8
