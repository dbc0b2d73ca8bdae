"""`vllm bench serve`: one print-out with counts and acceptance per position in percent."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from simspec.evidence.block import Counts, figures
from simspec.evidence.gather import pooled
from simspec.evidence.readers.base import Place
from simspec.evidence.readers.bench import BenchReader, Block, count, number, printed
from simspec.evidence.source import Source, Unknown

SHAPE = "vllm-bench-serve"
_POSITION = re.compile(r"Position (\d{1,4})")
_TOLERANCE = 5.1e-3
"""Printed figures have two decimals."""


@dataclass(eq=False)
class VllmBench(BenchReader):
    """Every print-out is a source of its own."""

    shapes = (SHAPE,)
    sources: list[Source] = field(default_factory=list)
    rounding: float = 5.0001e-5  # half of the last decimal that is printed

    def take(self, block: Block, place: Place) -> None:
        if "Backend" in block.fields:
            return
        own = Source(SHAPE, "vLLM bench serve")
        tok_s = number(block, "Output token throughput (tok/s)", place)
        drafts = count(block, "Drafts", place)
        if drafts is None and "Acceptance length" in block.fields:
            place.refuse("the print-out ending here has an acceptance length but no drafts: a form nobody knows")
        if drafts is None:
            own.body["pooled"] = {"speculation": False, "output_tok_s": tok_s} | printed(block, place)
            own.say("NO_DRAFT_FIELDS", f"print-out in line {block.number}")
        else:
            own.body["pooled"] = self._pooled(own, block, drafts, place) | {"output_tok_s": tok_s}
        place.one_more(self.sources, own)

    def _pooled(self, own: Source, block: Block, drafts: int, place: Place) -> dict[str, object]:
        drafted, accepted = count(block, "Draft tokens", place), count(block, "Accepted tokens", place)
        if drafted is None or accepted is None:
            place.refuse("the print-out ending here has drafts but no token counts: a form nobody knows")
        place.fits(accepted, drafted, drafts)
        rates = _positions(block, place)
        slack = int(drafts * self.rounding + 0.5)
        reached = [round(rate * drafts) for rate in rates]
        kappa = len(rates)
        counts = Counts(kappa, drafts, drafted, accepted, reached)
        unknown = {}
        if not rates:
            unknown = dict.fromkeys(("kappa", "reached"), Unknown("the print-out has no acceptance per position"))
            own.say("KAPPA_UNKNOWN", "no acceptance per position")
        out = figures(counts, self.options.level, unknown, slack=slack)
        self._check(own, block, counts, rates, place)
        if rates:
            own.observed = pooled([(kappa, drafts, reached, drafted)])
        told = printed(block, place)
        itl, tpot = told.get("mean_itl_ms"), told.get("mean_tpot_ms")
        if itl is not None and tpot:
            out["itl_over_tpot"] = round(itl / tpot, 3)
            own.say("ITL_IS_PER_ROUND", f"mean ITL {itl} ms, mean TPOT {tpot} ms")
        out |= told
        own.conventions = {
            "Acceptance length": "bonus token included",
            "Acceptance rate (%)": "accepted / drafted, in percent",
            "Position 0, 1, …": "survival in percent, over all drafts, counted from 0",
            "ITL": "gap between chunks, one per round; TPOT is per token",
        }
        own.rules = ["accepted per position = rate × drafts, rounded; its possible error stands beside it"]
        return out

    def _check(self, own: Source, block: Block, counts: Counts, rates: list[float], place: Place) -> None:
        drafts, drafted, accepted = counts.drafts, counts.draft_tokens, counts.accepted
        length, rate = number(block, "Acceptance length", place), number(block, "Acceptance rate (%)", place)
        if length is not None and drafts:
            counted = 1.0 + accepted / drafts
            own.check(
                "acceptance length = 1 + accepted / drafts",
                abs(length - counted) <= _TOLERANCE,
                f"printed {length}, counts give {counted:.4f}",
            )
        if rate is not None and drafted:
            counted = 100.0 * accepted / drafted
            seen = f"printed {rate}%, counts give {counted:.3f}%"
            holds = abs(rate - counted) <= _TOLERANCE
            own.check("acceptance rate = accepted / drafted", holds, seen, "RATE_CONTRADICTS_COUNTS")
        if rates and drafts:
            own.check(
                "accepted / drafts = ΣS_j",
                abs(sum(rates) - accepted / drafts) <= 5.1e-5 * len(rates),
                f"{sum(rates):.4f} and {accepted / drafts:.4f}",
            )
            own.check("S_j never rises", all(a >= b for a, b in zip([1.0, *rates], rates, strict=False)), f"{rates}")
            if drafted < len(rates) * drafts:
                own.say("VARIABLE_DRAFT_LENGTH", f"{drafted} drafted in {drafts} drafts of up to {len(rates)}")
            own.check("drafted ≤ κ·drafts", drafted <= len(rates) * drafts, f"{drafted} in {drafts} drafts")

    def finish(self) -> list[Source]:
        return self.sources


def _positions(block: Block, place: Place) -> list[float]:
    """Survival by position as fractions; positions must run from 0 without a gap."""
    found = {}
    for name in block.fields:
        position = _POSITION.fullmatch(name)
        if position:
            found[int(position.group(1))] = (number(block, name, place) or 0.0) / 100.0
    if sorted(found) != list(range(len(found))) or any(rate > 1.0 for rate in found.values()):
        place.refuse("positions of the print-out ending here are not 0, 1, 2, … with rates up to 100%")
    return [found[j] for j in range(len(found))]
