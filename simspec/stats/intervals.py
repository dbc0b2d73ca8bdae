"""How far can an estimate be from the truth?  Intervals on independent units: lanes, generations or fresh windows.

Arrays end in (…, rows, units): a row is a κ, an entry one unit or, with a ``weight``, that many units alike.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
MANY = 1e6
"""Hits and misses beyond which a Beta quantile needs no search."""


def student(level: float, units: int) -> float:
    """Two-sided Student quantile at ``level`` for ``units`` independent units; infinite for a single one.

    Examples
    --------
    >>> round(student(0.95, 64), 3)
    1.998
    """
    from scipy.special import stdtrit

    return float(stdtrit(units - 1, 0.5 + level / 2)) if units > 1 else float("inf")


def level_of_look(level: float | Floats, looks: int | Floats) -> Any:
    """Level of intervals at a look of which ``level`` is that at all looks together; the same without looks.

    A union bound over any number of them: look k may be wrong with a chance of (1 − level)/(k(k + 1)), and these sum to
    1 − level.

    Examples
    --------
    >>> level_of_look(0.95, 0), level_of_look(0.95, 1), round(level_of_look(0.95, 4), 6)
    (0.95, 0.975, 0.9975)
    """
    missing = np.where(np.equal(looks, 0), 1.0, np.multiply(looks, np.add(looks, 1.0)))
    found = 1.0 - (1.0 - np.asarray(level)) / missing
    return float(found) if found.ndim == 0 else found


@dataclass(frozen=True)
class Ratio:
    """Ratio of sums over independent units, one per row (κ).

    Attributes
    ----------
    value : float array (…, rows)
        Σ numerator / Σ denominator; NaN where the denominator sums to 0.
    top, bottom : float array (…, rows, units)
        Numerator and denominator of one unit.
    over : float array (…, rows, 1)
        Σ denominator.
    weight : array that broadcasts to (…, rows, units), or None
        Units alike per entry; None: one each.
    """

    value: Floats
    top: Floats
    bottom: Floats
    over: Floats
    weight: NDArray[np.generic] | None = None

    @functools.cached_property
    def influence(self) -> Floats:
        """Linearised contribution of one unit to the error of ``value``, (…, rows, units); weighted, it sums to 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((self.top - self.value[..., None] * self.bottom) / self.over)

    @functools.cached_property
    def error(self) -> Floats:
        """Standard error per row."""
        return standard_error(self.influence, self.weight)

    @property
    def units(self) -> int:
        """Number of independent units, the same in every row."""
        return count_units(self.influence, self.weight)

    def take(self, rows: Sequence[int]) -> Ratio:
        """Some of the rows of a ratio whose weight is the same in each."""
        top, bottom, over = (array[..., rows, :] for array in (self.top, self.bottom, self.over))
        return Ratio(self.value[..., rows], top, bottom, over, self.weight)


def count_units(influence: Floats, weight: NDArray[np.generic] | None) -> int:
    """Units behind one row."""
    return int(influence.shape[-1] if weight is None else weight.reshape(-1, weight.shape[-1])[0].sum())


def ratio(
    numerator: NDArray[np.generic], denominator: NDArray[np.generic], weight: NDArray[np.generic] | None = None
) -> Ratio:
    """Ratio of sums with its influence per unit; arrays (…, rows, units).

    Examples
    --------
    >>> ratio(np.array([[1, 4]]), np.array([[1, 2]]), np.array([3, 1])).value
    array([1.4])
    """
    top, bottom = np.asarray(numerator, np.float64), np.asarray(denominator, np.float64)
    over = _total(bottom, weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = _total(top, weight) / over
    return Ratio(value[..., 0], top, bottom, over, weight)


def _total(values: Floats, weight: NDArray[np.generic] | None) -> Floats:
    """Sum over units; one product of matrices where rows are the same for many weights."""
    if weight is None:
        return np.asarray(values.sum(axis=-1, keepdims=True))
    return np.asarray(np.einsum("...l,...l->...", values, np.asarray(weight, np.float64)))[..., None]


def standard_error(influence: Floats, weight: NDArray[np.generic] | None = None) -> Floats:
    """√(L/(L−1)·Σ influence²) along the last axis, over L units."""
    units = count_units(influence, weight)
    squared = _total(influence * influence, weight)[..., 0]
    scale = units / (units - 1) if units > 1 else 1.0
    return np.asarray(np.sqrt(np.where(squared > 0.0, squared, 0.0) * scale))


def proportion(
    value: Floats, error: Floats | None, trials: NDArray[np.generic], units: int, fresh: bool, level: float
) -> tuple[Floats, Floats]:
    """Clopper–Pearson interval of a proportion, with the sample size its dependence leaves (Korn and Graubard 1998).

    Parameters
    ----------
    value : float array
        Observed proportion.
    error : float array or None
        Its standard error from independent units; needed only if trials depend on each other.
    trials : array
        Number of trials.
    units : int
        Number of independent units; the sample size where a dependent proportion is 0 or 1, since nothing is then
        known about the dependence.
    fresh : bool
        Whether trials are independent.
    level : float
        Confidence level.

    Returns
    -------
    (low, high)
    """
    size = np.broadcast_to(effective_trials(value, error, trials, units, fresh), np.shape(value))
    hits = value * size
    if hits.size == 1:
        return _clopper_pearson(hits, size, level)
    if fresh and size.min() == size.max():  # whole numbers, many of them alike: at all κ, in many runs
        few, back = np.unique(hits, return_inverse=True)
        sizes = np.full(few.shape, size.flat[0])
    else:  # alike at all κ beyond the longest run
        new = np.ones(hits.shape, np.bool_)
        new[..., 1:] = (hits[..., 1:] != hits[..., :-1]) | (size[..., 1:] != size[..., :-1])
        few, sizes, back = hits[new], size[new], np.cumsum(new.reshape(-1)) - 1
    low, high = _clopper_pearson(few, sizes, level)
    return low[back].reshape(hits.shape), high[back].reshape(hits.shape)


def _clopper_pearson(hits: Floats, size: Floats, level: float) -> tuple[Floats, Floats]:
    tail = (1.0 - level) / 2
    with np.errstate(invalid="ignore"):
        low = np.where(hits <= 0.0, 0.0, beta_quantile(hits, np.maximum(size - hits, 0.0) + 1.0, tail))
        high = np.where(hits >= size, 1.0, beta_quantile(hits + 1.0, np.maximum(size - hits, 1e-300), 1.0 - tail))
    return low, high


def beta_quantile(a: Floats, b: Floats, share: float) -> Floats:
    """Quantile of Beta laws.

    Beyond `MANY` by one Newton step from Cornish and Fisher's expansion, within 1e-4 standard deviations: the search
    of ``betaincinv`` takes a hundred times as long at 10¹² as at 10⁴.

    Examples
    --------
    >>> beta_quantile(np.array([1.0]), np.array([1.0]), 0.25).tolist()
    [0.25]
    """
    from scipy.special import betainc, betaincinv, ndtri

    many = np.minimum(a, b) > MANY
    if not many.any():
        return np.asarray(betaincinv(a, b, share))
    out = np.empty(a.shape)
    out[~many] = betaincinv(a[~many], b[~many], share)
    a, b, z = a[many], b[many], float(ndtri(share))
    total = a + b
    spread = np.sqrt(a * b / (total + 1.0)) / total
    skew = 2.0 * (b - a) * np.sqrt(total + 1.0) / ((total + 2.0) * np.sqrt(a * b))
    x = a / total + spread * (z + (z * z - 1.0) * skew / 6.0)
    density = np.exp(-z * z / 2.0) / np.sqrt(2.0 * np.pi) / spread
    out[many] = x - (betainc(a, b, x) - share) / density
    return out


def effective_trials(
    value: Floats, error: Floats | None, trials: NDArray[np.generic], units: int, fresh: bool
) -> Floats:
    """Number of independent trials that would give this error; all of them where trials are independent."""
    size = np.asarray(trials, np.float64)
    if fresh or error is None:
        return size
    binomial = value * (1.0 - value)
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = np.where(error > 0.0, binomial / error**2, float(units))
    return np.asarray(np.minimum(size, np.where(np.isfinite(effective), effective, float(units))))


def quantiles(values: NDArray[np.floating[Any]], counts: NDArray[Any], shares: Sequence[float]) -> list[Floats]:
    """Smallest value, along the last axis, whose cumulative count reaches each share of the total.

    Examples
    --------
    >>> [float(q) for q in quantiles(np.array([1.0, 2.0, 3.0]), np.array([5, 4, 1]), (0.5, 0.9))]
    [1.0, 2.0]
    """
    shape = np.broadcast_shapes(values.shape, counts.shape)
    if counts.shape[-1] > 1 and counts.min() == counts.max() == 1:  # units: a sort is much faster than an order
        ordered, reached = np.sort(values, axis=-1), np.arange(1, shape[-1] + 1)
    else:
        order = np.argsort(values, axis=-1, kind="stable")
        counts, order = (np.broadcast_to(a, (*(1,) * (len(shape) - a.ndim), *a.shape)) for a in (counts, order))
        ordered = np.take_along_axis(values.reshape(order.shape), order, axis=-1)
        reached = np.cumsum(_reorder(counts, order), axis=-1)
    wide = np.broadcast_to(ordered, shape)
    out = []
    for share in shares:
        place = (reached < share * reached[..., -1:] - 1e-9).sum(axis=-1)
        out.append(np.take_along_axis(wide, np.broadcast_to(place, shape[:-1])[..., None], axis=-1)[..., 0])
    return out


def ranks(units: int, share: float, level: float) -> tuple[int, int]:
    """Which of ``units`` independent values in ascending order hold a quantile between them, the first being 1.

    The number of values below the quantile is binomial.  0, or one more than there are: no value is known to bound it.

    Examples
    --------
    >>> ranks(100, 0.5, 0.95), ranks(100, 0.99, 0.95)
    ((40, 61), (97, 101))
    """
    from scipy.special import bdtr, bdtrik

    tail = (1.0 - level) / 2

    def at(chance: float) -> int:
        """The smallest k at which P(Bin ≤ k) reaches a chance."""
        near = float(bdtrik(chance, units, share))
        k = max(0, math.floor(near) - 1) if math.isfinite(near) else 0
        while k < units and bdtr(k, units, share) < chance:
            k += 1
        return k

    low = at(tail)
    return low + int(bdtr(low, units, share) <= tail), at(1.0 - tail) + 1


def quantile_interval(
    values: NDArray[np.floating[Any]], counts: NDArray[Any], units: int, share: float, level: float
) -> tuple[Floats, Floats]:
    """Interval of a quantile of independent values, which needs nothing to be known of their law.

    Parameters
    ----------
    values, counts : array
        As for `quantiles`; counts sum to ``units``.

    References
    ----------
    David and Nagaraja (2003), Order Statistics, section 7.1.

    Examples
    --------
    >>> [float(end) for end in quantile_interval(np.arange(1.0, 101.0), np.ones(100), 100, 0.5, 0.95)]
    [40.0, 61.0]
    """
    low, high = ranks(units, share, level)
    inside = min(max(low, 1), units), min(high, units)
    ends = quantiles(values, counts, [(rank - 0.5) / units for rank in inside])
    return np.where(low < 1, 0.0, ends[0]), np.where(high > units, np.inf, ends[1])


def _reorder(counts: NDArray[Any], order: NDArray[np.intp]) -> NDArray[Any]:
    return np.asarray(np.take_along_axis(counts, order, axis=-1))
