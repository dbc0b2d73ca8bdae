"""What was played already?  Files of counts, each named by its own content: whole, or not there; never changed."""

from __future__ import annotations

import functools
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from simspec.kernels.tally import Folded, Tally
from simspec.kernels.words import LANES, STREAM_VERSION
from simspec.model import DatasetError, Scenario
from simspec.model.identity import canonical_json
from simspec.run.count_files import KEY, At, Rows, fewer, held, is_whole, write
from simspec.run.dispatch import Work
from simspec.run.engine import Job
from simspec.run.played import Played, Stretch, arrays_in, played_of, stretch_of, tally_from
from simspec.run.progress import Progress
from simspec.text import clean

FOLDER = "played"
FLUSH_SECONDS, FLUSH_SHARE, FLUSH_BYTES = 10.0, 0.02, 2**24
"""What was played is written when it took longer than this and than this share of the run, or is larger than that."""


class Kept:
    """The counts kept in a folder.

    Parameters
    ----------
    folder : Path
        Of the dataset; the files are in ``played`` below it.
    others : iterable of Path
        More files of this kind, e.g. finished tables of an earlier run.
    progress : Progress, optional
        Told of files that are damaged; they are removed, and what they held is played again.
    written : callable, optional
        Called when something was written, to copy it elsewhere.
    run : str
        What `run_of` says of the scenario; counts of another one are left alone.  Without, all are taken as they are.
    again : bool
        Whether what is kept from now on may be asked for once it is flushed, as a run does that stops by itself.
    """

    def __init__(
        self, folder: Path, others: Iterable[Path] = (), progress: Progress | None = None,
        written: Callable[[], None] = lambda: None, run: str = "", again: bool = False,
    ) -> None:  # fmt: skip
        self.folder, self._progress, self.written = folder / FOLDER, progress, written
        self._run, self._again = run, again
        self._index: dict[tuple[str, int], list[At]] = defaultdict(list)
        self._rows = Rows()
        self._new: list[Played] = []
        self._bytes = 0
        self._began = self._flushed = time.monotonic()
        self._foreign: set[Path] = set()
        for path in self.files():
            if self._is_sound(path) and not self._is_own(path):
                self._foreign.add(path)
        self._make_fewer()
        for path in [*self._own(), *others]:
            self._add(path)

    @property
    def simulations(self) -> set[str]:
        """Ids of which something is kept."""
        return {simulation for simulation, _ in self._index}

    def files(self) -> list[Path]:
        """The files of this folder by name, which is their content."""
        return sorted(self.folder.glob("*.parquet"))

    def _is_sound(self, path: Path) -> bool:
        try:
            if is_whole(path):
                return True
            path.unlink()
        except OSError as error:
            raise DatasetError(f"{path}: cannot be used ({error.strerror or error})") from None
        if self._progress is not None:
            self._progress.note(f"{path}: damaged (its content is not what its name says); played again")
        return False

    def _is_own(self, path: Path) -> bool:
        """Whether counts are of this run: simulations of another seed have the same ids."""
        note = _note(path) if self._run else ""
        if note == self._run:
            return True
        if self._progress is not None:
            self._progress.note(f"{path}: of another run ({clean(note) or 'it does not say of which'}); left alone")
        return False

    def _add(self, path: Path) -> None:
        for at in held(path):
            self._index[at.stretch.simulation, at.stretch.kappa].append(at)

    def split(self, job: Job) -> list[Work]:
        """The work of a job: what is kept of it, and what is still to be played, as a difference of chunk numbers."""
        pieces, works = job.pieces(), list[Work]()
        lacking: dict[range, list[int]] = defaultdict(list)
        for kappa in job.tracks:
            kept = self._usable(job, kappa)
            works += [Work(at.stretch.range, (kappa,), functools.partial(self._counts, job, at)) for at in kept]
            for chunks in _without(pieces, [at.stretch.range for at in kept]):
                lacking[chunks].append(kappa)
        alone = job.tracks != job.kappas  # all κ are played at once
        works.sort(key=lambda work: work.chunks.start)  # as they were played, and so as they are kept
        return works + [Work(chunks, job.kappas if alone else tuple(own)) for chunks, own in lacking.items()]

    def _usable(self, job: Job, kappa: int) -> list[At]:
        """Kept stretches of the very chunks that are asked for, none of which overlap."""
        found, end = list[At](), 0
        kept = self._index.get((job.simulation.id, kappa), [])
        for at in sorted(kept, key=lambda at: (at.stretch.first, -at.stretch.chunks)):
            chunks = at.stretch.range
            if chunks.start >= end and _is_of(job, at.stretch):
                found.append(at)
                end = chunks.stop
        return found

    def _counts(self, job: Job, at: At) -> Sequence[Tally]:
        """Read one stretch."""
        try:
            own = tally_from(job, at.stretch.kappa, arrays_in(self._rows.of(at.path, at.rows)))
        except (TypeError, ValueError) as error:  # whole by its name, and still none of ours
            raise DatasetError(f"{at.path}: holds counts of another form ({error}); remove it to go on") from None
        return own if isinstance(own, Folded) else [own]

    def keep(self, job: Job, chunks: range, outcome: Sequence[Tally]) -> None:
        """Keep what was just played, on disk before long."""
        new = played_of(job, chunks, outcome)
        self._new += new
        self._bytes += sum(own.bytes for own in new)
        now = time.monotonic()
        patience = max(FLUSH_SECONDS, FLUSH_SHARE * (now - self._began))
        if now - self._flushed > patience or self._bytes > FLUSH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what is not on disk yet."""
        if self._new:
            path = write(self.folder, self._new, self._run)
            if self._again:
                self._add(path)
            self._make_fewer()
            self.written()
        self.forget()

    def _own(self) -> list[Path]:
        """The files of this run."""
        return [path for path in self.files() if path not in self._foreign]

    def _make_fewer(self) -> None:
        if self._run:
            self._rows.moved |= fewer(self.folder, self._own(), self._run)

    def forget(self) -> None:
        """Drop what is not on disk yet: a finished table holds it."""
        self._new, self._bytes, self._flushed = [], 0, time.monotonic()

    def tidy(self, finished: Iterable[Path]) -> None:
        """Remove the files of which finished tables hold everything; those of other points stay."""
        inside: dict[tuple[str, int], list[Stretch]] = defaultdict(list)
        for at in (at for path in finished for at in held(path)):
            inside[at.stretch.simulation, at.stretch.kappa].append(at.stretch)
        for path in self._own():
            own = [at.stretch for at in held(path)]
            if all(_is_in(inside.get((stretch.simulation, stretch.kappa), []), stretch) for stretch in own):
                path.unlink()
        with suppress(OSError):  # other points are kept there
            self.folder.rmdir()


def run_of(scenario: Scenario) -> str:
    """What counts of the same simulation have to have in common, to stand beside each other."""
    return _run(scenario.seed, scenario.method, STREAM_VERSION)


def _run(seed: Any, method: Any, stream: Any) -> str:
    return canonical_json({"seed": seed, "method": method, "stream_version": stream})


def _note(path: Path) -> str:
    """The same of a file; ``""`` if it does not say.

    Raises
    ------
    DatasetError
        It is no file of counts.
    """
    try:
        found = (pq.read_schema(path).metadata or {}).get(KEY)
        note = json.loads(found) if found else {}
        own = note.get("scenario", note)  # a finished table tells its whole scenario
        return _run(own["seed"], own["method"], note["stream_version"])
    except (AttributeError, KeyError, RecursionError, TypeError):
        return ""
    except (OSError, ValueError) as error:
        raise DatasetError(f"{path}: holds no counts of simspec ({error}); remove it to go on") from None


def _is_of(job: Job, own: Stretch) -> bool:
    """Whether a stretch is among what a job asks for."""
    inside = own.range.stop <= job.layout.chunks and not any(own.first < cut < own.range.stop for cut in job.cuts)
    return inside and own == stretch_of(job, own.kappa, own.range)


def _is_in(whole: Sequence[Stretch], own: Stretch) -> bool:
    """Whether a stretch is part of successive ones from the first chunk on; only the last chunk has fewer lanes."""
    chunks, lanes = (sum(getattr(stretch, name) for stretch in whole) for name in ("chunks", "lanes"))
    left = lanes - LANES * own.first if own.range.stop == chunks else LANES * own.chunks
    alike = all(one.length == own.length for one in whole if one.first < own.range.stop and own.first < one.range.stop)
    return own.range.stop <= chunks and alike and own.lanes == left


def _without(pieces: Sequence[range], kept: Sequence[range]) -> Iterator[range]:
    """What the kept ranges, which ascend, leave of each piece.

    Examples
    --------
    >>> list(_without([range(0, 4), range(4, 8)], [range(1, 2), range(3, 8)]))
    [range(0, 1), range(2, 3)]
    """
    for piece in pieces:
        start = piece.start
        for own in kept:
            if own.stop > start and own.start < piece.stop:
                if own.start > start:
                    yield range(start, own.start)
                start = own.stop
        if start < piece.stop:
            yield range(start, piece.stop)
