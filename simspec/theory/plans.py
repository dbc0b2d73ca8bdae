"""What if the draft length may change from round to round: how cheap can one generation be?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simspec.model.cost import Cost
from simspec.model.drift import Drift
from simspec.theory.generations import GenerationRows
from simspec.theory.ranges import check_kappa

_SAME = 1e-12
"""Plans this close, relative to their cost, are equal: the shorter draft is taken."""


@dataclass(frozen=True, eq=False)
class Plan:
    """The cheapest way through one generation.

    Attributes
    ----------
    mean_cost : float
        Its expected cost, in plain target steps.
    speedup : float
        N over the expected cost.
    kappas : array of int, shape (N,)
        Draft length of a round that starts when i tokens are out, i = 0 … N − 1; the smallest of the best.
    """

    mean_cost: float
    speedup: float
    kappas: npt.NDArray[np.int64]


def optimal_plan(process: Drift, cost: Cost, kappa_max: int) -> Plan:
    """The draft length by output position that makes a generation cheapest in expectation.

    Parameters
    ----------
    process : Drift
        The rates α_i, known to the plan, and the length N.
    cost : Cost
        The prices of a round; changes of κ must cost nothing, since the best κ then depends on the last one as well.
    kappa_max : int
        Longest draft, 0 ≤ kappa_max ≤ 1000.

    Returns
    -------
    Plan

    Raises
    ------
    ParameterError
        If ``kappa_max`` is out of range or beyond the cost tables, or a change of κ costs something.

    References
    ----------
    Backward induction on the article's section 5.2: V(i) = min over κ of E[cost of the round + V(i + A + 1)].

    Examples
    --------
    >>> drift = Drift(shape="linear", alpha_start=0.85, alpha_end=0.62, tokens=1024)
    >>> plan = optimal_plan(drift, Cost(c_d=0.1), 12)
    >>> round(plan.speedup, 5), plan.kappas[:4].tolist(), plan.kappas[-3:].tolist()
    (2.12988, [7, 7, 7, 7], [2, 1, 0])
    """
    check_kappa(process, kappa_max)
    cost.check_changes_are_free("an optimal plan")
    rows = GenerationRows(process, kappa_max)
    base = np.array([cost.base(kappa) for kappa in range(kappa_max + 1)])
    ahead = np.zeros(kappa_max + 1)  # V(i + 1), V(i + 2), …
    kappas = np.zeros(rows.n, dtype=np.int64)
    value = 0.0
    for first, survival in rows.blocks(backward=True):
        for i in range(first + len(survival) - 1, first - 1, -1):
            most = int(min(rows.left[i], kappa_max))
            reach = survival[i - first, : most + 1]  # P(first j drafts accepted)
            stopped = np.concatenate(([0.0], np.cumsum((reach[:-1] - reach[1:]) * ahead[:most])))
            prices = base[: most + 1] + stopped + reach * ahead[: most + 1] + cost.c_r * (1.0 - reach)
            kappas[i] = np.flatnonzero(prices <= prices.min() * (1.0 + _SAME))[0]
            value = float(prices[kappas[i]])
            ahead[1:] = ahead[:-1].copy()
            ahead[0] = value
    return Plan(mean_cost=value, speedup=rows.n / value, kappas=kappas)
