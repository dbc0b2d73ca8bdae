"""Which places of a log does a detector call a change, and how soon would it have told?  The detectors are river's."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from simspec.evidence.changes.blocks import Blocks
from simspec.evidence.changes.course import Course
from simspec.evidence.observed import Floats
from simspec.model.errors import ParameterError, SimspecError, did_you_mean

REACH = 2.0
"""ADWIN takes values from 0 to 1: blocks are cut at so many standard deviations on either side."""


@dataclass(frozen=True)
class Detector:
    """One of river's, with the settings used on sums of blocks in standard deviations.

    Attributes
    ----------
    name : str
        Of river's class.
    settings : dict
        Its arguments.
    unit : bool
        Whether it takes values from 0 to 1.
    """

    name: str
    settings: dict[str, Any]
    unit: bool

    def start(self) -> Any:
        """A detector that has seen nothing."""
        return getattr(_river(), self.name)(**self.settings)

    def scaled(self, values: Floats) -> Floats:
        """Standard deviations as it takes them."""
        return np.clip(0.5 + values / (2.0 * REACH), 0.0, 1.0) if self.unit else values


DETECTORS = {
    "adwin": Detector("ADWIN", {"delta": 0.05, "clock": 1, "min_window_length": 5, "grace_period": 10}, unit=True),
    "page-hinkley": Detector(
        "PageHinkley",
        {"min_instances": 10, "delta": 0.25, "threshold": 25.0, "alpha": 1.0, "mode": "both"},
        unit=False,
    ),
}
"""ADWIN compares all ways to part what it has seen; Page and Hinkley's test adds up what is beyond a quarter of a
standard deviation from the mean so far.  KSWIN, river's third, missed small changes and took 600 times as long."""


@dataclass(frozen=True)
class Change:
    """One change.

    Attributes
    ----------
    unit : int
        First unit behind it.
    low, high : int
        Interval of ``unit``, if it came at once; a unit wider on either side where a change may lie inside one.
    told : int
        Units that were seen when the detector told.
    """

    unit: int
    low: int
    high: int
    told: int


def detector_named(name: str) -> Detector:
    """A detector by name; river must be there.

    Raises
    ------
    ParameterError
        There is none of that name.
    SimspecError
        river is not installed.

    Examples
    --------
    >>> detector_named("adwin").settings["delta"]
    0.05
    """
    if name not in DETECTORS:
        near = did_you_mean(name, tuple(DETECTORS))
        raise ParameterError("detector", f"detector = {name!r} is unknown; allowed: {', '.join(DETECTORS)}{near}")
    _river()
    return DETECTORS[name]


def changes_in(
    course: Course, blocks: Blocks, detector: Detector, level: float = 0.95, say: Callable[[str], None] | None = None
) -> tuple[Change, ...]:
    """Changes in order.  A detector tells that there was one; where, is the place that parts best.

    Parameters
    ----------
    course, blocks : Course, Blocks
    detector : Detector
        Begins anew behind each change.
    level : float
        Of the intervals of the places.
    say : callable, optional
        Told how far it is.

    References
    ----------
    Bifet and Gavaldà (2007), "Learning from time-changing data with adaptive windowing"; Page (1954), "Continuous
    inspection schemes"; Siegmund (1988), "Confidence sets in change-point problems", for the interval of a place.

    Examples
    --------
    >>> from simspec.evidence.changes.blocks import blocks_of
    >>> from simspec.evidence.changes.course import course_of
    >>> from simspec.evidence.observed import Observed
    >>> accepted = [[int(a) for a in "2220121022" * 100 + "0100210010" * 100]]
    >>> course = course_of(Observed.in_order([[2] * 2000], accepted))
    >>> own = changes_in(course, blocks_of(course), detector_named("adwin"))
    >>> len(own), abs(own[0].unit - 1000) <= 10, own[0].told - 1000 < 300
    (1, True, True)
    """
    values = detector.scaled(blocks.values)
    found: list[tuple[int, int]] = []
    begin = 0
    while (end := _told(values, begin, detector)) is not None:
        begin = begin + _parting(blocks.values[begin:end])
        found.append((begin, end))
        if say is not None:
            say(f"looking for changes: block {end:,} of {len(values):,}")
    edges = [0, *(begin for begin, _ in found), len(values)]
    return tuple(
        _placed(course, blocks, edges[i], edges[i + 2], int(blocks.edges[end]), level)
        for i, (_, end) in enumerate(found)
    )


def tells(values: Floats, detector: Detector) -> bool:
    """Whether a detector tells of a change anywhere; ``values`` in standard deviations.

    Examples
    --------
    >>> tells(np.tile([1.0, -1.0], 50), detector_named("adwin"))
    False
    >>> tells(np.repeat([1.0, -1.0], 50), detector_named("adwin"))
    True
    """
    return _told(detector.scaled(values), 0, detector) is not None


def _told(values: Floats, begin: int, detector: Detector) -> int | None:
    """Blocks that were seen when a detector told, which begins with block ``begin``; None if it never does."""
    own = detector.start()
    for i, value in enumerate(values[begin:].tolist()):
        own.update(value)
        if own.drift_detected and i:
            return begin + i + 1
    return None


def _parting(values: Floats) -> int:
    """Blocks before the place that parts a stretch best: the largest difference of means in standard errors."""
    n = len(values)
    first = np.arange(1, n)
    running = np.cumsum(values - values.mean())[:-1]
    return 1 + int(np.argmax(running**2 / (first * (n - first))))


def _placed(course: Course, blocks: Blocks, lo: int, hi: int, told: int, level: float) -> Change:
    """The place to the unit, between the changes before and after: no nearer to them than a block."""
    first, last = int(blocks.edges[lo]), int(blocks.edges[hi])
    excess, spread = (np.cumsum(own[first:last]) for own in (course.excess, course.spread))
    at = np.arange(int(blocks.edges[lo + 1]), int(blocks.edges[hi - 1]) + 1) - first  # units before the change
    one, whole = spread[at - 1], spread[-1]
    apart = one * (whole - one) * blocks.design
    square = (excess[at - 1] - excess[-1] * one / whole) ** 2 * whole
    gained = np.divide(square, apart, out=np.zeros_like(square), where=apart > 0)  # twice the logarithm of a likelihood
    best = int(np.argmax(gained))
    near = np.flatnonzero(gained >= gained[best] + 2.0 * math.log1p(-math.sqrt(level)))
    low, high = first + int(at[near[0]]), first + int(at[near[-1]])
    if course.blurred:
        low, high = low - 1, min(high + 1, len(course.rounds) - 1)
    return Change(first + int(at[best]), low, high, told)


def _river() -> Any:
    try:
        from river import drift
    except ImportError:
        raise SimspecError(
            "simspec drift finds changes with river, which is missing; pip install 'simspec[drift]'"
        ) from None
    return drift
