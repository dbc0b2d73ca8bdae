"""How deep does the target follow a tree where one rate, or a hidden state, holds for more than one of its nodes?

A rate drawn for the window: along a path hits and misses of the likeliest child are known, and Pólya's urn gives the
chance of the next.  A hidden state: a matrix per node says from which first state the walk comes and where it is now;
so also for n-grams side by side.
"""

from __future__ import annotations

import math

import numpy as np

from simspec.model.chains import Hmm, normalised
from simspec.model.errors import ParameterError
from simspec.model.schemes import Lookahead, Tree
from simspec.model.trees import DraftTree
from simspec.theory.lanes import long_run_law
from simspec.theory.law import FloatArray
from simspec.theory.scheme_arguments import shares_at
from simspec.theory.scheme_means import SchemeLaw, by_length
from simspec.theory.tree_laws import tree_law

CANDIDATES_LIMIT = 24


def _like(base: SchemeLaw, pmf: FloatArray, p_rejected: float) -> SchemeLaw:
    """Means of what is priced as ``base`` is, but for its rejections."""
    return by_length(pmf, base.mean_drafted, p_rejected, lambda cost: base.price(cost) - cost.c_r * base.p_rejected)


def urn_tree(scheme: Tree, alpha: float, rho: float, base: SchemeLaw) -> SchemeLaw:
    """A tree of given shape where a rate from a Beta law holds for the window.

    Rank 1 is hit with the rate; a child of another rank that is accepted tells that rank 1 was missed.
    """
    parents, ranks = scheme.parents or (), scheme.ranks or ()
    hits, misses, depths, chances = [0], [0], [0], list[float]()
    firsts = {parent: node for node, (parent, rank) in enumerate(zip(parents, ranks, strict=True), 1) if rank == 1}
    for node, (parent, rank) in enumerate(zip(parents, ranks, strict=True), 1):
        seen = hits[parent] + misses[parent]
        hit = (alpha * (1.0 - rho) + hits[parent] * rho) / (1.0 - rho + seen * rho) if seen else alpha
        depths.append(depths[parent] + 1)
        missed = 1.0 - hit if scheme.siblings == "exclusive" else 1.0
        chances.append(hit if rank == 1 else missed * shares_at(scheme, depths[-1])[rank - 2])
        tried = scheme.siblings == "exclusive" or firsts.get(parent, node) < node
        hits.append(hits[parent] + (rank == 1))
        misses.append(misses[parent] + (rank > 1 and tried))
    tree = DraftTree(parents=parents, chances=tuple(min(own, 1.0) for own in chances), siblings=scheme.siblings)
    law = tree_law(tree)
    return _like(base, law.pmf_accepted, law.p_rejected)


def hidden_tree(scheme: Tree, process: Hmm, base: SchemeLaw) -> SchemeLaw:
    """A tree of given shape on hidden states, siblings sharing theirs.

    Parameters
    ----------
    scheme : Tree
    process : Hmm
    base : SchemeLaw
        The same tree on any process, for its price.
    """
    pmf, rejected, full = _walked(scheme, process)
    law = _first_states(process, rejected, full, bool(scheme.parents))
    return _like(base, law @ pmf, float(law @ rejected.sum(axis=1)))


def hidden_windows(scheme: Tree, process: Hmm, base: SchemeLaw) -> tuple[list[SchemeLaw], FloatArray]:
    """The same by the state of the first draft, and the chain of such states, instead of the long run."""
    pmf, rejected, full = _walked(scheme, process)
    laws = [_like(base, own, float(lost)) for own, lost in zip(pmf, rejected.sum(axis=1), strict=True)]
    return laws, _next_start(process, rejected, full)


def _walked(scheme: Tree, process: Hmm) -> tuple[FloatArray, FloatArray, FloatArray]:
    """By first state: P(A = j), and the states in which a walk is rejected or ends at a leaf."""
    moves, alphas = np.array(normalised(process.P)), np.array(process.alphas)
    parents, ranks = scheme.parents or (), scheme.ranks or ()
    tree = DraftTree(parents=parents, chances=(0.0,) * len(parents), siblings=scheme.siblings)
    size = len(alphas)
    judged = {0: np.eye(size)}  # by first state: mass of the walk at a node, by the state of its children
    pmf, rejected, full = np.zeros((size, tree.depth + 1)), np.zeros((size, size)), np.zeros((size, size))
    for node in range(tree.nodes + 1):
        if node not in judged:
            continue
        left, depth = judged[node].copy(), tree.depths[node]
        for child in tree.children[node]:
            rank = ranks[child - 1]
            shares = shares_at(scheme, depth + 1)
            missed = (1.0 - alphas) if scheme.siblings == "exclusive" else np.ones(size)
            chance = alphas if rank == 1 else missed * shares[rank - 2]
            accepted = chance * (judged[node] if scheme.siblings == "exclusive" else left)
            left = left - accepted
            if tree.children[child]:
                judged[child] = accepted @ moves
            else:
                pmf[:, depth + 1] += accepted.sum(axis=1)
                full += accepted
        pmf[:, depth] += left.sum(axis=1)
        rejected += left if tree.children[node] else 0.0
    return pmf, rejected, full


def hidden_candidates(scheme: Lookahead, process: Hmm, kappa: int, base: SchemeLaw) -> SchemeLaw:
    """N-grams side by side on hidden states that they share, each accepted by itself.

    Of G candidates none reaches draft j with chance Π(1 − …)^G; multiplied out, the k-th term is a survival curve with
    rates α^k.  Terms alternate, so G is limited.

    Parameters
    ----------
    scheme : Lookahead
    process : Hmm
    kappa : int
    base : SchemeLaw
        The same scheme on any process, for its price.
    """
    if scheme.candidates > CANDIDATES_LIMIT:
        told = f"candidates = {scheme.candidates} on hidden states cancels too many digits"
        raise ParameterError("candidates", f"{told}; allowed for the exact route: at most {CANDIDATES_LIMIT}")
    moves, alphas = np.array(normalised(process.P)), np.array(process.alphas)
    size, many = len(alphas), scheme.candidates
    reach = np.zeros((kappa + 1, size, size))  # [j, first state, state of draft j]: some candidate survives j drafts
    for k in range(1, many + 1):
        alive = np.eye(size)
        for j in range(1, kappa + 1):
            alive = alive * alphas**k
            reach[j] -= (-1.0) ** k * math.comb(many, k) * alive
            alive = alive @ moves
    rejected, pmf = np.zeros((size, size)), np.zeros((size, kappa + 1))
    here = np.eye(size)
    for j in range(1, kappa + 1):
        lost = here - reach[j]
        rejected += lost
        pmf[:, j - 1] = lost.sum(axis=1)
        here = reach[j] @ moves
    full = reach[kappa] if kappa else np.eye(size)
    pmf[:, kappa] = full.sum(axis=1)
    law = _first_states(process, rejected, full, kappa > 0)
    own = scheme.good * (law @ pmf)
    own[0] += 1.0 - scheme.good
    return _like(base, own, 1.0 - float(own[-1]) if kappa else 0.0)


def _first_states(process: Hmm, rejected: FloatArray, full: FloatArray, drafts: bool) -> FloatArray:
    """Long-run law of the state of the first draft; without drafts nothing moves it but the process."""
    carried = process.carried and drafts
    law = long_run_law(_next_start(process, rejected, full) if carried else np.array(normalised(process.P)))
    if law is None:
        raise ParameterError("kappa", "windows stay in the states they begin in for ever; allowed: another κ")
    return law


def _next_start(process: Hmm, rejected: FloatArray, full: FloatArray) -> FloatArray:
    """Law of the next first state by this one's, from where rounds end."""
    moves = np.array(normalised(process.P))
    lags = (process.steps_after_reject, process.steps_after_full)
    after = [np.linalg.matrix_power(moves, lag) for lag in lags]
    return np.asarray(rejected @ after[0] + full @ after[1], dtype=np.float64)
