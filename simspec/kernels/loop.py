"""The general loop: 64 lanes in lock step, a sequence of small passes, any row process and any policy.

draw → outcome → tally → move → policy.  One word per lane and round gives the uncapped run G, and A = min(G, drafted):
the draw knows neither κ nor policy.  A policy is one pass over the lanes, a user's own is called once per 64 lanes.
"""

import functools

import numpy as np

from simspec.kernels.jit import njit
from simspec.kernels.policy_types import policy_type, rule_type
from simspec.kernels.steps import level, place
from simspec.kernels.vectors import BLOCK, above
from simspec.kernels.words import GENERATORS, LANES, aside, next_levels, policy_word, row_word, seed_generators, word_of

ROUNDS = 32
KEEP, CARRY, ALONG, DRAWN = 0, 1, 2, 3
"""What the next row is: the same one; the one that follows from the outcome; one further for each emitted token; one
drawn by the outcome."""
FIXED, HEURISTIC, OWN, RULE = 0, 1, 2, 3
"""What the next κ is: the same; up after a full round and down after another; what a user's function says; what a
function of `simspec.kernels.policies` says."""
ROW, RUN, DRAFT, DRAFTED, ACCEPTED, FULL, PLACE, HOME, LENGTH, POSITION, HITS, EXAMINED, LAST, FLIPS = range(
    0, 14 * LANES, LANES
)
"""Field f of a lane is ``lanes[f + lane]``.  In one flat array, with bounds known at compile time, LLVM sees that
fields do not overlap and turns every pass into vectors; as fourteen arrays most passes stay scalar."""
FIELDS = 14 * LANES
_HIGH = np.uint64(32)
_TURN = np.int64(2**31)
_ONE = np.int32(1)


def play_rounds(
    keys, chunk, playing, quota,
    rows, walk, on_reject, on_full, moves, start, offsets, classes, urn,
    lengths, bits, truncate,
    kappa, policy, numbers, own, rule, figures, initial,
    sums, histogram, discarded, flips, raw, marks, snaps,
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
    walk, on_reject, on_full
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
        First κ; `FIXED`, `HEURISTIC`, `OWN` or `RULE`; (change after a full round, after another, lowest, highest,
        whether κ and state outlive a request, whether the rule is random, whether a κ out of bounds ends play).
    own, rule
        A user's pass, and one of `simspec.kernels.policies`.
    figures, initial : float64
        What the rule reads, and the state of a lane at its start, by row.
    sums, histogram : int64 (lanes, 8), (κ + 1, κ + 1)
        What `simspec.kernels.tally.Tally` holds.
    discarded : int64 (64,)
        Tokens emitted past the end of a request.
    flips : int64 (64,)
        Rounds that asked for another κ than the round before.
    raw : int32 (3 or 1, rounds, 64)
        Position, drafts and accepted length of the first rounds, or the last of these alone; −1 drafts where a lane has
        finished.  May be empty; once it is full play stops, and the tally is that of the rounds in it.
    marks, snaps : int64 (marks,), int32 (marks, 64·((κ + 1)² + 2))
        Rounds, or requests where they have an end, ascending, after which is written down what each lane has so far:
        counts by (drafted, accepted), then behind those of all lanes its flips, then its discarded tokens.
    """
    state = np.empty((4, GENERATORS), np.uint64)
    pairs = np.empty(GENERATORS * ROUNDS, np.uint64)
    levels = pairs.view(np.int32)
    width = np.int32(histogram.shape[1])
    nowhere = np.int32(LANES * width * width)
    seen = np.zeros((LANES + 1) * width * width, np.int32)  # [lane, drafted, accepted]; one more for finished lanes
    lanes = np.zeros(FIELDS, np.int32)
    reals = np.zeros(3 * LANES, np.float64)
    memory = np.zeros((initial.size, LANES), np.float64)
    words = np.zeros(LANES, np.uint64)
    mark = 0
    left = np.zeros(LANES, np.int64)
    by_request = lengths.size > 0 or bits.size > 0
    cut = by_request and truncate != 0
    seed_generators(keys, chunk, state)
    next_levels(state, pairs[:GENERATORS], levels[:LANES])
    for lane in range(LANES):
        lanes[HOME + lane] = lane * width * width if lane < playing else nowhere
        left[lane] = quota if lane < playing else 0
        lanes[DRAFT + lane], lanes[LAST + lane] = kappa, kappa
        memory[:, lane] = initial
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
        else:
            draw_rows(lanes, levels, used, rows)
        judge(lanes, cut)
        count(lanes, width, seen)
        if policy != FIXED:
            count_flips(lanes)
        if played < raw.shape[1]:
            record(lanes, left, raw, played)
        if walk == CARRY:
            carry(lanes, on_full, on_reject)
        elif walk == DRAWN:
            draw_next(keys, chunk, played, lanes, moves, moves.shape[0] // rows.shape[0])
        if urn.size > 0:
            learn(lanes)
        if policy != FIXED:
            if policy == OWN:
                own(lanes[DRAFT:DRAFTED], lanes[ACCEPTED:FULL], lanes[FULL:PLACE], memory)
                if numbers[6] != 0 and out_of_bounds(lanes, nowhere, numbers[2], numbers[3]):
                    return -(played + 1)
            elif policy == RULE:
                if numbers[5] != 0:
                    draw_words(keys, chunk, played, words)
                outcome = lanes[DRAFTED:ACCEPTED], lanes[ACCEPTED:FULL], lanes[FULL:PLACE]
                rule(lanes[DRAFT:DRAFTED], outcome[0], outcome[1], outcome[2], memory, figures, words)
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
                if left[lane] > 0:
                    discarded[lane] += lanes[POSITION + lane] - lanes[LENGTH + lane]
                    left[lane] -= 1
                    for m in range(marks.size):
                        if quota - left[lane] == marks[m]:
                            write_down(snaps[m], lane, width, seen, lanes, discarded)
                    if left[lane] == 0:
                        flips[lane] = lanes[FLIPS + lane]
                        lanes[HOME + lane] = nowhere  # plays on unseen until the last lane has finished
                        playing -= 1
                if numbers[4] == 0:
                    lanes[DRAFT + lane], lanes[LAST + lane] = kappa, kappa
                    memory[:, lane] = initial
                begin(keys, chunk, lane, quota - left[lane], offsets, classes, lengths, bits, lanes)
        if walk == ALONG:
            along(lanes, offsets)
    add_up(seen, width, discarded, sums, histogram)
    for lane in range(LANES):
        if lanes[HOME + lane] != nowhere:
            flips[lane] = lanes[FLIPS + lane]
    return played


@njit
def first_below(level, cumulative):
    """Index of the first cumulative level above ``level``; the number of levels if there is none."""
    place = 0
    while place < cumulative.size and level >= cumulative[place]:
        place += 1
    return place


@njit
def begin(keys, chunk, lane, number, offsets, classes, lengths, bits, lanes):
    """Start request ``number`` of a lane; row and length from words of its own, the same ones for every κ."""
    base = aside(keys, (np.uint64(LANES * chunk + lane) << _HIGH) + np.uint64(number))
    lanes[POSITION + lane], lanes[HITS + lane], lanes[EXAMINED + lane] = 0, 0, 0
    lanes[ROW + lane] = offsets[lane] + first_below(level_of(base, 0), classes)
    if bits.size == 0:
        lanes[LENGTH + lane] = lengths[lane]
        return
    lanes[LENGTH + lane] = 1
    for digit in range(bits.size):
        if level_of(base, digit + 1) < bits[digit]:
            lanes[LENGTH + lane] += _ONE << np.int32(digit)


@njit
def level_of(base, index):
    """The high half of a word of an address, minus 2³¹."""
    level = np.int64(word_of(base, index) >> _HIGH) - _TURN
    return np.int32(min(level, _TURN - 2))


@njit
def draw_rows(lanes, levels, used, rows):
    """Uncapped run of each lane: how many thresholds of its row lie above its word."""
    width = rows.shape[1]
    for lane in range(LANES):
        total = np.int32(0)
        for block in range(0, width, BLOCK):
            total = np.int32(total + above(rows, lanes[ROW + lane] * width + block, levels[used + lane]))
        lanes[RUN + lane] = total


@njit
def draw_urn(lanes, levels, used, urn, longest, reals):
    """Uncapped run of a rate that each outcome makes more like itself: word·Π weight < 2³²·Π chance·weight.

    A division every eight drafts keeps both products far from the ends of the range of doubles.
    """
    alpha, rho = urn[0], urn[1]
    rest = 1.0 - rho
    word, over, under = 0, LANES, 2 * LANES
    for lane in range(LANES):
        reals[word + lane] = np.float64(levels[used + lane]) + 2147483648.0
        reals[over + lane], reals[under + lane] = 4294967296.0, 1.0
        lanes[RUN + lane] = 0
    for j in range(longest):
        if j % BLOCK == 0:
            for lane in range(LANES):
                reals[over + lane] /= reals[under + lane]
                reals[under + lane] = 1.0
        for lane in range(LANES):
            reals[over + lane] *= alpha * rest + np.float64(np.int32(lanes[HITS + lane] + np.int32(j))) * rho
            reals[under + lane] *= rest + np.float64(np.int32(lanes[EXAMINED + lane] + np.int32(j))) * rho
            longer = reals[word + lane] * reals[under + lane] < reals[over + lane]
            lanes[RUN + lane] = np.int32(lanes[RUN + lane] + np.int32(longer))


@njit
def judge(lanes, cut):
    """Drafts, accepted length A = min(G, drafts), and whether every draft was accepted."""
    if cut:
        for lane in range(LANES):
            needed = np.int32(lanes[LENGTH + lane] - _ONE - lanes[POSITION + lane])
            lanes[DRAFTED + lane] = min(lanes[DRAFT + lane], needed)
    else:
        for lane in range(LANES):
            lanes[DRAFTED + lane] = lanes[DRAFT + lane]
    for lane in range(LANES):
        lanes[ACCEPTED + lane] = min(lanes[RUN + lane], lanes[DRAFTED + lane])
        lanes[FULL + lane] = np.int32(lanes[RUN + lane] >= lanes[DRAFTED + lane])


@njit
def count(lanes, width, seen):
    """Each lane has a table of its own, so that no count waits for the one before."""
    for lane in range(LANES):
        row = np.int32(lanes[DRAFTED + lane] * width)
        lanes[PLACE + lane] = np.int32(lanes[HOME + lane] + row + lanes[ACCEPTED + lane])
    for lane in range(LANES):
        seen[np.uint32(lanes[PLACE + lane])] += _ONE


@njit
def count_flips(lanes):
    """Rounds that ask for another κ than the round before."""
    for lane in range(LANES):
        moved = np.int32(lanes[DRAFT + lane] != lanes[LAST + lane])
        lanes[FLIPS + lane] = np.int32(lanes[FLIPS + lane] + moved)
    for lane in range(LANES):
        lanes[LAST + lane] = lanes[DRAFT + lane]


@njit
def out_of_bounds(lanes, nowhere, lowest, highest):
    """Whether an unfinished lane asks for a κ that it may not."""
    found = False
    for lane in range(LANES):
        kappa = lanes[DRAFT + lane]
        found |= lanes[HOME + lane] != nowhere and (kappa < lowest or kappa > highest)
    return found


@njit
def draw_words(keys, chunk, played, words):
    """One word per lane for a policy that is random: of this round, and of no policy."""
    for lane in range(LANES):
        words[lane] = policy_word(keys, LANES * chunk + lane, played)


@njit
def record(lanes, left, raw, played):
    """Write the round down; −1 drafts where a lane has finished."""
    last = raw.shape[0] - 1
    for lane in range(LANES):
        raw[last, played, lane] = lanes[ACCEPTED + lane]
    if last == 0:
        return
    for lane in range(LANES):
        raw[0, played, lane] = lanes[POSITION + lane]
        raw[1, played, lane] = lanes[DRAFTED + lane] if left[lane] > 0 else -1


@njit
def write_down(snap, lane, width, seen, lanes, discarded):
    """What a lane has so far: its counts, flips and discarded tokens."""
    cells = width * width
    snap[lane * cells : (lane + 1) * cells] = seen[lane * cells : (lane + 1) * cells]
    snap[LANES * cells + lane] = lanes[FLIPS + lane]
    snap[LANES * cells + LANES + lane] = np.int32(discarded[lane])


@njit
def carry(lanes, on_full, on_reject):
    """The next row follows from this one and from the outcome."""
    for lane in range(LANES):
        row = lanes[ROW + lane]
        lanes[ROW + lane] = on_full[row] if lanes[FULL + lane] != 0 else on_reject[row]


@njit
def draw_next(keys, chunk, played, lanes, moves, outcomes):
    """The next row is drawn: one law per row and outcome, rejections behind 0, 1 … drafts first, then full windows."""
    for lane in range(LANES):
        full = outcomes // 2 if lanes[FULL + lane] != 0 else 0
        law = np.int64(lanes[ROW + lane]) * outcomes + full + lanes[ACCEPTED + lane]
        lanes[ROW + lane] = place(moves, law, level(row_word(keys, LANES * chunk + lane, played) >> _HIGH))


@njit
def learn(lanes):
    """Outcomes of the round go into the urn: A acceptances, and a rejection unless the round was full."""
    for lane in range(LANES):
        lanes[HITS + lane] = np.int32(lanes[HITS + lane] + lanes[ACCEPTED + lane])
        more = np.int32(lanes[ACCEPTED + lane] + _ONE - lanes[FULL + lane])
        lanes[EXAMINED + lane] = np.int32(lanes[EXAMINED + lane] + more)


@njit
def choose(lanes, up, down, lowest, highest):
    """The next κ: ``up`` after a full round, ``down`` after another, within the bounds."""
    for lane in range(LANES):
        change = up if lanes[FULL + lane] != 0 else down
        lanes[DRAFT + lane] = min(max(np.int32(lanes[DRAFT + lane] + change), lowest), highest)


@njit
def advance(lanes):
    """Move on by A + 1 tokens; negative if a request is over."""
    over = np.int32(0)
    for lane in range(LANES):
        here = np.int32(lanes[POSITION + lane] + lanes[ACCEPTED + lane] + _ONE)
        lanes[POSITION + lane] = here
        over |= np.int32(lanes[LENGTH + lane] - _ONE - here)
    return over


@njit
def along(lanes, offsets):
    """Row = output position."""
    for lane in range(LANES):
        lanes[ROW + lane] = np.int32(offsets[lane] + lanes[POSITION + lane])


@njit
def add_up(seen, width, discarded, sums, histogram):
    """Totals by lane, in the order of `simspec.kernels.tally.SUMS`, and the histogram of the chunk."""
    for lane in range(sums.shape[0]):
        total = sums[lane]
        total[7] -= discarded[lane]
        for drafted in range(width):
            for accepted in range(drafted + 1):
                n = np.int64(seen[(lane * width + drafted) * width + accepted])
                if n == 0:
                    continue
                histogram[drafted, accepted] += n
                total[0] += n
                total[1] += n * accepted
                total[2] += n * accepted * accepted
                if accepted < drafted:
                    total[3] += n
                    total[4] += n * accepted
                if accepted == 0:
                    total[5] += n
                total[6] += n * drafted
                total[7] += n * (accepted + 1)


@functools.cache
def kernel():
    """`play_rounds`, compiled once for every policy: a user's function is an argument, not a specialisation."""
    from numba import types

    i4, i8, table, whole = types.int32, types.int64, types.int32[:, ::1], types.int32[::1]
    address = (types.uint64[::1], i8, i8, i8)
    process = (table, i8, whole, whole, table, whole, whole, whole, types.float64[::1])
    ends = (whole, whole, i8)
    vector, counts = types.float64[::1], types.int64[::1]
    policy = (i4, i8, whole, policy_type(), rule_type(), vector, vector)
    out = (types.int64[:, ::1], types.int64[:, ::1], counts, counts, types.int32[:, :, ::1], counts, table)
    return njit(play_rounds, i8(*address, *process, *ends, *policy, *out))
