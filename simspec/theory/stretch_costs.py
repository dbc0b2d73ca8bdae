"""What if rounds become dearer along the output?  Every fixed κ, and the best plan, under prices by stretch of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from simspec.model.cost import Cost
from simspec.model.drift import Drift
from simspec.model.errors import ParameterError
from simspec.theory.drift_rules import IntArray
from simspec.theory.generations import GenerationRows
from simspec.theory.law import FloatArray
from simspec.theory.ranges import check_kappa, check_whole

Stretches = Sequence[tuple[int, Cost]]
"""(first output position, prices from there on), ascending from position 0."""


@dataclass(frozen=True, eq=False)
class StretchOptimum:
    """One generation of N tokens whose rounds are priced by where they start.

    Attributes
    ----------
    speedup_by_kappa : array, shape (kappa_max + 1,)
        N over the expected cost at each fixed κ.
    kappa_star : int
        The best of them.
    plan_speedup : float
        N over the expected cost of the best plan by position.
    plan : array of int, shape (N,)
    """

    speedup_by_kappa: FloatArray
    kappa_star: int
    plan_speedup: float
    plan: IntArray


def check_stretches(prices: Stretches) -> None:
    """Raise `ParameterError` unless stretches begin at 0 and ascend."""
    starts = [start for start, _ in prices]
    if not starts or starts[0] != 0 or any(b <= a for a, b in pairwise(starts)):
        raise ParameterError("prices", f"prices begin at {starts}; allowed: (0, cost), then ascending positions")


def stretch_optimum(process: Drift, prices: Stretches, kappa_max: int) -> StretchOptimum:
    """Best fixed κ and best plan where the prices of a round depend on the output position at which it starts.

    Parameters
    ----------
    process : Drift
        The rates α_i and the length N.
    prices : sequence of (int, Cost)
        First position and prices of each stretch, from position 0 on.
    kappa_max : int
        Longest draft, 1 to 64.

    Returns
    -------
    StretchOptimum

    Raises
    ------
    ParameterError
        Stretches do not ascend from 0, or a table of prices is too short.

    References
    ----------
    Backward induction, as `simspec.theory.optimal_plan`.

    Examples
    --------
    >>> flat = Drift(alpha_start=0.8, alpha_end=0.8, tokens=400)
    >>> found = stretch_optimum(flat, [(0, Cost(c_d=0.05)), (200, Cost(c_d=0.2))], 12)
    >>> found.kappa_star, int(found.plan[0]), int(found.plan[300])
    (5, 8, 4)
    """
    check_whole("kappa_max", kappa_max, 1, 64)
    check_stretches(prices)
    check_kappa(process, kappa_max)
    rows = GenerationRows(process, kappa_max)
    lengths = np.arange(kappa_max + 1)
    base = np.array([[cost.base(kappa) for kappa in lengths.tolist()] for _, cost in prices])
    lost = np.array([cost.c_r for _, cost in prices])
    stretch = np.searchsorted([start for start, _ in prices], np.arange(rows.n), side="right") - 1
    ahead = np.zeros((kappa_max + 2, kappa_max + 1))  # V(i + 1), V(i + 2), … of each fixed κ; the last row is the plan
    plan, value = np.zeros(rows.n, dtype=np.int64), np.zeros(kappa_max + 2)
    for first, survival in rows.blocks(backward=True):
        for i in range(first + len(survival) - 1, first - 1, -1):
            most = int(min(rows.left[i], kappa_max))
            reach = survival[i - first, : most + 1]
            stopped = np.zeros((kappa_max + 2, most + 1))
            stopped[:, 1:] = np.cumsum((reach[:-1] - reach[1:]) * ahead[:, :most], axis=1)
            here = base[stretch[i], : most + 1] + lost[stretch[i]] * (1.0 - reach)
            spent = here + stopped + reach * ahead[:, : most + 1]
            plan[i] = int(np.argmin(spent[-1]))
            value[:-1] = spent[lengths, np.minimum(lengths, most)]
            value[-1] = spent[-1, plan[i]]
            ahead[:, 1:] = ahead[:, :-1].copy()
            ahead[:, 0] = value
    speedups = rows.n / value
    return StretchOptimum(speedups[:-1], int(np.argmax(speedups[:-1])), float(speedups[-1]), plan)
