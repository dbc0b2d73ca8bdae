"""How long until the first answer?  Whole processes, interleaved, best of several; and all kernels compiled anew.

python benchmarks/startup.py [--json] [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON = [sys.executable]
SIMSPEC = [sys.executable, "-m", "simspec"]
QUICKSTART = str(ROOT / "scenarios" / "quickstart.toml")
COMPILE = "from simspec.kernels.entries import entry_points; [ready() for _, ready in entry_points()]"
GOALS = {"help": ("numpy", 2.0), "exact": ("numpy", 2.0), "run": ("numba", 2.5)}
"""Command → (import it is held against, most it may take of that)."""
COLD_SECONDS = 30.0


def commands(folder: str, number: int) -> dict[str, list[str]]:
    """What is timed; each run writes into a new folder."""
    return {
        "numpy": [*PYTHON, "-c", "import numpy"],
        "numba": [*PYTHON, "-c", "import numba"],
        "help": [*SIMSPEC, "--help"],
        "exact": [*SIMSPEC, "exact", "--alpha", "0.7", "--draft-cost", "0.1"],
        "run": [*SIMSPEC, "run", QUICKSTART, "--quiet", "-o", f"{folder}/{number}"],
    }


def seconds(command: list[str], environment: dict[str, str] | None = None) -> float:
    """Wall time of a process that must succeed."""
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment, cwd=ROOT)
    return time.perf_counter() - began


def measure(rounds: int) -> dict[str, float]:
    """Best seconds by command, one warm-up round excluded, and "cold": every kernel compiled into an empty cache.

    Bytecode is written even where the environment says otherwise, as it is for an installed package.
    """
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    best: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        environment["PYTHONPYCACHEPREFIX"] = f"{folder}/bytecode"
        for number in range(rounds + 1):
            todo = list(commands(folder, number).items())
            for name, command in random.Random(number).sample(todo, len(todo)):
                spent = seconds(command, environment)
                if number:
                    best[name] = min(spent, best.get(name, spent))
        best["cold"] = seconds([*PYTHON, "-c", COMPILE], environment | {"SIMSPEC_CACHE_DIR": f"{folder}/cache"})
    return best


def report(best: dict[str, float]) -> list[dict[str, object]]:
    """One row per command with a goal."""
    rows: list[dict[str, object]] = []
    for name, (base, most) in GOALS.items():
        ratio = best[name] / best[base]
        rows.append({"line": "7", "arm": name, "peer": f"import {base}", "seconds": best[name], "ratio": ratio,
                     "goal": f"≤ {most}", "met": ratio <= most})  # fmt: skip
    cold = best["cold"]
    return [*rows, {"line": "7", "arm": "cold compile of all kernels", "peer": None, "seconds": cold, "ratio": None,
                    "goal": f"≤ {COLD_SECONDS} s", "met": cold <= COLD_SECONDS}]  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON (default: text)")
    parser.add_argument("--rounds", type=int, default=12, help="interleaved rounds (default 12)")
    arguments = parser.parse_args()
    found = report(measure(arguments.rounds))
    if arguments.json:
        print(json.dumps(found, indent=1, ensure_ascii=False))
    else:
        for row in found:
            ratio = "" if row["ratio"] is None else f"{row['ratio']:5.2f} x {row['peer']}"
            verdict = "met" if row["met"] else "missed"
            print(f"{row['arm']:28} {row['seconds']:7.3f} s  {ratio:22} {row['goal']:8} {verdict}")
