"""Do two samples follow the same law?  Tests of the quantities of a run from the totals of its independent units.

Every quantity is a smooth function of the eight sums of `simspec.kernels.tally.SUMS`, so its error needs no more than
their totals and their sums of products over units: 8 and 8 × 8 numbers per group, whatever the costs.

Assumed: units of one sample are independent.  *Independent* samples: Welch's statistic with the larger of Welch's and
the pooled variance, which guards the smaller sample (its own variance is low just when it saw few events).  Where fewer
than `RARE` events are expected in a sample, the exact conditional binomial test on event counts over their design
effect judges P(A = 0) and P(A = κ), and p of any other quantity is at least as large.  Samples may *share* some of
their units: twice the covariance of those leaves the variance, and the exact test looks at what is not shared.
*Paired* samples share random words, or the requests of a trace: Student's test on differences of units.  No p lies
below what exchanging units could show, 2/C(L+M, L) or 2^(1 − units that differ); this rules where no spread was seen.
Limits: only "nothing accepted" and "a rejection" are known as rare; the design effect of few events is uncertain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simspec.kernels.tally import SUMS
from simspec.kernels.words import LANES
from simspec.model import Cost
from simspec.stats.intervals import Floats

Ints = NDArray[np.int64]

WINDOW_QUANTITIES = (
    "mean_accepted", "mean_tokens", "var_accepted", "p_zero_accepted", "p_full", "mean_drafted", "alpha_examined",
)  # fmt: skip
PRICED_QUANTITIES = ("mean_round_cost", "speedup")
POWER = 0.9
RARE = 100
"""Events expected in the smaller sample below which counts are judged exactly; above, both tests agree to p = 1e-8."""
DUST = 1e-13
"""Relative size of rounding in a quadratic form of exact integers."""

_N = SUMS.index("n")
_SUM = {name: np.eye(len(SUMS))[i] for i, name in enumerate(SUMS)}
_ZERO, _FULL, _REJECTED = _SUM["zero"], _SUM["n"] - _SUM["rejected"], _SUM["rejected"]
_RATIOS = {
    "mean_accepted": (_SUM["accepted"], _SUM["n"]),
    "mean_tokens": (_SUM["tokens"], _SUM["n"]),
    "p_zero_accepted": (_ZERO, _SUM["n"]),
    "p_full": (_FULL, _SUM["n"]),
    "mean_drafted": (_SUM["drafted"], _SUM["n"]),
    "alpha_examined": (_SUM["accepted"], _SUM["accepted"] + _SUM["rejected"]),
}
_EVENTS = {"p_zero_accepted": (_ZERO, _SUM["n"] - _ZERO), "p_full": (_REJECTED, _FULL), "mean_drafted": ()}
_ANY_EVENTS = (_REJECTED, _SUM["n"] - _ZERO)


@dataclass(frozen=True)
class Moments:
    """First and second moments of the unit totals of many groups (simulation and κ).

    Attributes
    ----------
    units : float array (groups,)
    total : float array (groups, 8)
        Sums over units, columns as in `SUMS`.
    spread : float array (groups, 8, 8)
        Sums of products of the deviations of units from their mean.
    """

    units: Floats
    total: Floats
    spread: Floats

    def take(self, chosen: NDArray[np.generic]) -> Moments:
        """Some of the groups, by mask or index."""
        return Moments(self.units[chosen], self.total[chosen], self.spread[chosen])


@dataclass(frozen=True)
class Shared:
    """Of paired units: how many changed, and centred products of d = a − b with d and with b, (groups, 8, 8)."""

    changed: Floats
    differences: Floats
    with_second: Floats

    def take(self, chosen: NDArray[np.generic]) -> Shared:
        """Some of the groups, by mask or index."""
        return Shared(self.changed[chosen], self.differences[chosen], self.with_second[chosen])


@dataclass(frozen=True)
class Outcome:
    """Outcome per group: both values, difference b − a, its standard error and two-sided p (NaN: not comparable)."""

    a: Floats
    b: Floats
    difference: Floats
    error: Floats
    p_value: Floats


def moments(sums: Ints, starts: Ints, weight: Ints | None = None) -> Moments:
    """Moments of groups of rows: unit totals ``sums`` (rows, 8), a group from each of ``starts`` to the next.

    A row stands for ``weight`` units alike, one if left out.

    Examples
    --------
    >>> own = moments(np.arange(16).reshape(2, 8), np.array([0]))
    >>> own.units.tolist(), own.total[0, :2].tolist(), own.spread[0, 0, 0].item()
    ([2.0], [8.0, 10.0], 32.0)
    """
    units, total, columns, rest = _centred(sums, starts, weight)
    weighted = columns if weight is None else columns * weight
    return Moments(units, total, _products(weighted, columns, rest, rest, units, starts))


def joined(groups: Sequence[Moments]) -> Moments:
    """The groups of several, one after another."""
    return Moments(*(np.concatenate([getattr(m, name) for m in groups]) for name in ("units", "total", "spread")))


def shared(a: Ints, b: Ints, starts: Ints) -> Shared:
    """Moments of differences of paired rows; arguments as for `moments`, row by row the same unit."""
    difference = a - b
    units, _, columns, rest = _centred(difference, starts)
    _, _, second, second_rest = _centred(b, starts)
    changed = np.add.reduceat((difference != 0).any(axis=1).astype(np.float64), starts)
    own = _products(columns, columns, rest, rest, units, starts)
    return Shared(changed, own, _products(columns, second, rest, second_rest, units, starts))


def _centred(sums: Ints, starts: Ints, weight: Ints | None = None) -> tuple[Floats, Floats, Floats, Floats]:
    """Units, totals, columns less an integer near their mean (so that products stay exact), and what that leaves."""
    rows = np.diff(np.append(starts, len(sums)))
    units = rows if weight is None else np.add.reduceat(weight, starts)
    every = sums if weight is None else sums * weight[:, None]
    total = np.add.reduceat(every, starts, axis=0).astype(np.float64)
    mean = total / units[:, None]
    near = np.rint(mean)
    columns = np.ascontiguousarray((sums - np.repeat(near, rows, axis=0)).T)
    return units.astype(np.float64), total, columns, mean - near


def _products(x: Floats, y: Floats, x_rest: Floats, y_rest: Floats, units: Floats, starts: Ints) -> Floats:
    out = np.empty((len(starts), len(x), len(y)))
    for i in range(len(x)):
        for j in range(len(y)):
            out[:, i, j] = np.add.reduceat(x[i] * y[j], starts)
    out -= units[:, None, None] * x_rest[:, :, None] * y_rest[:, None, :]
    return out


def estimate(name: str, total: Floats, cost: Cost | None = None) -> tuple[Floats, Floats]:
    """A quantity from totals, and its derivative by them.

    Returns value (groups,) and weights (groups, 8): a unit with totals s adds weights·s to the error of the value.

    Examples
    --------
    >>> value, _ = estimate("mean_accepted", np.array([[10.0, 17.0, 0, 0, 0, 0, 0, 0]]))
    >>> value.item()
    1.7
    """
    if name == "var_accepted":
        mean, _ = estimate("mean_accepted", total)
        square, weights = _ratio(total, _SUM["accepted_sq"], _SUM["n"])
        by_mean = (_SUM["accepted"] - mean[:, None] * _SUM["n"]) / total[:, _N, None]
        return square - mean**2, weights - 2.0 * mean[:, None] * by_mean
    if cost is None:
        return _ratio(total, *_RATIOS[name])
    spent = cost.c0 * _SUM["n"] + (cost.c_d + cost.c_v) * _SUM["drafted"] + cost.c_r * _SUM["rejected"]
    return _ratio(total, spent, _SUM["n"]) if name == "mean_round_cost" else _ratio(total, _SUM["tokens"], spent)


def _ratio(total: Floats, top: Floats, bottom: Floats) -> tuple[Floats, Floats]:
    below = total @ bottom
    with np.errstate(divide="ignore", invalid="ignore"):
        value = (total @ top) / below
        return value, (top - value[:, None] * bottom) / below[:, None]


def _variance(m: Moments, *forms: tuple[Floats, Floats, Floats]) -> Floats:
    """Variance of a sum over units, from forms x·products·y; what is no larger than rounding is 0."""
    value = sum(np.einsum("gi,gij,gj->g", x, products, y) for x, products, y in forms)
    size = sum(np.einsum("gi,gij,gj->g", np.abs(x), np.abs(products), np.abs(y)) for x, products, y in forms)
    return np.where(value > DUST * size, value, 0.0) * m.units / np.maximum(m.units - 1.0, 1.0)


def _own(m: Moments, weights: Floats) -> Floats:
    return _variance(m, (weights, m.spread, weights))


def independent(name: str, a: Moments, b: Moments, cost: Cost | None = None, both: Moments | None = None) -> Outcome:
    """Test of one quantity in samples with words of their own, but for the units of ``both``, which lie in each.

    At least two units in each group of ``a`` and ``b``; ``both`` may have none.
    """
    from scipy.special import gammaln

    (left, left_weights), (right, right_weights) = (estimate(name, m.total, cost) for m in (a, b))
    difference = _difference(left, right)
    variance, freedom = _welch(a, b, _own(a, left_weights), _own(b, right_weights))
    alike = np.zeros(len(a.units)) if both is None else both.units
    if both is not None:
        variance = _less_shared(variance, a, b, alike, left_weights, right_weights)
    p = _two_sided(difference, variance, freedom)
    known = _EVENTS.get(name, _ANY_EVENTS)
    if known:
        exact = _rare(known, *((a, b) if both is None else _apart(a, b, both)))
        ruled = np.isfinite(exact) & (variance > 0.0)
        p = np.where(ruled, exact if name in _EVENTS else np.fmax(p, exact), p)
    ways = gammaln(a.units + b.units - alike + 1)
    ways = ways - gammaln(a.units - alike + 1) - gammaln(b.units - alike + 1) - gammaln(alike + 1)
    return Outcome(left, right, difference, np.sqrt(variance), np.maximum(p, np.minimum(1.0, 2.0 * np.exp(-ways))))


def _less_shared(variance: Floats, a: Moments, b: Moments, alike: Floats, left: Floats, right: Floats) -> Floats:
    """Variance less twice the covariance of shared units; what is no larger than rounding is 0."""
    products = (a.spread + b.spread) / (a.units + b.units - 2.0)[:, None, None]  # of one unit with itself
    covariance = alike * np.einsum("gi,gij,gj->g", left, products, right)
    rest = variance - 2.0 * covariance
    return np.where(rest > 1e3 * DUST * variance, rest, 0.0)


def _apart(a: Moments, b: Moments, both: Moments) -> tuple[Moments, Moments]:
    """The samples, the larger without the units it shares: two that are independent."""
    more = a.units > b.units
    parts = []
    for m, cut in ((a, more), (b, ~more)):
        gone = np.where(cut, both.units, 0.0)
        parts.append(Moments(m.units - gone, m.total - np.where(cut[:, None], both.total, 0.0), m.spread))
    return parts[0], parts[1]


def paired(name: str, a: Moments, b: Moments, both: Shared, cost: Cost | None = None) -> Outcome:
    """Test of one quantity in samples whose units share their random words."""
    (left, left_weights), (right, right_weights) = (estimate(name, m.total, cost) for m in (a, b))
    difference, change = _difference(left, right), left_weights - right_weights
    variance = _variance(
        a,
        (left_weights, both.differences, left_weights),
        (2.0 * left_weights, both.with_second, change),
        (change, b.spread, change),
    )
    p = _two_sided(difference, variance, a.units - 1.0)
    least = np.minimum(1.0, 2.0 ** (1.0 - both.changed))
    return Outcome(left, right, difference, np.sqrt(variance), np.maximum(p, least))


@dataclass(frozen=True)
class Stored:
    """Estimates read back, by row: value, upper end of the interval at ``level``, independent units (0: exact)."""

    value: Floats
    high: Floats
    level: Floats
    units: Floats

    def error(self) -> Floats:
        """Standard error that the interval was made of; 0 of exact values, NaN of a single unit."""
        from scipy.special import stdtrit

        quantile = stdtrit(np.where(self.units > 1, self.units - 1.0, np.nan), 0.5 + self.level / 2)
        return np.where(self.units == 0, 0.0, (self.high - self.value) / quantile)


def stored(a: Stored, b: Stored) -> Outcome:
    """Test of estimates of which only intervals are kept, as if their words were not shared.

    Shared words make estimates alike, so that p is too large rather than too small; estimates that are equal have
    p = 1.  Where an interval was widened for events too few to show, so is the error here.

    Examples
    --------
    >>> one = Stored(np.array([2.0]), np.array([2.2]), np.array([0.95]), np.array([1e6]))
    >>> done = stored(one, Stored(one.value + 0.3, one.high + 0.3, one.level, one.units))
    >>> round(float(done.error[0]), 3), round(float(done.p_value[0]), 3)
    (0.144, 0.038)
    """
    first, second = a.error() ** 2, b.error() ** 2
    variance, difference = first + second, _difference(a.value, b.value)
    below = sum(v**2 / np.where(m.units > 1, m.units - 1.0, np.inf) for v, m in ((first, a), (second, b)))
    with np.errstate(invalid="ignore", divide="ignore"):
        freedom = np.where(below > 0.0, variance**2 / below, np.inf)
    p = np.where(np.isnan(variance), np.nan, _two_sided(difference, variance, freedom))
    return Outcome(a.value, b.value, difference, np.sqrt(variance), p)


def _difference(left: Floats, right: Floats) -> Floats:
    gap = right - left
    return np.where(np.abs(gap) <= 1e-12 * np.maximum(np.abs(left), np.abs(right)), 0.0, gap)


def _welch(a: Moments, b: Moments, first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Larger of Welch's and the pooled variance of a difference, and Welch's degrees of freedom."""
    rounds_a, rounds_b = a.total[:, _N], b.total[:, _N]
    per_round = (first * rounds_a * (a.units - 1) + second * rounds_b * (b.units - 1)) / (a.units + b.units - 2)
    alone = first + second
    below = first**2 / (a.units - 1) + second**2 / (b.units - 1)
    with np.errstate(invalid="ignore"):
        freedom = np.where(alone > 0.0, alone**2 / np.where(below > 0.0, below, 1.0), 1.0)
    return np.maximum(alone, per_round * (1.0 / rounds_a + 1.0 / rounds_b)), np.maximum(freedom, 1.0)


def _two_sided(difference: Floats, variance: Floats, freedom: Floats) -> Floats:
    from scipy.special import stdtr

    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(difference) / np.sqrt(variance)
    p = np.where(variance > 0.0, 2.0 * stdtr(freedom, -np.where(np.isfinite(t), t, 0.0)), 0.0)
    return np.where(difference == 0.0, 1.0, np.where(np.isnan(difference), np.nan, np.minimum(p, 1.0)))


def _rare(known: Sequence[Floats], a: Moments, b: Moments) -> Floats:
    """p of the exact conditional binomial test where events are rare, NaN elsewhere."""
    from scipy.special import betainc

    trials = a.total[:, _N] + b.total[:, _N]
    counts = np.stack([(a.total + b.total) @ event for event in known])
    event = np.array(known)[np.argmin(counts, axis=0)]
    events = counts.min(axis=0)
    share = a.total[:, _N] / trials
    seen = np.maximum(events, 1.0)
    weights = event - (events / trials)[:, None] * _SUM["n"]
    scatter = _own(a, weights) + _own(b, weights)
    effect = np.maximum(1.0, scatter / np.maximum(seen * (1.0 - events / trials), 1e-300))
    size, hits = seen / effect, np.einsum("gi,gi->g", a.total, event) / effect
    miss = np.maximum(size - hits, 0.0)
    more = np.where(hits > 0.0, betainc(np.maximum(hits, 1e-300), miss + 1.0, share), 1.0)
    less = np.where(miss > 0.0, betainc(np.maximum(miss, 1e-300), hits + 1.0, 1.0 - share), 1.0)
    p = np.minimum(1.0, 2.0 * np.minimum(more, less))
    return np.where((events > 0.0) & (size * np.minimum(share, 1.0 - share) < RARE), p, np.nan)


def planning(a: Moments, b: Moments, level: float, shift: float, rounds_per_unit: int | Ints) -> tuple[Floats, Floats]:
    """Smallest relative shift of E[A] found with probability `POWER`, and windows per sample that find ``shift``.

    Both for words of their own (shared words need less), at two-sided ``level`` of one comparison; NaN without spread.
    A budget is thought to be cut into units of ``rounds_per_unit`` windows, 64 of them at least; the variance taken for
    it is an upper one, exceeded with probability 0.1, since a pilot knows its own only roughly.
    """
    from scipy.special import chdtri, stdtrit

    mean = estimate("mean_accepted", a.total + b.total)[0]
    mean = np.where(mean > 0.0, mean, np.nan)
    first, second = (_own(m, estimate("mean_accepted", m.total)[1]) for m in (a, b))
    freedom = _welch(a, b, first, second)[1]
    spread = np.where(first + second > 0.0, np.sqrt(first + second), np.nan)
    found = spread / mean * (stdtrit(freedom, POWER) - stdtrit(freedom, level / 2))
    per_round = (first * a.total[:, _N] + second * b.total[:, _N]) / mean**2
    per_round *= freedom / chdtri(freedom, 0.9)
    needed = np.zeros(len(mean))
    for _ in range(4):
        freedom = 2.0 * (np.maximum(LANES, needed / rounds_per_unit) - 1.0)
        needed = per_round * ((stdtrit(freedom, POWER) - stdtrit(freedom, level / 2)) / shift) ** 2
    return found, np.where(np.isnan(found), np.nan, np.ceil(needed))


def holm(p_values: Floats) -> Floats:
    """p adjusted by Holm (1979): rejecting where it is at most e errs anywhere with probability at most e.

    Examples
    --------
    >>> holm(np.array([0.01, 0.5, 0.02])).tolist()
    [0.03, 0.5, 0.04]
    """
    order = np.argsort(p_values, kind="stable")
    out = np.empty(len(p_values))
    out[order] = np.minimum(1.0, np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1)))
    return out
