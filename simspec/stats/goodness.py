"""Do counts of tokens follow the law they should?  Pearson's chi-square, with rare tokens pooled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simspec.stats.intervals import Floats

Ints = NDArray[np.int64]
USUAL_LEAST = 5.0
"""Smallest expected count of a cell, after Cochran (1954)."""


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
        Chance of a statistic at least this large under the law; 0 where an impossible token was seen, 1 without cells
        to compare.
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
    """Chi-square of token counts against their laws.

    Parameters
    ----------
    counts : int array (contexts, V)
        Observed tokens by context.
    laws : float array (contexts, V)
        Probabilities; rows add up to 1.
    least : float
        Smallest expected count of a cell; cells below it are pooled, with further ones, smallest first, until they
        reach it.

    Returns
    -------
    Goodness

    Notes
    -----
    Tokens of one round are not independent, yet the statistic has its usual law for many rounds: given what came
    before, the next token follows its law, so that observed − expected is a martingale with the multinomial's
    covariance.

    References
    ----------
    Pearson (1900); Cochran (1954) for the pooling.

    Examples
    --------
    >>> found = goodness(np.array([[48, 32, 20, 0]]), np.array([[0.5, 0.3, 0.2, 0.0]]))
    >>> round(found.statistic, 6), found.freedom, round(found.p_value, 4), found.impossible
    (0.213333, 2, 0.8988, 0)
    >>> goodness(np.array([[48, 32, 19, 1]]), np.array([[0.5, 0.3, 0.2, 0.0]])).p_value
    0.0
    """
    from scipy.special import chdtrc

    impossible = int(counts[laws <= 0.0].sum())
    statistic, freedom = 0.0, 0
    for seen, law in zip(counts, laws, strict=True):
        observed, expected = _pooled(seen[law > 0.0], law[law > 0.0], least)
        if len(expected) > 1:
            statistic += float(((observed - expected) ** 2 / expected).sum())
            freedom += len(expected) - 1
    p_value = 0.0 if impossible else float(chdtrc(freedom, statistic)) if freedom else 1.0
    return Goodness(int(counts.sum()), statistic, freedom, p_value, impossible)


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
