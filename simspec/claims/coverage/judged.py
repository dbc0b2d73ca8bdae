"""How often does the judge say something false of true claims, and how often does he see what is false?"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from simspec.claims import quantity as q
from simspec.claims.claim import Claim, Says
from simspec.claims.judge import judge
from simspec.claims.lab import Lab, Need
from simspec.kernels.tally import Folded
from simspec.model import BetaMixture, Cost, Iid, Process, Simulation, Survival
from simspec.run.engine import Job, play
from simspec.run.progress import Progress
from simspec.stats.counts import Counts, Ints

LEVEL = 0.05
"""What all verdicts of a run together may be wrong with; the product's own is a millionth."""
STAGES = tuple(2**power for power in (12, 14, 16, 18, 20))
OFF = 0.01
"""How far planted false claims are from the truth, relatively."""
CURVE = Survival(survival=(0.7617, 0.6158, 0.5125, 0.4243))
NAMED: dict[str, q.Quantity] = {
    "S, independent drafts, α = .7, κ = 4": q.Speedup(Iid(alpha=0.7), 4, Cost(c_d=0.1)),
    "S, a survival curve, κ = 4, c_r = .5": q.Speedup(CURVE, 4, Cost(c_d=0.1, c_r=0.5)),
    "P(A = 0), independent drafts, α = .8, κ = 4": q.NoneAccepted(Iid(alpha=0.8), 4),
    "P(A = 0), rates by a Beta law, κ = 3": q.NoneAccepted(BetaMixture(alpha=0.6, rho=0.2), 3),
}
FURTHER = 2**32
"""Times the budget: how far apart the seeds of one judge's budgets are."""
FALSE = ("refuted", "engine-disagreement")


class Drawn(Lab):
    """Counts of independent windows in multinomial draws, which take microseconds.

    A larger budget contains the smaller one, as where windows are played: what it adds is drawn from another seed.  One
    draw for each budget, from the same words, would be off in the same direction at all of them.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed, 1)
        self._runs: dict[str, Ints] = {}

    def simulate(self, needs: Iterable[Need], windows: int) -> None:
        """Draw what is lacking up to a budget."""
        kappas = defaultdict[Process, set[int]](set)
        for need in needs:
            kappas[need.process].update(need.kappas)
        for process, asked in kappas.items():
            simulation, own = Simulation(process), tuple(sorted(asked))
            before = self._runs.get(simulation.id, np.zeros((1, own[-1] + 1), np.int64))
            job = Job(simulation, own, windows - int(before.sum()), self.seed + windows * FURTHER, method="multinomial")
            tallies = play(job, range(1))
            assert isinstance(tallies, Folded)  # as every draw is
            self._runs[simulation.id] = before + tallies.runs
            self._counts[simulation.id] = Counts.of(Folded(self._runs[simulation.id], own), fresh=True)


def _claims(says: Callable[[float], Says]) -> list[Claim]:
    return [Claim(name, "0", "planted", "", says(own.exact()), own, "") for name, own in NAMED.items()]


def true_claims() -> list[Claim]:
    """ "At least so much", of the truth itself: nothing that is true is harder to leave unrefuted."""
    return _claims(lambda exact: Says(exact, math.inf))


def false_claims() -> list[Claim]:
    """The same of a hundredth more."""
    return _claims(lambda exact: Says(exact * (1.0 + OFF), math.inf))


class Judged(NamedTuple):
    """Seeds in which a judge at `LEVEL` was wrong about true claims, and false claims he refuted, by stage.

    Attributes
    ----------
    seeds : int
    wrong : dict
        Seeds with the first false verdict at each stage.
    tried : int
        Seeds with false claims.
    refuted : dict
        Name of the quantity → seeds in which the false claim was refuted at each stage.
    """

    seeds: int
    wrong: dict[int, int]
    tried: int
    refuted: dict[str, dict[int, int]]


def judged(seeds: Sequence[int], progress: Progress | None = None) -> Judged:
    """Judge what is true once per seed, and what is false in a tenth of them, which shows it well enough."""
    few = seeds[: len(seeds) // 10]
    return Judged(len(seeds), wrong(seeds, progress=progress), len(few), refuted(few, progress=progress))


def wrong(seeds: Sequence[int], level: float = LEVEL, progress: Progress | None = None) -> dict[int, int]:
    """Seeds with the first false verdict on a true claim at each stage.

    Examples
    --------
    >>> sum(wrong(range(20), level=1e-6).values())
    0
    """
    fair, found = true_claims(), dict.fromkeys(STAGES, 0)
    for seed in _told(seeds, "true claims", progress):
        false = [own.observed.windows for own in judge(fair, Drawn(seed), STAGES, level) if own.verdict in FALSE]
        if false:
            found[min(false)] += 1
    return found


def refuted(seeds: Sequence[int], level: float = LEVEL, progress: Progress | None = None) -> dict[str, dict[int, int]]:
    """Seeds in which each false claim is refuted at each stage.

    Examples
    --------
    >>> sum(refuted(range(20), level=1e-6)["S, independent drafts, α = .7, κ = 4"].values())
    20
    """
    planted = false_claims()
    found = {claim.id: dict.fromkeys(STAGES, 0) for claim in planted}
    for seed in _told(seeds, "false claims", progress):
        for own in judge(planted, Drawn(seed), STAGES, level):
            if own.verdict == "refuted":
                found[own.claim.id][own.observed.windows] += 1
    return found


def _told(seeds: Sequence[int], what: str, progress: Progress | None) -> Iterator[int]:
    for done, seed in enumerate(seeds):
        if progress is not None and not done % 500:
            progress.say(f"judge, {what}: {done:,} of {len(seeds):,} seeds")
        yield seed
