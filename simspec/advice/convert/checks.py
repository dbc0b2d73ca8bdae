"""Can these figures be true together?  The first that contradicts the others, or that no round can have."""

from __future__ import annotations

import itertools
import math
from typing import Any

from simspec.advice.convert.conventions import QUANTITIES, SHARE, SHARES
from simspec.advice.convert.rules import RULES, Derived
from simspec.text import number

TOLERANCE = 0.02
"""Relative difference between a printed figure and what the others give, beyond which they contradict each other."""
_ROUNDING = 0.006
"""Absolute difference that two printed decimals may make."""
_SLACK = 1e-6
_CELLS = 8


def contradiction(given: dict[str, Any], derived: dict[str, Derived], same_length: bool) -> tuple[str, str] | None:
    """The first figure that cannot be, and why; None where all agree."""
    found = {name: own.value for name, own in derived.items()}
    return _misshapen(found) or _contradicts(given, found, same_length) or _impossible(found, same_length)


def _misshapen(found: dict[str, Any]) -> tuple[str, str] | None:
    """A list that is no survival curve, or no law."""
    curve, pmf = found.get("survival", []), found.get("pmf_accepted")
    if pmf is not None and abs(math.fsum(pmf) - 1.0) > _ROUNDING * len(pmf):
        return "pmf_accepted", f"pmf_accepted = {shown_value(pmf)} does not add up to 1"
    if any(b > a + _SLACK for a, b in itertools.pairwise(curve)):
        why = "S_j never rises: conditional rates belong under cond_alpha (eagle-n-alpha), P(A = j) under pmf_accepted"
        return "survival", f"survival = {shown_value(curve)} rises: {why}"
    return None


def _contradicts(given: dict[str, Any], found: dict[str, Any], same_length: bool) -> tuple[str, str] | None:
    """A given figure that is not what the others give."""
    for rule in RULES:
        if rule.gives not in given or (rule.same_length and not same_length):
            continue
        if not all(name in found for name in rule.needs):
            continue
        value = rule.how(*(found[name] for name in rule.needs))
        if value is not None and not _alike(value, given[rule.gives]):
            needs = " and ".join(f"{name} = {shown_value(found[name])}" for name in rule.needs)
            said = (
                f"{rule.gives} = {shown_value(given[rule.gives])} contradicts {needs}, which give {shown_value(value)}"
            )
            return rule.gives, f"{said} ({rule.text})"
    return None


def _impossible(found: dict[str, Any], same_length: bool) -> tuple[str, str] | None:
    """A quantity outside its range."""
    emitted, kappa = found.get("mean_emitted_per_round"), found.get("kappa")
    if emitted is not None and emitted < 1.0 - _SLACK:
        return "mean_emitted_per_round", f"E = {emitted:g} is below 1: a round emits at least the target's own token"
    if emitted is not None and kappa is not None and emitted > kappa + 1.0 + _SLACK:
        why = "a tree, the bonus token counted twice, or another κ"
        return "mean_emitted_per_round", f"E = {emitted:g} is above κ + 1 = {kappa + 1}: {why}"
    if same_length and found.get("p_full", 0.0) < -_SLACK and "alpha_examined" in found:
        alpha = found["alpha_examined"]
        most = 1.0 / (1.0 - alpha)
        why = "no chain of drafts does: a tree, or the rate is another one"
        return "alpha_examined", f"E = {emitted:g} is above 1 ÷ (1 − α) = {most:.4g} at α = {alpha:g}: {why}"
    for name, value in found.items():
        values = value if isinstance(value, list) else [value]
        numbers = [v for v in values if v is not None]
        share = QUANTITIES[name].kind in (SHARE, SHARES)
        if any(v < -_SLACK or (share and v > 1.0 + _SLACK) for v in numbers):
            return name, f"{name} = {shown_value(value)} is out of range: the figures do not fit each other"
    return None


def _alike(value: Any, given: Any) -> bool:
    if isinstance(value, list):
        return len(value) == len(given) and all(map(_alike, value, given))
    if value is None or given is None:
        return True
    return bool(abs(value - given) <= max(_ROUNDING, TOLERANCE * abs(given)))


def shown_value(value: Any) -> str:
    """A quantity on a terminal.

    Examples
    --------
    >>> shown_value(13311), shown_value([0.5, None])
    ('13,311', '0.500 –')
    """
    if isinstance(value, list):
        cells = [number(v, 3) if v is not None else "–" for v in value]
        return " ".join(cells if len(cells) <= _CELLS else [*cells[: _CELLS - 2], f"… ({len(cells)})"])
    return f"{value:,}" if isinstance(value, int) else number(value)


def never_accepted(rounds: int, level: float = 0.95) -> str:
    """What rounds without an accepted draft say: the upper limit of α of the first draft, rounded up.

    References
    ----------
    Clopper and Pearson (1934), one-sided, for no success in n trials: 1 − (1 − level)^(1/n).

    Examples
    --------
    >>> never_accepted(161)
    'in 161 rounds: α of the first draft is below 0.019 at 95%'
    """
    limit = 1.0 - (1.0 - level) ** (1.0 / rounds)
    digits = 1 - math.floor(math.log10(limit))
    limit = math.ceil(limit * 10.0**digits) / 10.0**digits
    return f"in {rounds:,} rounds: α of the first draft is below {limit:.{digits}f} at {level:.0%}"
