"""What is a tree that the draft grows where it is confident?  The second form of a round, beside a table of states."""

from __future__ import annotations

from dataclasses import dataclass

from simspec.model.errors import ParameterError
from simspec.model.rounds import RoundKind

NAMED_LIMIT = 4096
"""Children that may be named in a round."""


@dataclass(frozen=True)
class GrownTrees:
    """Every expanded node draws a vector of confidences; the best are expanded, and of all named the best are verified.

    Attributes
    ----------
    confidences, acceptance : tuple of rows
        By vector: what the draft believes of its first, second, … child, not rising, and how likely each is the
        target's token.  A confidence of 0 is no child.
    law : tuple of float
        Law of the vector of an expanded node.
    breadth, depth, nodes : int
        Nodes expanded per layer, and children each of them names; layers; nodes verified.
    """

    confidences: tuple[tuple[float, ...], ...]
    acceptance: tuple[tuple[float, ...], ...]
    law: tuple[float, ...]
    breadth: int
    depth: int
    nodes: int

    @property
    def named(self) -> int:
        """Most children that are named in a round."""
        return self.breadth * (1 + (self.depth - 1) * self.breadth)

    @property
    def kinds(self) -> list[RoundKind]:
        """By (verified nodes, accepted length, rejected): number (n·(depth + 1) + a)·2 + rejected."""
        return [
            RoundKind(a, n, self.depth, bool(rejected), a + 1)
            for n in range(min(self.nodes, self.named) + 1)
            for a in range(self.depth + 1)
            for rejected in (0, 1)
        ]

    def check(self) -> None:
        """Raise `ParameterError` if rounds would be too large."""
        if self.named > NAMED_LIMIT:
            raise ParameterError(
                "breadth", f"breadth = {self.breadth} at depth {self.depth} names {self.named:,} children; allowed: "
                f"{NAMED_LIMIT:,}"
            )  # fmt: skip
