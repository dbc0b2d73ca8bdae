"""Which tokens does a tree of drafts hold, and how likely is each of them, given that its parent was accepted?"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Literal

from pydantic import Field, model_validator

from simspec.model.base import Model, Probability
from simspec.model.errors import ParameterError

NODES_LIMIT = 4096
ROUNDING = 1e-9
"""Exclusive chances typed in with few digits may add up to this much more than 1."""


class DraftTree(Model):
    """A token tree that one target pass verifies; the walk from its root stops where no child is accepted.

    Parameters
    ----------
    parents : list of int
        Parent of node 1, 2, …; 0 is the root, the token that is known already.  A parent has a smaller number.
    chances : list of float
        Chance of node 1, 2, …, given that its parent was accepted and, if ``siblings = "sequential"``, that the
        siblings before it were rejected.
    siblings : str
        ``"exclusive"``: at most one child is the target's token (greedy or naive matching), so the chances of siblings
        add up to at most 1.  ``"sequential"``: children are tried in the order of their numbers (multi-step rejection).

    References
    ----------
    Miao et al. (2024), SpecInfer, token trees; Cai et al. (2024), Medusa, tree attention.

    Examples
    --------
    >>> tree = DraftTree(parents=[0, 0, 1], chances=[0.6, 0.2, 0.5])
    >>> tree.nodes, tree.depths, tree.children
    (3, (0, 1, 1, 2), ((1, 2), (3,), (), ()))
    """

    parents: tuple[int, ...] = Field(description="the parent of each node, 0 being the root")
    chances: tuple[Probability, ...] = Field(description="the chance of each node, given its parent")
    siblings: Literal["exclusive", "sequential"] = "exclusive"

    @model_validator(mode="after")
    def _a_tree(self) -> DraftTree:
        if len(self.parents) > NODES_LIMIT:
            raise ParameterError("parents", f"parents has {len(self.parents)} nodes; allowed: 0 to {NODES_LIMIT}")
        if len(self.chances) != len(self.parents):
            raise ParameterError(
                "chances", f"chances has {len(self.chances)} entries; allowed: {len(self.parents)}, one per node"
            )
        for node, parent in enumerate(self.parents, 1):
            if not 0 <= parent < node:
                raise ParameterError(
                    f"parents[{node - 1}]", f"parents[{node - 1}] = {parent} is out of range; allowed: 0 to {node - 1}"
                )
        if self.siblings == "exclusive":
            for node, own in enumerate(self.children):
                total = sum(self.chances[child - 1] for child in own)
                if total > 1.0 + ROUNDING:
                    raise ParameterError(
                        f"chances[{own[0] - 1}]",
                        f"chances[{own[0] - 1}] and its siblings add up to {total:g} under node {node}; allowed: at "
                        'most 1 where siblings are "exclusive"',
                    )
        return self

    @property
    def nodes(self) -> int:
        """Drafted tokens; the root is none."""
        return len(self.parents)

    @functools.cached_property
    def depths(self) -> tuple[int, ...]:
        """Depth of the root, 0, and of node 1, 2, …"""
        out = [0]
        for parent in self.parents:
            out.append(out[parent] + 1)
        return tuple(out)

    @property
    def depth(self) -> int:
        """Depth of the deepest node: draft steps, one per level."""
        return max(self.depths)

    @functools.cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Children of the root and of node 1, 2, …, in the order of their numbers."""
        out: list[list[int]] = [[] for _ in range(self.nodes + 1)]
        for node, parent in enumerate(self.parents, 1):
            out[parent].append(node)
        return tuple(tuple(own) for own in out)

    @staticmethod
    def expanded(
        widths: Sequence[int], rates: Sequence[Sequence[float]], siblings: Literal["exclusive", "sequential"]
    ) -> DraftTree:
        """The tree in which every node of a level has as many children as ``widths`` says for the next level.

        Parameters
        ----------
        widths : sequence of int
            SpecInfer's expansion vector ⟨k_1, k_2, …⟩, each at least 1.
        rates : sequence of sequence of float
            Chances of the first, second, … child, one list per level; level i needs widths[i] of them.
        siblings : str
            As in the class.

        Examples
        --------
        >>> DraftTree.expanded([2, 1], [[0.5, 0.3], [0.4]], "exclusive").parents
        (0, 0, 1, 2)
        """
        if len(rates) != len(widths):
            raise ParameterError("rates", f"rates has {len(rates)} levels; allowed: {len(widths)}, as widths")
        parents, chances, level, size = list[int](), list[float](), [0], 1
        for i, (width, own) in enumerate(zip(widths, rates, strict=True)):
            if not 1 <= width <= len(own):
                raise ParameterError(
                    f"widths[{i}]", f"widths[{i}] = {width} is out of range; allowed: 1 to {len(own)}, the rates given"
                )
            size *= width
            if len(parents) + size > NODES_LIMIT:
                raise ParameterError(f"widths[{i}]", f"widths[{i}] makes over {NODES_LIMIT} nodes; allowed: fewer")
            first = len(parents) + 1
            for node in level:
                parents += [node] * width
                chances += own[:width]
            level = list(range(first, len(parents) + 1))
        return DraftTree(parents=tuple(parents), chances=tuple(chances), siblings=siblings)
