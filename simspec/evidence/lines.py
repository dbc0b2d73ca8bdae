"""How does a file become lines?  Compressed or not, any line end, in blocks, so that memory does not grow with it."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from simspec.evidence import reading
from simspec.evidence.containers import LONGEST_LINE, Unwrap, wrapped_in
from simspec.model.errors import ParameterError

BLOCK = 2**20

_MARKS = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"), (b"\xef\xbb\xbf", "utf-8"))
_ESCAPE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")


@dataclass
class Text:
    """The bytes of one file, decompressed, in UTF-8, as blocks that end with a line.

    Attributes
    ----------
    name : str
        Path, or ``-`` for standard input.
    cut : bool
        Whether a compressed file turned out to break off.
    first : str
        The first line that is not empty, cut to a readable length, to name a file of unknown shape by.
    """

    name: str
    cut: bool = False
    first: str = ""
    _held: bytes = field(default=b"", repr=False)
    _handle: io.BufferedIOBase | None = field(default=None, repr=False)
    _raw: IO[bytes] | None = field(default=None, repr=False)
    _decoder: codecs.IncrementalDecoder | None = field(default=None, repr=False)
    _ended: bool = field(default=False, repr=False)
    _return: bool = field(default=False, repr=False)
    _taken: int = field(default=0, repr=False)
    _size: int | None = field(default=None, repr=False)
    _container: Unwrap | None = field(default=None, repr=False)

    def head(self, size: int = 2**16) -> bytes:
        """The first bytes, which are not consumed."""
        while len(self._held) < size and not self._ended:
            self._held += self._more()
        if not self.first:
            self.first = next(
                (plain(line).strip()[:200] for line in self._held[:size].split(b"\n") if line.strip()), ""
            )
        return self._held[:size]

    def blocks(self) -> Iterator[bytes]:
        """Blocks of whole lines; only the last may end without a line end."""
        pieces = [self._held]
        self._held = b""
        size = len(pieces[0])
        while True:
            piece = b"" if self._ended else self._more()
            if not piece and self._ended:
                break
            end = piece.rfind(b"\n") + 1
            if end:
                yield b"".join((*pieces, piece[:end]))
                pieces, size = [piece[end:]], len(piece) - end
            else:
                pieces.append(piece)
                size += len(piece)
                if size > LONGEST_LINE:
                    raise ParameterError("files", f"{self.name}: a line is longer than {LONGEST_LINE >> 20} MiB")
        rest = b"".join(pieces)
        if rest:
            yield rest

    def close(self) -> None:
        """Let go of the file."""
        for handle in (self._handle, self._raw) if self.name != "-" else ():
            if handle is not None:
                handle.close()

    def _open(self) -> io.BufferedIOBase:
        raw = sys.stdin.buffer if self.name == "-" else Path(self.name).open("rb")  # noqa: SIM115 - close() ends it
        self._raw = raw
        buffered = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw)  # type: ignore[type-var]
        if buffered.peek(2)[:2] == b"\x1f\x8b":
            return gzip.GzipFile(fileobj=buffered)
        return buffered

    def _block(self, handle: io.BufferedIOBase) -> bytes:
        """About one block; what a compressed file that breaks off still holds is not lost."""
        pieces, size = [], 0
        while size < BLOCK:
            try:
                piece = handle.read1(BLOCK)
            except EOFError:  # the compressed stream has no end
                piece, self.cut = b"", True
            if not piece:
                self._ended = True
                break
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)

    def _more(self) -> bytes:
        """One block as UTF-8; empty at the end, and perhaps before where a character or a wrapped line is split."""
        try:
            first = self._handle is None
            if self._handle is None:
                self._handle = self._open()
            piece = self._block(self._handle)
        except (OSError, zlib.error, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ParameterError("files", f"{self.name}: cannot be read ({reason})") from None
        self._tell(len(piece))
        if first:
            for mark, encoding in _MARKS:
                if piece.startswith(mark):
                    piece = piece[len(mark) :]
                    if encoding != "utf-8":
                        self._decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
                    break
        if self._decoder is not None:
            piece = self._decoder.decode(piece, final=self._ended).encode("utf-8")
        piece = self._line_ends(piece)
        if first:
            self._container = wrapped_in(piece, self.name)
        if self._container is not None:
            piece = self._container.feed(piece, self._ended)
            self.cut = self.cut or self._container.cut
        return piece

    def _tell(self, more: int) -> None:
        """How far the file is read, in bytes as they lie on the disk, so that a compressed one has an end too."""
        self._taken += more
        raw = self._raw
        known = self.name != "-" and raw is not None and raw.seekable()
        if known and self._size is None:
            self._size = Path(self.name).stat().st_size
        name = "standard input" if self.name == "-" else self.name
        reading.tell_read(name, raw.tell() if known and raw else self._taken, self._size)

    def _line_ends(self, piece: bytes) -> bytes:
        """The piece with one kind of line end: progress bars and old systems use a carriage return alone."""
        if self._return:
            piece = b"\r" + piece
        self._return = piece.endswith(b"\r") and not self._ended
        if self._return:
            piece = piece[:-1]
        if b"\r" in piece:
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return piece


def plain(line: bytes) -> str:
    """A line without line end, colours and other escapes; bytes that are no text become �.

    Examples
    --------
    >>> plain(b"\\x1b[1;36m(APIServer pid=1)\\x1b[0;0m INFO\\r")
    '(APIServer pid=1) INFO'
    """
    if b"\x1b" in line:
        line = _ESCAPE.sub(b"", line)
    return line.decode("utf-8", "replace").rstrip("\r\n")
