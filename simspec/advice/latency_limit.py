"""Which κ keep a p99 limit?  Two quantities are told apart: the gap between chunks, and the time per token.

A gap between two chunks of a stream is one round, whatever it emits: R(κ)·(plain step in ms), and R(κ) + rollback where
more than 1% of rounds reject.  Its p99 in an engine is longer by what queueing, prefill and the network add, which no
κ changes.  The time per token over N tokens is (rounds needed for N tokens)·R(κ) ÷ N: its p99 is over sequences.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simspec.advice.decide import OFF, Choice
from simspec.advice.posterior import TokensPosterior
from simspec.model.errors import ParameterError

Floats = NDArray[np.float64]
P99 = 0.99
SURE = 0.95
"""Share of the drawn costs that must keep the limit."""
TOKENS_LIMIT = 4096


@dataclass(frozen=True, eq=False)
class Limit:
    """One limit, and what each option makes of it.

    Attributes
    ----------
    name : str
        ``"gap"`` or ``"time per token"``.
    limit_ms : float
    tokens : int or None
        Sequence length of the time per token.
    times_ms : float array (options,)
        p99 of each option.
    sure : float array (options,)
        Share of the drawn costs with which it stays below the limit.
    """

    name: str
    limit_ms: float
    tokens: int | None
    times_ms: Floats
    sure: Floats

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Options that keep the limit with `SURE` of the drawn costs."""
        return np.asarray(self.sure >= SURE)

    @property
    def quantity(self) -> str:
        """What is limited, in words."""
        if self.name == "gap":
            return "p99 gap between chunks (one round; queueing and prefill come on top)"
        return f"p99 time per token over sequences of {self.tokens} tokens (queueing and prefill come on top)"


def gap_limit(choice: Choice, limit_ms: float, plain_ms: float | None, rollback: float, full: Floats) -> Limit:
    """Limit on the gap between two chunks.

    Parameters
    ----------
    choice : Choice
    limit_ms : float
        > 0.
    plain_ms : float or None
        One plain target step; it must be known.
    rollback : float
        Cost of a round that rejects.
    full : float array (options,)
        Share of rounds without a rejection.
    """
    scale = _checked("p99_gap", limit_ms, plain_ms)
    rejecting = 1.0 - full
    added = rollback * (np.where(rejecting > 1.0 - P99, 1.0, 0.0) - rejecting)  # a mean share is in the cost already
    times = (choice.round_cost + added) * scale
    return Limit("gap", limit_ms, None, times, _sure((choice.cost_draws + added) * scale, limit_ms))


def token_limit(
    choice: Choice, limit_ms: float, plain_ms: float | None, posterior: TokensPosterior, tokens: int = 128
) -> Limit:
    """Limit on the time per token of 99 sequences in 100, rounds fresh; rejections cost their mean."""
    scale = _checked("p99_tpot", limit_ms, plain_ms)
    if not 1 <= tokens <= TOKENS_LIMIT:
        raise ParameterError("tokens", f"tokens = {tokens} is out of range; allowed: 1 ≤ tokens ≤ {TOKENS_LIMIT}")
    rounds = np.array(
        [tokens if o == OFF else rounds_quantile(posterior.survival[:o], tokens, P99) for o in choice.options]
    )
    times = rounds / tokens * choice.round_cost * scale
    return Limit(
        "time per token", limit_ms, tokens, times, _sure(rounds / tokens * choice.cost_draws * scale, limit_ms)
    )  # fmt: skip


def _checked(name: str, limit_ms: float, plain_ms: float | None) -> float:
    flag = name.replace("_", "-")
    if not limit_ms > 0.0:
        raise ParameterError(name, f"--{flag} {limit_ms:g} is out of range; allowed: above 0 ms")
    if plain_ms is None:
        raise ParameterError(
            name, f"--{flag} is in ms, and the costs do not say how long a plain step takes; give --plain-ms"
        )
    return plain_ms


def _sure(times: Floats, limit_ms: float) -> Floats:
    return np.asarray((times <= limit_ms * (1.0 + 1e-12)).mean(axis=0))


def rounds_quantile(survival: Floats, tokens: int, level: float) -> int:
    """Smallest number of fresh rounds by which ``tokens`` tokens are out with probability ``level``.

    Parameters
    ----------
    survival : float array (κ,)
    tokens : int
    level : float

    References
    ----------
    docs/theory.md section 7; `simspec.theory.emission_time` is the same for one rate.

    Examples
    --------
    >>> rounds_quantile(np.array([0.5]), 3, 0.99)
    3
    """
    pmf = -np.diff(np.concatenate([[1.0], survival]), append=0.0)
    ahead = np.zeros(tokens)  # P(so many tokens are out), below ``tokens``
    ahead[0] = 1.0
    for played in range(1, tokens + 1):
        more = np.convolve(ahead, np.concatenate([[0.0], pmf]))[:tokens]
        ahead = more
        if 1.0 - ahead.sum() >= level - 1e-12:
            return played
    return tokens
