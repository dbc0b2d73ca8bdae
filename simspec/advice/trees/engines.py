"""How is a tree of drafts written down for a scenario, for Medusa and EAGLE, for vLLM and for SGLang?

Read in: vllm-project/vllm vllm/v1/spec_decode/eagle.py (commit 008603a): paths of ranks, one number of children for all
nodes of a level; FasterDecoding/Medusa medusa/model/medusa_choices.py: lists of ranks from 0; sgl-project/sglang
python/sglang/srt/arg_groups/speculative_hook.py (commit 004c82e): draft tokens count the root.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simspec.model import Cost, DraftTree

if TYPE_CHECKING:
    from simspec.advice.trees.plan import TreePlan


@dataclass(frozen=True)
class EngineForm:
    """One way to write the tree.

    Attributes
    ----------
    key : str
        ``"scenario"``, ``"paths"``, ``"vllm"`` or ``"sglang"``.
    title : str
    text : str
        To be pasted.
    note : str
        What it does not say.
    """

    key: str
    title: str
    text: str
    note: str = ""


def paths(tree: DraftTree, ranks: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Ranks from 0 along the way to every node.

    Examples
    --------
    >>> paths(DraftTree(parents=[0, 0, 1], chances=[0.6, 0.2, 0.6]), (1, 2, 1))
    [(0,), (1,), (0, 0)]
    """
    found: list[tuple[int, ...]] = [()]
    for parent, rank in zip(tree.parents, ranks, strict=True):
        found.append((*found[parent], rank - 1))
    return found[1:]


def children_by_level(tree: DraftTree, ranks: tuple[int, ...]) -> list[int] | None:
    """Children of every node of a level, where they are the first ranks and as many for all; else None.

    Examples
    --------
    >>> children_by_level(DraftTree(parents=[0, 0, 1, 2], chances=[0.6, 0.2, 0.6, 0.6]), (1, 2, 1, 1))
    [2, 1]
    """
    widths: dict[int, int] = {}
    for node, own in enumerate(tree.children):
        level = tree.depths[node]
        if level < tree.depth and widths.setdefault(level, len(own)) != len(own):
            return None
        if sorted(ranks[child - 1] for child in own) != list(range(1, len(own) + 1)):
            return None
    return [widths[level] for level in range(tree.depth)]


def engine_forms(plan: TreePlan) -> list[EngineForm]:
    """The best tree in every form that takes it; none where no draft is best."""
    tree, ranks = plan.best.tree, plan.best.ranks
    if not tree.nodes:
        return []
    ways = paths(tree, ranks)
    return [
        EngineForm("scenario", "a scenario of simspec (simspec run FILE)", _scenario(plan)),
        EngineForm("paths", "Medusa (medusa_choices), EAGLE-1, TensorRT-LLM", str([list(way) for way in ways])),
        _vllm(tree, ranks, ways),
        _sglang(tree),
    ]


def _scenario(plan: TreePlan) -> str:
    tree, process = plan.best.tree, plan.chances.process.identity()
    scheme = plan.chances.scheme(tree.parents, plan.best.ranks).identity()
    usual = Cost().identity() | ({"c0": 0.0} if plan.cost.verify_table is not None else {})
    cost = {key: value for key, value in plan.cost.identity().items() if value != usual.get(key)}
    own = {key: value for key, value in scheme.items() if value not in ((), [])}
    tables = {"process": process, "scheme": own, "cost": cost}
    lines = ['name = "best-tree"', f"kappa = {tree.nodes}"]
    for name, keys in tables.items():
        if keys:
            lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in keys.items() if value != "")]
    return "\n".join(lines)


def _vllm(tree: DraftTree, ranks: tuple[int, ...], ways: list[tuple[int, ...]]) -> EngineForm:
    title = "vLLM (speculative_token_tree, where the version has it)"
    if children_by_level(tree, ranks) is None:
        told = "none: vLLM gives all nodes of a level as many children, and this tree does not"
        return EngineForm("vllm", title, "", told)
    config = {"num_speculative_tokens": tree.nodes, "speculative_token_tree": str(ways)}
    return EngineForm("vllm", title, json.dumps(config), "beside method and model in --speculative-config")


def _sglang(tree: DraftTree) -> EngineForm:
    widest = max(Counter(tree.parents).values())
    text = (
        f"--speculative-num-steps {tree.depth} --speculative-eagle-topk {widest} "
        f"--speculative-num-draft-tokens {tree.nodes + 1}"
    )
    named = widest * (1 + (tree.depth - 1) * widest)
    note = "the nearest setting: SGLang grows its tree by confidence, and draft tokens count the root"
    if tree.nodes > named:
        note += f"; with this topk it names {named} nodes only"
    if widest == 1:
        note = "a chain: draft tokens are the nodes and the root"
    return EngineForm("sglang", "SGLang", text, note)
