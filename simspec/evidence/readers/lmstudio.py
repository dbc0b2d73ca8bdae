"""LM Studio's prediction stats: accepted, rejected and never verified drafts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from simspec.evidence.readers.base import Doubts, Fields, ObjectReader, Place
from simspec.evidence.source import Rows, Source, Unknown

SHAPE = "lmstudio-stats"
_COUNTS = ("totalDraftTokensCount", "acceptedDraftTokensCount", "rejectedDraftTokensCount", "ignoredDraftTokensCount")


@dataclass(eq=False)
class LmStudio(ObjectReader):
    """One object per prediction."""

    shapes = (SHAPE,)
    marks = (b'"predictedTokensCount"',)
    rows: Rows = field(default_factory=Rows)
    sums: list[int] = field(default_factory=lambda: [0, 0, 0, 0, 0])
    doubts: Doubts = field(default_factory=Doubts)
    source: Source = field(default_factory=lambda: Source(SHAPE, "LM Studio prediction stats"))

    def claims(self, record: dict[str, Any]) -> bool:
        own = record.get("stats", record)
        return isinstance(own, dict) and "predictedTokensCount" in own

    def record(self, record: dict[str, Any], place: Place) -> None:
        own = Fields(record["stats"], place, "stats.") if "stats" in record else Fields(record, place)
        if all(own.record.get(name) is None for name in _COUNTS):
            self.doubts.add("NO_DRAFT_FIELDS", place)
            self.rows.append({"speculation": False})
            return
        total, accepted, rejected = (own.count(name) for name in _COUNTS[:3])
        ignored, emitted = own.count_or_none(_COUNTS[3]) or 0, own.count("predictedTokensCount")
        if accepted > total or (emitted and accepted >= emitted):
            place.refuse(f"{accepted} accepted of {total} drafts and {emitted} predicted tokens do not fit")
        seen = f"line {place.number}: {total} and {accepted + rejected + ignored}"
        self.source.check("total = accepted + rejected + ignored", total == accepted + rejected + ignored, seen)
        prompt, both = own.count_or_none("promptTokensCount"), own.count_or_none("totalTokensCount")
        if prompt is not None and both is not None:
            seen = f"line {place.number}: {prompt} + {emitted} and {both}"
            self.source.check("tokens = those of the prompt + predicted", prompt + emitted == both, seen)
        if ignored:
            self.doubts.add("IGNORED_DRAFTS", place, f"{ignored} of {total}")
        now = [total, accepted, rejected, ignored, emitted]
        self.sums = [a + b for a, b in zip(self.sums, now, strict=True)]
        self.rows.append(_figures(now))

    def finish(self) -> list[Source]:
        own = self.source
        if self.sums[0] or self.sums[4]:
            own.body["pooled"] = _figures(self.sums)
            own.say("KAPPA_UNKNOWN", "the object holds no κ")
        else:
            own.body["pooled"] = {"speculation": False}
        if len(self.rows) > 1:
            self.rows.put(own.body, "per_request")
        self.doubts.tell(own)
        own.conventions = {
            "acceptance_of_total": "accepted / all drafts, ignored ones too",
            "acceptance_of_verified": "accepted / (accepted + rejected)",
        }
        own.rules = ["rounds are at most predicted − accepted, as passes without a draft count too"]
        return [own]


def _figures(counts: list[int]) -> dict[str, Any]:
    total, accepted, rejected, ignored, emitted = counts
    none, hidden = Unknown("no draft"), Unknown("the object holds no number of rounds")
    passes = emitted - accepted
    return {
        "draft_tokens": total,
        "accepted_tokens": accepted,
        "rejected_tokens": rejected,
        "ignored_tokens": ignored,
        "emitted_tokens": emitted,
        "drafts": hidden,
        "drafts_upper": passes,
        "mean_emitted_per_round_lower": emitted / passes if passes > 0 else none,
        "acceptance_of_total": accepted / total if total else none,
        "acceptance_of_verified": accepted / (accepted + rejected) if accepted + rejected else none,
        "kappa": hidden,
        "survival": hidden,
    }
