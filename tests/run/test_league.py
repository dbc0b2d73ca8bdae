"""Controllers against the best fixed κ: the table and the command."""

import json
import subprocess
import sys

import pytest

from simspec import theory
from simspec.model import Cost, ParameterError
from simspec.run.league import LONGEST, controllers, league, surroundings

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
