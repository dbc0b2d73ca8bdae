"""Rounds of any scheme: a walk through a table of states, 64 lanes in lock step, a pass per step over those under way.

Words are those of `simspec.kernels.steps`: a round reads two, whose 64 bits seed splitmix64; half s mod 2 of its value
s div 2 serves step s (high half first).  So step s of round r meets the same 32 bits in every scheme.
"""

import numpy as np

from simspec.kernels.jit import njit
from simspec.kernels.steps import level, place
from simspec.kernels.words import GENERATORS, GOLD, LANES, mix, next_words, seed_generators

ROUNDS = 32
_HIGH, _LOW = np.uint64(32), np.uint64(2**32 - 1)
_GOLD = np.uint64(GOLD)
_ONE = np.int32(1)


@njit
def count_kinds(keys, chunk, rounds, cells, follow, after, kind_of, start, counts):
    """``counts[lane, kind]`` += rounds of 64 lanes.

    Parameters
    ----------
    cells : int32 (states, multiple of 8)
        Levels of the outcomes of a state, cumulative, padded with the highest.
    follow : int32 (states, multiple of 8)
        State that an outcome leads to, or −1 − end at the end of the round.
    after, kind_of : int32 (ends,)
        State in which the next round starts, and what kind of round it was.
    start : int32 (1, multiple of 8)
        Levels of the first state of a lane.
    """
    state = np.empty((4, GENERATORS), np.uint64)
    pairs = np.empty(2 * GENERATORS * ROUNDS, np.uint64)
    words = pairs.view(np.uint32)
    width = np.uint32(follow.shape[1])
    steps = follow.ravel()
    kinds = np.int64(counts.shape[1])
    flat = counts.ravel()
    here = np.empty(LANES, np.int32)
    begin = np.empty(LANES, np.int32)
    seeds = np.empty(LANES, np.uint64)
    mixed = np.empty(LANES, np.uint64)
    alive = np.empty(LANES, np.uint32)
    seed_generators(keys, chunk, state)
    next_words(state, pairs[:GENERATORS])
    for lane in range(LANES):
        begin[lane] = place(start, 0, level(np.uint64(words[lane])))
    for played in range(rounds):
        used = (played % ROUNDS) * 2 * LANES
        if used == 0:
            next_words(state, pairs)
        for lane in range(LANES):
            seeds[lane] = (np.uint64(words[used + lane]) << _HIGH) | np.uint64(words[used + LANES + lane])
            mixed[lane] = mix(seeds[lane])
            alive[lane] = lane
            here[lane] = begin[lane]
        living, step = LANES, 0
        while living > 0:
            if step > 0 and step % 2 == 0:
                move = _GOLD * np.uint64(step // 2)
                for i in range(living):
                    mixed[alive[i]] = mix(seeds[alive[i]] + move)
            living = walk(living, step % 2, cells, steps, width, mixed, alive, here)
            step += 1
        for lane in range(LANES):
            end = np.uint32(-_ONE - here[lane])
            flat[np.uint64(lane * kinds + kind_of[end])] += 1
            begin[lane] = after[end]


@njit
def walk(living, half, cells, steps, width, mixed, alive, here):
    """One step of the lanes under way; returns how many of them still are."""
    still = np.uint32(0)
    for i in range(living):
        lane = alive[i]
        word = mixed[lane] & _LOW if half else mixed[lane] >> _HIGH
        row = np.uint32(here[lane])
        cell = np.uint32(place(cells, np.int64(row), level(word)))
        target = steps[row * width + cell]
        here[lane] = target
        alive[still] = lane
        still += np.uint32(target >= 0)
    return np.int64(still)
