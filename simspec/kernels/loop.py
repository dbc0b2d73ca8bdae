"""The general loop: 64 lanes in lock step, a sequence of small passes, any row process and any policy.

draw → outcome → tally → move → policy.  One word per lane and round gives the uncapped run G, and A = min(G, drafted):
the draw knows neither κ nor policy.  A policy is one pass over the lanes, a user's own is called once per 64 lanes.
"""

import functools

import numpy as np

from simspec.kernels.batches import count_steps, tell_batches, too_young
from simspec.kernels.fields import (
    ACCEPTED,
    ALONG,
    CARRY,
    DRAFT,
    DRAFTED,
    DRAWN,
    FIELDS,
    FIXED,
    FLIPS,
    FORESEES,
    FULL,
    HEURISTIC,
    HOME,
    LAST,
    LENGTH,
    OWN,
    PLACE,
    POSITION,
    ROW,
    RULE,
    SINCE,
    TOLD,
    WAKES,
)
from simspec.kernels.jit import njit
from simspec.kernels.passes import (
    add_up,
    advance,
    along,
    begin,
    carry,
    carry_or_rest,
    choose,
    count,
    count_cuts,
    draw_next,
    draw_rows,
    draw_urn,
    draw_words,
    first_below,
    forget,
    judge,
    learn,
    out_of_bounds,
    record,
    write_down,
)
from simspec.kernels.policy_types import policy_type, rule_type
from simspec.kernels.serving import (
    BATCH,
    DELAY,
    FRESH,
    SHARES,
    STALE_ROUNDS,
    choose_late,
    count_flips,
    count_wakes,
    draw_stale,
    foresee,
    grow_stale,
    recall,
    wait,
)
from simspec.kernels.words import GENERATORS, LANES, next_levels, seed_generators

ROUNDS = 32


def play_rounds(
    keys, chunk, playing, quota,
    rows, walk, on_reject, on_full, on_off, moves, start, offsets, classes, urn,
    lengths, bits, truncate,
    kappa, policy, numbers, own, rule, figures, initial, serving,
    sums, histogram, steps, drafts, discarded, flips, wakes, raw, marks, snaps, room,
):  # fmt: skip
    """Play ``quota`` rounds per lane, or requests if they have lengths; returns the rounds played in lock step.

    −r is returned where the policy asked for a κ out of bounds after round r, counted from 1.

    Parameters
    ----------
    keys, chunk, playing
        Address of the words; lanes in use, 1 … 64.
    quota : int
        Rounds (no ``lengths`` and no ``bits``) or requests per lane.
    rows : int32 (rows, multiple of 8)
        Thresholds as levels, padded with the lowest.
    walk, on_reject, on_full, on_off
        `KEEP`, `CARRY`, `ALONG` or `DRAWN`, and the next row of a carried one.
    moves : int32 (rows·(2κ + 1), multiple of 8)
        Levels of the next row of a drawn one, cumulative, as in `simspec.kernels.forms.Drawn`.
    start : int32
        Levels of the first row of a lane, cumulative, without the last.
    offsets : int32 (64,)
        First row of each lane.
    classes : int32
        Levels of the row drawn for a request, cumulative, without the last.
    urn : float64
        (alpha, rho) of Pólya's urn instead of rows, or empty.
    lengths : int32 (64,) or empty
        Tokens of the requests of each lane.
    bits : int32
        Levels of the binary digits of a geometric length minus 1; then ``lengths`` is not read.
    truncate : int
        Whether the last drafts of a request are cut to what is still needed.
    kappa, policy, numbers
        First κ; `FIXED`, `HEURISTIC`, `OWN`, `RULE` or `FORESEES`; (change after a full round, after another, lowest,
        highest, whether κ and state outlive a request, whether the rule is random, whether a κ beyond them ends play).
    own, rule
        A user's pass, and one of `simspec.kernels.policies`.
    figures, initial : float64
        What the rule reads, and the state of a lane at its start, by row.
    serving : int32
        Entries as named in `simspec.kernels.serving`.
    sums, histogram : int64 (lanes, 8), (κ + 1, κ + 1)
        What `simspec.kernels.tally.Tally` holds.
    steps : int64 (64, 2(κ + 1)), or no rows
        Rounds of each lane by the step of its batch, 2·largest + rejected.
    drafts : int64 (2, 64, κ + 1)
        Rounds of each lane by drafts made, and by κ asked for; without lanes at a fixed κ.
    discarded : int64 (64,)
        Tokens emitted past the end of a request.
    flips, wakes : int64 (64,)
        Rounds that asked for another κ than the round before; those that drafted in a request whose last round had
        κ = 0.
    raw : int32 (3 or 1, rounds, 64)
        Position, drafts and accepted length of the first rounds, or the last of these alone; −1 drafts where a lane has
        finished.  May be empty; once it is full play stops, and the tally is that of the rounds in it.
    marks, snaps : int64 (marks,), int32 (marks, 64·((κ + 1)² + 3))
        Rounds, or requests where they have an end, ascending, after which is written down what each lane has so far:
        counts by (drafted, accepted), then behind those of all lanes its flips, wakes and discarded tokens.
    room : tuple of arrays
        What `room` gives, used up.
    """
    state, pairs, levels, left, reals, memory, words, past, told, heard, spoken = room
    width = np.int32(histogram.shape[1])
    nowhere = np.int32(LANES * width * width)
    seen = np.zeros((LANES + 1) * width * width, np.int32)  # [lane, drafted, accepted]; one more for finished lanes
    lanes = np.zeros(FIELDS, np.int32)
    delay, stale = np.int64(serving[DELAY]), serving[STALE_ROUNDS]
    asks, asked, drafted = lanes[DRAFT:DRAFTED], lanes[LAST:FLIPS], lanes[DRAFTED:ACCEPTED]
    accepted, full = lanes[ACCEPTED:FULL], lanes[FULL:PLACE]
    if delay > 0:
        asked, drafted, accepted, full = told[0], told[1], told[2], told[3]
    rests = min(kappa, numbers[2]) <= 0
    batch, shares = np.int64(serving[BATCH]), serving[SHARES] != 0
    mark = 0
    by_request = lengths.size > 0 or bits.size > 0
    cut = by_request and truncate != 0
    seed_generators(keys, chunk, state)
    next_levels(state, pairs[:GENERATORS], levels[:LANES])
    for lane in range(LANES):
        lanes[HOME + lane] = lane * width * width if lane < playing else nowhere
        left[lane] = quota if lane < playing else 0
        lanes[DRAFT + lane], lanes[LAST + lane] = kappa, kappa
        forget(memory, lane, initial)
        lanes[ROW + lane] = offsets[lane] + first_below(levels[lane], start)
        if by_request:
            begin(keys, chunk, lane, 0, offsets, classes, lengths, bits, lanes)
    played = 0
    while playing > 0:
        used = (played % ROUNDS) * LANES
        if used == 0:
            next_levels(state, pairs, levels)
        if urn.size > 0:
            draw_urn(lanes, levels, used, urn, numbers[3], reals)
        elif stale > 0:
            draw_stale(lanes, levels, used, rows, serving[FRESH])
        else:
            draw_rows(lanes, levels, used, rows)
        if policy == FORESEES:
            foresee(lanes, figures, cut)
        judge(lanes, cut)
        count(lanes, width, seen)
        if batch > 1:
            count_steps(lanes, batch, nowhere, steps)
        if policy != FIXED:
            count_flips(lanes)
            if rests:
                count_wakes(lanes)
            if stale > 0:
                grow_stale(lanes, stale)
            if cut:
                count_cuts(lanes, nowhere, drafts)
        if played < raw.shape[1]:
            record(lanes, left, raw, played)
        if walk == CARRY and rests:
            carry_or_rest(lanes, on_reject, on_full, on_off)
        elif walk == CARRY:
            carry(lanes, on_reject, on_full)
        elif walk == DRAWN:
            draw_next(keys, chunk, played, lanes, moves, moves.shape[0] // rows.shape[0])
        if urn.size > 0:
            learn(lanes)
        if policy == HEURISTIC and delay == 0 and not shares:
            choose(lanes, numbers[0], numbers[1], numbers[2], numbers[3])
        elif policy != FIXED and policy != FORESEES:
            if delay > 0:
                recall(lanes, delay, played, past, told)
            if numbers[5] != 0:
                draw_words(keys, chunk, played, words)
            if shares:
                said = lanes, nowhere, batch, asked, drafted, accepted, full
                known = memory, figures, words, heard, spoken
                if not too_young(lanes, delay) and not tell_batches(*said, policy, own, rule, numbers, *known):
                    return -(played + 1)
            else:
                if policy == OWN:
                    own(asks, accepted, full, memory)
                elif policy == RULE:
                    rule(asks, asked, drafted, accepted, full, memory, figures, words)
                if delay > 0:
                    wait(lanes, delay, kappa, initial, memory)
                if policy == OWN and numbers[6] != 0 and out_of_bounds(lanes, nowhere, numbers[2], numbers[3]):
                    return -(played + 1)
                if delay > 0:
                    choose_late(lanes, delay, full, numbers[0], numbers[1], numbers[2], numbers[3])
                else:
                    choose(lanes, numbers[0], numbers[1], numbers[2], numbers[3])
        played += 1
        if not by_request and mark < marks.size and played == marks[mark]:
            for lane in range(LANES):
                write_down(snaps[mark], lane, width, seen, lanes, discarded)
            mark += 1
        if played == raw.shape[1]:
            break
        if not by_request:
            if played == quota:
                break
        elif advance(lanes) < 0:
            for lane in range(LANES):
                if lanes[POSITION + lane] < lanes[LENGTH + lane]:
                    continue
                left[lane] -= 1  # below 0: a request that nobody counts
                if left[lane] >= 0:
                    discarded[lane] += lanes[POSITION + lane] - lanes[LENGTH + lane]
                    for m in range(marks.size):
                        if quota - left[lane] == marks[m]:
                            write_down(snaps[m], lane, width, seen, lanes, discarded)
                    if left[lane] == 0:
                        flips[lane], wakes[lane] = lanes[FLIPS + lane], lanes[WAKES + lane]
                        lanes[HOME + lane] = nowhere  # plays on unseen until the last lane has finished
                        playing -= 1
                if numbers[4] == 0:
                    lanes[DRAFT + lane], lanes[LAST + lane], lanes[SINCE + lane] = kappa, kappa, 0
                    forget(memory, lane, initial)
                begin(keys, chunk, lane, quota - left[lane], offsets, classes, lengths, bits, lanes)
        if walk == ALONG:
            along(lanes, offsets)
    add_up(seen, width, discarded, sums, histogram, drafts)
    for lane in range(LANES):
        if lanes[HOME + lane] != nowhere:
            flips[lane], wakes[lane] = lanes[FLIPS + lane], lanes[WAKES + lane]
    return played


def room(rows, delay):
    """Memory of a chunk: ``rows`` of state, news ``delay`` rounds late; inside, each allocation would be compiled."""
    pairs = np.empty(GENERATORS * ROUNDS, np.uint64)
    words = np.empty((4, GENERATORS), np.uint64), pairs, pairs.view(np.int32)
    known = np.zeros((rows, LANES)), np.zeros(LANES, np.uint64)
    news = np.zeros((delay, TOLD, LANES), np.int32), np.zeros((TOLD, LANES), np.int32)
    shared = np.zeros((1 + TOLD, LANES), np.int32), np.zeros(LANES, np.uint64)
    return *words, np.zeros(LANES, np.int64), np.zeros(3 * LANES), *known, *news, *shared


@functools.cache
def kernel():
    """`play_rounds`, compiled once for every policy: a user's function is an argument, not a specialisation."""
    from numba import types

    i4, i8, table, whole = types.int32, types.int64, types.int32[:, ::1], types.int32[::1]
    address = (types.uint64[::1], i8, i8, i8)
    process = (table, i8, whole, whole, whole, table, whole, whole, whole, types.float64[::1])
    ends = (whole, whole, i8)
    vector, counts = types.float64[::1], types.int64[::1]
    policy = (i4, i8, whole, policy_type(), rule_type(), vector, vector, whole)
    sums = (types.int64[:, ::1],) * 3
    cube, blank = types.int32[:, :, ::1], types.uint64[::1]
    out = (*sums, types.int64[:, :, ::1], counts, counts, counts, cube, counts, table)
    words, known = (types.uint64[:, ::1], blank, whole), (types.float64[:, ::1], blank)
    inside = types.Tuple((*words, counts, vector, *known, cube, table, table, blank))
    return njit(play_rounds, i8(*address, *process, *ends, *policy, *out, inside))
