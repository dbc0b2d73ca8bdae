"""What a change of κ costs: counted once, priced at many costs, held against all histories of short generations."""

import numpy as np
import pytest

import simspec
from simspec import theory
from simspec.model import Cost, Drift, ParameterError, Scenario, Simulation
from simspec.model.policies import Gate, Heuristic, Policies, Rolling, Schedule

COST = Cost(c_d=0.1, c_v=0.02, c_r=0.3)
DEAR = COST.changed(c_switch=0.3, c_wake=0.5)
FALLS = Drift(alpha_start=0.95, alpha_end=0.3, tokens=10)
BOUND = 7.0
"""Student's t with over 500 degrees of freedom exceeds it with probability below 1e-11; twelve figures: 1e-10."""


def heuristic(rounds):
    kappa = 3
    for drafted, accepted in rounds:
        kappa = min(7, kappa + 2) if accepted == drafted else max(0, kappa - 2)
    return kappa


def jumping(rounds):
    return (4, 0, 2, 0, 3, 2)[min(sum(a + 1 for _, a in rounds), 5)]


POLICIES = {
    "heuristic": (Heuristic(first=3, lowest=0, highest=7, down=2), heuristic),
    "schedule": (Schedule(kappas=(4, 0, 2, 0, 3, 2)), jumping),
}
PROCESSES = {
    "falls": FALLS,
    "uncut": Drift(alpha_start=0.3, alpha_end=0.9, tokens=9, truncate=False),
    "never": Drift(alpha_start=0.0, alpha_end=0.0, tokens=6),
    "always": Drift(alpha_start=1.0, alpha_end=1.0, tokens=11),
    "one token": Drift(alpha_start=0.5, alpha_end=0.5, tokens=1),
}


def off_by(policy, process, law, cost):
    """Distance of the speed-up from an exact one, in its standard errors; 0 or infinite where nothing varies."""
    found = simspec.simulate(process, cost, windows=400_000, policy=policy).to_pandas().iloc[0]
    error = (found.speedup_high - found.speedup_low) / 2 / 1.96
    gap = abs(found.speedup - law.speedup)
    return gap / error if error > 1e-9 else 0.0 if gap < 1e-9 else np.inf


@pytest.mark.parametrize("process", PROCESSES.values(), ids=PROCESSES)
@pytest.mark.parametrize("name", POLICIES)
def test_speeds_are_those_of_all_histories(name, process):
    policy, rule = POLICIES[name]
    assert off_by(policy, process, theory.enumerate_policy(process, rule, DEAR), DEAR) < BOUND


@pytest.mark.parametrize("wrong", [{"c_switch": 0.27}, {"c_wake": 0.3}], ids=str)
@pytest.mark.parametrize("name", POLICIES)
def test_a_price_that_is_a_little_wrong_is_seen(name, wrong):
    policy, rule = POLICIES[name]
    law = theory.enumerate_policy(FALLS, rule, DEAR.changed(**wrong))
    assert off_by(policy, FALLS, law, DEAR) > BOUND


def test_one_simulation_is_priced_at_many_costs(tmp_path):
    """A sweep of prices simulates once, and prices what it counted: cost + c_switch × flips + c_wake × wakes."""
    table = {
        "name": "many", "windows": 20_000, "kappa": [4], "process": [FALLS.model_dump(), {"type": "iid", "alpha": 0.7}],
        "policy": [{"type": "fixed"}, {"type": "rolling"}, {"type": "heuristic", "lowest": 0, "down": 4}],
        "cost": {"c_d": 0.1, "c_switch": [0.0, 0.01, 0.05], "c_wake": [0.0, 0.2]},
    }  # fmt: skip
    assert len(Scenario.from_dict(table).simulations()) == 6
    frame = simspec.sweep(table, output=tmp_path / "run").estimates
    for _, own in frame.groupby(["process", "policy"], observed=True):
        flips, wakes = own.flips_per_1000 / 1000, own.wakes_per_1000 / 1000
        free = own.mean_round_cost.iloc[0]
        paid = own.c_switch * flips + own.c_wake * wakes
        assert own.mean_round_cost.to_numpy() == pytest.approx((free + paid).to_numpy())
        assert own.speedup.to_numpy() == pytest.approx((own.mean_tokens / own.mean_round_cost).to_numpy())
        assert own.round_cost_p99.isna().tolist() == (paid > 0).tolist()
        assert not own.unit_token_cost_p99.isna().any()
    fixed = frame[frame.policy == "fixed"]
    assert fixed.speedup.groupby(fixed.process, observed=True).nunique().tolist() == [1, 1]


def test_without_a_price_nothing_is_another_run():
    """Ids of prices and simulations are those of before; a rule that reads prices does not read these."""
    assert COST.identity().keys() == {"c0", "c_d", "c_v", "c_r", "off"}
    assert Simulation(simspec.Iid(alpha=0.7)).point_id(Cost(c_d=0.1))[:12] == "e32d3904d736"
    told = [Rolling().told((cost,)) for cost in (COST, DEAR)]
    assert told[0] == told[1]
    assert str(told[0].cost) == str(COST)
    assert "c_switch = 0.3" in str(DEAR)
    assert Simulation(simspec.Iid(alpha=0.7)).point_id(DEAR) != Simulation(simspec.Iid(alpha=0.7)).point_id(COST)


def test_what_stays_fixed_does_not_pay():
    one, other = (simspec.exact({"type": "iid", "alpha": 0.7}, {"c_d": 0.1, "c_switch": x}) for x in (0.0, 0.5))
    assert one.optimum.best_speedup == other.optimum.best_speedup
    case = {"process": {"type": "iid", "alpha": 0.7}, "kappa": 4}
    both = simspec.solve([case | {"id": i, "cost": {"c_d": 0.1, "c_switch": x}} for i, x in enumerate((0.0, 0.5))])
    assert both[0]["speedup"] == both[1]["speedup"]
    still = simspec.simulate(FALLS, DEAR, windows=20_000, policy=Gate(first=4, highest=4, least=0.0))
    assert still.to_pandas().speedup[0] == simspec.simulate(FALLS, COST, kappa=4, windows=20_000).to_pandas().speedup[0]


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Cost(c_switch=-0.1), "c_switch = -0.1 is out of range"),
        (lambda: Cost(c_wake=float("nan")), "c_wake"),
        (lambda: Policies.make(type="ucb", cost={"c_switch": 0.1}), "cost.c_switch = 0.1 is not priced by the policy"),
        (lambda: simspec.solve([{"id": 1, "kind": "generation_star", "kappa_max": 4, "cost": {"c_switch": 0.1},
                                 "generation": {"n_tokens": 9, "alpha_start": 0.8, "alpha_end": 0.5}}]), None),
    ],
)  # fmt: skip
def test_what_is_refused(make, told):
    if told is None:
        assert make()[0]["error"]["key"] == "cost.c_switch"
        return
    with pytest.raises(ParameterError) as error:
        make()
    assert told in str(error.value)
    assert "\n" not in str(error.value)
