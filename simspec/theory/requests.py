"""What does a mix of requests look like, when each request keeps the rate it drew?  Per round, over many requests.

Given the rate α, a round starts at position i of a request with probability u_i.  With m = κ + 1 and β = α^m,
Σ u_i xⁱ = (1 − αx)/((1 − x)(1 − βx^m)), hence u_i = (1 − α)(1 + β + … + β^(⌈i/m⌉−1)) + [m divides i]·β^(i/m): either
the token before i corrected a rejection, or every round so far was full.  Cutting drafts at the end changes no u_i with
i < N, and all else follows from u and U(n) = u_0 + … + u_{n−1}.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simspec.model.cost import Cost
from simspec.model.mixture import BetaMixture, DiscreteMixture
from simspec.theory.lanes import lagged_sum
from simspec.theory.law import FloatArray, Sweep, WindowLaw, moments
from simspec.theory.quadrature import beta_nodes

_NODES = 256
"""Beta nodes, exact to degree 511 in α.  Per round that leaves an error below 1e-11 up to N = 20,000; fixed requests of
10⁵ to 10⁶ tokens keep 9 digits, 7 where the Beta law piles up at 1 (b < ½).  Geometric ones have 1e-13 at every N."""

IntArray = npt.NDArray[np.int64]
Mixture = BetaMixture | DiscreteMixture


def request_window(process: Mixture, kappa: int) -> WindowLaw:
    """Law of the rounds of many requests: expected totals over the expected number of rounds.

    Examples
    --------
    >>> from simspec.model.mixture import DiscreteMixture
    >>> mix = DiscreteMixture(alphas=[1.0, 0.0], weights=[0.5, 0.5], weights_of="requests", request_tokens=4)
    >>> request_window(mix, 1).pmf_accepted  # 2 rounds of full drafts, and 3 rejections before the last token
    array([0.66666667, 0.33333333])
    """
    rates, shares = request_shares(process, kappa)
    total = _totals(process, rates, kappa)
    rounds = float(shares @ total.rounds)
    pmf = total.counts @ shares / rounds
    mean, var = moments(pmf)
    return WindowLaw(
        kappa=kappa,
        pmf_accepted=pmf,
        mean_accepted=mean,
        var_accepted=var,
        mean_tokens=_tokens(process) / rounds,
        p_zero_accepted=float(pmf[0]),
        p_full=float(shares @ total.full) / rounds,
        mean_examined=float(shares @ total.examined) / rounds,
        mean_drafted=float(shares @ total.drafted) / rounds,
        p_cut=None if total.cut is None else total.cut @ shares / rounds,
    )


def request_sweep(process: Mixture, kappa_max: int) -> Sweep:
    """Means per round at every κ = 0 … kappa_max.

    Examples
    --------
    >>> from simspec.model.mixture import BetaMixture
    >>> request_sweep(BetaMixture(alpha=0.5, rho=0.0, request_tokens=2), 1).mean_tokens
    array([1.        , 1.33333333])
    """
    rounds, drafted, full = np.empty(kappa_max + 1), np.empty(kappa_max + 1), np.empty(kappa_max + 1)
    for kappa in range(kappa_max + 1):
        rates, shares = request_shares(process, kappa)
        total = _totals(process, rates, kappa)
        rounds[kappa], drafted[kappa], full[kappa] = shares @ np.stack([total.rounds, total.drafted, total.full], 1)
    return Sweep(mean_tokens=_tokens(process) / rounds, mean_drafted=drafted / rounds, p_full=full / rounds)


def request_counts(process: Mixture, kappa: int) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of the counts of A in one request, the draw of its rate included.

    Examples
    --------
    >>> from simspec.model.mixture import BetaMixture
    >>> mean, covariance = request_counts(BetaMixture(alpha=0.5, rho=1.0, request_tokens=2), 1)
    >>> mean, covariance[0]  # either counts (2, 0), the last draft having been cut, or (0, 1)
    (array([1. , 0.5]), array([ 1. , -0.5]))
    """
    rates, shares = request_shares(process, kappa)
    counts = _totals(process, rates, kappa).counts
    mean = counts @ shares
    covariance = np.diag(mean)  # a round with itself; then pairs of rounds, then what differs between requests
    for rate, share, own in zip(rates, shares, counts.T, strict=True):
        if share > 0.0:
            pairs = _pairs(process, float(rate), kappa)
            between = own - mean
            covariance += share * (pairs + pairs.T - np.outer(own, own) + np.outer(between, between))
    return mean, covariance


def request_shares(process: Mixture, kappa: int) -> tuple[FloatArray, FloatArray]:
    """Rates, and the probability that a request has each; ``weights_of = "rounds"`` depends on κ.

    Shares of tokens are shares of requests, since the length of a request does not depend on its rate.

    Examples
    --------
    >>> from simspec.model.mixture import DiscreteMixture
    >>> mix = DiscreteMixture(alphas=[1.0, 0.0], weights=[0.5, 0.5], weights_of="rounds", request_tokens=4)
    >>> request_shares(mix, 1)[1]  # 2 rounds against 4
    array([0.66666667, 0.33333333])
    """
    if isinstance(process, BetaMixture):
        return _beta_shares(process)
    rates, shares = np.array(process.alphas), np.array(process.shares())
    if process.weights_of == "rounds":
        shares = shares / _totals(process, rates, kappa).rounds
        shares /= shares.sum()
    return rates, shares


def _beta_shares(process: BetaMixture) -> tuple[FloatArray, FloatArray]:
    alpha, rho = process.mean_and_rho()
    if rho == 0.0 or alpha in (0.0, 1.0):
        return np.array([alpha]), np.ones(1)
    if rho == 1.0:
        return np.array([0.0, 1.0]), np.array([1.0 - alpha, alpha])
    if process.a is not None and process.b is not None:
        return beta_nodes(process.a, process.b, _NODES)
    size = (1.0 - rho) / rho
    return beta_nodes(alpha * size, (1.0 - alpha) * size, _NODES)


def _tokens(process: Mixture) -> int:
    assert process.request_tokens is not None  # otherwise windows are fresh, and another route answers
    return process.request_tokens


@dataclass(frozen=True, eq=False)
class _Totals:
    """Expected totals of one request, last axis by rate."""

    rounds: FloatArray
    counts: FloatArray
    full: FloatArray
    drafted: FloatArray
    examined: FloatArray
    cut: FloatArray | None = None  # [d] rounds with only d < κ drafts


def _totals(process: Mixture, rates: FloatArray, kappa: int) -> _Totals:
    n, powers = _tokens(process), np.power(rates, np.arange(kappa + 1.0)[:, None])  # [j] = α^j
    if process.geometric:
        rounds = n / np.power((1.0 - 1.0 / n) * rates, np.arange(kappa + 1.0)[:, None]).sum(axis=0)
        return _uncut(rounds, rates, powers)
    starts = round_starts(rates, kappa, max(n - 1 - kappa, 0), n)[::-1]
    here = np.zeros((kappa + 1, rates.size))  # [j] = u at N − 1 − j
    here[: len(starts)] = starts
    so_far = np.empty((kappa + 2, rates.size))  # [j] = U(N − j)
    so_far[-1] = _rounds_before(rates, kappa, max(n - 1 - kappa, 0))
    so_far[:-1] = so_far[-1] + here[::-1].cumsum(axis=0)[::-1]
    if not process.truncate:
        return _uncut(so_far[0], rates, powers)
    counts = powers * so_far[:-1]
    counts[:-1] = powers[:-1] * ((1.0 - rates) * so_far[1:-1] + here[:-1])  # rejected, or all of a cut draft
    return _Totals(
        rounds=so_far[0],
        counts=counts,
        full=counts[-1] + (powers[:-1] * here[:-1]).sum(axis=0),
        drafted=so_far[1:-1].sum(axis=0),
        examined=(powers[:-1] * so_far[1:-1]).sum(axis=0),
        cut=here[:-1],
    )


def _uncut(rounds: FloatArray, rates: FloatArray, powers: FloatArray) -> _Totals:
    """Every round drafts all κ, so its law does not depend on where it starts."""
    return _Totals(
        rounds=rounds,
        counts=rounds * _pmf(rates, powers),
        full=rounds * powers[-1],
        drafted=rounds * (len(powers) - 1.0),
        examined=rounds * powers[:-1].sum(axis=0),
    )


def _pmf(rates: FloatArray, powers: FloatArray) -> FloatArray:
    pmf = powers * (1.0 - rates)
    pmf[-1] = powers[-1]
    return pmf


def round_starts(rates: FloatArray, kappa: int, first: int, stop: int) -> FloatArray:
    """u_i, i = first … stop − 1: chance that a round starts at position i, shape (stop − first, rates).

    Examples
    --------
    >>> round_starts(np.array([0.5]), 1, 0, 4)[:, 0]
    array([1.   , 0.5  , 0.75 , 0.625])
    """
    length = kappa + 1
    i = np.arange(first, stop)
    blocks = np.arange(-(-first // length), -(-stop // length) + 1)[:, None]
    starts = (1.0 - rates) * _geometric(rates, kappa, blocks)  # the same for a whole block of positions
    starts = np.asarray(starts[-(-i // length) - blocks[0, 0]], dtype=np.float64)
    whole = i[i % length == 0]
    starts[whole - first] += np.power(rates, whole[:, None].astype(np.float64))
    return starts


def request_costs(process: Mixture, rates: FloatArray, kappa: int, cost: Cost) -> FloatArray:
    """Expected cost of one request by its rate.

    Examples
    --------
    >>> from simspec.model.mixture import DiscreteMixture
    >>> mix = DiscreteMixture(alphas=[1.0, 0.0], weights=[0.5, 0.5], weights_of="requests", request_tokens=4)
    >>> request_costs(mix, np.array([1.0, 0.0]), 1, Cost(c_d=0.5))  # two full rounds; four, the last without a draft
    array([3. , 5.5])
    """
    total = _totals(process, rates, kappa)
    spent = cost.base(kappa) * total.rounds + cost.c_r * (total.rounds - total.full)
    if total.cut is not None:
        saved = np.array([cost.base(kappa) - cost.base(drafts) for drafts in range(len(total.cut))])
        spent = spent - saved @ total.cut
    return np.asarray(spent, dtype=np.float64)


def _rounds_before(rates: FloatArray, kappa: int, n: int) -> FloatArray:
    """U(n), expected rounds that start before position n, without a sum over positions."""
    if n == 0:
        return np.zeros(rates.size)
    blocks, rest = divmod(n - 1, kappa + 1)
    ramp = lagged_sum(np.power(rates, kappa + 1.0)[:, None, None], blocks + 1)[:, 0, 0]
    after_reject = (kappa + 1) * ramp + rest * _geometric(rates, kappa, np.array(blocks + 1))
    return np.asarray((1.0 - rates) * after_reject + _geometric(rates, kappa, np.array(-(-n // (kappa + 1)))))


def _geometric(rates: FloatArray, kappa: int, terms: IntArray) -> FloatArray:
    """1 + β + … + β^(terms − 1) with β = α^(κ+1), without a small difference near α = 1."""
    inside = (rates > 0.0) & (rates < 1.0)
    log_beta = (kappa + 1) * np.log(np.where(inside, rates, 0.5))
    sums = np.expm1(terms * log_beta) / np.expm1(log_beta)
    return np.where(inside, sums, np.where(rates > 0.0, terms, np.minimum(terms, 1)))


def _pairs(process: Mixture, rate: float, kappa: int) -> FloatArray:
    """Expected number of ordered pairs of rounds, the first with A = j and the second with A = k, given the rate.

    After A = j at position i the request goes on as a shorter one, of N − 1 − j − i tokens.
    """
    n, powers = _tokens(process), np.power(rate, np.arange(2 * kappa + 1.0))
    pmf = _pmf(np.array(rate), powers[: kappa + 1])
    if process.geometric:
        rounds = n / float(np.power((1.0 - 1.0 / n) * rate, np.arange(kappa + 1.0)).sum())
        goes_on = np.power(1.0 - 1.0 / n, np.arange(1.0, kappa + 2))
        return np.asarray(rounds**2 * np.outer(pmf * goes_on, pmf), dtype=np.float64)
    u = round_starts(np.array([rate]), kappa, 0, n)[:, 0]
    before = np.concatenate(([0.0], np.cumsum(u)))
    later = _at(u, before, n - 1 - np.arange(2 * kappa + 1))  # Σ_i u_i U(n − 1 − s − i)
    if not process.truncate:
        return np.asarray(np.outer(pmf * later[: kappa + 1], pmf), dtype=np.float64)
    end_here = (1.0 - rate) * before[:-1] + u  # a rejection after k < κ, or all of a cut draft of k
    ending = _at(u, end_here, n - 2 - np.arange(2 * kappa + 1))
    both = np.add.outer(np.arange(kappa + 1), np.arange(kappa + 1))
    pairs = powers[both] * ending[both]
    pairs[:, -1] = powers[kappa:] * later[kappa:]
    pairs[:-1] *= 1.0 - rate
    return np.asarray(pairs, dtype=np.float64)


def _at(u: FloatArray, other: FloatArray, lags: IntArray) -> FloatArray:
    """Σ_{i=0}^{lag} u_i other_{lag − i} for each lag; 0 at a negative one."""
    backwards = np.ascontiguousarray(other[::-1])
    last = other.size - 1
    return np.array([u[: lag + 1] @ backwards[last - lag :] if lag >= 0 else 0.0 for lag in lags.tolist()])
