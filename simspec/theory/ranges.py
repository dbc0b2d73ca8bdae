"""Which numbers may be asked of the exact route?  One check each, one plain error line each."""

from __future__ import annotations

from simspec.model.errors import ParameterError
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
    process.check_kappa(kappa)
    check_range("kappa", kappa, 0, EXACT_KAPPA_LIMIT)


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
