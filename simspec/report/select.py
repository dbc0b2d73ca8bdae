"""Which points are drawn when there are too many?  A fixed rule, so that the same data draws the same page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from simspec.report.points import Point

T = TypeVar("T")

MOST = 12
"""Points drawn per family of figures."""
RICH = 4
"""A curve of at least this many κ is preferred to a shorter one."""


def spread(items: Sequence[T], most: int) -> list[T]:
    """At most ``most`` items at equal distances, first and last included.

    Examples
    --------
    >>> spread("abcdefg", 3), spread("ab", 5), spread("abc", 1), spread("abc", 0)
    (['a', 'd', 'g'], ['a', 'b'], ['b'], [])
    """
    if len(items) <= most:
        return list(items)
    if most <= 1:
        return [items[len(items) // 2]] * most
    return [items[round(i * (len(items) - 1) / (most - 1))] for i in range(most)]


def choose(points: Sequence[Point], most: int = MOST) -> list[Point]:
    """At most ``most`` points, in their order: a fair share of every family, spread over its rates and prices.

    Curves of at least `RICH` κ come first, then points whose α occurs in another family too, because those compare.

    Parameters
    ----------
    points : sequence of Point
    most : int
        At least 1.

    Examples
    --------
    >>> choose([])
    []
    """
    if len(points) <= most:
        return list(points)
    rich = [point for point in points if len(point.rows) >= RICH]
    pool = rich if len(rich) >= most else list(points)
    families: dict[tuple[str, str], list[Point]] = {}
    for point in pool:
        families.setdefault(point.family, []).append(point)
    kept = spread(list(families), most)  # more families than room: some of them
    shares = fair_shares([len(families[key]) for key in kept], most)
    taken: set[str] = set()
    for key, share in zip(kept, shares, strict=True):
        others = {p.rates[0] for other, own in families.items() if other != key for p in own} - {None}
        taken |= {point.point_id for point in _of_family(families[key], share, others)}
    return [point for point in points if point.point_id in taken]


def fair_shares(sizes: Sequence[int], most: int) -> list[int]:
    """How many each of several groups may show: one after the other in turn until ``most`` are given out.

    Examples
    --------
    >>> fair_shares([10, 1, 2], 6)
    [3, 1, 2]
    """
    shares = [0] * len(sizes)
    while sum(shares) < min(most, sum(sizes)):
        for i, size in enumerate(sizes):
            if shares[i] < size and sum(shares) < most:
                shares[i] += 1
    return shares


def _of_family(own: Sequence[Point], most: int, shared: set[float | None]) -> list[Point]:
    """Points at a shared α first, then the rest; each part as a lattice of simulations and prices."""
    kin = [point for point in own if point.rates[0] in shared]
    chosen = _lattice(kin, most)
    rest = [point for point in own if point not in chosen]
    return chosen + _lattice(rest, most - len(chosen))


def _lattice(own: Sequence[Point], most: int) -> list[Point]:
    if most <= 0 or not own:
        return []
    priced: dict[str, list[Point]] = {}
    for point in own:
        priced.setdefault(point.simulation_id, []).append(point)
    prices = min(3, most, max(map(len, priced.values())))
    chosen = [point for key in spread(list(priced), max(1, most // prices)) for point in spread(priced[key], prices)]
    rest = [point for point in own if point not in chosen]
    return chosen + spread(rest, most - len(chosen))


def shown(drawn: int, total: int, what: str) -> str:
    """How many of how many are drawn.

    Examples
    --------
    >>> shown(12, 416, "points"), shown(3, 3, "points")
    ('12 of 416 points shown', 'all 3 points shown')
    >>> shown(1, 1, "points")
    'the only point shown'
    """
    if total == 1:
        return f"the only {what.removesuffix('s')} shown"
    return f"{drawn:,} of {total:,} {what} shown" if drawn < total else f"all {total:,} {what} shown"
