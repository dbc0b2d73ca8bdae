"""Which fields does a line of vLLM's speculative metrics hold, and is it whole, torn, or of a form nobody knows?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from simspec.evidence.readers.base import Place
from simspec.model.errors import did_you_mean, shown

MARKS = ("SpecDecoding metrics: ", "Speculative metrics: ")
_MARK = re.compile("|".join(MARKS))
_NUMBER = r"(?:\d{1,15}\.\d{1,15}|nan)"
_POSITIONS = r"(?:\d\.\d{3}|nan)(?:, (?:\d\.\d{3}|nan))*"
_COUNT = r"\d{1,15}"

VALUES = {
    name: re.compile(f"({value}){end}")
    for name, value, end in (
        ("Draft acceptance rate", _NUMBER + "%?", r"(?![\d.])"),
        ("Mean acceptance length", _NUMBER, r"(?![\d.])"),
        ("Accepted throughput", _NUMBER, " tokens/s"),
        ("Drafted throughput", _NUMBER, " tokens/s"),
        ("Accepted", _COUNT, " tokens"),
        ("Drafted", _COUNT, " tokens"),
        ("Per-position acceptance rate", _POSITIONS, r"(?![\d.])"),
        ("Avg Draft acceptance rate", _NUMBER + "%", ""),
        ("Current speculative depth", _COUNT, r"(?!\d)"),
        ("System efficiency", _NUMBER, r"(?![\d.])"),
        ("Number of speculative tokens", _COUNT, r"(?!\d)"),
        ("Number of accepted tokens", _COUNT, r"(?!\d)"),
        ("Number of draft tokens", _COUNT, r"(?!\d)"),
        ("Number of emitted tokens", _COUNT, r"\."),
        ("Number of draft tokens tokens", _COUNT, r"(?!\d)"),
        ("Number of emitted tokens tokens", _COUNT, r"\."),
    )
}
"""Field → its value and what closes it.  A value followed by its close is whole even if the line breaks off there."""

FORMS = {
    (
        "Draft acceptance rate",
        "System efficiency",
        "Number of speculative tokens",
        "Number of accepted tokens",
        "Number of draft tokens",
        "Number of emitted tokens",
    ): "vllm-v0-speculative-metrics",
    ("Draft acceptance rate", "Number of accepted tokens", "Number of draft tokens"): "vllm-v1-early",
    ("Draft acceptance rate", "Accepted", "Drafted"): "vllm-v1-early",
    (
        "Draft acceptance rate",
        "Mean acceptance length",
        "Accepted",
        "Drafted",
        "Per-position acceptance rate",
    ): "vllm-v1-mid",
    (
        "Mean acceptance length",
        "Accepted throughput",
        "Drafted throughput",
        "Accepted",
        "Drafted",
        "Per-position acceptance rate",
        "Avg Draft acceptance rate",
    ): "vllm-v1-current",
}
"""Fields in the order of the line → shape.  The depth of newer builds may stand anywhere."""

_WHOLE = {
    names: re.compile(", ".join(f"{name}: {VALUES[name].pattern}" for name in names) + r"[, ]*\Z")
    for names in reversed(FORMS)
}
"""The same as one pattern: what nearly every line is, found in one step."""

_OPEN_ENDS = ("Per-position acceptance rate", "Current speculative depth", "Number of draft tokens")
"""Fields that nothing closes: at the end of a line that may be cut, more digits may be missing."""

_NEXT_LINE = re.compile(r"\((?:\w+ )?pid=|\(\w+_\w+ |(?:INFO|WARNING|ERROR|DEBUG)(?: |:)|\[?\d{4}-\d\d-\d\d")
"""What begins another line, where two processes write into one."""


@dataclass(slots=True)
class Metrics:
    """A whole line: its shape and its fields as printed."""

    shape: str
    fields: dict[str, str]


def metrics(text: str, place: Place) -> list[Metrics]:
    """The whole entries in a line, torn ones reported to ``place``; more than one where lines ran together."""
    text = text.replace(" tokens tokens: ", " tokens: ")  # early builds say the word twice
    entries = _MARK.split(text)[1:]
    out = []
    for i, entry in enumerate(entries):
        last = i + 1 == len(entries)
        if not (last or entry):  # the mark itself twice
            continue
        own = _entry(entry, place, place.whole if last else False)
        if own is None:
            place.torn()
        else:
            out.append(own)
    return out


def _entry(entry: str, place: Place, whole: bool) -> Metrics | None:
    for form, pattern in _WHOLE.items() if whole else ():
        found = pattern.match(entry)
        if found is not None:
            return Metrics(FORMS[form], dict(zip(form, found.groups(), strict=True)))
    fields, rest = _fields(entry)
    if rest:  # another line may begin inside this one
        other = _NEXT_LINE.search(entry)
        if other is not None:
            (fields, rest), whole = _fields(entry[: other.start()]), False
    names = tuple(name for name in fields if name != "Current speculative depth")
    shape = FORMS.get(names)
    if shape is not None and not rest.strip(", "):
        closed = whole or next(reversed(fields)) not in _OPEN_ENDS
        return Metrics(shape, fields) if closed else None
    if shape is None and not rest.strip(", ") and not any(form[: len(names)] == names for form in FORMS):
        place.refuse(f"unknown form of vLLM's speculative metrics: {', '.join(names)}")
    name = re.match(r",? ?([A-Z][A-Za-z -]{3,40}): ", rest)
    if whole and name is not None and name.group(1) not in VALUES:
        place.refuse(
            f"unknown field {shown(name.group(1))} in vLLM's speculative metrics{did_you_mean(name.group(1), VALUES)}"
        )
    return None


def _fields(entry: str) -> tuple[dict[str, str], str]:
    """Fields in order, and what is left where the pattern stops."""
    fields: dict[str, str] = {}
    position = 0
    while position < len(entry):
        name, sign, _ = entry[position : position + 60].partition(": ")
        pattern = VALUES.get(name)
        if not sign or pattern is None or name in fields:
            break
        found = pattern.match(entry, position + len(name) + 2)
        if found is None:
            break
        fields[name] = found.group(1)
        position = found.end()
        if entry.startswith(", ", position):
            position += 2
    return fields, entry[position:]
