"""Does a file's acceptance rate move?  False alarms as promised, and a planted change is found."""

import numpy as np

from simspec.evidence.drift import Drift


def chance(rates, seed, kappa=4, chunk=37):
    """Rounds whose i.i.d. α is given round by round, fed in pieces."""
    rng = np.random.default_rng(seed)
    accepted = np.minimum(rng.geometric(1 - np.asarray(rates)) - 1, kappa)
    own = Drift()
    for start in range(0, len(accepted), chunk):
        piece = accepted[start : start + chunk]
        own.add(piece, np.minimum(piece + 1, kappa))
    return own.chance()


def test_steady_rounds_are_rarely_called_moving():
    """1,000 files of 400 rounds at a level of 1%: more than 30 alarms have probability below 1e-6."""
    alarms = sum(chance(np.full(400, 0.7), seed) < 0.01 for seed in range(1000))
    assert alarms <= 30


def test_position_dependence_alone_is_no_movement():
    """α .9 then .3: rounds are alike, whatever a single rate says of them."""
    alarms = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        bits = rng.random((400, 3)) < [0.9, 0.3, 0.3]
        accepted = np.cumprod(bits, axis=1).sum(axis=1)
        own = Drift()
        own.add(accepted, np.minimum(accepted + 1, 3))
        alarms += own.chance() < 0.01
    assert alarms <= 15


def test_phases_a_trend_and_a_step_are_found():
    n = np.arange(2000)
    for rates in (np.where(n // 100 % 2, 0.55, 0.75), 0.8 - 0.25 * n / 2000, np.where(n > 1500, 0.5, 0.7)):
        assert chance(rates, 5) < Drift.FALSE_ALARM


def test_pieces_make_no_difference():
    assert chance(np.full(5000, 0.6), 1, chunk=1) == chance(np.full(5000, 0.6), 1, chunk=5000)


def test_too_few_rounds_and_no_variation_say_nothing():
    assert chance(np.full(7, 0.6), 1) is None
    assert Drift().chance() is None
    own = Drift()
    own.add(np.zeros(500, np.int64), np.ones(500, np.int64))
    assert own.chance() is None
