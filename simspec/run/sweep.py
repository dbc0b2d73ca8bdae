"""How does a scenario become a dataset?  Planned, played, priced, written part by part, continued where it stopped."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simspec.kernels.words import STREAM_VERSION
from simspec.model import Cost, DatasetError, Scenario
from simspec.run import store
from simspec.run.dataset import Dataset, read, read_manifest
from simspec.run.engine import Job, play, run_jobs, warm
from simspec.run.progress import Progress
from simspec.run.provenance import provenance
from simspec.run.schema import SCHEMA_VERSION

ROWS_PER_PART = 2**20
SIMULATIONS_PER_PART = 512
CHUNK_ROW_BYTES = 13
ESTIMATE_ROW_BYTES = 90


@dataclass(frozen=True)
class Plan:
    """What a scenario will do.

    Attributes
    ----------
    parts : list of list of Job
        Jobs by output part; a function of the scenario alone.
    costs : list of Cost
    """

    scenario: Scenario
    parts: list[list[Job]]
    costs: list[Cost] = field(default_factory=list)

    @property
    def jobs(self) -> Iterator[Job]:
        return (job for part in self.parts for job in part)

    @property
    def points(self) -> int:
        return sum(len(part) for part in self.parts) * len(self.costs)

    @property
    def windows(self) -> int:
        """Rounds over all simulations and κ (of generations: at least)."""
        return sum(_windows(job) for job in self.jobs)

    @property
    def bytes(self) -> int:
        """Rough size of the dataset on disk."""
        lanes = sum(job.layout.lanes * len(job.kappas) for job in self.jobs)
        rows = sum(len(job.kappas) for job in self.jobs) * len(self.costs)
        return lanes * CHUNK_ROW_BYTES + rows * ESTIMATE_ROW_BYTES + 40_000 * len(self.parts)

    def seconds(self, threads: int) -> float:
        """Time on ``threads`` threads, from a piece of each kind of process played now."""
        rate: dict[str, float] = {}
        spent = 0.0
        for job in self.jobs:
            unit = job.process.unit
            if unit not in rate:
                small = Job(job.simulation, job.kappas, 2**17, job.seed)
                play(small, [0])
                began = time.perf_counter()
                done = sum(t.total("n") for t in play(small, [0]))
                rate[unit] = (time.perf_counter() - began) / done
            spent += rate[unit] * _windows(job)
        return spent / threads


def _windows(job: Job) -> int:
    """Rounds reported for a job: each κ counts, though fresh windows are drawn once for all of them."""
    return max(job.windows, job.layout.lanes * job.layout.rounds) * len(job.kappas)


def plan(scenario: Scenario) -> Plan:
    """Cut a scenario into jobs and parts; raises `ParameterError` if a point is invalid."""
    costs = list(scenario.costs())
    parts: list[list[Job]] = []
    rows = 0
    for simulation, kappas in scenario.simulations():
        job = Job(simulation, kappas, scenario.windows, scenario.seed)
        own = job.layout.lanes * len(kappas)
        if not parts or rows + own > ROWS_PER_PART or len(parts[-1]) >= SIMULATIONS_PER_PART:
            parts.append([])
            rows = 0
        parts[-1].append(job)
        rows += own
    return Plan(scenario, parts, costs)


def sweep(
    scenario: Scenario, output: str | Path | None = None, threads: int | None = None, progress: Progress | None = None
) -> Dataset:
    """Run a scenario into a folder and open it.

    A folder that already holds this run is opened (and finished, if it was interrupted); one that holds another run is
    refused with what differs.

    Parameters
    ----------
    scenario : Scenario
    output : path, optional
        Default ``results/<scenario name>``.
    threads : int, optional
        Default all processors; changes no number.
    progress : Progress, optional

    Raises
    ------
    DatasetError
        The folder cannot be written or holds something else.
    """
    folder = Path(output) if output is not None else Path("results") / scenario.name
    todo = plan(scenario)
    manifest = _open_folder(folder, scenario)
    if manifest.get("complete"):
        return read(folder)
    store.make_folder(folder)
    store.write_json(manifest, folder / store.MANIFEST)
    began = time.monotonic()
    _play_missing(folder, todo, threads, progress)
    manifest["complete"] = True
    manifest["provenance"]["finished"] = time.strftime("%Y-%m-%dT%H:%M:%S%z")
    manifest["provenance"]["seconds"] = round(time.monotonic() - began, 2)
    store.write_json(manifest, folder / store.MANIFEST)
    return read(folder)


def _play_missing(folder: Path, todo: Plan, threads: int | None, progress: Progress | None) -> None:
    missing = [n for n in range(len(todo.parts)) if not store.part_path(folder, "estimates", n).exists()]
    jobs = [job for n in missing for job in todo.parts[n]]
    warm(jobs, progress)
    if progress is not None:
        progress.total = sum(_windows(job) for job in jobs)
        progress.say("simulating")
    results = run_jobs(jobs, threads, progress)
    note = {"scenario": todo.scenario.to_dict(), "stream_version": STREAM_VERSION}
    for n in missing:
        blocks = []
        for _ in todo.parts[n]:
            job, tallies = next(results)
            blocks.append(store.Block(job, tallies, todo.costs, todo.scenario.level))
        store.write_part(folder, n, blocks, {**note, "part": n})


def _open_folder(folder: Path, scenario: Scenario) -> dict[str, Any]:
    """The manifest to continue with; a new one for a new or empty folder."""
    fresh = {
        "schema_version": SCHEMA_VERSION,
        "stream_version": STREAM_VERSION,
        "scenario": scenario.to_dict(),
        "complete": False,
        "provenance": provenance(),
    }
    if folder.exists() and not folder.is_dir():
        raise DatasetError(f"{folder}: is a file; allowed: a new folder, or the folder of the same run")
    found = read_manifest(folder) if folder.is_dir() else None
    if found is None:
        if folder.is_dir() and any(folder.iterdir()):
            raise DatasetError(f"{folder}: holds other files; allowed: a new or empty folder (-o FOLDER)")
        return fresh
    differs = _differences(
        {key: found.get(key) for key in ("schema_version", "stream_version", "scenario")},
        {key: fresh[key] for key in ("schema_version", "stream_version", "scenario")},
    )
    if differs:
        raise DatasetError(
            f"{folder}: holds another run; it differs in {'; '.join(differs[:5])}; choose another folder with -o"
        )
    return found


def _differences(old: Any, new: Any, name: str = "") -> list[str]:
    """What differs between two JSON values, as ``key: old there, new asked for``."""
    if isinstance(old, dict) and isinstance(new, dict):
        out = []
        for key in sorted(old.keys() | new.keys()):
            inner = f"{name}.{key}" if name and name != "scenario" else key
            out += _differences(old.get(key), new.get(key), inner)
        return out
    if (
        isinstance(old, list)
        and isinstance(new, list)
        and len(old) == len(new)
        and any(isinstance(x, dict) for x in new)
    ):
        return [
            text for i, pair in enumerate(zip(old, new, strict=True)) for text in _differences(*pair, f"{name}[{i}]")
        ]
    return [] if old == new else [f"{name} ({_brief(old)} there, {_brief(new)} asked for)"]


def _brief(value: Any) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 60 else text[:57] + "…"
