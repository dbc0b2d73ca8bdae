"""How are ln x, eˣ and a Beta number made of + − × ÷ √ alone?  In one order, so that every machine finds the same bits.

`simspec.kernels.series_twin` is the plain Python.
"""

import numpy as np

from simspec.kernels.jit import njit
from simspec.kernels.words import GOLD, mix

_GOLD = np.uint64(GOLD)
LN2 = 0.6931471805599453
TERMS = 14
"""Terms of the series of a logarithm."""
HALVINGS, POWERS = 10, 12
"""eˣ: halvings of the argument, and terms."""
UNIT = 2.0**-53


@njit
def logarithm(x):
    """ln x for x ≥ 1: halved until it is at most 1.5, then 2·artanh((x − 1)/(x + 1)) as a series."""
    many = 0.0
    while x > 1.5:
        x *= 0.5
        many += 1.0
    y = (x - 1.0) / (x + 1.0)
    square, power, total = y * y, y, 0.0
    for k in range(TERMS):
        total += power / np.float64(2 * k + 1)
        power *= square
    return many * LN2 + 2.0 * total


@njit
def exponential(x):
    """eˣ for x ≤ 0 by halving the argument, a Taylor sum, and squaring back; 0 from −700 on."""
    if x < -700.0:
        return 0.0
    y = x / 1024.0
    term, total = 1.0, 1.0
    for n in range(1, POWERS):
        term = term * y / np.float64(n)
        total += term
    for _ in range(HALVINGS):
        total *= total
    return total


@njit
def any_logarithm(x):
    """ln x for x > 0."""
    return logarithm(x) if x >= 1.0 else -logarithm(1.0 / x)


@njit
def even(word, place):
    """Number ``place`` in (0, 1) of a word: the middle of one of 2⁵³ equal cells."""
    return (np.float64(mix(word + _GOLD * np.uint64(place + 1)) >> np.uint64(11)) + 0.5) * UNIT


@njit
def gamma_draw(word, place, shape):
    """A Gamma(shape) number, and the place of the next even number.

    Marsaglia and Tsang (2000): d·v³ with v = 1 + cx of a normal x is kept with a chance that makes it exact; x by
    Marsaglia's polar method; below 1, a draw of shape + 1 times the (1/shape)-th power of an even number.
    """
    scale = 1.0
    if shape < 1.0:
        scale = exponential(any_logarithm(even(word, place)) / shape)
        place += 1
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    while True:
        a, b = 2.0 * even(word, place) - 1.0, 2.0 * even(word, place + 1) - 1.0
        place += 2
        square = a * a + b * b
        if square >= 1.0:
            continue
        x = a * np.sqrt(-2.0 * any_logarithm(square) / square)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u = even(word, place)
        place += 1
        if u < 1.0 - 0.0331 * (x * x) * (x * x):  # nineteen in twenty are kept without a logarithm
            return scale * d * v, place
        if any_logarithm(u) < 0.5 * x * x + d * (1.0 - v + any_logarithm(v)):
            return scale * d * v, place


@njit
def beta_draw(word, accepted, rejected):
    """A Beta(accepted, rejected) number from one word: G/(G + H) of two Gamma numbers."""
    one, place = gamma_draw(word, 0, accepted)
    other, _ = gamma_draw(word, place, rejected)
    return one / (one + other)
