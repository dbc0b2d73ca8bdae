"""A tree of drafts of fixed shape: Medusa, EAGLE, SpecInfer, or the best shape for a budget of nodes."""

from __future__ import annotations

import heapq
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from simspec.model.base import Probability
from simspec.model.errors import ParameterError
from simspec.model.rounds import DraftLaw, End, RoundTable
from simspec.model.schemes.drafting import Drafting
from simspec.model.schemes.scheme import Schemes
from simspec.model.trees import NODES_LIMIT, DraftTree

Rank = Annotated[int, Field(ge=1, le=NODES_LIMIT)]
Misses = tuple[Probability, ...] | tuple[tuple[Probability, ...], ...]


@Schemes.add
class Tree(Drafting):
    """κ nodes of a token tree; the target follows it from the root as far as it can.

    The process gives the chance a_j of the likeliest child at depth j, rank 1.  What it misses, 1 − a_j, the other
    ranks recover in part.

    Parameters
    ----------
    misses : list of float, or one such list per depth
        ``siblings = "exclusive"``: share of the misses of rank 1 that rank 2, 3, … is, with a sum of at most 1.
        ``"sequential"``: chance that rank 2, 3, … is accepted, given that all before it were rejected.
    siblings : {"exclusive", "sequential"}
        Whether at most one child is the target's token (greedy decoding, Medusa, EAGLE at temperature 0), or children
        are tried in turn (multi-step rejection).
    widths : list of int
        Children per node at depth 1, 2, … (SpecInfer's expansion vector ⟨3, 2, 1⟩); κ takes the first κ nodes, level
        by level.
    parents, ranks : list of int
        A shape node by node, κ taking the first κ nodes: parent (0 is the root) and rank of node 1, 2, …
    max_depth : int
        Without widths or parents the tree grows by the product of chances along a path, at most so deep: the best
        κ nodes if siblings are exclusive and chances fall with rank.
    drafting : {"depth", "window", "node"}
        Whether a draft step is paid per level (EAGLE), once for all levels (Medusa) or per node.
    heads : int
        Levels that one step drafts.

    References
    ----------
    Miao et al. (2024), SpecInfer; Cai et al. (2024), Medusa, section 2.3.3; Chen et al. (2024), Sequoia.

    Examples
    --------
    >>> tree = Tree(misses=[0.5, 0.2]).drafts(DraftLaw(((0.6,),) * 8), 4)
    >>> tree.parents, tree.chances
    ((0, 1, 2, 0), (0.6, 0.6, 0.6, 0.2))
    """

    usual_kappas: ClassVar[tuple[int, ...]] = (0, 1, 2, 4, 8, 16, 32, 64)

    type: Literal["tree"] = "tree"
    siblings: Literal["exclusive", "sequential"] = "exclusive"
    misses: Misses = Field(default=(), description="what ranks 2, 3, … recover of the misses of rank 1")
    widths: tuple[Rank, ...] | None = Field(default=None, description="children per node at depth 1, 2, …")
    parents: tuple[int, ...] | None = Field(default=None, description="the parent of each node, 0 being the root")
    ranks: tuple[Rank, ...] | None = Field(default=None, description="the rank of each node among its siblings")
    max_depth: Annotated[int, Field(ge=1, le=NODES_LIMIT)] | None = Field(default=None, description="most levels")

    @property
    def kappas(self) -> tuple[int, ...]:
        """A tree of given shape is run up to its size."""
        size = self._size()
        usual = super().kappas
        return self.within_budget(usual) if size is None else (*(kappa for kappa in usual if kappa < size), size)

    def _size(self) -> int | None:
        """Nodes of a given shape."""
        if self.widths is None:
            return None if self.parents is None else len(self.parents)
        nodes, level = 0, 1
        for width in self.widths:
            level *= width
            nodes += level
        return min(nodes, NODES_LIMIT)

    @model_validator(mode="after")
    def _one_shape(self) -> Tree:
        given = [key for key in ("widths", "parents", "max_depth") if getattr(self, key) is not None]
        if len(given) > 1:
            raise ParameterError(given[1], f"{given[1]} beside {given[0]}; allowed: one of widths, parents, max_depth")
        if self._by_depth and (self.max_depth or 0) > len(self.misses):
            told = (
                f"max_depth = {self.max_depth} is deeper than misses, which has {len(self.misses)} lists, one per depth"
            )
            raise ParameterError("max_depth", f"{told}; allowed: 1 to {len(self.misses)}, or more lists")
        if (self.parents is None) != (self.ranks is None) or len(self.parents or ()) != len(self.ranks or ()):
            raise ParameterError("ranks", "ranks and parents do not match; allowed: one rank and one parent per node")
        if self.widths == ():
            raise ParameterError("widths", "widths = [] is empty; allowed: a width ≥ 1 per depth")
        for depth, row in enumerate(self._rows()):
            if self.siblings == "exclusive" and sum(row) > 1.0 + 1e-9:
                key = f"misses[{depth}]" if self._by_depth else "misses"
                raise ParameterError(key, f"{key} adds up to {sum(row):g}; allowed: at most 1, the misses of rank 1")
        if self.parents is not None:
            self._check_shape(self.parents, self.ranks or ())
        self._check_ranks()
        return self

    def _check_ranks(self) -> None:
        """Raise unless every rank of a given shape has a share, at its depth if there is a list per depth."""
        rows, widest = self._rows(), list(self.widths or ())
        if self.parents is not None:
            depths, widest = [0], [1] * len(self.parents)
            for parent, rank in zip(self.parents, self.ranks or (), strict=True):
                depths.append(depths[parent] + 1)
                widest[depths[parent]] = max(widest[depths[parent]], rank)
        for depth, width in enumerate(widest if self._by_depth else [max(widest, default=1)]):
            if depth < len(rows) and len(rows[depth]) + 1 < width:
                key = f"misses[{depth}]" if self._by_depth else "misses"
                raise ParameterError(key, f"{key} has no entry for rank {width}; allowed: one per rank from 2 on")

    @staticmethod
    def _check_shape(parents: tuple[int, ...], ranks: tuple[int, ...]) -> None:
        seen = set()
        for node, (parent, rank) in enumerate(zip(parents, ranks, strict=True)):
            if not 0 <= parent <= node:
                raise ParameterError(
                    f"parents[{node}]", f"parents[{node}] = {parent} is out of range; allowed: 0 to {node}"
                )
            if (parent, rank) in seen:
                raise ParameterError(f"ranks[{node}]", f"ranks[{node}] = {rank} is taken; allowed: ranks of their own")
            seen.add((parent, rank))

    @property
    def _by_depth(self) -> bool:
        return bool(self.misses) and isinstance(self.misses[0], tuple)

    def _rows(self) -> list[tuple[float, ...]]:
        if self._by_depth:
            return [row for row in self.misses if isinstance(row, tuple)]
        return [tuple(share for share in self.misses if not isinstance(share, tuple))]

    def chances(self, rate: float, depth: int) -> list[float]:
        """Chances of the children of rank 1, 2, … at a depth, where rank 1 has ``rate``, as `DraftTree` takes them."""
        rows = self._rows()
        if self._by_depth and depth > len(rows):
            raise ParameterError("kappa", f"misses ends at depth {len(rows)}; allowed: smaller κ, or more lists")
        row = rows[depth - 1] if self._by_depth else rows[0]
        scale = 1.0 - rate if self.siblings == "exclusive" else 1.0
        return [rate, *(scale * share for share in row)]

    def shape(self, draft: DraftLaw, kappa: int) -> tuple[list[int], list[int]]:
        """Parents and ranks of the κ nodes."""
        if self.parents is not None and self.ranks is not None:
            self._check_size(kappa, len(self.parents))
            return list(self.parents[:kappa]), list(self.ranks[:kappa])
        if self.widths is not None:
            parents, ranks = self._expanded(self.widths, kappa)
            self._check_size(kappa, len(parents))
            return parents, ranks
        return self._grown(draft, kappa)

    @staticmethod
    def _check_size(kappa: int, nodes: int) -> None:
        if kappa > nodes:
            raise ParameterError(
                "kappa", f"kappa = {kappa} is beyond the {nodes} nodes of the tree; allowed: 0 to {nodes}"
            )

    @staticmethod
    def _expanded(widths: tuple[int, ...], kappa: int) -> tuple[list[int], list[int]]:
        parents, ranks, level = list[int](), list[int](), [0]
        for width in widths:
            first = len(parents) + 1
            for node in level:
                parents += [node] * width
                ranks += range(1, width + 1)
                if len(parents) >= kappa:
                    return parents[:kappa], ranks[:kappa]
            level = list(range(first, len(parents) + 1))
        return parents, ranks

    def _grown(self, draft: DraftLaw, kappa: int) -> tuple[list[int], list[int]]:
        """Node by node by the chance to reach it; of ones equal but for rounding the shallower, then the first made."""
        rates = draft.rates(kappa)
        deepest = min(kappa, self.max_depth or kappa, len(rates))
        if self._by_depth:
            deepest = min(deepest, len(self._rows()))
        parents, ranks = list[int](), list[int]()
        open_: list[tuple[float, int, int, int, float]] = []  # −chance without its last digits, depth, parent, rank

        def offer(parent: int, reached: float, depth: int, rank: int) -> None:
            """The child of this rank: sequential siblings are drafted in order, and each waits for the one before."""
            chances = self.chances(rates[depth - 1], depth)
            if rank <= len(chances):
                own = chances[rank - 1]
                if self.siblings == "sequential":
                    for before in chances[: rank - 1]:
                        own *= 1.0 - before
                chance = reached * own
                heapq.heappush(open_, (-float(f"{chance:.11e}"), depth, parent, rank, chance))

        reach = [1.0]
        if deepest > 0:
            offer(0, 1.0, 1, 1)
        while open_ and len(parents) < kappa:
            _, depth, parent, rank, chance = heapq.heappop(open_)
            parents.append(parent)
            ranks.append(rank)
            reach.append(chance)
            offer(parent, reach[parent], depth, rank + 1)
            if depth < deepest:
                offer(len(parents), chance, depth + 1, 1)
        return parents, ranks

    def drafts(self, draft: DraftLaw, kappa: int) -> DraftTree:
        """The tree of κ nodes, or of all nodes the ranks and depths allow, with its chances."""
        if kappa > NODES_LIMIT:
            raise ParameterError("kappa", f"kappa = {kappa} is out of range; allowed: at most {NODES_LIMIT} nodes")
        parents, ranks = self.shape(draft, kappa)
        rates = draft.rates(len(parents))
        depths, chances = [0], []
        for parent, rank in zip(parents, ranks, strict=True):
            depths.append(depths[parent] + 1)
            if depths[-1] > len(rates):
                told = f"kappa = {kappa} reaches depth {depths[-1]}"
                raise ParameterError("kappa", f"{told}; allowed: {len(rates)} levels, as many as were measured")
            own = self.chances(rates[depths[-1] - 1], depths[-1])
            if rank > len(own):
                raise ParameterError(
                    "misses", f"misses[{depths[-1] - 1}] has no entry for rank {rank}; allowed: one more"
                )
            chances.append(own[rank - 1])
        return DraftTree(parents=tuple(parents), chances=tuple(chances), siblings=self.siblings)

    def rounds(self, draft: DraftLaw, kappa: int) -> RoundTable:
        tree = self.drafts(draft, kappa)
        return tree_rounds(tree, self.steps(tree.depth, tree.nodes))


def tree_rounds(tree: DraftTree, steps: int | None = None) -> RoundTable:
    """The table of a walk through a tree: a state per node with children.  ``steps``: draft steps, one per level.

    Examples
    --------
    >>> table = tree_rounds(DraftTree(parents=[0, 0, 1], chances=[0.6, 0.2, 0.5]))
    >>> len(table.states), [(kind.accepted, kind.rejected) for kind in table.kinds]
    (2, [(1, False), (0, True), (2, False), (1, True)])
    """
    table = RoundTable()
    inner = [node for node, children in enumerate(tree.children) if children or node == 0]
    state = {node: number for number, node in enumerate(inner)}

    def stop(node: int) -> End:
        paid = tree.depth if steps is None else steps
        return table.end(tree.depths[node], tree.nodes, steps=paid, rejected=bool(tree.children[node]))

    for node in inner:
        left, outcomes = 1.0, list[tuple[float, int | End]]()
        for child in tree.children[node]:
            own = tree.chances[child - 1] * (left if tree.siblings == "sequential" else 1.0)
            own = min(own, left)  # rounding of exclusive chances that add up to 1
            outcomes.append((own, state[child] if child in state else stop(child)))
            left -= own
        table.add([*outcomes, (left, stop(node))])
    return table
