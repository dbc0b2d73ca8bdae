"""Why may a stored run come out otherwise?  Changed files, another trace, an earlier schema, other versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from simspec.model import DatasetError, ParameterError, Trace
from simspec.model.trace import content_hash
from simspec.run import store
from simspec.run.dataset import Dataset
from simspec.run.differences import lacking
from simspec.run.engine import Job
from simspec.run.folder import damaged, stored_scenario
from simspec.run.provenance import provenance
from simspec.run.schema import SCHEMA_VERSION
from simspec.text import clean


def check_traces(found: Dataset, jobs: Sequence[Job]) -> None:
    """Raise `DatasetError` if a trace is another one by now."""
    for trace in {job.process.path: job.process for job in jobs if isinstance(job.process, Trace)}.values():
        then, now = found.manifest.get("traces", {}).get(Path(trace.path).name), content_hash(trace.path)
        if then != now:
            told = f"was played from {clean(trace.path)} of SHA-256 {clean(str(then))[:12]}…, which is now {now[:12]}…"
            raise DatasetError(f"{found.place}: {told}; allowed: the trace as it was then")


def not_as_written(found: Dataset) -> Iterator[str]:
    """Files that are not those the manifest vouches for, and a manifest that tells another scenario than they do."""
    for name in damaged(found.path, found.manifest) if "files" in found.manifest else ():
        path = found.path / name
        size = found.manifest["files"][name][0]
        if not path.is_file():
            told = "is not there"
        elif path.stat().st_size != size:
            told = f"has {path.stat().st_size:,} bytes and was written with {size:,}"
        else:
            told = "has another SHA-256 than it was written with"
        yield f"{name}: {told} (manifest.json): changed, damaged or lost since"
    try:
        other = found.scenario != stored_scenario(found.path, found.manifest)
    except DatasetError:  # said of the file itself
        return
    except (ParameterError, KeyError, TypeError, ValueError):  # whatever a hand wrote there
        other = True
    if other:
        yield "manifest.json: tells another scenario than the tables, which was played again"


def of_before(found: Dataset) -> Iterator[str]:
    """What an earlier simspec did not write."""
    own, absent = found.manifest, list[str]()
    if own["schema_version"] < SCHEMA_VERSION:
        for name, columns in lacking(found).items():
            every = len(columns) == len(store.SCHEMAS[name])
            absent += [name] if every else [f"{name}.{column}" for column in columns]
        told = ", ".join(absent) or "nothing"
        yield f"written in schema {own['schema_version']}, now {SCHEMA_VERSION}: not there, so not compared: {told}"
    if "files" not in own:
        yield "manifest.json vouches for no file, so that a changed one is known by its numbers alone"


def compared(found: Dataset, rounds: bool) -> tuple[str, ...]:
    """The tables that can be held against a run of today."""
    absent = lacking(found)
    names = [name for name, schema in store.SCHEMAS.items() if len(absent.get(name, ())) < len(schema)]
    return (*names, "rounds") if rounds else tuple(names)


def versions(manifest: dict[str, Any]) -> str:
    """Whether other versions may be the reason."""
    then, now = (_made_by(own) for own in (manifest.get("provenance", {}), provenance()))
    others = [
        f"{name} {clean(str(then.get(name)))[:40]} (now {now[name]})" for name in now if then.get(name) != now[name]
    ]
    if not others:
        return "made by the same simspec, Python, libraries and kind of machine: these are not the reason"
    may = "they may move the last digits of estimates and the counts of multinomial draws"
    return f"other versions: {', '.join(others)}; {may}, but no count of simulate, unless simspec is another one"


def _made_by(own: dict[str, Any]) -> dict[str, Any]:
    named = {name: own.get(name, "?") for name in ("simspec", "python", "machine")}
    return {**named, **own.get("libraries", {})}
