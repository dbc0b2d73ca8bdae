"""What does adapting change in the loop?  Passes over the lanes: turns of κ, a stale drafter, news that come late."""

import numpy as np

from simspec.kernels.fields import (
    ACCEPTED,
    DRAFT,
    DRAFTED,
    FLIPS,
    FULL,
    LAST,
    LENGTH,
    OFF,
    POSITION,
    ROW,
    RUN,
    SINCE,
    STALE,
    TOLD,
    WAKES,
)
from simspec.kernels.jit import njit
from simspec.kernels.passes import forget
from simspec.kernels.vectors import BLOCK, above
from simspec.kernels.words import LANES

_ONE = np.int32(1)
DELAY, BATCH, SHARES, STALE_ROUNDS, FRESH = range(5)
"""Entries of the array ``serving``: rounds that news take; lanes of a batch, whether they share one κ; rounds in which
a drafter is stale that was off, and the rows of a fresh one, behind which those of a stale one stand."""


@njit
def count_flips(lanes):
    """Rounds that ask for another κ than the round before."""
    for lane in range(LANES):
        moved = np.int32(lanes[DRAFT + lane] != lanes[LAST + lane])
        lanes[FLIPS + lane] = np.int32(lanes[FLIPS + lane] + moved)
    for lane in range(LANES):
        lanes[LAST + lane] = lanes[DRAFT + lane]


@njit
def count_wakes(lanes):
    """Rounds that draft in a request whose last round had κ = 0."""
    for lane in range(LANES):
        woken = np.int32(lanes[OFF + lane] * np.int32(lanes[DRAFTED + lane] > 0))
        lanes[WAKES + lane] = np.int32(lanes[WAKES + lane] + woken)
    for lane in range(LANES):
        lanes[OFF + lane] = np.int32(lanes[DRAFT + lane] == 0)


@njit
def foresee(lanes, lengths, cut):
    """κ by the run of this round, which is not known to anyone else; the first κ of a request is no flip."""
    last = np.int32(lengths.size - 1)
    for lane in range(LANES):
        run = min(lanes[RUN + lane], last)
        if cut:
            run = min(run, np.int32(lanes[LENGTH + lane] - _ONE - lanes[POSITION + lane]))
        lanes[DRAFT + lane] = np.int32(lengths[run])
        if lanes[SINCE + lane] == 0:
            lanes[LAST + lane], lanes[SINCE + lane] = lanes[DRAFT + lane], _ONE


@njit
def draw_stale(lanes, levels, used, rows, fresh):
    """As `simspec.kernels.passes.draw_rows`, from the second half of the rows where the drafter is stale."""
    width = rows.shape[1]
    for lane in range(LANES):
        row = lanes[ROW + lane] + fresh * np.int32(lanes[STALE + lane] > 0)
        total = np.int32(0)
        for block in range(0, width, BLOCK):
            total = np.int32(total + above(rows, row * width + block, levels[used + lane]))
        lanes[RUN + lane] = total


@njit
def grow_stale(lanes, many):
    """A round with κ = 0 makes the next ``many`` rounds that draft stale; each of them is one less."""
    for lane in range(LANES):
        stale = np.int32(lanes[STALE + lane] > 0) * np.int32(lanes[DRAFTED + lane] > 0)
        left = np.int32(lanes[STALE + lane] - stale)
        lanes[STALE + lane] = many if lanes[DRAFT + lane] == 0 else left


@njit
def recall(lanes, delay, played, past, told):
    """What a policy is told: the round ``delay`` rounds ago; a lane that has not had so many keeps to this one.

    ``past[slot, field, lane]`` holds the last ``delay`` rounds.  `wait` undoes what a pass makes of a lane too young.
    """
    slot = played % delay
    for field in range(TOLD):
        source = (LAST, DRAFTED, ACCEPTED, FULL)[field]
        for lane in range(LANES):
            now = lanes[source + lane]
            told[field, lane] = past[slot, field, lane] if lanes[SINCE + lane] >= delay else now
            past[slot, field, lane] = now


@njit
def wait(lanes, delay, kappa, initial, memory):
    """A lane to which no news came yet: first κ, and the state at the start."""
    for lane in range(LANES):
        if lanes[SINCE + lane] < delay:
            lanes[DRAFT + lane] = kappa
            forget(memory, lane, initial)


@njit
def choose_late(lanes, delay, full, up, down, lowest, highest):
    """As `simspec.kernels.passes.choose`, by a round of some time ago; a lane too young grows older."""
    for lane in range(LANES):
        if lanes[SINCE + lane] < delay:
            lanes[SINCE + lane] += _ONE
            continue
        change = up if full[lane] != 0 else down
        lanes[DRAFT + lane] = min(max(np.int32(lanes[DRAFT + lane] + change), lowest), highest)
