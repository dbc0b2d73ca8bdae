"""How does a file become JSON objects?  One per line, a list of them, or documents one after the other; streamed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from simspec.evidence.containers import LONGEST_LINE
from simspec.evidence.lines import Text
from simspec.evidence.readers.base import Place
from simspec.model.errors import shown

_DECODER = json.JSONDecoder()
_SPACE = " \t\r\n\ufeff"
_LITERAL = re.compile(r"(?:t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?|-|N|Na|-?I\w*)?\s*$")
_OPENINGS = 200


@dataclass(frozen=True)
class Record:
    """An object; ``glued`` if its line begins with the rest of another one that breaks off."""

    value: dict[str, Any]
    glued: bool = False


def looks_like_json(head: bytes) -> bool:
    """Whether a file starts as JSON does: an object, or a list of objects; ``[2026-06-20 …`` does not.

    A file whose first line is the end of an object, and the second an object, does too: its head was cut off.
    """
    return re.match(rb'\s*(?:\[\s*[\]{]|\{\s*["}]|\[\s*$|\{\s*$)', head) is not None or _cut_head(_first_lines(head))


def records(text: Text, place: Place) -> Iterator[Record]:
    """The objects of a file in order; ``place`` moves along.

    Raises
    ------
    ParameterError
        Something is no JSON, or no object.
    """
    lines = _first_lines(text.head())
    one_each = lines and lines[0][0] == "{" and any(_is_object(line) for line in lines[:3])
    if not lines or one_each or _cut_head(lines):
        return _of_lines(text, place)
    return _of_documents(text, place)


def _first_lines(head: bytes) -> list[str]:
    """The first whole lines that are not empty."""
    lines = head.decode("utf-8", "replace").split("\n", 10)[:-1]
    return [line.strip(_SPACE) for line in lines if line.strip(_SPACE)]


def _cut_head(lines: list[str]) -> bool:
    """Whether the first line is the end of an object, which stands alone in the second."""
    return len(lines) > 1 and lines[0][0] not in "{[" and lines[0][-1] == "}" and _is_object(lines[1])


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _of_lines(text: Text, place: Place) -> Iterator[Record]:
    for block in text.blocks():
        lines = block.decode("utf-8", errors="replace").split("\n")
        last = lines.pop()
        for line in lines:
            place.number += 1
            yield from _of_line(line.strip(_SPACE), place)
        if last.strip(_SPACE):
            place.number += 1
            yield from _of_line(last.strip(_SPACE), place, last=True)


def _of_line(line: str, place: Place, last: bool = False) -> Iterator[Record]:
    position = 0
    while position < len(line):
        value, end, cut = _decode(line, position, place)
        if cut is not None:
            rescued = last_object(line, position + 1)
            headless = place.number == 1 and line[0] not in "{["
            if rescued is None and not (cut or last or headless):
                place.refuse(f"is not JSON ({_context(line, end)})")
            place.torn()
            if rescued is not None:
                yield Record(rescued, glued=True)
            return
        yield Record(_object(value, place))
        position = end
        while position < len(line) and line[position] in _SPACE:
            position += 1


def _decode(line: str, position: int, place: Place) -> tuple[Any, int, bool | None]:
    """Value, where it ends, and None; or where it fails and whether the text just breaks off there."""
    try:
        value, end = _DECODER.raw_decode(line, position)
    except json.JSONDecodeError as error:
        open_string = error.msg.startswith("Unterminated string")
        return None, error.pos, open_string or _LITERAL.match(line, error.pos) is not None or error.pos >= len(line) - 6
    except (ValueError, RecursionError) as error:
        place.refuse(f"is not JSON ({error})")
    return value, end, None


def last_object(line: str, start: int) -> dict[str, Any] | None:
    """The whole object that ends a line whose beginning is the rest of another."""
    for tried, opening in enumerate(re.finditer(r'\{"', line[start:])):
        if tried == _OPENINGS:
            return None
        try:
            value, end = _DECODER.raw_decode(line, start + opening.start())
        except (ValueError, RecursionError):
            continue
        if end == len(line) and isinstance(value, dict):
            return value
    return None


def _object(value: Any, place: Place) -> dict[str, Any]:
    if not isinstance(value, dict):
        place.refuse(f"holds {shown(value)}; allowed: JSON objects")
    return value


def _context(line: str, position: int) -> str:
    return f"unexpected {shown(line[position : position + 20])} at column {position + 1}"


def _of_documents(text: Text, place: Place) -> Iterator[Record]:
    buffer, in_list, wanted = "", False, 0
    place.number = 1
    for piece in _chunks(text):
        buffer += piece
        last = piece == ""
        if len(buffer) < wanted and not last:
            continue
        position = 0
        while True:
            start = _skip(buffer, position, "," if in_list else "")
            place.number += buffer.count("\n", position, start)
            position = start
            if position == len(buffer):
                break
            if buffer[position] in "[]" and (buffer[position] == "]") == in_list:
                in_list = not in_list
                position += 1
                continue
            value, end, cut = _decode(buffer, position, place)
            if cut is not None:
                if not cut:
                    place.refuse(f"is not JSON ({_context(buffer, end)})")
                break
            yield Record(_object(value, place))
            place.number += buffer.count("\n", position, end)
            position = end
        buffer = buffer[position:]
        wanted = 2 * len(buffer)  # tried again when it has doubled: the work stays in proportion
        if wanted > 2 * LONGEST_LINE:
            place.refuse(f"a JSON document is larger than {LONGEST_LINE >> 20} MiB; write one object per line")
    if buffer or in_list:
        place.torn()


def _chunks(text: Text) -> Iterator[str]:
    for block in text.blocks():
        yield block.decode("utf-8", errors="replace")
    yield ""


def _skip(buffer: str, position: int, also: str) -> int:
    while position < len(buffer) and (buffer[position] in _SPACE or buffer[position] in also):
        position += 1
    return position
