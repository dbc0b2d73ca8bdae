"""What was seen of rounds, as fits, tests and advice take it: how long each draft was, how far it went, and whose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simspec.model.errors import ParameterError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

REQUEST, LOG_LINE, ENGINE, INTERVAL, NO_UNIT = "request", "log line", "engine", "scrape interval", "none"
"""What may be taken as independent: requests; lines of a log, a time block each; engines between two scrapes; times
between scrapes, of one engine each; nothing known but the rounds."""
SPAN = "span of rounds"
"""Rounds added up along a file that holds more of them than are kept."""
STRETCHES = (LOG_LINE, ENGINE, INTERVAL, SPAN)
"""Neighbours share requests."""


@dataclass(frozen=True, eq=False)
class Observed:
    """Rounds with a draft, group by group.

    Attributes
    ----------
    drafted : int64 array (rows,)
        Drafts offered in a round, at least 1.
    accepted : int64 array (rows,)
        Drafts accepted before the first rejection; the bonus token is not counted.
    count : int64 array (rows,)
        Rounds alike; 1 where they are ``ordered``.
    offsets : int64 array (groups + 1,)
        Rows of group g are ``offsets[g]`` to ``offsets[g + 1]``.
    unit : str
        What a group is: ``"request"``, ``"log line"``, ``"engine"``, ``"scrape interval"``, or ``"none"`` (one group;
        rounds are taken as independent).
    ordered : bool
        Rows of a group stand in the order of time, one round each.
    left_out : int
        Rounds of the source that are counted in its figures and not kept here.
    missing : int
        Draft tokens that ``drafted`` counts and nobody offered: drafts cut short, at most 2 % of all, in a source that
        tells how many tokens were drafted and not in which rounds.  Rates of deep positions are too low by that share.
    names : tuple of str, or None
        What the source calls its groups, where it names requests: two runs of the same requests are compared in pairs.
    begins : tuple of (file, line), or None
        Where each group begins, where a group is a line of a log, or several of them.
    whole : Observed or None
        All rounds added up in spans along the file, where some are left out because there are too many.
    """

    drafted: Ints
    accepted: Ints
    count: Ints
    offsets: Ints
    unit: str = NO_UNIT
    ordered: bool = False
    left_out: int = 0
    missing: int = 0
    names: tuple[str, ...] | None = None
    begins: tuple[tuple[str, int], ...] | None = None
    whole: Observed | None = None

    def __post_init__(self) -> None:
        rows = len(self.drafted)
        if not (rows == len(self.accepted) == len(self.count) == self.offsets[-1] and self.offsets[0] == 0):
            raise ParameterError("rounds", "columns of rounds differ in length")
        if rows and (self.accepted.min() < 0 or (self.accepted > self.drafted).any() or self.drafted.min() < 1):
            raise ParameterError("rounds", "accepted is out of range; allowed: 0 ≤ accepted ≤ drafted, 1 ≤ drafted")
        if self.names is not None and len(self.names) != self.groups:
            raise ParameterError("rounds", f"{len(self.names)} names for {self.groups} groups; allowed: one for each")
        if self.begins is not None and len(self.begins) != self.groups:
            raise ParameterError("rounds", f"{len(self.begins)} places for {self.groups} groups; allowed: one for each")
        if rows and (self.count.min() < 1 or (self.ordered and self.count.max() > 1)):
            raise ParameterError("rounds", "count is out of range; allowed: 1 ≤ count, and 1 where rounds are in order")

    @classmethod
    def in_order(
        cls, drafted: Sequence[Sequence[int]], accepted: Sequence[Sequence[int]], unit: str = REQUEST
    ) -> Observed:
        """Rounds of each group in the order of time.

        Examples
        --------
        >>> Observed.in_order([[4, 4], [4]], [[3, 0], [4]]).examined().tolist()
        [3, 2, 2, 2]
        """
        sizes = [len(own) for own in accepted]
        long, far = (
            np.fromiter((n for own in groups for n in own), np.int64, sum(sizes)) for groups in (drafted, accepted)
        )
        return cls(long, far, np.ones(sum(sizes), np.int64), np.cumsum([0, *sizes]), unit, ordered=True)

    @classmethod
    def of_counts(cls, groups: Sequence[tuple[int, int, Sequence[int]]], unit: str = NO_UNIT) -> Observed:
        """From κ, drafts and the rounds that accepted drafts 1 … j, j = 1 … κ, of each group.

        Examples
        --------
        >>> Observed.of_counts([(3, 100, [70, 45, 25])]).count.tolist()
        [30, 25, 20, 25]
        """
        drafted, accepted, count, sizes = [], [], [], []
        for kappa, drafts, reached in groups:
            exactly = -np.diff([drafts, *reached, *[0] * (kappa + 1 - len(reached))])
            seen = np.flatnonzero(exactly)
            drafted.append(np.full(len(seen), kappa, np.int64))
            accepted.append(seen.astype(np.int64))
            count.append(exactly[seen].astype(np.int64))
            sizes.append(len(seen))
        empty = [np.zeros(0, np.int64)]
        long, far, rounds = (np.concatenate(part or empty) for part in (drafted, accepted, count))
        return cls(long, far, rounds, np.cumsum([0, *sizes]), unit)

    @property
    def groups(self) -> int:
        """Number of groups."""
        return len(self.offsets) - 1

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return int(self.count.sum())

    @property
    def kappa_max(self) -> int:
        """Longest draft offered; 0 without rounds."""
        return int(self.drafted.max(initial=0))

    @property
    def kappas(self) -> tuple[int, ...]:
        """Draft lengths seen."""
        return tuple(int(kappa) for kappa in np.unique(self.drafted))

    @property
    def clustered(self) -> bool:
        """Whether there are groups to take as independent."""
        return self.unit != NO_UNIT and self.groups > 1

    @property
    def group(self) -> Ints:
        """Group of each row."""
        return np.repeat(np.arange(self.groups), np.diff(self.offsets))

    def examined(self) -> Ints:
        """Rounds in which draft j was examined, j = 1 … kappa_max: offered, and all before it accepted."""
        return self._at_least(np.minimum(self.accepted + 1, self.drafted))

    def reached(self) -> Ints:
        """Rounds in which drafts 1 … j were accepted, j = 1 … kappa_max."""
        return self._at_least(self.accepted)

    def _at_least(self, lengths: Ints) -> Ints:
        exactly = np.bincount(lengths, self.count, self.kappa_max + 1)
        return np.cumsum(exactly[::-1])[::-1][1:].astype(np.int64)

    def examined_by_group(self) -> Ints:
        """The same per group, (groups, kappa_max)."""
        return self._by_group(np.minimum(self.accepted + 1, self.drafted))

    def reached_by_group(self) -> Ints:
        """The same per group, (groups, kappa_max)."""
        return self._by_group(self.accepted)

    def _by_group(self, lengths: Ints) -> Ints:
        wide = self.kappa_max + 1
        exactly = np.bincount(self.group * wide + lengths, self.count, self.groups * wide).reshape(self.groups, wide)
        return np.cumsum(exactly[:, ::-1], axis=1)[:, ::-1][:, 1:].astype(np.int64)

    def take(self, chosen: NDArray[np.integer]) -> Observed:
        """Some of the groups, in the order given; a group may be named more than once."""
        chosen = np.asarray(chosen, np.int64)
        sizes = np.diff(self.offsets)[chosen]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        rows = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - self.offsets[chosen], sizes)
        names = None if self.names is None else tuple(self.names[group] for group in chosen)
        return Observed(
            self.drafted[rows], self.accepted[rows], self.count[rows], offsets, self.unit, self.ordered, names=names
        )
