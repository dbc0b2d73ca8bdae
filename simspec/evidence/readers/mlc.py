"""MLC-LLM's engine metrics: drafts offered and accepted by step, cumulative since the last reset."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from simspec.evidence.block import Counts, figures
from simspec.evidence.gather import pooled
from simspec.evidence.readers.base import Doubts, Fields, ObjectReader, Place
from simspec.evidence.source import Source, Unknown

SHAPE = "mlc-metrics"


@dataclass(eq=False)
class Mlc(ObjectReader):
    """Step 0 of both lists is the token of the target, always accepted; step j is draft j."""

    shapes = (SHAPE,)
    marks = (b'"draft_count"',)
    last: tuple[list[int], list[int]] | None = None
    segments: list[tuple[list[int], list[int]]] = field(default_factory=list)
    times: int = 0
    doubts: Doubts = field(default_factory=Doubts)

    def claims(self, record: dict[str, Any]) -> bool:
        return _block(record) is not None

    def record(self, record: dict[str, Any], place: Place) -> None:
        found = _block(record)
        assert found is not None
        own = Fields(found, place, "spec_decode.")
        offered, accepted = own.counts("draft_count"), own.counts("accept_count")
        if len(offered) != len(accepted) or not offered or any(a > d for a, d in zip(accepted, offered, strict=True)):
            place.refuse("spec_decode: accept_count does not fit draft_count")
        if offered[0] != accepted[0]:
            place.refuse("spec_decode: step 0 is the target's own token and must be accepted always")
        if any(a < b for counts in (offered, accepted) for a, b in pairwise(counts)):
            place.refuse("spec_decode: counts rise with the step")
        if self.last is not None and (
            len(offered) < len(self.last[0])
            or any(now < before for now, before in zip(offered, self.last[0], strict=False))
        ):
            self.doubts.add("COUNTER_RESET", place)
            self.segments.append(self.last)
        self.last = (offered, accepted)
        self.times += 1

    def finish(self) -> list[Source]:
        assert self.last is not None
        own = Source(SHAPE, "MLC-LLM engine metrics")
        blocks = [self._figures(own, *counts) for counts in (*self.segments, self.last)]
        if len(blocks) > 1:
            own.body["segments"] = blocks
        else:
            own.body["pooled"] = blocks[0]
        own.observed = pooled(
            (len(offered) - 1, offered[0], accepted[1:], sum(offered[1:]))
            for offered, accepted in (*self.segments, self.last)
            if len(offered) > 1
        )
        if self.times > 1:
            own.say("CUMULATIVE_STATISTICS", f"{self.times} objects, the last counts")
        self.doubts.tell(own)
        own.conventions = {
            "draft_count, accept_count": "by step; step 0 is the target's own token, step j the j-th draft",
            "accept_prob": "accepted / offered at that step; accept_rate: accepted / accepted at the step before",
            "counters": "cumulative since the last reset",
        }
        return [own]

    def _figures(self, own: Source, offered: list[int], accepted: list[int]) -> dict[str, Any]:
        drafts, steps, reached = offered[0], offered[1:], accepted[1:]
        if drafts == 0:
            own.say("ZERO_ROUNDS", "draft_count is 0")
        out = figures(Counts(len(steps), drafts, sum(steps), sum(reached), reached), self.options.level)
        out["offered_at_position"] = steps
        if any(count != drafts for count in steps):
            own.say("VARIABLE_DRAFT_LENGTH", f"offered by position: {steps[:20]}")
            hidden = Unknown("how many drafts reach a position after accepted ones is not in the counts")
            out["cond_alpha_given_offered"] = hidden
        return out


def _block(record: dict[str, Any]) -> dict[str, Any] | None:
    """The spec_decode object, wherever the response carries it."""
    own: Any = record
    for key in ("usage", "extra"):
        if isinstance(own, dict) and isinstance(own.get(key), dict):
            own = own[key]
    own = own.get("spec_decode") if isinstance(own, dict) else None
    return own if isinstance(own, dict) and "draft_count" in own and "accept_count" in own else None
