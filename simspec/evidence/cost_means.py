"""What did the rows of each κ say on average, and how far do repeats scatter?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simspec.evidence.cost_rows import Timed
from simspec.evidence.round_costs import Floats
from simspec.model.errors import ParameterError


@dataclass(frozen=True)
class Sweep:
    """Points of one load in ms, in order of drafts per round; ``errors`` is None where nothing repeats."""

    kappas: list[int]
    drafted: Floats
    ms: Floats
    errors: Floats | None
    freedom: float
    rows: list[int]
    emitted: list[float | None]


def sweep_of(rows: Sequence[Timed], zero: float | None, zero_error: float) -> Sweep:
    """Means by κ; the noise of a row relative to its mean is taken to be the same at every κ."""
    groups = {kappa: [row for row in rows if row.kappa == kappa] for kappa in sorted({row.kappa for row in rows})}
    mean = {kappa: mean_of(own)[0] for kappa, own in groups.items()}
    squares, freedom = 0.0, 0
    for kappa, own in groups.items():
        weight = np.array([row.weight for row in own])
        squares += float(((np.array([row.ms for row in own]) / mean[kappa] - 1.0) ** 2 * weight / weight.mean()).sum())
        freedom += len(own) - 1
    noise = math.sqrt(squares / freedom) if freedom else 0.0
    kappas, ms, rows_of = list(groups), list(mean.values()), [len(own) for own in groups.values()]
    errors = [value * noise / math.sqrt(n) for value, n in zip(ms, rows_of, strict=True)]
    drafted, emitted = ([_told(own, name) for own in groups.values()] for name in ("drafted", "emitted"))
    made = [float(kappa) if told is None else told for kappa, told in zip(kappas, drafted, strict=True)]
    if zero is not None:
        kappas, made, ms, emitted, rows_of = [0, *kappas], [0.0, *made], [zero, *ms], [1.0, *emitted], [1, *rows_of]
        errors = [zero_error if zero_error > 0.0 else zero * noise, *errors]
    order = np.argsort(made, kind="stable")
    _told_apart(np.array(made)[order], [kappas[i] for i in order])
    return Sweep(
        [kappas[i] for i in order], np.array(made)[order], np.array(ms)[order],
        np.array(errors)[order] if noise > 0.0 else None, float(freedom), [rows_of[i] for i in order],
        [emitted[i] for i in order],
    )  # fmt: skip


def _told_apart(made: Floats, kappas: list[int]) -> None:
    near = np.flatnonzero(np.diff(made) < 1e-6)
    if near.size:
        raise ParameterError(
            "draft_tokens",
            f"κ = {kappas[near[0]]} and {kappas[near[0] + 1]} draft the same {made[near[0]]:.3g} tokens per round: "
            "the longer κ is never used",
        )


def _told(rows: Sequence[Timed], name: str) -> float | None:
    """Mean of what the rows tell, by rounds; None if one does not."""
    values = [getattr(row, name) for row in rows]
    if any(value is None for value in values):
        return None
    return float(np.average(values, weights=[row.weight for row in rows]))


def mean_of(rows: Sequence[Timed]) -> tuple[float, float]:
    """Time per round over all rows, and its standard error; NaN for one row."""
    from simspec.stats.intervals import ratio

    weight = np.array([row.weight for row in rows])
    own = ratio((np.array([row.ms for row in rows]) * weight)[None], weight[None])
    return float(own.value[0]), float(own.error[0]) if len(rows) > 1 else math.nan
