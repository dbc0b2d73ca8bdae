"""How does a dataset live in an object store?  A folder here is worked in; what is finished is copied there, and back.

Every file but the manifest is written once and never changed, and the manifest says what the others have to be.  So a
copy needs no lock and no rename, and whatever is broken off, damaged or older than it should be is noticed.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from simspec.model import DatasetError
from simspec.run import address, keeping, store
from simspec.run.count_files import NAME_DIGITS, name_of
from simspec.run.folder import is_mark, keep_counts, locked
from simspec.run.manifest import parsed
from simspec.run.progress import Progress
from simspec.text import clean

T = TypeVar("T")
PATIENCE = 300.0
"""Seconds for which a store that does not answer is asked again."""
FIRST_WAIT, LONGEST_WAIT = 0.5, 20.0
ADDRESS, PULLING = ".address", ".pulling"
_PLAYED = rf"{keeping.FOLDER}/[0-9a-f]{{{NAME_DIGITS}}}\.parquet"
_ROUNDS = r"rounds/[0-9a-f]{16}-kappa-[0-9]{1,5}\.parquet"
_WANTED = re.compile(f"{re.escape(store.MANIFEST)}|{store.PART_NAME}|{_PLAYED}|{_ROUNDS}", re.ASCII)
"""The files of a dataset; others in the same place are left alone."""
_GONE = (-1, -1)


class Mirror:
    """A folder of this machine and its copy in a store.

    Parameters
    ----------
    url : str
        Whatever pyarrow reaches, e.g. ``s3://bucket/quickstart`` or ``gs://…``; else whatever an installed fsspec does.
        Credentials come from the usual places of the store, and are neither written nor shown.
    progress : Progress, optional
        Told in one line while the store does not answer, and of files that are damaged there.

    Raises
    ------
    DatasetError
        The address cannot be used.
    """

    def __init__(self, url: str, progress: Progress | None = None) -> None:
        self.name, self._progress, self.patience = address.checked(url), progress, PATIENCE
        self.folder = home() / hashlib.sha256(self.name.encode()).hexdigest()[:32]
        self._sent: dict[str, tuple[int, int]] = {}
        self._known: set[str] = set()
        self._store, self._root = self._patiently(lambda: address.file_system(self.name))

    def pull(self, reading: bool = False) -> None:
        """Bring what is there and not here.  Its manifest is the one that counts; counts that only we have are kept.

        Parameters
        ----------
        reading : bool
            Bring what is read only, and refuse what is damaged; else that is noted, to be made again.

        Raises
        ------
        DatasetError
            The store fails, or holds no dataset that can be read.
        """
        store.make_folder(self.folder)
        with store.whole(self.folder / ADDRESS) as temporary:  # for people who look into the cache
            temporary.write_text(self.name + "\n", encoding="utf-8")
        with _one_at_a_time(self.folder / PULLING):
            there = self._patiently(self._listed)
            content = self._patiently(self._manifest)
            if content is None:
                if reading:
                    raise DatasetError(f"{self.name}: {self._nothing_there(there)}")
                return
            marks = self._marks(content)
            self._make_room(marks)
            bad = self._missing(there, marks) if reading else []
            for name in sorted(there):
                if self._is_wanted(name, marks, reading) and not self._bring(name, there[name], marks or {}):
                    bad.append(name)
            self._report(bad, reading)
            with store.whole(self.folder / store.MANIFEST) as temporary:
                temporary.write_bytes(content)
            self._sent[store.MANIFEST] = _state(self.folder / store.MANIFEST)

    def push(self) -> None:
        """Send what is here and not there, the manifest last; remove there what was removed here.

        Raises
        ------
        DatasetError
            The store fails, or another run has written there meanwhile.
        """
        self._check_alone()
        here = {path.relative_to(self.folder).as_posix(): path for path in sorted(self.folder.rglob("*"))
                if path.is_file()}  # fmt: skip
        for name in sorted(here, key=lambda own: own == store.MANIFEST):
            state = _state(here[name])
            if _WANTED.fullmatch(name) and self._sent.get(name) != state:
                if name == store.MANIFEST:
                    self._known.add(store.digest(here[name]))
                self._patiently(lambda name=name: self._put(here[name], name))  # type: ignore[misc]
                self._sent[name] = state
        for name in [name for name in self._sent if name not in here]:
            self._patiently(lambda name=name: self._remove(name))  # type: ignore[misc]
            del self._sent[name]

    def _check_alone(self) -> None:
        """Raise `DatasetError` if the manifest there is none that we have read or written: no lock reaches so far."""
        content = self._patiently(self._manifest)
        if content is None or hashlib.sha256(content).hexdigest() in self._known:
            return
        made = parsed(content).get("provenance")
        told = {key: clean(str(own))[:40] for key, own in made.items()} if isinstance(made, dict) else {}
        raise DatasetError(
            f"{self.name}: another run has written there meanwhile (begun on {told.get('host', '?')} at "
            f"{told.get('started', '?')}); allowed: wait until it ends and give the same command again, shards "
            f"(--shard i/n) or another address; what was played is kept in {self.folder}"
        )

    def _listed(self) -> dict[str, int]:
        import pyarrow.fs as pafs

        found = self._store.get_file_info(pafs.FileSelector(self._root, recursive=True, allow_not_found=True))
        cut = len(self._root.strip("/")) + 1
        return {own.path.lstrip("/")[cut:]: own.size for own in found if own.type == pafs.FileType.File}

    def _manifest(self) -> bytes | None:
        """The manifest there; None if there is none."""
        place = f"{self._root}/{store.MANIFEST}"
        if not self._store.get_file_info(place).is_file:
            return None
        with self._store.open_input_stream(place) as source:
            return bytes(source.read())

    def _nothing_there(self, there: dict[str, int]) -> str:
        import pyarrow.fs as pafs

        bucket = self._root.partition("/")[0]
        known = there or not bucket or self._patiently(lambda: self._store.get_file_info(bucket))
        if isinstance(known, pafs.FileInfo) and known.type == pafs.FileType.NotFound:
            return f"there is no bucket {clean(bucket)}"
        return f"holds no simspec dataset (it has no {store.MANIFEST})"

    def _marks(self, content: bytes) -> dict[str, list[Any]] | None:
        """[bytes, SHA-256] of the tables there; None if its manifest is of before there were such."""
        try:
            files = parsed(content).get("files")
        except ValueError as error:
            raise DatasetError(
                f"{self.name}/{store.MANIFEST}: cannot be read ({error}); remove it there to begin anew"
            ) from None
        self._known.add(hashlib.sha256(content).hexdigest())
        if not isinstance(files, dict):
            return None
        return {
            name: own for name, own in files.items() if re.fullmatch(store.PART_NAME, name, re.ASCII) and is_mark(own)
        }

    def _make_room(self, marks: dict[str, list[Any]] | None) -> None:
        """Remove tables here that the manifest there does not name; counts in them are kept among those played."""
        if marks is None:
            return
        try:
            mine = parsed((self.folder / store.MANIFEST).read_bytes()).get("files")
        except (OSError, ValueError):  # there is none, or none that vouches for anything
            mine = None
        for table in store.SCHEMAS:
            for path in sorted((self.folder / table).glob("part-*.parquet")):
                name, own = store.entry(path, self.folder), store.mark(path)
                if marks.get(name) == own:
                    continue
                if table == "tallies" and isinstance(mine, dict) and mine.get(name) == own:
                    keep_counts(self.folder, path, own[1])
                else:
                    path.unlink()

    def _is_wanted(self, name: str, marks: dict[str, list[Any]] | None, reading: bool) -> bool:
        if not _WANTED.fullmatch(name) or name == store.MANIFEST:
            return False
        if name.startswith((keeping.FOLDER, "tallies")) and reading:
            return False
        return marks is None or name in marks or not _is_table(name)

    def _missing(self, there: dict[str, int], marks: dict[str, list[Any]] | None) -> list[str]:
        return [name for name in marks or () if name not in there and not name.startswith("tallies")]

    def _bring(self, name: str, size: int, marks: dict[str, list[Any]]) -> bool:
        """Have a file here as it is there; False if what is there is damaged."""
        path, mark = self.folder / name, marks.get(name)
        if path.is_file() and path.stat().st_size == (mark[0] if mark else size):
            if mark is None or mark[0] == size:  # else the one there is damaged, and replaced by ours
                self._sent[name] = _state(path)
            return True
        try:
            with store.whole(path) as temporary:
                self._patiently(lambda: self._get(name, temporary))
                if not _is_sound(temporary, name, mark):
                    raise _DamagedError
        except _DamagedError:
            self._sent[name] = _GONE  # unless it is made again, the next push removes it there
            return False
        self._sent[name] = _state(path)
        return True

    def _report(self, bad: list[str], reading: bool) -> None:
        if bad and reading:
            raise DatasetError(
                f"{self.name}/{bad[0]}: missing or damaged (not what the manifest says), or written just now; the "
                "command of the run makes it again"
            )
        for name in bad:
            if self._progress is not None:
                self._progress.note(f"{self.name}/{name}: damaged there; made again")

    def _get(self, name: str, path: Path) -> None:
        with self._store.open_input_stream(f"{self._root}/{name}") as source, path.open("wb", 0) as target:
            while block := source.read(2**20):
                with store.cannot_write(path):  # a full disk here is no fault of the store
                    target.write(block)

    def _put(self, path: Path, name: str) -> None:
        place = f"{self._root}/{name}"
        if "/" in place and self._store.type_name not in _FLAT:
            self._store.create_dir(place.rpartition("/")[0], recursive=True)
        # object stores have a file whole or not at all; elsewhere one that is replaced would be half there for a while
        replaced = name == store.MANIFEST and self._store.type_name in _RENAMING
        written = f"{self._root}/.{name}{store.TEMPORARY}" if replaced else place
        with path.open("rb") as source, self._store.open_output_stream(written) as target:
            shutil.copyfileobj(source, target, 2**20)
        if replaced:
            self._store.move(written, place)

    def _remove(self, name: str) -> None:
        if self._store.get_file_info(f"{self._root}/{name}").is_file:
            self._store.delete_file(f"{self._root}/{name}")

    def _patiently(self, do: Callable[[], T]) -> T:
        """Ask again while the store fails, for some minutes.

        Raises
        ------
        DatasetError
            It failed all the time, or says that it never will do it.
        """
        began, wait = time.monotonic(), FIRST_WAIT
        while True:
            try:
                return do()
            except Exception as error:
                if not address.is_of_a_store(error):
                    raise
                hopeless = address.is_hopeless(error)
                if hopeless or time.monotonic() - began >= self.patience:
                    raise self._failed(error, "used" if hopeless else "reached") from None
                if self._progress is not None:
                    told = f"does not answer ({address.line(error)}); asked again in {wait:.1f} s"
                    self._progress.note(f"{self.name}: {told}")
            time.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)

    def _failed(self, error: Exception, what: str) -> DatasetError:
        kept = f"; what was played is kept in {self.folder}, the same command continues"
        return DatasetError(
            f"{self.name}: cannot be {what} ({address.line(error)}){address.advice(error)}"
            f"{kept if next(self.folder.glob('*/*.parquet'), None) else ''}"
        )


_RENAMING = ("local", "hdfs")
"""Where a file that is written is seen before it is whole, and renaming replaces one at once."""
_FLAT = ("s3", "gcs", "abfs")
"""Stores of pyarrow in which there are no folders to be made."""


class _DamagedError(Exception):
    """A file there is not what its name or the manifest says."""


def home() -> Path:
    """Where mirrors are kept: beside the compiled kernels."""
    from simspec.kernels.shelf import cache_home

    try:
        return cache_home() / "mirrors"
    except RuntimeError:  # a user without a home folder
        raise DatasetError("an address needs a folder to work in; set SIMSPEC_CACHE_DIR to one") from None


@contextlib.contextmanager
def mirrored(place: str | Path | None, progress: Progress | None = None) -> Iterator[Mirror | None]:
    """A mirror to work in, as the store has it now, for one run of this machine at a time; None if a place is a folder.

    Raises
    ------
    DatasetError
        The store cannot be used, or a run is at work here; errors of the folder name the address too.
    """
    if not address.is_remote(place):
        yield None
        return
    if progress is not None:
        progress.say("asking the object store")
    mirror = Mirror(str(place), progress)
    store.make_folder(mirror.folder)
    with _named(mirror), locked(mirror.folder):
        mirror.pull()
        yield mirror


def fetched(url: str) -> Mirror:
    """A mirror to be read; while a run is at work in it, it is ahead of the store and taken as it is.

    Raises
    ------
    DatasetError
        The store cannot be used, or holds no dataset.
    """
    mirror = Mirror(url)
    store.make_folder(mirror.folder)
    if not (_is_busy(mirror.folder) and (mirror.folder / store.MANIFEST).is_file()):
        mirror.pull(reading=True)
    return mirror


@contextlib.contextmanager
def _named(mirror: Mirror) -> Iterator[None]:
    try:
        yield
    except DatasetError as error:
        text = str(error)
        if not text.startswith(str(mirror.folder)):
            raise
        raise DatasetError(f"{mirror.name}, in {text}") from None


def _is_busy(folder: Path) -> bool:
    try:
        with locked(folder):
            return False
    except DatasetError:
        return True


@contextlib.contextmanager
def _one_at_a_time(path: Path) -> Iterator[None]:
    """Two readers do not replace the same files at once; it takes as long as a download."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with path.open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _is_table(name: str) -> bool:
    return re.fullmatch(store.PART_NAME, name, re.ASCII) is not None


def _state(path: Path) -> tuple[int, int]:
    own = path.stat()
    return own.st_size, own.st_mtime_ns


def _is_sound(path: Path, name: str, mark: list[Any] | None) -> bool:
    if mark is not None:
        return store.mark(path) == mark
    return not name.startswith(f"{keeping.FOLDER}/") or name_of(store.digest(path)) == Path(name).name
