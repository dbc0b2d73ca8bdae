"""How does a process become integers?  Survival thresholds per row, the row that follows each outcome, a start law.

Floats become thresholds here by + − × ÷ alone, and nothing is taken from theory/: a fast kernel and the exact route
share no table.  A 32-bit word u survives to draft j when u < thr[row, j − 1] with thr = ⌊S_j·2³² + ½⌋, so each survival
probability is off by at most 2⁻³³ and 0 and 1 are exact.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from simspec.model import Drift, Iid, Markov, ParameterError, Process, Survival

TABLE_LIMIT = 2**27
"""Largest number of thresholds of one table (1 GiB of int64)."""


@dataclass(frozen=True)
class Rows:
    """A process in integers.

    Attributes
    ----------
    thresholds : int64 array (rows, kappa)
        Survival thresholds of an uncapped run that starts in that row, non-increasing along a row.
    on_reject, on_full : int
        Row of the next round after a rejection, after a full acceptance.
    start : int
        Threshold of the start law: the first row is ``on_full`` when the lane's word 0 lies below it.
    tokens : int
        Output length of a generation, whose rows are output positions; 0 if rounds have no end.
    truncate : bool
        Whether the last drafts of a generation are cut to what is still needed.
    """

    thresholds: np.ndarray
    on_reject: int = 0
    on_full: int = 0
    start: int = 0
    tokens: int = 0
    truncate: bool = True


@dataclass(frozen=True)
class TokenRule:
    """A process token by token, for the checking kernel: one threshold per draft, given the outcome before it.

    Attributes
    ----------
    after_accept, after_reject : int64 array
        Threshold of draft j = 0 … κ − 1 by the previous outcome, indexed by depth, or by output position + depth for a
        generation.  The first draft of a fresh window uses ``first``.
    first : int
        Threshold of the first draft of a fresh window; −1 if the previous window's last outcome decides.
    hidden_after_reject, hidden_after_full : int
        Chain steps passed over between two windows before the next first draft.
    start : int
        Threshold of "the window before was full", for the first window of a lane.
    tokens, truncate
        As in `Rows`.
    judges_all : bool
        Whether outcomes after the first rejection have a meaning.
    """

    after_accept: np.ndarray
    after_reject: np.ndarray
    first: int = -1
    hidden_after_reject: int = 0
    hidden_after_full: int = 0
    start: int = 0
    tokens: int = 0
    truncate: bool = True
    judges_all: bool = field(default=True)


def threshold(probability: float | np.ndarray) -> np.ndarray:
    """⌊p·2³² + ½⌋ for p clipped to [0, 1]; a word below it has probability p to within 2⁻³³."""
    return np.floor(np.clip(probability, 0.0, 1.0) * 2.0**32 + 0.5).astype(np.int64)


def _geometric(first: float, ratio: float, kappa: int) -> np.ndarray:
    out = np.empty(kappa)
    value = first
    for j in range(kappa):  # by multiplication only: the same bits on every machine
        out[j] = value
        value *= ratio
    return out


def _power(base: float, exponent: int) -> float:
    value = 1.0
    for _ in range(exponent):
        value *= base
    return value


def _iid_rows(process: Iid, kappa: int) -> Rows:
    return Rows(threshold(_geometric(process.alpha, process.alpha, kappa))[None, :])


def _iid_tokens(process: Iid, kappa: int) -> TokenRule:
    every = np.full(max(kappa, 1), threshold(process.alpha))
    return TokenRule(every, every, first=int(threshold(process.alpha)))


def _survival_rows(process: Survival, kappa: int) -> Rows:
    return Rows(threshold(np.array(process.survival[:kappa]))[None, :])


def _survival_tokens(process: Survival, kappa: int) -> TokenRule:
    curve = (1.0, *process.survival[:kappa])
    ratio = [b / a if a > 0.0 else 0.0 for a, b in itertools.pairwise(curve)] or [0.0]
    given = threshold(np.array(ratio))
    return TokenRule(given, np.zeros_like(given), first=int(given[0]), judges_all=False)


def _chain(process: Markov) -> tuple[float, float]:
    """Chance of acceptance after an acceptance and after a rejection."""
    return (
        min(max(process.alpha + process.rho * (1.0 - process.alpha), 0.0), 1.0),
        min(max(process.alpha * (1.0 - process.rho), 0.0), 1.0),
    )


def _window_start(process: Markov, kappa: int) -> tuple[float, float, float]:
    """First-draft rates after a rejection and after a full window, and the long-run share of full windows."""
    alpha, stay = process.alpha, _chain(process)[0]
    after_reject = alpha * (1.0 - _power(process.rho, process.steps_after_reject))
    after_full = alpha + (1.0 - alpha) * _power(process.rho, process.steps_after_full)
    if kappa == 0:
        return after_reject, after_full, 1.0
    rest = _power(stay, kappa - 1)
    up, leave = after_reject * rest, 1.0 - after_full * rest
    return after_reject, after_full, up / (up + leave)


def _markov_rows(process: Markov, kappa: int) -> Rows:
    stay = _chain(process)[0]
    if not process.carried:
        return Rows(threshold(_geometric(process.alpha, stay, kappa))[None, :])
    after_reject, after_full, full = _window_start(process, kappa)
    table = np.stack([_geometric(after_reject, stay, kappa), _geometric(after_full, stay, kappa)])
    return Rows(threshold(table), on_reject=0, on_full=1, start=int(threshold(full)))


def _markov_tokens(process: Markov, kappa: int) -> TokenRule:
    stay, rise = _chain(process)
    accept = np.full(max(kappa, 1), threshold(stay))
    reject = np.full(max(kappa, 1), threshold(rise))
    if not process.carried:
        return TokenRule(accept, reject, first=int(threshold(process.alpha)))
    return TokenRule(
        accept,
        reject,
        hidden_after_reject=process.steps_after_reject - 1,
        hidden_after_full=process.steps_after_full - 1,
        start=int(threshold(_window_start(process, kappa)[2])),
    )


def _drift_rates(process: Drift, kappa: int) -> np.ndarray:
    rates = process.rates()
    return np.array(rates + [rates[-1]] * kappa)


def _drift_rows(process: Drift, kappa: int) -> Rows:
    n, rates = process.n_tokens, _drift_rates(process, kappa)
    if n * max(kappa, 1) > TABLE_LIMIT:
        raise ParameterError(
            "tokens", f"tokens × kappa = {n} × {kappa} needs a table of {n * kappa:,} entries; allowed: {TABLE_LIMIT:,}"
        )
    table = np.empty((n, kappa))
    run = np.ones(n)
    for j in range(kappa):
        run = run * rates[j : j + n]
        table[:, j] = run
    return Rows(threshold(table), tokens=n, truncate=process.truncate)


def _drift_tokens(process: Drift, kappa: int) -> TokenRule:
    every = threshold(_drift_rates(process, kappa))
    return TokenRule(every, every, tokens=process.n_tokens, truncate=process.truncate)


_ROWS: dict[str, Callable[..., Rows]] = {
    "iid": _iid_rows,
    "markov": _markov_rows,
    "survival": _survival_rows,
    "drift": _drift_rows,
}
_TOKENS: dict[str, Callable[..., TokenRule]] = {
    "iid": _iid_tokens,
    "markov": _markov_tokens,
    "survival": _survival_tokens,
    "drift": _drift_tokens,
}


def rows(process: Process, kappa: int) -> Rows:
    """The integer form of ``process`` for drafts up to ``kappa``."""
    process.check_kappa(kappa)
    return _ROWS[process.type](process, kappa)


def token_rule(process: Process, kappa: int) -> TokenRule:
    """The token-by-token form of ``process`` for drafts of ``kappa``."""
    process.check_kappa(kappa)
    return _TOKENS[process.type](process, kappa)
