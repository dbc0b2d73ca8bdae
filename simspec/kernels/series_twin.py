"""What are ln x, eˣ and a Beta number, in plain Python?  Twins of `simspec.kernels.series`, bit for bit."""

from __future__ import annotations

import math
from collections.abc import Iterator

from simspec.kernels.words import GOLD
from simspec.kernels.words_twin import MASK, mixed

LN2 = 0.6931471805599453


def logarithm(x: float) -> float:
    """ln x for x ≥ 1, by halving and the series of artanh."""
    halvings = 0
    while x > 1.5:
        x, halvings = x / 2.0, halvings + 1
    y = (x - 1.0) / (x + 1.0)
    total, power = 0.0, y
    for k in range(14):
        total, power = total + power / (2 * k + 1), power * (y * y)
    return halvings * LN2 + 2.0 * total


def exponential(x: float) -> float:
    """eˣ for x ≤ 0, by a Taylor sum of x/1024 squared ten times."""
    if x < -700.0:
        return 0.0
    term = total = 1.0
    for n in range(1, 12):
        term = term * (x / 1024.0) / n
        total += term
    for _ in range(10):
        total *= total
    return total


def any_logarithm(x: float) -> float:
    """ln x for x > 0."""
    return logarithm(x) if x >= 1.0 else -logarithm(1.0 / x)


def evens(word: int) -> Iterator[float]:
    """Numbers in (0, 1) of a word, one after another."""
    place = 0
    while True:
        place += 1
        yield ((mixed((word + GOLD * place) & MASK) >> 11) + 0.5) * 2.0**-53


def gamma_draw(numbers: Iterator[float], shape: float) -> float:
    """A Gamma(shape) number, by Marsaglia and Tsang (2000)."""
    scale = 1.0
    if shape < 1.0:
        scale = exponential(any_logarithm(next(numbers)) / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        a, b = 2.0 * next(numbers) - 1.0, 2.0 * next(numbers) - 1.0
        square = a * a + b * b
        if square >= 1.0:
            continue
        x = a * math.sqrt(-2.0 * any_logarithm(square) / square)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u = next(numbers)
        if u < 1.0 - 0.0331 * (x * x) * (x * x) or any_logarithm(u) < 0.5 * x * x + d * (1.0 - v + any_logarithm(v)):
            return scale * d * v


def beta_draw(word: int, accepted: float, rejected: float) -> float:
    """A Beta(accepted, rejected) number from one word."""
    numbers = evens(word)
    one = gamma_draw(numbers, accepted)
    return one / (one + gamma_draw(numbers, rejected))
