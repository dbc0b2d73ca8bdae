"""How does a bandit choose the next κ?  Passes over the lanes like those of `simspec.kernels.policies`; κ is an arm.

``rule(kappa, asked, drafted, accepted, full, state, figures, words)`` as there.  An arm is credited with the round that
asked for it; a draft that was cut at the end of a request tells nothing of its arm.
"""

import numpy as np

from simspec.kernels.jit import njit
from simspec.kernels.series import UNIT, beta_draw, exponential, logarithm
from simspec.kernels.words import LANES


@njit
def worth(state, lane, longest, arm):
    """(ΣT − Ŝ·ΣC)/n of an arm that was played; Ŝ = all tokens over all costs."""
    rate = state[1, lane] / state[2, lane]
    tokens, cost = state[3 + longest + 1 + arm, lane], state[3 + 2 * (longest + 1) + arm, lane]
    return (tokens - rate * cost) / state[3 + arm, lane]


@njit
def put(state, figures, lane, arm, accepted, full, sign):
    """Add a round to its arm, or take it away again: prices are whole ticks, so sums are exact."""
    longest = np.int64(figures[0])
    tokens = np.float64(accepted) + 1.0
    cost = figures[4 + arm] if full != 0 else figures[5 + longest + arm]
    state[0, lane] += sign
    state[1, lane] += sign * tokens
    state[2, lane] += sign * cost
    state[3 + arm, lane] += sign
    state[3 + longest + 1 + arm, lane] += sign * tokens
    state[3 + 2 * (longest + 1) + arm, lane] += sign * cost


@njit
def highest_bound(state, figures, lane):
    """The arm with the highest upper confidence bound; an arm never played comes first."""
    longest, width, lowest = np.int64(figures[0]), figures[2], np.int64(figures[3])
    log, best, most = logarithm(max(state[0, lane], 1.0)), lowest, -1e300
    for arm in range(lowest, longest + 1):
        bound = 1e300
        if state[3 + arm, lane] > 1e-9:
            bound = worth(state, lane, longest, arm) + width * np.sqrt(log / state[3 + arm, lane])
        if bound > most:
            best, most = arm, bound
    return best


def by_bound(kappa, asked, drafted, accepted, full, state, figures, words):
    """Upper confidence bounds, perhaps discounted; arms are draft lengths, and a draft that was cut tells nothing.

    state: rounds, tokens, cost; then rounds, tokens and cost per arm.  figures: longest κ, what a round leaves of the
    past, width, lowest κ, prices as in `by_survival`.
    """
    rows, keep = 3 + 3 * (np.int64(figures[0]) + 1), figures[1]
    for lane in range(LANES):
        if keep != 1.0:
            for row in range(rows):
                state[row, lane] *= keep
        if drafted[lane] == asked[lane]:
            put(state, figures, lane, np.int64(asked[lane]), accepted[lane], full[lane], 1.0)
        if state[0, lane] != 0.0:
            kappa[lane] = np.int32(highest_bound(state, figures, lane))


def by_window(kappa, asked, drafted, accepted, full, state, figures, words):
    """The same over the last so many rounds.

    state: as in `by_bound`; then rounds so far, and of the last ones 256κ + 2A + full each, −1: none.  figures: as in
    `by_bound`, with the number of rounds in the second place.
    """
    window, many = np.int64(figures[1]), 3 + 3 * (np.int64(figures[0]) + 1)
    for lane in range(LANES):
        if drafted[lane] == asked[lane]:
            slot = many + 1 + np.int64(state[many, lane]) % window
            old = np.int64(state[slot, lane])
            if old >= 0:
                put(state, figures, lane, old // 256, old % 256 // 2, old % 2, -1.0)
            put(state, figures, lane, np.int64(asked[lane]), accepted[lane], full[lane], 1.0)
            state[slot, lane] = 256.0 * asked[lane] + 2.0 * accepted[lane] + full[lane]
            state[many, lane] += 1.0
        if state[0, lane] != 0.0:
            kappa[lane] = np.int32(highest_bound(state, figures, lane))


def by_weight(kappa, asked, drafted, accepted, full, state, figures, words):
    """EXP3: an arm is drawn by the exponential of its worth, each round counted over the chance that it had.

    state: rounds told of, tokens, cost, summed worth per arm, and the chances that the arms of the next rounds to be
    told of had, in a ring.  figures: longest κ, learning rate, share drawn evenly, lowest κ, prices as in
    `by_survival`, and of how many requests it is told before a κ that it draws is asked for.
    """
    longest, rate, even, lowest = np.int64(figures[0]), figures[1], figures[2], np.int64(figures[3])
    arms = np.float64(longest + 1 - lowest)
    span, chances = np.float64(longest + 1), 4 + longest
    waiting, members = state.shape[0] - chances, np.int64(figures[figures.size - 1])
    for lane in range(LANES):
        slot = chances + np.int64(state[0, lane]) % waiting
        arm = np.int64(asked[lane])
        if drafted[lane] == asked[lane]:
            tokens = np.float64(accepted[lane]) + 1.0
            cost = figures[4 + arm] if full[lane] != 0 else figures[5 + longest + arm]
            state[1, lane] += tokens
            state[2, lane] += cost
            gain = (tokens - state[1, lane] / state[2, lane] * cost) / span
            state[3 + arm, lane] += gain / state[slot, lane]
        top = state[3 + lowest, lane]
        for arm in range(lowest, longest + 1):
            top = max(top, state[3 + arm, lane])
        total = 0.0
        for arm in range(lowest, longest + 1):
            total += exponential(rate * (state[3 + arm, lane] - top))
        left, chosen, chance = np.float64(words[lane] >> np.uint64(11)) * UNIT, longest, 0.0
        for arm in range(lowest, longest + 1):
            chance = (1.0 - even) * exponential(rate * (state[3 + arm, lane] - top)) / total + even / arms
            chosen = arm
            left -= chance
            if left < 0.0:
                break
        state[0, lane] += 1.0
        if np.int64(state[0, lane]) % members == 0:  # this draw stands
            for told in range(members):
                state[slot - told, lane] = chance
        kappa[lane] = np.int32(chosen)


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
    ring.  figures: lowest and highest κ, ln K/K, and of how many requests it is told before a κ that it draws is
    asked for.
    """
    lowest, highest = np.int64(figures[0]), np.int64(figures[1])
    arms = highest - lowest + 1
    chances, members = 2 + arms, np.int64(figures[3])
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
        state[1, lane] += 1.0
        if np.int64(state[1, lane]) % members == 0:  # this draw stands
            for told in range(members):
                state[slot - told, lane] = chance
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
