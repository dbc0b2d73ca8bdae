"""Where and when was something computed?  The volatile part of a manifest; never part of a data file."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import platform
import sys
import time
from typing import Any

LIBRARIES = ("numpy", "numba", "llvmlite", "pandas", "pyarrow", "scipy", "pydantic")


@functools.cache
def _versions() -> dict[str, str]:
    """Read once: reading them takes as long as a small run."""
    return {name: importlib.metadata.version(name) for name in LIBRARIES}


def provenance() -> dict[str, Any]:
    """Versions, machine and command of this process."""
    return {
        "simspec": importlib.metadata.version("simspec"),
        "python": platform.python_version(),
        "libraries": dict(_versions()),
        "machine": platform.machine(),
        "system": platform.platform(),
        "processors": os.cpu_count(),
        "host": platform.node(),
        "command": sys.argv,
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }
