"""llama.cpp's `llama-speculative`: counts of one run, and two performance sections, draft and target."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from simspec.evidence.block import alpha_from_mean
from simspec.evidence.readers.base import LineReader, Place
from simspec.evidence.source import Rows, Source, Unknown

SHAPE = "llamacpp-speculative-cli"
FAR_FROM_ALPHA = 0.05
"""From this distance on, taking the printed rate for alpha misleads a choice of κ."""

_COUNT = re.compile(r"(n_draft|n_predict|n_drafted|n_accept)\s*= (\d{1,12})\s*$")
_RATE = re.compile(r"accept\s*= (\d{1,15}\.\d{1,15}|-?nan)%")
_DECODED = re.compile(r"decoded\s+(\d{1,12}) tokens in\s+(\d{1,15}\.\d{1,15}) seconds")
_SECTION = re.compile(r"(draft|target):\s*$")
_EVAL = re.compile(
    r"\S+:\s+eval time =\s*(\d{1,15}\.\d{1,15}) ms /\s*(\d{1,12}) (?:runs|tokens)\s+"
    r"\(\s*(\d{1,15}\.\d{1,15}) ms per token"
)
_EVAL_BEGUN = re.compile(r"\S+:\s+e(?:v(?:a(?:l(?: .*)?)?)?)?$")
_COUNTS = ("n_draft", "n_predict", "n_drafted", "n_accept")


@dataclass
class _Run:
    """What one run has printed so far."""

    counts: dict[str, int] = field(default_factory=dict)
    rate: str | None = None
    seconds: float | None = None
    decoded: int | None = None
    section: str = ""
    eval_ms: dict[str, float] = field(default_factory=dict)


@dataclass(eq=False)
class LlamacppCli(LineReader):
    """A run begins with `decoded` or n_draft and ends where the next begins."""

    shapes = (SHAPE,)
    marks = (b"n_draft", b"n_accept", b"n_predict", b"decoded ")
    run: _Run = field(default_factory=_Run)
    runs: Rows = field(default_factory=Rows)
    far: str | None = None
    source: Source = field(default_factory=lambda: Source(SHAPE, "llama.cpp llama-speculative"))

    def line(self, text: str, place: Place) -> None:
        text = text.strip()
        found, decoded = _COUNT.match(text), _DECODED.match(text)
        run = self.run
        if decoded:
            self.file_ends(place)
            self.run.decoded, self.run.seconds = int(decoded.group(1)), float(decoded.group(2))
        elif found:
            if not place.whole:
                place.torn()
                return
            if found.group(1) in run.counts:
                self.file_ends(place)
                run = self.run
            run.counts[found.group(1)] = int(found.group(2))
            self.inside = True
        elif self.inside:
            self._beside(run, text, place)

    def _beside(self, run: _Run, text: str, place: Place) -> None:
        rate, section, timed = _RATE.match(text), _SECTION.match(text), _EVAL.match(text)
        if rate:
            run.rate = rate.group(1)
        elif section:
            run.section = section.group(1)
        elif timed and run.section:
            run.eval_ms.setdefault(run.section, float(timed.group(3)))
        elif not place.whole and run.section not in run.eval_ms and _EVAL_BEGUN.match(text):
            place.torn()

    def file_ends(self, place: Place) -> None:
        run, self.run = self.run, _Run()
        if not run.counts:
            return
        if set(run.counts) != set(_COUNTS) or run.rate is None:
            place.torn()
            return
        self.runs.append(self._row(run, place))

    def _row(self, run: _Run, place: Place) -> dict[str, Any]:
        most, emitted, drafted, accepted = (run.counts[name] for name in _COUNTS)
        if accepted > drafted or accepted >= max(emitted, 1):
            place.refuse(f"n_accept = {accepted} does not fit n_drafted = {drafted} and n_predict = {emitted}")
        drafts = emitted - accepted
        rate = accepted / drafted if drafted else None
        own = self.source
        if rate is not None:
            seen = f"printed {run.rate}%, counts give {100 * rate:.3f}%"
            own.check("accept = n_accept / n_drafted", _near(run.rate, 100 * rate), seen, "RATE_CONTRADICTS_COUNTS")
        seen = f"{accepted} accepted in {drafts} rounds of up to {most} drafts"
        own.check("n_accept ≤ n_draft·rounds", accepted <= most * drafts, seen)
        if run.decoded is not None:
            own.check("decoded = n_predict", run.decoded == emitted, f"{run.decoded} and {emitted}")
        mean = emitted / drafts
        alpha = alpha_from_mean(mean - 1.0, most)
        out: dict[str, Any] = {
            "kappa_max": most,
            "mean_drafted_per_round": drafted / drafts,
            "drafts": drafts,
            "draft_tokens": drafted,
            "accepted_tokens": accepted,
            "emitted_tokens": emitted,
            "mean_emitted_per_round": mean,
            "mean_accepted_per_round": mean - 1.0,
            "draft_acceptance_rate": Unknown("nothing was drafted") if rate is None else rate,
            "survival": Unknown("the print-out has no counts per position"),
            "iid_alpha_mle_from_mean": alpha,
        }
        if rate is not None and isinstance(alpha, float) and abs(alpha - rate) > FAR_FROM_ALPHA and self.far is None:
            self.far = f"accepted ÷ drafted {rate:.3f}, alpha about {alpha:.3f}"
        return out | _times(run, drafts, mean)

    def finish(self) -> list[Source]:
        if not self.runs:
            return []
        own = self.source
        if len(self.runs) == 1:
            own.body["pooled"] = self.runs[0]
        else:
            self.runs.put(own.body, "segments")
            if len({row["kappa_max"] for row in self.runs}) > 1:
                own.say("ACCEPTANCE_RATE_NOT_COMPARABLE_ACROSS_KAPPA", "runs with different n_draft")
                own.say("KAPPA_CHANGED", f"n_draft = {sorted({row['kappa_max'] for row in self.runs})}")
        if self.far:
            own.say("ACCEPTANCE_RATE_IS_NOT_ALPHA", self.far)
        own.conventions = {
            "accept": "n_accept / n_drafted, in percent",
            "n_predict": "emitted tokens, bonus tokens included",
            "n_draft": "the longest draft; drafts may stop early",
        }
        own.rules = [
            "rounds = n_predict − n_accept, as each round emits its accepted tokens and one more",
            "the target's batch passes are booked as prompt eval; its eval time is the single step",
        ]
        return [own]


def _near(text: str | None, value: float) -> bool:
    return text is not None and "nan" not in text and abs(float(text) - value) <= 5.1e-4


def _times(run: _Run, drafts: int, mean: float) -> dict[str, Any]:
    """Costs, where both performance sections and the total are printed."""
    out: dict[str, Any] = {}
    draft, target = run.eval_ms.get("draft"), run.eval_ms.get("target")
    if draft is not None:
        out["draft_ms_per_token"] = draft
    if target:
        out["target_ms_single_token"] = target
    if draft is not None and target:
        out["draft_cost_ratio"] = draft / target
    if run.seconds is not None:
        out["measured_round_ms"] = 1000.0 * run.seconds / drafts
        if target:
            cost = out["measured_round_ms"] / target
            out["round_cost_in_baseline_steps"] = cost
            out["speedup_vs_single_token"] = mean / cost if cost else Unknown("the run took no time")
    return out
