"""Controllers against the best fixed κ: the table, the command, and regret over time against exact losses."""

import json
import subprocess
import sys

import numpy as np
import pytest

from simspec import theory
from simspec.kernels import lower, play, twin
from simspec.kernels.lower_policies import policy_form
from simspec.kernels.words import stream_keys
from simspec.model import Cost, Drift, Iid, Markov, ParameterError
from simspec.model.policies import Exp3, Rolling, Schedule, Ucb
from simspec.run.league import LONGEST, controllers, league, surroundings
from simspec.run.regret import crossover, regret

COST = Cost(c_d=0.1)


def test_a_fixed_length_and_a_known_plan_make_what_they_must():
    """κ = 4 and the plan for known rates have exact speeds: within six errors, false alarm 2e-9 each, 13 places."""
    found = league(COST, windows=40_000)
    assert {place.surrounding for place in found.places} == set(surroundings())
    assert len({place.controller for place in found.places}) >= 12
    for place in found.places:
        process, error = surroundings()[place.surrounding], place.half / 1.96
        assert place.best_fixed == theory.optimum(process, COST, LONGEST).best_speedup
        if place.controller == "κ = 4":
            assert abs(place.speedup - theory.speedup(process, 4, COST)) < 6 * error
        if place.controller == "knows α by position":
            assert abs(place.speedup - theory.optimal_plan(process, COST, LONGEST).speedup) < 6 * error
    told = repr(found)
    assert max(map(len, told.splitlines())) <= 150
    assert "best fixed κ" in told


def test_a_change_of_kappa_may_cost():
    """Tokens over cost and flips, by hand from the counts; who never changes pays nothing."""
    free, dear = (
        {(p.surrounding, p.controller): p for p in league(COST.changed(c_switch=x), 5_000).places} for x in (0.0, 0.5)
    )
    for key, place in free.items():
        flips, cost = place.flips_per_1000 / 1000, 1.0 + 0.1 * place.mean_drafted
        assert dear[key].speedup == pytest.approx(place.speedup * cost / (cost + 0.5 * flips))
        assert (dear[key].speedup == place.speedup) == (flips == 0.0)
    with pytest.raises(ParameterError, match="c_switch = -1"):
        COST.changed(c_switch=-1.0)


def test_the_same_table_for_any_threads():
    one, two = (league(COST, windows=5_000, threads=threads).records() for threads in (1, 2))
    assert one == two


def test_the_command():
    run = [sys.executable, "-m", "simspec", "league", "--windows", "2000", "--draft-cost", "0.05"]
    done = subprocess.run([*run, "--json"], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert (found["windows"], found["cost"]["c_d"]) == (2000, 0.05)
    assert {"beats", "loses"} <= {place["verdict"] for place in found["places"]}
    wrong = subprocess.run([*run, "--windows", "0"], capture_output=True, text=True, check=False)
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert "windows = 0 is out of range" in wrong.stderr


def test_every_controller_stays_within_the_longest_draft():
    for process in surroundings().values():
        assert all(policy.longest <= LONGEST for policy in controllers(process, COST).values())


@pytest.mark.parametrize("policy", [Rolling(cost=COST, highest=6), Ucb(first=1, cost=COST), Exp3(cost=COST)], ids=str)
def test_counts_at_marks_are_those_of_the_twin(policy):
    form, first = policy_form(policy)
    rows, keys, marks = (
        lower.form(Markov(alpha=0.7, rho=0.2, start="carry"), form.highest),
        stream_keys(2, "m"),
        [1, 7, 40],
    )
    fast, slow = (player.counts_at(rows, keys, 1, np.array(marks), first, form) for player in (play, twin))
    assert (fast == slow).all()
    assert fast.sum(axis=(2, 3)).tolist() == [[n] * 64 for n in marks]


def test_regret_of_a_fixed_length_is_its_loss():
    """κ = 7 loses the same every round: without noise for independent windows, else within six errors of 256 lanes."""
    for process in (Iid(alpha=0.7), Markov(alpha=0.7, rho=0.3, start="carry")):
        curve = regret(process, Schedule(kappas=(7,)), COST, [10, 100, 1000], chunks=4)
        law, best = theory.window(process, 7), theory.optimum(process, COST, 7).best_speedup
        lost = COST.base(7) - law.mean_tokens / best
        assert (np.abs(curve.mean - lost * curve.rounds) <= 6 * curve.half / 1.96 + 1e-9).all()
        assert curve.slope == pytest.approx(1.0, abs=0.1)


def test_regret_of_the_rolling_estimate_is_linear_and_that_of_a_bandit_is_not():
    """The loss per token of λ = .85 is that of the exact chain of estimates (six errors)."""
    marks = [100, 300, 1000, 3000, 10_000, 30_000]
    rolling, bandit = (regret(Iid(alpha=0.7), own, COST, marks) for own in (Rolling(highest=20), Ucb(first=1)))
    exact = theory.controller_long_run(0.7, lambda e: theory.plug_in_kappas(e, COST), COST, 0.85, points=1025)
    lost = exact.mean_cost - exact.mean_tokens / rolling.best_fixed
    grown = rolling.mean[-1] - rolling.mean[-2]
    assert abs(grown - 20_000 * lost) < 6 * rolling.half[-1] / 1.96
    assert rolling.slope == pytest.approx(1.0, abs=0.02)
    assert bandit.slope < 0.85
    assert crossover(bandit, rolling) == 30_000 or bandit.mean[-1] < rolling.mean[-1]
    assert crossover(rolling, bandit) is None or crossover(rolling, bandit) < 30_000


@pytest.mark.parametrize(
    ("process", "marks", "key"),
    [
        (Iid(alpha=0.7), [], "marks"),
        (Iid(alpha=0.7), [5, 5], "marks"),
        (Iid(alpha=0.7), [0, 5], "marks"),
        (Drift(alpha_start=0.8, alpha_end=0.7, tokens=9), [5], "process"),
    ],
)
def test_what_regret_refuses(process, marks, key):
    with pytest.raises(ParameterError) as error:
        regret(process, Rolling(), COST, marks)
    assert error.value.key == key


def test_the_interval_of_a_slope_covers_it():
    """200 seeds: at 95% fewer than 167 hits have a probability of 1e-9; half the width hits some 135 times."""
    curves = [regret(Iid(alpha=0.7), Rolling(highest=8), COST, [10, 100], seed=seed) for seed in range(200)]
    low, high = (np.mean([curve.mean[i] for curve in curves]) for i in (0, 1))
    off = np.array([abs(curve.slope - np.log10(high / low)) for curve in curves])
    half = np.array([curve.slope_half() for curve in curves])
    assert 167 <= (off < half).sum() < 200
    assert (off < half / 2).sum() < 167
    assert np.isnan(regret(Iid(alpha=0.7), Rolling(), COST, [10]).slope_half())
