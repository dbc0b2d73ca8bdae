"""Trees that grow where the draft is confident: expanded layer by layer, and only the best of all nodes are verified.

Words: a round has a seed of 64 bits, drawn as in `simspec.kernels.machine`; the high half of its splitmix64 value i
draws the vector of the i-th node expanded, the low half judges the children of a node at depth i.  Products of
confidences are doubles made by × alone.  Whether a node is verified is asked only of those the target reaches: it is if
fewer than ``nodes`` are better, of equal ones those made before.
"""

import numpy as np

from simspec.kernels.jit import njit
from simspec.kernels.steps import level, place
from simspec.kernels.words import GENERATORS, GOLD, LANES, mix, next_words, seed_generators

ROUNDS = 32
_HIGH, _LOW = np.uint64(32), np.uint64(2**32 - 1)
_GOLD = np.uint64(GOLD)


@njit
def count_grown(keys, chunk, lanes, rounds, confidences, cells, law, depth, nodes, counts):
    """``counts[lane, kind]`` += rounds of some lanes; kinds as in `simspec.model.grown.GrownTrees`.

    Parameters
    ----------
    confidences : float64 (vectors, breadth)
        Not rising; 0 is no child.
    cells : int32 (vectors, multiple of 8)
        Levels of the children's chances, cumulative; the rest, no child, is padded with the highest.
    law : int32 (1, multiple of 8)
        Levels of the vector of an expanded node.
    """
    state = np.empty((4, GENERATORS), np.uint64)
    pairs = np.empty(2 * GENERATORS * ROUNDS, np.uint64)
    words = pairs.view(np.uint32)
    breadth = confidences.shape[1]
    room = breadth * (1 + (depth - 1) * breadth)
    values = np.empty(room, np.float64)  # of the nodes named, in the order of making
    vectors = np.empty(room + 1, np.int32)  # of a node, −1 unless it is expanded; entry 0 is the root
    firsts = np.empty(room + 1, np.int32)  # its first child
    best = np.empty(breadth, np.int32)
    seed_generators(keys, chunk, state)
    next_words(state, pairs[:GENERATORS])
    for played in range(rounds):
        used = (played % ROUNDS) * 2 * LANES
        if used == 0:
            next_words(state, pairs)
        for lane in range(lanes):
            seed = (np.uint64(words[used + lane]) << _HIGH) | np.uint64(words[used + LANES + lane])
            named = grow(seed, confidences, law, depth, values, vectors, firsts, best)
            kind = follow(seed, confidences, cells, nodes, named, values, vectors, firsts)
            counts[lane, np.int64(min(nodes, named)) * (depth + 1) * 2 + kind] += 1


@njit
def grow(seed, confidences, law, depth, values, vectors, firsts, best):
    """Name the nodes of a round; returns how many."""
    breadth = confidences.shape[1]
    named, expanded = 0, 0
    low, high = 0, 0  # the layer to expand from: nodes low … high − 1
    for layer in range(depth):
        many = 1 if layer == 0 else choose(values, low, high, best)
        for node in range(low, high):
            vectors[node + 1] = -1
        low = named
        for i in range(many):
            node = 0 if layer == 0 else best[i] + 1
            value = 1.0 if layer == 0 else values[best[i]]
            word = mix(seed + _GOLD * np.uint64(expanded)) >> _HIGH
            expanded += 1
            vector = place(law, 0, level(word))
            vectors[node], firsts[node] = vector, named
            for rank in range(breadth):
                if confidences[vector, rank] == 0.0:
                    break
                values[named] = value * confidences[vector, rank]
                named += 1
        high = named
    for node in range(low, high):
        vectors[node + 1] = -1
    return named


@njit
def choose(values, low, high, best):
    """The nodes of a layer with the largest values, at most ``best.size``, the largest first; returns how many."""
    many = 0
    for node in range(low, high):
        value = values[node]
        if many == best.size and value <= values[best[many - 1]]:
            continue
        at = many if many < best.size else many - 1
        while at > 0 and values[best[at - 1]] < value:
            best[at] = best[at - 1]
            at -= 1
        best[at] = node
        many = min(many + 1, best.size)
    return many


@njit
def follow(seed, confidences, cells, nodes, named, values, vectors, firsts):
    """Twice the accepted length, plus 1 if the walk ended at a node with verified children."""
    here, accepted = 0, 0
    while True:
        vector = vectors[here]
        if vector < 0 or confidences[vector, 0] == 0.0:
            return 2 * accepted
        first = firsts[here]
        word = mix(seed + _GOLD * np.uint64(accepted)) & _LOW
        rank = place(cells, np.int64(vector), level(word))
        is_child = rank < confidences.shape[1] and confidences[vector, min(rank, confidences.shape[1] - 1)] > 0.0
        if not is_child or not verified(values, named, first + rank, nodes):
            return 2 * accepted + np.int64(verified(values, named, first, nodes))
        here = first + rank + 1
        accepted += 1


@njit
def verified(values, named, node, nodes):
    """Whether fewer than ``nodes`` are better than a node, or equal and made before."""
    value = values[node]
    before = 0
    for other in range(named):
        before += values[other] > value
    for other in range(node):
        before += values[other] == value
    return before < nodes
