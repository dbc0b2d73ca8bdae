"""What is true of a round where the article puts one mean rate: windows, heads, random branches, n-gram pools?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.theory.law import FloatArray, moments
from simspec.theory.ranges import EXACT_KAPPA_LIMIT, as_numbers, check_finite, check_least, check_range, check_whole

_NEARLY_SURE = 0.1
"""Below this (1 − α)(κ + 1) the closed variance loses digits, and the drafts that are lost are counted instead."""


def expected_accepted(alpha: float, kappa: float) -> float:
    """Expected accepted length of one fresh i.i.d. window.

    Parameters
    ----------
    alpha : float
        Acceptance rate of one examined draft, 0 ≤ alpha ≤ 1.
    kappa : float
        Draft length, ≥ 0; ``inf`` gives the limit.

    Returns
    -------
    float
        E[A] = α(1 − α^κ)/(1 − α), in tokens; κ at α = 1.  It approaches α/(1 − α) geometrically.  The corrected or
        bonus token is not counted.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Leviathan, Kalman, Matias (2023), Eq. (1), counts A + 1; the article's section 1 asks for it and gives none.

    Examples
    --------
    >>> [round(expected_accepted(0.7, kappa), 4) for kappa in (1, 4, math.inf)]
    [0.7, 1.7731, 2.3333]
    """
    check_range("alpha", alpha, 0, 1)
    check_least("kappa", kappa, 0)
    if alpha == 1.0:
        return float(kappa)
    if alpha == 0.0 or kappa == 0:
        return 0.0
    return alpha * -math.expm1(kappa * math.log(alpha)) / (1.0 - alpha)


def accepted_variance(alpha: float, kappa: int) -> float:
    """Variance of the accepted length of one fresh i.i.d. window.

    Parameters
    ----------
    alpha : float
        Acceptance rate of one examined draft, 0 ≤ alpha ≤ 1.
    kappa : int
        Draft length, 0 ≤ kappa ≤ 1000.

    Returns
    -------
    float
        Var A = (α − (2κ + 1)(1 − α)α^(κ+1) − α^(2κ+2))/(1 − α)², which tends to α/(1 − α)²; not κα(1 − α).

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    A is geometric, cut at κ; equation (4) of the article's section 2.3 has the variance of κ judged drafts instead.

    Examples
    --------
    >>> round(accepted_variance(0.7, 4), 5), round(4 * 0.7 * 0.3, 5)
    (2.42182, 0.84)
    """
    check_range("alpha", alpha, 0, 1)
    check_whole("kappa", kappa, 0, EXACT_KAPPA_LIMIT)
    miss = 1.0 - alpha
    if miss * (kappa + 1) < _NEARLY_SURE:
        lost = np.arange(1.0, kappa + 1)
        chance = miss * np.power(alpha, kappa - lost)
        return float(chance @ lost**2 - (chance @ lost) ** 2)
    power = alpha ** (kappa + 1)
    return float((alpha - (2 * kappa + 1) * miss * power - power**2) / miss**2)


def expected_accepted_heads(alphas: Sequence[float]) -> float:
    """Expected accepted length where every draft position has its own rate, as with one head per position.

    Parameters
    ----------
    alphas : sequence of float
        Rate of head j, given that the heads before it were accepted, each in [0, 1]; at least one.

    Returns
    -------
    float
        E[A] = Σ_j α_1 ⋯ α_j, in tokens; `simspec.theory.window` of a position process gives its whole law.

    Raises
    ------
    ParameterError
        If ``alphas`` is empty or a rate is out of range.

    References
    ----------
    Cai et al. (2024), Medusa, add up such products over the paths of a tree; claim C47.

    Examples
    --------
    >>> round(expected_accepted_heads([0.8, 0.6, 0.5, 0.4]), 4)
    1.616
    """
    return float(np.sum(np.cumprod(_rates("alphas", alphas))))


def expected_accepted_random_rate(alphas: Sequence[float], weights: Sequence[float], kappa: float) -> float:
    """Expected accepted length where a window draws its rate and keeps it.

    Parameters
    ----------
    alphas : sequence of float
        The possible rates, each in [0, 1].
    weights : sequence of float
        Their probabilities, ≥ 0, in any common scale.
    kappa : float
        Draft length, ≥ 0.

    Returns
    -------
    float
        E[A] = Σ weight·α(1 − α^κ)/(1 − α): at least the value at the mean rate, since A is convex in α.

    Raises
    ------
    ParameterError
        If an argument is out of range, or the two lists do not match.

    References
    ----------
    Jensen's inequality; claim C46.

    Examples
    --------
    >>> round(expected_accepted_random_rate([0.4, 0.9], [1, 1], 4), 5), round(expected_accepted(0.65, 4), 5)
    (1.87235, 1.52563)
    """
    rates, shares = _rates("alphas", alphas), as_numbers("weights", weights)
    if shares.shape != rates.shape or not (shares >= 0.0).all() or not 0.0 < shares.sum() < math.inf:
        raise ParameterError(
            "weights",
            f"weights = {list(weights)} do not fit; allowed: one number ≥ 0 per rate ({rates.size}), not all 0",
        )
    values = [expected_accepted(float(rate), kappa) for rate in rates]
    return float(np.asarray(values) @ shares / shares.sum())


@dataclass(frozen=True, eq=False)
class LookaheadStep:
    """One step of lookahead decoding.

    Attributes
    ----------
    pmf_best : array, shape (gamma + 1,)
        P(the best candidate has j accepted tokens) in a good step.
    mean_best : float
        Its mean.
    mean_tokens : float
        Tokens of a good step, mean_best + 1.
    step_compression : float
        Tokens per step, a good step being one in ``period``.
    candidates, period
        As asked for.
    """

    pmf_best: FloatArray
    mean_best: float
    mean_tokens: float
    step_compression: float
    candidates: int
    period: float

    def pass_width(self, window: int = 0) -> int:
        """Tokens that a pass reads, 1 + γ(G + window): so many times the arithmetic of a plain step.

        Examples
        --------
        >>> lookahead_step(0.5, 4, 15).pass_width(window=15)  # N = 5, W = G = 15
        121
        """
        return 1 + (self.pmf_best.size - 1) * (self.candidates + window)

    def mean_cost(self, cost: Cost, window: int = 0) -> float:
        """c0 + γ(G + window)·c_v + c_r·P(a token of the best candidate is rejected), in plain target steps.

        Every step pays for its candidates and for the ``window`` in which new n-grams are made, good or not; a step
        that is not good rejects them all.  There is no draft model, hence no c_d; c_v is 0 where the target pass is
        bound by memory.
        """
        gamma = self.pmf_best.size - 1
        rejected = (1.0 - float(self.pmf_best[-1]) / self.period) if gamma else 0.0
        return cost.target_pass(gamma * (self.candidates + window)) + cost.c_r * rejected

    def speedup(self, cost: Cost, window: int = 0) -> float:
        """Tokens per step over the cost of one, against one plain target step."""
        return self.step_compression / self.mean_cost(cost, window)


def lookahead_step(alpha: float, gamma: int, candidates: int, period: float = 1.0) -> LookaheadStep:
    """Tokens of a lookahead step: the best of several n-grams, each accepted token by token.

    Parameters
    ----------
    alpha : float
        Acceptance rate of one examined token of an n-gram, 0 ≤ alpha ≤ 1.
    gamma : int
        Tokens of an n-gram that are verified, N − 1; 0 ≤ gamma ≤ 1000.
    candidates : int
        n-grams G verified side by side, ≥ 1.
    period : float
        f ≥ 1: one step in f has candidates, the others yield one token.

    Returns
    -------
    LookaheadStep
        E[tokens] = (γ + 1) − Σ_{i≤γ} (1 − α^i)^G, and S = (f − 1 + E[tokens])/f.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Fu, Bailis, Stoica, Zhang (2024), Break the Sequential Dependency of LLM Inference Using Lookahead Decoding,
    Eq. (5); the candidates are taken as independent.

    Examples
    --------
    >>> [round(lookahead_step(0.5, 4, candidates).mean_tokens, 4) for candidates in (1, 7, 15)]
    [1.9375, 3.8295, 4.4719]
    """
    check_range("alpha", alpha, 0, 1)
    check_whole("gamma", gamma, 0, EXACT_KAPPA_LIMIT)
    check_whole("candidates", candidates, 1)
    check_finite("period", period, 1)
    below = np.append((1.0 - np.power(alpha, np.arange(1.0, gamma + 1))) ** candidates, 1.0)  # P(best < j), j = 1 …
    pmf = np.diff(below, prepend=0.0)
    mean, _ = moments(pmf)
    return LookaheadStep(pmf, mean, mean + 1.0, 1.0 + mean / period, candidates, period)


def _rates(key: str, alphas: Sequence[float]) -> FloatArray:
    rates = as_numbers(key, alphas, "rates")
    for rate in rates:
        check_range(key, float(rate), 0, 1)
    return rates
