"""Which process explains verdicts along the output?  Five fits by maximum likelihood, each a process of the model.

The fits want verdicts, a dense trace holds their chances.  The likelihood of independent verdicts or of a two-state
chain needs only expected numbers of verdicts and of neighbouring pairs, which the chances give exactly.  That of a
hidden state or of a rate per request needs whole sequences: a few copies of them are drawn from the chances, and the
log-likelihoods of the copies averaged.  Chances put in place of verdicts ("soft evidence") would not do: the sum of
log(c·a + (1 − c)(1 − a)) takes a chance c for an unclear view of a fixed verdict, and at c = 0.6 everywhere it is
largest at a = 1, not at 0.6.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simspec.evidence.dense import DenseTrace, Floats, Ints
from simspec.evidence.words import DOMAIN, uniforms
from simspec.kernels.words import stream_keys
from simspec.model import BetaMixture, DiscreteMixture, Hmm, Iid, Markov, Process
from simspec.model.errors import ParameterError
from simspec.model.markov import lowest_rho
from simspec.theory import WindowLaw, window
from simspec.theory.quadrature import beta_nodes

COPIES = 4
ENOUGH = 100_000
"""Positions, copies included, beyond which no further copy is drawn: the requests themselves then err far more."""
BLOCK = 8
"""Positions over which the rate of a Beta mixture by window holds while it is fitted."""
NODES = 32
"""Rates that stand for a Beta law of requests: predictions differ by less than 1e-6 from those of the law itself."""
SURE = 1e-6
"""Rates are kept so far away from 0 and 1, so that a verdict never seen while fitting costs a finite likelihood."""


@dataclass(frozen=True, eq=False)
class Verdicts:
    """A dense trace and copies of verdicts drawn from it.

    Attributes
    ----------
    trace : DenseTrace
        Without missing positions.
    bits : bool array (copies, positions)
    """

    trace: DenseTrace
    bits: NDArray[np.bool_]

    def take(self, chosen: Ints) -> Verdicts:
        """Some of the requests."""
        offsets = self.trace.offsets
        rows = np.concatenate([np.arange(offsets[r], offsets[r + 1]) for r in chosen])
        return Verdicts(self.trace.take(chosen), self.bits[:, rows])

    def sequences(self) -> tuple[NDArray[np.bool_], Ints]:
        """Verdicts as (copies · requests, longest) and lengths, copy by copy."""
        grids = [self.trace.grid(own.astype(float)) > 0.5 for own in self.bits]
        return np.concatenate(grids), np.tile(self.trace.sizes, len(self.bits))


def draw_verdicts(trace: DenseTrace, seed: int = 1) -> Verdicts:
    """Verdicts of every position, up to four times; once where all chances are 0 or 1.

    Examples
    --------
    >>> draw_verdicts(DenseTrace.of(np.array([0.0, 1.0]), np.array([0, 2]))).bits
    array([[False,  True]])
    """
    if not trace.whole:
        raise ParameterError("alpha", "output positions are missing, so nothing is fitted; allowed: all of them")
    certain = bool(((trace.chance == 0.0) | (trace.chance == 1.0)).all())
    keys = stream_keys(seed, "verdicts", DOMAIN)
    at = np.arange(len(trace.chance))
    copies = 1 if certain else max(1, min(COPIES, ENOUGH // len(at)))
    return Verdicts(trace, np.stack([uniforms(keys, at, c) < trace.chance for c in range(copies)]))


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted process.

    Attributes
    ----------
    process : Process
        As the exact route takes it; carried processes move one step after a rejection and two after a full window,
        since the bonus token has an output position too.
    parameters : float array
        Where a later fit to nearly the same verdicts may begin.
    stand_in : Process, optional
        A process of the same law that is answered faster.
    """

    process: Process
    parameters: Floats
    stand_in: Process | None = None

    def law(self, kappa: int) -> WindowLaw:
        """What it predicts of rounds, by the exact route.

        Examples
        --------
        >>> Fit(Iid(alpha=0.5), np.array([0.5])).law(2).p_full
        0.25
        """
        return window(self.stand_in or self.process, kappa)


@dataclass(frozen=True)
class Model:
    """One kind of process: how it is fitted, and the log-likelihood per request it gives verdicts."""

    name: str
    fit: Callable[[Verdicts, Floats | None], Fit]
    score: Callable[[Fit, Verdicts], Floats]


def _inside(rate: float) -> float:
    return float(min(max(rate, SURE), 1.0 - SURE))


def _by_request(verdicts: Verdicts, values: Floats) -> Floats:
    """Sum over positions of (copies, positions), mean over copies."""
    running = np.concatenate([[0.0], np.cumsum(values.mean(axis=0))])
    return np.asarray(running[verdicts.trace.offsets[1:]] - running[verdicts.trace.offsets[:-1]])


def fit_iid(verdicts: Verdicts, _: Floats | None = None) -> Fit:
    """Independent verdicts of one rate: the mean chance."""
    alpha = _inside(float(verdicts.trace.chance.mean()))
    return Fit(Iid(alpha=alpha), np.array([alpha]))


def _iid_score(fit: Fit, verdicts: Verdicts) -> Floats:
    alpha = fit.parameters[0]
    return _by_request(verdicts, np.where(verdicts.bits, np.log(alpha), np.log(1.0 - alpha)))


def fit_markov(verdicts: Verdicts, _: Floats | None = None) -> Fit:
    """A two-state chain over output positions: P(accepted | accepted), P(accepted | rejected) from expected pairs."""
    earlier, later = verdicts.trace.pairs(1)
    first, second = verdicts.trace.chance[earlier], verdicts.trace.chance[later]
    again = _inside(float((first * second).sum() / max(first.sum(), SURE)))
    back = _inside(float(((1.0 - first) * second).sum() / max((1.0 - first).sum(), SURE)))
    alpha = back / (1.0 - again + back)
    rho = max(again - back, lowest_rho(alpha))
    process = Markov(alpha=alpha, rho=rho, start="carry", steps_after_reject=1, steps_after_full=2)
    return Fit(process, np.array([alpha, back, again]))


def _markov_score(fit: Fit, verdicts: Verdicts) -> Floats:
    alpha, back, again = fit.parameters
    rate = np.full(verdicts.bits.shape, alpha)
    earlier, later = verdicts.trace.pairs(1)
    rate[:, later] = np.where(verdicts.bits[:, earlier], again, back)
    return _by_request(verdicts, np.where(verdicts.bits, np.log(rate), np.log1p(-rate)))


def _groups(verdicts: Verdicts, block: int | None) -> Ints:
    """First position of every stretch that shares a rate: a request, or a block of positions inside one."""
    sizes, offsets = verdicts.trace.sizes, verdicts.trace.offsets[:-1]
    if block is None:
        return np.asarray(offsets[sizes > 0])
    inside = verdicts.trace.position_in_request
    return np.flatnonzero(inside % block == 0)


def _beta_log_likelihood(alpha: float, rho: float, hits: Floats, sizes: Floats) -> Floats:
    """log B(a + k, b + n − k)/B(a, b) of k acceptances in n verdicts in a given order."""
    from scipy.special import betaln

    size = (1.0 - rho) / rho
    a, b = alpha * size, (1.0 - alpha) * size
    return np.asarray(betaln(a + hits, b + sizes - hits) - betaln(a, b))


def _beta_counts(verdicts: Verdicts, block: int | None) -> tuple[Floats, Floats, Ints]:
    starts = _groups(verdicts, block)
    hits = np.add.reduceat(verdicts.bits.astype(np.int64), starts, axis=1)
    sizes = np.diff(np.append(starts, len(verdicts.trace.chance)))
    return hits.astype(float), np.broadcast_to(sizes, hits.shape).astype(float), starts


def _fit_beta(verdicts: Verdicts, block: int | None, start: Floats | None) -> Floats:
    """(alpha, rho) of beta-binomial counts; rho between 1e-6 and 0.999."""
    from scipy.optimize import minimize

    hits, sizes, _ = _beta_counts(verdicts, block)
    kinds, times = np.unique(np.stack([hits.ravel(), sizes.ravel()]), axis=1, return_counts=True)

    def loss(point: Floats) -> float:
        alpha, rho = 1.0 / (1.0 + np.exp(-point[0])), np.exp(point[1])
        return -float(times @ _beta_log_likelihood(alpha, rho, *kinds)) / len(verdicts.bits)

    if start is None:
        alpha = _inside(float(hits.sum() / sizes.sum()))
        start = np.array([alpha, 0.02])
    begin = np.array([np.log(start[0] / (1.0 - start[0])), np.log(start[1])])
    # from a second side, since the likelihood is flat where rho is near 0
    begins = [begin, np.array([begin[0], np.log(0.2)])]
    bounds = [(-14.0, 14.0), (np.log(1e-6), np.log(0.999))]
    found = [
        minimize(loss, x, method="Nelder-Mead", bounds=bounds, options={"xatol": 1e-6, "fatol": 1e-7}) for x in begins
    ]
    best = min(found, key=lambda one: float(one.fun)).x
    return np.array([1.0 / (1.0 + np.exp(-best[0])), np.exp(best[1])])


def _beta_score(fit: Fit, verdicts: Verdicts, block: int | None) -> Floats:
    hits, sizes, starts = _beta_counts(verdicts, block)
    values = np.zeros(verdicts.bits.shape)
    values[:, starts] = _beta_log_likelihood(fit.parameters[0], fit.parameters[1], hits, sizes)
    return _by_request(verdicts, values)


def fit_beta_requests(verdicts: Verdicts, start: Floats | None = None) -> Fit:
    """A rate for every request, drawn from a Beta law; requests of the mean length of those seen."""
    alpha, rho = _fit_beta(verdicts, None, start)
    tokens = max(1, round(float(verdicts.trace.sizes.mean())))
    process = BetaMixture(alpha=float(alpha), rho=float(rho), request_tokens=tokens, truncate=False)
    size = (1.0 - rho) / rho
    rates, shares = beta_nodes(float(alpha * size), float((1.0 - alpha) * size), NODES)
    same = DiscreteMixture(
        alphas=tuple(rates.tolist()), weights=tuple(shares.tolist()), weights_of="requests",
        request_tokens=tokens, truncate=False,
    )  # fmt: skip
    return Fit(process, np.array([alpha, rho]), same)


def fit_beta_windows(verdicts: Verdicts, start: Floats | None = None) -> Fit:
    """A new rate for every window, drawn from a Beta law; fitted to blocks of eight output positions."""
    alpha, rho = _fit_beta(verdicts, BLOCK, start)
    return Fit(BetaMixture(alpha=float(alpha), rho=float(rho)), np.array([alpha, rho]))


def fit_hmm(verdicts: Verdicts, start: Floats | None = None) -> Fit:
    """Two hidden states with a rate each, moving with every output position; see `simspec.evidence.hidden_fit`."""
    from simspec.evidence.hidden_fit import maximise

    rates, stay = np.split(maximise(*verdicts.sequences(), start=start), 2)
    process = Hmm(
        P=((stay[0], 1.0 - stay[0]), (1.0 - stay[1], stay[1])), alphas=tuple(rates.tolist()),
        start="carry", steps_after_reject=1, steps_after_full=2,
    )  # fmt: skip
    return Fit(process, np.concatenate([rates, stay]))


def _hmm_score(fit: Fit, verdicts: Verdicts) -> Floats:
    from simspec.evidence.hidden_fit import log_likelihood

    found = log_likelihood(fit.parameters, *verdicts.sequences())
    return np.asarray(found.reshape(len(verdicts.bits), -1).mean(axis=0))


MODELS = (
    Model("i.i.d.", fit_iid, _iid_score),
    Model("Markov", fit_markov, _markov_score),
    Model("Beta by request", fit_beta_requests, lambda fit, verdicts: _beta_score(fit, verdicts, None)),
    Model("Beta by window", fit_beta_windows, lambda fit, verdicts: _beta_score(fit, verdicts, BLOCK)),
    Model("hidden Markov", fit_hmm, _hmm_score),
)
"""A further kind of process is a line here."""
