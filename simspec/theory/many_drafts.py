"""What is the speed limit when K drafts compete for every position, and K grows?"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.theory.closed import speedup_continuous
from simspec.theory.law import FloatArray
from simspec.theory.multidraft import DRAWS_LIMIT, k_seq, naive_matching, recursive_rejection
from simspec.theory.ranges import EXACT_KAPPA_LIMIT, check_range, check_whole
from simspec.theory.token_laws import Law, as_pair
from simspec.theory.transport import transport_optimum

PROGRAMME_LIMIT = 20_000
"""Drafted multisets of the linear programme."""


@dataclass(frozen=True, eq=False)
class ManyDrafts:
    """Acceptance with K = 1, 2, … independent drafts from one law, by scheme; every array has shape (most,).

    Attributes
    ----------
    naive, recursive, k_seq : array
        Matching, recursive rejection (SpecInfer) and K-SEQ with its best ρ (SpecTr).
    optimum : array
        The best of any lossless scheme.
    tokens_bound : array
        Σ min(p, 1 − (1 − q)^K), which no scheme exceeds.
    independent : array
        1 − (1 − α)^K, as if drafts were accepted independently; bounds recursive rejection and K-SEQ, not the optimum.
    limit : float
        Where the optimum goes as K grows: the target's mass on tokens the draft can draw.
    """

    naive: FloatArray
    recursive: FloatArray
    k_seq: FloatArray
    optimum: FloatArray
    tokens_bound: FloatArray
    independent: FloatArray
    limit: float


def acceptance_by_draws(target: Law, draft: Law, most: int = 16) -> ManyDrafts:
    """Acceptance of one position against the number of drafts.

    Parameters
    ----------
    target, draft : sequence of float, shape (V,)
        p and q.
    most : int
        Largest K, 1 to 1000.

    Returns
    -------
    ManyDrafts

    Raises
    ------
    ParameterError
        If an argument is out of range or no law.

    References
    ----------
    Sun et al. (2023), SpecTr, section 4; Hu et al. (2025), Towards Optimal Multi-draft Speculative Decoding; the
    article's section 8, third question; docs/theory.md, claim C55.

    Examples
    --------
    >>> found = acceptance_by_draws([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], 3)
    >>> found.optimum.round(6), found.recursive.round(6), found.limit
    (array([0.7  , 0.86 , 0.988]), array([0.7  , 0.76 , 0.808]), 1.0)
    """
    p, q = as_pair(target, draft)
    check_whole("most", most, 1, DRAWS_LIMIT)
    draws = np.arange(1, most + 1)
    alpha = float(np.minimum(p, q).sum())
    drawn = 1.0 - (1.0 - q) ** draws[:, None]
    return ManyDrafts(
        naive=np.array([naive_matching(p, [q] * k).acceptance for k in draws]),
        recursive=np.array([recursive_rejection(p, [q] * k).acceptance for k in draws]),
        k_seq=np.array([k_seq(p, q, int(k)).acceptance for k in draws]),
        optimum=np.array([transport_optimum(p, [q] * k).acceptance for k in draws]),
        tokens_bound=np.minimum(p, drawn).sum(axis=1),
        independent=np.array([1.0 - (1.0 - alpha) ** int(k) for k in draws]),
        limit=min(float(p[q > 0.0].sum()), 1.0),
    )


def transport_programme(target: Law, draft: Law, draws: int) -> float:
    """The best acceptance with K independent drafts by linear programming: mass moved from drafted sets to tokens.

    Parameters
    ----------
    target, draft : sequence of float, shape (V,)
        p and q.
    draws : int
        K ≥ 1; the drafts may form at most 20,000 multisets.

    Returns
    -------
    float
        max Σ f(D, x) over f ≥ 0 with x in D, Σ_x f(D, x) ≤ P(the drafts are D), Σ_D f(D, x) ≤ p(x).

    Raises
    ------
    ParameterError
        If an argument is no law, or there are too many multisets.

    References
    ----------
    Sun et al. (2023), SpecTr, section 4 and its Lemma on the optimal transport plan; `simspec.theory.transport_optimum`
    has the same number by max-flow = min-cut, without a programme.

    Examples
    --------
    >>> round(transport_programme([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], 2), 9)
    0.86
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    p, q = as_pair(target, draft)
    check_whole("draws", draws, 1, DRAWS_LIMIT)
    tokens = [int(token) for token in np.flatnonzero(q)]
    many = math.comb(len(tokens) + draws - 1, draws)
    if many > PROGRAMME_LIMIT:
        raise ParameterError("draws", f"draws = {draws} gives {many:,} multisets; allowed: {PROGRAMME_LIMIT:,}")
    supply: list[float] = []
    pairs: list[tuple[int, int]] = []
    for drawn in itertools.combinations_with_replacement(tokens, draws):
        counts = Counter(drawn)
        orders = math.factorial(draws) // math.prod(math.factorial(n) for n in counts.values())
        pairs += [(len(supply), token) for token in counts]
        supply.append(orders * math.prod(float(q[token]) ** n for token, n in counts.items()))
    flow = np.arange(len(pairs))
    rows = np.concatenate([[source for source, _ in pairs], [len(supply) + token for _, token in pairs]])
    limits: Any = coo_array((np.ones(2 * flow.size), (rows, np.tile(flow, 2))), shape=(len(supply) + p.size, flow.size))
    found = linprog(-np.ones(flow.size), A_ub=limits.tocsr(), b_ub=np.concatenate([supply, p]), method="highs")
    assert found.fun is not None, "a transport of bounded mass has an optimum"
    return max(0.0, -float(found.fun))


def many_drafts_speedup(acceptance: float, kappa: int, draws: int, cost: Cost, serial: bool = False) -> float:
    """Throughput with K drafts at each of κ positions, i.i.d. over positions.

    Parameters
    ----------
    acceptance : float
        Acceptance α_K of one position, 0 to 1; its limit 1 gives the bound (κ + 1)/(cost of a round).
    kappa : int
        Positions drafted per round, 0 to 1000.
    draws : int
        K ≥ 1.
    cost : Cost
        c_d is paid per position where the drafts run side by side, per draft where they are ``serial``; c_v per
        verified token, Kκ of them.  Without tables.
    serial : bool
        Whether the drafts are made one after the other.

    Returns
    -------
    float
        (1 + α_K + … + α_K^κ)/(c0 + κ(c_d·[1 or K] + K c_v) + c_r(1 − α_K^κ)).

    Raises
    ------
    ParameterError
        If an argument is out of range or the prices are tables.

    References
    ----------
    Leviathan, Kalman, Matias (2023), Theorem 3.8, with α_K for α; docs/theory.md section 10.

    Examples
    --------
    >>> [round(many_drafts_speedup(best, 4, 2, Cost(c_d=0.1)), 4) for best in (0.86, 1.0)]
    [2.7019, 3.5714]
    """
    check_range("acceptance", acceptance, 0, 1)
    check_whole("kappa", kappa, 0, EXACT_KAPPA_LIMIT)
    check_whole("draws", draws, 1, DRAWS_LIMIT)
    if cost.longest_draft is not None:
        raise ParameterError("cost", "cost has tables, which price one draft; allowed: c0, c_d, c_v, c_r")
    per_position = Cost(c0=cost.c0, c_d=cost.c_d * (draws if serial else 1), c_v=cost.c_v * draws, c_r=cost.c_r)
    return speedup_continuous(acceptance, kappa, per_position)
