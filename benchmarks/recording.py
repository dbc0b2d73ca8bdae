"""How fast are single rounds written, and in how much memory?  Line 9.

python benchmarks/recording.py [--arms iid,drift] [--rounds 15] [--pin] [--json]

Two arms alternate, into the same folder and with the same writer settings: pyarrow's writer on ready columns, and
simspec's recording, which plays the rounds while it writes them.  It reports and does not judge: exit code 0.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from timing import progress

import simspec.run.record
from simspec.model import BetaMixture, Drift, Hmm, Iid, Markov, Process, Simulation
from simspec.run.engine import Job
from simspec.run.layout import Layout
from simspec.run.pages import MOST_PER_LANE, pages
from simspec.run.record import WRITER, Recording, record
from simspec.run.schema import ROUNDS
from simspec.run.store import ROW_GROUP

ROUNDS_OF_ALL = 15
FEWEST_ROUNDS = 7
ROWS = 16 * ROW_GROUP
KAPPA = 8
GOAL = 0.75
OWN_SHARE = 0.93
"""CPU time of the busier thread over wall time below which somebody else had a processor."""
MEMORY_ROWS = (1_000_000, 5_000_000, 60_000_000)
MEMORY_GOAL = 200.0
PROCESSES: dict[str, Process] = {
    "iid": Iid(alpha=0.8),
    "markov carried": Markov(alpha=0.8, rho=0.3, start="carry"),
    "hmm carried": Hmm(P=((0.9, 0.1), (0.2, 0.8)), alphas=(0.98, 0.42), start="carry"),
    "drift": Drift(alpha_start=0.9, alpha_end=0.4, tokens=512),
    "beta requests": BetaMixture(alpha=0.7, rho=0.2, request_tokens=256),
}


@dataclass
class Samples:
    """Nanoseconds per row of one arm: wall time, CPU time of all threads, and how many samples were disturbed."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    disturbed: int = 0

    def add(self, play: Callable[[], Any], rows: int) -> None:
        """Time one call."""
        began, own, every = time.perf_counter(), time.thread_time(), time.process_time()
        play()
        wall, own, every = time.perf_counter() - began, time.thread_time() - own, time.process_time() - every
        self.wall.append(wall / rows * 1e9)
        self.cpu.append(every / rows * 1e9)
        self.disturbed += max(own, every - own) < OWN_SHARE * wall


def job_of(process: Process, rows: int) -> Job:
    """A simulation with at least so many rounds to record, in more lanes than a budget would get."""
    job = Job(Simulation(process), (KAPPA,), rows, 1)
    generations = job.layout.generations
    vars(job)["layout"] = Layout(-(-rows // MOST_PER_LANE), 0 if generations else MOST_PER_LANE, generations)
    return job


def copy(table: pa.Table) -> pa.Table:
    """The same columns in memory of their own."""
    return pa.concat_tables([table]).take(np.arange(table.num_rows))


def pin() -> None:
    """Writing to one processor, playing to another; a busy machine may keep both threads on one for minutes."""
    first, second = sorted(os.sched_getaffinity(0))[:2]

    def apart(*question: Any) -> Iterator[pa.Table]:
        os.sched_setaffinity(0, {second})  # of the thread that plays
        yield from pages(*question)

    os.sched_setaffinity(0, {first})
    simspec.run.record.pages = apart  # type: ignore[assignment]


def measure(name: str, rounds: int, folder: Path, say: Callable[[str], None]) -> dict[str, Any]:
    """One process as a row of the output."""
    job, recording = job_of(PROCESSES[name], ROWS), Recording(ROWS)
    say(f"{name}: warming up")
    ready = [copy(table) for table in pages(job, KAPPA, ROWS, 1)]
    rows = sum(table.num_rows for table in ready)

    def bare() -> None:
        with pq.ParquetWriter(folder / "bare.parquet", ROUNDS, **WRITER) as writer:
            for table in ready:
                writer.write_table(table, ROW_GROUP)

    arms: dict[str, Callable[[], Any]] = {
        "bare": bare,
        "simspec": lambda: record(job, KAPPA, folder / "own.parquet", recording),
        "columns": lambda: sum(table.num_rows for table in pages(job, KAPPA, ROWS, 1)),
    }
    samples = {arm: Samples() for arm in arms}
    order, shuffle = list(arms), random.Random(1).shuffle
    for round_ in range(rounds):
        shuffle(order)
        for arm in order:
            say(f"{name}: round {round_ + 1} of {rounds}: {arm}")
            samples[arm].add(arms[arm], rows)
    return _row(name, rows, samples, (folder / "own.parquet").stat().st_size)


def _row(name: str, rows: int, samples: dict[str, Samples], size: int) -> dict[str, Any]:
    bare, own, columns = (samples[arm] for arm in ("bare", "simspec", "columns"))
    ratio = min(bare.wall) / min(own.wall)
    write, produce = min(bare.cpu), min(columns.cpu)
    return {
        "line": "9",
        "arm": name,
        "peer": "pyarrow, ready columns",
        "rows": rows,
        "bytes_per_row": size / rows,
        "rows_per_s": 1e9 / min(own.wall),
        "peer_rows_per_s": 1e9 / min(bare.wall),
        "ratio_best": ratio,
        "ratio_median": statistics.median(b / o for b, o in zip(bare.wall, own.wall, strict=True)),
        "cpu_ns_write": write,
        "cpu_ns_columns": produce,
        "cpu_ns_simspec": min(own.cpu),
        "ratio_of_one_processor": write / (write + produce),
        "rounds": len(own.wall),
        "disturbed": own.disturbed,
        "peer_disturbed": bare.disturbed,
        "goal": f"≥ {GOAL}",
        "verdict": "met" if ratio >= GOAL else "missed",
    }


MEMORY = """
import resource, sys, tempfile
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from recording import KAPPA, PROCESSES, Recording, job_of, record
process, rows = PROCESSES[sys.argv[2]], int(sys.argv[3])
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
with tempfile.TemporaryDirectory() as folder:
    record(job_of(process, 1000), KAPPA, Path(folder) / "warm.parquet", Recording(1000))
    base = peak()
    record(job_of(process, rows), KAPPA, Path(folder) / "rounds.parquet", Recording(rows))
    print(base, peak())
"""


SMALL = "import subprocess, sys; subprocess.run(sys.argv[1:], check=True)"
"""A process starts with the peak of the one that made it, so a small one has to stand between."""


def memory(name: str, rows: int) -> dict[str, Any]:
    """Peak memory of a process that records so many rows, beside that of one that records a thousand."""
    command = [sys.executable, "-c", SMALL, sys.executable, "-c", MEMORY, str(Path(__file__).parent), name, str(rows)]
    base, peak = map(float, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
    return {
        "line": "9",
        "arm": f"{name}, memory",
        "rows": rows,
        "mb_base": base,
        "mb_peak": peak,
        "mb_more": peak - base,
        "goal": f"≤ {MEMORY_GOAL:g}",
        "verdict": "met" if peak - base <= MEMORY_GOAL else "missed",
    }


def text(row: dict[str, Any]) -> str:
    """A row for people."""
    if "mb_base" in row:
        figures = f"{row['rows']:>11,} rows  peak {row['mb_peak']:.0f} MB = base {row['mb_base']:.0f}"
        return f"{row['arm']:22} {figures} + {row['mb_more']:.0f} MB; goal {row['goal']}: {row['verdict']}"
    return (
        f"{row['arm']:16} bare {row['peer_rows_per_s'] / 1e6:5.1f} M rows/s, simspec {row['rows_per_s'] / 1e6:5.1f}; "
        f"ratio {row['ratio_best']:.2f}, median {row['ratio_median']:.2f}; goal {row['goal']}: {row['verdict']}\n"
        f"{'':16} CPU ns per row: write {row['cpu_ns_write']:.1f}, columns {row['cpu_ns_columns']:.1f}, both "
        f"{row['cpu_ns_simspec']:.1f}; one processor alone allows {row['ratio_of_one_processor']:.2f}; "
        f"{row['bytes_per_row']:.2f} B per row; disturbed {row['peer_disturbed']} and {row['disturbed']} "
        f"of {row['rounds']}"
    )


def main(arguments: list[str] | None = None) -> int:
    """Measure speed, then memory, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS_OF_ALL, help=f"rounds (default {ROUNDS_OF_ALL})")
    parser.add_argument("--arms", default=",".join(PROCESSES), help="which processes (default: all)")
    parser.add_argument("--pin", action="store_true", help="give each of the two threads a processor (Linux)")
    parser.add_argument("--json", action="store_true", help="print one JSON object per row")
    asked = parser.parse_args(arguments)
    names = [name.strip() for name in asked.arms.split(",")]
    if asked.rounds < FEWEST_ROUNDS or not set(names) <= set(PROCESSES):
        parser.error(f"--rounds at least {FEWEST_ROUNDS}; --arms some of {', '.join(PROCESSES)}")
    if asked.pin:
        pin()
    todo: list[Callable[[], dict[str, Any]]] = []
    rows: list[dict[str, Any]] = []
    with progress() as say, tempfile.TemporaryDirectory() as folder:
        todo += [lambda name=name: measure(name, asked.rounds, Path(folder), say) for name in names]
        todo += [lambda name=n, many=many: memory(name, many) for n in (names[0], names[-1]) for many in MEMORY_ROWS]
        for one in todo:
            say("memory")
            rows.append(one())
            if not asked.json:
                print(text(rows[-1]), flush=True)
    if asked.json:
        print(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
