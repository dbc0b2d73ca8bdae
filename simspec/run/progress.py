"""What is happening, how fast, and when will it end?  Something is said at least every two seconds."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import TextIO

from simspec.text import clean

TICK = 1.5


class Progress:
    """Prints what is being done to a stream from a thread of its own, also while the main thread compiles.

    On a terminal one line is rewritten; elsewhere plain lines follow each other.

    Parameters
    ----------
    total : int
        Windows to simulate; 0 if not known.
    quiet : bool
        Say nothing at all.
    """

    def __init__(self, total: int = 0, quiet: bool = False, stream: TextIO | None = None) -> None:
        self.total, self.quiet = total, quiet
        self.stream = stream if stream is not None else sys.stderr
        self.done = 0
        self.doing = "starting"
        self._counted_since: float | None = None
        self._lock = threading.Lock()
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
            if self._is_terminal():
                self.stream.write("\r\x1b[K")
            self.stream.flush()

    def say(self, doing: str) -> None:
        """Name the current step; printed with the next tick."""
        self.doing = doing

    def begin(self, doing: str, total: int) -> None:
        """Start a step that counts its windows from 0, ``total`` of them if that is known."""
        with self._lock:
            self.doing, self.total, self.done, self._counted_since = doing, total, 0, None

    def note(self, line: str) -> None:
        """Print one line now."""
        if not self.quiet:
            self._write(line, last=True)

    def add(self, windows: int) -> None:
        """Count finished windows."""
        with self._lock:
            if self._counted_since is None:
                self._counted_since = time.monotonic()
            self.done += windows

    def _run(self) -> None:
        while not self._stop.wait(TICK):
            self._write(self.line())

    def line(self) -> str:
        """The current state in one line."""
        now = time.monotonic()
        text = f"[{now - self.began:5.1f} s] {self.doing}"
        if self.done and self._counted_since is not None and now > self._counted_since:
            rate = self.done / (now - self._counted_since)
            text += f": {self.done:,} windows, {rate / 1e6:,.1f} M/s"
            if self.total > self.done > self.total / 20:  # before that the first compilation spoils the rate
                text += f", {self.done / self.total:.0%}, ready in about {_span((self.total - self.done) / rate)}"
        return text

    def _is_terminal(self) -> bool:
        return bool(getattr(self.stream, "isatty", lambda: False)())

    def _write(self, line: str, last: bool = False) -> None:
        line = clean(line)  # it may name a file
        if self._is_terminal():
            self.stream.write(f"\r\x1b[K{line}" + ("\n" if last else ""))
        else:
            self.stream.write(line + "\n")
        self.stream.flush()


def _span(seconds: float) -> str:
    """A time to wait, as people say it.

    Examples
    --------
    >>> _span(99), _span(1000), _span(100_000)
    ('99 s', '17 min', '27 h 47 min')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
