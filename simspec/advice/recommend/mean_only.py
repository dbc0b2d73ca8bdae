"""What does one mean say of other κ?  The rates behind it are not seen: a range of shapes stands for them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
FALLING, RISING = 0.7, 1.1
"""Range of (α after position 1) ÷ α₁ in published chains: .75 to .95 in the EAGLE-3 and DFlash tables of speculators,
about .72 in vLLM issue 20780, 1 to 1.1 in vLLM pull request 48892."""
_HALVINGS = 60


def bent(mean: Floats, bend: Floats, seen: int, kappa_max: int) -> Floats:
    """Survival curves S₁·(bend·S₁)^(j−1), j = 1 … ``kappa_max``, whose first ``seen`` values add up to ``mean``.

    Parameters
    ----------
    mean : float array (count,)
        Accepted per round at κ = ``seen``, 0 ≤ mean ≤ seen.
    bend : float array (count,)
        > 0; where no such curve has the mean, drafts are i.i.d.
    seen, kappa_max : int

    Examples
    --------
    >>> bent(np.array([1.29]), np.array([0.8]), 3, 4).round(3)
    array([[0.693, 0.384, 0.213, 0.118]])
    """
    bend = np.where(_total(np.ones_like(bend), bend, seen) < mean, 1.0, bend)
    low, high = np.zeros_like(mean), np.ones_like(mean)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        short = _total(middle, bend, seen) < mean
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return _curve((low + high) / 2, bend, kappa_max)


def _curve(first: Floats, bend: Floats, length: int) -> Floats:
    again = np.minimum(1.0, bend * first)
    return np.asarray(first[:, None] * np.power(again[:, None], np.arange(float(length))))


def _total(first: Floats, bend: Floats, length: int) -> Floats:
    """Sum of that curve, as a geometric series."""
    again = np.minimum(1.0, bend * first)
    flat = again > 1.0 - 1e-12
    series = (1.0 - np.power(again, float(length))) / np.where(flat, 1.0, 1.0 - again)
    return np.asarray(first * np.where(flat, float(length), series))
