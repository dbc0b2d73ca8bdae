"""How does a recording reach the disk?  Request by request from its source, then as one Parquet file, whole or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from simspec.evidence.pairs_rows import joined
from simspec.model import DatasetError, ParameterError
from simspec.model.errors import did_you_mean, shown
from simspec.model.identity import canonical_json
from simspec.run.progress import Progress
from simspec.run.store import make_folder, write_table

Source = Callable[[dict[str, Any], Progress], Iterator[pa.Table]]


@dataclass(frozen=True, eq=False)
class Recorded:
    """A recording on disk.

    Attributes
    ----------
    path : Path
    table : pyarrow.Table
        What the file holds.
    finished : bool
        False if it was interrupted and holds the requests that had ended by then.
    """

    path: Path
    table: pa.Table
    finished: bool

    @property
    def requests(self) -> int:
        """Number of requests."""
        return len(self.table["request"].unique())


def _ngram(options: dict[str, Any], progress: Progress) -> Iterator[pa.Table]:
    from simspec.evidence.ngram import record_ngram, record_ngram_rounds

    given = dict(options)
    if "text" in given:
        given["text"] = Path(given["text"])
    rounds = given.pop("rounds", None)

    def say(done: int, total: int) -> None:
        progress.say(f"token {done:,} of {total:,}")

    progress.say("reading the text")
    if rounds is None:
        yield record_ngram(**given, progress=say)
    else:
        yield record_ngram_rounds(**given, kappa=rounds, progress=say)


def _smollm2(options: dict[str, Any], progress: Progress) -> Iterator[pa.Table]:
    from simspec.evidence.smollm2 import smollm2_requests

    return smollm2_requests(**options, progress=progress)


def _transformers(options: dict[str, Any], progress: Progress) -> Iterator[pa.Table]:
    from simspec.evidence.pairs_hf import pair_requests

    for key in ("target", "draft"):
        if key not in options:
            raise ParameterError(key, f"--{key} is missing; allowed: the folder of a local transformers model")
    return pair_requests(**options, progress=progress)


SOURCES: dict[str, Source] = {"ngram": _ngram, "smollm2": _smollm2, "transformers": _transformers}


def record(
    source: str,
    output: str | Path,
    options: dict[str, Any] | None = None,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Recorded:
    """Record from a source into a Parquet file.

    Parameters
    ----------
    source : {"ngram", "smollm2", "transformers"}
    output : str or Path
        A name that ends in ``.parquet``.
    options : dict, optional
        Arguments of `simspec.evidence.ngram.record_ngram`, `simspec.evidence.smollm2.record_smollm2` or
        `simspec.evidence.pairs_hf.record_pair`; for ``"ngram"`` ``text`` is the name of a file, and ``rounds`` = κ asks
        for real rounds (`simspec.evidence.ngram.record_ngram_rounds`).  They are written into the file.
    overwrite : bool
        Whether a file of that name may be replaced.
    progress : Progress, optional
        Told what is being done.

    Returns
    -------
    Recorded
        Not finished after Ctrl-C, with the requests that had ended; Ctrl-C before the first of them goes on up.

    Raises
    ------
    ParameterError
        An argument is outside its range, or what the source needs is not installed.
    DatasetError
        The file is there already, or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     own = record("ngram", f"{folder}/trace.parquet", {"requests": 2, "tokens": 8, "shipped": "code"})
    >>> own.requests, own.table.num_rows, own.finished
    (2, 16, True)
    """
    if source not in SOURCES:
        raise ParameterError("source", f"source = {shown(source)} is unknown{did_you_mean(source, SOURCES)}")
    path, given, progress = Path(output), options or {}, progress or Progress(quiet=True)
    _check_output(path, overwrite)
    done: list[pa.Table] = []
    finished = True
    try:
        for table in SOURCES[source](given, progress):
            done.append(table)
    except KeyboardInterrupt:
        if not done:
            raise
        finished = False
    progress.say("writing")
    table = done[0] if len(done) == 1 else joined(done)
    note = {b"simspec": canonical_json({"source": source, "options": given, "finished": finished}).encode()}
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), **note})
    write_table(table, path)
    return Recorded(path, table, finished)


def _check_output(path: Path, overwrite: bool) -> None:
    """Before anything is computed: can the file be written, and may it?"""
    if path.suffix != ".parquet":
        raise ParameterError("output", f"output = {shown(str(path))}; allowed: a name that ends in .parquet")
    make_folder(path.parent)
    try:
        if path.is_dir() or (path.exists() and not overwrite):
            raise DatasetError(f"{path}: is there already; allowed: another -o, or --overwrite to replace a file")
    except OSError as error:
        raise DatasetError(f"{path}: cannot be written ({error.strerror})") from None
