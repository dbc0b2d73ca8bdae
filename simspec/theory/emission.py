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
from simspec.theory.many_rates import ROUNDING, Starts, rounds_tables, starts
from simspec.theory.ranges import check_inside, check_kappa, check_positive, check_whole

IntArray = npt.NDArray[np.int64]

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
    error : float
        No time is wrong by more than this for rounded prices; 0 if no ``tick`` was given.

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
    error: float = 0.0

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
    process: Iid | Markov,
    kappa: int,
    cost: Cost,
    tokens: int = 128,
    truncate: bool = True,
    tick: float | None = None,
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
    tick : float, optional
        Round the price of every kind of round to a multiple of this, > 0: for measured prices, whose own tick is too
        small.  The law then has its ``error``, at most one tick per token.

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
    >>> rounded = emission_time(Iid(alpha=0.7), 4, Cost(c_d=0.1023), tick=0.01)
    >>> round(rounded.mean, 2), round(rounded.error, 2)
    (65.38, 0.59)
    """
    if not isinstance(process, (Iid, Markov)):
        raise ParameterError("process", f"{process} has no exact law of the time here; allowed: iid, markov")
    check_kappa(process, kappa)
    check_whole("tokens", tokens, 1, TOKENS_LIMIT)
    if tick is None:
        prices, rollback, unit = _ticks(cost, kappa)
    else:
        check_positive("tick", tick)
        prices, rollback, unit = _rounded(cost, kappa, Fraction(repr(float(tick))))
    cells = (kappa + 1) * tokens * (max(prices) + rollback)
    if cells > CELLS_LIMIT:
        enough = 10.0 ** math.ceil(math.log10(float(unit) * cells / CELLS_LIMIT))
        raise ParameterError(
            "cost",
            f"cost: {cost} at kappa = {kappa} and {tokens} tokens needs {cells:.2g} cells of {float(unit):g} steps; "
            f"allowed: {CELLS_LIMIT:.0e}, so round the prices, tick = {enough:g}, or ask for fewer tokens",
        )
    law = _law(process, kappa, tokens, prices, rollback, truncate)
    there = np.flatnonzero(law > 0.0)
    times, chances = np.asarray(there * float(unit), dtype=np.float64), law[there]
    mean = float(chances @ times)
    sd = math.sqrt(float(chances @ (times - mean) ** 2))
    error = 0.0 if tick is None else tokens * _most_off(cost, prices, rollback, float(unit))  # N rounds at most
    return EmissionTime(kappa, tokens, times, chances, mean, sd, error)


def _ticks(cost: Cost, kappa: int) -> tuple[list[int], int, Fraction]:
    """Price of a round of d = 0 … κ drafts and of a rejection, in the largest tick that divides all of them."""
    bases = [_decimal(cost.base(drafts)) for drafts in range(kappa + 1)]
    rollback = _decimal(cost.c_r)
    below = math.lcm(*(price.denominator for price in (*bases, rollback)))
    common = math.gcd(*(int(price * below) for price in (*bases, rollback)))
    tick = Fraction(common, below)
    return [int(price / tick) for price in bases], int(rollback / tick), tick


def _rounded(cost: Cost, kappa: int, tick: Fraction) -> tuple[list[int], int, Fraction]:
    bases = [round(_decimal(cost.base(drafts)) / tick) for drafts in range(kappa + 1)]
    return bases, round(_decimal(cost.c_r) / tick), tick


def _most_off(cost: Cost, prices: list[int], rollback: int, tick: float) -> float:
    """How far the price of a round may be from its rounded one."""
    base = max(abs(cost.base(drafts) - price * tick) for drafts, price in enumerate(prices))
    return base + abs(cost.c_r - rollback * tick)


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
