"""Which κ keep a p99 limit?  Two quantities are told apart: the gap between chunks, and the time per token.

A gap between two chunks of a stream is one round, whatever it emits: R(κ)·(plain step in ms), and R(κ) + rollback where
more than 1% of rounds reject.  Its p99 in an engine is longer by what queueing, prefill and the network add, which no
κ changes.  The time per token over N tokens is (rounds needed for N tokens)·R(κ) ÷ N: its p99 is over sequences, and
the slowest of these belong to the hardest requests, where requests are told apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simspec.advice.recommend.decide import Choice
from simspec.advice.recommend.posterior import TokensPosterior
from simspec.advice.recommend.request_mix import RequestMix, request_mix
from simspec.model.errors import ParameterError

Floats = NDArray[np.float64]
P99 = 0.99
SURE = 0.95
"""Share of the drawn costs that must keep the limit."""
TOKENS_LIMIT = 4096
Waves = NDArray[np.complex128]
_WRAPPED, _ROUNDING = 1e-10, 1e-9


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
    spread : (float, float) or None
        Mean and standard deviation of the rates of requests behind a time per token; None: not told apart.
    """

    name: str
    limit_ms: float
    tokens: int | None
    times_ms: Floats
    sure: Floats
    spread: tuple[float, float] | None = None

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Options that keep the limit with `SURE` of the drawn costs."""
        return np.asarray(self.sure >= SURE)

    @property
    def short(self) -> str:
        """The same in few words."""
        gap = self.name == "gap"
        return "p99 gap between chunks" if gap else f"p99 time per token of {self.tokens}-token sequences"

    @property
    def quantity(self) -> str:
        """What is limited, in words."""
        if self.name == "gap":
            return "p99 gap between chunks (one round; queueing and prefill come on top)"
        if self.spread is None:
            requests = "requests taken as alike: where they differ it is longer"
        else:
            requests = f"requests of rates {self.spread[0]:.2f} ± {self.spread[1]:.2f} as in the log"
        return f"p99 time per token of {self.tokens}-token sequences ({requests}; queueing and prefill come on top)"


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
    """Limit on the time per token of 99 sequences in 100, of requests as in the log; rejections cost their mean."""
    scale = _checked("p99_tpot", limit_ms, plain_ms)
    if not 1 <= tokens <= TOKENS_LIMIT:
        raise ParameterError("tokens", f"tokens = {tokens} is out of range; allowed: 1 ≤ tokens ≤ {TOKENS_LIMIT}")
    mix = request_mix(posterior.observed)
    rounds = np.array([_rounds_at_p99(posterior, mix, option, tokens) for option in choice.options])
    times = rounds / tokens * choice.round_cost * scale
    sure = _sure(rounds / tokens * choice.cost_draws * scale, limit_ms)
    return Limit("time per token", limit_ms, tokens, times, sure, None if mix is None else mix.spread)


def _rounds_at_p99(posterior: TokensPosterior, mix: RequestMix | None, option: int, tokens: int) -> int:
    if option <= 0:  # one token per round, whoever asks
        return tokens
    if mix is None:
        return rounds_quantile(posterior.survival[:option], tokens, P99)
    return rounds_quantile(mix.curves(option), tokens, P99, mix.share)


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


def rounds_quantile(survival: Floats, tokens: int, level: float, share: Floats | None = None) -> int:
    """Smallest number of fresh rounds by which ``tokens`` tokens are out with probability ``level``.

    Parameters
    ----------
    survival : float array (κ,) or (kinds, κ)
        Of all requests, or of each kind of them.
    tokens : int
    level : float
    share : float array (kinds,), optional
        Share of requests of each kind.

    References
    ----------
    docs/theory.md section 7; `simspec.theory.emission_time` is the same for one rate.

    Examples
    --------
    >>> rounds_quantile(np.array([0.5]), 3, 0.99)
    3
    """
    curves = np.atleast_2d(survival)
    shares = np.ones(1) if share is None else share
    waves, functional = _waves(curves, tokens)

    def out(rounds: int) -> float:
        return 1.0 - float(shares @ np.real(waves**rounds @ functional))

    low, high = 0, tokens  # every round emits a token
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if out(middle) >= level - _ROUNDING else (middle, high)
    return high


def _waves(curves: Floats, tokens: int) -> tuple[Waves, Waves]:
    """Transform of the tokens of a round of each kind, and weights whose product with a power is P(fewer than so many).

    On a circle a little inside the unit circle: what would be wrapped around is damped to 1e-10, whatever κ is.

    References
    ----------
    Abate and Whitt (1992), *Numerical inversion of probability generating functions*, Eq. (5.38).
    """
    points = 2 * tokens
    inside = _WRAPPED ** (1.0 / points)
    circle = inside * np.exp(-2j * np.pi * np.arange(points) / points)
    reach = np.concatenate([np.ones((len(curves), 1)), curves], axis=1)
    pmf = reach - np.concatenate([curves, np.zeros((len(curves), 1))], axis=1)
    waves = np.zeros((len(curves), points), complex)
    for column in pmf.T[::-1]:  # Horner: z(p_0 + z(p_1 + …))
        waves = circle * (column[:, None] + waves)
    few = inside ** -np.arange(float(tokens))  # Σ_s<tokens r^−s ∮ … z^−s, a transform as well
    return waves, np.fft.ifft(few, points)
