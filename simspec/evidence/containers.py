"""What did a container's runtime put around each line?  Docker's JSON files, and the prefix of Kubernetes (CRI)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from simspec.model.errors import ParameterError

_CRI = re.compile(rb"\S+T\S+ (stdout|stderr) ([FP]) ?")
LONGEST_LINE = 2**26
"""A line beyond this is no line of a log; a JSON document beyond it does not fit in memory as objects."""


def wrapped_in(head: bytes, name: str) -> Unwrap | None:
    """How to take the lines of a file out of what is around them; None where nothing is.

    Examples
    --------
    >>> wrapped_in(b'{"log":"INFO ready\\\\n","stream":"stderr","time":"2026-01-02T03:04:05Z"}', "a.log").kind
    'docker'
    >>> wrapped_in(b"INFO ready", "a.log") is None
    True
    """
    first = [line for line in head.split(b"\n") if line.strip()][:2]  # the head of a file may be cut
    if any(map(_CRI.match, first)):
        return Unwrap("cri", name)
    return Unwrap("docker", name) if any(_entry(line) is not None for line in first) else None


@dataclass
class Unwrap:
    """Takes pieces of a wrapped file and gives back the lines inside.

    Attributes
    ----------
    kind : str
        ``"docker"`` or ``"cri"``.
    name : str
        Of the file.
    cut : bool
        Whether a line breaks off.

    Examples
    --------
    >>> own = Unwrap("cri", "a.log")
    >>> own.feed(b"2026-01-02T03:04:05Z stdout P half a \\n2026-01-02T03:04:05Z stdout F line\\n", last=True)
    b'half a line\\n'
    """

    kind: str
    name: str
    cut: bool = False
    lines: int = 0
    _rest: bytes = field(default=b"", repr=False)
    _parts: dict[str, list[bytes]] = field(default_factory=dict, repr=False)

    def feed(self, piece: bytes, last: bool) -> bytes:
        """The lines inside; what breaks off is kept for the next piece."""
        lines = (self._rest + piece).split(b"\n")
        self._rest = b"" if last else lines.pop()
        out = [self._inside(line, i == len(lines) - 1 and last) for i, line in enumerate(lines)]
        if last:
            out += [b"".join(parts) for parts in self._parts.values()]
        return b"".join(out)

    def _inside(self, line: bytes, torn: bool) -> bytes:
        """The text of a line; nothing until all parts of it are there."""
        self.lines += 1
        if not line.strip():
            return b""
        stream, text = self._cri(line, torn) if self.kind == "cri" else self._docker(line)
        parts = self._parts.setdefault(stream, [])
        parts.append(text)
        if sum(map(len, parts)) > LONGEST_LINE:
            raise ParameterError("files", f"{self.name}:{self.lines}: a line is longer than {LONGEST_LINE >> 20} MiB")
        if not text.endswith(b"\n"):
            return b""
        self._parts[stream] = []
        return b"".join(parts)

    def _docker(self, line: bytes) -> tuple[str, bytes]:
        found = _entry(line)
        if found is not None:
            return found
        if self.lines > 1 and not line.lstrip().startswith(b'{"'):
            raise ParameterError(
                "files", f"{self.name}:{self.lines}: not JSON as Docker writes it, as lines before are"
            )
        self.cut = True
        return "", b""

    def _cri(self, line: bytes, torn: bool) -> tuple[str, bytes]:
        """P: more of the line follows.  What has no prefix is a line by itself."""
        found = _CRI.match(line)
        if found is None:
            return "", line + b"\n"[torn:]
        return found.group(1).decode(), line[found.end() :] + (b"\n" if found.group(2) == b"F" and not torn else b"")


def _entry(line: bytes) -> tuple[str, bytes] | None:
    """Stream and text of a line as Docker's json-file driver writes it."""
    if b'"log"' not in line or b'"stream"' not in line:
        return None
    try:
        own = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(own, dict) or own.get("stream") not in ("stdout", "stderr") or not isinstance(own["log"], str):
        return None
    return str(own["stream"]), own["log"].encode("utf-8", "replace")
