"""Do counts of tokens follow the law they should?  Exact tails where cells are few, else Pearson's chi-square.

Far out the chi-square is no law of counts: at 10⁻⁶ two cells, one of 5 expected tokens, exceed it 70 times as often.
So few cells are halved, and halved again: how many fell to one side is binomial given their number, and each split's
exact two-sided tail stands in for one squared normal deviation.  A tail of p is met with probability p at most, so the
sum of those squares is never too large too often, and with many tokens it is Pearson's sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simspec.stats.intervals import Floats

Ints = NDArray[np.int64]
USUAL_LEAST, LEAST_OF_MANY = 5.0, 25.0
"""Smallest expected count of a cell, after Cochran (1954) where tails are exact; and where there are many cells."""
FEW = 100
"""Most degrees of freedom of exact tails; counts are whole numbers, which costs power where there are many splits."""
EXCESS = 2.0
"""How often counts exceed the chi-square of 10⁻⁶, over 10⁻⁶, at most: by convolution of Poisson counts, 1.90 for 100
cells of 25 expected tokens and 1.66 for 200.  P-values of the chi-square are enlarged by it."""


@dataclass(frozen=True)
class Goodness:
    """Counts against a law.

    Attributes
    ----------
    tokens : int
        Tokens counted.
    statistic : float
        Σ (observed − expected)²/expected over cells, over all contexts.
    freedom : int
        Cells less one per context.
    p_value : float
        Chance of counts at least this far off under the law, or somewhat more: from exact binomial tails up to 100
        degrees of freedom, from the statistic beyond; 0 where an impossible token was seen, 1 without cells to compare.
    impossible : int
        Tokens seen that have probability 0.
    """

    tokens: int
    statistic: float
    freedom: int
    p_value: float
    impossible: int

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return dict(vars(self))


def goodness(counts: Ints, laws: Floats, least: float = USUAL_LEAST) -> Goodness:
    """Token counts against their laws.

    Parameters
    ----------
    counts : int array (contexts, V)
        Observed tokens by context.
    laws : float array (contexts, V)
        Probabilities; rows add up to 1.
    least : float
        Smallest expected count of a cell; cells below it are pooled, with further ones, smallest first, until they
        reach it.  It is 25 at least where more than 100 degrees of freedom would be left.

    Returns
    -------
    Goodness

    Notes
    -----
    Tokens of one round are not independent, and rounds rather than tokens are fixed in number.  Yet given what came
    before, the next token follows its law: observed − expected is a martingale with the multinomial's covariance.  For
    two tokens and 128 or 256 rounds of at most 5 the chance of a p-value below 10⁻⁶ stays below 10⁻⁶ (summed over all
    outcomes; a test does it again).

    References
    ----------
    Pearson (1900); Cochran (1954) for the pooling.

    Examples
    --------
    >>> found = goodness(np.array([[480, 320, 200, 0]]), np.array([[0.5, 0.3, 0.2, 0.0]]))
    >>> round(found.statistic, 6), found.freedom, round(found.p_value, 4), found.impossible
    (2.133333, 2, 0.3735, 0)
    >>> goodness(np.array([[480, 320, 199, 1]]), np.array([[0.5, 0.3, 0.2, 0.0]])).p_value
    0.0
    """
    impossible = int(counts[laws <= 0.0].sum())
    cells, freedom = _cells(counts, laws, least)
    if freedom > FEW:
        cells, freedom = _cells(counts, laws, max(least, LEAST_OF_MANY))
    statistic = sum(float(((seen - expected) ** 2 / expected).sum()) for seen, expected in cells if len(seen) > 1)
    p_value = 0.0 if impossible else _tail(cells, statistic, freedom)
    return Goodness(int(counts.sum()), statistic, freedom, p_value, impossible)


Cells = list[tuple[Floats, Floats]]
"""Observed and expected by cell, for each context."""


def _cells(counts: Ints, laws: Floats, least: float) -> tuple[Cells, int]:
    """Cells of all contexts, and their degrees of freedom."""
    cells = [_pooled(seen[law > 0.0], law[law > 0.0], least) for seen, law in zip(counts, laws, strict=True)]
    return cells, sum(max(len(seen) - 1, 0) for seen, _ in cells)


def _tail(cells: Cells, statistic: float, freedom: int) -> float:
    """Chance of being at least this far off."""
    from scipy.special import chdtrc, chdtri

    if freedom == 0:
        return 1.0
    if freedom > FEW:
        return min(1.0, EXCESS * float(chdtrc(freedom, statistic)))
    tails = np.array([tail for seen, expected in cells if len(seen) > 1 for tail in _split(seen, expected)])
    if freedom == 1 or (tails == 0.0).any():
        return float(tails.min())
    return float(chdtrc(freedom, chdtri(1.0, tails).sum()))


def _split(seen: Floats, expected: Floats) -> Iterator[float]:
    """Two-sided binomial tails of cells, the largest first, cut into halves of about equal expectation."""
    order = np.argsort(-expected, kind="stable")
    total, hoped = (np.concatenate([[0.0], np.cumsum(values[order])]) for values in (seen, expected))
    parts = [(0, len(order))]
    while parts:
        first, last = parts.pop()
        middle = (hoped[first] + hoped[last]) / 2.0
        cut = first + 1 + int(np.argmin(np.abs(hoped[first + 1 : last] - middle)))
        share = (hoped[cut] - hoped[first]) / (hoped[last] - hoped[first])
        yield two_sided(total[cut] - total[first], total[last] - total[first], share)
        parts += [(a, b) for a, b in ((first, cut), (cut, last)) if b - a > 1]


def two_sided(hits: float, trials: float, share: float) -> float:
    """Twice the smaller tail of a binomial count, at most 1: a chance of p or less that it is p or less.

    Examples
    --------
    >>> two_sided(0, 10, 0.5) == 2 / 2**10, two_sided(5, 10, 0.5), two_sided(0, 0, 0.5)
    (True, 1.0, 1.0)
    """
    from scipy.special import betainc

    below = float(betainc(trials - hits, hits + 1.0, 1.0 - share)) if hits < trials else 1.0
    above = float(betainc(hits, trials - hits + 1.0, share)) if hits > 0 else 1.0
    return min(1.0, 2.0 * min(below, above))


def _pooled(seen: Ints, law: Floats, least: float) -> tuple[Floats, Floats]:
    """Observed and expected by cell; the rarest tokens share one."""
    expected = law * float(seen.sum())
    order = np.argsort(expected, kind="stable")
    sums = np.cumsum(expected[order])
    rare = int(np.searchsorted(expected[order], least))
    if rare:  # and as many more as it takes
        rare = min(max(rare, int(np.searchsorted(sums, least)) + 1), len(order))
    if rare < 2:
        return seen.astype(np.float64), expected
    alone, together = order[rare:], order[:rare]
    observed = np.append(seen[alone].astype(np.float64), float(seen[together].sum()))
    return observed, np.append(expected[alone], float(sums[rare - 1]))
