"""What is a controller held against?  Exact speeds: best fixed κ, best plan by position, who knows the rate.

They take no part in the noise of a simulation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simspec import theory
from simspec.model import BetaMixture, Cost, DiscreteMixture, Drift, ParameterError, Process, Trace
from simspec.run.traces import Chances, load
from simspec.theory.law import FloatArray

FIXED, SCHEDULE, ORACLE, FORESIGHT = "fixed", "schedule", "oracle", "foresight"


@dataclass(frozen=True)
class Comparator:
    """One exact speed.

    Attributes
    ----------
    name : str
        ``"fixed"``, ``"schedule"``, ``"oracle"`` or ``"foresight"``.
    speedup : float
        Its tokens per cost.
    says : str
        What it knows, in words.
    kappa : int
        Its κ, of the best fixed one; else −1.
    """

    name: str
    speedup: float
    says: str
    kappa: int = -1


def fixed_speedups(process: Process, cost: Cost, longest: int) -> FloatArray:
    """Exact S at κ = 0 … longest; of a dense trace, over its requests as they are.

    Raises
    ------
    ParameterError
        There is no exact route.

    Examples
    --------
    >>> from simspec.model import Iid
    >>> fixed_speedups(Iid(alpha=0.5), Cost(c_d=0.1), 2).round(3).tolist()
    [1.0, 1.364, 1.458]
    """
    if not isinstance(process, Trace):
        return theory.optimum(process, cost, longest).speedup_by_kappa
    requests = _requests(process)
    tokens = np.array([own.n_tokens for own in requests])
    each = np.array([theory.optimum(own, cost, longest).speedup_by_kappa for own in requests])
    return np.asarray(tokens.sum() / (tokens[:, None] / each).sum(axis=0))


def best_fixed(process: Process, cost: Cost, longest: int) -> Comparator:
    """The best fixed κ, the smallest of several; otherwise as `comparators`."""
    speeds = fixed_speedups(process, cost, longest)
    star = int(np.flatnonzero(speeds >= np.nanmax(speeds) - 1e-12)[0])
    return Comparator(FIXED, float(speeds[star]), f"the best fixed κ = {star}", star)


def comparators(process: Process, cost: Cost, longest: int) -> dict[str, Comparator]:
    """All that have a meaning for this process, by name; the best fixed κ first.

    Parameters
    ----------
    process : Process
        Any with an exact route, or a dense trace.
    cost : Cost
        The prices of a round.
    longest : int
        Longest draft, 1 to 64.

    Raises
    ------
    ParameterError
        There is no exact route.

    Examples
    --------
    >>> found = comparators(Drift(alpha_start=0.85, alpha_end=0.62, tokens=1024), Cost(c_d=0.1), 8)
    >>> {name: round(own.speedup, 4) for name, own in found.items()}
    {'fixed': 2.1029, 'schedule': 2.1299}
    """
    found = [best_fixed(process, cost, longest)]
    if isinstance(process, Drift):
        plan = theory.optimal_plan(process, cost, longest).speedup
        found.append(Comparator(SCHEDULE, plan, "the best plan by output position, for rates that are known"))
    if isinstance(process, Trace):
        requests = _requests(process)
        spent = sum(theory.optimal_plan(own, cost, longest).mean_cost for own in requests)
        plan = sum(own.n_tokens for own in requests) / spent
        told = "the best plan by position of each request, for rates that are known"
        found.append(Comparator(SCHEDULE, plan, told))
    if _knows(process):
        unit = "request" if process.unit == "generation" else "window"
        told = f"the best κ for the rate of each {unit}, if it were known"
        found.append(Comparator(ORACLE, theory.informed_speedup(process, cost, longest), told))
    if process.unit == "window":
        told = "κ by what the coming round accepts, if that were known: the bound of all controllers"
        found.append(Comparator(FORESIGHT, theory.foresight(process, cost, longest).speedup, told))
    return {own.name: own for own in found}


def _knows(process: Process) -> bool:
    """Whether there is a rate to know."""
    mixed = isinstance(process, (BetaMixture, DiscreteMixture))
    return mixed and getattr(process, "weights_of", "") != "rounds"


def _requests(trace: Trace) -> list[Drift]:
    """The requests of a dense trace, each with its rates by position."""
    data = load(trace)
    if not isinstance(data, Chances):
        raise ParameterError("process", f"{trace} holds rounds; allowed: a dense trace, with a rate at every position")
    parts = np.split(data.alpha, data.offsets[1:-1])
    return [Drift(shape="table", alphas=tuple(own.tolist()), truncate=trace.truncate) for own in parts]
