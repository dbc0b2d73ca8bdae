"""What is the best acceptance that any lossless scheme with K drafts can reach?

It is the value of an optimal transport from the drafted K tokens to the target token, paid whenever the target token is
among them.  By max-flow = min-cut it is 1 + min over token sets H of p(H) − P(all drafts lie in H).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simspec.model.errors import ParameterError
from simspec.theory.law import FloatArray
from simspec.theory.multidraft import as_drafts, check_distinct
from simspec.theory.token_laws import Law, as_pair

SET_TOKENS_LIMIT = 20
"""Tokens whose sets are all looked at."""
DRAWN_SETS_LIMIT = 100_000
_SAME = 1e-12
Tokens = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Transport:
    """The optimum and a set that proves it.

    Attributes
    ----------
    acceptance : float
        Largest probability with which a lossless scheme can emit one of the drafts.
    min_cut : tuple of int
        The smallest set H of tokens at which 1 + p(H) − P(all drafts in H) has this value.
    """

    acceptance: float
    min_cut: tuple[int, ...]


def transport_optimum(target: Law, drafts: Sequence[Law]) -> Transport:
    """The optimum for independent drafts.

    Parameters
    ----------
    target : sequence of float, shape (V,)
        p.
    drafts : sequence of K laws
        q_i, one per draft.  If they are one law, V may be large; otherwise at most 20 tokens may have positive
        probability under the target and under a draft.

    Returns
    -------
    Transport

    Raises
    ------
    ParameterError
        If an argument is no law, or the sets are too many.

    Notes
    -----
    For one law q(H)^K is convex in q(H), so its tangent at the best set shows that a set of the form {p/q < t} is best
    too: the sets to look at are the beginnings of the tokens sorted by p/q.

    References
    ----------
    Sun et al. (2023), SpecTr, section 4 (optimal transport with membership cost); Hu et al. (2025), Towards Optimal
    Multi-draft Speculative Decoding (its dual as a choice of a set).

    Examples
    --------
    >>> q = [0.2, 0.3, 0.5]
    >>> found = transport_optimum([0.5, 0.3, 0.2], [q, q])
    >>> round(found.acceptance, 6), found.min_cut
    (0.86, (1, 2))
    """
    p, laws = as_drafts(target, drafts)
    if all(q is laws[0] or np.array_equal(q, laws[0]) for q in laws):
        return _one_law(p, laws[0], len(laws))
    anywhere = np.max(laws, axis=0)
    free, sure = _free(p, anywhere)
    inside = np.ones(1 << free.size)
    for q in laws:
        inside *= float(q[sure].sum()) + _over_sets(q[free])
    return _least(p, free, sure, _over_sets(p[free]) - inside)


def _one_law(p: FloatArray, q: FloatArray, draws: int) -> Transport:
    tokens = np.flatnonzero(q > 0.0)
    tokens = tokens[np.argsort(p[tokens] / q[tokens], kind="stable")]
    mass_p = np.concatenate(([0.0], np.cumsum(p[tokens])))
    mass_q = np.concatenate(([0.0], np.minimum(np.cumsum(q[tokens]), 1.0)))
    cut = mass_p - mass_q**draws
    first = int(np.flatnonzero(cut <= cut.min() + _SAME)[0])
    return Transport(_share(1.0 + float(cut.min())), tuple(sorted(int(token) for token in tokens[:first])))


def transport_optimum_distinct(target: Law, draft: Law, draws: int) -> Transport:
    """The optimum for K distinct drafts, drawn one after the other without replacement.

    Parameters
    ----------
    target, draft : sequence of float, shape (V,)
        p and q; at most 20 tokens may have positive probability under both.
    draws : int
        K, at most the number of tokens the draft can draw; they may form at most 100,000 sets.

    Returns
    -------
    Transport

    Raises
    ------
    ParameterError
        If an argument is out of range or no law, or the sets are too many.

    References
    ----------
    As `transport_optimum`; Jeon et al. (2024), Recursive Speculative Decoding, for drafts without replacement.

    Examples
    --------
    >>> round(transport_optimum_distinct([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], 2).acceptance, 6)
    0.985714
    """
    p, q = as_pair(target, draft)
    check_distinct(q, draws)
    free, sure = _free(p, q)
    place = {int(token): i for i, token in enumerate(free)}
    inside = np.zeros(1 << free.size)  # by set of free tokens: first P(those of the drafts are this set)
    for tokens, chance in drawn_sets(q, draws).items():
        inside[sum(1 << place[token] for token in tokens if token in place)] += chance
    for i in range(free.size):  # then P(they lie in this set), adding the subsets token by token
        halves = inside.reshape(-1, 2, 1 << i)
        halves[:, 1] += halves[:, 0]
    return _least(p, free, sure, _over_sets(p[free]) - inside)


def drawn_sets(q: FloatArray, draws: int) -> dict[frozenset[int], float]:
    """Probability of every set of tokens that successive draws without replacement can give.

    Examples
    --------
    >>> {tuple(tokens): chance for tokens, chance in drawn_sets(np.array([0.75, 0.25]), 1).items()}
    {(0,): 0.75, (1,): 0.25}
    """
    tokens = [int(token) for token in np.flatnonzero(q > 0.0)]
    count = max(math.comb(len(tokens), k) for k in range(draws + 1))
    if count > DRAWN_SETS_LIMIT:
        raise ParameterError(
            "draws", f"draws = {draws} from {len(tokens)} tokens gives {count:,} sets; allowed: {DRAWN_SETS_LIMIT:,}"
        )
    chances: dict[frozenset[int], float] = {frozenset(): 1.0}
    for _ in range(draws):
        following: dict[frozenset[int], float] = {}
        for drawn, chance in chances.items():
            open_ = [token for token in tokens if token not in drawn]
            left = math.fsum(q[token] for token in open_)
            for token in open_:
                both = drawn | {token}
                following[both] = following.get(both, 0.0) + chance * float(q[token]) / left
        chances = following
    return chances


def included_distinct(q: FloatArray, draws: int) -> FloatArray:
    """P(token is among K distinct draws), by token.

    Examples
    --------
    >>> included_distinct(np.array([0.5, 0.25, 0.25]), 2).round(6)
    array([0.833333, 0.583333, 0.583333])
    """
    included = np.zeros_like(q)
    for drawn, chance in drawn_sets(q, draws - 1).items():
        left = q.copy()
        left[list(drawn)] = 0.0
        included[list(drawn)] += chance
        included += chance * left / left.sum()
    return np.minimum(included, 1.0)


def _free(p: FloatArray, q: FloatArray) -> tuple[Tokens, Tokens]:
    """Tokens to be chosen for H, and those in H at no price; a token that is never drafted is not worth its price."""
    free, sure = np.flatnonzero((p > 0.0) & (q > 0.0)), np.flatnonzero((p == 0.0) & (q > 0.0))
    if free.size > SET_TOKENS_LIMIT:
        raise ParameterError(
            "target", f"target shares {free.size} tokens with the drafts; allowed: {SET_TOKENS_LIMIT} for this scheme"
        )
    return free, sure


def _over_sets(weights: FloatArray) -> FloatArray:
    """The sum of weights over every set, the set being the binary digits of the index."""
    sums = np.zeros(1)
    for weight in weights:
        sums = np.concatenate((sums, sums + weight))
    return sums


def _least(p: FloatArray, free: Tokens, sure: Tokens, cut: FloatArray) -> Transport:
    near = np.flatnonzero(cut <= cut.min() + _SAME)
    chosen = min((int(index) for index in near), key=lambda index: (index.bit_count(), index))
    tokens = [int(token) for i, token in enumerate(free) if chosen >> i & 1]
    if float(p[tokens].sum()) > 0.0 or cut.min() < -_SAME:
        tokens += [int(token) for token in sure]
    return Transport(_share(1.0 + float(cut.min())), tuple(sorted(tokens)))


def _share(value: float) -> float:
    return min(max(float(value), 0.0), 1.0)
