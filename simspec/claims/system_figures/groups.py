"""Which rows are there?  Groups in the order of the page; a new module of rows is one line here."""

from __future__ import annotations

from simspec.claims.system_figures import chains, heads, shapes, stops, trees
from simspec.claims.system_figures.row import Group, Predicted

MODULES = (chains, heads, trees, shapes, stops)


def all_groups() -> list[Group]:
    """All groups."""
    return [group for module in MODULES for group in module.groups()]


def figures() -> list[Predicted]:
    """All rows, in the order of the page."""
    return [row for group in all_groups() for row in group.rows]
