"""vLLM V1 log lines of every version: interval counts, with acceptance per position from 0.8.5 on."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from simspec.evidence.block import Counts, added, figures, given_kappa, pooled_figures
from simspec.evidence.gather import Blocks
from simspec.evidence.readers.base import MOST_GROUPS, Doubts, LineReader, Place
from simspec.evidence.readers.counts import Drafts, drafts_of
from simspec.evidence.readers.vllm_line import MARKS, Metrics, metrics
from simspec.evidence.source import Rows, Source, Unknown

ENGINES = {
    "vllm-v1-early": "vLLM 0.8.2-0.8.4 (V1)",
    "vllm-v1-mid": "vLLM 0.8.5-0.10 (V1)",
    "vllm-v1-current": "vLLM 0.11+ (V1)",
}

_PROCESS = re.compile(r"\((?:\w+ )?pid=(\d+)\)|\((\w+) pid=(\d+)\)")
_ENGINE = re.compile(
    r"Engine(?:s Aggregated| (\d+)): Avg prompt throughput: \d{1,15}\.\d{1,15} tokens/s, "
    r"Avg generation throughput: (\d{1,15}\.\d{1,15}) tokens/s, Running: (\d{1,9}) reqs"
)
_NO_KAPPA = Unknown("κ is not in this shape; pass it (--kappa)")


@dataclass
class _Batch:
    """The statistics line that came last from a process."""

    engine: str
    throughput: float
    running: int


@dataclass
class _Pool:
    """Windows of one engine at one κ."""

    counts: Counts
    slack: int = 0
    low: int = 0
    high: int = 0
    unknown: int = 0


@dataclass
class _Shape:
    """Everything of one shape in one file."""

    source: Source
    windows: Rows = field(default_factory=Rows)
    pools: dict[tuple[str, str, int], _Pool] = field(default_factory=dict)
    blocks: Blocks = field(default_factory=Blocks)
    doubts: Doubts = field(default_factory=Doubts)
    bonus: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})
    throughput: float = 0.0
    paired: int = 0
    running: int = 0
    least: int | None = None
    most: int = 0
    units: dict[str, int] = field(default_factory=dict)


@dataclass(eq=False)
class VllmV1(LineReader):
    """Windows are added up as counts, never by averaging printed rates."""

    shapes = tuple(ENGINES)
    marks = (b"SpecDecoding metrics: ", b"Speculative metrics: ", b"Avg generation throughput: ")
    batches: dict[str, _Batch] = field(default_factory=dict)
    found: dict[str, _Shape] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    concurrent: bool = False

    def line(self, text: str, place: Place) -> None:
        process = _PROCESS.search(text) if "pid=" in text else None
        pid = process.group(process.lastindex or 1) if process else ""
        first = min(text.find(mark) % (len(text) + 1) for mark in MARKS)  # the length, where there is none
        batches = list(_ENGINE.finditer(text)) if "Avg generation throughput" in text else []
        for batch in batches:  # more than one, and on either side of the metrics, where lines ran together
            if batch.start() < first:
                self._remember(pid, batch)
        if first < len(text):
            torn = place.torn_lines
            for own in metrics(text, place):
                if own.shape in ENGINES:
                    shape = self.found.get(own.shape)
                    if shape is None:
                        shape = self.found[own.shape] = _Shape(Source(own.shape, ENGINES[own.shape]))
                    self._notice(pid)
                    self._window(shape, own, pid, place)
            if place.torn_lines > torn:  # the statistics before it belong to a window that was dropped
                self.batches.pop(pid, None)
        for batch in batches:
            if batch.start() > first:
                self._remember(pid, batch)

    def _remember(self, pid: str, batch: re.Match[str]) -> None:
        if len(self.batches) >= MOST_GROUPS and pid not in self.batches:
            self.batches.clear()
        self.batches[pid] = _Batch(batch.group(1) or "all", float(batch.group(2)), int(batch.group(3)))

    def _notice(self, pid: str) -> None:
        """Processes that take turns run at the same time; one after the other is a restart."""
        if not self.order or self.order[-1] != pid:
            self.concurrent |= pid in self.order
            self.order = [*self.order[-MOST_GROUPS:], pid]

    def _window(self, shape: _Shape, own: Metrics, pid: str, place: Place) -> None:
        accepted, drafted = _counts(own)
        if drafted == 0:
            shape.doubts.add("NO_DRAFTS_IN_WINDOW", place)
            return
        place.fits(accepted, drafted)
        batch = self.batches.pop(pid, None)
        engine = batch.engine if batch else ""
        if batch:
            shape.paired += 1
            shape.throughput += batch.throughput
            shape.running += batch.running
            shape.least = batch.running if shape.least is None else min(shape.least, batch.running)
            shape.most = max(shape.most, batch.running)
        self._rate(shape, own, accepted, drafted, place)
        printed = own.fields.get("Per-position acceptance rate")
        rates = printed.split(", ") if printed is not None else []
        drafts = self._drafts(shape, own, accepted, drafted, rates, place) if rates else None
        if shape.windows.full:
            shape.windows.left_out += 1
        else:
            shape.windows.append(_row(batch, rates, drafts, drafted, accepted))
        self._add(shape, (pid, engine, len(rates)), accepted, drafted, drafts, place)

    def _rate(self, shape: _Shape, own: Metrics, accepted: int, drafted: int, place: Place) -> None:
        """The printed rate against the counts; the unit is told by the sign, never by the size."""
        text = own.fields.get("Avg Draft acceptance rate") or own.fields["Draft acceptance rate"]
        shape.units.setdefault("percent" if text.endswith("%") else "fraction", place.number)
        value, step = (float(text[:-1]) / 100, 5.1e-4) if text.endswith("%") else (float(text), 5.1e-4)
        counted = accepted / drafted
        holds = abs(value - counted) <= step
        seen = "" if holds else f"line {place.number}: printed {text}, counts give {counted:.4f}"
        shape.source.check("draft acceptance rate = accepted / drafted", holds, seen, "RATE_CONTRADICTS_COUNTS")

    def _drafts(
        self, shape: _Shape, own: Metrics, accepted: int, drafted: int, rates: list[str], place: Place
    ) -> Drafts:
        source, length = shape.source, own.fields["Mean acceptance length"]
        printed, total, slack = float(length), sum(map(float, rates)), 5.1e-3 + 5e-4 * len(rates)
        bonus = abs(printed - 1.0 - total) <= slack
        if not bonus and not abs(printed - total) <= slack:  # neither with nor without the bonus token; or nan
            source.check("acceptance length = 1 + ΣS_j", False, f"line {place.number}: {length} and {total:.3f}")
            return Drafts(Unknown("length and rates of the line contradict each other"))
        shape.bonus[bonus] += 1
        source.check("acceptance length = 1 + ΣS_j" if bonus else "acceptance length = ΣS_j", True, "")
        falls = rates == sorted(rates, reverse=True)  # as text: one digit before the point, three after
        if not source.check("S_j never rises", falls, "" if falls else f"line {place.number}: {', '.join(rates)}"):
            return Drafts(Unknown("the printed survival rises with the position"))
        drafts = drafts_of(accepted, drafted, length if bonus else f"{printed + 1.0:.2f}", rates)
        fits = not isinstance(drafts.best, Unknown) or accepted == 0
        source.check("accepted = drafts·ΣS_j", fits, f"line {place.number}: no number of drafts fits")
        if isinstance(drafts.best, int) and drafts.best * len(rates) != drafted:
            seen = f"{drafted} drafted in {drafts.best} drafts of up to {len(rates)}"
            shape.doubts.add("VARIABLE_DRAFT_LENGTH", place, seen)
        return drafts

    def _add(
        self, shape: _Shape, key: tuple[str, str, int], accepted: int, drafted: int, drafts: Drafts | None, place: Place
    ) -> None:
        pool = shape.pools.get(key)
        if pool is None:
            if len(shape.pools) >= MOST_GROUPS:
                place.refuse(f"more than {MOST_GROUPS} engines, processes and κ in one file")
            pool = shape.pools[key] = _Pool(Counts(key[2], reached=[0] * key[2]))
        if drafts is None:
            pool.counts.add(Counts(0, 0, drafted, accepted))
        elif isinstance(drafts.best, int):
            own = pool.counts
            own.drafts, own.draft_tokens, own.accepted = (
                own.drafts + drafts.best,
                own.draft_tokens + drafted,
                own.accepted + accepted,
            )
            own.reached = [a + b for a, b in zip(own.reached, drafts.reached, strict=True)]
            pool.low, pool.high = pool.low + drafts.low, pool.high + drafts.high
            pool.slack += drafts.slack
            shape.blocks.line(key[2], drafts.best, drafts.reached, drafted, (place.file, place.number))
        else:
            pool.unknown += 1

    def finish(self) -> list[Source]:
        return [self._source(name, shape) for name, shape in self.found.items()]

    def _source(self, name: str, shape: _Shape) -> Source:
        own = shape.source
        shape.windows.put(own.body, "windows")
        shape.doubts.tell(own)
        _conventions(own, shape)
        if name == "vllm-v1-early":
            own.body |= self._without_kappa(shape)
            own.say("KAPPA_UNKNOWN", "the line holds no κ")
            own.observed = Unknown("the lines hold sums over rounds, nothing per position")
            if len(shape.units) > 1:
                own.say(
                    "UNIT_CHANGE_FRACTION_TO_PERCENT",
                    f"{', '.join(f'{u} from line {n}' for u, n in shape.units.items())}",
                )
        else:
            self._with_positions(own, shape)
        return own

    def _without_kappa(self, shape: _Shape) -> dict[str, Any]:
        counts = added([pool.counts for pool in shape.pools.values()])
        hidden = dict.fromkeys(("kappa", "drafts", "reached"), _NO_KAPPA)
        out: dict[str, Any] = {"pooled": figures(counts, self.options.level, hidden)}
        kappa = self.options.kappa
        if kappa is not None:
            out["given_kappa"] = {str(kappa): given_kappa(kappa, counts.draft_tokens, counts.accepted)}
        return out

    def _with_positions(self, own: Source, shape: _Shape) -> None:
        level = self.options.level
        pools = {key: pool for key, pool in shape.pools.items() if pool.counts.drafts}
        lost = sum(pool.unknown for pool in shape.pools.values())
        if lost:
            own.body["windows_without_drafts"] = lost
        kappas = sorted({key[2] for key in pools})
        names = self._engines(pools)
        pooled = _pool(pools.values(), level)
        if own.several_kappas(kappas):
            own.body["segments"] = [
                _pool([pool for key, pool in pools.items() if key[2] == kappa], level) for kappa in kappas
            ]
        engines = sorted(set(names.values()))
        if len(engines) > 1:
            own.body["engines"] = {
                engine: _pool([pool for key, pool in pools.items() if names[key] == engine], level)
                for engine in engines
            }
            own.say("MULTI_ENGINE_POOLING", f"engines {', '.join(engines)}")
        mixed = shape.least is not None and own.batch_changes(shape.least, shape.most)
        if shape.paired and shape.running and len(engines) < 2 and not mixed:
            rate = shape.throughput / shape.running
            pooled["tokens_per_s_per_request"] = rate
            emitted = pooled["mean_emitted_per_round"]
            if isinstance(emitted, float) and rate > 0:
                pooled["implied_round_ms"] = 1000.0 * emitted / rate
        own.body["pooled"] = pooled
        own.observed = shape.blocks.observed()

    def _engines(self, pools: dict[tuple[str, str, int], _Pool]) -> dict[tuple[str, str, int], str]:
        """A name for the engine of each pool; windows without one belong to the only one there is."""
        known = {engine for _, engine, _ in pools if engine}
        only = next(iter(known)) if len(known) == 1 else "?"
        if self.concurrent:
            return {key: f"{key[1] or only} (pid {key[0]})" for key in pools}
        return {key: key[1] or only for key in pools}


def _row(batch: _Batch | None, rates: list[str], drafts: Drafts | None, drafted: int, accepted: int) -> dict[str, Any]:
    """What is listed of one window."""
    row: dict[str, Any] = {}
    if batch is not None:
        row = {"running": batch.running, "engine": batch.engine, "generation_tok_s": batch.throughput}
    if drafts is not None:
        row |= {"kappa": len(rates), "drafts": drafts.best, "drafts_exact": drafts.exact}
        row |= {"drafts_inferred": drafts.inferred, "survival": [float(rate) for rate in rates]}
    return row | {"draft_tokens": drafted, "accepted_tokens": accepted}


def _counts(own: Metrics) -> tuple[int, int]:
    fields = own.fields
    names = ("Accepted", "Drafted") if "Accepted" in fields else ("Number of accepted tokens", "Number of draft tokens")
    return int(fields[names[0]]), int(fields[names[1]])


def _pool(pools: Collection[_Pool], level: float) -> dict[str, Any]:
    """Windows added up."""
    out = pooled_figures([pool.counts for pool in pools], level, slack=sum(pool.slack for pool in pools))
    low, high = sum(pool.low for pool in pools), sum(pool.high for pool in pools)
    return out | ({"drafts_range": [low, high]} if low < high else {})


def _conventions(own: Source, shape: _Shape) -> None:
    own.conventions = {"counters": "per interval: windows are added", "acceptance rate": "accepted / drafted"}
    own.conventions["unit of the acceptance rate"] = ", then ".join(shape.units)
    if shape.bonus[True] or shape.bonus[False]:
        length = "bonus token included" if shape.bonus[True] else "bonus token excluded"
        if shape.bonus[True] and shape.bonus[False]:
            length = "bonus token included in some lines, excluded in others (told by 1 + ΣS_j)"
        own.conventions |= {
            "acceptance length": length,
            "per-position rate": "survival S_j: over all drafts, not over those examined",
        }
        own.rules = [
            "drafts are the whole number that length, accepted tokens and per-position rates agree on; "
            "drafted / κ where that is one of them",
            "windows are added as counts; printed rates are never averaged",
        ]
    else:
        own.rules = ["windows are added", "κ and drafts are not in this shape: nothing per round without --kappa"]
