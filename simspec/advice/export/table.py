"""How do κ at a few measured loads become a table over all loads, and what does a smaller table lose?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

from simspec.advice.export.parts import Cell
from simspec.model.errors import ParameterError

T = TypeVar("T")
LITTLE = 0.005
"""A loss not worth a word."""


@dataclass(frozen=True)
class Span:
    """Loads from ``first`` to ``last``, both included."""

    first: int
    last: int


def spans(points: Sequence[int], most: int | None = None) -> list[Span]:
    """One span per measured point: from 1, without gaps, the border between two points at their geometric mean.

    Examples
    --------
    >>> spans([1, 8, 64])
    [Span(first=1, last=2), Span(first=3, last=22), Span(first=23, last=64)]
    >>> spans([1, 64], most=512)[-1]
    Span(first=9, last=512)
    """
    ends = [math.isqrt(a * b) for a, b in pairwise(points)] + [points[-1] if most is None else most]
    out, first = [], 1
    for end in ends:
        if first <= (most or end):
            out.append(Span(first, min(end, most or end)))
        first = end + 1
    return out


def joined(table: Iterable[tuple[Span, T]]) -> list[tuple[Span, T]]:
    """Neighbours with the same value as one span.

    Examples
    --------
    >>> joined([(Span(1, 2), 4), (Span(3, 22), 4), (Span(23, 64), 0)])
    [(Span(first=1, last=22), 4), (Span(first=23, last=64), 0)]
    """
    out: list[tuple[Span, T]] = []
    for span, value in table:
        if out and out[-1][1] == value:
            out[-1] = (Span(out[-1][0].first, span.last), value)
        else:
            out.append((span, value))
    return out


def by_batch(cells: Sequence[Cell], most: int | None) -> list[tuple[Span, int]]:
    """Spans of batch with their κ; neighbours of equal κ are one span."""
    batches = [cell.batch for cell in cells if cell.batch is not None]
    return joined((span, cell.kappa) for span, cell in zip(spans(batches, most), cells, strict=False))


def by_batch_and_context(cells: Sequence[Cell], most: int | None) -> list[tuple[Span, Span, int]]:
    """A full grid of spans with their κ; equal neighbouring rows and equal neighbouring columns are merged."""
    kappas = {(cell.batch, cell.context): cell.kappa for cell in cells}
    batches = sorted({b for b, _ in kappas if b is not None})
    contexts = sorted({c for _, c in kappas if c is not None})
    missing = [f"batch {b}, context {c}" for b in batches for c in contexts if (b, c) not in kappas]
    if missing or len(kappas) != len(batches) * len(contexts):
        raise ParameterError(
            "grid", f"grid is not full: {', '.join(missing) or 'a cell lacks batch or context'}; allowed: every batch "
            "with every context"
        )  # fmt: skip
    rows = [[kappas[b, c] for c in contexts] for b in batches]
    by_rows = joined(zip(spans(batches, most), rows, strict=False))
    columns = [list(column) for column in zip(*(row for _, row in by_rows), strict=True)]
    return [
        (span, across, column[i])
        for i, (span, _) in enumerate(by_rows)
        for across, column in joined(zip(spans(contexts), columns, strict=True))
    ]


def inside(cells: Sequence[Cell]) -> tuple[list[Cell], list[str]]:
    """The cells of a table, where off is a round without a draft inside the loop, and what that costs against off.

    Examples
    --------
    >>> cells, losses = inside([Cell(0, 189, None, {0: 0.82, 1: 0.9})])
    >>> cells[0].kappa, losses
    (1, ['at batch 189 off is best (1.00x); inside a table κ = 1 is (0.90x; κ = 0 there 0.82x)'])
    """
    out, losses = [], []
    for cell in cells:
        best = max(sorted(cell.speedups), key=lambda kappa: cell.speedups[kappa], default=0)
        if cell.kappa == 0 and 0 in cell.speedups and cell.speedups[best] < (1.0 - LITTLE) * cell.off:
            at = f"{cell.speedups[best]:.2f}x"
            losses.append(
                f"at {cell.where} off is best ({cell.off:.2f}x); inside a table κ = {best} is ("
                + (f"{at}; κ = 0 there {cell.speedups[0]:.2f}x)" if best else f"{at})")
            )
            cell = replace(cell, kappa=best)
        inner = cell.regrets.get(0, cell.off_regret)
        out.append(replace(cell, off=cell.speedups.get(0, cell.off), off_regret=inner))
    return out, losses


def over_contexts(cells: Sequence[Cell]) -> tuple[list[Cell], list[str]]:
    """One cell per batch, in order, and what that loses."""
    out, losses = [], []
    for batch in sorted({cell.batch for cell in cells if cell.batch is not None}):
        own = [cell for cell in cells if cell.batch == batch]
        kappa, lost = one_kappa(own)
        out.append(Cell(kappa, batch, None, own[0].speedups if len(own) == 1 else {}))
        losses += lost
    return out, losses


def one_kappa(cells: Sequence[Cell]) -> tuple[int, list[str]]:
    """The κ that loses least over the cells, each cell alike, and what it loses where.

    Examples
    --------
    >>> cells = [Cell(4, 1, None, {1: 1.4, 4: 2.0}), Cell(1, 64, None, {1: 1.3, 4: 0.9})]
    >>> one_kappa(cells)
    (1, ['one κ = 1 loses 30.0% at batch 1, where κ = 4 is best'])
    """
    wanted = sorted({cell.kappa for cell in cells})
    if len(wanted) == 1:
        return wanted[0], []
    common = set.intersection(*(set(_speedups(cell)) for cell in cells))
    if not set(wanted) <= common:
        kappa = wanted[0]
        off = f"{kappa}" if kappa else "0 (off)"
        return kappa, [
            f"one κ = {off} stands for {_listed(cells)}: the smallest is taken; what that loses is not known, since "
            "the advice holds no speed-up of each κ in each cell"
        ]
    kappa = min(sorted(common), key=lambda k: math.fsum(_regret(cell, k) for cell in cells))
    return kappa, [
        f"one κ = {kappa or '0 (off)'} loses {100 * _regret(cell, kappa):.1f}% at {cell.where}, where "
        f"{f'κ = {cell.kappa}' if cell.kappa else 'off'} is best"
        for cell in cells
        if cell.kappa != kappa and _regret(cell, kappa) >= LITTLE
    ]


def _regret(cell: Cell, kappa: int) -> float:
    """The expected loss that `simspec.recommend` states; of speed-ups alone, where the advice holds no more."""
    known = {**cell.regrets} if cell.off_regret is None else {**cell.regrets, 0: cell.off_regret}
    if kappa in known:
        return known[kappa]
    own = _speedups(cell)
    return max(0.0, 1.0 - own[kappa] / own[cell.kappa])


def _speedups(cell: Cell) -> dict[int, float]:
    return {**cell.speedups, 0: cell.off}


def _listed(cells: Iterable[Cell]) -> str:
    return "; ".join(f"{cell.kappa or 'off'} at {cell.where}" for cell in cells)
