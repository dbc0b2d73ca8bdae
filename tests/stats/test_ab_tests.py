"""Differences of two runs: how often they lie, and whether they see what they say they can see.

Seeds are fixed; where chance decides, bounds are set so that another seed would fail with odds below 1e-6.
"""

import math

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import binom

from simspec.stats.ab_curves import joint_change, power, rounds_needed, speed_change
from simspec.stats.ab_tests import (
    SMALLEST_P,
    Outcomes,
    Share,
    difference_of,
    mean_change,
    mean_interval,
    share_change,
)
from simspec.stats.halves import coverage, halves
from simspec.stats.request_sums import proportion_interval

PAIRS = 1_000
LAW = np.array([0.3, 0.2, 0.1, 0.4])
MOST, LEAST = int(binom.ppf(1 - 1e-7, PAIRS, 0.05)), int(binom.ppf(1e-7, PAIRS, 0.05))


def by_request(rng, requests, rounds, spread, law=LAW):
    """Rounds of requests whose law differs: each a Dirichlet draw around ``law``."""
    laws = rng.dirichlet(law * (1 / spread**2), size=requests)
    return Outcomes(np.array([rng.multinomial(rounds, own) for own in laws]))


def false_alarm(interval, sizes, rate, level):
    """Exact chance that an interval of the difference of two binomial shares with one rate leaves out 0."""
    (n, m), (x, y) = sizes, (np.arange(size + 1) for size in sizes)
    (a, b), ends = (x / n, y / m), [np.array([interval(k, size, level) for k in range(size + 1)]) for size in sizes]
    gap = b[None] - a[:, None]
    low = gap - np.hypot(b[None] - ends[1][None, :, 0], ends[0][:, None, 1] - a[:, None])
    high = gap + np.hypot(ends[1][None, :, 1] - b[None], a[:, None] - ends[0][:, None, 0])
    return float(binom.pmf(x, n, rate) @ ((low > 0.0) | (high < 0.0)) @ binom.pmf(y, m, rate))


def exact_ends(hits, trials, level):
    return proportion_interval(hits / trials, trials, level)


def normal_ends(hits, trials, level):
    half = -ndtri((1 - level) / 2) * math.sqrt(hits * (trials - hits) / trials**3)
    return hits / trials - half, hits / trials + half


@pytest.mark.parametrize("sizes", [(23, 23), (161, 40), (894, 500)])
@pytest.mark.parametrize("level", [0.95, 0.999, 1 - 1e-6])
def test_a_share_with_few_events_never_lies_more_often_than_stated(sizes, level):
    """Summed over all outcomes, not sampled."""
    for rate in (0.002, 0.01, 0.05, 0.2, 0.5, 0.99):
        assert false_alarm(exact_ends, sizes, rate, level) <= 1.0 - level


def test_normal_intervals_in_their_place_would_be_seen_to_lie():
    worst = max(false_alarm(normal_ends, (161, 40), rate, 0.999) for rate in (0.01, 0.05, 0.2, 0.5))
    assert worst > 5 * 0.001


@pytest.mark.parametrize(("hits", "risk"), [((17, 10), (23, 23)), ((0, 9), (161, 70)), ((894, 880), (894, 894))])
def test_the_shipped_interval_is_the_one_that_was_summed_and_p_is_its_level(hits, risk):
    found = share_change(*(Share.alone(h, r) for h, r in zip(hits, risk, strict=True)))
    (a_low, a_high), (b_low, b_high) = (exact_ends(h, r, 0.95) for h, r in zip(hits, risk, strict=True))
    a, b = (h / r for h, r in zip(hits, risk, strict=True))
    assert np.allclose(
        [found.low, found.high], [b - a - math.hypot(b - b_low, a_high - a), b - a + math.hypot(b_high - b, a - a_low)]
    )
    at = share_change(*(Share.alone(h, r) for h, r in zip(hits, risk, strict=True)), level=1.0 - found.p_value)
    assert min(abs(at.low), abs(at.high)) < 1e-6


def alarms(compare):
    """How often 0 lies outside the 95% interval, or p of a curve is at most .05."""
    found = [compare(i) for i in range(PAIRS)]
    return sum(own.p_value <= 0.05 if hasattr(own, "positions") else not own.low <= 0.0 <= own.high for own in found)


@pytest.mark.parametrize("law", [LAW, [0.93, 0.04, 0.01, 0.02], [0.02, 0.02, 0.01, 0.95]], ids=["usual", "low", "high"])
@pytest.mark.parametrize("rounds", [40, 800])
def test_e_of_independent_rounds_lies_at_most_as_often_as_stated(law, rounds):
    """1,000 pairs of runs alike at 5%: above the 1 − 1e-7 quantile of the binomial fails; few events may lie less."""
    rng = np.random.default_rng(11)
    draws = rng.multinomial(rounds, law, size=(PAIRS, 2))
    found = alarms(lambda i: mean_change(*map(Outcomes.alone, draws[i])))
    assert found <= MOST
    if rounds == 800:
        assert found >= (LEAST if law is LAW else 1)


@pytest.mark.parametrize("requests", [(12, 12), (40, 40), (30, 10)])
def test_errors_between_requests_keep_their_word_and_rounds_alone_do_not(requests):
    """Requests of mixed difficulty, 60 rounds each, 1,000 pairs at 5%."""
    rng = np.random.default_rng(12)
    runs = [[by_request(rng, count, 60, 0.35) for count in requests] for _ in range(PAIRS)]
    assert LEAST <= alarms(lambda i: mean_change(*runs[i])) <= MOST
    assert LEAST <= alarms(lambda i: share_change(runs[i][0].share(1), runs[i][1].share(1))) <= MOST
    blind = [[Outcomes.alone(own.rounds.sum(axis=0)) for own in pair] for pair in runs]
    assert alarms(lambda i: mean_change(*blind[i])) > 3 * MOST


def test_the_curve_lies_at_its_level_and_sees_a_shift_that_the_mean_does_not():
    """Alarms of 1,000 pairs between the 1e-7 quantiles; then mass moved from 0 and 2 to 1, which keeps E."""
    rng = np.random.default_rng(13)
    single = rng.multinomial(2_000, LAW, size=(PAIRS, 2))
    assert LEAST <= alarms(lambda i: joint_change(*map(Outcomes.alone, single[i]))) <= MOST
    runs = [[by_request(rng, 40, 60, 0.35) for _ in range(2)] for _ in range(PAIRS)]
    assert LEAST <= alarms(lambda i: joint_change(*runs[i])) <= MOST
    moved = Outcomes.alone(2_000 * LAW + np.array([-100, 200, -100, 0]))
    usual = Outcomes.alone(2_000 * LAW)
    assert joint_change(usual, moved).p_value < 1e-6
    assert mean_change(usual, moved).p_value > 0.9


def test_the_curve_is_not_tested_where_too_few_rounds_or_units_bear_it():
    few = Outcomes.alone(np.array([10, 5, 5, 20]))
    assert joint_change(few, few) is None
    three = Outcomes(np.array([[300, 200, 100, 400]] * 3))
    assert joint_change(three, three) is None
    deep = Outcomes.alone(np.array([900, 500, 300, 10, 5]))
    assert joint_change(deep, deep).positions == 2


def test_pairs_take_off_what_requests_have_in_common():
    """One set of requests run twice, 1,000 times: at its level, and with half the error of two sets or less."""
    rng = np.random.default_rng(14)
    laws = rng.dirichlet(LAW / 0.5**2, size=30)
    runs = [[Outcomes(np.array([rng.multinomial(60, own) for own in laws])) for _ in range(2)] for _ in range(PAIRS)]
    found = [mean_change(*pair, pairs=True) for pair in runs]
    assert LEAST <= sum(not own.low <= 0.0 <= own.high for own in found) <= MOST
    separate = mean_change(*runs[0])
    assert found[0].error < 0.5 * separate.error
    assert LEAST <= alarms(lambda i: share_change(runs[i][0].share(2), runs[i][1].share(2), pairs=True)) <= MOST


def test_few_events_of_few_requests_lie_no_more_often_apart_and_in_pairs():
    """12 requests of 20 rounds, E and a rare S_3, 1,000 pairs at 5%."""
    rng = np.random.default_rng(17)
    law = np.array([0.6, 0.25, 0.1, 0.05])
    apart = [[by_request(rng, 12, 20, 0.4, law) for _ in range(2)] for _ in range(PAIRS)]
    laws = rng.dirichlet(law / 0.5**2, size=12)
    paired = [[Outcomes(np.array([rng.multinomial(20, own) for own in laws])) for _ in range(2)] for _ in range(PAIRS)]
    for runs, pairs in ((apart, False), (paired, True)):
        assert alarms(lambda i, runs=runs, pairs=pairs: mean_change(*runs[i], pairs=pairs)) <= MOST
        found = alarms(lambda i, runs=runs, pairs=pairs: share_change(*(own.share(3) for own in runs[i]), pairs=pairs))
        assert 1 <= found <= MOST


def test_pairs_in_the_wrong_order_gain_nothing():
    rng = np.random.default_rng(15)
    own = by_request(rng, 60, 60, 0.5)
    mixed = Outcomes(own.rounds[np.roll(np.arange(60), 7)])
    assert mean_change(own, mixed, pairs=True).error > 0.8 * mean_change(own, mixed).error


def test_a_difference_is_found_at_the_rounds_it_says_it_needs():
    """Power .9 in 1,000 pairs, within the 1e-7 quantiles; at a quarter of the rounds far less."""
    rng = np.random.default_rng(16)
    other = LAW + np.array([0.03, 0.0, 0.0, -0.03])
    lengths = np.arange(4)
    variances = [law @ lengths**2 - (law @ lengths) ** 2 for law in (LAW, other)]
    needed = rounds_needed(sum(variances), 0.09)
    for rounds, low, high in (
        (needed, binom.ppf(1e-7, PAIRS, 0.9), binom.ppf(1 - 1e-7, PAIRS, 0.9)),
        (needed // 4, 0, 500),
    ):
        pairs = zip(rng.multinomial(rounds, LAW, size=PAIRS), rng.multinomial(rounds, other, size=PAIRS), strict=True)
        found = sum(mean_change(*map(Outcomes.alone, pair)).p_value <= 0.05 for pair in pairs)
        assert low <= found <= high
    assert rounds_needed(1.0, 10.0, rounds_per_unit=50) == 100


def test_more_error_more_needed_and_the_two_thresholds_in_order():
    own = power(0.05, 30)
    assert own.significant == pytest.approx(0.05 * 2.0423, rel=1e-4)
    assert own.detectable == pytest.approx(own.significant + 0.05 * 1.3104, rel=1e-4)


def test_nothing_accepted_has_an_interval_all_the_same():
    """161 rounds, κ = 3: by Clopper and Pearson 1 − .025^(1/161) of them may accept, each up to 3."""
    nothing = Outcomes.alone(np.array([161, 0, 0, 0]))
    assert mean_interval(nothing) == (0.0, pytest.approx(3 * (1 - 0.025 ** (1 / 161))))
    everything = Outcomes.alone(np.array([0, 0, 0, 161]))
    assert mean_interval(everything) == (pytest.approx(3 - 3 * (1 - 0.025 ** (1 / 161))), 3.0)
    found = mean_change(nothing, everything)
    assert found.p_value == pytest.approx(SMALLEST_P)
    assert math.isnan(share_change(Share.alone(0, 0), Share.alone(3, 9)).p_value)
    assert math.isnan(difference_of(1.0, 2.0, 0.0, 0.0, 5, 5).p_value)


def test_speeds_need_repeats():
    assert math.isnan(speed_change([60.0], [50.0, 51.0]).p_value)
    found = speed_change([60.0, 61.0, 62.0], [50.0, 51.0, 52.0])
    assert (found.difference, found.freedom) == (-10.0, pytest.approx(4.0))
    assert found.low < -10.0 < found.high < 0.0


def test_halves_are_disjoint_fair_and_can_be_made_again_alone():
    """How often each of 11 units lies in the first half of 2,000 splits: within the 1e-8 quantiles of the binomial."""
    seen = np.zeros(11)
    splits = list(halves(11, 2_000, seed=5))
    for a, b in splits:
        assert len(a) == len(b) == 5
        assert not set(a.tolist()) & set(b.tolist())
        seen[a] += 1
    share = 5 / 11
    assert (seen >= binom.ppf(1e-8, 2_000, share)).all()
    assert (seen <= binom.ppf(1 - 1e-8, 2_000, share)).all()
    assert all((a == c).all() for (a, _), (c, _) in zip(splits[:50], halves(11, 50, seed=5), strict=True))


def test_coverage_counts_the_intervals_that_hold_0():
    assert coverage(lambda a, b: [(-1.0, 1.0), (0.5, 1.0)], 10, 50) == [1.0, 0.0]
