"""How do floats become thresholds with the same bits everywhere?  By + − × ÷ √, and functions built only from these.

Nothing here is shared with theory/: the exact route has its own way to every one of these numbers.
"""

from __future__ import annotations

import functools

import numpy as np

WORD = 2.0**32


def threshold(probability: float | np.ndarray) -> np.ndarray:
    """⌊p·2³² + ½⌋ for p clipped to [0, 1]; a 32-bit word lies below it with probability p to within 2⁻³³.

    Where levels are compared (`levels`) 2³² − 1 stands for 1: within 2⁻³¹ of certainty the error is up to 1.5·2⁻³².
    """
    return np.floor(np.clip(probability, 0.0, 1.0) * WORD + 0.5).astype(np.int64)


def thinned(thresholds: np.ndarray, factor: float) -> np.ndarray:
    """Thresholds of runs whose drafts are accepted ``factor`` times as often: those of j drafts times factor^j."""
    powers, power = np.empty(thresholds.shape[-1]), 1.0
    for j in range(len(powers)):
        power *= factor
        powers[j] = power
    return np.floor(thresholds * powers + 0.5).astype(np.int64)


def fine_threshold(probability: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """⌊p·2⁶⁴⌋ as its 12 leading bits (0 … 4096) and the other 52; exact for every double of 2⁻¹² or more.

    Scaling by powers of two and taking the whole part lose nothing, so 0 and 1 are exact too.
    """
    scaled = np.clip(probability, 0.0, 1.0) * 2.0**12
    cells = np.floor(scaled)
    return cells.astype(np.int64), ((scaled - cells) * 2.0**52).astype(np.uint64)


def levels(thresholds: np.ndarray) -> np.ndarray:
    """Thresholds as int32 for signed comparison with word − 2³¹; 2³² and 2³² − 1 both stand for certainty."""
    out: np.ndarray = (np.minimum(thresholds, 2**32 - 1) - 2**31).astype(np.int32)
    return out


def padded_levels(table: np.ndarray, filler: int, multiple: int = 8) -> np.ndarray:
    """Rows of levels, lengthened to a multiple of what is compared at once by a threshold that changes no count."""
    rows, width = table.shape
    out = np.full((rows, max(multiple, -(-width // multiple) * multiple)), filler, np.int64)
    out[:, :width] = table
    return levels(out)


def cumulative(law: np.ndarray) -> np.ndarray:
    """Thresholds of the distribution function along the last axis; the last one is exactly 2³²."""
    total = np.cumsum(law, axis=-1)
    out = threshold(total)
    out[..., -1] = 2**32
    return np.ascontiguousarray(out)


def geometric(first: float, ratio: float, length: int) -> np.ndarray:
    """first, first·ratio, first·ratio², …"""
    out = np.empty(length)
    value = first
    for j in range(length):
        out[j] = value
        value *= ratio
    return out


def power(base: float, exponent: int) -> float:
    """base^exponent for a whole exponent ≥ 0."""
    value = 1.0
    for _ in range(exponent):
        value *= base
    return value


def matrix_power(matrix: np.ndarray, exponent: int) -> np.ndarray:
    """matrix^exponent, one column of products at a time: no BLAS, whose order of sums is the machine's own."""
    out = np.eye(len(matrix))
    for _ in range(exponent):
        out = matrix_product(out, matrix)
    return out


def matrix_product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """left @ right, summed in index order."""
    out = np.zeros((left.shape[0], right.shape[1]))
    for k in range(left.shape[1]):
        out += left[:, k : k + 1] * right[k : k + 1, :]
    return out


def stationary(matrix: np.ndarray) -> np.ndarray | None:
    """Long-run law of a stochastic matrix; None if it has more than one closed class.

    Grassmann, Taksar and Heyman's elimination on the closed class: no subtraction, so nothing cancels.
    """
    closed = _closed_class(matrix)
    if closed is None:
        return None
    a = matrix[np.ix_(closed, closed)].copy()
    n = len(closed)
    for k in range(n - 1, 0, -1):
        a[:k, k] /= a[k, :k].sum()
        a[:k, :k] += a[:k, k : k + 1] * a[k : k + 1, :k]
    law = np.zeros(n)
    law[0] = 1.0
    for k in range(1, n):
        law[k] = (law[:k] * a[:k, k]).sum()
    out = np.zeros(len(matrix))
    out[closed] = law / law.sum()
    return out


def _closed_class(matrix: np.ndarray) -> np.ndarray | None:
    reach = (matrix > 0.0) | np.eye(len(matrix), dtype=bool)
    for _ in range(max(1, len(matrix)).bit_length()):
        reach = (reach.astype(np.int64) @ reach.astype(np.int64)) > 0
    # a state is recurrent when everything it reaches leads back to it
    recurrent = np.array([bool((~row | reach[:, i]).all()) for i, row in enumerate(reach)])
    first = int(np.flatnonzero(recurrent)[0])
    own = reach[first]
    return np.flatnonzero(own) if (recurrent & ~own).sum() == 0 else None


def exponential(x: np.ndarray) -> np.ndarray:
    """eˣ by halving the argument until it is small, a Taylor sum, and squaring back; relative error below 1e-12."""
    halvings = 10
    y = np.asarray(x, float) / 2.0**halvings
    term, total = np.ones_like(y), np.ones_like(y)
    for n in range(1, 22):
        term = term * y / n
        total = total + term
    for _ in range(halvings):
        total = total * total
    return total


def sine(x: float) -> float:
    """sin x for |x| ≤ π/2 by its Taylor sum."""
    term = total = x
    for n in range(1, 16):
        term = -term * x * x / ((2 * n) * (2 * n + 1))
        total += term
    return total


PI = 3.141592653589793


@functools.cache
def legendre(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss–Legendre nodes and weights on [−1, 1], by Newton's method on the three-term recursion."""
    k = np.arange(1, n + 1)
    x = np.array([sine(PI / 2 - PI * (i - 0.25) / (n + 0.5)) for i in k])
    slope = np.ones(n)
    for _ in range(100):
        last, here = np.ones(n), x.copy()
        for j in range(2, n + 1):
            last, here = here, ((2 * j - 1) * x * here - (j - 1) * last) / j
        slope = n * (x * here - last) / (x * x - 1.0)
        step = here / slope
        x = x - step
        if np.abs(step).max() < 1e-15:
            break
    return x, 2.0 / ((1.0 - x * x) * slope * slope)


def normal_below(z: float) -> float:
    """Φ(z) for |z| ≤ 9, by quadrature of the density from 0."""
    nodes, weights = legendre(64)
    t = (nodes + 1.0) * (z / 2.0)
    inside = (weights * exponential(-t * t / 2.0)).sum() * (z / 2.0)
    return float(0.5 + inside / np.sqrt(2.0 * PI))


def normal_quantile(probability: float) -> float:
    """Φ⁻¹(p) by bisection, |z| ≤ 8.5."""
    return bisect(normal_below, probability, -8.5, 8.5)


def bisect(function: object, target: float, low: float, high: float) -> float:
    """Argument at which an increasing function reaches ``target``."""
    for _ in range(80):
        middle = (low + high) / 2.0
        if function(middle) < target:  # type: ignore[operator]
            low = middle
        else:
            high = middle
    return (low + high) / 2.0
