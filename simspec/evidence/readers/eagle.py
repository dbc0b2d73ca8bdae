"""EAGLE and Medusa evaluation files: steps and tokens per turn, nothing per step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from simspec.evidence.readers.base import Doubts, Fields, ObjectReader, Place
from simspec.evidence.source import Source, Unknown

SHAPE = "eagle-medusa-eval"


@dataclass(eq=False)
class Eagle(ObjectReader):
    """Tokens per step only."""

    shapes = (SHAPE,)
    marks = (b'"idxs"',)
    steps: int = 0
    tokens: int = 0
    turns: int = 0
    seconds: float = 0.0
    doubts: Doubts = field(default_factory=Doubts)
    source: Source = field(default_factory=lambda: Source(SHAPE, "EAGLE / Medusa evaluation"))

    def claims(self, record: dict[str, Any]) -> bool:
        choices = record.get("choices")
        if not isinstance(choices, list) or not choices or not all(isinstance(c, dict) for c in choices):
            return False
        return all("idxs" in c and "new_tokens" in c and "accept_lengths" not in c for c in choices)

    def record(self, record: dict[str, Any], place: Place) -> None:
        for choice in record["choices"]:
            own = Fields(choice, place, "choices.")
            last, tokens = own.counts("idxs"), own.counts("new_tokens")
            if len(last) != len(tokens):
                place.refuse(f"choices.idxs has {len(last)} turns, choices.new_tokens {len(tokens)}")
            seen = f"line {place.number}: {sum(tokens)} tokens in {sum(last) + len(last)} steps"
            self.source.check("a step emits at least one token", sum(tokens) >= sum(last), seen)
            if not last:
                self.doubts.add("EMPTY_ROWS", place)
            self.steps += sum(last) + len(last)
            self.tokens += sum(tokens)
            self.turns += len(last)
            times = choice.get("wall_time", [])
            if isinstance(times, list) and all(isinstance(t, (int, float)) and 0 <= t < 1e9 for t in times):
                self.seconds += sum(times)

    def finish(self) -> list[Source]:
        own = self.source
        hidden = Unknown("the file holds steps and tokens per turn, nothing per step")
        names = (
            "kappa",
            "draft_tokens",
            "accepted_tokens",
            "draft_acceptance_rate",
            "survival",
            "cond_alpha",
            "iid_alpha_mle_from_mean",
        )
        mean: Any = self.tokens / self.steps if self.steps else Unknown("no step")
        own.body["pooled"] = {
            "drafts": self.steps,
            "emitted_tokens": self.tokens,
            "turns": self.turns,
            "mean_emitted_per_round": mean,
            **dict.fromkeys(names, hidden),
        }
        if self.seconds > 0:
            own.body["pooled"]["output_tok_s"] = self.tokens / self.seconds
        own.say("KAPPA_UNKNOWN", "the file holds no κ")
        self.doubts.tell(own)
        own.conventions = {
            "idxs": "index of the last step of a turn, from 0: steps = idxs + 1",
            "new_tokens": "bonus tokens included",
        }
        own.ambiguous = [
            "whether a version counts the token of the prompt pass is open: at most one token per turn",
            "drafts of these engines are trees: no chain's κ exists",
        ]
        return [own]
