"""vLLM before V1 (0.5 to 0.7): one cumulative line, whose accepted tokens go on after the first rejection."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from simspec.evidence.block import alpha_from_mean
from simspec.evidence.readers.base import Doubts, LineReader, Place
from simspec.evidence.readers.vllm_line import metrics
from simspec.evidence.source import Rows, Source, Unknown

SHAPE = "vllm-v0-speculative-metrics"


@dataclass(frozen=True)
class _Totals:
    kappa: int
    accepted: int
    drafted: int
    emitted: int
    printed_rate: str
    printed_efficiency: str
    number: int


@dataclass(eq=False)
class VllmV0(LineReader):
    """Totals since the start of a process; a counter that falls begins a segment."""

    shapes = (SHAPE,)
    marks = (b"System efficiency: ",)
    last: _Totals | None = None
    segments: Rows = field(default_factory=Rows)
    doubts: Doubts = field(default_factory=Doubts)
    source: Source = field(default_factory=lambda: Source(SHAPE, "vLLM 0.5-0.7 (V0)"))
    kappas: set[int] = field(default_factory=set)

    def line(self, text: str, place: Place) -> None:
        for found in metrics(text, place):
            if found.shape != SHAPE:
                continue
            names = ("speculative", "accepted", "draft", "emitted")
            kappa, accepted, drafted, emitted = (int(found.fields[f"Number of {name} tokens"]) for name in names)
            place.fits(accepted, drafted)
            rate, efficiency = found.fields["Draft acceptance rate"], found.fields["System efficiency"]
            now = _Totals(kappa, accepted, drafted, emitted, rate, efficiency, place.number)
            before = self.last
            if before is not None:
                fell = min(accepted - before.accepted, drafted - before.drafted, emitted - before.emitted) < 0
                if fell:
                    self.doubts.add("COUNTER_RESET", place)
                    self._close()
                elif kappa != before.kappa:
                    place.refuse(f"κ changes from {before.kappa} to {kappa} while totals go on: they mix both")
            self.last = now

    def _close(self) -> None:
        now = self.last
        if now is None:
            return
        self.kappas.add(now.kappa)
        whole = now.kappa > 0 and now.drafted % now.kappa == 0
        reason = Unknown(f"drafted tokens ({now.drafted}) are no multiple of κ = {now.kappa}: drafts cannot be told")
        drafts: int | Unknown = now.drafted // now.kappa if whole else reason
        if drafts == 0:
            drafts = Unknown("no draft was made")
        row: dict[str, Any] = {
            "kappa": now.kappa,
            "draft_tokens": now.drafted,
            "drafts": drafts,
            "emitted_tokens": now.emitted,
            "reported_accepted_tokens": now.accepted,
        }
        if isinstance(drafts, int):
            emitted = now.emitted / drafts
            row |= {
                "mean_emitted_per_round": emitted,
                "mean_accepted_per_round": emitted - 1.0,
                "system_efficiency": emitted / (now.kappa + 1),
                "reported_draft_acceptance_rate": now.accepted / now.drafted,
                "naive_wrong_emitted_per_round": 1.0 + now.accepted / drafts,
                "iid_alpha_from_emitted": alpha_from_mean(emitted - 1.0, now.kappa),
            }
            self._check(row, now)
        else:
            self._check_rate(now)
            row |= dict.fromkeys(
                ("mean_emitted_per_round", "mean_accepted_per_round", "iid_alpha_from_emitted"), drafts
            )
        self.segments.append(row)
        self.last = None

    def _check(self, row: dict[str, Any], now: _Totals) -> None:
        seen = f"line {now.number}: {now.emitted} emitted in {row['drafts']} drafts"
        possible = row["drafts"] <= now.emitted <= row["drafts"] * (now.kappa + 1)
        self.source.check("drafts ≤ emitted ≤ drafts·(κ + 1)", possible, seen)
        if now.emitted == row["drafts"]:
            self.source.say("DRAFT_NEVER_ACCEPTED", seen)
        self._near(
            "system efficiency = emitted / (drafts·(κ + 1))", row["system_efficiency"], now.printed_efficiency, now
        )
        self._check_rate(now)

    def _check_rate(self, now: _Totals) -> None:
        if now.drafted:
            equation = "draft acceptance rate = accepted / drafted"
            self._near(equation, now.accepted / now.drafted, now.printed_rate, now)

    def _near(self, equation: str, value: float, text: str, now: _Totals) -> None:
        holds = text == "nan" or abs(value - float(text)) <= 5.1e-4
        self.source.check(equation, holds, f"line {now.number}: printed {text}, counts give {value:.4f}")

    def finish(self) -> list[Source]:
        self._close()
        if not self.segments:
            return []
        own = self.source
        self.segments.put(own.body, "segments")
        nowhere = Unknown("the line has no counts per position, and its accepted tokens go beyond the first rejection")
        own.body |= {"survival": nowhere, "cond_alpha": nowhere}
        own.conventions = {
            "counters": "cumulative since the start of the process",
            "Number of accepted tokens": "also counts drafts that agree after the first rejection",
            "Draft acceptance rate": "that count / drafted: a marginal rate, not alpha",
            "mean_emitted_per_round": "emitted / drafts, bonus token included",
        }
        own.say("V0_ACCEPTED_COUNTS_POST_REJECTION", "in every line")
        if len(self.kappas) > 1:
            own.say("KAPPA_CHANGED", f"κ = {sorted(self.kappas)}")
        self.doubts.tell(own)
        own.rules = [
            "the last line of each segment counts; lines are never added",
            "a counter that falls begins a segment",
            "drafts = drafted tokens / κ",
        ]
        own.ambiguous = [
            "builds with the bonus token off emit at most κ tokens a round: system efficiency then never reaches 1"
        ]
        return [own]
