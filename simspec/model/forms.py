"""In which forms may a scheme say how its rounds go?  A table of states, trees that grow, or a pool of tokens."""

from simspec.model.grown import GrownTrees
from simspec.model.pool import PoolRounds
from simspec.model.rounds import RoundTable

Rounds = RoundTable | GrownTrees | PoolRounds
