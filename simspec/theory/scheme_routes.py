"""Which exact law answers for which scheme?  One function per scheme, from its parameters and the law of a window."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simspec.model.chains import Hmm, TokenChain, normalised
from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.model.process import Process
from simspec.model.rounds import DraftLaw
from simspec.model.schemes import (
    Ahead,
    BigLittle,
    Chain,
    DynamicTree,
    Lookahead,
    Lookup,
    Parallel,
    Pool,
    Scheme,
    Stop,
    Tree,
    Unmask,
)
from simspec.model.trees import DraftTree
from simspec.theory.confidence_stops import stopped_draft
from simspec.theory.dynamic_trees import dynamic_tree
from simspec.theory.lanes import long_run_law
from simspec.theory.law import FloatArray, mean_round_cost
from simspec.theory.overlapped import draft_ahead, speculation_parallel
from simspec.theory.routes import survival_curve, window
from simspec.theory.systems import lookahead_step
from simspec.theory.token_pools import pool_law
from simspec.theory.tree_laws import tree_law
from simspec.theory.two_models import big_little
from simspec.theory.unmasking import parallel_unmask


@dataclass(frozen=True, eq=False)
class SchemeLaw:
    """Long-run means of the rounds of a scheme.

    Attributes
    ----------
    mean_tokens, mean_accepted, mean_drafted : float
        Per round.
    p_rejected : float
        Share of rounds that pay the rollback price.
    price : callable
        Mean cost of a round under a `Cost`, in plain target steps.
    """

    mean_tokens: float
    mean_accepted: float
    mean_drafted: float
    p_rejected: float
    price: Callable[[Cost], float]

    def speedup(self, cost: Cost) -> float:
        """E[tokens]/E[cost], against one plain target step."""
        return self.mean_tokens / self.price(cost)


def scheme_law(scheme: Scheme, process: Process, kappa: int) -> SchemeLaw:
    """Exact long-run means of a scheme on a process.

    Parameters
    ----------
    scheme : Scheme
        One of simspec's own.
    process : Process
        With independent windows.
    kappa : int
        What the scheme may draft: drafts of a chain, nodes of a tree, and so on.

    Returns
    -------
    SchemeLaw

    Raises
    ------
    ParameterError
        The scheme is a user's own, or has no meaning for this process or κ.

    Examples
    --------
    >>> from simspec.model import Iid
    >>> law = scheme_law(Tree(misses=(0.5, 0.2)), Iid(alpha=0.6), 8)
    >>> round(law.mean_accepted, 4), round(law.speedup(Cost(c_d=0.05, c_v=0.01)), 4)
    (1.8256, 2.2075)
    """
    if type(scheme) not in SCHEME_LAWS:
        raise ParameterError("scheme.type", f"type = {scheme.type!r} has no exact route")
    return SCHEME_LAWS[type(scheme)](scheme, process, kappa)


def depth_rates(process: Process, kappa: int) -> list[float]:
    """Chance of draft 1, …, kappa given that those before it were accepted, from the survival curve.

    Examples
    --------
    >>> from simspec.model import Markov
    >>> [round(rate, 4) for rate in depth_rates(Markov(alpha=0.7, rho=0.3), 3)]
    [0.7, 0.79, 0.79]
    """
    curve = [1.0, *survival_curve(process, kappa).tolist()]
    return [after / before if before > 0.0 else 0.0 for before, after in itertools.pairwise(curve)]


def _one_rate(process: Process, kappa: int) -> float:
    rates = {round(rate, 12) for rate in depth_rates(process, max(kappa, 1))}
    if len(rates) > 1:
        raise ParameterError("process", "rates differ by position; allowed: iid for this scheme")
    return depth_rates(process, 1)[0]


def tree_of(scheme: Tree, process: Process, kappa: int) -> DraftTree:
    """The tree that a scheme makes of a process, with chances from the exact law of its windows.

    Parameters
    ----------
    scheme : Tree
        Its shape, or how it grows.
    process : Process
        One with independent windows and no hidden state.
    kappa : int
        Nodes.

    Returns
    -------
    DraftTree

    Raises
    ------
    ParameterError
        The tree has fewer nodes, or the process no independent windows.

    Examples
    --------
    >>> from simspec.model import Iid
    >>> tree_of(Tree(misses=(0.5, 0.2)), Iid(alpha=0.6), 4).parents
    (0, 1, 2, 0)
    """
    longest = process.longest_draft
    rates = depth_rates(process, kappa if longest is None else min(kappa, longest))
    parents, ranks = scheme.shape(DraftLaw(tuple((rate,) for rate in rates)), kappa)
    depths, chances = [0], list[float]()
    for parent, rank in zip(parents, ranks, strict=True):
        depth = depths[parent] + 1
        depths.append(depth)
        if depth > len(rates):
            raise ParameterError("kappa", f"kappa = {kappa} reaches depth {depth}; allowed: {len(rates)} measured ones")
        row = np.atleast_1d(np.asarray(_misses_at(scheme, depth), dtype=float))
        missed = 1.0 if scheme.siblings == "sequential" else 1.0 - rates[depth - 1]
        chances.append(rates[depth - 1] if rank == 1 else missed * float(row[rank - 2]))
    return DraftTree(parents=tuple(parents), chances=tuple(chances), siblings=scheme.siblings)


def _misses_at(scheme: Tree, depth: int) -> Any:
    by_depth = len(scheme.misses) > 0 and isinstance(scheme.misses[0], tuple)
    return scheme.misses[depth - 1] if by_depth else scheme.misses


def _chain(scheme: Chain, process: Process, kappa: int) -> SchemeLaw:
    law = window(process, kappa)
    return SchemeLaw(
        law.mean_tokens, law.mean_accepted, law.mean_drafted, 1.0 - law.p_full, lambda cost: mean_round_cost(law, cost)
    )


def _tree(scheme: Tree, process: Process, kappa: int) -> SchemeLaw:
    law = tree_law(tree_of(scheme, process, kappa))
    return SchemeLaw(law.mean_tokens, law.mean_accepted, law.nodes, law.p_rejected, law.mean_cost)


def _stop(scheme: Stop, process: Process, kappa: int) -> SchemeLaw:
    law = stopped_draft(**stop_arguments(scheme, process, kappa))
    return SchemeLaw(law.mean_tokens, law.mean_accepted, law.mean_drafted, 1.0 - law.p_full, law.mean_cost)


def stop_arguments(scheme: Stop, process: Process, kappa: int) -> dict[str, Any]:
    """What `stopped_draft` takes of a scheme on a process: confidences are rates of hidden states, or one rate.

    Examples
    --------
    >>> from simspec.model import Iid
    >>> stop_arguments(Stop(theta=0.4), Iid(alpha=0.7), 4)["values"]
    (0.7,)
    """
    asked: dict[str, Any] = {"theta": scheme.theta, "rule": scheme.rule, "kmin": min(scheme.kmin, kappa), "kmax": kappa}
    if isinstance(process, Hmm) and not process.carried:
        rows = np.array(normalised(process.P))
        law = long_run_law(rows)
        assert law is not None  # the process has one closed class
        asked |= {"values": scheme.confidences or process.alphas, "weights": law}
        return asked | {"acceptance": process.alphas, "transition": rows}
    rate = _one_rate(process, kappa)
    return asked | {"values": scheme.confidences or (rate,), "weights": (1.0,), "acceptance": (rate,)}


def dynamic_arguments(scheme: DynamicTree, process: Process, kappa: int) -> dict[str, Any]:
    """What `dynamic_tree` takes of a scheme on a process.

    Examples
    --------
    >>> from simspec.model import Iid
    >>> dynamic_arguments(DynamicTree(misses=(0.5,), breadth=2, depth=2), Iid(alpha=0.6), 3)["confidences"]
    [[0.6, 0.2]]
    """
    if isinstance(process, Hmm) and not process.carried:
        if len(set(process.P)) > 1:
            raise ParameterError("process", "rows of P differ; allowed: equal rows for this scheme")
        alphas, law = list(process.alphas), normalised(process.P)[0]
    else:
        alphas, law = [_one_rate(process, scheme.depth)], [1.0]

    def vectors(rates: Sequence[float]) -> FloatArray:
        one = np.array(rates)[:, None]
        return np.hstack([one, (1.0 - one) * np.array(scheme.misses)])[:, : scheme.breadth]

    believed, true = vectors(scheme.confidences or alphas), vectors(alphas)
    order = np.argsort(-believed, axis=1, kind="stable")
    return {
        "confidences": np.take_along_axis(believed, order, axis=1).tolist(), "weights": law,
        "acceptance": np.take_along_axis(true, order, axis=1).tolist(), "breadth": scheme.breadth,
        "depth": scheme.depth, "nodes": kappa,
    }  # fmt: skip


def _dynamic_tree(scheme: DynamicTree, process: Process, kappa: int) -> SchemeLaw:
    law = dynamic_tree(**dynamic_arguments(scheme, process, kappa))
    return SchemeLaw(law.mean_tokens, law.mean_accepted, law.mean_nodes, law.p_rejected, law.mean_cost)


def _big_little(scheme: BigLittle, process: Process, kappa: int) -> SchemeLaw:
    turn = big_little(scheme.p_fallback, 1.0 - _one_rate(process, kappa), kappa)
    return SchemeLaw(turn.mean_tokens, turn.mean_kept, turn.mean_small_tokens, turn.p_rollback, turn.mean_cost)


def _lookahead(scheme: Lookahead, process: Process, kappa: int) -> SchemeLaw:
    if scheme.good == 0.0:
        raise ParameterError("good", "good = 0 is out of range; allowed: 0 < good ≤ 1 for the exact route")
    step = lookahead_step(_one_rate(process, kappa), kappa, scheme.candidates, 1.0 / scheme.good)
    accepted = step.mean_best * scheme.good
    rejected = 1.0 - float(step.pmf_best[-1]) * scheme.good if kappa else 0.0
    return SchemeLaw(
        accepted + 1.0,
        accepted,
        kappa * (scheme.candidates + scheme.window),
        rejected,
        lambda cost: step.mean_cost(cost, scheme.window),
    )


def _lookup(scheme: Lookup, process: Process, kappa: int) -> SchemeLaw:
    """Two kinds of rounds in turn: the long-run share of those with a match weighs a chain against a plain step."""
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


def matched_share(after_match: float, after_miss: float) -> float:
    """Long-run share of rounds with a match, where a match follows a match or a miss with these chances.

    Raises
    ------
    ParameterError
        Rounds stay as they began for ever, so that there is no long-run share.

    Examples
    --------
    >>> round(matched_share(0.8, 0.2), 12)
    0.5
    """
    if after_match == 1.0 and after_miss == 0.0:
        raise ParameterError("after_match", "after_match = 1 with after_miss = 0 never changes; allowed: either change")
    return after_miss / (after_miss + (1.0 - after_match))


def _ahead(scheme: Ahead, process: Process, kappa: int) -> SchemeLaw:
    """Per target pass, from the renewal between rejections: 1/(1 − α) tokens in E[passes]."""
    rate = _one_rate(process, kappa)
    full = math.inf if rate == 1.0 else rate**kappa / (1.0 - rate**kappa)
    first = 1.0 if scheme.pre_verify else 0.0
    known = rate if kappa == 1 else 0.0  # the first draft was the whole window
    passes = full + 1.0 if not scheme.pre_verify else 1.0 + full - known + rate

    def price(cost: Cost) -> float:
        if cost.c_v or cost.c_r or cost.longest_draft is not None:
            raise ParameterError("cost", "cost has c_v, c_r or tables; allowed: c0 and c_d for this scheme")
        own = draft_ahead(rate, cost.c_d, kappa, cost.c0, scheme.pre_verify)
        return max(cost.c0, kappa * cost.c_d) if rate == 1.0 else own.mean_time / passes

    if rate == 1.0:
        return SchemeLaw(float(kappa), float(kappa), float(kappa), 0.0, price)
    accepted = rate / (1.0 - rate) / passes
    drafted = (kappa * (passes - first) + first) / passes
    return SchemeLaw(1.0 / (1.0 - rate) / passes, accepted, drafted, 1.0 / passes, price)


def _parallel(scheme: Parallel, process: Process, kappa: int) -> SchemeLaw:
    """Per block, from the renewal between rejections: ⌊G/κ⌋ + 1 blocks to G + 1 tokens."""
    rate = _one_rate(process, kappa)
    blocks = math.inf if rate == 1.0 else 1.0 / (1.0 - rate**kappa)

    def price(cost: Cost) -> float:
        if cost.c_v or cost.c_r or cost.longest_draft is not None or cost.c0 != 1.0:
            raise ParameterError("cost", "cost is more than c_d; allowed: c0 = 1 and c_d for this scheme")
        return kappa * cost.c_d if rate == 1.0 else speculation_parallel(rate, cost.c_d, kappa).mean_time / blocks

    if rate == 1.0:
        return SchemeLaw(float(kappa), float(kappa), kappa, 0.0, price)
    return SchemeLaw(1.0 / (1.0 - rate) / blocks, rate / (1.0 - rate) / blocks, kappa, 1.0 / blocks, price)


def _pool(scheme: Pool, process: Process, kappa: int) -> SchemeLaw:
    if not isinstance(process, TokenChain):
        raise ParameterError("process", 'the process has no tokens; allowed: type = "token_chain"')
    law = pool_law(process.target, kappa)
    rejected = 1.0 - float(law.pmf_accepted[-1]) if kappa else 0.0
    return SchemeLaw(
        law.mean_accepted + 1.0,
        law.mean_accepted,
        kappa,
        rejected,
        lambda cost: cost.target_pass(kappa) + cost.c_r * rejected,
    )


def _unmask(scheme: Unmask, process: Process, kappa: int) -> SchemeLaw:
    law = parallel_unmask(kappa + 1, _one_rate(process, kappa))
    accepted = law.tokens_per_pass - 1.0
    return SchemeLaw(law.tokens_per_pass, accepted, kappa, 0.0, lambda cost: cost.target_pass(kappa))


SCHEME_LAWS: dict[type[Scheme], Callable[..., SchemeLaw]] = {
    Chain: _chain,
    Tree: _tree,
    Stop: _stop,
    DynamicTree: _dynamic_tree,
    BigLittle: _big_little,
    Lookahead: _lookahead,
    Lookup: _lookup,
    Ahead: _ahead,
    Unmask: _unmask,
    Pool: _pool,
    Parallel: _parallel,
}
"""Scheme → its exact means."""
