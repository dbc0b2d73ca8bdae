"""What must stand beside the numbers of a scheme, because its process or its price is easily misread?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simspec.model.cost import Cost
from simspec.model.iid import Iid
from simspec.model.position import Position
from simspec.model.process import Process
from simspec.model.schemes import Scheme
from simspec.model.survival import Survival

VARYING = (
    'confidences that vary take a process of type "hmm" with equal rows, in a scenario: see "pair: confidence" in '
    "scenarios/systems.toml"
)

DRAFTS = "drafts of a round"
WHAT_KAPPA_IS = {
    "chain": DRAFTS, "self_draft": DRAFTS, "lookup": DRAFTS, "pool": DRAFTS, "copy": DRAFTS,
    "tree": "nodes of the tree", "dynamic_tree": "nodes of the tree", "stop": "most drafts of a round",
    "unmask": "masks of a block less one", "lookahead": "tokens of an n-gram", "big_little": "most tokens of a turn",
    "ahead": "drafts of a window", "parallel": "drafts of a block", "tokens": "levels of drafts",
    "ngram_pool": "tokens of an n-gram",
}  # fmt: skip
"""κ in the words of a scheme; one of a user's own says it itself."""


def kappa_in_words(kind: str) -> str:
    """What κ counts for a ``type`` of scheme; little is known of a user's own.

    Examples
    --------
    >>> kappa_in_words("tree"), kappa_in_words("chain")
    ('nodes of the tree', 'drafts of a round')
    """
    return WHAT_KAPPA_IS.get(kind, "how much a round may draft")


def readings(scheme: Scheme, process: Process, cost: Cost, kappa: int) -> list[str]:
    """What α means here, what the draft knows, what it runs on; nothing of most.

    Parameters
    ----------
    scheme : Scheme
    process : Process
    cost : Cost
        Prices of the target and the draft.
    kappa : int
        κ at which the scheme is told about.

    Examples
    --------
    >>> from simspec.model.schemes import Parallel, Stop, Tree
    >>> readings(Parallel(), Iid(alpha=0.7), Cost(c_d=0.1), 2)
    ['takes 5.0 copies of the target, one per pass under way; the price is time, not work']
    >>> readings(Stop(theta=0.5), Iid(alpha=0.7), Cost(c_d=0.1), 2)[0][:75]
    'every draft is as confident as α says, so that θ ends each round at the sam'
    >>> readings(Tree(misses=(0.4,)), Iid(alpha=0.7), Cost(c_d=0.1), 2)
    []
    """
    told = READINGS.get(scheme.type)
    return [] if told is None else told(scheme, process, cost, kappa)


def _steady(process: Process) -> bool:
    """Whether all drafts of a depth are as likely as each other, so that a confidence tells nothing."""
    return isinstance(process, (Iid, Position, Survival))


def _copies(scheme: Scheme, process: Process, cost: Cost, kappa: int) -> list[str]:
    block = cost.drafting(kappa)
    price = "the price is time, not work"
    if block == 0.0:
        return [f"takes endless copies of the target, since drafts are free; {price}"]
    passes = max(cost.target_pass(kappa) / block, 1.0)
    return [f"takes {passes:.1f} copies of the target, one per pass under way; {price}"]


def _stopping(scheme: Any, process: Process, cost: Cost, kappa: int) -> list[str]:
    if scheme.theta is None or not _steady(process):
        return []
    return [f"every draft is as confident as α says, so that θ ends each round at the same draft, or never; {VARYING}"]


def _growing(scheme: Any, process: Process, cost: Cost, kappa: int) -> list[str]:
    if getattr(scheme, "vectors", None) is not None or not _steady(process):
        return []
    return [f"every node has the same confidences, so that all trees are one tree; {VARYING}, or give vectors"]


def _always(text: str) -> Callable[[Scheme, Process, Cost, int], list[str]]:
    return lambda scheme, process, cost, kappa: [text]


def _rate(text: str) -> Callable[[Scheme, Process, Cost, int], list[str]]:
    """What α is, where the process is one rate."""
    return lambda scheme, process, cost, kappa: [text] if isinstance(process, Iid) else []


READINGS: dict[str, Callable[[Any, Process, Cost, int], list[str]]] = {
    "parallel": _copies,
    "stop": _stopping,
    "self_draft": _stopping,
    "dynamic_tree": _growing,
    "ahead": _always("takes a draft and a target that run at once, on devices of their own"),
    "unmask": _rate("α is the chance that a mask is confident in a pass, no acceptance rate: nothing is verified"),
    "lookup": _rate("α is the chance that a copied token is right, where the text has a match"),
    "lookahead": _rate(
        "α is the chance that the next token of one n-gram is right; a draft model's α is no guess at it: measured "
        "tokens per step say more (docs/systems.md)"
    ),
    "big_little": _rate("α is the chance that the large model keeps a token of the small one"),
}
"""Scheme → what is said of it."""
