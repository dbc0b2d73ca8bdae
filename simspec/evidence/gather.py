"""How are rounds kept while a file goes by?  By request or by block of log lines, in memory that does not grow."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from simspec.evidence.observed import LOG_LINE, NO_UNIT, REQUEST, Ints, Observed
from simspec.evidence.source import Unknown
from simspec.evidence.whole import Whole

MOST_KEPT = 1_000_000
"""Rows of rounds that are kept; requests beyond are left out of them, not out of the figures."""
MOST_BLOCKS = 4_096
"""Blocks of log lines; when there are more, neighbours become one."""
MOST_SHORT = 0.02
"""Share of κ·drafts that may be missing where nobody knows from which drafts; beyond, rounds are not told."""

SHORT = Unknown("many drafts are shorter than κ, and the source does not tell which: an end is no rejection")
NO_ROUND = Unknown("no round was seen")
CONTRADICTORY = Unknown("the counts per position contradict the drafts: see identities")

Histogram = dict[tuple[int, int], int]
"""(κ, accepted) → rounds."""


def _exactly(kappa: int, drafts: int, reached: Sequence[int]) -> list[int] | None:
    """Rounds that accepted exactly 0, 1, … κ; None if the counts do not fall."""
    counts = [a - b for a, b in zip([drafts, *reached], [*reached, 0], strict=True)]
    if min(counts) < 0 or len(reached) > kappa:
        return None
    return counts + [0] * (kappa - len(reached))


@dataclass
class Kept:
    """Rows of rounds, group by group, as compact columns.

    Examples
    --------
    >>> own = Kept()
    >>> own.sequence([4, 4], [3, 0])
    >>> own.counts(4, 10, [7, 5, 2, 1], 40)
    >>> found = own.observed()
    >>> found.rounds, found.groups, found.ordered
    (12, 2, False)
    """

    unit: str = REQUEST
    ordered: bool = True
    left_out: int = 0
    missing: int = 0
    offered: int = 0
    broken: int = 0
    full: bool = False
    fresh: bool = True
    drafted: array[int] = field(default_factory=lambda: array("H"))
    accepted: array[int] = field(default_factory=lambda: array("H"))
    count: array[int] = field(default_factory=lambda: array("q"))
    sizes: array[int] = field(default_factory=lambda: array("q"))
    names: list[str | None] = field(default_factory=list)
    whole: Whole | None = None

    def room(self, rows: int) -> bool:
        """Whether a group of so many rows still fits; if not, it and all later ones are `beyond`."""
        self.full = self.full or len(self.drafted) + rows > MOST_KEPT
        return not self.full

    def beyond(self, drafted: Ints, accepted: Ints, count: Ints) -> None:
        """Rows that are not kept one by one."""
        if not len(drafted):
            return
        self.left_out += int(count.sum())
        if self.whole is None:
            self.whole = Whole()
            self.whole.add(*self._rows())
        self.whole.add(drafted, accepted, count)

    def _rows(self) -> tuple[Ints, Ints, Ints]:
        drafted, accepted = (np.array(column, np.int64) for column in (self.drafted, self.accepted))
        return drafted, accepted, np.ones_like(drafted) if self.ordered else np.array(self.count, np.int64)

    def sequence(self, drafted: Iterable[int], accepted: Sequence[int], name: str | None = None) -> None:
        """One generation, its rounds in the order of time."""
        if not self.room(len(accepted)):
            far = np.array(accepted, np.int64)
            self.beyond(np.fromiter(drafted, np.int64, len(far)), far, np.ones_like(far))
        elif len(accepted):
            if not self.ordered:
                self.count.extend([1] * len(accepted))
            self.drafted.extend(drafted)
            self.accepted.extend(accepted)
            self.sizes.append(len(accepted))
            self.names.append(name)

    def stretch(self, drafted: Ints, accepted: Ints, begins: bool, name: str | None = None) -> None:
        """Rounds in order, of a new generation or of the one before; what does not fit any more is left out."""
        fits = min(len(accepted), MOST_KEPT - len(self.drafted))
        self.fresh = self.fresh or begins
        if fits:
            if self.fresh:
                self.sizes.append(0)
                self.names.append(name)
            self.fresh = False
            self.sizes[-1] += fits
            if not self.ordered:
                self.count.extend([1] * fits)
            for column, values in ((self.drafted, drafted), (self.accepted, accepted)):
                column.frombytes(values[:fits].astype(np.uint16).tobytes())
        self.beyond(drafted[fits:], accepted[fits:], np.ones(len(accepted) - fits, np.int64))

    def counts(self, kappa: int, drafts: int, reached: Sequence[int], drafted: int, name: str | None = None) -> None:
        """One group whose rounds are only counted, and the tokens drafted in it."""
        if kappa < 1:
            self.left_out += drafts
            return
        exactly = _exactly(kappa, drafts, reached)
        if exactly is None:
            self.left_out, self.broken = self.left_out + drafts, self.broken + drafts
            return
        self.histogram({(kappa, far): rounds for far, rounds in enumerate(exactly) if rounds}, name)
        if not self.full:  # of rounds that are kept
            self.missing, self.offered = self.missing + max(0, kappa * drafts - drafted), self.offered + kappa * drafts

    def histogram(self, rounds: Histogram, name: str | None = None) -> None:
        """One group by draft length and accepted length."""
        if self.ordered:
            self.ordered, self.count = False, array("q", [1]) * len(self.drafted)
        if not self.room(len(rounds)):
            rows = np.array([(*pair, times) for pair, times in rounds.items()], np.int64).reshape(-1, 3).T
            self.beyond(rows[0], rows[1], rows[2])
        elif rounds:
            for (kappa, far), times in rounds.items():
                self.drafted.append(kappa)
                self.accepted.append(far)
                self.count.append(times)
            self.sizes.append(len(rounds))
            self.names.append(name)

    def observed(self) -> Observed | Unknown:
        """All groups; an `Unknown` where there is none, or where too many drafts are short."""
        if self.missing > MOST_SHORT * self.offered:
            return SHORT
        if not self.sizes:
            return CONTRADICTORY if self.broken else NO_ROUND
        (drafted, accepted, count), sizes = self._rows(), np.array(self.sizes, np.int64)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        named = tuple(name for name in self.names if name is not None)
        names = named if len(named) == len(sizes) == len(set(named)) else None
        whole = None if self.whole is None else self.whole.observed()
        return Observed(
            drafted, accepted, count, offsets, self.unit, self.ordered, self.left_out, self.missing, names, whole=whole
        )


@dataclass
class Blocks:
    """Log lines in order of time, added up in blocks of equal length, which doubles as the file goes on.

    Examples
    --------
    >>> own = Blocks()
    >>> for _ in range(10_000):
    ...     own.line(2, 10, [6, 3], 20, ("server.log", 1))
    >>> found = own.observed()
    >>> found.rounds, found.groups, found.unit
    (100000, 2500, 'log line')
    """

    unit: str = LOG_LINE
    length: int = 1
    lines: int = 0
    blocks: list[dict[int, list[int]]] = field(default_factory=list)  # κ → drafts, and those accepted up to 1 … κ
    begins: list[tuple[str, int]] = field(default_factory=list)
    missing: int = 0
    offered: int = 0
    broken: int = 0

    def line(self, kappa: int, drafts: int, reached: Sequence[int], drafted: int, at: tuple[str, int]) -> None:
        """One line: its drafts, how many accepted drafts 1 … j, the tokens drafted, and where it stands."""
        if self.lines % self.length == 0:
            if len(self.blocks) == MOST_BLOCKS:
                self.blocks = [_together(a, b) for a, b in zip(self.blocks[::2], self.blocks[1::2], strict=True)]
                self.begins = self.begins[::2]
                self.length *= 2
            self.blocks.append({})
            self.begins.append(at)
        self.lines += 1
        counts = [drafts, *reached]
        if len(reached) != kappa or counts != sorted(counts, reverse=True):
            self.broken += drafts
            return
        offered = kappa * drafts
        if drafted < offered:
            self.missing += offered - drafted
        self.offered += offered
        block = self.blocks[-1]
        before = block.get(kappa)
        block[kappa] = counts if before is None else [a + b for a, b in zip(before, counts, strict=True)]

    def observed(self) -> Observed | Unknown:
        """Each block a group; one group alone is none."""
        kept = Kept(self.unit, left_out=self.broken, missing=self.missing, offered=self.offered, broken=self.broken)
        for block in self.blocks:
            rounds: Histogram = {}
            for kappa, (drafts, *reached) in block.items():
                exactly = _exactly(kappa, drafts, reached) or []
                rounds |= {(kappa, far): times for far, times in enumerate(exactly) if times}
            kept.histogram(rounds)
        if len(kept.sizes) == 1:
            kept.unit = NO_UNIT
        found = kept.observed()
        if isinstance(found, Unknown):
            return found
        begins = tuple(at for block, at in zip(self.blocks, self.begins, strict=True) if block)
        return replace(found, begins=begins[: found.groups])


def _together(first: dict[int, list[int]], second: dict[int, list[int]]) -> dict[int, list[int]]:
    """Two blocks as one."""
    out = dict(first)
    for kappa, counts in second.items():
        out[kappa] = [a + b for a, b in zip(out[kappa], counts, strict=True)] if kappa in out else counts
    return out


def pooled(parts: Iterable[tuple[int, int, Sequence[int], int]]) -> Observed | Unknown:
    """Rounds of which only sums are known: κ, drafts, accepted at 1 … j and drafted tokens of each part; one group.

    Examples
    --------
    >>> pooled([(3, 100, [70, 45, 25], 300)]).count.tolist()
    [30, 25, 20, 25]
    >>> pooled([(3, 100, [70, 45, 25], 200)]).reason
    'many drafts are shorter than κ, and the source does not tell which: an end is no rejection'
    """
    kept = Kept(NO_UNIT, ordered=False)
    for kappa, drafts, reached, drafted in parts:
        if drafts:
            kept.counts(kappa, drafts, reached, drafted)
    if kept.sizes:
        kept.sizes = array("q", [sum(kept.sizes)])
    return kept.observed()
