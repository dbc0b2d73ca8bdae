"""What did the rows of each κ say on average, and how far do repeats scatter?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simspec.evidence.costs.round_costs import Floats
from simspec.evidence.costs.rows import Timed
from simspec.model.errors import ParameterError


@dataclass(frozen=True)
class Sweep:
    """Points of one load in ms, in order of drafts per round.

    ``squares`` are those of the repeats about their means, as shares of these, with ``freedom`` degrees of freedom; 0
    and 0 where nothing repeats.
    """

    kappas: list[int]
    drafted: Floats
    ms: Floats
    rows: list[int]
    emitted: list[float | None]
    squares: float
    freedom: float

    @property
    def unit(self) -> Floats:
        """Standard errors of ``ms`` if one row had a noise of 1."""
        return np.asarray(self.ms / np.sqrt(self.rows))

    @property
    def errors(self) -> Floats | None:
        """Standard errors of ``ms`` by the repeats alone; None where none scatter."""
        return self.unit * math.sqrt(self.squares / self.freedom) if self.squares > 0.0 else None


def sweep_of(rows: Sequence[Timed]) -> Sweep:
    """Means by κ; the noise of a row relative to its mean is taken to be the same at every κ."""
    groups = {kappa: [row for row in rows if row.kappa == kappa] for kappa in sorted({row.kappa for row in rows})}
    means = [mean_of(own)[0] for own in groups.values()]
    squares = sum(squares_of(own, mean) for own, mean in zip(groups.values(), means, strict=True))
    drafted, emitted = ([_told(own, name) for own in groups.values()] for name in ("drafted", "emitted"))
    made = [float(kappa) if told is None else told for kappa, told in zip(groups, drafted, strict=True)]
    kappas, counts = list(groups), [len(own) for own in groups.values()]
    order = np.argsort(made, kind="stable")
    _told_apart(np.array(made)[order], [kappas[i] for i in order])
    return Sweep(
        [kappas[i] for i in order], np.array(made)[order], np.array(means)[order], [counts[i] for i in order],
        [emitted[i] for i in order], squares, float(len(rows) - len(groups)),
    )  # fmt: skip


def squares_of(rows: Sequence[Timed], mean: float) -> float:
    """Squares of rows about their mean, as shares of it; a row of many rounds is less noisy than one of few."""
    weight = np.array([row.weight for row in rows])
    return float(((np.array([row.ms for row in rows]) / mean - 1.0) ** 2 * weight / weight.mean()).sum())


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
