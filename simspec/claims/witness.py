"""What do data say of a claim?  A measured value and its interval, held against the region the claim would put it in.

The rule.  A figure with an error gets an interval at a level that divides `FALSE_EVIDENCE` by the number of such
figures, and is decided like a simulated row.  A figure without an error is moved by `SLACK` of itself both ways (a
correlation or a difference of rates by `SLACK_DIFFERENCE`) and speaks only if the whole stretch lies on one side.  What
data cannot tell apart is said as "cannot speak", with the reason.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simspec.claims.claim import Claim, Says
from simspec.claims.judge import decide
from simspec.stats.intervals import Floats, student

FALSE_EVIDENCE = 1e-6
"""Nominal upper limit for any false word among all figures with an error; separate from that of the rows."""
SLACK = 0.2
SLACK_DIFFERENCE = 0.05
LIKE_ROUNDS = 10.0
"""Rounds of one request are alike: a published count of rounds counts as a tenth of them.

In the per-request files that could be looked into, the variance between requests was 3 to 8 times that of independent
rounds (S_1 of SpS, EAGLE and Medusa on Spec-Bench).
"""

SPEAKING = ("supported", "refuted")
CANNOT_SPEAK = "cannot speak"
WITHOUT_ERROR = "figure without error"

Bounds = Callable[[float], tuple[float, float]]


@dataclass(frozen=True)
class Witness:
    """A figure that speaks of a claim.

    Attributes
    ----------
    claim : str
        Number of the claim.
    reading : str
        Regular expression; only rows whose reading holds it are spoken of.
    source : str
        Where the figure comes from.
    measured : str
        What it is.
    says : Says
        Where the claim, at the α and κ of the data, puts it.
    value : float
    bounds : callable or None
        Level → interval; None if no error is known.
    stretch : (float, float) or None
        What stands for an interval then.
    basis : str
        What the error rests on.
    tests : {"claim", "premise", "correction"}
        What is held against data: the claim, an assumption it makes, or what is said to be true instead.  Only the
        first decides the word of a row.
    why : str
        Why the figure cannot speak; empty if it can.
    yours : bool
        Whether it was measured on a file that the user gave.
    """

    claim: str
    reading: str
    source: str
    measured: str
    says: Says
    value: float
    bounds: Bounds | None
    stretch: tuple[float, float] | None
    basis: str
    tests: str = "claim"
    why: str = ""
    yours: bool = False

    def heard(self, level: float) -> dict[str, Any]:
        """The figure with its verdict, JSON-ready."""
        low, high, verdict = self._verdict(level)
        return {
            "source": self.source,
            "measured": self.measured,
            "tests": self.tests,
            "value": _finite(self.value),
            "interval": [_finite(low), _finite(high)],
            "expected": "" if self.why else self.says.text(),
            "expected_interval": [None, None] if self.why else [_finite(self.says.low), _finite(self.says.high)],
            "basis": self.basis,
            "verdict": verdict,
            "why": self.why,
        } | ({"yours": True} if self.yours else {})

    def _verdict(self, level: float) -> tuple[float, float, str]:
        if self.why:
            return float("nan"), float("nan"), CANNOT_SPEAK
        if self.bounds is None:
            low, high = self.stretch or (self.value, self.value)
            return low, high, decide(self.says, low, high) or WITHOUT_ERROR
        low, high = self.bounds(level)
        if not (np.isfinite(low) and np.isfinite(high)):
            return low, high, "inconclusive"
        return low, high, decide(self.says, low, high) or "inconclusive"


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def silent(claim: str, reading: str, source: str, measured: str, why: str, value: float = float("nan")) -> Witness:
    """A figure that cannot speak, and why."""
    nothing = Says(float("-inf"), float("inf"))
    return Witness(claim, reading, source, measured, nothing, value, None, None, "", why=why)


def with_error(value: float, error: float, units: int) -> Bounds:
    """Student's interval over ``units``, by level.

    An error of 0 (no hit in any request, say) is no knowledge: the interval is then NaN, which decides nothing.
    """

    def bounds(level: float) -> tuple[float, float]:
        if not error > 0.0:
            return float("nan"), float("nan")
        half = student(level, units) * error
        return value - half, value + half

    return bounds


def moved(value: float) -> tuple[float, float]:
    """What stands for the interval of a positive figure without an error.

    Examples
    --------
    >>> moved(0.5)
    (0.4, 0.6)
    """
    return value * (1 - SLACK), value * (1 + SLACK)


def moved_difference(low: float, high: float) -> tuple[float, float]:
    """The same for correlations and differences of rates."""
    return low - SLACK_DIFFERENCE, high + SLACK_DIFFERENCE


def by_counts(
    statistic: Callable[[Floats], Floats], survival: Sequence[float], rounds: int, digits: int
) -> tuple[float, float, int]:
    """A function of the histogram of accepted lengths, and its error from a count of rounds (delta method).

    Parameters
    ----------
    statistic : callable
        Histograms (κ + 1, m) → m values.
    survival : sequence of float
        S_1 … S_κ as printed with ``digits`` decimals, whose rounding counts as an error.
    rounds : int
        Rounds behind it, divided by `LIKE_ROUNDS`; 0 where it is unknown: then only the value means something.

    Returns
    -------
    (value, error, rounds that count)
    """
    shares = -np.diff([1.0, *survival, 0.0])
    value = float(statistic(shares[:, None])[0])
    steps = 1e-6 * np.eye(len(shares))
    slope = (statistic(shares[:, None] + steps) - statistic(shares[:, None] - steps)) / 2e-6
    count = max(2, int(rounds / LIKE_ROUNDS))
    spread = max(0.0, float(shares @ slope**2 - (shares @ slope) ** 2)) / count
    rounding = float((np.diff(slope) ** 2).sum()) * 10.0 ** (-2 * digits) / 12
    return value, float(np.sqrt(spread + rounding)), count


def hear(witnesses: Iterable[Witness], false_evidence: float = FALSE_EVIDENCE) -> list[tuple[Witness, dict[str, Any]]]:
    """Every witness with its verdict, all at one level."""
    every = list(witnesses)
    with_interval = sum(own.bounds is not None and not own.why for own in every)
    level = 1.0 - false_evidence / max(1, with_interval)
    return [(own, own.heard(level)) for own in every]


def attach(claims: Sequence[Claim], rows: Sequence[dict[str, Any]], witnesses: Iterable[Witness]) -> None:
    """Give every row its ``evidence`` and ``evidence_verdict``; rows stand in the order of the claims."""
    heard = hear(witnesses)
    for claim, row in zip(claims, rows, strict=True):
        own = [said for witness, said in heard if speaks_of(witness, claim)]
        own.sort(key=lambda said: not said.get("yours", False))
        row["evidence"], row["evidence_verdict"] = own, word(own)


def speaks_of(witness: Witness, claim: Claim) -> bool:
    """Whether a row is one the witness is about."""
    return witness.claim == claim.id and re.search(witness.reading, claim.reading) is not None


def word(evidence: Sequence[dict[str, Any]]) -> str:
    """What all figures on one row come to: supported, refuted, mixed, or none.

    Examples
    --------
    >>> word([{"tests": "claim", "verdict": "refuted"}, {"tests": "correction", "verdict": "supported"}])
    'refuted'
    """
    said = {item["verdict"] for item in evidence if item["tests"] == "claim"} & set(SPEAKING)
    return "mixed" if len(said) == 2 else next(iter(said), "none")


def spokesman(evidence: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The figure to show where there is room for one: the first that decides, else the first with a value.

    The user's own that says anything comes before published ones.
    """

    def rank(item: dict[str, Any]) -> tuple[bool, bool, bool]:
        own = item.get("yours", False) and item["verdict"] != CANNOT_SPEAK and item["value"] is not None
        return not own, item["tests"] != "claim", item["verdict"] not in SPEAKING

    ranked = sorted(evidence, key=rank)
    shown = [item for item in ranked if item["value"] is not None]
    return shown[0] if shown else (ranked[0] if ranked else None)


def tally(evidence: Sequence[dict[str, Any]]) -> str:
    """How many figures say what.

    Examples
    --------
    >>> tally([{"tests": "claim", "verdict": "refuted"}, {"tests": "correction", "verdict": "supported"}])
    '1 refuted; correction: 1 supported'
    """
    parts = []
    for tests in ("claim", "premise", "correction"):
        counted = Counter(item["verdict"] for item in evidence if item["tests"] == tests)
        if counted:
            words = ", ".join(f"{count} {verdict}" for verdict, count in counted.most_common())
            parts.append(words if tests == "claim" else f"{tests}: {words}")
    return "; ".join(parts)


def shown_line(row: dict[str, Any]) -> str:
    """What data say of a row, in one line."""
    own = spokesman(row["evidence"])
    said = f"{row['evidence_verdict'].upper()} ({tally(row['evidence'])})"
    return said if own is None else f"{said}; e.g. {figure_line(own, short=True)}"


def figure_line(item: dict[str, Any], short: bool = False) -> str:
    """One figure in words; ``short`` cuts its source at the first comma."""
    source = re.split("[,;]", item["source"])[0] if short else item["source"]
    if item["verdict"] == CANNOT_SPEAK:
        return f"{item['measured']} ({source}): {item['why']}"
    low, high = item["interval"]
    bar = ""
    if low is not None and high is not None and low != high:
        bar = f" [{low:.4g}, {high:.4g}]" + ("" if "without error" not in item["basis"] else " without error")
    return f"{item['measured']} = {item['value']:.4g}{bar}, claimed {item['expected']} ({source})"


def to_json(evidence: Sequence[dict[str, Any]]) -> str:
    """The evidence of a row as one string, for a Parquet column."""
    return json.dumps(evidence, ensure_ascii=False, sort_keys=True)
