"""Which κ is best, how sure is it, and what does it cost to be wrong?  From curves of E and R drawn together."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simspec.advice.recommend.effort import NEAR, Effort, effort_of
from simspec.advice.recommend.posterior import TokensPosterior
from simspec.advice.recommend.request_mix import request_mix
from simspec.evidence.costs.draws import possible_draws
from simspec.evidence.costs.round_costs import RoundCosts
from simspec.model.errors import ParameterError

Floats = NDArray[np.float64]
OFF = -1
"""Stands for speculation switched off among the options."""
_TIE = 1e-9


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
    flat : float
        The choice is among options that lose at most this share of the best single estimate.
    redrawn : float
        Share of the drawn costs in which a round was cheaper than a plain step, and which were drawn again.
    """

    options: tuple[int, ...]
    tokens: Floats
    round_cost: Floats
    speedup: Floats
    draws: Floats
    cost_draws: Floats
    allowed: NDArray[np.bool_]
    level: float
    flat: float = 1.0
    redrawn: float = 0.0

    @functools.cached_property
    def _best(self) -> Floats:
        return np.asarray(self.draws[:, self.allowed].max(axis=1))

    @functools.cached_property
    def regret(self) -> Floats:
        """Expected loss of each option against the best of its draw that keeps the limit; NaN over the limit."""
        lost = (1.0 - self.draws / self._best[:, None]).mean(axis=0)
        return np.where(self.allowed, lost, np.nan)

    @functools.cached_property
    def probability(self) -> Floats:
        """Probability of each option to be the best; of equal ones the first counts."""
        masked = np.where(self.allowed, self.draws, -np.inf)
        first = (masked >= masked.max(axis=1, keepdims=True) * (1.0 - _TIE)).argmax(axis=1)
        return np.asarray(np.bincount(first, minlength=len(self.options)) / len(self.draws))

    @functools.cached_property
    def chosen(self) -> int:
        """Index of the option with the least expected regret of those in the flat band; of equal ones the first."""
        near = np.isin(self.options, self.within(self.flat))
        regret = np.where(near, self.regret, np.inf)
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
        return dataclasses.replace(self, allowed=allowed)


def compare(
    posterior: TokensPosterior, costs: RoundCosts, level: float, count: int, seed: int, flat: float = 1.0
) -> Choice:
    """Off and every κ whose cost is known, under the same draws.

    κ = 0 (the loop runs and drafts nothing) is an option only where its cost was given or measured: a line fitted to
    κ ≥ 1 does not say what an empty round costs.  Neither is a κ at which that line falls below a plain step.
    ``flat`` is the share of the best single estimate that the chosen option may lose.

    Examples
    --------
    >>> from simspec.advice.acceptance import acceptance_of_numbers
    >>> from simspec.advice.recommend.posterior import tokens_posterior
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
    paid, redrawn = possible_draws(costs, kappas, count, seed)
    price = np.array([costs.at(kappa) for kappa in kappas])
    if costs.rollback:
        paid = paid + costs.rollback * (1.0 - _full(posterior, posterior.draws[rows], kappas))
        price = price + costs.rollback * (1.0 - _full(posterior, posterior.tokens[None], kappas)[0])
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
        flat=flat,
        redrawn=redrawn,
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
    return np.asarray(_full(posterior, posterior.tokens[None], kappas)[0])


def _full(posterior: TokensPosterior, tokens: Floats, kappas: list[int]) -> Floats:
    """Share of rounds without a rejection: what the last position adds, all of them at κ = 0.

    Where requests are weighted for every κ, two κ are not the same rounds: the mix of requests tells how that share
    is related to what the position adds.
    """
    added, mix = np.diff(tokens, axis=1, prepend=0.0)[:, kappas], request_mix(posterior.observed)
    if mix is not None:
        added = added * np.array([mix.full(kappa) for kappa in kappas])
    return np.asarray(np.clip(added, 0.0, 1.0))


def effort(choice: Choice, posterior: TokensPosterior) -> Effort | None:
    """What decides between the chosen κ and its best rival; None if there is none.

    Examples
    --------
    >>> from simspec.advice.acceptance import acceptance_of_numbers
    >>> from simspec.advice.recommend.posterior import tokens_posterior
    >>> from simspec.model import Cost
    >>> posterior = tokens_posterior(acceptance_of_numbers(alpha=0.7), 8)
    >>> own = effort(compare(posterior, RoundCosts.of_cost(Cost(c_d=0.25)), 0.95, 100, 1), posterior)
    >>> own.rival, round(own.difference, 4), round(own.rounds), round(own.rounds_each)
    (3, 0.0086, 3434, 55697)
    """
    other = choice.rival
    if other is None:
        return None
    difference = float(np.log(choice.speedup[choice.chosen] / choice.speedup[other]))
    mine, rival = choice.options[choice.chosen], choice.options[other]
    return effort_of(posterior.survival, posterior.observed, mine, rival, difference)
