"""The checking kernel: token by token, from words of its own; kernels that read survival tables are held to it."""

import numpy as np

from simspec.kernels.jit import njit
from simspec.kernels.words import GENERATORS, next_words, seed_generators


@njit
def count_tokens(
    keys, chunk, lanes, rounds, kappa, accept, reject, first, hidden, start, tokens, truncate, accepted, judged
):
    """One word per draft token and a verdict for every draft, also after a rejection.

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
