"""What lies between two changes?  Rounds, verdicts, the acceptance rate with its interval, and the κ that ran there."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simspec.evidence.changes.blocks import Blocks
from simspec.evidence.changes.course import Course
from simspec.evidence.changes.detect import Change
from simspec.stats.intervals import proportion

Interval = tuple[float, float]
MOST_RUNS = 8
"""Runs at one κ that are listed; where κ moves more often, a rule moves it."""


@dataclass(frozen=True)
class Stretch:
    """Units between two changes.

    Attributes
    ----------
    first, end : int
        Units ``first`` to ``end - 1`` of the log, counted from 0.
    rounds, examined, accepted : int
        Rounds with a draft; drafts judged in them (accepted, or the first one rejected); drafts accepted.
    alpha : float
        accepted ÷ examined.
    interval : (low, high)
        Of ``alpha``; that the ends were chosen by the data is not in it.
    alpha_same : float
        The rate had drafts been examined at the same positions as over the whole log: what to compare between stretches
        where κ differs.
    mean_kappa : float
        Drafts offered per round.
    """

    first: int
    end: int
    rounds: int
    examined: int
    accepted: int
    alpha: float
    interval: Interval
    alpha_same: float
    mean_kappa: float


def stretches_of(course: Course, blocks: Blocks, changes: Sequence[Change], level: float = 0.95) -> tuple[Stretch, ...]:
    """The log in stretches, parted at the changes.

    Intervals are those of Clopper and Pearson at examined ÷ design independent verdicts.

    References
    ----------
    Korn and Graubard (1998), "Confidence intervals for proportions with small expected number of positive counts
    estimated from survey data".

    Examples
    --------
    >>> from simspec.evidence.changes.blocks import blocks_of
    >>> from simspec.evidence.changes.course import course_of
    >>> from simspec.evidence.observed import Observed
    >>> course = course_of(Observed.in_order([[1] * 400], [[1, 1, 1, 0] * 100]))
    >>> own = stretches_of(course, blocks_of(course), [])[0]
    >>> own.examined, own.alpha, [round(end, 2) for end in own.interval]
    (400, 0.75, [0.7, 0.79])
    """
    edges = [0, *(change.unit for change in changes), len(course.rounds)]
    return tuple(_stretch(course, blocks.design, first, end, level) for first, end in itertools.pairwise(edges))


def _stretch(course: Course, design: float, first: int, end: int, level: float) -> Stretch:
    rounds, accepted, examined, drafted, excess = (
        float(own[first:end].sum())
        for own in (course.rounds, course.accepted, course.examined, course.drafted, course.excess)
    )
    alpha, whole = accepted / examined, float(course.accepted.sum() / course.examined.sum())
    low, high = proportion(np.array(alpha), None, np.array(examined / design), 1, True, level)
    return Stretch(
        first, end, int(rounds), int(examined), int(accepted), alpha, (float(low), float(high)),
        min(1.0, max(0.0, whole + excess / examined)), drafted / rounds,
    )  # fmt: skip


def kappa_runs(course: Course, most: int = MOST_RUNS) -> tuple[tuple[int, float], ...] | None:
    """First unit and κ of each run of units at one κ, in order; None where there are more than ``most``.

    Examples
    --------
    >>> from simspec.evidence.changes.course import course_of
    >>> from simspec.evidence.observed import Observed
    >>> kappa_runs(course_of(Observed.in_order([[2] * 300 + [4] * 100], [[1, 2] * 200])))
    ((0, 2.0), (300, 4.0))
    """
    kappa = course.drafted / course.rounds
    begins = np.concatenate([[0], 1 + np.flatnonzero(np.diff(kappa))])
    if len(begins) > most:
        return None
    return tuple((int(first), float(kappa[first])) for first in begins)
