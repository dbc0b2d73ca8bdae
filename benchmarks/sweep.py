"""What do 100,000 points cost?  Planning, playing, going on after a stop, and reading back; seconds, memory, files.

Seconds are of the processor, so that other programs disturb them little; two of them also stand over what pyarrow alone
takes to write, or to read, the same tables in the same run.

python benchmarks/sweep.py [--points 100000] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from simspec.model import Scenario
from simspec.run import store
from simspec.run.dataset import read
from simspec.run.keeping import Kept
from simspec.run.planning import plan
from simspec.run.sweep import sweep

WINDOWS = 2000
KAPPAS = [1, 2, 4, 8]
LIKE: dict[str, Callable[[int], tuple[int, int]]] = {
    "100 costs a simulation": lambda points: (points // 100, 100),
    "a simulation each": lambda points: (points, 1),
}
"""How many simulations and costs make so many points."""


def scenario(simulations: int, costs: int) -> Scenario:
    """Rates from 0 on, and costs of a draft."""
    alphas = [number / simulations for number in range(simulations)]
    c_d = [0.01 * (1 + number) for number in range(costs)]
    table = {"name": "many", "windows": WINDOWS, "kappa": KAPPAS, "cost": {"c_d": c_d}}
    return Scenario.from_dict(table | {"process": {"type": "iid", "alpha": alphas}})


def resident() -> float:
    """Resident memory in MB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


class Watch:
    """Memory, and files of counts, ten times a second."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.memory, self.files, self._done = folder, [resident()], 0, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        while not self._done.wait(0.1):
            self.memory.append(resident())
            self.files = max(self.files, sum(len(files) for _, _, files in os.walk(self.folder)))

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._thread.join()


def seconds(do: Callable[[], Any]) -> float:
    """Seconds of the processor."""
    began = time.process_time()
    do()
    return time.process_time() - began


def _stopped(own: Scenario, folder: Path, after: int) -> None:
    """A run that is told to stop, as by Ctrl-C, after so many pieces of work."""
    keep, left = Kept.keep, iter(range(after))

    def keeping(self: Kept, *one: Any) -> None:
        keep(self, *one)
        if next(left, None) is None:
            raise KeyboardInterrupt

    Kept.keep = keeping  # type: ignore[assignment, method-assign]
    try:
        with suppress(KeyboardInterrupt):
            sweep(own, folder, threads=1)
    finally:
        Kept.keep = keep  # type: ignore[method-assign]


def bare(folder: Path, place: Path) -> tuple[float, float]:
    """What pyarrow alone takes to write the tables of a run, and to read its estimates."""
    tables = [(name, pq.read_table(folder / name)) for name in store.SCHEMAS]
    written = sum(seconds(lambda name=name, own=own: _write(own, name, place)) for name, own in tables)  # type: ignore[misc]
    return written, seconds(lambda: pq.read_table(place / "estimates.parquet").to_pandas())


def _write(table: Any, name: str, place: Path) -> None:
    options = store.TALLY_WRITER if name == "tallies" else store._options(table.schema)
    pq.write_table(table, place / f"{name}.parquet", row_group_size=store.ROW_GROUP, **options)


def measure(simulations: int, costs: int, place: Path) -> dict[str, float]:
    """Seconds, MB and numbers of files of one scenario."""
    began = time.process_time()
    own = scenario(simulations, costs)
    plan(own)
    out = {"plan": time.process_time() - began}
    whole, cut = place / "whole", place / "cut"
    with Watch(whole) as watch:
        began = time.monotonic()
        out["sweep"] = seconds(lambda: sweep(own, whole, threads=1))
        out["wall"] = time.monotonic() - began
    files = [file for file in whole.rglob("*") if file.is_file()]
    early, late = (watch.memory[len(watch.memory) * part // 4] for part in (1, 3))
    out |= {"memory_before": watch.memory[0], "memory_early": early, "memory_late": late}
    out["memory_most"] = max(watch.memory)
    out |= {"files": len(files), "files_most": watch.files, "megabytes": sum(f.stat().st_size for f in files) / 1e6}
    out["again"] = seconds(lambda: sweep(own, whole, threads=1))
    out["read"] = seconds(lambda: len(read(whole).estimates))
    out["summary"] = seconds(lambda: read(whole).summary())
    out["half"] = seconds(lambda: _stopped(own, cut, simulations // 2))
    out["rest"] = seconds(lambda: sweep(own, cut, threads=1))
    out["bare_write"], out["bare_read"] = bare(whole, place)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        sweep(scenario(100, 1), Path(folder) / "warm", threads=1)
        read(Path(folder) / "warm").to_pandas()  # imports pandas
        for number, (name, sizes) in enumerate(LIKE.items()):
            place = Path(folder) / str(number)
            place.mkdir()
            own = {key: round(value, 3) for key, value in measure(*sizes(asked.points), place).items()}
            own["sweep_over_bare"] = round(own["sweep"] / own["bare_write"], 2)
            own["read_over_bare"] = round(own["read"] / own["bare_read"], 2)
            rows.append({"case": name, "points": asked.points, **own})
    if asked.json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        print(", ".join(f"{key} {value}" for key, value in row.items()))


if __name__ == "__main__":
    main()
