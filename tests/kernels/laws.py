"""Do counts follow a law?  Chi-square with the covariance that dependent windows have."""

import numpy as np
from scipy.special import chdtri

from simspec import theory

FALSE_ALARM = 1e-6


def pool(expected, least=25.0):
    """Neighbouring bins joined until each expects at least ``least``; returns the joining matrix."""
    groups, current, mass = [], [], 0.0
    for i, value in enumerate(expected):
        current.append(i)
        mass += value
        if mass >= least:
            groups.append(current)
            current, mass = [], 0.0
    if current and groups:
        groups[-1] += current
    elif current:
        groups = [current]
    matrix = np.zeros((len(groups), len(expected)))
    for row, group in enumerate(groups):
        matrix[row, group] = 1.0
    return matrix


def distance(counts, process, kappa, plan):
    """Quadratic distance of counts from theory, and the bound it exceeds with probability `FALSE_ALARM`.

    ``counts`` add up the independent units of a layout (lanes of windows, or generations); the covariance is that of
    the exact chain, singular along what is certain.
    """
    mean, covariance = theory.unit_counts(process, kappa, plan.rounds or 1)
    units = plan.lanes * (plan.generations or 1)
    join = pool(mean * units)
    off = join @ (counts - mean * units)
    spread = join @ (covariance * units) @ join.T
    scale = np.sqrt(np.maximum(np.diag(spread), 1e-300))
    values, vectors = np.linalg.eigh(spread / np.outer(scale, scale))
    kept = values > 1e-9 * max(1.0, values.max())
    along = vectors.T @ (off / scale)
    impossible = np.abs(along[~kept]).max(initial=0.0) * scale.max()
    free = int(kept.sum())
    bound = float(chdtri(free, FALSE_ALARM)) if free else 0.0
    return float((along[kept] ** 2 / values[kept]).sum()) + (np.inf if impossible > 1e-3 * units else 0.0), bound


def assert_same_law(counts, process, kappa, plan):
    """Fail if the counts lie outside a bound of false-alarm probability 1e-6."""
    found, bound = distance(counts, process, kappa, plan)
    assert found <= bound, f"{process}, kappa = {kappa}: distance {found:.1f} exceeds {bound:.1f}"
