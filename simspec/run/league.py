"""Which controller is best where, and by how much does it beat the best fixed κ?

The best fixed κ is known exactly and takes no part in the noise; a controller's interval is that of its own lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simspec import theory
from simspec.kernels.tally import Tally
from simspec.model import Cost, DiscreteMixture, Drift, Iid, Markov, ParameterError, Process, Simulation, Survival
from simspec.model.policies import (
    Exp3,
    Gate,
    Goodput,
    Heuristic,
    Policy,
    Rolling,
    Schedule,
    Steps,
    Thompson,
    Ucb,
)
from simspec.run.engine import Job, run_jobs
from simspec.stats.counts import Counts
from simspec.stats.intervals import student
from simspec.stats.point import speedups
from simspec.text import table

LONGEST = 8
"""Longest draft of every controller, and of the fixed κ that they are held against."""
DEFAULT_WINDOWS = 1_000_000
TOKENS = 1024
_BOUNDS: dict[str, Any] = {"first": 4, "lowest": 1, "highest": LONGEST}


def surroundings() -> dict[str, Process]:
    """Where controllers are tried, by name."""
    return {
        "α .6": Iid(alpha=0.6),
        "α .7": Iid(alpha=0.7),
        "α .85": Iid(alpha=0.85),
        "runs": Markov(alpha=0.7, rho=0.3, start="carry"),
        "rising": Survival(survival=_MTP_8),
        "falls": Drift(alpha_start=0.85, alpha_end=0.62, tokens=TOKENS),
        "grows": Drift(alpha_start=0.62, alpha_end=0.85, tokens=TOKENS),
        "regimes": Drift(shape="table", alphas=_square(0.9, 0.45, 256)),
        "quick": Drift(shape="table", alphas=_square(0.9, 0.45, 16)),
        "mix": DiscreteMixture(
            alphas=(0.91, 0.49), weights=(0.5, 0.5), weights_of="requests", request_tokens=TOKENS // 4
        ),
    }


_MTP_8 = (0.7617, 0.6158, 0.5125, 0.4243, 0.3640, 0.3094, 0.2722, 0.2365)
"""Survival by draft position of a multi-token predictor, as printed in vLLM pull request 48892."""
MEANINGS = {
    "α .6": "independent drafts",
    "α .7": "independent drafts",
    "α .85": "independent drafts",
    "runs": "a carried Markov chain, α = .7, ρ = .3",
    "rising": "survival of eight draft positions of a multi-token predictor (vLLM pull request 48892)",
    "falls": f"α falls from .85 to .62 over {TOKENS:,} tokens",
    "grows": f"α grows from .62 to .85 over {TOKENS:,} tokens",
    "regimes": "α is .9 and .45 by turns, 256 tokens each",
    "quick": "the same by turns of 16 tokens",
    "mix": f"half of the requests of {TOKENS // 4} tokens have α = .91 (code), the others .49 (prose)",
}


def _square(high: float, low: float, length: int) -> tuple[float, ...]:
    """Rates by turns, ``length`` tokens each."""
    return tuple(high if i // length % 2 == 0 else low for i in range(TOKENS))


def controllers(process: Process, cost: Cost) -> dict[str, Policy]:
    """Who takes part, by name; the last one knows the rates, where they are known by position."""
    own: dict[str, Policy] = {
        "κ = 4": Schedule(kappas=(4,)),
        "+2/−1": Heuristic(**_BOUNDS),
        "+2/−1 kept": Heuristic(**_BOUNDS, keeps=True),
        "article's loop": Rolling(**_BOUNDS, rule="article", guard=0.25),
        "article, no guard": Rolling(**_BOUNDS, rule="article"),
        "guard alone": Rolling(**_BOUNDS, guard=0.25),
        "rolling .85": Rolling(**_BOUNDS),
        "rolling .95": Rolling(**_BOUNDS, smoothing=0.95),
        "rolling .99 kept": Rolling(**_BOUNDS, smoothing=0.99, keeps=True),
        "SGLang steps": Steps(keeps=True),
        "goodput 50": Goodput(**_BOUNDS, keep=0.98, keeps=True),
        "goodput 500": Goodput(**_BOUNDS, keep=0.998, keeps=True),
        "UCB": Ucb(**_BOUNDS, keeps=True),
        "UCB 200": Ucb(**_BOUNDS, keep=0.995, keeps=True),
        "UCB last 500": Ucb(**_BOUNDS, window=500, keeps=True),
        "EXP3": Exp3(**_BOUNDS, keeps=True),
        "Thompson": Thompson(**_BOUNDS, keeps=True),
        "Thompson 50": Thompson(**_BOUNDS, keep=0.98, keeps=True),
        "gate .3": Gate(first=4, highest=LONGEST, keeps=True),
    }
    if isinstance(process, Drift):
        plan = theory.optimal_plan(process, cost.without_changes(), LONGEST).kappas
        own["knows α by position"] = Schedule(kappas=tuple(int(kappa) for kappa in plan))
    return {name: policy.told((cost,)) for name, policy in own.items()}


@dataclass(frozen=True)
class Place:
    """One controller in one of the surroundings.

    Attributes
    ----------
    surrounding, controller : str
    speedup, half : float
        S and half the width of its interval.
    best_fixed, kappa_star : float, int
        The exact S of the best fixed κ, and that κ.
    mean_drafted, flips_per_1000 : float
    """

    surrounding: str
    controller: str
    speedup: float
    half: float
    best_fixed: float
    kappa_star: int
    mean_drafted: float
    flips_per_1000: float

    @property
    def gain(self) -> float:
        """S over that of the best fixed κ, less 1."""
        return self.speedup / self.best_fixed - 1.0

    @property
    def gain_half(self) -> float:
        """Half the width of the interval of `gain`."""
        return self.half / self.best_fixed

    @property
    def verdict(self) -> str:
        """``"beats"``, ``"loses"`` or ``"cannot tell"``."""
        if abs(self.gain) <= self.gain_half:
            return "cannot tell"
        return "beats" if self.gain > 0.0 else "loses"


class League:
    """All places, surrounding by surrounding.

    Attributes
    ----------
    places : list of Place
    cost : Cost
    windows, seed : int
    level : float
    """

    def __init__(self, places: Sequence[Place], cost: Cost, windows: int, seed: int, level: float) -> None:
        self.places, self.cost, self.windows, self.seed, self.level = list(places), cost, windows, seed, level

    def records(self) -> list[dict[str, object]]:
        """One plain dictionary per place."""
        extra = ("gain", "gain_half", "verdict")
        return [vars(place) | {name: getattr(place, name) for name in extra} for place in self.places]

    def __repr__(self) -> str:
        where = list(dict.fromkeys(place.surrounding for place in self.places))
        who = list(dict.fromkeys(place.controller for place in self.places))
        cell = {(place.controller, place.surrounding): place for place in self.places}
        fixed = {place.surrounding: place for place in self.places}
        rows = [["best fixed κ: S", *(f"{fixed[x].kappa_star}: {fixed[x].best_fixed:.3f}" for x in where)]]
        rows += [[name, *(_shown(cell.get((name, x))) for x in where)] for name in who]
        widest = max(place.gain_half for place in self.places)
        told = [
            f"{self.cost}; κ from 1 to {LONGEST}; {self.windows:,} rounds each, seed {self.seed}",
            "",
            table(["gain over it in %", *where], rows),
            "",
            f"* beats the best fixed κ, which nobody knows beforehand; ~ cannot be told from it at {self.level:.0%}"
            f" (intervals are at most ±{100 * widest:.2f}).",
            *(f"{name}: {MEANINGS[name]}" for name in where if name in MEANINGS),
        ]
        return "\n".join(told)


def _shown(place: Place | None) -> str:
    if place is None:
        return "–"
    return f"{100 * place.gain:+.2f}" + {"beats": "*", "loses": " ", "cannot tell": "~"}[place.verdict]


def league(
    cost: Cost | None = None, windows: int = DEFAULT_WINDOWS, seed: int = 1, level: float = 0.95,
    threads: int | None = None,
) -> League:  # fmt: skip
    """Play every controller in all surroundings.

    Parameters
    ----------
    cost : Cost, optional
        Prices of the rounds, known to the controllers that read prices, and of changes of κ, of which they do not
        know; default c_d = .1.
    windows : int
        Rounds of each controller in each of the surroundings.
    seed : int
        All controllers of one surrounding meet the same random words.
    level : float
        Confidence level of the intervals.
    threads : int, optional
        Changes no number.

    Returns
    -------
    League

    Raises
    ------
    ParameterError
        An argument is out of range.

    Examples
    --------
    >>> found = league(windows=20_000)
    >>> own = {place.controller: place.gain for place in found.places if place.surrounding == "α .7"}
    >>> own["article's loop"] < -0.1 < own["rolling .85"] < 0.0
    True
    """
    if windows < 1:
        raise ParameterError("windows", f"windows = {windows} is out of range; allowed: windows ≥ 1")
    cost = Cost(c_d=0.1) if cost is None else cost
    places = []
    for where, process in surroundings().items():
        best = theory.optimum(process, cost, LONGEST)
        own = controllers(process, cost)
        jobs = [Job(Simulation(process, policy=policy), (policy.longest,), windows, seed) for policy in own.values()]
        for name, (_, (tally,)) in zip(own, run_jobs(jobs, threads), strict=True):
            places.append(_place(where, name, tally, best, cost, level))
    return League(places, cost, windows, seed, level)


def _place(where: str, name: str, tally: Tally, best: theory.Optimum, cost: Cost, level: float) -> Place:
    counts = Counts.of([tally], fresh=False)
    speed = speedups(counts, cost)
    rounds = tally.total("n")
    return Place(
        surrounding=where,
        controller=name,
        speedup=float(speed.value[0]),
        half=float(student(level, counts.units) * speed.error[0]),
        best_fixed=best.best_speedup,
        kappa_star=best.kappa_star,
        mean_drafted=tally.total("drafted") / rounds,
        flips_per_1000=1000.0 * float(np.sum(tally.flips)) / rounds,
    )
