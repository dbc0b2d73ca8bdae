"""TensorRT-LLM request metrics: accepted and drafted tokens per request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from simspec.evidence.block import Counts, figures, given_kappa
from simspec.evidence.readers.base import Doubts, Fields, ObjectReader, Place
from simspec.evidence.source import Source, Unknown

SHAPE = "trtllm-request-metrics"
NAMES = ("acceptance_rate", "total_accepted_draft_tokens", "total_draft_tokens")
_TOLERANCE = 1e-4


@dataclass(eq=False)
class TrtllmRequest(ObjectReader):
    """Means only; κ must come from the caller."""

    shapes = (SHAPE,)
    marks = (b'"total_accepted_draft_tokens"',)
    requests: int = 0
    drafted: int = 0
    accepted: int = 0
    doubts: Doubts = field(default_factory=Doubts)
    source: Source = field(default_factory=lambda: Source(SHAPE, "TensorRT-LLM request metrics"))

    def claims(self, record: dict[str, Any]) -> bool:
        return _block(record) is not None

    def record(self, record: dict[str, Any], place: Place) -> None:
        found = _block(record)
        assert found is not None
        own = Fields(found, place)
        accepted, drafted = own.count(NAMES[1]), own.count(NAMES[2])
        place.fits(accepted, drafted)
        if drafted == 0:
            self.doubts.add("REQUEST_WITHOUT_SPEC", place)
            return
        rate = own.number_or_none(NAMES[0])
        if rate is not None:
            seen = f"line {place.number}: {rate} and {accepted / drafted:.5f}"
            holds = abs(rate - accepted / drafted) <= _TOLERANCE
            self.source.check("acceptance_rate = accepted / drafted", holds, seen, "RATE_CONTRADICTS_COUNTS")
        self.requests, self.drafted, self.accepted = self.requests + 1, self.drafted + drafted, self.accepted + accepted

    def finish(self) -> list[Source]:
        own = self.source
        hidden = Unknown("the metrics hold no number of drafts; pass κ (--kappa)")
        out = figures(
            Counts(0, 0, self.drafted, self.accepted),
            self.options.level,
            dict.fromkeys(("kappa", "drafts", "reached"), hidden),
        )
        kappa = self.options.kappa
        if kappa is not None:
            own.body["given_kappa"] = {str(kappa): given_kappa(kappa, self.drafted, self.accepted)}
        own.body = {"pooled": out, "requests": self.requests, **own.body}
        own.say("KAPPA_UNKNOWN", "the metrics hold no κ")
        own.observed = Unknown("the metrics hold sums over rounds, nothing per position")
        self.doubts.tell(own)
        own.conventions = {"acceptance_rate": "accepted / drafted; falls with κ at the same alpha"}
        own.ambiguous = [
            "builds of the PyTorch path before July 2026 leave these fields at 0 although drafts were made"
        ]
        return [own]


def _block(record: dict[str, Any]) -> dict[str, Any] | None:
    for path in ((), ("speculative_decoding",), ("perf_metrics", "speculative_decoding"), ("perf_metrics",)):
        own: Any = record
        for key in path:
            own = own.get(key) if isinstance(own, dict) else None
        if isinstance(own, dict) and NAMES[1] in own and NAMES[2] in own:
            return own
    return None
