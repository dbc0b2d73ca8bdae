"""What can be asked: acceptance processes, costs, and the scenario that joins them."""

from simspec.model.cost import Cost
from simspec.model.drift import Drift
from simspec.model.errors import DatasetError, ParameterError, ScenarioError, SimspecError
from simspec.model.iid import Iid
from simspec.model.markov import Markov
from simspec.model.process import KAPPA_LIMIT, Process, Processes
from simspec.model.scenario import Scenario
from simspec.model.simulation import Simulation
from simspec.model.survival import Survival

__all__ = [
    "KAPPA_LIMIT",
    "Cost",
    "DatasetError",
    "Drift",
    "Iid",
    "Markov",
    "ParameterError",
    "Process",
    "Processes",
    "Scenario",
    "ScenarioError",
    "SimspecError",
    "Simulation",
    "Survival",
]
