"""vLLM's per-request metrics and AIPerf records: a histogram of accepted lengths per request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from simspec.evidence.block import LONGEST_DRAFT, Counts, add_into, figures, pooled_figures, reached_of
from simspec.evidence.gather import Kept
from simspec.evidence.readers.base import Doubts, Fields, ObjectReader, Once, Place, checked_count
from simspec.evidence.source import Rows, Source, Unknown
from simspec.model.errors import shown
from simspec.stats.request_sums import RequestSums

SHAPE = "vllm-per-request"
_TOLERANCE = 1e-6


@dataclass(eq=False)
class VllmRequests(ObjectReader):
    """Counts are pooled; the mean of per-request ratios is another number and is kept beside."""

    shapes = (SHAPE,)
    marks = (b'"num_spec_steps"', b'"speculative_decoding"', b'"spec_decode_metrics"')
    parts: dict[int, Counts] = field(default_factory=dict)
    unstated: Counts = field(default_factory=Counts)
    sums: RequestSums = field(default_factory=RequestSums)
    kept: Kept = field(default_factory=Kept)
    emitted: Rows = field(default_factory=Rows)
    ratios: float = 0.0
    requests: int = 0
    offered: list[int] = field(default_factory=list)
    examined: list[int] = field(default_factory=list)
    all_offered: bool = True
    doubts: Doubts = field(default_factory=Doubts)
    once: Once = field(default_factory=Once)
    source: Source = field(default_factory=lambda: Source(SHAPE, "vLLM 2026 response metrics / AIPerf record"))

    def claims(self, record: dict[str, Any]) -> bool:
        return _block(record) is not None

    def record(self, record: dict[str, Any], place: Place) -> None:
        block = _block(record)
        name = record.get("id", record.get("request_id"))
        if self.once.repeats(name, record):
            self.doubts.add("DUPLICATE_ROWS", place, f"request {shown(name)}")
            return
        if block is None or block[1] is None:
            self.doubts.add("REQUEST_WITHOUT_SPEC", place)
            self.emitted.append(Unknown("the request had no speculative round"))
            return
        own = Fields(block[1], place, block[0])
        steps, drafted, accepted = (
            own.count(n) for n in ("num_spec_steps", "num_draft_tokens", "num_accepted_draft_tokens")
        )
        if steps == 0:
            self.doubts.add("REQUEST_WITHOUT_SPEC", place)
            self.emitted.append(Unknown("the request had no speculative round"))
            return
        histogram, given = _histogram(own), own.count_or_none("num_spec_tokens")
        kappa = self._kappa(given, histogram, drafted, steps, place)
        place.fits(accepted, drafted, steps, kappa)
        self._check(own, histogram, steps, accepted, drafted, place)
        if sum(histogram) != steps:
            place.refuse(f"the histogram adds up to {sum(histogram)}, not to the {steps} steps")
        reached = reached_of([*histogram, *[0] * (kappa + 1 - len(histogram))])
        if drafted != kappa * steps:
            self.doubts.add("VARIABLE_DRAFT_LENGTH", place, f"{drafted} drafted in {steps} steps of up to {kappa}")
        self._offered(own, given, steps, drafted, reached, None if name is None else str(name)[:200])
        part = self.unstated if given is None else self.parts.setdefault(given, Counts(given))
        part.add(Counts(kappa, steps, drafted, sum(reached), reached))
        self.sums.add(steps, reached)
        self.emitted.append(1.0 + accepted / steps)
        self.ratios += 1.0 + accepted / steps
        self.requests += 1

    def _kappa(self, given: int | None, histogram: list[int], drafted: int, steps: int, place: Place) -> int:
        kappa = max(given or 0, len(histogram) - 1, -(-drafted // steps))
        if given is not None and kappa > given:
            place.refuse(
                f"num_spec_tokens = {given} does not fit a histogram of {len(histogram)} bins, "
                f"or {drafted} drafted in {steps} steps"
            )
        if kappa > LONGEST_DRAFT:
            place.refuse(f"{kappa} drafts in one step; allowed: up to {LONGEST_DRAFT}")
        return kappa

    def _check(self, own: Fields, histogram: list[int], steps: int, accepted: int, drafted: int, place: Place) -> None:
        length, rate = own.number_or_none("mean_acceptance_length"), own.number_or_none("draft_acceptance_rate")
        counted = sum(j * count for j, count in enumerate(histogram))
        checks = [
            ("Σ j·h_j = accepted", counted == accepted, f"{counted} and {accepted}"),
            ("Σ h_j = steps", sum(histogram) == steps, f"{sum(histogram)} and {steps}"),
        ]
        if length is not None:
            checks.append(
                (
                    "acceptance length = 1 + accepted / steps",
                    abs(length - 1 - accepted / steps) <= _TOLERANCE,
                    f"{length} and {1 + accepted / steps:.6f}",
                )
            )
        if rate is not None and drafted:
            checks.append(
                (
                    "acceptance rate = accepted / drafted",
                    abs(rate - accepted / drafted) <= _TOLERANCE,
                    f"{rate} and {accepted / drafted:.6f}",
                )
            )
        for equation, holds, seen in checks:
            code = "RATE_CONTRADICTS_COUNTS" if equation.startswith("acceptance rate") else "IDENTITY_BROKEN"
            self.source.check(equation, holds, f"line {place.number}: {seen}", code)

    def _offered(
        self, own: Fields, given: int | None, steps: int, drafted: int, reached: list[int], name: str | None
    ) -> None:
        """How many drafts were offered and examined at each position, where the record tells."""
        kappa, full = len(reached), given is not None and drafted == len(reached) * steps
        pairs = _steps(own, steps, drafted, kappa, full)
        if full:
            add_into(self.offered, [steps] * kappa)
            add_into(self.examined, [steps, *reached][:kappa])
        elif pairs is not None:
            add_into(self.offered, [sum(d > j for _, d in pairs) for j in range(kappa)])
            add_into(self.examined, [sum(d > j <= a for a, d in pairs) for j in range(kappa)])
        else:
            self.all_offered = False
        if pairs is None:
            self.kept.counts(kappa, steps, reached, drafted, name)
        else:
            whole = [(a, d) for a, d in pairs if d]
            self.kept.left_out += steps - len(whole)  # steps without a draft
            self.kept.sequence([d for _, d in whole], [a for a, _ in whole], name)

    def finish(self) -> list[Source]:
        own = self.source
        level = self.options.level
        if self.unstated.drafts:  # the longest draft seen is a lower bound of κ: that of the others, if it can be
            least = self.unstated.kappa
            kappa = min((kappa for kappa in self.parts if kappa >= least), default=least)
            self.parts.setdefault(kappa, Counts(kappa)).add(self.unstated)
        pooled = pooled_figures(self.parts.values(), level, self.sums)
        if "VARIABLE_DRAFT_LENGTH" in self.doubts.seen and self.all_offered:
            pairs = zip(pooled["accepted_at_position"], self.examined, strict=True)
            pooled["offered_at_position"] = self.offered
            pooled["cond_alpha_given_offered"] = [r / e if e else Unknown("never examined") for r, e in pairs]
        own.body["pooled"] = pooled
        own.observed = self.kept.observed()
        if own.several_kappas(self.parts):
            own.body["segments"] = [figures(part, level) for _, part in sorted(self.parts.items())]
        self.emitted.put(own.body, "per_request_emitted")
        none = Unknown("no request had a speculative round")
        own.body["mean_of_ratios_emitted"] = self.ratios / self.requests if self.requests else none
        own.body["pooled_emitted"] = pooled["mean_emitted_per_round"]
        self.doubts.tell(own)
        own.conventions = {
            "mean_acceptance_length": "bonus token included",
            "draft_acceptance_rate": "accepted / drafted",
            "acceptance_histogram": "entry j: steps with exactly j accepted; survival is its tail",
            "num_spec_tokens": "κ; where null, the longest draft seen",
        }
        own.rules = [
            "counts are pooled; the mean of per-request ratios is another number",
            "requests without a speculative round are left out, not counted as 0",
        ]
        return [own]


def _block(record: dict[str, Any]) -> tuple[str, dict[str, Any] | None] | None:
    """The speculative block of a record and its path; None for another shape."""
    if "num_spec_steps" in record and ("acceptance_histogram" in record or "per_step_accepted" in record):
        return "", record
    for path in (("metrics", "speculative_decoding"), ("speculative_decoding",), ("spec_decode_metrics",)):
        own: Any = record
        for key in path:
            own = own.get(key, _MISSING) if isinstance(own, dict) else _MISSING
        if own is None or (isinstance(own, dict) and "num_spec_steps" in own):
            return ".".join(path) + ".", own
    return None


_MISSING = object()


def _steps(own: Fields, steps: int, drafted: int, kappa: int, full: bool) -> list[tuple[int, int]] | None:
    """Accepted and drafted of each step, in order; None where the record does not tell."""
    if not isinstance(own.record.get("per_step_accepted"), list):
        return None
    lengths = own.counts("per_step_accepted")
    if isinstance(own.record.get("per_step_drafted"), list):
        drafts = own.counts("per_step_drafted")
        good = len(drafts) == len(lengths) == steps and all(a <= d for a, d in zip(lengths, drafts, strict=True))
        if not good or sum(drafts) != drafted or max(drafts) > kappa:
            own.place.refuse("per_step_drafted does not fit num_draft_tokens and per_step_accepted")
        return list(zip(lengths, drafts, strict=True))
    return [(a, kappa) for a in lengths] if full else None


def _histogram(own: Fields) -> list[int]:
    """Steps by accepted length, from a list, a map with gaps, or the steps themselves."""
    steps = own.record.get("per_step_accepted")
    value = own.record.get("acceptance_histogram")
    if isinstance(steps, list):
        lengths = own.counts("per_step_accepted")
        if max(lengths, default=0) > LONGEST_DRAFT:
            own.place.refuse(f"per_step_accepted: {max(lengths)}; allowed: up to {LONGEST_DRAFT}")
        out = [0] * (max(lengths, default=0) + 1)
        for length in lengths:
            out[length] += 1
        return out
    if isinstance(value, dict):
        keys = [
            key
            for key in value
            if not (key.isascii() and key.isdigit() and int(key[:9]) <= LONGEST_DRAFT and len(key) < 9)
        ]
        if keys:
            own.place.refuse(f"acceptance_histogram has the bin {shown(keys[0])}; allowed: whole numbers")
        out = [0] * (max(map(int, value), default=0) + 1)
        for key, count in value.items():
            out[int(key)] = checked_count(count, f"acceptance_histogram[{key}]", own.place)
        return out
    histogram = own.counts("acceptance_histogram")
    if len(histogram) > LONGEST_DRAFT:
        own.place.refuse(f"acceptance_histogram has {len(histogram)} bins; allowed: up to {LONGEST_DRAFT}")
    while len(histogram) > 1 and histogram[-1] == 0 and own.record.get("num_spec_tokens") is None:
        histogram.pop()
    return histogram
