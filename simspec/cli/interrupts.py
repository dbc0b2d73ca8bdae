"""What do Ctrl-C, SIGTERM and a closed terminal do?  They end a command in good order; a second Ctrl-C, at once.

While a command is still loading its libraries it leaves at once, without an exception: compiled modules swallow
KeyboardInterrupt, or turn it into a panic.  Nothing has been written by then, so that the process may simply end.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

SAME_PRESS = 0.25
"""Seconds within which a signal is the same one again: ``timeout`` and shells tell a process, and then its group."""


class _Console:
    """The signals that are ours, none unless this process is the console script, and the command it was asked for."""

    signals: tuple[signal.Signals, ...] = ()
    name = "simspec"
    first: int | None = None
    since = 0.0


def _leave(number: int, _frame: object = None) -> NoReturn:
    with suppress(OSError):  # a terminal that is closed
        os.write(2, f"{_Console.name}: {_word(number)}\n".encode())
    os._exit(128 + number)


def _stop(number: int, _frame: object = None) -> None:
    """The first signal becomes a KeyboardInterrupt; after it only another Ctrl-C counts."""
    now = time.monotonic()
    if _Console.first is None:
        _Console.first, _Console.since = number, now
        raise KeyboardInterrupt
    if number == signal.SIGINT and now - _Console.since > SAME_PRESS:
        with suppress(OSError):
            os.write(2, f"{_Console.name}: stopped at once\n".encode())
        os._exit(128 + number)


def _word(number: int) -> str:
    return "interrupted" if number == signal.SIGINT else f"stopped by {signal.Signals(number).name}"


def begin() -> None:
    """The console script has started and is loading; a signal that is ignored (``&`` in a script, nohup) stays so."""
    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    ours = [signal.Signals[name] for name in names]
    _Console.signals = tuple(one for one in ours if signal.getsignal(one) is not signal.SIG_IGN)
    _leave_at_once(True)


def ready(command: str) -> None:
    """The command begins: from now on Ctrl-C is a KeyboardInterrupt."""
    _Console.name = f"simspec {command}"
    _leave_at_once(False)


@contextmanager
def loading() -> Iterator[None]:
    """While a command loads what it needs, before it writes anything.

    Examples
    --------
    >>> with loading():  # without effect outside the console script
    ...     import json
    """
    _leave_at_once(True)
    try:
        yield
    finally:
        _leave_at_once(False)


def _leave_at_once(leave: bool) -> None:
    for number in _Console.signals:
        signal.signal(number, _leave if leave else _stop)


def what_stopped() -> str:
    """In a word, what the KeyboardInterrupt was."""
    return _word(_Console.first or signal.SIGINT)


def exit_code() -> int:
    """As shells have it: 130 after Ctrl-C, 143 after SIGTERM, 129 after a terminal that was closed."""
    return 128 + (_Console.first or signal.SIGINT)


def same_command() -> str:
    """The command line of this process, to be pasted into the same shell."""
    own = sys.argv[0]
    if Path(own).stem != "simspec":  # python -m simspec
        return shlex.join(sys.orig_argv)
    found = shutil.which("simspec")
    plain = found is not None and os.path.realpath(found) == os.path.realpath(own)
    return shlex.join(["simspec" if plain else own, *sys.argv[1:]])
