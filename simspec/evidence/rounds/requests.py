"""Which law of rates by request explains rounds best?  A Beta law, or a few classes; a request keeps its rate.

All that matters of a request is how many verdicts it gave and how many of them were acceptances: the order of both, and
any rule that chose κ from it, cancels.

Estimates are of requests, each counted once.  A log gives few or many rounds to a request because its text is short or
long, and long texts need not accept like short ones.  The process for a scenario therefore weighs requests by their
tokens, which hardly depend on κ, and makes them long: at the κ of the log it then emits what the log emitted.
"""

from __future__ import annotations

import numpy as np

from simspec.evidence.observed import Floats, Observed
from simspec.stats.logits import EDGE, climb, logit, rate

ROUNDS_OF_EM = 2_000
STILL = 1e-9
"""Gain of the log-likelihood per group at which expectation and maximisation stop."""
MOST_ALIKE = 0.999
"""Largest correlation of a Beta law: beyond, its likelihood loses its digits."""
Verdicts = tuple[Floats, Floats]
"""Acceptances and verdicts of each group."""


def verdicts_by_group(observed: Observed) -> Verdicts:
    """Acceptances and verdicts of each group.

    Examples
    --------
    >>> verdicts_by_group(Observed.in_order([[4, 4], [4]], [[3, 0], [4]]))
    (array([3., 4.]), array([5., 4.]))
    """
    hits, seen = verdicts_of(observed)
    group = observed.group
    own = [np.bincount(group, part * observed.count, observed.groups).astype(float) for part in (hits, seen)]
    return own[0], own[1]


def verdicts_of(observed: Observed) -> Verdicts:
    """Acceptances and verdicts of each round."""
    return observed.accepted.astype(float), np.minimum(observed.accepted + 1, observed.drafted).astype(float)


def _before(observed: Observed) -> Verdicts:
    """Acceptances and verdicts of the same group before each round."""
    out = []
    for values in verdicts_of(observed):
        running = np.concatenate([[0.0], np.cumsum(values)])
        out.append(running[:-1] - np.repeat(running[observed.offsets[:-1]], np.diff(observed.offsets)))
    return out[0], out[1]


def beta_by_group(point: Floats, data: Verdicts) -> Floats:
    """log B(a + k, b + n − k)/B(a, b) of k acceptances in n verdicts, in the order they came."""
    from scipy.special import betaln

    hits, seen = data
    a, b = _beta(point)
    return np.asarray(betaln(a + hits, b + seen - hits) - betaln(a, b))


def _beta(point: Floats) -> tuple[float, float]:
    alpha, rho = map(float, rate(point))
    rho = min(rho, MOST_ALIKE)
    return alpha * (1.0 - rho) / rho, (1.0 - alpha) * (1.0 - rho) / rho


def beta_point(data: Verdicts) -> Floats:
    """Logits of (alpha, rho) of the greatest likelihood; from two sides, since it is flat where rho is near 0."""
    alpha = logit(data[0].sum() / data[1].sum())
    begins = [np.array([alpha, logit(rho)]) for rho in (0.02, 0.2)]
    return climb(lambda point: float(beta_by_group(point, data).sum()), begins)


def beta_of_tokens(point: Floats, observed: Observed) -> tuple[float, float]:
    """(alpha, rho) of the Beta law with the mean and the variance that rates have over emitted tokens.

    Examples
    --------
    >>> alike = Observed.in_order([[4, 4], [4, 4]], [[3, 0], [0, 3]])
    >>> [round(value, 3) for value in beta_of_tokens(np.array([logit(0.6), logit(0.1)]), alike)]
    [0.6, 0.067]
    """
    hits, seen = verdicts_by_group(observed)
    a, b = _beta(point)
    share = tokens_by_group(observed) / tokens_by_group(observed).sum()
    mean = (a + hits) / (a + b + seen)
    square = mean * (a + hits + 1.0) / (a + b + seen + 1.0)
    alpha = float(share @ mean)
    return alpha, float(share @ square - alpha * alpha) / (alpha * (1.0 - alpha))


def tokens_by_group(observed: Observed) -> Floats:
    """Emitted tokens of each group, the bonus tokens counted."""
    tokens = (observed.accepted + 1) * observed.count
    return np.bincount(observed.group, tokens, observed.groups).astype(float)


def beta_ahead(point: Floats, observed: Observed) -> Floats:
    """Survival curve of each round, given the verdicts of its group before it."""
    a, b = _beta(point)
    hits, seen = _before(observed)
    depth = np.arange(float(observed.kappa_max))
    chances = (a + hits[:, None] + depth) / (a + b + seen[:, None] + depth)
    return np.asarray(np.cumprod(chances, axis=1))


def natural_classes(point: Floats) -> dict[str, float]:
    """Rates and shares of the classes, from the logits of the rates and the logs of shares over the last one's.

    Examples
    --------
    >>> natural_classes(np.array([0.0, 0.0, 0.0]))
    {'alpha_1': 0.5, 'alpha_2': 0.5, 'share_1': 0.5, 'share_2': 0.5}
    """
    rates, shares = _classes(point)
    own = {f"alpha_{c + 1}": float(value) for c, value in enumerate(rates)}
    return own | {f"share_{c + 1}": float(value) for c, value in enumerate(shares)}


def _classes(point: Floats) -> tuple[Floats, Floats]:
    size = (len(point) + 1) // 2
    weights = np.exp(np.append(point[size:], 0.0))
    return rate(point[:size]), weights / weights.sum()


def _log_by_class(point: Floats, hits: Floats, seen: Floats) -> Floats:
    """log of share × likelihood, (classes, units)."""
    rates, shares = _classes(point)
    return np.asarray(np.log(shares)[:, None] + np.outer(np.log(rates), hits) + np.outer(np.log1p(-rates), seen - hits))


def classes_by_group(point: Floats, data: Verdicts) -> Floats:
    """log Σ_c w_c α_c^k (1 − α_c)^(n − k)."""
    from scipy.special import logsumexp

    return np.asarray(logsumexp(_log_by_class(point, *data), axis=0))


def classes_of_tokens(point: Floats, observed: Observed) -> tuple[Floats, Floats]:
    """Rates of the classes, and the share of emitted tokens that each has."""
    logs = _log_by_class(point, *verdicts_by_group(observed))
    weight = np.exp(logs - logs.max(axis=0))
    shares = (weight / weight.sum(axis=0)) @ tokens_by_group(observed)
    return _classes(point)[0], shares / shares.sum()


def classes_point(data: Verdicts, classes: int) -> Floats:
    """Of the greatest likelihood, highest rate first: expectation and maximisation from quantiles of the rates seen.

    References
    ----------
    Dempster, Laird, Rubin (1977), section 4.3.
    """
    hits, seen = data
    own = hits[seen > 0] / seen[seen > 0]
    ends = np.quantile(own, (np.arange(classes)[::-1] + 0.5) / classes)
    best: tuple[float, Floats] | None = None
    for stretch in (1.0, 2.0):
        rates = np.clip(own.mean() + stretch * (ends - own.mean()), 0.01, 0.99)
        found = _climb_classes(np.concatenate([logit(rates), np.zeros(classes - 1)]), hits, seen)
        if best is None or found[0] > best[0]:
            best = found
    assert best is not None
    return best[1]


def _climb_classes(point: Floats, hits: Floats, seen: Floats) -> tuple[float, Floats]:
    from scipy.special import logsumexp

    value, size = -np.inf, (len(point) + 1) // 2
    for _ in range(ROUNDS_OF_EM):
        logs = _log_by_class(point, hits, seen)
        total = logsumexp(logs, axis=0)
        weight = np.exp(logs - total)
        gain, value = float(total.sum()) - value, float(total.sum())
        if gain < STILL * len(hits):
            break
        shares = np.clip(weight.sum(axis=1) / len(hits), 1e-6, None)
        rates = (weight @ hits) / np.maximum(weight @ seen, 1e-300)
        point = np.concatenate([logit(rates), np.clip(np.log(shares[:-1] / shares[-1]), -EDGE, EDGE)])
    order = np.argsort(-point[:size])
    shares = np.append(point[size:], 0.0)[order]
    return value, np.concatenate([point[:size][order], shares[:-1] - shares[-1]])


def classes_ahead(point: Floats, observed: Observed) -> Floats:
    """Survival curve of each round, given the verdicts of its group before it."""
    logs = _log_by_class(point, *_before(observed))
    weight = np.exp(logs - logs.max(axis=0))
    weight /= weight.sum(axis=0)
    powers = np.power(_classes(point)[0][:, None], np.arange(1.0, observed.kappa_max + 1))
    return np.asarray(weight.T @ powers)
