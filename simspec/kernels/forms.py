"""What can a process be turned into?  Seven integer forms, each played by one kernel or none; there are no others.

`FreshRow` and `CarriedRows` draw the uncapped run G of a window from one word, A = min(G, κ), so the draw depends on
neither κ nor policy.  `Requests` draws a row per output sequence, `Urn` learns from its own outcomes, `Steps` moves a
hidden state once per draft, `Replay` and `Dense` go through what was measured.  Fresh forms answer every κ from one
run at the longest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from simspec.kernels import count
from simspec.kernels.tally import SUMS, Tally, fold
from simspec.kernels.words import LANES

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
    """Windows whose law is a row of a table; the next row follows from this one and from the outcome.

    Attributes
    ----------
    thresholds : int64 array (rows, κ)
    on_reject, on_full : int64 array (rows,)
        Next row after a rejection, after a full window.
    start : int64 array (rows,)
        Cumulative thresholds of the lane's first row.
    """

    thresholds: np.ndarray
    on_reject: np.ndarray
    on_full: np.ndarray
    start: np.ndarray
    fresh: ClassVar[bool] = False

    def play(self, keys: np.ndarray, chunk: int, lanes: int, rounds: int, kappa: int) -> Tally:
        """Tally of one chunk."""
        out = np.zeros((lanes, kappa + 1), np.int64)
        follow = (self.on_reject, self.on_full, self.start)
        count.count_carried(keys, chunk, lanes, rounds, self.thresholds, *follow, out)
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


@dataclass(frozen=True)
class Replay:
    """Measured rounds, one request per lane; nothing is random.

    Attributes
    ----------
    accepted : int64 array (rounds,)
        Accepted length of each round.
    offsets : int64 array (requests + 1,)
        Request r holds the rounds offsets[r] … offsets[r + 1] − 1.
    """

    accepted: np.ndarray
    offsets: np.ndarray
    fresh: ClassVar[bool] = False

    def play(self, keys: np.ndarray, chunk: int, lanes: int, repeats: int, kappa: int) -> Tally:
        """Tally of the 64 requests of one chunk at min(A, κ)."""
        out = np.zeros((lanes, kappa + 1), np.int64)
        for lane in range(lanes):
            first, last = self.offsets[LANES * chunk + lane : LANES * chunk + lane + 2]
            out[lane] = np.bincount(np.minimum(self.accepted[first:last], kappa), minlength=kappa + 1) * repeats
        return fold(out, kappa)


@dataclass(frozen=True)
class Dense:
    """A chance of acceptance at every output position, one request per lane, replayed ``repeats`` times.

    Attributes
    ----------
    chances : int64 array (positions,)
        Thresholds by output position, requests one after another.
    offsets : int64 array (requests + 1,)
        As in `Replay`.
    truncate : bool
        Whether the last drafts of a request are cut to what is still needed.
    """

    chances: np.ndarray
    offsets: np.ndarray
    truncate: bool = True
    fresh: ClassVar[bool] = False

    def play(self, keys: np.ndarray, chunk: int, lanes: int, repeats: int, kappa: int) -> Tally:
        """Tally of the 64 requests of one chunk."""
        sums, histogram = _empty(lanes, kappa)
        count.count_dense(
            keys, chunk, lanes, repeats, kappa, self.chances, self.offsets, self.truncate, sums, histogram
        )
        return Tally(kappa, sums, histogram)


Form = FreshRow | CarriedRows | Requests | Urn | Steps | Replay | Dense


def _empty(lanes: int, kappa: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((lanes, len(SUMS)), np.int64), np.zeros((kappa + 1, kappa + 1), np.int64)
