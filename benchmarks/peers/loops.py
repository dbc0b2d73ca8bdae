"""Plain token loops in numba with ``np.random``: what most people write first, compiled as they would compile it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import setting
from setting import IntArray

from peers.base import Peer, check_all
from peers.exact import law

WIDE = setting.LONGEST + 1
LONGEST, START = setting.LONGEST, setting.POLICY_START


def _jit(function: Callable[..., Any]) -> Callable[..., Any]:
    compiled: Callable[..., Any] = numba.njit(nogil=True, cache=True)(function)
    return compiled


@_jit
def seed(value):
    np.random.seed(value)


@_jit
def iid(windows, alpha, kappa, hist):
    for _ in range(windows):
        a = 0
        while a < kappa and np.random.random() < alpha:
            a += 1
        hist[a] += 1


@_jit
def markov(windows, after_reject, after_accept, kappa, hist):
    rate = after_reject
    for _ in range(windows):
        a = 0
        while a < kappa and np.random.random() < rate:
            a += 1
            rate = after_accept
        rate = after_accept if a == kappa else after_reject  # the outcome of the last draft
        hist[a] += 1


@_jit
def drift(generations, rates, kappa, hist):
    tokens = rates.size
    for _ in range(generations):
        t = 0
        while t < tokens:
            drafted = min(kappa, tokens - 1 - t)
            a = 0
            while a < drafted and np.random.random() < rates[t + a]:
                a += 1
            hist[a] += 1
            t += a + 1


@_jit
def hmm(windows, rates, moves, kappa, hist):
    """``moves[s]``: cumulative chances of the next regime."""
    s = 0
    for _ in range(windows):
        a = 0
        while a < kappa:
            accepted = np.random.random() < rates[s]
            u = np.random.random()
            s = 0 if u < moves[s, 0] else 1 if u < moves[s, 1] else 2
            if not accepted:
                break
            a += 1
        hist[a] += 1


@_jit
def request(alpha, tokens, kappa, hist):
    """One request at one rate."""
    t = 0
    while t < tokens:
        drafted = min(kappa, tokens - 1 - t)
        a = 0
        while a < drafted and np.random.random() < alpha:
            a += 1
        hist[a] += 1
        t += a + 1


@_jit
def beta_requests(requests, first, second, tokens, kappa, hist):
    for _ in range(requests):
        request(np.random.beta(first, second), tokens, kappa, hist)


@_jit
def discrete_requests(requests, alphas, shares, tokens, kappa, hist):
    """``shares``: cumulative weights."""
    for _ in range(requests):
        request(alphas[np.searchsorted(shares, np.random.random(), side="right")], tokens, kappa, hist)


@_jit
def next_kappa(adapts, kappa, full):
    if not adapts:
        return kappa
    return min(max(kappa + 2 if full else kappa - 1, 1), LONGEST)


@_jit
def iid_policy(windows, alpha, kappa, adapts, hist):
    for _ in range(windows):
        a = 0
        while a < kappa and np.random.random() < alpha:
            a += 1
        hist[kappa, a] += 1
        kappa = next_kappa(adapts, kappa, a == kappa)


@_jit
def markov_policy(windows, after_reject, after_accept, kappa, adapts, hist):
    rate = after_reject
    for _ in range(windows):
        a = 0
        while a < kappa and np.random.random() < rate:
            a += 1
            rate = after_accept
        rate = after_accept if a == kappa else after_reject
        hist[kappa, a] += 1
        kappa = next_kappa(adapts, kappa, a == kappa)


@_jit
def drift_policy(generations, rates, start, adapts, hist):
    tokens = rates.size
    for _ in range(generations):
        t, kappa = 0, start
        while t < tokens:
            drafted = min(kappa, tokens - 1 - t)
            a = 0
            while a < drafted and np.random.random() < rates[t + a]:
                a += 1
            hist[drafted, a] += 1
            kappa = next_kappa(adapts, kappa, a == drafted)
            t += a + 1


@_jit
def rolling(windows, after_reject, after_accept, lengths, smoothing, estimate, hist):
    """kappa by a rolling estimate of the verdicts; equal rates are independent drafts."""
    rate, kappa = after_reject, START
    for _ in range(windows):
        a = 0
        while a < kappa:
            accepted = np.random.random() < rate
            estimate = smoothing * estimate + (1.0 - smoothing) * accepted
            rate = after_accept if accepted else after_reject
            if not accepted:
                break
            a += 1
        hist[kappa, a] += 1
        kappa = lengths[int(estimate * lengths.size)]


@_jit
def drift_rolling(generations, rates, lengths, smoothing, first, hist):
    tokens = rates.size
    for _ in range(generations):
        t, kappa, estimate = 0, START, first
        while t < tokens:
            drafted = min(kappa, tokens - 1 - t)
            a = 0
            while a < drafted:
                accepted = np.random.random() < rates[t + a]
                estimate = smoothing * estimate + (1.0 - smoothing) * accepted
                if not accepted:
                    break
                a += 1
            hist[drafted, a] += 1
            kappa = lengths[int(estimate * lengths.size)]
            t += a + 1


def rounds_per_output(case: str) -> float:
    """Expected rounds of one generation or request: its tokens over the mean tokens of a round."""
    return setting.TOKENS / (1.0 + float(law(case).sum(axis=0) @ np.arange(WIDE)))


def units(case: str, windows: int) -> int:
    """Windows, or as many generations or requests as hold about that many."""
    if case.split()[0] in ("iid", "markov", "hmm", "tree"):
        return windows
    return max(1, round(windows / rounds_per_output(case)))


_CHAIN = (setting.AFTER_REJECT, setting.AFTER_ACCEPT)
_ROLLING = (setting.lengths(), setting.SMOOTHING, setting.FIRST_ESTIMATE)
_SHARES = np.cumsum(setting.MIX_WEIGHTS)
_SHARES[-1] = 1.0
_FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "iid": (iid, (setting.ALPHA, setting.KAPPA)),
    "markov": (markov, (*_CHAIN, setting.KAPPA)),
    "drift": (drift, (setting.DRIFT_RATES, setting.DRIFT_KAPPA)),
    "hmm": (hmm, (setting.REGIMES, np.cumsum(setting.MOVES, axis=1), setting.KAPPA)),
    "beta requests": (beta_requests, (setting.BETA_A, setting.BETA_B, setting.TOKENS, setting.KAPPA)),
    "discrete requests": (
        discrete_requests,
        (np.array(setting.MIX_ALPHAS), _SHARES, setting.TOKENS, setting.KAPPA),
    ),
    "iid fixed": (iid_policy, (setting.ALPHA, setting.KAPPA, False)),
    "markov fixed": (markov_policy, (*_CHAIN, setting.KAPPA, False)),
    "drift fixed": (drift_policy, (setting.DRIFT_RATES, setting.DRIFT_KAPPA, False)),
    "iid heuristic": (iid_policy, (setting.ALPHA, setting.POLICY_START, True)),
    "markov heuristic": (markov_policy, (*_CHAIN, setting.POLICY_START, True)),
    "drift heuristic": (drift_policy, (setting.DRIFT_RATES, setting.POLICY_START, True)),
    "iid rolling": (rolling, (setting.ALPHA, setting.ALPHA, *_ROLLING)),
    "markov rolling": (rolling, (*_CHAIN, *_ROLLING)),
    "drift rolling": (drift_rolling, (setting.DRIFT_RATES, *_ROLLING)),
}


def _player(case: str) -> Callable[[int], IntArray]:
    function, rest = _FUNCTIONS[case]
    shape = (WIDE, WIDE) if case.endswith(("fixed", "heuristic", "rolling")) else (WIDE,)

    def play(windows: int) -> IntArray:
        hist = np.zeros(shape, np.int64)
        function(units(case, windows), *rest, hist)
        return hist

    return play


PEERS = [Peer("numba", case, "token loop", _player(case)) for case in setting.CASES if case in _FUNCTIONS]


def check() -> None:
    """Compare every loop with the exact law."""
    seed(1)
    check_all(PEERS)
