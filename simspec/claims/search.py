"""How is a number found a second time?  Roots, peaks, slopes and limits from values alone, without the algebra."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

Curve = Callable[[float], float]


def root(curve: Curve, low: float, high: float) -> float:
    """Where a curve of one change of sign in [low, high] is 0, by bisection.

    Examples
    --------
    >>> round(root(lambda x: x * x - 2.0, 1.0, 2.0), 12)
    1.414213562373
    """
    rising = curve(high) > 0.0
    if rising == (curve(low) > 0.0):
        raise ValueError(f"no change of sign between {low:g} and {high:g}")
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if (curve(middle) > 0.0) == rising else (middle, high)
    return 0.5 * (low + high)


def peak(curve: Curve, low: float, high: float) -> float:
    """Where a curve with one peak in [low, high] is largest: the root of its numeric slope.

    Examples
    --------
    >>> round(peak(lambda x: -(x - 0.3) ** 2, 0.0, 1.0), 9)
    0.3
    """
    step = 1e-4 * (high - low)
    return root(lambda x: slope(curve, x, step), low + 2.0 * step, high - 2.0 * step)


def slope(curve: Curve, x: float, step: float = 1e-3) -> float:
    """Derivative by differences, of fourth order in the step.

    Examples
    --------
    >>> round(slope(lambda x: x**3, 2.0), 9)
    12.0
    """
    near, far = curve(x + step) - curve(x - step), curve(x + 2.0 * step) - curve(x - 2.0 * step)
    return (8.0 * near - far) / (12.0 * step)


def limit(curve: Curve, start: float = 1e3) -> float:
    """Limit at infinity of a curve that falls off like powers of 1/x, from three values (Richardson).

    Examples
    --------
    >>> round(limit(lambda x: x / (2.0 * x + 5.0)), 7)
    0.5
    """
    one, two, four = (curve(start * factor) for factor in (1.0, 2.0, 4.0))
    first, second = 2.0 * two - one, 2.0 * four - two
    return (4.0 * second - first) / 3.0


def verdict_paths(alpha: float, kappa: int) -> Iterator[tuple[tuple[int, ...], float]]:
    """All 2^κ verdicts of κ independent judged drafts with their chances.

    Examples
    --------
    >>> sum(chance for path, chance in verdict_paths(0.5, 2) if sum(path) == 1)
    0.5
    """
    for path in itertools.product((1, 0), repeat=kappa):
        chance = 1.0
        for passed in path:
            chance *= alpha if passed else 1.0 - alpha
        yield path, chance


def run_length(path: tuple[int, ...]) -> int:
    """Accepted length A of a window with these verdicts.

    Examples
    --------
    >>> run_length((1, 1, 0, 1))
    2
    """
    return (*path, 0).index(0)
