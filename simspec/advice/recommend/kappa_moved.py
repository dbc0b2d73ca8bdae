"""κ moved in the log: what would E be at a fixed κ?  By processes with memory, which no rule for κ can bias.

Rates of deep drafts come from the rounds that offered them.  Where a rule chose κ from what was accepted, or where
requests differ, these are better than all rounds, and no κ is measured.  Processes that remember explain which rounds
were good; given their past a rule for κ cancels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simspec.advice.recommend.rate_draws import draws_of, group_weights, joined, normal_draws, widened
from simspec.advice.recommend.request_weights import MOST_REQUESTS, one_length, tokens_by_weight
from simspec.evidence.observed import REQUEST, Observed
from simspec.evidence.rounds.fits import RoundFit, fit_rounds
from simspec.evidence.rounds.kappa_rule import kappa_rule
from simspec.evidence.rounds.models import MODELS
from simspec.evidence.rounds.processes import ProcessFits, fit_processes, rounds_of
from simspec.evidence.source import Unknown
from simspec.stats.logits import slopes
from simspec.theory import window

Floats = NDArray[np.float64]
CLEAR = 10.0
"""Difference of BIC beyond which a process is left out (very strong, after Kass and Raftery 1995)."""
BETA_REQUEST = "Beta by request"
FRESH = ("i.i.d.", "geometric tail", "Beta by round")
FEWEST_REQUESTS = 4


@dataclass(frozen=True, eq=False)
class ByProcess:
    """E at fixed κ where none was seen.

    Attributes
    ----------
    tokens : float array (kappa_max + 1,)
        Of the process that explains the rounds best.
    draws : float array (count, kappa_max + 1)
        Of it and of the others that stand, each with its errors.
    why : str
        Why no κ counts as measured.
    name : str
        The process.
    adequate : bool
        Whether the rounds leave it standing.
    method : str
        Where the draws come from.
    others : dict
        Other processes with memory → E by κ.
    found : ProcessFits
    """

    tokens: Floats
    draws: Floats
    why: str
    name: str
    adequate: bool
    method: str
    others: dict[str, Floats]
    found: ProcessFits

    @property
    def says(self) -> str:
        """For the first lines of an answer."""
        by = f'by "{self.name}"' if self.adequate else f'by "{self.name}", which does not explain them either'
        return f"tokens are by process, not measured: {self.why}; {by}"


def unseen(observed: Observed) -> str | None:
    """Why the rounds do not measure E at a fixed κ; None where they do, or nobody can tell.

    Examples
    --------
    >>> up = Observed.in_order([[2, 4, 6, 4] * 150], [[2, 4, 0, 0] * 150])  # +2 after a full round, else −2
    >>> unseen(up)
    'κ followed what was accepted'
    >>> unseen(Observed.in_order([[4, 4]], [[4, 0]])) is None
    True
    """
    if one_length(observed) or isinstance(rounds_of(observed), Unknown):
        return None
    rule = kappa_rule(observed)
    if rule is not None and rule.follows:
        return "κ followed what was accepted"
    if observed.unit == REQUEST and observed.clustered and _requests_differ(observed):
        return "κ varied, and requests differ"
    return None


def _requests_differ(observed: Observed) -> bool:
    *fresh, own = fit_rounds(observed, [*FRESH, BETA_REQUEST])
    return own.bic < min(fit.bic for fit in fresh)


def by_process(observed: Observed, kappa_max: int, count: int, seed: int) -> ByProcess | None:
    """E at κ = 0 … kappa_max where `unseen` says why; None where it does not, or no process with memory can be fitted.

    Notes
    -----
    Draws take the adequate processes with weights exp(−BIC/2).  Where none is adequate each counts the same, so that
    the spread between them widens the doubt.
    """
    moved = unseen(observed)
    names = [model.name for model in MODELS if model.wants and model.why_not(observed) is None]
    if moved is None or not names:
        return None
    found = fit_processes(observed, names, seed)
    standing = [fit for fit in found.fits if found.checks[fit.name].adequate]
    kept = sorted(standing or found.fits, key=lambda fit: fit.bic)
    if standing:
        kept = [fit for fit in kept if fit.bic - kept[0].bic <= CLEAR]
    weights = [math.exp((kept[0].bic - fit.bic) / 2) if standing else 1.0 for fit in kept]
    drawn = [_drawn(fit, kappa_max, count, seed) for fit in kept]
    which = np.searchsorted(
        np.cumsum(weights) / sum(weights), draws_of(seed, "process", count, 1)[:, 0], side="right"
    ).clip(max=len(kept) - 1)
    draws = np.stack([own[1] for own in drawn])[which, np.arange(count)]
    method = f"errors of {' and '.join(fit.name for fit in kept)}" + ("" if standing else ", each counted the same")
    others = {f"by {fit.name}": own[0] for fit, own in zip(kept[1:], drawn[1:], strict=True)}
    return ByProcess(drawn[0][0], draws, moved, kept[0].name, bool(standing), method, others, found)


def _drawn(fit: RoundFit, kappa_max: int, count: int, seed: int) -> tuple[Floats, Floats]:
    """E by κ, best and drawn."""
    observed = fit.observed
    if fit.model.wants == "groups" and FEWEST_REQUESTS <= observed.groups <= MOST_REQUESTS:
        weights = group_weights(len(joined(observed.examined_by_group()[:, :1])), count, seed)
        tokens, draws = tokens_by_weight(observed, kappa_max, weights, joined)
        if fit.name != BETA_REQUEST:  # the same requests weigh the same; the law of their rates is this process's
            own = _tokens(fit, fit.point, range(kappa_max + 1))
            tokens, draws = own, draws * (own / tokens)
        return tokens, widened(tokens, draws, observed.groups)
    return _by_errors(fit, kappa_max, count, seed)


def _by_errors(fit: RoundFit, kappa_max: int, count: int, seed: int) -> tuple[Floats, Floats]:
    """Draws of the parameters, E to first order in them."""

    def value(point: Floats) -> Floats:
        return np.log(_tokens(fit, point, range(kappa_max + 1)))

    known = np.where(np.isnan(fit.covariance), 0.0, fit.covariance)
    spread, axes = np.linalg.eigh(known)
    root = axes * np.sqrt(np.maximum(spread, 0.0))
    moves = normal_draws(seed, "parameters", count, len(fit.point)) @ root.T
    tokens = np.exp(value(fit.point))
    draws = tokens * np.exp(moves @ slopes(value, fit.point))
    groups = fit.observed.groups if fit.observed.clustered else fit.observed.rounds
    highest = np.arange(kappa_max + 1) + 1.0
    return tokens, np.clip(widened(tokens, draws, groups, bayes=False), 1.0, highest)


def _tokens(fit: RoundFit, point: Floats, kappas: Sequence[int] | range) -> Floats:
    """E under the process at a point; 1 where nothing is drafted."""
    process = [fit.model.process(point, fit.observed, kappa) for kappa in kappas]
    return np.array([
        window(own, kappa).mean_tokens if kappa else 1.0 for own, kappa in zip(process, kappas, strict=True)
    ])  # fmt: skip
