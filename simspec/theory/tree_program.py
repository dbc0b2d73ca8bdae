"""How are nodes below one node best shared among its children?  The dynamic program over levels, ranks and nodes.

A subtree is worth the tokens expected below its root, less a price on ending at a node with children.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from simspec.model.trees import DraftTree
from simspec.theory.law import FloatArray

Siblings = Literal["exclusive", "sequential"]


def by_depth(levels: list[FloatArray], nodes: int, siblings: Siblings, penalty: float) -> list[tuple[Program, int]]:
    """A program, and the level it starts from, for trees of at most 1, 2, … levels."""
    if all(row is levels[0] for row in levels):  # as many levels from the end
        program = Program(levels, nodes, siblings, penalty)
        return [(program, len(levels) - deepest) for deepest in range(1, len(levels) + 1)]
    return [(Program(levels[:deepest], nodes, siblings, penalty), 0) for deepest in range(1, len(levels) + 1)]


@dataclass(frozen=True, eq=False)
class _Level:
    """How nodes below one node are shared among its children.

    ``last[n]``: the last rank that gets some of n nodes; ``given[k][n]``: how many rank k gets if it is that one; and
    ``before[k][n]``: the last of the ranks before it that gets some of n nodes.
    """

    last: npt.NDArray[np.int64]
    given: dict[int, npt.NDArray[np.int64]]
    before: dict[int, npt.NDArray[np.int64]]


class Program:
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
        last, left = np.full(below.size, -1, np.int64), 1.0
        given, before = dict[int, Any](), dict[int, Any]()
        so_far = value.copy()  # with all ranks up to this one drafted, or any of them
        for rank in _worth_a_node(row, below.size - 1, self.siblings):
            chance = float(row[rank])
            own = chance * (left if self.siblings == "sequential" else 1.0)
            left *= 1.0 - chance
            before[rank] = last.copy()
            so_far, share = _join(value if self.siblings == "exclusive" else so_far, own, inside)
            given[rank] = share
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


def _worth_a_node(row: FloatArray, nodes: int, siblings: Siblings) -> list[int]:
    """Ranks that n nodes may be given to: the first n if asked in turn, else the n likeliest."""
    if siblings == "sequential":
        return list(range(min(row.size, nodes)))
    likeliest = np.argsort(-row, kind="stable")[:nodes]
    return sorted(int(rank) for rank in likeliest)


def _join(before: FloatArray, own: float, inside: FloatArray) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Best value of n nodes of which a further child gets at least one, and how many it gets."""
    worth = np.where(np.isfinite(inside), own * np.where(np.isfinite(inside), inside, 0.0), -np.inf)
    left = np.concatenate((np.full(before.size - 1, -np.inf), before))
    values = np.lib.stride_tricks.sliding_window_view(left, before.size)[:, ::-1] + worth  # [n, given]
    share = values.argmax(axis=1)
    return values[np.arange(before.size), share], share
