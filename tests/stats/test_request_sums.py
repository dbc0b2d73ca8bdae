"""Errors by request from sums of products: against the ratio estimator on arrays, and against independence."""

import math

import numpy as np
import pytest

from simspec.stats.clusters import share
from simspec.stats.intervals import student
from simspec.stats.request_sums import RequestSums, proportion_interval


def requests(rng, count, spread, kappa=3):
    """Accepted lengths per request, whose rate differs between requests."""
    out = []
    for rate in np.clip(rng.normal(0.6, spread, count), 0.05, 0.95):
        out.append(np.minimum(rng.geometric(1 - rate, rng.integers(20, 60)) - 1, kappa))
    return out


def added(lengths, kappa=3):
    sums = RequestSums()
    for own in lengths:
        sums.add(len(own), [int((own > j).sum()) for j in range(kappa)])
    return sums


def test_errors_are_those_of_the_ratio_estimator():
    lengths = requests(np.random.default_rng(1), 40, 0.15)
    sums, flat = added(lengths), np.concatenate(lengths)
    offsets = np.concatenate([[0], np.cumsum([len(own) for own in lengths])])
    for j in range(3):
        direct = share(flat > j, np.ones(len(flat)), offsets)
        error = sums._error(sums.reached_sq[j], sums.with_rounds[j], sums.squares, sums.reached[j], sums.rounds)
        assert math.isclose(error, direct.error, rel_tol=1e-9)
    direct = share(flat > 1, flat > 0, offsets)
    error = sums._error(sums.reached_sq[1], sums.with_before[1], sums.reached_sq[0], sums.reached[1], sums.reached[0])
    assert math.isclose(error, direct.error, rel_tol=1e-9)
    direct = share(flat, np.ones(len(flat)), offsets)
    assert sums.mean_accepted(0.95) == pytest.approx((direct.low, direct.high))


def test_intervals_cover_when_rates_differ_between_requests():
    """400 draws of 50 requests at 95%: coverage below .89 has probability under 1e-6; blind intervals do far worse."""
    rng = np.random.default_rng(3)
    truth = np.mean([np.mean(own > 0) for own in requests(rng, 40_000, 0.15)])
    hits, blind = [], []
    for _ in range(400):
        sums = added(requests(rng, 50, 0.15))
        low, high = sums.survival(0, 0.95)
        hits.append(low <= truth <= high)
        low, high = proportion_interval(sums.reached[0] / sums.rounds, sums.rounds, 0.95)
        blind.append(low <= truth <= high)
    assert np.mean(hits) > 0.89
    assert np.mean(blind) < 0.8


def test_few_requests_know_their_own_spread_badly():
    """1,000 draws of 4 requests at 95%: below .92 has probability under 1e-6; a normal quantile covers 88%."""
    rng = np.random.default_rng(4)
    truth = np.mean([np.mean(own > 0) for own in requests(rng, 40_000, 0.15)])
    ends = [added(requests(rng, 4, 0.15)).survival(0, 0.95) for _ in range(1000)]
    assert np.mean([low <= truth <= high for low, high in ends]) > 0.92


def test_one_request_says_nothing_about_the_next():
    sums = RequestSums()
    sums.add(1000, [500])
    low, high = sums.survival(0, 0.95)
    assert low < 0.05
    assert high > 0.95
    assert sums.mean_accepted(0.95) == (0.0, 1.0)


def test_whole_numbers_do_not_cancel():
    """A million requests of a million rounds: in floating point the variance would be noise."""
    sums = RequestSums()
    for i in range(100):
        sums.add(10**9 + i, [10**9 + i - 1])
    assert sums._error(sums.reached_sq[0], sums.with_rounds[0], sums.squares, sums.reached[0], sums.rounds) < 1e-15


def test_requests_of_different_depth_and_empty_ones():
    sums = RequestSums()
    sums.add(0, [])
    sums.add(4, [2])
    sums.add(5, [3, 1])
    assert (sums.requests, sums.reached) == (2, [5, 1])
    assert sums.conditional(1, 0.95) is not None
    empty = RequestSums()
    empty.add(3, [0, 0])
    empty.add(3, [0, 0])
    assert empty.conditional(1, 0.95) is None
    assert empty.survival(0, 0.95)[0] == 0.0
    assert empty.survival(0, 0.95)[1] > 0.5


@pytest.mark.parametrize(("alpha", "count", "rounds"), [(0.01, 20, 10), (0.99, 10, 10), (0.6, 6, 40)])
def test_the_mean_is_covered_near_its_ends_too(alpha, count, rounds):
    """1,000 logs at 95%, κ = 4: .91 or less has probability under 1e-6; the spread alone covers < .9 at the ends."""
    rng = np.random.default_rng(11)
    truth, hits, blind = sum(alpha**j for j in range(1, 5)), [], []
    for _ in range(1000):
        sums = added([np.minimum(rng.geometric(1 - alpha, rounds) - 1, 4) for _ in range(count)], 4)
        low, high = sums.mean_accepted(0.95)
        error = sums._error(sums.accepted_sq, sums.accepted_rounds, sums.squares, sums.accepted, sums.rounds)
        hits.append(low <= truth <= high)
        blind.append(abs(sums.accepted / sums.rounds - truth) <= student(0.95, count) * error)
    assert np.mean(hits) > 0.91
    if alpha != 0.6:
        assert np.mean(blind) < 0.9


def test_nothing_accepted_is_no_certainty():
    for sums in (added([np.zeros(20)] * 10), added([np.full(20, 3)] * 10)):
        low, high = sums.mean_accepted(0.95)
        mean = sums.accepted / sums.rounds
        assert (low, high) == ((0.0, pytest.approx(3 * 0.308, abs=0.01)) if mean == 0 else (low, 3.0))
        assert high - low == pytest.approx(3 * sums.survival(2, 0.95)[1] - 3 * sums.survival(2, 0.95)[0])
