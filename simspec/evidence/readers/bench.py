"""What do all print-outs of a serving benchmark have in common?  A frame of = signs around `name: value` lines."""

from __future__ import annotations

import re
from abc import abstractmethod
from dataclasses import dataclass, field

from simspec.evidence.readers.base import LineReader, Place

_OPENING = re.compile(r"=+ Serving Benchmark Result =+\s*$")
_CLOSING = re.compile(r"={20,}\s*$")
_HEADING = re.compile(r"-+ ?([^-].*?) ?-+\s*$")
_MOST_LINES = 20_000
_VALUE = re.compile(r"\s*([^:]+?):\s+(\S.*?)\s*$")
_TIMES = {"mean_tpot_ms": "Mean TPOT (ms)", "mean_itl_ms": "Mean ITL (ms)"}
_WORK = {"input_tokens": "Total input tokens", "generated_tokens": "Total generated tokens"}
_AT_ONCE = {
    "concurrency": ("Maximum request concurrency", "Concurrency"),
    "max_concurrency": ("Max request concurrency",),
}
"""Name of a figure → name in the print-out.  vLLM prints the concurrency asked for, SGLang also the one measured."""


@dataclass
class Block:
    """One print-out: name → text, as printed."""

    number: int
    fields: dict[str, str] = field(default_factory=dict)


@dataclass(eq=False)
class BenchReader(LineReader):
    """Collects whole blocks; a block without its closing line is torn."""

    marks = (b"Serving Benchmark Result",)
    block: Block | None = None

    def line(self, text: str, place: Place) -> None:
        if _OPENING.search(text):
            if self.block is not None:  # it has no end
                place.torn()
            self.block, self.inside = Block(place.number), True
        elif self.block is None:
            return
        elif _CLOSING.match(text):
            if place.whole or len(text.strip()) >= 50:
                self.take(self.block, place)
            else:
                place.torn()
            self.block, self.inside = None, False
        elif len(self.block.fields) > _MOST_LINES:
            place.refuse(f"a print-out of more than {_MOST_LINES} lines")
        elif not _HEADING.fullmatch(text):
            found = _VALUE.fullmatch(text)
            if found:
                if found.group(1) in self.block.fields:
                    place.refuse(f"{found.group(1)} stands twice in one print-out")
                self.block.fields[found.group(1)] = found.group(2)

    @abstractmethod
    def take(self, block: Block, place: Place) -> None:
        """A whole block."""

    def file_ends(self, place: Place) -> None:
        if self.block is not None:
            place.number, number = self.block.number, place.number
            place.torn()
            place.number, self.block, self.inside = number, None, False


def number(block: Block, name: str, place: Place) -> float | None:
    """The value of a name as a number, or None if it is not printed."""
    text = block.fields.get(name)
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        place.refuse(f"{name}: {text[:40]!r}; allowed: a number")
    if not value >= 0.0 or value > 1e15:
        place.refuse(f"{name}: {text[:40]!r}; allowed: a number ≥ 0")
    return value


def printed(block: Block, place: Place) -> dict[str, float | int]:
    """Times per token and per gap, the work done, and the requests at once, as far as they are printed."""
    out: dict[str, float | int] = {}
    for key, name in _TIMES.items():
        value = number(block, name, place)
        if value:  # 0.00: no request had a second token
            out[key] = value
    for key, name in _WORK.items():
        tokens = count(block, name, place)
        if tokens is not None:
            out[key] = tokens
    for key, names in _AT_ONCE.items():
        own = next((name for name in names if block.fields.get(name, "not set") not in ("not set", "None")), None)
        at_once = None if own is None else number(block, own, place)
        if at_once:
            out[key] = int(at_once) if at_once == int(at_once) else at_once
    return out


def count(block: Block, name: str, place: Place) -> int | None:
    """The value of a name as a whole number, or None if it is not printed."""
    value = number(block, name, place)
    if value is not None and value != int(value):
        place.refuse(f"{name}: {value}; allowed: a whole number ≥ 0")
    return None if value is None else int(value)
