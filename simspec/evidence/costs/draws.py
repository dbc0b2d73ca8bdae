"""Which drawn costs can be?  A round checks its drafts with a pass of the target: it costs a plain step or more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simspec.evidence.costs.round_costs import Floats, RoundCosts
from simspec.model.errors import ParameterError

TRIES = 8
"""Times as many draws as asked for, before the costs are taken to say nothing."""
ROUNDING = 1e-9


def possible_draws(costs: RoundCosts, kappas: Sequence[int], count: int, seed: int) -> tuple[Floats, float]:
    """Draws of R with no round of drafts below a plain step, and the share of draws that had one.

    The whole draw is made again, so that its κ still share their errors.  A κ whose best single estimate is itself
    below a plain step rejects nothing: it was measured so.

    Parameters
    ----------
    costs : RoundCosts
    kappas : sequence of int
    count : int
        Draws wanted.
    seed : int

    Returns
    -------
    draws : float array (count, kappas)
    again : float
        Share of the first ``count`` that were impossible.

    Raises
    ------
    ParameterError
        Fewer than one draw in `TRIES` can be.

    Examples
    --------
    >>> own = RoundCosts.affine(1.02, 0.1, covariance=np.diag([0.1, 0.0]) ** 2)
    >>> draws, again = possible_draws(own, [1, 2], 4000, seed=1)
    >>> bool(draws.min() >= 1.0), round(again, 2)
    (True, 0.11)
    """
    held = np.array([kappa > 0 and costs.at(kappa) >= 1.0 for kappa in kappas])

    def can_be(draws: Floats) -> Floats:
        return np.asarray((draws[:, held] >= 1.0 - ROUNDING).all(axis=1))

    draws = costs.draws(kappas, count, seed)
    good = can_be(draws)
    again = 1.0 - float(good.mean())
    if again == 0.0:
        return draws, 0.0
    draws = costs.draws(kappas, TRIES * count, seed)
    kept = draws[can_be(draws)][:count]
    if len(kept) < count:
        raise ParameterError(
            "costs",
            f"{again:.0%} of what these costs may be has a round cheaper than a plain step: their errors are too large "
            "to advise from; measure more κ, or repeat the rows",
        )
    return kept, again
