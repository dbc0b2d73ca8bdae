"""Which κ is best in each stretch of a log, and what would changing κ between them be worth?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simspec.advice.drift.parts import Part
from simspec.advice.recommend.answer import recommend
from simspec.evidence import reading
from simspec.evidence.costs.round_costs import RoundCosts

MOST = 12
"""Stretches that are weighed; each takes up to some seconds."""
LEAST_KAPPA_MAX = 8
LONGEST = 256


@dataclass(frozen=True)
class Worth:
    """The best draft lengths, and what one κ for all loses.

    Attributes
    ----------
    kappas : tuple of int
        The best κ of each stretch, up to twice the longest seen, or 8; 0 where speculation should be off.
    speedups : tuple of float
        Tokens per plain step at it.
    fixed : int
        The best single κ for all of the log; 0 for off.
    longest : int
        The longest κ that was weighed.
    speedup_fixed, speedup_changing : float
        Tokens per plain step over the whole log with one κ, and with the best of each stretch from its first round on.
    """

    kappas: tuple[int, ...]
    speedups: tuple[float, ...]
    fixed: int
    longest: int
    speedup_fixed: float
    speedup_changing: float

    @property
    def gain(self) -> float:
        """What changing κ gives at most, as a share: nobody knows of a change at its first round."""
        return self.speedup_changing / self.speedup_fixed - 1.0


def worth_of(parts: Sequence[Part], costs: RoundCosts, seed: int = 1) -> Worth | str:
    """Weigh each stretch as `simspec.recommend` does; or the reason why it cannot be done.

    Examples
    --------
    >>> from simspec.advice.acceptance import acceptance_of_numbers
    >>> good, bad = (acceptance_of_numbers(kappa=4, emitted=emitted, rounds=1000) for emitted in (4.2, 1.6))
    >>> own = worth_of([Part((4,), 4200.0, good), Part((4,), 1600.0, bad)], RoundCosts.affine(1.0, 0.1))
    >>> own.kappas, own.fixed, 0.03 < own.gain < 0.3
    ((8, 2), 5, True)
    """
    if len(parts) > MOST:
        return f"{len(parts)} stretches are too many to weigh κ in each; allowed: {MOST}"
    longest = math.ceil(max(max(part.kappas) for part in parts))
    kappa_max = min(LONGEST, max(LEAST_KAPPA_MAX, 2 * longest))
    curves = []
    for i, part in enumerate(parts):
        if part.acceptance is None:
            return "the log holds means only, and κ is not one number in every stretch: κ cannot be weighed"
        reading.tell(f"weighing stretch {i + 1} of {len(parts)}")
        choice = recommend(part.acceptance, costs, kappa_max=kappa_max, seed=seed).choice
        curves.append(choice.speedup)
        options = choice.options
    weight, cost = (
        np.array([part.tokens for part in parts]),
        1.0 / np.array(curves),
    )  # plain steps per token, by stretch and option
    fixed = weight @ cost
    return Worth(
        kappas=tuple(max(0, options[best]) for best in cost.argmin(axis=1)),
        speedups=tuple((1.0 / cost.min(axis=1)).tolist()),
        fixed=max(0, options[int(np.argmin(fixed))]),
        longest=kappa_max,
        speedup_fixed=float(weight.sum() / fixed.min()),
        speedup_changing=float(weight.sum() / (weight @ cost.min(axis=1))),
    )
