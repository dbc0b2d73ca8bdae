"""How are rates searched for without bounds?  As logits, kept a finite way from 0 and 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EDGE = 13.8
"""Logits lie between −13.8 and 13.8: rates between 1e-6 and 1 less that, so that every outcome has some likelihood."""
SMALL_STEP = 1e-3
"""Of a logit, for slopes: differences of second order err by about its square."""


def rate(point: Floats | float) -> Floats:
    """1/(1 + e^−x).

    Examples
    --------
    >>> float(rate(0.0))
    0.5
    """
    return np.asarray(1.0 / (1.0 + np.exp(-np.asarray(point, np.float64))))


def logit(chance: Floats | float) -> Floats:
    """log(p/(1 − p)), at most `EDGE` from 0.

    Examples
    --------
    >>> logit(np.array([0.0, 0.5, 1.0])).tolist()
    [-13.8, 0.0, 13.8]
    """
    with np.errstate(divide="ignore"):
        own = np.log(np.asarray(chance, np.float64)) - np.log1p(-np.asarray(chance, np.float64))
    return np.asarray(np.clip(own, -EDGE, EDGE))


def climb(value: Callable[[Floats], float], begins: Sequence[Floats]) -> Floats:
    """Where ``value`` is greatest within the edges: a simplex search from each beginning, the best kept.

    Examples
    --------
    >>> climb(lambda x: -float(((x - 2.0) ** 2).sum()), [np.zeros(2)]).round(4)
    array([2., 2.])
    """
    from scipy.optimize import minimize

    inside = [(-EDGE, EDGE)] * len(begins[0])
    options: Any = {"xatol": 1e-6, "fatol": 1e-8}

    def loss(point: Floats) -> float:
        return -value(point)

    found = [minimize(loss, begin, method="Nelder-Mead", bounds=inside, options=options) for begin in begins]
    return np.asarray(min(found, key=lambda one: float(one.fun)).x)


def slopes(function: Callable[[Floats], Floats], point: Floats) -> Floats:
    """Derivatives by central differences, one row per coordinate.

    Examples
    --------
    >>> slopes(lambda x: np.array([x[0] ** 2, x[1]]), np.array([3.0, 1.0])).round(6)
    array([[6., 0.],
           [0., 1.]])
    """
    steps = np.eye(len(point)) * SMALL_STEP
    return np.stack([(function(point + step) - function(point - step)) / (2.0 * SMALL_STEP) for step in steps])


def curvature(function: Callable[[Floats], float], point: Floats) -> Floats:
    """Second derivatives by central differences.

    Examples
    --------
    >>> curvature(lambda x: float(x[0] ** 2 + x[0] * x[1]), np.zeros(2)).round(4)
    array([[2., 1.],
           [1., 0.]])
    """
    return slopes(lambda x: slopes(lambda y: np.array([function(y)]), x)[:, 0], point)
