"""How do rounds become columns?  Chunks are laid out row after row in memory that is used again."""

from __future__ import annotations

import functools
from collections.abc import Generator

import numpy as np
import pyarrow as pa

from simspec.kernels.forms import FreshRow, Rows, Steps
from simspec.kernels.words import LANES
from simspec.run.columns import dtype_of
from simspec.run.engine import Job, form_of, players
from simspec.run.schema import ROUNDS
from simspec.run.store import ROW_GROUP

MOST_PER_LANE = ROW_GROUP // LANES
"""Rounds recorded of one lane, so that a chunk fits a row group whatever the budget; the next lanes follow."""


def pages(job: Job, kappa: int, most: int, every: int) -> Generator[pa.Table, None, None]:
    """The first ``most`` rounds of every so many-th chunk, in tables of at most one row group.

    The memory of a table is used again for the one after the next.
    """
    plan, form = job.layout, form_of(job.process, kappa)
    placed = not isinstance(form, (FreshRow, Rows, Steps))
    memory = np.empty(ROW_GROUP * (3 * 4 + 2 * _ROW_BYTES), np.uint8)  # so much at once comes in huge pages
    room, first, second = np.split(memory, np.cumsum([3 * 4, _ROW_BYTES]) * ROW_GROUP)
    current, other = (_Page(own, kappa, placed) for own in (first, second))
    for chunk in range(0, plan.chunks, every):
        own = min(MOST_PER_LANE, most)  # of the first lane that many are enough
        where = (chunk, plan.lanes_of(chunk), plan.length_of(chunk))
        listed = players().rounds_of(form, job.keys, *where, kappa, own, room.view(np.int32))
        if not current.takes(listed[2].size):
            yield current.table(ROW_GROUP)
            current, other = other, current
            current.rows = 0
        most -= current.add(listed, LANES * chunk)
        if most <= 0:
            break
    if current.rows:
        yield current.table(current.rows + min(most, 0))


class _Page:
    """Columns of one row group, filled from the top; without places in output sequences no lane ends before others."""

    def __init__(self, memory: np.ndarray, kappa: int, placed: bool) -> None:
        self.rows, self.placed = 0, placed
        parts = np.split(memory, np.cumsum([kind.itemsize for kind in _KINDS.values()])[:-1] * ROW_GROUP)
        self.columns = {name: part.view(kind) for (name, kind), part in zip(_KINDS.items(), parts, strict=True)}
        self.columns["drafted"][:] = kappa

    def takes(self, rows: int) -> bool:
        """Whether there is room for so many rows."""
        return self.rows + rows <= ROW_GROUP

    def add(self, listed: tuple[np.ndarray, np.ndarray, np.ndarray], unit: int) -> int:
        """Lay out the rounds of a chunk, given as [round, lane], lane after lane; returns how many."""
        position, drafted, accepted = listed
        rounds = len(accepted)
        before = self.rows
        fields = {"accepted": accepted} | ({"position": position, "drafted": drafted} if self.placed else {})
        if not self.placed or (drafted[-1:] >= 0).all():
            self._add(rounds, unit, fields)
        else:
            for lane, own in enumerate(np.count_nonzero(drafted >= 0, axis=0).tolist()):
                self._add(own, unit + lane, {name: field[:own, lane : lane + 1] for name, field in fields.items()})
        return self.rows - before

    def _add(self, rounds: int, unit: int, fields: dict[str, np.ndarray]) -> None:
        """Lanes of ``rounds`` each."""
        lanes = fields["accepted"].shape[1]
        end = self.rows + rounds * lanes
        own = {name: column[self.rows : end].reshape(lanes, rounds) for name, column in self.columns.items()}
        own["unit"][:] = np.arange(unit, unit + lanes)[:, None]
        own["round"][:] = _COUNTING[:rounds]
        for name, field in fields.items():
            np.copyto(own[name], field.T, casting="unsafe")
        self.rows = end

    def table(self, rows: int) -> pa.Table:
        """The first rows, or all there are."""
        rows = min(rows, self.rows)
        columns = [pa.array(self.columns[name][:rows]) for name in ROUNDS.names]
        if not self.placed:
            columns[ROUNDS.names.index("position")] = _nowhere(rows)
        return pa.Table.from_arrays(columns, schema=ROUNDS)


@functools.lru_cache(maxsize=1)
def _nowhere(rows: int) -> pa.Array:
    return pa.nulls(rows, pa.int32())


_KINDS = {field.name: dtype_of(field.type) for field in ROUNDS}
_ROW_BYTES = sum(kind.itemsize for kind in _KINDS.values())
_COUNTING = np.arange(ROW_GROUP, dtype=np.int32)
