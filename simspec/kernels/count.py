"""The counting kernels: words in, integers out.  Every kernel plays one chunk: up to 64 lanes, ``rounds`` rounds each.

``sums[lane]`` holds, for one lane and one κ, the eight totals of `simspec.kernels.tally.SUMS`; ``histogram[drafted,
accepted]`` counts rounds of the whole chunk.
"""

import numpy as np

from simspec.kernels.jit import njit
from simspec.kernels.words import GENERATORS, GOLD, MIX_1, MIX_2, next_words, seed_generators


@njit
def count_fresh(keys, chunk, lanes, rounds, thresholds, runs):
    """``runs[lane, g]`` += windows of that lane whose uncapped run is g; serves every κ ≤ thresholds.size at once."""
    state = np.empty((4, GENERATORS), np.uint64)
    pairs = np.empty(GENERATORS, np.uint64)
    words = pairs.view(np.uint32)
    seed_generators(keys, chunk, state)
    next_words(state, pairs)  # word 0 draws the start, which fresh windows do not have
    for _ in range(rounds):
        next_words(state, pairs)
        for lane in range(lanes):
            word = np.int64(words[lane])
            g = 0
            while g < thresholds.size and word < thresholds[g]:
                g += 1
            runs[lane, g] += 1


@njit
def count_carried(keys, chunk, lanes, rounds, thresholds, on_reject, on_full, start, runs):
    """As `count_fresh` for windows whose row follows from the row and outcome before; ``runs[lane, κ]``: full ones."""
    kappa = thresholds.shape[1]
    state = np.empty((4, GENERATORS), np.uint64)
    pairs = np.empty(GENERATORS, np.uint64)
    words = pairs.view(np.uint32)
    row = np.empty(lanes, np.int64)
    seed_generators(keys, chunk, state)
    next_words(state, pairs)
    for lane in range(lanes):
        row[lane] = locate(np.int64(words[lane]), start)
    for _ in range(rounds):
        next_words(state, pairs)
        for lane in range(lanes):
            word = np.int64(words[lane])
            g = 0
            while g < kappa and word < thresholds[row[lane], g]:
                g += 1
            runs[lane, g] += 1
            row[lane] = on_full[row[lane]] if g == kappa else on_reject[row[lane]]


@njit
def count_requests(
    keys, chunk, lanes, requests, kappa, thresholds, classes, advance, tokens, going, truncate, sums, histogram
):
    """Each lane plays ``requests`` output sequences, one after another; fields as in `simspec.kernels.forms.Requests`.

    A lane reads one word to draw its row, one per round, and one more per round where requests end at random.
    """
    state = np.empty((4, GENERATORS), np.uint64)
    pairs = np.empty(GENERATORS, np.uint64)
    words = pairs.view(np.uint32)
    left = np.full(lanes, requests)
    reads = np.zeros(lanes, np.int64)  # 0: the row, 1: the run, 2: the end
    row = np.zeros(lanes, np.int64)
    position = np.zeros(lanes, np.int64)
    run = np.zeros(lanes, np.int64)
    seed_generators(keys, chunk, state)
    playing = lanes
    while playing > 0:
        next_words(state, pairs)
        for lane in range(lanes):
            if left[lane] == 0:
                continue
            word = np.int64(words[lane])
            if reads[lane] == 0:
                c = 0
                while c < classes.size and word >= classes[c]:
                    c += 1
                row[lane], position[lane], reads[lane] = c, 0, 1
                continue
            here = position[lane]
            drafted = min(kappa, tokens - 1 - here) if truncate else kappa
            if reads[lane] == 1:
                at = row[lane] + advance * here
                g = 0
                while g < drafted and word < thresholds[at, g]:
                    g += 1
                run[lane] = g
                if going.size > 0:
                    reads[lane] = 2
                    continue
                emitted = min(g + 1, tokens - here)
                over = here + emitted == tokens
            else:
                reads[lane] = 1
                emitted, over = cut_by_end(word, run[lane] + 1, going)
            add_round(sums[lane], drafted, run[lane], emitted)
            histogram[drafted, run[lane]] += 1
            position[lane] = here + emitted
            if over:
                reads[lane] = 0
                left[lane] -= 1
                playing -= left[lane] == 0


@njit
def count_urn(keys, chunk, lanes, requests, kappa, alpha, rho, tokens, going, truncate, sums, histogram):
    """As `count_requests` for a Beta rate: one word per examined draft, the threshold follows the outcomes so far."""
    state = np.empty((4, GENERATORS), np.uint64)
    pairs = np.empty(GENERATORS, np.uint64)
    words = pairs.view(np.uint32)
    left = np.full(lanes, requests)
    ending = np.zeros(lanes, np.bool_)
    position = np.zeros(lanes, np.int64)
    run = np.zeros(lanes, np.int64)
    accepted = np.zeros(lanes, np.int64)
    examined = np.zeros(lanes, np.int64)
    rest = 1.0 - rho
    seed_generators(keys, chunk, state)
    playing = lanes
    while playing > 0:
        next_words(state, pairs)
        for lane in range(lanes):
            if left[lane] == 0:
                continue
            word = np.int64(words[lane])
            here = position[lane]
            drafted = min(kappa, tokens - 1 - here) if truncate else kappa
            if not ending[lane]:
                if run[lane] < drafted:
                    weight = rest + examined[lane] * rho
                    chance = (alpha * rest + accepted[lane] * rho) / weight if weight > 0.0 else alpha
                    examined[lane] += 1
                    if word < np.int64(np.floor(chance * 4294967296.0 + 0.5)):
                        accepted[lane] += 1
                        run[lane] += 1
                        if run[lane] < drafted:
                            continue
                if going.size > 0:
                    ending[lane] = True
                    continue
                emitted = min(run[lane] + 1, tokens - here)
                over = here + emitted == tokens
            else:
                ending[lane] = False
                emitted, over = cut_by_end(word, run[lane] + 1, going)
            add_round(sums[lane], drafted, run[lane], emitted)
            histogram[drafted, run[lane]] += 1
            position[lane] = here + emitted
            run[lane] = 0
            if over:
                position[lane], accepted[lane], examined[lane] = 0, 0, 0
                left[lane] -= 1
                playing -= left[lane] == 0


@njit
def count_dense(keys, chunk, lanes, repeats, kappa, chances, offsets, truncate, sums, histogram):
    """Lane l replays request 64·chunk + l ``repeats`` times: one word per examined draft, by output position."""
    state = np.empty((4, GENERATORS), np.uint64)
    pairs = np.empty(GENERATORS, np.uint64)
    words = pairs.view(np.uint32)
    left = np.full(lanes, repeats)
    position = np.zeros(lanes, np.int64)
    run = np.zeros(lanes, np.int64)
    seed_generators(keys, chunk, state)
    playing = lanes
    while playing > 0:
        next_words(state, pairs)
        for lane in range(lanes):
            if left[lane] == 0:
                continue
            first = offsets[2 * GENERATORS * chunk + lane]
            tokens = offsets[2 * GENERATORS * chunk + lane + 1] - first
            here = position[lane]
            drafted = min(kappa, tokens - 1 - here) if truncate else kappa
            if run[lane] < drafted:
                at = min(here + run[lane], tokens - 1)  # past the end the last chance is repeated
                if np.int64(words[lane]) < chances[first + at]:
                    run[lane] += 1
                    if run[lane] < drafted:
                        continue
            emitted = min(run[lane] + 1, tokens - here)
            add_round(sums[lane], drafted, run[lane], emitted)
            histogram[drafted, run[lane]] += 1
            run[lane] = 0
            position[lane] = here + emitted
            if position[lane] == tokens:
                position[lane] = 0
                left[lane] -= 1
                playing -= left[lane] == 0


@njit
def cut_by_end(word, offered, going):
    """Tokens emitted out of ``offered`` when the sequence may end after each, and whether it ended."""
    outlived = 0
    while outlived < offered and word < going[outlived]:
        outlived += 1
    return min(outlived + 1, offered), outlived < offered


@njit
def count_steps(keys, chunk, lanes, rounds, kappa, cells, after_reject, after_full, start, runs):
    """``runs[lane, a]`` += rounds with accepted length a of a hidden state that moves with every draft.

    A round reads two words, whose 64 bits seed one splitmix64 value per draft (and one for the move between windows),
    so that draft j of round r meets the same value for every κ.
    """
    state = np.empty((4, GENERATORS), np.uint64)
    pairs = np.empty(GENERATORS, np.uint64)
    words = pairs.view(np.uint32)
    high = np.empty(lanes, np.uint64)
    hidden = np.empty(lanes, np.int64)
    states = cells.shape[0]
    seed_generators(keys, chunk, state)
    next_words(state, pairs)
    for lane in range(lanes):
        hidden[lane] = locate(np.int64(words[lane]), start)
    for _ in range(rounds):
        next_words(state, pairs)
        for lane in range(lanes):
            high[lane] = np.uint64(words[lane]) << np.uint64(32)
        next_words(state, pairs)
        for lane in range(lanes):
            seed = high[lane] | np.uint64(words[lane])
            here = hidden[lane]
            a = 0
            full = True
            while a < kappa:
                cell = locate(draft_word(seed, a + 1), cells[here])
                if cell >= states:
                    here = cell - states
                    full = False
                    break
                here = cell
                a += 1
            runs[lane, a] += 1
            between = draft_word(seed, 0)
            hidden[lane] = locate(between, after_full[here]) if full else locate(between, after_reject[here])


@njit
def draft_word(seed, index):
    """32 bits for one draft of a round: the high half of splitmix64 at ``seed`` + index·GOLD."""
    z = seed + np.uint64(GOLD) * np.uint64(index)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(MIX_1)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(MIX_2)
    return np.int64((z ^ (z >> np.uint64(31))) >> np.uint64(32))


@njit
def locate(word, cumulative):
    """Index of the first cumulative threshold above the word; the last is 2³²."""
    low, high = 0, cumulative.size - 1
    while low < high:
        middle = (low + high) // 2
        if word < cumulative[middle]:
            high = middle
        else:
            low = middle + 1
    return low


@njit
def add_round(total, drafted, accepted, emitted):
    """Add one round to the eight totals of its lane (order of `simspec.kernels.tally.SUMS`)."""
    total[0] += 1
    total[1] += accepted
    total[2] += accepted * accepted
    if accepted < drafted:
        total[3] += 1
        total[4] += accepted
    if accepted == 0:
        total[5] += 1
    total[6] += drafted
    total[7] += emitted


@njit
def count_tokens(
    keys, chunk, lanes, rounds, kappa, accept, reject, first, hidden, start, tokens, truncate, accepted, judged
):
    """The checking kernel: one word per draft token and a verdict for every draft, also after a rejection.

    ``accepted[lane, drafted, a]`` counts rounds by accepted length, ``judged[lane, s]`` by the number of all κ drafts
    that would have been accepted.  A lane plays ``rounds`` rounds, or that many generations if ``tokens`` > 0.
    ``hidden[0]`` (``[1]``) chain steps pass unseen after a rejection (full window).
    """
    state = np.empty((4, GENERATORS), np.uint64)
    pairs = np.empty(GENERATORS, np.uint64)
    words = pairs.view(np.uint32)
    position = np.zeros(lanes, np.int64)
    left = np.full(lanes, rounds)
    last = np.zeros(lanes, np.bool_)
    pending = np.zeros(lanes, np.int64)
    run = np.zeros(lanes, np.int64)
    alive = np.zeros(lanes, np.bool_)
    passed = np.zeros(lanes, np.int64)
    seed_generators(keys, chunk, state)
    next_words(state, pairs)
    for lane in range(lanes):
        last[lane] = np.int64(words[lane]) < start
        pending[lane] = hidden[1] if last[lane] else hidden[0]
    most_hidden = max(hidden[0], hidden[1])
    playing = lanes
    while playing > 0:
        for step in range(most_hidden):  # all lanes read a word, only those with steps left move
            next_words(state, pairs)
            for lane in range(lanes):
                if step < pending[lane]:
                    limit = accept[0] if last[lane] else reject[0]
                    last[lane] = np.int64(words[lane]) < limit
        for lane in range(lanes):
            run[lane], passed[lane], alive[lane] = 0, 0, True
        for j in range(kappa):
            next_words(state, pairs)
            for lane in range(lanes):
                at = position[lane] + j if tokens > 0 else j
                if at >= accept.size:
                    continue
                limit = accept[at] if last[lane] else reject[at]
                if j == 0 and first >= 0:
                    limit = first
                last[lane] = np.int64(words[lane]) < limit
                passed[lane] += last[lane]
                if alive[lane] and last[lane]:
                    run[lane] += 1
                else:
                    alive[lane] = False
        for lane in range(lanes):
            if left[lane] == 0:
                continue
            drafted = min(kappa, tokens - 1 - position[lane]) if tokens > 0 and truncate else kappa
            got = min(run[lane], drafted)
            accepted[lane, drafted, got] += 1
            judged[lane, passed[lane]] += 1
            last[lane] = got == kappa
            pending[lane] = hidden[1] if last[lane] else hidden[0]
            position[lane] += got + 1
            if position[lane] >= tokens:  # always so without an end of output: every round counts
                position[lane] = 0
                left[lane] -= 1
                playing -= left[lane] == 0
