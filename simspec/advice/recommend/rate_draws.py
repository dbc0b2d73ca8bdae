"""Which conditional rates may stand behind the counts?  Draws of them, and curves that go on beyond those seen."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from simspec.evidence.words import DOMAIN, uniforms
from simspec.kernels.words import stream_keys
from simspec.stats.intervals import student

Floats = NDArray[np.float64]
HALF = 0.5
"""Prior of every conditional rate: half an acceptance and half a rejection (Jeffreys)."""
MOST_GROUPS = 2000
"""More groups are joined, neighbours together: sums of independent groups are independent."""
MANY = 1e4
"""Hits and misses from which a Beta law is as good as normal."""


def joined(table: NDArray[np.generic]) -> Floats:
    """Rows of neighbouring groups added until at most `MOST_GROUPS` are left."""
    if len(table) <= MOST_GROUPS:
        return table.astype(float)
    starts = np.linspace(0, len(table), MOST_GROUPS + 1).astype(np.int64)[:-1]
    return np.asarray(np.add.reduceat(table.astype(float), starts, axis=0))


def group_weights(groups: int, count: int, seed: int) -> Floats:
    """Dirichlet(1, …, 1) weights of groups, times their number, (count, groups)."""
    raw = -np.log1p(-draws_of(seed, "groups", count, groups))
    return np.asarray(raw * (groups / raw.sum(axis=1, keepdims=True)))


def wider(groups: int, bayes: bool = True) -> float:
    """By how much deviations of draws are stretched for so few groups.

    Weights from a Dirichlet law spread a mean by (n − 1)/(n + 1) of the unbiased variance (``bayes``); and that
    variance is itself estimated, which Student's law against the normal one makes up for.

    Examples
    --------
    >>> round(wider(4), 2), round(wider(30), 2), round(wider(1000), 3)
    (2.1, 1.08, 1.002)
    """
    few = math.sqrt((groups + 1.0) / (groups - 1.0)) if bayes else 1.0
    return few * student(0.95, groups) / student(0.95, 10**9)


def widened(best: Floats, draws: Floats, groups: int, bayes: bool = True) -> Floats:
    """Draws stretched about the best, as logarithms."""
    if groups < 2:
        return draws
    with np.errstate(divide="ignore"):
        apart = np.log(draws) - np.log(best)
    return np.asarray(best * np.exp(np.clip(wider(groups, bayes) * apart, -700.0, 700.0)))


def bootstrapped(reached: Floats, examined: Floats, weights: Floats, groups: int) -> Floats:
    """Conditional rates under weighted groups, stretched about the best as so few groups ask for."""
    from scipy.special import expit, logit

    rates = (weights @ reached + HALF) / (weights @ examined + 2 * HALF)
    centre = (reached.sum(axis=0) + HALF) / (examined.sum(axis=0) + 2 * HALF)
    return np.asarray(expit(logit(centre) + wider(groups) * (logit(rates) - logit(centre))))


def beta_draws(hits: Floats, misses: Floats, uniform: Floats) -> Floats:
    """Draws from Beta(hits + ½, misses + ½), one column each.

    Examples
    --------
    >>> beta_draws(np.array([0.0]), np.array([0.0]), np.array([[0.5]])).round(6)
    array([[0.5]])
    """
    from scipy.special import betaincinv, ndtri

    a, b = hits + HALF, misses + HALF
    out = np.empty(uniform.shape)
    many = np.minimum(a, b) > MANY
    mean = a / (a + b)
    spread = np.sqrt(mean * (1.0 - mean) / (a + b + 1.0))
    out[:, many] = np.clip(mean + spread * ndtri(np.clip(uniform, 2.0**-54, None)), 0.0, 1.0)[:, many]
    out[:, ~many] = betaincinv(a[~many], b[~many], uniform[:, ~many])
    return out


def extended(curves: Floats, kappa_max: int, shape: Floats | None = None) -> Floats:
    """Survival curves (count, positions) to ``kappa_max`` positions.

    Beyond those given each goes on by ``shape`` (S_(n + m) ÷ S_n; one, or one per curve), or at the rate of its own
    deeper half.

    Examples
    --------
    >>> extended(np.array([[0.8, 0.4, 0.2]]), 4)
    array([[0.8, 0.4, 0.2, 0.1]])
    """
    count, seen = curves.shape
    if seen >= kappa_max:
        return curves[:, :kappa_max]
    if shape is not None:
        return np.concatenate([curves, curves[:, -1:] * shape[..., : kappa_max - seen]], axis=1)
    before = np.concatenate([np.ones((count, 1)), curves[:, :-1]], axis=1)
    deep = slice(seen // 2, None)
    over = before[:, deep].sum(axis=1)
    rate = np.divide(curves[:, deep].sum(axis=1), over, out=np.zeros(count), where=over > 0.0)
    tail = curves[:, -1:] * np.power(rate[:, None], np.arange(1.0, kappa_max - seen + 1))
    return np.concatenate([curves, tail], axis=1)


def draws_of(seed: int, purpose: str, count: int, columns: int) -> Floats:
    """Addressed words, (count, columns); a draw is an address, so that more columns change none before them."""
    keys = stream_keys(seed, f"recommend {purpose}", DOMAIN)
    at = np.arange(count)
    return np.stack([uniforms(keys, at, j) for j in range(columns)], axis=1)


def normal_draws(seed: int, purpose: str, count: int, columns: int) -> Floats:
    """The same, normal."""
    from scipy.special import ndtri

    return np.asarray(ndtri(np.maximum(draws_of(seed, purpose, count, columns), 2.0**-54)))
