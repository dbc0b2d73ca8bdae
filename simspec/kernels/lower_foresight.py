"""What does a policy choose that knows the run of the coming round?  A κ by run, and the worth of time behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simspec.kernels.arithmetic import WORD
from simspec.kernels.forms import Dense, Form, FreshRow, Requests
from simspec.kernels.words import LANES
from simspec.model import ParameterError
from simspec.model.policies.foresight import Foresight

_SAME = 1e-12


def foreseen_lengths(highest: int, lowest: int, prices: np.ndarray, speed: float) -> np.ndarray:
    """κ by run 0 … highest: the least one with the most tokens − speed·cost.

    ``prices``: of 0 … highest drafts, then the same after a rejection.
    """
    plain, rejected = prices[: highest + 1], prices[highest + 1 :]
    out = np.empty(highest + 1)
    for run in range(highest + 1):
        most = -np.inf
        for kappa in range(lowest, highest + 1):
            worth = min(run, kappa) + 1.0 - speed * (rejected[kappa] if run < kappa else plain[kappa])
            if worth > most + _SAME:
                out[run], most = kappa, worth
    return out


def foreseen_speed(form: Form, policy: Foresight, prices: np.ndarray) -> float:
    """Ŝ of a policy that knows every run, on the law of a run: Dinkelbach's iteration, which climbs to its fixed point.

    Raises
    ------
    ParameterError
        The form has rounds that tell of those behind them.
    """
    if type(form) not in _SURVIVALS:
        told = f"a known run tells of the rounds behind it ({type(form).__name__})"
        raise ParameterError("policy", f"policy foresight: {told}; allowed: windows that start afresh, or requests")
    highest = policy.highest
    survival = np.append(1.0, _SURVIVALS[type(form)](form, highest) / WORD)
    law = survival - np.append(survival[1:], 0.0)
    runs, speed = np.arange(highest + 1), 0.0
    while True:
        kappas = foreseen_lengths(highest, policy.lowest, prices, speed).astype(np.int64)
        price = np.where(runs < kappas, prices[highest + 1 + kappas], prices[kappas])
        better = float((law * (np.minimum(runs, kappas) + 1.0)).sum() / (law * price).sum())
        if better <= speed * (1.0 + _SAME):
            return speed
        speed = better


def _fresh(form: FreshRow, highest: int) -> np.ndarray:
    return np.asarray(form.cells * 2.0**20 + (form.lows >> np.uint64(32)).astype(float))[:highest]


def _requests(form: Requests, highest: int) -> np.ndarray:
    """The mean over classes, by their shares, or over positions."""
    table = form.thresholds[:, :highest].astype(float)
    if form.along:
        return np.asarray(table.mean(axis=0))
    shares = np.diff(np.concatenate([[0], form.classes, [WORD]])) / WORD
    return np.asarray((shares[:, None] * table).sum(axis=0))


def _dense(form: Dense, highest: int) -> np.ndarray:
    """The mean over positions of the first 64 requests."""
    return _requests(form.requests(0, min(LANES, len(form.offsets) - 1), highest), highest)


_SURVIVALS: dict[type, Callable[[Any, int], np.ndarray]] = {FreshRow: _fresh, Requests: _requests, Dense: _dense}
"""Thresholds of a run by form, as means."""
