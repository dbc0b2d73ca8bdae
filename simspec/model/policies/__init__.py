"""Who chooses κ: one file per family, registered by ``@Policies.add`` and imported here."""

from simspec.model.policies.bandits import Exp3, Thompson, Ucb
from simspec.model.policies.estimates import Goodput, Rolling
from simspec.model.policies.fixed import BatchTable, Fixed, Schedule
from simspec.model.policies.heuristic import Gate, Heuristic, Steps
from simspec.model.policies.own import OwnPolicy, register_policy
from simspec.model.policies.planned import BestFixed, Optimal, Planned
from simspec.model.policies.policy import Policies, Policy

__all__ = [
    "BatchTable",
    "BestFixed",
    "Exp3",
    "Fixed",
    "Gate",
    "Goodput",
    "Heuristic",
    "Optimal",
    "OwnPolicy",
    "Planned",
    "Policies",
    "Policy",
    "Rolling",
    "Schedule",
    "Steps",
    "Thompson",
    "Ucb",
    "register_policy",
]
