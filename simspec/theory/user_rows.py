"""What is the truth for a user's table of rows?  Windows form a chain on rows; each row has its own survival curve."""

from __future__ import annotations

import numpy as np

from simspec.model.errors import ParameterError
from simspec.model.rows import RowProcess
from simspec.theory.fresh import fresh_window, multinomial
from simspec.theory.lanes import lagged_sum, long_run_law
from simspec.theory.law import FloatArray, Sweep, WindowLaw, law_of_window


def rows_window(process: RowProcess, kappa: int) -> WindowLaw:
    """Long-run law of one window: rows in proportion to how often they come."""
    if kappa == 0:
        return fresh_window(np.zeros(0))
    pmf, step = _by_row(process, kappa)
    law = _law(step, kappa)
    reach = np.cumsum(pmf[:, ::-1], axis=1)[:, ::-1]  # [row, j]: the first j drafts are all accepted
    return law_of_window(law @ pmf, mean_examined=float((law @ reach)[:-1].sum()))


def rows_sweep(process: RowProcess, kappa_max: int) -> Sweep:
    """Means per round at every κ; NaN where windows have no long-run law."""
    tokens, full = np.ones(kappa_max + 1), np.ones(kappa_max + 1)
    for kappa in range(1, kappa_max + 1):
        pmf, step = _by_row(process, kappa)
        law = long_run_law(step)
        tokens[kappa] = np.nan if law is None else 1.0 + (law @ pmf) @ np.arange(kappa + 1)
        full[kappa] = np.nan if law is None else (law @ pmf)[-1]
    return Sweep(mean_tokens=tokens, mean_drafted=np.arange(kappa_max + 1.0), p_full=full)


def rows_counts(process: RowProcess, kappa: int, rounds: int) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of the counts of A in one lane of ``rounds`` windows started in the long-run law."""
    if kappa == 0:
        return multinomial(np.ones(1), rounds)
    pmf, step = _by_row(process, kappa)
    law = _law(step, kappa)
    table = process.checked_rows(kappa)
    after = np.zeros((kappa + 1, len(law)))
    for row, share in enumerate(law):
        after[:-1, table.on_reject[row]] += share * pmf[row, :-1]
        after[-1, table.on_full[row]] += share * pmf[row, -1]
    mean_pmf = law @ pmf
    cross = (after - np.outer(mean_pmf, law)) @ lagged_sum(step - law, rounds) @ (pmf - mean_pmf)
    mean, covariance = multinomial(mean_pmf, rounds)
    return mean, covariance + cross + cross.T


def rows_start(process: RowProcess, kappa: int) -> FloatArray:
    """Long-run law of the row in which windows of ``kappa`` drafts start."""
    return _law(_by_row(process, kappa)[1], kappa)


def _by_row(process: RowProcess, kappa: int) -> tuple[FloatArray, FloatArray]:
    """P(A = j) by row, and the chain of rows from window to window."""
    table = process.checked_rows(kappa)
    survival = np.array(table.survival, dtype=np.float64).reshape(len(table.survival), kappa)
    ends = np.hstack([np.ones((len(survival), 1)), survival, np.zeros((len(survival), 1))])
    pmf = ends[:, :-1] - ends[:, 1:]
    step = np.zeros((len(survival), len(survival)))
    for row, full in enumerate(pmf[:, -1]):
        step[row, table.on_full[row]] += full
        step[row, table.on_reject[row]] += 1.0 - full
    return pmf, step


def _law(step: FloatArray, kappa: int) -> FloatArray:
    law = long_run_law(step)
    if law is None:
        raise ParameterError(
            "kappa", f"kappa = {kappa}: the rows fall into parts that are never left, so no long-run law exists"
        )
    return law
