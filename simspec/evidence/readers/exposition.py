"""What stands in a line of a Prometheus scrape?"""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass

from simspec.evidence.readers.base import MOST, Place
from simspec.model.errors import shown

_SERIES = re.compile(r"([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+(?:\.\d+)?)?(?:\s+# .*)?\s*")
_LABEL = re.compile(r'\s*(\w+)="((?:[^"\\]|\\.)*)"\s*(?:,|$)')


@dataclass(frozen=True)
class Series:
    """One sample: name, labels, value, and the key that tells it from the other samples of a scrape."""

    name: str
    labels: dict[str, str]
    value: float
    key: str

    def count(self, place: Place) -> int:
        """Its value as a whole number ≥ 0."""
        if not 0 <= self.value <= MOST or self.value != int(self.value):
            place.refuse(f"{self.name} = {self.value!r}; allowed: a whole number ≥ 0")
        return int(self.value)


def series(text: str, place: Place) -> Series | None:
    """The sample in a line; None for a comment, and for a line that may be cut, which is reported.

    Examples
    --------
    >>> own = series('vllm:x_total{engine="0"} 12.0', Place("t0.prom"))
    >>> own.name, own.labels, own.value
    ('vllm:x_total', {'engine': '0'}, 12.0)
    """
    if text.startswith("#"):
        return None
    if not place.whole:  # a value that lost its last digits looks like any other
        place.torn()
        return None
    found = _SERIES.fullmatch(text)
    labels, rest = _labels(found.group(2) or "") if found else ({}, "")
    if (found is None or rest) and (" HELP " in text or text.count(text[: text.find(":") + 1]) > 1):
        place.torn()  # another line begins inside this one
        return None
    if found is None or rest:
        place.refuse(f"is no line of a metrics scrape: {shown(text)}")
    try:
        value = float(found.group(3))
    except ValueError:
        place.refuse(f"{found.group(1)} = {shown(found.group(3))}; allowed: a number")
    return Series(found.group(1), labels, value if math.isfinite(value) else math.nan, text[: found.start(3)])


@functools.lru_cache(maxsize=10_000)  # the same series stand in every scrape
def _labels(text: str) -> tuple[dict[str, str], str]:
    labels: dict[str, str] = {}
    position = 0
    while found := _LABEL.match(text, position):
        labels[found.group(1)] = found.group(2)
        position = found.end()
        if position == len(text):
            break
    return labels, text[position:].strip()
