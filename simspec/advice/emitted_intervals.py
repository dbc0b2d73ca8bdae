"""Between what limits does the mean of emitted tokens lie, where only figures of it are known?"""

from __future__ import annotations

import math

from simspec import theory
from simspec.model import Iid
from simspec.stats.intervals import student
from simspec.stats.request_sums import proportion_interval

Interval = tuple[float, float]
_SLACK = 1e-9


def of_iid(alpha: float, kappa: int, emitted: float, rounds: int, level: float) -> Interval | None:
    """Of E where only the mean is known: the variance of i.i.d. drafts."""
    return of_variance(emitted, theory.window(Iid(alpha=min(alpha, 1.0)), kappa).var_accepted, rounds, kappa, level)


def of_variance(emitted: float, variance: float, rounds: int, kappa: int, level: float) -> Interval | None:
    """Of E where the variance of a round is known too; None for a single round that tells none."""
    if all_alike(emitted, kappa):
        return of_alike(emitted, kappa, rounds, level)
    if rounds < 2:
        return None
    half = student(level, rounds) * math.sqrt(variance / (rounds - 1))
    return (max(1.0, emitted - half), min(kappa + 1.0, emitted + half))


def all_alike(emitted: float, kappa: int) -> bool:
    """Whether nothing was accepted, or everything: rounds that do not differ tell no variance."""
    return emitted - 1.0 <= _SLACK or kappa + 1.0 - emitted <= _SLACK


def of_alike(emitted: float, kappa: int, units: int, level: float) -> Interval:
    """Of E where no round of ``units`` accepted anything, or every one everything: from the exact limit of S_1, or S_κ.

    With S_1 ≤ s and a curve that never rises, E ≤ 1 + κ·s; with S_κ ≥ s, E ≥ 1 + κ·s: no law of drafts is assumed.
    """
    share = 0.0 if emitted - 1.0 <= _SLACK else 1.0
    low, high = proportion_interval(share, units, level)
    return (1.0 + kappa * low, 1.0 + kappa * high)
