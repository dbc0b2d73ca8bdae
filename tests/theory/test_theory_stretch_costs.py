"""Prices by stretch of the output: against usual prices, and against all histories of a short generation."""

import pytest

from simspec import theory
from simspec.model import Cost, Drift, ParameterError

FALLS = Drift(alpha_start=0.9, alpha_end=0.4, tokens=9)
EARLY, LATE = Cost(c_d=0.05, c_r=0.1), Cost(c_d=0.3, c_v=0.02)


def test_one_stretch_is_the_usual_price():
    for process in (FALLS, FALLS.model_copy(update={"truncate": False}), Drift(alpha_start=1, alpha_end=0, tokens=7)):
        found, usual = theory.stretch_optimum(process, [(0, EARLY)], 5), theory.optimum(process, EARLY, 5)
        assert found.speedup_by_kappa == pytest.approx(usual.speedup_by_kappa, rel=1e-12)
        assert found.kappa_star == usual.kappa_star
        assert found.plan_speedup == pytest.approx(theory.optimal_plan(process, EARLY, 5).speedup, rel=1e-12)


def test_two_stretches_are_what_listing_all_histories_says():
    prices = [(0, EARLY), (4, LATE)]
    found = theory.stretch_optimum(FALLS, prices, 4)

    def spent(history):
        total, position = 0.0, 0
        for drafted, accepted in history:
            cost = EARLY if position < 4 else LATE
            total, position = total + cost.of_round(drafted, accepted < drafted), position + accepted + 1
        return total

    def planned(history):
        here = sum(accepted + 1 for _, accepted in history)
        return int(found.plan[here]) if here < 9 else 0

    for kappa in range(5):
        law = theory.enumerate_policy(FALLS, lambda history, own=kappa: own, EARLY)
        assert found.speedup_by_kappa[kappa] == pytest.approx(9 / law.mean(spent), rel=1e-12)
    plan = theory.enumerate_policy(FALLS, planned, EARLY)
    assert found.plan_speedup == pytest.approx(9 / plan.mean(spent), rel=1e-12)
    assert found.plan_speedup > found.speedup_by_kappa.max()


@pytest.mark.parametrize("prices", [[], [(1, EARLY)], [(0, EARLY), (0, LATE)], [(0, EARLY), (5, LATE), (4, EARLY)]])
def test_stretches_that_do_not_ascend_are_refused(prices):
    with pytest.raises(ParameterError) as error:
        theory.stretch_optimum(FALLS, prices, 4)
    assert error.value.key == "prices"
