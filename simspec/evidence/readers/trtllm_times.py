"""How long did TensorRT-LLM's rounds take?  Iterations in which every request is verified and none prefills."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from simspec.evidence.readers.base import Fields
from simspec.evidence.source import Rows, Source, Unknown

LONGEST = 50
"""Iterations of a window: enough for a mean, few enough that a file has several, which then show the scatter."""


@dataclass
class _Window:
    """Neighbouring iterations of as many requests and drafts."""

    running: int
    kappa: float
    iterations: int = 0
    accepted: int = 0
    ms: float = 0.0
    draft_ms: float | None = 0.0

    def row(self) -> dict[str, Any]:
        """As listed."""
        drafts = self.iterations * self.running
        told = {} if self.draft_ms is None else {"draft_ms_per_round": self.draft_ms / self.iterations}
        return {
            "running": self.running,
            "kappa": int(self.kappa) if self.kappa == int(self.kappa) else self.kappa,
            "iterations": self.iterations,
            "drafts": drafts,
            "draft_tokens": round(self.kappa * drafts),
            "accepted_tokens": self.accepted,
            "round_ms": self.ms / self.iterations,
        } | told


@dataclass
class IterationTimes:
    """Times of the iterations that are rounds and nothing else."""

    windows: Rows = field(default_factory=Rows)
    open: _Window | None = None
    whole: _Window = field(default_factory=lambda: _Window(0, 0.0))
    least: int = 0
    most: int = 0
    untold: int = 0
    mixed: int = 0

    def add(self, row: Fields, stats: Fields, drafts: int, drafted: int, accepted: int) -> None:
        """An iteration in which ``drafts`` requests had drafts."""
        ms = row.number_or_none("iterLatencyMS")
        told = row.part("inflightBatchingStats") if row.record.get("inflightBatchingStats") is not None else None
        prefills = None if told is None else told.count_or_none("numContextRequests")
        if not ms or told is None or prefills is None:
            self.untold += 1
            return
        generating = told.count_or_none("numGenRequests")
        if prefills or (generating is not None and generating != drafts):
            self.mixed += 1
            return
        kappa, own = drafted / drafts, self.open
        if own is None or (own.running, own.kappa) != (drafts, kappa) or own.iterations == LONGEST:
            self._close()
            own = self.open = _Window(drafts, kappa)
        share = stats.number_or_none("draftOverhead")
        for part in (own, self.whole):
            part.iterations += 1
            part.accepted += accepted
            part.ms += ms
            part.draft_ms = None if share is None or part.draft_ms is None else part.draft_ms + share * ms
        self.whole.running += drafts
        self.least, self.most = min(self.least or drafts, drafts), max(self.most, drafts)

    def _close(self) -> None:
        if self.open is not None:
            self.windows.append(self.open.row())
        self.open = None

    def tell(self, source: Source) -> dict[str, Any]:
        """Figures for the pool; windows and what was left out go into the source."""
        self._close()
        if not self.whole.iterations:
            why = "iterLatencyMS or inflightBatchingStats is missing" if self.untold else "no iteration only generates"
            return {"iteration_ms": Unknown(f"the time of a round is not known: {why}")}
        self.windows.put(source.body, "windows")
        if self.mixed:
            left = f"{self.mixed:,} iterations that also prefill, or hold requests without drafts, are not timed"
            source.rules.append(left)
        if source.batch_changes(self.least, self.most):
            return {"iteration_ms": Unknown("the batch changes: windows hold the times by batch")}
        own = self.whole
        out: dict[str, Any] = {
            "timed_iterations": own.iterations,
            "mean_running": own.running / own.iterations,
            "iteration_ms": own.ms / own.iterations,
        }
        return out if own.draft_ms is None else out | {"draft_ms_per_round": own.draft_ms / own.iterations}
