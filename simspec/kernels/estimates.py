"""How does κ follow from an exponential average?  Three readings of what is averaged, one table of draft lengths.

``rule(kappa, asked, drafted, accepted, full, state, figures, words)`` as in `simspec.kernels.policies`.  state:
estimate.  figures: number p of powers 1, λ, λ², …, them, number c of cuts, them, and c + 1 draft lengths; a length is
taken where so many cuts are at most the estimate.
"""

import numpy as np

from simspec.kernels.jit import njit
from simspec.kernels.words import LANES


def by_estimate(kappa, asked, drafted, accepted, full, state, figures, words):
    """Every examined draft is a verdict: A acceptances, then a rejection unless all were accepted."""
    smoothing = figures[2]
    estimate = state[0]
    for lane in range(LANES):
        after = 1.0 - (1.0 - estimate[lane]) * figures[1 + accepted[lane]]
        estimate[lane] = after if full[lane] != 0 else after * smoothing
    look_up(kappa, estimate, figures)


def by_verdicts(kappa, asked, drafted, accepted, full, state, figures, words):
    """Every draft is a verdict: those behind a rejection count as rejected, though nobody judged them."""
    estimate = state[0]
    for lane in range(LANES):
        after = 1.0 - (1.0 - estimate[lane]) * figures[1 + accepted[lane]]
        estimate[lane] = after * figures[1 + drafted[lane] - accepted[lane]]
    look_up(kappa, estimate, figures)


def by_share(kappa, asked, drafted, accepted, full, state, figures, words):
    """A round is one number, accepted over drafted; a round without drafts tells nothing."""
    smoothing = figures[2]
    estimate = state[0]
    for lane in range(LANES):
        if drafted[lane] > 0:
            share = np.float64(accepted[lane]) / np.float64(drafted[lane])
            estimate[lane] = smoothing * estimate[lane] + (1.0 - smoothing) * share
    look_up(kappa, estimate, figures)


@njit
def look_up(kappa, estimate, figures):
    """The draft length where so many cuts are at most the estimate; cut by cut, so that lanes go in vectors."""
    powers = np.int64(figures[0])
    cuts, first = np.int64(figures[1 + powers]), 2 + powers
    for lane in range(LANES):
        kappa[lane] = np.int32(0)
    for cut in range(cuts):
        level = figures[first + cut]
        for lane in range(LANES):
            kappa[lane] = np.int32(kappa[lane] + np.int32(estimate[lane] >= level))
    for lane in range(LANES):
        kappa[lane] = np.int32(figures[first + cuts + kappa[lane]])
