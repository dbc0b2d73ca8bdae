"""What can be asked: acceptance processes, costs, and the scenario that joins them."""

from simspec.model.chains import Hmm, TokenChain
from simspec.model.copula import GaussianCopulaAr1
from simspec.model.cost import Cost
from simspec.model.drift import Drift
from simspec.model.errors import DatasetError, ParameterError, ScenarioError, SimspecError
from simspec.model.iid import Iid
from simspec.model.loss import Loss
from simspec.model.markov import Markov
from simspec.model.mixture import BetaMixture, DiscreteMixture
from simspec.model.policies import OwnPolicy, register_policy
from simspec.model.position import Position
from simspec.model.process import KAPPA_LIMIT, Process, Processes, register_process
from simspec.model.rounds import DraftLaw, RoundKind, RoundTable
from simspec.model.rows import RowProcess, RowTable
from simspec.model.scenario import Scenario
from simspec.model.schemes import Scheme, Schemes, register_scheme
from simspec.model.simulation import Simulation
from simspec.model.stop import Stop
from simspec.model.survival import Survival
from simspec.model.trace import Trace
from simspec.model.trees import DraftTree

__all__ = [
    "KAPPA_LIMIT",
    "BetaMixture",
    "Cost",
    "DatasetError",
    "DiscreteMixture",
    "DraftLaw",
    "DraftTree",
    "Drift",
    "GaussianCopulaAr1",
    "Hmm",
    "Iid",
    "Loss",
    "Markov",
    "OwnPolicy",
    "ParameterError",
    "Position",
    "Process",
    "Processes",
    "RoundKind",
    "RoundTable",
    "RowProcess",
    "RowTable",
    "Scenario",
    "ScenarioError",
    "Scheme",
    "Schemes",
    "SimspecError",
    "Simulation",
    "Stop",
    "Survival",
    "TokenChain",
    "Trace",
    "register_policy",
    "register_process",
    "register_scheme",
]
