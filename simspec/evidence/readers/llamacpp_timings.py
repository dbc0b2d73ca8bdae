"""llama.cpp's `timings` object in a completion: token counts and times, without a number of drafts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from simspec.evidence.block import Counts, figures
from simspec.evidence.readers.base import Doubts, Fields, ObjectReader, Place
from simspec.evidence.source import Rows, Source, Unknown

SHAPE = "llamacpp-timings"


@dataclass(eq=False)
class LlamacppTimings(ObjectReader):
    """One object per request; alone, or under `timings` of a response."""

    shapes = (SHAPE,)
    marks = (b'"predicted_n"',)
    items: Rows = field(default_factory=Rows)
    passes: int = 0
    emitted: int = 0
    drafted: int = 0
    accepted: int = 0
    doubts: Doubts = field(default_factory=Doubts)

    def claims(self, record: dict[str, Any]) -> bool:
        own = record.get("timings", record)
        return isinstance(own, dict) and "predicted_n" in own and "predicted_ms" in own

    def record(self, record: dict[str, Any], place: Place) -> None:
        own = Fields(record["timings"], place, "timings.") if "timings" in record else Fields(record, place)
        emitted, ms = own.count("predicted_n"), own.number_or_none("predicted_ms")
        if "draft_n" not in own.record:
            if "draft_n_accepted" in own.record:
                place.refuse("draft_n_accepted without draft_n")
            self.doubts.add("NO_DRAFT_FIELDS", place)
            self.items.append(
                {"speculation": False, "predicted_per_second": own.number_or_none("predicted_per_second")}
            )
            return
        drafted, accepted = own.count("draft_n"), own.count("draft_n_accepted")
        if accepted > drafted or (emitted and accepted >= emitted):
            place.refuse(f"draft_n_accepted = {accepted} does not fit draft_n = {drafted} and predicted_n = {emitted}")
        none = Unknown("nothing was drafted")
        row: dict[str, Any] = {
            "emitted_tokens": emitted,
            "accepted_tokens": accepted,
            "draft_tokens": drafted,
            "draft_acceptance_rate": accepted / drafted if drafted else none,
        }
        passes = emitted - accepted
        if passes > 0:
            row |= {
                "drafts_if_every_round_drafts": passes,
                "mean_emitted_per_round": emitted / passes,
                "mean_drafted_per_round_lower": drafted / passes,
                "round_ms": Unknown("predicted_ms is missing") if ms is None else ms / passes,
            }
            self.passes, self.emitted = self.passes + passes, self.emitted + emitted
        else:
            self.doubts.add("ZERO_ROUNDS", place)
        self.drafted, self.accepted = self.drafted + drafted, self.accepted + accepted
        self.items.append(row)

    def finish(self) -> list[Source]:
        own = Source(SHAPE, "llama.cpp server 'timings' object")
        self.items.put(own.body, "items")
        hidden = Unknown(
            "drafts and κ are not given: predicted − accepted counts every target pass, also those without a draft"
        )
        pooled = figures(
            Counts(0, 0, self.drafted, self.accepted),
            self.options.level,
            dict.fromkeys(("kappa", "drafts", "reached"), hidden),
        )
        if self.passes:
            pooled |= {"drafts_upper": self.passes, "mean_emitted_per_round": self.emitted / self.passes}
        own.body["pooled"] = pooled
        if self.drafted or self.passes:
            own.say("KAPPA_UNKNOWN", "the object holds no κ")
        self.doubts.tell(own)
        own.conventions = {"predicted_n": "emitted tokens, bonus tokens included", "draft_n_accepted": "bonus excluded"}
        own.rules = [
            "draft_n missing: speculation was off for that request, not 0",
            "passes = predicted_n − draft_n_accepted; mean drafted per pass is a lower bound of κ",
        ]
        return [own]
