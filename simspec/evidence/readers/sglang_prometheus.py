"""Scrapes of SGLang's /metrics: gauges of the mean accept length and rate, which are no counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from simspec.evidence.readers.base import MOST_GROUPS, Doubts, LineReader, Place
from simspec.evidence.readers.exposition import series
from simspec.evidence.source import Rows, Source, Unknown

SHAPE = "sglang-prometheus"
PREFIX = "sglang:spec_accept_"
_GAUGES = {"length": "accept_len", "rate": "accept_rate"}


@dataclass(eq=False)
class SglangPrometheus(LineReader):
    """Every scrape is a row of momentary values; they are listed, never added or averaged."""

    shapes = (SHAPE,)
    marks = (PREFIX.encode(),)
    across_files = True
    rows: Rows = field(default_factory=Rows)
    now: dict[str, dict[str, Any]] = field(default_factory=dict)
    doubts: Doubts = field(default_factory=Doubts)

    def line(self, text: str, place: Place) -> None:
        own = series(text, place)
        if own is None:
            return
        name = _GAUGES.get(own.name.removeprefix(PREFIX))
        if name is None:
            place.refuse(f"unknown series {own.name}")
        if own.value < 0.0 or (own.value > 1.0 if name == "accept_rate" else 0.0 < own.value < 1.0):
            place.refuse(f"{own.name} = {own.value!r}; allowed: a rate up to 1, a length of 0 or from 1 on")
        if own.labels.get("tp_rank", "0") != "0":
            self.doubts.add("DUPLICATE_RANK_SERIES", place, f'tp_rank="{own.labels["tp_rank"]}"')
            return
        engine = own.labels.get("dp_rank", "0")
        if name in self.now.get(engine, {}) or len(self.now) > MOST_GROUPS:
            self.file_ends(place)
        self.now.setdefault(engine, {"dp_rank": engine})[name] = own.value

    def file_ends(self, place: Place) -> None:
        for row in self.now.values():
            if row.get("accept_len") == 0:  # a gauge that was never set
                self.doubts.add("ZERO_ROUNDS", place, "accept length 0")
                row["accept_len"] = Unknown("the gauge was never set")
            self.rows.append(row)
        self.now = {}

    def finish(self) -> list[Source]:
        if not self.rows:
            return []
        own = Source(SHAPE, "SGLang /metrics")
        self.rows.put(own.body, "windows")
        gauge = Unknown("the scrape holds gauges, no counts")
        names = ("kappa", "drafts", "draft_tokens", "accepted_tokens", "mean_emitted_per_round", "survival")
        own.body["pooled"] = dict.fromkeys(names, gauge)
        own.say("GAUGE_NOT_COUNTER", "spec_accept_length")
        own.say("NO_COUNTS", "gauges only")
        own.say("KAPPA_UNKNOWN", "κ is not in the scrape")
        self.doubts.tell(own)
        own.conventions = {
            "accept length": "bonus token included",
            "accept rate": "whether the bonus token counts depends on the version: not decided here",
            "counters": "none: momentary values of the last logging interval",
        }
        return [own]
