"""What does every reader have in common?  Where a line stands, what is a count, and how an unknown form is refused."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, AnyStr, ClassVar, NoReturn

from simspec.evidence.source import Source
from simspec.model.errors import ParameterError, shown

MOST = 10**15
"""Counts beyond this are no counts of an engine; products of smaller ones stay exact."""
MOST_REMEMBERED = 200_000
"""Rows that are remembered, to tell those that stand twice."""
MOST_GROUPS = 1_000
"""Engines, tasks under way, κ or series kept apart at one time: what keeps memory constant."""


@dataclass(frozen=True)
class Options:
    """What the caller says and no file does.

    Attributes
    ----------
    level : float
        Confidence level of the intervals.
    kappa : int or None
        Draft length, for shapes that do not hold it.
    accepted, drafted, request : str or None
        Columns of a table of rounds; ``drafted`` may be a number.
    bonus_included : bool or None
        Whether the accepted lengths of a table count the bonus token.
    """

    level: float = 0.95
    kappa: int | None = None
    accepted: str | None = None
    drafted: str | int | None = None
    request: str | None = None
    bonus_included: bool | None = None


@dataclass
class Place:
    """Where the reader is: file, line, and whether the line is known to be whole."""

    file: str
    number: int = 0
    whole: bool = True
    torn_lines: int = 0
    first_torn: int = 0

    def torn(self) -> None:
        """The line breaks off: it is dropped, and the sources of the file say so."""
        self.torn_lines += 1
        self.first_torn = self.first_torn or self.number

    def one_more(self, sources: list[Source], own: Source) -> None:
        """Another print-out of a file, each a source of its own."""
        if len(sources) >= MOST_GROUPS:
            self.refuse(f"more than {MOST_GROUPS:,} print-outs, each a source of its own, in one file; split it")
        sources.append(own)

    def fits(self, accepted: int, drafted: int, drafts: int | None = None, kappa: int | None = None) -> None:
        """Refuse counts that cannot stand together."""
        deep = drafts is not None and kappa is not None and drafted > kappa * drafts
        if accepted > drafted or deep or drafts == 0 < drafted:
            rounds = "" if drafts is None else f" in {drafts} drafts" + ("" if kappa is None else f" of up to {kappa}")
            self.refuse(f"{accepted} accepted of {drafted} drafted tokens{rounds} cannot be")

    def refuse(self, message: str) -> NoReturn:
        """The line is of a form nobody knows: nothing of the file is used."""
        raise ParameterError("files", f"{self.file}:{self.number}: {message}")


@dataclass(eq=False)
class Reader(ABC):
    """One family of shapes.

    Attributes
    ----------
    options : Options
    places : list of Place
        The files in which something was found.
    shapes : tuple of str
        Names of the shapes it knows.
    marks : tuple of bytes
        A line with none of them is never shown to a reader of lines; inside a log, nor to one of objects.
    across_files : bool
        Whether all files given are one source.
    """

    options: Options
    places: list[Place] = field(default_factory=list, kw_only=True)
    shapes: ClassVar[tuple[str, ...]] = ()
    marks: ClassVar[tuple[bytes, ...]] = ()
    across_files: ClassVar[bool] = False

    @abstractmethod
    def finish(self) -> list[Source]:
        """What was read; empty if nothing was."""


@dataclass(eq=False)
class LineReader(Reader):
    """Reads lines of text.  While ``inside`` a block, every line is shown; ``elsewhere``: they are another reader's."""

    inside: bool = field(default=False, kw_only=True)
    elsewhere: bool = field(default=False, kw_only=True)

    @abstractmethod
    def line(self, text: str, place: Place) -> None:
        """One line that holds a mark."""

    def file_ends(self, place: Place) -> None:
        """The file is at its end; a block that is still open is torn."""


def lines_in(text: str, beginning: re.Pattern[str], place: Place) -> Iterator[str]:
    """The lines that ran together in one, split where another begins; ``place.whole`` says which may be cut."""
    if beginning.search(text, 1) is None:  # nearly always
        yield text
        return
    starts = [found.start() for found in beginning.finditer(text, 1)]
    whole = place.whole
    for start, end in zip([0, *starts], [*starts, len(text)], strict=True):
        place.whole = whole and end == len(text)
        yield text[start:end]
    place.whole = whole


@dataclass(eq=False)
class ObjectReader(Reader):
    """Reads JSON objects."""

    @abstractmethod
    def claims(self, record: dict[str, Any]) -> bool:
        """Whether the object is of this shape."""

    @abstractmethod
    def record(self, record: dict[str, Any], place: Place) -> None:
        """One object that was claimed."""


def any_in(marks: tuple[AnyStr, ...], line: AnyStr) -> bool:
    """Whether a line holds any of the marks."""
    for mark in marks:  # noqa: SIM110 - a generator takes three times as long, and this is asked of every line
        if mark in line:
            return True
    return False


@dataclass
class Fields:
    """The fields of one JSON object, checked when they are asked for."""

    record: dict[str, Any]
    place: Place
    under: str = ""

    def count(self, name: str) -> int:
        """A whole number ≥ 0 that must be there."""
        found = self.count_or_none(name)
        if found is None:
            self.place.refuse(f"{self.under}{name} is missing; needed: a whole number ≥ 0")
        return found

    def count_or_none(self, name: str) -> int | None:
        """A whole number ≥ 0, or None where the field is missing or null."""
        value = self.record.get(name)
        return None if value is None else checked_count(value, f"{self.under}{name}", self.place)

    def number_or_none(self, name: str) -> float | None:
        """A finite number ≥ 0, or None where the field is missing or null."""
        value = self.record.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= MOST:
            self.place.refuse(f"{self.under}{name} = {shown(value)}; allowed: a number ≥ 0")
        return float(value)

    def counts(self, name: str) -> list[int]:
        """A list of whole numbers ≥ 0."""
        value = self.record.get(name)
        if not isinstance(value, list):
            self.place.refuse(f"{self.under}{name} = {shown(value)}; allowed: a list of whole numbers ≥ 0")
        if not value or (set(map(type, value)) == {int} and min(value) >= 0 and max(value) <= MOST):
            return value
        return [checked_count(entry, f"{self.under}{name}", self.place) for entry in value]

    def part(self, name: str) -> Fields:
        """The object under a name."""
        value = self.record.get(name)
        if not isinstance(value, dict):
            self.place.refuse(f"{self.under}{name} = {shown(value)}; allowed: an object")
        return Fields(value, self.place, f"{self.under}{name}.")


def checked_count(value: Any, name: str, place: Place) -> int:
    """A whole number from 0 to `MOST`; 3.0 is one."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not good or not math.isfinite(value) or value != int(value) or not 0 <= value <= MOST:
        place.refuse(f"{name} = {shown(value)}; allowed: a whole number ≥ 0")
    return int(value)


@dataclass
class Once:
    """Rows that were seen: one that stands twice, with an id and all else alike, counts once."""

    seen: set[int] = field(default_factory=set)

    def repeats(self, name: object, content: object) -> bool:
        """Whether a row with this id was there already; rows without an id, and those beyond 200,000, never."""
        if name is None or len(self.seen) >= MOST_REMEMBERED:
            return False
        key = hash((repr(name), repr(content)))
        known = key in self.seen
        self.seen.add(key)
        return known


@dataclass
class Seen:
    """How often something was seen, and in which line first."""

    times: int = 0
    first: int = 0
    detail: str = ""

    def add(self, place: Place, detail: str = "") -> None:
        """Once more."""
        self.times += 1
        if self.times == 1:
            self.first, self.detail = place.number, detail

    def __str__(self) -> str:
        often = "once" if self.times == 1 else f"{self.times:,} times"
        return f"{often}, first in line {self.first}" + (f": {self.detail}" if self.detail else "")


@dataclass
class Doubts:
    """Warnings while reading: code → how often and where."""

    seen: dict[str, Seen] = field(default_factory=dict)

    def add(self, code: str, place: Place, detail: str = "") -> None:
        """Once more."""
        if code not in self.seen:
            self.seen[code] = Seen()
        self.seen[code].add(place, detail)

    def tell(self, source: Source) -> None:
        """Into a source."""
        for code, seen in self.seen.items():
            source.say(code, str(seen))
