"""i.i.d. windows with numpy: three ways a user would try."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from setting import ALPHA, KAPPA, IntArray

from peers.base import Peer, check_all

BLOCK = 2**16
"""Windows at a time; larger arrays leave the caches and run slower."""

_rng = np.random.default_rng(1)
_survival = ALPHA ** np.arange(KAPPA, 0, -1.0)


def geometric(n: int) -> IntArray:
    """Failures before the first rejection, cut at kappa."""
    return np.minimum(_rng.geometric(1.0 - ALPHA, n) - 1, KAPPA)


def inversion(n: int) -> IntArray:
    """The same by hand: floor(log u / log alpha)."""
    runs = np.log1p(-_rng.random(n)) / np.log(ALPHA)
    return np.minimum(runs, KAPPA).astype(np.int64)


def search(n: int) -> IntArray:
    """Where does a uniform number fall among the survival probabilities?"""
    return KAPPA - np.searchsorted(_survival, _rng.random(n), side="right")


def _histogram(draw: Callable[[int], IntArray]) -> Callable[[int], IntArray]:
    def play(windows: int) -> IntArray:
        total = np.zeros(KAPPA + 1, np.int64)
        for done in range(0, windows, BLOCK):
            total += np.bincount(draw(min(BLOCK, windows - done)), minlength=KAPPA + 1)
        return total

    return play


PEERS = [Peer("numpy", "iid", draw.__name__, _histogram(draw)) for draw in (geometric, inversion, search)]


def check() -> None:
    """Compare every way with the exact law."""
    check_all(PEERS)
