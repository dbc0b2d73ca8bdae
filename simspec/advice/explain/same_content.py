"""Were these windows of the same content?  Acceptance that differs by more than chance is not pooled."""

from __future__ import annotations

import math
from collections.abc import Sequence

from simspec.advice.acceptance import Acceptance
from simspec.advice.curves import iid_alpha
from simspec.model.errors import ParameterError
from simspec.stats.intervals import student

FALSE_ALARM = 1e-3
"""Chance that two logs of one content are refused."""
_MANY = 10**9


def one_acceptance(found: Sequence[Acceptance], level: float) -> Acceptance:
    """The acceptance of logs of one content, their rounds added up.

    Raises
    ------
    ParameterError
        E, or the rate of the first draft, differs by more than chance; or κ differs.

    Examples
    --------
    >>> from simspec.advice.acceptance import acceptance_of_numbers
    >>> a, b = (acceptance_of_numbers(survival=s, rounds=100) for s in ([0.7, 0.5], [0.66, 0.46]))
    >>> round(one_acceptance([a, b], 0.95).emitted, 3)
    2.16
    """
    first = found[0]
    for other in found[1:]:
        why = unlike(first, other, level)
        if why is not None:
            both = f"{first.origin} and {other.origin}"
            raise ParameterError("files", f"{both} are not of one content: {why}; explain one at a time")
    return first if len(found) == 1 else _added(found)


def unlike(a: Acceptance, b: Acceptance, level: float) -> str | None:
    """What differs by more than chance (false alarm 10⁻³ each); None where nothing does.

    E and S_1 are compared by the intervals they came with: clustered by request where requests are known, else by the
    law of independent rounds, under which true differences between requests are refused more often.

    Examples
    --------
    >>> from simspec.advice.acceptance import acceptance_of_numbers
    >>> a, b = (acceptance_of_numbers(survival=s, rounds=2000) for s in ([0.844], [0.766]))
    >>> unlike(a, b, 0.95)
    'the first draft is accepted at 0.844 and 0.766, 6.3 standard errors apart'
    """
    said = _far("the first draft is accepted at", _first(a, level), _first(b, level))
    if said is None and a.kappa != b.kappa:
        return f"κ = {a.kappa} and {b.kappa}: E at different κ is not one figure"
    return said or _far("E =", _emitted(a, level), _emitted(b, level))


def _far(words: str, a: tuple[float, float] | None, b: tuple[float, float] | None) -> str | None:
    """What is said where two figures (value, standard error) are further apart than chance allows."""
    if a is None or b is None:
        return None
    error = math.hypot(a[1], b[1])
    far = abs(a[0] - b[0])
    if far <= student(1.0 - FALSE_ALARM, _MANY) * error:
        return None
    return (
        f"{words} {a[0]:.3f} and {b[0]:.3f}, {far / error:.1f} standard errors apart"
        if error
        else f"{words} {a[0]} and {b[0]}"
    )


def _first(own: Acceptance, level: float) -> tuple[float, float] | None:
    """S_1 and its standard error: clustered by request where the log tells requests apart."""
    if not own.survival or not own.rounds:
        return None
    share = own.survival[0]
    block = {} if own.source is None else own.source.body.get("pooled", {})
    ends = block.get("intervals", {}).get("survival") if isinstance(block, dict) else None
    if ends:
        return share, (ends[0][1] - ends[0][0]) / (2.0 * student(level, _MANY))
    return share, math.sqrt(share * (1.0 - share) / own.rounds)


def _emitted(own: Acceptance, level: float) -> tuple[float, float] | None:
    if own.emitted is None or own.emitted_interval is None:
        return None
    low, high = own.emitted_interval
    return own.emitted, (high - low) / (2.0 * student(level, _MANY))


def _added(found: Sequence[Acceptance]) -> Acceptance:
    rounds = [own.rounds for own in found]
    if not all(rounds):
        raise ParameterError("files", "logs without a number of rounds cannot be added up; explain one at a time")
    weight = [float(own or 0) for own in rounds]
    total = math.fsum(weight)

    def mean(values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            return None
        return math.fsum(w * v for w, v in zip(weight, known, strict=True)) / total

    emitted = mean([own.emitted for own in found])
    ends = [own.emitted_interval for own in found]
    half = math.sqrt(math.fsum((w * (e[1] - e[0]) / 2) ** 2 for w, e in zip(weight, ends, strict=True) if e)) / total
    curves = [own.survival for own in found]
    deep = None if None in curves else [mean(column) for column in zip(*(c for c in curves if c), strict=True)]
    kappa = found[0].kappa
    return Acceptance(
        kappa=kappa,
        emitted=emitted,
        emitted_interval=None if None in ends or emitted is None else (max(1.0, emitted - half), emitted + half),
        survival=None if deep is None else tuple(value for value in deep if value is not None),
        mean_drafted=mean([own.mean_drafted for own in found]),
        observed=None,
        origin="; ".join(own.origin for own in found),
        alpha=None if kappa is None or emitted is None else iid_alpha(emitted - 1.0, kappa),
        rounds=int(total),
    )
