"""What does a level of a tree cost, and what a node?  Costs as given, or measured rounds and the draft's share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from simspec.evidence.costs.round_costs import CostGrid, RoundCosts
from simspec.model import Cost, ParameterError
from simspec.model.asked import as_cost

DEFAULT_DRAFT_COST = 0.1


@dataclass(frozen=True)
class TreeCosts:
    """Costs of a tree.

    Attributes
    ----------
    cost : Cost
        c_d per level, c_v per node, or tables of them.
    nodes : int
        Most nodes it answers for, at most those asked for.
    measured : int or None
        Most nodes a measured pass had; None where costs are given numbers.
    notes : tuple of str
    """

    cost: Cost
    nodes: int
    measured: int | None = None
    notes: tuple[str, ...] = ()


def tree_costs(costs: Any, nodes: int, draft_cost: float | None = None) -> TreeCosts:
    """Costs for trees of at most so many nodes.

    Parameters
    ----------
    costs : Cost, dict, RoundCosts, CostGrid or None
        A round of κ measured drafts has κ draft steps and a pass over κ tokens; a tree has fewer steps for as many.
    nodes : int
        Most nodes.
    draft_cost : float, optional
        One draft step in plain target steps, where measured rounds do not tell it from a wider pass.

    Raises
    ------
    ParameterError
        Several loads were measured, or drafting is not known apart from a wider pass.

    Examples
    --------
    >>> tree_costs(RoundCosts.affine(1.1, 0.12), 64, draft_cost=0.1).cost.c_v.__round__(3)
    0.02
    """
    if isinstance(costs, (CostGrid, RoundCosts)):
        own = costs.at() if isinstance(costs, CostGrid) else costs
        if own.given is None:
            return _measured(own, nodes, draft_cost)
        costs = own.given
    elif costs is None and draft_cost is None:
        told = f"the draft cost {DEFAULT_DRAFT_COST:g} per level is the default: measure yours (--draft-cost)"
        return _given(Cost(c_d=DEFAULT_DRAFT_COST), nodes, (told,))
    cost = as_cost(costs)
    if draft_cost is not None:
        if cost.draft_table is not None or cost.c_d not in (0.0, draft_cost):
            raise ParameterError("draft_cost", "draft_cost beside costs that hold it already; leave it out")
        cost = cost.model_copy(update={"c_d": draft_cost})
    return _given(cost, nodes, ())


def _given(cost: Cost, nodes: int, notes: tuple[str, ...]) -> TreeCosts:
    if cost.verify_table is None:
        free = "a wider pass costs nothing here (c_v = 0), so that nodes are free: give --verify-cost, or --costs"
        return TreeCosts(cost, nodes, None, (*notes, free) if cost.c_v == 0.0 else notes)
    longest = len(cost.verify_table) - 1
    if longest < 1:
        raise ParameterError("cost", "verify_table has one entry, which says nothing of a node; give more entries")
    more = (f"verify_table ends at width {longest + 1}: no larger tree was considered",) if longest < nodes else ()
    return TreeCosts(cost, min(nodes, longest), None, (*notes, *more))


def _measured(own: RoundCosts, nodes: int, draft_cost: float | None) -> TreeCosts:
    if own.draft is not None and draft_cost is not None and abs(own.draft - draft_cost) > 1e-9:
        raise ParameterError(
            "draft_cost", f"draft_cost = {draft_cost:g} beside costs measured with {own.draft:g}; leave it out"
        )
    draft = own.draft if draft_cost is None else draft_cost
    if draft is None:
        raise ParameterError(
            "draft_cost", "the costs do not tell a draft step from a wider pass, and a tree pays the first per level, "
            "the second per node; give --draft-cost C (TPOT of the draft ÷ TPOT of the target)"
        )  # fmt: skip
    widest = max((point.at for point in own.measured), default=own.nodes[-1])
    slope = (own.at(float(widest)) - own.at(0)) / float(widest) if widest else 0.0
    if draft > slope + 1e-9:
        told = f"draft_cost = {draft:g} is more than a further draft costs in all, {slope:.3g}"
        raise ParameterError("draft_cost", f"{told}; allowed: 0 to that")
    cost = replace(own, draft=draft).cost(nodes)
    taken = f"costs from {own.origin or 'measurements'}, taken as they are: their errors are in none of these numbers"
    return TreeCosts(cost, nodes, int(widest), (taken, *own.notes))
