"""Which exact law answers for which scheme?  One function per scheme, from its parameters and the law of a window."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from simspec.model.chains import Hmm, normalised
from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.model.process import Process
from simspec.model.schemes import (
    Ahead,
    BigLittle,
    Chain,
    Copy,
    DynamicTree,
    Lookahead,
    Lookup,
    NgramPool,
    Parallel,
    Pool,
    Scheme,
    SelfDraft,
    Stop,
    Tokens,
    Tree,
    Unmask,
)
from simspec.theory.confidence_stops import stopped_draft
from simspec.theory.depth_laws import ahead_drawn, big_little_law, lookahead_law, stop_law, stopped_length
from simspec.theory.dynamic_trees import dynamic_tree
from simspec.theory.law import mean_round_cost
from simspec.theory.own_laws import own_law
from simspec.theory.ranges import check_whole
from simspec.theory.remasking import remask
from simspec.theory.routes import window
from simspec.theory.scheme_arguments import (
    depth_rates,
    dynamic_arguments,
    equal_rates,
    matched_share,
    one_rate,
    stop_arguments,
    tree_of,
)
from simspec.theory.scheme_means import SchemeLaw, by_length
from simspec.theory.scheme_rows import over_rows
from simspec.theory.self_drafts import draft_steps, drafted_law, heads_price, layers_price
from simspec.theory.text_routes import big_little_scheme, copy_scheme, ngram_pool_scheme, pool_scheme
from simspec.theory.token_walks import token_means
from simspec.theory.tree_laws import tree_law
from simspec.theory.unmasking import parallel_unmask


def scheme_law(scheme: Scheme, process: Process, kappa: int) -> SchemeLaw:
    """Exact long-run means of a scheme on a process.

    Parameters
    ----------
    scheme : Scheme
        One of simspec's own, or a user's with an `exact_law`.
    process : Process
        Any that says what its drafts are like; where windows are not alike, means are those of the long run.
    kappa : int
        What the scheme may draft: drafts of a chain, nodes of a tree, and so on.

    Returns
    -------
    SchemeLaw

    Raises
    ------
    ParameterError
        The scheme has no exact law, or no meaning for this process or κ.

    Examples
    --------
    >>> from simspec.model import Iid
    >>> law = scheme_law(Tree(misses=(0.5, 0.2)), Iid(alpha=0.6), 8)
    >>> round(law.mean_accepted, 4), round(law.speedup(Cost(c_d=0.05, c_v=0.01)), 4)
    (1.8256, 2.2075)
    """
    if type(scheme) not in SCHEME_LAWS:
        return own_law(scheme, process, kappa)
    known = over_rows(scheme, process, kappa, scheme_law)
    return SCHEME_LAWS[type(scheme)](scheme, process, kappa) if known is None else known


def _chain(scheme: Chain, process: Process, kappa: int) -> SchemeLaw:
    law = window(process, kappa)
    each = draft_steps(scheme.drafting, scheme.heads, kappa, kappa) == kappa
    price = partial(mean_round_cost, law) if each else heads_price(law, scheme.drafting, scheme.heads)
    return SchemeLaw(law.mean_tokens, law.mean_accepted, law.mean_drafted, 1.0 - law.p_full, price)


def _self_draft(scheme: SelfDraft, process: Process, kappa: int) -> SchemeLaw:
    """Prices layer by layer, over the law of the drafts."""
    if scheme.stop is None:
        law, drafted = _chain(Chain(), process, kappa), drafted_law(window(process, kappa))
    else:
        law = _stop(scheme.stop, process, kappa)
        rates = [] if isinstance(process, Hmm) else depth_rates(process, kappa)
        if equal_rates(rates):
            stopped = stopped_draft(**stop_arguments(scheme.stop, process, kappa))
            drafted = [(drafts, float(p)) for drafts, p in enumerate(stopped.joint.sum(axis=1)) if p > 0.0]
        else:
            drafted = [(stopped_length(scheme.stop, rates), 1.0)]
    return replace(law, price=layers_price(drafted, law.p_rejected, scheme.layers, scheme.adapter, scheme.reuse))


def _tree(scheme: Tree, process: Process, kappa: int) -> SchemeLaw:
    law = tree_law(tree_of(scheme, process, kappa))
    steps = draft_steps(scheme.drafting, scheme.heads, law.depth, law.nodes)

    def unrejected(cost: Cost) -> float:
        return cost.target_pass(law.nodes) + cost.drafting(steps)

    return by_length(law.pmf_accepted, law.nodes, law.p_rejected, unrejected)


def _stop(scheme: Stop, process: Process, kappa: int) -> SchemeLaw:
    rates = [] if isinstance(process, Hmm) else depth_rates(process, kappa)
    if not equal_rates(rates):
        return stop_law(scheme, rates)
    law = stopped_draft(**stop_arguments(scheme, process, kappa))
    means = (law.mean_tokens, law.mean_accepted, law.mean_drafted, 1.0 - law.p_full)
    return SchemeLaw(*means, law.mean_cost, law.pmf_accepted)


def _dynamic_tree(scheme: DynamicTree, process: Process, kappa: int) -> SchemeLaw:
    law = dynamic_tree(**dynamic_arguments(scheme, process, kappa))
    return SchemeLaw(law.mean_tokens, law.mean_accepted, law.mean_nodes, law.p_rejected, law.mean_cost)


def _big_little(scheme: BigLittle, process: Process, kappa: int) -> SchemeLaw:
    if scheme.p_fallback is None:
        return big_little_scheme(scheme, process, kappa)
    return big_little_law(scheme, depth_rates(process, kappa))


def _lookahead(scheme: Lookahead, process: Process, kappa: int) -> SchemeLaw:
    return lookahead_law(scheme, depth_rates(process, kappa))


def _lookup(scheme: Lookup, process: Process, kappa: int) -> SchemeLaw:
    """Two kinds of rounds in turn: the long-run share of those with a match weighs a chain against a plain step."""
    if process.unit != "window":  # a plain step between two windows would change what the second one starts from
        told = f"lookup has no exact route on {process.type} whose windows depend on each other"
        raise ParameterError("process", f"{told}; allowed: windows that start afresh, markov, hmm, drift, or mixtures")
    found, share = window(process, kappa), matched_share(scheme.after_match, scheme.after_miss)
    return SchemeLaw(
        1.0 + share * found.mean_accepted,
        share * found.mean_accepted,
        share * kappa,
        share * (1.0 - found.p_full),
        lambda cost: (
            cost.target_pass(0) * (1.0 - share) + share * (cost.target_pass(kappa) + cost.c_r * (1.0 - found.p_full))
        ),
    )


def _ahead(scheme: Ahead, process: Process, kappa: int) -> SchemeLaw:
    """With pre_verify per target pass, from the renewal between rejections: 1/(1 − α) tokens in E[passes]."""
    check_whole("kappa", kappa, 1)
    rate = one_rate(process, kappa)
    if not scheme.pre_verify or rate == 1.0:  # no draft is judged alone
        return ahead_drawn([1.0], [rate], kappa)
    wide_ones = rate / (1.0 - rate**kappa)
    passes = 1.0 + wide_ones  # the first one judges one draft

    def price(cost: Cost) -> float:
        drafting = cost.drafting(kappa)
        wide, alone = max(cost.target_pass(kappa), drafting), max(cost.target_pass(1), drafting)
        return (alone + wide_ones * wide + cost.c_r) / passes  # `draft_ahead`, by width, and a rollback per rejection

    tokens = 1.0 / (1.0 - rate) / passes
    return SchemeLaw(tokens, rate * tokens, (1.0 + kappa * wide_ones) / passes, 1.0 / passes, price)


def _parallel(scheme: Parallel, process: Process, kappa: int) -> SchemeLaw:
    """Per block, from the renewal between rejections: ⌊G/κ⌋ + 1 blocks to G + 1 tokens."""
    check_whole("kappa", kappa, 1)
    rate = one_rate(process, kappa)
    blocks = math.inf if rate == 1.0 else 1.0 / (1.0 - rate**kappa)

    def price(cost: Cost) -> float:
        drafting = cost.drafting(kappa)
        if rate == 1.0:
            return drafting
        drafted = rate / (1.0 - rate**kappa)  # E⌈G/κ⌉ blocks are drafted before the pass that rejects
        return (drafting * drafted + cost.target_pass(kappa) + cost.c_r) / blocks

    if rate == 1.0:
        return SchemeLaw(float(kappa), float(kappa), kappa, 0.0, price)
    return SchemeLaw(1.0 / (1.0 - rate) / blocks, rate / (1.0 - rate) / blocks, kappa, 1.0 / blocks, price)


def _unmask(scheme: Unmask, process: Process, kappa: int) -> SchemeLaw:
    chance = _confident(scheme, process)
    if scheme.steps is not None and scheme.steps > kappa + 1:
        told = f"steps = {scheme.steps} for {kappa + 1} masks leaves passes without a token"
        raise ParameterError("steps", f"{told}; allowed: 1 to kappa + 1")
    law = (
        parallel_unmask(kappa + 1, chance) if scheme.steps is None
        else remask(kappa + 1, scheme.steps, values=[1.0, 0.0], weights=[chance, 1.0 - chance], tau=1.0)
    )  # fmt: skip
    tokens = law.tokens_per_pass
    return SchemeLaw(tokens, tokens - 1.0, kappa, 0.0, lambda cost: cost.target_pass(kappa), loss=law.p_unsure)


def _confident(scheme: Unmask, process: Process) -> float:
    """Chance that a mask is confident: a rate, or that of the confidences of at least tau."""
    if not isinstance(process, Hmm) or len(process.alphas) == 1:
        if scheme.tau is not None:
            told = "tau has no confidences to be compared with: one rate is the chance of being confident"
            raise ParameterError("tau", f"{told}; allowed: tau with an hmm of equal rows")
        return one_rate(process, 1)
    if len(set(process.P)) > 1:
        raise ParameterError("process", "rows of P differ; allowed: equal rows, so that masks are alike")
    if scheme.tau is None:
        raise ParameterError("tau", "tau is missing; it says which confidences of the process count as confident")
    weights = np.array(normalised(process.P)[0])
    return min(float(weights[np.array(process.alphas) >= scheme.tau].sum()), 1.0)


SCHEME_LAWS: dict[type[Scheme], Callable[..., SchemeLaw]] = {
    Chain: _chain,
    SelfDraft: _self_draft,
    Tree: _tree,
    Stop: _stop,
    DynamicTree: _dynamic_tree,
    BigLittle: _big_little,
    Lookahead: _lookahead,
    Lookup: _lookup,
    Ahead: _ahead,
    Unmask: _unmask,
    Pool: pool_scheme,
    Copy: copy_scheme,
    NgramPool: ngram_pool_scheme,
    Parallel: _parallel,
    Tokens: token_means,
}
"""Scheme → its exact means."""
