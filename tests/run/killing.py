"""Runs that are killed and go on: a process that is forked for every run, since loading everything takes longer.

``python killing.py FOLDER KILLS SEED`` prints one line of JSON: kills by kind, how many hit a run at work, how many
runs made other bytes than one that was left alone.
"""

import hashlib
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path

from simspec.model import Scenario
from simspec.run import count_files, dispatch, engine, parts, planning, sweep
from simspec.run.engine import play

TABLE = {
    "name": "killed",
    "windows": 1_000_000,
    "kappa": [0, 2, 4],
    "process": [
        {"type": "iid", "alpha": [0.6, 0.7]},
        {"type": "markov", "alpha": [0.6, 0.7, 0.8], "rho": 0.3, "start": "carry"},
        {"type": "drift", "alpha_start": 0.85, "alpha_end": 0.62, "tokens": 128},
    ],
    "policy": [{"type": "fixed"}, {"type": "heuristic"}],
    "cost": {"c_d": [0.05, 0.1]},
}
OPERATIONS = ("replace", "fsync", "unlink", "mkdir")


def small():
    """Many pieces, many files of counts, several parts."""
    engine.PIECE_WINDOWS = dispatch.PIECE_WINDOWS = engine.FRESH_PIECE_WINDOWS = 2**18
    parts.FLUSH_SECONDS = parts.FLUSH_SHARE = 0.0
    count_files.MOST_FILES = 3  # so that files of counts are written as one all the time
    planning.ROWS_PER_PART, planning.MOST_PARTS = 1500, 1000


def run(folder, stop, die_at=None):
    """In a forked process: a run, killed by itself just before or after its n-th change of the disk."""
    child = os.fork()
    if child:
        return child
    try:
        if die_at is not None:
            _mine(die_at)
        sweep.sweep(Scenario.from_dict(TABLE | stop), folder, threads=2)
    except BaseException as error:
        print(repr(error), file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


def _mine(die_at):
    left = [die_at]

    def dying(own):
        def call(*arguments, **options):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            found = own(*arguments, **options)
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return found

        return call

    for name in OPERATIONS:
        setattr(os, name, dying(getattr(os, name)))


def data(folder):
    files = sorted(folder.rglob("part-*.parquet"))
    return {str(f.relative_to(folder)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def main(place, kills, seed):
    small()
    chance, count, stops = random.Random(seed), Counter(), ({}, {"stop": {"speedup": 0.003}})
    for job in planning.plan(Scenario.from_dict(TABLE)).jobs:
        play(job, [0])  # compiled before anything is forked
    whole, seconds = [], []
    for i, stop in enumerate(stops):
        began = time.monotonic()
        os.waitpid(run(place / f"whole{i}", stop), 0)
        whole.append(data(place / f"whole{i}"))
        seconds.append(time.monotonic() - began)
    run_number = 0
    while count["kills"] < kills:
        run_number += 1
        which = run_number % 2
        folder = place / f"cut{run_number}"
        while True:
            by_time = chance.random() < 0.5
            count["kills"] += 1
            if by_time:
                child = run(folder, stops[which])
                time.sleep(chance.random() * seconds[which])
                os.kill(child, signal.SIGKILL)
            else:
                child = run(folder, stops[which], die_at=chance.randrange(1, 120))
            status = os.waitpid(child, 0)[1]
            count["by time" if by_time else "at an operation"] += 1
            if os.WIFEXITED(status):
                count["errors"] += os.WEXITSTATUS(status) != 0
                break
            count["hit"] += 1
            left = list(folder.glob("played/*.parquet"))
            count["with counts kept"] += bool(left)
            count["with a part written"] += bool(list(folder.glob("estimates/part-*")))
            if chance.random() < 0.3:
                break
        status = os.waitpid(run(folder, stops[which]), 0)[1]
        count["runs"] += 1
        count["errors"] += status != 0
        count["other bytes"] += data(folder) != whole[which]
        count["left over"] += bool(list(folder.rglob("*.tmp"))) + (folder / "played").exists()
    print(json.dumps(dict(count) | {"files": len(whole[0]), "seconds": seconds}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
