"""What would someone find who only knows the definitions?  Every outcome is listed; nothing knows a closed form."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise, product

import numpy as np

from simspec.model.chains import Hmm, TokenChain
from simspec.model.cost import Cost
from simspec.model.drift import Drift
from simspec.model.iid import Iid
from simspec.model.markov import Markov
from simspec.model.mixture import BetaMixture, DiscreteMixture
from simspec.model.position import Position
from simspec.model.process import Process
from simspec.model.survival import Survival


def outcome_chance(process: Process, outcomes: tuple[int, ...]) -> float:
    """P(these verdicts), had all drafts of a fresh window been judged."""
    if isinstance(process, (BetaMixture, DiscreteMixture)):
        return rate_moment(process, sum(outcomes), len(outcomes) - sum(outcomes))
    chance, before = 1.0, 1.0
    for j, accepted in enumerate(outcomes):
        if isinstance(process, Iid):
            yes = process.alpha
        elif isinstance(process, Markov):
            yes = process.alpha if j == 0 else one_step(process, outcomes[j - 1])
        elif isinstance(process, Position):
            yes = process.alphas[j]
        else:
            assert isinstance(process, Survival)
            yes = process.survival[j] / before if before > 0 else 0.0
            before = process.survival[j]
        chance *= yes if accepted else 1.0 - yes
    return chance


def rate_moment(process: BetaMixture | DiscreteMixture, accepted: int, rejected: int) -> float:
    """E[rate^accepted (1 − rate)^rejected], by Beta functions or as a sum, weights as given."""
    if isinstance(process, DiscreteMixture):
        parts = zip(process.shares(), process.alphas, strict=True)
        return sum(share * rate**accepted * (1.0 - rate) ** rejected for share, rate in parts)
    alpha, rho = process.mean_and_rho()
    if rho == 0.0 or alpha in (0.0, 1.0):
        return alpha**accepted * (1.0 - alpha) ** rejected
    if rho == 1.0:
        return alpha * 0.0**rejected + (1.0 - alpha) * 0.0**accepted
    a, b = alpha * (1.0 - rho) / rho, (1.0 - alpha) * (1.0 - rho) / rho
    return math.exp(log_beta(a + accepted, b + rejected) - log_beta(a, b))


def log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


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


def hidden_rows(process: Hmm | TokenChain, kappa: int) -> np.ndarray:
    """rows[s, j, s']: P(A = j and the next window starts in s' | this one starts in s), every hidden path listed."""
    states = len(process.P if isinstance(process, Hmm) else process.target)
    rows = np.zeros((states, kappa + 1, states))
    for first in range(states):
        if isinstance(process, Hmm):
            _hmm_paths(process, kappa, first, 0, 1.0, rows[first])
        else:
            _token_paths(process, kappa, first, 0, 1.0, rows[first])
    return rows


def _hmm_paths(process: Hmm, kappa: int, state: int, done: int, chance: float, into: np.ndarray) -> None:
    yes = process.alphas[state]
    into[done] += chance * (1.0 - yes) * _walk(process, state, process.steps_after_reject)
    if done + 1 == kappa:
        into[kappa] += chance * yes * _walk(process, state, process.steps_after_full)
        return
    for following, move in enumerate(process.P[state]):
        _hmm_paths(process, kappa, following, done + 1, chance * yes * move, into)


def _walk(process: Hmm, state: int, steps: int) -> np.ndarray:
    law = np.eye(len(process.P))[state]
    for _ in range(steps):
        law = sum(law[s] * np.array(process.P[s]) for s in range(law.size))
    return law


def _token_paths(process: TokenChain, kappa: int, context: int, done: int, chance: float, into: np.ndarray) -> None:
    """Leviathan et al., Algorithm 1, one drafted token after the other."""
    p, q = np.array(process.target[context]), np.array(process.draft[context])
    residual = np.maximum(p - q, 0.0)
    for token in range(p.size):
        if q[token] == 0.0:
            continue
        kept = min(1.0, p[token] / q[token])
        if kept < 1.0:
            into[done] += chance * q[token] * (1.0 - kept) * residual / residual.sum()
        if done + 1 == kappa:
            into[kappa] += chance * q[token] * kept * np.array(process.target[token])
        else:
            _token_paths(process, kappa, token, done + 1, chance * q[token] * kept, into)


def walked_start(chain: np.ndarray) -> np.ndarray:
    """Long-run law of a chain, by walking a lazy copy of it for a long time."""
    lazy = 0.5 * (chain + np.eye(len(chain)))
    for _ in range(60):
        lazy = lazy @ lazy
        lazy /= lazy.sum(axis=1, keepdims=True)
    return lazy.mean(axis=0)


def hidden_lane_counts(rows: np.ndarray, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the counts of A over every path of a lane, hidden states at window starts included."""
    states, outcomes, _ = rows.shape
    start = walked_start(rows.sum(axis=1))
    mean, second = np.zeros(outcomes), np.zeros((outcomes, outcomes))
    for first in range(states):
        for path in product(range(outcomes), range(states), repeat=rounds):
            chance, state = start[first], first
            for accepted, following in zip(path[::2], path[1::2], strict=True):
                chance *= rows[state, accepted, following]
                state = following
            counts = np.bincount(path[::2], minlength=outcomes)
            mean += chance * counts
            second += chance * np.outer(counts, counts)
    return mean, second - np.outer(mean, mean)


def hidden_lane_counts_by_powers(rows: np.ndarray, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """The same for long lanes, one pair of windows at a time."""
    chain, by_start = rows.sum(axis=1), rows.sum(axis=2)
    start = walked_start(chain)
    pmf = start @ by_start
    covariance = rounds * (np.diag(pmf) - np.outer(pmf, pmf))
    after = np.einsum("s,sjt->jt", start, rows)
    for distance in range(1, rounds):
        excess = after @ by_start - np.outer(pmf, pmf)
        covariance += (rounds - distance) * (excess + excess.T)
        after = after @ chain
    return rounds * pmf, covariance


Rounds = list[tuple[int, int, bool]]
"""(accepted, drafted, rejected) of each round of a request."""


def request_paths(n: int, kappa: int, truncate: bool) -> Iterator[Rounds]:
    """Every way a request of n tokens can go."""
    if n <= 0:
        yield []
        return
    drafts = min(kappa, n - 1) if truncate else kappa
    for accepted in range(drafts + 1):
        for rest in request_paths(n - 1 - accepted, kappa, truncate):
            yield [(accepted, drafts, accepted < drafts), *rest]


def request_chances(process: BetaMixture | DiscreteMixture, paths: list[Rounds]) -> np.ndarray:
    """Their chances, the rate averaged out; shares of rounds are first turned into shares of requests."""
    verdicts = [(sum(a for a, _, _ in path), sum(r for _, _, r in path)) for path in paths]
    if isinstance(process, DiscreteMixture) and process.weights_of == "rounds":
        by_class = np.array([[rate**a * (1.0 - rate) ** r for a, r in verdicts] for rate in process.alphas])
        shares = np.array(process.shares()) / (by_class @ [len(path) for path in paths])
        return shares / shares.sum() @ by_class
    return np.array([rate_moment(process, a, r) for a, r in verdicts])


def geometric_moments(rate: float, kappa: int, tokens: int, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """E[counts] and E[counts countsᵀ] of a request that ends after each token with probability 1/tokens.

    Its length is drawn first; given n tokens it is a fixed one with whole drafts, added up round by round.
    """
    pmf = [rate**j * (1.0 - rate) for j in range(kappa)] + [rate**kappa]
    one = np.eye(kappa + 1)
    mean, second = [np.zeros(kappa + 1)], [np.zeros((kappa + 1, kappa + 1))]
    for n in range(1, longest):
        m, s = np.zeros(kappa + 1), np.zeros((kappa + 1, kappa + 1))
        for j, chance in enumerate(pmf):
            rest, rest2 = mean[max(n - 1 - j, 0)], second[max(n - 1 - j, 0)]
            m += chance * (one[j] + rest)
            s += chance * (np.outer(one[j], one[j]) + np.outer(one[j], rest) + np.outer(rest, one[j]) + rest2)
        mean.append(m)
        second.append(s)
    length = [0.0] + [(1.0 - 1.0 / tokens) ** (n - 1) / tokens for n in range(1, longest)]
    return np.tensordot(length, mean, 1), np.tensordot(length, second, 1)
