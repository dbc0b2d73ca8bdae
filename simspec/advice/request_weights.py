"""How does E move with κ because hard requests need more rounds than easy ones?

Rounds seen at one κ hold requests in proportion to their rounds there.  At another κ a request of the same tokens makes
another number of rounds, so that E(κ) = Σ tokens ÷ Σ tokens/E_r(κ): the weights move although no request changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simspec.evidence.observed import REQUEST, Observed

Floats = NDArray[np.float64]
Joined = Callable[[NDArray[np.generic]], Floats]
NODES = 8
"""Equally likely rates that stand for the posterior of one request."""
LEAST_REQUESTS = 10
MOST_REQUESTS = 20_000


@dataclass(frozen=True, eq=False)
class RequestWeights:
    """E(κ) with requests weighted for that κ, over E(κ) with the weights of the rounds seen.

    Attributes
    ----------
    factor : float array (kappa_max + 1,)
    draws : float array (count, kappa_max + 1)
        The same under other weights of requests.
    tail : float array
        S_(κ + m) ÷ S_κ of the rounds seen at κ, m = 1, 2, … to kappa_max: rates that survive are the better ones.
    alpha, rho : float
        Mean rate of a request, and correlation of two outcomes in one request.
    """

    factor: Floats
    draws: Floats
    tail: Floats
    alpha: float
    rho: float

    @property
    def note(self) -> str:
        """What was done, in a sentence."""
        most = float(self.factor[np.abs(self.factor - 1.0).argmax()]) - 1.0
        spread = np.sqrt(self.rho * self.alpha * (1.0 - self.alpha))
        return (
            "requests are weighted anew at every κ, since hard ones need more rounds: rate of a request "
            f"{self.alpha:.3f} ± {spread:.3f}; it moves E by at most {most:+.1%}"
        )


def why_not(observed: Observed) -> str | None:
    """Why requests cannot be weighted anew; None where they can.

    Examples
    --------
    >>> why_not(Observed.of_counts([(3, 100, [70, 45, 25])]))
    'requests are not told apart'
    """
    if observed.unit != REQUEST or not observed.clustered:
        return "requests are not told apart"
    if not LEAST_REQUESTS <= observed.groups <= MOST_REQUESTS:
        return f"that takes {LEAST_REQUESTS} to {MOST_REQUESTS:,} requests"
    return "κ varies" if len(observed.kappas) != 1 else None


def request_weights(observed: Observed, kappa_max: int, weights: Floats, joined: Joined) -> RequestWeights:
    """What the weights of requests do to E(κ), where `why_not` says nothing against it.

    Parameters
    ----------
    observed : Observed
        Rounds by request, all at one κ.
    kappa_max : int
    weights : float array (count, requests), as ``joined`` leaves them
        Of requests, mean 1.
    joined : callable
        Adds rows of neighbouring requests where there are very many.

    Notes
    -----
    The rate of a request has a Beta law over requests, fitted by maximum likelihood; given its outcomes it is shrunk
    accordingly and stood for by equally likely rates.
    """
    from scipy.special import betaincinv

    reached, examined = observed.reached_by_group(), observed.examined_by_group()
    accepted = reached.sum(axis=1).astype(float)
    rejected = examined.sum(axis=1) - accepted
    alpha, rho = beta_of_requests(accepted, rejected)
    size = (1.0 - rho) / rho
    middle = (np.arange(NODES) + 0.5) / NODES
    a, b = alpha * size + accepted, (1.0 - alpha) * size + rejected
    rates = np.clip(betaincinv(a[:, None], b[:, None], middle), 0.0, 1.0)
    rounds = examined[:, 0].astype(float)
    seen = observed.kappa_max
    widest = max(seen, kappa_max)
    tokens = np.cumsum(
        np.concatenate([np.ones((*rates.shape, 1)), rates[..., None] ** np.arange(1.0, widest + 1)], -1), -1
    )
    as_seen = tokens.mean(axis=1) * rounds[:, None]
    needed = (tokens[..., seen, None] / tokens).mean(axis=1) * rounds[:, None]
    kept = slice(0, kappa_max + 1)
    parts = [joined(part) for part in (as_seen[:, [seen]], needed[:, kept], as_seen[:, kept], rounds[:, None])]
    ones = np.ones((1, len(parts[0])))
    added = np.diff(as_seen.sum(axis=0)[seen - 1 :])
    return RequestWeights(
        _factor(ones, *parts)[0],
        _factor(weights, *parts),
        added[1:] / added[0] if added[0] > 0 else added[1:],
        alpha,
        rho,
    )


def _factor(weights: Floats, emitted: Floats, needed: Floats, as_seen: Floats, rounds: Floats) -> Floats:
    return np.asarray((weights @ emitted) / (weights @ needed) / ((weights @ as_seen) / (weights @ rounds)))


def beta_of_requests(accepted: Floats, rejected: Floats) -> tuple[float, float]:
    """(α, ρ) of a Beta law of rates over requests, by maximum likelihood; ρ between 1e-6 and 0.999.

    Examples
    --------
    >>> alpha, rho = beta_of_requests(np.array([9.0, 1.0] * 50), np.array([1.0, 9.0] * 50))
    >>> round(alpha, 2), rho > 0.4
    (0.5, True)
    """
    from scipy.optimize import minimize
    from scipy.special import betaln

    total = accepted.sum() + rejected.sum()
    mean = min(max(float(accepted.sum() / total), 1e-4), 1.0 - 1e-4)

    def loss(point: Floats) -> float:
        alpha, rho = 1.0 / (1.0 + np.exp(-point[0])), np.exp(point[1])
        size = (1.0 - rho) / rho
        a, b = alpha * size, (1.0 - alpha) * size
        return -float((betaln(a + accepted, b + rejected) - betaln(a, b)).sum())

    begin = float(np.log(mean / (1.0 - mean)))
    bounds = [(-14.0, 14.0), (np.log(1e-6), np.log(0.999))]
    found = [minimize(loss, np.array([begin, np.log(rho)]), method="Nelder-Mead", bounds=bounds) for rho in (0.02, 0.2)]
    best = min(found, key=lambda one: float(one.fun)).x
    return float(1.0 / (1.0 + np.exp(-best[0]))), float(np.exp(best[1]))
