"""How does a policy choose the next κ?  One pass over the lanes each; the general loop calls them.

``rule(kappa, asked, drafted, accepted, full, state, figures, words)``: of the round that is judged, the κ asked for,
drafts made (fewer in the last round of a request), accepted length, whether nothing was rejected.  ``kappa``, the κ in
play, is another one than ``asked`` where news come late; it and ``state`` are changed in place.  Only + − × ÷ √ and
functions built from them, in one order, so that the twins (`simspec.kernels.policy_twin`) find the same bits.
"""

import numpy as np

from simspec.kernels.bandits import by_bound, by_losses, by_radius, by_sample, by_weight, by_window
from simspec.kernels.estimates import by_estimate, by_share, by_verdicts
from simspec.kernels.gates import by_gate, by_rolling_gate
from simspec.kernels.words import LANES


def idle(kappa, asked, drafted, accepted, full, state, figures, words):
    """κ stays: what stands in the place of a rule where there is none."""


def by_position(kappa, asked, drafted, accepted, full, state, figures, words):
    """A draft length per output position.  state: tokens out.  figures: κ by position, the last for all others."""
    last = figures.size - 1
    for lane in range(LANES):
        state[0, lane] += np.float64(accepted[lane]) + 1.0
        kappa[lane] = np.int32(figures[min(np.int64(state[0, lane]), last)])


def by_length(kappa, asked, drafted, accepted, full, state, figures, words):
    """An average of accepted lengths against thresholds between a few draft lengths.

    state: average, rounds.  figures: weight of the new length, warm-up, interval, ceiling over the average (0: none),
    number n of lengths, them, thresholds at or below which length i + 1 falls to i, thresholds above which length i
    rises to i + 1 (n − 1 each).
    """
    weight, warm, interval, ceiling, many = figures[0], figures[1], figures[2], figures[3], np.int64(figures[4])
    own, down, up = 5, 5 + many, 5 + 2 * many - 1
    for lane in range(LANES):
        if asked[lane] > 0:
            state[0, lane] = (1.0 - weight) * state[0, lane] + weight * np.float64(accepted[lane])
        state[1, lane] += 1.0
        past = state[1, lane] - warm
        if past <= 0.0 or past - interval * np.floor(past / interval) != 0.0:
            continue
        here = 0
        while figures[own + here] != kappa[lane]:
            here += 1
        if kappa[lane] == 0:
            here = min(here + 1, many - 1)
            if state[0, lane] < 0.0:
                state[0, lane] = figures[own + here] - 1.0
        else:
            began = here
            while here > 0 and state[0, lane] <= figures[down + here - 1]:
                here -= 1
            while here >= began and here < many - 1 and state[0, lane] > figures[up + here]:
                here += 1
            if ceiling > 0.0 and here <= began:
                top = max(np.ceil(ceiling * state[0, lane]), 1.0)
                while here > 0 and figures[own + here] > top:
                    here -= 1
        kappa[lane] = np.int32(figures[own + here])


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


RULES = {
    "": idle,
    "position": by_position,
    "estimate": by_estimate,
    "verdicts": by_verdicts,
    "share": by_share,
    "length": by_length,
    "survival": by_survival,
    "bound": by_bound,
    "window": by_window,
    "radius": by_radius,
    "weight": by_weight,
    "losses": by_losses,
    "sample": by_sample,
    "gate": by_gate,
    "rolling gate": by_rolling_gate,
}
