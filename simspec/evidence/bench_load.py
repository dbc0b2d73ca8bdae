"""How many requests ran at once in a benchmark, and what do its tokens per second hold beside decoding?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

WHOLE_RUN = "output tokens per second of the whole run, in which waiting for the first token, queueing and ramp are too"
_REACHED = 0.9
"""Share of the concurrency asked for from which a run counts as one at that concurrency: ramps cost the rest."""


def at_once(pooled: Mapping[str, Any]) -> float | None:
    """Requests at once: as asked for where that was reached or is all that is printed, else as measured.

    Examples
    --------
    >>> at_once({"concurrency": 7.9, "max_concurrency": 8}), at_once({"concurrency": 142.34, "max_concurrency": 256})
    (8.0, 142.34)
    """
    told, asked = (_number(pooled.get(name)) for name in ("concurrency", "max_concurrency"))
    if told is None:
        return asked
    return asked if asked is not None and _REACHED * asked <= told <= asked else told


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 else None
