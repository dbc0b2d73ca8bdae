"""Random words: published vectors, the frozen layout, and what must not repeat."""

import numpy as np

from simspec.kernels import twin
from simspec.kernels.words import GENERATORS, LANES, next_words, seed_generators, stream_keys

# xoshiro256++ from the state (1, 2, 3, 4): test vector of the rand_xoshiro crate (Rust), `xoshiro256plusplus.rs`
XOSHIRO = [41943041, 58720359, 3588806011781223, 3591011842654386, 9228616714210784205, 9973669472204895162]
# splitmix64 from 1234567: test vector of Vigna's splitmix64.c as used by many ports
SPLITMIX = [6457827717110365317, 3203168211198807973]


def test_generator_matches_the_published_vector():
    state = np.repeat(np.array([1, 2, 3, 4], np.uint64)[:, None], GENERATORS, axis=1)
    pairs = np.empty(GENERATORS, np.uint64)
    for expected in XOSHIRO:
        next_words(state, pairs)
        assert (pairs == expected).all()


def test_seeding_is_splitmix64():
    """Word w of generator j of chunk c is output 32c + j + 1 of splitmix64 started at key w."""
    state = np.empty((4, GENERATORS), np.uint64)
    seed_generators(np.full(4, 1234567, np.uint64), 0, state)
    assert state[:, :2].tolist() == [SPLITMIX] * 4


def test_kernel_words_and_twin_words_are_the_same():
    keys = stream_keys(7, "process")
    state, pairs = np.empty((4, GENERATORS), np.uint64), np.empty(GENERATORS, np.uint64)
    for chunk in (0, 1, 12345):
        seed_generators(keys, chunk, state)
        lanes = [twin.lane_words(keys, chunk, lane) for lane in range(LANES)]
        for _ in range(20):
            next_words(state, pairs)
            assert pairs.view(np.uint32).tolist() == [next(words) for words in lanes]


def test_the_layout_of_stream_version_1_is_frozen():
    """If this changes, stream_version must change."""
    words = twin.lane_words(stream_keys(1, "0" * 64), 3, 5)
    assert [next(words) for _ in range(4)] == FROZEN


FROZEN = [1173450672, 2071180511, 3202854938, 267901176]


def test_streams_differ_by_seed_process_domain_and_chunk():
    addresses = [(1, "a", "windows"), (2, "a", "windows"), (1, "b", "windows"), (1, "a", "tokens")]
    firsts = {next(twin.lane_words(stream_keys(*address), chunk, 0)) for address in addresses for chunk in (0, 1)}
    assert len(firsts) == 8


def test_no_two_lanes_share_a_state_word():
    """Within a process the state words are images of distinct counters under a bijection."""
    keys, state, seen = stream_keys(1, "p"), np.empty((4, GENERATORS), np.uint64), set()
    for chunk in range(200):
        seed_generators(keys, chunk, state)
        seen.update(state[0].tolist())
    assert len(seen) == 200 * GENERATORS


def test_lanes_are_uniform_and_uncorrelated():
    """Mean and cross-lane correlation of 2²² words; each bound has false-alarm probability below 1e-6 (5.2 sigma)."""
    keys, state, pairs = stream_keys(1, "u"), np.empty((4, GENERATORS), np.uint64), np.empty(GENERATORS, np.uint64)
    rows = []
    for chunk in range(64):
        seed_generators(keys, chunk, state)
        for _ in range(1024):
            next_words(state, pairs)
            rows.append(pairs.view(np.uint32).astype(np.float64))
    words = np.array(rows) / 2**32 - 0.5
    scale = np.sqrt(1 / 12 / len(words))
    assert np.abs(words.mean(axis=0)).max() < 6.0 * scale  # 64 lanes: 6 sigma leaves 1.3e-7
    correlation = np.corrcoef(words.T) - np.eye(LANES)
    assert np.abs(correlation).max() < 6.5 / np.sqrt(len(words))  # 2016 pairs: 6.5 sigma leaves 1.7e-7
    successive = (words[1:] * words[:-1]).mean(axis=0) * 12
    assert np.abs(successive).max() < 6.0 / np.sqrt(len(words))
