"""Requests are not told apart: how far may E at another κ be off because they differ?

Rounds seen at κ hold hard requests more often than easy ones, by an amount that hangs on κ.  With a Beta law of rates
over requests the amount is known; what is not is the spread, for which those measured elsewhere stand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simspec.advice.recommend.request_weights import tokens_of
from simspec.theory.quadrature import beta_nodes

Floats = NDArray[np.float64]
MOST_SPREAD = 0.36
"""Standard deviation of α between requests over √(α(1 − α)), the root of ρ: from nothing to .36, each as likely.  It is
.07 for a trained head at temperature 1, .28 for prompt lookup and .33 for greedy decoding (SmolLM2-135M,
docs/recommend.md), and .35 in the rising rates of vLLM pull request 48892."""
REQUEST_TOKENS = 200
"""Tokens of a request, where nothing says: so many rounds come from one request and are as good or bad together."""
KNOTS = 9
NODES = 24
SURELY = 1e-6


@dataclass(frozen=True, eq=False)
class Spread:
    """What requests that differ would change, by how much they do: rows from nothing to `MOST_SPREAD`.

    Attributes
    ----------
    factors : float array (`KNOTS`, kappa_max + 1)
        E(κ) over what rounds seen at one κ say of it.
    stretch : float array (`KNOTS`,)
        Error of E over that of independent rounds, with requests of `REQUEST_TOKENS`.
    """

    factors: Floats
    stretch: Floats


def spread_of(emitted: float, seen: int, kappa_max: int, rounds: int) -> Spread:
    """For an E that ``rounds`` rounds at κ = ``seen`` gave.

    Examples
    --------
    >>> own = spread_of(2.6566, 4, 8, 3000)
    >>> own.factors[-1][[0, 1, 4, 8]].round(3).tolist()  # at κ = 1 more, at κ = 8 less
    [1.0, 1.021, 1.0, 0.943]
    >>> own.stretch.round(1)[[0, -1]].tolist()
    [1.0, 4.5]
    """
    together = min(rounds, max(1.0, REQUEST_TOKENS / emitted))
    roots = np.linspace(0.0, MOST_SPREAD, KNOTS)[1:]
    alike = (np.ones(kappa_max + 1), 1.0)
    inside = SURELY < emitted - 1.0 < seen - SURELY
    rows = [alike, *(_row(emitted, seen, kappa_max, float(r), together) if inside else alike for r in roots)]
    return Spread(np.stack([row[0] for row in rows]), np.array([row[1] for row in rows]))


def between(knots: Floats, uniform: Floats) -> Floats:
    """Rows of ``knots`` (`KNOTS`, …) at spreads drawn uniformly from nothing to the most, (count, …)."""
    at = uniform * (KNOTS - 1)
    below = np.minimum(at.astype(np.int64), KNOTS - 2)
    share = (at - below).reshape(-1, *[1] * (knots.ndim - 1))
    return np.asarray((1.0 - share) * knots[below] + share * knots[below + 1])


def _row(emitted: float, seen: int, kappa_max: int, root: float, together: float) -> tuple[Floats, float]:
    """Factors at one spread, and the stretch."""
    from scipy.optimize import brentq

    size = (1.0 - root * root) / (root * root)
    widest = max(seen, kappa_max)

    def law(alpha: float) -> tuple[Floats, Floats]:
        """Tokens per round of each rate at every κ, and the share of tokens at that rate."""
        rates, shares = beta_nodes(alpha * size, (1.0 - alpha) * size, NODES)
        return tokens_of(np.asarray(rates), widest), np.asarray(shares)

    def at_seen(alpha: float) -> float:
        tokens, shares = law(alpha)
        return 1.0 / float(shares @ (1.0 / tokens[:, seen])) - emitted

    if not at_seen(SURELY) < 0.0 < at_seen(1.0 - SURELY):
        return np.ones(kappa_max + 1), 1.0
    tokens, shares = law(brentq(at_seen, SURELY, 1.0 - SURELY, xtol=1e-10))
    rounds = shares / tokens[:, seen]
    rounds /= rounds.sum()
    as_seen = rounds @ tokens
    survival = np.diff(as_seen[: seen + 1])
    whole = float((2.0 * np.arange(seen) + 1.0) @ survival - survival.sum() ** 2)
    apart = float(rounds @ (tokens[:, seen] - emitted) ** 2)
    factors = 1.0 / (shares @ (1.0 / tokens)) / as_seen
    return factors[: kappa_max + 1], math.sqrt(1.0 + max(0.0, together - 1.0) * apart / whole)


def spread_at(emitted: float, seen: int, root: float) -> float:
    """Standard deviation of α between requests with that root of ρ, for an α that gives about this E."""
    from simspec.advice.curves import iid_alpha

    alpha = iid_alpha(emitted - 1.0, seen)
    return 0.0 if alpha is None else root * math.sqrt(alpha * (1.0 - alpha))
