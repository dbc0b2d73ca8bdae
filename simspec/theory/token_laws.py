"""What is a law over a vocabulary?  A list of probabilities, checked once at the edge and scaled to add up to 1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from simspec.model.errors import ParameterError, shown
from simspec.theory.law import FloatArray

VOCABULARY_LIMIT = 1_000_000
_SUM_TOLERANCE = 1e-6
"""How far a typed-in law may be from adding up to 1; the same as for the rows of a token chain."""

Law = Sequence[float] | npt.NDArray[np.float64]
"""Probabilities by token, as a user writes them."""


def as_law(key: str, values: Law, size: int | None = None) -> FloatArray:
    """The probabilities of a token law as an array that adds up to 1.

    Parameters
    ----------
    key : str
        What the law is called in an error.
    values : sequence of float, shape (V,)
        Probabilities by token, each ≥ 0, adding up to 1 within 1e-6; 1 ≤ V ≤ 1,000,000.
    size : int, optional
        The vocabulary it has to fit.

    Returns
    -------
    array, shape (V,)

    Raises
    ------
    ParameterError
        If it is no list of numbers, empty, too long, of another length than ``size``, has an entry that is no
        probability, or does not add up to 1.

    Examples
    --------
    >>> as_law("target", [0.5, 0.3, 0.2])
    array([0.5, 0.3, 0.2])
    >>> as_law("target", [0.5, 0.3])
    Traceback (most recent call last):
    ...
    simspec.model.errors.ParameterError: target adds up to 0.8; allowed: a sum of 1
    """
    try:
        law = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):  # words, or rows of unequal length
        raise ParameterError(
            key, f"{key} = {shown(values)} is no list of numbers; allowed: probabilities by token"
        ) from None
    if law.ndim != 1 or not 1 <= law.size <= VOCABULARY_LIMIT:
        raise ParameterError(key, f"{key} has shape {law.shape}; allowed: a list of 1 to {VOCABULARY_LIMIT:,} numbers")
    if size is not None and law.size != size:
        raise ParameterError(key, f"{key} has {law.size} entries; allowed: {size}, one per token")
    wrong = np.flatnonzero(~((law >= 0.0) & (law <= 1.0 + _SUM_TOLERANCE)))
    if wrong.size:
        raise ParameterError(
            f"{key}[{wrong[0]}]", f"{key}[{wrong[0]}] = {law[wrong[0]]:g} is out of range; allowed: a probability"
        )
    total = float(law.sum())
    if abs(total - 1.0) > _SUM_TOLERANCE:
        raise ParameterError(key, f"{key} adds up to {total:.9g}; allowed: a sum of 1")
    return np.asarray(law / total, dtype=np.float64)


def as_pair(target: Law, draft: Law) -> tuple[FloatArray, FloatArray]:
    """Target and draft law over one vocabulary.

    Parameters
    ----------
    target, draft : sequence of float, shape (V,)
        Probabilities by token.

    Returns
    -------
    target, draft : array, shape (V,)

    Raises
    ------
    ParameterError
        If one is no law, or the lengths differ.

    Examples
    --------
    >>> as_pair([0.5, 0.5], [1, 0])[1]
    array([1., 0.])
    """
    p = as_law("target", target)
    return p, as_law("draft", draft, p.size)


def scaled(weights: FloatArray) -> FloatArray | None:
    """Weights ≥ 0 divided by their sum; None where nothing is left, be it for rounding.

    Examples
    --------
    >>> scaled(np.array([1.0, 3.0])), scaled(np.array([0.0, 1e-17]))
    (array([0.25, 0.75]), None)
    """
    total = float(weights.sum())
    return weights / total if total > 1e-15 else None
