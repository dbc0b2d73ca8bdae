"""TensorRT-LLM iteration statistics: one row per batch iteration, repeated by every rank."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from simspec.evidence.block import Counts, figures
from simspec.evidence.line_course import LineBlocks
from simspec.evidence.readers.base import MOST_GROUPS, Doubts, Fields, ObjectReader, Place
from simspec.evidence.readers.trtllm_times import IterationTimes
from simspec.evidence.source import Source, Unknown
from simspec.stats.batch_means import BatchMeans

SHAPE = "trtllm-iteration-stats"
_SNAKE = {
    "specDecodingStats": "spec_decoding_stats",
    "numDraftTokens": "num_draft_tokens",
    "numAcceptedTokens": "num_accepted_tokens",
    "numRequestsWithDraftTokens": "num_requests_with_draft_tokens",
    "acceptanceLength": "acceptance_length",
    "attentionDpRank": "attention_dp_rank",
    "iterLatencyMS": "iter_latency_ms",
    "draftOverhead": "draft_overhead",
    "inflightBatchingStats": "inflight_batching_stats",
    "numContextRequests": "num_context_requests",
    "numGenRequests": "num_gen_requests",
}
_TOLERANCE = 1e-3


@dataclass(eq=False)
class TrtllmIteration(ObjectReader):
    """Iterations are weighted by their requests, never averaged row by row."""

    shapes = (SHAPE,)
    marks = (b'"specDecodingStats"', b'"spec_decoding_stats"')
    drafts: int = 0
    drafted: int = 0
    accepted: int = 0
    runs: list[tuple[int, int, float]] = field(default_factory=list)
    runs_left_out: int = 0
    latest: int | None = None
    lost: int = 0
    rows: int = 0
    times: IterationTimes = field(default_factory=IterationTimes)
    spread: BatchMeans = field(default_factory=BatchMeans)
    course: LineBlocks = field(default_factory=LineBlocks)
    doubts: Doubts = field(default_factory=Doubts)
    source: Source = field(default_factory=lambda: Source(SHAPE, "TensorRT-LLM PyTorch backend /metrics"))

    def claims(self, record: dict[str, Any]) -> bool:
        return "iter" in record and any(name in record for name in ("specDecodingStats", "spec_decoding_stats"))

    def record(self, record: dict[str, Any], place: Place) -> None:
        row = Fields(_camel(record), place)
        self.rows += 1
        rank = row.count_or_none("attentionDpRank")
        if rank:
            self.doubts.add("DUPLICATE_RANK_ROWS", place, f"attentionDpRank {rank}")
            return
        number = row.count("iter")
        if self.latest is not None and number > self.latest + 1:
            self.lost += number - self.latest - 1
        elif self.latest is not None and number < self.latest:
            self.doubts.add("COUNTER_RESET", place, f"iteration {number} after {self.latest}")
        self.latest = number
        if row.record.get("specDecodingStats") is None:
            return
        own = row.part("specDecodingStats")
        drafts, drafted, accepted = (
            own.count(name) for name in ("numRequestsWithDraftTokens", "numDraftTokens", "numAcceptedTokens")
        )
        if drafts == 0 or drafted == 0:
            self.doubts.add("ZERO_ROUNDS", place)
            return
        place.fits(accepted, drafted)
        seen = f"line {place.number}: {drafts} and {drafted}"
        self.source.check("requests with drafts ≤ drafted tokens", drafts <= drafted, seen)
        length = own.number_or_none("acceptanceLength")
        if length is not None:
            seen = f"line {place.number}: {length} and {1 + accepted / drafts:.4f}"
            holds = abs(length - 1 - accepted / drafts) <= _TOLERANCE
            self.source.check("acceptanceLength = 1 + accepted / requests", holds, seen)
        self.drafts, self.drafted, self.accepted = (
            self.drafts + drafts,
            self.drafted + drafted,
            self.accepted + accepted,
        )
        self.spread.add(accepted, drafts)
        self.course.line(drafted // drafts, drafts, accepted, (place.file, place.number), drafted)
        self.times.add(row, own, drafts, drafted, accepted)
        self._kappa(number, drafted / drafts)

    def _kappa(self, number: int, kappa: float) -> None:
        if self.runs and self.runs[-1][2] == kappa:
            self.runs[-1] = (self.runs[-1][0], number, kappa)
        elif len(self.runs) < MOST_GROUPS:
            self.runs.append((number, number, kappa))
        else:
            self.runs_left_out += 1

    def finish(self) -> list[Source]:
        own = self.source
        kappas = {kappa for _, _, kappa in self.runs}
        hidden = Unknown("rows hold sums over a batch, nothing per position")
        unknown = {"reached": hidden}
        if len(kappas) != 1 or max(kappas) != int(max(kappas)):
            unknown["kappa"] = Unknown(f"κ changes: {sorted(kappas)[:10]}" if kappas else "no row with drafts")
        counts = Counts(int(max(kappas, default=0)), self.drafts, self.drafted, self.accepted)
        out = figures(counts, self.options.level, unknown)
        ends = self.spread.interval(self.options.level)
        if ends is not None:
            out["intervals"] = {
                "level": self.options.level,
                "method": f"between {self.spread.says} iterations (ratio estimator, Student's quantile)",
                "mean_emitted_per_round": [1.0 + max(0.0, ends[0]), 1.0 + min(float(max(kappas)), ends[1])],
            }
        out |= self.times.tell(own)
        out["kappa_by_iteration"] = {
            f"{first}-{last}" if last > first else str(first): int(k) if k == int(k) else k
            for first, last, k in self.runs
        }
        own.body["pooled"] = out
        own.line_course = self.course.course(None, "iteration") if self.drafts else None
        if self.runs_left_out:
            out["kappa_by_iteration_left_out"] = self.runs_left_out
        if len(kappas) > 1:
            own.say("KAPPA_CHANGED", f"drafted per request {', '.join(f'{k:g}' for k in sorted(kappas)[:10])}")
        if any(k != int(k) for k in kappas):
            own.say("VARIABLE_DRAFT_LENGTH", "drafted per request is not whole in some iterations")
        self.doubts.tell(own)
        if self.lost:
            own.ambiguous.append(
                f"{self.lost:,} iterations are missing between rows: the queue behind /metrics drops old ones"
            )
        own.conventions = {
            "acceptanceLength": "bonus token included; 0 where nothing was drafted",
            "drafts": "requests with draft tokens, one draft each per iteration",
            "iterLatencyMS": "time of a round where no request prefills; draftOverhead is the share of drafting in it",
        }
        own.rules += ["rows of other ranks repeat rank 0 and are dropped", "lengths are weighted by requests"]
        return [own]


def _camel(record: dict[str, Any]) -> dict[str, Any]:
    """The record with the names of the camel-case generation."""
    names = {snake: camel for camel, snake in _SNAKE.items()}
    own = {names.get(key, key): value for key, value in record.items()}
    for part in ("specDecodingStats", "inflightBatchingStats"):
        stats = own.get(part)
        if isinstance(stats, dict):
            own[part] = {names.get(key, key): value for key, value in stats.items()}
    return own
