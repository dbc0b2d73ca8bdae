"""How many drafts stand behind rounded figures?  The whole numbers that all of them allow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from simspec.evidence.source import Unknown

_MOST_TRIED = 400
"""Candidates beyond which the figures are too coarse to single one out."""


@dataclass(frozen=True)
class Drafts:
    """Number of drafts of a window, as far as printed figures tell.

    Attributes
    ----------
    best : int or Unknown
        The number, or the likeliest of several.
    low, high : int
        Least and greatest number that fits.
    reached : list of int
        Drafts with more than j tokens accepted, at ``best``.
    slack : int
        How far an entry of ``reached`` may be off through rounding alone.
    inferred : float or Unknown
        accepted / (length − 1), the estimate from the printed length alone.
    """

    best: int | Unknown
    low: int = 0
    high: int = 0
    reached: list[int] = field(default_factory=list)
    slack: int = 0
    inferred: float | Unknown = field(default_factory=lambda: Unknown("no draft was accepted"))

    @property
    def exact(self) -> int | Unknown:
        """The number, if it is the only one."""
        if isinstance(self.best, Unknown) or self.low == self.high:
            return self.best
        return Unknown(f"between {self.low} and {self.high} drafts fit the printed figures")


def drafts_of(accepted: int, drafted: int, length: str, rates: Sequence[str]) -> Drafts:
    """The number of drafts behind a printed mean length (bonus included) and survival rates.

    Parameters
    ----------
    accepted, drafted : int
        Token counts of the window.
    length : str
        As printed: 1 + accepted / drafts, rounded to its decimals.
    rates : sequence of str
        As printed: S_j, rounded to their decimals.

    Returns
    -------
    Drafts
        drafted / κ where it fits, as every draft is then full; else the only number that fits, else a range.

    Examples
    --------
    >>> drafts_of(177, 371, "2.37", ["0.589", "0.442", "0.341"]).exact
    129
    """
    kappa = len(rates)
    least, most = math.ceil(drafted / kappa), drafted
    inferred: float | Unknown = Unknown("no draft was accepted")
    if accepted:
        half = 0.501 * 10.0 ** -len(length.partition(".")[2])
        mean = float(length) - 1.0
        if mean <= 0.0:
            return Drafts(Unknown(f"a length of {length} does not fit {accepted} accepted tokens"))
        inferred = round(accepted / mean, 1)  # the printed length holds no more
        least = max(least, math.ceil(accepted / (mean + half)))
        most = min(most, math.floor(accepted / (mean - half))) if mean > half else most
    full = drafted // kappa if drafted % kappa == 0 else None
    if full is not None and least <= full <= most and _fits(full, accepted, rates) is not None:
        return _made(full, full, full, rates, inferred, accepted)
    if accepted == 0 or most < least:
        return Drafts(Unknown("no number of drafts fits the printed figures"), inferred=inferred)
    if most - least >= _MOST_TRIED:  # too coarse to single one out: the rates' sum is the finest figure
        best = min(max(round(accepted / max(sum(map(float, rates)), 1e-9)), least), most)
        return _made(best, least, most, rates, inferred, accepted)
    fitting = [n for n in range(least, most + 1) if _fits(n, accepted, rates) is not None]
    if not fitting:
        return Drafts(Unknown("no number of drafts fits the printed figures"), inferred=inferred)
    centre = accepted / max(sum(map(float, rates)), 1e-9)
    best = min(fitting, key=lambda n: abs(n - centre))
    return _made(best, fitting[0], fitting[-1], rates, inferred, accepted)


def _made(best: int, low: int, high: int, rates: Sequence[str], inferred: float | Unknown, accepted: int) -> Drafts:
    found = _fits(best, accepted, rates)
    reached, slack = found if found is not None else ([round(float(rate) * best) for rate in rates], 1)
    return Drafts(best, low, high, reached, slack, inferred)


def _fits(drafts: int, accepted: int, rates: Sequence[str]) -> tuple[list[int], int] | None:
    """Counts per position that round to the rates and add up to ``accepted``; None if there are none."""
    reached, low_sum, high_sum, slack = [], 0, 0, 0
    for rate in rates:
        value, half = float(rate), 0.5000001 * 10.0 ** -len(rate.partition(".")[2])
        low, high = math.ceil((value - half) * drafts), math.floor((value + half) * drafts)
        low, high = max(low, 0), min(high, drafts)
        if low > high:
            return None
        reached.append(min(max(round(value * drafts), low), high))
        low_sum, high_sum, slack = low_sum + low, high_sum + high, max(slack, high - low)
    return (reached, slack) if low_sum <= accepted <= high_sum else None
