"""Hidden states that move with every draft: one pass per draft over the lanes still in their run.

A round reads two words, whose 64 bits seed splitmix64; half h of its value v serves draft 2v + h, and draft 0 is the
move between windows.  So draft j of round r meets the same 32 bits for every κ.
"""

import numpy as np

from simspec.kernels.jit import njit
from simspec.kernels.vectors import BLOCK, above
from simspec.kernels.words import GENERATORS, GOLD, HIGHEST, LANES, mix, next_words, seed_generators

ROUNDS = 32
WIDE = 16 * BLOCK
"""From so many thresholds on a row is searched by halving rather than compared whole."""
_HIGH, _LOW = np.uint64(32), np.uint64(2**32 - 1)
_GOLD = np.uint64(GOLD)
_RUN, _STATE, _ONE_MORE = np.int32(16), np.int32(2**16 - 1), np.int32(2**16)


@njit
def count_steps(keys, chunk, rounds, kappa, cells, moves, start, runs, raw):
    """``runs[lane, a]`` += rounds with accepted length a of 64 lanes.

    Parameters
    ----------
    cells : int32 (states, multiple of 8)
        Levels, cumulative over (accepted, next state) then (rejected, next state).
    moves : int32 (2·states, multiple of 8)
        Levels of the move to the next window's first draft, after a rejection and then after a full window.
    start : int32 (1, multiple of 8)
        Levels of the first state of a lane.
    raw : int32 (rounds, 64)
        Accepted length of the first rounds; may be empty.
    """
    state = np.empty((4, GENERATORS), np.uint64)
    pairs = np.empty(2 * GENERATORS * ROUNDS, np.uint64)
    words = pairs.view(np.uint32)
    states = np.int32(cells.shape[0])
    hidden = np.empty(LANES, np.int32)
    outcome = np.empty(LANES, np.int32)
    seeds = np.empty(LANES, np.uint64)
    mixed = np.empty(LANES, np.uint64)
    moves_by = np.empty(LANES, np.int32)
    alive = np.empty(LANES, np.uint32)
    levels = np.empty(LANES, np.int32)
    seed_generators(keys, chunk, state)
    next_words(state, pairs[:GENERATORS])
    for lane in range(LANES):
        hidden[lane] = place(start, 0, level(np.uint64(words[lane])))
    for played in range(rounds):
        used = (played % ROUNDS) * 2 * LANES
        if used == 0:
            next_words(state, pairs)
        for lane in range(LANES):
            seeds[lane] = (np.uint64(words[used + lane]) << _HIGH) | np.uint64(words[used + LANES + lane])
            mixed[lane] = mix(seeds[lane])
            moves_by[lane] = level(mixed[lane] >> _HIGH)
            alive[lane] = lane
            outcome[lane] = hidden[lane]
        examine(kappa, states, cells, seeds, mixed, alive, levels, outcome)
        for lane in range(LANES):
            run = outcome[lane] >> _RUN
            runs[lane, np.uint32(run)] += 1
            row = (outcome[lane] & _STATE) + (states if run == kappa else np.int32(0))
            hidden[lane] = place(moves, row, moves_by[lane])
        if played < raw.shape[0]:
            for lane in range(LANES):
                raw[played, lane] = outcome[lane] >> _RUN


@njit
def examine(kappa, states, cells, seeds, mixed, alive, levels, outcome):
    """Play the drafts of one round: ``outcome[lane]`` becomes A·2¹⁶ + state; a rejection ends a lane's life."""
    living = LANES
    for draft in range(1, kappa + 1):
        if draft % 2 == 0:
            move = _GOLD * np.uint64(draft // 2)
            for lane in range(LANES):
                mixed[lane] = mix(seeds[lane] + move)
                levels[lane] = level(mixed[lane] >> _HIGH)
        else:
            for lane in range(LANES):
                levels[lane] = level(mixed[lane] & _LOW)
        still = np.uint32(0)
        before = np.int32((draft - 1) << _RUN)
        for i in range(living):
            lane = alive[i]
            cell = place(cells, outcome[lane] & _STATE, levels[lane])
            accepted = cell < states
            outcome[lane] = before + (cell + _ONE_MORE if accepted else cell - states)
            alive[still] = lane
            still += np.uint32(accepted)
        living = np.int64(still)
        if living == 0:
            break


@njit
def level(word):
    """A 32-bit word minus 2³¹, the highest counted as the one below it."""
    return min(np.int32(np.uint32(word) ^ np.uint32(2**31)), HIGHEST - np.int32(1))


@njit
def place(table, row, at):
    """Index of the first cumulative level above ``at`` in a row whose end is padded with the highest level."""
    width = table.shape[1]
    if width == BLOCK:
        return np.int32(BLOCK - above(table, row * BLOCK, at))
    if width > WIDE:
        return halve(table, row, at)
    total = np.int32(0)
    for block in range(0, width, BLOCK):
        total = np.int32(total + above(table, row * width + block, at))
    return np.int32(width - total)


@njit
def halve(table, row, at):
    """`place` in a wide row, without a branch on what is compared."""
    low, left = 0, table.shape[1]
    while left > 1:
        half = left // 2
        low += half if at >= table[row, low + half - 1] else 0
        left -= half
    return np.int32(low)
