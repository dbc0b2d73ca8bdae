"""Where does a cost curve jump?  Steps beyond line and noise."""

from __future__ import annotations

import numpy as np

from simspec.evidence.costs.noise import step_basis
from simspec.evidence.costs.round_costs import Floats

FALSE_ALARM = 0.01
"""Of all gaps of a curve together."""
LEAST_JUMP = 0.05
"""Of the cost below it: smaller steps do not matter."""
STEEPER = 2.5
"""A jump is this many times as steep as the typical gap and the gaps beside it; else it is a bend."""
MOST_EDGES = 4


def edges(x: Floats, y: Floats, errors: Floats | None) -> list[tuple[int, float]]:
    """Gaps at which y jumps, and by how much beyond the line.

    A line with a step at one gap is fitted for each gap; the best one is an edge if its step is beyond what the scatter
    about that line (or, where that is more, the noise of the repeats) allows at `FALSE_ALARM` over all gaps, is at
    least `LEAST_JUMP` of the cost below it, and is `STEEPER` than other gaps.  Then the next one is sought.

    Parameters
    ----------
    x, y : float arrays (n,)
        In order of x.
    errors : float array or None
        Standard errors of y from repeats.

    Returns
    -------
    list of (gap, step)
        Gap i lies between points i and i + 1.

    Examples
    --------
    >>> kappa = np.array([0.0, 1, 3, 7, 8, 12, 15, 31])
    >>> edges(kappa, np.array([31.0, 36.2, 42.3, 68.7, 106.9, 113.7, 118.7, 146.1]), None)[0][0]
    3
    >>> edges(np.arange(2.0, 8.0), np.array([9.18, 9.82, 10.71, 11.45, 12.1, 12.84]), None)
    []
    """
    found: list[int] = []
    while len(found) < MOST_EDGES:
        best = _best_step(x, y, errors, found)
        if best is None:
            break
        found.append(best)
    steps = _fit_steps(x, y, errors, sorted(found))[0][2:] if found else np.zeros(0)
    return [(gap, float(step)) for gap, step in zip(sorted(found), steps, strict=True)]


def _best_step(x: Floats, y: Floats, errors: Floats | None, found: list[int]) -> int | None:
    from scipy.stats import t as student

    slopes = np.diff(y) / np.diff(x)
    gaps = [gap for gap in range(len(x) - 1) if gap not in found]
    spare = len(x) - 3 - len(found)
    if spare < 1 or (spare < 2 and errors is None):
        return None
    fits = {gap: _fit_steps(x, y, errors, [*found, gap]) for gap in gaps}
    gap = min(gaps, key=lambda g: fits[g][2])
    values, spread, chi = fits[gap]
    variance = spread[-1] * (chi / spare if errors is None else max(1.0, chi / spare))
    step = float(values[-1])
    ratio = step / np.sqrt(variance) if variance > 0.0 else np.inf
    chance = float(student.sf(ratio, spare)) * len(gaps)
    others = [i for i in gaps if i != gap]
    beside = [float(slopes[i]) for i in others if abs(i - gap) == 1]
    typical = float(np.median(slopes[others])) if others else 0.0
    steep = slopes[gap] > STEEPER * max(typical, *beside, 0.0)
    return gap if chance < FALSE_ALARM and step > LEAST_JUMP * y[gap] and steep else None


def _fit_steps(x: Floats, y: Floats, errors: Floats | None, gaps: list[int]) -> tuple[Floats, Floats, float]:
    """Coefficients of line and steps, their variances per unit of chi², and chi²."""
    basis = step_basis(x, gaps)
    weight = np.ones_like(y) if errors is None else 1.0 / errors
    scaled = basis * weight[:, None]
    values, *_ = np.linalg.lstsq(scaled, y * weight, rcond=None)
    spread = np.diag(np.linalg.pinv(scaled.T @ scaled))
    return np.asarray(values), np.asarray(spread), float((((y - basis @ values) * weight) ** 2).sum())
