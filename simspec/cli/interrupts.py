"""What does Ctrl-C do while a command is still loading its libraries?  It leaves at once, without an exception.

An import cannot be interrupted by one: compiled modules swallow KeyboardInterrupt, or turn it into a panic.  Nothing
has been written by then, so that the process may simply end.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn


class _Console:
    """The signals that are ours, none unless this process is the console script, and the command it was asked for."""

    signals: tuple[signal.Signals, ...] = ()
    name = "simspec"


def _leave(*_: object) -> NoReturn:
    os.write(2, f"{_Console.name}: interrupted\n".encode())
    os._exit(130)


def begin() -> None:
    """The console script has started and is loading; a SIGINT that is ignored, as in a script's ``&``, stays so."""
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    _Console.signals = (signal.SIGTERM,) if ignored else (signal.SIGINT, signal.SIGTERM)
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
        signal.signal(number, _leave if leave else signal.default_int_handler)
