"""Where does compiled code wait for the next process?  On a shelf that cannot serve stale, foreign or broken code.

numba's own cache keys a function by its own file: when an imported helper changes it serves the old machine code (numba
issue 1833).  Its index is read, changed and written back without a lock, so two processes can make one entry point at
the other's code; and a truncated file ends the program.  Here

* the folder is named by a hash of all kernel sources and of the versions that made the code;
* one file holds one function for one signature on one CPU.  It says so itself, bears a checksum, and appears whole;
* whatever cannot be read is compiled anew; what cannot be written is said once.

``SIMSPEC_CACHE_DIR`` names another place than the user's cache folder.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import os
import pickle
import platform
import re
import sys
import time
import uuid
import warnings
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

KEPT_DAYS = 30
"""Folders of other versions go after so many days without use."""

_SUFFIX = ".kernel"
_FOLDER = re.compile(r"kernels-[0-9a-f]{16}")
_SHAPING = ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "ENABLE_AVX")
"""Settings of numba (``NUMBA_OPT`` …) that change the code and are not in the signature."""


def cache_home() -> Path:
    """The folder of all shelves: ``SIMSPEC_CACHE_DIR``, or ``simspec`` in the user's cache folder.

    Raises
    ------
    RuntimeError
        The user has no home folder.
    """
    if os.environ.get("SIMSPEC_CACHE_DIR"):
        return Path(os.environ["SIMSPEC_CACHE_DIR"])
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "simspec"


def fingerprint() -> str:
    """Hash of what makes the code of every kernel: all sources of this room, and the versions of the compiler."""
    hashed = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        hashed.update(source.name.encode() + b"\0" + source.read_bytes())
    versions = (numba.__version__, llvmlite.__version__, sys.version, platform.machine())
    hashed.update(repr(versions).encode())
    return hashed.hexdigest()[:16]


class Shelf:
    """A folder of checksummed files that appear whole; it never raises, and says once when it cannot be written.

    Parameters
    ----------
    folder : Path or None
        None if there is no place for one.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._writes = True
        self._used = False

    def get(self, name: str) -> bytes | None:
        """What was put under ``name``; None if there is nothing, or nothing whole."""
        if self.folder is None:
            return None
        try:
            whole = (self.folder / name).read_bytes()
        except OSError:
            return None
        content = whole[32:]
        if hashlib.sha256(content).digest() != whole[:32]:
            return None
        self._mark_used()
        return content

    def put(self, name: str, content: bytes) -> None:
        """Keep ``content`` under ``name``, replacing what is there."""
        if not self._writes:
            return
        try:
            if self.folder is None:
                raise OSError("there is no home folder")
            if not self.folder.is_dir():
                self.folder.mkdir(parents=True, exist_ok=True)
                clear_old(self.folder)
            _write_whole(self.folder / name, hashlib.sha256(content).digest() + content)
        except OSError as error:
            self._writes = False
            where = "" if self.folder is None else f" ({self.folder})"
            warnings.warn(
                f"the kernel cache{where} cannot be written ({error.strerror or error}), so kernels are compiled anew "
                "in every process; set SIMSPEC_CACHE_DIR to a writable folder",
                RuntimeWarning,
                stacklevel=2,
            )

    def _mark_used(self) -> None:
        """Set the folder's date, by which `clear_old` of another version goes; once a process, and once a day."""
        if self._used or self.folder is None:
            return
        self._used = True
        with contextlib.suppress(OSError):
            if time.time() - self.folder.stat().st_mtime > 86_400:
                os.utime(self.folder)


def _write_whole(path: Path, content: bytes) -> None:
    temporary = path.with_name(f"{path.stem}.{uuid.uuid4().hex}.tmp")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def clear_old(own: Path, days: float = KEPT_DAYS) -> None:
    """Remove the shelves beside ``own`` that were not used for ``days`` days; only files a shelf writes, never raising.

    A process that still uses such a shelf compiles anew.
    """
    oldest = time.time() - days * 86_400
    with contextlib.suppress(OSError):
        for folder in own.parent.iterdir():
            if folder == own or not _FOLDER.fullmatch(folder.name) or folder.is_symlink():
                continue
            with contextlib.suppress(OSError):
                if folder.stat().st_mtime < oldest:
                    for file in folder.iterdir():
                        if file.suffix in (_SUFFIX, ".tmp"):
                            file.unlink()
                    folder.rmdir()


@functools.cache
def shelf() -> Shelf:
    """The shelf of this process."""
    try:
        return Shelf(cache_home() / f"kernels-{fingerprint()}")
    except (OSError, RuntimeError):
        return Shelf(None)


@functools.cache
def _source_hash(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


@functools.cache
def _skip_blas_probe() -> None:
    """Let numba load its array functions without importing scipy.linalg, a fifth of a small run's time.

    ``numba.np.arraymath`` tries the import only to know whether a BLAS is there; whoever calls one imports it again.
    The answer is filled in from whether scipy is installed.  A numba built otherwise keeps its own way.
    """
    if "scipy.linalg" in sys.modules or "numba.np.arraymath" in sys.modules:
        return
    try:
        from numba.np import linalg

        probe = linalg.ensure_blas
    except (ImportError, AttributeError):
        return

    def absent() -> None:
        raise ImportError

    linalg.ensure_blas = absent
    try:
        from numba.np import arraymath
    finally:
        linalg.ensure_blas = probe
    vars(arraymath).update(ensure_blas=probe, _HAVE_BLAS=importlib.util.find_spec("scipy") is not None)


class KernelCache(NullCache):
    """What a numba dispatcher asks before it compiles, and tells afterwards.

    Parameters
    ----------
    function : callable
        The plain Python function.
    """

    def __init__(self, function: Any) -> None:
        code = function.__code__
        cells = tuple(_named(cell.cell_contents) for cell in function.__closure__ or ())
        where = (function.__module__, function.__qualname__, code.co_firstlineno, _source_hash(code.co_filename))
        closed_over = hashlib.sha256(dumps(cells)).hexdigest() if cells else ""
        settings = tuple(getattr(numba.config, name, None) for name in _SHAPING)
        self._name = re.sub(r"\W+", "_", function.__qualname__)
        self._function = (*where, closed_over, settings)

    @property
    def cache_path(self) -> str:
        """Shown by ``dispatcher.stats``."""
        return str(shelf().folder)

    def _address(self, signature: Any, codegen: Any) -> tuple[str, Any]:
        """File name and full key; the latter is in the file too, and compared."""
        key = (self._function, signature, codegen.magic_tuple())  # the tuple names CPU and instruction sets
        return f"{self._name}-{hashlib.sha256(repr(key).encode()).hexdigest()[:20]}{_SUFFIX}", key

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code for one signature, ready to call; None if it is to be compiled."""
        _skip_blas_probe()
        target_context.refresh()  # the types a stored result refers to
        name, key = self._address(sig, target_context.codegen())
        content = shelf().get(name)
        if content is None:
            return None
        try:
            stored_key, reduced = pickle.loads(content)
            return CompileResult._rebuild(target_context, *reduced) if stored_key == key else None
        except Exception:  # whole and yet unusable: compile, and replace it
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled for one signature."""
        if data.library.has_dynamic_globals or any(not lifted.can_cache for lifted in data.lifted):
            return  # refers to addresses of this process
        name, key = self._address(sig, data.codegen)
        shelf().put(name, dumps((key, data._reduce())))


def _named(cell: Any) -> Any:
    """What a function closes over, as its key shows it: a compiled function by its own key, the same in every process.

    Raises
    ------
    OSError
        It is a compiled function that is not kept.
    """
    cache = getattr(cell, "_cache", None)
    if isinstance(cache, KernelCache):
        return cache._function
    if isinstance(cache, NullCache):
        raise OSError("its source is no file")
    return cell


def keep(dispatcher: Any) -> Any:
    """Give a dispatcher its shelf; unchanged where its source, or that of what it calls, is no file, as at a prompt."""
    with contextlib.suppress(OSError):
        dispatcher._cache = KernelCache(dispatcher.py_func)
    return dispatcher
