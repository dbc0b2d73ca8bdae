"""Degrees of freedom and few units against scipy, and which base speed counts."""

import numpy as np
import pytest
from scipy import stats

import simspec
from simspec.stats.ab_curves import joint_change
from simspec.stats.ab_tests import Outcomes, difference_of, mean_interval, share_change
from simspec.stats.intervals import student


def outcomes(seed, units, kappa=1):
    rng = np.random.default_rng(seed)
    return Outcomes(np.array([rng.multinomial(200, rng.dirichlet([4] * (kappa + 1))) for _ in range(units)]))


def test_freedom_is_welch_and_satterthwaites():
    a, b = np.random.default_rng(1).normal(0, 1, 5), np.random.default_rng(2).normal(0, 3, 40)
    errors = [float(np.std(own, ddof=1) / np.sqrt(len(own))) for own in (a, b)]
    own = difference_of(a.mean(), b.mean(), *errors, len(a), len(b))
    test = stats.ttest_ind(b, a, equal_var=False)
    assert (own.freedom, own.p_value) == pytest.approx((test.df, test.pvalue))
    assert difference_of(0.0, 1.0, 1.0, 0.0, 5, 101).freedom == 4.0


def test_the_mean_of_three_requests_has_students_interval():
    own = Outcomes(np.array([[60, 40], [50, 50], [42, 58]]))
    share = np.array([0.40, 0.50, 0.58])
    low, high = mean_interval(own, 0.95)
    assert (high - low) / 2 == pytest.approx(student(0.95, 3) * share.std(ddof=1) / np.sqrt(3), rel=1e-6)


def test_the_curve_of_one_position_is_the_test_of_that_position():
    a, b = outcomes(3, 6), outcomes(4, 7)
    joint, alone = joint_change(a, b), share_change(a.share(1), b.share(1))
    assert joint.positions == 1
    assert joint.statistic == pytest.approx((alone.difference / alone.error) ** 2)
    assert joint.p_value == pytest.approx(alone.p_value)


def test_the_joint_test_has_hotellings_law():
    joint = joint_change(outcomes(5, 9, 2), outcomes(6, 9, 2))
    left = joint.freedom - 1.0
    assert joint.positions == 2
    assert joint.p_value == pytest.approx(stats.f.sf(joint.statistic * left / (2.0 * joint.freedom), 2, left))


def test_the_base_speed_of_a_run_comes_before_the_one_for_both():
    run = "kappa=3 rounds=500 emitted=2 speed=50 base={}"
    assert simspec.ab(run.format(20), base_tok_s=100.0).faults["a"][-1].code == "ROUND_COST_BELOW_ONE"  # R = 0.8
    assert simspec.ab(run.format(100), base_tok_s=20.0).faults["a"] == ()
    assert simspec.ab("kappa=3 rounds=500 emitted=2 speed=50", base_tok_s=20.0).broken


def test_a_weak_position_is_a_fault_only_beyond_the_chance_of_any_position():
    """α = .7 at four of five positions; the third as low as 1e-6 would ask of one position alone, and lower."""
    from simspec.advice.ab.faults import CHANCE, _fewer, _Seen, faults
    from simspec.evidence.observed import Observed

    found = {}
    for third in range(60, 20, -1):
        own = Observed.of_counts([(5, 300, [210, 147, third, round(third * 0.7), round(third * 0.49)])])
        seen = _Seen(own, own.reached(), own.examined(), 0.95, None)
        chance = max(_fewer(seen, 2, 1), _fewer(seen, 2, 3))
        found[third] = (chance, any(fault.code == "BROKEN_POSITION" for fault in faults(own)))
    between = [said for chance, said in found.values() if CHANCE / 5 <= chance < CHANCE]
    assert between
    assert not any(between)
    assert all(said == (5 * chance < CHANCE) for chance, said in found.values())
