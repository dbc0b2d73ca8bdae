"""A process of your own: a table of survival rows, and which row follows which outcome."""

from __future__ import annotations

import abc
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ConfigDict

from simspec.model.errors import ParameterError, shown
from simspec.model.process import Process


@dataclass(frozen=True)
class RowTable:
    """What happens in a window, by row, and which row comes next.

    Attributes
    ----------
    survival : sequence of sequence of float
        ``survival[row][j − 1]`` = P(first j drafts all accepted | row), never rising along a row.
    on_reject, on_full : sequence of int
        Row of the next window after a rejection, after a full acceptance; may be left out for a single row.
    """

    survival: Sequence[Sequence[float]]
    on_reject: Sequence[int] = (0,)
    on_full: Sequence[int] = (0,)


class RowProcess(Process, abc.ABC):
    """Base of a user's process: say ``rows(kappa)``; simulation, twin, exact route and intervals follow.

    Register the class with ``simspec.register_process`` (or name its module in the entry-point group
    ``simspec.processes``), and scenario files, ``simspec.exact``, ``simspec.simulate`` and
    ``simspec solve`` know its ``type``.

    Examples
    --------
    >>> class Coin(RowProcess):
    ...     type: str = "coin"
    ...     def rows(self, kappa):
    ...         return RowTable([[0.5 ** (j + 1) for j in range(kappa)]])
    >>> Coin().unit
    'window'
    """

    model_config = ConfigDict(defer_build=False)  # a class in a function must see its names now

    @abc.abstractmethod
    def rows(self, kappa: int) -> RowTable:
        """The table for drafts of ``kappa`` ≥ 0 tokens; the number of rows may not depend on κ."""

    @property
    def unit(self) -> str:
        return "window" if len(self.rows(1).survival) == 1 else "lane"

    def checked_rows(self, kappa: int) -> RowTable:
        """`rows`, or a `ParameterError` that names the row and what is wrong with it."""
        table = self.rows(kappa)
        if not isinstance(table, RowTable):
            raise ParameterError("rows", f"rows({kappa}) of {self.type} is {shown(table)}; allowed: a RowTable")
        size = len(table.survival)
        if size != len(self.rows(1).survival) or size == 0:
            raise ParameterError(
                "rows", f"rows({kappa}) of {self.type} has {size} rows; allowed: the same number for all κ"
            )
        for row, curve in enumerate(table.survival):
            _check_curve(f"rows({kappa}) of {self.type}: row {row}", curve, kappa)
        for name in ("on_reject", "on_full"):
            following = list(getattr(table, name))
            known = range(size)
            if len(following) != size or any(isinstance(row, float) or row not in known for row in following):
                raise ParameterError(
                    "rows", f"{name} of {self.type} is {following}; allowed: a row from 0 for each of {size}"
                )
        return table


def _check_curve(where: str, curve: Sequence[float], kappa: int) -> None:
    try:
        values = [float(value) for value in curve]
    except (TypeError, ValueError):
        raise ParameterError("rows", f"{where} is {shown(curve)}; allowed: a list of numbers") from None
    if len(values) != kappa:
        raise ParameterError("rows", f"{where} has {len(values)} values; allowed: {kappa}, one per draft")
    if any(not 0.0 <= b <= a for a, b in itertools.pairwise((1.0, *values))):
        raise ParameterError("rows", f"{where} is no survival curve: {shown(values)}; allowed: 1 ≥ S_1 ≥ … ≥ 0")
