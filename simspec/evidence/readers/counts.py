"""How many drafts stand behind rounded figures?  The whole numbers that all of them allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from simspec.evidence.source import Unknown

_POWERS = [10**digits for digits in range(20)]
_MOST_TRIED = 400
"""Candidates beyond which the figures are too coarse to single one out."""


@dataclass(slots=True)
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
        As printed: S_j, rounded, all to the same number of decimals.

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
    survival, scale = [int(rate.replace(".", "")) for rate in rates], _scale(rates[0])
    step = _scale(length)
    mean = int(length.replace(".", "")) - step  # accepted per draft, in units of the last decimal
    inferred = round(accepted * step / mean, 1) if mean > 0 else Unknown("no draft was accepted")
    full, rest = divmod(drafted, kappa)
    if rest == 0 and 2 * abs(accepted * step - mean * full) <= full:
        found = _fits(full, accepted, survival, scale)
        if found is not None:
            return Drafts(full, full, full, *found, inferred)
    none = Drafts(Unknown("no number of drafts fits the printed figures"), inferred=inferred)
    if accepted == 0 or mean <= 0:
        return none
    least = max(full + (rest > 0), -(-2 * accepted * step // (2 * mean + 1)))
    most = min(drafted, 2 * accepted * step // (2 * mean - 1))
    centre = accepted * scale / max(1, sum(survival))  # the sum of the rates is the finest figure
    if most - least >= _MOST_TRIED:
        best = min(max(round(centre), least), most)
        reached = [round(rate * best / scale) for rate in survival]
        return Drafts(best, least, most, reached, 1 + best // (2 * scale), inferred)
    fitting = [(n, fit) for n in range(least, most + 1) if (fit := _fits(n, accepted, survival, scale)) is not None]
    if not fitting:
        return none
    best, found = min(fitting, key=lambda pair: abs(pair[0] - centre))
    return Drafts(best, fitting[0][0], fitting[-1][0], *found, inferred)


def _scale(text: str) -> int:
    """Units of the last decimal in one: 100 for 2.37."""
    return _POWERS[len(text) - 1 - text.find(".")] if "." in text else 1


def _fits(drafts: int, accepted: int, rates: list[int], scale: int) -> tuple[list[int], int] | None:
    """Counts per position that round to the rates and add up to ``accepted``, and their slack; None if there are none.

    A count c rounds to r / scale where |c·scale − r·drafts| ≤ drafts / 2: whole numbers decide, and the nearest to
    r·drafts / scale is one if any is.
    """
    reached, least, most, slack = [], 0, 0, 0
    double = 2 * scale
    for rate in rates:
        middle = 2 * rate * drafts
        low, high = -((drafts - middle) // double), (middle + drafts) // double
        if low > high:
            return None
        reached.append((middle + scale) // double)
        least, most = least + (low if low > 0 else 0), most + (high if high < drafts else drafts)
        slack = max(slack, high - low)
    return (reached, slack) if least <= accepted <= most else None
