"""A pool that learns: drafts follow what came after each token when it was last emitted; the target draws and decides.

Words: word i of lane l in chunk c is that of the address 64·c + l, 63 bits of it against cumulative thresholds: the
i-th token of the lane's text, whatever κ.  So κ changes how the text is cut into rounds, never the text.
"""

import numpy as np

from simspec.kernels.jit import njit
from simspec.kernels.sampling import pick
from simspec.kernels.words import LANES, aside, word_of

_U = np.uint64
UNKNOWN = -1


@njit
def count_pool(keys, chunk, lanes, skipped, rounds, kappa, start, target, guide, shift, counts):
    """``counts[lane, drafted·(kappa + 1) + accepted]`` += rounds; the first ``skipped`` of a lane are not counted.

    Parameters
    ----------
    start, target : uint64 (tokens,), (tokens, tokens)
        Cumulative thresholds of 63 bits: the first token of a text, the next one by the last.
    guide, shift
        As in `simspec.kernels.token_tables.Lookup`.
    """
    last_seen = np.empty(target.shape[0], np.int64)
    for lane in range(lanes):
        base = aside(keys, _U(LANES * chunk + lane))
        last_seen[:] = UNKNOWN
        first = word_of(base, 0) >> _U(1)
        here, place = 0, 1
        while first >= start[here]:
            here += 1
        for played in range(skipped + rounds):
            drafted, token = 0, here
            while drafted < kappa and last_seen[token] != UNKNOWN:
                token = last_seen[token]
                drafted += 1
            accepted, judging = 0, True
            while judging:  # a token of the draft, or the one that ends the round
                following = pick(target, guide, shift, here, word_of(base, place))
                judging = accepted < drafted and following == last_seen[here]
                last_seen[here] = following
                here = following
                place += 1
                accepted += np.int64(judging)
            if played >= skipped:
                counts[lane, drafted * (kappa + 1) + accepted] += 1
