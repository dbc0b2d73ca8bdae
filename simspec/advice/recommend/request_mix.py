"""What do easy and hard requests make of rounds, of p99, of a comparison?  Rates as nodes, with a curve for each."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from simspec.advice.recommend.request_law import request_law
from simspec.advice.recommend.request_weights import one_length, why_not
from simspec.evidence.observed import Observed
from simspec.evidence.rounds.requests import tokens_by_group, verdicts_by_group

Floats = NDArray[np.float64]
_ENDS = (0.0, 0.01, 0.05, 0.3, 0.8, 1.0)
_PER_PIECE = 12
"""Nodes of each piece of the law; the pieces are narrow where the hardest requests are, which make the p99."""
_STEPS = 4


@dataclass(frozen=True, eq=False)
class RequestMix:
    """Requests whose rate has a Beta law.

    Attributes
    ----------
    share, rates : float array (nodes,)
        Share of requests, and rate of an examined draft.
    shape : float array (positions,)
        What the rate of position j is times that of the request; beyond, ``after``.
    after : float
    tokens : float
        Mean tokens of a request.
    lengths : float
        Mean square of the tokens of a request over the square of their mean.
    """

    share: Floats
    rates: Floats
    shape: Floats
    after: float
    tokens: float
    lengths: float

    def curves(self, kappa: int) -> Floats:
        """S_1 … S_kappa of each node, (nodes, kappa)."""
        shape = np.concatenate([self.shape, np.full(max(0, kappa - len(self.shape)), self.after)])[:kappa]
        return np.asarray(np.cumprod(np.clip(self.rates[:, None] * shape, 0.0, 1.0), axis=1))

    def emitted(self, kappa: int) -> Floats:
        """E of each node."""
        return np.asarray(1.0 + self.curves(kappa).sum(axis=1))

    def full(self, kappa: int) -> float:
        """Share of rounds without a rejection, over what E(κ) − E(κ − 1) says; 1 at κ = 0.

        The difference of E is that share where the same rounds are cut at both lengths; requests weighted for each κ
        are not the same rounds.
        """
        if kappa == 0:
            return 1.0
        rounds, before = self.share / self.emitted(kappa), self.share / self.emitted(kappa - 1)
        whole = float(rounds @ self.curves(kappa)[:, -1] / rounds.sum())
        return whole / (1.0 / float(rounds.sum()) - 1.0 / float(before.sum()))

    @property
    def spread(self) -> tuple[float, float]:
        """Mean and standard deviation of the rate of a request."""
        mean = float(self.share @ self.rates)
        return mean, float(np.sqrt(self.share @ (self.rates - mean) ** 2))


@functools.lru_cache(maxsize=8)
def request_mix(observed: Observed | None) -> RequestMix | None:
    """The mix behind rounds by request; None where requests are not told apart, or too few.

    Examples
    --------
    >>> own = request_mix(Observed.in_order([[2] * 9] * 20, [[2, 2, 0] * 3, [0, 1, 0] * 3] * 10))
    >>> [round(value, 2) for value in own.spread], request_mix(None) is None
    ([0.53, 0.23], True)
    """
    if observed is None or not observed.rounds or why_not(observed) is not None:
        return None
    law = request_law(*verdicts_by_group(observed))
    share, rates = _nodes(law.alpha, law.rho)
    tokens = tokens_by_group(observed)
    own = RequestMix(
        share, rates, np.ones(0), 1.0, float(tokens.mean()), float((tokens**2).mean() / tokens.mean() ** 2)
    )
    return _shaped(own, observed) if one_length(observed) else own  # else who got long drafts is part of the shape


def _nodes(alpha: float, rho: float) -> tuple[Floats, Floats]:
    from scipy.special import betaincinv

    points, weights = np.polynomial.legendre.leggauss(_PER_PIECE)
    at = np.concatenate([low + (high - low) * (points + 1) / 2 for low, high in pairwise(_ENDS)])
    share = np.concatenate([(high - low) * weights / 2 for low, high in pairwise(_ENDS)])
    size = (1.0 - rho) / rho
    return share, np.clip(betaincinv(alpha * size, (1.0 - alpha) * size, at), 0.0, 1.0)


def _shaped(own: RequestMix, observed: Observed) -> RequestMix:
    """With the rates by position of the rounds seen, which hold requests in proportion to their rounds there."""
    reached, examined = observed.reached().astype(float), observed.examined().astype(float)
    kappa, half = len(reached), len(reached) // 2
    for _ in range(_STEPS):
        rounds = own.share / own.emitted(kappa)
        curve = np.concatenate([[1.0], rounds @ own.curves(kappa) / rounds.sum()])
        mixed = curve[1:] / np.maximum(curve[:-1], 1e-300)
        seen = np.divide(reached, examined, out=mixed.copy(), where=examined > 0)
        before = own.shape if len(own.shape) else np.ones(kappa)
        shape = before * np.divide(seen, mixed, out=np.ones(kappa), where=mixed > 0)
        deep = float(examined[half:].sum())
        after = float((shape[half:] * examined[half:]).sum() / deep) if deep else 1.0
        own = RequestMix(own.share, own.rates, shape, after, own.tokens, own.lengths)
    return own
