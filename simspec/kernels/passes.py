"""What is done to 64 lanes at a time?  The small passes of the general loop."""

import numpy as np

from simspec.kernels.fields import (
    ACCEPTED,
    DRAFT,
    DRAFTED,
    EXAMINED,
    FLIPS,
    FULL,
    HITS,
    HOME,
    LENGTH,
    OFF,
    PLACE,
    POSITION,
    ROW,
    RUN,
    STALE,
    WAKES,
)
from simspec.kernels.jit import njit
from simspec.kernels.steps import level, place
from simspec.kernels.vectors import BLOCK, above
from simspec.kernels.words import LANES, aside, policy_word, row_word, word_of

_HIGH = np.uint64(32)
_TURN = np.int64(2**31)
_ONE = np.int32(1)


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
    lanes[POSITION + lane], lanes[HITS + lane], lanes[EXAMINED + lane], lanes[OFF + lane] = 0, 0, 0, 0
    lanes[STALE + lane] = 0
    lanes[ROW + lane] = offsets[lane] + first_below(level_of(base, 0), classes)
    if bits.size == 0:
        lanes[LENGTH + lane] = lengths[lane]
        return
    lanes[LENGTH + lane] = 1
    for digit in range(bits.size):
        if level_of(base, digit + 1) < bits[digit]:
            lanes[LENGTH + lane] += _ONE << np.int32(digit)


@njit
def forget(memory, lane, initial):
    """The state of a lane at its start; entry by entry, since numba compiles a slice with the texts of its errors."""
    for row in range(initial.size):
        memory[row, lane] = initial[row]


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
def count_cuts(lanes, nowhere, drafts):
    """Rounds that draft less than κ at the end of a request: for `add_up`, by how much κ differs from drafts made."""
    found = np.int32(0)
    for lane in range(LANES):
        found |= np.int32(lanes[DRAFT + lane] - lanes[DRAFTED + lane])
    if found == 0:
        return
    for lane in range(LANES):
        kappa, drafted = lanes[DRAFT + lane], lanes[DRAFTED + lane]
        if kappa != drafted and lanes[HOME + lane] != nowhere:
            drafts[1, lane, kappa] += 1
            drafts[1, lane, drafted] -= 1


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
    """What a lane has so far: its counts, flips, wakes and discarded tokens."""
    cells = width * width
    for at in range(lane * cells, (lane + 1) * cells):
        snap[at] = seen[at]
    beside = LANES * cells + lane
    snap[beside], snap[beside + LANES] = lanes[FLIPS + lane], lanes[WAKES + lane]
    snap[beside + 2 * LANES] = np.int32(discarded[lane])


@njit
def carry(lanes, on_reject, on_full):
    """The next row follows from this one and from the outcome."""
    for lane in range(LANES):
        row = lanes[ROW + lane]
        lanes[ROW + lane] = on_full[row] if lanes[FULL + lane] != 0 else on_reject[row]


@njit
def carry_or_rest(lanes, on_reject, on_full, on_off):
    """As `carry`, where a round may have no drafts and then tells nothing of a full window."""
    for lane in range(LANES):
        row = lanes[ROW + lane]
        after = on_full[row] if lanes[FULL + lane] != 0 else on_reject[row]
        lanes[ROW + lane] = after if lanes[DRAFTED + lane] > 0 else on_off[row]


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
def add_up(seen, width, discarded, sums, histogram, drafts):
    """Totals by lane, in the order of `simspec.kernels.tally.SUMS`, the histogram of the chunk, and drafts by lane."""
    for lane in range(sums.shape[0]):
        total = sums[lane]
        total[7] -= discarded[lane]
        for drafted in range(width):
            for accepted in range(drafted + 1):
                n = np.int64(seen[(lane * width + drafted) * width + accepted])
                if n == 0:
                    continue
                histogram[drafted, accepted] += n
                if drafts.shape[1] > 0:
                    drafts[0, lane, drafted] += n
                    drafts[1, lane, drafted] += n
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
