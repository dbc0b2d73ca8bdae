"""What does one whole generation of N tokens cost when the acceptance rate drifts along it?

Rounds start at positions i = 0 … N − 1, each at most once, and always move forward.  A forward pass counts how often
a round starts at each position; a backward pass adds up what is still to come.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simspec.model.cost import Cost
from simspec.model.drift import Drift
from simspec.model.errors import ParameterError
from simspec.model.process import Process
from simspec.theory.law import FloatArray, Sweep, WindowLaw, moments
from simspec.theory.ranges import check_kappa

_BLOCK_CELLS = 1 << 20
"""Cells of the survival table held at a time: N = 10⁶ with a long draft would not fit in memory at once."""


@dataclass(frozen=True, eq=False)
class GenerationLaw:
    """Expectations over one generation of N tokens at one draft length.

    Attributes
    ----------
    kappa, n_tokens : int
        Draft length asked for, and N.
    expected_counts : array, shape (kappa + 1,)
        Expected number of rounds with A = j.
    mean_rounds, var_rounds : float
        Rounds until N tokens are out.
    mean_cost, var_cost : float
        Cost of the generation, in plain target steps.
    mean_drafted, mean_examined_total, mean_accepted_total, mean_rejections : float
        Drafts made, drafts with a verdict, drafts accepted (before surplus tokens are discarded), rounds with a
        rejection.
    speedup : float
        N / E[cost].

    References
    ----------
    docs/theory.md section 7.
    """

    kappa: int
    n_tokens: int
    expected_counts: FloatArray
    mean_rounds: float
    var_rounds: float
    mean_cost: float
    var_cost: float
    mean_drafted: float
    mean_accepted_total: float
    mean_examined_total: float
    mean_rejections: float
    speedup: float


def generation(process: Process, kappa: int, cost: Cost) -> GenerationLaw:
    """Exact expectations and variances of one generation with a fixed draft length.

    Parameters
    ----------
    process : Drift
        The rates α_i and the length N.
    kappa : int
        Draft length, 0 ≤ kappa ≤ 1000.
    cost : Cost
        The prices of a round.

    Returns
    -------
    GenerationLaw

    Raises
    ------
    ParameterError
        If ``process`` has no generations or ``kappa`` is out of range.

    References
    ----------
    docs/theory.md section 7 and claim C44; N/E[cost] is not E[N/cost], the first is reported.

    Examples
    --------
    >>> drift = Drift(shape="linear", alpha_start=0.85, alpha_end=0.62, tokens=1024)
    >>> round(generation(drift, 4, Cost(c_d=0.1)).speedup, 5)
    2.10288
    """
    if not isinstance(process, Drift):
        raise ParameterError("process", f"{process} has no generations of fixed length; allowed: type = drift")
    check_kappa(process, kappa)
    rows = GenerationRows(process, kappa)
    visits = rows.visits()
    total = rows.totals(visits)
    drafts = rows.longest()
    base = np.array([cost.base(d) for d in range(kappa + 1)])[drafts]
    mean_cost = float(visits[: rows.n] @ base) + total.rejections * cost.c_r
    # one column per quantity that adds up over rounds: the count of rounds, and their cost without and with rejection
    sure = np.stack([np.ones(rows.n), base], axis=1)
    var_rounds, var_cost = rows.variance(visits, sure, np.array([0.0, cost.c_r]))
    return GenerationLaw(
        kappa=kappa,
        n_tokens=rows.n,
        expected_counts=total.counts,
        mean_rounds=total.rounds,
        var_rounds=var_rounds,
        mean_cost=mean_cost,
        var_cost=var_cost,
        mean_drafted=total.drafted,
        mean_accepted_total=float(total.counts @ np.arange(kappa + 1)),
        mean_examined_total=total.examined,
        mean_rejections=total.rejections,
        speedup=rows.n / mean_cost,
    )


def generation_window(process: Drift, kappa: int) -> WindowLaw:
    """Law of the rounds of many generations: expected totals over the expected number of rounds.

    Examples
    --------
    >>> generation_window(Drift(shape="table", alphas=[0.5, 0.5]), 3).pmf_accepted
    array([0.66666667, 0.33333333, 0.        , 0.        ])
    """
    rows = GenerationRows(process, kappa)
    visits = rows.visits()
    total = rows.totals(visits)
    pmf = total.counts / total.rounds
    mean, var = moments(pmf)
    return WindowLaw(
        kappa=kappa,
        pmf_accepted=pmf,
        mean_accepted=mean,
        var_accepted=var,
        mean_tokens=rows.n / total.rounds,
        p_zero_accepted=float(pmf[0]),
        p_full=1.0 - total.rejections / total.rounds,
        mean_examined=total.examined / total.rounds,
        mean_drafted=total.drafted / total.rounds,
        p_cut=rows.cut(visits) / total.rounds if process.truncate else None,
    )


def generation_sweep(process: Drift, kappa_max: int) -> Sweep:
    """Means per round at every κ = 0 … kappa_max, one forward pass for all of them.

    Examples
    --------
    >>> generation_sweep(Drift(shape="table", alphas=[0.5, 0.5]), 1).mean_tokens
    array([1.        , 1.33333333])
    """
    rows = GenerationRows(process, kappa_max)
    kappas = np.arange(kappa_max + 1)
    rejecting = kappas[:, None] < kappas  # [a, κ]: a round of κ drafts that accepts a has rejected one
    ahead = np.zeros((kappa_max + 2, kappa_max + 1))  # [d, κ]: chance that a round starts d positions on
    ahead[0] = 1.0
    on_full = ahead[:-1].reshape(-1)[:: kappa_max + 2]  # the view a = κ
    rounds, full, drafted = np.zeros(kappa_max + 1), np.zeros(kappa_max + 1), np.zeros(kappa_max + 1)
    for first, survival in rows.blocks():
        visits = np.empty((len(survival), kappa_max + 1))
        for starts, reach in zip(visits, survival, strict=True):
            starts[:] = ahead[0]
            ahead[:-1] = ahead[1:]
            ahead[:-1] += np.outer(reach[:-1] - reach[1:], starts) * rejecting
            on_full += reach[:-1] * starts
        cut = np.minimum(rows.left[first : first + len(survival), None], kappas)
        rounds += visits.sum(axis=0)
        full += (visits * np.take_along_axis(survival, cut, axis=1)).sum(axis=0)
        drafted += (visits * cut).sum(axis=0)
    return Sweep(mean_tokens=rows.n / rounds, mean_drafted=drafted / rounds, p_full=full / rounds)


def generation_counts(process: Drift, kappa: int) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of the counts of A in one generation.

    The counts are a sum over visited positions of what each round adds to what was expected, so the covariance is
    Σ_i P(a round starts at i)·Cov(e_A + expected counts from i + A + 1 on).

    Examples
    --------
    >>> mean, covariance = generation_counts(Drift(shape="table", alphas=[0.5, 0.5]), 1)
    >>> mean, covariance[0]
    (array([1. , 0.5]), array([ 1. , -0.5]))
    """
    rows = GenerationRows(process, kappa)
    visits = rows.visits()
    ahead = np.zeros((kappa + 1, kappa + 1))  # row a: expected counts from position i + 1 + a on
    covariance = np.zeros((kappa + 1, kappa + 1))
    mine = np.eye(kappa + 1)
    for first, pmf in rows.pmf_blocks(backward=True):
        for i in range(first + len(pmf) - 1, first - 1, -1):
            row = pmf[i - first]
            outcome = mine + ahead
            mean = row @ outcome
            outcome -= mean
            covariance += visits[i] * (outcome.T @ (row[:, None] * outcome))
            ahead[1:] = ahead[:-1]
            ahead[0] = mean
    return ahead[0].copy(), covariance


@dataclass(frozen=True, eq=False)
class _Totals:
    """Expected totals over one generation."""

    rounds: float
    counts: FloatArray
    rejections: float
    drafted: float
    examined: float


class GenerationRows:
    """The rounds of a generation, one row of probabilities per start position."""

    def __init__(self, process: Drift, kappa: int) -> None:
        self.rates = np.array(process.rates())
        self.n, self.kappa, self.truncate = self.rates.size, kappa, process.truncate
        self.left = np.arange(self.n - 1, -1, -1) if self.truncate else np.full(self.n, kappa)

    def longest(self) -> npt.NDArray[np.int64]:
        """κ_i by position: κ, or what is still needed besides the token a round emits by itself."""
        return np.asarray(np.minimum(self.left, self.kappa), dtype=np.int64)

    def blocks(self, backward: bool = False) -> Iterator[tuple[int, FloatArray]]:
        """(first position, survival rows): S[i, j] = P(first j drafts of a round at i accepted), j = 0 … κ + 1.

        S is 0 beyond κ_i, so that neighbouring differences are P(A = j) whether or not the draft was cut.
        """
        height = max(1, _BLOCK_CELLS // (self.kappa + 2))
        starts = range(0, self.n, height)
        for first in reversed(starts) if backward else starts:
            token = np.arange(first, min(first + height, self.n))[:, None] + np.arange(self.kappa)
            alive = self.rates[np.minimum(token, self.n - 1)]
            if self.truncate:
                alive[token >= self.n - 1] = 0.0  # the last token is the round's own
            survival = np.zeros((len(token), self.kappa + 2))
            survival[:, 0] = 1.0
            np.cumprod(alive, axis=1, out=survival[:, 1:-1])
            yield first, survival

    def pmf_blocks(self, backward: bool = False) -> Iterator[tuple[int, FloatArray]]:
        for first, survival in self.blocks(backward):
            yield first, survival[:, :-1] - survival[:, 1:]

    def cut(self, visits: FloatArray) -> FloatArray:
        """Expected number of rounds with only d < κ drafts, by d: those that start with d + 1 tokens to go."""
        out = np.zeros(self.kappa)
        last = visits[: self.n][::-1][: self.kappa]
        out[: last.size] = last
        return out

    def visits(self) -> FloatArray:
        """P(a round starts at position i); entries from N on collect the ends."""
        reach = self.kappa + 1
        visits = np.zeros(self.n + reach)
        visits[0] = 1.0
        for first, pmf in self.pmf_blocks():
            for i, row in enumerate(pmf, start=first):
                visits[i + 1 : i + 1 + reach] += visits[i] * row
        return visits

    def totals(self, visits: FloatArray) -> _Totals:
        counts, full, examined = np.zeros(self.kappa + 1), 0.0, 0.0
        longest = self.longest()
        for first, survival in self.blocks():
            here, cut = visits[first : first + len(survival)], longest[first : first + len(survival)]
            counts += here @ (survival[:, :-1] - survival[:, 1:])
            full += float(here @ survival[np.arange(len(cut)), cut])
            was_drafted = np.arange(1, self.kappa + 1) <= cut[:, None]
            examined += float(here @ (survival[:, : self.kappa] * was_drafted).sum(axis=1))
        rounds = float(visits[: self.n].sum())
        return _Totals(rounds, counts, rounds - full, float(visits[: self.n] @ longest), examined)

    def variance(self, visits: FloatArray, sure: FloatArray, on_reject: FloatArray) -> tuple[float, float]:
        """Variances of two sums over rounds: sure[i] per round at i, plus on_reject when it rejects.

        By the law of total variance, centred in every round: nothing of the size of N² is ever subtracted.
        """
        ahead = np.zeros((self.n + self.kappa + 1, 2))
        variance = np.zeros(2)
        longest = self.longest()
        accepted = np.arange(self.kappa + 1)
        for first, pmf in self.pmf_blocks(backward=True):
            for i in range(first + len(pmf) - 1, first - 1, -1):
                row = pmf[i - first]
                outcome = ahead[i + 1 : i + self.kappa + 2] + np.outer(accepted < longest[i], on_reject)
                mean = row @ outcome
                ahead[i] = mean + sure[i]
                variance += visits[i] * (row @ (outcome - mean) ** 2)
        return float(variance[0]), float(variance[1])
