"""What is a peer, and does it simulate the right thing?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from setting import IntArray, fixed_kappa

from peers.exact import law

BATCHES, BATCH_WINDOWS = 40, 50_000
FURTHEST = 6.0
"""Standard errors a correct peer may be off; with 39 degrees of freedom that is one check in two million."""


class Missing(Exception):  # noqa: N818 - nothing went wrong: a tool is not installed
    """A peer cannot run here; the text names what is missing and how to get it."""


@dataclass(frozen=True)
class Peer:
    """One way of simulating one case.

    Attributes
    ----------
    name : str
        Whose way: numpy, numba, c_loop, c_simd or jax.  Several variants may share a name; the fastest one counts.
    case : str
        One of `setting.CASES`.
    variant : str
        How it is done, in a word or two.
    play : callable
        Simulates about as many windows as it is asked for, and returns their histogram: by accepted length at a fixed
        kappa, or ``[drafted, accepted]`` where a policy sets it.
    """

    name: str
    case: str
    variant: str
    play: Callable[[int], IntArray]

    def windows(self, wanted: int) -> int:
        """Simulate about ``wanted`` windows and return how many there were."""
        return int(self.play(wanted).sum())


def check_law(peer: Peer) -> None:
    """Compare a peer with the exact law of its case; windows depend on each other, so errors come from batches.

    Raises
    ------
    AssertionError
        The mean accepted length or the share of full windows is more than `FURTHEST` standard errors off.
    """
    exact = law(peer.case)
    batches = [peer.play(BATCH_WINDOWS) for _ in range(BATCHES)]
    accepted = np.arange(exact.shape[1])
    if batches[0].ndim == 1:
        kappa = fixed_kappa(peer.case)
        full, wanted = [h[kappa] for h in batches], exact[:, kappa].sum()
        lengths = [h[: kappa + 1] for h in batches]
    else:
        full, wanted = [np.trace(h) for h in batches], np.trace(exact)
        lengths = [h.sum(axis=0) for h in batches]
    windows = np.array([h.sum() for h in batches], float)
    means = np.array([h @ accepted[: len(h)] for h in lengths], float)
    _compare(peer, "mean accepted length", means, windows, float(exact.sum(axis=0) @ accepted))
    _compare(peer, "share of full windows", np.array(full, float), windows, float(wanted))


def _compare(peer: Peer, what: str, totals: np.ndarray, windows: np.ndarray, wanted: float) -> None:
    """Ratio of batch totals against ``wanted``, with the standard error of a ratio."""
    ratio = totals.sum() / windows.sum()
    rest = totals - ratio * windows
    error = np.sqrt((rest**2).sum() / (len(rest) * (len(rest) - 1))) / windows.mean()
    assert abs(ratio - wanted) <= FURTHEST * error, (
        f"peer {peer.name} ({peer.variant}) of {peer.case}: {what} {ratio:.6f}, exact {wanted:.6f}, "
        f"{abs(ratio - wanted) / error:.1f} standard errors apart"
    )


def check_all(peers: Iterable[Peer]) -> None:
    """`check_law` for each of ``peers``."""
    for peer in peers:
        check_law(peer)
