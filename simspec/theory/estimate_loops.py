"""What does the article's loop do along one short generation: estimate, look κ up, guard it, draft, estimate again?

Estimates stay the doubles that they are, without a grid: a forward pass over (position, estimate, last κ, rounds so
far).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from simspec.model.cost import Cost
from simspec.model.drift import Drift
from simspec.model.errors import ParameterError, shown
from simspec.theory.law import FloatArray
from simspec.theory.ranges import check_positive, check_range, check_whole

LOOP_TOKENS_LIMIT = 16
"""Longest generation: the number of estimates doubles with every token."""
LOOP_KAPPA_LIMIT = 64


@dataclass(frozen=True)
class LookUp:
    """How a loop turns its estimate e into a draft length.

    Attributes
    ----------
    cuts : tuple of float
        Ascending, each in [0, 1].
    kappas : tuple of int
        One more than cuts: ``kappas[i]`` where i cuts are at most e, each 0 to 64.
    shortest : int
        κ is at least this, also where the guard fires.
    guard : float or None
        κ falls by one while √((1 − e)/(κe)) exceeds it; None: no guard.

    Examples
    --------
    >>> rule = LookUp(cuts=(0.5, 0.8), kappas=(1, 3, 7), shortest=1, guard=0.25)
    >>> [rule.kappa(estimate) for estimate in (0.4, 0.5, 0.8, 0.95)]
    [1, 1, 7, 7]
    """

    cuts: tuple[float, ...]
    kappas: tuple[int, ...]
    shortest: int = 0
    guard: float | None = None

    def __post_init__(self) -> None:
        for cut in self.cuts:
            check_range("cuts", cut, 0, 1)
        if any(a >= b for a, b in pairwise(self.cuts)):
            raise ParameterError("cuts", f"cuts = {shown(list(self.cuts))} do not ascend; allowed: each above the last")
        if len(self.kappas) != len(self.cuts) + 1:
            many = f"{len(self.kappas)} entries for {len(self.cuts)} cuts"
            raise ParameterError("kappa_table", f"kappa_table has {many}; allowed: one more than cuts")
        for kappa in self.kappas:
            check_whole("kappa_table", kappa, 0, LOOP_KAPPA_LIMIT)
        check_whole("k_min", self.shortest, 0, LOOP_KAPPA_LIMIT)
        if self.guard is not None:
            check_positive("guard", self.guard)

    def kappa(self, estimate: float) -> int:
        """The draft length at an estimate."""
        kappa = max(self.kappas[bisect_right(self.cuts, estimate)], self.shortest)
        while self.guard is not None and kappa > self.shortest and _fluctuation(estimate, kappa) > self.guard:
            kappa -= 1
        return kappa


def _fluctuation(estimate: float, kappa: int) -> float:
    """σ/α of κ judged drafts; without bound where nothing is drafted or accepted."""
    return math.sqrt((1.0 - estimate) / (kappa * estimate)) if kappa * estimate > 0.0 else math.inf


@dataclass(frozen=True, eq=False)
class EstimateLoop:
    """One generation of N tokens in the loop.

    Attributes
    ----------
    pmf_rounds : array, shape (N + 1,)
        P(r rounds), r = 0 … N.
    mean_rounds, mean_cost, mean_drafted : float
        The cost in plain target steps.
    mean_flips, mean_wakes : float
        Rounds that asked for another κ than the round before, and rounds that drafted after one that had asked for
        κ = 0.
    mean_final_estimate : float
        After the last verdict.
    speedup : float
        N over the expected cost.
    """

    pmf_rounds: FloatArray
    mean_rounds: float
    mean_cost: float
    mean_drafted: float
    mean_flips: float
    mean_wakes: float
    mean_final_estimate: float
    speedup: float


def estimate_loop(process: Drift, rule: LookUp, cost: Cost, smoothing: float, initial: float) -> EstimateLoop:
    """Exact law of one short generation in which κ follows an exponential average of verdicts.

    Parameters
    ----------
    process : Drift
        The rates α_i, unknown to the loop, and the length N ≤ 16; with ``truncate`` a draft is cut to what is needed.
    rule : LookUp
        From the estimate to κ.
    cost : Cost
        The prices of a round, and of changes of κ.
    smoothing : float
        λ, the weight of the old estimate, 0 ≤ smoothing < 1: e ← λe + (1 − λ)·[accepted] for every examined draft.
    initial : float
        The first estimate, 0 ≤ initial ≤ 1.

    Returns
    -------
    EstimateLoop

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    The article's section 5.2 (equation 17), section 7 (guard) and Figure 1; claims C44, C51, C56.

    Examples
    --------
    >>> flat = Drift(shape="linear", alpha_start=0.7, alpha_end=0.7, tokens=12)
    >>> free, held = (LookUp((0.5, 0.6, 0.8), (1, 2, 4, 6), 1, guard) for guard in (None, 0.25))
    >>> [round(estimate_loop(flat, rule, Cost(c_d=0.1), 0.85, 0.7).speedup, 4) for rule in (free, held)]
    [1.8251, 1.5323]
    """
    n = process.n_tokens
    check_whole("n_tokens", n, 1, LOOP_TOKENS_LIMIT)
    check_range("lambda", smoothing, 0, 1)
    if smoothing == 1.0:
        raise ParameterError("lambda", "lambda = 1 never learns; allowed: 0 ≤ lambda < 1")
    check_range("initial", initial, 0, 1)
    waiting: list[dict[tuple[float, int], FloatArray]] = [{} for _ in range(n + 1)]
    waiting[0][float(initial), rule.kappa(float(initial))] = np.eye(1, n + 1)[0]
    spent = drafted = flips = wakes = 0.0
    for here in range(n):
        for (estimate, before), by_rounds in waiting[here].items():
            asked = rule.kappa(estimate)
            kappa = min(asked, n - 1 - here) if process.truncate else asked
            share = float(by_rounds.sum())
            drafted += share * kappa
            flips += share * (asked != before)
            wakes += share * (before == 0 and kappa > 0)
            spent += share * cost.base(kappa)
            for accepted, chance, after in _outcomes(process.rates(), here, kappa, estimate, smoothing):
                spent += share * chance * cost.c_r * (accepted < kappa)
                place = waiting[min(here + accepted + 1, n)]
                key = after, asked
                place[key] = place.get(key, 0.0) + chance * np.concatenate(([0.0], by_rounds[:-1]))
        waiting[here] = {}
    spent += cost.c_switch * flips + cost.c_wake * wakes
    pmf = np.sum(list(waiting[n].values()), axis=0)
    return EstimateLoop(
        pmf_rounds=pmf,
        mean_rounds=float(pmf @ np.arange(n + 1)),
        mean_cost=spent,
        mean_drafted=drafted,
        mean_flips=flips,
        mean_wakes=wakes,
        mean_final_estimate=float(sum(estimate * own.sum() for (estimate, _), own in waiting[n].items())),
        speedup=n / spent,
    )


def _outcomes(
    rates: Sequence[float], here: int, kappa: int, estimate: float, smoothing: float
) -> list[tuple[int, float, float]]:
    """(accepted, chance, estimate afterwards) of a round; those without a chance are left out."""
    found, alive = [], 1.0
    for accepted in range(kappa):
        rate = rates[min(here + accepted, len(rates) - 1)]
        found.append((accepted, alive * (1.0 - rate), smoothing * estimate))
        alive *= rate
        estimate = smoothing * estimate + (1.0 - smoothing)
    found.append((kappa, alive, estimate))
    return [outcome for outcome in found if outcome[1] > 0.0]
