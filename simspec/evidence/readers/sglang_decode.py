"""SGLang's `Decode batch` lines of three generations: length only, rate with bonus, rate of drafts only."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from simspec.evidence.line_course import LineBlocks, LineCourse
from simspec.evidence.line_means import LineSums
from simspec.evidence.observed import LOG_LINE
from simspec.evidence.readers.base import MOST_GROUPS, LineReader, Place, Seen, lines_in
from simspec.evidence.source import Rows, Source, Unknown

LENGTH_ONLY, WITH_BONUS, DRAFT_ONLY = (
    "sglang-decode-len",
    "sglang-decode-rate-with-bonus",
    "sglang-decode-rate-draft-only",
)
UNDECIDED = "sglang-decode-rate-undecided"
ENGINES = {
    LENGTH_ONLY: "SGLang 0.4.x",
    WITH_BONUS: "SGLang before 2026-04",
    DRAFT_ONLY: "SGLang main 2026",
    UNDECIDED: "SGLang",
}
STEPS = 40
"""Decode steps that a line is taken for, SGLang's ``decode_log_interval`` unless it is set."""
LEAST_RATE = 0.05
"""Below, a rate of two decimals does not tell κ."""

_BEGINNING = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_WHOLE = re.compile(
    r"Decode batch[.,] #running-req: (\d{1,9}), .*?\baccept len: (\d{1,15}\.\d\d), (.*?)"
    r"gen throughput \(token/s\): \d{1,15}\.\d{1,15}, #queue-req: \d+"
)
_RATE = re.compile(r"\baccept rate: (\d{1,15}\.\d\d), ")
_NEXT = re.compile(r"#queue-req: \d+")
_RANK = re.compile(r"\bDP(\d{1,4})\b")
_WORKER = re.compile(r"\bTP(\d{1,4})\b")


@dataclass
class _Group:
    """Lines of one DP rank, batch and κ."""

    lines: int = 0
    length: float = 0.0


@dataclass
class _Kind:
    """Lines with or without a rate."""

    windows: Rows = field(default_factory=Rows)
    lines: int = 0
    length: float = 0.0
    least: int = 10**9
    most: int = 0
    fits: dict[str, int] = field(default_factory=lambda: {WITH_BONUS: 0, DRAFT_ONLY: 0})
    told: int = 0
    kappas: dict[str, list[int]] = field(default_factory=lambda: {WITH_BONUS: [], DRAFT_ONLY: []})
    groups: dict[tuple[str, int, str], _Group] = field(default_factory=dict)
    idle: Seen = field(default_factory=Seen)
    sums: LineSums = field(default_factory=LineSums)
    course: LineBlocks = field(default_factory=LineBlocks)


@dataclass(eq=False)
class SglangDecode(LineReader):
    """Means without counts: nothing is pooled."""

    shapes = tuple(ENGINES)
    marks = (b"Decode batch",)
    kinds: dict[bool, _Kind] = field(default_factory=dict)
    repeated: Seen = field(default_factory=Seen)

    def line(self, text: str, place: Place) -> None:
        for own in lines_in(text, _BEGINNING, place):
            before, mark, entry = own.rpartition("Decode batch")
            if mark:
                if "Decode batch" in before:  # it runs into the next one
                    place.torn()
                self._entry(before, mark + entry, place)

    def _entry(self, before: str, entry: str, place: Place) -> None:
        found = _WHOLE.match(entry)
        if found is None:
            if "accept len" not in entry and place.whole and "#queue-req" in entry:
                return  # decoding without speculation
            if place.whole and _NEXT.search(entry):
                place.refuse("unknown form of SGLang's decode line")
            place.torn()
            return
        rate = _RATE.search(found.group(3))
        if rate is None and "accept rate" in entry:
            place.refuse("unknown form of SGLang's decode line: the accept rate is no number of two decimals")
        worker = _WORKER.search(before)
        if worker and worker.group(1) != "0":
            self.repeated.add(place, f"TP{worker.group(1)}")
            return
        rank = _RANK.search(before)
        self._window(
            int(found.group(1)), rank.group(1) if rank else None, found.group(2), rate.group(1) if rate else None, place
        )

    def _window(self, running: int, rank: str | None, length: str, rate: str | None, place: Place) -> None:
        kind = self.kinds.get(rate is not None)
        if kind is None:
            kind = self.kinds[rate is not None] = _Kind()
        value = float(length)
        if value < 1.0:
            kind.idle.add(place, f"accept len {length}")
            return
        row: dict[str, Any] = {"running": running}
        if rank is not None:
            row["dp_rank"] = int(rank)
        row["accept_len"] = value
        kind.lines += 1
        kind.length += value
        kind.sums.add(running, value)
        kind.least, kind.most = min(kind.least, running), max(kind.most, running)
        told: dict[str, int | None] = {}
        if rate is not None:
            row["accept_rate"] = float(rate)
            told = self._tell(kind, value, float(rate))
            row["_told"] = told
        rounds = float(STEPS * max(1, running))
        kind.course.line(tuple(told.items()), rounds, rounds * (value - 1.0), (place.file, place.number))
        kind.windows.append(row)
        key = (rank or "", running, str(sorted(told.items())))
        if key in kind.groups or len(kind.groups) < MOST_GROUPS:
            own = kind.groups.setdefault(key, _Group())
            own.lines, own.length = own.lines + 1, own.length + value

    def _tell(self, kind: _Kind, length: float, rate: float) -> dict[str, int | None]:
        """κ under either convention, where the line allows only one."""
        told: dict[str, int | None] = {}
        kind.told += rate > LEAST_RATE
        for name in (WITH_BONUS, DRAFT_ONLY):
            fitting = _candidates(length, rate, name) if rate > LEAST_RATE else range(0)
            kind.fits[name] += len(fitting) > 0
            kappa = fitting[0] if len(fitting) == 1 else None
            told[name] = kappa
            if kappa is not None and kappa not in kind.kappas[name][-1:] and len(kind.kappas[name]) < MOST_GROUPS:
                kind.kappas[name].append(kappa)
        return told

    def finish(self) -> list[Source]:
        return [self._source(kind, rated) for rated, kind in self.kinds.items() if kind.lines or kind.idle.times]

    def _source(self, kind: _Kind, rated: bool) -> Source:
        shape = LENGTH_ONLY
        if rated:
            fitting = [name for name, times in kind.fits.items() if times == kind.told and kind.told]
            shape = fitting[0] if len(fitting) == 1 else UNDECIDED
        own = Source(shape, ENGINES[shape])
        for row in kind.windows:
            told = row.pop("_told", None)
            if told is not None:
                kappa = told.get(shape)
                few = "length and rate, both rounded, allow no or several κ, or the rate's convention is open"
                row["kappa_inferred"] = Unknown(few) if kappa is None else kappa
        kind.windows.put(own.body, "windows")
        own.line_means, own.kappas = kind.sums.means(), tuple(sorted(set(kind.kappas.get(shape, []))))
        own.line_course = self._course(kind, shape, own.kappas)
        lengths = Unknown("lines hold means without counts: a pool needs the rounds of each line")
        names = ("drafts", "draft_tokens", "accepted_tokens", "mean_emitted_per_round", "survival", "cond_alpha")
        unknown: dict[str, Any] = dict.fromkeys((*names, "iid_alpha_mle_from_mean"), lengths)
        mean = kind.length / kind.lines if kind.lines else Unknown("no line with a round")
        own.body["pooled"] = {
            "kappa": _kappa_of(kind, shape),
            **unknown,
            "mean_of_printed": mean,
            "true_pooled_if_counts_were_known": lengths,
        }
        self._say(own, kind, shape)
        return own

    def _course(self, kind: _Kind, shape: str, kappas: tuple[int, ...]) -> LineCourse | None:
        """The lines along the log; None where κ is neither told nor given."""
        only = kappas[0] if len(kappas) == 1 else None if kappas else self.options.kappa
        known: dict[Hashable, float | None] = {
            telling: next((kappa for name, kappa in telling if name == shape and kappa is not None), only)
            for telling in kind.course.telling() if isinstance(telling, tuple)
        }  # fmt: skip
        if not any(known.values()):
            return None
        return kind.course.course(known, LOG_LINE, f"a line is taken for {STEPS} decode steps (decode_log_interval)")

    def _say(self, own: Source, kind: _Kind, shape: str) -> None:
        kappas = kind.kappas.get(shape, [])
        own.conventions = {"accept len": "bonus token included (1.0: nothing accepted)", "counters": "means per line"}
        if shape == LENGTH_ONLY:
            own.say("NO_COUNTS", "accept len only")
            own.say("KAPPA_UNKNOWN", "no rate to tell κ from")
            own.batch_changes(kind.least, kind.most)
        elif shape == UNDECIDED:
            own.say("KAPPA_UNKNOWN", "the lines do not tell whether the rate counts the bonus token")
            own.ambiguous.append(
                "accept rate is either accept len / num_draft_tokens or (accept len − 1) / (num_draft_tokens − 1); "
                f"of {kind.told} lines {kind.fits[WITH_BONUS]} fit the first and {kind.fits[DRAFT_ONLY]} the second"
            )
        else:
            form = (
                "accept len / num_draft_tokens" if shape == WITH_BONUS else "(accept len − 1) / (num_draft_tokens − 1)"
            )
            own.conventions["accept rate"] = form + ", floor 0: told from the lines"
            own.ambiguous.append("with topk > 1 drafts are trees, and κ as inferred is their nodes without the root")
        if shape == WITH_BONUS:
            own.say("ACCEPT_RATE_INCLUDES_BONUS", f"in all {kind.told} lines that tell")
        if len(kappas) > 1:
            own.say("KAPPA_CHANGED", f"κ = {', '.join(map(str, kappas[:20]))}")
            own.say("CENSORED_BY_KAPPA", "accept len can not exceed κ + 1")
        if shape != LENGTH_ONLY or len(kind.groups) > 1:
            own.body["groups"] = [
                {
                    **({"dp_rank": int(rank)} if rank else {}),
                    "running": running,
                    "lines": group.lines,
                    "mean_of_printed": group.length / group.lines,
                }
                for (rank, running, _), group in kind.groups.items()
            ]
        if kind.idle.times:
            own.say("ZERO_ROUNDS", str(kind.idle))
        if self.repeated.times:
            own.say("DUPLICATE_RANK_ROWS", str(self.repeated))
        own.rules = [
            "κ of a line is the only whole number that length and rate, both rounded, allow",
            "lines of unknown wording are skipped",
        ]


def _candidates(length: float, rate: float, shape: str) -> range:
    """All κ that two rounded figures allow."""
    top, extra = (length, 1) if shape == WITH_BONUS else (length - 1.0, 0)
    half = 0.00501
    low, high = math.ceil((top - half) / (rate + half)), math.floor((top + half) / max(rate - half, 1e-9))
    return range(max(low - extra, 1), high - extra + 1)


def _kappa_of(kind: _Kind, shape: str) -> int | Unknown:
    kappas = kind.kappas.get(shape, [])
    if len(set(kappas)) == 1:
        return kappas[0]
    return Unknown(f"κ changes: {', '.join(map(str, kappas[:20]))}" if kappas else "κ is not in the lines")
