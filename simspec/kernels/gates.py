"""When does drafting end, and when is it tried again?  Two passes of a gate: by stretches, and by a rolling mean.

``rule(kappa, asked, drafted, accepted, full, state, figures, words)`` as in `simspec.kernels.policies`.  figures:
rounds of a stretch or of the mean, least value, rounds after which a closed gate opens again (0: never), rounds before
it is judged then, κ when it opens, whether the mean is of lengths.  state: closed rounds, rounds before the next
judgement; then as each pass says.
"""

import numpy as np

from simspec.kernels.jit import njit
from simspec.kernels.words import LANES


def by_gate(kappa, asked, drafted, accepted, full, state, figures, words):
    """Closed where accepted over drafted of a stretch is too small.  state: also rounds, accepted, drafted."""
    for lane in range(LANES):
        if kappa[lane] == 0:
            if asked[lane] == 0 and opens(state, lane, figures):
                kappa[lane] = np.int32(figures[4])
                state[2, lane], state[3, lane], state[4, lane] = 0.0, 0.0, 0.0
            continue
        if asked[lane] == 0:  # late news of a time when it was closed
            continue
        state[2, lane] += 1.0
        state[3, lane] += np.float64(accepted[lane])
        state[4, lane] += np.float64(drafted[lane])
        if state[2, lane] >= state[1, lane]:
            if state[3, lane] < figures[1] * state[4, lane]:
                kappa[lane] = np.int32(0)
            state[1, lane] = figures[0]
            state[2, lane], state[3, lane], state[4, lane] = 0.0, 0.0, 0.0


def by_rolling_gate(kappa, asked, drafted, accepted, full, state, figures, words):
    """Closed where the mean over the last rounds that drafted is too small.

    state: also rounds since it opened, sum, and the values of the last rounds in a ring.
    """
    window = np.int64(figures[0])
    for lane in range(LANES):
        if kappa[lane] == 0:
            if asked[lane] == 0 and opens(state, lane, figures):
                kappa[lane] = np.int32(figures[4])
                state[2, lane], state[3, lane] = 0.0, 0.0
            continue
        if drafted[lane] == 0:
            continue
        value = np.float64(accepted[lane])
        if figures[5] == 0.0:
            value /= np.float64(drafted[lane])
        slot = 4 + np.int64(state[2, lane]) % window
        state[3, lane] += value
        if state[2, lane] >= figures[0]:
            state[3, lane] -= state[slot, lane]
        state[slot, lane] = value
        state[2, lane] += 1.0
        if state[2, lane] >= state[1, lane] and state[3, lane] / min(state[2, lane], figures[0]) < figures[1]:
            kappa[lane] = np.int32(0)


@njit
def opens(state, lane, figures):
    """Count a closed round; whether the gate opens again after it."""
    state[0, lane] += 1.0
    if figures[2] == 0.0 or state[0, lane] < figures[2]:
        return False
    state[0, lane], state[1, lane] = 0.0, figures[3]
    return True
