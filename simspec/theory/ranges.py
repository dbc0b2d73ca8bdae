"""Which numbers may be asked of the exact route?  One check each, one plain error line each."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from simspec.model.errors import ParameterError, shown
from simspec.model.process import Process

EXACT_KAPPA_LIMIT = 1000
"""Longest draft of the exact route: its tables grow with the square of κ."""


def check_kappa(process: Process, kappa: int) -> None:
    """Raise `ParameterError` unless draft length ``kappa`` can be asked of ``process``, 0 ≤ kappa ≤ 1000.

    Examples
    --------
    >>> from simspec.model.iid import Iid
    >>> check_kappa(Iid(alpha=0.7), 1001)
    Traceback (most recent call last):
    ...
    simspec.model.errors.ParameterError: kappa = 1001 is out of range; allowed: 0 ≤ kappa ≤ 1000
    """
    check_whole("kappa", kappa, 0, EXACT_KAPPA_LIMIT)
    process.check_kappa(kappa)


def check_range(key: str, value: float, low: float, high: float) -> None:
    """Raise `ParameterError` unless low ≤ value ≤ high.

    Examples
    --------
    >>> check_range("alpha", 1.2, 0, 1)
    Traceback (most recent call last):
    ...
    simspec.model.errors.ParameterError: alpha = 1.2 is out of range; allowed: 0 ≤ alpha ≤ 1
    """
    if not low <= value <= high:
        raise ParameterError(key, f"{key} = {value:g} is out of range; allowed: {low:g} ≤ {key} ≤ {high:g}")


def check_inside(key: str, value: float, low: float, high: float) -> None:
    """Raise `ParameterError` unless low < value < high.

    Examples
    --------
    >>> check_inside("alpha", 1.0, 0, 1)
    Traceback (most recent call last):
    ...
    simspec.model.errors.ParameterError: alpha = 1 is out of range; allowed: 0 < alpha < 1
    """
    if not low < value < high:
        raise ParameterError(key, f"{key} = {value:g} is out of range; allowed: {low:g} < {key} < {high:g}")


def check_share(key: str, value: float) -> None:
    """Raise `ParameterError` unless 0 < value ≤ 1.

    Examples
    --------
    >>> check_share("share", 0.0)
    Traceback (most recent call last):
    ...
    simspec.model.errors.ParameterError: share = 0 is out of range; allowed: 0 < share ≤ 1
    """
    if not 0 < value <= 1:
        raise ParameterError(key, f"{key} = {value:g} is out of range; allowed: 0 < {key} ≤ 1")


def check_least(key: str, value: float, low: float) -> None:
    """Raise `ParameterError` unless value ≥ low.

    Examples
    --------
    >>> check_least("rounds", 0, 1)
    Traceback (most recent call last):
    ...
    simspec.model.errors.ParameterError: rounds = 0 is out of range; allowed: rounds ≥ 1
    """
    if not value >= low:
        raise ParameterError(key, f"{key} = {value:g} is out of range; allowed: {key} ≥ {low:g}")


def check_positive(key: str, value: float) -> None:
    """Raise `ParameterError` unless value > 0.

    Examples
    --------
    >>> check_positive("kappa", 0)
    Traceback (most recent call last):
    ...
    simspec.model.errors.ParameterError: kappa = 0 is out of range; allowed: kappa > 0
    """
    if not value > 0:
        raise ParameterError(key, f"{key} = {value:g} is out of range; allowed: {key} > 0")


def check_whole(key: str, value: float, low: int, high: float = math.inf) -> None:
    """Raise `ParameterError` unless value is a whole number by type and low ≤ value ≤ high.

    Examples
    --------
    >>> check_whole("kappa", 2.5, 0, 1000)
    Traceback (most recent call last):
    ...
    simspec.model.errors.ParameterError: kappa = 2.5 is not a whole number; allowed: 0 ≤ kappa ≤ 1000
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        allowed = f"{low} ≤ {key} ≤ {high}" if high < math.inf else f"{key} ≥ {low}"
        raise ParameterError(key, f"{key} = {shown(value)} is not a whole number; allowed: {allowed}")
    if high < math.inf:
        check_range(key, value, low, high)
    else:
        check_least(key, value, low)


def check_finite(key: str, value: float, low: float) -> None:
    """Raise `ParameterError` unless low ≤ value < ∞.

    Examples
    --------
    >>> check_finite("beta", float("inf"), 0)
    Traceback (most recent call last):
    ...
    simspec.model.errors.ParameterError: beta = inf is out of range; allowed: 0 ≤ beta < inf
    """
    if not low <= value < math.inf:
        raise ParameterError(key, f"{key} = {value:g} is out of range; allowed: {low:g} ≤ {key} < inf")


def as_numbers(key: str, values: Iterable[float], what: str = "numbers") -> npt.NDArray[np.float64]:
    """A list of at least one number as an array; what is none is a `ParameterError`.

    Examples
    --------
    >>> as_numbers("alphas", [0.5, 1])
    array([0.5, 1. ])
    >>> as_numbers("alphas", [])
    Traceback (most recent call last):
    ...
    simspec.model.errors.ParameterError: alphas = [] is no list of numbers; allowed: one or more numbers
    """
    try:
        found: npt.NDArray[np.float64] = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.ndim != 1 or not found.size:
        raise ParameterError(key, f"{key} = {shown(values)} is no list of {what}; allowed: one or more {what}")
    return found


def whole_numbers(key: str, values: Any, low: int, high: int) -> npt.NDArray[np.int64]:
    """A list of whole numbers in a range as an array; 4.0 is one, 4.7 and nan are none.

    Examples
    --------
    >>> whole_numbers("kappas", [1, 2.0], 0, 9)
    array([1, 2])
    >>> whole_numbers("kappas", [4.7], 0, 9)
    Traceback (most recent call last):
    ...
    simspec.model.errors.ParameterError: kappas holds 4.7; allowed: whole numbers from 0 to 9
    """
    found = as_numbers(key, values)
    wrong = found[found != np.floor(found)]
    if wrong.size:
        raise ParameterError(key, f"{key} holds {wrong[0]:g}; allowed: whole numbers from {low} to {high}")
    check_range(key, float(found.min()), low, high)
    check_range(key, float(found.max()), low, high)
    return found.astype(np.int64)
