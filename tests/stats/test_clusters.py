"""Errors by request: against direct formulas, and against what independence would claim."""

import numpy as np

from simspec.stats.clusters import share, successive_correlation


def requests(rng, count, length, spread):
    """Bits whose rate differs between requests."""
    rates = np.clip(rng.normal(0.6, spread, count), 0.05, 0.95)
    bits = (rng.random((count, length)) < rates[:, None]).ravel().astype(float)
    return bits, np.arange(0, count * length + 1, length)


def test_intervals_cover_when_rates_differ_between_requests():
    """400 draws of 60 requests at 95%: coverage below .89 has probability under 1e-6; blind intervals do far worse."""
    rng = np.random.default_rng(3)
    hits, blind = [], []
    for _ in range(400):
        bits, offsets = requests(rng, 60, 40, 0.15)
        own = share(bits, np.ones(len(bits)), offsets)
        hits.append(own.low <= 0.6 <= own.high)
        half = 1.96 * bits.std() / np.sqrt(len(bits))
        blind.append(abs(bits.mean() - 0.6) <= half)
    assert np.mean(hits) > 0.89
    assert np.mean(blind) < 0.8


def test_correlation_is_the_plain_one_on_one_long_request():
    x = np.random.default_rng(1).normal(size=500).cumsum()
    own = successive_correlation(x, np.array([0, 500]), within=False)
    assert np.isclose(own.value, np.corrcoef(x[:-1], x[1:])[0, 1])


def test_pairs_never_cross_requests():
    own = successive_correlation(np.array([0.0, 0.0, 1.0, 1.0, 5.0, 5.0]), np.array([0, 2, 4, 6]), within=False)
    assert np.isclose(own.value, 1.0)


def test_within_requests_takes_off_what_differs_between_them():
    rng = np.random.default_rng(5)
    bits, offsets = requests(rng, 200, 50, 0.2)
    pooled, within = (successive_correlation(bits, offsets, w) for w in (False, True))
    assert pooled.low > 0.05
    assert within.low < 0.0 < within.high + 0.03


def test_nothing_varies_gives_no_number():
    own = successive_correlation(np.ones(10), np.array([0, 5, 10]), within=False)
    assert np.isnan(own.value)
