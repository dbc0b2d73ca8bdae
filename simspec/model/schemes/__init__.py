"""Ways to draft and to verify: one file per scheme, registered by ``@Schemes.add`` and imported here."""

from simspec.model.schemes.ahead import Ahead
from simspec.model.schemes.big_little import BigLittle
from simspec.model.schemes.chain import Chain
from simspec.model.schemes.copy import Copy
from simspec.model.schemes.dynamic_tree import DynamicTree
from simspec.model.schemes.lookahead import Lookahead
from simspec.model.schemes.lookup import Lookup
from simspec.model.schemes.ngram_pool import NgramPool
from simspec.model.schemes.parallel import Parallel
from simspec.model.schemes.pool import Pool
from simspec.model.schemes.scheme import Scheme, Schemes, register_scheme
from simspec.model.schemes.self_draft import SelfDraft
from simspec.model.schemes.stop import Stop
from simspec.model.schemes.tokens import Tokens
from simspec.model.schemes.tree import Tree, tree_rounds
from simspec.model.schemes.unmask import Unmask

__all__ = [
    "Ahead",
    "BigLittle",
    "Chain",
    "Copy",
    "DynamicTree",
    "Lookahead",
    "Lookup",
    "NgramPool",
    "Parallel",
    "Pool",
    "Scheme",
    "Schemes",
    "SelfDraft",
    "Stop",
    "Tokens",
    "Tree",
    "Unmask",
    "register_scheme",
    "tree_rounds",
]
