"""What does a dense trace say of the claims?  Chances at every output position become witnesses.

Replayed windows speak of decoding; neighbouring positions, all of them judged, speak of the article's own mean over κ
judged drafts.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import numpy as np

from simspec import theory
from simspec.claims.claim import above, below, between
from simspec.claims.setup import ARTICLE, GRID_ALPHAS, STANDARD
from simspec.claims.witness import Bounds, Witness, silent
from simspec.claims.witness_laws import DECODED, DECODING, LAGS, MEASURED, ORDERS, TESTS, TWENTIETH
from simspec.claims.witness_rounds import BY_REQUEST, drift, of_figure, of_law
from simspec.evidence.dense import DenseTrace, autocorrelation, halves
from simspec.evidence.replay import replay
from simspec.model import Cost, Iid
from simspec.stats.clusters import Figure, by_request, jackknife
from simspec.stats.intervals import Floats, student
from simspec.theory import article

JUDGED_KAPPA = 4
REPLAYED = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16)
"""κ among which the best one is sought."""
PRICES = (
    ("throughput, standard costs", STANDARD, "c_d = .1"),
    (r"article's c_v = \.5 and c_r = 1", ARTICLE, "c_d = .1, c_v = .5, c_r = 1, c_0 = 1"),
    ("without rollback", Cost(c_d=0.1, c_v=0.5), "c_d = .1, c_v = .5, c_0 = 1"),
)
"""Rows of C06, and the costs they are read at."""
FACTORS: tuple[tuple[str, Callable[[float, float], float]], ...] = (
    (r"^\(i\) ", article.variance_factor_nearest),
    (r"^\(ii\) ", article.variance_factor_asymptotic),
    (r"^\(iii\) .*two-state", article.variance_factor_exchangeable),
    (r"^all lags", article.variance_factor_all_lags),
)
"""Rows of C39 with their formula."""
CORRELATED = 0.1
"""Lag-1 correlation below which nothing is said about what ρ = .3 does to κ*."""
LITTLE = f"the lag-1 correlation of these verdicts is not clearly above {CORRELATED:g}: too little to move κ*"
ALIKE = f"the lag-1 correlation of these verdicts is not clearly above {CORRELATED:g}, where all formulas agree"
NOT_POSITIVE = "the lag-1 correlation of these verdicts is not clearly positive"
GAPS = "output positions are missing, so that nothing can be replayed"
CLEARLY = 3.0
"""Standard errors that make a correlation clear enough for claims about positive correlation to be asked."""
LEAST_ALPHA = 0.5
"""The article speaks of α from .55 up: of drafts far below, its κ* and its small probabilities say nothing."""
BELOW_GRID = f"α is below {GRID_ALPHAS[0]:g}, where the article's grid begins"
MIXED = (("C40", "indexed by sequence position"), ("C52", "^two-state chains, fresh windows"))


def dense_witnesses(data: DenseTrace, name: str) -> Iterator[Witness]:
    """Replay, memory, drift and neighbouring drafts of a dense trace."""
    lag = autocorrelation(data, 1)
    yield of_figure("C38", MEASURED, name, "lag-1 correlation of verdicts, within requests", LAGS,
                    autocorrelation(data, 1, within=True))  # fmt: skip
    yield of_figure("C38", MEASURED, name, "lag-1 correlation of verdicts, pooled", LAGS, lag)
    yield from drift(halves(data), name, "α, second half of the output minus the first")
    if data.sizes.max() < max(REPLAYED) or not data.whole:
        why = GAPS if not data.whole else f"no request has {max(REPLAYED)} output positions"
        rows = (("C06", "standard costs"), ("C15", DECODED), ("C35", DECODING), ("C36", DECODING))
        yield from (silent(claim, reading, name, "replayed windows", why) for claim, reading in rows)
        return
    replayed = functools.cache(lambda kappa: replay(data, kappa).counts.T)
    for test in TESTS:
        if test.systems.startswith("^"):
            yield from of_law(test, replayed(test.replayed_kappa), f"{name}, κ = {test.replayed_kappa}")
    yield from _neighbours(data, lag, replayed(JUDGED_KAPPA), name)
    yield from _best(data, lag, replayed, name)


def _neighbours(data: DenseTrace, lag: Figure, windows: Floats, name: str) -> Iterator[Witness]:
    """Four neighbouring positions, all judged: how many are accepted, and how often none."""
    sums = neighbour_sums(data, JUDGED_KAPPA)
    label = f"{name}, κ = {JUDGED_KAPPA}"
    if data.chance.mean() >= LEAST_ALPHA:
        orders = jackknife(sums, lambda s: np.log10(_none_over_power(s)))
        what = "orders of magnitude from (1 − α)^κ up to P(all rejected)"
        yield of_figure("C35", "every draft judged", label, what, ORDERS, orders)
    for reading, formula in FACTORS:
        ratio = jackknife(sums, functools.partial(_factor_over, formula))
        what = "variance factor over the formula at the ρ of the trace"
        if not lag.value - CLEARLY * lag.error >= CORRELATED:
            yield silent("C39", reading, label, what, ALIKE, ratio.value)
        else:
            yield of_figure("C39", reading, label, what, TWENTIETH, ratio)
    measured = {
        "variance of the number accepted": ("variance of judged drafts over κα(1 − α)", 1.0, jackknife(sums, _factor)),
        "all 4 drafts rejected": ("P(all rejected) over (1 − α)^κ", 1.0, jackknife(sums, _none_over_power)),
        "no draft accepted in a decoding window": ("P(A = 0) minus 1 − α", 0.0, _extra_rejection(data, windows)),
    }
    positive = lag.value > CLEARLY * lag.error
    for reading, (what, limit, figure) in measured.items():
        if positive:
            yield of_figure("C40", reading, label, what, above(limit), figure)
        else:
            yield silent("C40", reading, label, what, NOT_POSITIVE, figure.value)


def neighbour_sums(data: DenseTrace, kappa: int) -> Floats:
    """Sums by request over runs of κ neighbouring positions, verdicts drawn from their chances.

    Rows: number of runs; Σ E[N], Σ E[N²] of the number N accepted; Σ P(N = 0); Σ of the κ − 1 products of neighbours.

    Examples
    --------
    >>> neighbour_sums(DenseTrace.of(np.array([0.5, 0.5, 0.5]), np.array([0, 3])), 2).ravel().tolist()
    [2.0, 2.0, 3.0, 0.5, 0.5]
    """
    size = len(data.chance) - kappa + 1
    runs = np.lib.stride_tricks.sliding_window_view(data.chance, kappa)
    rows = np.zeros((5, len(data.chance)))
    inside = data.position_in_request[:size] + kappa <= np.repeat(data.sizes, data.sizes)[:size]
    mean = runs.sum(axis=1)
    square = (runs * (1.0 - runs)).sum(axis=1) + mean**2
    rows[:, :size] = np.where(
        inside,
        [np.ones(size), mean, square, np.prod(1.0 - runs, axis=1), (runs[:, 1:] * runs[:, :-1]).sum(axis=1)],
        0.0,
    )
    return np.stack([by_request(row, data.offsets) for row in rows])


def _mean(s: Floats) -> Floats:
    return np.asarray(s[1] / s[0] / JUDGED_KAPPA)


def _none_over_power(s: Floats) -> Floats:
    """P(all κ rejected) over (1 − α)^κ."""
    return np.asarray(s[3] / s[0] / (1.0 - _mean(s)) ** JUDGED_KAPPA)


def _factor(s: Floats) -> Floats:
    """Variance of the number accepted among κ judged neighbours over κα(1 − α)."""
    m = _mean(s)
    return np.asarray((s[2] / s[0] - (s[1] / s[0]) ** 2) / (JUDGED_KAPPA * m * (1.0 - m)))


def _factor_over(formula: Callable[[float, float], float], s: Floats) -> Floats:
    m = _mean(s)
    rho = (s[4] / s[0] / (JUDGED_KAPPA - 1) - m**2) / (m * (1.0 - m))
    said = [formula(float(r), JUDGED_KAPPA) if -1.0 <= r <= 1.0 else float("nan") for r in rho]
    return np.asarray(_factor(s) / np.array(said))  # where all verdicts are alike there is no ρ, and no figure


def _extra_rejection(data: DenseTrace, windows: Floats) -> Figure:
    """P(A = 0) of replayed windows minus 1 − α over all positions."""
    sums = np.stack([windows[0], windows.sum(axis=0), by_request(data.chance, data.offsets), data.sizes.astype(float)])
    return jackknife(sums, lambda s: s[0] / s[1] - (1.0 - s[2] / s[3]))


def _best(data: DenseTrace, lag: Figure, replayed: Callable[[int], Floats], name: str) -> Iterator[Witness]:
    """κ* by replay, at the costs of the rows of C06, and against κ* of independent drafts."""
    for reading, cost, price in PRICES:
        best, bounds = best_replayed(replayed, cost)
        what = f"at {price}, κ* by replay"
        if data.chance.mean() < GRID_ALPHAS[0]:
            yield silent("C06", reading, name, what, BELOW_GRID, best)
        else:
            yield Witness("C06", reading, name, what, between(3.0, 7.0), best, bounds, None, BY_REQUEST)
    best, bounds = best_replayed(replayed, STANDARD)
    free = theory.optimum(Iid(alpha=float(data.chance.mean())), STANDARD, 64).kappa_star
    measured = f"at c_d = .1, κ* by replay minus {free}, that of i.i.d. drafts with the mean α"
    for claim, reading in MIXED:
        if not lag.value - CLEARLY * lag.error >= CORRELATED:
            yield silent(claim, reading, name, measured, LITTLE, best - free)
        else:
            yield Witness(
                claim, reading, name, measured, below(-1.0), best - free, _less(bounds, free), None, BY_REQUEST
            )


def _less(bounds: Bounds, shift: int) -> Bounds:
    def lower(level: float) -> tuple[float, float]:
        low, high = bounds(level)
        return low - shift, high - shift

    return lower


def best_replayed(replayed: Callable[[int], Floats], cost: Cost) -> tuple[float, Bounds]:
    """Best κ (0: do not draft) and, by level, the span of those that cannot be told from it, paired by request."""
    moments = {kappa: _moments(replayed(kappa), cost) for kappa in REPLAYED}
    moments[0] = moments[1][[1, 1]] * 0.0 + np.array([[1.0], [cost.c0]])  # one token at the price of a plain step
    speed = {kappa: float(own[0].sum() / own[1].sum()) for kappa, own in moments.items()}
    best = max(sorted(speed), key=lambda kappa: speed[kappa])
    gaps = {
        kappa: jackknife(np.vstack([own, moments[best]]), lambda s: s[0] / s[1] - s[2] / s[3])
        for kappa, own in moments.items()
        if kappa != best
    }

    def bounds(level: float) -> tuple[float, float]:
        share = 1.0 - (1.0 - level) / len(gaps)
        tied = [kappa for kappa, gap in gaps.items() if gap.value + student(share, gap.units) * gap.error >= 0.0]
        return float(min([best, *tied])), float(max([best, *tied]))

    return float(best), bounds


def _moments(histogram: Floats, cost: Cost) -> Floats:
    """Tokens and cost by request."""
    kappa = len(histogram) - 1
    rounds = histogram.sum(axis=0)
    spent = rounds * (cost.c0 + kappa * (cost.c_d + cost.c_v)) + cost.c_r * (rounds - histogram[-1])
    return np.stack([np.arange(1, kappa + 2) @ histogram, spent])
