"""Which κ at which load, what does one κ for all lose, and which configurations are worth measuring?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simspec.advice.acceptance import Acceptance
from simspec.advice.recommend.decide import OFF
from simspec.model.errors import ParameterError

if TYPE_CHECKING:
    from simspec.advice.recommend.recommendation import Recommendation

Floats = NDArray[np.float64]
WORTH_MEASURING = 3
LITTLE = 0.001
"""An expected regret not worth a measurement."""


@dataclass(frozen=True, eq=False)
class Cell:
    """One load and what is recommended there."""

    batch: float | None
    context: float | None
    own: Recommendation

    @property
    def kappa(self) -> int:
        """κ there; `OFF` where speculation should be off."""
        return self.own.choice.kappa

    def loss(self, option: int) -> float:
        """Expected regret of an option at this load; 1 where it is none here."""
        choice = self.own.choice
        if option not in choice.options or not choice.allowed[choice.options.index(option)]:
            return 1.0
        return float(choice.regret[choice.options.index(option)])

    def over_off(self, option: int) -> float:
        """log of the speed-up against switching off."""
        choice = self.own.choice
        return math.log(float(choice.speedup[choice.options.index(option)] / choice.speedup[0]))

    @property
    def where(self) -> str:
        """The load in words."""
        parts = [f"{name} {value:g}" for name, value in (("batch", self.batch), ("context", self.context)) if value]
        return ", ".join(parts)


@dataclass(frozen=True)
class Probe:
    """A configuration worth measuring: what not knowing it may cost."""

    batch: float | None
    context: float | None
    kappa: int
    expected_regret: float
    probability_best: float


@dataclass(frozen=True, eq=False)
class GridAdvice:
    """κ by load.

    Attributes
    ----------
    cells : tuple of Cell
    single : int
        The one option that loses least over all loads, each load counting the same.
    single_loss : tuple of (mean, largest)
        What it loses.
    by_batch : dict or None
        Batch → the option that loses least over the contexts; None with fewer than two contexts, or where no batch is
        stated.
    by_batch_loss : tuple of (mean, largest) or None
    probes : tuple of Probe
        Configurations worth measuring next, by what the choice at their load may lose, if that is more than `LITTLE`;
        none where no error is known.
    """

    cells: tuple[Cell, ...]
    single: int
    single_loss: tuple[float, float]
    by_batch: dict[float, int] | None
    by_batch_loss: tuple[float, float] | None
    probes: tuple[Probe, ...]

    def crossings(self, batch: float | None) -> dict[int, float]:
        """κ → context beyond which it is slower than off, linear in the logarithm between two contexts of the grid.

        A κ that pays at every context asked for, or at none, has no entry.
        """
        own = sorted((c for c in self.cells if c.batch == batch and c.context), key=lambda cell: cell.context or 0.0)
        found: dict[int, float] = {}
        for before, after in itertools.pairwise(own):
            for option in set(before.own.choice.options) & set(after.own.choice.options) - {OFF}:
                gain, loss = before.over_off(option), after.over_off(option)
                if gain >= 0.0 > loss:
                    share = gain / (gain - loss)
                    found[option] = (before.context or 1.0) * (
                        (after.context or 1.0) / (before.context or 1.0)
                    ) ** share
        return dict(sorted(found.items()))

    def to_list(self) -> list[dict[str, Any]]:
        """One entry per load."""
        return [
            {
                "batch": cell.batch,
                "context": cell.context,
                "kappa": max(cell.kappa, 0),
                "off": cell.own.switch_off,
                "speedup": cell.own.speedup,
                "plain_or_off_speedup": float(cell.own.choice.speedup[0]),
                "plain_or_off_regret": cell.own.rows[0]["expected_regret"],
                "band": list(cell.own.band),
                "loss_of_single": cell.loss(self.single),
                "loss_of_batch_table": None if self.by_batch is None else cell.loss(self.by_batch[cell.batch or 0.0]),
                "kappas": [row for row in cell.own.rows if not row["off"]],
            }
            for cell in self.cells
        ]

    def summary(self) -> dict[str, Any]:
        """One κ for all, one per batch, and what to measure."""
        return {
            "one_kappa_for_all": max(self.single, 0),
            "mean_and_largest_loss": list(self.single_loss),
            "by_batch": None if self.by_batch is None else {f"{b:g}": max(k, 0) for b, k in self.by_batch.items()},
            "by_batch_mean_and_largest_loss": None if self.by_batch_loss is None else list(self.by_batch_loss),
            "slower_than_off_beyond_context": [
                {"batch": batch, "context_by_kappa": {str(k): c for k, c in self.crossings(batch).items()}}
                for batch in sorted({cell.batch for cell in self.cells}, key=lambda value: value or 0.0)
            ],
            "worth_measuring": [vars(probe) for probe in self.probes],
        }


def grid_advice(cells: Sequence[Cell]) -> GridAdvice:
    """What the loads say together."""
    single = _least(cells)
    losses = [cell.loss(single) for cell in cells]
    contexts = {cell.context for cell in cells}
    by_batch, by_batch_loss = None, None
    if len(contexts) > 1 and all(cell.batch is not None for cell in cells):
        batches = sorted({cell.batch or 0.0 for cell in cells})
        by_batch = {batch: _least([cell for cell in cells if (cell.batch or 0.0) == batch]) for batch in batches}
        own = [cell.loss(by_batch[cell.batch or 0.0]) for cell in cells]
        by_batch_loss = (float(np.mean(own)), max(own))
    return GridAdvice(
        tuple(cells), single, (float(np.mean(losses)), max(losses)), by_batch, by_batch_loss, _probes(cells)
    )  # fmt: skip


def _least(cells: Sequence[Cell]) -> int:
    """The option with the least mean loss; of equal ones the shortest draft."""
    options = sorted({option for cell in cells for option in cell.own.choice.options})
    return min(options, key=lambda option: (round(sum(cell.loss(option) for cell in cells), 12), option))


def _probes(cells: Sequence[Cell]) -> tuple[Probe, ...]:
    """Per load the most likely rival, ranked by the expected regret of what is chosen there."""
    found = []
    for cell in cells:
        choice, rival = cell.own.choice, cell.own.choice.rival
        if rival is None or not cell.own.known_error:
            continue
        likely = np.where(choice.allowed, choice.probability, 0.0)
        likely[choice.chosen] = 0.0
        index = int(likely.argmax()) if likely.max() > 0.0 else rival
        regret = float(choice.regret[choice.chosen])
        if regret > LITTLE:
            found.append(Probe(cell.batch, cell.context, choice.options[index], regret, float(likely[index])))
    return tuple(sorted(found, key=lambda probe: -probe.expected_regret)[:WORTH_MEASURING])


def at_context(by_context: Mapping[int, Acceptance], context: float | None) -> Acceptance:
    """Acceptance at a context, between two that were seen: figures are linear in the logarithm of the context.

    Raises
    ------
    ParameterError
        The context lies outside those seen, or the two do not hold the same κ.

    Examples
    --------
    >>> from simspec.advice.acceptance import acceptance_of_numbers
    >>> seen = {n: acceptance_of_numbers(kappa=3, emitted=e) for n, e in ((2000, 2.3), (20000, 1.08))}
    >>> round(at_context(seen, 6325).emitted, 2)
    1.69
    """
    known = sorted(by_context)
    if context is None or not known[0] <= context <= known[-1]:
        said = "no context" if context is None else f"context = {context:g}"
        raise ParameterError(
            "context", f"{said}: acceptance was seen at {', '.join(f'{n:g}' for n in known)}; allowed: between them"
        )
    if context in by_context:
        return by_context[int(context)]
    high = next(n for n in known if n > context)
    low = known[known.index(high) - 1]
    share = math.log(context / low) / math.log(high / low)
    return _between(by_context[low], by_context[high], share, context)


def _between(low: Acceptance, high: Acceptance, share: float, context: float) -> Acceptance:
    from simspec.advice.acceptance import acceptance_of_numbers

    if low.kappa is None or low.kappa != high.kappa or low.emitted is None or high.emitted is None:
        raise ParameterError("context", f"context = {context:g}: acceptance at its neighbours is not at one same κ")
    rounds = None if low.rounds is None or high.rounds is None else min(low.rounds, high.rounds)
    if low.survival is not None and high.survival is not None:
        curve = [a + share * (b - a) for a, b in zip(low.survival, high.survival, strict=True)]
        return acceptance_of_numbers(survival=curve, rounds=rounds)
    return acceptance_of_numbers(
        kappa=low.kappa, emitted=low.emitted + share * (high.emitted - low.emitted), rounds=rounds
    )
