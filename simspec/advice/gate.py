"""How often does a gate on the acceptance rate trip although nothing is wrong?  One window exactly, runs drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simspec.advice.acceptance import Acceptance, acceptance_of_numbers
from simspec.evidence.words import DOMAIN, uniforms
from simspec.kernels.words import stream_keys
from simspec.model.errors import ParameterError
from simspec.stats.request_sums import proportion_interval

Floats = NDArray[np.float64]
RUNS = 1000
MOST_DRAWS = 50_000_000
MOST_WIDE = 60_000
"""Drafts of a window, at most: its law is as long."""
TOGETHER = 2_000_000
_SLACK = 1e-9


@dataclass(frozen=True)
class GateTrips:
    """How often a gate trips while acceptance is what it is.

    Attributes
    ----------
    rate : float
        accepted ÷ drafted in the long run.
    threshold, window, rounds : float, int, int
        The gate switches off below this rate over so many rounds, in a run of so many.
    one_window : float
        Probability that one full window lies below the threshold, exact for independent rounds.
    ever : float
        Probability that some window of the run does.
    ever_interval : (low, high)
        Of ``ever``, from the runs drawn, at 95%.
    """

    rate: float
    threshold: float
    window: int
    rounds: int
    one_window: float
    ever: float
    ever_interval: tuple[float, float]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {**vars(self), "ever_interval": list(self.ever_interval)}


def gate_trips(
    acceptance: Acceptance | dict[str, Any], threshold: float, window: int, rounds: int, seed: int = 1
) -> GateTrips:
    """False trips of a gate that switches speculation off where the rolling accepted ÷ drafted falls below a threshold.

    Parameters
    ----------
    acceptance : Acceptance or dict
        ``survival`` (or ``conditional``), or a mean with ``kappa``, whose drafts are then taken as i.i.d.
    threshold : float
        0 ≤ threshold ≤ 1.  By cost alone it should be (R − 1) ÷ κ: there E = R.
    window : int
        Rounds in the rolling window, at least 1.
    rounds : int
        Rounds of the run, at least ``window``.
    seed : int
        Of the drawn runs.

    Notes
    -----
    Rounds are independent here.  Where requests differ, rates of windows vary more, and a gate trips more often.

    References
    ----------
    The window sum of n independent rounds has the n-fold convolution of the law of one, docs/theory.md section 7.

    Examples
    --------
    >>> own = gate_trips({"alpha": 0.7, "kappa": 4}, threshold=0.3, window=20, rounds=1000)
    >>> round(own.rate, 3), round(own.one_window, 4), own.ever > own.one_window
    (0.443, 0.0407, True)
    """
    own = acceptance if isinstance(acceptance, Acceptance) else acceptance_of_numbers(**acceptance)
    pmf = _pmf(own)
    kappa = len(pmf) - 1
    if not 0.0 <= threshold <= 1.0:
        raise ParameterError("threshold", f"threshold = {threshold:g} is out of range; allowed: 0 to 1")
    if not 1 <= window <= MOST_WIDE // kappa:
        raise ParameterError(
            "window", f"window = {window} is out of range; allowed: 1 to {MOST_WIDE // kappa} at κ = {kappa}"
        )
    if not window <= rounds <= MOST_DRAWS // RUNS:
        raise ParameterError("rounds", f"rounds = {rounds} is out of range; allowed: {window} to {MOST_DRAWS // RUNS}")
    fewest = max(0, math.ceil(threshold * window * kappa - _SLACK))  # accepted drafts that keep it from tripping
    whole = _sum_of(pmf, window)
    hits = _tripping(pmf, fewest, window, rounds, seed)
    rate = float(pmf @ np.arange(kappa + 1.0)) / kappa
    interval = proportion_interval(hits / RUNS, RUNS, 0.95)
    return GateTrips(rate, threshold, window, rounds, float(whole[:fewest].sum()), hits / RUNS, interval)


def _pmf(own: Acceptance) -> Floats:
    """Law of A in one round at the κ that was seen."""
    curve = own.survival
    if curve is None:
        if own.kappa is None or own.alpha is None:
            raise ParameterError("kappa", f"{own.origin}: a gate counts drafts: at which κ? give kappa")
        curve = tuple(own.alpha**j for j in range(1, own.kappa + 1))
    return np.asarray(-np.diff([1.0, *curve], append=0.0))


def _sum_of(pmf: Floats, count: int) -> Floats:
    """Law of the sum of ``count`` independent ones, by repeated doubling; all terms are positive, so none cancel."""
    out, power = np.ones(1), pmf
    while count:
        if count % 2:
            out = np.convolve(out, power)
        count //= 2
        if count:
            power = np.convolve(power, power)
    return out


def _tripping(pmf: Floats, fewest: int, window: int, rounds: int, seed: int) -> int:
    """Runs, of `RUNS`, in which some window accepts fewer than ``fewest`` drafts."""
    keys, ends, hits = stream_keys(seed, "gate", DOMAIN), np.cumsum(pmf)[:-1], 0
    together = max(1, TOGETHER // rounds)
    for begin in range(0, RUNS, together):
        end = min(begin + together, RUNS)
        words = uniforms(keys, np.arange(begin * rounds, end * rounds), 0).reshape(-1, rounds)
        total = np.cumsum(np.searchsorted(ends, words, side="right"), axis=1)
        before = np.concatenate([np.zeros((len(total), 1), total.dtype), total[:, : rounds - window]], axis=1)
        hits += int(((total[:, window - 1 :] - before).min(axis=1) < fewest).sum())
    return hits
