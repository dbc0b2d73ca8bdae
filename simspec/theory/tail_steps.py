"""From which acceptance rate on does another draft length suit the slow sequences?  Steps of the best quantile."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.theory.emission import TOKENS_LIMIT, IntArray, shortest_best
from simspec.theory.law import FloatArray
from simspec.theory.many_rates import emission_rounds, starts
from simspec.theory.ranges import check_inside, check_range, check_whole
from simspec.theory.step_rates import per_draft_of

_SPARE = 6
"""Drafts so much longer than the last step are tried too; the best one past a step has been at most 2 longer."""
_NEAR = 0.01
"""Rates so near a step are solved: one step of the scan, and a straight line over it cannot err by more."""
_WIDTH = 1e-4
"""A best κ that holds over a narrower interval of rates counts for none: no rate is known so well, and many roots are
the same for all κ, since r rounds that need fewer than κ drafts suffice alike, so that rounding would order them."""
_PASSES = 20
"""Where the first places were wrong, others come up and are solved in turn; two or three passes are usual."""
STEPS_WORK = 1e7
"""(kappa_max + 7) × tokens²: about a minute."""


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
        The first such rate from which that holds over .0001 at least; ``nan`` where there is none.  The time is a whole
        number of rounds times their price, so the best κ may fall back above its first step, and with cheap drafts or
        few tokens it does so often.

    Raises
    ------
    ParameterError
        If an argument is out of range, c_r > 0, the costs are tables, or it would take more than about a minute:
        (kappa_max + 7) × tokens² > 10⁷, which is 816 tokens for 8 steps.

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
    check_whole("kappa_max", kappa_max, 1, 32)
    check_whole("tokens", tokens, 1, TOKENS_LIMIT)
    check_inside("level", level, 0, 1)
    check_range("c_r", cost.c_r, 0, 0)
    check_steps_work(kappa_max, tokens)
    longest = kappa_max + _SPARE
    prices = np.array([cost.base(kappa) for kappa in range(longest + 1)])
    roots = [_Roots(kappa, tokens, level) for kappa in range(longest + 1)]
    found = _first_beyond(roots, prices, kappa_max)
    for _ in range(_PASSES):
        for own in roots:
            own.polish(found)
        before, found = found, _first_beyond(roots, prices, kappa_max)
        if np.array_equal(before, found, equal_nan=True):
            break
    return tuple(float(alpha) for alpha in found)


def _first_beyond(roots: list[_Roots], prices: FloatArray, kappa_max: int) -> FloatArray:
    """The first rate from which the best κ exceeds each of 0 … kappa_max − 1 for at least `_WIDTH`; NaN if none."""
    breaks = np.sort([own.rates for own in roots], axis=1)
    rates = np.unique(breaks[(breaks > 0.0) & (breaks < 1.0)])  # between them no quantile changes
    rounds = np.array([own.size - np.searchsorted(own, rates, side="right") for own in breaks])
    best = shortest_best((rounds * prices[:, None]).T)
    return np.array([_first_run(rates, best > kappa) for kappa in range(kappa_max)])


def _first_run(rates: FloatArray, beyond: npt.NDArray[np.bool_]) -> float:
    """Where the first run of intervals that is wider than `_WIDTH` begins, the last interval ending at 1."""
    turns = np.flatnonzero(np.diff(beyond, prepend=False, append=False))
    ends = np.append(rates, 1.0)[turns].reshape(-1, 2)
    wide = ends[ends[:, 1] - ends[:, 0] > _WIDTH, 0]
    return float(wide[0]) if wide.size else math.nan


def check_steps_work(kappa_max: int, tokens: int) -> None:
    """Raise `ParameterError` where `tail_staircase` would take more than about a minute.

    Examples
    --------
    >>> check_steps_work(8, 3000)
    Traceback (most recent call last):
    ...
    simspec.model.errors.ParameterError: tokens = 3000 is too much work for 8 steps; allowed: tokens ≤ 816
    """
    most = tail_tokens_limit(kappa_max)
    if tokens > most:
        raise ParameterError(
            "tokens", f"tokens = {tokens} is too much work for {kappa_max} steps; allowed: tokens ≤ {most}"
        )


def tail_tokens_limit(kappa_max: int) -> int:
    """Longest sequence whose `tail_staircase` takes no more than about a minute.

    Examples
    --------
    >>> tail_tokens_limit(8)
    816
    """
    return math.isqrt(int(STEPS_WORK / (kappa_max + _SPARE + 1)))


class _Roots:
    """The least rate at which r rounds of κ drafts emit N tokens with a share ``level``, for r = 0 … N; inf if none.

    A scan brackets them and they are placed on a straight line of the log-odds; `polish` solves those that matter.
    """

    def __init__(self, kappa: int, tokens: int, level: float) -> None:
        self.kappa, self.tokens, self.level = kappa, tokens, level
        self.rates = np.full(tokens + 1, np.inf)
        self.rates[tokens] = 0.0
        self.rounds = np.arange(-(-tokens // (kappa + 1)), tokens)
        self.solved = np.zeros(self.rounds.size, dtype=bool)
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
        near = np.flatnonzero((gaps < _NEAR).any(axis=1) & ~self.solved)
        if not near.size:
            return
        low, high, below, above = (end[near] for end in self.ends)
        for _ in range(60):
            middle = low + (high - low) * below / (below - above)
            here = _log_odds(_share_emitted(middle, self.rounds[near], self.kappa, self.tokens), self.level)
            if ((np.abs(here) < 1e-9) | (high - low < 1e-12)).all():
                break
            up = here >= 0.0
            low, high = np.where(up, low, middle), np.where(up, middle, high)
            below, above = np.where(up, 0.5 * below, here), np.where(up, here, 0.5 * above)
        self.rates[self.rounds[near]], self.solved[near] = middle, True


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
