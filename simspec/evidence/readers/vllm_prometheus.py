"""Scrapes of /metrics of vLLM and llama.cpp: cumulative counters per engine, whose differences count."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar

from simspec.evidence.block import Counts, added, figures, pooled_figures
from simspec.evidence.gather import Blocks
from simspec.evidence.observed import ENGINE, INTERVAL
from simspec.evidence.readers.base import MOST_GROUPS, Doubts, LineReader, Place
from simspec.evidence.readers.exposition import Series, series
from simspec.evidence.source import MOST_ROWS, Source, Unknown

SHAPE, LLAMACPP = "vllm-prometheus", "llamacpp-prometheus"
_COUNTERS = ("drafts", "draft_tokens", "accepted_tokens")
_POSITIONS = "accepted_tokens_per_pos"
_RACE, _FEW = 0.99, 64
"""A scrape may fall between the steps of two counters; what is missing beyond that is a missing series."""
_RANKS = ("rank", "tp_rank", "pp_rank", "worker")


@dataclass
class _Engine:
    """Counters of one engine in one scrape."""

    counts: dict[str, int] = field(default_factory=dict)
    reached: dict[int, int] = field(default_factory=dict)
    created: float | None = None

    def whole(self, before: _Engine | None) -> bool:
        """Whether no series is missing: accepted tokens by position must account for all of them."""
        if len(self.counts) < len(_COUNTERS) or sorted(self.reached) != list(range(len(self.reached))):
            return False
        if before is not None and len(self.reached) < len(before.reached) and not self.restarted(before):
            return False
        accepted, by_position = self.counts["accepted_tokens"], sum(self.reached.values())
        return not self.reached or by_position >= _RACE * accepted - _FEW

    def restarted(self, before: _Engine) -> bool:
        """Whether the process began anew, or any counter is below what it was."""
        fell = any(self.counts[name] < count for name, count in before.counts.items()) or any(
            self.reached.get(j, count) < count for j, count in before.reached.items()
        )
        return fell or (None not in (self.created, before.created) and self.created != before.created)

    def since(self, before: _Engine | None) -> Counts:
        """What happened after ``before``, or since the start."""
        count = {name: value - (before.counts[name] if before else 0) for name, value in self.counts.items()}
        reached = [self.reached[j] - (before.reached.get(j, 0) if before else 0) for j in range(len(self.reached))]
        if before and len(before.reached) != len(self.reached):  # what a new position counted before is not known
            reached = []
        drafts, drafted, accepted = (count[name] for name in _COUNTERS)
        return Counts(len(reached), drafts, drafted, accepted, reached)


@dataclass(eq=False)
class VllmPrometheus(LineReader):
    """All scrapes given are one source, in the order given; a counter that falls is a restart."""

    shapes = (SHAPE,)
    marks = (b"vllm:spec_decode_num_",)
    engine: ClassVar[str] = "vLLM V1 /metrics"
    across_files = True
    now: dict[str, _Engine] = field(default_factory=dict)
    last: dict[str, _Engine] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    reset: set[str] = field(default_factory=set)
    scrapes: int = 0
    left_out: int = 0
    model: str | None = None
    body: dict[str, Any] = field(default_factory=dict)
    totals: dict[str, dict[int, Counts]] = field(default_factory=dict)
    blocks: Blocks = field(default_factory=Blocks)
    doubts: Doubts = field(default_factory=Doubts)
    source: Source = field(init=False)

    def __post_init__(self) -> None:
        self.source = Source(self.shapes[0], self.engine)

    def line(self, text: str, place: Place) -> None:
        own = series(text, place)
        if own is None:
            return
        base = own.name.removeprefix(self.marks[0].decode())
        created = base.endswith("_created")
        base = base.removesuffix("_created").removesuffix("_total")
        if base == "emitted_tokens":  # vLLM before V1, which has a reader of its own
            self.elsewhere = True
            return
        if base not in (*_COUNTERS, _POSITIONS):
            place.refuse(f"unknown series {own.name}")
        rank = next((name for name in _RANKS if own.labels.get(name, "0") not in ("", "0")), None)
        if rank is not None:
            self.doubts.add("DUPLICATE_RANK_SERIES", place, f'{rank}="{own.labels[rank]}"')
            return
        if own.key in self.seen:  # the same series again: the next scrape of the same file
            self._scraped(place)
        self.seen.add(own.key)
        engine = self._engine(own, place)
        if created:
            engine.created = own.value if base == "drafts" else engine.created
        elif base == _POSITIONS:
            position = own.labels.get("position", "")
            if not (position.isascii() and position.isdigit() and len(position) < 5):
                place.refuse(f"position = {position!r}; allowed: 0, 1, …")
            engine.reached[int(position)] = own.count(place)
        else:
            engine.counts[base] = own.count(place)

    def _engine(self, own: Series, place: Place) -> _Engine:
        name, model = own.labels.get("engine", "0"), own.labels.get("model_name", "")
        self.model = model if self.model is None else self.model
        name = name if model == self.model else f"{name} of {model}"
        if len(self.now) >= MOST_GROUPS and name not in self.now:
            place.refuse(f"more than {MOST_GROUPS} engines in one scrape")
        return self.now.setdefault(name, _Engine())

    def file_ends(self, place: Place) -> None:
        self._scraped(place)

    def _scraped(self, place: Place) -> None:
        """One scrape is at its end: it becomes a difference to the one before."""
        now, self.now = self.now, {}
        self.seen.clear()
        if not now or self.elsewhere:
            return
        alike = len({len(engine.reached) for engine in now.values()}) == 1
        complete = alike and all(engine.whole(self.last.get(name)) for name, engine in now.items())
        if not complete or any(name not in now for name in self.last):
            place.torn()
            return
        counts = {name: self._difference(name, engine, place) for name, engine in now.items()}
        if self.scrapes <= MOST_ROWS:
            title = f"delta_t{self.scrapes - 1}_t{self.scrapes}" if self.scrapes else "single_scrape_t0"
            self.body[title] = {
                name: self._figures(own) | ({"since_restart": True} if name in self.reset else {})
                for name, own in counts.items()
            }
        else:
            self.left_out += 1
        self.last = now
        self.scrapes += 1

    def _difference(self, name: str, now: _Engine, place: Place) -> Counts:
        """What one engine did since the scrape before, or, in the first, since its start."""
        before = self.last.get(name)
        self.reset.discard(name)
        if before is not None and now.restarted(before):
            if now.created is not None and now.created == before.created:
                place.refuse("counters fall although the process did not restart: give the scrapes in order of time")
            self.doubts.add("COUNTER_RESET", place, f"engine {name}")
            self.reset.add(name)
            before = None
        counts = now.since(before)
        if self.scrapes:
            self._add(name, counts, (place.file, place.number))
        self._check(counts, place)
        return counts

    def _add(self, name: str, counts: Counts, at: tuple[str, int]) -> None:
        self.totals.setdefault(name, {}).setdefault(counts.kappa, Counts(counts.kappa)).add(counts)
        if counts.kappa and counts.drafts:
            self.blocks.line(counts.kappa, counts.drafts, counts.reached, counts.draft_tokens, at)

    def _check(self, counts: Counts, place: Place) -> None:
        own, kappa, reached = self.source, counts.kappa, counts.reached
        seen = f"{place.file}, before line {place.number}"
        own.check("accepted ≤ drafted", counts.accepted <= counts.draft_tokens, seen)
        own.check("drafts ≤ drafted", counts.drafts <= counts.draft_tokens, seen)
        if kappa:
            falls = all(a >= b for a, b in pairwise([counts.drafts, *reached]))
            own.check("drafts ≥ accepted at position 0 ≥ position 1 ≥ …", falls, seen)
            own.check("accepted = Σ accepted per position", counts.accepted == sum(reached), seen)
            most = kappa * counts.drafts
            if own.check("drafted ≤ κ·drafts", counts.draft_tokens <= most, seen) and counts.draft_tokens < most:
                short = f"{counts.draft_tokens} drafted in {counts.drafts} drafts of up to {kappa}"
                own.say("VARIABLE_DRAFT_LENGTH", short)
        else:
            own.say("KAPPA_UNKNOWN", "no series per position")

    def _figures(self, counts: Counts) -> dict[str, Any]:
        none = Unknown("the scrape has no counts per position")
        hidden = {} if counts.kappa else {"kappa": none, "reached": none}
        return figures(counts, self.options.level, hidden)

    def _total(self, parts: Collection[Counts]) -> dict[str, Any]:
        if all(part.kappa for part in parts):
            return pooled_figures(parts, self.options.level)
        return self._figures(replace(added(list(parts)), kappa=0))

    def finish(self) -> list[Source]:
        if self.scrapes == 0:
            return []
        own = self.source
        own.body = dict(self.body)
        if self.left_out:
            own.body["deltas_left_out"] = self.left_out
        if not self.totals:
            for name, engine in self.last.items():
                self._add(name, engine.since(None), (self.places[-1].file, self.places[-1].number))
            own.ambiguous.append("one scrape alone holds the lifetime: warm-up and every past κ are in it")
        own.body["engines"] = {name: self._total(parts.values()) for name, parts in self.totals.items()}
        parts = [part for engine in self.totals.values() for part in engine.values()]
        own.body["pooled"] = self._total(parts)
        if all(part.kappa for part in parts):
            self.blocks.unit = ENGINE if self.scrapes <= 2 else INTERVAL
            own.observed = self.blocks.observed()
        own.several_kappas({part.kappa for part in parts if part.drafts})
        if len(self.totals) > 1:
            own.say("MULTI_ENGINE_POOLING", f"engines {', '.join(sorted(self.totals))}")
        self.doubts.tell(own)
        own.conventions = {
            "counters": "cumulative since the start of the process: differences of scrapes",
            "position": "counted from 0",
            "accepted per position": "survival counts: drafts that accepted this position and all before",
            "engines": "sums of the differences between scrapes" if self.scrapes > 1 else "one scrape: the lifetime",
        }
        own.rules = [
            "scrapes are taken in the order given",
            "after a restart the new value is the difference",
            "*_created tells restarts, it is no data",
            "engine labels are kept apart; pooled is their sum",
        ]
        return [own]


@dataclass(eq=False)
class LlamacppPrometheus(VllmPrometheus):
    """The same counters under another prefix, without engines; a request counts when it is finished."""

    shapes = (LLAMACPP,)
    marks = (b"llamacpp:spec_decode_num_",)
    engine = "llama.cpp llama-server /metrics"
