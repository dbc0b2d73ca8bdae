"""Did acceptance change along a log, when, by how much, and did κ change with it?  One log in, one answer out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simspec.advice.drift.parts import Part, part_of_lines, part_of_rounds
from simspec.advice.drift.worth import Worth, worth_of
from simspec.evidence import reading
from simspec.evidence.changes.blocks import Blocks, blocks_of
from simspec.evidence.changes.course import Course, course_of, course_of_lines
from simspec.evidence.changes.detect import DETECTORS, Change, changes_in, detector_named
from simspec.evidence.changes.stretches import Stretch, stretches_of
from simspec.evidence.changes.unseen import least_fall
from simspec.evidence.costs.round_costs import CostGrid, RoundCosts
from simspec.evidence.kappa_seen import which_kappa
from simspec.evidence.observed import Observed
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
    parts : tuple of Part
        What ran in each stretch.
    detector : str
    level : float
    worth : Worth, str or None
        The best κ of each stretch, where costs were given; or why there is none.
    unseen : float or None
        Where nothing changes: the least fall of α in the middle of the log that would have been told; None: no fall.
    """

    source: Source
    course: Course
    blocks: Blocks
    changes: tuple[Change, ...]
    stretches: tuple[Stretch, ...]
    parts: tuple[Part, ...]
    detector: str
    level: float
    worth: Worth | str | None = None
    unseen: float | None = None

    @property
    def kappas(self) -> tuple[tuple[float, ...], ...]:
        """Draft lengths seen in each stretch."""
        return tuple(part.kappas for part in self.parts)

    @property
    def one_kappa(self) -> bool:
        """Whether all rounds had the same draft length."""
        return len({kappa for own in self.kappas for kappa in own}) == 1

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; rounds and requests are counted from 1."""
        from simspec.advice.drift.record import to_dict

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
    if not 0 <= seed < 2**64:
        raise ParameterError("seed", f"seed = {seed} is out of range; allowed: 0 ≤ seed < 2⁶⁴")
    grid = _costs(costs)
    source = _source(files, Options(level=level, **options))
    course, part_of = _course(source)
    if isinstance(course, Unknown):
        raise ParameterError("files", f"{', '.join(source.files)}: no change can be looked for: {course.reason}")
    reading.tell("looking for changes")
    blocks = blocks_of(course)
    changes = changes_in(course, blocks, chosen, level, reading.tell)
    stretches = stretches_of(course, blocks, changes, level)
    parts = tuple(part_of(course, own) for own in stretches)
    worth = None if grid is None else worth_of(parts, grid, seed)
    unseen = None if changes else least_fall(course, blocks, chosen)
    return DriftAnswer(source, course, blocks, changes, stretches, parts, detector, level, worth, unseen)


def _source(files: tuple[str | Path, ...], options: Options) -> Source:
    if not files:
        raise ParameterError("files", "no log given; allowed: a log, or pieces of one")
    seen: dict[Path, str | Path] = {}
    for file in files:
        place = Path(file).resolve()
        before = seen.get(place)
        seen[place] = file
        if before is not None:
            named = f"{file}" if str(before) == str(file) else f"{before} and {file} are one file, which"
            raise ParameterError("files", f"{named} is given twice; allowed: each piece of a log once, oldest first")
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


def _course(source: Source) -> tuple[Course | Unknown, Callable[[Course, Stretch], Part]]:
    """The log in order: its rounds where it holds them, else its means; and what makes a part of a stretch."""
    observed = source.observed
    if isinstance(observed, Observed):
        rounds = observed if observed.whole is None else observed.whole
        return course_of(rounds), lambda course, own: part_of_rounds(rounds, course, own)
    if source.line_course is not None:
        return course_of_lines(source.line_course), part_of_lines
    if source.line_means is not None:
        return Unknown(which_kappa(source)), part_of_lines
    return observed, part_of_lines
