"""What becomes of hidden states where a policy chooses κ?  Rows: the law of a window by the state it starts in.

A state moves with every draft, but what a round shows is its run alone.  So the run is drawn from the row of the state
at its start, P(G > j) = Σ_t (F^{j+1})[s, t], and the state behind it from its law given the outcome: ∝ F^a·R·(move
after a rejection) behind a accepted drafts, ∝ F^d·(move after a full window) behind d drafts; F and R are the accepted
and the rejected part of a step.  The run thus knows neither κ nor policy, as everywhere.
"""

from __future__ import annotations

import functools

import numpy as np

from simspec.kernels.arithmetic import WORD, cumulative, matrix_product, threshold
from simspec.kernels.forms import Drawn, Form, FreshRow, Steps
from simspec.kernels.lower import form
from simspec.model import ParameterError, Process

CELLS_LIMIT = 8_000_000
"""Entries of the table of next states: 64 MB."""


@functools.lru_cache(maxsize=4)
def steered_form(process: Process, longest: int) -> Form:
    """The integer form of ``process`` between whose rounds a policy chooses κ, at most ``longest``.

    Raises
    ------
    ParameterError
        As `simspec.kernels.lower.form`, or a table of next states would be too large.
    """
    return steered(form(process, longest), longest)


def steered(own: Form, longest: int) -> Form:
    """A form whose windows have a law when they start; itself where they have one."""
    if not isinstance(own, Steps):
        return own
    return _fresh(own, longest) if own.restarts else _drawn(own, longest)


def _fresh(own: Steps, longest: int) -> FreshRow:
    """Every window starts from the same law, so one survival curve says all."""
    accept, alive = _shares(own.cells)[:, : len(own.cells)], _shares(own.start)[None, :]
    curve = np.empty(longest)
    for j in range(longest):
        alive = matrix_product(alive, accept)
        curve[j] = _total(alive)[0]
    return FreshRow.of(np.minimum.accumulate(curve))


def _drawn(own: Steps, longest: int) -> Drawn:
    states, outcomes = len(own.cells), 2 * longest + 1
    if states * outcomes * states > CELLS_LIMIT:
        told = f"policy may choose {longest} drafts over {states} hidden states: a table of next states of"
        size = f"{told} {states * outcomes * states * 8 / 1e6:.0f} MB"
        raise ParameterError("policy", f"{size}; allowed: {CELLS_LIMIT * 8 / 1e6:.0f} MB (fewer drafts or states)")
    cells, start = _shares(own.cells), _shares(own.start)
    accept, reject = cells[:, :states], matrix_product(cells[:, states:], _shares(own.after_reject))
    after_full, alive = _shares(own.after_full), np.eye(states)
    survival, moves = np.empty((states, longest)), np.empty((states, outcomes, states))
    moves[:, longest] = after_full
    for j in range(longest):
        moves[:, j] = matrix_product(alive, reject)
        alive = matrix_product(alive, accept)
        survival[:, j] = _total(alive)
        moves[:, longest + 1 + j] = matrix_product(alive, after_full)
    mass = _total(moves)[..., None]
    moves = np.where(mass > 0.0, moves / np.where(mass > 0.0, mass, 1.0), start)  # what cannot be leads anywhere
    flat = moves.reshape(states * outcomes, states)
    return Drawn(threshold(np.minimum.accumulate(survival, axis=1)), cumulative(flat), own.start)


def _shares(thresholds: np.ndarray) -> np.ndarray:
    """Probabilities between cumulative thresholds."""
    return np.diff(thresholds, axis=-1, prepend=0) / WORD


def _total(mass: np.ndarray) -> np.ndarray:
    """Sum along the last axis, in index order on every machine."""
    out: np.ndarray = np.cumsum(mass, axis=-1)[..., -1]
    return out
