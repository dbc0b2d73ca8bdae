"""Which κ is best, how sure is it, and what does it cost to be wrong?  From curves of E and R drawn together."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simspec.advice.posterior import TokensPosterior
from simspec.evidence.observed import Observed
from simspec.evidence.round_costs import RoundCosts
from simspec.model.errors import ParameterError
from simspec.stats.clusters import by_request

Floats = NDArray[np.float64]
OFF = -1
"""Stands for speculation switched off among the options."""
NEAR = 0.01
"""A loss this small cannot matter: sureness is stated about being this near to the best."""
_TIE = 1e-9
_QUANTILES = (1.959964, 0.841621)
"""Normal quantiles of a two-sided test at 5% and of a power of 80%."""


@dataclass(frozen=True, eq=False)
class Choice:
    """Off and every κ considered, compared draw by draw.

    Attributes
    ----------
    options : tuple of int
        `OFF`, then κ in order.
    tokens, round_cost, speedup : float array (options,)
        E, R (rollback included) and E/R, the best single estimates; for `OFF` 1, its cost, and one over it.
    draws : float array (count, options)
        Speed-up, every option of a row under the same acceptance and costs.
    allowed : bool array (options,)
        What a latency limit leaves.
    level : float
    """

    options: tuple[int, ...]
    tokens: Floats
    round_cost: Floats
    speedup: Floats
    draws: Floats
    cost_draws: Floats
    allowed: NDArray[np.bool_]
    level: float

    @functools.cached_property
    def _best(self) -> Floats:
        return np.asarray(self.draws[:, self.allowed].max(axis=1))

    @functools.cached_property
    def regret(self) -> Floats:
        """Expected loss of each option against the best of its draw, as a share of it."""
        return np.asarray((1.0 - self.draws / self._best[:, None]).mean(axis=0))

    @functools.cached_property
    def probability(self) -> Floats:
        """Probability of each option to be the best; of equal ones the first counts."""
        masked = np.where(self.allowed, self.draws, -np.inf)
        first = (masked >= masked.max(axis=1, keepdims=True) * (1.0 - _TIE)).argmax(axis=1)
        return np.asarray(np.bincount(first, minlength=len(self.options)) / len(self.draws))

    @functools.cached_property
    def chosen(self) -> int:
        """Index of the option with the least expected regret; of equal ones the first."""
        regret = np.where(self.allowed, self.regret, np.inf)
        return int(np.flatnonzero(regret <= regret.min() + _TIE)[0])

    @property
    def kappa(self) -> int:
        """κ chosen, or `OFF`."""
        return self.options[self.chosen]

    @property
    def sureness(self) -> float:
        """Probability that the chosen option is within `NEAR` of the best."""
        return float((self.draws[:, self.chosen] >= (1.0 - NEAR) * self._best).mean())

    @property
    def alike(self) -> tuple[int, ...]:
        """Options that may as well be better than the chosen one: P(better) above (1 − level)/2."""
        ahead = (self.draws > self.draws[:, [self.chosen]]).mean(axis=0)
        ahead[self.chosen] = 1.0
        return tuple(o for o, p, ok in zip(self.options, ahead, self.allowed, strict=True) if ok and p > self._tail)

    def within(self, share: float) -> tuple[int, ...]:
        """Options that lose at most ``share`` of the best single estimate."""
        best = float(self.speedup[self.allowed].max())
        good = (self.speedup >= (1.0 - share) * best - _TIE) & self.allowed
        return tuple(o for o, ok in zip(self.options, good, strict=True) if ok)

    def interval(self, index: int) -> tuple[float, float]:
        """Of the speed-up of one option."""
        low, high = np.quantile(self.draws[:, index], [self._tail, 1.0 - self._tail])
        return (float(low), float(high))

    @property
    def rival(self) -> int | None:
        """Index of the best other option, by expected regret; None if there is none.  Two ways not to draft are one."""
        drafting = self.kappa > 0
        others = [
            i for i, ok in enumerate(self.allowed) if ok and i != self.chosen and (drafting or self.options[i] > 0)
        ]
        return min(others, key=lambda i: (self.regret[i], i)) if others else None

    @property
    def _tail(self) -> float:
        return (1.0 - self.level) / 2

    def limited(self, allowed: NDArray[np.bool_]) -> Choice:
        """The same with fewer options."""
        if not allowed.any():
            raise ParameterError(
                "p99", "no κ keeps the limit, and neither does switching off: raise it, or ask for less"
            )
        return Choice(
            self.options, self.tokens, self.round_cost, self.speedup, self.draws, self.cost_draws, allowed, self.level
        )  # fmt: skip


def compare(posterior: TokensPosterior, costs: RoundCosts, level: float, count: int, seed: int) -> Choice:
    """Off and every κ whose cost is known, under the same draws.

    κ = 0 (the loop runs and drafts nothing) is an option only where its cost was given or measured: a line fitted to
    κ ≥ 1 does not say what an empty round costs.  Neither is a κ at which that line falls below a plain step.

    Examples
    --------
    >>> from simspec.advice.acceptance import acceptance_of_numbers
    >>> from simspec.advice.posterior import tokens_posterior
    >>> from simspec.model import Cost
    >>> posterior = tokens_posterior(acceptance_of_numbers(alpha=0.7), 8)
    >>> own = compare(posterior, RoundCosts.of_cost(Cost(c_d=0.1)), 0.95, 100, 1)
    >>> own.kappa, round(float(own.speedup[own.chosen]), 4)
    (4, 1.9808)
    """
    last = len(posterior.tokens) - 1
    kappas = [kappa for kappa in range(last + 1) if _priced(costs, kappa)]
    if not any(kappas):
        raise ParameterError("costs", f"no κ from 1 to {last} has a cost; measure more of them")
    noisy = costs.known_noise
    count = count if noisy or not posterior.sure else 1
    rows = np.arange(count) % len(posterior.draws)
    tokens = posterior.draws[rows][:, kappas]
    paid = costs.draws(kappas, count, seed) + costs.rollback * (1.0 - _full(posterior.draws[rows], kappas))
    price = np.array([costs.at(kappa) for kappa in kappas])
    price = price + costs.rollback * (1.0 - _full(posterior.tokens[None], kappas)[0])
    emitted = np.concatenate([[1.0], posterior.tokens[kappas]])
    round_cost = np.concatenate([[costs.off], price])
    off = np.full((count, 1), costs.off)
    return Choice(
        options=(OFF, *kappas),
        tokens=emitted,
        round_cost=round_cost,
        speedup=emitted / round_cost,
        draws=np.concatenate([1.0 / off, tokens / paid], axis=1),
        cost_draws=np.concatenate([off, paid], axis=1),
        allowed=np.ones(len(kappas) + 1, np.bool_),
        level=level,
    )


def _priced(costs: RoundCosts, kappa: int) -> bool:
    guessed = costs.extrapolated(kappa)
    if kappa == 0 and guessed:
        return False
    try:
        return costs.at(kappa) >= 1.0 or not guessed
    except ParameterError:
        return False


def full_rounds(choice: Choice, posterior: TokensPosterior) -> Floats:
    """Share of rounds without a rejection, by option; 1 where nothing is drafted."""
    kappas = [max(option, 0) for option in choice.options]
    return np.asarray(_full(posterior.tokens[None], kappas)[0])


def _full(tokens: Floats, kappas: list[int]) -> Floats:
    """Share of rounds without a rejection: what the last position adds, all of them at κ = 0."""
    added = np.diff(tokens, axis=1, prepend=0.0)
    return np.asarray(np.clip(added[:, kappas], 0.0, 1.0))


@dataclass(frozen=True)
class Effort:
    """Rounds needed to tell the chosen option from its best rival.

    Attributes
    ----------
    rival : int
        Its κ, or `OFF`.
    difference : float
        log of speed-up over speed-up.
    sd_per_round : float
        Standard deviation of one round's share in that difference.
    design_effect : float
        How much more groups differ than rounds would by chance; 1 where no groups are known.
    rounds : float
        For a two-sided test at 5% with power 80%; infinite where the difference is none.
    matters : bool
        Whether the difference is above 1%.
    """

    rival: int
    difference: float
    sd_per_round: float
    design_effect: float
    rounds: float
    matters: bool


def effort(choice: Choice, posterior: TokensPosterior) -> Effort | None:
    """How many rounds decide between the chosen κ and its rival; costs are taken as known.

    Examples
    --------
    >>> from simspec.advice.acceptance import acceptance_of_numbers
    >>> from simspec.advice.posterior import tokens_posterior
    >>> from simspec.model import Cost
    >>> posterior = tokens_posterior(acceptance_of_numbers(alpha=0.7), 8)
    >>> own = effort(compare(posterior, RoundCosts.of_cost(Cost(c_d=0.25)), 0.95, 100, 1), posterior)
    >>> own.rival, round(own.difference, 4), round(own.rounds)
    (3, 0.0086, 2565)
    """
    other = choice.rival
    if other is None:
        return None
    mine, rival = choice.options[choice.chosen], choice.options[other]
    difference = float(np.log(choice.speedup[choice.chosen] / choice.speedup[other]))
    long, short = max(mine, 0), max(rival, 0)
    variance = _contrast_variance(posterior.survival, long, short)
    effect = 1.0 if posterior.observed is None else design_effect(posterior.observed, long, short)
    distance = sum(_QUANTILES)
    rounds = math.inf if difference == 0.0 else effect * variance * (distance / difference) ** 2
    return Effort(rival, difference, math.sqrt(variance), effect, rounds, abs(difference) > NEAR)


def _contrast_variance(survival: Floats, one: int, two: int) -> float:
    """Of (min(A, one) + 1)/E − (min(A, two) + 1)/E' in one round."""
    length = max(one, two)
    reach = np.concatenate([[1.0], survival[:length]])
    pmf = -np.diff(reach, append=0.0)
    at = np.arange(length + 1.0)
    values = [(np.minimum(at, kappa) + 1.0) / reach[: kappa + 1].sum() for kappa in (one, two)]
    contrast = values[0] - values[1]
    return float(pmf @ contrast**2 - (pmf @ contrast) ** 2)


def design_effect(observed: Observed, one: int, two: int) -> float:
    """Variance of the contrast between groups over that of independent rounds; at least 1, and 1 without groups.

    Positions beyond a round's κ are taken as not accepted: the effect is a ratio, and both sides do so.
    """
    if not observed.clustered:
        return 1.0
    values = [np.minimum(observed.accepted, kappa) + 1.0 for kappa in (one, two)]
    total = observed.count.sum()
    shares = [value / ((value * observed.count).sum() / total) for value in values]
    contrast = shares[0] - shares[1]
    alone = float((contrast**2 * observed.count).sum())
    groups = by_request(contrast * observed.count, observed.offsets)
    together = float((groups**2).sum()) * observed.groups / (observed.groups - 1)
    return max(1.0, together / alone) if alone > 0.0 else 1.0
