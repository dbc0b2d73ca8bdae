"""What did the user write under this key?  Read, checked for its kind, or refused with the key and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from simspec.model import Cost, ParameterError
from simspec.model.errors import did_you_mean, shown
from simspec.theory.law import FloatArray
from simspec.theory.token_laws import as_law

Case = Mapping[str, Any]
T = TypeVar("T")


def check_known(case: Case, *known: str, always: tuple[str, ...] = ("id", "kind")) -> None:
    """Raise `ParameterError` at the first key that is not known; in a case ``id`` and ``kind`` always are.

    Examples
    --------
    >>> check_known({"id": 1, "alhpa": 0.7}, "alpha")
    Traceback (most recent call last):
    ...
    simspec.model.errors.ParameterError: unknown key "alhpa"; did you mean "alpha"?
    """
    names = (*always, *known)
    for key in case:
        if key not in names:
            raise ParameterError(str(key), f'unknown key "{key}"{did_you_mean(str(key), names)}')


def number(case: Case, key: str, default: float | None = None) -> float:
    """A finite number.

    Examples
    --------
    >>> number({"alpha": 1}, "alpha"), number({}, "beta", default=0.1)
    (1.0, 0.1)
    >>> number({}, "alpha")
    Traceback (most recent call last):
    ...
    simspec.model.errors.ParameterError: alpha is missing; allowed: a number
    """
    if key not in case and default is not None:
        return default
    return _number(key, _given(case, key, "a number"), "a number")


def whole(case: Case, key: str, low: int, high: int, default: int | None = None) -> int:
    """A whole number from ``low`` to ``high``.

    Examples
    --------
    >>> whole({"kappa": 2.5}, "kappa", 0, 1000)
    Traceback (most recent call last):
    ...
    simspec.model.errors.ParameterError: kappa = 2.5 is out of range; allowed: a whole number from 0 to 1000
    """
    if key not in case and default is not None:
        return default
    allowed = f"a whole number from {low} to {high}"
    value = _given(case, key, allowed)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ParameterError(key, f"{key} = {shown(value)} is out of range; allowed: {allowed}")
    return value


def yes_or_no(case: Case, key: str, default: bool) -> bool:
    """True or false.

    Examples
    --------
    >>> yes_or_no({}, "truncate", default=True)
    True
    """
    value = case.get(key, default)
    if not isinstance(value, bool):
        raise ParameterError(key, f"{key} = {shown(value)} is out of range; allowed: true or false")
    return value


def one_of(case: Case, key: str, choices: Sequence[str], default: str | None = None) -> str:
    """One of a few words.

    Examples
    --------
    >>> one_of({"scheme": "rsr"}, "scheme", ["rrs", "otm"])
    Traceback (most recent call last):
    ...
    simspec.model.errors.ParameterError: scheme = 'rsr' is unknown; did you mean "rrs"?
    """
    value = case.get(key, default)
    if value is None:
        raise ParameterError(key, f"{key} is missing; allowed: {', '.join(choices)}")
    if not isinstance(value, str) or value not in choices:
        raise ParameterError(key, f"{key} = {shown(value)} is unknown{did_you_mean(str(value)[:60], choices)}")
    return value


def numbers(case: Case, key: str) -> list[float]:
    """A list of finite numbers, not empty.

    Examples
    --------
    >>> numbers({"q": [1, 0.5]}, "q")
    [1.0, 0.5]
    """
    return _numbers(key, _given(case, key, "a list of numbers"))


def law(case: Case, key: str, size: int | None = None) -> FloatArray:
    """Probabilities by token, adding up to 1.

    Examples
    --------
    >>> law({"p": [0.5, 0.5]}, "p", size=3)
    Traceback (most recent call last):
    ...
    simspec.model.errors.ParameterError: p has 2 entries; allowed: 3, one per token
    """
    return as_law(key, numbers(case, key), size)


def laws(case: Case, key: str, size: int) -> list[FloatArray]:
    """A list of laws over one vocabulary.

    Examples
    --------
    >>> laws({"drafts": [[0.5, 0.5], [1, 0]]}, "drafts", size=2)[1]
    array([1., 0.])
    """
    value = _given(case, key, "a list of laws")
    if not isinstance(value, (list, tuple)) or not value:
        raise ParameterError(key, f"{key} = {shown(value)} is not a list of laws; allowed: one list per draft")
    return [as_law(f"{key}[{i}]", _numbers(f"{key}[{i}]", one), size) for i, one in enumerate(value)]


def cost(case: Case) -> Cost:
    """The prices of a round, all but c0 = 1 being 0 unless given.

    Examples
    --------
    >>> cost({}).c0
    1.0
    """
    return made(case, "cost", lambda value: Cost(**value))


def under_cost(price: Callable[[], float]) -> float:
    """A price; a table that ends too early is a fault of the cost.

    Examples
    --------
    >>> under_cost(lambda: Cost(verify_table=[1.0, 1.1]).target_pass(1))
    1.1
    """
    try:
        return float(price())
    except ParameterError as error:
        raise error.under("cost") if error.key != "cost" else error from None


def made(case: Case, key: str, make: Callable[[dict[str, Any]], T]) -> T:
    """An object of its own; its errors name the key from the top.

    Examples
    --------
    >>> made({"cost": {"c_d": -1}}, "cost", lambda value: Cost(**value))
    Traceback (most recent call last):
    ...
    simspec.model.errors.ParameterError: cost.c_d = -1 is out of range; allowed: 0 ≤ c_d ≤ 1e+09
    """
    value = case.get(key, {} if key == "cost" else None)
    if not isinstance(value, dict):
        raise ParameterError(key, f"{key} is {'missing' if value is None else 'not an object'}; allowed: an object")
    try:
        return make(value)
    except ParameterError as error:
        raise error.under(key) from None


def renamed(error: ParameterError, names: Mapping[str, str]) -> ParameterError:
    """An error in the user's words, where theory uses others.

    Examples
    --------
    >>> renamed(ParameterError("draws", "draws = 4 is out of range; allowed: 1 ≤ draws ≤ 3"), {"draws": "K"}).message
    'K = 4 is out of range; allowed: 1 ≤ K ≤ 3'
    """
    name, bracket, rest = error.key.partition("[")
    if name not in names:
        return error
    own = names[name] + bracket + rest
    return ParameterError(own, error.message.replace(error.key, own))


def finite(value: float) -> float | None:
    """The number, or None where it does not exist: JSON has no infinity.

    Examples
    --------
    >>> finite(0.5), finite(math.inf)
    (0.5, None)
    """
    return float(value) + 0.0 if math.isfinite(value) else None


def listed(values: FloatArray | None) -> list[float | None] | None:
    """An array as a list of numbers; None stays None.

    Examples
    --------
    >>> import numpy as np
    >>> listed(np.array([0.5, np.nan])), listed(None)
    ([0.5, None], None)
    """
    return None if values is None else [finite(value) for value in values]


def _given(case: Case, key: str, allowed: str) -> Any:
    if case.get(key) is None:
        raise ParameterError(key, f"{key} is missing; allowed: {allowed}")
    return case[key]


def _number(key: str, value: Any, allowed: str) -> float:
    try:
        good = not isinstance(value, bool) and isinstance(value, (int, float)) and math.isfinite(value)
    except OverflowError:
        good = False
    if not good:
        raise ParameterError(key, f"{key} = {shown(value)} is not {allowed}; allowed: a finite number")
    return float(value)


def _numbers(key: str, value: Any) -> list[float]:
    if not isinstance(value, (list, tuple)) or not value:
        raise ParameterError(key, f"{key} = {shown(value)} is not a list of numbers; allowed: one number per token")
    return [_number(f"{key}[{i}]", entry, "a number") for i, entry in enumerate(value)]
