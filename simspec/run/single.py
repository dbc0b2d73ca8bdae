"""What does one process give at one cost?  Simulated in memory, without a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from simspec.kernels.tally import Tally
from simspec.model import Cost, Process, Scenario, Scheme, Simulation
from simspec.model.policies import Policy
from simspec.model.serving import NORMAL, Serving
from simspec.run.best_table import with_interval
from simspec.run.engine import Job, run_jobs
from simspec.run.known import Laws, laws_of
from simspec.run.system_notes import exact_notes, lost, why_lossy
from simspec.run.tables import Block, estimate_table
from simspec.text import table, wrapped

if TYPE_CHECKING:
    import pandas as pd


_HOW = {
    "simulate": "{rounds:,} rounds per κ, seed {seed}",
    "multinomial": "{rounds:,} rounds per κ in one multinomial draw, seed {seed}",
    "exact": "exact values, no rounds",
}


class SimulationResult:
    """Estimates of one process at one cost.

    Attributes
    ----------
    job : Job
        What was simulated, with budget and seed.
    cost : Cost
    tallies : list of Tally
        The integers, per κ; none under ``method = "exact"``.
    level : float
    """

    def __init__(self, job: Job, cost: Cost, tallies: Sequence[Tally], level: float, laws: Laws = ()) -> None:
        self.job, self.cost, self.tallies, self.level = job, cost, list(tallies), level
        self._table = estimate_table([Block(job, tallies, [cost], level, laws)])

    def to_pandas(self) -> pd.DataFrame:
        """One row per κ; columns as in the estimates table of a dataset."""
        frame: pd.DataFrame = self._table.to_pandas()
        return frame

    @property
    def kappa_star(self) -> int:
        """Best κ among those run."""
        return int(self._table["kappa_star"][0].as_py())

    @property
    def indistinguishable(self) -> list[int]:
        """The κ that cannot be told from the best at this budget."""
        flags = self._table["indistinguishable"].to_pylist()
        return [kappa for kappa, flag in zip(self._table["kappa"].to_pylist(), flags, strict=True) if flag]

    def __repr__(self) -> str:
        rows, scheme, steered = [], self.job.simulation.scheme, self.job.simulation.policy.adapts
        together = self.job.simulation.serving.batch > 1
        for row in self._table.to_pylist():
            rows.append(
                [
                    f"mean {row['mean_kappa']:.2f}" if steered else f"{row['kappa']}",
                    *(with_interval(row, key) for key in ("speedup", "mean_tokens", "p_zero_accepted", "p_full")),
                    *([with_interval(row, "straggling")] if together else []),
                    *([] if scheme.lossless else [lost(row, False)]),
                    *([] if steered else [_mark(row)]),
                ]
            )
        first = self._table.slice(0, 1).to_pylist()[0]
        how = _HOW[self.job.method].format(rounds=first["rounds"], seed=self.job.seed)
        head = f"{self.job.simulation}; {self.cost}; {how}"
        level = "" if self.job.method == "exact" else f" [{self.level:.0%}]"
        header = ["κ", f"speed-up{level}", "E[tokens]", "P(A=0)", "P(A=κ)", *(["waits"] if together else [])]
        header += [] if scheme.lossless else ["loses"]
        header += [] if steered else [""]
        notes = [] if scheme.lossless else [why_lossy(first)]
        if steered:
            notes += steered_notes(first)
        if together:
            notes.append("waits: share of the time of a request that others of its batch take longer")
        notes += [*scheme.notes, *exact_notes(scheme, self.job.process, self.kappa_star)]
        return "\n".join([head, "", table(header, rows), *map(wrapped, notes)])


def steered_notes(row: dict[str, Any]) -> list[str]:
    """What a policy did, and how far from the best fixed κ it is, where that is known.

    Examples
    --------
    >>> row = {"flips_per_1000": 612.3, "wakes_per_1000": 0.0, "share_off": 0.0, "loss_fixed": -0.01, "best_fixed": 2.0}
    >>> for note in steered_notes(row | {"kappa_fixed": 4.0}):
    ...     print(note)
    another κ than in the round before in 612 of 1,000 rounds
    1.00% faster than the best fixed κ = 4, whose exact speed-up is 2.0000
    """
    notes = [f"another κ than in the round before in {row['flips_per_1000']:.0f} of 1,000 rounds"]
    if row["share_off"] > 0.0:
        notes.append(f"κ = 0 in {row['share_off']:.1%} of the rounds, woken in {row['wakes_per_1000']:.1f} of 1,000")
    if row["loss_fixed"] is not None:
        way = "slower" if row["loss_fixed"] > 0.0 else "faster"
        best = f"the best fixed κ = {row['kappa_fixed']:.0f}, whose exact speed-up is {row['best_fixed']:.4f}"
        notes.append(f"{abs(row['loss_fixed']):.2%} {way} than {best}")
    return notes


def _mark(row: dict[str, float]) -> str:
    if row["kappa"] == row["kappa_star"]:
        return "best"
    return "cannot be told from the best" if row["indistinguishable"] else ""


def run_single(
    process: Process,
    cost: Cost,
    kappas: Iterable[int] | int | None,
    windows: int,
    seed: int,
    level: float,
    threads: int | None = None,
    method: str = "simulate",
    scheme: Scheme | None = None,
    policy: Policy | None = None,
    serving: Serving = NORMAL,
) -> SimulationResult:
    """Simulate one process at one cost; every argument is checked as in a scenario file."""
    asked = {"name": "one", "process": {"type": "iid", "alpha": 0.5}, "kappa": kappas, "method": method}
    scenario = Scenario.from_dict({**asked, "windows": windows, "seed": seed, "level": level})
    process.check_method(scenario.method)
    own: dict[str, Any] = {} if scheme is None else {"scheme": scheme}
    own |= {} if policy is None else {"policy": policy.told((cost,))}
    simulation = Simulation(process, **own, serving=serving)
    chosen = scenario.kappas_for(simulation)
    simulation.check(chosen, [cost])
    if simulation.chained and not simulation.policy.adapts:
        simulation.scheme.priced(cost).check_kappa(max(chosen))
    job = Job(simulation, chosen, scenario.windows, scenario.seed, method=scenario.method)
    if scenario.method == "exact":
        return SimulationResult(job, cost, [], scenario.level, laws_of(job, [cost]))
    ((_, tallies),) = run_jobs([job], threads)
    return SimulationResult(job, cost, tallies, scenario.level)
