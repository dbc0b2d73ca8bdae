"""i.i.d. windows and a token tree with numpy: what a user would try."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from setting import ALPHA, KAPPA, IntArray, tree, tree_depths

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


def _walk(block: int) -> Callable[[int], IntArray]:
    """All rounds of a block one level further, those that stopped being taken out."""
    parents, chances = tree()
    depths = tree_depths(parents)
    own = [np.flatnonzero(parents == node) for node in range(len(parents) + 1)]
    widest = max(map(len, own))
    below, child = np.zeros((len(own), widest)), np.zeros((len(own), widest + 1), np.int64)
    for node, children in enumerate(own):
        total = np.cumsum(chances[children])
        below[node, : len(children)] = total
        below[node, len(children) :] = total[-1] if len(children) else 0.0
        child[node, : len(children)] = children + 1  # 0: the round stops

    def play(windows: int) -> IntArray:
        hist = np.zeros(len(depths), np.int64)
        for done in range(0, windows, block):
            here = np.zeros(min(block, windows - done), np.int64)
            while here.size:
                rank = (_rng.random(here.size)[:, None] >= below[here]).sum(axis=1)
                following = child[here, rank]
                hist += np.bincount(here[following == 0], minlength=len(depths))
                here = following[following > 0]
        return np.bincount(depths, weights=hist, minlength=17).astype(np.int64)

    return play


PEERS = [Peer("numpy", "iid", draw.__name__, _histogram(draw)) for draw in (geometric, inversion, search)]
PEERS += [Peer("numpy", "tree", f"{block:,} rounds at a time", _walk(block)) for block in (2**12, 2**16)]


def check() -> None:
    """Compare every way with the exact law."""
    check_all(PEERS)
