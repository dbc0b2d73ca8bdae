"""How noisy is one row of a sweep, as a share of its mean, and how many rows tell?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simspec.evidence.costs.means import Sweep
from simspec.evidence.costs.round_costs import Floats

UNLIKELY = 0.01
"""A curve misses its points by more than the noise of repeats, or plain rows scatter otherwise, below this chance."""
POOLED_ABOVE = 0.25
"""Plain rows and rows of rounds tell one noise if they differ by as much in more cases (Bancroft 1964)."""
ROUNDING = 1e-12
"""Residuals below this share of the points are those of the computer."""


@dataclass(frozen=True)
class Noise:
    """Standard deviation of one row as a share of its mean, the same at every κ, from ``freedom`` degrees of freedom.

    ``freedom`` is 0 where nothing tells.  Rows that agree to the last digit printed tell nothing either.
    """

    share: float
    freedom: float

    @property
    def known(self) -> bool:
        return self.freedom > 0 and self.share > 0.0


def line_basis(x: Floats) -> Floats:
    """1 and κ."""
    return np.stack([np.ones_like(x), x], axis=1)


def bend_basis(x: Floats) -> Floats:
    """1, κ and κ²."""
    return np.stack([np.ones_like(x), x, ((x - x.mean()) / np.ptp(x)) ** 2], axis=1)


def step_basis(x: Floats, gaps: list[int]) -> Floats:
    """1, κ and a step at each gap."""
    return np.stack([np.ones_like(x), x, *(np.arange(len(x)) > gap for gap in gaps)], axis=1).astype(np.float64)


def scatter(sweep: Sweep, basis: Floats) -> tuple[float, int]:
    """Squares by which the points miss a curve, as shares and by rows, and the degrees of freedom these have.

    Weights are those of the curve, not of the noisy points, in a second pass.
    """
    root, fitted = np.sqrt(np.array(sweep.rows, np.float64)), sweep.ms
    for _ in range(2):
        weight = root / fitted
        values, *_ = np.linalg.lstsq(basis * weight[:, None], sweep.ms * weight, rcond=None)
        curve = basis @ values
        fitted = curve if (curve > 0.0).all() else sweep.ms
    missed = (sweep.ms - curve) / fitted * root
    spare = len(sweep.ms) - basis.shape[1]
    return (float((missed**2).sum()) if np.abs(missed).max() > ROUNDING else 0.0), max(spare, 0)


def misfit(sweep: Sweep, basis: Floats) -> float:
    """Chance of missing the points by so much by noise alone (F test against the repeats); NaN where none tell."""
    from scipy.stats import f

    squares, spare = scatter(sweep, basis)
    if not spare or not sweep.freedom:
        return math.nan
    own = squares / spare
    repeats = sweep.squares / sweep.freedom
    return float(f.sf(own / repeats, spare, sweep.freedom)) if repeats > 0.0 else float(own == 0.0)


def bend(sweep: Sweep) -> float:
    """Chance of a curvature as large in points on a straight line (F test); NaN where too few points tell."""
    from scipy.stats import f

    if len(sweep.ms) < 3:
        return math.nan
    straight, _ = scatter(sweep, line_basis(sweep.drafted))
    bent, spare = scatter(sweep, bend_basis(sweep.drafted))
    rest, freedom = bent + sweep.squares, spare + sweep.freedom
    if freedom < 1:
        return math.nan
    gained = max(straight - bent, 0.0)
    return float(f.sf(gained / (rest / freedom), 1, freedom)) if rest > 0.0 else float(gained == 0.0)


def noise_about(sweep: Sweep, basis: Floats) -> Noise:
    """Noise from repeats and from the scatter about a curve together; from repeats alone if they rule out the curve."""
    squares, spare = scatter(sweep, basis)
    if misfit(sweep, basis) < UNLIKELY:
        squares, spare = 0.0, 0
    freedom = spare + sweep.freedom
    return Noise(math.sqrt((squares + sweep.squares) / freedom), freedom) if freedom > 0 else Noise(0.0, 0.0)


def with_plain(rounds: Noise, plain: Noise, rows: int) -> tuple[Noise, float]:
    """Noise of a row of rounds, and relative error of the plain step, of so many rows, after both were looked at.

    Each lends its noise to the other where that has none.  The plain step's is pooled with that of the rounds unless
    plain rows surely scatter otherwise; that of the rounds only if the two look alike: plain rows may be steadier.

    References
    ----------
    Bancroft (1964), Biometrics 20, 427–442: pool variances after a preliminary test at 25%.

    Examples
    --------
    >>> with_plain(Noise(0.02, 8), Noise(0.0, 0), 4)
    (Noise(share=0.02, freedom=8), 0.01)
    >>> with_plain(Noise(0.02, 8), Noise(0.01, 99), 100)
    (Noise(share=0.02, freedom=8), 0.001)
    """
    if not rounds.known or not plain.known:
        noise = rounds if rounds.known else plain
        return noise, noise.share / math.sqrt(rows)
    alike = _alike(rounds, plain)
    if alike < UNLIKELY:
        freedom = min(rounds.freedom, plain.freedom) if plain.share > rounds.share else rounds.freedom
        return Noise(rounds.share, freedom), plain.share / math.sqrt(rows)
    freedom = rounds.freedom + plain.freedom
    both = Noise(math.sqrt((rounds.freedom * rounds.share**2 + plain.freedom * plain.share**2) / freedom), freedom)
    return (both if alike > POOLED_ABOVE else rounds), both.share / math.sqrt(rows)


def _alike(rounds: Noise, plain: Noise) -> float:
    """Chance of two scatters that differ by as much, if the noise is one (F test, both sides)."""
    from scipy.stats import f

    below = float(f.cdf((plain.share / rounds.share) ** 2, plain.freedom, rounds.freedom))
    return 2.0 * min(below, 1.0 - below)
