"""What happens to requests that are served together?  Groups of neighbouring lanes: steps of a batch, one κ for all.

A batch moves in lock step: its step is as long as the most drafts among its lanes, and rolls back if any lane rejects.
"""

import numpy as np

from simspec.kernels.fields import DRAFT, DRAFTED, FULL, HOME, OWN, RULE, SINCE, TOLD
from simspec.kernels.jit import njit
from simspec.kernels.words import LANES

_ONE = np.int32(1)
KAPPA, ASKED, MADE, KEPT, WHOLE = range(1 + TOLD)
"""Rows of what a batch is told of one lane: the κ in play, then as everywhere κ asked for, drafts, accepted, full."""


@njit
def count_steps(lanes, batch, nowhere, steps):
    """Each unfinished lane counts its round by the step that it was in: ``steps[lane, 2·largest + rejected]``."""
    for first in range(0, LANES, batch):
        largest, full = np.int32(0), _ONE
        for lane in range(first, first + batch):
            largest = max(largest, lanes[DRAFTED + lane])
            full = min(full, lanes[FULL + lane])
        kind = 2 * np.int64(largest) + np.int64(_ONE - full)
        for lane in range(first, first + batch):
            if lanes[HOME + lane] != nowhere:
                steps[lane, kind] += 1


@njit
def too_young(lanes, delay):
    """Whether no news came yet; lanes that share one κ are of one age, and grow older here."""
    if np.int64(lanes[SINCE]) >= delay:
        return False
    for lane in range(LANES):
        lanes[SINCE + lane] += _ONE
    return True


@njit
def tell_batches(
    lanes, nowhere, batch, asked, drafted, accepted, full,
    policy, own, rule, numbers, memory, figures, words, heard, spoken,
):  # fmt: skip
    """One κ and one state per batch: the policy is told of its lanes one after the other; false if it asks too much.

    Column c of ``heard``, ``spoken`` and ``memory`` is batch c modulo their number: a pass over 64 columns does the
    same in each copy.
    """
    many, within = LANES // batch, True
    for column in range(LANES):
        heard[KAPPA, column] = lanes[DRAFT + column % many * batch]
    for member in range(batch):
        for column in range(LANES):
            lane = column % many * batch + member
            heard[ASKED, column], heard[MADE, column] = asked[lane], drafted[lane]
            heard[KEPT, column], heard[WHOLE, column] = accepted[lane], full[lane]
            spoken[column] = words[lane]
        if policy == OWN:
            own(heard[KAPPA], heard[KEPT], heard[WHOLE], memory)
            within &= numbers[6] == 0 or all_within(lanes, nowhere, batch, heard, numbers[2], numbers[3])
        elif policy == RULE:
            rule(heard[KAPPA], heard[ASKED], heard[MADE], heard[KEPT], heard[WHOLE], memory, figures, spoken)
        for column in range(LANES):
            change = numbers[0] if heard[WHOLE, column] != 0 else numbers[1]
            wanted = np.int32(heard[KAPPA, column] + change)
            heard[KAPPA, column] = min(max(wanted, numbers[2]), numbers[3])
    for lane in range(LANES):
        lanes[DRAFT + lane] = heard[KAPPA, lane // batch]
    return within


@njit
def all_within(lanes, nowhere, batch, heard, lowest, highest):
    """Whether no batch with an unfinished lane asks for a κ that it may not."""
    within = True
    for lane in range(LANES):
        kappa = heard[KAPPA, lane // batch]
        within &= lanes[HOME + lane] == nowhere or (lowest <= kappa <= highest)
    return within
