"""What does block verification accept over a vocabulary whose paths cannot be listed?  A bracket around the exact mean.

With V_n(t) the mean number of drafts kept of n more ones when share t is owed, V_n(t) = Σ q·[s + V_{n−1}(s)] with
s = min(t·p/q, 1), V_0 = 0 and E[A] = V_κ(1).  V_n rises and is concave in t, and a larger V_{n−1} makes a larger V_n.
So chords between points of a grid stay below it and tangents above it, and either may take its place in the next step.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simspec.model.errors import ParameterError
from simspec.theory.law import FloatArray
from simspec.theory.ranges import EXACT_KAPPA_LIMIT, check_range
from simspec.theory.token_laws import Law, as_pair

POINTS = 129
"""Points of the grid; the bracket narrows with their square."""

GROUPS = 2000
"""Tokens beyond which those of similar p/q are taken together."""

WORK_LIMIT = 200_000
"""Largest kappa·points, seconds of work."""

ROUNDING = 1e-12


def block_bracket(target: Law, draft: Law, kappa: int = 4, points: int = POINTS) -> tuple[float, float]:
    """Lower and upper bound of E[A] of block verification, for any vocabulary.

    Parameters
    ----------
    target, draft : sequence of float, shape (V,)
        p and q, the same in every context.
    kappa : int
        Draft length, ≥ 0; the time grows with kappa·points, which may be 200,000 at most.
    points : int
        Points of the grid of shares, 2 to 10,001.

    Returns
    -------
    lower, upper : float
        E[A] lies between them, and nothing more is promised than their distance.  At 129 points and kappa = 4 that is
        about 10⁻⁴ for laws of many tokens and 10⁻³ for laws of a few, whose V has kinks; it grows with kappa, so that
        150,000 tokens at kappa = 256 may leave 5.5 to 6.3.  Four times the points make it up to 16 times less.

    Raises
    ------
    ParameterError
        An argument is out of range or no law.

    References
    ----------
    Sun et al. (2025), Block Verification Accelerates Speculative Decoding, Algorithm 2; `block_verification` lists all
    paths where they are few.

    Examples
    --------
    >>> lower, upper = block_bracket([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], 4)
    >>> lower <= 2.0635 <= upper, upper - lower < 0.01
    (True, True)
    """
    check_range("kappa", kappa, 0, EXACT_KAPPA_LIMIT)
    check_range("points", points, 2, 10_001)
    if kappa * points > WORK_LIMIT:
        raise ParameterError(
            "points",
            f"points = {points:,} at kappa = {kappa} is too much work; allowed: points ≤ {WORK_LIMIT // kappa:,}",
        )
    p, q = as_pair(target, draft)
    together, apart = _grouped(p[q > 0.0], q[q > 0.0])
    grid = np.linspace(0.0, 1.0, points)
    low = high = slope = np.zeros(points)
    for drafts in range(kappa):
        shares = grid if drafts + 1 < kappa else grid[-1:]
        low = _below(*apart, shares, low)
        high, slope = _above(*together, shares, high, slope)
    return float(low[-1]) * (1.0 - ROUNDING), float(high[-1]) * (1.0 + ROUNDING)


def _grouped(p: FloatArray, q: FloatArray) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
    """Few atoms (p, q) in place of many tokens: one that gives an upper bound, one that gives a lower.

    What is summed is concave in p/q.  So tokens of similar p/q may be added up for the upper bound, and for the lower
    be moved to the smallest and the largest p/q among them, keeping the sums of p and q.
    """
    if p.size <= GROUPS:
        return (p, q), (p, q)
    ratio = p / q
    order = np.argsort(ratio)
    first = np.linspace(0, p.size, GROUPS + 1).astype(np.int64)
    p_sum, q_sum = (np.add.reduceat(law[order], first[:-1]) for law in (p, q))
    least, most = ratio[order[first[:-1]]], ratio[order[first[1:] - 1]]
    width = most - least
    upper = np.clip(np.divide(p_sum - least * q_sum, width, out=0.5 * q_sum, where=width > 0.0), 0.0, q_sum)
    ends = np.concatenate([least * (q_sum - upper), most * upper]), np.concatenate([q_sum - upper, upper])
    some = ends[1] > 0.0
    return (p_sum, q_sum), (ends[0][some], ends[1][some])


def _below(p: FloatArray, q: FloatArray, shares: FloatArray, low: FloatArray) -> FloatArray:
    """V_n at some shares, from chords below V_{n−1}."""
    found, cells = np.empty(shares.size), low.size - 1
    for i, share in enumerate(shares):
        kept = np.minimum(share * p, q)
        k, rest = _cell(kept / q, cells)
        found[i] = kept.sum() + (low[k] + rest * (low[k + 1] - low[k])) @ q
    return found


def _above(
    p: FloatArray, q: FloatArray, shares: FloatArray, high: FloatArray, slope: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """V_n at some shares and a slope there, from tangents above V_{n−1}: the lower of two neighbouring ones."""
    found, cells = np.empty((2, shares.size)), high.size - 1
    for i, share in enumerate(shares):
        kept = np.minimum(share * p, q)
        k, rest = _cell(kept / q, cells)
        left = high[k] + slope[k] * rest / cells
        right = high[k + 1] - slope[k + 1] * (1.0 - rest) / cells
        steep = np.where(left <= right, slope[k], slope[k + 1])
        found[0, i] = kept.sum() + np.minimum(left, right) @ q
        found[1, i] = (p * (1.0 + steep))[kept < q].sum()  # what is made up for grows no more
    return found[0], found[1]


def _cell(share: FloatArray, cells: int) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Where a share lies on the grid: cell, and part of the way through it."""
    at = share * cells
    k = np.minimum(at.astype(np.int64), cells - 1)
    return k, at - k
