"""Which tree of drafts is best for a budget of nodes, and which is fastest under a measured cost of its nodes?

Children of a node are told apart by rank, the draft's own order of likelihood.  A subtree is worth the tokens expected
below its root, so the best one with n nodes splits them among its children: a dynamic program over levels, ranks and
nodes.  A rollback cost is a price on ending at a node with children, which a larger λ makes dearer (Dinkelbach).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.model.trees import DraftTree
from simspec.theory.law import FloatArray
from simspec.theory.ranges import as_numbers, check_range, check_whole
from simspec.theory.tree_laws import tree_law
from simspec.theory.tree_program import Program, Siblings, by_depth

NODES_LIMIT = 1024
WORK_LIMIT = 2_000_000_000
"""Levels × ranks × nodes²: some seconds."""

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
    levels = levels_of(rank_chances, nodes, depth, siblings)
    program = Program(levels, nodes, siblings, 0.0)
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
    levels = levels_of(rank_chances, nodes, depth, siblings)
    found: FloatArray = np.maximum.accumulate(Program(levels, nodes, siblings, 0.0).value[0])
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
        With ``speedup``; no nodes at all if drafting does not pay, at the price of a chain of κ = 0: a plain pass, and
        what a ``draft_table`` says of no draft.

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
    levels = levels_of(rank_chances, nodes, depth, siblings)
    if cost.verify_table is not None:
        nodes = min(nodes, len(cost.verify_table) - 1)
    nothing = BestTree(DraftTree(parents=(), chances=(), siblings=siblings), (), 0.0, 1.0 / cost.base(0))
    return _Fastest(levels, nodes, cost, siblings).of(range(1, nodes + 1), nothing) or nothing


def fastest_trees(
    rank_chances: Ranks, nodes: Sequence[int], cost: Cost, depth: int | None = None, siblings: Siblings = "exclusive"
) -> dict[int, BestTree]:
    """By number of nodes, the fastest of the trees that have exactly so many: what a budget is worth.

    Parameters
    ----------
    rank_chances, cost, depth, siblings
        As in `fastest_tree`.
    nodes : sequence of int
        Numbers of nodes, 0 to 1024 each.

    Returns
    -------
    dict
        Without those numbers that no tree can have: ranks and depths may be too few.

    Raises
    ------
    ParameterError
        If an argument is out of range, a cost table ends before, or the program would take too long.

    Examples
    --------
    >>> found = fastest_trees([0.6, 0.2], [0, 4, 9, 20], Cost(c_d=0.05, c_v=0.02))
    >>> {n: (best.tree.depth, round(best.speedup, 4)) for n, best in found.items()}
    {0: (0, 1.0), 4: (2, 1.9322), 9: (3, 2.1293), 20: (4, 2.047)}
    """
    most = max(nodes, default=0)
    for many in nodes:
        check_whole("nodes", many, 0, NODES_LIMIT)
    search = _Fastest(levels_of(rank_chances, most, depth, siblings), most, cost, siblings)
    found = {many: search.of([many]) for many in nodes}
    return {many: best for many, best in found.items() if best is not None}


def accepted_by_depth(
    rank_chances: Ranks, nodes: int, depth: int | None = None, siblings: Siblings = "exclusive"
) -> FloatArray:
    """E[A] of the best tree of at most d levels and at most n nodes, at [d, n]; arguments as in `best_tree`.

    Examples
    --------
    >>> accepted_by_depth([0.5, 0.4], nodes=4).round(3).tolist()[:3]
    [[0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.5, 0.9, 0.9, 0.9], [0.0, 0.5, 0.9, 1.15, 1.35]]
    """
    levels = levels_of(rank_chances, nodes, depth, siblings)
    rows = [np.zeros(nodes + 1)] + [program.value[at] for program, at in by_depth(levels, nodes, siblings, 0.0)]
    found: FloatArray = np.maximum.accumulate(np.array(rows), axis=1)
    return found


class _Fastest:
    """The search of Dinkelbach's: trees that are best at a price λ, until λ is the speed-up they reach."""

    def __init__(self, levels: list[FloatArray], nodes: int, cost: Cost, siblings: Siblings) -> None:
        if cost.draft_table is not None:
            levels = levels[: len(cost.draft_table) - 1]
        self.levels, self.nodes, self.cost, self.siblings = levels, nodes, cost, siblings
        self.passes = np.array([cost.target_pass(n) for n in range(nodes + 1)])
        self._programs: dict[float, list[tuple[Program, int]]] = {}

    def of(self, sizes: Sequence[int], known: BestTree | None = None) -> BestTree | None:
        """The fastest tree with one of these numbers of nodes, if it is faster than the one that is known."""
        best, speed, many = known, (known.speedup or 0.0) if known else 0.0, np.array(sizes, np.int64)
        while many.size:
            tree, ranks = self._at(speed, many)
            if tree is None:
                break
            law = tree_law(tree)
            if best is not None and law.speedup(self.cost) <= speed * (1.0 + 1e-13):
                break
            speed = law.speedup(self.cost)
            best = BestTree(tree, ranks, law.mean_accepted, speed)
        return best

    def _at(self, speed: float, many: npt.NDArray[np.int64]) -> tuple[DraftTree | None, tuple[int, ...]]:
        """The tree with the largest E[tokens] − speed·E[cost]."""
        if 0 in many and many.size == 1:
            return DraftTree(parents=(), chances=(), siblings=self.siblings), ()
        penalty = speed * self.cost.c_r
        if penalty not in self._programs:
            self._programs = {penalty: by_depth(self.levels, self.nodes, self.siblings, penalty)}
        gains = [
            program.value[start][many] + 1.0 - speed * (self.passes[many] + self.cost.drafting(deepest))
            for deepest, (program, start) in enumerate(self._programs[penalty], 1)
        ]
        if not gains or not np.isfinite(np.max(gains)):
            return None, ()
        program, start = self._programs[penalty][int(np.argmax([own.max() for own in gains]))]
        return program.tree(int(many[int(np.argmax(max(gains, key=np.max)))]), start)


def levels_of(rank_chances: Ranks, nodes: int, depth: int | None, siblings: Siblings) -> list[FloatArray]:
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
    return levels  # one row for all is told by being one


def _ranks(key: str, row: object, siblings: Siblings) -> FloatArray:
    found = as_numbers(key, row, "chances")  # type: ignore[arg-type]
    for i, chance in enumerate(found):
        check_range(f"{key}[{i}]", float(chance), 0, 1)
    if siblings == "exclusive" and found.sum() > 1.0 + 1e-9:
        raise ParameterError(key, f"{key} add up to {found.sum():g}; allowed: at most 1, as one child is the target's")
    return found
