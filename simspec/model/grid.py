"""Which values does a key take?  A single one, a list, or a decimal range with both ends."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, overload

from simspec.model.errors import ParameterError, did_you_mean, shown

_RANGE_KEYS = ("from", "to", "step")


class Range(Sequence[float]):
    """Decimal range, both ends included, that takes no memory: 0.1, 0.2, 0.3 and never 0.30000000000000004.

    Examples
    --------
    >>> list(Range(Decimal("0.1"), Decimal("0.3"), Decimal("0.1")))
    [0.1, 0.2, 0.3]
    """

    def __init__(self, first: Decimal, last: Decimal, step: Decimal) -> None:
        self.first, self.last, self.step = first, last, step
        self.whole = all(x == x.to_integral_value() and "." not in str(x) for x in (first, last, step))
        self.size = int((Fraction(last) - Fraction(first)) / Fraction(step)) + 1

    def __len__(self) -> int:
        return min(self.size, sys.maxsize)  # `size` is the number; a list of so many is never made

    @overload
    def __getitem__(self, index: int) -> float: ...
    @overload
    def __getitem__(self, index: slice) -> list[float]: ...
    def __getitem__(self, index: int | slice) -> float | list[float]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self.size))]
        if not -self.size <= index < self.size:
            raise IndexError(index)
        value = self.first + (index % self.size) * self.step
        return int(value) if self.whole else float(value)

    def to_dict(self) -> dict[str, float]:
        number = int if self.whole else float
        return {"from": number(self.first), "to": number(self.last), "step": number(self.step)}


def as_decimal(value: Any) -> Any:
    """Numbers as the decimals they were written as; anything else unchanged."""
    return Decimal(repr(value)) if isinstance(value, float) else value


def parse_range(key: str, table: dict[str, Any]) -> Range:
    """``{from = …, to = …, step = …}`` → `Range`.

    Raises
    ------
    ParameterError
        Unknown or missing keys, a step that is not positive or does not lead from ``from`` to ``to``.
    """
    for name in table:
        if name not in _RANGE_KEYS:
            raise ParameterError(key, f'unknown key "{name}" in the range {key}{did_you_mean(name, _RANGE_KEYS)}')
    ends = []
    for name in _RANGE_KEYS:
        value = table.get(name)
        if value is None:
            raise ParameterError(key, f"{key} has no {name}; a range is {{from = .., to = .., step = ..}}")
        if isinstance(value, float):
            value = Decimal(repr(value))
        if isinstance(value, bool) or not isinstance(value, (int, Decimal)) or not Decimal(value).is_finite():
            raise ParameterError(key, f"{key}.{name} = {shown(value)} is not a finite number")
        ends.append(Decimal(value))
    first, last, step = ends
    if step <= 0:
        raise ParameterError(key, f"{key}.step = {step} is not positive; allowed: step > 0")
    if last < first:
        raise ParameterError(key, f"{key} is empty: from = {first} lies above to = {last}")
    steps = (Fraction(last) - Fraction(first)) / Fraction(step)
    if steps.denominator != 1:
        raise ParameterError(
            key,
            f"{key}: step = {step} does not lead from {first} to {last}, and both ends are included; "
            f"the last value reached is {float(Fraction(first) + int(steps) * Fraction(step)):g}",
        )
    return Range(first, last, step)


def axis(key: str, value: Any, depth: int = 0) -> Sequence[Any]:
    """The values a key runs through.

    Parameters
    ----------
    key : str
        Dotted name, for messages.
    value : object
        What the file says: a scalar, a list of scalars or a range table; for a key that is itself a list, a list
        (one value) or a list of lists; for a matrix, one more.
    depth : int
        How deep one value of this key is: 0 a scalar, 1 a list, 2 a matrix.
    """
    if isinstance(value, dict):
        return parse_range(key, value)
    if not isinstance(value, (list, tuple)):
        return [value]
    if depth:
        return list(value) if _depth(value) > depth else [value]
    if not value:
        raise ParameterError(key, f"{key} = [] is empty, so the grid has no point; allowed: at least one value")
    seen = set()
    for entry in value:
        if isinstance(entry, (list, tuple, dict)):
            raise ParameterError(key, f"{key} holds {shown(entry)}; allowed: numbers or texts, or one range table")
        if entry in seen:
            raise ParameterError(key, f"{key} holds {entry} twice; allowed: different values")
        seen.add(entry)
    return list(value)


def _depth(value: Any) -> int:
    return 1 + _depth(value[0]) if isinstance(value, (list, tuple)) and value else int(value == [])


def size(axes: dict[str, Sequence[Any]]) -> int:
    """Number of combinations, without making them."""
    return math.prod(getattr(values, "size", len(values)) for values in axes.values())


def combinations(axes: dict[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """All combinations; the last key varies fastest."""
    for values in itertools.product(*axes.values()):
        yield {key: _native(value) for key, value in zip(axes, values, strict=True)}


def _native(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, (list, tuple)):
        return [_native(entry) for entry in value]
    return value
