"""Did acceptance change along a log, when, by how much, and did κ change with it?  One log in, one answer out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simspec.advice.drift.worth import Worth, worth_of
from simspec.evidence import reading
from simspec.evidence.changes.blocks import Blocks, blocks_of
from simspec.evidence.changes.course import ROUND, Course, course_of
from simspec.evidence.changes.detect import DETECTORS, Change, changes_in, detector_named
from simspec.evidence.changes.stretches import Stretch, stretches_of
from simspec.evidence.costs.round_costs import CostGrid, RoundCosts
from simspec.evidence.observed import REQUEST, Observed
from simspec.evidence.readers.base import Options
from simspec.evidence.recognise import read_one
from simspec.evidence.source import Source, Unknown
from simspec.model import Cost
from simspec.model.errors import ParameterError

DEFAULT_DETECTOR = next(iter(DETECTORS))


@dataclass(frozen=True, eq=False)
class DriftAnswer:
    """Where acceptance changes along a log.

    Attributes
    ----------
    source : Source
    course, blocks : Course, Blocks
        The log in the order of time, and how it was cut for the detector.
    changes : tuple of Change
    stretches : tuple of Stretch
        One more than changes.
    parts : tuple of Observed
        The rounds of each stretch.
    detector : str
    level : float
    worth : Worth or None
        The best κ of each stretch, where costs were given.
    """

    source: Source
    course: Course
    blocks: Blocks
    changes: tuple[Change, ...]
    stretches: tuple[Stretch, ...]
    parts: tuple[Observed, ...]
    detector: str
    level: float
    worth: Worth | None = None

    @property
    def kappas(self) -> tuple[tuple[int, ...], ...]:
        """Draft lengths seen in each stretch."""
        return tuple(part.kappas for part in self.parts)

    @property
    def one_kappa(self) -> bool:
        """Whether all rounds had the same draft length."""
        return len({kappa for own in self.kappas for kappa in own}) == 1

    @property
    def source_names(self) -> tuple[str, ...] | None:
        """What the source calls its requests, where they are the units."""
        observed = self.source.observed
        return observed.names if isinstance(observed, Observed) and self.course.unit == REQUEST else None

    def rounds_before(self, unit: int) -> int:
        """Rounds of the log before a unit."""
        return int(self.course.rounds[:unit].sum())

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; units and rounds are counted from 1."""
        from simspec.advice.drift.text import to_dict

        return to_dict(self)

    def __str__(self) -> str:
        from simspec.advice.drift.text import shown

        return shown(self)

    __repr__ = __str__


def drift(
    *files: str | Path,
    costs: CostGrid | RoundCosts | Cost | Mapping[str, Any] | None = None,
    detector: str = DEFAULT_DETECTOR,
    level: float = 0.95,
    seed: int = 1,
    **options: Any,
) -> DriftAnswer:
    """Where along a log the acceptance rate changes, by how much, and whether κ changed with it.

    Parameters
    ----------
    *files : str or Path
        A log, a table of rounds or scrapes, as `simspec.fit` reads them; several are pieces of one log, oldest first.
    costs : CostGrid, RoundCosts, Cost or dict, optional
        R(κ) in plain target steps: then also the best κ of each stretch, and what changing κ would be worth.
    detector : str
        ``"adwin"`` or ``"page-hinkley"``, which tells sooner, of river (``pip install 'simspec[drift]'``).
    level : float
        Confidence level of intervals, 0.5 ≤ level < 1.
    seed : int
        Of the draws behind the best κ.
    **options
        ``kappa``, ``accepted``, ``drafted``, ``request``, ``bonus_included`` as for `simspec.fit`.

    Returns
    -------
    DriftAnswer
        With ``changes``, ``stretches``, ``worth``, ``to_dict()`` and a readable repr.

    Raises
    ------
    ParameterError
        A file cannot be read, holds no rounds in an order, or too few; an argument is out of range.
    SimspecError
        river is not installed.

    References
    ----------
    Bifet and Gavaldà (2007), "Learning from time-changing data with adaptive windowing", for ADWIN.

    Examples
    --------
    >>> import simspec, tempfile, pathlib
    >>> rows = ["4,4", "3,4", "4,4", "0,4", "4,4"] * 200 + ["0,4", "2,4", "0,4", "1,4", "0,4"] * 200
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "rounds.csv"
    ...     _ = file.write_text("accepted,kappa\\n" + "\\n".join(rows))
    ...     own = simspec.drift(file)
    >>> [change.unit for change in own.changes], [round(part.alpha, 2) for part in own.stretches]
    ([1000], [0.88, 0.38])
    """
    chosen = detector_named(detector)
    if not 0.5 <= level < 1.0:
        raise ParameterError("level", f"level = {level} is out of range; allowed: 0.5 ≤ level < 1")
    grid = _costs(costs)
    source = _source(files, Options(level=level, **options))
    observed = source.observed
    course = observed if isinstance(observed, Unknown) else course_of(observed)
    if isinstance(course, Unknown) or isinstance(observed, Unknown):
        why = course.reason if isinstance(course, Unknown) else ""
        raise ParameterError("files", f"{', '.join(source.files)}: no change can be looked for: {why}")
    reading.tell("looking for changes")
    blocks = blocks_of(course)
    changes = changes_in(course, blocks, chosen, level, reading.tell)
    stretches = stretches_of(course, blocks, changes, level)
    parts = tuple(_part(observed, course, own) for own in stretches)
    worth = None if grid is None else worth_of(parts, grid, seed)
    return DriftAnswer(source, course, blocks, changes, stretches, parts, detector, level, worth)


def _source(files: tuple[str | Path, ...], options: Options) -> Source:
    if not files:
        raise ParameterError("files", "no log given; allowed: a log, or pieces of one")
    sources = read_one(files, options)
    if len(sources) != 1:
        names = ", ".join(f"{', '.join(own.files)} ({own.shape})" for own in sources[:8])
        raise ParameterError(
            "files", f"{len(sources)} sources: {names}; allowed: one, or pieces of one log (one shape, the same κ)"
        )
    return sources[0]


def _costs(given: CostGrid | RoundCosts | Cost | Mapping[str, Any] | None) -> RoundCosts | None:
    if isinstance(given, CostGrid):
        return given.at()
    if isinstance(given, Mapping):
        given = Cost(**given)
    return RoundCosts.of_cost(given) if isinstance(given, Cost) else given


def _part(observed: Observed, course: Course, own: Stretch) -> Observed:
    """The rounds of a stretch."""
    if course.unit != ROUND:
        return observed.take(np.arange(own.first, own.end))
    rows = slice(own.first, own.end)
    offsets = np.unique(np.clip(observed.offsets, own.first, own.end) - own.first)
    return Observed(
        observed.drafted[rows], observed.accepted[rows], observed.count[rows], offsets, observed.unit, observed.ordered
    )
