"""What kinds of rounds does a scheme have, and how often did each unit have one?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simspec.stats.intervals import Floats
from simspec.stats.prices import Prices

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Kinds:
    """Rounds of a scheme by kind: what `simspec.model.rounds.RoundKind` says of each, (κ, kinds), padded.

    Attributes
    ----------
    drafted, accepted, steps, beside, rejected, tokens, waits, lost : int64 array (κ, kinds)
    many : int64 array (κ,)
        Kinds before the padding.
    by_unit : int64 array (…, κ, units, kinds)
        Rounds of each unit; 0 in the padding.
    """

    drafted: Ints
    accepted: Ints
    steps: Ints
    beside: Ints
    rejected: Ints
    tokens: Ints
    waits: Ints
    lost: Ints
    many: Ints
    by_unit: Ints

    @staticmethod
    def of(simulations: Sequence[Sequence[Any]]) -> Kinds:
        """Those of simulations that play the same scheme on the same process: kinds are the same in all of them."""
        most = max(len(own.kinds) for own in simulations[0])
        names = ("drafted", "accepted", "steps", "beside", "rejected", "tokens", "waits", "lost")
        columns = {name: np.zeros((len(simulations[0]), most), np.int64) for name in names}
        columns["tokens"] += 1  # of the padding too: a cost is divided by it
        for i, own in enumerate(simulations[0]):
            for name, column in columns.items():
                column[i, : len(own.kinds)] = [getattr(kind, name) for kind in own.kinds]
        units = simulations[0][0].counts.shape[0]
        by_unit = np.zeros((len(simulations), 1, len(simulations[0]), units, most), np.int64)
        for j, tallies in enumerate(simulations):
            for i, own in enumerate(tallies):
                by_unit[j, 0, i, :, : len(own.kinds)] = own.counts
        many = np.array([len(own.kinds) for own in simulations[0]])
        return Kinds(**columns, many=many, by_unit=by_unit)

    def possible(self, which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """By κ, whether some kind of round is such; the padding is none."""
        return np.asarray((which & (np.arange(which.shape[1]) < self.many[:, None])).any(axis=1))

    @property
    def longest(self) -> int:
        """The largest index at which a price is asked for."""
        return int(max(self.drafted.max(), self.steps.max(), self.beside.max()))

    @property
    def lost_by_unit(self) -> Floats:
        """Emitted tokens of each unit that count as lost, (…, κ, units)."""
        return np.asarray((self.by_unit @ self.lost[..., None])[..., 0], np.float64)

    def costs(self, price: Prices) -> Floats:
        """Cost of a round of each kind, (…, κ, kinds)."""
        both = np.maximum(price.verify[..., self.drafted], price.draft[..., self.beside])
        return np.asarray(price.draft[..., self.steps] + both * self.waits + price.c_r[..., None, None] * self.rejected)
