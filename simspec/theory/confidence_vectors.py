"""What are the confidences of a draft worth?  How far they are off, and the best tree that does not look at them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import softmax

from simspec.model.errors import ParameterError
from simspec.model.schemes import DynamicTree
from simspec.theory.best_trees import BestTree, best_tree
from simspec.theory.dynamic_trees import vectors_and_chances
from simspec.theory.ranges import as_numbers, check_positive

RATE_TOLERANCE = 1e-3


def tempered(confidences: Sequence[float], temperature: float) -> list[float]:
    """Chances behind confidences that are too sharp by a temperature.

    Parameters
    ----------
    confidences : sequence of float
        Of the children named; a sum of at most 1.  All other tokens together count as one more.
    temperature : float
        T > 0: chances are softmax(log confidence/T).  T = 1: calibrated; above: the draft is over-confident.

    Returns
    -------
    list of float
        One per confidence.

    Raises
    ------
    ParameterError
        If the temperature is out of range.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger (2017), On Calibration of Modern Neural Networks, section 4.2.

    Examples
    --------
    >>> [round(chance, 4) for chance in tempered([0.6, 0.2, 0.1], 2.0)]
    [0.4177, 0.2412, 0.1705]
    """
    check_positive("temperature", temperature)
    row = as_numbers("confidences", confidences)
    with np.errstate(divide="ignore"):
        logits = np.log(np.append(row, max(1.0 - row.sum(), 0.0))) / temperature
    return [float(chance) for chance in softmax(logits)[:-1]]


def calibration_error(
    confidences: Sequence[Sequence[float]],
    weights: Sequence[float],
    acceptance: Sequence[Sequence[float]],
) -> float:
    """Mean distance of a confidence from how often a child that has it is right.

    Parameters
    ----------
    confidences, weights, acceptance
        As in `dynamic_tree`; children with equal confidences are one bin, so there are none to choose.  For a chain
        that stops (`stopped_draft`) a vector has one entry.

    Returns
    -------
    float
        Σ w·|P(right | c) − c| over the children a node names; 0: calibrated.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger (2017), Eq. (3): the expected calibration error, here without bins.

    Examples
    --------
    >>> round(calibration_error([[0.9, 0.05], [0.5, 0.4]], [1, 1], [[0.8, 0.05], [0.5, 0.3]]), 6)
    0.05
    """
    vectors, law, chances = vectors_and_chances(confidences, weights, acceptance)
    told = np.concatenate(vectors)
    right = np.concatenate(chances)
    share = np.repeat(law, [row.size for row in vectors])
    _, which = np.unique(told, return_inverse=True)
    gaps = np.bincount(which, share * (right - told))
    return float(np.abs(gaps).sum() / share.sum())


def best_static_tree(
    confidences: Sequence[Sequence[float]],
    weights: Sequence[float],
    breadth: int,
    depth: int,
    nodes: int,
    acceptance: Sequence[Sequence[float]] | None = None,
) -> BestTree:
    """The best tree of fixed shape for a draft that has these confidences, and does not look at them.

    Parameters
    ----------
    confidences, weights, breadth, depth, nodes, acceptance
        As in `dynamic_tree`.

    Returns
    -------
    BestTree
        Its chance of rank r is the mean over the vectors: vectors are drawn anew for every node.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    Notes
    -----
    A dynamic tree of calibrated confidences keeps at least as much as any fixed shape that expands at most ``breadth``
    nodes of a layer: of two nodes the one with the larger product has the better subtree on average, whatever is drawn
    below.  A fixed shape may expand more nodes of a layer than a narrow beam does.

    References
    ----------
    Li, Wei, Zhang, Zhang (2024), EAGLE-2, section 3: acceptance depends on context, not on position alone.

    Examples
    --------
    >>> round(best_static_tree([[0.9, 0.05], [0.4, 0.3]], [1, 1], 2, 2, 3).mean_accepted, 5)
    1.2475
    """
    vectors, law, chances = vectors_and_chances(confidences, weights, acceptance)
    ranks = np.zeros(min(max(row.size for row in vectors), breadth))
    for share, told, right in zip(law, vectors, chances, strict=True):
        named = min(int((told > 0.0).sum()), ranks.size)
        ranks[:named] += share * right[:named]
    return best_tree(ranks, nodes, depth)


def vector_arguments(scheme: DynamicTree, rate: float) -> dict[str, list[list[float]] | list[float]]:
    """What `dynamic_tree` takes of a scheme with vectors of its own; ``rate`` is that of a first child in the process.

    Raises
    ------
    ParameterError
        The process and the vectors say two things of a first child.

    Examples
    --------
    >>> own = DynamicTree(vectors=[[0.2, 0.6]], breadth=2, depth=2)
    >>> vector_arguments(own, 0.6)["confidences"]
    [[0.6, 0.2]]
    """
    told = [np.array(row) for row in scheme.vectors or ()]
    weights = list(scheme.weights or [1.0] * len(told))
    right = [np.array(row) for row in scheme.acceptance or ()] or [
        np.array(tempered(row.tolist(), scheme.temperature or 1.0)) for row in told
    ]
    orders = [np.argsort(-row, kind="stable")[: scheme.breadth] for row in told]
    confidences, acceptance = ([row[o].tolist() for row, o in zip(rows, orders, strict=True)] for rows in (told, right))
    first = float(np.dot(weights, [row[0] for row in acceptance])) / sum(weights)
    if abs(first - rate) > RATE_TOLERANCE:
        raise ParameterError(
            "vectors", f"the process says {rate:.4g} of a first child, vectors say {first:.4g}; allowed: the same"
        )
    return {"confidences": confidences, "weights": weights, "acceptance": acceptance}
