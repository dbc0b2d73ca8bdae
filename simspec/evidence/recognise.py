"""Which shape has a file, and what does it say?  Files → sources; what nobody knows is refused by name."""

from __future__ import annotations

import contextlib
import re
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar, cast

from simspec.evidence import reading
from simspec.evidence.block import LONGEST_DRAFT
from simspec.evidence.clustered_intervals import give_intervals
from simspec.evidence.embedded import Embedded, refuse_tables
from simspec.evidence.kappa_seen import check_kappa, kappas_in
from simspec.evidence.lines import Text, plain
from simspec.evidence.readers import LINE_READERS, OBJECT_READERS, TABLE_READERS
from simspec.evidence.readers.base import LineReader, ObjectReader, Options, Place, Reader, any_in
from simspec.evidence.readers.bench import BenchReader
from simspec.evidence.readers.table import TableReader
from simspec.evidence.records import looks_like_json, records
from simspec.evidence.source import Source
from simspec.model.errors import ParameterError, shown

Shared = dict[type[Reader], Reader]
"""Readers that add up several files."""
Kind = TypeVar("Kind", bound=Reader)

_WHOLE = {
    shape for kind in (*TABLE_READERS, *LINE_READERS) if issubclass(kind, (TableReader, BenchReader))
    for shape in kind.shapes
}  # fmt: skip
"""Shapes that are no pieces of anything: a table of rounds, whose requests may bear the names of another's, and a
print-out, which is a source of its own."""
_KNOWN = (
    "vLLM, SGLang, llama.cpp, TensorRT-LLM, MLC, LM Studio, gpt-fast, Spec-Bench, EAGLE, tables of rounds (docs/fit.md)"
)
_LISTED_KEYS, _LISTED_LETTERS = 8, 60
_REMEMBERED, _COMPARED = 16, 4096
_NUMBERS = re.compile(rb"\d+")
_SPACES = re.compile(rb"\s+")
_PREFIX = re.compile(rb"(?:\[0\]|\([^()]*\)) ?")
"""What a router or a process puts before a line, numbers aside."""
_ENTRY = b'":'
"""Every JSON object has it, and hardly a line of a log: most blocks need not be searched for names of entries."""
_TELLING = 5
"""Letters of a mark that are no chance."""


def fit(
    *files: str | Path,
    level: float = 0.95,
    kappa: int | None = None,
    accepted: str | None = None,
    drafted: int | str | None = None,
    bonus_included: bool | None = None,
    request: str | None = None,
) -> list[Source]:
    """What engine outputs say: drafts, accepted, survival with intervals, conditional α, tokens per round.

    Parameters
    ----------
    *files : str or Path
        Logs, metrics scrapes, benchmark print-outs, JSON, tables of rounds; plain or gzip.  The shape is recognised.
        Scrapes of one server, in order of time, are one source.
    level : float
        Confidence level of the intervals, 0.5 ≤ level < 1.
    kappa : int, optional
        Draft length, for shapes that do not hold it; one that contradicts the file is refused.
    accepted, drafted, request : str, optional
        Columns of a table of rounds; ``drafted`` may be a number.
    bonus_included : bool, optional
        Whether the accepted lengths of a table count the bonus token.

    Returns
    -------
    list of Source
        Each with ``shape``, ``body``, ``warn``, ``identities``, ``observed`` (the rounds themselves) and ``to_dict()``;
        what a shape cannot give is null with a reason, never a guess.

    Raises
    ------
    ParameterError
        A file cannot be read, has an unknown shape, breaks off before anything is whole, or contradicts ``kappa``.

    Examples
    --------
    >>> import simspec, tempfile, pathlib
    >>> text = "accepted,kappa,request\\n3,4,a\\n0,4,a\\n4,4,b\\n1,4,b\\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "rounds.csv"
    ...     _ = file.write_text(text)
    ...     own = simspec.fit(file)[0]
    >>> own.shape, own.body["pooled"]["survival"]
    ('rounds-csv', [0.75, 0.5, 0.5, 0.25])
    """
    if not 0.5 <= level < 1.0:
        raise ParameterError("level", f"level = {level} is out of range; allowed: 0.5 ≤ level < 1")
    if kappa is not None and not 1 <= kappa <= LONGEST_DRAFT:
        raise ParameterError("kappa", f"kappa = {kappa} is out of range; allowed: 1 ≤ kappa ≤ {LONGEST_DRAFT}")
    return read_sources(files, Options(level, kappa, accepted, drafted, request, bonus_included))


def read_sources(files: Sequence[str | Path], options: Options | None = None, as_one: bool = False) -> list[Source]:
    """As `fit`, with the options in one place; ``as_one``: the files are pieces of one log, in order of time."""
    options = options or Options()
    names = list(map(str, files))
    kinds: tuple[type[Reader], ...] = (*LINE_READERS, Embedded, *OBJECT_READERS)
    shared = {kind: kind(options) for kind in kinds if as_one or kind.across_files}
    sources = [source for name in names for source in _sources_of(name, options, shared)]
    reading.tell("all files are read; working")
    for reader in shared.values():
        found = _finished(reader) if reader.places else []
        scraped = isinstance(reader, LineReader) and reader.across_files and not reader.elsewhere
        if reader.places and not found and scraped:
            scrapes = ", ".join(place.file for place in reader.places)
            raise ParameterError("files", f"{scrapes}: breaks off before anything is whole")
        sources += found
    return sorted(sources, key=lambda source: names.index(source.files[0]))


def read_one(files: Sequence[str | Path], options: Options | None = None) -> list[Source]:
    """As `read_sources`; one source where the files are pieces of one log, see `join_pieces`."""
    sources = read_sources(files, options)
    whole = join_pieces(sources, options)
    return sources if whole is None else [whole]


def join_pieces(sources: Sequence[Source], options: Options | None = None) -> Source | None:
    """Files of one shape at one κ, such as a rotated log, read again as pieces of one log, in the order given.

    None where they are no pieces: another shape or κ, one file twice, print-outs, which are a source each, tables of
    rounds, whose requests may bear the same names, or standard input, which cannot be read again.
    """
    if not are_pieces(sources):
        return None
    found = read_sources([source.files[0] for source in sources], options, as_one=True)
    if len(found) != 1 or len(found[0].files) != len(sources):
        return None
    found[0].pieces = True
    found[0].rules.append(f"{len(sources)} files are read as pieces of one log, in the order given")
    return found[0]


def are_pieces(sources: Sequence[Source]) -> bool:
    """Whether sources may be one log in pieces: a file each, of one shape, at the same κ."""
    files = {tuple(own.files) for own in sources if len(own.files) == 1 and own.files != ["-"]}
    if any(source.shape in _WHOLE for source in sources):
        return False
    return len(files) == len(sources) > 1 == len({(source.shape, kappas_in(source)) for source in sources})


def _sources_of(name: str, options: Options, shared: Shared) -> list[Source]:
    """What one file says by itself; scrapes are added to the shared reader."""
    text, place = Text(name), Place(name)
    with contextlib.closing(text):
        readers = _readers(text, place, options, shared)
    if text.cut and not place.torn_lines:
        place.torn()
    for reader in readers:
        reader.places.append(place)
    alone = [source for reader in readers if type(reader) not in shared for source in _finished(reader)]
    if not alone and not any(type(reader) in shared for reader in readers):
        raise ParameterError("files", _unknown(text, place))
    return alone


def _finished(reader: Reader) -> list[Source]:
    sources = reader.finish()
    for source in sources:
        source.ask()
        source.files = [place.file for place in reader.places]
        check_kappa(source, reader.options.kappa)
        give_intervals(source, reader.options.level)
        for place in reader.places:
            if place.torn_lines:
                torn = f"{place.torn_lines:,} in {place.file}, first line {place.first_torn}"
                source.say("TRUNCATED_LINE_DROPPED", torn)
    return sources


def _unknown(text: Text, place: Place) -> str:
    if place.torn_lines:
        return f"{text.name}:{place.first_torn}: breaks off before anything is whole; nothing is left to read"
    begins = f"begins with {shown(text.first)}" if text.first else "holds no line"
    return f"{text.name}: unknown shape; it {begins}; known: {_KNOWN}"


def _readers(text: Text, place: Place, options: Options, shared: Shared) -> list[Reader]:
    """The readers that found something in one file."""
    head = text.head()
    for kind in TABLE_READERS:
        if kind.looks_like(head, options):
            table = kind(options)
            table.read(text, place)
            return [table]
    if looks_like_json(head):
        return list(_read_records(text, place, options, shared))
    return list(_read_lines(text, place, options, shared))


def _reader(kind: type[Kind], options: Options, shared: Shared) -> Kind:
    """A reader of this kind: that of all files, or one for this file alone."""
    return cast(Kind, shared[kind]) if kind in shared else kind(options)


def _read_records(text: Text, place: Place, options: Options, shared: Shared) -> list[ObjectReader]:
    readers = [_reader(kind, options, shared) for kind in OBJECT_READERS]
    used: list[ObjectReader] = []
    for own in records(text, place):
        reader = next((reader for reader in (*used, *readers) if reader.claims(own.value)), None)
        if reader is not None:
            if reader not in used:
                used.append(reader)
            reader.record(own.value, place)
        elif not own.glued:
            keys = list(own.value)
            names = ", ".join(map(shown, keys[:_LISTED_KEYS]))
            cut = len(keys) > _LISTED_KEYS or len(names) > _LISTED_LETTERS
            names = (names[:_LISTED_LETTERS] or "(none)") + (" …" if cut else "")
            place.refuse(f"an object of unknown shape, with the keys {names}; known: {_KNOWN}")
    return used


def _begins_like(line: bytes, used: Iterable[bytes], marks: Iterable[bytes]) -> bool:
    """Whether a line without an end may be the beginning of one like those that were used, or ends inside a mark."""
    begun, *lines = (_NUMBERS.sub(b"0", _SPACES.sub(b" ", own)) for own in (line, *used))
    for form in (begun, _PREFIX.sub(b"", begun)):
        if any(len(form) < len(own) and own.startswith(form) for own in lines):
            return True
    return any(line.endswith(mark[:size]) for mark in marks for size in range(_TELLING, len(mark)))


def _read_lines(text: Text, place: Place, options: Options, shared: Shared) -> list[LineReader]:
    kinds: tuple[type[LineReader], ...] = (*LINE_READERS, Embedded)
    readers = [_reader(kind, options, shared) for kind in kinds]
    marks = {mark for reader in readers for mark in reader.marks}
    plain_marks = {mark for mark in marks if not mark.startswith(b'"')}
    touched: dict[int, LineReader] = {}
    used: deque[bytes] = deque(maxlen=_REMEMBERED)
    tail = b""
    for block in text.blocks():
        refuse_tables(block, place)
        present = {mark for mark in (marks if _ENTRY in block else plain_marks) if mark in block}
        active = [(reader, tuple(mark for mark in reader.marks if mark in present)) for reader in readers]
        active = [(reader, own) for reader, own in active if own or reader.inside]
        ended = block.endswith(b"\n")
        if not active:
            place.number += block.count(b"\n") + (not ended)
            tail = b"" if ended else block[block.rfind(b"\n") + 1 :]
            continue
        lines = block.split(b"\n")
        if ended:
            lines.pop()
        last = len(lines) - 1
        for i, line in enumerate(lines):
            place.number += 1
            for reader, own in active:
                if reader.inside or any_in(own, line):
                    place.whole = ended or i < last
                    touched[id(reader)] = reader
                    reader.line(plain(line), place)
                    if place.whole:
                        used.append(line[:_COMPARED])
        tail = b"" if ended or any_in(tuple(marks), lines[-1]) else lines[-1]
    if tail and touched and _begins_like(tail, used, marks):
        place.torn()
    place.whole = True
    for reader in touched.values():
        reader.file_ends(place)
    return list(touched.values())
