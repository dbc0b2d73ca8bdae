"""How did a log go on beyond the rows that are kept one by one?  All its rounds, added up along the way."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simspec.evidence.observed import SPAN, Observed

Ints = NDArray[np.int64]
MOST = 4_096
"""Spans; when there are more, neighbours become one."""
_WIDE = 1 << 16
"""Beyond the longest draft."""


@dataclass
class Whole:
    """Rounds in the order of the file, added up in spans of equal length, which doubles as the file goes on.

    Examples
    --------
    >>> own = Whole()
    >>> for _ in range(5000):
    ...     own.add(np.full(1000, 4), np.tile([3, 0], 500), np.ones(1000, np.int64))
    >>> found = own.observed()
    >>> found.rounds, found.groups, own.length, found.reached().tolist()
    (5000000, 2442, 2048, [2500000, 2500000, 2500000, 0])
    """

    length: int = 512
    rounds: int = 0
    spans: dict[int, dict[int, int]] = field(default_factory=dict)

    def add(self, drafted: Ints, accepted: Ints, count: Ints) -> None:
        """More rows of rounds; a row lies in the span in which it begins."""
        if not len(drafted):
            return
        ends = self.rounds + np.cumsum(count)
        self.rounds = int(ends[-1])
        while self.rounds > MOST * self.length:
            self._double()
        span = (ends - count) // self.length
        keys, back = np.unique((span * _WIDE + drafted) * _WIDE + accepted, return_inverse=True)
        for key, times in zip(keys.tolist(), np.bincount(back, count).tolist(), strict=True):
            own, pair = divmod(key, _WIDE * _WIDE)
            pairs = self.spans.setdefault(own, {})
            pairs[pair] = pairs.get(pair, 0) + int(times)

    def _double(self) -> None:
        before, self.spans, self.length = self.spans, {}, 2 * self.length
        for own, pairs in before.items():
            into = self.spans.setdefault(own // 2, {})
            for pair, times in pairs.items():
                into[pair] = into.get(pair, 0) + times

    def observed(self) -> Observed:
        """Each span a group."""
        sizes = [len(pairs) for _, pairs in sorted(self.spans.items())]
        rows = [row for _, pairs in sorted(self.spans.items()) for row in sorted(pairs.items())]
        pair, count = np.array(rows, np.int64).reshape(-1, 2).T
        drafted, accepted = np.divmod(pair, _WIDE)
        return Observed(drafted, accepted, count, np.cumsum([0, *sizes]), SPAN)
