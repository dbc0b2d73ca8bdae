"""Is the engine itself right?  Before any claim is judged, every kind of process is held against the exact route."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simspec import theory
from simspec.claims.judge import FALSE_VERDICT
from simspec.claims.lab import Lab, Need
from simspec.model import Drift, Iid, Markov, Process, Survival
from simspec.stats.intervals import proportion, ratio, student

KAPPAS = (1, 4, 8)
WINDOWS = 2**18
PROCESSES: tuple[Process, ...] = (
    Iid(alpha=0.8),
    Survival(survival=(0.7617, 0.6158, 0.5125, 0.4243, 0.3640, 0.3094, 0.2722, 0.2365)),
    Markov(alpha=0.7, rho=0.3),
    Markov(alpha=0.7, rho=0.3, start="carry"),
    Markov(alpha=0.6, rho=-0.2, start="carry", steps_after_full=2),
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
    """Mean accepted length, P(A = 0) and P(full) of every kind of process; empty if all agree.

    A false alarm has probability below `FALSE_VERDICT` over all of them.
    """
    lab.simulate((Need(process, KAPPAS) for process in PROCESSES), WINDOWS)
    level = 1.0 - FALSE_VERDICT / (3 * len(KAPPAS) * len(PROCESSES))
    return [found for process in PROCESSES for found in _check(process, lab, level)]


def _check(process: Process, lab: Lab, level: float) -> Sequence[Disagreement]:
    counts = lab.counts(process)
    n, trials = counts.by_unit("n"), counts.total("n")
    laws = [theory.window(process, kappa) for kappa in counts.kappas]
    mean = ratio(counts.by_unit("accepted"), n)
    half = student(level, counts.units) * mean.error
    ranges = {"E[A]": (mean.value - half, mean.value + half, [law.mean_accepted for law in laws])}
    for name, hits, truth in (
        ("P(A = 0)", counts.by_unit("zero"), [law.p_zero_accepted for law in laws]),
        ("P(no rejection)", n - counts.by_unit("rejected"), [law.p_full for law in laws]),
    ):
        share = ratio(hits, n)
        low, high = proportion(share.value, share.error, trials, counts.units, counts.fresh, level)
        ranges[name] = (low, high, truth)
    out = []
    for name, (low, high, truth) in ranges.items():
        for i in np.flatnonzero((np.array(truth) < low - 1e-12) | (np.array(truth) > high + 1e-12)):
            out.append(Disagreement(f"{name} of {process} at κ = {counts.kappas[i]}", truth[i], low[i], high[i]))
    return out
