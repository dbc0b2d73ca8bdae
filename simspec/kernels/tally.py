"""What does a simulation return?  Integers only: per-lane totals and a histogram, which add up in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, overload

import numpy as np

SUMS = ("n", "accepted", "accepted_sq", "rejected", "accepted_rejected", "zero", "drafted", "tokens")
"""Per lane: rounds, ΣA, ΣA², rounds with a rejection, ΣA over those, rounds with A = 0, Σ drafts, Σ emitted tokens."""

BY_LANE = ("flips", "wakes", "made", "asked", "steps")
"""What else a tally has by lane, beside the sums; joined and added up like them."""


@dataclass(frozen=True)
class Tally:
    """Counts of one simulation at one κ.

    Attributes
    ----------
    kappa : int
        Draft length asked for.
    sums : int64 array (lanes, 8)
        Totals per lane in chunk order, columns as in `SUMS`.  A lane is a chain of rounds, or one generation; of
        requests that are served together see `together`.
    histogram : int64 array (kappa + 1, kappa + 1)
        ``histogram[drafted, accepted]`` = number of rounds.
    flips : int64 array (lanes,)
        Rounds that asked for another κ than the round before; empty where κ never changes.
    wakes : int64 array (lanes,)
        Rounds that drafted in a request whose last round had κ = 0; likewise.
    made, asked : int64 array (lanes, kappa + 1)
        Rounds by drafts made, and by κ asked for, which is more where the end of a request cuts a draft; no rows where
        κ never changes.
    steps : int64 array (lanes, kappa + 1, 2)
        Rounds of each lane by the step that its batch made: most drafts of any lane, and whether any lane rejected; no
        rows where requests are served alone.
    """

    kappa: int
    sums: np.ndarray
    histogram: np.ndarray
    flips: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64), kw_only=True)
    wakes: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64), kw_only=True)
    made: np.ndarray = field(default_factory=lambda: np.zeros((0, 1), np.int64), kw_only=True)
    asked: np.ndarray = field(default_factory=lambda: np.zeros((0, 1), np.int64), kw_only=True)
    steps: np.ndarray = field(default_factory=lambda: np.zeros((0, 1, 2), np.int64), kw_only=True)

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


class AtMarks(NamedTuple):
    """What lanes have at some marks of their way.

    Attributes
    ----------
    counts : int32 array (marks, lanes, κ + 1, κ + 1)
        Rounds so far by (drafted, accepted).
    flips, wakes, discarded : int32 array (marks, lanes)
        As in `Tally`, so far; and tokens emitted past the ends of requests.
    """

    counts: np.ndarray
    flips: np.ndarray
    wakes: np.ndarray
    discarded: np.ndarray


def together(tally: Tally, batch: int) -> Tally:
    """A tally of lanes as one of batches of neighbouring lanes, which are not independent; the last may be smaller.

    Examples
    --------
    >>> lanes = Tally(1, np.ones((5, len(SUMS)), np.int64), np.eye(2, dtype=np.int64), flips=np.arange(5))
    >>> own = together(lanes, 2)
    >>> own.column("n").tolist(), own.flips.tolist()
    ([2, 2, 1], [1, 5, 4])
    """

    def added(name: str) -> np.ndarray:
        own: np.ndarray = getattr(tally, name)
        return np.asarray(np.add.reduceat(own, np.arange(0, len(own), batch), axis=0)) if len(own) else own

    by_batch: dict[str, Any] = {name: added(name) for name in ("sums", *BY_LANE)}
    return replace(tally, **by_batch)


class Folded(Sequence[Tally]):
    """Tallies of fresh windows at several κ, made when asked for: the runs say everything.

    Parameters
    ----------
    runs : int64 array (rows, longest + 1)
        As for `fold`, a row per chunk or lane.
    kappas : tuple of int
        Ascending.

    Examples
    --------
    >>> own = Folded(np.array([[3, 2, 1]]), (1, 2))
    >>> [tally.total("accepted") for tally in own], own.rounds
    ([3, 4], 12)
    """

    def __init__(self, runs: np.ndarray, kappas: tuple[int, ...]) -> None:
        self.runs, self.kappas = runs, kappas

    @property
    def rounds(self) -> int:
        """Rounds over all κ."""
        return int(self.runs.sum()) * len(self.kappas)

    def __len__(self) -> int:
        return len(self.kappas)

    @overload
    def __getitem__(self, index: int) -> Tally: ...
    @overload
    def __getitem__(self, index: slice) -> list[Tally]: ...
    def __getitem__(self, index: int | slice) -> Tally | list[Tally]:
        if isinstance(index, slice):
            return [fold(self.runs, kappa) for kappa in self.kappas[index]]
        return fold(self.runs, self.kappas[index])

    @staticmethod
    def join(parts: Sequence[Folded]) -> Folded:
        """Those of successive chunks as one."""
        return Folded(np.concatenate([part.runs for part in parts]), parts[0].kappas)


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
