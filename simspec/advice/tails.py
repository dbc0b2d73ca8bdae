"""How does acceptance go on beyond the positions seen?  By the process that explains the rounds best."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simspec.advice.rate_draws import draws_of, extended
from simspec.advice.request_weights import RequestWeights
from simspec.evidence.observed import REQUEST, Observed
from simspec.evidence.round_fits import RoundFit, fit_rounds

Floats = NDArray[np.float64]
IID, GEOMETRIC, BETA_ROUND, BETA_REQUEST = "i.i.d.", "geometric tail", "Beta by round", "Beta by request"
CANDIDATES = (IID, GEOMETRIC, BETA_ROUND)
CLEAR = 10.0
"""Difference of BIC beyond which a process is left out (very strong, after Kass and Raftery 1995)."""


@dataclass(frozen=True, eq=False)
class Tail:
    """What goes on beyond the last position seen.

    Attributes
    ----------
    name : str
        The process that explains the rounds best.
    shapes : tuple of (weight, shape)
        Its shape first, then those of other processes that explain them about as well, with weights exp(−BIC/2).  A
        shape is S_(seen + m) ÷ S_seen, m = 1, 2, …; None: geometric, with the rate of the deeper positions of a draw.
    others : dict
        Name → E by κ, scaled to what was seen, under each of these processes.
    """

    name: str
    shapes: tuple[tuple[float, Floats | None], ...]
    others: dict[str, Floats]

    @property
    def shape(self) -> Floats | None:
        """That of the best."""
        return self.shapes[0][1]

    def drawn(self, curves: Floats, kappa_max: int, seed: int) -> Floats:
        """Curves of draws to ``kappa_max`` positions, each by a process drawn with the weights."""
        if curves.shape[1] >= kappa_max or len(self.shapes) == 1:
            return extended(curves, kappa_max, self.shape)
        ends = np.cumsum([weight for weight, _ in self.shapes])
        which = np.searchsorted(ends / ends[-1], draws_of(seed, "tail", len(curves), 1)[:, 0], side="right")
        out = np.empty((len(curves), kappa_max))
        for i, (_, shape) in enumerate(self.shapes):
            out[which == i] = extended(curves[which == i], kappa_max, shape)
        return out


def tail_of(observed: Observed, seen: int, kappa_max: int, emitted: float, again: RequestWeights | None) -> Tail:
    """The tail beyond ``seen`` positions; ``emitted`` is E at κ = ``seen``.

    Examples
    --------
    >>> tail_of(Observed.of_counts([(3, 1000, [700, 490, 343])]), 3, 5, 2.533, None).name
    'geometric tail'
    """
    by_request = again is not None and observed.unit == REQUEST
    fits = fit_rounds(observed, [*CANDIDATES, *([BETA_REQUEST] if by_request else [])])
    least = min(fit.bic for fit in fits)
    near = sorted((fit for fit in fits if fit.bic - least <= CLEAR), key=lambda fit: fit.bic)
    others = {fit.name: _scaled(fit, seen, kappa_max, emitted) for fit in near}
    shapes: dict[str, tuple[float, Floats | None]] = {}
    for fit in near:
        name = GEOMETRIC if fit.name == IID else fit.name  # i.i.d. drafts have that tail, and the rate at depth is seen
        shape = None
        if name == BETA_ROUND:
            shape = _shape(fit, seen, kappa_max)
        elif name == BETA_REQUEST and again is not None:
            shape = again.tail
        weight = math.exp((least - fit.bic) / 2)
        shapes[name] = (weight + (shapes[name][0] if name in shapes else 0.0), shape)
    return Tail(next(iter(shapes)), tuple(shapes.values()), others)


def _scaled(fit: RoundFit, seen: int, kappa_max: int, emitted: float) -> Floats:
    tokens = np.array([fit.mean_tokens(kappa) for kappa in range(kappa_max + 1)])
    gained = fit.mean_tokens(seen) - 1.0
    return np.asarray(1.0 + (tokens - 1.0) * ((emitted - 1.0) / gained if gained > 0.0 else 0.0))


def _shape(fit: RoundFit, seen: int, kappa_max: int) -> Floats:
    tokens = np.array([fit.mean_tokens(kappa) for kappa in range(seen - 1, kappa_max + 1)])
    added = np.diff(tokens)
    return np.asarray(added[1:] / added[0] if added[0] > 0.0 else np.zeros(len(added) - 1))
