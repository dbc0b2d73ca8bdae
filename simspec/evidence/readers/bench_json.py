"""Result files of `vllm bench serve --save-result` and of SGLang's bench_serving: the print-out as one JSON object."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from simspec.evidence.readers.base import Fields, ObjectReader, Place
from simspec.evidence.readers.bench import BenchReader, Block
from simspec.evidence.readers.sglang_bench import SglangBench
from simspec.evidence.readers.vllm_bench import VllmBench
from simspec.evidence.source import Source

VLLM, SGLANG = "vllm-bench-json", "sglang-bench-json"
_COMMON = {"output_throughput": "Output token throughput (tok/s)", "mean_itl_ms": "Mean ITL (ms)",
           "mean_tpot_ms": "Mean TPOT (ms)", "total_input_tokens": "Total input tokens",
           "total_output_tokens": "Total generated tokens"}  # fmt: skip
_VLLM = {"spec_decode_num_drafts": "Drafts", "spec_decode_draft_tokens": "Draft tokens",
         "spec_decode_accepted_tokens": "Accepted tokens", "spec_decode_acceptance_length": "Acceptance length",
         "max_concurrency": "Maximum request concurrency"}  # fmt: skip
_SGLANG = {"accept_length": "Accept length", "concurrency": "Concurrency",
           "max_concurrency": "Max request concurrency",
           "total_output_tokens_retokenized": "Total generated tokens (retokenized)"}  # fmt: skip
"""Key of the object → name in the print-out."""
_RATE, _POSITIONS = "spec_decode_acceptance_rate", "spec_decode_per_position_acceptance_rates"


@dataclass(eq=False)
class BenchJson(ObjectReader):
    """Every object is a source of its own; its figures are those of the print-out, unrounded."""

    shapes = (VLLM, SGLANG)
    marks = (b'"output_throughput"',)
    sources: list[Source] = field(default_factory=list)

    def claims(self, record: dict[str, Any]) -> bool:
        return "output_throughput" in record and "request_throughput" in record

    def record(self, record: dict[str, Any], place: Place) -> None:
        own = Fields(record, place)
        names = _SGLANG if "accept_length" in record else _VLLM
        block = Block(place.number)
        for key, name in (_COMMON | names).items():
            value = own.number_or_none(key)
            if value is not None:
                block.fields[name] = repr(value)
        reader: BenchReader
        if names is _SGLANG:
            block.fields["Backend"] = str(record.get("backend"))
            reader = SglangBench(self.options)
        else:
            _rates(own, block)
            reader = VllmBench(self.options, rounding=0.0)
        reader.take(block, place)
        (source,) = reader.finish()
        source.shape, source.engine = (SGLANG if names is _SGLANG else VLLM), f"{source.engine}, result file"
        place.one_more(self.sources, source)

    def finish(self) -> list[Source]:
        return self.sources


def _rates(own: Fields, block: Block) -> None:
    """Rates in percent, as printed.  Whether a file has fractions or percent is told by the counts."""
    drafts, drafted, accepted = (own.number_or_none(key) for key in list(_VLLM)[:3])
    rates = own.record.get(_POSITIONS) or []
    if not isinstance(rates, list) or not all(isinstance(r, (int, float)) and not isinstance(r, bool) for r in rates):
        own.place.refuse(f"{_POSITIONS}: allowed: a list of numbers")
    unit = _unit(sum(rates), accepted, drafts)
    for j, rate in enumerate(rates):
        block.fields[f"Position {j}"] = repr(float(rate) * unit)
    rate = own.number_or_none(_RATE)
    if rate is not None:
        block.fields["Acceptance rate (%)"] = repr(rate * _unit(rate, accepted, drafted))


def _unit(printed: float, top: float | None, bottom: float | None) -> float:
    """What makes a printed share percent: 1, or 100 where it is a fraction."""
    if not top or not bottom:
        return 100.0
    share = top / bottom
    return 100.0 if abs(printed - share) <= abs(printed / 100.0 - share) else 1.0
