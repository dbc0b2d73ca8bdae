"""How is an explanation told?  The verdict in one sentence, the flags, the table, what is missing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from simspec.advice.convert.conventions import WHERE_PRINTED
from simspec.advice.explain.flags import FLAGS
from simspec.advice.explain.split import ACCEPTANCE, DRAFTING
from simspec.evidence.source import WARNINGS, Unknown
from simspec.text import bullets, clean, number, table, wrapped

if TYPE_CHECKING:
    from simspec.advice.explain.explanation import Explanation

_SLACK = 1e-9
_IDEAL = "ideal: all accepted, a round of one plain step"
SERIOUS = (
    "BATCH_CHANGES_IN_LOG",
    "COUNTER_RESET",
    "IDENTITY_BROKEN",
    "KAPPA_CHANGED",
    "MIXED_DRAFTERS",
    "MULTI_ENGINE_POOLING",
    "NON_STATIONARY",
    "RATE_CONTRADICTS_COUNTS",
    "RETOKENIZED_MISMATCH",
    "TREE_DRAFTER",
)
"""Warnings of a log that bear on E or on R."""


def verdict(own: Explanation) -> str:
    """The answer in one sentence."""
    speed, cost, emitted = own.speedup, own.round_cost, own.emitted
    if speed is None and cost is None:
        return _only_gap(own) if own.speeds.gap_ms is not None else _without_speeds(own)
    if speed is None:
        assert cost is not None
        return (
            f"A round costs R = {number(cost.value, 3)} plain steps; it pays if it emits more tokens than that: give E."
        )
    if emitted is None or cost is None:
        return _without_emitted(own, speed.value)
    head = (
        f"{_pace(own)}: a round emits E = {number(emitted, 3)} tokens and costs R = {number(cost.value, 3)} plain steps"
    )
    ends = own.interval(cost)
    if cost.value < 1.0 - _SLACK and not (ends and ends[1] >= 1.0):
        return f"{head}, which no round can: E or one of the speeds is not of this run, or was measured otherwise."
    if own.drafts == 0.0:
        return (
            f"{_pace(own)}: without a draft the loop of speculation costs R = {number(cost.value, 3)} plain steps per "
            "token, all of it fixed overhead; a draft must earn that back first."
        )
    if speed.value > 1.0:
        return f"{head}{_headroom(own)}."
    if isinstance(own.ceiling, Unknown):
        return f"{head}; it must emit more than {number(cost.value, 3)} or cost less than {number(emitted, 3)}."
    if own.ceiling <= 1.0:
        most = (own.drafts or 0.0) + 1.0
        return (
            f"{head}; with every draft accepted it would still be {number(own.ceiling, 3)}x, so better acceptance "
            f"cannot help: a round must cost less than {number(emitted, 3)} plain steps at this acceptance (less than "
            f"{number(most, 2)} even if every draft were accepted), else switch speculation off."
        )
    return f"{head}; {_needs(own, cost.value)}, or a round below {number(emitted, 3)} plain steps."


def _pace(own: Explanation) -> str:
    assert own.speedup is not None
    value, ends = own.speedup.value, own.interval(own.speedup)
    word = "faster" if value > 1.0 + _SLACK else "slower" if value < 1.0 - _SLACK else "equally fast"
    if ends and ends[0] < 1.0 < ends[1]:
        word = "not told from plain decoding"
    between = f" [{ends[0]:.3f}, {ends[1]:.3f}]" if ends else ""
    return f"{number(value, 3)}x{between}, {word}"


def _headroom(own: Explanation) -> str:
    said = (
        "" if isinstance(own.ceiling, Unknown) else f"; with every draft accepted it would be {number(own.ceiling, 2)}x"
    )
    alpha = own.break_even_alpha
    if isinstance(alpha, Unknown):
        return said
    return said + (
        f", and it pays above α = {number(alpha, 3)}" if alpha > 0.0 else ", and at that cost it pays at any α"
    )


def _needs(own: Explanation, cost: float) -> str:
    alpha = own.break_even_alpha
    said = f"to pay it needs E above {number(cost, 3)}"
    if isinstance(alpha, Unknown):
        return said
    now = None if own.acceptance is None else own.acceptance.alpha
    return said + f" (α above {number(alpha, 3)}{f', now {number(now, 3)}' if now is not None else ''})"


def _without_speeds(own: Explanation) -> str:
    if own.emitted is None:
        return "Nothing to explain: give E and both speeds."
    if own.drafts and own.emitted <= 1.0 + _SLACK:
        return "No draft was accepted, so every round is a loss: the draft is broken; best κ is 0 until it is repaired."
    timed = [told for name, told in own.read.items() if name.startswith("spec")]
    if timed:
        return (
            f"A round emits E = {number(own.emitted, 3)} tokens, and the log tells its speed ({timed[0]}): give the "
            "plain speed (--base-speed or --base-tpot) to know what a round costs."
        )
    return (
        f"A round emits E = {number(own.emitted, 3)} tokens: speculation pays as long as a round costs less than that "
        "many plain steps; give both speeds (--base-speed, --spec-speed) to know what it costs."
    )


def _only_gap(own: Explanation) -> str:
    gap, token = own.speeds.gap_ms, own.speeds.token_ms
    assert gap is not None
    if token is None:
        return f"ITL {gap:g} ms is the gap of a round, not the time of a token; give --streams to know the latter."
    return (
        f"A token takes {number(token, 2)} ms, not {gap:g}: ITL is one gap per round, here {number(gap / token, 2)} "
        "tokens long; give the plain speed for the speed-up."
    )


def _without_emitted(own: Explanation, speed: float) -> str:
    plain = own.speeds.plain_ms
    least = f"even with nothing accepted a round costs at least {number(1.0 / speed, 3)} plain steps"
    over = f" ({(1.0 / speed - 1.0) * plain:.2f} ms beyond the plain {plain:.2f})" if plain and speed < 1.0 else ""
    most = "" if own.drafts is None else f" and at most {number((own.drafts + 1.0) / speed, 3)}"
    if speed >= 1.0:
        return f"{_pace(own)}: R/E = {number(1.0 / speed, 3)}; without E neither acceptance nor cost can be judged."
    return (
        f"{_pace(own)}: R = {number(1.0 / speed, 3)}·E, and {least}{over}{most}; give E to tell acceptance from cost."
    )


def notes(own: Explanation) -> list[str]:
    """What is missing, and where to find it."""
    source = None if own.acceptance is None else own.acceptance.source
    warned = {} if source is None else source.warn
    out = [f"the log warns: {WARNINGS[code]} ({clean(warned[code])})" for code in SERIOUS if code in warned]
    if source is not None and source.pieces:
        out.append(f"{len(source.files)} files are pooled as one log: {', '.join(map(clean, source.files))}")
    if own.acceptance is not None and own.acceptance.line_means is not None:
        out.append(own.acceptance.line_means.says)
    if own.read and (own.speedup is not None or own.round_cost is not None):
        out.append(f"read, as it was not given: {'; '.join(own.read.values())}")
    if own.prices is not None and own.prices.note:
        out.append(own.prices.note)
    if own.emitted is None:
        out.append("E stands here: " + "; ".join(f"{engine}: {where}" for engine, where in WHERE_PRINTED))
    joined = [] if isinstance(own.parts, Unknown) else [p.name for p in own.parts if p.name.endswith("together")]
    if joined:
        ways = ["--draft-cost or --draft-ms (draft step ÷ target step)"] if DRAFTING in joined[0] else []
        swept = own.prices is not None and (own.prices.note or own.prices.slope is not None)
        ways += [] if swept else ["--costs FILE (a κ sweep: its straight line gives the fixed part)"]
        out += [f"to split further: {', or '.join(ways)}"] if ways else []
    pace = own.speeds.ratio or own.speeds.round_cost
    if pace is not None and pace.half == 0.0:
        out.append(
            "the error of the speeds is not known, and is in no interval: give repeats (86.1,85.7,86.3) or 86.0±0.3"
        )
    return out


def printed(own: Explanation) -> str:
    """As text: verdict, figures, the loss, flags, what is missing."""
    blocks = [wrapped(own.verdict), _figures(own)]
    blocks += [_loss(own)] if not isinstance(own.parts, Unknown) else []
    if own.flags:
        blocks.append(bullets("look at", [f"{code}: {FLAGS[code]} ({seen})" for code, seen in own.flags.items()]))
    unknown = {"ceiling": own.ceiling, "break-even α": own.break_even_alpha, "loss": own.parts}
    missing = [f"{name}: {value.reason}" for name, value in unknown.items() if isinstance(value, Unknown)]
    blocks += [bullets("not known", missing), bullets("note", notes(own))]
    return "\n\n".join(block for block in blocks if block)


def _figures(own: Explanation) -> str:
    alpha = None if own.acceptance is None else own.acceptance.alpha
    rows: list[tuple[str, Any, list[float] | None]] = [
        ("E, tokens per round (accept length, bonus token counted)", own.emitted, own.emitted_interval),
        ("R, cost of a round in plain steps = break-even E", _value(own.round_cost), own.interval(own.round_cost)),
        ("speed-up E/R", _value(own.speedup), own.interval(own.speedup)),
        ("R/E, plain steps per token", None if own.speedup is None else 1.0 / own.speedup.value, None),
        ("ceiling: speed-up if every draft were accepted", own.ceiling, None),
        ("α if drafts were i.i.d.", alpha, None),
        ("break-even α at this κ", own.break_even_alpha, None),
        ("break-even accepted ÷ drafted at this κ (where a gate on the rate belongs)", own.break_even_rate, None),
        ("plain step, ms", own.speeds.plain_ms, None),
        ("round, ms", own.round_ms, None),
    ]
    body = [
        [name, number(value, 3), f"[{number(pair[0], 3)}, {number(pair[1], 3)}]" if pair else "–"]
        for name, value, pair in rows
        if isinstance(value, (int, float))
    ]
    return table(["figure", "value", f"{own.level:.0%} interval"], body) if body else ""


def _value(own: Any) -> float | None:
    return None if own is None else own.value


def _loss(own: Explanation) -> str:
    assert not isinstance(own.parts, Unknown)
    assert own.drafts is not None
    ideal, plain = 1.0 / (own.drafts + 1.0), own.speeds.plain_ms
    header = ["where the time of a token goes", "steps/round", "steps/token", "loss", "x without"]
    rows = [[_IDEAL, number(1.0, 3), number(ideal, 3), "–", number(own.drafts + 1.0, 3)]]
    for part in own.parts:
        name = "acceptance: tokens lost by rejections" if part.name == ACCEPTANCE else part.name
        steps = "–" if part.steps is None else number(part.steps, 3)
        without = "–" if part.without is None else number(part.without, 3)
        rows.append(
            [name, steps, number(part.per_token, 3), "–" if math.isnan(part.share) else f"{part.share:.0%}", without]
        )
    total = ideal + math.fsum(part.per_token for part in own.parts)
    cost = own.round_cost
    assert cost is not None
    rows.append(["measured", number(cost.value, 3), number(total, 3), "", number(1.0 / total, 3)])
    if plain is not None:
        header.append("ms/token")
        per = [ideal, *(part.per_token for part in own.parts), total]
        rows = [[*row, number(value * plain, 2)] for row, value in zip(rows, per, strict=True)]
    legend = "steps: plain target steps; loss: share of it; x without: the speed-up if that part were gone"
    return f"{table(header, rows)}\n{legend}"
