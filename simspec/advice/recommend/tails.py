"""How does acceptance go on beyond the positions seen?  By the process that explains the rounds best."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simspec.advice.recommend.rate_draws import draws_of, extended, normal_draws, widened
from simspec.advice.recommend.request_weights import RequestWeights
from simspec.evidence.observed import REQUEST, Observed
from simspec.evidence.rounds.fits import RoundFit, fit_rounds
from simspec.stats.logits import EDGE, rate

Floats = NDArray[np.float64]
IID, GEOMETRIC, BETA_ROUND, BETA_REQUEST = "i.i.d.", "geometric tail", "Beta by round", "Beta by request"
CANDIDATES = (IID, GEOMETRIC, BETA_ROUND)
LEAST = 1e-300
"""Differences of two E may round to nothing, or below."""
CLEAR = 10.0
"""Difference of BIC beyond which a process is left out (very strong, after Kass and Raftery 1995)."""


@dataclass(frozen=True, eq=False)
class Shape:
    """One way to go on: S_(seen + m) ÷ S_seen, m = 1, 2, …

    Attributes
    ----------
    weight : float
        exp(−BIC/2), up to a factor.
    best : float array or None
        None: geometric, with the rate of the deeper positions of the curve itself.
    drawn : float array (count, …) or None
        The same in each draw, by the errors of the process.
    """

    weight: float
    best: Floats | None = None
    drawn: Floats | None = None


@dataclass(frozen=True, eq=False)
class Tail:
    """What goes on beyond the last position seen.

    Attributes
    ----------
    name : str
        The process that explains the rounds best.
    shapes : tuple of Shape
        Its shape first, then those of other processes that explain them about as well.
    """

    name: str
    shapes: tuple[Shape, ...]

    @property
    def shape(self) -> Floats | None:
        """That of the best."""
        return self.shapes[0].best

    def drawn(self, curves: Floats, kappa_max: int, seed: int) -> Floats:
        """Curves of draws to ``kappa_max`` positions, each by a process drawn with the weights."""
        ends = np.cumsum([shape.weight for shape in self.shapes])
        which = np.searchsorted(ends / ends[-1], draws_of(seed, "tail", len(curves), 1)[:, 0], side="right")
        out = np.empty((len(curves), kappa_max))
        for i, shape in enumerate(self.shapes):
            mine = which == i
            out[mine] = extended(curves[mine], kappa_max, None if shape.drawn is None else shape.drawn[mine])
        return out


def tail_of(
    observed: Observed, seen: int, kappa_max: int, again: RequestWeights | None, count: int = 1, seed: int = 1
) -> Tail:
    """The tail beyond ``seen`` positions.

    Examples
    --------
    >>> tail_of(Observed.of_counts([(3, 1000, [700, 490, 343])]), 3, 5, None).name
    'geometric tail'
    """
    by_request = again is not None and observed.unit == REQUEST
    fits = fit_rounds(observed, [*CANDIDATES, *([BETA_REQUEST] if by_request else [])])
    least = min(fit.bic for fit in fits)
    near = sorted((fit for fit in fits if fit.bic - least <= CLEAR), key=lambda fit: fit.bic)
    shapes: dict[str, Shape] = {}
    for fit in near:
        name = GEOMETRIC if fit.name == IID else fit.name  # i.i.d. drafts have that tail, and the rate at depth is seen
        weight = math.exp((least - fit.bic) / 2)
        if name == BETA_ROUND:
            shapes[name] = Shape(weight, *_by_round(fit, seen, kappa_max, count, seed))
        elif name == BETA_REQUEST and again is not None:
            drawn = widened(np.maximum(again.tail, LEAST), np.maximum(again.tails, LEAST), observed.groups)
            shapes[name] = Shape(weight, again.tail, np.minimum(drawn, 1.0))
        else:
            before = shapes[name].weight if name in shapes else 0.0
            shapes[name] = Shape(weight + before)
    return Tail(next(iter(shapes)), tuple(shapes.values()))


def _by_round(fit: RoundFit, seen: int, kappa_max: int, count: int, seed: int) -> tuple[Floats, Floats]:
    """Shape of the Beta law of rounds at its best point, and at points drawn by the errors of the fit.

    S_j is the j-th moment of the law: α_(j+1) = (αs + j)/(s + j), s = (1 − ρ)/ρ.
    """
    known = np.where(np.isnan(fit.covariance), 0.0, fit.covariance)
    spread, axes = np.linalg.eigh(known)
    moves = normal_draws(seed, "tail law", count, 2) @ (axes * np.sqrt(np.maximum(spread, 0.0))).T
    points = np.clip(np.concatenate([fit.point[None, :], fit.point + moves]), -EDGE, EDGE)
    alpha, rho = rate(points).T[:, :, None]
    size = (1.0 - rho) / rho
    depth = np.arange(float(seen), kappa_max)
    shapes = np.cumprod((alpha * size + depth) / (size + depth), axis=1)
    return shapes[0], shapes[1:]
