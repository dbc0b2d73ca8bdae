"""Which tree of drafts is best for a budget of nodes, what does a budget buy, and what do chains give for as much?"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from simspec.advice.trees import shapes
from simspec.advice.trees.rank_chances import RankChances, rank_chances
from simspec.advice.trees.shapes import Shape
from simspec.advice.trees.tree_costs import TreeCosts, tree_costs
from simspec.model import Cost, ParameterError
from simspec.model.process import KAPPA_LIMIT
from simspec.theory.best_trees import accepted_by_depth, fastest_tree, fastest_trees
from simspec.theory.ranges import check_whole

if TYPE_CHECKING:
    import pandas as pd

    from simspec.evidence.costs.round_costs import CostGrid, RoundCosts

NODES_LIMIT = KAPPA_LIMIT
"""As many as a round may be simulated with."""
NEAR = 1e-9


class TreePlan:
    """The best tree for chances by rank at one cost, and what stands beside it.

    Attributes
    ----------
    chances : RankChances
    costs : TreeCosts
    nodes : int
        The budget asked for; ``costs`` may answer for fewer.
    best : Shape
        The fastest tree of at most so many nodes; none at all if drafting does not pay.
    by_nodes : list of Shape
        The fastest trees of exactly 1, 2, 4, … nodes.
    chain : Shape
        The fastest chain.
    drafts : Shape or None
        The fastest two or more chains side by side; None where there is one rank.
    """

    def __init__(self, chances: RankChances, costs: TreeCosts, nodes: int, depth: int | None) -> None:
        self.chances, self.costs, self.nodes, self.depth = chances, costs, nodes, depth
        cost = costs.cost
        given = (chances.given, cost, depth, chances.siblings)
        self.best = shapes.of_best(fastest_tree(given[0], costs.nodes, *given[1:]), cost)
        trees = fastest_trees(given[0], self._sizes(), *given[1:])
        self.by_nodes = [shapes.of_best(tree, cost) for tree in trees.values()]
        self._chains = list(shapes.chains(chances, 1, costs.nodes, depth, cost))
        self._drafts = [
            own
            for many in range(2, len(chances.rows[0]) + 1)
            for own in shapes.chains(chances, many, costs.nodes, depth, cost)
        ]
        self.chain = max(self._chains, key=lambda own: own.speedup)
        self.drafts = max(self._drafts, key=lambda own: own.speedup, default=None)

    def _sizes(self) -> list[int]:
        powers = {2**i for i in range(12) if 2**i <= self.costs.nodes}
        return sorted({0, *powers, self.costs.nodes, self.best.nodes})

    @property
    def cost(self) -> Cost:
        return self.costs.cost

    @functools.cached_property
    def equal_cost(self) -> list[dict[str, Any]]:
        """Most tokens of a chain, of chains side by side, of a tree, for what the fastest of each costs without c_r."""
        paid = [self._paid(own) for own in (self.chain, self.drafts, self.best) if own is not None and own.nodes]
        rows, seen = [], list[float]()
        for budget in sorted(paid):
            if any(abs(budget - other) < NEAR for other in seen):
                continue
            seen.append(budget)
            rows.append(
                {
                    "round_cost": budget,
                    "chain": self._most(self._chains, budget),
                    "drafts": self._most(self._drafts, budget),
                    "tree": self._best_for(budget),
                }
            )
        return rows

    def _paid(self, own: Shape) -> float:
        return self.cost.target_pass(own.nodes) + self.cost.drafting(own.law.depth)

    def _most(self, found: list[Shape], budget: float) -> dict[str, Any] | None:
        fair = [own for own in found if self._paid(own) <= budget + NEAR]
        best = max(fair, key=lambda own: own.law.mean_tokens, default=None)
        return None if best is None else {"mean_tokens": best.law.mean_tokens, **_size(best)}

    def _best_for(self, budget: float) -> dict[str, Any]:
        """The tree with most tokens of all that cost no more, over all depths and numbers of nodes."""
        worth = self._by_depth
        levels, nodes = worth.shape[0] - 1, worth.shape[1] - 1
        passes = np.array([self.cost.target_pass(n) for n in range(nodes + 1)])
        drafting = np.array([self.cost.drafting(d) for d in range(levels + 1)])
        fair = passes[None, :] + drafting[:, None] <= budget + NEAR
        depth, many = np.unravel_index(int(np.argmax(np.where(fair, worth, -1.0))), worth.shape)
        return {"mean_tokens": float(worth[depth, many]) + 1.0, "nodes": int(many), "depth": int(depth)}

    @functools.cached_property
    def _by_depth(self) -> Any:
        worth = accepted_by_depth(self.chances.given, self.costs.nodes, self.depth, self.chances.siblings)
        table = self.cost.draft_table
        return worth if table is None else worth[: len(table)]

    @property
    def shown(self) -> list[Shape]:
        """All shapes of the answer."""
        return [*self.by_nodes, self.chain, *([self.drafts] if self.drafts is not None else [])]

    @property
    def agrees(self) -> bool | None:
        """Whether every simulated interval holds the exact speed-up; None where nothing was simulated."""
        found = [own.inside() for own in self.shown if own.simulated]
        return all(found) if found else None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        from simspec.advice.trees.engines import engine_forms

        return {
            "ranks": self.chances.given,
            "siblings": self.chances.siblings,
            "cost": self.cost.identity(),
            "nodes": self.nodes,
            "best": {**self.best.to_dict(), "parents": list(self.best.tree.parents), "ranks": list(self.best.ranks)},
            "best_chain": self.chain.to_dict(),
            "best_drafts": None if self.drafts is None else self.drafts.to_dict(),
            "off_speedup": 1.0 / self.cost.off,
            "by_nodes": [own.to_dict() for own in self.by_nodes],
            "equal_cost": self.equal_cost,
            "forms": {form.key: form.text for form in engine_forms(self)},
            "notes": self.notes,
            **({} if self.agrees is None else {"agrees": self.agrees}),
        }

    @property
    def notes(self) -> list[str]:
        """What these numbers rest on."""
        from simspec.advice.trees.words import notes

        return notes(self)

    def to_pandas(self) -> pd.DataFrame:
        """One row per number of nodes."""
        import pandas as pd

        return pd.DataFrame([own.to_dict() for own in self.by_nodes])

    def __repr__(self) -> str:
        from simspec.advice.trees.words import shown

        return shown(self)


def _size(own: Shape) -> dict[str, int]:
    return {"nodes": own.nodes, "depth": own.law.depth, "drafts": own.drafts}


def plan_tree(
    ranks: Any = None,
    cost: Cost | dict[str, Any] | RoundCosts | CostGrid | None = None,
    nodes: int = 64,
    depth: int | None = None,
    siblings: str = "exclusive",
    *,
    alpha: Any = None,
    survival: Any = None,
    misses: Any = None,
    draft_cost: float | None = None,
    windows: int | None = None,
    seed: int = 1,
    level: float = 0.999999,
) -> TreePlan:
    """The tree of drafts with the highest exact speed-up for a budget of nodes, beside chains at the same cost.

    Parameters
    ----------
    ranks : list of float, or one such list per depth
        Chance that the draft's first, second, … guess is the target's token, given that all above it were accepted;
        each in [0, 1].  ``"exclusive"``: their sum is at most 1.  ``"sequential"``: each given that those before it
        were rejected.  With a list per depth no tree is deeper.
    cost : Cost, dict, RoundCosts or CostGrid, optional
        c_d per level and c_v per node in plain target steps, or ``verify_table``, a target pass by its width; or what
        `simspec.costs` measured.  Default: c_d = 0.1, and wider passes for nothing.
    nodes : int
        Most nodes verified in a round, 1 to 256; the pass is one wider.
    depth : int, optional
        Most levels, 1 to 256.
    siblings : str
        ``"exclusive"``: at most one child is the target's token (greedy decoding).  ``"sequential"``: children are
        tried in turn (multi-step rejection of SpecInfer).
    alpha : float or list of float, optional
        Instead of ``ranks``: chance of rank 1, or one per depth; default 0.7.
    survival : list of float, optional
        Instead of ``alpha``: chance that the first j drafts of a chain are all accepted, as engines print it.
    misses : list of float, optional
        Goes with ``alpha``: share of the misses of rank 1 that ranks 2, 3, … are (exclusive), or their chances in turn
        (sequential); default 0.4, 0.25, 0.1, an example.
    draft_cost : float, optional
        One draft step, where measured rounds do not tell it from a wider pass.
    windows : int, optional
        Also play so many rounds of every shape shown.
    seed : int
        0 ≤ seed < 2⁶⁴.
    level : float
        Confidence level of each simulated interval; default 0.999999, so that one outside tells of an error.

    Returns
    -------
    TreePlan
        With ``best``, ``by_nodes``, ``chain``, ``drafts``, ``equal_cost``, ``to_dict()`` and a readable repr.

    Raises
    ------
    ParameterError
        A parameter is outside its range, or the costs do not tell a level from a node.

    References
    ----------
    Chen et al. (2024), Sequoia, sections 3.1 and 3.3; Cai et al. (2024), Medusa, section 2.3.3.

    Examples
    --------
    >>> import simspec
    >>> found = simspec.plan_tree([0.6, 0.18, 0.08], {"c_d": 0.05, "c_v": 0.01}, nodes=64)
    >>> found.best.nodes, found.best.law.depth, round(found.best.speedup, 4)
    (21, 4, 2.3733)
    >>> found.chain.nodes, round(found.chain.speedup, 4), round(found.drafts.speedup, 4)
    (4, 1.8594, 2.1753)
    """
    check_whole("nodes", nodes, 1, NODES_LIMIT)
    if depth is not None:
        check_whole("depth", depth, 1, NODES_LIMIT)
    chances = rank_chances(ranks, alpha, misses, siblings, survival)
    own = TreePlan(chances, tree_costs(cost, nodes, draft_cost), nodes, depth)
    if windows is not None:
        if isinstance(windows, bool) or not isinstance(windows, int) or windows < 1:
            raise ParameterError("windows", f"windows = {windows!r} is out of range; allowed: a whole number ≥ 1")
        shapes.play(own.shown, own.chances, windows, seed, level)
    return own
