"""Which κ is best in each stretch of a log, and what would changing κ between them be worth?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simspec.advice.acceptance import Acceptance
from simspec.advice.recommend.answer import recommend
from simspec.evidence import reading
from simspec.evidence.costs.round_costs import RoundCosts
from simspec.evidence.observed import Observed

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
    speedup_fixed, speedup_changing : float
        Tokens per plain step over the whole log with one κ, and with the best of each stretch from its first round on.
    """

    kappas: tuple[int, ...]
    speedups: tuple[float, ...]
    fixed: int
    speedup_fixed: float
    speedup_changing: float

    @property
    def gain(self) -> float:
        """What changing κ gives at most, as a share: nobody knows of a change at its first round."""
        return self.speedup_changing / self.speedup_fixed - 1.0


def worth_of(parts: Sequence[Observed], costs: RoundCosts, seed: int = 1) -> Worth | None:
    """Weigh each stretch as `simspec.recommend` does; None for more than `MOST` of them.

    Examples
    --------
    >>> good, bad = (Observed.of_counts([(4, 1000, c)]) for c in ([900, 810, 730, 650], [400, 160, 60, 25]))
    >>> own = worth_of([good, bad], RoundCosts.affine(1.0, 0.1))
    >>> own.kappas, own.fixed, 0.03 < own.gain < 0.3
    ((8, 2), 4, True)
    """
    if len(parts) > MOST:
        return None
    longest = max(part.kappa_max for part in parts)
    kappa_max = min(LONGEST, max(LEAST_KAPPA_MAX, 2 * longest))
    tokens, curves = [], []
    for i, part in enumerate(parts):
        reading.tell(f"weighing stretch {i + 1} of {len(parts)}")
        choice = recommend(_acceptance(part), costs, kappa_max=kappa_max, seed=seed).choice
        tokens.append(float((part.count * (part.accepted + 1)).sum()))
        curves.append(choice.speedup)
        options = choice.options
    weight, cost = np.array(tokens), 1.0 / np.array(curves)  # plain steps per token, by stretch and option
    fixed = weight @ cost
    return Worth(
        kappas=tuple(max(0, options[best]) for best in cost.argmin(axis=1)),
        speedups=tuple((1.0 / cost.min(axis=1)).tolist()),
        fixed=max(0, options[int(np.argmin(fixed))]),
        speedup_fixed=float(weight.sum() / fixed.min()),
        speedup_changing=float(weight.sum() / (weight @ cost.min(axis=1))),
    )


def _acceptance(part: Observed) -> Acceptance:
    """A stretch as `simspec.recommend` takes it."""
    kappas, emitted = part.kappas, 1.0 + float((part.count * part.accepted).sum()) / part.rounds
    return Acceptance(
        kappa=kappas[0] if len(kappas) == 1 else None,
        emitted=emitted,
        emitted_interval=None,
        survival=None,
        mean_drafted=float((part.count * part.drafted).sum()) / part.rounds,
        observed=part,
        origin="a stretch of the log",
        rounds=part.rounds,
    )
