"""What do the verdicts so far say of the next draft?  Belief over what is hidden, carried along: the forward algorithm.

A *mass* is P(all verdicts so far, hidden state), by hidden state; it adds up to the chance of the history.  A draft
splits it into an accepted and a rejected part.  What is hidden is a row (what a window knows of those before it), a
rate (held for a request, or known by position) or the state of a chain that moves with every draft.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from simspec.model.chains import Hmm
from simspec.model.drift import Drift
from simspec.model.errors import ParameterError
from simspec.model.markov import Markov
from simspec.model.mixture import BetaMixture, DiscreteMixture
from simspec.model.process import Process
from simspec.model.rows import RowProcess
from simspec.theory.fresh import stay_accepted
from simspec.theory.hidden import bonus_move, hmm_chain, token_draft_chain
from simspec.theory.lanes import DraftChain, window_start_law
from simspec.theory.law import FloatArray
from simspec.theory.requests import request_shares
from simspec.theory.routes import has_route, survival_curve
from simspec.theory.user_rows import rows_start

KAPPA_LIMIT = 64
"""Longest draft of a rule."""


class Verdicts(Protocol):
    """How verdicts arise, one draft after another; ``start`` is the mass of an empty history."""

    @property
    def start(self) -> FloatArray:
        """Law of what is hidden before the first round."""

    def draft(self, mass: FloatArray, position: int, depth: int) -> tuple[FloatArray, FloatArray]:
        """Accepted and rejected part: the draft behind ``depth`` accepted ones of a round that starts at a position."""

    def after_reject(self, rejected: FloatArray) -> FloatArray:
        """Mass at the start of the round after one that a rejection ended."""

    def after_full(self, mass: FloatArray) -> FloatArray:
        """Mass at the start of the round after one whose drafts, if any, were all accepted."""


@dataclass(frozen=True, eq=False)
class ByRow:
    """Windows have a row; the next row follows from the outcome.  One row: fresh windows.

    Attributes
    ----------
    curves : array, shape (rows, κ)
        S_1 … S_κ by row.
    on_reject, on_full : array of int, shape (rows,)
        The next row.
    start : array, shape (rows,)
    """

    curves: FloatArray
    on_reject: tuple[int, ...]
    on_full: tuple[int, ...]
    start: FloatArray

    def draft(self, mass: FloatArray, position: int, depth: int) -> tuple[FloatArray, FloatArray]:
        before = self.curves[:, depth - 1] if depth else np.ones(len(mass))
        kept = mass * np.divide(self.curves[:, depth], before, out=np.zeros(len(mass)), where=before > 0.0)
        return kept, mass - kept

    def after_reject(self, rejected: FloatArray) -> FloatArray:
        return _gathered(self.on_reject, rejected)

    def after_full(self, mass: FloatArray) -> FloatArray:
        return _gathered(self.on_full, mass)


def _gathered(rows: tuple[int, ...], mass: FloatArray) -> FloatArray:
    return np.bincount(rows, mass, len(mass)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class ByRate:
    """A request keeps what it drew: ``rates[i, c]`` is that of class c at output position i, the last one beyond."""

    rates: FloatArray
    start: FloatArray

    def draft(self, mass: FloatArray, position: int, depth: int) -> tuple[FloatArray, FloatArray]:
        own = self.rates[min(position + depth, len(self.rates) - 1)]
        return mass * own, mass * (1.0 - own)

    def after_reject(self, rejected: FloatArray) -> FloatArray:
        return rejected

    def after_full(self, mass: FloatArray) -> FloatArray:
        return mass


@dataclass(frozen=True, eq=False)
class ByState:
    """A state moves with every draft, and once more for the bonus token of a full round (``bonus``)."""

    chain: DraftChain
    bonus: FloatArray
    start: FloatArray

    def draft(self, mass: FloatArray, position: int, depth: int) -> tuple[FloatArray, FloatArray]:
        return mass @ self.chain.accept, mass @ self.chain.reject

    def after_reject(self, rejected: FloatArray) -> FloatArray:
        return rejected

    def after_full(self, mass: FloatArray) -> FloatArray:
        return np.asarray(mass @ self.bonus)


def verdicts(process: Process, longest: int | None = None) -> Verdicts:
    """How verdicts of a process arise.

    Parameters
    ----------
    process : Process
        Any process with an exact route.
    longest : int, optional
        The longest draft of the rule, 0 to 64.  Needed where windows depend on those before (a lane begins in the long
        run of drafts of that length), where shares are of rounds, and by processes of a user's own.

    Returns
    -------
    Verdicts

    Raises
    ------
    ParameterError
        ``longest`` is needed and missing, or there is no exact route.

    Examples
    --------
    An acceptance speaks for the high rate: after it 1 is twice as likely as ½.

    >>> mix = DiscreteMixture(alphas=[1.0, 0.5], weights=[0.5, 0.5], weights_of="requests", request_tokens=4)
    >>> own = verdicts(mix)
    >>> own.draft(own.start, position=0, depth=0)
    (array([0.5 , 0.25]), array([0.  , 0.25]))
    """
    if isinstance(process, RowProcess):
        return _of_user(process, _needed(process, longest))
    if not has_route(process):
        told = f"{process.type} has no exact law of verdicts"
        raise ParameterError("process", f"{told}; allowed: a process with an exact route, e.g. one that fits it")
    make = _HIDDEN.get((process.type, process.unit), _fresh)
    return make(process, longest)


def _needed(process: Process, longest: int | None) -> int:
    if longest is None:
        told = f"longest is missing, and {process.type} depends on the longest draft that the rule may choose"
        raise ParameterError("longest", f"{told}; allowed: 0 to {KAPPA_LIMIT}")
    return longest


def _fresh(process: Process, longest: int | None) -> Verdicts:
    most = process.longest_draft
    length = KAPPA_LIMIT if most is None else min(most, KAPPA_LIMIT)
    return ByRow(survival_curve(process, length)[None, :], (0,), (0,), np.ones(1))


def _of_user(process: RowProcess, longest: int) -> Verdicts:
    table = process.checked_rows(longest)
    curves = np.array(table.survival, dtype=np.float64).reshape(len(table.survival), longest)
    return ByRow(curves, tuple(table.on_reject), tuple(table.on_full), rows_start(process, longest))


def _drift(process: Drift, longest: int | None) -> Verdicts:
    return ByRate(np.array(process.rates())[:, None], np.ones(1))


def _by_request(process: BetaMixture | DiscreteMixture, longest: int | None) -> Verdicts:
    of_rounds = isinstance(process, DiscreteMixture) and process.weights_of == "rounds"
    rates, shares = request_shares(process, _needed(process, longest) if of_rounds else 0)
    return ByRate(rates[None, :], shares)


def _of_chain(chain: Callable[[Any], DraftChain]) -> Callable[[Any, int | None], Verdicts]:
    def made(process: Any, longest: int | None) -> Verdicts:
        own, kappa = chain(process), _needed(process, longest)
        size = len(own.accept)
        start = window_start_law(own, kappa) if kappa else np.full(size, 1.0 / size)  # nothing is ever drafted
        return ByState(own, bonus_move(process), start)

    return made


def _carried(process: Markov, longest: int | None) -> Verdicts:
    """The state is the verdict that the next draft would get; a round without drafts moves it on by the bonus token."""
    stay, rise = stay_accepted(process), min(max(process.alpha * (1.0 - process.rho), 0.0), 1.0)
    outcomes = Hmm(
        P=((stay, 1.0 - stay), (rise, 1.0 - rise)),
        alphas=(1.0, 0.0),
        start="carry",
        steps_after_reject=process.steps_after_reject,
        steps_after_full=process.steps_after_full,
    )
    return _of_chain(hmm_chain)(outcomes, _needed(process, longest))


_HIDDEN: dict[tuple[str, str], Callable[[Any, int | None], Verdicts]] = {
    ("markov", "lane"): _carried,
    ("hmm", "lane"): _of_chain(hmm_chain),
    ("token_chain", "lane"): _of_chain(token_draft_chain),
    ("beta_mixture", "generation"): _by_request,
    ("discrete_mixture", "generation"): _by_request,
    ("drift", "generation"): _drift,
}
"""(type, independent unit) of the processes whose windows are not fresh."""
