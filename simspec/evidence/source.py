"""What was read from one source?  Counts, figures and nulls, each null with its reason, each doubt with its code."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simspec.evidence.line_course import LineCourse
from simspec.evidence.line_means import LineMeans
from simspec.evidence.observed import Observed

MOST_ROWS = 1_000
"""Windows, requests or items that are listed; what is beyond is counted in the pooled figures only."""

POOLED = ("pooled", "pooled_with_histogram")
"""Names under which a body holds figures of all its rounds, the first there is."""

PARTS = ("per_task", "per_request", "items")
"""Names under which a body holds parts with times of their own."""

BATCH_FACTOR = 4.0
"""A largest batch beyond this many times the smallest is said to change: their costs have little in common."""

WARNINGS = {
    "ACCEPTANCE_RATE_IS_NOT_ALPHA": "accepted ÷ drafted falls with κ; alpha is the rate of one examined draft",
    "ACCEPTANCE_RATE_NOT_COMPARABLE_ACROSS_KAPPA": "accepted ÷ drafted of runs at different κ are not comparable",
    "ACCEPT_RATE_INCLUDES_BONUS": "the printed accept rate counts the bonus token, above and below the line",
    "BATCH_CHANGES_IN_LOG": "the batch changes a lot: costs of different lines are not comparable",
    "CENSORED_BY_KAPPA": "positions beyond the κ of a round are unobserved, not rejected",
    "COUNTER_RESET": "a cumulative counter fell: the engine restarted; segments are kept apart",
    "CUMULATIVE_STATISTICS": "lines hold totals since the start: the last counts, lines are not added",
    "DRAFT_NEVER_ACCEPTED": "no draft was accepted: a broken draft rather than a weak one",
    "DUPLICATE_RANK_ROWS": "rows of other ranks repeat rank 0 and were dropped",
    "DUPLICATE_RANK_SERIES": "series of other ranks repeat the first and were dropped",
    "DUPLICATE_ROWS": "a row stands in the file more than once: it counts once",
    "EMPTY_ROWS": "rows without a round were skipped",
    "GAUGE_NOT_COUNTER": "a gauge is a momentary value: differences of it mean nothing",
    "IDENTITY_BROKEN": "fields that must agree do not",
    "IGNORED_DRAFTS": "drafts that were never verified are part of the drafted count",
    "ITL_DEFINITION_VERSION_DEPENDENT": "whether ITL is per chunk or per token depends on the version",
    "ITL_IS_PER_ROUND": "ITL is the gap between chunks, one per round, not per token",
    "KAPPA_CHANGED": "the draft length changes within the source",
    "KAPPA_UNKNOWN": "the draft length is not in this shape",
    "MIXED_DRAFTERS": "several drafters took part; their counts are kept apart",
    "MULTI_ENGINE_POOLING": "several engines were added up; a difference between them does not show in the pool",
    "NON_STATIONARY": "the acceptance rate moves along the file more than chance allows; simspec drift FILE says where",
    "NO_COUNTS": "the shape prints means without counts: they cannot be pooled",
    "NO_DRAFTS_IN_WINDOW": "lines of windows without a draft (nan) were skipped",
    "NO_DRAFT_FIELDS": "entries without draft fields: speculation was off, not 0",
    "PMF_NOT_SURVIVAL": "printed shares are P(A = j), not survival",
    "RATE_CONTRADICTS_COUNTS": "a printed rate is not that of the printed counts; the counts are used",
    "REQUEST_WITHOUT_SPEC": "requests without a speculative round are left out, not counted as 0",
    "RETOKENIZED_MISMATCH": "tokens counted again from the text are far fewer: degenerate output inflates acceptance",
    "SHORT_LAST_DRAFT": "the drafted count is no multiple of κ: a last draft was cut short",
    "TREE_DRAFTER": "drafts form a tree: drafted counts nodes, and a chain's κ does not exist",
    "TRUNCATED_LINE_DROPPED": "a line that breaks off was dropped whole",
    "UNIT_CHANGE_FRACTION_TO_PERCENT": "rates change from fractions to percent within the file",
    "V0_ACCEPTED_COUNTS_POST_REJECTION": "'accepted' goes on after the first rejection; emitted ÷ drafts is used",
    "VARIABLE_DRAFT_LENGTH": "some drafts are shorter than κ: 'not offered' and 'rejected' mix at deep positions",
    "ZERO_ROUNDS": "entries with zero rounds are no data and are left out of every mean",
}


@dataclass(frozen=True)
class Unknown:
    """A figure that cannot be known from a shape: ``null`` in JSON, with its reason beside it."""

    reason: str


NO_ROUNDS = Unknown("the shape does not hold rounds")


@dataclass
class Identity:
    """An equation between fields: how often it was checked, how often it broke, and where first."""

    checked: int = 0
    broken: int = 0
    first_broken: str | None = None


@dataclass
class Source:
    """One source as read.

    Attributes
    ----------
    shape : str
        Name of the shape, e.g. ``"vllm-v1-current"``.
    engine : str
        What wrote it.
    files : list of str
        Where it was read.
    body : dict
        Figures by name; an `Unknown` where there is none.
    conventions : dict
        What the printed words mean in this shape.
    warn : dict
        Code → what was seen here.
    identities : dict
        Equation → `Identity`.
    rules, ambiguous : list of str
        How it was read; what the reader could not decide.
    observed : Observed or Unknown
        The rounds themselves, for fits and tests; an `Unknown` says why there are none.
    line_means : LineMeans or None
        Tokens per round of lines that print means without counts, where what weighs them can be assumed.
    line_course : LineCourse or None
        Those means along the log.
    kappas : tuple of int
        Draft lengths told from its lines, where no block holds one.
    pieces : bool
        Whether its files were read as pieces of one log.
    assumes_kappa : bool
        Whether the draft length in its figures is an assumption, neither read nor given.
    """

    shape: str
    engine: str
    body: dict[str, Any] = field(default_factory=dict)
    conventions: dict[str, str] = field(default_factory=dict)
    warn: dict[str, str] = field(default_factory=dict)
    identities: dict[str, Identity] = field(default_factory=dict)
    rules: list[str] = field(default_factory=list)
    ambiguous: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    observed: Observed | Unknown = NO_ROUNDS
    line_means: LineMeans | None = None
    line_course: LineCourse | None = None
    kappas: tuple[int, ...] = ()
    pieces: bool = False
    assumes_kappa: bool = False

    def say(self, code: str, seen: str) -> None:
        """Raise a warning; what was seen first stays."""
        if code not in WARNINGS:
            raise KeyError(code)
        self.warn.setdefault(code, seen)

    def check(self, equation: str, holds: bool, seen: str, code: str = "IDENTITY_BROKEN") -> bool:
        """Record whether an identity between printed fields holds, and raise ``code`` if it does not."""
        own = self.identities.get(equation)
        if own is None:
            own = self.identities[equation] = Identity()
        own.checked += 1
        if not holds:
            own.broken += 1
            if own.first_broken is None:
                own.first_broken = seen
                self.say(code, f"{equation}: {seen}")
        return holds

    def batch_changes(self, least: int, most: int) -> bool:
        """Whether the batch changes a lot; said, if it does."""
        changes = most > BATCH_FACTOR * max(1, least)
        if changes:
            self.say("BATCH_CHANGES_IN_LOG", f"from {least} to {most} running requests")
        return changes

    def several_kappas(self, kappas: Collection[int]) -> bool:
        """Say it, if there are several."""
        if len(kappas) > 1:
            self.say("KAPPA_CHANGED", f"κ = {', '.join(map(str, sorted(kappas)[:20]))}")
            self.say("CENSORED_BY_KAPPA", "use segments, or cond_alpha_given_offered")
        return len(kappas) > 1

    def ask(self) -> None:
        """What every source is asked at the end: was anything accepted at all, and why are there no rounds?"""
        if self.observed is NO_ROUNDS:
            self.observed = self._why_no_rounds()
        for name in ("pooled", "pooled_with_histogram", "segments", "engines", "drafters"):
            block = self.body.get(name)
            parts = block if isinstance(block, list) else list(block.values()) if isinstance(block, dict) else []
            for own in (block, *parts):
                drafted = own.get("draft_tokens") if isinstance(own, dict) else None
                if isinstance(drafted, int) and drafted and own.get("accepted_tokens") == 0:
                    self.say("DRAFT_NEVER_ACCEPTED", f"{name}: 0 of {drafted} drafted tokens")

    def _why_no_rounds(self) -> Unknown:
        """The reason for which there is no survival is the reason for which there are no rounds."""
        blocks = [self.body.get("pooled"), *self.body.get("segments", [])[:1], self.body]
        for block in blocks:
            survival = block.get("survival") if isinstance(block, dict) else None
            if isinstance(survival, Unknown):
                return survival
        off = any(isinstance(block, dict) and block.get("speculation") is False for block in blocks)
        return Unknown("speculation was off") if off else NO_ROUNDS

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, with the names of the fields; unknown figures are None and stand in ``reasons``."""
        reasons: dict[str, str] = {}
        body = {key: _plain(value, key, reasons) for key, value in self.body.items()}
        names = [Path(file).name for file in self.files]
        where = {"file": names[0]} if len(names) == 1 else {"files": names}
        return {
            **where,
            "shape": self.shape,
            "engine": self.engine,
            **body,
            "conventions": self.conventions,
            "identities": [{"identity": name, **vars(own)} for name, own in self.identities.items()],
            "warn": sorted(self.warn),
            "warnings": {code: f"{WARNINGS[code]} ({self.warn[code]})" for code in sorted(self.warn)},
            "reasons": reasons,
            "rules": self.rules,
            "ambiguous": self.ambiguous,
        }


def _plain(value: Any, path: str, reasons: dict[str, str]) -> Any:
    if isinstance(value, Unknown):
        reasons[path] = value.reason
        return None
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        value = None
        reasons[path] = "the source does not print it"
    if isinstance(value, dict):
        return {str(key): _plain(entry, f"{path}.{key}", reasons) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry, f"{path}[{i}]", reasons) for i, entry in enumerate(value)]
    return value


def rows_of(part: Any) -> list[dict[str, Any]]:
    """The rows of a part of a body, which is a list or a table of them.

    Examples
    --------
    >>> rows_of({"a": {"drafts": 3}, "b": 1}), rows_of(None)
    ([{'drafts': 3}], [])
    """
    rows = part if isinstance(part, list) else list(part.values()) if isinstance(part, dict) else []
    return [row for row in rows if isinstance(row, dict)]


class Rows(list[Any]):
    """A list that stops growing at `MOST_ROWS` and counts what it left out."""

    left_out: int = 0

    @property
    def full(self) -> bool:
        """Whether another row would only be counted."""
        return len(self) >= MOST_ROWS

    def append(self, row: Any) -> None:
        if len(self) < MOST_ROWS:
            super().append(row)
        else:
            self.left_out += 1

    def put(self, body: dict[str, Any], name: str) -> None:
        """Into a body, with the number left out where there is one."""
        body[name] = list(self)
        if self.left_out:
            body[f"{name}_left_out"] = self.left_out
