"""What does a simulation return?  Integers only: per-lane totals and a histogram, which add up in any order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SUMS = ("n", "accepted", "accepted_sq", "rejected", "accepted_rejected", "zero", "drafted", "tokens")
"""Per lane: rounds, ΣA, ΣA², rounds with a rejection, ΣA over those, rounds with A = 0, Σ drafts, Σ emitted tokens."""


@dataclass(frozen=True)
class Tally:
    """Counts of one simulation at one κ.

    Attributes
    ----------
    kappa : int
        Draft length asked for.
    sums : int64 array (lanes, 8)
        Totals per lane in chunk order, columns as in `SUMS`.  A lane is a chain of rounds, or one generation.
    histogram : int64 array (kappa + 1, kappa + 1)
        ``histogram[drafted, accepted]`` = number of rounds.
    """

    kappa: int
    sums: np.ndarray
    histogram: np.ndarray

    def total(self, name: str) -> int:
        """Sum of one column of `SUMS` over all lanes."""
        return int(self.sums[:, SUMS.index(name)].sum())

    def column(self, name: str) -> np.ndarray:
        """One column of `SUMS`, by lane."""
        column: np.ndarray = self.sums[:, SUMS.index(name)]
        return column

    def accepted_counts(self) -> np.ndarray:
        """Rounds by accepted length, 0 … κ."""
        counts: np.ndarray = self.histogram.sum(axis=0)
        return counts


def fold(runs: np.ndarray, kappa: int) -> Tally:
    """Tally at ``kappa`` from histograms of the uncapped run: A = min(G, κ).

    Parameters
    ----------
    runs : int64 array (lanes, longest + 1)
        ``runs[lane, g]``: windows of the lane whose run is g, the last bin holding all longer ones; kappa ≤ longest.
    """
    cut = np.empty((runs.shape[0], kappa + 1), np.int64)
    cut[:, :kappa] = runs[:, :kappa]
    cut[:, kappa] = runs[:, kappa:].sum(axis=1)
    j = np.arange(kappa + 1)
    n = cut.sum(axis=1)
    accepted = cut @ j
    rejected = n - cut[:, kappa]
    sums = np.stack(
        [n, accepted, cut @ (j * j), rejected, accepted - kappa * cut[:, kappa], cut[:, 0], kappa * n, accepted + n],
        axis=1,
    )
    histogram = np.zeros((kappa + 1, kappa + 1), np.int64)
    histogram[kappa] = cut.sum(axis=0)
    return Tally(kappa, sums, histogram)
