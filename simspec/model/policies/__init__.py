"""Who chooses κ: one file per family, registered by ``@Policies.add`` and imported here."""

from simspec.model.policies.bandits import Exp3, Exp3Spec, Thompson, Ucb, UcbSpec
from simspec.model.policies.estimates import Goodput, Rolling
from simspec.model.policies.fixed import BatchTable, Fixed, Schedule
from simspec.model.policies.foresight import Foresight
from simspec.model.policies.gate import Gate
from simspec.model.policies.heuristic import Heuristic, Steps
from simspec.model.policies.own import OwnPolicy, register_policy
from simspec.model.policies.planned import BestFixed, Optimal, Planned
from simspec.model.policies.policy import Policies, Policy

__all__ = [
    "BatchTable",
    "BestFixed",
    "Exp3",
    "Exp3Spec",
    "Fixed",
    "Foresight",
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
    "UcbSpec",
    "register_policy",
]
