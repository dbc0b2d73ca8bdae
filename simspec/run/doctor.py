"""Is this installation sound?  What numbers, speed and files depend on, looked at one by one."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simspec.kernels.jit import DISABLED
from simspec.kernels.words import STREAM_VERSION
from simspec.model import DatasetError, Drift, Iid, Markov, Process, SimspecError, Simulation
from simspec.model.policies.heuristic import Heuristic
from simspec.run import engine, store
from simspec.run.dispatch import run_jobs
from simspec.run.engine import Job, play
from simspec.run.folder import locked
from simspec.run.processors import VARIABLE, allowed_processors, cpu_quota, default_threads
from simspec.run.provenance import provenance
from simspec.run.remote import home
from simspec.text import plural

SEED, WINDOWS = 20, 2**16
_CHAIN = Markov(alpha=0.7, rho=0.3, start="carry")
KNOWN: dict[str, tuple[Simulation, int, int, int]] = {
    "independent drafts": (Simulation(Iid(alpha=0.7)), 4, 116_643, 366_533),
    "a carried chain": (Simulation(_CHAIN), 4, 54_756, 187_220),
    "outputs of 128 tokens": (Simulation(Drift(alpha_start=0.85, alpha_end=0.62, tokens=128)), 4, 43_148, 139_510),
    "a policy": (Simulation(_CHAIN, policy=Heuristic()), 16, 53_020, 205_614),
}
"""Simulation, κ, and Σ A and Σ A² over its first chunk at seed 20: stream version 2, on every machine."""
EXTRAS = {
    "matplotlib": "pictures (simspec report, simspec phase)",
    "river": "drift detectors (simspec drift)",
    "distributed": "--executor dask",
    "mpi4py": "--executor mpi",
}
SPEED_WINDOWS = 2**24


@dataclass(frozen=True)
class Finding:
    """What one look says.

    Attributes
    ----------
    what, says : str
    sound : bool
        False: numbers, files or speed cannot be trusted.
    """

    what: str
    says: str
    sound: bool = True

    def __str__(self) -> str:
        return f"{'ok ' if self.sound else 'BAD'}  {self.what}: {self.says}"


def examine(results: str | Path = "results") -> Iterator[Finding]:
    """Look at everything, and say one thing after the other.

    Parameters
    ----------
    results : path
        Folder in which results are to be written.
    """
    yield _said("versions", _versions)
    yield _said("kernels", _kernels)
    yield _said("kernel cache", _cache)
    yield _said("processors", _processors)
    for name in KNOWN:
        yield _said(f"random words, {name}", functools.partial(_known, name))
    yield _said("compiled against readable kernels", _twins)
    yield _said("threads", _threads)
    yield _said(f"files in {Path(results)}", functools.partial(_files, Path(results)))
    yield _said("copies of object stores", _copies)
    for name, use in EXTRAS.items():
        there = importlib.util.find_spec(name) is not None
        yield Finding("extra", f"{name} is {'there' if there else 'not installed'}: {use}")


def _said(what: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(what, look())
    except (SimspecError, OSError, ImportError) as error:  # the last: a library that is missing
        return Finding(what, str(error), sound=False)


def _versions() -> str:
    """What is installed, held against what the installed simspec says it needs."""
    from packaging.requirements import Requirement

    made = provenance()
    wrong = []
    for own in map(Requirement, importlib.metadata.requires("simspec") or []):
        if own.marker is None or own.marker.evaluate({"extra": ""}):
            found = made["libraries"].get(own.name) or importlib.metadata.version(own.name)
            if not own.specifier.contains(found, prereleases=True):
                wrong.append(f"{own.name} {found}, and simspec needs {own.name}{own.specifier}")
    if wrong:
        names = " ".join(own.partition(" ")[0] for own in wrong)
        raise SimspecError(f"{'; '.join(wrong)}; allowed: pip install --upgrade {names}")
    libraries = ", ".join(f"{name} {version}" for name, version in made["libraries"].items())
    return f"simspec {made['simspec']}, Python {made['python']}, {libraries}; {made['system']}"


def _cache() -> str:
    """Whether compiled kernels are kept for the next process, and whole."""
    if DISABLED:
        return "not used, since NUMBA_DISABLE_JIT is set"
    from simspec.kernels.shelf import shelf

    own = shelf()
    advice = "set SIMSPEC_CACHE_DIR to a folder that can be written"
    if own.folder is None:
        raise SimspecError(f"there is no place for it, so that every process compiles anew; {advice}")
    files = sorted(own.folder.glob("*.kernel"))
    broken = sum(own.get(file.name) is None for file in files)
    told = f"{plural(len(files), 'kernel')} in {own.folder}"
    told += f", {broken:,} of them damaged, which are made again when they are needed" if broken else ""
    try:
        with tempfile.TemporaryFile(dir=own.folder) as probe:
            probe.write(b"x")
            probe.flush()
    except OSError as error:
        told += f"; it cannot be written ({error.strerror or error})"
        if len(files) == broken:
            raise SimspecError(f"{told}, so that every process compiles anew; {advice}") from None
    return told


def _kernels() -> str:
    if DISABLED:
        return "NUMBA_DISABLE_JIT is set: plain Python, some thousand times slower"
    began = time.perf_counter()
    play(Job(Simulation(_CHAIN), (4,), 1, SEED), [0])
    return f"ready after {time.perf_counter() - began:.1f} s"


def _processors() -> str:
    quota = cpu_quota()
    limit = "no quota" if quota is None else f"a quota of {quota:g}"
    own = f"{os.cpu_count()} in the machine, {allowed_processors()} for this process, {limit}"
    many, most = default_threads(), allowed_processors() if quota is None else min(allowed_processors(), quota)
    slow = f" ({VARIABLE} asks for more than there are processors for them)" if many > max(1, math.ceil(most)) else ""
    return f"{own}: {plural(many, 'thread')}{slow}"


def _known(name: str) -> str:
    simulation, kappa, accepted, squares = KNOWN[name]
    (tally,) = play(Job(simulation, (kappa,), WINDOWS, SEED), [0])
    found = tally.total("accepted"), tally.total("accepted_sq")
    if found != (accepted, squares):
        raise SimspecError(
            f"stream version {STREAM_VERSION} gives Σ A = {accepted:,} and Σ A² = {squares:,}; this machine "
            f"{found[0]:,} and {found[1]:,}: its numbers cannot be compared with those of others"
        )
    return f"as they must be (stream version {STREAM_VERSION})"


def _twins() -> str:
    """The same few rounds by the readable kernels, in place of the compiled ones."""
    from simspec.kernels import twin

    process: Process = Markov(alpha=0.7, rho=0.3, start="carry")
    job = Job(Simulation(process), (4,), 512, SEED)
    (compiled,) = play(job, [0])
    form, plan = engine.form_of(process, 4), job.layout
    plain = twin.play(form, job.keys, 0, plan.lanes_of(0), plan.length, 4)
    if not np.array_equal(compiled.sums, plain.sums):
        raise SimspecError("compiled kernels count otherwise than the readable ones")
    return "the same integers"


def _threads() -> str:
    many = default_threads()
    job = Job(Simulation(_CHAIN), (4,), SPEED_WINDOWS, SEED)
    counts, seconds = [], []
    for threads in (1, many):
        began = time.perf_counter()
        ((_, (tally,)),) = run_jobs([job], threads)
        seconds.append(time.perf_counter() - began)
        counts.append(tally.sums)
    if not np.array_equal(counts[0], counts[1]):
        raise SimspecError(f"{many} threads count otherwise than one; use --threads 1, and report it")
    rates = [SPEED_WINDOWS / own / 1e6 for own in seconds]
    return f"{rates[0]:,.0f} M windows/s on one, {rates[1]:,.0f} on {many}, the same integers"


def _copies() -> str:
    """Where runs at an address work, and what that takes."""
    place = home()
    runs = [folder for folder in place.iterdir() if folder.is_dir()] if place.is_dir() else []
    if not runs:
        return f"none in {place}"
    size = sum(file.stat().st_size for folder in runs for file in folder.rglob("*") if file.is_file())
    freed = "a copy may be removed when its run has ended well"
    return f"{len(runs):,} of {size / 1e6:,.1f} MB in {place}; {freed} (.address in it says whose it is)"


def _files(results: Path) -> str:
    """Written, renamed, locked and removed again, in the folder or where it would be made."""
    if results.exists() and not results.is_dir():
        raise DatasetError(f"{results}: is a file; allowed: a folder, or where one is to be made")
    place = results
    while not place.is_dir():
        place = place.parent
    try:
        with tempfile.TemporaryDirectory(prefix=".simspec-doctor-", dir=place) as folder:
            with locked(Path(folder)):
                store.write_json({"here": True}, Path(folder) / store.MANIFEST)
            free = os.statvfs(folder) if hasattr(os, "statvfs") else None
    except OSError as error:
        raise DatasetError(f"{place}: cannot be written ({error.strerror or error})") from None
    room = f", {free.f_bavail * free.f_frsize / 1e9:,.1f} GB free" if free else ""
    return f"can be written, renamed and locked{room}"
