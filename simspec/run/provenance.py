"""Where and when was something computed?  The volatile part of a manifest; never part of a data file."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
import time
from typing import Any

LIBRARIES = ("numpy", "numba", "llvmlite", "pandas", "pyarrow", "scipy", "pydantic")


def provenance() -> dict[str, Any]:
    """Versions, machine and command of this process."""
    return {
        "simspec": importlib.metadata.version("simspec"),
        "python": platform.python_version(),
        "libraries": {name: importlib.metadata.version(name) for name in LIBRARIES},
        "machine": platform.machine(),
        "system": platform.platform(),
        "processors": os.cpu_count(),
        "host": platform.node(),
        "command": sys.argv,
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }
