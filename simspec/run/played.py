"""How are played chunks kept?  Their integers as rows of a table, from which the same tallies are made again."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import pyarrow as pa

from simspec.kernels.lower_schemes import KindTally, tally_of
from simspec.kernels.tally import SUMS, Folded, Tally
from simspec.kernels.words import LANES
from simspec.run.columns import column, words
from simspec.run.engine import Job, Pieces, joined, parted
from simspec.run.schema import TALLIES

Arrays = Mapping[str, np.ndarray]
NUMBERS = ("kappa", "first", "chunks", "lanes", "length")
"""Columns that name a stretch, beside its simulation."""
_SCALAR = ("kappa", "kinds")
_DERIVED = ("sums", "histogram")
"""What follows from the rounds by kind, where a scheme has kinds."""


@dataclass(frozen=True)
class Stretch:
    """Successive chunks of one simulation at one κ: what is needed to know that they are what is asked for.

    Attributes
    ----------
    simulation : str
        Simulation id.
    kappa : int
        Draft length; the longest of windows that are played once for all κ.
    first, chunks : int
    lanes : int
        Lanes of these chunks together.
    length : int
        Rounds or generations of a lane, the same in each of the chunks; of a multinomial draw, its windows.
    """

    simulation: str
    kappa: int
    first: int
    chunks: int
    lanes: int
    length: int

    @property
    def range(self) -> range:
        return range(self.first, self.first + self.chunks)


@dataclass(frozen=True)
class Played:
    """A stretch and its counts by name."""

    stretch: Stretch
    arrays: Arrays = field(repr=False)

    @property
    def bytes(self) -> int:
        return sum(own.nbytes for own in self.arrays.values())


def stretch_of(job: Job, kappa: int, chunks: range) -> Stretch:
    """How some chunks of a job are named."""
    lanes, length = 1, job.windows
    if job.method == "simulate":
        plan = job.layout
        lanes, length = sum(plan.lanes_of(chunk) for chunk in (chunks[0], chunks[-1])), plan.length_of(chunks[0])
        lanes = lanes // 2 if len(chunks) == 1 else lanes + LANES * (len(chunks) - 2)
    return Stretch(job.simulation.id, kappa, chunks.start, len(chunks), lanes, length)


def arrays_of(own: Tally | Folded) -> dict[str, np.ndarray]:
    """The integers behind a tally, by name; empty ones are left out.

    Examples
    --------
    >>> {name: array.tolist() for name, array in arrays_of(Folded(np.array([[3, 2, 1]]), (1, 2))).items()}
    {'runs': [[3, 2, 1]]}
    """
    if isinstance(own, Folded):
        return {"runs": own.runs}
    names = [entry.name for entry in fields(own) if entry.name not in _SCALAR]
    if isinstance(own, KindTally):
        names = [name for name in names if name not in _DERIVED]
    found = {name: np.asarray(getattr(own, name)) for name in names}
    return {name: array for name, array in found.items() if array.size}


def tally_from(job: Job, kappa: int, arrays: Arrays) -> Tally | Folded:
    """The inverse of `arrays_of`; raises `ValueError` or `TypeError` if these are no counts of the job."""
    widths = {"runs": kappa + 1, "sums": len(SUMS)}
    wrong = [name for name, array in arrays.items() if array.shape[-1] != widths.get(name, array.shape[-1])]
    if wrong:
        raise ValueError(f"{wrong[0]} of shape {arrays[wrong[0]].shape}")
    if "runs" in arrays:
        return Folded(arrays["runs"], job.kappas)
    if "counts" in arrays:
        return tally_of(job.scheme_form(kappa).kinds, arrays["counts"], kappa)
    return Tally(kappa, **arrays)


def played_of(job: Job, chunks: range, outcome: Sequence[Tally]) -> list[Played]:
    """What is kept of some chunks of a job that were just played."""
    return [Played(stretch_of(job, kappa, chunks), arrays_of(own)) for kappa, own in parted(outcome).items()]


def compacted(job: Job, pieces: Pieces) -> list[Played]:
    """What is kept of a whole job: its full chunks together and a last one of fewer lanes by itself, for a longer run.

    Where it might stop before its end, the chunks between two looks are together.  Whatever pieces it was played in,
    these are the same.
    """
    full = job.layout.lanes // LANES if job.method == "simulate" else 1
    cuts = sorted({*job.cuts, full})
    out = []
    for kappa, own in pieces.items():
        for _, group in itertools.groupby(own, key=lambda at: bisect_left(cuts, at[0].stop)):
            some = list(group)
            chunks = range(some[0][0].start, some[-1][0].stop)
            out.append(Played(stretch_of(job, kappa, chunks), arrays_of(joined([tally for _, tally in some]))))
    return out


def tally_table(played: Iterable[Played]) -> pa.Table:
    """Rows of what was played, an array each."""
    rows = [(own.stretch, name, array) for own in played for name, array in own.arrays.items()]
    stretches = [stretch for stretch, _, _ in rows]
    columns: dict[str, pa.Array] = {
        "simulation_id": _words([stretch.simulation for stretch in stretches]),
        **{name: _numbers([getattr(own, name) for own in stretches], name) for name in NUMBERS},
        "field": _words([name for _, name, _ in rows]),
        "shape": _lists([np.array(array.shape) for _, _, array in rows], np.dtype(np.int32)),
        "values": _lists([array for _, _, array in rows], np.dtype(np.int64)),
    }
    return pa.Table.from_arrays([columns[name] for name in TALLIES.names], schema=TALLIES)


def _numbers(own: list[int], name: str) -> pa.Array:
    return column(np.array(own, np.int64), TALLIES.field(name).type)


def _words(own: list[str]) -> pa.DictionaryArray:
    known = {word: i for i, word in enumerate(dict.fromkeys(own))}
    return words(np.array([known[word] for word in own], np.int32), list(known))


def _lists(own: list[np.ndarray], kind: np.dtype[Any]) -> pa.ListArray:
    ends = np.cumsum([0, *(array.size for array in own)])
    if ends[-1] > np.iinfo(np.int32).max:
        raise OverflowError(f"{ends[-1]:,} counts in one table; allowed: fewer than 2^31")
    flat = np.concatenate([np.zeros(0, kind), *(array.reshape(-1, order="F") for array in own)])
    if flat.dtype.kind != "i":
        raise TypeError(f"counts of type {flat.dtype}; allowed: whole numbers")
    values = pa.Array.from_buffers(pa.from_numpy_dtype(kind), flat.size, [None, pa.py_buffer(flat.astype(kind))])
    return pa.ListArray.from_arrays(column(ends.astype(np.int32), pa.int32()), values)


def arrays_in(table: pa.Table) -> dict[str, np.ndarray]:
    """The inverse of `tally_table` for the rows of one stretch."""
    shapes, values = (list(lists_of(table.column(name))) for name in ("shape", "values"))
    names = table.column("field").to_pylist()
    return {name: array.reshape(shape, order="F") for name, shape, array in zip(names, shapes, values, strict=True)}


def lists_of(column: pa.ChunkedArray) -> Iterator[np.ndarray]:
    """Each entry of a column of lists of whole numbers."""
    for chunk in column.chunks:
        ends = np.frombuffer(chunk.buffers()[1], np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
        flat = chunk.values
        kind = flat.type.to_pandas_dtype()
        numbers = np.frombuffer(flat.buffers()[1], kind)[flat.offset :] if len(flat) else np.zeros(0, kind)
        for start, stop in itertools.pairwise(ends):
            yield numbers[start:stop]
