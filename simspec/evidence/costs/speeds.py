"""What do speeds by κ say without the tokens per round?  Not R: which κ was fastest, and where a round got dearer."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from simspec.evidence.costs.choice import is_plain
from simspec.evidence.costs.tables import Record
from simspec.model.errors import ParameterError

LEAST_RISE = 0.10
"""Rise of the round cost from one κ to the next that is named."""
_SPEEDS = ("tok_s", "tok_s_total", "tok_s_per_request")
_LENGTHS = ("emitted", "accepted", "rate", "accepted_tokens")
_WHOLE = ("round_ms", "verify_ms")


def speeds_alone(records: Sequence[Record]) -> None:
    """Refuse rows that have a time per token and nothing about how many tokens a round emits; say what they do tell.

    Raises
    ------
    ParameterError
        No row with drafts tells how many tokens a round emits, and none has the time of a round.
    """
    drafted = [r for r in records if not is_plain(r) and float(r.figures.get("kappa", r.figures.get("width", 0.0))) > 0]
    known = [r for r in drafted if any(name in r.figures for name in (*_LENGTHS, *_WHOLE))]
    speeds = {float(r.figures["kappa"]): _speed(r) for r in drafted if "kappa" in r.figures}
    if not speeds or known or not all(speeds.values()):
        return
    plain = [_speed(r) for r in records if r not in drafted]
    raise ParameterError(
        "emitted",
        "R(κ) needs the tokens per round of each κ (accept length; --emitted, --rate or a column), since R = E · plain "
        f"speed ÷ speed{_not_known(drafted)}; {says(speeds, plain[0] if plain else 0.0)}",
    )


def _not_known(records: Sequence[Record]) -> str:
    names = sorted({str(name) for record in records for name in record.others})[:8]
    return f" (columns not known: {', '.join(names)})" if names else ""


def _speed(record: Record) -> float:
    for name in _SPEEDS:
        if name in record.figures:
            return float(record.figures[name])
    tpot = float(record.figures.get("tpot_ms", 0.0))
    return 1000.0 / tpot if tpot > 0.0 else 0.0


def says(speeds: dict[float, float], plain: float) -> str:
    """What speeds by κ tell by themselves: E never falls as κ grows, so a fall of the speed is a rise of the cost.

    Examples
    --------
    >>> says({4: 59.1, 5: 57.2, 6: 48.4}, 37.7)
    'the speeds alone say: κ = 4 is fastest (1.57x); from κ = 5 to 6 a round gets at least 18% dearer'
    """
    kappas = sorted(speeds)
    best = max(kappas, key=lambda kappa: speeds[kappa])
    told = f"the speeds alone say: κ = {best:g} is fastest" + (f" ({speeds[best] / plain:.2f}x)" if plain > 0.0 else "")
    rises = [(speeds[low] / speeds[high]) ** (1.0 / (high - low)) - 1.0 for low, high in itertools.pairwise(kappas)]
    if rises and max(rises) >= LEAST_RISE:
        i = int(np.argmax(rises))
        whole = speeds[kappas[i]] / speeds[kappas[i + 1]] - 1.0
        told += f"; from κ = {kappas[i]:g} to {kappas[i + 1]:g} a round gets at least {whole:.0%} dearer"
    return told
