"""What would a user write without simspec?  The peers, each checked against the exact law before it is timed.

Every module of this package has a list ``PEERS`` and a function ``check()`` that raises `AssertionError` if one of its
peers draws from another law than it should.  A module whose tools are missing raises `Missing` on import.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType

from peers.base import Missing, Peer

MODULES = ("vectorised", "loops", "compiled", "accelerated")


def load(say: Callable[[str], None]) -> list[Peer]:
    """All peers this machine can run, each checked; ``say`` is told what is left out and why.

    Raises
    ------
    AssertionError
        A peer's mean accepted length or share of full windows is more than 6 standard errors off.
    """
    found: list[Peer] = []
    for name in MODULES:
        try:
            module: ModuleType = importlib.import_module(f"peers.{name}")
        except Missing as reason:
            say(f"left out: {reason}")
            continue
        say(f"checking the peers in {name}")
        module.check()
        found += module.PEERS
    return found
