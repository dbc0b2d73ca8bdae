"""The counting kernels: words in, integers out.  Every kernel plays one chunk: up to 64 lanes, ``rounds`` rounds each.

``sums[lane]`` holds, for one lane and one κ, the eight totals of `simspec.kernels.tally.SUMS`; ``histogram[drafted,
accepted]`` counts rounds of the whole chunk.
"""

import numpy as np

from simspec.kernels.jit import njit
from simspec.kernels.words import GENERATORS, next_words, seed_generators


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
    """As `count_fresh` for windows whose row is set by the outcome before; ``runs[lane, κ]`` counts full windows."""
    kappa = thresholds.shape[1]
    state = np.empty((4, GENERATORS), np.uint64)
    pairs = np.empty(GENERATORS, np.uint64)
    words = pairs.view(np.uint32)
    row = np.empty(lanes, np.int64)
    seed_generators(keys, chunk, state)
    next_words(state, pairs)
    for lane in range(lanes):
        row[lane] = on_full if np.int64(words[lane]) < start else on_reject
    for _ in range(rounds):
        next_words(state, pairs)
        for lane in range(lanes):
            word = np.int64(words[lane])
            g = 0
            while g < kappa and word < thresholds[row[lane], g]:
                g += 1
            runs[lane, g] += 1
            row[lane] = on_full if g == kappa else on_reject


@njit
def count_generations(keys, chunk, lanes, generations, kappa, thresholds, tokens, truncate, sums, histogram):
    """Each lane plays ``generations`` outputs of ``tokens`` tokens, one after another; row = output position."""
    state = np.empty((4, GENERATORS), np.uint64)
    pairs = np.empty(GENERATORS, np.uint64)
    words = pairs.view(np.uint32)
    position = np.zeros(lanes, np.int64)
    left = np.full(lanes, generations)
    seed_generators(keys, chunk, state)
    next_words(state, pairs)
    playing = lanes
    while playing > 0:
        next_words(state, pairs)
        for lane in range(lanes):
            if left[lane] == 0:
                continue
            here = position[lane]
            word = np.int64(words[lane])
            drafted = min(kappa, tokens - 1 - here) if truncate else kappa
            g = 0
            while g < drafted and word < thresholds[here, g]:
                g += 1
            emitted = min(g + 1, tokens - here)
            add_round(sums[lane], drafted, g, emitted)
            histogram[drafted, g] += 1
            position[lane] = here + emitted
            if position[lane] == tokens:
                position[lane] = 0
                left[lane] -= 1
                playing -= left[lane] == 0


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
