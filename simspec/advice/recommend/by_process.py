"""Which κ would each process choose that can be fitted to the rounds, and which of them do the rounds reject?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simspec.evidence.observed import Observed
from simspec.evidence.rounds.fits import RoundFit
from simspec.evidence.rounds.models import MODELS
from simspec.evidence.rounds.processes import ProcessFits, fit_processes, rounds_of
from simspec.evidence.source import Unknown
from simspec.model.errors import ParameterError

Floats = NDArray[np.float64]
HIDDEN = "hidden Markov"
"""Left out: a search of more than a second."""


@dataclass(frozen=True, eq=False)
class Reading:
    """Rounds as one process explains them.

    Attributes
    ----------
    name : str
    tokens : float array (kappa_max + 1,)
        E by κ under it alone; NaN beyond ``up_to``.
    adequate : bool
        Whether the rounds leave it standing (`simspec.evidence.rounds.adequacy`).
    bic : float
    up_to : int or None
        Longest draft that it says something of; None: any.
    """

    name: str
    tokens: Floats
    adequate: bool
    bic: float
    up_to: int | None = None


def readings_of(
    observed: Observed | None, kappa_max: int, seed: int = 1, known: ProcessFits | None = None
) -> tuple[Reading, ...]:
    """Every process that these rounds allow, least BIC first; none where there are no rounds, or too few.

    Those ``known`` are not fitted again.

    Examples
    --------
    >>> rounds = Observed.of_counts([(3, 1000, [700, 350, 175])])  # first drafts do better than later ones
    >>> [(own.name, own.adequate) for own in readings_of(rounds, 4)][:1]
    [('geometric tail', True)]
    """
    if observed is None or isinstance(rounds_of(observed), Unknown):
        return ()
    before = {} if known is None else {fit.name: fit for fit in known.fits}
    names = [
        model.name
        for model in MODELS
        if model.name != HIDDEN and model.name not in before and model.why_not(observed) is None
    ]
    found = fit_processes(observed, names, seed)
    checks = found.checks | ({} if known is None else known.checks)
    out = []
    for fit in sorted([*found.fits, *before.values()], key=lambda fit: fit.bic):
        tokens = _tokens(fit, kappa_max)
        up_to = None if len(tokens) > kappa_max else len(tokens) - 1
        if up_to == 0:
            continue
        whole = np.array([*tokens, *[np.nan] * (kappa_max + 1 - len(tokens))])
        out.append(Reading(fit.name, whole, checks[fit.name].adequate, fit.bic, up_to))
    return tuple(out)


def _tokens(fit: RoundFit, kappa_max: int) -> list[float]:
    """E at κ = 0, 1, … as far as the process goes: one rate by position ends with the last position seen."""
    out = [1.0]
    for kappa in range(1, kappa_max + 1):
        try:
            out.append(fit.mean_tokens(kappa))
        except ParameterError:
            break
    return out
