"""What do rows say of who chooses κ: which κ, how often another one, and how far behind what is best?"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simspec import theory
from simspec.kernels.tally import Tally
from simspec.model import Cost, Drift, ParameterError, Process, Simulation, Trace
from simspec.stats.intervals import ratio, student
from simspec.theory.best import DEFAULT_KAPPA_MAX
from simspec.theory.routes import has_route

if TYPE_CHECKING:
    from simspec.run.tables import Block

Floats = NDArray[np.float64]
KNOWN_TOKENS = 20_000
"""Longest output for which the best κ is computed beside a run: it takes a second at the longest."""
_NOTHING = np.full((1, 1, 1), np.nan)
_COMPARED = ("kappa_fixed", "best_fixed", "loss_fixed", "loss_fixed_low", "loss_fixed_high", "best_schedule",
             "loss_schedule", "loss_schedule_low", "loss_schedule_high", "share_best")  # fmt: skip


def policy_columns(slab: Sequence[Block], values: dict[str, Any]) -> dict[str, Any]:
    """Columns of blocks of one kind, (simulations, costs, κ) or what broadcasts to it.

    ``values`` holds the speed-ups with their intervals.  A longest draft in use says nothing where κ changes.
    """
    simulation = slab[0].job.simulation
    if not simulation.policy.adapts:
        return _of_fixed(simulation, slab[0].job.kappas)
    own = [block.tallies[0] for block in slab]
    columns = _of_kappas(own, slab[0].level)
    against = [[_exact(block.job.simulation, cost) for cost in block.costs] for block in slab]
    kappa, fixed, schedule = (np.array([[entry[i] for entry in row] for row in against])[..., None] for i in range(3))
    columns |= {"kappa_fixed": kappa, "best_fixed": fixed, "best_schedule": schedule}
    for name, best in (("loss_fixed", fixed), ("loss_schedule", schedule)):
        for end, of in (("", ""), ("_low", "_high"), ("_high", "_low")):
            columns[f"{name}{end}"] = 1.0 - values[f"speedup{of}"] / best
    columns["share_best"] = np.array(
        [[_share_at(one, at) for at in row[:, 0]] for one, row in zip(own, kappa, strict=True)]
    )[..., None]
    return columns | {"at_kappa_max": np.zeros_like(values["at_kappa_max"])}


def _of_fixed(simulation: Simulation, kappas: Sequence[int]) -> dict[str, Any]:
    """κ of a chain is what it is; a tree or a stop has none of its own."""
    kappa = np.array(kappas, float) if simulation.chained else np.full(len(kappas), np.nan)
    off = np.where(np.isnan(kappa), np.nan, kappa == 0.0)
    out: dict[str, Any] = dict.fromkeys(_COMPARED, _NOTHING)
    out |= {name: np.zeros((1, 1, 1)) for name in ("flips_per_1000", "wakes_per_1000")}
    return (
        out | {f"mean_kappa{end}": kappa for end in ("", "_low", "_high")} | {"sd_kappa": 0.0 * kappa, "share_off": off}
    )


def _of_kappas(tallies: Sequence[Tally], level: float) -> dict[str, Any]:
    """Mean and spread of κ over rounds, as it was asked for: the end of a request may have cut the draft."""
    found: dict[str, list[float]] = {}
    for tally in tallies:
        kappa = np.arange(tally.asked.shape[1])
        rounds = tally.column("n")
        mean = ratio((tally.asked @ kappa)[None], rounds[None])
        at, half = float(mean.value[0]), float(student(level, len(rounds)) * mean.error[0])
        share = tally.asked.sum(axis=0) / rounds.sum()
        row = {
            "mean_kappa": at,
            "mean_kappa_low": max(at - half, 0.0),
            "mean_kappa_high": min(at + half, float(kappa[-1])),
        }
        row |= {"sd_kappa": float(np.sqrt(share @ (kappa - at) ** 2)), "share_off": float(share[0])}
        row |= {f"{name}_per_1000": 1000.0 * float(getattr(tally, name).sum()) / float(rounds.sum()) for name in _TURNS}
        for name, value in row.items():
            found.setdefault(name, []).append(value)
    return {name: np.array(column)[:, None, None] for name, column in found.items()}


_TURNS = ("flips", "wakes")


def _share_at(tally: Tally, kappa: float) -> float:
    """Share of the rounds that asked for a κ."""
    if not kappa < tally.asked.shape[1]:
        return float("nan") if np.isnan(kappa) else 0.0
    return float(tally.asked[:, int(kappa)].sum() / tally.total("n"))


def _exact(simulation: Simulation, cost: Cost) -> tuple[float, float, float]:
    """κ and speed of the best fixed length, and the speed of the best plan by position; NaN where not known."""
    if simulation.serving.batch > 1:  # its rounds cost what those of others do
        return (float("nan"),) * 3
    return _remembered(_Named(simulation.process_id, simulation.process), cost.without_changes())


@dataclass(frozen=True)
class _Named:
    """A process that is looked up by its id: what it holds, as the conditions of a trace, may have no hash."""

    process_id: str
    process: Process = field(compare=False)


@functools.lru_cache(maxsize=4096)
def _remembered(named: _Named, cost: Cost) -> tuple[float, float, float]:
    return best_known(named.process, cost)


def best_known(process: Process, cost: Cost) -> tuple[float, float, float]:
    """κ and exact speed of the best fixed length up to 64, and the speed of the best plan by output position.

    NaN where there is no exact route or no rate by position, for traces, and for outputs of more than 20,000 tokens.

    Examples
    --------
    >>> falls = Drift(alpha_start=0.85, alpha_end=0.62, tokens=1024)
    >>> [round(one, 4) for one in best_known(falls, Cost(c_d=0.1))]
    [4.0, 2.1029, 2.1299]
    """
    nothing = float("nan")
    if isinstance(process, Trace) or not has_route(process) or getattr(process, "n_tokens", 0) > KNOWN_TOKENS:
        return nothing, nothing, nothing
    longest = min(
        limit for limit in (DEFAULT_KAPPA_MAX, process.longest_draft, cost.longest_draft) if limit is not None
    )
    try:
        best = theory.optimum(process, cost, longest)
    except ParameterError:  # too large for its exact route
        return nothing, nothing, nothing
    plan = theory.optimal_plan(process, cost, longest).speedup if isinstance(process, Drift) else nothing
    return float(best.kappa_star), best.best_speedup, plan
