"""Do intervals of a difference keep their word?  Random halves of one set of requests differ by chance alone.

The difference of the means of two random halves of a finite set has exactly the variance S²(1/n₁ + 1/n₂), S² that of
the whole set, and s₁²/n₁ + s₂²/n₂ is an unbiased estimate of it: the halves are not independent, and need not be.  So
a 95% interval that knows requests holds 0 in 95% of splits; one that takes rounds as independent does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from simspec.kernels.addressed import words_at
from simspec.kernels.words import stream_keys

Ints = NDArray[np.int64]
DOMAIN = "halves"


def halves(units: int, splits: int, seed: int) -> Iterator[tuple[Ints, Ints]]:
    """Random halves of ``units`` requests; of an odd number one is left out.

    Parameters
    ----------
    units : int
        At least 2.
    splits : int
    seed : int
        Split s is the order of ``units`` random words at address s, and can be made again alone.

    Examples
    --------
    >>> [sorted([*a.tolist(), *b.tolist()]) for a, b in halves(4, 2, seed=1)]
    [[0, 1, 2, 3], [0, 1, 2, 3]]
    """
    keys = stream_keys(seed, f"{units} units", DOMAIN)
    half = units // 2
    for split in range(splits):
        order = np.argsort(words_at(keys, np.array([split]), np.arange(units)), kind="stable")
        yield order[:half], order[half : 2 * half]


def coverage(
    intervals: Callable[[Ints, Ints], Sequence[tuple[float, float]]], units: int, splits: int = 2_000, seed: int = 1
) -> list[float]:
    """Share of random halves whose interval of the difference holds 0, for each of several quantities.

    Parameters
    ----------
    intervals : callable
        From the units of either half to the intervals of the differences between them.
    units : int
    splits : int
        2,000 know a coverage of 95% within a standard error of .5%.
    seed : int

    Examples
    --------
    >>> coverage(lambda a, b: [(a.mean() - b.mean() - 3.0, a.mean() - b.mean() + 3.0)], 20, splits=200)
    [0.71]
    """
    held = [[bool(low <= 0.0 <= high) for low, high in intervals(*pair)] for pair in halves(units, splits, seed)]
    return [sum(column) / splits for column in zip(*held, strict=True)]
