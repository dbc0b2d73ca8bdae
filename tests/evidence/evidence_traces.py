"""Dense traces of known processes."""

import numpy as np

from simspec.evidence.dense import DenseTrace


def trace_of(grid, **keys):
    """A trace from (requests, positions)."""
    grid = np.asarray(grid, float)
    offsets = np.arange(0, grid.size + 1, grid.shape[1])
    return DenseTrace.of(grid.ravel(), offsets, **keys)


def iid(rng, requests, tokens, alpha=0.6):
    return rng.random((requests, tokens)) < alpha


def markov(rng, requests, tokens, alpha=0.6, rho=0.3):
    again, back = alpha + rho * (1 - alpha), alpha * (1 - rho)
    out = np.empty((requests, tokens), bool)
    out[:, 0] = rng.random(requests) < alpha
    for t in range(1, tokens):
        out[:, t] = rng.random(requests) < np.where(out[:, t - 1], again, back)
    return out


def beta_by_request(rng, requests, tokens, a=6.0, b=4.0):
    return rng.random((requests, tokens)) < rng.beta(a, b, requests)[:, None]


def hidden(rng, requests, tokens, rates=(0.95, 0.4), stay=(0.97, 0.97)):
    """Chances, not verdicts: the rate of the state at each position."""
    out = np.empty((requests, tokens))
    state = rng.random(requests) < 0.5
    for t in range(tokens):
        out[:, t] = np.where(state, rates[0], rates[1])
        state = np.where(rng.random(requests) < np.where(state, stay[0], stay[1]), state, ~state)
    return out
