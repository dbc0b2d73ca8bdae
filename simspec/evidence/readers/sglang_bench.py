"""SGLang's bench_serving: a mean accept length without counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from simspec.evidence.readers.base import Place
from simspec.evidence.readers.bench import BenchReader, Block, count, number, printed
from simspec.evidence.source import Source, Unknown

SHAPE = "sglang-bench-serving"
RETOKENIZED_LEAST = 0.9
"""Below this share the text does not hold the tokens that were counted; a tokeniser alone moves it little."""


@dataclass(eq=False)
class SglangBench(BenchReader):
    """Every print-out is a source of its own."""

    shapes = (SHAPE,)
    sources: list[Source] = field(default_factory=list)

    def take(self, block: Block, place: Place) -> None:
        if "Backend" not in block.fields:
            return
        own = Source(SHAPE, "SGLang bench_serving")
        length = number(block, "Accept length", place)
        tok_s = number(block, "Output token throughput (tok/s)", place)
        concurrency = number(block, "Concurrency", place)
        pooled: dict[str, Any] = {"output_tok_s": tok_s} | printed(block, place)
        if concurrency is not None and tok_s:
            pooled["mean_tpot_ms_at_concurrency"] = round(1000.0 * concurrency / tok_s, 2)
        if length is None:
            pooled["speculation"] = False
            own.say("NO_DRAFT_FIELDS", f"print-out in line {block.number}")
        else:
            if length < 1.0:
                place.refuse(f"Accept length: {length}; allowed: at least 1, as it counts the bonus token")
            means = Unknown("the print-out holds a mean without counts")
            names = (
                "kappa",
                "drafts",
                "draft_tokens",
                "accepted_tokens",
                "survival",
                "cond_alpha",
                "iid_alpha_mle_from_mean",
            )
            pooled |= {"mean_emitted_per_round": length, "mean_accepted_per_round": length - 1.0}
            pooled |= dict.fromkeys(names, means)
            own.say("KAPPA_UNKNOWN", "the print-out holds no κ")
        generated, again = (
            count(block, "Total generated tokens", place),
            count(block, "Total generated tokens (retokenized)", place),
        )
        if generated and again is not None and again < RETOKENIZED_LEAST * generated:
            own.say("RETOKENIZED_MISMATCH", f"{again:,} of {generated:,} tokens")
        if length is not None and "Mean ITL (ms)" in block.fields:
            own.say("ITL_DEFINITION_VERSION_DEPENDENT", f"mean ITL {block.fields['Mean ITL (ms)']} ms")
        own.body["pooled"] = pooled
        own.conventions = {"Accept length": "bonus token included", "Concurrency": "measured, not the one asked for"}
        place.one_more(self.sources, own)

    def finish(self) -> list[Source]:
        return self.sources
