"""One revision's side of `compare.py`: times the arms it is told to, in a process where that revision is installed.

Reads one JSON list per line from stdin and answers with one JSON value per line:
``["build", arm]`` → null or the reason why this revision cannot; ``["size", arm]`` → windows of a sample;
``["warm", arm, windows]`` → null; ``["sample", arm, windows]`` → [nanoseconds per window, whether it is clean].
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import arms
from timing import Arm, Play, sample, size_of

COMPARE_SECONDS = 0.025

_built: dict[str, Play] = {}


def answer(what: str, name: str, windows: int = 0) -> Any:
    """Carry out one request."""
    if what == "build":
        return build(name)
    if what == "size":
        return size_of(Arm(_built[name], arms.first_try(name), seconds=COMPARE_SECONDS))
    if what == "warm":
        _built[name](windows)
        return None
    return sample(_built[name], windows)


def build(name: str) -> str | None:
    """Make an arm and play it once; the reason if this revision cannot."""
    try:
        _built[name] = arms.player(name)
        _built[name](arms.first_try(name))
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return None


def main(folder: str) -> None:
    """Serve until stdin ends; answers go to the real stdout, whatever simspec may print."""
    replies, sys.stdout = sys.stdout, sys.stderr
    try:
        import simspec

        found = Path(str(simspec.__file__)).resolve().parents[1]
        reason = "" if found == Path(folder).resolve() else f"simspec comes from {found}, not from {folder}"
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
    print(json.dumps(reason), file=replies, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(*json.loads(line))), file=replies, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
