"""What is played over and over?  Processes, budgets as they are cut into units, prices."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from simspec import theory
from simspec.model import BetaMixture, Cost, DiscreteMixture, Drift, Hmm, Iid, Markov, Process, Simulation
from simspec.run.engine import Job
from simspec.run.layout import Layout

KAPPAS, KAPPA = (2, 4), 4
"""κ that are played, and the one whose figures are told."""
USUAL = Cost(c_d=0.1, c_v=0.02, c_r=0.3)

PROCESSES: dict[str, Process] = {
    "independent": Iid(alpha=0.7),
    "independent, α = .99": Iid(alpha=0.99),
    "Markov, carried": Markov(alpha=0.7, rho=0.3, start="carry"),
    "hidden Markov": Hmm(P=((0.9, 0.1), (0.2, 0.8)), alphas=(0.95, 0.4), start="carry"),
    "drift": Drift(alpha_start=0.85, alpha_end=0.62, tokens=64),
    "Beta by request": BetaMixture(alpha=0.7, rho=0.2, request_tokens=64),
}

RARE: dict[str, Process] = {
    "a bad request in a hundred": DiscreteMixture(
        alphas=(0.9, 0.1), weights=(0.99, 0.01), weights_of="requests", request_tokens=64
    ),
    "bad spells, 2% of the text": Hmm(P=((0.999, 0.001), (0.05, 0.95)), alphas=(0.95, 0.1), start="carry"),
}
"""Where few units decide: intervals need more of them than there are at least."""


@dataclass(frozen=True)
class ShortJob(Job):
    """A run whose units are shorter than usual, so that it is looked at often while little is known."""

    lanes: int = 0

    @functools.cached_property
    def whole(self) -> Layout:
        """So many lanes of one request, or of the rounds that this leaves."""
        if self.process.unit == "generation":
            return Layout(self.lanes, 0, generations=1)
        return Layout(self.lanes, self.windows // self.lanes)


@dataclass(frozen=True)
class Setting:
    """A run that is repeated with other seeds.

    Attributes
    ----------
    process : str
        One of `PROCESSES`, or of `RARE`.
    windows : int
        The budget; of a run that stops, the most.
    stopped : bool
        Whether it is looked at after 2, 4, 8, … chunks.
    lanes : int
        Units, where these are shorter than usual; 0: the budget is cut as ever.
    """

    process: str
    windows: int
    stopped: bool = False
    lanes: int = 0

    @property
    def own(self) -> Process:
        """The process itself."""
        return (PROCESSES | RARE)[self.process]

    def job(self, seed: int) -> Job:
        """The run with one seed."""
        own = Simulation(self.own), KAPPAS, self.windows, seed
        return ShortJob(*own, lanes=self.lanes) if self.lanes else Job(*own, grows=self.stopped)


LEAST, MIDDLE, LARGE, SEVERAL = 2**11, 2**15, 2**20, 2**21
SHORT = 2**13, True, 2**9
"""Windows and lanes of runs that stop while little is known: 512 lanes of 16 rounds or one request."""
CHEAP = ("independent", "independent, α = .99", "Markov, carried")
"""Played at larger budgets too."""
SETTINGS: tuple[Setting, ...] = (
    *(Setting(name, LEAST) for name in PROCESSES),
    *(Setting(name, MIDDLE) for name in PROCESSES),
    *(Setting(name, LARGE) for name in CHEAP),
    *(Setting(name, *SHORT) for name in PROCESSES),
    *(Setting(name, SEVERAL, stopped=True) for name in CHEAP),
)
"""First where the law of a unit is least like a bell: no more units than the fewest there are (128), of 16 rounds or of
one request or few.  Then longer ones, and budgets as one would give."""
LIMITS = tuple(Setting(name, windows) for name in RARE for windows in (2**11, 2**13, 2**15, 2**17))


def tied(process: Process) -> Cost:
    """Prices at which both κ are exactly as fast: then nothing may be said of either.

    Examples
    --------
    >>> own = PROCESSES["independent"]
    >>> [round(float(theory.speedup(own, kappa, tied(own))), 9) for kappa in KAPPAS]
    [1.490589316, 1.490589316]
    """
    short, long = (theory.window(process, kappa) for kappa in KAPPAS)
    spent = [USUAL.c0 + USUAL.c_r * (1.0 - law.p_full) for law in (short, long)]
    drafts = short.mean_tokens * long.mean_drafted - long.mean_tokens * short.mean_drafted
    each = (long.mean_tokens * spent[0] - short.mean_tokens * spent[1]) / drafts
    return Cost(c_d=each, c_r=USUAL.c_r)
