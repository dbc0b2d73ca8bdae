"""How is a printed figure typed in?  Text or numbers to counts, lengths and shares, with the error a newcomer needs."""

from __future__ import annotations

import math
from typing import Any

from simspec.advice.convert.conventions import COUNT, COUNTS, LENGTH, QUANTITIES, SHARE, SHARES, Convention
from simspec.evidence.block import LONGEST_DRAFT
from simspec.model.errors import ParameterError, did_you_mean, shown

LIST_LIMIT = 1000
_LARGEST = 1e15
_SLACK = 1e-9
ABOVE_ONE = (
    "a rate above 100% counts the bonus token above the line only, or divides by another κ: give the counts, or the "
    "accepted length and κ"
)


def given_quantities(convention: Convention, fields: dict[str, Any]) -> dict[str, Any]:
    """Printed fields as quantities.

    Raises
    ------
    ParameterError
        A field is unknown, stands twice, or has a value that is out of range.

    Examples
    --------
    >>> from simspec.advice.convert.conventions import BY_NAME
    >>> given_quantities(BY_NAME["sglang"], {"accept_len": "2.17", "num_draft_tokens": 4})
    {'mean_emitted_per_round': 2.17, 'kappa': 3}
    """
    out: dict[str, Any] = {}
    for field, typed in fields.items():
        name, plus, leading = _which(convention, field)
        value = _value(field, QUANTITIES[name].kind, typed, plus, leading)
        if name == "kappa" and value > LONGEST_DRAFT:
            raise ParameterError(field, f"{field} = {value:,} is out of range; allowed: up to {LONGEST_DRAFT:,}")
        if name in out and out[name] != value:
            raise ParameterError(field, f"{field} = {shown(typed)}: {name} is given twice, as {shown(out[name])} too")
        out[name] = value
    return out


def _which(convention: Convention, field: str) -> tuple[str, int, bool]:
    if field in convention.fields:
        own = convention.printed(field)
        return own.quantity, own.plus, own.leading
    allowed = set(convention.fields) if convention.name != "plain" else set(QUANTITIES)
    for name, quantity in QUANTITIES.items():
        open_to_all = name in ("kappa", "drafts")
        if (open_to_all or name in allowed & set(QUANTITIES)) and field in (name, *quantity.also):
            return name, 0, False
    names = [*convention.fields, "kappa", "drafts"]
    raise ParameterError(field, f"unknown field {shown(field)} of {convention.name}{did_you_mean(field, names)}")


def _value(field: str, kind: str, typed: Any, plus: int, leading: bool) -> Any:
    numbers = _numbers(field, kind, typed)
    if kind in (COUNTS, SHARES):
        if leading:
            if not numbers or abs(numbers[0] - 1.0) > _SLACK:
                raise ParameterError(field, f"{field} = {shown(typed)}: its first entry is the target's own token, 1")
            numbers = numbers[1:]
        return [_one(f"{field}[{i}]", kind, value, 0) for i, value in enumerate(numbers)]
    if len(numbers) != 1:
        raise ParameterError(field, f"{field} = {shown(typed)}; allowed: one {kind} (no thousands separator)")
    return _one(field, kind, numbers[0], plus)


def _numbers(field: str, kind: str, typed: Any) -> list[float]:
    if isinstance(typed, str):
        parts: list[Any] = typed.strip().strip("[]()").replace(",", " ").split()
    elif isinstance(typed, (list, tuple)):
        parts = list(typed)
    else:
        parts = [typed]
    if len(parts) > LIST_LIMIT:
        raise ParameterError(field, f"{field} has {len(parts)} entries; allowed: up to {LIST_LIMIT}")
    return [_number(field, kind, part) for part in parts]


def _number(field: str, kind: str, part: Any) -> float:
    text, scale = part, 1.0
    if isinstance(part, str) and part.endswith("%"):
        text, scale = part[:-1], 0.01
        if kind not in (SHARE, SHARES):
            raise ParameterError(field, f"{field} = {shown(part)}; allowed: a {kind}, not a percentage")
    try:
        value = float(text) * scale if not isinstance(part, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(field, f"{field} = {shown(part)} is not a number; allowed: a {kind}") from None
    if not math.isfinite(value) or abs(value) > _LARGEST:
        raise ParameterError(field, f"{field} = {shown(part)} is out of range; allowed: a {kind}")
    return value


def _one(field: str, kind: str, value: float, plus: int) -> int | float:
    value += plus
    if kind in (COUNT, COUNTS):
        if value < 0 or value != int(value):
            raise ParameterError(field, f"{field} = {value - plus:g} is out of range; allowed: a {kind} of at least 0")
        return int(value)
    if value < 0:
        raise ParameterError(field, f"{field} = {value - plus:g} is out of range; allowed: a {kind}")
    if kind != LENGTH and value > 1.0 + _SLACK:
        percent = f"; {value:g} percent is written {value:g}%" if 2.0 < value <= 100.0 else ""
        raise ParameterError(field, f"{field} = {value:g} is out of range; allowed: 0 to 1{percent}; {ABOVE_ONE}")
    return value if kind == LENGTH else min(value, 1.0)
