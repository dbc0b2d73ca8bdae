"""Spec-Bench answer files: every step's emitted tokens, question by question."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from simspec.evidence.block import LONGEST_DRAFT, Counts, add_into, figures, reached_of
from simspec.evidence.gather import MOST_KEPT, Kept
from simspec.evidence.observed import Observed
from simspec.evidence.readers.base import Doubts, Fields, ObjectReader, Place
from simspec.evidence.source import Source, Unknown
from simspec.model.errors import shown
from simspec.stats.request_sums import RequestSums

SHAPE = "spec-bench"
WHICH_KAPPA = Unknown(
    "the file does not hold κ, and a step tells only what it emitted: a short one may be a rejection or a short draft; "
    "give --kappa if every step drafted as many"
)
MOST_QUESTIONS = 200_000
"""Ids that are remembered, so that a row that stands twice counts once."""


@dataclass
class _Answer:
    """Histogram of accepted lengths of one question, and its turns step by step while there is room."""

    name: str
    category: str
    histogram: list[int]
    tokens: float
    seconds: float
    turns: list[array[int]] = field(default_factory=list)
    steps: int = 0


@dataclass(eq=False)
class SpecBench(ObjectReader):
    """One row per question; the last row of a question counts."""

    shapes = (SHAPE,)
    marks = (b'"accept_lengths"',)
    answers: dict[str, _Answer] = field(default_factory=dict)
    steps: int = 0
    full: bool = False
    apart: bool = True
    source: Source = field(default_factory=lambda: Source(SHAPE, "Spec-Bench answer file"))
    doubts: Doubts = field(default_factory=Doubts)

    def claims(self, record: dict[str, Any]) -> bool:
        choices = record.get("choices")
        return isinstance(choices, list) and any(isinstance(c, dict) and "accept_lengths" in c for c in choices)

    def record(self, record: dict[str, Any], place: Place) -> None:
        name = shown(record.get("question_id"))
        model = record.get("model_id")
        key = f"{name} {model}" if model is not None else name
        category = str(record.get("category", ""))[:200]
        answer = _Answer(name, category, [], 0.0, 0.0)
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
            tokens = _list(own, "new_tokens")
            self._check(own, lengths, tokens)
            answer.tokens += sum(tokens)
            answer.seconds += sum(_list(own, "wall_time"))
            self._turns(answer, own, lengths)
        if not answer.histogram:
            self.doubts.add("EMPTY_ROWS", place, f"question {name}")
            return
        if key in self.answers:
            self.doubts.add("DUPLICATE_ROWS", place, f"question {name}")
            self.steps -= sum(map(len, self.answers.pop(key).turns))
        elif len(self.answers) >= MOST_QUESTIONS:
            place.refuse(f"more than {MOST_QUESTIONS:,} questions; split the file")
        self.answers[key] = answer

    def _check(self, own: Fields, lengths: list[int], tokens: list[float]) -> None:
        """Steps against tokens and steps by turn: the last step of a turn may run past its end, and no other."""
        turns, emitted, seen = len(tokens), sum(lengths), f"line {own.place.number}: "
        if lengths and turns:
            holds = -turns <= emitted - sum(tokens) < turns * max(lengths)
            equation = "Σ accept_lengths = new_tokens, but for the last step of a turn"
            self.source.check(equation, holds, seen + f"{emitted} and {sum(tokens):g}")
        sizes = _turn_steps(own)
        if lengths and sizes:
            holds = sum(sizes) == len(lengths)
            self.source.check("Σ decoding_steps = steps", holds, seen + f"{sum(sizes)} and {len(lengths)}")

    def _turns(self, answer: _Answer, own: Fields, lengths: list[int]) -> None:
        """Keep the steps, turn by turn where decoding_steps tells how many each has."""
        answer.steps += len(lengths)
        self.full = self.full or self.steps + len(lengths) > MOST_KEPT
        if self.full:
            return
        self.steps += len(lengths)
        sizes = _turn_steps(own)
        if sum(sizes) != len(lengths):
            turns = own.record.get("turns")
            sizes, self.apart = [len(lengths)], self.apart and not (isinstance(turns, list) and len(turns) > 1)
        start = 0
        for size in sizes:
            answer.turns.append(array("H", [length - 1 for length in lengths[start : start + size]]))
            start += size

    def finish(self) -> list[Source]:
        own = self.source
        longest = max((len(answer.histogram) for answer in self.answers.values()), default=1)
        kappa = self.options.kappa or longest - 1
        own.body["pooled"] = self._pooled(list(self.answers.values()), kappa, own)
        own.assumes_kappa = self.options.kappa is None
        own.observed = WHICH_KAPPA if own.assumes_kappa else self._observed(kappa)
        if not self.apart:
            own.ambiguous.append("where one turn ends and the next begins is not in the file: turns are read as one")
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

    def _observed(self, kappa: int) -> Observed | Unknown:
        """Every turn a generation of its own."""
        kept = Kept()
        for answer in self.answers.values():
            if len(answer.histogram) > kappa + 1:
                return Unknown(f"a step emits {len(answer.histogram)} tokens, more than κ + 1 = {kappa + 1}")
            for i, turn in enumerate(answer.turns):
                name = answer.name if len(answer.turns) == 1 else f"{answer.name}, turn {i + 1}"
                kept.sequence([kappa] * len(turn), turn, name)
            kept.left_out += answer.steps - sum(map(len, answer.turns))
        return kept.observed() if kappa else Unknown("no draft was made: every step has one token")

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


def _turn_steps(own: Fields) -> list[int]:
    return own.counts("decoding_steps") if isinstance(own.record.get("decoding_steps"), list) else []


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
