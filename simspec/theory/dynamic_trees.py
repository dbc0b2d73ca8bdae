"""How deep does the target follow a tree that the draft grows where it is confident?  By listing all its confidences.

Every node that is expanded names its likeliest children with their confidences, one of a few vectors drawn
independently.  Layer by layer the nodes with the largest products of confidences along their path are expanded, and of
all children so made those with the largest products are verified.  A parent's product is never below its child's, so
what is kept is a tree.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.model.trees import DraftTree
from simspec.theory.law import FloatArray, moments
from simspec.theory.ranges import as_numbers, check_range, check_whole
from simspec.theory.tree_laws import tree_law

OUTCOMES_LIMIT = 200_000
"""Vectors to the power of the nodes expanded: half a minute."""
NODES_LIMIT = 1024


@dataclass(frozen=True, eq=False)
class DynamicTree:
    """Exact law of a round with a tree grown by confidence.

    Attributes
    ----------
    depth : int
        Draft steps.
    joint : array, shape (nodes + 1, depth + 1)
        P(n nodes are verified, A = j) at [n, j].
    pmf_accepted : array, shape (depth + 1,)
        P(A = j).
    mean_accepted, var_accepted : float
        Of A, in tokens.
    mean_confidence : float
        Mean sum of the path products of the verified nodes: E[A] as the draft sees it, and E[A] if it is calibrated.
    mean_nodes : float
        Verified nodes; the target pass is one wider.
    p_rejected : float
        P(the walk ends at a node with children).
    """

    depth: int
    joint: FloatArray
    pmf_accepted: FloatArray
    mean_accepted: float
    var_accepted: float
    mean_confidence: float
    mean_nodes: float
    p_rejected: float

    @property
    def mean_tokens(self) -> float:
        """E[A] + 1."""
        return self.mean_accepted + 1.0

    def mean_cost(self, cost: Cost) -> float:
        """c0 + c_d·depth + c_v·E[nodes] + c_r·P(rejected); tables are read at the depth and at the nodes."""
        passes = math.fsum(float(p) * cost.target_pass(n) for n, p in enumerate(self.joint.sum(axis=1)) if p > 0.0)
        return passes + cost.drafting(self.depth) + cost.c_r * self.p_rejected

    def speedup(self, cost: Cost) -> float:
        """E[tokens]/E[cost], against one plain target step."""
        return self.mean_tokens / self.mean_cost(cost)


def dynamic_tree(
    confidences: Sequence[Sequence[float]],
    weights: Sequence[float],
    breadth: int,
    depth: int,
    nodes: int,
    acceptance: Sequence[Sequence[float]] | None = None,
) -> DynamicTree:
    """Exact law of EAGLE-2's tree where a node's confidences are one of a few vectors, independent of all others.

    Parameters
    ----------
    confidences : sequence of sequence of float
        Vectors a node may name: confidences of its first, second, … child, not rising, each in [0, 1], with a sum of at
        most 1.  An entry 0 is no child.
    weights : sequence of float
        Their probabilities, ≥ 0, in any common scale.
    breadth : int
        k: nodes expanded per layer, and children each of them names; ≥ 1.
    depth : int
        Layers, ≥ 1.
    nodes : int
        m: nodes verified, 1 to 1024; fewer if the tree has fewer.
    acceptance : sequence of sequence of float, optional
        Chances that these children are the target's token; the confidences themselves unless given.

    Returns
    -------
    DynamicTree

    Raises
    ------
    ParameterError
        If an argument is out of range, or there are more than 200,000 trees.

    Notes
    -----
    If the confidences are calibrated, E[A | tree] is the sum of its path products, and no tree of m nodes among those
    named has a larger one.

    References
    ----------
    Li, Wei, Zhang, Zhang (2024), EAGLE-2: expansion and reranking, and how well confidences are calibrated.

    Examples
    --------
    >>> found = dynamic_tree([[0.9, 0.05], [0.4, 0.3]], [1, 1], breadth=2, depth=2, nodes=3)
    >>> round(found.mean_accepted, 6), round(found.mean_confidence, 6)
    (1.31625, 1.31625)
    """
    vectors, law, accepted = vectors_and_chances(confidences, weights, acceptance)
    check_whole("breadth", breadth, 1, NODES_LIMIT)
    check_whole("depth", depth, 1, NODES_LIMIT)
    check_whole("nodes", nodes, 1, NODES_LIMIT)
    expanded = 1 + (depth - 1) * breadth
    if len(vectors) > 1 and expanded * math.log(len(vectors)) > math.log(OUTCOMES_LIMIT) + 1e-9:
        raise ParameterError(
            "depth", f"depth = {depth} at breadth {breadth} has {len(vectors)}^{expanded} trees; allowed: "
            f"{OUTCOMES_LIMIT:,}"
        )  # fmt: skip
    joint, belief, rejected = np.zeros((nodes + 1, depth + 1)), 0.0, 0.0
    for drawn in itertools.product(range(len(vectors)), repeat=expanded):
        chance = math.prod(float(law[v]) for v in drawn)
        if chance == 0.0:
            continue
        tree, products = grown_tree(vectors, accepted, iter(drawn), breadth, depth, nodes)
        own = tree_law(tree)
        joint[tree.nodes, : own.pmf_accepted.size] += chance * own.pmf_accepted
        belief += chance * products
        rejected += chance * own.p_rejected
    pmf = joint.sum(axis=0)
    mean, var = moments(pmf)
    nodes_law = joint.sum(axis=1)
    return DynamicTree(depth, joint, pmf, mean, var, belief, moments(nodes_law)[0], rejected)


def grown_tree(
    confidences: Sequence[FloatArray],
    acceptance: Sequence[FloatArray],
    drawn: Iterator[int],
    breadth: int,
    depth: int,
    nodes: int,
) -> tuple[DraftTree, float]:
    """The tree that is verified, and the sum of its path products; ``drawn`` says which vector the next node names.

    Of equal products the child made first comes first.

    Examples
    --------
    >>> vectors = [np.array([0.6, 0.3])]
    >>> tree, products = grown_tree(vectors, vectors, iter([0, 0, 0]), 2, 2, 3)
    >>> tree.parents, tree.chances, round(products, 6)
    ((0, 0, 1), (0.6, 0.3, 0.6), 1.26)
    """
    parents, values, chances = [0], [1.0], [1.0]  # by number in the order of making; 0 is the root
    layer = [0]
    for _ in range(depth):
        made = []
        for node in sorted(layer, key=lambda n: -values[n])[:breadth]:
            vector = next(drawn)
            for rank in range(min(breadth, confidences[vector].size)):
                if confidences[vector][rank] == 0.0:
                    break
                parents.append(node)
                values.append(values[node] * float(confidences[vector][rank]))
                chances.append(float(acceptance[vector][rank]))
                made.append(len(parents) - 1)
        layer = made
    kept = sorted(sorted(range(1, len(parents)), key=lambda n: -values[n])[:nodes])
    number = {0: 0} | {node: i for i, node in enumerate(kept, 1)}
    tree = DraftTree(
        parents=tuple(number[parents[node]] for node in kept), chances=tuple(chances[node] for node in kept)
    )
    return tree, math.fsum(values[node] for node in kept)


def vectors_and_chances(
    confidences: Sequence[Sequence[float]], weights: Sequence[float], acceptance: Sequence[Sequence[float]] | None
) -> tuple[list[FloatArray], FloatArray, list[FloatArray]]:
    """Confidences by vector, the law of the vectors, chances of acceptance, all checked."""
    law = as_numbers("weights", weights)
    if law.size != len(confidences):
        raise ParameterError("weights", f"weights has {law.size} entries; allowed: {len(confidences)}, one per vector")
    if not (law >= 0.0).all() or not 0.0 < law.sum() < math.inf:
        raise ParameterError("weights", "weights are no probabilities; allowed: numbers ≥ 0, not all 0")
    vectors = [_shares(f"confidences[{i}]", row) for i, row in enumerate(confidences)]
    for i, row in enumerate(vectors):
        if (np.diff(row) > 0.0).any():
            raise ParameterError(f"confidences[{i}]", f"confidences[{i}] rise; allowed: the likeliest child first")
    if acceptance is None:
        return vectors, law / law.sum(), vectors
    if len(acceptance) != len(vectors):
        raise ParameterError("acceptance", f"acceptance has {len(acceptance)} rows; allowed: {len(vectors)}")
    accepted = [_shares(f"acceptance[{i}]", row) for i, row in enumerate(acceptance)]
    for i, (row, own) in enumerate(zip(accepted, vectors, strict=True)):
        if row.size != own.size:
            raise ParameterError(f"acceptance[{i}]", f"acceptance[{i}] has {row.size} entries; allowed: {own.size}")
    return vectors, law / law.sum(), accepted


def _shares(key: str, row: Sequence[float]) -> FloatArray:
    found = as_numbers(key, row)
    for i, value in enumerate(found):
        check_range(f"{key}[{i}]", float(value), 0, 1)
    if found.sum() > 1.0 + 1e-9:
        raise ParameterError(key, f"{key} adds up to {found.sum():g}; allowed: at most 1")
    return found
