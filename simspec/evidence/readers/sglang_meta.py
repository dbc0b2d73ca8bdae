"""SGLang's meta_info of /generate: three generations of field names, with or without a histogram."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from simspec.evidence.block import LONGEST_DRAFT, Counts, figures, pooled_figures, reached_of
from simspec.evidence.gather import Kept
from simspec.evidence.readers.base import Doubts, Fields, ObjectReader, Once, Place
from simspec.evidence.source import Rows, Source, Unknown
from simspec.model.errors import shown
from simspec.stats.request_sums import RequestSums

SHAPE = "sglang-meta-info"
CORRECT = ("spec_num_correct_drafts", "spec_accept_token_num")
PROPOSED = ("spec_num_proposed_drafts", "spec_draft_token_num")
HISTOGRAM = ("spec_correct_drafts_histogram", "spec_accept_histogram")
_KNOWN = {"spec_verify_ct", "spec_accept_rate", "spec_accept_length", *CORRECT, *PROPOSED, *HISTOGRAM}
_TOLERANCE = 1e-6


@dataclass(eq=False)
class SglangMeta(ObjectReader):
    """Requests with a histogram are pooled; of the others only tokens per round are known."""

    shapes = (SHAPE,)
    marks = (b'"spec_verify_ct"',)
    parts: dict[int, Counts] = field(default_factory=dict)
    requests: RequestSums = field(default_factory=RequestSums)
    kept: Kept = field(default_factory=Kept)
    rows: Rows = field(default_factory=Rows)
    completion: int = 0
    rounds: int = 0
    without_histogram: int = 0
    doubts: Doubts = field(default_factory=Doubts)
    once: Once = field(default_factory=Once)
    source: Source = field(default_factory=lambda: Source(SHAPE, "SGLang /generate meta_info"))

    def claims(self, record: dict[str, Any]) -> bool:
        own = record.get("meta_info", record)
        return isinstance(own, dict) and "spec_verify_ct" in own

    def record(self, record: dict[str, Any], place: Place) -> None:
        own = Fields(record["meta_info"], place, "meta_info.") if "meta_info" in record else Fields(record, place)
        unknown = [key for key in own.record if key.startswith("spec_") and key not in _KNOWN]
        if unknown:
            place.refuse(f"unknown field {own.under}{unknown[0]}; known: {', '.join(sorted(_KNOWN))}")
        if self.once.repeats(own.record.get("id"), own.record):
            self.doubts.add("DUPLICATE_ROWS", place, f"request {shown(own.record.get('id'))}")
            return
        rounds, completion = own.count("spec_verify_ct"), own.count_or_none("completion_tokens")
        row: dict[str, Any] = {"id": own.record.get("id")}
        if rounds == 0:
            self.doubts.add("ZERO_ROUNDS", place)
            row["emitted"] = Unknown("the request had no verification")
            self.rows.append(row)
            return
        row["emitted"] = Unknown("completion_tokens is missing") if completion is None else completion / rounds
        if completion is not None:
            self.completion, self.rounds = self.completion + completion, self.rounds + rounds
        correct, proposed = self._either(own, CORRECT), self._either(own, PROPOSED)
        histogram = next((own.counts(name) for name in HISTOGRAM if own.record.get(name) is not None), None)
        if correct is None and histogram is None and completion:
            row["emitted_without_prefill_token"] = (completion - 1) / rounds
        self._check(own, row, rounds, completion, correct, proposed, histogram)
        if histogram is not None:
            self._add(row, rounds, correct, proposed, histogram, place)
        else:
            self.without_histogram += 1
        self.rows.append(row)

    def _either(self, own: Fields, names: tuple[str, ...]) -> int | None:
        found = [own.count_or_none(name) for name in names if name in own.record]
        if len(found) > 1 and found[0] != found[1]:
            own.place.refuse(f"{names[0]} = {found[0]} and {names[1]} = {found[1]} contradict each other")
        return found[0] if found else None

    def _check(
        self,
        own: Fields,
        row: dict[str, Any],
        rounds: int,
        completion: int | None,
        correct: int | None,
        proposed: int | None,
        histogram: list[int] | None,
    ) -> None:
        length, rate = own.number_or_none("spec_accept_length"), own.number_or_none("spec_accept_rate")
        checks = []
        if length is not None and completion is not None:
            checks.append(
                (
                    "accept length = completion / verify_ct",
                    abs(length - completion / rounds) <= _TOLERANCE,
                    f"{length} and {completion / rounds:.6f}",
                )
            )
        if completion is not None:  # a verification more may have been under way when the request ended
            few = completion < rounds - 1
            checks.append(("a round emits at least one token", not few, f"{completion} tokens in {rounds} rounds"))
        if rate is not None and correct is not None and proposed:
            checks.append(
                (
                    "accept rate = correct / proposed",
                    abs(rate - correct / proposed) <= _TOLERANCE,
                    f"{rate} and {correct / proposed:.6f}",
                )
            )
        if histogram is not None:
            counted = sum(j * count for j, count in enumerate(histogram))
            if proposed is not None:
                checks.append(("accepted ≤ proposed", counted <= proposed, f"{counted} and {proposed}"))
            checks.append(("Σ h_j = verify_ct", sum(histogram) == rounds, f"{sum(histogram)} and {rounds}"))
            if correct is not None:
                checks.append(("Σ j·h_j = correct", counted == correct, f"{counted} and {correct}"))
                if counted != correct:
                    row |= {
                        "histogram_mean": 1.0 + counted / rounds,
                        "accepted_by_histogram": counted,
                        "accepted_by_field": correct,
                    }
        for equation, holds, seen in checks:
            self.source.check(equation, holds, f"line {own.place.number}: {seen}")

    def _add(
        self,
        row: dict[str, Any],
        rounds: int,
        correct: int | None,
        proposed: int | None,
        histogram: list[int],
        place: Place,
    ) -> None:
        kappa = len(histogram) - 1
        if not 1 <= kappa <= LONGEST_DRAFT or sum(histogram) != rounds:
            place.refuse(
                f"a histogram of {len(histogram)} bins that adds up to {sum(histogram)} does not fit {rounds} rounds"
            )
        reached = reached_of(histogram)
        drafted = proposed if proposed is not None else kappa * rounds
        if drafted > kappa * rounds:
            self.doubts.add("TREE_DRAFTER", place, f"{drafted} proposed in {rounds} rounds of depth {kappa}")
        elif drafted < kappa * rounds:
            self.doubts.add("VARIABLE_DRAFT_LENGTH", place, f"{drafted} proposed in {rounds} rounds of up to {kappa}")
        self.parts.setdefault(kappa, Counts(kappa)).add(Counts(kappa, rounds, drafted, sum(reached), reached))
        self.requests.add(rounds, reached)
        name = row["id"]
        self.kept.counts(kappa, rounds, reached, drafted, None if name is None else str(name)[:200])

    def finish(self) -> list[Source]:
        own = self.source
        level = self.options.level
        if self.parts:
            own.body["pooled_with_histogram"] = pooled_figures(self.parts.values(), level, self.requests)
            own.observed = self.kept.observed()
            if self.without_histogram:
                own.body["requests_without_histogram"] = self.without_histogram
            if "TREE_DRAFTER" in self.doubts.seen:
                own.ambiguous.append("drafts are trees: in the rounds, the deepest path stands for κ, not the nodes")
        else:
            none = Unknown("no request has a histogram")
            hidden = dict.fromkeys(("kappa", "drafts", "draft_tokens", "accepted", "reached"), none)
            own.body["pooled_with_histogram"] = figures(Counts(), level, hidden)
            own.say("KAPPA_UNKNOWN", "no request has a histogram")
        if own.several_kappas(self.parts):
            own.body["segments"] = [figures(part, level) for _, part in sorted(self.parts.items())]
        pooled: Any = self.completion / self.rounds if self.rounds else Unknown("no request with rounds and tokens")
        own.body["pooled_emitted"] = pooled
        self.rows.put(own.body, "per_request")
        self.doubts.tell(own)
        own.conventions = {
            "spec_accept_length": "completion_tokens / spec_verify_ct, bonus token included",
            "spec_accept_rate": "correct / proposed drafts",
            "histogram": "entry j: verifications with exactly j drafts accepted",
        }
        own.rules = [
            "requests without a verification are no data and left out of every mean",
            "where histogram and accepted count differ (a stop token cuts the last round), the histogram counts for "
            "acceptance, completion_tokens for speed",
            "completion_tokens may hold the token of the prompt pass: emitted_without_prefill_token leaves it out",
        ]
        return [own]
