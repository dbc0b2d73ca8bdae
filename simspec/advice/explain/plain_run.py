"""How fast was plain decoding, where it was not typed?  A second log without drafts, or the costs beside the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from simspec.advice.explain.log_times import LogTimes, listed_parts, times_of
from simspec.advice.explain.speeds import PER_SECOND, UNEQUAL, UNITS, same_work
from simspec.evidence.bench_load import at_once
from simspec.evidence.costs.round_costs import RoundCosts
from simspec.evidence.source import Source
from simspec.model.errors import ParameterError

ALIKE = 0.10
"""Relative difference of the requests at once up to which two runs are of one load."""


def apart(sources: Sequence[Source]) -> tuple[list[Source], list[Source]]:
    """Sources with drafts, and those of plain decoding.

    Examples
    --------
    >>> spec, plain = Source("a", "x", {"pooled": {"drafts": 3}}), Source("b", "x", {"pooled": {"speculation": False}})
    >>> [len(part) for part in apart([spec, plain])]
    [1, 1]
    """
    plain = [source for source in sources if is_plain(source)]
    return [source for source in sources if source not in plain], plain


def is_plain(source: Source) -> bool:
    """Whether speculation was off in all of a source."""
    if _pooled(source).get("speculation") is False:
        return True
    rows = listed_parts(source)
    return bool(rows) and all(row.get("speculation") is False for row in rows)


def with_plain_run(log: LogTimes, spec: Source | None, plain: Sequence[Source]) -> LogTimes:
    """Times of the speculative run with those of the plain one.

    Raises
    ------
    ParameterError
        There are several plain runs, the plain one has no speed, or the two are not comparable.
    """
    if not plain:
        return log
    if len(plain) > 1:
        names = ", ".join(map(_name, plain))
        raise ParameterError("files", f"{len(plain)} runs without drafts: {names}; allowed: one, the plain run")
    (base,) = plain
    own = times_of(base, None)
    figures = {name: value for name, value in own.figures.items() if name.startswith("base")}
    if not figures:
        raise ParameterError("files", f"{_name(base)}: a run without drafts, and it holds no speed; give --base-tpot")
    if spec is not None:
        _refuse_unlike(log, spec, figures, base)
    says = {name: f"{_name(base)}, a run without drafts: {own.says[name]}" for name in figures}
    kept = {name: value for name, value in log.figures.items() if not name.startswith("base")}
    return replace(log, figures=kept | figures, says={**log.says, **says}, streams=log.streams or own.streams)


def _refuse_unlike(log: LogTimes, spec: Source, figures: Mapping[str, float], base: Source) -> None:
    """Refuse a plain run of another engine, load, amount of work, or unit."""
    both = f"not comparable: {_name(spec)} and {_name(base)}"
    type_in = "type the plain speed of the same load in: --base-tpot or --base-speed"
    if spec.engine.split()[0] != base.engine.split()[0]:
        setups = f"{spec.engine} and {base.engine}"
        raise ParameterError("files", f"{both} are of {setups}; R is a ratio of times on one setup")
    loads = [at_once(_pooled(source)) for source in (spec, base)]
    known = [load for load in loads if load is not None]
    if len(known) == 1 or (known and _far(min(known), max(known))):
        told = " and ".join("a number that is not told" if load is None else f"{load:g}" for load in loads)
        raise ParameterError("files", f"{both} ran {told} requests at once; {type_in}")
    same_work(_pooled(base).get("generated_tokens"), _pooled(spec).get("generated_tokens"))
    of_spec, of_base = (_pooled(source).get("input_tokens") for source in (spec, base))
    if of_spec is not None and of_base is not None and _far(of_spec, of_base, UNEQUAL):
        raise ParameterError("files", f"{both} read {of_spec:,} and {of_base:,} tokens of prompts")
    units = [{UNITS[name] == PER_SECOND for name in own} for own in (figures, _spec_of(log))]
    if units[1] and not units[0] & units[1]:
        ways = [" and ".join(UNITS[name] for name in own) for own in (_spec_of(log), figures)]
        raise ParameterError("files", f"{both} are timed in {ways[0]} and in {ways[1]}; {type_in}")


def _spec_of(log: LogTimes) -> list[str]:
    return [name for name in log.figures if name.startswith("spec")]


def with_costs(log: LogTimes, costs: RoundCosts | None) -> LogTimes:
    """Times with the plain step of costs measured in ms, where the log has none.

    Raises
    ------
    ParameterError
        The costs are of another batch than the log.
    """
    known = any(name.startswith("base") for name in log.figures)
    if costs is None or costs.plain_ms is None or known or not _spec_of(log):
        return log
    if costs.batch is not None and log.streams is not None and _far(costs.batch, log.streams):
        raise ParameterError(
            "costs",
            f"the costs are of batch {costs.batch:g}, and the log ran {log.streams:g} requests at once: their plain "
            "step is not that of the log; give costs of that batch, or --base-tpot",
        )
    return replace(
        log,
        figures={**log.figures, "base_tpot_ms": costs.plain_ms},
        says={**log.says, "base_tpot_ms": f"the costs ({costs.origin}), κ = 0"},
    )


def _far(a: float, b: float, most: float = ALIKE) -> bool:
    return abs(a - b) > most * max(a, b)


def _pooled(source: Source) -> Mapping[str, Any]:
    own = source.body.get("pooled")
    return own if isinstance(own, dict) else {}


def _name(source: Source) -> str:
    return ", ".join(source.files) or source.shape
