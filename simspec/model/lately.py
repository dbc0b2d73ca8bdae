"""What was made lately and may be asked for again?  Kept up to a bound; the oldest goes first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Thing = TypeVar("Thing")


class Lately(Generic[Thing]):
    """Things by what they were made from; for any number of threads, of which one makes and the others wait.

    Parameters
    ----------
    most : int
        Largest size of all things together; one that is larger by itself is given out and not kept.
    size : callable
        Size of a thing.

    Examples
    --------
    >>> made, lately = [], Lately(10, len)
    >>> for length in (4, 5, 4, 3, 5, 11, 11):
    ...     _ = lately.get(length, lambda: made.append(length) or "x" * length)
    >>> made
    [4, 5, 3, 5, 11, 11]
    """

    def __init__(self, most: int, size: Callable[[Thing], int]) -> None:
        self._most, self._size, self._filled = most, size, 0
        self._things: OrderedDict[Hashable, Thing] = OrderedDict()
        self._lock = threading.RLock()

    def get(self, key: Hashable, make: Callable[[], Thing]) -> Thing:
        """What was made under ``key``, or is made now."""
        with self._lock:
            if key in self._things:
                self._things.move_to_end(key)
                return self._things[key]
            thing = make()
            size = self._size(thing)
            if size <= self._most:
                self._things[key] = thing
                self._filled += size
            while self._filled > self._most:
                self._filled -= self._size(self._things.popitem(last=False)[1])
            return thing

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._things.clear()
            self._filled = 0
