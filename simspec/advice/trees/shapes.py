"""What is one shape of drafts worth: a tree, a chain, chains side by side?  Exact, and simulated where asked."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from simspec.advice.trees.rank_chances import RankChances
from simspec.model import Cost, DraftTree
from simspec.theory.best_trees import BestTree
from simspec.theory.parted_chains import draft_chains
from simspec.theory.tree_laws import TreeLaw, tree_law

Simulated = tuple[float, float, float]
"""Speed-up, and its interval."""


@dataclass(frozen=True, eq=False)
class Shape:
    """A shape under a cost.

    Attributes
    ----------
    tree : DraftTree
    ranks : tuple of int
        Of node 1, 2, …
    cost : Cost
    drafts : int
        Chains side by side; 1 for a chain, 0 for a tree.
    """

    tree: DraftTree
    ranks: tuple[int, ...]
    cost: Cost
    drafts: int = 0
    simulated: list[Simulated] = field(default_factory=list)

    @functools.cached_property
    def law(self) -> TreeLaw:
        """The exact law of its rounds."""
        return tree_law(self.tree)

    @property
    def nodes(self) -> int:
        return self.tree.nodes

    @functools.cached_property
    def mean_cost(self) -> float:
        """Of a round, in plain target steps."""
        return self.law.mean_cost(self.cost)

    @property
    def speedup(self) -> float:
        """E[tokens]/E[cost]."""
        return self.law.mean_tokens / self.mean_cost

    @property
    def is_chain(self) -> bool:
        """Whether it has no branches."""
        return self.law.depth == self.nodes

    def inside(self) -> bool | None:
        """Whether the simulated interval holds the exact speed-up; None where nothing was simulated."""
        return self.simulated[0][1] <= self.speedup <= self.simulated[0][2] if self.simulated else None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        out: dict[str, Any] = {
            "nodes": self.nodes, "depth": self.law.depth, "verify_width": self.nodes + 1,
            "mean_accepted": self.law.mean_accepted, "mean_tokens": self.law.mean_tokens,
            "mean_wasted": self.law.mean_wasted, "mean_cost": self.mean_cost, "speedup": self.speedup,
        }  # fmt: skip
        if self.drafts:
            out["drafts"], out["kappa"] = self.drafts, self.law.depth
        if self.simulated:
            out["speedup_simulated"], out["speedup_low"], out["speedup_high"] = self.simulated[0]
            out["inside"] = self.inside()
        return out


def of_best(best: BestTree, cost: Cost) -> Shape:
    """A best tree as a shape."""
    return Shape(best.tree, best.ranks, cost)


def chains(chances: RankChances, drafts: int, nodes: int, depth: int | None, cost: Cost) -> Iterator[Shape]:
    """K chains side by side with 0 or 1, 2, … tokens each, as far as nodes, depths and tables of costs go."""
    longest = nodes // drafts
    for limit in (depth, chances.depths, None if cost.draft_table is None else len(cost.draft_table) - 1):
        longest = longest if limit is None else min(longest, limit)
    for kappa in range(0 if drafts == 1 else 1, longest + 1):
        own = draft_chains(chances.given, drafts, kappa, chances.siblings)
        yield Shape(own.tree, own.ranks, cost, drafts)


def play(shapes: Sequence[Shape], chances: RankChances, windows: int, seed: int, level: float) -> None:
    """Walk through each shape with simulated rounds."""
    from simspec.run.single import run_single

    for shape in shapes:
        scheme = chances.scheme(shape.tree.parents, shape.ranks)
        found = run_single(chances.process, shape.cost, shape.nodes, windows, seed, level, scheme=scheme)
        row = found.to_pandas().iloc[0]
        shape.simulated.append((float(row.speedup), float(row.speedup_low), float(row.speedup_high)))
