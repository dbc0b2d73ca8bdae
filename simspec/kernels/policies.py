"""How does a policy choose the next κ?  One pass over the lanes each; the general loop calls them.

``rule(kappa, asked, drafted, accepted, full, state, figures, words)``: of the round that is judged, the κ asked for,
drafts made (fewer in the last round of a request), accepted length, whether nothing was rejected.  ``kappa``, the κ in
play, is another one than ``asked`` where news come late; it and ``state`` are changed in place.  Only + − × ÷ √ and
functions built from them, in one order, so that `simspec.kernels.policy_twin` finds the same bits.
"""

import numpy as np

from simspec.kernels.jit import njit
from simspec.kernels.words import GOLD, LANES, mix

_GOLD = np.uint64(GOLD)
LN2 = 0.6931471805599453
TERMS = 14
"""Terms of the series of a logarithm."""
HALVINGS, POWERS = 10, 12
"""eˣ: halvings of the argument, and terms."""
UNIT = 2.0**-53


def idle(kappa, asked, drafted, accepted, full, state, figures, words):
    """κ stays: what stands in the place of a rule where there is none."""


def by_position(kappa, asked, drafted, accepted, full, state, figures, words):
    """A draft length per output position.  state: tokens out.  figures: κ by position, the last for all others."""
    last = figures.size - 1
    for lane in range(LANES):
        state[0, lane] += np.float64(accepted[lane]) + 1.0
        kappa[lane] = np.int32(figures[min(np.int64(state[0, lane]), last)])


def by_estimate(kappa, asked, drafted, accepted, full, state, figures, words):
    """An exponential average of verdicts, looked up.

    state: estimate.  figures: number p of powers of λ, them, number c of cuts, them, and c + 1 draft lengths; a length
    is taken where so many cuts are at most the estimate.
    """
    powers = np.int64(figures[0])
    cuts = np.int64(figures[1 + powers])
    first = 2 + powers
    smoothing = figures[2]
    estimate = state[0]
    for lane in range(LANES):
        after = 1.0 - (1.0 - estimate[lane]) * figures[1 + accepted[lane]]
        estimate[lane] = after if full[lane] != 0 else after * smoothing
        kappa[lane] = np.int32(0)
    for cut in range(cuts):
        level = figures[first + cut]
        for lane in range(LANES):
            kappa[lane] = np.int32(kappa[lane] + np.int32(estimate[lane] >= level))
    for lane in range(LANES):
        kappa[lane] = np.int32(figures[first + cuts + kappa[lane]])


def by_length(kappa, asked, drafted, accepted, full, state, figures, words):
    """An average of accepted lengths against thresholds between a few draft lengths.

    state: average, rounds.  figures: weight of the new length, warm-up, interval, number n of lengths, them, thresholds
    at or below which length i + 1 falls to i, thresholds above which length i rises to i + 1 (n − 1 each).
    """
    weight, warm, interval, many = figures[0], figures[1], figures[2], np.int64(figures[3])
    down, up = 4 + many, 4 + 2 * many - 1
    for lane in range(LANES):
        if asked[lane] > 0:
            state[0, lane] = (1.0 - weight) * state[0, lane] + weight * np.float64(accepted[lane])
        state[1, lane] += 1.0
        past = state[1, lane] - warm
        if past <= 0.0 or past - interval * np.floor(past / interval) != 0.0:
            continue
        here = 0
        while figures[4 + here] != kappa[lane]:
            here += 1
        if kappa[lane] == 0:
            here = min(here + 1, many - 1)
            if state[0, lane] < 0.0:
                state[0, lane] = figures[4 + here] - 1.0
        else:
            began = here
            while here > 0 and state[0, lane] <= figures[down + here - 1]:
                here -= 1
            while here >= began and here < many - 1 and state[0, lane] > figures[up + here]:
                here += 1
        kappa[lane] = np.int32(figures[4 + here])


def by_survival(kappa, asked, drafted, accepted, full, state, figures, words):
    """The draft length with the most tokens per cost, by rates per depth of the drafts that were examined.

    state: rounds, then examined and accepted per depth.  figures: longest κ, what a round leaves of the past, rounds
    between choices, lowest κ, prices of 0 … κ drafts, the same after a rejection.
    """
    longest, keep, interval, lowest = np.int64(figures[0]), figures[1], figures[2], np.int64(figures[3])
    for lane in range(LANES):
        examined = accepted[lane] + 1 - full[lane]
        for j in range(longest):
            state[1 + j, lane] = keep * state[1 + j, lane] + (1.0 if j < examined else 0.0)
            state[1 + longest + j, lane] = keep * state[1 + longest + j, lane] + (1.0 if j < accepted[lane] else 0.0)
        state[0, lane] += 1.0
        if state[0, lane] < interval:
            continue
        state[0, lane] = 0.0
        best, most, alive, tokens = lowest, -1.0, 1.0, 1.0
        for j in range(longest + 1):
            if j > 0:
                alive *= state[longest + j, lane] / state[j, lane]
                tokens += alive
            rejected = figures[5 + longest + j] - figures[4 + j]
            speed = tokens / (figures[4 + j] + rejected * (1.0 - alive))
            if j >= lowest and speed > most:
                best, most = j, speed
        kappa[lane] = np.int32(best)


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


def by_sample(kappa, asked, drafted, accepted, full, state, figures, words):
    """Thompson: a rate is drawn from what is known of it, and looked up as in `by_estimate`.

    The law of the rate is normal with the mean and variance of the Beta law of the counts; a normal number is the sum
    of twelve even ones.  state: accepted and rejected, prior included.  figures: what a round leaves of the past,
    number c of cuts, them, and c + 1 draft lengths.
    """
    keep, cuts = figures[0], np.int64(figures[1])
    for lane in range(LANES):
        state[0, lane] = keep * state[0, lane] + np.float64(accepted[lane])
        state[1, lane] = keep * state[1, lane] + np.float64(1 - full[lane])
        total = state[0, lane] + state[1, lane]
        mean = state[0, lane] / total
        normal = -6.0
        for i in range(12):
            normal += np.float64(mix(words[lane] + _GOLD * np.uint64(i + 1)) >> np.uint64(11)) * UNIT
        rate = mean + normal * np.sqrt(mean * (1.0 - mean) / (total + 1.0))
        place = 0
        while place < cuts and rate >= figures[2 + place]:
            place += 1
        kappa[lane] = np.int32(figures[2 + cuts + place])


def by_gate(kappa, asked, drafted, accepted, full, state, figures, words):
    """Drafting ends for good once accepted over drafted of a stretch of rounds is too small.

    state: rounds of the stretch, accepted, drafted.  figures: rounds of a stretch, least share.
    """
    for lane in range(LANES):
        state[0, lane] += 1.0
        state[1, lane] += np.float64(accepted[lane])
        state[2, lane] += np.float64(drafted[lane])
        if state[0, lane] >= figures[0]:
            if state[1, lane] < figures[1] * state[2, lane]:
                kappa[lane] = np.int32(0)
            state[0, lane], state[1, lane], state[2, lane] = 0.0, 0.0, 0.0


@njit
def logarithm(x):
    """ln x for x ≥ 1: halved until it is at most 1.5, then 2·artanh((x − 1)/(x + 1)) as a series."""
    many = 0.0
    while x > 1.5:
        x *= 0.5
        many += 1.0
    y = (x - 1.0) / (x + 1.0)
    square, power, total = y * y, y, 0.0
    for k in range(TERMS):
        total += power / np.float64(2 * k + 1)
        power *= square
    return many * LN2 + 2.0 * total


@njit
def exponential(x):
    """eˣ for x ≤ 0 by halving the argument, a Taylor sum, and squaring back; 0 from −700 on."""
    if x < -700.0:
        return 0.0
    y = x / 1024.0
    term, total = 1.0, 1.0
    for n in range(1, POWERS):
        term = term * y / np.float64(n)
        total += term
    for _ in range(HALVINGS):
        total *= total
    return total


RULES = {
    "": idle,
    "position": by_position,
    "estimate": by_estimate,
    "length": by_length,
    "survival": by_survival,
    "bound": by_bound,
    "window": by_window,
    "weight": by_weight,
    "sample": by_sample,
    "gate": by_gate,
}
