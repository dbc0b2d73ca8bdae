"""Ways to draft and to verify: one file per scheme, registered by ``@Schemes.add`` and imported here."""

from simspec.model.schemes.chain import Chain
from simspec.model.schemes.scheme import Scheme, Schemes
from simspec.model.schemes.tree import Tree, tree_rounds

__all__ = ["Chain", "Scheme", "Schemes", "Tree", "tree_rounds"]
