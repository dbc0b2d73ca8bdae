"""gpt-fast's summary: shares of rounds by accepted length, and their mean."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from simspec.evidence.block import alpha_from_mean
from simspec.evidence.readers.base import LineReader, Place
from simspec.evidence.source import Source, Unknown

SHAPE = "gpt-fast-summary"
_SHARES = re.compile(r"Acceptance probs: \[([^\]]*)\]")
_MEAN = re.compile(r"Mean Accepted: (\d{1,15}(?:\.\d{1,15})?)(?!\S)")
_SPEED = re.compile(r"Average tokens/sec: (\d{1,15}\.\d\d)")
_ONE = 1e-6


@dataclass(eq=False)
class GptFast(LineReader):
    """The list is a law of A, index = accepted drafts; survival is its tail."""

    shapes = (SHAPE,)
    marks = (b"Acceptance probs: [", b"Mean Accepted: ", b"Average tokens/sec: ")
    shares: list[float] | None = None
    sources: list[Source] = field(default_factory=list)

    def line(self, text: str, place: Place) -> None:
        shares, mean, speed = _SHARES.search(text), _MEAN.search(text), _SPEED.search(text)
        if shares:
            try:
                self.shares = [float(part) for part in shares.group(1).split(",")]
            except ValueError:
                place.refuse(f"Acceptance probs: [{shares.group(1)[:40]}]; allowed: numbers")
        elif "Acceptance probs" in text:
            place.torn()
        elif mean and self.shares is not None and place.whole:
            self._take(self.shares, float(mean.group(1)), place)
            self.shares = None
        elif speed and self.sources:
            self.sources[-1].body["pooled"]["output_tok_s"] = float(speed.group(1))

    def file_ends(self, place: Place) -> None:
        if self.shares is not None:
            place.torn()
            self.shares = None

    def _take(self, shares: list[float], mean: float, place: Place) -> None:
        if not all(0.0 <= share <= 1.0 for share in shares) or abs(sum(shares) - 1.0) > _ONE:
            place.refuse("Acceptance probs do not add up to 1")
        own = Source(SHAPE, "gpt-fast")
        survival = [sum(shares[j:]) for j in range(1, len(shares))]
        counts = Unknown("the summary holds shares without a number of rounds")
        counted = sum(survival)
        seen = f"printed {mean}, shares give {counted:.4f}"
        own.check("mean accepted = Σ j·P(A = j)", abs(counted - mean) <= 1e-3, seen)
        own.body["pooled"] = {
            "kappa": len(survival),
            "drafts": counts,
            "draft_tokens": counts,
            "accepted_tokens": counts,
            "mean_accepted_per_round": counted,
            "mean_emitted_per_round": 1.0 + counted,
            "draft_acceptance_rate": counted / len(survival) if survival else counts,
            "accepted_at_position": counts,
            "survival": survival,
            "cond_alpha": [
                s / before if before else Unknown("the position before was never accepted")
                for s, before in zip(survival, [1.0, *survival], strict=False)
            ],
            "iid_alpha_mle_from_mean": alpha_from_mean(min(counted, float(len(survival))), len(survival)),
            "intervals": counts,
        }
        own.observed = counts
        own.say("PMF_NOT_SURVIVAL", "Acceptance probs")
        own.say("NO_COUNTS", "shares only")
        own.conventions = {"Acceptance probs": "P(A = j), j from 0", "Mean Accepted": "bonus token excluded"}
        place.one_more(self.sources, own)

    def finish(self) -> list[Source]:
        return self.sources
