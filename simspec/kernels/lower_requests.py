"""Output sequences as integers: drift along the output, and rates that hold for a request."""

from __future__ import annotations

import numpy as np

from simspec.kernels.arithmetic import cumulative, geometric, power, threshold
from simspec.kernels.forms import Ends, Requests, Urn
from simspec.model import BetaMixture, DiscreteMixture, Drift


def padded_rates(process: Drift, kappa: int) -> np.ndarray:
    """α_i with the last repeated κ times, for drafts that reach past the end."""
    rates = process.rates()
    return np.array(rates + [rates[-1]] * kappa)


def drift_requests(process: Drift, kappa: int) -> Requests:
    """Row = output position."""
    n, rates = process.n_tokens, padded_rates(process, kappa)
    table = np.empty((n, kappa))
    run = np.ones(n)
    for j in range(kappa):
        run = run * rates[j : j + n]
        table[:, j] = run
    return Requests(threshold(table), Ends(n, truncate=process.truncate), along=True)


def discrete_requests(process: DiscreteMixture, kappa: int) -> Requests:
    """Row = the rate drawn for the request."""
    shares = np.array(process.shares())
    if process.weights_of == "rounds":  # a request with few rounds must be drawn more often to hold its share of them
        shares = shares / np.array([_rounds(process, alpha, kappa) for alpha in process.alphas])
        shares = shares / shares.sum()
    table = np.array([geometric(alpha, alpha, kappa) for alpha in process.alphas])
    return Requests(threshold(table), _ends(process), cumulative(shares)[:-1])


def beta_requests(process: BetaMixture, kappa: int) -> Requests | Urn:
    """The urn of a Beta rate; a rate that is 0 or 1 for a whole request needs none."""
    alpha, rho = process.mean_and_rho()
    if rho < 1.0:
        return Urn(alpha, rho, _ends(process))
    sure = threshold(np.array([np.zeros(kappa), np.ones(kappa)]))
    return Requests(sure, _ends(process), cumulative(np.array([1.0 - alpha, alpha]))[:-1])


def _ends(process: DiscreteMixture | BetaMixture) -> Ends:
    """A fixed length, or the binary digits of a geometric one: digit i is 1 with odds stay^(2^i), independently."""
    mean = process.request_tokens
    assert mean is not None  # only processes by request come here
    if not process.geometric:
        return Ends(mean, truncate=process.truncate)
    odds, chances = 1.0 - 1.0 / mean, []
    while odds > 2.0**-34:
        chances.append(odds / (1.0 + odds))
        odds *= odds
    return Ends(bits=threshold(np.array(chances)), truncate=False)


def _rounds(process: DiscreteMixture, alpha: float, kappa: int) -> float:
    """Expected rounds of one request whose rate is ``alpha``."""
    mean = process.request_tokens
    assert mean is not None
    if process.geometric:
        stay, lasts = 1.0 - 1.0 / mean, 0.0
        for a in range(kappa + 1):
            share = power(alpha, a) * (1.0 - alpha if a < kappa else 1.0)
            lasts += share * power(stay, a + 1)
        return 1.0 / (1.0 - lasts)
    left = np.zeros(mean + 1)  # left[t] = expected rounds when t tokens are still needed
    for t in range(1, mean + 1):
        drafted = min(kappa, t - 1) if process.truncate else kappa
        total, run = 1.0, 1.0
        for a in range(drafted + 1):
            share = run * (1.0 - alpha) if a < drafted else run
            total += share * left[max(0, t - a - 1)]
            run *= alpha
        left[t] = total
    return float(left[mean])
