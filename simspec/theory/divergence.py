"""How far is a draft law from its target, and how much of it is accepted?

Everything is computed from sums of terms of one sign, so that laws that hardly differ keep their digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simspec.theory.law import FloatArray
from simspec.theory.ranges import check_least
from simspec.theory.token_laws import Law, as_pair, scaled


@dataclass(frozen=True, eq=False)
class Overlap:
    """What speculative sampling makes of one draft token.

    Attributes
    ----------
    alpha : float
        Probability that the draft is accepted, Σ min(p, q).
    total_variation : float
        ½ Σ |p − q| = 1 − alpha.
    bhattacharyya : float
        Bhattacharyya coefficient Σ √(pq), in [0, 1].
    hellinger2 : float
        Squared Hellinger distance ½ Σ (√p − √q)² = 1 − Σ √(pq).
    accepted_law : array, shape (V,), or None
        Law of an accepted draft, min(p, q)/alpha; None at alpha = 0.
    residual_law : array, shape (V,), or None
        Law of the token that replaces a rejected draft, (p − q)⁺/(1 − alpha); None where nothing is rejected.
    """

    alpha: float
    total_variation: float
    bhattacharyya: float
    hellinger2: float
    accepted_law: FloatArray | None
    residual_law: FloatArray | None


def overlap(target: Law, draft: Law) -> Overlap:
    """Acceptance rate, distances and the two laws behind one draft token.

    Parameters
    ----------
    target, draft : sequence of float, shape (V,)
        p and q, probabilities by token; entries may be 0.

    Returns
    -------
    Overlap

    Raises
    ------
    ParameterError
        If ``target`` or ``draft`` is no law, or their lengths differ.

    References
    ----------
    Leviathan, Kalman, Matias (2023), Definition 3.2, Lemma 3.3 and Corollary 3.6: their distance is total variation.
    The article's section 2.2 has 1 − D_TV/2, which is right only if D_TV means Σ |p − q|.

    Examples
    --------
    >>> both = overlap([0.5, 0.3, 0.2], [0.2, 0.3, 0.5])
    >>> round(both.alpha, 12), both.residual_law
    (0.7, array([1., 0., 0.]))
    """
    p, q = as_pair(target, draft)
    common, above = np.minimum(p, q), np.maximum(p - q, 0.0)
    hellinger2 = min(0.5 * float(np.sum((np.sqrt(p) - np.sqrt(q)) ** 2)), 1.0)
    return Overlap(
        alpha=min(float(common.sum()), 1.0),
        total_variation=min(0.5 * float(np.abs(p - q).sum()), 1.0),
        bhattacharyya=min(float(np.sqrt(p) @ np.sqrt(q)), 1.0),
        hellinger2=hellinger2,
        accepted_law=None if not common.any() else common / common.sum(),
        residual_law=scaled(above),
    )


def renyi(first: Law, second: Law, order: float) -> float:
    """Rényi divergence D_λ(first ‖ second), in nats.

    Parameters
    ----------
    first, second : sequence of float, shape (V,)
        Probabilities by token; entries may be 0.
    order : float
        λ, 0 ≤ order ≤ ``inf``; 0, 1 and ``inf`` are the limits.

    Returns
    -------
    float
        ln(Σ first^λ second^(1−λ))/(λ − 1), ≥ 0 and non-decreasing in λ.  λ = 0: −ln second(first > 0); 1:
        Kullback-Leibler; ``inf``: ln max first/second.  ``inf`` for laws without a common token, and from λ = 1 on
        where ``second`` lacks a token of ``first``.

    Raises
    ------
    ParameterError
        If an argument is no law, the lengths differ, or ``order`` is negative.

    References
    ----------
    Rényi (1961); van Erven, Harremoës (2014), Definition 2 and Theorem 3 (non-decreasing in the order).  The article's
    section 2.2, theorem 1, has it non-increasing.

    Examples
    --------
    >>> p, q = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    >>> [round(renyi(p, q, order), 6) for order in (0, 0.5, 1, 2, float("inf"))]
    [0.0, 0.139868, 0.274887, 0.48858, 0.916291]
    """
    check_least("order", order, 0)
    p, q = as_pair(first, second)
    both = (p > 0.0) & (q > 0.0)
    if not both.any() or (order >= 1.0 and np.any(p[~both] > 0.0)):
        return math.inf
    if order == 0.0:
        return max(0.0, -math.log(min(float(q[both].sum()), 1.0)))
    if math.isinf(order):
        return max(0.0, float(np.max(_log_ratio(p[both], q[both]))))
    if order == 1.0:
        gap = q[both] - p[both] + p[both] * _log_ratio(p[both], q[both])  # each ≥ 0
        return max(0.0, float(gap.sum() + q[~both].sum()))
    return max(0.0, _between(p[both], q[both], order, float(p[~both].sum()), float(q[~both].sum())))


def _between(p: FloatArray, q: FloatArray, order: float, only_p: float, only_q: float) -> float:
    """The divergence at an order that is no limit, from the common tokens and the mass of the others."""
    mu, ratio = 1.0 - order, _log_ratio(q, p)
    with np.errstate(over="ignore"):
        moved = mu * (q - p) - p * np.expm1(mu * ratio)  # all ≥ 0 for λ < 1, all ≤ 0 for λ > 1
        deficit = float(moved.sum()) + mu * only_q + order * only_p  # 1 − Σ p^λ q^(1−λ)
    if abs(deficit) < 0.5:
        return -math.log1p(-deficit) / mu
    exponent = np.log(p) + mu * ratio
    top = float(exponent.max())
    return -(top + math.log(float(np.exp(exponent - top).sum()))) / mu


def _log_ratio(p: FloatArray, q: FloatArray) -> FloatArray:
    """ln(p/q) by token, exact to the last digits where p ≈ q."""
    apart = np.log(p) - np.log(q)
    near = np.abs(p - q) < 0.5 * q
    apart[near] = np.log1p((p[near] - q[near]) / q[near])
    return apart
