"""How does a scenario become a dataset?  Planned, played, kept, priced, written part by part, continued any time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from simspec.kernels.words import STREAM_VERSION
from simspec.model import DatasetError, ParameterError, Scenario, SimspecError
from simspec.model.scenario import POINTS_LIMIT
from simspec.run import store
from simspec.run.dataset import Dataset, read
from simspec.run.dispatch import play_jobs
from simspec.run.engine import Job, Pieces, merge, warm
from simspec.run.executors import Crew
from simspec.run.folder import Opened, damaged, locked, open_folder, own_folder, settle
from simspec.run.keeping import Kept, run_of
from simspec.run.known import Laws, known_jobs
from simspec.run.planning import Plan, plan, sections, windows_of
from simspec.run.played import Played, compacted, tally_table
from simspec.run.precision import decide
from simspec.run.processors import default_threads
from simspec.run.progress import Progress
from simspec.run.record import Recording, record_all, unrecorded, vouched
from simspec.run.remote import Mirror, mirrored
from simspec.run.tables import Block
from simspec.run.workers import Workers
from simspec.text import plural


def sweep(
    scenario: Scenario,
    output: str | Path | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    most: int = POINTS_LIMIT,
    recording: Recording | None = None,
    crew: Crew | None = None,
) -> Dataset:
    """Run a scenario into a folder and open it.

    A folder that already holds this run is opened (and finished, if it was interrupted).  One that holds other points
    of the same name and seed gets those that are new; what is no longer asked for is kept and not shown.  One of
    another seed, method or stream of random words is refused with what differs.

    Parameters
    ----------
    scenario : Scenario
    output : path or address, optional
        Default ``results/<scenario name>``; with ``-run`` behind it where that holds other files.  An address, e.g.
        ``s3://bucket/name``, is that of an object store.
    threads : int, optional
        Default all processors; changes no number.
    progress : Progress, optional
    most : int
        Largest number of points.
    recording : Recording, optional
        Which single rounds to write as well, once the tables are complete; a complete folder gets them too.
    crew : Crew, optional
        Who plays instead of threads; changes no number either.

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
    todo = plan(scenario, most)
    with mirrored(output, progress) as mirror:
        folder = mirror.folder if mirror else Path(output) if output is not None else own_folder(scenario.name)
        if not open_folder(folder, scenario, todo).complete:
            with ExitStack() as stack:
                workers = stack.enter_context((crew or Crew(many=threads)).workers(progress))  # none: no folder either
                store.make_folder(folder)
                stack.enter_context(nullcontext() if mirror else locked(folder))
                own = open_folder(folder, scenario, todo)
                if recording is not None:  # so that the folder alone says what it was begun with
                    marks = vouched(own.manifest.get("rounds") or {}, recording)
                    own.manifest["rounds"] = {**asdict(recording), "complete": False, "files": marks}
                _complete(folder, own, todo, workers, progress, mirror)
        if recording is not None:
            _record(folder, read(folder).manifest, todo, recording, threads, progress)
        if mirror is not None:
            mirror.push()
    return Dataset(folder, read(folder).manifest, address=mirror.name if mirror else "")


def _complete(
    folder: Path, own: Opened, todo: Plan, workers: Workers, progress: Progress | None, mirror: Mirror | None
) -> None:
    """Make every part that is not there."""
    began, manifest = time.monotonic(), own.manifest
    manifest.pop("shard", None)  # from now on it is more than that
    for name in damaged(folder, manifest):
        _note(progress, f"{folder / name}: missing or damaged; made again")
    counts = settle(folder, own)
    store.write_json(manifest, folder / store.MANIFEST)
    push = mirror.push if mirror else lambda: None
    kept = Kept(folder, counts, progress, push, run_of(todo.scenario), again=todo.scenario.stop is not None)
    kept.written()  # whether a store can be written is known before anything is played
    if not own.same:
        _note(progress, f"{folder}: {_what_changed(manifest)}")
    others = kept.simulations - {job.simulation.id for job in todo.jobs}
    if others:
        _note(progress, f"{folder}: {plural(len(others), 'simulation')} no longer asked for, kept and not shown")
    try:
        _write_missing(folder, manifest, todo, kept, workers, progress)
    except SimspecError:
        with suppress(DatasetError):  # the first error says why
            kept.flush()
        raise
    except BaseException:
        if progress is not None:
            progress.say("stopping when the chunks that were begun end; Ctrl-C again stops at once")
        if mirror is not None:
            mirror.patience = 0.0  # who stops a run waits for no store
        kept.flush()
        raise
    kept.tidy(folder / store.part_name("tallies", n) for n in range(len(todo.parts)))
    made = manifest["provenance"]
    manifest["complete"] = True
    made["finished"] = time.strftime("%Y-%m-%dT%H:%M:%S%z")
    made["seconds"] = round(made.get("seconds", 0.0) + time.monotonic() - began, 2)
    store.write_json(manifest, folder / store.MANIFEST)


def _what_changed(manifest: dict[str, Any]) -> str:
    """In which keys the scenario is another than that of the run before."""
    before, now = manifest["earlier"][-1]["scenario"], manifest["scenario"]
    keys = [key for key in before | now if before.get(key) != now.get(key)] or ["a trace"]
    plain = [key for key in keys if isinstance(before.get(key), int | float) and isinstance(now.get(key), int | float)]
    told = [f"{key} ({before[key]:,} before, {now[key]:,} now)" if key in plain else key for key in keys]
    return f"holds an earlier run, whose counts are used; what is asked for now differs in {', '.join(told)}"


def _note(progress: Progress | None, line: str) -> None:
    if progress is not None:
        progress.note(line)


def _write_missing(
    folder: Path, manifest: dict[str, Any], todo: Plan, kept: Kept, workers: Workers, progress: Progress | None
) -> None:
    """Play what is not kept, and write the parts that are not there one after another."""
    missing = [n for n in range(len(todo.parts)) if not _is_written(manifest, n)]
    jobs = [job for n in missing for job in todo.parts[n]]
    warm(jobs, progress)
    if progress is not None:
        doing = "simulating" if todo.scenario.method == "simulate" else f"method {todo.scenario.method}"
        progress.begin(doing, 0 if todo.scenario.stop else sum(windows_of(job) for job in jobs))
    parts = _as_far_as_needed(todo, kept, workers, progress)
    results = _results([job for n in missing for job in parts[n]], todo, kept, workers, progress)
    note = {"scenario": todo.scenario.to_dict(), "stream_version": STREAM_VERSION}
    failed = {entry["simulation_id"]: entry for entry in manifest["failed"]}
    for n in missing:
        with store.PartWriter(folder, n, {**note, "part": n}, tuple(store.SCHEMAS)) as writer:
            for section in sections(parts[n], len(todo.costs)):
                _write_section(writer, list(islice(results, len(section))), todo, failed, progress)
        manifest["files"] |= writer.written()
        manifest["failed"] = list(failed.values())
        store.write_json(manifest, folder / store.MANIFEST)
        kept.forget()
        kept.written()


def _is_written(manifest: dict[str, Any], part: int) -> bool:
    return all(store.part_name(table, part) in manifest["files"] for table in store.SCHEMAS)


def _write_section(
    writer: store.PartWriter, results: list[tuple[Job, Pieces, Laws]], todo: Plan, failed: dict[str, dict[str, str]],
    progress: Progress | None,
) -> None:  # fmt: skip
    """Price some simulations and append them to the tables; says which could not be played."""
    blocks: list[Block] = []
    played: list[Played] = []
    for job, pieces, laws in results:
        key = job.simulation.id
        failed.pop(key, None)
        if job.failure:
            failed[key] = {"simulation_id": key, "process": str(job.simulation), "error": job.failure}
            continue
        blocks.append(Block(job, merge(pieces) if pieces else (), todo.costs, todo.scenario.level, laws))
        played += compacted(job, pieces)
    if progress is not None:
        doing = progress.doing
        progress.say("estimating and writing")
    writer.price(blocks)
    writer.add("tallies", tally_table(played))
    if progress is not None:
        progress.say(doing)


def _record(
    folder: Path, manifest: dict[str, Any], todo: Plan, recording: Recording, threads: int | None,
    progress: Progress | None,
) -> None:  # fmt: skip
    """Write single rounds of what could be played, and say in the manifest which."""
    failed = {entry["simulation_id"] for entry in manifest["failed"]}
    looks = read(folder).looks if todo.scenario.stop else {}
    jobs = [job for job in todo.jobs if job.simulation.id not in failed]
    jobs = [job.at_look(looks[job.simulation.id]) if looks else job for job in jobs]
    known = vouched(manifest.get("rounds") or {}, recording)
    missing = unrecorded(folder, jobs, recording, known)
    for path in [store.rounds_path(folder, job.simulation.id, kappa) for job, kappa in missing]:
        if known.pop(path.name, None):
            _note(progress, f"{path}: missing or damaged; made again")
    if missing:
        manifest["rounds"] = {**asdict(recording), "complete": False, "files": known}
        store.write_json(manifest, folder / store.MANIFEST)
        record_all(folder, missing, recording, threads or default_threads(), progress)
    paths = [store.rounds_path(folder, job.simulation.id, kappa) for job in jobs for kappa in job.kappas]
    marks = {path.name: known.get(path.name) or store.mark(path) for path in paths}
    note = {**asdict(recording), "complete": True, "files": marks}
    if manifest.get("rounds") != note:
        manifest["rounds"] = note
        store.write_json(manifest, folder / store.MANIFEST)


def _as_far_as_needed(todo: Plan, kept: Kept, workers: Workers, progress: Progress | None) -> list[list[Job]]:
    """Jobs by part: as they are, or played until they are known."""
    own = todo.scenario
    if own.stop is None:
        return todo.parts
    jobs = iter(decide(list(todo.jobs), own.stop, todo.costs, own.level, workers, kept, progress))
    return [list(islice(jobs, len(part))) for part in todo.parts]


def _results(
    jobs: list[Job], todo: Plan, kept: Kept, workers: Workers, progress: Progress | None
) -> Iterator[tuple[Job, Pieces, Laws]]:
    """Each job with its pieces, or with its exact laws."""
    if todo.scenario.method == "exact":
        yield from ((job, {}, laws) for job, laws in known_jobs(jobs, todo.costs))
    else:
        yield from ((job, pieces, ()) for job, pieces in play_jobs(jobs, workers, progress, kept))
