"""What does `simspec solve` say of other ways to draft: trees, drafts that stop, two models, lookahead, unmasking?

Each kind answers one case exactly; what its keys and answers mean is in docs/solve.md.
"""

from __future__ import annotations

from typing import Any, Literal, cast

from simspec import theory
from simspec.advice import fields, text_kinds
from simspec.model import DraftTree, ParameterError
from simspec.model.errors import shown
from simspec.model.trees import NODES_LIMIT, ROUNDING
from simspec.theory.best_trees import NODES_LIMIT as BEST_LIMIT
from simspec.theory.ranges import EXACT_KAPPA_LIMIT
from simspec.theory.unmasking import LENGTH_LIMIT, PARALLEL_LIMIT

Siblings = Literal["exclusive", "sequential"]
CANDIDATES_LIMIT = 10**6


def tree(case: fields.Case) -> dict[str, Any]:
    """One token tree: the law of the accepted length and the price of a round.

    Examples
    --------
    >>> nodes = [{"id": 1, "parent": 0, "p": 0.6}, {"id": 2, "parent": 0, "p": 0.2}, {"id": 3, "parent": 1, "p": 0.5}]
    >>> answer = tree({"tree": {"sibling_model": "exclusive", "nodes": nodes}})
    >>> [round(p, 6) for p in answer["pmf_accepted"]], round(answer["mean_accepted"], 6)
    ([0.2, 0.5, 0.3], 1.1)
    """
    fields.check_known(case, "tree", "cost")
    drafts, cost = fields.made(case, "tree", _tree), fields.cost(case)
    law = theory.tree_law(drafts)
    mean_cost = fields.under_cost(lambda: law.mean_cost(cost))
    return {
        "depth": law.depth,
        "n_nodes": law.nodes,
        "pmf_accepted": fields.listed(law.pmf_accepted),
        "mean_accepted": law.mean_accepted,
        "var_accepted": law.var_accepted,
        "p_reject": law.p_rejected,
        "mean_cost": mean_cost,
        "speedup": law.mean_tokens / mean_cost,
    }


def _tree(value: dict[str, Any]) -> DraftTree:
    """Nodes in any order, told apart by id; children of a node keep the order in which they are listed."""
    fields.check_known(value, "sibling_model", "nodes", always=())
    siblings = fields.one_of(value, "sibling_model", ("exclusive", "sequential"), "exclusive")
    nodes = value.get("nodes")
    if not isinstance(nodes, (list, tuple)) or len(nodes) > NODES_LIMIT:
        raise ParameterError("nodes", f"nodes = {shown(nodes)}; allowed: a list of 0 to {NODES_LIMIT} nodes")
    children: dict[Any, list[tuple[Any, float]]] = {0: []}
    for i, node in enumerate(nodes):
        own, parent, chance = _node(f"nodes[{i}]", node)
        if own in (entry for entries in children.values() for entry, _ in entries) or own == 0:
            raise ParameterError(f"nodes[{i}].id", f"nodes[{i}].id = {shown(own)} is taken; allowed: ids of their own")
        children.setdefault(parent, []).append((own, chance))
    known = {own for entries in children.values() for own, _ in entries} | {0}
    for i, node in enumerate(nodes):
        if node["parent"] not in known:
            told = f"nodes[{i}].parent = {shown(node['parent'])} is no node; allowed: 0, the root, or the id of a node"
            raise ParameterError(f"nodes[{i}].parent", told)
    for name, entries in children.items() if siblings == "exclusive" else ():
        total = sum(chance for _, chance in entries)
        if total > 1.0 + ROUNDING:
            told = f"nodes with parent = {shown(name)} have chances that add up to {total:g}"
            raise ParameterError("nodes", f'{told}; allowed: at most 1 where siblings are "exclusive"')
    order, parents, chances = [0], list[int](), list[float]()
    for at, name in enumerate(order):  # grows while it is read: parents before their children
        for own, chance in children.get(name, []):
            order.append(own)
            parents.append(at)
            chances.append(chance)
    if len(parents) < len(nodes):
        lost = next(i for i, node in enumerate(nodes) if node["id"] not in order)
        raise ParameterError(f"nodes[{lost}].parent", f"nodes[{lost}].parent leads in a circle; allowed: up to root 0")
    return DraftTree(parents=tuple(parents), chances=tuple(chances), siblings=cast(Siblings, siblings))


def _node(key: str, node: Any) -> tuple[Any, Any, float]:
    if not isinstance(node, dict):
        raise ParameterError(key, f"{key} = {shown(node)} is not a node; allowed: an object with id, parent, p")
    for name in node:
        if name not in ("id", "parent", "p"):
            raise ParameterError(f"{key}.{name}", f"{key}.{name} is an unknown key; allowed: id, parent, p")
    for name in ("id", "parent"):
        if isinstance(node.get(name), bool) or not isinstance(node.get(name), (int, str)):
            raise ParameterError(
                f"{key}.{name}", f"{key}.{name} = {shown(node.get(name))} is no name; allowed: a whole number or a text"
            )
    chance = fields.number({f"{key}.p": node["p"]} if "p" in node else {}, f"{key}.p")
    if not 0.0 <= chance <= 1.0:
        raise ParameterError(f"{key}.p", f"{key}.p = {chance:g} is out of range; allowed: 0 ≤ p ≤ 1")
    return node["id"], node["parent"], chance


def optimal_tree(case: fields.Case) -> dict[str, Any]:
    """The most that a tree of so many nodes keeps, given the chances of children by rank.

    Examples
    --------
    >>> round(optimal_tree({"rank_p": [0.6, 0.2], "n_nodes": 3, "max_depth": 2})["mean_accepted"], 6)
    1.16
    """
    fields.check_known(case, "rank_p", "n_nodes", "max_depth")
    nodes = fields.whole(case, "n_nodes", 0, BEST_LIMIT)
    depth = fields.whole(case, "max_depth", 0, BEST_LIMIT) if "max_depth" in case else None
    try:
        found = theory.best_tree(fields.numbers(case, "rank_p"), nodes, depth)
    except ParameterError as error:
        raise fields.renamed(error, {"rank_chances": "rank_p", "nodes": "n_nodes", "depth": "max_depth"}) from None
    return {"mean_accepted": found.mean_accepted}


def threshold_policy(case: fields.Case) -> dict[str, Any]:
    """Drafts that end when the draft model is no longer confident.

    Examples
    --------
    >>> asked = {"values": [0.9, 0.3], "weights": [0.75, 0.25], "rule": "survival", "theta": 0.5, "kmax": 2}
    >>> answer = threshold_policy(asked)
    >>> answer["pmf_drafted"], round(answer["mean_accepted"], 6)
    ([0.0, 0.25, 0.75], 1.25625)
    """
    fields.check_known(case, "values", "weights", "rule", "theta", "kmin", "kmax", "cost")
    cost = fields.cost(case)
    kmax = fields.whole(case, "kmax", 0, EXACT_KAPPA_LIMIT)
    law = theory.stopped_draft(
        fields.numbers(case, "values"),
        fields.numbers(case, "weights"),
        fields.number(case, "theta"),
        cast(Literal["survival", "confidence"], fields.one_of(case, "rule", ("survival", "confidence"))),
        fields.whole(case, "kmin", 0, kmax, default=min(1, kmax)),
        kmax,
    )
    mean_cost = fields.under_cost(lambda: law.mean_cost(cost))
    return {
        "mean_drafted": law.mean_drafted,
        "pmf_drafted": fields.listed(law.pmf_drafted),
        "mean_accepted": law.mean_accepted,
        "p_full": law.p_full,
        "mean_cost": mean_cost,
        "speedup": law.mean_tokens / mean_cost,
    }


def lookahead(case: fields.Case) -> dict[str, Any]:
    """One step of lookahead decoding, and what it gains in the long run.

    Examples
    --------
    >>> answer = lookahead({"alpha": 0.5, "gamma": 4, "G": 7, "f": 2})
    >>> round(answer["mean_tokens_good_step"], 4), round(answer["step_compression"], 4)
    (3.8295, 2.4148)
    """
    fields.check_known(case, "alpha", "gamma", "G", "f", "W", "cost")
    cost = fields.cost(case)
    alpha, period = fields.number(case, "alpha"), fields.number(case, "f", 1.0)
    gamma = fields.whole(case, "gamma", 0, EXACT_KAPPA_LIMIT)
    candidates = fields.whole(case, "G", 1, CANDIDATES_LIMIT)
    window = fields.whole(case, "W", 0, CANDIDATES_LIMIT, default=0)
    try:
        step = theory.lookahead_step(alpha, gamma, candidates, period)
    except ParameterError as error:
        raise fields.renamed(error, {"period": "f"}) from None
    return {
        "pmf_best": fields.listed(step.pmf_best),
        "mean_best": step.mean_best,
        "mean_tokens_good_step": step.mean_tokens,
        "step_compression": step.step_compression,
        "speedup": step.step_compression / fields.under_cost(lambda: step.mean_cost(cost, window)),
    }


def llada_schedule(case: fields.Case) -> dict[str, Any]:
    """Tokens that each pass of a diffusion model fills in.

    Examples
    --------
    >>> llada_schedule({"gen_length": 10, "steps": 4})
    {'tokens_per_step': [3, 3, 2, 2], 'tokens_per_pass': 2.5}
    """
    fields.check_known(case, "gen_length", "steps", "block_length", "values", "weights", "tau")
    length = fields.whole(case, "gen_length", 1, LENGTH_LIMIT)
    steps = fields.whole(case, "steps", 1, LENGTH_LIMIT)
    block = fields.whole(case, "block_length", 1, length, default=length)
    filled = theory.unmask_schedule(length, steps, block)
    answer = {"tokens_per_step": filled.tolist(), "tokens_per_pass": length / steps}
    return answer | text_kinds.schedule_proxies(case, block, steps * block // length)


def parallel_unmask(case: fields.Case) -> dict[str, Any]:
    """Passes until all masks are filled, each pass filling those that are confident, or one.

    Examples
    --------
    >>> round(parallel_unmask({"gen_length": 16, "p_confident": 0.3})["mean_steps"], 3)
    6.928
    """
    fields.check_known(case, "gen_length", "p_confident")
    found = theory.parallel_unmask(
        fields.whole(case, "gen_length", 1, PARALLEL_LIMIT), fields.number(case, "p_confident")
    )
    return {
        "mean_steps": found.mean_steps,
        "var_steps": found.var_steps,
        "pmf_steps": fields.listed(found.pmf_steps),
        "tokens_per_pass": found.tokens_per_pass,
    }
