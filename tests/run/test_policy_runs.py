"""Who chooses κ, along the whole street: scenario, run, tables; and a policy of the user's own."""

import os
import subprocess
import sys
from typing import Literal

import numpy as np
import pytest

import simspec
from simspec import theory
from simspec.model import Cost, Scenario, Simulation
from simspec.model.policies import Policies
from simspec.run.dispatch import run_jobs
from simspec.run.engine import Job, merge

COST = {"c_d": 0.1}
TABLE = {
    "name": "who",
    "windows": 150_000,
    "kappa": [3, 4, 5],
    "process": {"type": "iid", "alpha": 0.7},
    "policy": [
        {"type": "fixed"},
        {"type": "rolling", "smoothing": [0.85, 0.99], "highest": 20},
        {"type": "heuristic", "label": "HF"},
        {"type": "exp3"},
    ],
    "cost": COST,
}


@simspec.register_policy
class Plain(simspec.OwnPolicy):
    """+2/−1 by hand."""

    type: Literal["plain"] = "plain"

    @staticmethod
    def choose(kappa, accepted, full, state):
        for lane in range(kappa.size):
            kappa[lane] = min(16, max(1, kappa[lane] + 2 if full[lane] else kappa[lane] - 1))


@simspec.register_policy
class Broken(simspec.OwnPolicy):
    """Well for five rounds; then it says ``answer``, or raises if that is 0."""

    type: Literal["broken"] = "broken"
    answer: int = 0

    def start(self):
        return [float(self.answer), 0.0]

    @staticmethod
    def choose(kappa, accepted, full, state):
        for lane in range(kappa.size):
            state[1, lane] += 1.0
            if state[1, lane] == 5.0:
                if state[0, lane] == 0.0:
                    raise ValueError("lost count")
                kappa[lane] = int(state[0, lane])


def test_a_run_of_policies(tmp_path):
    """One row per policy that adapts, at its longest κ; speeds as exact chains of estimates say."""
    frame = simspec.sweep(TABLE, output=tmp_path / "run").estimates
    steered = frame[frame["policy"] != "fixed"]
    assert frame["policy"].tolist() == ["fixed"] * 3 + ["rolling"] * 2 + ["heuristic", "exp3"]
    assert steered["kappa"].tolist() == [20, 20, 16, 8]
    assert steered["speedup_exact"].isna().all()
    assert not frame["speedup_exact"].iloc[:3].isna().any()
    assert steered["policy_label"].tolist() == ["", "", "HF", ""]
    assert not steered["at_kappa_max"].any()
    assert (frame["flips_per_1000"].iloc[:3] == 0).all()
    assert (steered["flips_per_1000"] > 20).all()
    cost = Cost(**COST)
    for row, smoothing in zip(steered.itertuples(), (0.85, 0.99), strict=False):
        exact = theory.controller_long_run(0.7, lambda e: theory.plug_in_kappas(e, cost), cost, smoothing, points=1025)
        error = (row.speedup_high - row.speedup_low) / 2 / 1.96
        assert abs(row.speedup - exact.speedup) < 6 * error + exact.grid_error  # 6σ: false alarm 4e-9
        assert error < 0.004


def test_the_same_integers_for_any_threads_and_order():
    for policy in ("exp3", "thompson", "ucb", "steps"):
        chosen = Policies.make(type=policy).told((Cost(**COST),))
        job = Job(
            Simulation(simspec.Markov(alpha=0.7, rho=0.2, start="carry"), policy=chosen), (chosen.longest,), 40_000, 3
        )
        one, two, back = (
            next(iter(run_jobs([job], threads, order=order)))[1][0]
            for threads, order in ((1, None), (2, None), (2, lambda pieces: pieces[::-1]))
        )
        for other in (two, back):
            assert (one.sums == other.sums).all()
            assert (one.flips == other.flips).all()
    assert merge({16: [(range(2), one)]})[0] is one


def test_a_policy_shares_the_words_of_the_process():
    """Common random numbers: a schedule that is always 4 plays the rounds of κ = 4."""
    process = simspec.Drift(alpha_start=0.9, alpha_end=0.5, tokens=64)
    still = simspec.simulate(process, COST, kappa=4, windows=20_000)
    plan = simspec.simulate(process, COST, windows=20_000, policy={"type": "schedule", "kappas": [4]})
    assert (still.tallies[0].histogram == plan.tallies[0].histogram).all()


def test_prices_are_read_from_the_run_or_from_the_policy():
    process = simspec.Iid(alpha=0.7)
    dear, cheap = (simspec.simulate(process, {"c_d": c}, windows=20_000, policy="rolling") for c in (0.4, 0.02))
    assert dear.to_pandas()["mean_drafted"][0] < 2 < 6 < cheap.to_pandas()["mean_drafted"][0]
    wrong = simspec.simulate(process, {"c_d": 0.4}, windows=20_000, policy={"type": "rolling", "cost": {"c_d": 0.02}})
    assert (wrong.tallies[0].histogram == cheap.tallies[0].histogram).all()
    assert wrong.to_pandas()["speedup"][0] < dear.to_pandas()["speedup"][0]


def test_a_measured_chance_at_every_position_is_replayed_under_a_policy():
    """SmolLM2 and a map of its layer 24: a schedule that is always 4 plays what κ = 4 plays."""
    trace = {"type": "trace", "path": "shipped:smollm2", "alpha": "alpha", "request": "request"}
    trace["where"] = {"draft": "tl24", "temperature": 1.0}
    still = simspec.simulate(trace, COST, kappa=4, windows=100_000)
    plan, rolling = (
        simspec.simulate(trace, COST, windows=100_000, policy=own)
        for own in ({"type": "schedule", "kappas": [4]}, {"type": "rolling", "smoothing": 0.99})
    )
    assert (still.tallies[0].histogram == plan.tallies[0].histogram).all()
    assert rolling.to_pandas()["speedup_exact"].isna().all()
    assert 0.9 < rolling.to_pandas()["speedup"][0] / still.to_pandas()["speedup"][0] < 1.2


def test_ids_of_runs_without_a_policy_are_as_before():
    plain = {key: value for key, value in TABLE.items() if key != "policy"}
    (simulation, kappas), *_ = Scenario.from_dict(plain).simulations()
    assert (simulation.id[:12], kappas) == ("1a10c3fa3b07", (3, 4, 5))
    assert "policy" not in Scenario.from_dict(plain).to_dict()
    again = Scenario.from_dict(Scenario.from_dict(TABLE).to_dict())
    assert again == Scenario.from_dict(TABLE)
    assert again.points() == 7 - 2  # as for κ, those of one simulation count once


ROUNDS_ONLY = {"type": "trace", "path": "shipped:smollm2_windows", "accepted": "accepted_full", "request": "request"}
ROUNDS_ONLY |= {"drafted": 8, "bonus_included": False}


@pytest.mark.parametrize(
    ("changed", "key", "told"),
    [
        ({"policy": {"type": "heuristic", "first": 99}}, "policy.first", "out of range"),
        ({"policy": [{"type": "fixed"}, {"type": "bandit"}]}, "policy[1].type", "unknown"),
        ({"policy": {"type": "ucb"}, "cost": {"c_d": [0.1, 0.2]}}, "policy.cost", "has 2 costs"),
        ({"policy": {"type": "ucb", "cost": {"c_d": -1}}}, "policy.cost.c_d", "out of range"),
        ({"policy": {"type": "ucb"}, "scheme": {"type": "tree", "misses": [0.4]}}, "policy", "no [scheme] but chain"),
        ({"policy": {"type": "steps"}, "process": ROUNDS_ONLY}, "policy",
         "cannot be replayed on the rounds of shipped:smollm2_windows, which say nothing of another κ"),
        ({"policy": {"type": "steps"}, "process": ROUNDS_ONLY}, "policy", "or the process that `simspec fit` finds"),
        ({"policy": {"type": "ucb"}, "method": "exact"}, "method", 'allowed with this policy: "simulate"'),
        ({"policy": {"type": "heuristic"}, "process": {"type": "survival", "survival": [0.8, 0.5]}}, "policy",
         "beyond the 2 measured positions"),
        ({"policy": 3}, "policy", "is not a table"),
        ({"policy": {"type": "heuristic", "lambda": 3}}, "policy.lambda", "unknown key"),
        ({"policy": [{"type": "steps"}, {"type": "steps", "label": "x"}]}, "policy[1].label", "same simulation"),
    ],
)  # fmt: skip
def test_what_is_refused(changed, key, told):
    with pytest.raises(simspec.ParameterError) as error:
        Scenario.from_dict(TABLE | changed).check()
    assert error.value.key == key
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_a_policy_of_ones_own_is_played_as_the_built_in_one():
    process = simspec.Drift(alpha_start=0.9, alpha_end=0.5, tokens=64)
    same = {"type": "heuristic", "first": 4}
    own, built = (simspec.simulate(process, COST, windows=20_000, policy=one) for one in ("plain", same))
    assert (own.tallies[0].histogram == built.tallies[0].histogram).all()
    assert (own.tallies[0].flips == built.tallies[0].flips).all()


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (-1, "policy asks for κ = -1 after round 5 of lane 0, κ = 4"),
        (10**6, "policy asks for κ = 1000000 after round 5 of lane 0, κ = 4"),
        (0, "policy raises ValueError (lost count) after round 5 of lane 0, κ = 4"),
    ],
)
def test_a_broken_policy_is_named_with_round_and_state(answer, told):
    with pytest.raises(simspec.ParameterError) as error:
        simspec.simulate(simspec.Iid(alpha=0.7), COST, windows=5_000, policy=Broken(answer=answer))
    assert str(error.value).startswith(told)
    assert f"state [{float(answer)}, 4.0]; allowed: 1 to 16" in str(error.value)


@simspec.register_policy
class OneLane(simspec.OwnPolicy):
    """Well until a lane, known by its number, has had 40 tokens accepted."""

    type: Literal["one_lane"] = "one_lane"
    answer: int = 0

    def start(self):
        return [float(self.answer), 0.0]

    @staticmethod
    def choose(kappa, accepted, full, state):
        for lane in range(kappa.size):
            state[1, lane] += accepted[lane]
            if lane == 3 and state[1, lane] > 40.0:
                if state[0, lane] == 0.0:
                    raise ValueError("lost count")
                kappa[lane] = int(state[0, lane])


@simspec.register_policy
class Beyond(simspec.OwnPolicy):
    """Writes behind the end of its state after five rounds."""

    type: Literal["beyond"] = "beyond"

    def start(self):
        return [0.0]

    @staticmethod
    def choose(kappa, accepted, full, state):
        for lane in range(kappa.size):
            state[0, lane] += 1.0
            if state[0, lane] == 5.0:
                state[10**6, lane] = 1.0


@pytest.mark.parametrize("serving", [{}, {"delay": 2}, {"batch": 4}])
def test_a_policy_that_writes_beyond_its_state_is_named_and_writes_nothing(serving):
    """Compiled code without a check of bounds would end the process."""
    with pytest.raises(simspec.ParameterError, match=r"raises IndexError .* is out of bounds .* after round [257] "):
        simspec.simulate(simspec.Iid(alpha=0.7), COST, windows=5_000, policy=Beyond(), serving=serving)


@pytest.mark.parametrize("answer", [-1, 0])
@pytest.mark.parametrize("delay", [0, 2])
@pytest.mark.parametrize(
    "process",
    [
        simspec.Iid(alpha=0.7),
        simspec.Markov(alpha=0.7, rho=0.3, start="carry"),
        simspec.Drift(alpha_start=0.9, alpha_end=0.5, tokens=200),
        simspec.BetaMixture(alpha=0.7, rho=0.2, request_tokens=200),
    ],
)
def test_a_lane_that_fails_is_named_even_if_the_policy_knows_its_number(process, delay, answer):
    """Replayed with all lanes side by side, as the compiled loop calls it."""
    with pytest.raises(simspec.ParameterError) as error:
        simspec.simulate(
            process, COST, windows=5_000, policy=OneLane(answer=answer, keeps=True), serving={"delay": delay}
        )
    told = str(error.value)
    state = [float(x) for x in told.split("state [")[1].split("]")[0].split(",")]
    assert "of lane 3, κ = 4" in told
    assert 36.0 <= state[1] <= 44.0
    assert ("raises ValueError (lost count)" if answer == 0 else "asks for κ = -1") in told
    assert ("news of 2 rounds ago" in told) == (delay > 0)


@pytest.mark.parametrize(
    ("own", "told"),
    [
        ({"choose": staticmethod(Plain.choose)}, "has no type"),
        ({"type": "mine"}, "has no choose"),
        ({"type": "heuristic", "choose": staticmethod(Plain.choose)}, "already taken"),
    ],
)
def test_a_policy_that_cannot_be_registered_leaves_no_trace(own, told):
    known = dict(Policies.table)
    kind = type("Odd", (simspec.OwnPolicy,), {**own, "__annotations__": {key: str for key in own if key == "type"}})
    with pytest.raises(simspec.ParameterError, match=told):
        simspec.register_policy(kind)
    assert Policies.table == known


def _reads_a_row_that_is_not_there(kappa, accepted, full, state):
    for lane in range(kappa.size):
        kappa[lane] = 2 + int(state[7, lane] > 0.0)


def _knows_a_name_that_is_none(kappa, accepted, full, state):
    kappa[0] = nowhere  # noqa: F821


def _takes_two_arguments(kappa, accepted):
    kappa[0] = 2


@pytest.mark.parametrize(
    ("choose", "told"),
    [
        (_reads_a_row_that_is_not_there, "policy raises IndexError (index 7 is out of bounds for axis 0 with size 1)"),
        (_knows_a_name_that_is_none, "cannot be compiled: NameError: name 'nowhere' is not defined; allowed: choose("),
        (_takes_two_arguments, "cannot be compiled: Signature mismatch: 4 argument types given"),
    ],
)
def test_a_policy_that_no_compiler_takes_is_refused_in_one_line(choose, told):
    """Unchecked, row 7 is whatever lies behind the state: numbers came out, and no error."""
    own = type("Wrong", (simspec.OwnPolicy,), {"choose": staticmethod(choose)})(type="wrong")
    with pytest.raises(simspec.ParameterError) as error:
        simspec.simulate(simspec.Iid(alpha=0.7), COST, windows=1_000, policy=own)
    assert told in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("state", ["x", None, [[1.0]], 1.0])
def test_a_state_that_is_no_list_of_numbers_is_refused(state):
    own = type("Wrong", (Plain,), {"start": lambda self: state})()
    with pytest.raises(simspec.ParameterError, match=r"start\(\) gives .*; allowed: a list of numbers"):
        simspec.simulate(simspec.Iid(alpha=0.7), COST, windows=1_000, policy=own)


def test_nothing_is_lost_by_a_broken_policy(tmp_path):
    table = TABLE | {
        "windows": 5_000,
        "policy": [{"type": "heuristic"}, {"type": "broken", "answer": -1}, {"type": "exp3"}],
    }
    kept = simspec.sweep(table, output=tmp_path / "run")
    assert kept.estimates["policy"].tolist() == ["heuristic", "exp3"]
    (failure,) = kept.failed
    assert "policy asks for κ = -1 after round 5" in failure["error"]
    assert "policy asks for κ = -1 after round 5" in " ".join(str(kept).split())


def test_another_function_is_another_policy():
    other = type("Other", (Plain,), {"choose": staticmethod(lambda kappa, accepted, full, state: None)})
    assert other().identity()["code"] != Plain().identity()["code"]
    assert np.unique([Simulation(simspec.Iid(alpha=0.7), policy=one).id for one in (other(), Plain())]).size == 2


PLAYED = """
import hashlib, simspec
process, out = {"type": "drift", "alpha_start": 0.9, "alpha_end": 0.5, "tokens": 40}, []
for name in ("rolling", "exp3", "thompson", "steps", "goodput", "ucb", "gate", "heuristic"):
    tally = simspec.simulate(process, {"c_d": 0.1}, policy=name, windows=300).tallies[0]
    out.append((tally.sums.tolist(), tally.flips.tolist()))
print(hashlib.sha256(repr(out).encode()).hexdigest())
"""


def test_without_a_compiler_the_twins_play_policies():
    found = [
        subprocess.run(
            [sys.executable, "-c", PLAYED], env={**os.environ, **extra}, capture_output=True, text=True, check=True
        ).stdout
        for extra in ({}, {"NUMBA_DISABLE_JIT": "1"})
    ]
    assert found[0] == found[1] != ""


def test_conditions_of_serving_are_an_axis(tmp_path):
    """A fixed κ runs once; a policy once per delay, and says so; a delay of 0 is the run without [serving]."""
    table = {**TABLE, "kappa": [4], "windows": 20_000, "serving": {"delay": [0, 3]}}
    table["policy"] = [{"type": "fixed"}, {"type": "heuristic"}]
    dataset = simspec.sweep(table, output=tmp_path / "late")
    frame, plain = dataset.estimates, simspec.simulate(simspec.Iid(alpha=0.7), COST, policy="heuristic", windows=20_000)
    assert list(zip(frame["policy"], frame["serving_delay"], strict=True)) == [
        ("fixed", 0),
        ("heuristic", 0),
        ("heuristic", 3),
    ]
    assert frame["simulation_id"][1] == plain.job.simulation.id
    assert frame["speedup"][1] == plain.to_pandas()["speedup"][0] > frame["speedup"][2]
    assert "heuristic delay=3" in str(dataset)
    assert Scenario.from_dict(Scenario.from_dict(table).to_dict()) == Scenario.from_dict(table)


@pytest.mark.parametrize(
    ("serving", "policy", "told"),
    [
        ({"delay": -1}, "heuristic", "serving.delay = -1 is out of range; allowed: 0 ≤ delay ≤ 1000"),
        ({"delay": 2.5}, "heuristic", "serving.delay = 2.5 is not a whole number"),
        ({"dely": 2}, "heuristic", 'unknown key "dely"; did you mean "delay"?'),
        ({"delay": 2}, "fixed", "serving.delay = 2 has no effect on policy fixed"),
        ({"stale_rounds": 2}, "heuristic", "serving.stale_rounds = 2 has no effect without stale_factor"),
        ({"stale_rounds": 2, "stale_factor": 1.5}, "gate", "serving.stale_factor = 1.5 is out of range"),
        ({"stale_rounds": 2, "stale_factor": 0.5}, "heuristic", "a policy that may choose κ = 0 (lowest = 0)"),
        ({"delay": 2}, "foresight", "serving.delay = 2 has no effect on policy foresight"),
        ([2], "heuristic", 'serving = [2]; allowed: {"delay": 2}'),
    ],
)
def test_conditions_without_meaning_are_refused(serving, policy, told):
    with pytest.raises(simspec.ParameterError) as error:
        simspec.simulate(simspec.Iid(alpha=0.7), COST, policy=policy, serving=serving, windows=100)
    assert told in str(error.value)
    with pytest.raises(simspec.ParameterError):
        Scenario.from_dict({**TABLE, "policy": {"type": policy}, "serving": serving}).check()
