"""What do rounds cost, at one price or at many side by side?  Costs as arrays, by drafts, draft steps and width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from simspec.model import Cost
from simspec.stats.intervals import Floats


@dataclass(frozen=True)
class Prices:
    """One cost, or several side by side, as arrays.

    Attributes
    ----------
    base : float array (…, longest draft + 1)
        Cost of a round by drafts, without rollback.
    c_r, off, c_switch, c_wake : float array (…)
    draft, verify : float array (…, longest draft + 1)
        Cost of so many draft steps, and of the target pass over so many drafted tokens; NaN beyond a table.
    """

    base: Floats
    c_r: Floats
    off: Floats
    draft: Floats
    verify: Floats
    c_switch: Floats
    c_wake: Floats

    @staticmethod
    def of(cost: Cost | Sequence[Cost], longest: int) -> Prices:
        """Prices of rounds with up to ``longest`` drafts.

        Examples
        --------
        >>> Prices.of([Cost(c_d=0.5), Cost()], 2).base.tolist()
        [[1.0, 1.5, 2.0], [1.0, 1.0, 1.0]]
        """
        if isinstance(cost, Cost):
            return Prices.of([cost], longest).part(0)
        drafts = np.arange(longest + 1.0)
        c0, c_d, c_v, c_r, off = np.array([tuple(one.numbers().values()) for one in cost]).T
        verify, draft = c0[:, None] + drafts * c_v[:, None], drafts * c_d[:, None]
        for i, one in enumerate(cost):
            for row, table in ((verify[i], one.verify_table), (draft[i], one.draft_table)):
                if table is not None:
                    row[:] = np.nan
                    row[: len(table)] = table[: longest + 1]
        c_switch, c_wake = np.array([tuple(one.of_changes().values()) for one in cost]).T
        return Prices(verify + draft, c_r, off, draft, verify, c_switch, c_wake)

    def part(self, which: slice | int) -> Prices:
        """Some of several costs, or one of them."""
        return Prices(**{field.name: getattr(self, field.name)[which] for field in fields(self)})
