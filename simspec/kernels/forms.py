"""What can a process be turned into?  Five integer forms, each played by one kernel; there are no others.

`FreshRow` and `CarriedRows` draw the uncapped run G of a window from one word, A = min(G, κ), so the draw depends on
neither κ nor policy.  `Requests` draws a row per output sequence, `Urn` learns from its own outcomes, `Steps` moves a
hidden state once per draft.  Fresh forms answer every κ from one run at the longest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from simspec.kernels import count
from simspec.kernels.tally import SUMS, Tally, fold

NOTHING = np.zeros(0, np.int64)


@dataclass(frozen=True)
class FreshRow:
    """Independent windows: P(G ≥ j) = thresholds[j − 1]/2³².

    Attributes
    ----------
    thresholds : int64 array (κ,)
        Non-increasing, 0 … 2³².
    """

    thresholds: np.ndarray
    fresh: ClassVar[bool] = True

    def runs(self, keys: np.ndarray, chunk: int, lanes: int, rounds: int, kappa: int) -> np.ndarray:
        """``out[lane, g]`` = windows of the lane whose run is g; the last bin holds all longer ones."""
        out = np.zeros((lanes, kappa + 1), np.int64)
        count.count_fresh(keys, chunk, lanes, rounds, self.thresholds, out)
        return out


@dataclass(frozen=True)
class CarriedRows:
    """Windows whose law is set by the outcome before: row 0 after a rejection, row 1 after a full window.

    Attributes
    ----------
    thresholds : int64 array (2, κ)
    start : int
        The lane's first row is 1 when its word 0 lies below this threshold.
    """

    thresholds: np.ndarray
    start: int
    fresh: ClassVar[bool] = False

    def play(self, keys: np.ndarray, chunk: int, lanes: int, rounds: int, kappa: int) -> Tally:
        """Tally of one chunk."""
        out = np.zeros((lanes, kappa + 1), np.int64)
        count.count_carried(keys, chunk, lanes, rounds, self.thresholds, 0, 1, self.start, out)
        return fold(out, kappa)


@dataclass(frozen=True)
class Requests:
    """Output sequences: a row is drawn per request and, for drift, moves with the output position.

    Attributes
    ----------
    thresholds : int64 array (rows, κ)
    classes : int64 array
        Cumulative thresholds of the first row, without the last; empty for row 0.
    advance : int
        Rows per emitted token: 1 for drift, 0 for a rate that holds.
    tokens : int
        Length of every request; 0 if they end at random.
    going : int64 array
        ``going[e]``: threshold that the request outlives e + 1 more tokens; empty for a fixed length.
    truncate : bool
        Whether the last drafts are cut to what is still needed.
    """

    thresholds: np.ndarray
    classes: np.ndarray = field(default_factory=lambda: NOTHING)
    advance: int = 0
    tokens: int = 0
    going: np.ndarray = field(default_factory=lambda: NOTHING)
    truncate: bool = True
    fresh: ClassVar[bool] = False

    def play(self, keys: np.ndarray, chunk: int, lanes: int, requests: int, kappa: int) -> Tally:
        """Tally of one chunk of ``requests`` requests per lane."""
        sums, histogram = _empty(lanes, kappa)
        ends = (self.tokens, self.going, self.truncate)
        count.count_requests(
            keys, chunk, lanes, requests, kappa, self.thresholds, self.classes, self.advance, *ends, sums, histogram
        )
        return Tally(kappa, sums, histogram)


@dataclass(frozen=True)
class Urn:
    """Requests whose rate comes from a Beta law, played as Pólya's urn: each outcome makes its like more probable.

    After n outcomes with i acceptances the next is accepted with probability (alpha·rest + i·rho)/(rest + n·rho),
    rest = 1 − rho, turned into a threshold by + × ÷ and rounding down.

    Attributes
    ----------
    alpha, rho : float
        Mean rate and correlation.
    tokens, going, truncate
        As in `Requests`.
    """

    alpha: float
    rho: float
    tokens: int = 0
    going: np.ndarray = field(default_factory=lambda: NOTHING)
    truncate: bool = True
    fresh: ClassVar[bool] = False

    def play(self, keys: np.ndarray, chunk: int, lanes: int, requests: int, kappa: int) -> Tally:
        """Tally of one chunk of ``requests`` requests per lane."""
        sums, histogram = _empty(lanes, kappa)
        ends = (self.tokens, self.going, self.truncate)
        count.count_urn(keys, chunk, lanes, requests, kappa, self.alpha, self.rho, *ends, sums, histogram)
        return Tally(kappa, sums, histogram)


@dataclass(frozen=True)
class Steps:
    """A hidden state that moves once per draft; one word decides outcome and next state together.

    Attributes
    ----------
    cells : int64 array (states, 2·states)
        Cumulative thresholds over (accepted, next state) then (rejected, next state).
    after_reject, after_full : int64 array (states, states)
        Cumulative thresholds of the move to the next window's first draft.
    start : int64 array (states,)
        Cumulative thresholds of the lane's first state.
    restarts : bool
        Whether every window starts from the same law, so that windows are independent.
    """

    cells: np.ndarray
    after_reject: np.ndarray
    after_full: np.ndarray
    start: np.ndarray
    restarts: bool

    @property
    def fresh(self) -> bool:
        """Whether one run at the longest κ answers all."""
        return self.restarts

    def runs(self, keys: np.ndarray, chunk: int, lanes: int, rounds: int, kappa: int) -> np.ndarray:
        """``out[lane, a]`` = windows of the lane with accepted length a."""
        out = np.zeros((lanes, kappa + 1), np.int64)
        moves = (self.cells, self.after_reject, self.after_full, self.start)
        count.count_steps(keys, chunk, lanes, rounds, kappa, *moves, out)
        return out

    def play(self, keys: np.ndarray, chunk: int, lanes: int, rounds: int, kappa: int) -> Tally:
        """Tally of one chunk."""
        return fold(self.runs(keys, chunk, lanes, rounds, kappa), kappa)


Form = FreshRow | CarriedRows | Requests | Urn | Steps


def _empty(lanes: int, kappa: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((lanes, len(SUMS)), np.int64), np.zeros((kappa + 1, kappa + 1), np.int64)
