"""Which tree of drafts is best for a budget of nodes, and which is fastest under a measured cost of its nodes?

Children of a node are told apart by rank, the draft's own order of likelihood.  A subtree is worth the tokens expected
below its root, so the best one with n nodes splits them among its children: a dynamic program over levels, ranks and
nodes.  A rollback cost is a price on ending at a node with children, which a larger λ makes dearer (Dinkelbach).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.model.trees import DraftTree
from simspec.theory.law import FloatArray
from simspec.theory.ranges import as_numbers, check_range, check_whole
from simspec.theory.tree_laws import tree_law

NODES_LIMIT = 1024
WORK_LIMIT = 2_000_000_000
"""Levels × ranks × nodes²: some seconds."""

Siblings = Literal["exclusive", "sequential"]
Ranks = Sequence[float] | Sequence[Sequence[float]] | FloatArray
"""Chances of the children by rank, the same at every depth, or one list per depth."""


@dataclass(frozen=True, eq=False)
class BestTree:
    """A best tree.

    Attributes
    ----------
    tree : DraftTree
        Its nodes and chances; nodes are numbered from the root, by rank.
    ranks : tuple of int
        Rank, 1, 2, …, of node 1, 2, … among the children its parent could have.
    mean_accepted : float
        E[A].
    speedup : float or None
        Where a cost was given: E[tokens]/E[cost].
    """

    tree: DraftTree
    ranks: tuple[int, ...]
    mean_accepted: float
    speedup: float | None = None


def best_tree(rank_chances: Ranks, nodes: int, depth: int | None = None, siblings: Siblings = "exclusive") -> BestTree:
    """The tree of so many nodes that keeps the most drafts.

    Parameters
    ----------
    rank_chances : sequence of float, or one such sequence per depth
        Chance of the child of rank 1, 2, …, given its parent (and, if sequential, that the siblings before it were
        rejected); each in [0, 1].  Exclusive ones add up to at most 1.  No node lies deeper than there are lists.
    nodes : int
        Most nodes, 0 to 1024; fewer are used if no more fit.
    depth : int, optional
        Most levels; as many as nodes, or as lists, unless given.
    siblings : str
        ``"exclusive"``: any ranks may be drafted.  ``"sequential"``: those drafted are the first ones, in their order.

    Returns
    -------
    BestTree

    Raises
    ------
    ParameterError
        If an argument is out of range, or the program would take too long.

    References
    ----------
    Chen et al. (2024), Sequoia, under positional acceptance; Cai et al. (2024), Medusa, section 2.3.3, grows
    the same tree node by node where chances fall with rank.

    Examples
    --------
    >>> best = best_tree([0.6, 0.2], nodes=3)
    >>> round(best.mean_accepted, 6), best.tree.parents
    (1.176, (0, 1, 2))
    >>> best_tree([0.5, 0.4], nodes=3).tree.parents, round(best_tree([0.5, 0.4], nodes=3).mean_accepted, 6)
    ((0, 0, 1), 1.15)
    """
    levels = _levels(rank_chances, nodes, depth, siblings)
    program = _Program(levels, nodes, siblings, 0.0)
    best = int(np.argmax(program.value[0] > program.value[0].max() - 1e-15))  # the fewest nodes that reach it
    tree, ranks = program.tree(best)
    return BestTree(tree, ranks, tree_law(tree).mean_accepted)


def best_accepted(
    rank_chances: Ranks, nodes: int, depth: int | None = None, siblings: Siblings = "exclusive"
) -> FloatArray:
    """E[A] of the best tree of 0, 1, …, ``nodes`` nodes; arguments as in `best_tree`.

    Examples
    --------
    >>> best_accepted([0.5, 0.4], nodes=4).round(6)
    array([0.  , 0.5 , 0.9 , 1.15, 1.35])
    """
    levels = _levels(rank_chances, nodes, depth, siblings)
    found: FloatArray = np.maximum.accumulate(_Program(levels, nodes, siblings, 0.0).value[0])
    return found


def fastest_tree(
    rank_chances: Ranks, nodes: int, cost: Cost, depth: int | None = None, siblings: Siblings = "exclusive"
) -> BestTree:
    """The tree of at most so many nodes with the highest throughput under a cost of levels and nodes.

    Parameters
    ----------
    rank_chances, nodes, depth, siblings
        As in `best_tree`; tables of ``cost`` bound them too.
    cost : Cost
        c_d per level and c_v per node, or tables of them (``verify_table``: a measured target pass by its width);
        c_r where the walk ends at a node with children.

    Returns
    -------
    BestTree
        With ``speedup``; no nodes at all if drafting does not pay.

    Raises
    ------
    ParameterError
        If an argument is out of range, or the program would take too long.

    Notes
    -----
    max E[tokens]/E[cost] is the λ at which max (E[tokens] − λE[cost]) = 0; a few steps of Dinkelbach's reach it.

    References
    ----------
    Chen et al. (2024), Sequoia: the hardware-aware choice of size and depth.

    Examples
    --------
    >>> best = fastest_tree([0.6, 0.2], 64, Cost(c_d=0.05, c_v=0.02))
    >>> best.tree.nodes, best.tree.depth, round(best.speedup, 4)
    (9, 3, 2.1293)
    """
    levels = _levels(rank_chances, nodes, depth, siblings)
    if cost.draft_table is not None:
        levels = levels[: len(cost.draft_table) - 1]
    if cost.verify_table is not None:
        nodes = min(nodes, len(cost.verify_table) - 1)
    best, speed = BestTree(DraftTree(parents=(), chances=()), (), 0.0, 1.0 / cost.target_pass(0)), 0.0
    passes = np.array([cost.target_pass(n) for n in range(nodes + 1)])
    programs: list[tuple[_Program, int]] = []
    while best.speedup is not None and best.speedup > speed * (1.0 + 1e-13):
        speed = best.speedup
        if not programs or cost.c_r > 0.0:
            programs = _by_depth(levels, nodes, siblings, speed * cost.c_r)
        gains = [
            program.value[start] + 1.0 - speed * (passes + cost.drafting(deepest))
            for deepest, (program, start) in enumerate(programs, 1)
        ]
        if not gains:
            break
        program, start = programs[max(range(len(gains)), key=lambda i: float(gains[i].max()))]
        tree, ranks = program.tree(int(np.argmax(max(gains, key=np.max))), start)
        law = tree_law(tree)
        if law.speedup(cost) > best.speedup:
            best = BestTree(tree, ranks, law.mean_accepted, law.speedup(cost))
    return best


def _levels(rank_chances: Ranks, nodes: int, depth: int | None, siblings: Siblings) -> list[FloatArray]:
    """The chances by rank at depth 1, 2, …, checked."""
    check_whole("nodes", nodes, 0, NODES_LIMIT)
    if depth is not None:
        check_whole("depth", depth, 0, NODES_LIMIT)
    if siblings not in ("exclusive", "sequential"):
        raise ParameterError("siblings", f'siblings = {siblings!r} is unknown; allowed: "exclusive" or "sequential"')
    several = len(rank_chances) > 0 and np.ndim(rank_chances[0]) > 0
    rows = [_ranks(f"rank_chances[{i}]", row, siblings) for i, row in enumerate(rank_chances)] if several else []
    deepest = min(nodes, len(rows)) if several else nodes
    deepest = deepest if depth is None else min(deepest, depth)
    levels = rows[:deepest] if several else [_ranks("rank_chances", rank_chances, siblings)] * deepest
    work = sum(min(row.size, nodes) for row in levels) * nodes**2
    if work > WORK_LIMIT:
        raise ParameterError("nodes", f"nodes = {nodes} takes {work:.1e} steps; allowed: {WORK_LIMIT:.0e}")
    return [row[:nodes] for row in levels]


def _ranks(key: str, row: object, siblings: Siblings) -> FloatArray:
    found = as_numbers(key, row, "chances")  # type: ignore[arg-type]
    for i, chance in enumerate(found):
        check_range(f"{key}[{i}]", float(chance), 0, 1)
    if siblings == "exclusive" and found.sum() > 1.0 + 1e-9:
        raise ParameterError(key, f"{key} add up to {found.sum():g}; allowed: at most 1, as one child is the target's")
    return found


def _by_depth(levels: list[FloatArray], nodes: int, siblings: Siblings, penalty: float) -> list[tuple[_Program, int]]:
    """A program, and the level it starts from, for trees of at most 1, 2, … levels."""
    if all(row is levels[0] for row in levels):  # as many levels from the end
        program = _Program(levels, nodes, siblings, penalty)
        return [(program, len(levels) - deepest) for deepest in range(1, len(levels) + 1)]
    return [(_Program(levels[:deepest], nodes, siblings, penalty), 0) for deepest in range(1, len(levels) + 1)]


@dataclass(frozen=True, eq=False)
class _Level:
    """How nodes below one node are shared among its children.

    ``last[n]``: the last rank that gets some of n nodes; ``given[k][n]``: how many rank k gets if it is that one.
    """

    last: npt.NDArray[np.int64]
    given: list[npt.NDArray[np.int64]]
    before: list[npt.NDArray[np.int64]]


class _Program:
    """Best value of a subtree below a node at each depth, by the number of its nodes.

    Value: expected accepted drafts below the node, less ``penalty`` times the chance to end at a node with children.
    """

    def __init__(self, levels: list[FloatArray], nodes: int, siblings: Siblings, penalty: float) -> None:
        self.levels, self.siblings, self.penalty = levels, siblings, penalty
        nothing = np.full(nodes + 1, -np.inf)
        nothing[0] = 0.0
        self.value = [nothing]  # value[i]: below a node at depth i, once all levels are done
        self.shares: list[_Level] = []
        for row in reversed(levels):
            value, shares = self._level(row, self.value[0])
            self.value.insert(0, value)
            self.shares.insert(0, shares)

    def _level(self, row: FloatArray, below: FloatArray) -> tuple[FloatArray, _Level]:
        inside = np.full(below.size, -np.inf)  # worth of an accepted child with n nodes, itself included
        inside[1:] = 1.0 + self.penalty + below[:-1]  # the walk does not end above it
        value = np.full(below.size, -np.inf)
        value[0] = 0.0
        last, given, before, left = np.full(below.size, -1, np.int64), list[Any](), list[Any](), 1.0
        so_far = value.copy()  # with all ranks up to this one drafted, or any of them
        for rank, chance in enumerate(row):
            own = float(chance) * (left if self.siblings == "sequential" else 1.0)
            left *= 1.0 - float(chance)
            before.append(last.copy())
            so_far, share = _join(value if self.siblings == "exclusive" else so_far, own, inside)
            given.append(share)
            better = so_far > value
            value[better], last[better] = so_far[better], rank
        value[1:] -= self.penalty
        return value, _Level(last, given, before)

    def tree(self, nodes: int, start: int = 0) -> tuple[DraftTree, tuple[int, ...]]:
        """The tree of so many nodes with the best value, its root being at depth ``start``, and ranks of its nodes."""
        parents, ranks, chances = list[int](), list[int](), list[float]()
        waiting = [(0, start, nodes)]  # node, its depth, nodes below it
        for node, level, below in waiting:
            if below == 0:
                continue
            for rank, share in self._split(level, below):
                parents.append(node)
                ranks.append(rank + 1)
                chances.append(float(self.levels[level][rank]))
                waiting.append((len(parents), level + 1, share - 1))
        return DraftTree(parents=tuple(parents), chances=tuple(chances), siblings=self.siblings), tuple(ranks)

    def _split(self, level: int, below: int) -> list[tuple[int, int]]:
        """Ranks that get nodes, and how many."""
        shares, out = self.shares[level], list[tuple[int, int]]()
        rank = int(shares.last[below])
        while below > 0:
            share = int(shares.given[rank][below])
            out.insert(0, (rank, share))
            below -= share
            rank = rank - 1 if self.siblings == "sequential" else int(shares.before[rank][below])
        return out


def _join(before: FloatArray, own: float, inside: FloatArray) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Best value of n nodes of which a further child gets at least one, and how many it gets."""
    value, share = np.full(before.size, -np.inf), np.zeros(before.size, np.int64)
    for given in np.flatnonzero(np.isfinite(inside)):
        with_it = before[: before.size - given] + own * inside[given]
        better = with_it > value[given:]
        value[given:][better] = with_it[better]
        share[given:][better] = given
    return value, share
