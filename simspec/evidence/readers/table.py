"""How does a delimited text begin?  Separator, decimal sign, columns; and the rest of it as a stream."""

from __future__ import annotations

import contextvars
import io
import re
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from simspec.evidence.lines import Text
from simspec.evidence.readers.base import Options, Place, Reader

_SEPARATORS = ";\t,"


@dataclass(frozen=True)
class Header:
    """First line of a table."""

    columns: tuple[str, ...]
    separator: str
    decimal: str
    line: bytes


@dataclass(eq=False)
class TableReader(Reader):
    """Reads a whole table by itself."""

    shapes: ClassVar[tuple[str, ...]] = ()

    @classmethod
    @abstractmethod
    def looks_like(cls, head: bytes, options: Options) -> bool:
        """Whether the first bytes are those of such a table."""

    @abstractmethod
    def read(self, text: Text, place: Place) -> None:
        """Read all of it."""


def header(head: bytes) -> Header | None:
    """The header of a delimited text, or None if the first line is not one.

    Examples
    --------
    >>> own = header("runde;kappa;ms\\n0;5;11,085\\n".encode())
    >>> own.columns, own.separator, own.decimal
    (('runde', 'kappa', 'ms'), ';', ',')
    """
    line, sign, rest = head.partition(b"\n")
    if not sign or b"\x00" in line:
        return None
    first = line.decode("utf-8", errors="replace").strip("\ufeff\r ")
    separator = next((mark for mark in _SEPARATORS if mark in first), None)
    if separator is None:
        return None
    columns = tuple(name.strip().strip('"') for name in first.split(separator))
    if len(set(columns)) < len(columns) or not all(re.fullmatch(r"[^\W\d][\w .()/%-]{0,80}", name) for name in columns):
        return None
    commas = separator != "," and re.search(rb"(?<!\d)\d+,\d+(?!\d)", rest) is not None
    points = re.search(rb"(?<!\d)\d+\.\d+(?!\d)", rest) is not None
    return Header(columns, separator, "," if commas and not points else ".", line.strip(b"\r\n"))


class Body(io.RawIOBase):
    """The bytes of a table for a reader of files: headers that stand again inside are left out, a cut last line too."""

    def __init__(self, text: Text, own: Header, place: Place) -> None:
        super().__init__()
        self._pieces = self._filtered(text, own, place)
        self._context = contextvars.copy_context()  # pyarrow reads in a thread, which knows nobody who listens
        self._rest = b""
        self.repeated = 0

    def _filtered(self, text: Text, own: Header, place: Place) -> Iterator[bytes]:
        first = True
        for block in text.blocks():
            if not block.endswith(b"\n"):
                end = block.rfind(b"\n") + 1
                block = block[:end]
                place.number += block.count(b"\n") + 1
                place.torn()
            else:
                place.number += block.count(b"\n")
            if block.count(own.line) > first or not first:
                block, found = _without(block, own.line, keep=first)
                self.repeated += found
            first = False
            yield block

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            piece = self._context.run(next, self._pieces, None)
            if piece is None:
                return 0
            self._rest = piece
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def _without(block: bytes, line: bytes, keep: bool) -> tuple[bytes, int]:
    """A block without the lines equal to ``line``, the first kept if asked, and how many were left out."""
    if line not in block:
        return block, 0
    out, found = [], 0
    for own in block.split(b"\n"):
        if own.strip(b"\r") == line and not keep:
            found += 1
            continue
        keep = keep and own.strip(b"\r") != line
        out.append(own)
    return b"\n".join(out), found
