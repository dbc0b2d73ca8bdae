"""Which exact route answers for which process?  One line per process in `ROUTES`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.model.process import Process
from simspec.model.rows import RowProcess
from simspec.theory.carried import carried_counts, carried_sweep, carried_window
from simspec.theory.fresh import (
    fresh_sweep,
    fresh_window,
    iid_curve,
    measured_curve,
    multinomial,
    position_curve,
    stationary_markov_curve,
)
from simspec.theory.gaussian import copula_curve
from simspec.theory.generations import generation_counts, generation_sweep, generation_window
from simspec.theory.hidden import hmm_chain, hmm_curve, token_draft_chain
from simspec.theory.lanes import DraftChain, chain_counts, chain_sweep, chain_window
from simspec.theory.law import FloatArray, Sweep, WindowLaw, mean_round_cost
from simspec.theory.mixtures import beta_curve, discrete_curve
from simspec.theory.ranges import check_kappa, check_least
from simspec.theory.requests import request_counts, request_sweep, request_window
from simspec.theory.user_rows import rows_counts, rows_sweep, rows_window

Curve = Callable[[Any, int], FloatArray]


@dataclass(frozen=True)
class Route:
    """The exact answers of one kind of process; ``curve`` only where windows are fresh."""

    window: Callable[[Any, int], WindowLaw]
    sweep: Callable[[Any, int], Sweep]
    counts: Callable[[Any, int, int], tuple[FloatArray, FloatArray]]
    curve: Curve | None = None


def fresh(curve: Curve) -> Route:
    """The route of a process with independent windows: its survival curve is enough.

    Examples
    --------
    >>> from simspec.model.iid import Iid
    >>> fresh(iid_curve).sweep(Iid(alpha=0.5), 2).mean_tokens
    array([1.  , 1.5 , 1.75])
    """

    def counts(process: Process, kappa: int, rounds: int) -> tuple[FloatArray, FloatArray]:
        return multinomial(fresh_window(curve(process, kappa)).pmf_accepted, rounds)

    return Route(
        window=lambda process, kappa: fresh_window(curve(process, kappa)),
        sweep=lambda process, kappa_max: fresh_sweep(curve(process, kappa_max)),
        counts=counts,
        curve=curve,
    )


def lane(chain: Callable[[Any], DraftChain]) -> Route:
    """The route of a process whose hidden state runs on over windows: what one draft does to the state is enough.

    Examples
    --------
    >>> from simspec.model.chains import Hmm
    >>> lane(hmm_chain).sweep(Hmm(P=[[1.0]], alphas=[0.5], start="carry"), 2).mean_tokens
    array([1.  , 1.5 , 1.75])
    """
    return Route(
        window=lambda process, kappa: chain_window(chain(process), kappa),
        sweep=lambda process, kappa_max: chain_sweep(chain(process), kappa_max),
        counts=lambda process, kappa, rounds: chain_counts(chain(process), kappa, rounds),
    )


REQUESTS = Route(request_window, request_sweep, lambda process, kappa, rounds: request_counts(process, kappa))
"""Mixtures that hold a rate for a whole request."""

ROUTES: dict[tuple[str, str], Route] = {
    ("iid", "window"): fresh(iid_curve),
    ("survival", "window"): fresh(measured_curve),
    ("position", "window"): fresh(position_curve),
    ("markov", "window"): fresh(stationary_markov_curve),
    ("markov", "lane"): Route(carried_window, carried_sweep, carried_counts),
    ("beta_mixture", "window"): fresh(beta_curve),
    ("beta_mixture", "generation"): REQUESTS,
    ("discrete_mixture", "window"): fresh(discrete_curve),
    ("discrete_mixture", "generation"): REQUESTS,
    ("gaussian_copula_ar1", "window"): fresh(copula_curve),
    ("hmm", "window"): fresh(hmm_curve),
    ("hmm", "lane"): lane(hmm_chain),
    ("token_chain", "lane"): lane(token_draft_chain),
    ("drift", "generation"): Route(
        generation_window, generation_sweep, lambda process, kappa, rounds: generation_counts(process, kappa)
    ),
}
"""(type, independent unit) → route."""


ROWS = Route(rows_window, rows_sweep, rows_counts)
"""The route of every user's process."""


def has_route(process: Process) -> bool:
    """Whether the exact route knows this process.

    Examples
    --------
    >>> from simspec.model.iid import Iid
    >>> has_route(Iid(alpha=0.5))
    True
    """
    return isinstance(process, RowProcess) or (process.type, process.unit) in ROUTES


def route_of(process: Process) -> Route:
    """The route of ``process``; `ParameterError` if there is none.

    Examples
    --------
    >>> from simspec.model.iid import Iid
    >>> route_of(Iid(alpha=0.5)).curve is iid_curve
    True
    """
    if isinstance(process, RowProcess):
        return ROWS
    key = (process.type, process.unit)
    if key not in ROUTES:
        known = ", ".join(dict.fromkeys(name for name, _ in ROUTES))
        raise ParameterError("type", f"type = {process.type!r} has no exact route; known: {known}")
    return ROUTES[key]


def survival_curve(process: Process, kappa: int) -> FloatArray:
    """Survival curve of a fresh window: S_j, the chance that its first j drafts are all accepted.

    Parameters
    ----------
    process : Process
        One whose unit is a window: iid, survival, position, gaussian_copula_ar1, markov and hmm with
        ``start = "stationary"``, and mixtures without ``request_tokens``.
    kappa : int
        Draft length, 0 ≤ kappa ≤ 1000.

    Returns
    -------
    array, shape (kappa,)
        S_1 … S_kappa; E[A] is their sum.

    Raises
    ------
    ParameterError
        If windows are not fresh, or ``kappa`` is out of range.

    References
    ----------
    docs/theory.md sections 1 and 6; Leviathan, Kalman, Matias (2023), section 3.1, for α^j.

    Examples
    --------
    >>> from simspec.model.iid import Iid
    >>> survival_curve(Iid(alpha=0.5), 3)
    array([0.5  , 0.25 , 0.125])
    """
    curve = route_of(process).curve
    if curve is None:
        raise ParameterError("process", f"{process} has no fresh window, hence no survival curve; ask for its window")
    check_kappa(process, kappa)
    return curve(process, kappa)


def window(process: Process, kappa: int) -> WindowLaw:
    """Long-run law of the windows of a process at a fixed draft length.

    Parameters
    ----------
    process : Process
        Any process with an exact route.
    kappa : int
        Draft length (γ, ``num_speculative_tokens``), 0 ≤ kappa ≤ 1000.

    Returns
    -------
    WindowLaw

    Raises
    ------
    ParameterError
        If ``kappa`` is out of range, or the process has no long-run law there.

    References
    ----------
    docs/theory.md sections 1, 6 and 7.  E[A] + 1 of i.i.d. drafts is Leviathan, Kalman, Matias (2023), Eq. (1).

    Examples
    --------
    >>> from simspec.model.iid import Iid
    >>> law = window(Iid(alpha=0.7), 4)
    >>> law.pmf_accepted
    array([0.3   , 0.21  , 0.147 , 0.1029, 0.2401])
    >>> round(law.mean_accepted, 4), round(law.var_accepted, 5)
    (1.7731, 2.42182)
    """
    check_kappa(process, kappa)
    return route_of(process).window(process, kappa)


def speedups(process: Process, kappa_max: int, cost: Cost) -> FloatArray:
    """Speed-up at every κ = 0 … kappa_max; NaN where the process has no long-run law.

    Examples
    --------
    >>> from simspec.model.iid import Iid
    >>> speedups(Iid(alpha=0.5), 2, Cost(verify_table=[1.0, 1.0, 2.0]))
    array([1.   , 1.5  , 0.875])
    """
    means = route_of(process).sweep(process, kappa_max)
    cut = np.nan_to_num(means.mean_drafted) < np.arange(kappa_max + 1) - 1e-12
    if cost.longest_draft is None or not cut.any():
        return means.speedup(cost)
    return np.array([speedup(process, kappa, cost) for kappa in range(kappa_max + 1)])


def speedup(process: Process, kappa: int, cost: Cost) -> float:
    """Throughput E[tokens]/E[cost] against one plain target step per token: the ratio of means.

    Parameters
    ----------
    process : Process
        Any process with an exact route; for a generation it is E[tokens]/E[cost] of a generation.
    kappa : int
        Draft length, 0 ≤ kappa ≤ 1000.
    cost : Cost
        The prices of a round.

    Returns
    -------
    float
        Tokens per plain target step; 1/c0 at kappa = 0.

    Raises
    ------
    ParameterError
        As for `window`.

    References
    ----------
    Leviathan, Kalman, Matias (2023), Theorem 3.8, is the case c0 = 1, c_v = c_r = 0; docs/theory.md section 3.

    Examples
    --------
    >>> from simspec.model.iid import Iid
    >>> round(speedup(Iid(alpha=0.7), 4, Cost(c_d=0.1)), 4)
    1.9808
    """
    law = window(process, kappa)
    return law.mean_tokens / mean_round_cost(law, cost)


def unit_counts(process: Process, kappa: int, rounds: int) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of the counts of A in one independent unit, for tests with the right variance.

    Parameters
    ----------
    process : Process
        Any process with an exact route.
    kappa : int
        Draft length, 0 ≤ kappa ≤ 1000.
    rounds : int
        Windows in the unit, at least 1: fresh windows, or one lane whose first state is drawn from the window-start
        law.  A generation (request) is its own unit and ignores it.

    Returns
    -------
    mean : array, shape (kappa + 1,)
        Expected number of windows with A = j.
    covariance : array, shape (kappa + 1, kappa + 1)
        Their covariance; singular where the number of windows is fixed.

    Raises
    ------
    ParameterError
        If ``kappa`` or ``rounds`` is out of range.

    References
    ----------
    docs/theory.md sections 6 and 7; a window of a correlated process is not an independent unit.

    Examples
    --------
    >>> from simspec.model.markov import Markov
    >>> mean, covariance = unit_counts(Markov(alpha=0.5, rho=0.5, start="carry"), 1, 2)
    >>> mean, covariance[0]
    (array([1., 1.]), array([ 0.75, -0.75]))
    """
    check_kappa(process, kappa)
    check_least("rounds", rounds, 1)
    return route_of(process).counts(process, kappa, rounds)
