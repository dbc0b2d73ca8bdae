"""How long must a stretch of a log be for its neighbours to say nothing of it?  Sums over blocks, near independent.

Verdicts of one text hang together, and a detector that takes them as independent sees a change in every log.  Blocks
are doubled until neighbours no longer tell: the sum of two neighbours then varies between pairs as twice one block does
between blocks.  Both come from differences of neighbours, of which a change of acceptance touches only one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simspec.evidence.changes.course import LEAST, SMALLEST, Course
from simspec.evidence.observed import Floats, Ints

MOST = 4_096
"""Blocks; longer logs have longer ones."""
TELLING, NOISE = 1.15, 4.2
"""Neighbours hang together where pairs vary more than twice this times as much as single blocks, and two standard
errors of that, ``NOISE`` ÷ √blocks, more."""
CUT, LEFT = 0.1, 0.6230
"""Share of the largest squares that is left out, and the mean of the others for a normal law: P(χ²₃ < q) ÷ .9, q the
point that χ²₁ exceeds in one case in ten."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """Sums over blocks of whole units.

    Attributes
    ----------
    edges : int64 array (blocks + 1,)
        Units ``edges[b]`` to ``edges[b + 1]`` make block b.
    values : float array (blocks,)
        Excess of each, in standard deviations of a block.
    rounds : int
        Rounds that a block holds at least.
    design : float
        Variance of a block over that of as many independent verdicts, at least 1.
    tied : bool
        Neighbours still hang together: longer blocks would be too few.
    """

    edges: Ints
    values: Floats
    rounds: int
    design: float
    tied: bool


def blocks_of(course: Course) -> Blocks:
    """Blocks as short as neighbours allow; at least `LEAST` of them unless the units are fewer.

    References
    ----------
    von Neumann (1941), "Distribution of the ratio of the mean square successive difference to the variance", for a
    variance that a change of the mean does not touch; Kish (1965), Survey Sampling, section 8.2, for the design effect.

    Examples
    --------
    >>> from simspec.evidence.changes.course import course_of
    >>> from simspec.evidence.observed import Observed
    >>> accepted = [[int(a) for a in "2201" * 200]]
    >>> own = blocks_of(course_of(Observed.in_order([[2] * 800], accepted)))
    >>> own.rounds, len(own.values), own.tied
    (8, 100, False)
    """
    total = float(course.rounds.sum())
    size = max(SMALLEST, math.ceil(total / MOST), math.ceil(float(np.median(course.rounds))))
    edges = block_edges(course.rounds, size)
    while True:
        values, tied = _standard(course, edges)
        longer = block_edges(course.rounds, 2 * size)
        if not tied or len(longer) <= LEAST:
            break
        size, edges = 2 * size, longer
    design = max(1.0, _between(values) if len(values) > 1 else 1.0)
    return Blocks(edges, values / math.sqrt(design), size, design, tied)


def _standard(course: Course, edges: Ints) -> tuple[Floats, bool]:
    """Excess of each block in standard deviations of independent verdicts, and whether neighbours hang together."""
    excess, spread = (np.add.reduceat(own, edges[:-1]) for own in (course.excess, course.spread))
    values = np.divide(excess, np.sqrt(spread), out=np.zeros_like(excess), where=spread > 0)
    if len(values) < 4:
        return values, False
    pairs, most = (values[1:] + values[:-1]) / math.sqrt(2.0), TELLING + NOISE / math.sqrt(len(values))
    return values, _between(pairs, 2) > most * _between(values) > 0.0


def _between(values: Floats, apart: int = 1) -> float:
    """Variance from differences of neighbours but for the largest, which may lie across a change."""
    squares = np.sort((values[apart:] - values[:-apart]) ** 2)
    return float(squares[: math.ceil((1.0 - CUT) * len(squares))].mean()) / (2.0 * LEFT)


def block_edges(rounds: Floats, least: float) -> Ints:
    """Where blocks of at least so many rounds begin, of whole units; the end last.  A short rest joins the last block.

    Examples
    --------
    >>> block_edges(np.array([10.0, 10, 10, 40, 5, 5]), 16).tolist()
    [0, 2, 6]
    """
    reached = np.cumsum(rounds)
    edges, done = [0], 0.0
    while True:
        end = int(np.searchsorted(reached, done + least - 1e-9)) + 1
        if end > len(rounds):
            break
        edges.append(end)
        done = float(reached[end - 1])
    if edges[-1] < len(rounds):
        if len(edges) > 1:
            edges.pop()
        edges.append(len(rounds))
    return np.array(edges, np.int64)
