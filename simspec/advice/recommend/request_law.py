"""Which law do the rates of requests have, how well is it known, and what is the rate of each?"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simspec.evidence.rounds.requests import MOST_ALIKE, beta_point
from simspec.stats.logits import rate

Floats = NDArray[np.float64]
Joined = Callable[[NDArray[np.generic]], Floats]
Rows = tuple[Floats, Floats]
NODES = 10
"""Rates that stand for the posterior of one request: moments of the tail are right to 0.5%."""
INTERPOLATED = 2_000
"""Requests beyond which the error of their law is left out."""
KNOTS = 5
"""Correlations between which draws are interpolated."""
LEAST = 1e-6
"""Of a rate or correlation: none is taken as nothing."""
MOST_DRAWN = 0.9


@dataclass(frozen=True, eq=False)
class RequestLaw:
    """A Beta law of rates over requests, fitted by maximum likelihood.

    Attributes
    ----------
    alpha, rho : float
        Mean rate of a request, and correlation of two outcomes in one request, 1e-6 to 0.999.
    accepted, rejected : float array (requests,)
        Outcomes of each.
    slopes : float array (requests, 2)
        Of its log-likelihood by (alpha, rho).
    """

    alpha: float
    rho: float
    accepted: Floats
    rejected: Floats
    slopes: Floats

    @property
    def requests(self) -> int:
        """How many there are."""
        return len(self.accepted)

    @property
    def step(self) -> float:
        """A small step of alpha that stays inside."""
        return 0.02 * min(self.alpha, 1.0 - self.alpha)

    def rates(self, alpha: float, rho: float) -> Floats:
        """Rates of each request given its outcomes, (requests, `NODES`), to be averaged by `averaged`."""
        from scipy.special import betaincinv

        size = (1.0 - rho) / rho
        a, b = alpha * size + self.accepted, (1.0 - alpha) * size + self.rejected
        return np.clip(betaincinv(a[:, None], b[:, None], _gauss()[0]), 0.0, 1.0)

    def drawn(self, weights: Floats, joined: Joined) -> tuple[Floats, Floats]:
        """(alpha, rho) under weighted requests: one step of the search from the law of equal weights, (count,) each.

        References
        ----------
        Kline and Santos (2012), the score bootstrap; the information is the sum of squared slopes.
        """
        info = self.slopes.T @ self.slopes
        moves = (weights - 1.0) @ joined(self.slopes @ np.linalg.pinv(info, hermitian=True))
        edge = min(self.alpha, 1.0 - self.alpha) / 2
        alphas = self.alpha + np.clip(moves[:, 0], -edge, edge)
        return alphas, np.clip(self.rho + moves[:, 1], LEAST, MOST_DRAWN)

    def knots(self, rhos: Floats) -> Floats:
        """Correlations that span those drawn, closer together where they are small."""
        low, high = np.sqrt(rhos.min()), np.sqrt(rhos.max())
        return np.asarray(np.linspace(low, max(high, low + 1e-6), KNOTS) ** 2)


@functools.cache
def _gauss() -> Rows:
    """Shares of a law at which its quantiles are taken, and their weights: Gauss-Legendre on 0 to 1."""
    points, weights = np.polynomial.legendre.leggauss(NODES)
    return (1.0 + points) / 2.0, weights / 2.0


def averaged(values: Floats) -> Floats:
    """Mean over the rates of a request, (requests, `NODES`, …) to (requests, …)."""
    return np.asarray(np.einsum("rn...,n->r...", values, _gauss()[1]))


def request_law(accepted: Floats, examined: Floats) -> RequestLaw:
    """The law behind acceptances and verdicts of each request.

    Examples
    --------
    >>> own = request_law(np.array([9.0, 1.0] * 50), np.full(100, 10.0))
    >>> round(own.alpha, 2), own.rho > 0.4
    (0.5, True)
    """
    rejected = examined - accepted
    alpha, rho = map(float, rate(beta_point((accepted, examined))))
    alpha, rho = min(max(alpha, LEAST), 1.0 - LEAST), min(max(rho, LEAST), MOST_ALIKE)
    return RequestLaw(alpha, rho, accepted, rejected, _slopes(alpha, rho, accepted, rejected))


def _slopes(alpha: float, rho: float, accepted: Floats, rejected: Floats) -> Floats:
    """Of log B(a + k, b + n − k) − log B(a, b) by alpha and rho, a = αs, b = (1 − α)s, s = (1 − ρ)/ρ."""
    from scipy.special import digamma

    size = (1.0 - rho) / rho
    a, b = alpha * size, (1.0 - alpha) * size
    both = digamma(size) - digamma(size + accepted + rejected)
    by_a = digamma(a + accepted) - digamma(a) + both
    by_b = digamma(b + rejected) - digamma(b) + both
    by_size = alpha * by_a + (1.0 - alpha) * by_b
    return np.stack([size * (by_a - by_b), -by_size / rho**2], axis=1)
