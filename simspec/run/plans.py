"""What does a policy ask for that was planned beforehand?  Exact optima, made once per process and prices."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TypeVar

from simspec import theory
from simspec.kernels.forms import Form
from simspec.kernels.forms import Policy as PolicyForm
from simspec.kernels.lower_foresight import foreseen_speed
from simspec.kernels.lower_policies import policy_form, prices
from simspec.kernels.lower_steered import steered_form
from simspec.model import Cost, Drift, ParameterError, Process, Simulation, Trace
from simspec.model.cost import CHANGES
from simspec.model.identity import canonical_json
from simspec.model.policies import BestFixed, Foresight, Optimal, Planned, Policy, Schedule
from simspec.model.serving import NORMAL, Serving
from simspec.run.comparators import best_fixed
from simspec.run.traces import trace_form
from simspec.theory.routes import has_route

Asked = TypeVar("Asked", bound=Policy)
Made = TypeVar("Made")
REMEMBERED = 64
"""Plans that are kept."""


def steering(process: Process, policy: Policy, serving: Serving = NORMAL) -> tuple[PolicyForm, int]:
    """What the general loop needs of a policy on a process under some conditions, and κ of the first round.

    Raises
    ------
    ParameterError
        The policy reads prices and knows none, or the exact optimum that it needs is not known.
    """
    if isinstance(policy, Planned):
        policy = plan(process, policy)
    if isinstance(policy, Foresight) and policy.speed is None:
        policy = policy.model_copy(update={"speed": _worth(process, policy)})
    return policy_form(policy, serving)


def steered_form_of(process: Process, longest: int) -> Form:
    """The integer form of a process where a policy chooses κ: a window has a law when it starts."""
    return trace_form(process, longest) if isinstance(process, Trace) else steered_form(process, longest)


def _once(make: Callable[[Process, Asked], Made]) -> Callable[[Process, Asked], Made]:
    """Made once per process and policy, told apart by their identities: a trace of some rows cannot be hashed."""
    known: dict[str, Made] = {}

    @functools.wraps(make)
    def remembered(process: Process, policy: Asked) -> Made:
        key = canonical_json([process.identity(), policy.identity()])
        if key not in known:
            if len(known) >= REMEMBERED:
                known.clear()
            known[key] = make(process, policy)
        return known[key]

    return remembered


@_once
def _worth(process: Process, policy: Foresight) -> float:
    """Ŝ of a policy that knows every run."""
    return foreseen_speed(steered_form_of(process, policy.longest), policy, prices(policy))


def known_speedup(simulation: Simulation, cost: Cost) -> float:
    """Exact S of what steers a run: of foresight where windows start afresh; no route knows it of others, NaN."""
    policy, process = simulation.policy, simulation.process
    if not isinstance(policy, Foresight) or policy.speed is not None or policy.cost != cost.without_changes():
        return math.nan
    changes = any(getattr(cost, name) for name in CHANGES)
    if changes or simulation.serving.identity() or process.unit != "window" or not has_route(process):
        return math.nan
    return theory.foresight(process, cost, policy.highest, policy.lowest).speedup


@_once
def plan(process: Process, policy: Planned) -> Schedule:
    """The κ by output position that a planned policy stands for.

    Raises
    ------
    ParameterError
        The prices are missing, or there is no exact optimum of this process.

    Examples
    --------
    >>> from simspec.model import Iid
    >>> plan(Iid(alpha=0.7), BestFixed(cost=Cost(c_d=0.1))).kappas
    (4,)
    """
    if policy.cost is None:
        raise ParameterError("cost", f"cost is missing: {policy.type} reads prices; allowed: a table of prices")
    policy.check_process(process)
    return Schedule(kappas=_PLANS[type(policy)](process, policy.cost, policy.highest))


def _optimal(process: Process, cost: Cost, highest: int) -> tuple[int, ...]:
    assert isinstance(process, Drift)  # checked by the policy
    return tuple(int(kappa) for kappa in theory.optimal_plan(process, cost, highest).kappas)


def _best_fixed(process: Process, cost: Cost, highest: int) -> tuple[int, ...]:
    return (best_fixed(process, cost, highest).kappa,)


_PLANS: dict[type[Planned], Callable[[Process, Cost, int], tuple[int, ...]]] = {
    Optimal: _optimal,
    BestFixed: _best_fixed,
}
