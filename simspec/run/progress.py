"""What is happening, how fast, and when will it end?  Something is said at least every two seconds."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from types import TracebackType
from typing import TextIO

from simspec.text import clean

FIRST, TICK = 1.0, 1.5
"""Seconds until the first line, since the interpreter took some before, and between lines."""
WIDTH = 80
"""Of a terminal that does not tell."""
START, ERASE = "\r", "\x1b[K"


class Progress:
    """Prints what is being done to a stream from a thread of its own, also while the main thread compiles.

    On a terminal one line is rewritten; elsewhere, and on a terminal that cannot (``TERM=dumb``), plain lines follow
    each other.  A stream that was closed hears nothing more, and the work goes on.

    Parameters
    ----------
    total : int
        Windows to simulate, as planned; 0 if not known.
    quiet : bool
        Say nothing at all.
    """

    def __init__(self, total: int = 0, quiet: bool = False, stream: TextIO | None = None) -> None:
        self.total, self.quiet = total, quiet
        self.stream = stream if stream is not None else sys.stderr
        self.done = self.ready = self.kept = 0
        self.doing = "starting"
        self._counted_since: float | None = None
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Progress:
        self.began = time.monotonic()
        if not self.quiet:
            self._thread = threading.Thread(target=self._run, daemon=True, name="simspec-progress")
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._print(START + ERASE if self._is_terminal() else "")

    def say(self, doing: str) -> None:
        """Name the current step; printed with the next tick."""
        self.doing = doing

    def begin(self, doing: str, total: int) -> None:
        """Start a step that counts its windows from 0, ``total`` of them if that is known."""
        with self._lock:
            self.doing, self.total, self._counted_since = doing, total, None
            self.done = self.ready = self.kept = 0

    def clear(self) -> None:
        """Take the line off a terminal, before something is printed where it stands."""
        if not self.quiet and self._is_terminal():
            self._print(START + ERASE)

    def note(self, line: str) -> None:
        """Print one line now."""
        if not self.quiet:
            self._print(f"{START}{ERASE}{clean(line)}\n" if self._is_terminal() else f"{clean(line)}\n")

    def add(self, windows: int, expected: int | None = None) -> None:
        """Count finished windows, and how many of the total they stand for, where requests took more than was planned.

        Examples
        --------
        >>> own = Progress(total=1000, quiet=True)
        >>> own.add(700, expected=250)
        >>> own.done, own.ready / own.total
        (700, 0.25)
        """
        with self._lock:
            if self._counted_since is None:
                self._counted_since = time.monotonic()
            self.done += windows
            self.ready += windows if expected is None else expected

    def spare(self, windows: int) -> None:
        """Take windows off the total that need not be played: their counts are kept."""
        with self._lock:
            self.total = max(0, self.total - windows)
            self.kept += windows

    def _run(self) -> None:
        wait = min(FIRST, TICK)
        while not self._stop.wait(wait):
            line = clean(self.line())
            self._print(START + _cut(line, self._width()) + ERASE if self._is_terminal() else f"{line}\n")
            wait = TICK

    def line(self) -> str:
        """The current state in one line."""
        now = time.monotonic()
        text = f"[{now - self.began:5.1f} s] {self.doing}"
        if self.done and self._counted_since is not None and now > self._counted_since:
            spent = now - self._counted_since
            text += f": {self.done:,} windows, {self.done / spent / 1e6:,.1f} M/s"
            text += f", {self.kept:,} kept from before" if self.kept and self.total else ""
            if self.total > self.ready > self.total / 20:  # before that the first compilation spoils the rate
                left = (self.total - self.ready) / self.ready * spent
                text += f", {self.ready / self.total:.0%}, ready in about {span(left)}"
        return text

    def _is_terminal(self) -> bool:
        return os.environ.get("TERM") != "dumb" and bool(getattr(self.stream, "isatty", lambda: False)())

    def _width(self) -> int:
        """Columns of the terminal; a longer line would wrap, and could not be rewritten."""
        asked = os.environ.get("COLUMNS", "")
        if re.fullmatch(r"[1-9][0-9]{0,5}", asked):
            return int(asked)
        try:
            return os.get_terminal_size(self.stream.fileno()).columns or WIDTH
        except (OSError, ValueError, AttributeError):
            return WIDTH

    def _print(self, text: str) -> None:
        """Whole, though several threads print; nothing more where nobody listens."""
        with self._writing:
            try:
                self.stream.write(text)
                self.stream.flush()
            except (OSError, ValueError):  # a pipe whose reader left, a terminal that was closed
                self.quiet = True
                self._stop.set()


def _cut(line: str, width: int) -> str:
    """The beginning of a line, one column less than a terminal has: the last one would wrap on some.

    Examples
    --------
    >>> _cut("simulating", 8), _cut("simulating", 80)
    ('simula…', 'simulating')
    """
    return line if len(line) < width else line[: max(0, width - 2)] + "…"


def span(seconds: float) -> str:
    """A time to wait, as people say it.

    Examples
    --------
    >>> span(99), span(1000), span(100_000)
    ('99 s', '17 min', '27 h 47 min')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
