"""What does a chance of acceptance at every output position say?  Means, memory, drift, and exact replay at any κ.

Verdicts are drawn from the chances independently of each other, so that every expectation over them is exact here: no
verdict is ever drawn, and an error is one between requests only.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simspec.model import ParameterError, Trace
from simspec.run.traces import Chances, columns, load
from simspec.stats.clusters import Figure, by_request, jackknife

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LAST_POSITION = 10**9
"""Output positions beyond this are not ones: keys of request and position have to fit into 64 bits."""
LEAST_VARIANCE = 1e-12
"""Variances of chances below this are rounding."""


@dataclass(frozen=True, eq=False)
class DenseTrace:
    """Chances of acceptance by request and output position.

    Attributes
    ----------
    chance : float array (positions,)
        Chance of acceptance that belongs to the text, e.g. ``tok_accept``; windows are replayed from it.
    offsets : int64 array (requests + 1,)
        Request r holds the positions offsets[r] … offsets[r + 1] − 1.
    position : int64 array (positions,)
        Output position; it increases within a request.
    alpha : float array (positions,)
        Σ min(p, q) of the same position where that was recorded too, else ``chance``: of the same mean, less noisy.
    counted_from : int
        What the file calls the first output position, 0 or 1; ``position`` counts from 0.
    """

    chance: Floats
    offsets: Ints
    position: Ints
    alpha: Floats
    counted_from: int = 0

    @classmethod
    def of(cls, chance: Floats, offsets: Ints, position: Ints | None = None, alpha: Floats | None = None) -> DenseTrace:
        """A trace from arrays; without ``position`` there are no gaps.

        Examples
        --------
        >>> DenseTrace.of(np.full(4, 0.5), np.array([0, 1, 4])).position
        array([0, 0, 1, 2])
        """
        sizes = np.diff(offsets)
        if position is None:
            position = np.arange(len(chance)) - np.repeat(offsets[:-1], sizes)
        own = cls(chance, offsets, np.asarray(position, np.int64), chance if alpha is None else alpha)
        if (np.diff(own._keys(0)) <= 0).any() or (len(position) and position.min() < 0):
            raise ParameterError(
                "request", "the output positions of a request do not increase; allowed: rows in the order of the text, "
                "each position once (is a draft chosen?)"
            )  # fmt: skip
        return own

    @property
    def requests(self) -> int:
        """Number of requests."""
        return len(self.offsets) - 1

    @property
    def sizes(self) -> Ints:
        """Positions by request."""
        return np.diff(self.offsets)

    @property
    def whole(self) -> bool:
        """Whether no output position is missing."""
        first = self.position[self.offsets[:-1][self.sizes > 0]]
        return bool((first == 0).all()) and bool((np.diff(self.position) == 1).sum() == (self.sizes - 1).clip(0).sum())

    def take(self, chosen: Ints) -> DenseTrace:
        """Some of the requests."""
        rows = np.concatenate([np.arange(self.offsets[r], self.offsets[r + 1]) for r in chosen])
        offsets = np.concatenate([[0], np.cumsum(self.sizes[chosen])]).astype(np.int64)
        return DenseTrace(self.chance[rows], offsets, self.position[rows], self.alpha[rows], self.counted_from)

    def grid(self, values: Floats) -> Floats:
        """``values`` as (requests, longest), 0 beyond the end of a request."""
        out = np.zeros((self.requests, int(self.sizes.max())))
        out[np.repeat(np.arange(self.requests), self.sizes), self.position_in_request] = values
        return out

    @functools.cached_property
    def position_in_request(self) -> Ints:
        """Row number within its request."""
        return np.asarray(np.arange(len(self.chance)) - np.repeat(self.offsets[:-1], self.sizes))

    def _keys(self, lag: int) -> Ints:
        stride = int(self.position.max(initial=0)) + 10_001
        return np.repeat(np.arange(self.requests), self.sizes) * stride + self.position + lag

    def pairs(self, lag: int) -> tuple[Ints, Ints]:
        """Rows of one request whose output positions are ``lag`` ≤ 10,000 apart."""
        keys, wanted = self._keys(0), self._keys(lag)
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        earlier = np.flatnonzero(keys[at] == wanted)
        return earlier, at[earlier]


def read_dense(trace: Trace, beside: bool = True) -> DenseTrace:
    """A dense trace from its file; columns ``position`` and, beside a ``tok_accept``, ``alpha`` are used where present.

    A recording at temperature 0 has its ``alpha`` compare laws that did not write the text, so that it is left aside.
    Positions that begin at 1 in every request are taken for a count from 1.

    Parameters
    ----------
    trace : Trace
    beside : bool
        Whether ``alpha`` is looked for.

    Raises
    ------
    ParameterError
        The file cannot be used, it holds rounds, its positions are no whole numbers from 0 up in the order of the text,
        or an ``alpha`` lies outside 0 … 1.
    """
    found = load(trace)
    if not isinstance(found, Chances):
        raise ParameterError(
            "alpha", "alpha is missing: only a chance of acceptance at every output position is tested"
        )
    recorded = beside and trace.alpha == "tok_accept"
    extra, _ = columns(trace, ("position", "alpha", "temperature") if recorded else ("position",))
    greedy = "temperature" in extra and not extra["temperature"].any()
    alpha = None if greedy else extra.get("alpha")
    if alpha is not None and not ((alpha >= 0.0) & (alpha <= 1.0)).all():
        raise ParameterError("alpha", f"{trace.path}: 'alpha' holds values outside 0 … 1")
    if "position" not in extra:
        return DenseTrace.of(np.asarray(found.alpha, float), found.offsets, None, alpha)
    position = _positions(extra["position"], trace)
    first = int((position[found.offsets[:-1]] == 1).all())
    own = DenseTrace.of(np.asarray(found.alpha, float), found.offsets, position, alpha)
    return replace(own, position=position - first, counted_from=first)


def _positions(values: Floats, trace: Trace) -> Ints:
    """Output positions as integers; what cannot be one is named."""
    wrong = [
        ((values != np.floor(values)).any(), "holds values that are not whole numbers; allowed: 0, 1, 2, …"),
        ((values < 0).any(), f"falls to {values.min():.6g}; the first position must be 0"),
        ((values > LAST_POSITION).any(), f"rises to {values.max():.6g}; allowed: at most {LAST_POSITION:,}"),
    ]
    for found, said in wrong:
        if found:
            raise ParameterError("position", f"{trace.path}: 'position' {said}")
    return values.astype(np.int64)


def mean_of(trace: DenseTrace, values: Floats, chosen: NDArray[np.bool_] | None = None, level: float = 0.95) -> Figure:
    """Mean of ``values`` over the chosen positions."""
    at = np.ones(len(values)) if chosen is None else chosen.astype(float)
    sums = np.stack([by_request(values * at, trace.offsets), by_request(at, trace.offsets)])
    return jackknife(sums[:, sums[1] > 0.0], lambda s: s[0] / s[1], level)


def autocorrelation(
    trace: DenseTrace,
    lag: int,
    within: bool = False,
    verdicts: bool = True,
    values: Floats | None = None,
    level: float = 0.95,
) -> Figure:
    """Correlation of two positions ``lag`` apart in one request.

    Parameters
    ----------
    trace : DenseTrace
    lag : int
        ≥ 1.
    within : bool
        Whether each request's own mean is taken off first, which leaves what happens inside requests.  That alone would
        lower the covariance by σ²/n, n positions of variance σ² without memory; so much, the bias of memoryless
        positions, is added again.  What memory adds to the variance of a mean is not: with memory this reads low, the
        more so the slower the memory and the shorter the requests.
    verdicts : bool
        Of verdicts drawn from the chances (the article's ρ_A), exactly: Cov(chance, chance')/(α(1 − α)).  Else of the
        chances themselves.
    values : float array, optional
        Chances to use instead of ``trace.chance``, e.g. ``trace.alpha``.
    level : float

    Returns
    -------
    Figure
        NaN where nothing varies.

    Examples
    --------
    >>> own = DenseTrace.of(np.repeat([0.25, 0.75], 4), np.array([0, 4, 8]))
    >>> autocorrelation(own, 1, verdicts=False).value, autocorrelation(own, 1).value
    (1.0, 0.25)
    """
    x = trace.chance if values is None else values
    spread = by_request(x * (1.0 - x), trace.offsets)
    sizes = trace.sizes.astype(float)
    if within:
        x = x - np.repeat(by_request(x, trace.offsets) / np.maximum(sizes, 1.0), trace.sizes)
    earlier, later = trace.pairs(lag)
    rows = np.zeros((4, len(x)))
    rows[:, earlier] = [np.ones(len(earlier)), x[earlier], x[later], x[earlier] * x[later]]
    pairs = np.stack([by_request(row, trace.offsets) for row in rows])
    own = np.stack([sizes, by_request(x, trace.offsets), by_request(x * x, trace.offsets), spread, sizes > 0.0])
    lost = pairs[0] / np.maximum(sizes, 1.0)

    def value(s: Floats) -> Floats:
        n, first, second, product, size, total, squares, inside, requests, short = s
        if within:
            variance = squares / (size - requests)
            covariance = (product + variance * short) / n
        else:
            variance = squares / size - (total / size) ** 2
            covariance = product / n - first * second / n**2
        if not verdicts:
            variance = np.where(variance > LEAST_VARIANCE, variance, np.nan)
        return np.asarray(covariance / (inside / size + variance if verdicts else variance))

    return jackknife(np.vstack([pairs, own, lost]), value, level)


def along_output(trace: DenseTrace, width: int = 32, level: float = 0.95) -> list[tuple[int, int, Figure]]:
    """Mean α in bins of output positions: first and last position, and figure.

    Requests of different lengths stand behind different bins; `halves` compares each request with itself.
    """
    last = int(trace.position.max(initial=0))
    bins = [(low, min(low + width - 1, last)) for low in range(0, last + 1, width)]
    chosen = [(trace.position >= low) & (trace.position <= high) for low, high in bins]
    return [(*b, mean_of(trace, trace.alpha, c, level)) for b, c in zip(bins, chosen, strict=True) if c.any()]


def halves(trace: DenseTrace, least: int = 2, level: float = 0.95) -> Figure:
    """Mean α of the second half of a request minus that of the first, mean over positions of requests with ``least``.

    Examples
    --------
    >>> halves(DenseTrace.of(np.array([0.25, 0.5, 0.0, 0.25]), np.array([0, 2, 4]))).value
    0.25
    """
    first, second, sizes = _half_sums(trace)
    long = sizes >= max(least, 2)
    difference = second / np.maximum(sizes - sizes // 2, 1) - first / np.maximum(sizes // 2, 1)
    sums = np.stack([sizes * difference, sizes.astype(float)])[:, long]
    return jackknife(sums, lambda s: s[0] / s[1], level)


def _half_sums(trace: DenseTrace) -> tuple[Floats, Floats, Ints]:
    early = trace.position_in_request < np.repeat(trace.sizes // 2, trace.sizes)
    first = by_request(np.where(early, trace.alpha, 0.0), trace.offsets)
    return first, by_request(trace.alpha, trace.offsets) - first, trace.sizes


def slope(trace: DenseTrace, level: float = 0.95) -> Figure:
    """Change of α per 100 output positions within requests (least squares, each request with its own mean)."""
    sizes = np.maximum(trace.sizes, 1)

    def centred(values: Floats) -> Floats:
        return values - np.repeat(by_request(values, trace.offsets) / sizes, trace.sizes)

    t, x = centred(trace.position.astype(float)), centred(trace.alpha)
    sums = np.stack([by_request(t * x, trace.offsets), by_request(t * t, trace.offsets)])
    return jackknife(sums, lambda s: 100.0 * s[0] / s[1], level)


def spread_of_requests(trace: DenseTrace, level: float = 0.95) -> Figure:
    """Standard deviation of α between requests, if positions had no memory: their noise, and no more, is taken off.

    0 where the means of requests differ less than that noise.  With memory inside requests it is too large, and not 0
    where requests follow one law: .14, .11 and .08 (requests of 100, 200 and 400 positions) for a hidden chain of rates
    .95 and .4 that stays in its state with .97.  `spread_by_halves` says .08, .05 and .02 there.

    References
    ----------
    Searle, Casella, McCulloch (1992), section 3.6: the analysis-of-variance estimate with unequal group sizes.
    """
    sizes = trace.sizes.astype(float)
    total, squares = by_request(trace.alpha, trace.offsets), by_request(trace.alpha**2, trace.offsets)
    inside = squares - total**2 / np.maximum(sizes, 1.0)
    sums = np.stack([sizes, total, total**2 / np.maximum(sizes, 1.0), inside, sizes**2, sizes > 0.0])

    def value(s: Floats) -> Floats:
        n, x, between, within, squared, groups = s
        noise = np.where(n > groups, within / (n - groups), np.nan)
        excess = (between - x * x / n) / (groups - 1.0) - noise
        return np.asarray(np.sqrt(np.maximum(excess * (groups - 1.0) / (n - squared / n), 0.0)))

    return jackknife(sums, value, level)


def spread_by_halves(trace: DenseTrace, level: float = 0.95) -> Figure:
    """Standard deviation of α between requests: the root of the covariance of the means of a request's two halves.

    The noise of the halves falls out, with the memory inside each; memory that reaches over the middle does not.  0
    where the covariance is not positive, then without an error; the interval is the root of that of the covariance.

    Examples
    --------
    >>> spread_by_halves(DenseTrace.of(np.repeat([0.25, 0.5, 0.75], 2), np.array([0, 2, 4, 6]))).value
    0.25
    """
    first, second = _half_means(trace)
    if len(first) < 3:
        return Figure(float("nan"), float("nan"), float("nan"), float("nan"), len(first))
    sums = np.stack([np.ones(len(first)), first, second, first * second])
    own = jackknife(sums, lambda s: (s[3] - s[1] * s[2] / s[0]) / (s[0] - 1.0), level)
    value, low, high = np.sqrt(np.maximum([own.value, own.low, own.high], 0.0)).tolist()
    return Figure(value, low, high, own.error / (2.0 * value) if value > 0.0 else float("nan"), own.units)


def _half_means(trace: DenseTrace) -> tuple[Floats, Floats]:
    """Mean α of both halves of the requests that are at least a quarter as long as the longest."""
    first, second, sizes = _half_sums(trace)
    long = sizes >= max(2, int(sizes.max(initial=0)) // 4)
    return first[long] / (sizes[long] // 2), second[long] / (sizes[long] - sizes[long] // 2)


def agreement_of_halves(trace: DenseTrace) -> tuple[float, int]:
    """Correlation, over requests, of the mean α of the first and of the second half; and how many requests.

    Where requests do not differ the halves have nothing in common, unless memory reaches from one into the other.
    Requests shorter than a quarter of the longest are left out: their means are mostly noise.
    """
    means = _half_means(trace)
    units = len(means[0])
    if units < 3 or min(np.ptp(means[0]), np.ptp(means[1])) <= LEAST_VARIANCE:
        return float("nan"), units
    return float(np.corrcoef(*means)[0, 1]), units
