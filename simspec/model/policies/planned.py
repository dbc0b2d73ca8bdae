"""κ from what nobody knows beforehand: the best plan for known rates, and the best fixed κ.

What they choose is computed by `simspec.run.plans` when a run begins; the model does no arithmetic.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from simspec.model.drift import Drift
from simspec.model.errors import ParameterError
from simspec.model.policies.policy import POLICY_KAPPA_LIMIT, Costed, Policies
from simspec.model.process import Process


class Planned(Costed):
    """A policy whose κ are computed from the process and the prices before anything is drawn."""

    highest: int = Field(default=16, ge=0, le=POLICY_KAPPA_LIMIT, description="largest κ")

    @property
    def longest(self) -> int:
        return self.highest


@Policies.add
class Optimal(Planned):
    """The cheapest κ by output position, for rates that are known: no policy does better in expectation that does not
    see words to come.

    Parameters
    ----------
    highest : int
        Largest κ.
    cost : Cost, optional
        Prices that the plan is made for; those of the run if left out.

    References
    ----------
    `simspec.theory.optimal_plan`: backward induction over tokens out; the article's section 5.2.

    Examples
    --------
    >>> import simspec
    >>> falls = simspec.Drift(alpha_start=0.85, alpha_end=0.62, tokens=1024)
    >>> found = simspec.simulate(falls, {"c_d": 0.1}, policy="optimal", windows=100_000)
    >>> bool(abs(found.to_pandas().speedup[0] - 2.1299) < 0.02)
    True
    """

    type: Literal["optimal"] = "optimal"

    @property
    def of_one_request(self) -> str:
        return "goes by the output position of one request"

    def check_process(self, process: Process) -> None:
        if not isinstance(process, Drift):
            told = f"policy optimal needs rates by output position, and {process.type} has none"
            raise ParameterError("policy", f'{told}; allowed: a process of type drift, or type = "best_fixed"')


@Policies.add
class BestFixed(Planned):
    """The same κ in every round: the one with the highest exact S for this process and these prices, "best in
    hindsight".

    Parameters
    ----------
    highest : int
        Largest κ.
    cost : Cost, optional
        Prices that make it the best; those of the run if left out.

    References
    ----------
    `simspec.theory.optimum`.

    Examples
    --------
    >>> import simspec
    >>> found = simspec.simulate({"type": "iid", "alpha": 0.7}, {"c_d": 0.1}, policy="best_fixed", windows=10_000)
    >>> float(found.to_pandas().mean_drafted[0])
    4.0
    """

    type: Literal["best_fixed"] = "best_fixed"
