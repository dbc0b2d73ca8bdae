"""Are the laws of token trees those of an enumeration, and is the best tree best among all trees?"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simspec.model import Cost, DraftTree, ParameterError
from simspec.theory import (
    best_accepted,
    best_tree,
    dynamic_tree,
    fastest_tree,
    merged_tree,
    recursive_rejection,
    tree_law,
)

SHAPES = [
    [],
    [0],
    [0, 0, 0],
    [0, 1, 2, 3],
    [0, 0, 1, 1, 2, 3],
    [0, 0, 1, 2, 2, 2, 5],
]


def outcomes(tree: DraftTree) -> Iterator[tuple[int, bool, float]]:
    """(accepted length, stopped at a node with children, chance) by going through all verdicts of all nodes."""
    if tree.siblings == "sequential":
        for verdicts in product([True, False], repeat=tree.nodes):
            chance = np.prod([p if yes else 1 - p for p, yes in zip(tree.chances, verdicts, strict=True)])
            at = 0
            while True:
                taken = next((child for child in tree.children[at] if verdicts[child - 1]), None)
                if taken is None:
                    break
                at = taken
            yield tree.depths[at], bool(tree.children[at]), float(chance)
        return
    inner = [node for node in range(tree.nodes + 1) if tree.children[node]]
    for picks in product(*[(*tree.children[node], None) for node in inner]):  # the target's token at each inner node
        chance, chosen = 1.0, dict(zip(inner, picks, strict=True))
        for node, pick in chosen.items():
            own = [tree.chances[child - 1] for child in tree.children[node]]
            chance *= 1.0 - sum(own) if pick is None else tree.chances[pick - 1]
        at = 0
        while (step := chosen.get(at)) is not None:
            at = step
        yield tree.depths[at], bool(tree.children[at]), chance


@st.composite
def trees(draw, siblings):
    parents = draw(st.sampled_from(SHAPES))
    chances = draw(st.lists(st.floats(0, 1), min_size=len(parents), max_size=len(parents)))
    if siblings == "exclusive":
        many = max(1, max((parents.count(node) for node in parents), default=1))
        chances = [chance / many for chance in chances]
    return DraftTree(parents=parents, chances=chances, siblings=siblings)


@pytest.mark.parametrize("siblings", ["exclusive", "sequential"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_walk_is_what_all_verdicts_say(siblings, data):
    tree = data.draw(trees(siblings))
    law, pmf, rejected = tree_law(tree), np.zeros(tree.depth + 1), 0.0
    for depth, inner, chance in outcomes(tree):
        pmf[depth] += chance
        rejected += inner * chance
    np.testing.assert_allclose(law.pmf_accepted, pmf, atol=1e-12)
    assert law.p_rejected == pytest.approx(rejected, abs=1e-12)
    assert law.mean_accepted == pytest.approx(law.reached[1:].sum(), abs=1e-12)
    assert law.stopped.sum() == pytest.approx(1.0)


def test_a_tree_without_branches_is_a_chain():
    alpha, kappa, cost = 0.7, 5, Cost(c_d=0.1, c_v=0.02, c_r=0.3)
    law = tree_law(DraftTree(parents=list(range(kappa)), chances=[alpha] * kappa))
    np.testing.assert_allclose(law.pmf_accepted, [*(alpha**j * (1 - alpha) for j in range(kappa)), alpha**kappa])
    assert law.mean_cost(cost) == pytest.approx(1 + kappa * 0.12 + 0.3 * (1 - alpha**kappa))
    assert law.mean_wasted == pytest.approx(kappa - law.mean_accepted)


def test_sequential_siblings_follow_multi_step_rejection():
    """SpecInfer's stages of a law pair as chances of siblings give its acceptance, level by level."""
    p, q = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    found = recursive_rejection(p, [q, q, q])
    law = tree_law(DraftTree.expanded([3, 3], [found.stages.tolist()] * 2, "sequential"))
    assert law.mean_accepted == pytest.approx(found.acceptance + found.acceptance**2)


def test_tables_of_costs_are_read_at_the_depth_and_at_the_nodes():
    law = tree_law(DraftTree(parents=[0, 0, 1], chances=[0.6, 0.2, 0.5]))
    cost = Cost(draft_table=[0, 0.1, 0.3], verify_table=[1.0, 1.0, 1.0, 1.4])
    assert law.mean_cost(cost) == pytest.approx(1.7)
    with pytest.raises(ParameterError, match="verify_table has 3 entries; allowed: at least 4"):
        law.mean_cost(Cost(verify_table=[1.0, 1.0, 1.0]))


def test_bad_trees_are_refused():
    for keys, named in (
        ({"parents": [1], "chances": [0.5]}, "parents[0]"),
        ({"parents": [0], "chances": []}, "chances"),
        ({"parents": [0, 0], "chances": [0.6, 0.6]}, "chances[0]"),
        ({"parents": [0], "chances": [1.5]}, "chances"),
    ):
        with pytest.raises(ParameterError) as caught:
            DraftTree(**keys)
        assert caught.value.key == named
    assert DraftTree(parents=[0, 0], chances=[0.6, 0.6], siblings="sequential").nodes == 2
    with pytest.raises(ParameterError, match="widths"):
        DraftTree.expanded([3], [[0.5]], "exclusive")


def all_trees(levels: list[list[float]], nodes: int, siblings: str) -> Iterator[DraftTree]:
    """Every tree with so many nodes whose children are any ranks (exclusive) or the first ones (sequential)."""

    def subsets(ranks: int) -> Iterator[tuple[int, ...]]:
        if siblings == "sequential":
            yield from (tuple(range(many)) for many in range(ranks + 1))
        else:
            yield from (tuple(r for r in range(ranks) if bits >> r & 1) for bits in range(2**ranks))

    def grow(open_: list[tuple[int, int]], parents: list[int], chances: list[float]) -> Iterator[DraftTree]:
        if len(parents) > nodes:
            return
        if not open_:
            if len(parents) == nodes:
                yield DraftTree(parents=parents, chances=chances, siblings=siblings)
            return
        (node, level), *rest = open_
        for ranks in subsets(len(levels[level])) if level < len(levels) else [()]:
            first = len(parents) + 1
            more = [(first + i, level + 1) for i in range(len(ranks))]
            yield from grow(rest + more, parents + [node] * len(ranks), chances + [levels[level][r] for r in ranks])

    yield from grow([(0, 0)], [], [])


BRUTE = [
    ([[0.6, 0.2]] * 3, 5, "exclusive"),
    ([[0.3, 0.5]] * 3, 4, "exclusive"),  # the second rank is the better one
    ([[0.4, 0.3, 0.2], [0.7, 0.1], [0.5]], 5, "exclusive"),
    ([[0.5, 0.4], [0.9, 0.1]], 4, "sequential"),
    ([[0.1, 0.9], [0.5, 0.5]], 4, "sequential"),  # the first rank must be drafted before the second
    ([[1.0], [0.0], [0.5]], 3, "exclusive"),
]
COSTS = [
    Cost(c_d=0.1),
    Cost(c_d=0.05, c_v=0.05),
    Cost(c_d=0.05, c_v=0.02, c_r=0.5),
    Cost(c_d=0.02, verify_table=[1.0, 1.0, 1.02, 1.3, 1.31, 1.32]),
    Cost(c_d=2.0),
]


@pytest.mark.parametrize(("levels", "nodes", "siblings"), BRUTE)
def test_no_tree_is_better(levels, nodes, siblings):
    by_nodes = best_accepted(levels, nodes, siblings=siblings)
    every = {n: list(all_trees(levels, n, siblings)) for n in range(nodes + 1)}
    most = np.maximum.accumulate([max((tree_law(t).mean_accepted for t in every[n]), default=0.0) for n in every])
    np.testing.assert_allclose(by_nodes, most, atol=1e-12)
    found = best_tree(levels, nodes, siblings=siblings)
    assert found.mean_accepted == pytest.approx(most[-1], abs=1e-12)
    assert len(found.ranks) == found.tree.nodes <= nodes
    for cost in COSTS:
        fastest = fastest_tree(levels, nodes, cost, siblings=siblings)
        fair = [t for own in every.values() for t in own]
        assert fastest.speedup == pytest.approx(max(tree_law(tree).speedup(cost) for tree in fair), abs=1e-12)
        assert fastest.speedup == pytest.approx(tree_law(fastest.tree).speedup(cost), abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=5), st.integers(0, 24), st.integers(1, 6))
def test_exclusive_ranks_are_taken_by_the_product_of_their_path(weights, nodes, depth):
    """The n largest products, found by a heap: another route to the same number."""
    ranks = sorted((np.array(weights) / (sum(weights) + 0.1)).tolist(), reverse=True)
    heap, total = [(-p, 1) for p in ranks], 0.0
    heapq.heapify(heap)
    for _ in range(nodes):
        if not heap:
            break
        worth, level = heapq.heappop(heap)
        total -= worth
        if level < depth:
            for p in ranks:
                heapq.heappush(heap, (worth * p, level + 1))
    assert best_tree(ranks, nodes, depth).mean_accepted == pytest.approx(total, abs=1e-12)


def test_one_depth_for_all_ranks_is_the_same_list_given_for_every_depth():
    cost = Cost(c_d=0.05, c_v=0.02, c_r=0.2)
    for siblings in ("exclusive", "sequential"):
        one = fastest_tree([0.6, 0.2], 12, cost, depth=4, siblings=siblings)
        other = fastest_tree([[0.6, 0.2] for _ in range(4)], 12, cost, siblings=siblings)
        assert one.tree == other.tree
        assert one.speedup == other.speedup


def test_what_cannot_be_asked_of_the_best_tree():
    for arguments, named in (
        (([0.6, 0.5], 3), "rank_chances"),
        (([1.2], 3), "rank_chances[0]"),
        (([[0.5], [0.6, 0.5]], 3), "rank_chances[1]"),
        (([0.5], -1), "nodes"),
        (([0.5], 4.5), "nodes"),
        (([], 3), "rank_chances"),
        (([0.4, 0.4], 1024), "nodes"),
    ):
        with pytest.raises(ParameterError) as caught:
            best_tree(*arguments)
        assert caught.value.key == named


def test_merged_trees_share_their_beginnings():
    """Two chains that agree on their first token: one root, two branches; what a tree of three accepts."""
    left = DraftTree(parents=[0, 1, 2], chances=[0.6, 0.5, 0.4])
    right = DraftTree(parents=[0, 1], chances=[0.6, 0.3])
    both, places = merged_tree([left, right], [[5, 6, 7], [5, 8]])
    assert places == [[1, 2, 3], [1, 4]]
    assert tree_law(both).mean_accepted == pytest.approx(0.6 * (1 + 0.5 * (1 + 0.4) + 0.3))
    for tokens, named in (([[5, 6, 7]], "tokens"), ([[5, 6], [5, 8]], "tokens[0]")):
        with pytest.raises(ParameterError) as caught:
            merged_tree([left, right], tokens)
        assert caught.value.key == named
    with pytest.raises(ParameterError, match="another chance"):
        merged_tree([left, DraftTree(parents=[0], chances=[0.5])], [[5, 6, 7], [5]])
    with pytest.raises(ParameterError, match="twice"):
        merged_tree([DraftTree(parents=[0, 0], chances=[0.3, 0.2])], [[5, 5]])


VECTORS, WEIGHTS = [[0.9, 0.05], [0.4, 0.3]], [0.6, 0.4]


def ancestors_kept(parents: list[int], kept: tuple[int, ...]) -> bool:
    return all(parents[node] == 0 or parents[node] in kept for node in kept)


@pytest.mark.parametrize(("breadth", "depth", "nodes"), [(1, 3, 3), (2, 1, 2), (2, 2, 3), (2, 2, 6), (2, 3, 4)])
def test_a_calibrated_dynamic_tree_is_the_best_of_what_was_named(breadth, depth, nodes):
    """All draws of the confidences; among the nodes named, all sets of at most m that hold their ancestors."""
    best = 0.0
    for drawn in product(range(2), repeat=1 + (depth - 1) * breadth):
        chance, draw = np.prod([WEIGHTS[v] for v in drawn]), iter(drawn)
        parents, values, layer = [0], [1.0], [0]
        for _ in range(depth):
            layer.sort(key=lambda n: -values[n])
            made = []
            for node in layer[:breadth]:
                for confidence in VECTORS[next(draw)][:breadth]:
                    parents.append(node)
                    values.append(values[node] * confidence)
                    made.append(len(parents) - 1)
            layer = made
        sets = [
            kept for kept in combinations(range(1, len(parents)), min(nodes, len(parents) - 1))
            if ancestors_kept(parents, kept)
        ]  # fmt: skip
        best += chance * max(sum(values[node] for node in kept) for kept in sets)
    found = dynamic_tree(VECTORS, WEIGHTS, breadth, depth, nodes)
    assert found.mean_accepted == pytest.approx(best, abs=1e-12)
    assert found.mean_confidence == pytest.approx(best, abs=1e-12)
    assert found.joint.sum() == pytest.approx(1.0)


def test_one_vector_makes_a_static_tree():
    found = dynamic_tree([[0.6, 0.3]], [1.0], breadth=2, depth=2, nodes=4)
    static = best_tree([0.6, 0.3], 4, depth=2)
    assert found.mean_accepted == pytest.approx(static.mean_accepted)
    cost = Cost(c_d=0.1, c_v=0.02, c_r=0.2)
    assert found.speedup(cost) == pytest.approx(tree_law(static.tree).speedup(cost))


def test_miscalibrated_confidences_grow_the_tree_but_are_not_what_is_accepted():
    real = [[0.7, 0.1], [0.4, 0.3]]
    found = dynamic_tree(VECTORS, WEIGHTS, 2, 2, 3, acceptance=real)
    trusting = dynamic_tree(VECTORS, WEIGHTS, 2, 2, 3)
    assert found.mean_confidence == trusting.mean_confidence
    assert found.mean_accepted < trusting.mean_accepted
    assert found.mean_accepted <= dynamic_tree(real, WEIGHTS, 2, 2, 3).mean_accepted + 1e-12


def test_a_confidence_of_zero_is_no_child():
    found = dynamic_tree([[1.0, 0.0], [0.5, 0.5]], [1, 1], breadth=2, depth=1, nodes=2)
    np.testing.assert_allclose(found.joint.sum(axis=1), [0.0, 0.5, 0.5])
    assert found.mean_nodes == pytest.approx(1.5)
    assert found.mean_cost(Cost(verify_table=[1.0, 1.0, 1.2])) == pytest.approx(1.1)


def test_what_cannot_be_asked_of_a_dynamic_tree():
    good = {"confidences": VECTORS, "weights": WEIGHTS, "breadth": 2, "depth": 2, "nodes": 3}
    for change, named in (
        ({"weights": [1.0]}, "weights"),
        ({"confidences": [[0.3, 0.4], [0.4, 0.3]]}, "confidences[0]"),
        ({"confidences": [[0.9, 0.4], [0.4, 0.3]]}, "confidences[0]"),
        ({"acceptance": [[0.5, 0.1]]}, "acceptance"),
        ({"acceptance": [[0.5, 0.1], [0.5]]}, "acceptance[1]"),
        ({"breadth": 0}, "breadth"),
        ({"depth": 12}, "depth"),
        ({"nodes": 0}, "nodes"),
    ):
        with pytest.raises(ParameterError) as caught:
            dynamic_tree(**{**good, **change})
        assert caught.value.key == named
