"""What can a process be turned into?  Eight integer forms; a process is data, and no kernel knows its name.

`FreshRow` and `Rows` draw the uncapped run G of a window from one uniform, A = min(G, κ), so the draw depends on
neither κ nor policy.  `Requests` are rows with a beginning and an end, `Urn` learns from its own outcomes, `Steps`
moves a hidden state once per draft and `Drawn` once per window, `Replay` and `Dense` go through what was measured.
Fresh forms answer every κ from one run at the longest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from simspec.kernels.arithmetic import fine_threshold, threshold
from simspec.kernels.words import LANES
from simspec.model.serving import NORMAL, Serving

NOTHING = np.zeros(0, np.int64)


@dataclass(frozen=True)
class FreshRow:
    """Independent windows: P(G > j) = (cells[j]·2⁵² + lows[j])/2⁶⁴, non-increasing in j.

    Attributes
    ----------
    cells : int64 array (κ,)
        Leading 12 bits of the threshold, 0 … 4096.
    lows : uint64 array (κ,)
        The other 52.
    """

    cells: np.ndarray
    lows: np.ndarray

    @staticmethod
    def of(survival: np.ndarray) -> FreshRow:
        """The row with P(G > j) = survival[j], non-increasing."""
        return FreshRow(*fine_threshold(np.asarray(survival, float)))


@dataclass(frozen=True)
class Rows:
    """Windows whose law is a row of a table; the next row follows from this one and from the outcome.

    Attributes
    ----------
    thresholds : int64 array (rows, κ)
        0 … 2³², non-increasing along a row.
    on_reject, on_full : int64 array (rows,)
        Next row after a rejection, after a full window.
    start : int64 array (rows,)
        Cumulative thresholds of the lane's first row.
    on_off : int64 array (rows,), optional
        Next row after a round without drafts; default that after a full window.
    """

    thresholds: np.ndarray
    on_reject: np.ndarray
    on_full: np.ndarray
    start: np.ndarray
    on_off: np.ndarray | None = None

    @property
    def follow(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Next rows after a rejection, after a full window, after a round without drafts."""
        return self.on_reject, self.on_full, self.on_full if self.on_off is None else self.on_off

    @property
    def two_state(self) -> bool:
        """Whether the row only says if the last window was full, as for a Markov chain."""
        return bool(self.on_reject.tolist() == [0, 0] and self.on_full.tolist() == [1, 1])


@dataclass(frozen=True)
class Ends:
    """How long output sequences are.

    Attributes
    ----------
    tokens : int
        Length of every request; 0 if lengths are random or each lane has its own.
    bits : int64 array
        ``bits[i]``: threshold of binary digit i of a geometric length minus 1; the digits of a geometric number are
        independent.
    truncate : bool
        Whether the last drafts are cut to what is still needed.
    """

    tokens: int = 0
    bits: np.ndarray = field(default_factory=lambda: NOTHING)
    truncate: bool = True


@dataclass(frozen=True)
class Requests:
    """Output sequences: a row is drawn per request and, for drift, moves with the output position.

    Attributes
    ----------
    thresholds : int64 array (rows, κ)
    ends : Ends
    classes : int64 array
        Cumulative thresholds of the first row, without the last; empty for row 0.
    along : bool
        Whether the row moves on by one for each emitted token.
    offsets : int64 array (lanes + 1,) or None
        Each lane replays a request of its own, whose rows are offsets[lane] … offsets[lane + 1] − 1.
    """

    thresholds: np.ndarray
    ends: Ends
    classes: np.ndarray = field(default_factory=lambda: NOTHING)
    along: bool = False
    offsets: np.ndarray | None = None


@dataclass(frozen=True)
class Urn:
    """Requests whose rate comes from a Beta law, played as Pólya's urn: each outcome makes its like more probable.

    After n outcomes with i acceptances the next is accepted with probability (alpha·rest + i·rho)/(rest + n·rho),
    rest = 1 − rho.

    Attributes
    ----------
    alpha, rho : float
        Mean rate and correlation, 0 ≤ rho < 1.
    ends : Ends
    """

    alpha: float
    rho: float
    ends: Ends


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


@dataclass(frozen=True)
class Drawn:
    """Windows whose law is a row of a table; the next row is drawn, given this one and the outcome.

    Attributes
    ----------
    thresholds : int64 array (rows, κ)
        As in `Rows`.
    moves : int64 array (rows·(2κ + 1), rows)
        Cumulative thresholds of the next row: for each row κ laws after a rejection behind 0 … κ − 1 accepted drafts,
        then κ + 1 after a full window of 0 … κ.
    start : int64 array (rows,)
        Cumulative thresholds of the lane's first row.
    """

    thresholds: np.ndarray
    moves: np.ndarray
    start: np.ndarray

    def law_after(self, row: int, accepted: int, full: bool) -> np.ndarray:
        """Cumulative thresholds of the row that follows on an outcome of this one."""
        longest = self.thresholds.shape[1]
        out: np.ndarray = self.moves[row * (2 * longest + 1) + (longest if full else 0) + accepted]
        return out


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

    def of_lane(self, chunk: int, lane: int) -> np.ndarray:
        """Accepted lengths of the request of one lane."""
        first, last = self.offsets[LANES * chunk + lane : LANES * chunk + lane + 2]
        out: np.ndarray = self.accepted[first:last]
        return out


@dataclass(frozen=True)
class Dense:
    """A chance of acceptance at every output position, one request per lane.

    Attributes
    ----------
    alphas : float64 array (positions,)
        By output position, requests one after another.
    offsets : int64 array (requests + 1,)
        As in `Replay`.
    truncate : bool
        Whether the last drafts of a request are cut to what is still needed.
    """

    alphas: np.ndarray
    offsets: np.ndarray
    truncate: bool = True

    def requests(self, chunk: int, lanes: int, kappa: int) -> Requests:
        """The requests of one chunk as rows; past its end a request repeats its last chance."""
        own = self.offsets[LANES * chunk : LANES * chunk + lanes + 1]
        first, last = int(own[0]), int(own[-1])
        end = np.repeat(own[1:], np.diff(own)) - 1
        here, run = np.arange(first, last), np.ones(last - first)
        table = np.empty((last - first, kappa))
        for j in range(kappa):
            run = run * self.alphas[np.minimum(here + j, end)]
            table[:, j] = run
        return Requests(threshold(table), Ends(truncate=self.truncate), along=True, offsets=own - first)


Form = FreshRow | Rows | Requests | Urn | Steps | Drawn | Replay | Dense


@dataclass(frozen=True)
class Policy:
    """Who chooses κ between rounds; a request begins with the first κ and state again, unless they are kept.

    Attributes
    ----------
    up, down : int
        Change after a round without a rejection, and after another.
    lowest, highest : int
        Bounds of κ.
    own : callable, optional
        ``own(kappa, accepted, full, memory)`` changes the int32 array ``kappa`` in place, one entry per lane, before
        the bounds apply; ``memory`` is a float64 array (rows of ``initial``, lanes).
    rule : str
        Name of a pass in `simspec.kernels.policies`, or empty.
    figures : float64 array
        What that pass reads: tables and prices.
    initial : float64 array
        State at the start of a request, by row.
    keeps : bool
        Whether κ and state outlive a request.
    random : bool
        Whether the pass reads a word per lane and round.
    strict : bool
        Whether a κ out of bounds is an error, instead of being moved to the nearest bound.
    serving : Serving
        Under which conditions it runs.
    foresees : bool
        Whether ``figures`` are κ by the run of the coming round, the last for all longer ones.
    """

    up: int = 0
    down: int = 0
    lowest: int = 0
    highest: int = 0
    own: Callable[..., None] | None = None
    rule: str = ""
    figures: np.ndarray = field(default_factory=lambda: np.zeros(0))
    initial: np.ndarray = field(default_factory=lambda: np.zeros(4))
    keeps: bool = False
    random: bool = False
    strict: bool = False
    serving: Serving = NORMAL
    foresees: bool = False
