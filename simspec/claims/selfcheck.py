"""Is the engine itself right?  Before any claim is judged, every kind of process is held against the exact route."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simspec import theory
from simspec.claims.judge import CHECK_SHARE
from simspec.claims.lab import Lab, Need
from simspec.kernels.tally import SUMS, Tally
from simspec.model import BetaMixture, DiscreteMixture, Drift, Hmm, Iid, Markov, Process, Simulation, Survival
from simspec.run.dispatch import run_jobs
from simspec.run.engine import Job
from simspec.run.judged import JudgedJob, play_tokens
from simspec.run.layout import layout
from simspec.stats.counts import Counts, round_sums
from simspec.stats.intervals import Floats, proportion, ratio, student

KAPPAS = (1, 4, 8)
WINDOWS = 2**18
RUNS, SHORT = 512, 2**10
"""Runs of fresh windows, and windows of each, whose totals must vary as those of independent windows do."""
LARGE_SIGMA = 7.0
"""Standard errors beyond which a variance of totals is called wrong; 1e-9 even for heavier tails than normal."""

PROCESSES: tuple[Process, ...] = (
    Iid(alpha=0.8),
    Survival(survival=(0.7617, 0.6158, 0.5125, 0.4243, 0.3640, 0.3094, 0.2722, 0.2365)),
    Markov(alpha=0.7, rho=0.3),
    Markov(alpha=0.7, rho=0.3, start="carry"),
    Markov(alpha=0.6, rho=-0.2, start="carry", steps_after_full=2),
    Drift(alpha_start=0.85, alpha_end=0.62, tokens=128),
    DiscreteMixture(alphas=(0.9, 0.6), weights=(0.6, 0.4), weights_of="requests", request_tokens=64),
    BetaMixture(alpha=0.7, rho=0.2, request_tokens=64),
    Hmm(P=((0.9, 0.1), (0.1, 0.9)), alphas=(0.98, 0.42), start="carry"),
)
JUDGED = (
    Iid(alpha=0.7),
    Markov(alpha=0.7, rho=0.3, start="carry"),
    Drift(alpha_start=0.85, alpha_end=0.62, tokens=128),
)


@dataclass(frozen=True)
class Disagreement:
    """A quantity whose exact value lies outside the interval of the simulation."""

    what: str
    exact: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.what}: simulated [{self.low:.6g}, {self.high:.6g}], exact {self.exact:.6g}"


def check_engine(lab: Lab) -> list[Disagreement]:
    """Means, probabilities, totals and spread of every kind of process, and the checking kernel; empty if all agree.

    A false alarm has probability below `CHECK_SHARE` over all of them.
    """
    lab.simulate((Need(process, KAPPAS) for process in PROCESSES), WINDOWS)
    level = 1.0 - CHECK_SHARE / (8 * len(KAPPAS) * (len(PROCESSES) + len(JUDGED)))
    found = [wrong for process in PROCESSES for wrong in _check(process, lab, level)]
    return found + [wrong for process in JUDGED for wrong in _check_tokens(process, lab.seed, level)]


def _check(process: Process, lab: Lab, level: float) -> Iterator[Disagreement]:
    counts = lab.counts(process)
    laws = [theory.window(process, kappa) for kappa in counts.kappas]
    n = counts.by_unit("n")
    t = student(level, counts.units)
    for name, column, truth in (
        ("E[A]", "accepted", [law.mean_accepted for law in laws]),
        ("E[tokens]", "tokens", [law.mean_tokens for law in laws]),
        ("E[drafted]", "drafted", [law.mean_drafted for law in laws]),
        ("E[A²]", "accepted_sq", [law.var_accepted + law.mean_accepted**2 for law in laws]),
    ):
        mean = ratio(counts.by_unit(column), n, counts.weight)
        half = t * mean.error + 1e-9 * np.abs(mean.value)
        yield from _outside(f"{name} of {process}", counts.kappas, truth, mean.value - half, mean.value + half)
    for name, hits, truth in (
        ("P(A = 0)", counts.by_unit("zero"), [law.p_zero_accepted for law in laws]),
        ("P(no rejection)", n - counts.by_unit("rejected"), [law.p_full for law in laws]),
    ):
        own = ratio(hits, n, counts.weight)
        low, high = proportion(own.value, own.error, counts.total("n"), counts.units, counts.fresh, level)
        yield from _outside(f"{name} of {process}", counts.kappas, truth, low, high)
    yield from _totals(process, lab.tallies(process))
    yield from _spread(process, counts, lab)


def _outside(
    what: str, kappas: tuple[int, ...], truth: list[float], low: Floats, high: Floats
) -> Iterator[Disagreement]:
    for i in np.flatnonzero((np.array(truth) < low - 1e-12) | (np.array(truth) > high + 1e-12)):
        yield Disagreement(f"{what} at κ = {kappas[i]}", truth[i], float(low[i]), float(high[i]))


def _totals(process: Process, tallies: Sequence[Tally]) -> Iterator[Disagreement]:
    """Every histogram must hold exactly the rounds that rows add up to, and fresh windows the same runs at every κ."""
    for tally in tallies:
        drafted, accepted = np.nonzero(tally.histogram)
        rounds = tally.histogram[drafted, accepted]
        counted = rounds @ round_sums(drafted, accepted)
        for name, total, added in zip(SUMS, counted, tally.sums.sum(axis=0), strict=True):
            if total != added and name != "tokens":  # those beyond the end of a generation are counted, not emitted
                yield _unequal(f"total {name} of {process} at κ = {tally.kappa}", total, added)
    if process.unit == "window":
        runs = tallies[-1].accepted_counts()
        for tally in tallies:
            longer = int(runs[tally.kappa :].sum())
            if tally.accepted_counts()[-1] != longer:
                yield _unequal(f"full windows of {process} at κ = {tally.kappa}", longer, tally.accepted_counts()[-1])


def _unequal(what: str, exact: float, seen: float) -> Disagreement:
    return Disagreement(what, float(exact), float(seen), float(seen))


def _spread(process: Process, counts: Counts, lab: Lab) -> Iterator[Disagreement]:
    """Variance of Σ A between lanes, or between runs of fresh windows, against the exact one.

    Lanes or windows that share words, or a wrong dependence, show here.
    """
    plan = layout(process, WINDOWS, KAPPAS)
    if plan.generations > 1:
        return
    totals, rounds = _run_totals(process, lab) if counts.fresh else (counts.by_unit("accepted"), plan.rounds or 1)
    for kappa, own in zip(counts.kappas, totals, strict=True):
        _, covariance = theory.unit_counts(process, kappa, rounds)
        j = np.arange(kappa + 1)
        exact = float(j @ covariance @ j)
        pairs = own[: len(own) // 2 * 2].reshape(-1, 2).sum(axis=1)  # lanes 2l and 2l + 1 may read halves of one word
        for name, value, units in (
            ("totals", float(own.var(ddof=1)), len(own)),
            ("pairs of totals", float(pairs.var(ddof=1)) / 2, len(pairs)),
        ):
            half = LARGE_SIGMA * exact * np.sqrt(_kurtosis(own) / units)
            if abs(value - exact) > half + 1e-9:
                yield Disagreement(f"variance of {name} of {process} at κ = {kappa}", exact, value - half, value + half)


def _run_totals(process: Process, lab: Lab) -> tuple[Floats, int]:
    """Σ A of short runs with a seed each, (κ, runs), and their number of windows."""
    jobs = [Job(Simulation(process), KAPPAS, SHORT, (lab.seed + 1 + i) % 2**64) for i in range(RUNS)]
    played = [tallies for _, tallies in run_jobs(jobs, lab.threads)]
    totals = [[tally.total("accepted") for tally in tallies] for tallies in played]
    return np.array(totals, np.float64).T, played[0][0].total("n")


def _kurtosis(x: Floats) -> float:
    """Fourth moment over squared variance, less 1: what the variance of a variance is made of; at least 2."""
    centred = x - x.mean()
    second = float((centred**2).mean())
    return max(2.0, float((centred**4).mean()) / second**2 - 1.0) if second > 0.0 else 2.0


def _check_tokens(process: Process, seed: int, level: float) -> Iterator[Disagreement]:
    """P(A = j) by the token-by-token kernel, whose words are its own."""
    kappa = 4
    job = JudgedJob(process, kappa, WINDOWS, seed)
    accepted, _ = play_tokens(job, range(job.layout.chunks))
    by_lane: NDArray[np.int64] = accepted.sum(axis=1)
    rounds = by_lane.sum(axis=1)
    own = ratio(by_lane.T, np.tile(rounds, (kappa + 1, 1)))
    trials = np.full(kappa + 1, rounds.sum())
    low, high = proportion(own.value, own.error, trials, len(rounds), process.unit == "window", level)
    truth = [float(p) for p in theory.window(process, kappa).pmf_accepted]
    yield from _outside(f"P(A = j) of {process} token by token, j", tuple(range(kappa + 1)), truth, low, high)
