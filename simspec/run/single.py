"""What does one process give at one cost?  Simulated in memory, without a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from simspec.kernels.tally import Tally
from simspec.model import Cost, Process, Scenario, Simulation
from simspec.run.engine import Job, run_jobs
from simspec.run.store import Block, estimate_tables
from simspec.text import number, table

if TYPE_CHECKING:
    import pandas as pd


class SimulationResult:
    """Estimates of one process at one cost.

    Attributes
    ----------
    job : Job
        What was simulated, with budget and seed.
    cost : Cost
    tallies : list of Tally
        The integers, per κ.
    level : float
    """

    def __init__(self, job: Job, cost: Cost, tallies: Sequence[Tally], level: float) -> None:
        self.job, self.cost, self.tallies, self.level = job, cost, list(tallies), level
        self._table = estimate_tables(Block(job, tallies, [cost], level))[0]

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
        rows = []
        for row in self._table.to_pylist():
            rows.append(
                [
                    f"{row['kappa']}",
                    *(_with_interval(row, key) for key in ("speedup", "mean_tokens", "p_zero_accepted", "p_full")),
                    _mark(row),
                ]
            )
        first = self._table.slice(0, 1).to_pylist()[0]
        head = f"{self.job.process}; {self.cost}; {first['rounds']:,} rounds per κ, seed {self.job.seed}"
        header = ["κ", f"speed-up [{self.level:.0%}]", "E[tokens]", "P(A=0)", "P(A=κ)", ""]
        return f"{head}\n\n{table(header, rows)}"


def _with_interval(row: dict[str, float], key: str) -> str:
    return f"{number(row[key])} [{number(row[f'{key}_low'])}, {number(row[f'{key}_high'])}]"


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
) -> SimulationResult:
    """Simulate one process at one cost; every argument is checked as in a scenario file."""
    asked = {"name": "one", "process": {"type": "iid", "alpha": 0.5}, "kappa": kappas}
    scenario = Scenario.from_dict({**asked, "windows": windows, "seed": seed, "level": level})
    chosen = scenario.kappas_of(process)
    cost.check_kappa(max(chosen))
    job = Job(Simulation(process), chosen, scenario.windows, scenario.seed)
    ((_, tallies),) = run_jobs([job], threads)
    return SimulationResult(job, cost, tallies, scenario.level)
