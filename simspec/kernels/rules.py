"""A process token by token, for the checking kernel: one threshold per draft, given the outcome before it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simspec.kernels.arithmetic import threshold
from simspec.kernels.lower import chain_rates, window_start
from simspec.kernels.lower_requests import padded_rates
from simspec.model import Drift, Iid, Markov, ParameterError, Position, Process, Survival


@dataclass(frozen=True)
class TokenRule:
    """What the checking kernel needs.

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
        As in `simspec.kernels.forms.Requests`.
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
    judges_all: bool = True


def _iid(process: Iid, kappa: int) -> TokenRule:
    every = np.full(max(kappa, 1), threshold(process.alpha))
    return TokenRule(every, every, first=int(threshold(process.alpha)))


def _by_depth(rates: list[float]) -> TokenRule:
    given = threshold(np.array(rates or [0.0]))
    return TokenRule(given, np.zeros_like(given), first=int(given[0]), judges_all=False)


def _survival(process: Survival, kappa: int) -> TokenRule:
    curve = (1.0, *process.survival[:kappa])
    return _by_depth([b / a if a > 0.0 else 0.0 for a, b in itertools.pairwise(curve)])


def _position(process: Position, kappa: int) -> TokenRule:
    return _by_depth(list(process.alphas[:kappa]))


def _markov(process: Markov, kappa: int) -> TokenRule:
    stay, rise = chain_rates(process)
    accept = np.full(max(kappa, 1), threshold(stay))
    reject = np.full(max(kappa, 1), threshold(rise))
    if not process.carried:
        return TokenRule(accept, reject, first=int(threshold(process.alpha)))
    return TokenRule(
        accept,
        reject,
        hidden_after_reject=process.steps_after_reject - 1,
        hidden_after_full=process.steps_after_full - 1,
        start=int(threshold(window_start(process, kappa)[2])),
    )


def _drift(process: Drift, kappa: int) -> TokenRule:
    every = threshold(padded_rates(process, kappa))
    return TokenRule(every, every, tokens=process.n_tokens, truncate=process.truncate)


RULES: dict[str, Callable[..., TokenRule]] = {
    "iid": _iid,
    "survival": _survival,
    "position": _position,
    "markov": _markov,
    "drift": _drift,
}


def token_rule(process: Process, kappa: int) -> TokenRule:
    """The token-by-token form of ``process`` for drafts of ``kappa``."""
    process.check_kappa(kappa)
    if process.type not in RULES:
        raise ParameterError("type", f"type = {process.type!r} has no token-by-token rule; known: {', '.join(RULES)}")
    return RULES[process.type](process, kappa)
