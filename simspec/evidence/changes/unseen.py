"""Where a detector tells of no change: which one would it have told of?"""

from __future__ import annotations

import math

import numpy as np

from simspec.evidence.changes.blocks import Blocks
from simspec.evidence.changes.course import Course
from simspec.evidence.changes.detect import Detector, tells

_HALVINGS = 10


def least_fall(course: Course, blocks: Blocks, detector: Detector) -> float | None:
    """Smallest fall of the acceptance rate in the middle of this log that would have been told; None if none would.

    The second half of the log is lowered, as it is otherwise, until the detector tells.

    Examples
    --------
    >>> from simspec.evidence.changes.blocks import blocks_of
    >>> from simspec.evidence.changes.course import course_of
    >>> from simspec.evidence.changes.detect import detector_named
    >>> from simspec.evidence.observed import Observed
    >>> course = course_of(Observed.in_order([[1] * 4000], [[int(a) for a in "1101011110"] * 400]))
    >>> 0.02 < least_fall(course, blocks_of(course), detector_named("adwin")) < 0.3
    True
    """
    examined, spread = (np.add.reduceat(own, blocks.edges[:-1]) for own in (course.examined, course.spread))
    step = np.divide(examined, np.sqrt(spread * blocks.design), out=np.zeros_like(examined), where=spread > 0)
    step[: len(step) // 2] = 0.0
    low, high = 0.0, float(course.accepted.sum() / course.examined.sum())
    if not tells(blocks.values - high * step, detector):
        return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if tells(blocks.values - middle * step, detector) else (middle, high)
    return math.ceil(high * 1000.0) / 1000.0
