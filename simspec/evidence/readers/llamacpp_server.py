"""llama.cpp's server log: a line per request, old and new, and cumulative statistics per drafter."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from simspec.evidence.block import Counts, figures, pooled_figures
from simspec.evidence.gather import Kept, pooled
from simspec.evidence.observed import Observed
from simspec.evidence.readers.base import MOST_GROUPS, Doubts, LineReader, Place, any_in, lines_in
from simspec.evidence.readers.counts import drafts_of
from simspec.evidence.source import MOST_ROWS, Rows, Source, Unknown
from simspec.stats.request_sums import RequestSums

NEW, OLD = "llamacpp-server-per-position", "llamacpp-server-rate"
_BEGINNING = re.compile(r"(?:\[\d+\] )?\d{1,15}\.\d\d\.\d{3}\.\d{3} [IWED] |(?<![IWED] )(?:slot|srv) +\w+:")
_LEVELS = (" I ", " W ", " E ", " D ", "slot ", "srv ")
_PAYLOADS = ("draft acceptance", "statistics ", "eval time =")
_TASK = re.compile(r"\btask (-?\d{1,9}) \|")
_COUNTS = r"(\d{1,15}\.\d{1,15}|-?nan) \(\s*(\d{1,12}) accepted /\s*(\d{1,12}) generated\)"
_REQUEST_NEW = re.compile(
    r"draft acceptance = " + _COUNTS + r", mean acceptance length =\s*(\d{1,15}\.\d\d), "
    r"acceptance rate per position = \(([\d., ]*)\)"
)
_REQUEST_OLD = re.compile(r"draft acceptance rate = " + _COUNTS)
_REQUEST_MEAN = re.compile(r"draft acceptance = " + _COUNTS + r", mean len =\s*(\d{1,15}\.\d\d)(?!\d)")
"""The form without positions, which need -lv 4 and stand in a line of their own and in the statistics."""
_EVAL = re.compile(r"(?<!prompt )eval time =\s*(\d{1,15}\.\d{1,15}) ms /\s*(\d{1,12}) tokens")
_STATISTICS = re.compile(
    r"statistics\s+([\w.-]+): #calls(?:\(b,g,a\) =\s*\d+\s+(\d{1,12})\s+(\d{1,12})| =\s*(\d{1,12})), "
    r"#gen drafts =\s*(\d{1,12}), "
    r"#acc drafts =\s*(\d{1,12}), #gen tokens =\s*(\d{1,12}), #acc tokens =\s*(\d{1,12})"
)
_THREE_DECIMALS = re.compile(r"\d\.\d{3}(?:,\d\.\d{3})*")
_RATES = re.compile(r"#acc rate/pos = \(([\d., ]*)\)")
_DURATION = re.compile(r"dur\(b,g,a\) = \d{1,15}\.\d{1,15}, (\d{1,15}\.\d{1,15}), \d{1,15}\.\d{1,15} ms")
_SEVERAL = Unknown("several drafters; their rounds are not the same rounds")
_BEGUN = re.compile(r"statistics\s+[\w.-]*(?::[ #(),=\w]*)?$")
_CLOSED = re.compile(r"#acc tokens =\s*\d+(?:, |\s*$)")


@dataclass(frozen=True)
class _Statistics:
    """Totals of one drafter since the server's start."""

    drafts: int
    at_least_one: int
    drafted: int
    accepted: int
    rates: tuple[str, ...] | None
    draft_ms: float | None
    under_way: int


@dataclass(eq=False)
class LlamacppServer(LineReader):
    """Requests are listed; pooled figures come from the last statistics line of each segment."""

    shapes = (NEW, OLD)
    marks = (b"draft acceptance", b"statistics ", b"eval time =", b"| task ")
    tasks: dict[str, dict[str, Any]] = field(default_factory=dict)
    left_out: int = 0
    task: str = ""
    eval_of: tuple[str, float, int] | None = None
    new: bool = False
    old: bool = False
    last: dict[str, _Statistics] = field(default_factory=dict)
    segments: Rows = field(default_factory=Rows)
    sums: Counts = field(default_factory=Counts)
    parts: dict[int, Counts] = field(default_factory=dict)
    by_request: RequestSums = field(default_factory=RequestSums)
    kept: Kept = field(default_factory=Kept)
    slack: int = 0
    without_drafts: int = 0
    passes: int = 0
    emitted: int = 0
    untimed: int = 0
    requests: int = 0
    doubts: Doubts = field(default_factory=Doubts)
    source: Source = field(default_factory=lambda: Source(NEW, "llama.cpp llama-server"))

    def line(self, text: str, place: Place) -> None:
        if any_in(_PAYLOADS, text):
            if not any_in(_LEVELS, text[40:]):  # no second line in this one
                self._line(text, place)
                return
            for own in lines_in(text, _BEGINNING, place):
                self._line(own, place)
        elif task := _TASK.search(text):
            self.task = task.group(1)
            rest = text[task.end() :].strip()
            if not place.whole and any(payload.startswith(rest) for payload in _PAYLOADS):
                place.torn()

    def _line(self, text: str, place: Place) -> None:
        task = _TASK.search(text)
        if task:
            self.task = task.group(1)
        if "draft acceptance" in text:
            self._request(text, place)
        elif "statistics " in text and ("#gen drafts" in text or (not place.whole and _BEGUN.search(text))):
            self._statistics(text, place)
        elif "eval time =" in text:
            timed = _EVAL.search(text)
            if timed:
                self.eval_of = (self.task, float(timed.group(1)), int(timed.group(2)))

    def _request(self, text: str, place: Place) -> None:
        new = _REQUEST_NEW.search(text)
        old = None if new else _REQUEST_OLD.search(text) or (_REQUEST_MEAN.search(text) if place.whole else None)
        found = new or old
        if found is None:
            if not place.whole or re.search(r"draft acceptance(?: rate)? =[^)]*$", text) or "per position = (" in text:
                place.torn()
                return
            place.refuse("unknown form of llama.cpp's draft acceptance line")
        self.new, self.old = self.new or new is not None, self.old or old is not None
        rate, accepted, drafted = found.group(1), int(found.group(2)), int(found.group(3))
        place.fits(accepted, drafted)
        own = self.source
        if drafted:
            seen = f"line {place.number}: printed {rate}, counts give {accepted / drafted:.5f}"
            holds = _close(rate, accepted / drafted, 5.1e-6)
            own.check("rate = accepted / generated", holds, seen, "RATE_CONTRADICTS_COUNTS")
        timed = self.eval_of if self.eval_of and self.eval_of[0] == self.task else None
        self.eval_of = None
        row = self._new_row(new, accepted, drafted, timed, place) if new else self._old_row(accepted, drafted, timed)
        if old and old.re is _REQUEST_MEAN:
            row |= self._mean(float(old.group(4)), accepted, drafted, timed, place)
        self.requests += 1
        if self._listing:  # a task of the same number: another server's, or one after a restart
            name = self.task or str(self.requests)
            self.tasks[f"{name}, request {self.requests}" if name in self.tasks else name] = row
        else:
            self.left_out += 1
        self.task = ""

    @property
    def _listing(self) -> bool:
        return len(self.tasks) < MOST_ROWS

    def _new_row(
        self, new: re.Match[str], accepted: int, drafted: int, timed: tuple[str, float, int] | None, place: Place
    ) -> dict[str, Any]:
        length, rates = new.group(4), new.group(5).replace(" ", "").strip(",").split(",")
        if not _THREE_DECIMALS.fullmatch(",".join(rates)):
            place.refuse(f"acceptance rate per position = ({new.group(5)[:40]}); allowed: rates of three decimals")
        told = drafts_of(accepted, drafted, length, rates)
        fits = isinstance(told.best, int) or accepted == 0
        self.source.check("length, rates and counts agree on the drafts", fits, f"line {place.number}")
        if not isinstance(told.best, int):
            reason = told.best
            self.without_drafts += 1
            return {
                "kappa": len(rates),
                "drafts": reason,
                "draft_tokens": drafted,
                "accepted_tokens": accepted,
                "mean_emitted_per_round": reason,
                "survival": reason,
            }
        if told.best * len(rates) != drafted:
            self.doubts.add("SHORT_LAST_DRAFT", place, f"{drafted} drafted in {told.best} drafts of up to {len(rates)}")
        counts = Counts(len(rates), told.best, drafted, accepted, told.reached)
        self.sums.add(counts)
        if counts.kappa not in self.parts:
            self.parts[counts.kappa] = Counts()
        self.parts[counts.kappa].add(counts)
        self.by_request.add(told.best, told.reached)
        self.kept.counts(len(rates), told.best, told.reached, drafted)
        self.slack += told.slack
        row = figures(counts, self.options.level, slack=told.slack) if self._listing else {}
        if timed:
            row["implied_round_ms"] = timed[1] / told.best
            seen = f"line {place.number}: {timed[2]} and {told.best + accepted}"
            self.source.check("eval tokens ≥ drafts + accepted", timed[2] >= told.best + accepted, seen)
        return row

    def _old_row(self, accepted: int, drafted: int, timed: tuple[str, float, int] | None) -> dict[str, Any]:
        none = Unknown("the line has no number of drafts")
        rate: Any = accepted / drafted if drafted else Unknown("nothing was drafted")
        row: dict[str, Any] = {
            "draft_tokens": drafted,
            "accepted_tokens": accepted,
            "draft_acceptance_rate": rate,
            "kappa": none,
            "drafts": none,
            "survival": none,
        }
        if timed and timed[2] > accepted:
            passes = timed[2] - accepted
            row |= {
                "emitted_tokens": timed[2],
                "drafts_upper": passes,
                "mean_emitted_per_round_lower": timed[2] / passes,
                "round_ms": timed[1] / passes,
            }
            self.passes, self.emitted = self.passes + passes, self.emitted + timed[2]
        else:
            self.untimed += 1
        self.sums.add(Counts(0, 0, drafted, accepted))
        return row

    def _mean(
        self, length: float, accepted: int, drafted: int, timed: tuple[str, float, int] | None, place: Place
    ) -> dict[str, Any]:
        """The printed tokens per round, if the counts allow it: a round drafts at least one token."""
        seen = f"line {place.number}: {length} with {accepted} accepted of {drafted}"
        holds = length >= 1.0 and accepted <= (length - 0.995) * drafted and (accepted > 0 or length == 1.0)
        if timed and holds:  # passes without a draft are no rounds: there are as many rounds as passes, or fewer
            holds = (timed[2] - accepted) * (length - 0.995) >= accepted
        self.source.check("mean len = 1 + accepted / rounds", holds, seen)
        return {"mean_emitted_per_round": length if holds else Unknown("length and counts contradict each other")}

    def _statistics(self, text: str, place: Place) -> None:
        found = _STATISTICS.search(text)
        rates, duration = _RATES.search(text), _DURATION.search(text)
        cut = not place.whole and not text.rstrip().endswith("ms")
        if found is None or cut or ("#acc rate/pos" in text and rates is None) or not _CLOSED.search(text):
            if found is None and place.whole and text.rstrip().endswith("ms"):
                place.refuse("unknown form of llama.cpp's statistics line")
            place.torn()
            return
        calls = int(found.group(2) or found.group(4))
        drafts, at_least_one, drafted, accepted = (int(found.group(i)) for i in (5, 6, 7, 8))
        self.source.check("#gen drafts ≤ #calls", drafts <= calls, f"line {place.number}: {drafts} and {calls}")
        place.fits(accepted, drafted, drafts)
        place.fits(at_least_one, drafts)
        seen = f"line {place.number}: {drafts} drafts of {drafted} tokens"
        self.source.check("#gen drafts ≤ #gen tokens", drafts <= drafted, seen)
        seen = f"line {place.number}: {at_least_one} drafts of {accepted} tokens"
        self.source.check("#acc drafts ≤ #acc tokens", at_least_one <= accepted, seen)
        now = _Statistics(
            drafts,
            at_least_one,
            drafted,
            accepted,
            tuple(rate.strip() for rate in rates.group(1).split(",")) if rates else None,
            float(duration.group(1)) if duration else None,
            max(0, drafts - int(found.group(3))) if found.group(3) else 0,
        )
        name = found.group(1)
        before = self.last.get(name)
        if before is not None and (now.drafts < before.drafts or now.drafted < before.drafted):
            self.doubts.add("COUNTER_RESET", place, name)
            self._segment()
        if len(self.last) >= MOST_GROUPS and name not in self.last:
            place.refuse(f"more than {MOST_GROUPS} drafters")
        self.last[name] = now

    def _segment(self) -> None:
        self.segments.append(self.last)
        self.last = {}

    def finish(self) -> list[Source]:
        segments = [*self.segments, self.last] if self.last else self.segments
        if not self.tasks and not any(segments):
            return []
        own = self.source
        own.shape = OLD if self.old and not self.new else NEW
        own.engine = "llama.cpp llama-server" + (" (mid 2026)" if own.shape == NEW else "")
        if self.tasks:
            own.body["per_task"] = self.tasks
        if self.left_out:
            own.body["per_task_left_out"] = self.left_out
        if self.without_drafts:
            own.body["requests_without_drafts"] = self.without_drafts
        blocks = [self._drafters(segment) for segment in segments]
        if len(blocks) == 1:
            own.body |= blocks[0]
            self._add_up(segments[0])
            totals = list(segments[0].values())
            if len(totals) == 1 and not self.old and self.sums.drafts > totals[0].drafts:
                own.body["pooled"] = self._pooled_requests()
                own.ambiguous.append(
                    f"requests hold {self.sums.drafts} drafts, the last statistics line {totals[0].drafts}: "
                    "pooled is the sum of the requests"
                )
        elif blocks:
            own.body["segments"] = blocks
            if self.segments.left_out:
                own.body["segments_left_out"] = self.segments.left_out
        else:
            own.body["pooled"] = self._pooled_requests()
        if any(segments):
            own.say("CUMULATIVE_STATISTICS", "the last statistics line of each drafter counts")
        if any(len(segment) > 1 for segment in segments):
            own.say("MIXED_DRAFTERS", ", ".join(sorted({name for segment in segments for name in segment})))
        own.observed = self._observed(segments)
        self.doubts.tell(own)
        own.conventions = {
            "draft acceptance": "accepted / generated",
            "mean acceptance length, mean len": "bonus token included",
            "acceptance rate per position": "survival: over all drafts",
            "statistics": "cumulative since the server's start",
            "#acc drafts": "drafts with at least one accepted token",
        }
        own.rules = [
            "drafts of a request are the whole number that length, rates and counts agree on",
            "eval tokens are drafts + accepted + 1 (the first token belongs to the prompt) + passes without a draft",
        ]
        own.ambiguous = [
            "older builds count replayed drafts as accepted on models that cannot roll back: "
            "a curve that rises with the position is the sign"
        ]
        return [own]

    def _observed(self, segments: list[dict[str, _Statistics]]) -> Observed | Unknown:
        """Rounds by request; those that only the totals count are left out, or pooled where no request is listed."""
        if any(len(segment) > 1 for segment in segments):
            return _SEVERAL
        totals = [own for segment in segments for own in segment.values()]
        if self.kept.sizes:
            self.kept.left_out += max(0, sum(own.drafts for own in totals) - self.sums.drafts)
            return self.kept.observed()
        counts = [self._counts(own) for own in totals]
        if not counts or any(own is None for own in counts):
            return Unknown("the lines have no drafts per position")
        return pooled((own.kappa, own.drafts, own.reached, own.draft_tokens) for own in counts if own)

    def _drafters(self, segment: dict[str, _Statistics]) -> dict[str, Any]:
        blocks = {name: self._block(name, totals) for name, totals in segment.items()}
        if len(blocks) == 1:
            return {"pooled": next(iter(blocks.values()))}
        return {"drafters": blocks, "pooled": _SEVERAL}

    def _counts(self, totals: _Statistics) -> Counts | None:
        """Whole numbers behind a statistics line; None where it has no rates per position."""
        rates, drafts = totals.rates, totals.drafts
        if not (rates and drafts and all(re.fullmatch(r"\d\.\d{3}", rate) for rate in rates)):
            return None
        if totals.drafted > len(rates) * drafts:  # an n-gram drafter's positions beyond those of another are not listed
            return None
        reached = [round(float(rate) * drafts) for rate in rates]
        if abs(reached[0] - totals.at_least_one) <= _slack(drafts):
            reached[0] = totals.at_least_one
        return Counts(len(rates), drafts, totals.drafted, totals.accepted, reached)

    def _block(self, name: str, totals: _Statistics) -> dict[str, Any]:
        own, counts = self.source, self._counts(totals)
        none = Unknown("the statistics line has no rates per position, or not of all")
        most = len(totals.rates or ()) * totals.drafts
        if most:
            own.check("#gen tokens ≤ κ·drafts", totals.drafted <= most, f"{name}: {totals.drafted} and {most}")
        if counts is None or totals.rates is None:
            counts = Counts(0, totals.drafts, totals.drafted, totals.accepted)
            out = figures(counts, self.options.level, {"kappa": none, "reached": none})
            out["p_first_accepted"] = totals.at_least_one / totals.drafts if totals.drafts else none
        else:
            rates, slack = totals.rates, _slack(totals.drafts)
            step = 5e-4 * totals.drafts + totals.under_way + 1e-6  # rates are of the drafts that were verified
            good = abs(float(rates[0]) * totals.drafts - totals.at_least_one) <= step
            own.check("#acc drafts = drafts·S_1", good, f"{name}: {totals.at_least_one} and {rates[0]}")
            total = sum(map(float, rates)) * totals.drafts
            near = abs(total - totals.accepted) <= len(rates) * step
            own.check("#acc tokens = drafts·ΣS_j", near, f"{name}: {totals.accepted} and {total:.1f}")
            if totals.drafted < most:
                seen = f"{name}: {totals.drafted} drafted in {totals.drafts} drafts of up to {len(rates)}"
                last = most - totals.drafted < len(rates) * max(1, self.requests)  # one per request
                own.say("SHORT_LAST_DRAFT" if last else "VARIABLE_DRAFT_LENGTH", seen)
            same = self.sums.drafts == counts.drafts and self.sums.reached == counts.reached  # all requests are listed
            out = figures(counts, self.options.level, requests=self.by_request if same else None, slack=slack)
        if totals.draft_ms is not None and totals.drafts:
            out["draft_ms_per_round"] = totals.draft_ms / totals.drafts
        return out

    def _add_up(self, segment: dict[str, _Statistics]) -> None:
        """Requests against totals, where every request is in the log."""
        drafted = sum(totals.drafted for totals in segment.values())
        if self.requests and self.sums.draft_tokens == drafted:
            accepted = sum(totals.accepted for totals in segment.values())
            self.source.check("requests add up to the statistics", self.sums.accepted == accepted, "accepted tokens")

    def _pooled_requests(self) -> dict[str, Any]:
        if self.old:
            hidden = dict.fromkeys(("kappa", "drafts", "reached"), Unknown("the lines have no number of drafts"))
            self.source.say("KAPPA_UNKNOWN", "accepted and generated counts only")
            out = figures(self.sums, self.options.level, hidden)
            if self.passes and not self.untimed:  # as in the timings object: all passes, also those without a draft
                out |= {"drafts_upper": self.passes, "mean_emitted_per_round": self.emitted / self.passes}
            return out
        self.source.several_kappas(self.parts)
        return pooled_figures(self.parts.values(), self.options.level, self.by_request, self.slack)


def _slack(drafts: int) -> int:
    """How far a count may be off that comes from a rate of three decimals."""
    return int(drafts * 5e-4 + 0.5)


def _close(text: str, value: float, tolerance: float) -> bool:
    return "nan" not in text and abs(float(text) - value) <= tolerance
