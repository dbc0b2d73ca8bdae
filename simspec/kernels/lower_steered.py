"""What becomes of hidden states where a policy chooses κ?  Rows: the law of a window by the state it starts in.

A state moves with every draft, but what a round shows is its run alone.  So the run is drawn from the row of the state
at its start, P(G > j) = Σ_t (F^{j+1})[s, t], and the state behind it from its law given the outcome: ∝ F^a·R·(move
after a rejection) behind a accepted drafts, ∝ F^d·(move after a full window) behind d drafts; F and R are the accepted
and the rejected part of a step.  The run thus knows neither κ nor policy, as everywhere.
"""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np

from simspec.kernels.arithmetic import WORD, cumulative, matrix_product, power, threshold
from simspec.kernels.forms import Drawn, Form, FreshRow, Rows, Steps
from simspec.kernels.lower import chain_rates, form
from simspec.model import Markov, ParameterError, Process

CELLS_LIMIT = 8_000_000
"""Entries of the table of next states: 64 MB."""
OFF_LIMIT = 2**14
"""Rounds without drafts in a row over which the memory of a chain fades; what is left then stays."""
_FORGOTTEN = 2.0**-34


@functools.lru_cache(maxsize=4)
def steered_form(process: Process, longest: int) -> Form:
    """The integer form of ``process`` between whose rounds a policy chooses κ, at most ``longest``.

    Raises
    ------
    ParameterError
        As `simspec.kernels.lower.form`, or a table of next states would be too large.
    """
    own = steered(form(process, longest), longest)
    return _with_rounds_off(process, own) if isinstance(process, Markov) and isinstance(own, Rows) else own


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


def _with_rounds_off(process: Markov, own: Rows) -> Rows:
    """A chain over rounds without drafts, each of which moves it on by m_f − 1 steps: those of the bonus token.

    Behind the rows after a rejection and after a full window stand theirs after 1, 2 … rounds off, while ρ is felt.
    """
    if process.steps_after_full == 1:
        return replace(own, on_off=np.array([0, 1]))
    alpha, fade = process.alpha, power(process.rho, process.steps_after_full - 1)
    low, high = -alpha * power(process.rho, process.steps_after_reject), (1.0 - alpha) * process.rho * fade
    first = [list[float](), list[float]()]
    while max(abs(low), abs(high)) > _FORGOTTEN and len(first[0]) < OFF_LIMIT:
        low, high = low * fade, high * fade
        first[0].append(alpha + low)
        first[1].append(alpha + high)
    column, more = np.array(first).T.reshape(-1), np.empty((2 * len(first[0]), own.thresholds.shape[1]))
    for j in range(more.shape[1]):
        more[:, j] = column
        column = column * chain_rates(process)[0]
    table = np.concatenate([own.thresholds, threshold(more)])
    rows = len(table)
    last = 2 if fade < 0.0 else 0  # a chain that swings goes on swinging
    on_off = np.minimum(np.arange(rows) + 2, np.arange(rows) % 2 + rows - 2)
    on_off[rows - 2 :] -= last if rows > 2 else 0
    return Rows(table, np.zeros(rows, np.int64), np.ones(rows, np.int64), own.start, on_off)


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
