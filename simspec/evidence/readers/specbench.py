"""Spec-Bench answer files: every step's emitted tokens, question by question."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from simspec.evidence.block import LONGEST_DRAFT, Counts, add_into, figures, reached_of
from simspec.evidence.readers.base import Doubts, Fields, ObjectReader, Place
from simspec.evidence.source import Source, Unknown
from simspec.model.errors import shown
from simspec.stats.request_sums import RequestSums

SHAPE = "spec-bench"
MOST_QUESTIONS = 200_000
"""Ids that are remembered, so that a row that stands twice counts once."""


@dataclass
class _Answer:
    """Histogram of accepted lengths of one question."""

    category: str
    histogram: list[int]
    tokens: float
    seconds: float


@dataclass(eq=False)
class SpecBench(ObjectReader):
    """One row per question; the last row of a question counts."""

    shapes = (SHAPE,)
    answers: dict[str, _Answer] = field(default_factory=dict)
    doubts: Doubts = field(default_factory=Doubts)

    def claims(self, record: dict[str, Any]) -> bool:
        choices = record.get("choices")
        return isinstance(choices, list) and any(isinstance(c, dict) and "accept_lengths" in c for c in choices)

    def record(self, record: dict[str, Any], place: Place) -> None:
        name = shown(record.get("question_id"))
        model = record.get("model_id")
        key = f"{name} {model}" if model is not None else name
        category = str(record.get("category", ""))[:200]
        answer = _Answer(category, [], 0.0, 0.0)
        for choice in record["choices"]:
            if not isinstance(choice, dict) or "accept_lengths" not in choice:
                place.refuse("choices hold something without accept_lengths")
            own = Fields(choice, place, "choices.")
            lengths = own.counts("accept_lengths")
            if lengths and not 1 <= min(lengths) <= max(lengths) <= LONGEST_DRAFT:
                found = f"{min(lengths)} to {max(lengths)}"
                place.refuse(f"accept_lengths hold {found}; allowed: 1 (bonus only) to {LONGEST_DRAFT}")
            histogram = [0] * max(lengths, default=0)
            for length, times in Counter(lengths).items():
                histogram[length - 1] = times
            add_into(answer.histogram, histogram)
            answer.tokens += sum(_list(own, "new_tokens"))
            answer.seconds += sum(_list(own, "wall_time"))
        if not answer.histogram:
            self.doubts.add("EMPTY_ROWS", place, f"question {name}")
            return
        if key in self.answers:
            self.doubts.add("DUPLICATE_ROWS", place, f"question {name}")
            del self.answers[key]
        elif len(self.answers) >= MOST_QUESTIONS:
            place.refuse(f"more than {MOST_QUESTIONS:,} questions; split the file")
        self.answers[key] = answer

    def finish(self) -> list[Source]:
        own = Source(SHAPE, "Spec-Bench answer file")
        longest = max((len(answer.histogram) for answer in self.answers.values()), default=1)
        kappa = self.options.kappa or longest - 1
        own.body["pooled"] = self._pooled(list(self.answers.values()), kappa, own)
        by_category: dict[str, list[_Answer]] = {}
        for answer in self.answers.values():
            by_category.setdefault(answer.category, []).append(answer)
        rows = {name: _category(answers) for name, answers in list(by_category.items())[:1_000]}
        own.body["per_category"] = rows
        means = [row["mean_emitted_per_round"] for row in rows.values()]
        own.body["mean_of_category_means"] = sum(means) / len(means) if means else Unknown("no question with a step")
        self.doubts.tell(own)
        own.conventions = {"accept_lengths": "tokens emitted per step, bonus token included (plain decoding: all ones)"}
        own.rules = [
            "the last row of a question counts; rows without a step are skipped",
            "accept_lengths may add up to more than new_tokens (steps run past the end): "
            "acceptance from accept_lengths, speed from new_tokens / wall_time",
        ]
        if self.options.kappa is None:
            own.ambiguous.append(
                f"κ is not in the file: {kappa} is the longest step seen less one, and draft_tokens assume it in every "
                "step; a tree has no single κ"
            )
        return [own]

    def _pooled(self, answers: list[_Answer], kappa: int, own: Source) -> dict[str, Any]:
        counts, sums = Counts(kappa, reached=[0] * kappa), RequestSums()
        tokens, seconds = 0.0, 0.0
        for answer in answers:
            if len(answer.histogram) > kappa + 1:
                own.say("IDENTITY_BROKEN", f"a step of {len(answer.histogram)} tokens at κ = {kappa}")
                reason = Unknown(f"a step emits {len(answer.histogram)} tokens, more than κ + 1 = {kappa + 1}")
                hidden = dict.fromkeys(("kappa", "drafts", "draft_tokens", "accepted", "reached"), reason)
                return figures(counts, self.options.level, hidden)
            reached = reached_of([*answer.histogram, *[0] * (kappa + 1 - len(answer.histogram))])
            rounds = sum(answer.histogram)
            counts.add(Counts(kappa, rounds, kappa * rounds, sum(reached), reached))
            sums.add(rounds, reached)
            tokens, seconds = tokens + answer.tokens, seconds + answer.seconds
        out = figures(counts, self.options.level, requests=sums)
        if seconds > 0:
            out["output_tok_s"] = tokens / seconds
        return out


def _list(own: Fields, name: str) -> list[float]:
    value = own.record.get(name, [])
    numbers = isinstance(value, list) and all(
        isinstance(v, (int, float)) and not isinstance(v, bool) and 0 <= v < 1e15 for v in value
    )
    if not numbers:
        own.place.refuse(f"{own.under}{name} = {shown(value)}; allowed: a list of numbers ≥ 0")
    return list(value)


def _category(answers: list[_Answer]) -> dict[str, Any]:
    rounds = sum(sum(answer.histogram) for answer in answers)
    tokens = sum((j + 1) * count for answer in answers for j, count in enumerate(answer.histogram))
    return {"rounds": rounds, "mean_emitted_per_round": tokens / rounds}
