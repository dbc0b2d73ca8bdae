"""How does a dataset live in an object store?  A folder here is worked in; what is finished is copied there, and back.

Every file but the manifest is written once and never changed, so that a copy needs no lock and no rename.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import pyarrow as pa

from simspec.model import DatasetError
from simspec.run import store
from simspec.run.progress import Progress

T = TypeVar("T")
PATIENCE = 300.0
"""Seconds for which a store that does not answer is asked again."""
FIRST_WAIT, LONGEST_WAIT = 0.5, 20.0
_URL = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


def is_remote(place: str | Path | None) -> bool:
    """Whether a place is an address and no folder of this machine.

    Examples
    --------
    >>> is_remote("s3://bucket/quickstart"), is_remote("results/quickstart")
    (True, False)
    """
    return isinstance(place, str) and _URL.match(place) is not None


def shown_url(url: str) -> str:
    """An address without what may be a secret in it.

    Examples
    --------
    >>> shown_url("s3://key:secret@bucket/quickstart?endpoint_override=localhost")
    's3://bucket/quickstart'
    """
    own = urlsplit(url)
    return f"{own.scheme}://{own.netloc.rpartition('@')[2]}{own.path}"


class Mirror:
    """A folder of this machine and its copy in a store.

    Parameters
    ----------
    url : str
        Whatever pyarrow reaches, e.g. ``s3://bucket/quickstart`` or ``gs://…``; else whatever an installed fsspec does.
        Credentials come from the usual places of the store, and are neither written nor shown.
    progress : Progress, optional
        Told in one line while the store does not answer.

    Raises
    ------
    DatasetError
        The address cannot be used.
    """

    def __init__(self, url: str, progress: Progress | None = None) -> None:
        self.name, self._progress = shown_url(url), progress
        self.folder = _home() / hashlib.sha256(url.encode()).hexdigest()[:32]
        self._sent: dict[str, tuple[int, int]] = {}
        try:
            self._store, root = self._patiently(lambda: _file_system(url))
        except (ValueError, ImportError) as error:
            raise DatasetError(f"{self.name}: cannot be used ({_line(error)})") from None
        self._root = root.rstrip("/")

    def pull(self) -> None:
        """Bring what is there and not here; its manifest is the one that counts."""
        there = self._patiently(self._listed)
        for name in sorted(there, key=lambda own: own == store.MANIFEST):
            path = self.folder / name
            if not _WANTED.fullmatch(name) or (path.is_file() and _is_final(path, there[name])):
                continue
            with store.whole(path) as temporary:
                self._patiently(lambda name=name, temporary=temporary: self._get(name, temporary))  # type: ignore[misc]
            self._sent[name] = _state(path)

    def push(self) -> None:
        """Send what is here and not there, the manifest last; remove there what was removed here."""
        here = {path.relative_to(self.folder).as_posix(): path for path in sorted(self.folder.rglob("*"))
                if path.is_file()}  # fmt: skip
        for name in sorted(here, key=lambda own: own == store.MANIFEST):
            state = _state(here[name])
            if _WANTED.fullmatch(name) and self._sent.get(name) != state:
                self._patiently(lambda name=name: self._put(here[name], name))  # type: ignore[misc]
                self._sent[name] = state
        for name in [name for name in self._sent if name not in here]:
            self._patiently(lambda name=name: self._remove(name))  # type: ignore[misc]
            del self._sent[name]

    def _listed(self) -> dict[str, int]:
        import pyarrow.fs as pafs  # starts threads of the AWS library: not for runs that need none

        found = self._store.get_file_info(pafs.FileSelector(self._root, recursive=True, allow_not_found=True))
        return {own.path[len(self._root) + 1 :]: own.size for own in found if own.type == pafs.FileType.File}

    def _get(self, name: str, path: Path) -> None:
        with self._store.open_input_stream(f"{self._root}/{name}") as source, path.open("wb") as target:
            shutil.copyfileobj(source, target, 2**20)

    def _put(self, path: Path, name: str) -> None:
        if "/" in name:  # where folders are real
            self._store.create_dir(f"{self._root}/{name.rpartition('/')[0]}", recursive=True)
        with path.open("rb") as source, self._store.open_output_stream(f"{self._root}/{name}") as target:
            shutil.copyfileobj(source, target, 2**20)

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
            except (PermissionError, FileNotFoundError) as error:
                raise self._failed(error) from None
            except OSError as error:
                if _HOPELESS.search(str(error)) or time.monotonic() - began > PATIENCE:
                    raise self._failed(error) from None
                if self._progress is not None:
                    self._progress.note(f"{self.name}: does not answer ({_line(error)}); asked again in {wait:.1f} s")
            time.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)

    def _failed(self, error: Exception) -> DatasetError:
        return DatasetError(
            f"{self.name}: cannot be reached ({_line(error)}); what was played is kept in {self.folder}, the same "
            "command continues"
        )


_WANTED = re.compile(
    rf"{re.escape(store.MANIFEST)}|played/[0-9a-f]{{32}}\.parquet|({'|'.join(store.SCHEMAS)})/part-[0-9]{{6}}\.parquet"
    r"|rounds/[0-9a-f]{16}-kappa-[0-9]{1,5}\.parquet",
    re.ASCII,
)
"""The files of a dataset; others in the same place are left alone."""
_HOPELESS = re.compile(r"ACCESS_DENIED|NO_SUCH_BUCKET|INVALID_ACCESS_KEY|SIGNATURE_DOES_NOT_MATCH|HTTP status 40[13]")


def _home() -> Path:
    """Where mirrors are kept: beside the compiled kernels."""
    from simspec.kernels.shelf import cache_home

    return cache_home() / "mirrors"


def _file_system(url: str) -> tuple[Any, str]:
    """Of pyarrow if it knows the scheme, else of fsspec."""
    import pyarrow.fs as pafs

    if url.lower().startswith("s3://") and "allow_delayed_open" not in url:  # one request for a small file, not three
        url += ("&" if "?" in url else "?") + "allow_delayed_open=true"
    try:
        return pafs.FileSystem.from_uri(url)  # type: ignore[no-any-return]
    except pa.ArrowInvalid as error:
        if "Unrecognized" not in str(error):
            raise
        from fsspec.core import url_to_fs

        own, root = url_to_fs(url)
        return pafs.PyFileSystem(pafs.FSSpecHandler(own)), root


def _state(path: Path) -> tuple[int, int]:
    own = path.stat()
    return own.st_size, own.st_mtime_ns


def _is_final(path: Path, size: int) -> bool:
    """Whether a file here is the one there: all but the manifest are written once."""
    return path.name != store.MANIFEST and path.stat().st_size == size


def _line(error: Exception) -> str:
    """An error as one short line without addresses that may hold secrets."""
    text = re.sub(r"\S+://\S+", "…", " ".join(str(error).split()))
    return text if len(text) <= 160 else text[:159] + "…"
