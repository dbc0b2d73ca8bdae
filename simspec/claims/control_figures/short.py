"""Do controllers follow the exact law of short generations, all histories listed?  Distances in standard errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from simspec import theory
from simspec.claims.control_figures.rules import COST, RULES
from simspec.model import Drift, Simulation
from simspec.run.dispatch import run_jobs
from simspec.run.engine import Job
from simspec.run.progress import Progress
from simspec.stats.counts import Counts
from simspec.stats.intervals import ratio, student

if TYPE_CHECKING:
    import pandas as pd

ROUNDS = 2**20
FALSE_ALARM, CERTAIN = 1e-6, 1e-9
PROCESSES = {
    "falls": Drift(alpha_start=0.9, alpha_end=0.4, tokens=12),
    "rises": Drift(alpha_start=0.3, alpha_end=0.95, tokens=11),
    "jumps": Drift(shape="table", alphas=(0.95, 0.95, 0.1, 0.95, 0.2, 0.9, 0.9, 0.9, 0.1, 0.8, 0.9, 0.5)),
    "never": Drift(alpha_start=0.0, alpha_end=0.0, tokens=6),
    "always": Drift(alpha_start=1.0, alpha_end=1.0, tokens=12),
    "one token": Drift(alpha_start=0.5, alpha_end=0.5, tokens=1),
}
FIGURES = ("rounds", "cost", "drafted", "rejected", "flips")
"""Each per emitted token."""


def compared(rounds: int = ROUNDS, seed: int = 1, progress: Progress | None = None) -> pd.DataFrame:
    """A row per controller, process and figure; ``z`` is (simulated − exact) in standard errors of lanes."""
    import pandas as pd

    pairs = [(name, where) for name in RULES for where in PROCESSES]
    jobs = []
    for number, (name, where) in enumerate(pairs):
        policy = RULES[name][0]
        jobs.append(Job(Simulation(PROCESSES[where], policy=policy), (policy.longest,), rounds, seed + number))
    rows: list[dict[str, Any]] = []
    for (name, where), (_, (tally,)) in zip(pairs, run_jobs(jobs, None, progress), strict=True):
        counts = Counts.of([tally], fresh=False)
        tokens = counts.by_unit("tokens")
        seen = {
            "rounds": counts.by_unit("n"),
            "cost": counts.cost_by_unit(COST),
            "drafted": counts.by_unit("drafted"),
            "rejected": counts.by_unit("rejected"),
            "flips": np.asarray(tally.flips, np.float64)[None, :],
        }
        for figure, exact in _exact(name, where):
            own = ratio(seen[figure], tokens, counts.weight)
            rows.append(
                {"controller": name, "process": where, "figure": figure, "exact": exact}
                | {"simulated": float(own.value[0]), "error": float(own.error[0])}
                | {"rounds": int(counts.total("n")[0]), "tokens": int(tokens.sum()), "units": counts.units}
            )
    return _judged(pd.DataFrame(rows))


def _exact(name: str, where: str) -> Iterator[tuple[str, float]]:
    """The figures by the law of all histories, per token."""
    process = PROCESSES[where]
    law = theory.enumerate_policy(process, RULES[name][1], COST)
    rejected = law.mean_rounds - float(np.trace(law.expected_counts))
    means = (law.mean_rounds, law.mean_cost, law.mean_drafted, rejected, law.mean_flips)
    for figure, mean in zip(FIGURES, means, strict=True):
        yield figure, mean / process.n_tokens


def _judged(found: pd.DataFrame) -> pd.DataFrame:
    """With distances, and the bound that any of a sound engine leaves with probability `FALSE_ALARM`."""
    level = 1.0 - FALSE_ALARM / len(found)
    found["bound"] = [student(level, units) for units in found["units"]]
    certain = found["error"] * found["bound"] <= CERTAIN
    off = found["simulated"] - found["exact"]
    found["error"] = found["error"].where(~certain, 0.0)
    found["z"] = (off / found["error"].clip(lower=CERTAIN)).where(~(certain & (off.abs() <= CERTAIN)), 0.0)
    tokens = found["tokens"]
    unseen = (found["simulated"] == 0.0) & (found["exact"] * tokens < -np.log(FALSE_ALARM / len(found)))
    found["z"] = found["z"].where(~unseen | (found["error"] > 0.0), 0.0)  # too rare to be due
    found["inside"] = found["z"].abs() <= found["bound"]
    return found
