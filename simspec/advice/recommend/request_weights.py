"""How does E move with κ because hard requests need more rounds than easy ones?

Rounds seen at one κ hold requests in proportion to their rounds there.  At another κ a request of the same tokens makes
another number of rounds, so that E(κ) = Σ tokens ÷ Σ tokens/E_r(κ): the weights move although no request changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simspec.advice.recommend.request_law import INTERPOLATED, RequestLaw, Rows, averaged, request_law
from simspec.evidence.costs.points import EARLY
from simspec.evidence.observed import REQUEST, Observed
from simspec.evidence.rounds.requests import tokens_by_group, verdicts_by_group

Floats = NDArray[np.float64]
Joined = Callable[[NDArray[np.generic]], Floats]
LEAST_REQUESTS = 10
MOST_REQUESTS = 20_000


@dataclass(frozen=True, eq=False)
class RequestWeights:
    """E(κ) with requests weighted for that κ, over E(κ) with the weights of the rounds seen.

    Attributes
    ----------
    factor : float array (kappa_max + 1,)
    draws : float array (count, kappa_max + 1)
        The same under other weights of requests, and other laws of their rates.
    tail : float array
        S_(n + m) ÷ S_n of the rounds seen, n = ``measured``, m = 1, 2, … to kappa_max: rates that survive are the
        better ones.
    tails : float array (count, …)
        The same in each draw.
    alpha, rho : float
        Mean rate of a request, and correlation of two outcomes in one request.
    """

    factor: Floats
    draws: Floats
    tail: Floats
    tails: Floats
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


def one_length(observed: Observed) -> bool:
    """Whether all drafts are as long as the longest, but for a last one that is cut.

    Examples
    --------
    >>> one_length(Observed.in_order([[4] * 30 + [2]], [[3] * 30 + [1]]))
    True
    >>> one_length(Observed.in_order([[4, 2]], [[3, 1]]))
    False
    """
    drafted = float(observed.drafted @ observed.count)
    return drafted >= EARLY * observed.kappa_max * observed.rounds


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
    return None


def request_weights(
    observed: Observed, kappa_max: int, weights: Floats, joined: Joined, measured: int
) -> RequestWeights:
    """What the weights of requests do to E(κ), where `why_not` says nothing against it and κ is one number.

    Parameters
    ----------
    observed : Observed
        Rounds by request, all at one κ.
    kappa_max : int
    weights : float array (count, requests), as ``joined`` leaves them
        Of requests, mean 1.
    joined : callable
        Adds rows of neighbouring requests where there are very many.
    measured : int
        Position from which the tail goes on.
    """
    law = request_law(*verdicts_by_group(observed))
    seen = observed.kappa_max
    widest = max(seen, kappa_max)
    rounds = np.bincount(observed.group, observed.count, observed.groups)[:, None].astype(float)
    split = widest + 1

    def parts(rates: Floats) -> Floats:
        """Tokens of the rounds seen, were they cut at each κ; rounds that each κ would take; one row per request."""
        tokens = tokens_of(rates, widest)
        needed = averaged(tokens[..., seen, None] / tokens)
        return joined(np.concatenate([averaged(tokens) * rounds, needed * rounds, rounds], axis=1))

    best, drawn = _weighted(law, weights, parts, joined)

    def factor(sums: Floats) -> Floats:
        as_seen, needed, alone = sums[..., :split], sums[..., split : 2 * split], sums[..., -1:]
        return np.asarray((as_seen[..., [seen]] / needed / (as_seen / alone))[..., : kappa_max + 1])

    def tail(sums: Floats) -> Floats:
        added = np.diff(sums[..., measured - 1 : kappa_max + 1], axis=-1)
        return np.asarray(added[..., 1:] / np.maximum(added[..., :1], 1e-300))

    return RequestWeights(factor(best), factor(drawn), tail(best), tail(drawn), law.alpha, law.rho)


def tokens_by_weight(observed: Observed, kappa_max: int, weights: Floats, joined: Joined) -> tuple[Floats, Floats]:
    """E(κ) of requests with rates of their own whatever chose κ: best and drawn, κ = 0 … kappa_max.

    All that is used of a request is what it emitted, and how many of its verdicts were acceptances: any rule that chose
    κ from them cancels.
    """
    law = request_law(*verdicts_by_group(observed))
    emitted = tokens_by_group(observed)[:, None]

    def parts(rates: Floats) -> Floats:
        return joined(np.concatenate([emitted * averaged(1.0 / tokens_of(rates, kappa_max)), emitted], axis=1))

    best, drawn = _weighted(law, weights, parts, joined)
    return best[-1] / best[:-1], drawn[:, -1:] / drawn[:, :-1]


def tokens_of(rates: Floats, kappa_max: int) -> Floats:
    """1 + α + … + α^κ, κ = 0 … kappa_max, along a new last axis."""
    powers = np.power(rates[..., None], np.arange(kappa_max + 1.0))
    return np.asarray(np.cumsum(powers, axis=-1))


def _weighted(law: RequestLaw, weights: Floats, parts: Callable[[Floats], Floats], joined: Joined) -> Rows:
    """Sums over requests of what their rates give: each counted once at the best law, and weighted at drawn laws."""
    alphas, rhos = law.drawn(weights, joined)
    best = parts(law.rates(law.alpha, law.rho)).sum(axis=0)
    if law.requests > INTERPOLATED:  # their law is known well enough
        return best, np.asarray(weights @ parts(law.rates(law.alpha, law.rho)))
    step = law.step
    moved = [weights @ parts(law.rates(alpha, law.rho)) for alpha in (law.alpha - step, law.alpha + step)]
    drawn = ((alphas - law.alpha) / (2 * step))[:, None] * (moved[1] - moved[0])
    knots = law.knots(rhos)
    at = [weights @ parts(law.rates(law.alpha, rho)) for rho in knots]
    place = np.clip(np.searchsorted(knots, rhos, side="right") - 1, 0, len(knots) - 2)
    share = (rhos - knots[place]) / (knots[place + 1] - knots[place])
    stacked = np.stack(at)
    rows = np.arange(len(weights))
    drawn += (1.0 - share)[:, None] * stacked[place, rows] + share[:, None] * stacked[place + 1, rows]
    return best, np.asarray(drawn)
