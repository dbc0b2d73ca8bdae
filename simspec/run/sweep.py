"""How does a scenario become a dataset?  Planned, played, priced, written part by part, continued where it stopped."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from simspec.kernels.tally import Tally
from simspec.kernels.words import STREAM_VERSION
from simspec.model import Cost, DatasetError, ParameterError, Scenario, Trace
from simspec.model.scenario import POINTS_LIMIT
from simspec.model.trace import content_hash
from simspec.run import store
from simspec.run.dataset import Dataset, read, read_manifest
from simspec.run.engine import Job, play, run_jobs, warm
from simspec.run.known import Laws, known_jobs, laws_of
from simspec.run.processors import default_threads
from simspec.run.progress import Progress
from simspec.run.provenance import provenance
from simspec.run.record import Recording, record_all, unrecorded
from simspec.run.schema import SCHEMA_VERSION, TABLES
from simspec.run.tables import Block

ROWS_PER_PART = 2**20
SIMULATIONS_PER_PART = 512
CHUNK_ROW_BYTES = 13
ESTIMATE_ROW_BYTES = 90
SCHEME_SAMPLE = 2**14
"""Rounds of a scheme that are timed: fewer would time how a call begins."""
POINT_SECONDS = 1.5e-4
LANE_ROW_SECONDS = 3e-7
"""Rough cost of estimates and Parquet, beside the kernels: measured on one core of a server of 2021."""


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
    def bytes(self) -> int:
        """Rough size of the dataset on disk."""
        return (
            self._chunk_rows() * CHUNK_ROW_BYTES + self._estimate_rows() * ESTIMATE_ROW_BYTES + 40_000 * len(self.parts)
        )

    def _chunk_rows(self) -> int:
        return sum(_rows(job) * len(job.kappas) for job in self.jobs)

    def _estimate_rows(self) -> int:
        return sum(len(job.kappas) for job in self.jobs) * len(self.costs)

    def forecast(self, threads: int) -> tuple[int, float]:
        """Rounds over all simulations and κ, and seconds on ``threads``, from a chunk of each kind played now.

        Where nothing is played, one draw or one exact law of each kind of process is timed instead.
        """
        if self.scenario.method != "simulate":
            return self._forecast_unplayed()
        known: dict[str, tuple[float, float]] = {}
        rounds = seconds = 0.0
        for job in self.jobs:
            plan, kind = job.layout, f"{job.process.type} {job.process.unit} {job.layout.generations > 0}"
            kind = kind if job.simulation.chained else job.simulation.scheme.type
            if kind not in known:
                known[kind] = _sample(job)
            per_generation, each = known[kind]
            own = plan.lanes * (plan.rounds or plan.generations * per_generation) * len(job.kappas)
            rounds += own
            seconds += own * each / threads
        seconds += self.points * POINT_SECONDS + self._chunk_rows() * LANE_ROW_SECONDS
        return int(rounds), seconds

    def _forecast_unplayed(self) -> tuple[int, float]:
        known: dict[str, float] = {}
        rounds, seconds = 0, self.points * POINT_SECONDS
        for job in self.jobs:
            kind = f"{job.process.type} {job.process.unit}"
            if kind not in known:
                known[kind] = _time_unplayed(job)
            rounds += 0 if job.method == "exact" else job.windows * len(job.kappas)
            seconds += known[kind]
        return rounds, seconds


def _time_unplayed(job: Job) -> float:
    """Seconds of the draw or of the exact laws of one job."""
    began = time.perf_counter()
    if job.method == "exact":
        laws_of(replace(job, kappas=job.kappas[-1:]))
        return (time.perf_counter() - began) * len(job.kappas)
    play(job, [0])
    return time.perf_counter() - began


def _rows(job: Job) -> int:
    """Rows of the chunks table per κ: lanes, whole chunks of fresh windows, or one draw; none of exact values."""
    if job.method != "simulate":
        return int(job.method == "multinomial")
    return job.layout.chunks if job.simulation.fresh else job.layout.lanes


def _sample(job: Job) -> tuple[float, float]:
    """(rounds per generation and κ, seconds per round), from one small chunk."""
    few = 1 if job.simulation.chained else SCHEME_SAMPLE
    small = Job(job.simulation, job.kappas, few, job.seed)
    play(small, [0])  # compiles
    began = time.perf_counter()
    tallies = play(small, [0])
    spent = time.perf_counter() - began
    done = sum(t.total("n") for t in tallies)
    units = small.layout.lanes_of(0) * max(1, small.layout.generations) * len(tallies)
    return done / units, spent / done


def _windows(job: Job) -> int:
    """Rounds a job is expected to report: each κ counts, though fresh windows are drawn once for all of them."""
    if job.method != "simulate":
        return 0
    return max(job.windows, job.layout.lanes * job.layout.rounds) * len(job.kappas)


def plan(scenario: Scenario, most: int = POINTS_LIMIT) -> Plan:
    """Cut a scenario into jobs and parts; raises `ParameterError` if a point is invalid or there are too many."""
    scenario.check(most)
    costs = list(scenario.costs())
    parts: list[list[Job]] = []
    rows = 0
    for simulation, kappas in scenario.simulations():
        job = Job(simulation, kappas, scenario.windows, scenario.seed, method=scenario.method)
        own = max(_rows(job), len(costs)) * len(kappas)
        if not parts or rows + own > ROWS_PER_PART or len(parts[-1]) >= SIMULATIONS_PER_PART:
            parts.append([])
            rows = 0
        parts[-1].append(job)
        rows += own
    return Plan(scenario, parts, costs)


def sweep(
    scenario: Scenario,
    output: str | Path | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    most: int = POINTS_LIMIT,
    recording: Recording | None = None,
) -> Dataset:
    """Run a scenario into a folder and open it.

    A folder that already holds this run is opened (and finished, if it was interrupted); one that holds another run is
    refused with what differs.

    Parameters
    ----------
    scenario : Scenario
    output : path, optional
        Default ``results/<scenario name>``; with ``-run`` behind it where that holds other files.
    threads : int, optional
        Default all processors; changes no number.
    progress : Progress, optional
    most : int
        Largest number of points.
    recording : Recording, optional
        Which single rounds to write as well, once the tables are complete; a complete folder gets them too.

    Raises
    ------
    DatasetError
        The folder cannot be written or holds something else.
    """
    if recording is not None:
        recording.check(scenario.method)
        if not all(simulation.chained for simulation, _ in scenario.simulations()):
            raise ParameterError("record", "record lists rounds of chains only; allowed: no [scheme] but chain")
        steered = next((str(one) for one, _ in scenario.simulations() if one.steered), "")
        if steered:
            told = f"record lists rounds of requests that are served alone at a fixed κ, and not those of {steered}"
            raise ParameterError("record", f"{told}; allowed: no [policy] that chooses κ, no serving.batch")
    folder = Path(output) if output is not None else _own_folder(scenario.name)
    todo = plan(scenario, most)
    manifest = _open_folder(folder, scenario, todo)
    if not manifest.get("complete") or _missing(folder, todo):
        _complete(folder, manifest, todo, threads, progress)
    if recording is not None:
        _record(folder, manifest, todo, recording, threads, progress)
    return read(folder)


def _own_folder(name: str) -> Path:
    """``results/NAME``, or ``results/NAME-run`` where files that are no run have that place, as in a clone."""
    folder = Path("results") / name
    taken = folder.is_dir() and not (folder / store.MANIFEST).is_file()
    other = taken and any(not entry.name.startswith(".") for entry in folder.iterdir())
    return folder.with_name(f"{name}-run") if other else folder


def _complete(
    folder: Path, manifest: dict[str, Any], todo: Plan, threads: int | None, progress: Progress | None
) -> None:
    """Make every part that is not there."""
    store.make_folder(folder)
    store.write_json(manifest, folder / store.MANIFEST)
    began = time.monotonic()
    failed = {entry["simulation_id"]: entry for entry in manifest["failed"]}
    for entry in _play_missing(folder, todo, threads, progress):
        failed[entry["simulation_id"]] = entry
        manifest["failed"] = list(failed.values())
        store.write_json(manifest, folder / store.MANIFEST)
    manifest["complete"] = True
    manifest["provenance"]["finished"] = time.strftime("%Y-%m-%dT%H:%M:%S%z")
    manifest["provenance"]["seconds"] = round(time.monotonic() - began, 2)
    store.write_json(manifest, folder / store.MANIFEST)


def _record(
    folder: Path, manifest: dict[str, Any], todo: Plan, recording: Recording, threads: int | None,
    progress: Progress | None,
) -> None:  # fmt: skip
    """Write single rounds of what could be played, and say in the manifest which."""
    failed = {entry["simulation_id"] for entry in manifest["failed"]}
    missing = unrecorded(folder, (job for job in todo.jobs if job.simulation.id not in failed), recording)
    if missing:
        manifest["rounds"] = {**asdict(recording), "complete": False}
        store.write_json(manifest, folder / store.MANIFEST)
        record_all(folder, missing, recording, threads or default_threads(), progress)
    note = {**asdict(recording), "complete": True}
    if manifest.get("rounds") != note:
        manifest["rounds"] = note
        store.write_json(manifest, folder / store.MANIFEST)


def _missing(folder: Path, todo: Plan) -> list[int]:
    """Parts of which at least one table is not there."""
    return [n for n in range(len(todo.parts)) if not all(store.part_path(folder, name, n).exists() for name in TABLES)]


def _play_missing(folder: Path, todo: Plan, threads: int | None, progress: Progress | None) -> Iterator[dict[str, str]]:
    """Play and write what is not there; yields the simulations that could not be played."""
    missing = _missing(folder, todo)
    jobs = [job for n in missing for job in todo.parts[n]]
    warm(jobs, progress)
    if progress is not None:
        progress.total = sum(_windows(job) for job in jobs)
        progress.say("simulating" if todo.scenario.method == "simulate" else f"method {todo.scenario.method}")
    results = _results(jobs, todo.costs, todo.scenario.method, threads, progress)
    note = {"scenario": todo.scenario.to_dict(), "stream_version": STREAM_VERSION}
    for n in missing:
        blocks = []
        for _ in todo.parts[n]:
            job, tallies, laws = next(results)
            if job.failure:
                yield {"simulation_id": job.simulation.id, "process": str(job.simulation), "error": job.failure}
            else:
                blocks.append(Block(job, tallies, todo.costs, todo.scenario.level, laws))
        if progress is not None:
            progress.say(f"estimating and writing part {n + 1} of {len(todo.parts)}")
        store.write_part(folder, n, blocks, {**note, "part": n})


def _results(
    jobs: list[Job], costs: list[Cost], method: str, threads: int | None, progress: Progress | None
) -> Iterator[tuple[Job, Sequence[Tally], Laws]]:
    """Each job with its tallies, or with its exact laws."""
    if method == "exact":
        return ((job, (), laws) for job, laws in known_jobs(jobs, costs))
    return ((job, tallies, ()) for job, tallies in run_jobs(jobs, threads, progress, keep_going=True))


_IDENTITY = ("schema_version", "stream_version", "scenario", "traces")


def _trace_contents(todo: Plan) -> dict[str, str]:
    """File name and content hash of every trace: a changed file is another run."""
    traces = [job.process for job in todo.jobs if isinstance(job.process, Trace)]
    return {Path(trace.path).name: content_hash(trace.path) for trace in traces}


def _open_folder(folder: Path, scenario: Scenario, todo: Plan) -> dict[str, Any]:
    """The manifest to continue with; a new one for a new or empty folder."""
    fresh = {
        "schema_version": SCHEMA_VERSION,
        "stream_version": STREAM_VERSION,
        "scenario": scenario.to_dict(),
        "traces": _trace_contents(todo),
        "complete": False,
        "failed": [],
        "provenance": provenance() | {"scenario_folder": str(Path(scenario.base).resolve())},
    }
    if folder.exists() and not folder.is_dir():
        raise DatasetError(f"{folder}: is a file; allowed: a new folder, or the folder of the same run")
    found = read_manifest(folder) if folder.is_dir() else None
    if found is None:
        if folder.is_dir() and any(not entry.name.startswith(".") for entry in folder.iterdir()):
            raise DatasetError(f"{folder}: holds other files; allowed: a new or empty folder (-o FOLDER)")
        return fresh
    asked = found.get("scenario")
    old = {**found, "scenario": {"method": "simulate", **asked}} if isinstance(asked, dict) else found
    differs = _differences(
        {key: old.get(key) for key in _IDENTITY},
        {key: fresh[key] for key in _IDENTITY},
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
