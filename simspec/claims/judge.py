"""Does a claim hold?  Its region against an interval that lies with a probability stated for the whole run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simspec.claims.claim import Claim, Says
from simspec.claims.lab import Lab, Observed
from simspec.claims.quantity import Formula, Untestable

FALSE_VERDICT = 1e-6
"""Upper limit for the probability of any false verdict, or false alarm about the engine, in a whole run."""

JUDGE_SHARE = FALSE_VERDICT / 2
CHECK_SHARE = FALSE_VERDICT - JUDGE_SHARE
"""What of it the judge may spend, and what the engine's self-check."""

STAGES = {"quick": (2**19, 2**21, 2**23, 2**25), "full": (2**22, 2**24, 2**26, 2**27)}
"""Windows per simulation and κ, stage by stage; only rows still open go on."""


@dataclass(frozen=True)
class Verdict:
    """One judged row.

    Attributes
    ----------
    claim : Claim
    verdict : {"supported", "refuted", "inconclusive", "not-testable", "engine-disagreement"}
    observed : Observed
        The simulated value with its interval; the exact value for rows without simulation.
    exact : float
        What the exact route says; NaN where there is none.
    route : {"simulation and exact", "simulation", "exact, two ways", "exact", "none"}
        What the verdict rests on.
    """

    claim: Claim
    verdict: str
    observed: Observed
    exact: float
    route: str

    def to_dict(self) -> dict[str, Any]:
        """The row as plain JSON values; an unbounded end of an interval is null."""
        own, says = self.claim, self.claim.says
        if isinstance(own.quantity, Untestable):
            return self._untestable(own.quantity.why)
        return {
            "id": own.id,
            "reading": own.reading,
            "section": own.section,
            "statement": own.statement,
            "verdict": self.verdict,
            "expected": float(round(says.stated, 9)) if says.stated is not None else says.text(),
            "expected_interval": [_finite(says.low), _finite(says.high)],
            "observed": self.observed.value,
            "interval": [self.observed.low, self.observed.high],
            "exact": None if math.isnan(self.exact) else self.exact,
            "windows": self.observed.windows,
            "route": self.route,
            "why": "",
            "instead": own.instead,
        }

    def _untestable(self, why: str) -> dict[str, Any]:
        own = self.claim
        return {
            "id": own.id,
            "reading": own.reading,
            "section": own.section,
            "statement": own.statement,
            "verdict": self.verdict,
            "expected": "nothing testable",
            "expected_interval": [None, None],
            "observed": None,
            "interval": [None, None],
            "exact": None,
            "windows": 0,
            "route": self.route,
            "why": why,
            "instead": own.instead,
        }


def _finite(value: float) -> float | None:
    return value if abs(value) != float("inf") else None


def decide(says: Says, low: float, high: float) -> str | None:
    """Verdict of an interval on a region; None if it straddles the edge.

    Examples
    --------
    >>> decide(Says(4.2, 4.4), 1.45, 1.46), decide(Says(4.2, 4.4), 4.29, 4.31), decide(Says(4.2, 4.4), 4.3, 4.5)
    ('refuted', 'supported', None)
    """
    rounding = 1e-9 * max(1.0, abs(low), abs(high))  # an edge met exactly is met
    if says.low - rounding <= low and high <= says.high + rounding:
        return "supported"
    if high < says.low - rounding or low > says.high + rounding:
        return "refuted"
    return None


def _settle(says: Says, value: float) -> str:
    """Verdict of an exact value: a point lies inside or outside."""
    verdict = decide(says, value, value)
    assert verdict is not None, "a point cannot straddle an edge"
    return verdict


def judge(claims: Sequence[Claim], lab: Lab, stages: Sequence[int], share: float = JUDGE_SHARE) -> list[Verdict]:
    """Judge claims with growing budgets; every simulated value is first held against the exact one.

    Any verdict is false with a probability of at most ``share``: each claim may spend as much of it at each stage.
    """
    simulated = [claim for claim in claims if claim.quantity.needs]
    level = 1.0 - share / max(1, len(simulated) * len(stages))
    verdicts: dict[int, Verdict] = {}
    for claim in claims:
        if not claim.quantity.needs:
            verdicts[id(claim)] = _by_algebra(claim)
    still_open = simulated
    for stage, windows in enumerate(stages):
        if not still_open:
            break
        if lab.progress is not None:
            lab.progress.say(f"budget {stage + 1} of {len(stages)}, {len(still_open)} rows open")
        lab.simulate((need for claim in still_open for need in claim.quantity.needs), windows)
        if lab.progress is not None:
            lab.progress.say(f"judging {len(still_open)} rows")
        undecided = []
        for claim in still_open:
            verdict = _look(claim, lab, level)
            verdicts[id(claim)] = verdict
            if verdict.verdict == "inconclusive":
                undecided.append(claim)
        still_open = undecided
    return [verdicts[id(claim)] for claim in claims]


def _by_algebra(claim: Claim) -> Verdict:
    """A row without simulation: by its exact value, held against a second way to it where there is one."""
    own = claim.quantity
    value = own.exact()
    seen = Observed(value, value, value, 0)
    if isinstance(own, Untestable):
        return Verdict(claim, "not-testable", seen, value, "none")
    second = own.second() if isinstance(own, Formula) else None
    if second is None or not isinstance(own, Formula):
        return Verdict(claim, _settle(claim.says, value), seen, value, "exact")
    if not own.agrees(value, second):
        return Verdict(claim, "engine-disagreement", Observed(second, second, second, 0), value, "exact, two ways")
    return Verdict(claim, _settle(claim.says, value), seen, value, "exact, two ways")


def _look(claim: Claim, lab: Lab, level: float) -> Verdict:
    seen, exact = claim.quantity.observe(lab, level), claim.quantity.exact()
    if math.isnan(exact):
        return Verdict(claim, decide(claim.says, seen.low, seen.high) or "inconclusive", seen, exact, "simulation")
    rounding = 1e-9 * max(1.0, abs(exact))
    if not seen.low - rounding <= exact <= seen.high + rounding:
        return Verdict(claim, "engine-disagreement", seen, exact, "simulation and exact")
    if claim.exact_only:
        return Verdict(claim, _settle(claim.says, exact), seen, exact, "exact")
    return Verdict(
        claim, decide(claim.says, seen.low, seen.high) or "inconclusive", seen, exact, "simulation and exact"
    )
