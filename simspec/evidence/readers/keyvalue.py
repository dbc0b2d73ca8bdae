"""Plain `name=value` text with the names of this program's own fields: for engines nobody has a reader for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from simspec.evidence.block import LONGEST_DRAFT, Counts, figures
from simspec.evidence.gather import Blocks
from simspec.evidence.readers.base import MOST, LineReader, Place
from simspec.evidence.source import Rows, Source, Unknown
from simspec.model.errors import did_you_mean, shown

SHAPE = "key-value"
NAMES = ("kappa", "drafts", "draft_tokens", "accepted_tokens", "accepted_at_position")
_PAIR = re.compile(r"([A-Za-z_]\w*)=(\S+?)(?:[,;]?(?=\s|$))")


@dataclass(eq=False)
class KeyValue(LineReader):
    """A line with drafts= or accepted_tokens= is a window; windows are added up."""

    shapes = (SHAPE,)
    marks = (b"drafts=",)
    rows: Rows = field(default_factory=Rows)
    counts: Counts = field(default_factory=Counts)
    blocks: Blocks = field(default_factory=Blocks)
    kappas: set[int] = field(default_factory=set)
    whole: bool = True
    without: dict[str, str] = field(default_factory=dict)

    def line(self, text: str, place: Place) -> None:
        if not place.whole:
            place.torn()
            return
        pairs = _PAIR.findall(text)
        row: dict[str, Any] = {}
        for name, value in pairs:
            if name not in NAMES:
                if name in ("drafted", "accepted", "k", "gamma") or name.startswith(("accept", "draft")):
                    place.refuse(f"unknown name {shown(name)}{did_you_mean(name, NAMES)}")
                continue
            if name in row:
                place.refuse(f"{name} stands twice in one line")
            row[name] = self._value(name, value, place)
        if "drafts" not in row:  # it ran into the end of another line
            place.torn()
            return
        self._add(row, place)

    def _value(self, name: str, value: str, place: Place) -> int | list[int]:
        parts = value.strip("[]()").replace("/", ",").split(",") if name == "accepted_at_position" else [value]
        if not all(re.fullmatch(r"\d{1,15}", part) for part in parts) or len(parts) > LONGEST_DRAFT:
            kind = "whole numbers with commas and no spaces" if name == "accepted_at_position" else "a whole number ≥ 0"
            place.refuse(f"{name} = {shown(value)}; allowed: {kind}")
        numbers = [int(part) for part in parts]
        if max(numbers) > MOST:
            place.refuse(f"{name} = {shown(value)} is too large")
        return numbers if name == "accepted_at_position" else numbers[0]

    def _add(self, row: dict[str, Any], place: Place) -> None:
        missing = [name for name in ("draft_tokens", "accepted_tokens") if name not in row]
        if missing:
            place.refuse(f"{missing[0]}= is missing beside drafts=")
        drafts, drafted, accepted, kappa = row["drafts"], row["draft_tokens"], row["accepted_tokens"], row.get("kappa")
        reached = row.get("accepted_at_position")
        place.fits(accepted, drafted, drafts)
        if drafts > drafted or (kappa is not None and drafted > kappa * drafts):
            place.refuse(f"{accepted} accepted of {drafted} drafted tokens in {drafts} drafts do not fit")
        if reached is not None:
            falls = all(a >= b for a, b in zip([drafts, *reached], reached, strict=False))
            if not falls or sum(reached) != accepted or (kappa is not None and len(reached) > kappa):
                place.refuse("accepted_at_position must fall from drafts on, add up to accepted_tokens, and end at κ")
        self.rows.append(row)
        self.counts.add(Counts(kappa or 0, drafts, drafted, accepted, reached or []))
        if reached is not None and kappa and drafts:
            whole, at = reached + [0] * (kappa - len(reached)), (place.file, place.number)
            self.blocks.line(kappa, drafts, whole, drafted, at)
        if reached is None:
            self.without["reached"] = "a line has no accepted_at_position"
        if kappa is None:
            self.without["kappa"] = "a line has no kappa"
        elif len(self.kappas) < LONGEST_DRAFT:
            self.kappas.add(kappa)

    def finish(self) -> list[Source]:
        if not self.rows:
            return []
        own = Source(SHAPE, "name=value text")
        if not self.without:
            own.observed = self.blocks.observed()
        if len(self.kappas) > 1:
            own.say("KAPPA_CHANGED", f"κ = {sorted(self.kappas)[:20]}")
            own.say("CENSORED_BY_KAPPA", "survival is over all lines")
            self.without.setdefault("kappa", f"κ changes: {sorted(self.kappas)[:20]}")
            self.without.setdefault("reached", "κ changes: positions beyond the κ of a line are unobserved")
        elif "kappa" in self.without:
            own.say("KAPPA_UNKNOWN", self.without["kappa"])
        short = [row for row in self.rows if "kappa" in row and row["draft_tokens"] < row["kappa"] * row["drafts"]]
        if short:
            own.say("VARIABLE_DRAFT_LENGTH", f"{short[0]['draft_tokens']} drafted in {short[0]['drafts']} drafts")
        hidden = {name: Unknown(reason) for name, reason in self.without.items()}
        own.body["pooled"] = figures(self.counts, self.options.level, hidden)
        self.rows.put(own.body, "windows")
        own.conventions = {
            "accepted_tokens": "bonus token excluded",
            "counters": "per line: lines are added",
            "accepted_at_position": "survival counts",
        }
        return [own]
