"""Which straight line runs through a sweep, and how well is it known?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simspec.evidence.costs.means import Sweep
from simspec.evidence.costs.noise import UNLIKELY, Noise, bend, line_basis, misfit, scatter
from simspec.evidence.costs.round_costs import Floats


@dataclass(frozen=True)
class Line:
    """ms = fixed + slope·κ by least squares.

    Attributes
    ----------
    fixed, slope : float
    inverse : float array (2, 2)
        Their covariance if one row had a noise of 1, as a share.
    residuals : float array
        Measured less fitted, as a share of fitted.
    misfit, bend : float
        Chance of residuals as large by the noise of the repeats, and of such a curvature by all noise; NaN where
        nothing tells.
    missing : Noise
        Scatter about the line, as noise of one row.
    """

    fixed: float
    slope: float
    inverse: Floats
    residuals: Floats
    misfit: float
    bend: float
    missing: Noise

    @property
    def worst(self) -> float:
        """Largest miss."""
        return float(np.abs(self.residuals).max())

    def covariance(self, noise: Noise) -> tuple[Floats | None, float]:
        """Covariance with this noise of one row, and its freedom; what the line misses by counts where that is more."""
        if self.misfit < UNLIKELY:
            noise = Noise(self.missing.share, min(self.missing.freedom, noise.freedom))
        return (self.inverse * noise.share**2, noise.freedom) if noise.known else (None, 0.0)


def fit_line(sweep: Sweep) -> Line:
    """A line through at least two points: weighted by rows and relative noise where some repeat, else plain.

    Examples
    --------
    >>> from simspec.evidence.costs.means import Sweep
    >>> ms = np.array([9.18, 9.82, 10.71, 11.45, 12.1, 12.84])
    >>> own = fit_line(Sweep([2, 3, 4, 5, 6, 7], np.arange(2.0, 8.0), ms, [1] * 6, [None] * 6, 0.0, 0.0))
    >>> round(own.fixed, 2), round(own.slope, 2), round(own.worst, 4)
    (7.69, 0.74, 0.0088)
    """
    x, y, basis = sweep.drafted, sweep.ms, line_basis(sweep.drafted)
    weight = 1.0 / (sweep.unit if sweep.freedom else np.ones_like(y))
    pinned = np.linalg.pinv(basis * weight[:, None]) * weight  # of y to (fixed, slope)
    fixed, slope = pinned @ y
    fitted = fixed + slope * x
    spread = pinned * (np.abs(fitted) / np.sqrt(sweep.rows))
    squares, spare = scatter(sweep, basis)
    missing = Noise(math.sqrt(squares / spare), float(spare)) if spare else Noise(0.0, 0.0)
    return Line(
        float(fixed), float(slope), np.asarray(spread @ spread.T), y / fitted - 1.0, misfit(sweep, basis), bend(sweep),
        missing,
    )  # fmt: skip
