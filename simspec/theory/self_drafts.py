"""What does a round cost if drafts are made by heads, or by some of the target's own layers?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from simspec.model.cost import Cost
from simspec.theory.law import WindowLaw
from simspec.theory.ranges import check_finite, check_range


def self_draft_cost(fraction: float, head: float = 0.0, c_v: float = 0.0, c_r: float = 0.0, reuse: bool = True) -> Cost:
    """Prices of self-speculation, in plain target steps.

    Parameters
    ----------
    fraction : float
        Share of the layers that a draft step runs, 0 to 1.
    head : float
        What a draft step adds to them, such as an adapter and its head (Kangaroo), ≥ 0.
    c_v : float
        Verifying one more token through all layers, ≥ 0: what its arithmetic costs beside the pass over the weights.
    c_r : float
        A round with a rejection, ≥ 0.
    reuse : bool
        Whether verification starts from the draft's own layers, the first ones (LayerSkip, Kangaroo), or runs all of
        them again, as it must if layers in between are skipped (Draft & Verify).

    Returns
    -------
    Cost
        c0 = 1, c_d = fraction + head; c_v less the share of the layers that is reused.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    Notes
    -----
    A pass over some layers costs their weights, whatever its width.  κ drafts are κ passes over the first layers; the
    last token must go through them once more, and all of them through the others: κ·e + e + (1 − e) = 1 + κ·e, the same
    as without reuse.  Reuse saves arithmetic (and cache), hence a part of c_v; it saves no pass: `self_draft_work`.

    References
    ----------
    Elhoushi et al. (2024), LayerSkip; Zhang et al. (2024), Draft & Verify; Liu et al. (2024), Kangaroo.

    Examples
    --------
    >>> print(self_draft_cost(0.25, c_v=0.04))
    c0 = 1, c_d = 0.25, c_v = 0.03, c_r = 0, off = 1
    """
    check_range("fraction", fraction, 0, 1)
    for key, value in (("head", head), ("c_v", c_v), ("c_r", c_r)):
        check_finite(key, value, 0)
    return Cost(c_d=fraction + head, c_v=c_v * (1.0 - fraction if reuse else 1.0), c_r=c_r)


@dataclass(frozen=True)
class SelfDraftWork:
    """What a round of self-speculation does, in units of what a plain step does.

    Attributes
    ----------
    passes : float
        Weights read: what a round takes where memory is the limit, as in a single request.
    arithmetic : float
        Layers times tokens: what it takes where arithmetic is the limit, as in a large batch.
    """

    passes: float
    arithmetic: float


def self_draft_work(fraction: float, kappa: int, reuse: bool = True) -> SelfDraftWork:
    """Passes and arithmetic of one round of self-speculation, layer by layer.

    Parameters
    ----------
    fraction : float
        Share e of the layers that drafts, 0 to 1.
    kappa : int
        Drafts, ≥ 0.
    reuse : bool
        Whether what the first layers made of the drafted tokens is kept.

    Returns
    -------
    SelfDraftWork
        1 + κe passes, with and without reuse; arithmetic κ + 1 with reuse, κ + 1 + κe without.

    Raises
    ------
    ParameterError
        If ``fraction`` or ``kappa`` is out of range.

    References
    ----------
    Elhoushi et al. (2024), LayerSkip, section 4.3.

    Examples
    --------
    >>> self_draft_work(0.25, 4), self_draft_work(0.25, 4, reuse=False)
    (SelfDraftWork(passes=2.0, arithmetic=5.0), SelfDraftWork(passes=2.0, arithmetic=6.0))
    """
    check_range("fraction", fraction, 0, 1)
    check_range("kappa", kappa, 0, 1000)
    again = 1 if reuse else kappa + 1  # tokens that go through the first layers to be verified
    passes = [(fraction, 1)] * kappa + [(fraction, again), (1.0 - fraction, kappa + 1)]
    return SelfDraftWork(sum(share for share, _ in passes), sum(share * width for share, width in passes))


def self_draft_round(cost: Cost, drafted: int, fraction: float, head: float = 0.0, reuse: bool = True) -> float:
    """Cost of a round of self-speculation without rollback: a pass over some layers costs their share of a whole one.

    Parameters
    ----------
    cost : Cost
        c0 and c_v, or a table of passes by width; its draft prices are not used.
    drafted : int
        Drafts, ≥ 0.
    fraction, head, reuse
        As for `self_draft_cost`.

    Returns
    -------
    float
        In plain target steps.

    References
    ----------
    Elhoushi et al. (2024), LayerSkip, section 4.3.

    Examples
    --------
    >>> round(self_draft_round(Cost(verify_table=[1.0, 1.0, 1.6]), 2, 0.25), 12)
    1.95
    """
    narrow, wide = cost.target_pass(0), cost.target_pass(drafted)
    first = fraction * (narrow if reuse else wide)
    return drafted * (fraction + head) + first + (1.0 - fraction) * wide


def draft_steps(drafting: str, heads: int, depth: int, nodes: int) -> int:
    """Draft steps of a round, counted one by one.

    Parameters
    ----------
    drafting : {"depth", "window", "node"}
        Whether a step drafts ``heads`` levels, all of them, or one node.
    heads, depth, nodes : int

    Examples
    --------
    >>> [draft_steps(word, 2, 5, 9) for word in ("depth", "window", "node")]
    [3, 1, 9]
    """
    if drafting == "node":
        return nodes
    return len(range(0, depth, heads if drafting == "depth" else max(depth, 1)))


def drafted_law(law: WindowLaw) -> list[tuple[int, float]]:
    """How many drafts a round makes: κ, but for those that the end of a generation cuts.

    Examples
    --------
    >>> from simspec.model import Drift, Iid
    >>> from simspec.theory import window
    >>> drafted_law(window(Iid(alpha=0.5), 3))
    [(3, 1.0)]
    >>> [(drafts, round(p, 4)) for drafts, p in drafted_law(window(Drift(shape="table", alphas=[0.5, 0.5, 0.5]), 1))]
    [(0, 0.3333), (1, 0.6667)]
    """
    cut = [] if law.p_cut is None else [float(p) for p in law.p_cut]
    return [*((drafts, p) for drafts, p in enumerate(cut) if p > 0.0), (law.kappa, 1.0 - sum(cut))]


def heads_price(law: WindowLaw, drafting: str, heads: int) -> Callable[[Cost], float]:
    """Mean cost of a round of a chain whose draft steps make several drafts.

    Examples
    --------
    >>> from simspec.model import Iid
    >>> from simspec.theory import window
    >>> round(heads_price(window(Iid(alpha=0.5), 3), "window", 1)(Cost(c_d=0.2)), 12)
    1.2
    """

    def price(cost: Cost) -> float:
        rounds = (
            share * (cost.target_pass(drafts) + cost.drafting(draft_steps(drafting, heads, drafts, drafts)))
            for drafts, share in drafted_law(law)
        )
        return math.fsum(rounds) + cost.c_r * (1.0 - law.p_full)

    return price


def layers_price(
    drafted: Sequence[tuple[int, float]], p_rejected: float, fraction: float, head: float, reuse: bool
) -> Callable[[Cost], float]:
    """Mean cost of a round of self-speculation, where so many drafts have such a chance.

    Examples
    --------
    >>> price = layers_price([(0, 0.5), (4, 0.5)], 0.5, fraction=0.25, head=0.0, reuse=True)
    >>> price(Cost(c_r=0.2))
    1.6
    """

    def price(cost: Cost) -> float:
        rounds = (share * self_draft_round(cost, drafts, fraction, head, reuse) for drafts, share in drafted)
        return math.fsum(rounds) + cost.c_r * p_rejected

    return price
