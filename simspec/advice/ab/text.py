"""How does a comparison of two runs read?  The answer first, then faults, the table, and what to keep in mind."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from simspec.stats.ab_tests import Change
from simspec.text import bullets, clean, number, plural, table, wrapped

if TYPE_CHECKING:
    from simspec.advice.ab.result import AB, Row

_SMALL, _NOTHING = 1e-3, 1e-13


def text_of(found: AB) -> str:
    """The whole text."""
    parts = [wrapped(answer(found)), _faults(found), _table(found), wrapped(_power(found), "", "  "), _notes(found)]
    return "\n\n".join(part for part in parts if part)


def answer(found: AB) -> str:
    """The answer in a sentence or two, with numbers.

    Examples
    --------
    >>> import simspec
    >>> print(answer(simspec.ab("kappa=2 rounds=500 survival=.7,.5", "kappa=2 rounds=500 survival=.71,.5")))
    No difference beyond chance.  E: 2.200 → 2.210 tokens per round, +0.010 [-0.098, +0.118], p = 1.
    """
    said = []
    broken = [name.upper() for name, own in found.faults.items() if any(fault.broken for fault in own)]
    if broken:
        said.append(
            f"{' and '.join(broken)} {'looks' if len(broken) == 1 else 'look'} broken rather than weak (below)."
        )
    main = [row for row in found.rows if row.family == "main"]
    if found.b is None:
        if not broken:
            said.append("No fault found.")
        if found.a.emitted is not None:
            said.append(_alone(found))
        return "  ".join(said)
    if not main:
        return "  ".join([*said, "Nothing else can be compared."])
    said.append(_verdict(found))
    said += [_sentence(row, _cut_at(found)) for row in main]
    curve = [row for row in found.rows if row.family == "S" and row.real]
    if curve:
        said.append(f"Survival differs at {', '.join(_signed(row) for row in curve)}.")
    elif found.joint is not None and found.joint_p_holm <= 1.0 - found.level:
        said.append(f"The survival curves differ ({_p_is(found.joint_p_holm)}), though no single position does.")
    return clean_lines("  ".join(said))


def _verdict(found: AB) -> str:
    if found.differs:
        return "The runs differ, by more than their κ do by themselves." if found.mixture else "The runs differ."
    if found.mixture and found.apart:
        return (
            "No difference beyond what different κ do by themselves: where requests differ, hard ones make a larger "
            "share of the rounds of longer drafts.  Run both at one κ to judge the draft."
        )
    return "No difference beyond chance."


def clean_lines(text: str) -> str:
    """Without control characters, line by line."""
    return "\n".join(map(clean, text.split("\n")))


def _alone(found: AB) -> str:
    own = f"E = {number(found.a.emitted or math.nan, 3)} tokens per round in {plural(found.a.rounds, found.a.counted)}"
    if found.power is None:
        return f"{own}; they show no spread, so that no error is known."
    return (
        f"{own}; a second run as long differs beyond chance from {number(found.power.significant, 3)} on, and a true "
        f"difference of {number(found.power.detectable, 3)} is found with probability 0.9."
    )


def _sentence(row: Row, kappa: int | None) -> str:
    own, unit = row.change, " tokens per round" if row.quantity == "E" else ""
    text = f"{_name(row, kappa)}: {number(own.a, 3)} → {number(own.b, 3)}{unit}, {_plus(own.difference)}"
    if math.isnan(own.p_value):
        return f"{text}; one measurement each has no error: repeat it (speed=61.2,60.8,…)."
    alike = f" ({_p_is(own.p_value)} were requests all alike)" if own.p_value < row.p_value else ""
    return f"{text} {_interval(own)}, {_p_is(row.p_holm)}{alike}."


def _cut_at(found: AB) -> int | None:
    """The κ at which E is compared, where it is not that of both runs."""
    if found.b is None or found.kappa is None or found.a.kappa == found.b.kappa == found.kappa:
        return None
    return found.kappa


def _name(row: Row, kappa: int | None) -> str:
    return f"E at κ = {kappa}" if row.quantity == "E" and kappa is not None else row.quantity


def _signed(row: Row) -> str:
    return f"{row.quantity} ({_plus(row.change.difference)})"


def _faults(found: AB) -> str:
    lines = [
        f"{name.upper()}  {fault.code}{' (fault)' if fault.broken else ''}: {clean(fault.says)}"
        for name, own in found.faults.items()
        for fault in own
    ]
    return bullets("seen in the runs", lines)


def _table(found: AB) -> str:
    if not found.rows:
        return ""
    paired = f", {found.pairs} of them in pairs" if found.pairs else ""
    note = f"unit: {found.unit}{paired}; Holm: E, speed and curve together; S_j together; α_j together"
    if found.mixture:
        note += "\np: the largest over all mixtures of requests; the interval is that of the rounds as seen"
    body = [[_name(row, _cut_at(found)), *_cells(row)] for row in found.rows]
    if found.joint is not None:
        own = found.joint
        real = "yes" if found.joint_p_holm <= 1.0 - found.level else "no"
        curve = "S_1" if own.positions == 1 else f"S_1 … S_{own.positions}"
        body.append([f"curve {curve}", "–", "–", "–", "–", _p(own.p_value), _p(found.joint_p_holm), real])
    elif found.kappa is not None and found.kappa > 1 and any(row.family == "S" for row in found.rows):
        note += "\nthe curve as a whole is not tested: too few rounds end at each position, or too few units"
    header = ["", "A", "B", "B − A", f"{found.level:.0%} interval", "p", "p (Holm)", "real"]
    b = found.b.name if found.b is not None else ""
    names = f"A  {clean(found.a.name)}: {plural(found.a.rounds, found.a.counted)}\nB  {clean(b)}: " + (
        plural(found.b.rounds, found.b.counted) if found.b is not None else "")  # fmt: skip
    return "\n".join([names, "", table(header, body), note])


def _cells(row: Row) -> list[str]:
    own = row.change
    values = [number(own.a), number(own.b), _plus(own.difference, 4), _interval(own, 4)]
    return [*values, _p(row.p_value), _p(row.p_holm), "yes" if row.real else "no"]


def _power(found: AB) -> str:
    lines = []
    if found.power is not None and found.b is not None:
        lines.append(
            f"a difference of E is beyond chance from {number(found.power.significant, 3)} on; a true difference of "
            f"{number(found.power.detectable, 3)} is found with probability 0.9"
        )
    if found.needed is not None:
        rounds, units = found.needed
        of = "" if units is None else f" ({plural(units, found.unit)})"
        lines.append(
            f"a true difference of {number(found.detect or 0.0, 3)} needs {plural(rounds, found.a.counted)}{of} in "
            "each run to be found with probability 0.9"
        )
    if found.effects:
        tried = ", ".join(f"{_p(p)} at {effect:g}" for effect, p in found.effects.items())
        lines.append(f"p of E if rounds hang together, by design effect (variance against independent rounds): {tried}")
    return "\n".join(lines)


def _notes(found: AB) -> str:
    return bullets("to keep in mind", [clean(note) for note in found.notes])


def _interval(own: Change, digits: int = 3) -> str:
    if math.isnan(own.low):
        return "–"
    return f"[{_plus(own.low, digits)}, {_plus(own.high, digits)}]"


def _plus(value: float, digits: int = 3) -> str:
    return f"{'+' if value > 0 else ''}{number(value, digits)}"


def _p_is(value: float) -> str:
    text = _p(value)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def _p(value: float) -> str:
    if math.isnan(value):
        return "–"
    if value < _NOTHING:
        return f"<{_NOTHING:.0e}"
    return f"{value:.1e}" if value < _SMALL else f"{value:.2g}"
