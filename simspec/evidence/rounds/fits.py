"""Which processes explain rounds, with which parameters and errors?  Maximum likelihood, one fit for each kind."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simspec.evidence.observed import REQUEST, Floats, Observed
from simspec.evidence.rounds.hidden import MOST_FITTED, Pieces
from simspec.evidence.rounds.models import MODELS, RoundModel
from simspec.model import BetaMixture, DiscreteMixture, Process
from simspec.model.errors import ParameterError, did_you_mean
from simspec.stats.logits import curvature, slopes
from simspec.theory import WindowLaw, window
from simspec.theory.quadrature import beta_nodes

NODES = 32
"""Rates that stand for a Beta law of requests in exact answers: differences are below 1e-6."""
SAME = 1e-9
"""A correlation below which a Beta law is one rate."""
ENDLESS = (
    "request_tokens is not the length of the log's requests: a scenario discards what a last round emits beyond the "
    "end, a log counts it; so long a request has the log's E"
)
BLOCKS = 20
"""Blocks of requests left out in turn."""
FEWEST_GROUPS = 8
"""Groups below which differences between them are too few to be errors by themselves, or units of a BIC."""
STILL = 5e-3
"""Share of its value by which a figure may move with a coordinate that has no error, and keep its own."""
INSIDE = 4.0
"""Logit to which a coordinate at an edge is moved to see what depends on it: rates of 1.8% and 98.2%."""
FLAT = 1e-4
"""Curvature of the log-likelihood per unit below which a coordinate of a point has no error."""


@dataclass(frozen=True, eq=False)
class RoundFit:
    """A process fitted to rounds.

    Attributes
    ----------
    name : str
        Kind of process.
    process : Process
        As scenarios and the exact route take it.
    estimates : dict of str to (float, float)
        Parameter → value and standard error; NaN for an error that does not exist.
    log_likelihood : float
        Of all verdicts, each given those before it.
    parameters : int
        Number of free parameters.
    aic, bic : float
        2·parameters − 2·log-likelihood, and log(units)·parameters in place of 2·parameters.
    units : int
        What BIC counts: groups where there are at least `FEWEST_GROUPS`, else rounds.
    notes : tuple of str
        What to know before use.
    """

    name: str
    process: Process
    estimates: dict[str, tuple[float, float]]
    log_likelihood: float
    parameters: int
    units: int
    notes: tuple[str, ...]
    model: RoundModel = field(repr=False)
    point: Floats = field(repr=False)
    covariance: Floats = field(repr=False)
    observed: Observed = field(repr=False)

    @property
    def aic(self) -> float:
        return 2.0 * self.parameters - 2.0 * self.log_likelihood

    @property
    def bic(self) -> float:
        return math.log(self.units) * self.parameters - 2.0 * self.log_likelihood

    def law(self, kappa: int) -> WindowLaw:
        """Long-run law of rounds at a fixed κ, by the exact route.

        Raises
        ------
        ParameterError
            The process says nothing of drafts that long.
        """
        return window(_answered(self.model.process(self.point, self.observed, kappa)), kappa)

    def mean_tokens(self, kappa: int) -> float:
        """E at a fixed κ: tokens emitted per round, the bonus or corrected token counted."""
        return self.law(kappa).mean_tokens

    def error(self, kappa: int) -> float:
        """Standard error of `mean_tokens` from that of the parameters (delta method); NaN where there is none.

        For processes by request that of the requests themselves is added: other requests would weigh otherwise.
        """

        def value(point: Floats, observed: Observed = self.observed) -> Floats:
            return np.array([window(_answered(self.model.process(point, observed, kappa)), kappa).mean_tokens])

        own = float(_delta(value, self.model, self.point, self.covariance)[0])
        if self.model.wants != "groups":
            return own
        blocks = min(self.observed.groups, BLOCKS)
        block = np.arange(self.observed.groups) % blocks
        without = [value(self.point, self.observed.take(np.flatnonzero(block != b)))[0] for b in range(blocks)]
        return math.hypot(own, math.sqrt((blocks - 1) / blocks * float(((without - np.mean(without)) ** 2).sum())))

    def ahead(self, observed: Observed, point: Floats | None = None) -> Floats:
        """Survival curve of each round given the rounds before it, (rows, kappa_max); rounds one by one."""
        return self.model.ahead(self.point if point is None else point, observed)


def fit_rounds(
    observed: Observed, names: Sequence[str] | None = None, progress: Callable[[str], None] | None = None
) -> tuple[RoundFit, ...]:
    """Fit every kind of process that the rounds allow.

    Parameters
    ----------
    observed : Observed
        At least one round.
    names : sequence of str, optional
        Which; default: all of `round_models.MODELS` that the rounds allow.
    progress : callable, optional
        Told what is being fitted.

    Returns
    -------
    tuple of RoundFit
        In the order of the table.

    Raises
    ------
    ParameterError
        No round, an unknown name, or one of a process that these rounds cannot hold.

    Notes
    -----
    Errors: where groups (requests) are told apart the sandwich of slopes by group, which also holds where the process
    is wrong; else the curvature of the likelihood, as if all rounds were independent.  With fewer than 8 groups the
    two are added, since a process that follows each group shows no difference between them.

    References
    ----------
    Kott (2001) for the jackknife by blocks of requests in `RoundFit.error`;
    White (1982), "Maximum likelihood estimation of misspecified models", Theorem 3.2, for the sandwich.

    Examples
    --------
    >>> rounds = Observed.of_counts([(2, 100, [70, 49])])
    >>> own = fit_rounds(rounds, ["i.i.d."])[0]
    >>> round(own.estimates["alpha"][0], 4), round(own.mean_tokens(4), 3)
    (0.7, 2.773)
    """
    if observed.rounds == 0:
        raise ParameterError("rounds", "there is no round with a draft; allowed: at least 1")
    chosen = _chosen(observed, names)
    fits = []
    for model in chosen:
        if progress is not None:
            progress(f"fitting {model.name}")
        fits.append(_fit(model, observed))
    return tuple(fits)


def _chosen(observed: Observed, names: Sequence[str] | None) -> list[RoundModel]:
    if names is None:
        return [model for model in MODELS if model.why_not(observed) is None]
    known = {model.name: model for model in MODELS}
    for name in names:
        if name not in known:
            raise ParameterError("processes", f"process {name!r} is unknown{did_you_mean(name, known)}")
        if reason := known[name].why_not(observed):
            raise ParameterError("processes", f"process {name!r} cannot be fitted: {reason}")
    return [known[name] for name in names]


def _fit(model: RoundModel, observed: Observed) -> RoundFit:
    data = model.summary(observed)
    point = model.maximise(data)
    covariance = _covariance(model, point, data, observed)
    natural = model.natural(point)
    errors = _delta(lambda x: np.array(list(model.natural(x).values())), model, point, covariance)
    return RoundFit(
        name=model.name,
        process=model.process(point, observed, 0),
        estimates={name: (value, float(e)) for (name, value), e in zip(natural.items(), errors, strict=True)},
        log_likelihood=float(model.by_group(point, data).sum()),
        parameters=len(point),
        units=observed.groups if observed.clustered and observed.groups >= FEWEST_GROUPS else observed.rounds,
        notes=_notes(model, point, data, observed),
        model=model,
        point=point,
        covariance=covariance,
        observed=observed,
    )


def _covariance(model: RoundModel, point: Floats, data: Any, observed: Observed) -> Floats:
    """Of the point; NaN for coordinates at an edge or without influence on the likelihood."""
    pooled = model.pooled(data)
    gradient = model.gradient
    if gradient is None:
        bent = -curvature(lambda x: float(model.by_group(x, pooled).sum()), point)
    else:
        bent = -slopes(lambda x: gradient(x, data), point)
    free = (np.abs(point) < model.edge) & (np.diag(bent) > FLAT)
    out = np.full((len(point), len(point)), np.nan)
    if not free.any():
        return out
    inner = np.linalg.pinv(bent[np.ix_(free, free)], hermitian=True)
    if observed.clustered:
        score = slopes(lambda x: model.by_group(x, data), point)[free]
        groups = observed.groups
        between = inner @ (score @ score.T * groups / (groups - 1)) @ inner
        inner = between if groups >= FEWEST_GROUPS else between + inner
    out[np.ix_(free, free)] = inner
    return out


def _delta(function: Callable[[Floats], Floats], model: RoundModel, point: Floats, covariance: Floats) -> Floats:
    """Errors of functions of the point; NaN where one really depends on a coordinate that has none."""
    slope = slopes(function, point)
    known = np.where(np.isnan(covariance), 0.0, covariance)
    errors = np.sqrt(np.maximum(np.einsum("ai,ab,bi->i", slope, known, slope), 0.0))
    here = function(point)
    for i in np.flatnonzero(np.isnan(np.diag(covariance))):
        inward = point.copy()
        inward[i] = np.clip(point[i], -INSIDE, INSIDE)
        matters = np.abs(slope[i]) > STILL * np.abs(here)
        if i not in model.nested:
            matters |= np.abs(function(inward) - here) > STILL * np.abs(here)
        errors = np.where(matters, np.nan, errors)
    return np.asarray(errors)


def _notes(model: RoundModel, point: Floats, data: Any, observed: Observed) -> tuple[str, ...]:
    notes = []
    if (np.abs(point) >= model.edge).any():
        notes.append("a parameter lies at the edge of its range, where it has no error")
    if model.wants == "groups" and observed.unit != REQUEST:
        notes.append(f'a "request" of this process is here a {observed.unit}')
    if model.wants == "groups":
        notes.append(ENDLESS)
    if observed.clustered and observed.groups < FEWEST_GROUPS:
        notes.append(f"{observed.groups} {observed.unit}s are few: errors between them are rough")
    if isinstance(data, Pieces):
        if data.cut:
            notes.append(f"sequences are cut into pieces of about {data.bits.shape[1]:,} tokens")
        if data.lengths.sum() > MOST_FITTED:
            notes.append(f"parameters come from {MOST_FITTED:,} of {int(data.lengths.sum()):,} tokens")
    return tuple(notes)


@functools.lru_cache(maxsize=64)
def _answered(process: Process) -> Process:
    """The same law, answered faster: nodes in place of a Beta law of requests."""
    if not isinstance(process, BetaMixture) or process.request_tokens is None:
        return process
    alpha, rho = process.mean_and_rho()
    size = (1.0 - rho) / max(rho, SAME)
    if size == 0.0:
        return process
    rates, shares = beta_nodes(alpha * size, (1.0 - alpha) * size, NODES)
    return DiscreteMixture(
        alphas=tuple(rates.tolist()), weights=tuple(shares.tolist()), weights_of="requests",
        request_tokens=process.request_tokens, truncate=process.truncate,
    )  # fmt: skip
