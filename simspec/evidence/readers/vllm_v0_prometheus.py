"""Scrapes of /metrics of vLLM before V1: averages since the start, and counters that add totals to totals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from simspec.evidence.block import alpha_from_mean
from simspec.evidence.readers.base import Doubts, LineReader, Place
from simspec.evidence.readers.exposition import series
from simspec.evidence.source import Rows, Source, Unknown

SHAPE = "vllm-v0-prometheus"
PREFIX = "vllm:spec_decode_"
_GAUGES = {"draft_acceptance_rate": "reported_draft_acceptance_rate", "efficiency": "system_efficiency"}
_TOLERANCE = 1e-9
EMITTED = "num_emitted_tokens"
"""The series that V1 does not have."""


@dataclass(eq=False)
class VllmV0Prometheus(LineReader):
    """Every scrape is a row; the last one tells about all of the process's life."""

    shapes = (SHAPE,)
    marks = (b"vllm:spec_decode_draft_acceptance_rate", b"vllm:spec_decode_efficiency", b"vllm:spec_decode_num_emitted")
    across_files = True
    rows: Rows = field(default_factory=Rows)
    now: dict[str, Any] = field(default_factory=dict)
    doubts: Doubts = field(default_factory=Doubts)

    def line(self, text: str, place: Place) -> None:
        own = series(text, place)
        if own is None:
            return
        base = own.name.removeprefix(PREFIX)
        if base.removesuffix("_created").removesuffix("_total") == EMITTED:
            return
        name = _GAUGES.get(base)
        if name is None:
            place.refuse(f"unknown series {own.name}")
        if own.value < 0.0 or own.value > 1.0:  # NaN: nothing was drafted yet
            place.refuse(f"{own.name} = {own.value!r}; allowed: a share from 0 to 1")
        if name in self.now:
            self.file_ends(place)
        self.now[name] = own.value

    def file_ends(self, place: Place) -> None:
        if len(self.now) == len(_GAUGES):
            self.rows.append(self.now)
        elif self.now:
            place.torn()
        self.now = {}

    def finish(self) -> list[Source]:
        if not self.rows:
            return []
        own = Source(SHAPE, "vLLM 0.5-0.7 (V0) /metrics")
        self.rows.put(own.body, "windows")
        sums = Unknown("each logging interval adds the totals since the start to these counters again")
        kappa = Unknown("κ is not in the scrape; pass it (--kappa)")
        own.body["pooled"] = {
            "kappa": kappa,
            "mean_emitted_per_round": kappa,
            **dict.fromkeys(("drafts", "draft_tokens", "accepted_tokens", "survival", "cond_alpha"), sums),
        }
        efficiency = self.rows[-1].get("system_efficiency")
        if self.options.kappa is not None and efficiency is not None:
            mean = efficiency * (self.options.kappa + 1)
            few = f"a round emits at least one token, here {mean:.3g}: another κ, or nothing was drafted yet"
            emitted = Unknown(few) if mean < 1.0 - _TOLERANCE else mean
            alpha = emitted if isinstance(emitted, Unknown) else alpha_from_mean(mean - 1.0, self.options.kappa)
            own.body["given_kappa"] = {
                str(self.options.kappa): {"mean_emitted_per_round": emitted, "iid_alpha_mle_from_mean": alpha}
            }
        own.say("GAUGE_NOT_COUNTER", "spec_decode_draft_acceptance_rate, spec_decode_efficiency")
        own.say("NO_COUNTS", "the counters are no counts")
        own.say("KAPPA_UNKNOWN", "κ is not in the scrape")
        own.say("V0_ACCEPTED_COUNTS_POST_REJECTION", "in the acceptance rate")
        own.conventions = {
            "spec_decode_draft_acceptance_rate": "drafts that agree, also after the first rejection, over all drafts",
            "spec_decode_efficiency": "emitted / (drafts·(κ + 1)), bonus token included: E = efficiency·(κ + 1)",
            "counters": "the gauges are averages since the start of the process; the last scrape counts",
        }
        return [own]
