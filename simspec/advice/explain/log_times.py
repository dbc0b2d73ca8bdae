"""Which times does a log of the speculative run hold: of a round, of its parts, of a plain step?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simspec.advice.explain.speeds import UNITS
from simspec.evidence.bench_load import WHOLE_RUN, at_once
from simspec.evidence.source import PARTS, Source, rows_of
from simspec.text import plural

_ROUND = {
    "implied_round_ms": "the engine's tokens per second of one request, at a batch that hardly changes",
    "measured_round_ms": "the time of the whole run over its rounds",
    "iteration_ms": "the latency of its iterations without prefill",
}
"""Time of a round in the pooled figures of a source → how the log tells it."""
_VERIFYING = (
    ("verify_ms", "verify_ms_per_token", "its column of verifying: the slope over κ"),
    ("fixed_ms", "verify_ms_base", "its column of verifying: where the line over κ meets 0"),
)
_UNITS = UNITS | {
    "draft_ms": "ms per draft token",
    "verify_ms": "ms per further token verified",
    "fixed_ms": "ms per round without drafts",
}
Found = dict[str, tuple[float, str]]
"""Name of a figure → its value, and where it stands."""
_ONE_STREAM = "llama.cpp"
"""Its times are of one request (one slot), so that a plain speed beside them is too, unless it is said otherwise."""


@dataclass(frozen=True)
class LogTimes:
    """Times read from a log.

    Attributes
    ----------
    figures : dict
        Speeds under the names of `simspec.advice.explain.speeds.UNITS`, the better one of each side first.
    parts : dict
        ``draft_ms`` (one draft token), ``verify_ms`` (verifying one more token), ``fixed_ms`` (a round without drafts).
    streams : float or None
        Streams behind figures in tok/s, where the log tells.
    says : dict
        Name of a figure or part → where in the log it comes from.
    """

    figures: Mapping[str, float] = field(default_factory=dict)
    parts: Mapping[str, float] = field(default_factory=dict)
    streams: float | None = None
    says: Mapping[str, str] = field(default_factory=dict)

    def told(self, name: str) -> str:
        """A figure or part with its unit and origin."""
        value = self.figures[name] if name in self.figures else self.parts[name]
        return f"{value:.4g} {_UNITS[name]}, from {self.says[name]}"


def times_of(source: Source | None, drafts: float | None) -> LogTimes:
    """Times of a source; none where it holds none.

    The time of a round is preferred to tokens per second: E and speed of one log share the luck of its drafts, which
    R = E ÷ speed does not.

    Parameters
    ----------
    source : Source or None
    drafts : float or None
        Drafts per round.

    Examples
    --------
    >>> own = times_of(Source("some", "engine", {"pooled": {"measured_round_ms": 38.0}}), 6.0)
    >>> own.told("spec_round_ms")
    '38 ms per round, from the time of the whole run over its rounds'
    """
    if source is None:
        return LogTimes()
    pooled = _mapping(source.body.get("pooled"))
    found: Found = {}
    _of_table(pooled, drafts, found)
    _of_pool(pooled, found)
    _of_parts(source, found)
    _of_drafting(pooled, drafts, found)
    if "spec_round_ms" in found:
        found.pop("spec_tok_s", None)
    return LogTimes(
        figures={name: value for name, (value, _) in found.items() if name in UNITS},
        parts={name: value for name, (value, _) in found.items() if name not in UNITS},
        streams=_streams(source, pooled),
        says={name: said for name, (_, said) in found.items()},
    )


def _of_drafting(pooled: Mapping[str, Any], drafts: float | None, found: Found) -> None:
    whole, each = _number(pooled, "draft_ms_per_round"), _number(pooled, "draft_ms_per_token")
    if each is not None and drafts:
        whole = each * drafts + (_number(pooled, "draft_ms_base") or 0.0)
    if whole is not None and drafts:
        found["draft_ms"] = (whole / drafts, "its time of drafting")
    for name, entry, said in _VERIFYING:
        value = _number(pooled, entry)
        if value is not None:
            found[name] = (value, said)


def _of_table(pooled: Mapping[str, Any], drafts: float | None, found: Found) -> None:
    """A table of rounds with the time of drafting and of verifying: lines over κ, or means where κ does not vary."""
    names = [f"{part}_ms_{piece}" for part in ("draft", "verify") for piece in ("base", "per_token")]
    values = [_number(pooled, name) for name in names]
    if drafts and None not in values:
        draft_base, draft_each, verify_base, verify_each = (value or 0.0 for value in values)
        whole = draft_base + verify_base + drafts * (draft_each + verify_each)
        found["spec_round_ms"] = (whole, "its columns of drafting and verifying")
        return
    drafting, verifying = (_number(pooled, f"{part}_ms_per_round") for part in ("draft", "verify"))
    if drafting is not None and verifying is not None:
        found["spec_round_ms"] = (drafting + verifying, "the means of its columns of drafting and verifying")


def _of_pool(pooled: Mapping[str, Any], found: Found) -> None:
    for name, said in _ROUND.items():
        value = _number(pooled, name)
        if value is not None:
            found.setdefault("spec_round_ms", (value, said))
    side = "base" if pooled.get("speculation") is False else "spec"
    tpot, speed = _number(pooled, "mean_tpot_ms"), _number(pooled, "output_tok_s")
    if tpot:
        found[f"{side}_tpot_ms"] = (tpot, "its mean TPOT")
    if speed:
        said = "its output tokens per second" if at_once(pooled) is None else f"its {WHOLE_RUN}"
        found.setdefault(f"{side}_tok_s", (speed, said))
    single = _number(pooled, "target_ms_single_token")
    if single:
        found["base_tpot_ms"] = (single, "its single-token passes of the target")


def _of_parts(source: Source, found: Found) -> None:
    """Requests that are timed one by one: a round as the mean over their rounds; a plain step from those without."""
    timed, plain = [], []
    for row in listed_parts(source):
        cost = _number(row, "round_ms") or _number(row, "implied_round_ms")
        rounds = _number(row, "drafts") or _number(row, "drafts_if_every_round_drafts") or _number(row, "drafts_upper")
        speed = _number(row, "predicted_per_second")
        if cost and rounds:
            timed.append((cost, rounds))
        elif row.get("speculation") is False and speed:
            plain.append(1000.0 / speed)
    if timed and "spec_round_ms" not in found:
        rounds = math.fsum(weight for _, weight in timed)
        said = f"the times of {plural(len(timed), 'request')} ({int(rounds):,} rounds)"
        found["spec_round_ms"] = (math.fsum(cost * weight for cost, weight in timed) / rounds, said)
    if plain and "base_tpot_ms" not in found:
        said = f"its {plural(len(plain), 'request')} without drafts, which may be of other content"
        found["base_tpot_ms"] = (math.fsum(plain) / len(plain), said)


def listed_parts(source: Source) -> list[Mapping[str, Any]]:
    """Requests or tasks of a source, as it lists them."""
    return [row for name in PARTS for row in rows_of(source.body.get(name))]


def _streams(source: Source, pooled: Mapping[str, Any]) -> float | None:
    """Requests that ran at once: as the log counts them, or one where its times are those of one."""
    running = [_number(row, "running") for row in rows_of(source.body.get("windows"))]
    known = [value for value in running if value is not None]
    if known and "implied_round_ms" in pooled:
        return math.fsum(known) / len(known)
    told = _number(pooled, "mean_running") or at_once(pooled)
    if told is not None:
        return told
    return 1.0 if source.engine.startswith(_ONE_STREAM) else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _number(row: Mapping[str, Any], name: str) -> float | None:
    value = row.get(name)
    known = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if known else None  # type: ignore[arg-type]
