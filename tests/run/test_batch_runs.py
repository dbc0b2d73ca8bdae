"""Requests that are served together, from the scenario to the table: prices of steps, units, ids, refusals."""

from dataclasses import replace

import numpy as np
import pytest

import simspec
from simspec import theory
from simspec.kernels import lower, play
from simspec.kernels.lower_policies import policy_form
from simspec.kernels.tally import together
from simspec.kernels.words import LANES, stream_keys
from simspec.model import Cost, DiscreteMixture, Drift, Iid, ParameterError, Scenario, Simulation
from simspec.model.policies import Heuristic, Rolling
from simspec.model.serving import Serving
from simspec.report.points import points
from simspec.run.engine import Job, join, run_jobs
from simspec.run.record import Recording
from simspec.run.sweep import sweep
from simspec.stats.counts import Counts
from simspec.stats.point import priced_estimates

COST = Cost(c_d=0.1, c_v=0.02, c_r=0.3)
LEVEL = 1 - 1e-8
"""False alarm of one interval; there are fewer than 100."""
MIX = {
    "type": "discrete_mixture",
    "alphas": [0.91, 0.49],
    "weights": [0.5, 0.5],
    "weights_of": "requests",
    "request_tokens": 64,
}
DRIFT = {"type": "drift", "alpha_start": 0.5, "alpha_end": 0.5, "tokens": 9}


def heuristic(rounds, kappa=3):
    for places in rounds:
        for drafted, accepted in places:
            kappa = min(7, kappa + 2) if accepted == drafted else max(1, kappa - 1)
    return kappa


def inside(row, name, value):
    return row[f"{name}_low"] <= value <= row[f"{name}_high"]


@pytest.mark.parametrize("shares", [True, False])
def test_speed_and_waiting_are_those_of_all_histories(shares):
    short = Drift(alpha_start=0.9, alpha_end=0.4, tokens=5)
    form, first = policy_form(Heuristic(first=3, highest=7), Serving(batch=2, shares=shares))
    rows, keys = lower.form(short, 7), stream_keys(5, "batch runs")
    tally = join([play.play(rows, keys, chunk, LANES, 1, first, form) for chunk in range(100)])
    counts = Counts.of([replace(together(tally, 2), kappa=7)], fresh=False)
    assert counts.units == 3200
    found = priced_estimates(counts, COST, LEVEL)
    row = {name: np.ravel(value)[0] for name, value in found.items()}
    rule = heuristic if shares else lambda rounds: heuristic([rounds])
    law = theory.enumerate_batch(short, rule, COST, shares=shares)
    assert inside(row, "speedup", law.speedup)
    assert inside(row, "straggling", law.straggling)
    assert row["straggling_high"] - row["straggling_low"] < 0.03
    wrong = theory.enumerate_batch(short, rule, Cost(c_d=0.1, c_v=0.02, c_r=0.5), shares=shares)
    assert not inside(row, "speedup", wrong.speedup)
    assert not inside(row, "straggling", wrong.straggling)


def run(process, cost, serving, policy=None, **keys):
    own = {"windows": 100_000, "level": LEVEL} | keys
    return simspec.simulate(process, cost, policy=policy, serving=serving, **own).to_pandas()


def test_a_fixed_draft_of_independent_windows_waits_for_rollbacks_alone():
    """A step of B windows rolls back but for α^(κB): S = E[tokens]/(1 + κ(c_d + c_v) + c_r(1 − α^(κB)))."""
    frame = run({"type": "iid", "alpha": 0.9}, COST.model_dump(exclude_none=True), {"batch": 4}, kappa=[0, 2, 5])
    for row in frame.to_dict("records"):
        kappa, tokens = row["kappa"], sum(0.9**j for j in range(row["kappa"] + 1))
        own, step = (1 + 0.12 * kappa + 0.3 * (1 - 0.9 ** (kappa * b)) for b in (1, 4))
        assert inside(row, "speedup", tokens / step)
        assert inside(row, "straggling", 1 - own / step)
        assert not inside(row, "speedup", tokens / own) or kappa == 0
        assert np.isnan(row["speedup_exact"])
    free = run({"type": "iid", "alpha": 0.7}, {"c_d": 0.1}, {"batch": 8}, kappa=4)
    assert inside(free.iloc[0], "speedup", theory.speedup(Iid(alpha=0.7), 4, Cost(c_d=0.1)))
    assert free.straggling[0] == free.straggling_high[0] == 0.0


@pytest.mark.parametrize(("alpha", "kappa"), [(0.0, 3), (1.0, 3), (0.6, 0)])
def test_nobody_waits_where_all_are_alike(alpha, kappa):
    row = run({"type": "iid", "alpha": alpha}, {"c_d": 0.1, "c_r": 0.3}, {"batch": 16}, kappa=kappa, windows=20_000)
    assert (row.straggling[0], row.straggling_high[0]) == (0.0, 0.0)
    assert row.speedup[0] == pytest.approx(theory.speedup(Iid(alpha=alpha), kappa, Cost(c_d=0.1, c_r=0.3)))


def test_units_are_batches():
    job = Job(Simulation(Iid(alpha=0.7), policy=Heuristic(), serving=Serving(batch=16)), (16,), 300_000, 1)
    ((_, tallies),) = run_jobs([job], 2)
    assert len(tallies[0].sums) * 16 == job.layout.lanes >= 128 * 16
    assert tallies[0].total("n") == tallies[0].steps.sum() >= 300_000
    mixed = Job(Simulation(DiscreteMixture(**MIX), policy=Heuristic(), serving=Serving(batch=32)), (16,), 20_000, 1)
    assert mixed.layout.lanes >= 128 * 32
    assert mixed.layout.lanes % 32 == 0


def test_an_error_knows_that_lanes_of_a_batch_depend_on_each_other():
    """A gate shuts for a whole batch.  Twenty seeds spread about as their errors say; by lanes it is four times that.

    √(χ²/19) with 19 degrees of freedom lies in .33 … 1.86 but for 1e-6.
    """
    gate = {"type": "gate", "first": 4, "highest": 4, "rounds": 50, "least": 0.4}
    keys = {"policy": gate, "windows": 20_000, "level": 0.6827}
    process = {"type": "iid", "alpha": 0.7}
    found = [run(process, {"c_d": 0.1}, {"batch": 32}, seed=seed, **keys).iloc[0] for seed in range(1, 21)]
    spread = np.std([row.speedup for row in found], ddof=1)
    error = np.mean([(row.speedup_high - row.speedup_low) / 2 for row in found])
    assert 0.33 < spread / error < 1.86


def test_threads_change_nothing():
    job = Job(Simulation(DiscreteMixture(**MIX), policy=Rolling(cost=COST), serving=Serving(batch=8)), (16,), 90_000, 1)
    one, three = (next(iter(run_jobs([job], threads)))[1][0] for threads in (1, 3))
    for name in ("sums", "steps", "flips", "histogram"):
        assert (getattr(one, name) == getattr(three, name)).all()


def test_ids_change_only_where_something_is_said():
    plain = Simulation(Iid(alpha=0.7), policy=Heuristic())
    alone = Simulation(Iid(alpha=0.7), policy=Heuristic(), serving=Serving(batch=1, shares=False))
    assert plain.id == alone.id
    both = [Simulation(Iid(alpha=0.7), policy=Heuristic(), serving=Serving(batch=4, shares=s)) for s in (True, False)]
    assert len({plain.id, *(one.id for one in both)}) == 3
    assert {one.process_id for one in both} == {plain.process_id}


def test_a_scenario_has_them_as_axes(tmp_path):
    table = {
        "name": "together",
        "windows": 5000,
        "kappa": [3],
        "process": MIX,
        "policy": [{"type": "fixed"}, {"type": "heuristic"}],
        "serving": {"batch": [1, 4], "shares": [True, False]},
        "cost": {"c_d": [0.05, 0.1]},
    }
    first, second = (simspec.sweep(table, tmp_path / f"{seed}", seed=seed) for seed in (1, 2))
    frame = first.to_pandas().drop_duplicates("simulation_id")
    assert list(zip(frame.policy, frame.serving_batch, frame.serving_shares, strict=True)) == [
        ("fixed", 1, True),
        ("fixed", 4, True),
        ("heuristic", 1, True),
        ("heuristic", 4, True),
        ("heuristic", 4, False),
    ]
    assert (frame.straggling > 0).tolist() == [False, True, False, True, True]
    chunks = first.chunks
    lanes = chunks[chunks.simulation_id == frame.simulation_id.iloc[-1]]
    assert set(lanes.lane % 4) == {0}
    compared = simspec.compare(first, second)
    assert not compared.differs
    assert len(compared.pairs) == 5
    shown = str(first)
    assert all(f"{own}  " in shown for own in ("fixed batch=4", "heuristic batch=4", "heuristic batch=4 shares=false"))
    assert shown.count("mean ") == 6  # a fixed κ is shown as it is
    held = points(first.to_pandas())
    assert len({(point.name, point.price) for point in held}) == len(held) == 10


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"serving": {"batch": 3}}, r"serving.batch = 3 is out of range; allowed: 1, 2, 4, 8, 16, 32, 64"),
        ({"serving": {"batch": 128}}, "serving.batch = 128 is out of range"),
        ({"serving": {"batch": 2, "shares": 0.5}}, "serving.shares"),
        ({"serving": {"bach": 2}}, 'did you mean "batch"'),
        ({"policy": {"type": "schedule", "kappas": [4, 2]}}, "policy schedule goes by the output position"),
        ({"policy": {"type": "foresight"}}, "policy foresight knows the coming round of each request"),
        ({"policy": {"type": "optimal"}, "process": DRIFT}, "policy optimal goes by the output position"),
        ({"policy": None, "scheme": {"type": "tree", "misses": [0.4]}}, "serves chains"),
        ({"policy": None, "method": "exact"}, "plays no requests together"),
        ({"policy": None, "serving": {"batch": 2, "delay": 3}}, "delay = 3 has no effect"),
        ({"policy": None, "serving": {"batch": 2, "shares": False}}, "shares = false has no effect"),
        ({"cost": {"c_wake": 0.1}}, "c_wake = 0.1 has no price in a step of a batch"),
        ({"cost": {"c_switch": 0.1}, "serving": {"batch": 2, "shares": False}}, "c_switch = 0.1 has no price"),
    ],
)  # fmt: skip
def test_what_is_refused(keys, told):
    own = {"process": {"type": "iid", "alpha": 0.7}, "cost": {"c_d": 0.1}, "windows": 1000, "serving": {"batch": 2}}
    own |= {"policy": {"type": "heuristic"}} | keys
    with pytest.raises(ParameterError, match=told) as error:
        simspec.simulate(own.pop("process"), own.pop("cost"), **own)
    assert "\n" not in str(error.value)


def test_single_rounds_are_not_recorded_where_kappa_is_not_fixed(tmp_path):
    """They would be those of the longest draft."""
    table = {"name": "x", "windows": 1000, "kappa": [3], "process": {"type": "iid", "alpha": 0.7}}
    for more in ({"serving": {"batch": 2}}, {"policy": {"type": "heuristic"}}):
        with pytest.raises(ParameterError, match="record lists rounds of requests that are served alone"):
            sweep(Scenario.from_dict(table | more), tmp_path / "none", recording=Recording(5))
    assert not (tmp_path / "none").exists()


def test_what_is_shown():
    own = simspec.simulate(MIX, {"c_d": 0.1}, policy={"type": "heuristic"}, windows=2000, serving={"batch": 4})
    assert "waits" in repr(own)
    assert "others of its batch take longer" in repr(own)
    assert "batch = 4" in repr(own).splitlines()[0]
    assert "shares = false" in str(Serving(batch=4, shares=False))
    assert "waits" not in repr(simspec.simulate(MIX, {"c_d": 0.1}, policy={"type": "heuristic"}, windows=2000))


def test_a_switch_is_paid_by_every_step_of_a_batch():
    """All lanes of a batch change κ together: each pays, as each pays for its step."""
    keys = {"policy": {"type": "heuristic"}, "windows": 20_000}
    free, paid = (
        run({"type": "iid", "alpha": 0.7}, {"c_d": 0.1} | c, {"batch": 4}, **keys) for c in ({}, {"c_switch": 0.5})
    )
    more = 0.5 * free.flips_per_1000[0] / 1000
    assert paid.mean_round_cost[0] == pytest.approx(free.mean_round_cost[0] + more)


def test_scenarios_say_what_a_table_may_hold():
    with pytest.raises(ParameterError, match="serving is not a table"):
        Scenario.from_dict({"name": "x", "process": {"type": "iid", "alpha": 0.7}, "serving": 4})
