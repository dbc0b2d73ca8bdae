"""Which systems are held against exact values?  All that the other modules name; a new module is one line here."""

from __future__ import annotations

from simspec.claims.agreement import chains, others, texts, trees
from simspec.claims.agreement.case import System

MODULES = (chains, trees, texts, others)
LINES = (
    chains.DRAFTED, chains.SELF, chains.HEADS, trees.GROWN, trees.MEDUSA, trees.SPECINFER, texts.SEVERAL, others.GRAMS,
    chains.DEPTH, others.TURNS, others.MASKS, trees.BEST,
)  # fmt: skip
"""In the order of the table."""


def all_systems() -> tuple[System, ...]:
    """All systems, line by line.

    Examples
    --------
    >>> min(len(system.cases) for system in all_systems()) >= 5
    True
    """
    own = [system for module in MODULES for system in module.systems()]
    return tuple(sorted(own, key=lambda system: LINES.index(system.line)))
