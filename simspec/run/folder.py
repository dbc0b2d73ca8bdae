"""Whose folder is it?  One run at a time works in it, for one seed; points may come and go."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from simspec.kernels.words import STREAM_VERSION
from simspec.model import DatasetError, Scenario, Trace
from simspec.model.trace import content_hash
from simspec.run import keeping, store
from simspec.run.count_files import name_of
from simspec.run.manifest import read_manifest
from simspec.run.planning import Plan
from simspec.run.provenance import provenance
from simspec.run.schema import SCHEMA_VERSION
from simspec.text import clean

LOCK = ".lock"
NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS}
_PART = re.compile(store.PART_NAME, re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_IDENTITY = ("schema_version", "stream_version", "name", "seed", "method", "traces")
"""What every point of a folder has together; the rest of a scenario may change between runs."""
_REQUIRED = {"complete": bool, "failed": list, "files": dict, "traces": dict, "provenance": dict}
"""What the manifest of a sweep has to have; that of a validation has not all of it."""


def own_folder(name: str) -> Path:
    """``results/NAME``, or ``results/NAME-run`` where files that are no run have that place, as in a clone."""
    folder = Path("results") / name
    taken = folder.is_dir() and not (folder / store.MANIFEST).is_file()
    other = taken and any(not entry.name.startswith(".") for entry in folder.iterdir())
    return folder.with_name(f"{name}-run") if other else folder


@dataclass(frozen=True)
class Opened:
    """What a folder says of itself.

    Attributes
    ----------
    manifest : dict
        The manifest to continue with: the one that is there, one for more or other points, or a new one.
    same : bool
        Whether the tables that are there belong to the scenario that is asked for.
    complete : bool
        Whether nothing is left to do.
    """

    manifest: dict[str, Any]
    same: bool
    complete: bool


def open_folder(folder: Path, scenario: Scenario, todo: Plan) -> Opened:
    """Look into a folder, and change nothing.

    Raises
    ------
    DatasetError
        The folder is of another run; the message says what differs.
    """
    if folder.exists() and not folder.is_dir():
        raise DatasetError(f"{folder}: is a file; allowed: a new folder, or the folder of the same run")
    found = read_manifest(folder) if folder.is_dir() else None
    fresh = _fresh(scenario, todo)
    if found is None:
        kept = keeping.FOLDER  # counts say themselves of which run they are
        if folder.is_dir() and any(entry.name[0] != "." and entry.name != kept for entry in folder.iterdir()):
            raise DatasetError(f"{folder}: holds other files; allowed: a new or empty folder (-o FOLDER)")
        return Opened(fresh, True, False)
    check_same(folder, found, fresh)
    check_form(folder, found)
    if scenario_of(found) == fresh["scenario"] and fresh["traces"].keys() <= found["traces"].keys():
        return Opened(found, True, bool(found["complete"]) and not damaged(folder, found))
    earlier = [*found.get("earlier", []), {key: found[key] for key in ("scenario", "provenance")}]
    own = fresh | {"earlier": earlier, "traces": found["traces"] | fresh["traces"], "files": found["files"]}
    return Opened(own, False, False)


def _fresh(scenario: Scenario, todo: Plan) -> dict[str, Any]:
    traces = [job.process for job in todo.jobs if isinstance(job.process, Trace)]
    return {
        "schema_version": SCHEMA_VERSION,
        "stream_version": STREAM_VERSION,
        "scenario": scenario.to_dict(),
        "traces": {Path(trace.path).name: content_hash(trace.path) for trace in traces},
        "complete": False,
        "failed": [],
        "files": {},
        "provenance": provenance() | {"scenario_folder": str(Path(scenario.base).resolve())},
    }


def scenario_of(manifest: dict[str, Any]) -> dict[str, Any]:
    """The scenario of a manifest; the oldest name no method."""
    own = manifest.get("scenario")
    return {"method": "simulate", **own} if isinstance(own, dict) else {}


def stored_scenario(folder: Path, manifest: dict[str, Any]) -> Scenario:
    """The scenario that a manifest tells, whole, with flags of the command line in it; its file is not needed.

    Raises
    ------
    DatasetError
        The folder is of another command.
    """
    own = scenario_of(manifest)
    if "process" not in own:
        raise DatasetError(
            f"{folder}: is of another command; allowed: the folder of simspec run, e.g. results/quickstart"
        )
    return replace(Scenario.from_dict(own), base=manifest.get("provenance", {}).get("scenario_folder", ""))


def check_same(folder: Path, found: dict[str, Any], asked: dict[str, Any]) -> None:
    """Raise `DatasetError` unless counts of one run can stand beside those of another."""
    pairs = []
    for key in _IDENTITY:
        there, wanted = found.get(key, scenario_of(found).get(key)), asked.get(key, scenario_of(asked).get(key))
        if key == "traces":
            known, new = (own if isinstance(own, dict) else {} for own in (there, wanted))
            pairs += [(f"traces.{name}", known[name], new[name]) for name in sorted(known.keys() & new.keys())]
        else:
            pairs.append((key, there, wanted))
    differs = [f"{key} ({_brief(old)} there, {_brief(new)} asked for)" for key, old, new in pairs if old != new]
    if differs:
        raise DatasetError(
            f"{folder}: holds another run; it differs in {'; '.join(differs[:5])}; choose another folder with -o"
        )


def _brief(value: Any) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 60 else text[:57] + "…"


def check_form(folder: Path, manifest: dict[str, Any]) -> None:
    """Raise `DatasetError` unless a manifest is as simspec writes it: it names files that are read, moved and removed.

    Raises
    ------
    DatasetError
        An entry is missing or of another kind, or a file is none of a dataset's.
    """
    wrong = [key for key, kind in _REQUIRED.items() if not isinstance(manifest.get(key), kind)]
    files = {} if "files" in wrong else manifest["files"]
    strange = [name for name, own in files.items() if not _PART.fullmatch(name) or not is_mark(own)]
    if wrong or strange:
        told = f"its {wrong[0]} is missing or of another kind" if wrong else f"it names {_brief(clean(strange[0]))!r}"
        raise DatasetError(
            f"{folder / store.MANIFEST}: is not as simspec writes it ({told}); choose another folder with -o"
        )


def is_mark(own: Any) -> bool:
    """Whether something is [bytes, SHA-256]."""
    return isinstance(own, list) and [type(entry) for entry in own] == [int, str] and bool(_DIGEST.fullmatch(own[1]))


def damaged(folder: Path, manifest: dict[str, Any]) -> list[str]:
    """Files that a manifest vouches for and that are not there, or not as they were written."""
    return [name for name, own in manifest["files"].items() if not _is_sound(folder / name, own)]


def _is_sound(path: Path, own: list[Any]) -> bool:
    try:
        return path.stat().st_size == own[0] and store.mark(path) == own
    except FileNotFoundError:
        return False
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read ({error.strerror or error})") from None


def settle(folder: Path, own: Opened) -> list[Path]:
    """Make a folder ready to be worked in, and say where finished counts are that may be used again.

    Tables that nothing vouches for are removed: they follow from counts.  Where other points are asked for, finished
    counts of the run before are kept among those that were played.
    """
    for left in [*folder.glob(f".*{store.TEMPORARY}"), *folder.glob(f"*/.*{store.TEMPORARY}")]:
        left.unlink(missing_ok=True)
    own.manifest["complete"] = False  # until every table is there again, whatever happens before
    files, bad = own.manifest["files"], set(damaged(folder, own.manifest))
    counts = [folder / name for name in files if name.startswith("tallies/") and name not in bad]
    if own.same:
        for name in bad:
            del files[name]
    else:
        for path in counts:
            keep_counts(folder, path, files[store.entry(path, folder)][1])
        files.clear()
        store.write_json(own.manifest, folder / store.MANIFEST)
    for table in store.SCHEMAS:
        for path in (folder / table).glob("part-*.parquet"):
            if store.entry(path, folder) not in files:
                with store.cannot_write(path):
                    path.unlink()
    return counts if own.same else []


def keep_counts(folder: Path, path: Path, digest: str) -> None:
    """Move finished counts to those that were played, under the name of their content."""
    kept = folder / keeping.FOLDER / name_of(digest)
    with store.cannot_write(kept):
        kept.parent.mkdir(exist_ok=True)
        os.replace(path, kept)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """While one run works in a folder; the lock ends with the process, however that ends.

    Raises
    ------
    DatasetError
        Another run is at work there.
    """
    try:
        import fcntl
    except ImportError:  # no such locks on this system; two runs would write the same counts twice
        yield
        return
    with store.cannot_write(folder), (folder / LOCK).open("a+", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.seek(0)
            raise DatasetError(
                f"{folder}: another run is at work here ({handle.read(100).strip() or 'just begun'}); "
                "allowed: wait until it ends, or another folder with -o"
            ) from None
        except OSError as error:
            if error.errno in NO_LOCKS:
                raise DatasetError(
                    f"{folder}: its file system has no locks ({error.strerror}), so that two runs could work here "
                    "at once; allowed: a folder on another one, e.g. of this machine"
                ) from None
            raise
        handle.truncate(0)
        handle.write(f"process {os.getpid()} on {socket.gethostname()}")
        handle.flush()
        yield
