"""Measured rounds, or measured acceptance at every output position, replayed request by request."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, PrivateAttr, model_validator

from simspec.model.errors import ParameterError, did_you_mean, shown
from simspec.model.process import Process, Processes

Cell = str | int | float | bool
LONGEST_DRAFT = 10_000
FORMATS = (".parquet", ".csv", ".jsonl", ".ndjson")
SHIPPED = "shipped:"
SHIPPED_FILES = {"smollm2": "smollm2_dense_alpha.parquet", "smollm2_windows": "smollm2_windows_k8.parquet"}
"""Name behind ``shipped:`` → file of the package; columns and origin are in the README.md beside them."""


def file_of(path: str) -> str:
    """The file behind a path: itself, or the one of the package that ``shipped:name`` means.

    Examples
    --------
    >>> file_of("rounds.csv"), Path(file_of("shipped:smollm2")).name
    ('rounds.csv', 'smollm2_dense_alpha.parquet')
    """
    if not path.startswith(SHIPPED):
        return path
    name = path.removeprefix(SHIPPED)
    if name not in SHIPPED_FILES:
        near = did_you_mean(name, SHIPPED_FILES)
        raise ParameterError("path", f"path = {shown(path)}: no trace of that name is shipped{near}")
    return str(Path(__file__).parents[1] / "evidence" / "data" / SHIPPED_FILES[name])


def content_hash(path: str) -> str:
    """SHA-256 of a file as it is now; raises `ParameterError` for ``path`` if it cannot be read."""
    path = file_of(path)
    try:
        found = Path(path).stat()
        return _hash(path, found.st_mtime_ns, found.st_size)
    except (OSError, ValueError) as error:  # ValueError: a name no file system takes
        raise ParameterError("path", f"path = {shown(path)}: cannot be read ({error})") from None


@functools.lru_cache(maxsize=256)
def _hash(path: str, _modified: int, _size: int) -> str:
    import hashlib

    hashed = hashlib.sha256()
    with Path(path).open("rb") as handle:
        while piece := handle.read(2**20):
            hashed.update(piece)
    return hashed.hexdigest()


@Processes.add
class Trace(Process):
    """Replay of a file: rounds as measured, or a dense trace at any κ.  Identity is the content, not the path.

    Parameters
    ----------
    path : str
        CSV, Parquet or JSON lines; relative to the scenario file, else to the working folder.  ``shipped:smollm2`` and
        ``shipped:smollm2_windows`` are the files that come with the package.
    accepted : str
        Column with the accepted length of each round (one row per round), or a list of them (one row per request).
    bonus_included : bool
        Whether that length counts the bonus or corrected token.  Never guessed: required with ``accepted``.
    drafted : int or str
        Drafts per round: a number, or the column that holds them.  A κ above what was drafted is an error.
    alpha : str
        Instead of ``accepted``: column with the chance of acceptance at each output position, one row per position in
        order.  Such a dense trace replays at any κ: in a round that starts after i tokens draft j meets row i + j − 1.
    request : str or list of str
        Column(s) that tell requests apart; may be left out where each row holds the list of one request.
    where : table
        Rows to keep: column = value.
    sha256 : str
        Expected content hash; an error if the file differs.

    Notes
    -----
    Every request is replayed equally often and errors cluster by request, so correlation inside a request survives and
    more windows do not pretend to be more requests.
    """

    type: Literal["trace"] = "trace"
    path: str = Field(description="the trace file")
    accepted: str | None = Field(default=None, description="the column of accepted lengths")
    bonus_included: bool | None = Field(default=None, description="true or false")
    drafted: int | str | None = Field(default=None, description="drafts per round, or their column")
    alpha: str | None = Field(default=None, description="the column of acceptance chances")
    request: str | tuple[str, ...] | None = Field(default=None, description="the column(s) that tell requests apart")
    where: dict[str, Cell] | None = Field(default=None, description="rows to keep: column = value")
    truncate: bool = True
    sha256: str | None = Field(default=None, description="expected content hash")
    _content: str = PrivateAttr(default="")

    @model_validator(mode="after")
    def _fits(self) -> Trace:
        if (self.accepted is None) == (self.alpha is None):
            raise ParameterError("accepted", "give either accepted (rounds) or alpha (a dense trace)")
        if self.accepted is not None and self.bonus_included is None:
            raise ParameterError(
                "bonus_included",
                "bonus_included is missing: say whether the accepted lengths count the bonus token (true or false)",
            )
        if self.accepted is not None and self.drafted is None:
            raise ParameterError("drafted", "drafted is missing: the number of drafts per round, or their column")
        for key in ("bonus_included", "drafted") if self.alpha is not None else ():
            if getattr(self, key) is not None:
                raise ParameterError(key, f"{key} has no meaning for a dense trace; leave it out")
        if isinstance(self.drafted, int) and not 1 <= self.drafted <= LONGEST_DRAFT:
            raise ParameterError("drafted", f"drafted = {self.drafted} is out of range; allowed: 1 to {LONGEST_DRAFT}")
        if self.alpha is not None and self.request is None:
            raise ParameterError("request", "request is missing: the column(s) that tell requests apart")
        if not file_of(self.path).endswith(FORMATS):
            raise ParameterError("path", f"path = {self.path!r} is of unknown form; allowed: {', '.join(FORMATS)}")
        found = content_hash(self.path)
        if self.sha256 is not None and self.sha256 != found:
            raise ParameterError("sha256", f"sha256: {self.path} has {found[:12]}…, not {self.sha256[:12]}…")
        self._content = found
        return self

    def check_content(self) -> None:
        """Raise `ParameterError` if the file is not the one that was asked about, on another machine or by now."""
        found = content_hash(self.path)
        if found != self._content:
            told = f"{self.path} has SHA-256 {found[:12]}…, and {self._content[:12]}… was asked for"
            raise ParameterError("path", f"{told}; allowed: the same file for every worker, unchanged while it plays")

    @property
    def dense(self) -> bool:
        """Whether every output position has a chance of acceptance."""
        return self.alpha is not None

    @property
    def requests_by(self) -> tuple[str, ...]:
        """The columns that tell requests apart."""
        if self.request is None:
            return ()
        return (self.request,) if isinstance(self.request, str) else self.request

    @property
    def unit(self) -> str:
        return "generation"

    @property
    def methods(self) -> tuple[str, ...]:
        return ("simulate",)

    def identity(self) -> dict[str, Any]:
        own = {key: value for key, value in super().identity().items() if value is not None and key != "path"}
        if not self.dense:
            del own["truncate"]
        return own | {"sha256": content_hash(self.path)}

    def parameters(self) -> dict[str, Any]:
        own = {key: value for key, value in self.identity().items() if key not in ("type", "sha256")}
        return {
            "file": Path(file_of(self.path)).name,
            **own,
        }  # not the path: the numbers do not depend on where it lies
