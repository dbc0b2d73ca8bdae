"""What does any rule that chooses κ do along one short generation?  All histories of its rounds, listed.

The rule is a Python function of the rounds so far.  Nothing is put on a grid and no two histories are merged, so that
every state a rule may keep is covered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from simspec.model.cost import Cost
from simspec.model.drift import Drift
from simspec.model.errors import ParameterError
from simspec.theory.law import FloatArray
from simspec.theory.ranges import check_whole

History = tuple[tuple[int, int], ...]
"""The rounds so far, each as (drafted, accepted)."""
Choice = Callable[[History], int]

HISTORY_TOKENS_LIMIT = 16
"""Longest generation whose histories are all listed: their number doubles with every token."""
HISTORY_KAPPA_LIMIT = 64


@dataclass(frozen=True, eq=False)
class PolicyLaw:
    """One generation of N tokens under a rule.

    Attributes
    ----------
    pmf_rounds : array, shape (N + 1,)
        P(r rounds), r = 0 … N.
    expected_counts : array
        ``[drafted, accepted]``: expected number of rounds.
    mean_rounds, mean_drafted, mean_accepted : float
        Rounds, drafts made, drafts accepted (before surplus tokens are discarded).
    mean_flips, mean_wakes : float
        Rounds that asked for another κ than the round before, and rounds that drafted after one that had asked for
        κ = 0.
    mean_cost, var_cost : float
        Cost of the generation, in plain target steps.
    speedup : float
        N over the expected cost.
    endings : tuple of (float, History)
        Every history of the whole generation with its probability; they add up to 1.
    """

    pmf_rounds: FloatArray
    expected_counts: FloatArray
    mean_rounds: float
    mean_drafted: float
    mean_accepted: float
    mean_flips: float
    mean_wakes: float
    mean_cost: float
    var_cost: float
    speedup: float
    endings: tuple[tuple[float, History], ...]

    def mean(self, figure: Callable[[History], float]) -> float:
        """Expectation of any figure of the whole history, e.g. of the last estimate."""
        return float(sum(chance * figure(history) for chance, history in self.endings))


def enumerate_policy(process: Drift, policy: Choice, cost: Cost) -> PolicyLaw:
    """Exact law of one short generation under any rule that chooses κ between rounds.

    Parameters
    ----------
    process : Drift
        The rates α_i and the length N ≤ 16; with ``truncate`` a draft is cut to what is needed.
    policy : callable
        ``policy(rounds)``: the next κ, 0 to 64, after the rounds so far, each (drafted, accepted); a cut draft counts
        as what was drafted.  It is asked with ``()`` first.
    cost : Cost
        The prices of a round, and of changes of κ.

    Returns
    -------
    PolicyLaw

    Raises
    ------
    ParameterError
        If N is too long, or the rule asks for something else than a κ.

    References
    ----------
    docs/theory.md section 8; the article's Figure 1 is such a rule.

    Examples
    --------
    Two up after a full round, one down after another, from κ = 2:

    >>> def heuristic(rounds):
    ...     kappa = 2
    ...     for drafted, accepted in rounds:
    ...         kappa = max(1, kappa + 2 if accepted == drafted else kappa - 1)
    ...     return kappa
    >>> flat = Drift(shape="linear", alpha_start=0.5, alpha_end=0.5, tokens=4)
    >>> found = enumerate_policy(flat, heuristic, Cost(c_d=0.1))
    >>> found.mean_rounds, round(found.speedup, 4), len(found.endings)
    (2.75, 1.3115, 6)
    """
    check_whole("process.tokens", process.n_tokens, 1, HISTORY_TOKENS_LIMIT)
    endings = tuple(_endings(process, policy, 1.0, (), 0))
    n, longest = process.n_tokens, max(drafted for _, history in endings for drafted, _ in history)
    rounds, counts = np.zeros(n + 1), np.zeros((longest + 1, longest + 1))
    spent, squared, flips, wakes = 0.0, 0.0, 0.0, 0.0
    for chance, history in endings:
        rounds[len(history)] += chance
        price = 0.0
        for drafted, accepted in history:
            counts[drafted, accepted] += chance
            price += cost.base(drafted) + cost.c_r * (accepted < drafted)
        asked = [policy(history[:r]) for r in range(len(history))]
        flipped = sum(a != b for a, b in pairwise(asked))
        woken = sum(before == 0 and drafted > 0 for before, (drafted, _) in zip(asked, history[1:], strict=False))
        price += cost.c_switch * flipped + cost.c_wake * woken
        flips, wakes = flips + chance * flipped, wakes + chance * woken
        spent, squared = spent + chance * price, squared + chance * price**2
    return PolicyLaw(
        pmf_rounds=rounds,
        expected_counts=counts,
        mean_rounds=float(rounds @ np.arange(n + 1)),
        mean_drafted=float(counts.sum(axis=1) @ np.arange(longest + 1)),
        mean_accepted=float(counts.sum(axis=0) @ np.arange(longest + 1)),
        mean_flips=flips,
        mean_wakes=wakes,
        mean_cost=spent,
        var_cost=max(squared - spent**2, 0.0),
        speedup=n / spent,
        endings=endings,
    )


def _endings(
    process: Drift, policy: Choice, chance: float, history: History, position: int
) -> Iterator[tuple[float, History]]:
    """All continuations of a history that have a chance, until N tokens are out."""
    rates, n = process.rates(), process.n_tokens
    if position >= n:
        yield chance, history
        return
    drafted = _asked(policy, history)
    if process.truncate:
        drafted = min(drafted, n - 1 - position)
    for accepted in range(drafted + 1):
        going_on, ending = 1.0, 1.0
        if accepted < drafted:
            going_on = rates[min(position + accepted, n - 1)]
            ending = 1.0 - going_on
        if chance * ending > 0.0:
            after = (*history, (drafted, accepted))
            yield from _endings(process, policy, chance * ending, after, position + accepted + 1)
        chance *= going_on
        if chance == 0.0:
            return


def _asked(policy: Choice, history: History) -> int:
    kappa = policy(history)
    if isinstance(kappa, bool) or not isinstance(kappa, (int, np.integer)) or not 0 <= kappa <= HISTORY_KAPPA_LIMIT:
        told = f"policy asks for {kappa!r} after {list(history)}"
        raise ParameterError("policy", f"{told}; allowed: a whole number from 0 to {HISTORY_KAPPA_LIMIT}")
    return int(kappa)
