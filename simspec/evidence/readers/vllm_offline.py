"""vLLM's offline example of speculative decoding: `num_drafts: …` and acceptance by token after a rule of dashes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise

from simspec.evidence.block import Counts, figures
from simspec.evidence.gather import pooled
from simspec.evidence.readers.base import LineReader, Place
from simspec.evidence.readers.counts import drafts_of
from simspec.evidence.source import Source, Unknown

SHAPE = "vllm-offline-example"
_COUNT = re.compile(r"(num_drafts|num_draft_tokens|num_accepted_tokens): (\d{1,15})\s*$")
_LENGTH = re.compile(r"mean acceptance length: (\d{1,15}\.\d{1,15})\s*$")
_POSITION = re.compile(r"acceptance at token (\d{1,4}): (\d\.\d{1,15})\s*$")
_COUNTS = ("num_drafts", "num_draft_tokens", "num_accepted_tokens")


@dataclass(eq=False)
class VllmOffline(LineReader):
    """A print-out begins at num_drafts; the next one, or the end of the file, ends it."""

    shapes = (SHAPE,)
    marks = (b"num_draft", b"num_accepted_tokens: ", b"mean acceptance length: ", b"acceptance at token ")
    counts: dict[str, int] = field(default_factory=dict)
    length: str | None = None
    rates: list[str] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)

    def line(self, text: str, place: Place) -> None:
        found = _COUNT.match(text)
        position, length = _POSITION.match(text), _LENGTH.match(text)
        if not (found or position or length):
            return
        if not place.whole:
            place.torn()
            self.counts.clear()
        elif found:
            if found.group(1) in self.counts:
                self.file_ends(place)
            self.counts[found.group(1)] = int(found.group(2))
        elif length:
            self.length = length.group(1)
        elif position:
            if int(position.group(1)) != len(self.rates):
                place.refuse(f"acceptance at token {position.group(1)} after {len(self.rates)} positions")
            self.rates.append(position.group(2))

    def file_ends(self, place: Place) -> None:
        counts, length, rates = self.counts, self.length, self.rates
        self.counts, self.length, self.rates = {}, None, []
        if not counts:
            return
        if set(counts) != set(_COUNTS) or length is None:
            place.torn()
            return
        own = Source(SHAPE, "vLLM offline example (spec_decode.py)")
        drafts, drafted, accepted = (counts[name] for name in _COUNTS)
        if rates and drafted > len(rates) * drafts:  # the last positions are missing
            place.torn()
            return
        place.fits(accepted, drafted, drafts)
        counts_of = Counts(len(rates), drafts, drafted, accepted, [round(float(rate) * drafts) for rate in rates])
        unknown, slack = {}, 0
        if rates:
            slack = int(drafts * 0.5 * 10.0 ** -_decimals(rates) + 0.5)
        else:
            unknown = dict.fromkeys(("kappa", "reached"), Unknown("the print-out has no acceptance by token"))
            own.say("KAPPA_UNKNOWN", "no acceptance by token")
        own.body["pooled"] = figures(counts_of, self.options.level, unknown, slack=slack)
        if rates:
            if drafted < len(rates) * drafts:
                own.say("VARIABLE_DRAFT_LENGTH", f"{drafted} drafted in {drafts} drafts of up to {len(rates)}")
            own.observed = pooled([(len(rates), drafts, counts_of.reached, drafted)])
        if drafts:
            counted = 1.0 + accepted / drafts
            own.check(
                "acceptance length = 1 + accepted / drafts",
                abs(float(length) - counted) <= 5.1e-3,
                f"printed {length}, counts give {counted:.4f}",
            )
            if rates and accepted and drafts * len(rates) == drafted:
                told = drafts_of(accepted, drafted, f"{counted:.2f}", rates)
                off = abs(accepted - drafts * sum(map(float, rates)))
                holds = told.best == drafts and off <= len(rates) * (0.5 * drafts * 10.0 ** -_decimals(rates) + 1e-6)
                own.check("accepted = drafts·ΣS_j", holds, f"rates {', '.join(rates)}")
            falls = all(float(a) >= float(b) for a, b in pairwise(rates))
            own.check("acceptance at token 0 ≥ token 1 ≥ …", falls, f"rates {', '.join(rates)}")
        own.conventions = {
            "mean acceptance length": "bonus token included",
            "acceptance at token j": "survival, counted from 0, over all drafts",
        }
        place.one_more(self.sources, own)

    def finish(self) -> list[Source]:
        return self.sources


def _decimals(rates: list[str]) -> int:
    """Fewest decimals of printed rates: how exact they are."""
    return min(len(rate.partition(".")[2]) for rate in rates)
