"""How does a plan of trees read on a terminal?  The answer in one sentence, two tables, the shape, what it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simspec.advice.trees.engines import engine_forms
from simspec.advice.trees.shapes import Shape
from simspec.text import bullets, number, plural, table, wrapped

if TYPE_CHECKING:
    from simspec.advice.trees.plan import TreePlan

SMALL = 1e-9


def shown(plan: TreePlan) -> str:
    """The whole answer as text."""
    head = [sentence(plan), str(plan.chances), f"costs, in plain target steps: {plan.cost}"]
    blocks = [
        "\n".join(wrapped(line) for line in head),
        _by_nodes(plan),
        _equal_cost(plan),
        _forms(plan),
        bullets("what to keep in mind", plan.notes),
    ]
    return "\n\n".join(block for block in blocks if block)


def sentence(plan: TreePlan) -> str:
    """Which tree, what it gives, what chains give.

    Examples
    --------
    >>> from simspec.advice.trees.plan import plan_tree
    >>> sentence(plan_tree([0.6], {"c_d": 0.05, "c_v": 0.02}))
    'a chain is the best tree: κ = 4: 1.8013x a plain step (exact); branches do not pay'
    """
    best, chain, off = plan.best, plan.chain, 1.0 / plan.cost.off
    beside = _chains(plan)
    if not best.nodes:
        shortest = max((own for own in plan.by_nodes if own.nodes), key=lambda own: own.speedup)
        told = f"the best tree, {plural(shortest.nodes, 'node')}, gives {number(shortest.speedup)}x"
        return f"do not draft: {told} against {number(max(best.speedup, off))}x without"
    off_note = f"; speculation switched off gives {number(off)}x, which is better" if off > best.speedup else ""
    if best.is_chain:
        told = f"a chain is the best tree: κ = {best.nodes}: {number(best.speedup)}x a plain step (exact)"
        return f"{told}; branches do not pay{beside}{off_note}"
    size = f"{plural(best.nodes, 'node')}, {plural(best.law.depth, 'level')}"
    chained = f"the best chain (κ = {chain.nodes}) gives {number(chain.speedup)}x" if chain.nodes else "no chain pays"
    return f"best tree: {size}: {number(best.speedup)}x a plain step (exact); {chained}{beside}{off_note}"


def _chains(plan: TreePlan) -> str:
    own = plan.drafts
    return "" if own is None else f", {own.drafts} drafts side by side (κ = {own.law.depth}) {number(own.speedup)}x"


def _by_nodes(plan: TreePlan) -> str:
    header = ["nodes", "levels", "width", "E[tokens]", "wasted", "E[cost]", "speed-up", "of best"]
    played = any(own.simulated for own in plan.by_nodes)
    header += ["simulated", "interval", ""] if played else [""]
    top = max(plan.best.speedup, SMALL)
    rows = [_row(own, top, played, "← best" if own.nodes == plan.best.nodes else "") for own in plan.by_nodes]
    title = "fastest tree of exactly so many nodes; width is that of the target pass, wasted are drafts not emitted"
    outside = [own for own in plan.shown if own.inside() is False]
    lines = [title, table(header, rows), *(_simulated_chains(plan) if played else [])]
    if outside:
        lines.append(f"{plural(len(outside), 'simulated interval')} without the exact value: an error of simspec")
    return "\n".join(lines)


def _row(own: Shape, top: float, played: bool, mark: str) -> list[str]:
    law = own.law
    cells = [f"{own.nodes}", f"{law.depth}", f"{own.nodes + 1}", number(law.mean_tokens), number(law.mean_wasted, 2)]
    cells += [number(own.mean_cost), number(own.speedup), f"{own.speedup / top:.1%}"]
    return [*cells, *(_simulated(own) if played else []), mark]


def _simulated(own: Shape) -> list[str]:
    if not own.simulated:
        return ["–", ""]
    value, low, high = own.simulated[0]
    return [number(value), f"[{number(low)}, {number(high)}]"]


def _simulated_chains(plan: TreePlan) -> list[str]:
    told = []
    for name, own in (("chain", plan.chain), ("side by side", plan.drafts)):
        if own is not None and own.simulated:
            told.append(f"{name} {number(own.speedup)}, simulated {' '.join(_simulated(own))}")
    return ["; ".join(told)] if told else []


def _equal_cost(plan: TreePlan) -> str:
    if not plan.equal_cost:
        return ""
    header = ["round may cost", "chain: E[tokens]", "κ", "side by side", "K × κ", "tree", "nodes, levels"]
    rows = []
    for row in plan.equal_cost:
        chain, drafts, tree = row["chain"], row["drafts"], row["tree"]
        rows.append(
            [
                number(row["round_cost"]),
                _tokens(chain),
                f"{chain['depth']}" if chain else "–",
                _tokens(drafts),
                f"{drafts['drafts']} × {drafts['depth']}" if drafts else "–",
                _tokens(tree),
                f"{tree['nodes']}, {tree['depth']}",
            ]
        )
    aside = ", rollback aside" if plan.cost.c_r else ""
    title = f"at equal cost{aside}: most tokens per round of a chain, of drafts side by side, of a tree"
    return f"{title}\n{table(header, rows)}"


def _tokens(found: dict[str, Any] | None) -> str:
    return "–" if found is None else number(found["mean_tokens"])


def _forms(plan: TreePlan) -> str:
    out = []
    for form in engine_forms(plan):
        note = f" ({form.note})" if form.note and form.text else ""
        out.append(f"{form.title}{note}:\n{form.text or form.note}")
    return "\n\n".join(out)


def notes(plan: TreePlan) -> list[str]:
    """What these numbers rest on, and what they leave out."""
    found = [*plan.chances.notes, *plan.costs.notes]
    measured = plan.costs.measured
    if measured is not None and plan.costs.nodes > measured:
        told = f"a pass was measured up to {measured} drafts; wider ones go on in a straight line"
        found.append(f"{told}, the best tree's among them: measure wider ones" if plan.best.nodes > measured else told)
    if plan.best.nodes == plan.nodes:
        found.append(f"the best tree takes the whole budget of {plan.nodes} nodes: more may be better (--nodes)")
    if plan.depth is not None and plan.best.law.depth == plan.depth:
        found.append(f"it is as deep as allowed, {plan.depth}: deeper may be better (--depth)")
    if plan.chances.by_depth and plan.best.law.depth == plan.chances.depths:
        found.append(f"it is as deep as chances were given, {plan.chances.depths}: measure deeper ones")
    if plan.chances.siblings == "exclusive":
        found.append(
            "siblings exclude each other, as under greedy decoding; where a sampled target tries them in turn, give "
            "--siblings sequential with chances given that those before were rejected"
        )
    else:
        found.append("siblings are tried in turn: the chance of rank 2 is that of a draft whose sibling was rejected")
    found.append(
        "a chance depends on depth and rank alone; where the draft knows how sure it is, a tree that grows by "
        "confidence (dynamic_tree) keeps more"
    )
    if plan.drafts is not None:
        found.append("drafts side by side part at the first token and are chains of rank 1 below it")
    return found
