"""Two rows, one after a rejection and one after a full window: 64 chains side by side, a comparison for each draft."""

import numpy as np

from simspec.kernels.jit import njit
from simspec.kernels.vectors import DRAFTS, count_survivors
from simspec.kernels.words import GENERATORS, HIGHEST, LANES, next_levels, seed_generators

ROUNDS = 32
"""Rounds per buffer: words and states of 64 lanes fit the first-level cache."""
FULL, OTHER = np.int32(-1), np.int32(0)


@njit
def count_chain(keys, chunk, rounds, kappa, after_reject, after_full, start, runs):
    """``runs[lane, a]`` += windows with accepted length a of 64 lanes.

    Thresholds are levels (word − 2³¹, int32), padded with the lowest to a multiple of four; a lane begins after a full
    window if its word 0 is not below ``start``.
    """
    if kappa == 0:
        runs[:, 0] += rounds
        return
    state = np.empty((4, GENERATORS), np.uint64)
    pairs = np.empty(GENERATORS * ROUNDS, np.uint64)
    levels = pairs.view(np.int32)
    full = np.empty((ROUNDS + 1) * LANES, np.int32)  # FULL where the window before was
    survivors = np.zeros(after_full.size * LANES, np.int32)
    seed_generators(keys, chunk, state)
    next_levels(state, pairs[:GENERATORS], levels[:LANES])
    for lane in range(LANES):
        full[lane] = FULL if levels[lane] >= start else OTHER
    for played in range(0, rounds, ROUNDS):
        next_levels(state, pairs, levels)
        if rounds - played < ROUNDS:
            levels[(rounds - played) * LANES :] = HIGHEST  # below no threshold, so never counted
        follow(levels, full, after_reject[kappa - 1], after_full[kappa - 1])
        for draft in range(0, after_full.size, DRAFTS):
            count_survivors(levels, full, after_reject, after_full, survivors, draft, ROUNDS, LANES)
        full[:LANES] = full[ROUNDS * LANES :]
    for lane in range(LANES):
        before = rounds
        for j in range(kappa):
            runs[lane, j] += before - survivors[j * LANES + lane]
            before = np.int64(survivors[j * LANES + lane])
        runs[lane, kappa] += before


@njit
def follow(levels, full, low, high):
    """The only serial pass carries the state: was the window full?  Flat arrays and known bounds make it a vector."""
    for r in range(ROUNDS):
        at = r * LANES
        for lane in range(LANES):
            limit = high if full[at + lane] != 0 else low
            full[at + LANES + lane] = FULL if levels[at + lane] < limit else OTHER
