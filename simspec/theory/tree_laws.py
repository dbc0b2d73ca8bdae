"""How deep does the target follow a tree of drafts, and what does such a round cost?

A node is reached if its parent is, with the chance of the edge between them; the walk stops at a reached node with the
chance that none of its children is accepted.  So E[A] is the sum of the chances to reach a node, over all nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.model.trees import DraftTree
from simspec.theory.law import FloatArray, moments


@dataclass(frozen=True, eq=False)
class TreeLaw:
    """Exact law of a round with one tree of drafts.

    Attributes
    ----------
    nodes, depth : int
        Drafted tokens, and draft steps.
    reached : array, shape (nodes + 1,)
        P(node is accepted); entry 0 is the root, 1.
    stopped : array, shape (nodes + 1,)
        P(the walk ends at this node).
    pmf_accepted : array, shape (depth + 1,)
        P(A = j): the walk ends at depth j.
    mean_accepted, var_accepted : float
        Of A, in tokens; the corrected or bonus token is not counted.
    p_rejected : float
        P(the walk ends at a node that has children, all of them rejected).
    """

    nodes: int
    depth: int
    reached: FloatArray
    stopped: FloatArray
    pmf_accepted: FloatArray
    mean_accepted: float
    var_accepted: float
    p_rejected: float

    @property
    def mean_tokens(self) -> float:
        """E[A] + 1."""
        return self.mean_accepted + 1.0

    @property
    def mean_wasted(self) -> float:
        """Drafted tokens that are not emitted, per round."""
        return self.nodes - self.mean_accepted

    def mean_cost(self, cost: Cost) -> float:
        """c0 + c_d·depth + c_v·nodes + c_r·P(rejected); tables are read at the depth and at the nodes.

        Raises
        ------
        ParameterError
            A cost table ends before the depth or the nodes of the tree.
        """
        return cost.target_pass(self.nodes) + cost.drafting(self.depth) + cost.c_r * self.p_rejected

    def speedup(self, cost: Cost) -> float:
        """E[tokens]/E[cost], against one plain target step."""
        return self.mean_tokens / self.mean_cost(cost)


def tree_law(tree: DraftTree) -> TreeLaw:
    """Exact law of the accepted length of a token tree whose chances are the same in every round.

    Parameters
    ----------
    tree : DraftTree
        Its nodes, their chances, and how siblings exclude each other.

    Returns
    -------
    TreeLaw

    References
    ----------
    Miao et al. (2024), SpecInfer, Algorithm 2; Cai et al. (2024), Medusa, section 2.1.2, adds up path products.

    Examples
    --------
    >>> law = tree_law(DraftTree(parents=[0, 0, 1], chances=[0.6, 0.2, 0.5]))
    >>> law.pmf_accepted.round(6), round(law.mean_accepted, 6), round(law.p_rejected, 6)
    (array([0.2, 0.5, 0.3]), 1.1, 0.5)
    >>> round(law.speedup(Cost(c_d=0.1, c_v=0.02)), 6)
    1.666667
    """
    reached = np.ones(tree.nodes + 1)
    stopped = np.ones(tree.nodes + 1)
    for node, children in enumerate(tree.children):  # a parent comes before its children
        left = 1.0  # P(none of the children so far is accepted, given that the node is reached)
        for child in children:
            own = tree.chances[child - 1] * (left if tree.siblings == "sequential" else 1.0)
            own = min(own, left)  # chances may add up to 1 but for rounding
            reached[child] = reached[node] * own
            left -= own
        stopped[node] = reached[node] * left
    depths = np.array(tree.depths)
    pmf = np.zeros(tree.depth + 1)
    np.add.at(pmf, depths, stopped)
    inner = np.array([bool(children) for children in tree.children])
    mean, var = moments(pmf)
    return TreeLaw(tree.nodes, tree.depth, reached, stopped, pmf, mean, var, float(stopped[inner].sum()))


def merged_tree(trees: list[DraftTree], tokens: list[list[int]]) -> tuple[DraftTree, list[list[int]]]:
    """Several trees of drafts as one: nodes with the same tokens from the root are one node.

    Parameters
    ----------
    trees : list of DraftTree
        Trees with exclusive siblings; a node they share must have the same chance in each of them.
    tokens : list of list of int
        Token of node 1, 2, … of each tree; siblings have different tokens.

    Returns
    -------
    tree : DraftTree
        The union.
    places : list of list of int
        Node of the union for node 1, 2, … of each tree.

    Raises
    ------
    ParameterError
        Siblings are not exclusive or bear one token twice, a shared node has two chances, or lists do not match.

    References
    ----------
    Miao et al. (2024), SpecInfer, section 3: merge-based tree construction from several small models.

    Examples
    --------
    >>> left = DraftTree(parents=[0, 1], chances=[0.5, 0.4])
    >>> right = DraftTree(parents=[0, 1], chances=[0.5, 0.3])
    >>> both, places = merged_tree([left, right], [[7, 8], [7, 9]])
    >>> both.parents, both.chances, places
    ((0, 1, 1), (0.5, 0.4, 0.3), [[1, 2], [1, 3]])
    """
    if len(tokens) != len(trees):
        raise ParameterError("tokens", f"tokens has {len(tokens)} lists; allowed: {len(trees)}, one per tree")
    known: dict[tuple[int, int], int] = {}
    parents, chances, places = list[int](), list[float](), list[list[int]]()
    for i, (tree, own) in enumerate(zip(trees, tokens, strict=True)):
        if tree.siblings != "exclusive":
            raise ParameterError(f"trees[{i}]", f'trees[{i}] has siblings "sequential"; allowed: "exclusive"')
        if len(own) != tree.nodes:
            raise ParameterError(f"tokens[{i}]", f"tokens[{i}] has {len(own)} tokens; allowed: {tree.nodes}")
        at, met = [0], set[tuple[int, int]]()
        for parent, chance, token in zip(tree.parents, tree.chances, own, strict=True):
            edge = (at[parent], token)
            if edge in met:
                raise ParameterError(f"tokens[{i}]", f"tokens[{i}] gives siblings the token {token} twice")
            met.add(edge)
            if edge not in known:
                parents.append(edge[0])
                chances.append(chance)
                known[edge] = len(parents)
            elif chances[known[edge] - 1] != chance:
                raise ParameterError(f"trees[{i}]", f"trees[{i}] gives token {token} another chance than before it")
            at.append(known[edge])
        places.append(at[1:])
    return DraftTree(parents=tuple(parents), chances=tuple(chances)), places
