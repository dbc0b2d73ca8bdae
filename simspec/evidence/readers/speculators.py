"""The speculators project's acceptance tables: one row of counts per subset, survival per position."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, field
from typing import Any

from simspec.evidence.block import LONGEST_DRAFT, Counts, figures
from simspec.evidence.gather import pooled as pooled_rounds
from simspec.evidence.lines import Text
from simspec.evidence.readers.base import MOST, MOST_GROUPS, Options, Place
from simspec.evidence.readers.table import Body, TableReader, header
from simspec.evidence.source import Source
from simspec.model.errors import shown

SHAPE = "speculators-csv"
COUNTS = ("num_drafts", "num_draft_tokens", "num_accepted_tokens")
_POSITION = "acceptance_at_pos_"


@dataclass(eq=False)
class Speculators(TableReader):
    """Subsets are pooled by counts."""

    shapes = (SHAPE,)
    subsets: dict[str, Counts] = field(default_factory=dict)
    source: Source = field(default_factory=lambda: Source(SHAPE, "vLLM speculators evaluation"))

    @classmethod
    def looks_like(cls, head: bytes, options: Options) -> bool:
        own = header(head)
        return own is not None and all(name in own.columns for name in ("subset", *COUNTS, f"{_POSITION}0"))

    def read(self, text: Text, place: Place) -> None:
        own = header(text.head())
        assert own is not None
        positions = [name for name in own.columns if re.fullmatch(_POSITION + r"\d{1,4}", name)]
        if positions != [f"{_POSITION}{j}" for j in range(len(positions))]:
            place.refuse(f"columns {_POSITION}… are not 0, 1, 2, …")
        body = io.TextIOWrapper(
            io.BufferedReader(Body(text, own, place)), encoding="utf-8", errors="replace", newline=""
        )
        for number, row in enumerate(csv.DictReader(body, own.columns, delimiter=own.separator), start=1):
            place.number = number
            if number > 1:  # the header, whose names are in own.columns without blanks
                self._row(row, positions, place)

    def _row(self, row: dict[str, Any], positions: list[str], place: Place) -> None:
        drafts, drafted, accepted = (_number(row, name, place) for name in COUNTS)
        if any(value != int(value) for value in (drafts, drafted, accepted)) or len(positions) > LONGEST_DRAFT:
            place.refuse("counts must be whole numbers")
        place.fits(int(accepted), int(drafted))
        rates = [_number(row, name, place) for name in positions]
        falls = all(a >= b for a, b in zip([1.0, *rates], rates, strict=False))
        seen = f"line {place.number}"
        self.source.check("S_j never rises", falls, seen)
        decimals = max(len(str(row[name]).partition(".")[2]) for name in positions)
        slack = 0.5 * 10.0**-decimals + 1e-9  # of a rate, as printed
        self.source.check(
            "accepted = drafts·ΣS_j", abs(sum(rates) - accepted / max(drafts, 1)) <= len(rates) * slack, seen
        )
        self.source.check("drafted = κ·drafts", drafted == len(positions) * drafts, seen)
        name = str(row.get("subset", place.number))[:200]
        if len(self.subsets) >= MOST_GROUPS and name not in self.subsets:
            place.refuse(f"more than {MOST_GROUPS} subsets")
        if name in self.subsets:
            place.refuse(f"subset {shown(name)} stands twice")
        reached = [round(rate * drafts) for rate in rates]
        self.subsets[name] = Counts(len(positions), int(drafts), int(drafted), int(accepted), reached)

    def finish(self) -> list[Source]:
        own = self.source
        pooled = Counts()
        for counts in self.subsets.values():
            pooled.add(counts)
        level = self.options.level
        own.body["pooled"] = figures(pooled, level)
        own.observed = pooled_rounds(
            (own.kappa, own.drafts, own.reached, own.draft_tokens) for own in self.subsets.values()
        )
        own.body["per_subset"] = {name: figures(counts, level) for name, counts in self.subsets.items()}
        own.conventions = {"acceptance_length": "bonus token included", f"{_POSITION}j": "survival, counted from 0"}
        return [own]


def _number(row: dict[str, Any], name: str, place: Place) -> float:
    try:
        value = float(row[name])
    except (TypeError, ValueError):
        place.refuse(f"{name} = {shown(row.get(name))}; allowed: a number")
    if not 0 <= value <= MOST:
        place.refuse(f"{name} = {value}; allowed: a number ≥ 0")
    return value
