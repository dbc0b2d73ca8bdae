"""How do several machines share one sweep?  Each plays its pieces into a folder of its own; these are combined."""

from __future__ import annotations

import functools
import itertools
import re
import shutil
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simspec.kernels.tally import Tally
from simspec.model import DatasetError, ParameterError, Scenario
from simspec.model.scenario import POINTS_LIMIT
from simspec.run import store
from simspec.run.count_files import is_whole, name_of
from simspec.run.dataset import Dataset
from simspec.run.dispatch import Work, expected_of, play_jobs
from simspec.run.engine import Job, warm
from simspec.run.executors import Crew, threads_only
from simspec.run.folder import (
    Opened,
    check_form,
    check_same,
    damaged,
    locked,
    open_folder,
    own_folder,
    scenario_of,
    settle,
    stored_scenario,
)
from simspec.run.keeping import FOLDER, Kept, run_of
from simspec.run.manifest import read_manifest
from simspec.run.planning import Plan, plan
from simspec.run.precision import decide
from simspec.run.progress import Progress
from simspec.run.remote import Mirror, mirrored
from simspec.run.sweep import sweep
from simspec.text import clean, plural


@dataclass(frozen=True)
class Shard:
    """One machine's share of a sweep.

    Attributes
    ----------
    number, of : int
        1 ≤ number ≤ of.
    """

    number: int
    of: int

    @staticmethod
    def read(text: str) -> Shard:
        """From ``i/n``.

        Examples
        --------
        >>> Shard.read("2/3")
        Shard(number=2, of=3)
        """
        found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text.strip(), re.ASCII)
        own = Shard(int(found[1]), int(found[2])) if found else Shard(0, 0)
        if not 1 <= own.number <= own.of:
            raise ParameterError(
                "shard", f"shard = {text!r} is out of range; allowed: i/n with 1 ≤ i ≤ n ≤ 999999, e.g. 2/3"
            )
        return own

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


class _Share:
    """Gives out every n-th piece of work that is not kept yet."""

    def __init__(self, kept: Kept, shard: Shard) -> None:
        self.kept, self._shard, self._before, self.pieces = kept, shard, 0, 0

    def split(self, job: Job) -> list[Work]:
        """The work of a job that is this machine's and not done."""
        starts = [chunks.start for chunks in job.pieces()]
        numbers = range(self._before, self._before + len(starts))
        self._before += len(starts)
        mine = [number % self._shard.of == self._shard.number - 1 for number in numbers]
        self.pieces += sum(mine)
        return [
            work for work in self.kept.split(job)
            if not work.outcome and mine[bisect_right(starts, work.chunks.start) - 1]
        ]  # fmt: skip

    def keep(self, job: Job, chunks: range, outcome: Sequence[Tally]) -> None:
        """Keep what was just played."""
        self.kept.keep(job, chunks, outcome)


class _Present(Kept):
    """Gives out what is kept, and notes of which simulations something is not."""

    @functools.cached_property
    def lacking(self) -> set[str]:
        return set()

    def split(self, job: Job) -> list[Work]:
        """What is kept of a job, if all of it is."""
        works = super().split(job)
        if all(work.outcome for work in works):
            return works
        self.lacking.add(job.simulation.id)
        return []


@dataclass(frozen=True)
class ShardDone:
    """What became of a shard of a scenario: its folder or address, its pieces, and those of the whole sweep.

    A piece is a ``unit``: some chunks, or a whole simulation where each stops by itself.
    """

    name: str
    folder: Path
    place: str
    shard: Shard
    pieces: int
    every: int
    unit: str = "piece"

    def __str__(self) -> str:
        return (
            f"shard {self.shard} of {clean(self.name)}: {self.pieces:,} of {plural(self.every, self.unit)} done, "
            f"in {clean(self.place)}\n"
            f"when all {self.shard.of} are: simspec combine results/{clean(self.name)} FOLDER …, with each folder"
        )


def _suffix(shard: Shard) -> str:
    return f"-shard-{shard.number}-of-{shard.of}"


def play_shard(
    scenario: Scenario, shard: Shard, output: str | Path | None = None, crew: Crew | None = None,
    progress: Progress | None = None, most: int = POINTS_LIMIT,
) -> ShardDone:  # fmt: skip
    """Play one machine's share of a scenario into a folder; what is there already is not played again.

    Parameters
    ----------
    scenario : Scenario
        The same on every machine, with the same number of shards.
    shard : Shard
    output : path or address, optional
        Default ``results/<scenario name>-shard-i-of-n``.
    crew : Crew, optional
        Who plays; default all processors of this machine.
    progress : Progress, optional
    most : int
        Largest number of points.

    Raises
    ------
    DatasetError
        The folder cannot be written or holds another run or another shard.
    ParameterError
        The method plays nothing that could be shared.
    """
    if scenario.method != "simulate":
        raise ParameterError("shard", f'shard = {shard} needs rounds, and method = "{scenario.method}" plays none')
    if scenario.stop is not None and scenario.stop.budget is not None:
        told = f"shard = {shard} knows its own simulations only, and stop.budget is shared by all"
        raise ParameterError("shard", f"{told}; allowed: [stop] without budget")
    todo = plan(scenario, most)
    with mirrored(output, progress) as mirror:
        usual = own_folder(scenario.name)
        folder = mirror.folder if mirror else Path(output or usual.with_name(scenario.name + _suffix(shard)))
        _check_shard(folder, shard)
        open_folder(folder, scenario, todo)
        store.make_folder(folder)
        with nullcontext() if mirror else locked(folder):
            pieces = _play_share(folder, todo, shard, crew or Crew(), progress, mirror)
    place, jobs = mirror.name if mirror else str(folder), list(todo.jobs)
    if scenario.stop is not None:
        return ShardDone(scenario.name, folder, place, shard, pieces, len(jobs), "simulation")
    return ShardDone(scenario.name, folder, place, shard, pieces, sum(len(job.pieces()) for job in jobs))


def _play_share(
    folder: Path, todo: Plan, shard: Shard, crew: Crew, progress: Progress | None, mirror: Mirror | None
) -> int:
    """How many pieces the share has, all of which are kept now."""
    jobs, own, stop = list(todo.jobs), open_folder(folder, todo.scenario, todo), todo.scenario.stop
    push = mirror.push if mirror else lambda: None
    kept = Kept(folder, settle(folder, own), progress, push, run_of(todo.scenario), again=stop is not None)
    store.write_json(own.manifest | {"shard": str(shard), "complete": False}, folder / store.MANIFEST)
    kept.written()
    share = _Share(kept, shard)
    warm(jobs, progress)
    if progress is not None:
        ahead = _Share(kept, shard)
        works = ((job, work) for job in ([] if stop else jobs) for work in ahead.split(job))
        progress.begin("simulating", sum(expected_of(job, work) for job, work in works))
    try:
        with crew.workers(progress) as workers:
            if stop is not None:  # decided by its own counts, so that whole simulations are shared
                mine = jobs[shard.number - 1 :: shard.of]
                return len(decide(mine, stop, todo.costs, todo.scenario.level, workers, kept, progress))
            for job, _ in play_jobs(jobs, workers, progress, share):
                if job.failure:  # said by every machine alike, and again when the shards are combined
                    continue
    except KeyboardInterrupt:
        if mirror is not None:
            mirror.patience = 0.0  # who stops a run waits for no store
        raise
    finally:
        kept.flush()
    return share.pieces


def _check_shard(folder: Path, shard: Shard) -> None:
    found = read_manifest(folder) if folder.is_dir() else None
    if found and found.get("complete") is True:
        raise DatasetError(f"{folder}: holds a complete run, which a shard would undo; choose another folder with -o")
    if found and found.get("shard") not in (None, str(shard)):
        raise DatasetError(
            f"{folder}: holds shard {found['shard']}, not {shard}; choose another folder with -o, one for each shard"
        )


def _check_is_no_shard(folder: Path) -> None:
    """Where the folder that is to be made was forgotten, the first shard stands in its place."""
    found = read_manifest(folder) if folder.is_dir() else None
    if found and "shard" in found:
        told = f"holds shard {clean(str(found['shard']))}, and the whole takes a folder of its own"
        raise DatasetError(f"{folder}: {told}; allowed: simspec combine FOLDER SHARD …, where FOLDER is a new one")


def combine(
    output: str | Path, folders: Sequence[str | Path], crew: Crew | None = None, progress: Progress | None = None
) -> Dataset:
    """Make one dataset of shards: the same files as if one machine had played everything.

    Parameters
    ----------
    output : path or address
        A new folder, or one that was combined from some of them before.
    folders : sequence of path or address
        Of the shards; those of whole runs of the same scenario may be among them.
    crew : Crew, optional
    progress : Progress, optional

    Raises
    ------
    DatasetError
        A folder is of another run, or chunks are missing; the message says which.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> table = {"name": "tiny", "windows": 10_000, "kappa": [0, 4], "process": {"type": "iid", "alpha": 0.7}}
    >>> with TemporaryDirectory() as place:
    ...     own = [f"{place}/{i}" for i in (1, 2)]
    ...     for i, folder in enumerate(own, 1):
    ...         done = play_shard(Scenario.from_dict(table), Shard(i, 2), folder)
    ...     combine(f"{place}/whole", own).complete
    True
    """
    if not folders:
        raise DatasetError("combine needs the folder of at least one shard")
    with ExitStack() as stack:
        manifests = dict(_opened(own, stack, progress) for own in dict.fromkeys(map(str, folders)))
        scenario = _shared_scenario(manifests)
        todo = plan(scenario)
        mirror = stack.enter_context(mirrored(output, progress))
        own = mirror.folder if mirror else Path(output)
        _check_is_no_shard(own)
        open_folder(own, scenario, todo)
        store.make_folder(own)
        stack.enter_context(nullcontext() if mirror else locked(own))
        opened = open_folder(own, scenario, todo)
        if not opened.complete:
            _gather(own, opened, todo, manifests, progress, mirror)
    return sweep(scenario, output, crew=crew, progress=progress)


def _gather(
    folder: Path, own: Opened, todo: Plan, manifests: dict[Path, dict[str, Any]], progress: Progress | None,
    mirror: Mirror | None,
) -> None:  # fmt: skip
    """Take over what the shards have; raises `DatasetError` if it is not all."""
    counts = settle(folder, own)
    store.write_json(own.manifest, folder / store.MANIFEST)
    for source, name in itertools.chain.from_iterable(_sources(*entry) for entry in manifests.items()):
        _take(source, folder / FOLDER / name)
    if mirror is not None:
        mirror.push()
    kept = _Present(folder, counts, progress, run=run_of(todo.scenario))
    shards = [manifest["shard"] for manifest in manifests.values() if "shard" in manifest]
    _check_whole(kept, folder, todo, [str(Shard.read(str(own))) for own in shards])


def _opened(place: str, stack: ExitStack, progress: Progress | None) -> tuple[Path, dict[str, Any]]:
    """The folder of a shard and its manifest; of an address, its copy here."""
    mirror = stack.enter_context(mirrored(place, progress))
    folder = mirror.folder if mirror else Path(place)
    return folder, _manifest(folder)


def _shared_scenario(manifests: dict[Path, dict[str, Any]]) -> Scenario:
    """What all of them were asked for; raises `DatasetError` if that is not the same."""
    first, known = next(iter(manifests.items()))
    for folder, manifest in manifests.items():
        check_same(folder, manifest, known)
        check_form(folder, manifest)
        if scenario_of(manifest) != scenario_of(known):
            raise DatasetError(f"{folder}: holds other points than {first}; allowed: shards of one scenario")
    return stored_scenario(first, known)


def _manifest(folder: Path) -> dict[str, Any]:
    found = read_manifest(folder) if folder.is_dir() else None
    if found is None:
        raise DatasetError(f"{folder}: is no folder of a shard (simspec run --shard i/n); it has no {store.MANIFEST}")
    return found


def _sources(folder: Path, manifest: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    """Files of counts of a folder, and the names they go by among those that were played."""
    for path in sorted((folder / FOLDER).glob("*.parquet")):
        if not is_whole(path):
            raise DatasetError(f"{path}: damaged; run its shard again, which plays what it held, and combine then")
        yield path, path.name
    bad = set(damaged(folder, manifest))
    for name, (_, digest) in manifest["files"].items():
        if name.startswith("tallies/") and name not in bad:
            yield folder / name, name_of(digest)


def _take(source: Path, target: Path) -> None:
    if not target.exists():
        with store.whole(target) as temporary:
            shutil.copyfile(source, temporary)


def _check_whole(kept: _Present, folder: Path, todo: Plan, shards: list[str]) -> None:
    """Raise `DatasetError` if something was not played by any of them."""
    jobs, own = list(todo.jobs), todo.scenario
    if own.stop is not None:
        with threads_only(1) as nobody:
            decide(jobs, own.stop, todo.costs, own.level, nobody, kept)
    else:
        for job in jobs:
            kept.split(job)
    lacking = kept.lacking
    if not lacking:
        return
    counts = {int(text.partition("/")[2]) for text in shards}
    absent = [f"{i}/{n}" for n in sorted(counts) for i in range(1, n + 1) if f"{i}/{n}" not in shards]
    which = f"no folder of shard {', '.join(absent[:5])} was given" if absent else "a shard was not played to its end"
    raise DatasetError(
        f"{folder}: {plural(len(lacking), 'simulation')} of {len(jobs):,} not complete ({which}); what is there is "
        "kept: combine again with the others, or simspec run SCENARIO -o here, which plays the rest"
    )
