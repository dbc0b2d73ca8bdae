"""Which JSON objects and tables stand between the lines of a log?  Objects are read, a table is refused."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from simspec.evidence.readers import OBJECT_READERS
from simspec.evidence.readers.base import LineReader, ObjectReader, Place
from simspec.evidence.readers.round_columns import ACCEPTED, EMITTED
from simspec.evidence.readers.speculators import COUNTS
from simspec.evidence.records import last_object
from simspec.evidence.source import Source

_ENTRY = re.compile(r'"\w+"\s*:\s')
_HEADER = re.compile(rb"\n((?:[A-Za-z_]\w*[,;\t])+[A-Za-z_]\w*)(?=\n)")


@dataclass(eq=False)
class Embedded(LineReader):
    """Lines that are JSON objects of a known shape; others are no business of a log."""

    marks = tuple(mark for kind in OBJECT_READERS for mark in kind.marks)
    readers: list[ObjectReader] = field(default_factory=list)

    def line(self, text: str, place: Place) -> None:
        text = text.strip()
        if _ENTRY.match(text):
            place.refuse("a JSON document over several lines inside a log; give it as a file of its own")
        if not text.startswith("{"):
            return
        try:
            value: Any = json.loads(text)
        except (ValueError, RecursionError):
            place.torn()
            value = last_object(text, 1)
            if value is None:
                return
        if not self.readers:
            self.readers = [kind(self.options) for kind in OBJECT_READERS]
        reader = next((reader for reader in self.readers if reader.claims(value)), None)
        if reader is not None:
            reader.record(value, place)
            if not reader.places:
                reader.places.append(place)

    def finish(self) -> list[Source]:
        return [source for reader in self.readers if reader.places for source in reader.finish()]


def refuse_tables(block: bytes, place: Place) -> None:
    """A table of rounds whose header stands among the lines of a log would be passed over: it is refused."""
    if place.number:  # the first line of a file is no line inside a log
        block = b"\n" + block
    for found in _HEADER.finditer(block):
        columns = re.split("[,;\t]", found.group(1).decode())
        if any(name in columns for name in (*ACCEPTED, *EMITTED, *COUNTS)):
            place.number += block.count(b"\n", 0, found.start() + 1) + (place.number == 0)
            place.refuse("a table of rounds begins inside a log; give it as a file of its own")
