"""How does a process become integers?  One small function per process; one line each in `LOWERINGS`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simspec.kernels.arithmetic import cumulative, geometric, power, stationary, threshold
from simspec.kernels.forms import Form, FreshRow, Rows
from simspec.kernels.lower_chains import copula_form, hmm_form, token_chain_form
from simspec.kernels.lower_requests import beta_requests, discrete_requests, drift_requests
from simspec.model import (
    BetaMixture,
    DiscreteMixture,
    Iid,
    Markov,
    ParameterError,
    Position,
    Process,
    RowProcess,
    Survival,
)


def chain_rates(process: Markov) -> tuple[float, float]:
    """Chance of acceptance after an acceptance and after a rejection."""
    return (
        min(max(process.alpha + process.rho * (1.0 - process.alpha), 0.0), 1.0),
        min(max(process.alpha * (1.0 - process.rho), 0.0), 1.0),
    )


def window_start(process: Markov, kappa: int) -> tuple[float, float, float]:
    """First-draft rates after a rejection and after a full window, and the long-run share of full windows."""
    alpha, stay = process.alpha, chain_rates(process)[0]
    after_reject = alpha * (1.0 - power(process.rho, process.steps_after_reject))
    after_full = alpha + (1.0 - alpha) * power(process.rho, process.steps_after_full)
    if kappa == 0:
        return after_reject, after_full, 1.0
    rest = power(stay, kappa - 1)
    up, leave = after_reject * rest, 1.0 - after_full * rest
    return after_reject, after_full, up / (up + leave)


def _iid(process: Iid, kappa: int) -> Form:
    return FreshRow.of(geometric(process.alpha, process.alpha, kappa))


def _survival(process: Survival, kappa: int) -> Form:
    return FreshRow.of(np.array(process.survival[:kappa]))


def _position(process: Position, kappa: int) -> Form:
    run, out = 1.0, np.empty(kappa)
    for j in range(kappa):
        run *= process.alphas[j]
        out[j] = run
    return FreshRow.of(out)


def _markov(process: Markov, kappa: int) -> Form:
    stay = chain_rates(process)[0]
    if not process.carried:
        return FreshRow.of(geometric(process.alpha, stay, kappa))
    after_reject, after_full, full = window_start(process, kappa)
    table = np.stack([geometric(after_reject, stay, kappa), geometric(after_full, stay, kappa)])
    return Rows(threshold(table), np.array([0, 0]), np.array([1, 1]), start=cumulative(np.array([1.0 - full, full])))


def _rows(process: RowProcess, kappa: int) -> Form:
    """A user's table of rows."""
    table = process.checked_rows(kappa)
    survival = np.array(table.survival, float).reshape(len(table.survival), kappa)
    if len(survival) == 1:
        return FreshRow.of(survival[0])
    on_reject, on_full = np.array(table.on_reject), np.array(table.on_full)
    full = np.array([row[-1] for row in table.survival]) if kappa else np.ones(len(on_full))
    chain = np.zeros((len(full), len(full)))
    for row, share in enumerate(full):
        chain[row, on_full[row]] += share
        chain[row, on_reject[row]] += 1.0 - share
    law = stationary(chain)
    if law is None:
        raise ParameterError(
            "kappa", f"kappa = {kappa}: the rows fall into parts that are never left, so no long-run law exists"
        )
    return Rows(threshold(survival), on_reject, on_full, cumulative(law))


def _discrete(process: DiscreteMixture, kappa: int) -> Form:
    if process.by_request:
        return discrete_requests(process, kappa)
    curve = np.zeros(kappa)
    for alpha, share in zip(process.alphas, process.shares(), strict=True):
        curve = curve + share * geometric(alpha, alpha, kappa)
    return FreshRow.of(curve)


def _beta(process: BetaMixture, kappa: int) -> Form:
    if process.by_request:
        return beta_requests(process, kappa)
    alpha, rho = process.mean_and_rho()
    run, out = 1.0, np.empty(kappa)
    for i in range(kappa):
        run *= alpha if i == 0 else (alpha * (1.0 - rho) + i * rho) / (1.0 - rho + i * rho)
        out[i] = run
    return FreshRow.of(out)


LOWERINGS: dict[str, Callable[..., Form]] = {
    "iid": _iid,
    "survival": _survival,
    "position": _position,
    "markov": _markov,
    "discrete_mixture": _discrete,
    "beta_mixture": _beta,
    "gaussian_copula_ar1": copula_form,
    "hmm": hmm_form,
    "token_chain": token_chain_form,
    "drift": drift_requests,
}


def form(process: Process, kappa: int) -> Form:
    """The integer form of ``process`` for drafts up to ``kappa``.

    Raises
    ------
    ParameterError
        κ cannot be asked of this process, or it has no integer form.
    """
    process.check_kappa(kappa)
    if isinstance(process, RowProcess):
        return _rows(process, kappa)
    if process.type not in LOWERINGS:
        raise ParameterError("type", f"type = {process.type!r} cannot be simulated; known: {', '.join(LOWERINGS)}")
    return LOWERINGS[process.type](process, kappa)
