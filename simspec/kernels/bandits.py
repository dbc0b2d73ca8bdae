"""How does a bandit choose the next κ?  Passes over the lanes like those of `simspec.kernels.policies`; κ is an arm.

``rule(kappa, asked, drafted, accepted, full, state, figures, words)`` as there.  An arm is credited with the round that
asked for it; a draft that was cut at the end of a request tells nothing of its arm.
"""

import numpy as np

from simspec.kernels.jit import njit
from simspec.kernels.series import UNIT, beta_draw, exponential, logarithm
from simspec.kernels.words import LANES


@njit
def first_highest(state, lane, rows, arms, radius, log_factor):
    """UCBSpec: the first arm never played, else the one with the highest mean and radius, equation (6) of the paper."""
    rounds, best, most = state[0, lane], 0, -1e300
    for arm in range(arms):
        n = state[1 + arm, lane]
        if n == 0.0:
            return arm
        log = logarithm(log_factor * (rounds * rounds) * np.sqrt(1.0 + n))
        bound = state[rows + arm, lane] / n + radius * np.sqrt((1.0 + n) / (n * n) * (1.0 + 2.0 * log))
        if bound > most:
            best, most = arm, bound
    return best


def by_radius(kappa, asked, drafted, accepted, full, state, figures, words):
    """UCBSpec: highest mean reward plus radius.

    state: rounds, then rounds and summed rewards per arm.  figures: lowest and highest κ, half the range of rewards,
    number of arms over δ, what a reward is divided by after 0 … highest drafts, and the same after a rejection.
    """
    lowest, highest = np.int64(figures[0]), np.int64(figures[1])
    arms = highest - lowest + 1
    for lane in range(LANES):
        if drafted[lane] == asked[lane]:
            arm = np.int64(asked[lane]) - lowest
            price = figures[4 + asked[lane]] if full[lane] != 0 else figures[5 + highest + asked[lane]]
            state[0, lane] += 1.0
            state[1 + arm, lane] += 1.0
            state[1 + arms + arm, lane] += (np.float64(accepted[lane]) + 1.0) / price
        if state[0, lane] != 0.0:
            arm = first_highest(state, lane, 1 + arms, arms, figures[2], figures[3])
            kappa[lane] = np.int32(lowest + arm)


def by_losses(kappa, asked, drafted, accepted, full, state, figures, words):
    """EXP3Spec: an arm is drawn by the exponential of −η_t times its losses, each over the chance that it had.

    state: rounds counted, rounds told of, summed losses per arm, and the chances of the rounds to be told of, in a
    ring.  figures: lowest and highest κ, ln K/K.
    """
    lowest, highest = np.int64(figures[0]), np.int64(figures[1])
    arms = highest - lowest + 1
    chances = 2 + arms
    waiting = state.shape[0] - chances
    for lane in range(LANES):
        slot = chances + np.int64(state[1, lane]) % waiting
        if drafted[lane] == asked[lane]:
            lost = np.float64(highest - np.int64(accepted[lane])) / np.float64(highest)
            state[2 + asked[lane] - lowest, lane] += lost / state[slot, lane]
            state[0, lane] += 1.0
        rate = np.sqrt(figures[2] / (state[0, lane] + 1.0))
        least = state[2, lane]
        for arm in range(arms):
            least = min(least, state[2 + arm, lane])
        total = 0.0
        for arm in range(arms):
            total += exponential(rate * (least - state[2 + arm, lane]))
        left, chosen, chance = np.float64(words[lane] >> np.uint64(11)) * UNIT, 0, 1.0
        for arm in range(arms):
            share = exponential(rate * (least - state[2 + arm, lane])) / total
            if share > 0.0:  # an arm without a chance is not the last one either, whatever the rounding
                chosen, chance = arm, share
            left -= share
            if left < 0.0:
                break
        state[slot, lane] = chance
        state[1, lane] += 1.0
        kappa[lane] = np.int32(lowest + chosen)


def by_sample(kappa, asked, drafted, accepted, full, state, figures, words):
    """Thompson: a rate is drawn from its Beta law, and looked up as in `simspec.kernels.policies.by_estimate`.

    state: accepted and rejected.  figures: what a round leaves of the past, accepted and rejected known beforehand,
    number c of cuts, them, and c + 1 draft lengths.
    """
    keep, cuts = figures[0], np.int64(figures[3])
    for lane in range(LANES):
        state[0, lane] = keep * state[0, lane] + np.float64(accepted[lane])
        state[1, lane] = keep * state[1, lane] + np.float64(1 - full[lane])
        rate = beta_draw(words[lane], figures[1] + state[0, lane], figures[2] + state[1, lane])
        place = 0
        while place < cuts and rate >= figures[4 + place]:
            place += 1
        kappa[lane] = np.int32(figures[4 + cuts + place])
