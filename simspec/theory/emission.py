"""How long does it take to emit N tokens, as a whole law, and which draft length suits the slow sequences?

Two-state chains, i.i.d. drafts among them: what is ahead depends on the tokens to go, and on whether the round before
rejected a draft.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.model.iid import Iid
from simspec.model.markov import Markov
from simspec.theory.carried import window_start_full
from simspec.theory.law import FloatArray
from simspec.theory.many_rates import ROUNDING, Starts, emission_rounds, rounds_tables, starts
from simspec.theory.ranges import check_inside, check_kappa, check_range
from simspec.theory.step_rates import per_draft_of

IntArray = npt.NDArray[np.int64]

_SPARE = 6
"""Drafts so much longer than the last step are tried too; the best one past a step has been at most 2 longer."""
_NEAR = 0.01
"""Rates so near a step are solved: one step of the scan, and a straight line over it cannot err by more."""
TOKENS_LIMIT = 4096
CELLS_LIMIT = 1e7
"""(κ + 1) × tokens × price of the dearest round in ticks: some 160 MB, and seconds at N = 128."""


@dataclass(frozen=True, eq=False)
class EmissionTime:
    """Law of the time in which one sequence of N tokens is emitted.

    Attributes
    ----------
    kappa, tokens : int
        Draft length and N.
    times, probabilities : array
        Every possible time, in plain target steps, rising, and its probability.
    mean, sd : float
        Its mean and standard deviation.

    References
    ----------
    docs/theory.md section 7.
    """

    kappa: int
    tokens: int
    times: FloatArray
    probabilities: FloatArray
    mean: float
    sd: float

    def quantile(self, level: float) -> float:
        """Smallest time by which a share ``level`` of sequences is out, 0 < level < 1.

        Examples
        --------
        >>> round(emission_time(Iid(alpha=0.7), 4, Cost(c_d=0.1)).quantile(0.99), 1)
        78.0
        """
        check_inside("level", level, 0, 1)
        reached = np.cumsum(self.probabilities) >= level - ROUNDING
        return float(self.times[np.argmax(reached)])


def emission_time(
    process: Iid | Markov, kappa: int, cost: Cost, tokens: int = 128, truncate: bool = True
) -> EmissionTime:
    """Exact law of the time to emit N tokens with a fixed draft length.

    Parameters
    ----------
    process : Iid or Markov
        A carried chain starts in its long-run law.
    kappa : int
        Draft length, 0 ≤ kappa ≤ 1000.
    cost : Cost
        The prices of a round, taken to nine decimals; all must be multiples of a tick that is not too small.
    tokens : int
        N, 1 ≤ tokens ≤ 4096.
    truncate : bool
        Whether a round drafts no more than is still needed besides its own token (default), or always κ.

    Returns
    -------
    EmissionTime

    Raises
    ------
    ParameterError
        If an argument is out of range, the process is another one, or the tick of the prices is too small.

    References
    ----------
    docs/theory.md section 7; mean and variance are those of `simspec.theory.generation` at a constant rate.

    Examples
    --------
    >>> law = emission_time(Iid(alpha=0.7), 4, Cost(c_d=0.1))
    >>> round(law.mean, 2), round(law.sd, 2)
    (64.93, 5.32)
    """
    if not isinstance(process, (Iid, Markov)):
        raise ParameterError("process", f"{process} has no exact law of the time here; allowed: iid, markov")
    check_kappa(process, kappa)
    check_range("tokens", tokens, 1, TOKENS_LIMIT)
    prices, rollback, tick = _ticks(cost, kappa)
    cells = (kappa + 1) * tokens * (max(prices) + rollback)
    if cells > CELLS_LIMIT:
        raise ParameterError(
            "cost",
            f"cost: {cost} at kappa = {kappa} and {tokens} tokens needs {cells:.2g} cells of {float(tick):g} steps; "
            f"allowed: {CELLS_LIMIT:.0e}, so round the prices or ask for fewer tokens",
        )
    law = _law(process, kappa, tokens, prices, rollback, truncate)
    there = np.flatnonzero(law > 0.0)
    times, chances = np.asarray(there * float(tick), dtype=np.float64), law[there]
    mean = float(chances @ times)
    return EmissionTime(kappa, tokens, times, chances, mean, math.sqrt(float(chances @ (times - mean) ** 2)))


def _ticks(cost: Cost, kappa: int) -> tuple[list[int], int, Fraction]:
    """Price of a round of d = 0 … κ drafts and of a rejection, in the largest tick that divides all of them."""
    bases = [_decimal(cost.base(drafts)) for drafts in range(kappa + 1)]
    rollback = _decimal(cost.c_r)
    below = math.lcm(*(price.denominator for price in (*bases, rollback)))
    common = math.gcd(*(int(price * below) for price in (*bases, rollback)))
    tick = Fraction(common, below)
    return [int(price / tick) for price in bases], int(rollback / tick), tick


def _decimal(price: float) -> Fraction:
    return Fraction(f"{price:.9f}")


def _law(
    process: Iid | Markov, kappa: int, tokens: int, prices: list[int], rollback: int, truncate: bool
) -> FloatArray:
    """[t] = P(N tokens take t ticks), by recursion over the tokens to go; laws older than κ + 1 tokens are let go."""
    chain = _chain_of(process)
    s_reject, s_full, again = (float(x[0]) for x in (chain.after_reject, chain.after_full, chain.again))
    done = np.ones(1)
    after_reject: dict[int, FloatArray] = {}
    after_full: dict[int, FloatArray] = {}
    for left in range(1, tokens + 1):
        drafts = min(kappa, left - 1) if truncate else kappa
        width = left * (max(prices) + rollback) + 1
        for first, mine in ((s_reject, after_reject), (s_full, after_full)):
            law = np.zeros(width)
            chance, price = 1.0, prices[drafts]
            for accepted in range(drafts):
                next_one = first if accepted == 0 else again
                ahead = after_reject.get(left - 1 - accepted, done)  # nothing left: done
                law[price + rollback : price + rollback + ahead.size] += chance * (1.0 - next_one) * ahead
                chance *= next_one
            ahead = after_full.get(left - 1 - drafts, done)
            law[price : price + ahead.size] += chance * ahead
            mine[left] = law
        after_reject.pop(left - kappa - 1, None)
        after_full.pop(left - kappa - 1, None)
    full = window_start_full(process, kappa) if chain.carried else 0.0
    return (1.0 - full) * after_reject[tokens] + full * after_full[tokens]


def _chain_of(process: Iid | Markov) -> Starts:
    rates = np.array([process.alpha])
    if isinstance(process, Iid):
        return starts(rates)
    steps = (process.steps_after_reject, process.steps_after_full) if process.carried else None
    found = starts(rates, process.rho, steps)  # the admissible rho is known to 1e-12 only
    reject, full, again = (np.clip(x, 0.0, 1.0) for x in (found.after_reject, found.after_full, found.again))
    return Starts(reject, full, again, found.carried)


def tail_optimal_kappa(rates: FloatArray, cost: Cost, kappa_max: int, tokens: int, level: float) -> IntArray:
    """Draft length with the least ``level``-quantile of the time for N tokens, at many i.i.d. rates.

    Every round drafts all κ, and c_r = 0, so the time is a number of rounds times the price of one.  Of equal ones the
    shortest.

    Examples
    --------
    >>> tail_optimal_kappa(np.array([0.7, 0.85]), Cost(c_d=0.1), 16, 128, 0.99)
    array([3, 5])
    """
    _, rounds = rounds_tables(starts(rates), kappa_max, tokens, level)
    prices = np.array([cost.base(kappa) for kappa in range(kappa_max + 1)])
    return shortest_best(rounds * prices)


def shortest_best(times: FloatArray) -> IntArray:
    """Index of the first entry along the last axis that is least, to within 1e-9.

    Examples
    --------
    >>> shortest_best(np.array([3.0, 2.0 + 1e-12, 2.0]))
    array(1)
    """
    return np.asarray((times <= times.min(axis=-1, keepdims=True) + 1e-9).argmax(axis=-1), dtype=np.int64)


def tail_staircase(cost: Cost, kappa_max: int = 8, tokens: int = 128, level: float = 0.99) -> tuple[float, ...]:
    """Acceptance rates at which the draft length that is best for slow sequences first exceeds 0, 1, …, kappa_max − 1.

    Parameters
    ----------
    cost : Cost
        Prices with c_r = 0; no cost tables.
    kappa_max : int
        Number of steps, 1 ≤ kappa_max ≤ 32.
    tokens : int
        N, 1 ≤ tokens ≤ 4096.
    level : float
        Quantile of the time to emit N tokens, 0 < level < 1.

    Returns
    -------
    tuple of float
        The first such rate; ``nan`` where there is none.  The time is a whole number of rounds times their price, so
        the best κ may fall back once or twice above its first step.

    Raises
    ------
    ParameterError
        If an argument is out of range, c_r > 0 or the costs are tables.

    References
    ----------
    docs/theory.md section 7: what is true of the article's section 4.2.  `simspec.theory.staircase` is the same for the
    mean.

    Examples
    --------
    >>> [round(alpha, 3) for alpha in tail_staircase(Cost(c_d=0.2), 3, tokens=64)]
    [0.344, 0.641, 0.791]
    """
    per_draft_of(cost)
    check_range("kappa_max", kappa_max, 1, 32)
    check_range("tokens", tokens, 1, TOKENS_LIMIT)
    check_inside("level", level, 0, 1)
    check_range("c_r", cost.c_r, 0, 0)
    longest = kappa_max + _SPARE
    prices = np.array([cost.base(kappa) for kappa in range(longest + 1)])
    roots = [_Roots(kappa, tokens, level) for kappa in range(longest + 1)]
    found = _first_beyond(roots, prices, kappa_max)
    for own in roots:
        own.polish(found)
    return tuple(float(alpha) for alpha in _first_beyond(roots, prices, kappa_max))


def _first_beyond(roots: list[_Roots], prices: FloatArray, kappa_max: int) -> FloatArray:
    """The first rate at which the best κ exceeds each of 0 … kappa_max − 1; NaN if none."""
    breaks = np.sort([own.rates for own in roots], axis=1)
    rates = np.unique(breaks[(breaks > 0.0) & (breaks < 1.0)])  # between them no quantile changes
    rounds = np.array([own.size - np.searchsorted(own, rates, side="right") for own in breaks])
    best = shortest_best((rounds * prices[:, None]).T)
    beyond = [rates[best > kappa] for kappa in range(kappa_max)]
    return np.array([some[0] if some.size else math.nan for some in beyond])


class _Roots:
    """The least rate at which r rounds of κ drafts emit N tokens with a share ``level``, for r = 0 … N; inf if none.

    A scan brackets them and they are placed on a straight line of the log-odds; `polish` solves those that matter.
    """

    def __init__(self, kappa: int, tokens: int, level: float) -> None:
        self.kappa, self.tokens, self.level = kappa, tokens, level
        self.rates = np.full(tokens + 1, np.inf)
        self.rates[tokens] = 0.0
        self.rounds = np.arange(-(-tokens // (kappa + 1)), tokens)
        if not self.rounds.size:
            return
        scan = np.linspace(0.0, 1.0, 101)
        share = np.cumsum(emission_rounds(starts(scan), kappa, tokens), axis=1)[:, self.rounds]
        odds = _log_odds(share, level)
        at = np.argmax(odds >= 0.0, axis=0)  # at rate 1 all are; at 0 none is
        here = np.arange(self.rounds.size)
        self.ends = scan[at - 1], scan[at], odds[at - 1, here], odds[at, here]
        low, high, below, above = self.ends
        self.rates[self.rounds] = low + (high - low) * below / (below - above)

    def polish(self, places: FloatArray) -> None:
        """Solve to 1e-9 in log-odds what lies near the places: false position, the end that stays halved (Illinois)."""
        gaps = np.abs(self.rates[self.rounds][:, None] - places)
        near = np.flatnonzero((gaps < _NEAR).any(axis=1))
        if not near.size:
            return
        low, high, below, above = (end[near] for end in self.ends)
        for _ in range(60):
            middle = low + (high - low) * below / (below - above)
            here = _log_odds(_share_emitted(middle, self.rounds[near], self.kappa, self.tokens), self.level)
            if (np.abs(here) < 1e-9).all():
                break
            up = here >= 0.0
            low, high = np.where(up, low, middle), np.where(up, middle, high)
            below, above = np.where(up, 0.5 * below, here), np.where(up, here, 0.5 * above)
        self.rates[self.rounds[near]] = middle


def _log_odds(share: FloatArray, level: float) -> FloatArray:
    """Above 0 where ``share`` exceeds ``level``, and nearly straight as a function of the rate."""
    inside = np.clip(share, 1e-300, 1.0 - 1e-16)
    return np.asarray(np.log(inside / (1.0 - inside)) - math.log(level / (1.0 - level)))


def _share_emitted(rates: FloatArray, rounds: IntArray, kappa: int, tokens: int) -> FloatArray:
    """Chance that so many rounds emit N tokens, one rate for each: the law of A, convolved with itself by Fourier."""
    powers = np.power(rates[:, None], np.arange(kappa + 1.0))
    pmf = np.hstack([powers[:, :-1] * (1.0 - rates[:, None]), powers[:, -1:]])
    size = 1 << int(kappa * rounds.max()).bit_length()
    wave = np.fft.rfft(pmf, size)
    law = np.fft.irfft(np.exp(rounds[:, None] * np.log(np.where(wave == 0.0, 1e-300, wave))), size)
    enough = np.arange(size) >= (tokens - rounds)[:, None]
    return np.asarray((law * enough).sum(axis=1))
