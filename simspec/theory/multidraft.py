"""If several tokens are drafted for one position, how likely is it that one of them is accepted?

A scheme gets K drafts, each from its own law, and must emit a token; its output law is computed from what it does, so
that "lossless" is a result.  The schemes here look at one draft after the other; `simspec.theory.transport` has the
best that any scheme can do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simspec.model.errors import ParameterError
from simspec.theory.law import FloatArray
from simspec.theory.ranges import check_least, check_range
from simspec.theory.token_laws import Law, as_law, as_pair, scaled

DRAWS_LIMIT = 1000
PATHS_LIMIT, WORK_LIMIT = 50_000, 200_000_000
"""Orders in which distinct drafts may be rejected, and orders × tokens: a few seconds."""


@dataclass(frozen=True, eq=False)
class MultiDraft:
    """One position with K drafts under one scheme.

    Attributes
    ----------
    acceptance : float
        Probability that one of the drafts is emitted.
    output_law : array, shape (V,)
        Law of the emitted token.
    kept : array, shape (V,)
        Probability that one of the drafts is emitted and is this token.
    stages : array, shape (K,), or None
        Probability that draft i is accepted, given that those before it were not; NaN where it is never looked at, None
        where the scheme does not look at one after the other.
    rho, beta : float or None
        `k_seq`: its parameter, and the acceptance of one draft.
    """

    acceptance: float
    output_law: FloatArray
    kept: FloatArray
    stages: FloatArray | None = None
    rho: float | None = None
    beta: float | None = None


def as_drafts(target: Law, drafts: Sequence[Law]) -> tuple[FloatArray, list[FloatArray]]:
    """The laws of target and drafts, checked; a law given several times is checked once.

    Examples
    --------
    >>> as_drafts([1.0], [[1.0], [1.0]])[1]
    [array([1.]), array([1.])]
    """
    if not 1 <= len(drafts) <= DRAWS_LIMIT:
        raise ParameterError("drafts", f"drafts has {len(drafts)} laws; allowed: 1 to {DRAWS_LIMIT}")
    p = as_law("target", target)
    done: dict[int, FloatArray] = {}
    for i, draft in enumerate(drafts):
        if id(draft) not in done:
            done[id(draft)] = as_law(f"drafts[{i}]", draft, p.size)
    return p, [done[id(draft)] for draft in drafts]


def naive_matching(target: Law, drafts: Sequence[Law]) -> MultiDraft:
    """Draw the target's own token; a draft is accepted if it happens to be that token.

    Parameters
    ----------
    target : sequence of float, shape (V,)
        p.
    drafts : sequence of K laws
        q_i, one per draft; the drafts are independent.

    Returns
    -------
    MultiDraft
        acceptance = Σ p(1 − Π(1 − q_i)).

    Raises
    ------
    ParameterError
        If an argument is no law, or there are no drafts.

    References
    ----------
    Miao et al. (2024), SpecInfer: the naive sampling that its multi-step speculative sampling is compared with.

    Examples
    --------
    >>> q = [0.2, 0.3, 0.5]
    >>> round(naive_matching([0.5, 0.3, 0.2], [q, q]).acceptance, 6)
    0.483
    """
    p, laws = as_drafts(target, drafts)
    stages, missed = np.full(len(laws), np.nan), p  # P(the target's token is x, and x was not drafted so far)
    for i, q in enumerate(laws):
        before = float(missed.sum())
        if before > 0.0:
            stages[i] = float(missed @ q) / before
        missed = missed * (1.0 - q)
    return MultiDraft(_share(1.0 - float(missed.sum())), output_law=p.copy(), kept=p - missed, stages=stages)


def recursive_rejection(target: Law, drafts: Sequence[Law]) -> MultiDraft:
    """Speculative sampling draft by draft; each rejection leaves the residual as the next target.

    Parameters
    ----------
    target : sequence of float, shape (V,)
        p.
    drafts : sequence of K laws
        q_i in the order in which they are tried; the drafts are independent.

    Returns
    -------
    MultiDraft
        Stage i accepts Σ min(r_i, q_i), with r_1 = p and r_(i+1) ∝ (r_i − q_i)⁺.  With one law its stages never rise.

    Raises
    ------
    ParameterError
        If an argument is no law, or there are no drafts.

    References
    ----------
    Miao et al. (2024), SpecInfer, Algorithm 2 (multi-step speculative sampling); Leviathan, Kalman, Matias (2023),
    Algorithm 1, for one draft.

    Examples
    --------
    >>> q = [0.2, 0.3, 0.5]
    >>> found = recursive_rejection([0.5, 0.3, 0.2], [q, q])
    >>> round(found.acceptance, 6), found.stages.round(6)
    (0.76, array([0.7, 0.2]))
    """
    p, laws = as_drafts(target, drafts)
    output, stages = np.zeros_like(p), np.full(len(laws), np.nan)
    reached, remaining = 1.0, p
    for i, q in enumerate(laws):
        kept = np.minimum(remaining, q)
        stages[i] = min(float(kept.sum()), 1.0)
        output += reached * kept
        left = np.maximum(remaining - q, 0.0)
        following = scaled(left)
        if following is None:
            return MultiDraft(acceptance=1.0, output_law=output, kept=output, stages=stages)
        reached, remaining = reached * float(left.sum()), following
    return MultiDraft(_share(1.0 - reached), output_law=output + reached * remaining, kept=output, stages=stages)


def recursive_rejection_distinct(target: Law, draft: Law, draws: int) -> MultiDraft:
    """The same with distinct drafts: each is drawn from the draft law without the tokens drawn before.

    Parameters
    ----------
    target, draft : sequence of float, shape (V,)
        p and q.
    draws : int
        K, at most the number of tokens the draft can draw; the orders in which they can be rejected are all walked, at
        most 50,000 (fewer beyond 4,000 tokens).

    Returns
    -------
    MultiDraft

    Raises
    ------
    ParameterError
        If an argument is out of range or no law, or there are too many orders.

    References
    ----------
    Jeon et al. (2024), Recursive Speculative Decoding, Algorithm 2: recursive rejection sampling without replacement.

    Examples
    --------
    >>> round(recursive_rejection_distinct([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], 2).acceptance, 6)
    0.82
    """
    p, q = as_pair(target, draft)
    check_distinct(q, draws)
    orders, most = math.perm(int(np.count_nonzero(q)), draws - 1), min(PATHS_LIMIT, WORK_LIMIT // q.size)
    if orders > most:
        told = f"{orders:,}" if orders < 10**12 else f"over 10^{int(math.log10(orders))}"
        raise ParameterError("draws", f"draws = {draws} from {q.size} tokens has {told} orders; allowed: {most:,}")
    output, taken, accepted, reached = np.zeros_like(p), np.zeros_like(p), np.zeros(draws), np.zeros(draws)

    def walk(i: int, chance: float, remaining: FloatArray, unused: FloatArray) -> None:
        law = unused / unused.sum()
        kept = np.minimum(remaining, law)
        reached[i] += chance
        accepted[i] += chance * float(kept.sum())
        output[:] += chance * kept
        taken[:] += chance * kept
        following = scaled(np.maximum(remaining - law, 0.0))
        if following is None:
            return
        rejected = law - kept
        if i + 1 == draws:
            output[:] += chance * float(rejected.sum()) * following
            return
        for token in np.flatnonzero(rejected > 0.0):
            without = unused.copy()
            without[token] = 0.0
            walk(i + 1, chance * float(rejected[token]), following, without)

    walk(0, 1.0, p, q)
    stages = np.full(draws, np.nan)
    np.divide(accepted, reached, out=stages, where=reached > 1e-15)
    return MultiDraft(_share(float(accepted.sum())), output_law=output, kept=taken, stages=stages)


def k_seq(target: Law, draft: Law, draws: int, rho: float | None = None) -> MultiDraft:
    """Accept the first draft that passes min(1, p/(ρq)); if none does, draw from what is left of the target.

    Parameters
    ----------
    target, draft : sequence of float, shape (V,)
        p and q.
    draws : int
        K, 1 to 1000 independent drafts from q.
    rho : float, optional
        ρ ≥ 1, large enough for the output to keep the target law; the smallest that is, if left out.

    Returns
    -------
    MultiDraft
        acceptance = 1 − (1 − β)^K with β = Σ min(q, p/ρ); the best ρ solves ρβ = 1 − (1 − β)^K in [1, K].

    Raises
    ------
    ParameterError
        If an argument is out of range or no law, or ``rho`` so small that the output law could not be the target's.

    References
    ----------
    Sun et al. (2023), SpecTr, Algorithm 3 (K-SEQ) and Theorem 2; its acceptance is at least (1 − (1 − 1/K)^K) times the
    best.

    Examples
    --------
    >>> found = k_seq([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], 2)
    >>> round(found.acceptance, 6), round(found.rho, 5)
    (0.791355, 1.45678)
    """
    p, q = as_pair(target, draft)
    check_range("draws", draws, 1, DRAWS_LIMIT)
    best = _least_rho(p, q, draws)
    if rho is not None:
        check_least("rho", rho, 1)
    used = best if rho is None else rho
    kept = np.minimum(q, p / used)
    beta = min(float(kept.sum()), 1.0)
    acceptance = _any(beta, draws)
    taken = kept * (acceptance / beta if beta > 0.0 else 0.0)
    if np.any(taken > p + 1e-12):
        raise ParameterError("rho", f"rho = {used:g} changes the output law; allowed: rho ≥ {best:.6g}")
    rest = scaled(np.maximum(p - taken, 0.0))
    output = taken if rest is None else taken + (1.0 - acceptance) * rest
    return MultiDraft(acceptance, output, taken, stages=np.full(draws, beta), rho=used, beta=beta)


def _least_rho(p: FloatArray, q: FloatArray, draws: int) -> float:
    def enough(rho: float) -> bool:
        beta = min(float(np.minimum(q, p / rho).sum()), 1.0)
        return rho * beta >= _any(beta, draws)

    if draws == 1 or enough(1.0):
        return 1.0
    low, high = 1.0, float(draws)
    for _ in range(60):  # down to one float
        middle = 0.5 * (low + high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def top_candidates(target: Law, draft: Law, draws: int) -> tuple[MultiDraft, tuple[int, ...]]:
    """Draft the K likeliest tokens, without chance; each is tried against what is left of the target.

    Parameters
    ----------
    target, draft : sequence of float, shape (V,)
        p and q.
    draws : int
        K, 1 to V candidates; of equally likely tokens the first is taken.

    Returns
    -------
    found : MultiDraft
        acceptance = p(candidates).
    candidates : tuple of int
        The tokens, the likeliest first.

    Raises
    ------
    ParameterError
        If an argument is out of range or no law.

    References
    ----------
    Hu et al. (2025), Towards Optimal Multi-draft Speculative Decoding, on greedy drafts; what released EAGLE code does
    with its top-k candidates.

    Examples
    --------
    >>> found, candidates = top_candidates([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], 2)
    >>> round(found.acceptance, 6), candidates
    (0.5, (2, 1))
    """
    p, q = as_pair(target, draft)
    check_range("draws", draws, 1, min(q.size, DRAWS_LIMIT))
    candidates = tuple(int(token) for token in np.argsort(-q, kind="stable")[:draws])
    found = recursive_rejection(p, [np.eye(1, q.size, token)[0] for token in candidates])
    return found, candidates


def check_distinct(q: FloatArray, draws: int) -> None:
    """Raise `ParameterError` unless the draft law can draw so many distinct tokens.

    Examples
    --------
    >>> check_distinct(np.array([0.5, 0.5, 0.0]), 3)
    Traceback (most recent call last):
    ...
    simspec.model.errors.ParameterError: draws = 3 is out of range; allowed: 1 ≤ draws ≤ 2
    """
    check_range("draws", draws, 1, min(int(np.count_nonzero(q)), DRAWS_LIMIT))


def _any(probability: float, trials: int) -> float:
    """Chance of at least one success."""
    return 1.0 if probability >= 1.0 else -math.expm1(trials * math.log1p(-probability))


def _share(value: float) -> float:
    return min(max(float(value), 0.0), 1.0)
