"""What looks wrong in a pair of speeds and an acceptance?  A code each, and what was seen."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from simspec.advice.convert.checks import never_accepted
from simspec.advice.explain.split import REST, Part
from simspec.evidence.source import Unknown
from simspec.text import number

if TYPE_CHECKING:
    from simspec.advice.explain.explanation import Explanation

FLAGS = {
    "ALWAYS_ACCEPTED": "every draft was accepted: suspect a numeric fault in the verification (NaN), or repeated text",
    "CEILING_BELOW_ONE": "even with every draft accepted it is not faster: acceptance is not the lever",
    "COSTS_DISAGREE": "the costs given do not add up to the round measured",
    "DRAFTS_CUT_SHORT": "drafts are shorter than κ: the ceiling and the split use the drafts really made",
    "FEW_DRAFTS": "hardly anything is drafted: an acceptance rate says nothing here",
    "ITL_IS_PER_ROUND": "ITL is the gap between chunks, one per round: it is not the time of a token",
    "NEVER_ACCEPTED": "no draft was accepted: a broken draft rather than a weak one",
    "RATE_NEEDS_A_BASE": "a rate has three readings; accepted ÷ drafted was taken",
    "ROUND_CHEAPER_THAN_STEP": "R < 1: a round cannot be cheaper than a plain step",
    "WITHIN_ERROR": "the speed-up cannot be told from 1",
}
_SLACK = 1e-9
_FEW = 0.5


def flags(own: Explanation) -> dict[str, str]:
    """What looks wrong: code → what was seen."""
    out: dict[str, str] = {}
    emitted, drafts, cost = own.emitted, own.drafts, own.round_cost
    rounds = None if own.acceptance is None else own.acceptance.rounds
    if emitted is not None and drafts:
        if emitted <= 1.0 + _SLACK:
            out["NEVER_ACCEPTED"] = (
                f"E is exactly 1 {never_accepted(rounds)}" if rounds else "E is exactly 1; --rounds N would bound α"
            )
        elif emitted >= drafts + 1.0 - _SLACK:
            out["ALWAYS_ACCEPTED"] = f"E is exactly κ + 1 = {number(drafts + 1.0, 2)}" + _in(rounds)
        if drafts < _FEW:
            out["FEW_DRAFTS"] = f"{drafts:.2f} drafts per round; E = {emitted:.3f}"
        if own.acceptance is not None and own.kappa is not None and not own.acceptance.one_length:
            out["DRAFTS_CUT_SHORT"] = f"{drafts:.2f} drafts per round at κ = {own.kappa}"
    if cost is not None and cost.value < 1.0 - _SLACK:
        ends = own.interval(cost)
        covered = "; its interval covers 1" if ends and ends[1] >= 1.0 else ""
        out["ROUND_CHEAPER_THAN_STEP"] = (
            f"R = {cost.value:.3f}{covered}: E is of another run, counts the bonus token twice, or the plain run was "
            "measured with other settings"
        )
    if drafts and not isinstance(own.ceiling, Unknown) and own.ceiling <= 1.0:
        out["CEILING_BELOW_ONE"] = f"(κ + 1) ÷ R = {own.ceiling:.3f}"
    if own.rate is not None and own.kappa is not None:
        out["RATE_NEEDS_A_BASE"] = _readings(own, own.rate, own.kappa)
    if own.speeds.gap_is_itl:
        out["ITL_IS_PER_ROUND"] = _gap(own)
    ends = own.interval(own.speedup)
    if ends and ends[0] < 1.0 < ends[1]:
        out["WITHIN_ERROR"] = f"{ends[0]:.3f} to {ends[1]:.3f}"
    wrong = [] if isinstance(own.parts, Unknown) else _wrong(own.parts)
    if wrong:
        out["COSTS_DISAGREE"] = "; ".join(f"{part.name}: {part.steps:+.3f} plain steps per round" for part in wrong)
    return out


def _wrong(parts: tuple[Part, ...]) -> list[Part]:
    """What the costs leave over, beyond 2% of a step, and parts below 0."""
    return [p for p in parts if p.steps is not None and (p.steps < -0.02 or (p.name == REST and abs(p.steps) > 0.02))]


def _in(rounds: int | None) -> str:
    return f" in {rounds:,} rounds" if rounds else ""


def _readings(own: Explanation, rate: float, kappa: int) -> str:
    """R under each meaning of a rate."""
    per_draft, least = 1.0 + kappa * rate, 1.0 + rate
    examined = math.fsum(rate**j for j in range(kappa + 1))
    speed = own.speeds.ratio
    said = [
        ("per drafted token", f"{per_draft:.2f}", per_draft),
        ("per examined token (α)", f"{examined:.2f}", examined),
    ]
    words = [f"{name}: E = {text}" + (f", R = {e / speed.value:.2f}" if speed else "") for name, text, e in said]
    low = f", R = {least / speed.value:.2f} to {per_draft / speed.value:.2f}" if speed else ""
    words.append(f"per attempt (rounds with one accepted): E = {least:.2f} to {per_draft:.2f}{low}")
    return f"{rate:.1%} {'; '.join(words)}; which is it?"


def _gap(own: Explanation) -> str:
    gap, token = own.speeds.gap_ms, own.speeds.token_ms
    if gap is None:
        return "one gap per round"
    if token is None:
        each = (
            f"; ÷ E = {gap / own.emitted:.2f} ms per token" if own.emitted else "; E is needed for the time of a token"
        )
        return f"{gap:g} ms per round; {each}"
    said = f"{gap:g} ms per round, {token:.2f} ms per token, ratio {gap / token:.2f}"
    if own.emitted is None:
        return f"{said}, which is near E"
    return f"{said}, E = {own.emitted:.2f}: the mean gap is {own.emitted * token:.1f} ms"
