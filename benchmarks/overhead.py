"""How long does a point take outside the kernels?  Sweeps of 10,000 points, plan to Parquet, on one thread.

What the compiled kernels spend is taken off the processor time of `simspec.run.sweep.sweep`; start-up is not counted.

python benchmarks/overhead.py [--json]
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numba.core.dispatcher import Dispatcher

from simspec.model import Scenario
from simspec.run.dataset import read
from simspec.run.planning import plan
from simspec.run.sweep import sweep

WINDOWS = 1000
ROUNDS = 3
PRICED = {
    "process": {"type": "iid", "alpha": {"from": 0.0, "to": 0.99, "step": 0.01}},
    "cost": {"c_d": {"from": 0.01, "to": 1.0, "step": 0.01}},
}
SIMULATED = {"process": {"type": "iid", "alpha": {"from": 0.0001, "to": 1.0, "step": 0.0001}}, "cost": {"c_d": 0.1}}
CASES: dict[str, dict[str, Any]] = {
    "100 rates x 100 costs, kappa 4": PRICED | {"kappa": [4]},
    "100 rates x 100 costs, kappa 0 to 16": PRICED,
    "10,000 rates x 1 cost, kappa 4": SIMULATED | {"kappa": [4]},
    "10,000 rates x 1 cost, kappa 0 to 16": SIMULATED,
}


@contextmanager
def kernel_seconds() -> Iterator[Callable[[], float]]:
    """Processor seconds in kernels called from Python, in any module of simspec, while this lasts."""
    spent = [0.0]

    def timed(kernel: Any) -> Any:
        def call(*args: Any) -> Any:
            began = time.thread_time()
            try:
                return kernel(*args)
            finally:
                spent[0] += time.thread_time() - began

        return call

    modules = [module for name, module in sys.modules.items() if name.startswith("simspec.")]
    found = [(m, name, value) for m in modules for name, value in vars(m).items() if isinstance(value, Dispatcher)]
    for module, name, kernel in found:
        setattr(module, name, timed(kernel))
    try:
        yield lambda: spent[0]
    finally:
        for module, name, kernel in found:
            setattr(module, name, kernel)


def measure(case: dict[str, Any], folder: Path) -> dict[str, float]:
    """Microseconds per point: outside kernels, of these the plan; in kernels; and to read and summarise."""
    scenario = Scenario.from_dict({"name": "overhead", "windows": WINDOWS, **case})
    each = 1e6 / scenario.points()
    began = time.process_time()
    plan(Scenario.from_dict(scenario.to_dict()))
    planned = time.process_time() - began
    with kernel_seconds() as kernels:
        wall, began = time.perf_counter(), time.process_time()
        sweep(scenario, folder, threads=1)
        spent, wall = time.process_time() - began, time.perf_counter() - wall
        inside = kernels()
    began = time.process_time()
    read(folder).summary()
    shown = time.process_time() - began
    seconds = {"outside": spent - inside, "plan": planned, "kernels": inside, "wall": wall, "show": shown}
    return {name: value * each for name, value in seconds.items()}


def best() -> dict[str, dict[str, float]]:
    """The fastest of some rounds of every case."""
    out: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        warm = Scenario.from_dict({"name": "warm", "windows": WINDOWS, **PRICED, "cost": {}})
        sweep(warm, Path(folder) / "warm", threads=1)
        for i in range(ROUNDS):
            for j, (name, case) in enumerate(CASES.items()):
                own = measure(case, Path(folder) / f"{i}-{j}")
                out[name] = min(own, out.get(name, own), key=lambda one: one["outside"])
    return out


if __name__ == "__main__":
    figures = best()
    if "--json" in sys.argv[1:]:
        print(json.dumps([{"case": name, **{f"us_{k}": v for k, v in own.items()}} for name, own in figures.items()]))
    else:
        for name, own in figures.items():
            print(f"{name:38}", "  ".join(f"{key} {value:6.1f}" for key, value in own.items()), "us per point")
