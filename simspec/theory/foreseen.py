"""How fast is a controller that knows what the coming round would accept?  The exact bound where windows are fresh."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.model.process import Process
from simspec.theory.ranges import check_whole
from simspec.theory.routes import survival_curve


@dataclass(frozen=True)
class Foreseen:
    """What is best for every run of a round that is known before it drafts.

    Attributes
    ----------
    speedup : float
        E[tokens]/E[cost]; no controller that cannot change acceptance is faster.
    kappas : tuple of int
        κ by run 0 … highest, the last entry for all longer ones.
    mean_tokens, mean_cost, mean_drafted : float
        Per round.
    """

    speedup: float
    kappas: tuple[int, ...]
    mean_tokens: float
    mean_cost: float
    mean_drafted: float


def foresight(process: Process, cost: Cost, highest: int = 16, lowest: int = 0) -> Foreseen:
    """The fastest controller that knows, before it drafts, how many drafts of the coming round would be accepted.

    Parameters
    ----------
    process : Process
        Any process whose windows start afresh.
    cost : Cost
        The prices of a round.
    highest, lowest : int
        Bounds of κ, 0 ≤ lowest ≤ highest ≤ 256.

    Returns
    -------
    Foreseen

    Raises
    ------
    ParameterError
        Windows depend on those before, so that a known run tells of later ones; or a bound is out of range.

    References
    ----------
    Policy improvement on E[tokens] − S·E[cost] (Dinkelbach 1967); the limit of long drafts is `foresight_bound`,
    docs/theory.md section 3, claim C21.

    Examples
    --------
    >>> from simspec.model.iid import Iid
    >>> found = foresight(Iid(alpha=0.7), Cost(c_d=0.1), highest=64)
    >>> round(found.speedup, 4), found.kappas[:4]
    (2.7027, (0, 1, 2, 3))
    """
    check_whole("highest", highest, 0, 256)
    check_whole("lowest", lowest, 0, highest)
    if process.unit != "window":
        told = f"{process.type}: a run that is known tells of the rounds behind it"
        raise ParameterError("process", f"{told}; allowed: processes whose windows start afresh")
    survival = np.concatenate([[1.0], survival_curve(process, highest), [0.0]])
    law, options = survival[:-1] - survival[1:], range(lowest, highest + 1)
    tokens = np.array([[min(run, kappa) + 1.0 for kappa in options] for run in range(highest + 1)])
    price = np.array([[cost.of_round(kappa, rejected=run < kappa) for kappa in options] for run in range(highest + 1)])
    chosen = np.zeros(highest + 1, dtype=np.int64)
    every = np.arange(highest + 1)
    for _ in range(len(options) * (highest + 1) + 1):
        made, spent = (float(law @ own[every, chosen]) for own in (tokens, price))
        worth = tokens - made / spent * price
        gain = worth.max(axis=1) - worth[every, chosen]
        if gain.max() <= 1e-13:
            break
        chosen = worth.argmax(axis=1)
    kappas = tuple(int(options[i]) for i in chosen)
    return Foreseen(made / spent, kappas, made, spent, float(law @ np.array(kappas)))
