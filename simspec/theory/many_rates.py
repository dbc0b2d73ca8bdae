"""What do two-state chains do at many acceptance rates at once: tokens per round, full rounds, rounds for N tokens?

A round accepts its first draft with chance s_R if the round before rejected one and s_F if it did not, and each further
draft with chance a; i.i.d. drafts have s_R = s_F = a = α.  Everything here is an array with one row per rate.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from simspec.theory.law import FloatArray

ROUNDING = 1e-12
"""A quantile is not missed for the roundings of a sum of probabilities."""
_BLOCK = 32
"""Rates whose laws are made together: they stay in the cache, and memory does not grow with the number of rates."""


@dataclass(frozen=True, eq=False)
class Starts:
    """Chances that a draft is accepted: the first of a round, by what ended the round before, and any further one.

    Attributes
    ----------
    after_reject, after_full, again : array
        s_R, s_F and a, one entry per rate.
    carried : bool
        Whether s_R and s_F differ, that is whether rounds remember.
    """

    after_reject: FloatArray
    after_full: FloatArray
    again: FloatArray
    carried: bool


def starts(alphas: FloatArray, rho: float = 0.0, steps: tuple[int, int] | None = None) -> Starts:
    """The chances of a two-state chain at many rates; ``steps`` = (m_R, m_F) of `simspec.Markov` if it is carried.

    Complex rates are admitted: an imaginary part carries a derivative through.

    Examples
    --------
    >>> starts(np.array([0.5]), 0.5, (1, 2)).after_full
    array([0.625])
    """
    again = alphas + rho * (1.0 - alphas)
    if steps is None:
        return Starts(alphas, alphas, again, False)
    return Starts(alphas * (1.0 - rho ** steps[0]), 1.0 - (1.0 - alphas) * (1.0 - rho ** steps[1]), again, True)


def long_run(chain: Starts, kappa_max: int) -> tuple[FloatArray, FloatArray]:
    """Long-run tokens per round and share of full rounds, each of shape (rates, kappa_max + 1).

    Examples
    --------
    >>> tokens, full = long_run(starts(np.array([0.5])), 2)
    >>> tokens, full
    (array([[1.  , 1.5 , 1.75]]), array([[1.  , 0.5 , 0.25]]))
    """
    rates = chain.again.size
    tokens = np.ones((rates, kappa_max + 1), dtype=chain.again.dtype)
    full = np.ones_like(tokens)
    power, sums = np.ones_like(chain.again), np.zeros_like(chain.again)  # a^(κ−1), 1 + a + … + a^(κ−1)
    for kappa in range(1, kappa_max + 1):
        sums = sums + power
        enter, stay = chain.after_reject * power, chain.after_full * power
        with np.errstate(invalid="ignore", divide="ignore"):  # 0/0 where α = 1, or nothing is ever left: no long run
            share = enter / (1.0 - stay + enter) if chain.carried else enter
        start = share * chain.after_full + (1.0 - share) * chain.after_reject
        tokens[:, kappa], full[:, kappa] = 1.0 + start * sums, share
        power = power * chain.again
    return tokens, full


def emission_rounds(chain: Starts, kappa: int, tokens: int, start_full: FloatArray | None = None) -> FloatArray:
    """Law of the number of rounds that emit N tokens, at many rates at once.

    Parameters
    ----------
    chain : Starts
        From `starts`, with A rates.
    kappa : int
        Draft length, ≥ 0.
    tokens : int
        N ≥ 1.
    start_full : array, shape (A,), optional
        Chance that the first round comes after a full one; without effect unless the chain is carried.

    Returns
    -------
    array, shape (A, N + 1)
        P(rounds = r).  It does not depend on whether the last drafts are cut.

    References
    ----------
    docs/theory.md section 7; `simspec.theory.generation_rounds` is the same at one rate, by a forward pass.

    Examples
    --------
    >>> emission_rounds(starts(np.array([0.5])), 1, 3)
    array([[0.  , 0.  , 0.75, 0.25]])
    """
    rates = chain.again.size
    none = np.zeros((rates, tokens + 1))
    none[:, 0] = 1.0
    if kappa == 0:
        return none[:, ::-1].copy()
    again = chain.again[:, None]
    firsts = [chain.after_reject[:, None], chain.after_full[:, None]][: 1 + chain.carried]
    recent = [deque([none] * (kappa + 1), kappa + 1) for _ in firsts]  # laws of 1, 2, … κ + 1 fewer tokens
    tail = again ** (kappa - 1)
    # Σ aⁱ of the laws after i further acceptances and a rejection, i = 0 … κ − 2, kept up instead of summed anew
    middle = none * (np.power(again, np.arange(kappa - 1)).sum(axis=1, keepdims=True))
    for _ in range(tokens):
        middle = again * middle + recent[0][1] - tail * recent[0][kappa] if kappa > 1 else np.zeros_like(none)
        rejected, full = recent[0][0], recent[-1][kappa]
        ahead = (1.0 - again) * middle + tail * full
        for law, mine in zip([(1.0 - first) * rejected + first * ahead for first in firsts], recent, strict=True):
            mine.appendleft(np.concatenate([np.zeros((rates, 1)), law[:, :-1]], axis=1))
    if not chain.carried or start_full is None:
        return recent[0][0]
    return np.asarray((1.0 - start_full[:, None]) * recent[0][0] + start_full[:, None] * recent[1][0])


def rounds_quantile(law: FloatArray, level: float) -> FloatArray:
    """Smallest number of rounds reached with a share ``level``, for laws of rounds along the last axis.

    Examples
    --------
    >>> rounds_quantile(np.array([[0.0, 0.0, 0.75, 0.25]]), 0.99)
    array([3.])
    """
    return np.asarray((np.cumsum(law, axis=-1) < level - ROUNDING).sum(axis=-1), dtype=np.float64)


def rounds_tables(chain: Starts, kappa_max: int, tokens: int, level: float) -> tuple[FloatArray, FloatArray]:
    """Mean and ``level``-quantile of the rounds that emit N tokens, each of shape (rates, kappa_max + 1).

    The first round of a carried chain starts in the long-run law.

    Examples
    --------
    >>> rounds_tables(starts(np.array([0.5])), 1, 3, 0.99)
    (array([[3.  , 2.25]]), array([[3., 3.]]))
    """
    _, full = long_run(chain, kappa_max)
    means, most = np.empty_like(full), np.empty_like(full)
    for first in range(0, chain.again.size, _BLOCK):
        some = slice(first, first + _BLOCK)
        own = Starts(chain.after_reject[some], chain.after_full[some], chain.again[some], chain.carried)
        for kappa in range(kappa_max + 1):
            law = emission_rounds(own, kappa, tokens, full[some, kappa])
            means[some, kappa] = law @ np.arange(tokens + 1.0)
            most[some, kappa] = rounds_quantile(law, level)
    return means, most
