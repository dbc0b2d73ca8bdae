"""How does a source read on a terminal?"""

from __future__ import annotations

from typing import Any

from simspec.evidence.observed import Observed
from simspec.evidence.rounds.processes import ProcessFits
from simspec.evidence.rounds.show import shown_processes, wrapped
from simspec.evidence.source import POOLED, WARNINGS, Source, Unknown
from simspec.text import clean, number, table

_NESTED = ("engines", "per_subset", "drafters", "given_kappa", "single_scrape_t0")
_LISTED = ("segments", "windows", "per_request", "items", "groups")
_ROWS = 12
_NEXT = """\
next
  simspec recommend FILE --draft-cost 0.1                  which κ to set, and how sure that is
  simspec explain FILE --base-speed X --spec-speed Y       why it is no faster: tok/s without and with speculation"""


def shown(source: Source, processes: ProcessFits | Unknown | None = None) -> str:
    """A source as text: counts with intervals, processes, warnings, what is not known and why, conventions."""
    data = source.to_dict()
    parts = [
        clean(f"{', '.join(source.files)}: {source.shape} ({source.engine})") + _headline(data, source.assumes_kappa)
    ]
    for name in POOLED:
        if isinstance(data.get(name), dict):
            parts.append(_block(name, data[name]))
    for name in _NESTED:
        if isinstance(data.get(name), dict) and data[name]:
            parts.append(_rows(name, [{"": key, **value} for key, value in data[name].items()]))
    parts += [_rows(name, data[name]) for name in _LISTED if isinstance(data.get(name), list) and data[name]]
    if isinstance(data.get("per_task"), dict):
        parts.append(_rows("per_task", [{"task": key, **value} for key, value in data["per_task"].items()]))
    if isinstance(processes, ProcessFits):
        parts.append(shown_processes(processes))
    elif processes is not None:
        parts.append("processes\n" + wrapped(f"none is fitted: {clean(processes.reason)}"))
    if source.warn:
        told = (f"{code}: {WARNINGS[code]} ({clean(source.warn[code])})" for code in sorted(source.warn))
        parts.append("warnings\n" + "\n".join(map(wrapped, told)))
    if data["reasons"]:
        parts.append("not known\n" + _reasons(data["reasons"]))
    broken = [
        f"  {name}: broken {own.broken} of {own.checked} times, first {clean(own.first_broken or '')}"
        for name, own in source.identities.items()
        if own.broken
    ]
    held = [name for name, own in source.identities.items() if not own.broken]
    checks = broken + ([wrapped(f"hold: {'; '.join(held)}")] if held else [])
    if checks:
        parts.append("identities\n" + "\n".join(checks))
    if source.conventions:
        parts.append(
            "words\n" + "\n".join(wrapped(f"{clean(word)}: {clean(text)}") for word, text in source.conventions.items())
        )
    if source.ambiguous:
        parts.append("undecided\n" + "\n".join(wrapped(clean(text)) for text in source.ambiguous))
    if isinstance(source.observed, Observed) and source.observed.rounds:
        parts.append(_NEXT)
    return "\n\n".join(parts)


def _headline(data: dict[str, Any], assumes_kappa: bool) -> str:
    """Tokens per round and what becomes of a draft, in a sentence; nothing where E is not known."""
    block: dict[str, Any] = next((data[name] for name in POOLED if isinstance(data.get(name), dict)), {})
    emitted, ends = block.get("mean_emitted_per_round"), block.get("intervals") or {}
    if emitted is None:
        return ""
    own = ends.get("mean_emitted_per_round")
    sure = f" [{number(own[0], 3)}, {number(own[1], 3)}]" if own else ""
    kappa = block.get("kappa")
    at = f" at κ = {kappa}" if kappa is not None and not assumes_kappa else ""
    text = f"a round emits E = {number(emitted, 3)}{sure} tokens{at} (accept length, bonus token counted)"
    rates = block.get("cond_alpha") or []
    if assumes_kappa:
        text += "; the draft length is not in the file: what is said of drafts assumes one (--kappa)"
    elif rates and rates[0] is not None:
        text += f"; the first draft is accepted in {rates[0]:.1%} of rounds"
        if len(rates) > 1 and rates[-1] is not None:
            text += f", draft {len(rates)} in {rates[-1]:.1%} of those that reach it"
    return "\n" + wrapped(text)


def _block(name: str, block: dict[str, Any]) -> str:
    lines = [name]
    single = {key: value for key, value in block.items() if not isinstance(value, (list, dict)) and value is not None}
    ends = block.get("intervals") or {}
    emitted = ends.get("mean_emitted_per_round")
    for key, value in single.items():
        interval = (
            f"  [{number(emitted[0])}, {number(emitted[1])}]" if key == "mean_emitted_per_round" and emitted else ""
        )
        lines.append(f"  {key:<32} {_cell(value)}{interval}")
    if isinstance(block.get("survival"), list) and block["survival"]:
        lines += ["", _curve(block, ends)]
        if ends:
            lines.append(wrapped(f"{ends['level']:.0%} intervals, {ends['method']}"))
    elif isinstance(block.get("cond_alpha_given_offered"), list):
        rates = ", ".join(number(value) for value in block["cond_alpha_given_offered"] if value is not None)
        lines.append(f"  {'cond_alpha_given_offered':<32} {rates}")
    return "\n".join(lines)


def _curve(block: dict[str, Any], ends: dict[str, Any]) -> str:
    rows = []
    counts = block.get("accepted_at_position") or [None] * len(block["survival"])
    for j, (count, survival, alpha) in enumerate(zip(counts, block["survival"], block["cond_alpha"], strict=True)):
        row = [str(j + 1), _cell(count), number(survival)]
        for name, value in (("survival", None), ("cond_alpha", alpha)):
            if name == "cond_alpha":
                row.append(_cell(value))
            pair = ends[name][j] if ends else None
            row.append(f"[{number(pair[0])}, {number(pair[1])}]" if pair else "–")
        rows.append(row)
    return table(["draft", "accepted", "S_j", "interval", "α given j−1", "interval"], rows, _ROWS)


def _rows(name: str, rows: list[Any]) -> str:
    rows = [row for row in rows if isinstance(row, dict)]
    keys = list(dict.fromkeys(key for row in rows for key, value in row.items() if not isinstance(value, (list, dict))))
    cells = [[_cell(row.get(key)) for key in keys] for row in rows]
    return f"{name}\n" + table([clean(key) for key in keys], cells, _ROWS)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return number(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else clean(str(value))


def _reasons(reasons: dict[str, str]) -> str:
    """Paths with the same reason on one line; of long lists the first."""
    grouped: dict[str, list[str]] = {}
    for path, reason in reasons.items():
        grouped.setdefault(reason, []).append(path)
    lines = []
    for reason, paths in list(grouped.items())[:_ROWS]:
        names = list(dict.fromkeys(path.rsplit(".", 1)[-1].split("[")[0] for path in paths))
        lines.append(wrapped(f"{', '.join(map(clean, names))}: {clean(reason)}"))
    return "\n".join(lines)
