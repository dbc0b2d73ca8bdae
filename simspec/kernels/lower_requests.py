"""Output sequences as integers: drift along the output, and rates that hold for a request."""

from __future__ import annotations

import numpy as np

from simspec.kernels.arithmetic import cumulative, geometric, power, threshold
from simspec.kernels.forms import NOTHING, Requests, Urn
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
    return Requests(threshold(table), advance=1, tokens=n, truncate=process.truncate)


def discrete_requests(process: DiscreteMixture, kappa: int) -> Requests:
    """Row = the rate drawn for the request."""
    shares = np.array(process.shares())
    if process.weights_of == "rounds":  # a request with few rounds must be drawn more often to hold its share of them
        shares = shares / np.array([_rounds(process, alpha, kappa) for alpha in process.alphas])
        shares = shares / shares.sum()
    table = np.array([geometric(alpha, alpha, kappa) for alpha in process.alphas])
    tokens, going, truncate = _ends(process, kappa)
    return Requests(threshold(table), cumulative(shares)[:-1], tokens=tokens, going=going, truncate=truncate)


def beta_requests(process: BetaMixture, kappa: int) -> Urn:
    """The urn of a Beta rate."""
    alpha, rho = process.mean_and_rho()
    tokens, going, truncate = _ends(process, kappa)
    return Urn(alpha, rho, tokens, going, truncate)


def _ends(process: DiscreteMixture | BetaMixture, kappa: int) -> tuple[int, np.ndarray, bool]:
    """(fixed length or 0, thresholds of outliving 1, 2, … tokens, whether drafts are cut)."""
    mean = process.request_tokens
    assert mean is not None  # only processes by request come here
    if not process.geometric:
        return mean, NOTHING, process.truncate
    stay = 1.0 - 1.0 / mean
    return 0, threshold(geometric(stay, stay, kappa + 1)), False


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
