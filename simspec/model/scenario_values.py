"""Is a value at the top of a scenario one that can be used?  Checked and made plain, or one line that says why not."""

from __future__ import annotations

import itertools
import math
import operator
import re
from decimal import Decimal
from typing import Any

from simspec.model import grid
from simspec.model.errors import ParameterError, did_you_mean, shown
from simspec.model.process import KAPPA_LIMIT, METHODS
from simspec.model.stop import Stop

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def a_name(value: Any) -> str:
    """The name of a scenario, which is that of its folder."""
    if value in (None, ""):
        raise ParameterError("name", 'name is missing; it names the result folder, e.g. name = "quickstart"')
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ParameterError("name", f"name = {shown(value)} cannot name a folder; allowed: letters, digits and . _ -")
    return value


def whole(key: str, value: Any, low: int, high: int) -> int:
    """A whole number from low to high."""
    allowed = f"allowed: {low} ≤ {key} ≤ {high}"
    if isinstance(value, (float, Decimal)) and math.isfinite(value) and value == int(value):
        value = int(value)  # 1e6 is a natural way to write a budget
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise ParameterError(key, f"{key} = {shown(value)} is not a whole number; {allowed}") from None
    if not low <= number <= high:
        raise ParameterError(key, f"{key} = {shown(number)} is out of range; {allowed}")
    return number


def a_level(value: Any) -> float:
    """A confidence level."""
    try:
        number = math.nan if isinstance(value, (bool, str)) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not 0.5 <= number < 1:
        raise ParameterError("level", f"level = {shown(value)} is out of range; allowed: 0.5 ≤ level < 1")
    return number


def a_method(value: Any) -> str:
    """How numbers come about."""
    if value not in METHODS:
        raise ParameterError("method", f"method = {shown(value)} is unknown{did_you_mean(str(value), METHODS)}")
    return str(value)


def many_kappas(value: Any) -> tuple[int, ...]:
    """Draft lengths, ascending."""
    if not isinstance(value, (str, dict)) and hasattr(value, "__iter__"):
        value = list(itertools.islice(value, KAPPA_LIMIT + 2))
    values = grid.axis("kappa", decimals(value))
    if grid.size({"kappa": values}) > KAPPA_LIMIT + 1:
        raise ParameterError("kappa", f"kappa has too many values; allowed: 0 ≤ kappa ≤ {KAPPA_LIMIT}")
    return tuple(sorted(whole("kappa", entry, 0, KAPPA_LIMIT) for entry in values))


def decimals(value: Any) -> Any:
    """Fractions as decimals, so that ranges have the ends that were written."""
    if isinstance(value, dict):
        return {key: decimals(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [decimals(entry) for entry in value]
    return grid.as_decimal(value)


def plain(value: Any) -> Any:
    """Decimals as fractions again, ready for JSON."""
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    return float(value) if isinstance(value, Decimal) else value


def a_stop(value: Any) -> Stop | None:
    """The ``[stop]`` table, if there is one."""
    if value is None or isinstance(value, Stop):
        return value
    if not isinstance(value, dict):
        raise ParameterError("stop", f"stop is not a table; allowed: [stop] with {', '.join(Stop.model_fields)}")
    try:
        return Stop(**{key: float(own) if isinstance(own, Decimal) else own for key, own in value.items()})
    except ParameterError as error:
        raise error.under("stop") from None
