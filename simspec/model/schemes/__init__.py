"""Ways to draft and to verify: one file per scheme, registered by ``@Schemes.add`` and imported here."""

from simspec.model.schemes.ahead import Ahead
from simspec.model.schemes.big_little import BigLittle
from simspec.model.schemes.chain import Chain
from simspec.model.schemes.dynamic_tree import DynamicTree
from simspec.model.schemes.lookahead import Lookahead
from simspec.model.schemes.lookup import Lookup
from simspec.model.schemes.parallel import Parallel
from simspec.model.schemes.pool import Pool
from simspec.model.schemes.scheme import Scheme, Schemes, register_scheme
from simspec.model.schemes.stop import Stop
from simspec.model.schemes.tree import Tree, tree_rounds
from simspec.model.schemes.unmask import Unmask

__all__ = [
    "Ahead",
    "BigLittle",
    "Chain",
    "DynamicTree",
    "Lookahead",
    "Lookup",
    "Parallel",
    "Pool",
    "Scheme",
    "Schemes",
    "Stop",
    "Tree",
    "Unmask",
    "register_scheme",
    "tree_rounds",
]
