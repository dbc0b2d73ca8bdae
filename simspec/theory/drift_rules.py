"""How long to draft where the acceptance rate drifts and is known: by a stop rule, a closed form, the optimum?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simspec.model.cost import Cost
from simspec.model.drift import Drift
from simspec.model.errors import ParameterError
from simspec.theory.best import optimum
from simspec.theory.closed import kappa_star_continuous, speedup_continuous
from simspec.theory.controller import plug_in_kappas
from simspec.theory.generations import GenerationRows
from simspec.theory.law import FloatArray
from simspec.theory.plans import Plan, optimal_plan
from simspec.theory.ranges import EXACT_KAPPA_LIMIT, as_numbers, check_kappa, check_positive, check_whole, whole_numbers

IntArray = npt.NDArray[np.int64]
RULE_KAPPA_LIMIT = 64
_ROUNDS = 50
"""Dinkelbach's iteration climbs to the best rate in a handful of steps."""


def plan_of(process: Drift, kappas: Sequence[int] | IntArray, cost: Cost) -> Plan:
    """Expected cost of a generation whose draft length is given by output position.

    Parameters
    ----------
    process : Drift
        The rates α_i and the length N.
    kappas : sequence of int, shape (N,)
        Draft length of a round that starts when i tokens are out, each 0 to 1000; cut to what is still needed if the
        process truncates.
    cost : Cost
        The prices of a round, and of changes of κ.

    Returns
    -------
    Plan
        ``kappas`` as they were drafted.

    Raises
    ------
    ParameterError
        If there is not one length per position, or one is out of range.

    References
    ----------
    The article's section 5.2; `simspec.theory.optimal_plan` has the best lengths.

    Examples
    --------
    >>> drift = Drift(shape="linear", alpha_start=0.85, alpha_end=0.62, tokens=1024)
    >>> round(plan_of(drift, [4] * 1024, Cost(c_d=0.1)).speedup, 5)  # as `simspec.theory.generation` at kappa = 4
    2.10288
    """
    lengths = whole_numbers("kappas", kappas, 0, EXACT_KAPPA_LIMIT)
    if lengths.shape != (process.n_tokens,):
        raise ParameterError("kappas", f"kappas has shape {lengths.shape}; allowed: one for each of {process.n_tokens}")
    longest = int(lengths.max())
    check_kappa(process, longest)
    rows = GenerationRows(process, longest)
    drafts = np.minimum(lengths, rows.left)
    base = np.array([cost.base(kappa) for kappa in range(longest + 1)])
    ahead = np.zeros(longest + 1)  # V(i + 1), V(i + 2), …
    value = 0.0
    for first, survival in rows.blocks(backward=True):
        for i in range(first + len(survival) - 1, first - 1, -1):
            kappa = int(drafts[i])
            reach = survival[i - first, : kappa + 1]
            later = ahead[: kappa + 1] + _changes(lengths, drafts, i, kappa, cost)
            value = float(base[kappa] + (reach[:-1] - reach[1:]) @ later[:kappa] + reach[-1] * later[kappa])
            value += cost.c_r * (1.0 - float(reach[-1]))
            ahead[1:] = ahead[:-1].copy()
            ahead[0] = value
    return Plan(mean_cost=value, speedup=rows.n / value, kappas=drafts)


def _changes(asked: IntArray, drafts: IntArray, i: int, kappa: int, cost: Cost) -> FloatArray:
    """What the round after a round at position i pays for another κ, by accepted drafts 0 … kappa; 0 if it is over."""
    price = np.zeros(kappa + 1)
    after = slice(i + 1, i + 2 + kappa)
    flips, wakes = asked[after] != asked[i], (asked[i] == 0) & (drafts[after] > 0)
    price[: len(flips)] = cost.c_switch * flips + cost.c_wake * wakes
    return price


def threshold_kappas(process: Drift, rate: float | FloatArray, cost: Cost, kappa_max: int) -> IntArray:
    """Draft one more token while its chance to be emitted is worth its price at a going rate of tokens per cost.

    Parameters
    ----------
    process : Drift
        The rates α_i, known to the rule, and the length N.
    rate : float, or array of shape (N,)
        Λ > 0, tokens per plain target step that the generation makes elsewhere; or by position, what it makes there.
    cost : Cost
        The prices of a round, without tables.
    kappa_max : int
        Longest draft, 0 to 64.

    Returns
    -------
    array of int, shape (N,)
        By position the first j at which S·α_next ≥ Λ(c + c_r S(1 − α_next)) fails, S the survival of the j before.

    Raises
    ------
    ParameterError
        If an argument is out of range or the prices are tables.

    Notes
    -----
    With c_r = 0 the gain S·α_next never rises along a draft, so that looking one step ahead is enough; with c_r > 0 and
    varying rates it need not be.

    References
    ----------
    Huang, Guo, Wang (2025), SpecDec++, whose stop rule is a threshold on the same survival; docs/theory.md section 8.

    Examples
    --------
    >>> drift = Drift(shape="table", alphas=[0.9, 0.9, 0.9, 0.5, 0.5, 0.5])
    >>> threshold_kappas(drift, 2.0, Cost(c_d=0.2), 8)
    array([3, 3, 2, 1, 1, 0])
    """
    going = as_numbers("rate", np.ravel(rate))
    if going.size not in (1, process.n_tokens):
        raise ParameterError(
            "rate", f"rate has {going.size} entries; allowed: one, or one for each of {process.n_tokens}"
        )
    going = np.broadcast_to(going, (process.n_tokens,))
    check_positive("rate", float(going.min()))  # nan is the least of what holds it
    check_whole("kappa_max", kappa_max, 0, RULE_KAPPA_LIMIT)
    if cost.longest_draft is not None:
        raise ParameterError(
            "cost", "cost has tables, and the rule needs a price per draft; allowed: c0, c_d, c_v, c_r"
        )
    rows = GenerationRows(process, kappa_max)
    lengths = np.zeros(rows.n, dtype=np.int64)
    for first, survival in rows.blocks():
        before, after = survival[:, :-2], survival[:, 1:-1]
        here = going[first : first + len(survival), None]
        pays = after >= here * (cost.c_d + cost.c_v + cost.c_r * (before - after))
        lengths[first : first + len(survival)] = np.cumprod(pays, axis=1).sum(axis=1)
    return np.asarray(np.minimum(lengths, rows.left), dtype=np.int64)


def threshold_plan(process: Drift, cost: Cost, kappa_max: int) -> Plan:
    """The stop rule of `threshold_kappas` at one rate for the whole generation: the one that it reaches itself.

    Parameters
    ----------
    process : Drift
        The rates α_i, known to the rule, and the length N.
    cost : Cost
        The prices of a round, without tables.
    kappa_max : int
        Longest draft, 0 to 64.

    Returns
    -------
    Plan

    Raises
    ------
    ParameterError
        If an argument is out of range or the prices are tables.

    Notes
    -----
    One rate is right where all windows see the same rates by draft position.  Along an output a token is worth what it
    takes *there*: with Λ_i = S*(α_i) in `threshold_kappas` the rule comes much closer to the optimum.

    References
    ----------
    Dinkelbach (1967) for the ratio; docs/theory.md section 8.

    Examples
    --------
    >>> drift = Drift(shape="linear", alpha_start=0.85, alpha_end=0.62, tokens=1024)
    >>> round(threshold_plan(drift, Cost(c_d=0.1), 20).speedup, 4)
    2.1255
    """
    best = plan_of(process, np.zeros(process.n_tokens, dtype=np.int64), cost)
    for _ in range(_ROUNDS):
        found = plan_of(process, threshold_kappas(process, best.speedup, cost, kappa_max), cost)
        if found.speedup <= best.speedup * (1.0 + 1e-13):
            break
        best = found
    return best


def local_kappas(process: Drift, cost: Cost, kappa_max: int) -> IntArray:
    """κ*(α_i) by position: the draft length that would be best if the rate stayed as it is.

    Parameters
    ----------
    process : Drift
        The rates α_i, known to the rule.
    cost : Cost
        The prices of a round.
    kappa_max : int
        Longest draft, 0 to 64.

    Returns
    -------
    array of int, shape (N,)

    Raises
    ------
    ParameterError
        If ``kappa_max`` is out of range.

    References
    ----------
    Leviathan, Kalman, Matias (2023), Theorem 3.8, at every position; claim C54.

    Examples
    --------
    >>> local_kappas(Drift(shape="table", alphas=[0.85, 0.7, 0.05]), Cost(c_d=0.1), 20)
    array([7, 4, 0])
    """
    return plug_in_kappas(np.array(process.rates()), cost, kappa_max, kappa_min=0)


def closed_kappas(process: Drift, cost: Cost, kappa_max: int) -> IntArray:
    """The same from the closed form of κ*(α_i), rounded to the nearest whole number.

    Parameters
    ----------
    process : Drift
        The rates α_i, known to the rule.
    cost : Cost
        The prices of a round, without tables.
    kappa_max : int
        Longest draft, 0 to 64.

    Returns
    -------
    array of int, shape (N,)

    Raises
    ------
    ParameterError
        If ``kappa_max`` is out of range or the prices are tables.

    References
    ----------
    `simspec.theory.kappa_star_continuous`, Lambert's W; the article's section 8 asks for such a form.

    Examples
    --------
    >>> closed_kappas(Drift(shape="table", alphas=[0.85, 0.7, 0.05]), Cost(c_d=0.1), 20)
    array([7, 4, 0])
    """
    check_whole("kappa_max", kappa_max, 0, RULE_KAPPA_LIMIT)
    if cost.longest_draft is not None:
        raise ParameterError("cost", "cost has tables, and the closed form has none; allowed: c0, c_d, c_v, c_r")
    values = [kappa_star_continuous(alpha, cost) for alpha in process.rates()]
    return np.array([kappa_max if math.isinf(v) else min(kappa_max, round(v)) for v in values], dtype=np.int64)


def _going_rates(process: Drift, cost: Cost, kappa_max: int) -> FloatArray:
    """S*(α_i): what independent drafts of the rate at position i would make in the long run."""
    kappas = local_kappas(process, cost, kappa_max)
    return np.array(
        [speedup_continuous(alpha, int(kappa), cost) for alpha, kappa in zip(process.rates(), kappas, strict=True)]
    )


@dataclass(frozen=True)
class StopRules:
    """Throughput of one generation under rules that know the rates, and with one fixed κ.

    Attributes
    ----------
    fixed_kappa : int
        The best fixed draft length.
    fixed, local, closed : float
        N/E[cost] with it, with κ*(α_i), and with its closed form.
    threshold, threshold_local : float
        With the threshold rule at one rate of its own, and at the local rates S*(α_i).
    optimal : float
        With the optimal plan.
    """

    fixed_kappa: int
    fixed: float
    local: float
    closed: float
    threshold: float
    threshold_local: float
    optimal: float


def stop_rules(process: Drift, cost: Cost, kappa_max: int = 40) -> StopRules:
    """What knowing the rates is worth along a drift, by rule.

    Parameters
    ----------
    process : Drift
        The rates α_i and the length N.
    cost : Cost
        The prices of a round, without tables.
    kappa_max : int
        Longest draft, 1 to 64.

    Returns
    -------
    StopRules

    Raises
    ------
    ParameterError
        If ``kappa_max`` is out of range or the prices are tables.

    References
    ----------
    The article's section 8, second question (closed-form adaptive κ*_i); docs/theory.md section 8, claims C44 and C54.

    Examples
    --------
    >>> found = stop_rules(Drift(shape="linear", alpha_start=0.85, alpha_end=0.62, tokens=1024), Cost(c_d=0.1))
    >>> found.fixed_kappa, round(found.fixed, 5), round(found.local, 5), round(found.optimal, 5)
    (4, 2.10288, 2.12979, 2.12988)
    """
    check_whole("kappa_max", kappa_max, 1, RULE_KAPPA_LIMIT)
    best = optimum(process, cost, kappa_max)
    return StopRules(
        fixed_kappa=best.kappa_star,
        fixed=best.best_speedup,
        local=plan_of(process, local_kappas(process, cost, kappa_max), cost).speedup,
        closed=plan_of(process, closed_kappas(process, cost, kappa_max), cost).speedup,
        threshold=threshold_plan(process, cost, kappa_max).speedup,
        threshold_local=plan_of(
            process, threshold_kappas(process, _going_rates(process, cost, kappa_max), cost, kappa_max), cost
        ).speedup,
        optimal=optimal_plan(process, cost, kappa_max).speedup,
    )
