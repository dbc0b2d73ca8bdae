"""Do controllers follow the exact law of short generations, all histories listed?  Distances in standard errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simspec import theory
from simspec.claims.control_figures.rules import COST, RULES
from simspec.kernels.lower_policies import policy_form
from simspec.model import BetaMixture, DiscreteMixture, Drift, Hmm, Markov, Process, Simulation
from simspec.run.engine import Job, players, run_jobs
from simspec.run.plans import steered_form_of
from simspec.run.progress import Progress
from simspec.stats.counts import Counts
from simspec.stats.intervals import ratio, student
from simspec.theory.law import FloatArray

if TYPE_CHECKING:
    import pandas as pd

ROUNDS = 2**20
LANE_ROUNDS, CHUNKS = 4, 256
"""Rounds of a lane where output has no end, and chunks of 64 lanes."""
FALSE_ALARM, CERTAIN = 1e-6, 1e-9
PROCESSES: dict[str, Process] = {
    "falls": Drift(alpha_start=0.9, alpha_end=0.4, tokens=12),
    "rises": Drift(alpha_start=0.3, alpha_end=0.95, tokens=11),
    "jumps": Drift(shape="table", alphas=(0.95, 0.95, 0.1, 0.95, 0.2, 0.9, 0.9, 0.9, 0.1, 0.8, 0.9, 0.5)),
    "two kinds": DiscreteMixture(alphas=(0.9, 0.4), weights=(0.6, 0.4), weights_of="requests", request_tokens=12),
    "Beta": BetaMixture(alpha=0.7, rho=0.3, request_tokens=12),
    "runs": Markov(alpha=0.7, rho=0.3, start="carry"),
    "hidden": Hmm(P=((0.8, 0.2), (0.3, 0.7)), alphas=(0.95, 0.3), start="carry"),
    "never": Drift(alpha_start=0.0, alpha_end=0.0, tokens=6),
    "always": Drift(alpha_start=1.0, alpha_end=1.0, tokens=12),
    "one token": Drift(alpha_start=0.5, alpha_end=0.5, tokens=1),
}
FIGURES = ("rounds", "cost", "drafted", "rejected", "flips")
"""Each per emitted token."""


def compared(
    rounds: int = ROUNDS, seed: int = 1, progress: Progress | None = None, chunks: int = CHUNKS
) -> pd.DataFrame:
    """A row per controller, process and figure; ``z`` is (simulated − exact) in standard errors of lanes."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for number, (name, where) in enumerate((name, where) for name in RULES for where in PROCESSES):
        process, policy = PROCESSES[where], RULES[name][0]
        job = Job(Simulation(process, policy=policy), (policy.longest,), rounds, seed + number)
        tokens, seen = _generations(job, progress) if process.unit == "generation" else _lanes(job, chunks)
        for figure, exact in exactly(name, where).items():
            own = ratio(seen[figure], tokens)
            rows.append(
                {"controller": name, "process": where, "figure": figure, "exact": exact}
                | {"simulated": float(own.value[0]), "error": float(own.error[0])}
                | {"rounds": int(seen["rounds"].sum()), "tokens": int(tokens.sum()), "units": tokens.size}
            )
    return _judged(pd.DataFrame(rows))


Seen = dict[str, FloatArray]
"""Figure → its sum by unit, (1, units)."""


def _generations(job: Job, progress: Progress | None) -> tuple[FloatArray, Seen]:
    """Tokens and figures by lane, of whole requests."""
    ((_, (tally,)),) = run_jobs([job], None, progress)
    counts = Counts.of([tally], fresh=False)
    names = {"rounds": "n", "drafted": "drafted", "rejected": "rejected"}
    seen = {figure: counts.by_unit(column) for figure, column in names.items()}
    return counts.by_unit("tokens"), seen | {"cost": counts.cost_by_unit(COST), "flips": tally.flips[None, :] * 1.0}


def _lanes(job: Job, chunks: int) -> tuple[FloatArray, Seen]:
    """The same of the first rounds of lanes."""
    policy = job.simulation.policy
    form, (steer, first) = steered_form_of(job.process, policy.longest), policy_form(policy)
    marks = np.array([LANE_ROUNDS])
    played = [players().counts_at(form, job.keys, chunk, marks, first, steer) for chunk in range(chunks)]
    rounds = np.concatenate([own.counts[0] for own in played]).astype(np.float64)
    kappas, lengths = np.indices(rounds.shape[1:])
    price = np.vectorize(COST.of_round)(kappas, lengths < kappas)
    weights = {"rounds": 1.0 + 0.0 * kappas, "cost": price, "drafted": kappas, "rejected": lengths < kappas}
    seen = {figure: np.einsum("lka,ka->l", rounds, weight)[None, :] for figure, weight in weights.items()}
    flips = np.concatenate([own.flips[0] for own in played])[None, :] * 1.0
    return np.einsum("lka,ka->l", rounds, lengths + 1.0)[None, :], seen | {"flips": flips}


def exactly(name: str, where: str) -> dict[str, float]:
    """The figures by the law of all histories, per token."""
    process, (policy, rule) = PROCESSES[where], RULES[name]
    if process.unit == "generation":
        law = theory.enumerate_policy(process, rule, COST)
        tokens = float(process.n_tokens if isinstance(process, Drift) else process.request_tokens)  # type: ignore[attr-defined]
    else:
        law = theory.enumerate_policy(process, rule, COST, rounds=LANE_ROUNDS, longest=policy.longest)
        tokens = law.mean_accepted + law.mean_rounds
    rejected = law.mean_rounds - float(np.trace(law.expected_counts))
    means = (law.mean_rounds, law.mean_cost, law.mean_drafted, rejected, law.mean_flips)
    return {figure: mean / tokens for figure, mean in zip(FIGURES, means, strict=True)}


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
