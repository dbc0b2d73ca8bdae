"""How far is a file read?  Said while it is read, to whoever listens; nobody does unless a command asks for it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

MEGABYTE = 10**6
Say = Callable[[str], None]
_say: ContextVar[Say | None] = ContextVar("say", default=None)


@contextlib.contextmanager
def listening(say: Say) -> Iterator[None]:
    """What is being read is told to ``say`` inside.

    Examples
    --------
    >>> with listening(print):
    ...     tell_read("server.log", 3 * MEGABYTE, 12 * MEGABYTE)
    reading server.log: 3 of 12 MB
    """
    token = _say.set(say)
    try:
        yield
    finally:
        _say.reset(token)


def tell(doing: str) -> None:
    """What is being done now."""
    say = _say.get()
    if say is not None:
        say(doing)


def tell_read(name: str, done: int, size: int | None) -> None:
    """Bytes of a file, as it lies on the disk, that are read; ``size`` None: of unknown length."""
    of = "" if size is None else f" of {size // MEGABYTE:,}"
    tell(f"reading {name}: {done // MEGABYTE:,}{of} MB")
