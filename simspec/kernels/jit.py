"""How are kernels compiled?  One place for the flags, and a cache that cannot serve stale code.

numba keys its on-disk cache by the file of the jitted function only: when an imported helper changes it serves the old
machine code (numba issue 1833).  The cache folder is therefore named by a hash of all kernel sources and of the
versions that produced the code.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite
import numba


def _cache_home() -> Path:
    if "SIMSPEC_CACHE_DIR" in os.environ:
        return Path(os.environ["SIMSPEC_CACHE_DIR"])
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "simspec"


def _fingerprint() -> str:
    hashed = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        hashed.update(source.name.encode() + b"\0" + source.read_bytes())
    versions = (numba.__version__, llvmlite.__version__, sys.version, platform.machine(), platform.processor())
    hashed.update(repr(versions).encode())
    return hashed.hexdigest()[:16]


def _use_own_cache() -> bool:
    folder = Path()
    try:
        folder = _cache_home() / _fingerprint()
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK)
    except (OSError, RuntimeError):  # RuntimeError: there is no home folder
        writable = False
    if not writable:
        warnings.warn(
            f"the kernel cache ({folder}) cannot be written, so kernels are compiled anew in every process; "
            "set SIMSPEC_CACHE_DIR to a writable folder",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    numba.config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
    return True


_CACHED = _use_own_cache()


def njit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile without the GIL, serially and without fast-math; cached on disk where that is possible."""
    return numba.njit(nogil=True, cache=_CACHED, error_model="numpy")(function)
