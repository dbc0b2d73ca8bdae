"""What would someone find who only knows the definitions?  Every outcome is listed; nothing knows a closed form."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product

import numpy as np

from simspec.model.cost import Cost
from simspec.model.drift import Drift
from simspec.model.iid import Iid
from simspec.model.markov import Markov
from simspec.model.process import Process
from simspec.model.survival import Survival


def outcome_chance(process: Process, outcomes: tuple[int, ...]) -> float:
    """P(these verdicts), had all drafts of a fresh window been judged."""
    chance, before = 1.0, 1.0
    for j, accepted in enumerate(outcomes):
        if isinstance(process, Iid):
            yes = process.alpha
        elif isinstance(process, Markov):
            yes = process.alpha if j == 0 else one_step(process, outcomes[j - 1])
        else:
            assert isinstance(process, Survival)
            yes = process.survival[j] / before if before > 0 else 0.0
            before = process.survival[j]
        chance *= yes if accepted else 1.0 - yes
    return chance


def one_step(process: Markov, now: int) -> float:
    """P(next outcome is an acceptance | outcome now), from correlation ρ and marginal α."""
    return process.alpha + process.rho * (now - process.alpha)


def run_length(outcomes: tuple[int, ...]) -> int:
    return (*outcomes, 0).index(0)


def fresh_law(process: Process, kappa: int) -> tuple[np.ndarray, float]:
    """(pmf of A, mean examined) over all 2^κ verdict sequences."""
    pmf, examined = np.zeros(kappa + 1), 0.0
    for outcomes in product((0, 1), repeat=kappa):
        chance, run = outcome_chance(process, outcomes), run_length(outcomes)
        pmf[run] += chance
        examined += chance * min(run + 1, kappa)
    return pmf, examined


def judged_law(process: Process, kappa: int) -> np.ndarray:
    pmf = np.zeros(kappa + 1)
    for outcomes in product((0, 1), repeat=kappa):
        pmf[sum(outcomes)] += outcome_chance(process, outcomes)
    return pmf


def carried_rows(process: Markov, kappa: int) -> np.ndarray:
    """P(A = j | how the last window ended), hidden steps taken one by one; row 0 after a rejection, 1 after full."""
    rows = np.zeros((2, kappa + 1))
    for ended in (0, 1):
        law = np.array([1.0 - ended, float(ended)])  # of the hidden outcome now
        for _ in range(process.steps_after_full if ended else process.steps_after_reject):
            accepted = law[0] * one_step(process, 0) + law[1] * one_step(process, 1)
            law = np.array([1.0 - accepted, accepted])
        for outcomes in product((0, 1), repeat=kappa):
            chance = law[outcomes[0]]
            for now, following in pairwise(outcomes):
                chance *= one_step(process, now) if following else 1.0 - one_step(process, now)
            rows[ended, run_length(outcomes)] += chance
    return rows


def carried_start(rows: np.ndarray) -> np.ndarray:
    """Long-run law of how windows start, by walking a lazy copy of the window chain for a long time."""
    chain = np.array([[1.0 - rows[s, -1], rows[s, -1]] for s in (0, 1)])
    lazy = 0.5 * (chain + np.eye(2))  # the same long run without the period
    for _ in range(60):
        lazy = lazy @ lazy
        lazy /= lazy.sum(axis=1, keepdims=True)
    return np.array([0.5, 0.5]) @ lazy


def lane_counts(process: Markov, kappa: int, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the counts of A over every path of a lane."""
    rows = carried_rows(process, kappa)
    start = carried_start(rows)
    mean, second = np.zeros(kappa + 1), np.zeros((kappa + 1, kappa + 1))
    for first in (0, 1):
        for path in product(range(kappa + 1), repeat=rounds):
            chance, state = start[first], first
            for accepted in path:
                chance *= rows[state, accepted]
                state = int(accepted == kappa)
            counts = np.bincount(path, minlength=kappa + 1)
            mean += chance * counts
            second += chance * np.outer(counts, counts)
    return mean, second - np.outer(mean, mean)


def lane_counts_by_powers(process: Markov, kappa: int, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """The same for long lanes: joint laws of two windows from matrix powers, one pair of windows at a time."""
    rows = carried_rows(process, kappa)
    start = carried_start(rows)
    chain = np.array([[1.0 - rows[s, -1], rows[s, -1]] for s in (0, 1)])
    follows = np.array([[1.0, 0.0]] * kappa + [[0.0, 1.0]])  # A → how the next window starts
    pmf = start @ rows
    covariance = rounds * (np.diag(pmf) - np.outer(pmf, pmf))
    between = np.eye(2)
    for distance in range(1, rounds):
        joint = pmf[:, None] * (follows @ between @ rows)
        excess = joint - np.outer(pmf, pmf)
        covariance += (rounds - distance) * (excess + excess.T)
        between = between @ chain
    return rounds * pmf, covariance


class Path:
    """One way a generation can go."""

    def __init__(self, chance: float, rounds: list[tuple[int, int, bool]]) -> None:
        self.chance, self.rounds = chance, rounds  # (accepted, drafted, rejected)

    def cost(self, cost: Cost) -> float:
        return sum(cost.of_round(drafted, rejected) for _, drafted, rejected in self.rounds)

    def counts(self, kappa: int) -> np.ndarray:
        return np.bincount([accepted for accepted, _, _ in self.rounds], minlength=kappa + 1)


def generation_paths(process: Drift, kappa: int, done: int = 0) -> Iterator[Path]:
    """Every path of a generation of which ``done`` tokens are out."""
    rates, n = process.rates(), process.n_tokens
    if done >= n:
        yield Path(1.0, [])
        return
    drafts = min(kappa, n - 1 - done) if process.truncate else kappa
    chance = 1.0
    for accepted in range(drafts + 1):
        rejected = accepted < drafts
        rate = rates[min(done + accepted, n - 1)] if rejected else 0.0
        for rest in generation_paths(process, kappa, done + accepted + 1):
            yield Path(chance * (1.0 - rate) * rest.chance, [(accepted, drafts, rejected), *rest.rounds])
        chance *= rate
