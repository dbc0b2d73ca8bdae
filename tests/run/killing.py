"""Runs that are killed and go on: a process that is forked for every run, since loading everything takes longer.

``python killing.py FOLDER KILLS SEED [HISTORY …]`` kills runs until so many kills hit one at work, and prints a line
of JSON: kills by history, by how they were chosen and by what the run was doing in that moment, and how many
histories ended in other bytes than a run that was left alone, in an error, or with something left over.

A process is killed at a random moment, or just before or after a random change of the disk while it did something
chosen at random.  What it was doing it says itself, in memory that both processes share.
"""

import hashlib
import json
import mmap
import os
import random
import signal
import sys
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq

from simspec.model import Scenario
from simspec.run import count_files, dispatch, engine, keeping, planning, record, shards, store, sweep
from simspec.run.engine import play
from simspec.run.executors import Crew
from simspec.run.record import Recording
from simspec.run.shards import Shard

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
FEWER = TABLE | {"process": TABLE["process"][:2], "cost": {"c_d": 0.1}}
STOPPED = TABLE | {"stop": {"speedup": 0.003}}
PLAIN = {key: own for key, own in TABLE.items() if key != "policy"}  # only such rounds are recorded
DOING = (
    "beginning", "settling", "simulating", "flushing played/", "compacting played/", "writing a part",
    "between parts and manifest", "writing the manifest", "tidying", "recording", "taking from a shard",
    "worker process",
)  # fmt: skip
RECORDED = Recording(3000, 1)


def small():
    """Many pieces, many files of counts, several parts."""
    engine.PIECE_WINDOWS = dispatch.PIECE_WINDOWS = engine.FRESH_PIECE_WINDOWS = 2**18
    keeping.FLUSH_SECONDS = keeping.FLUSH_SHARE = 0.0
    count_files.MOST_FILES = 3  # so that files of counts are written as one all the time
    planning.ROWS_PER_PART, planning.MOST_PARTS = 1500, 1000


class Told:
    """What a forked run is doing, and after how many changes of the disk while doing that it has to die."""

    def __init__(self):
        self._shared = mmap.mmap(-1, 1)
        self.dies_while, self.left = None, 0

    def begin(self, dies_while=None, left=0):
        self.dies_while, self.left = dies_while, left
        self._shared[0] = 0

    @property
    def doing(self):
        return DOING[self._shared[0]]

    def now(self, doing):
        self._shared[0] = DOING.index(doing)

    @contextmanager
    def while_(self, doing):
        before = self.doing
        self.now(doing)
        try:
            yield
        finally:
            self.now(before)

    def change(self):
        """The disk is about to be changed, or just was."""
        if self.doing == self.dies_while:
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


TOLD = Told()


def watched(place, name, doing=None, then=None):
    """Have a function say what it does, and what is done after it."""
    own = getattr(place, name)

    def call(*arguments, **options):
        with TOLD.while_(doing or TOLD.doing):
            found = own(*arguments, **options)
        if then:
            TOLD.now(then)
            TOLD.change()
        return found

    setattr(place, name, call)


def changing(place, name):
    """Have a function that changes the disk be a place to die before and after."""
    own = getattr(place, name)

    def call(*arguments, **options):
        TOLD.change()
        found = own(*arguments, **options)
        TOLD.change()
        return found

    setattr(place, name, call)


def watch():
    """Once, before anything is forked."""
    for name in ("replace", "fsync", "unlink", "mkdir", "rmdir"):
        changing(os, name)
    for name in ("write_table", "close"):
        changing(pq.ParquetWriter, name)
    watched(sweep, "settle", "settling")
    shards.settle = sweep.settle
    watched(keeping, "write", "flushing played/")
    watched(keeping, "fewer", "compacting played/")
    watched(keeping.Kept, "tidy", "tidying")
    watched(store.PartWriter, "add", "writing a part")
    watched(store.PartWriter, "__exit__", "writing a part", then="between parts and manifest")
    watched(sweep, "_write_missing", "simulating")
    watched(keeping.Kept, "forget", then="simulating")  # the manifest names the part
    watched(record, "record", "recording")
    watched(shards, "_take", "taking from a shard")
    manifest = store.write_json

    def write_json(*arguments):
        doing = TOLD.doing if TOLD.doing == "settling" else "writing the manifest"
        with TOLD.while_(doing):
            manifest(*arguments)

    store.write_json = write_json


def fork(do):
    """A process that does one thing: ended with 0 if it could."""
    child = os.fork()
    if child:
        return child
    try:
        do()
    except BaseException as error:
        print(repr(error), file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


def _run(table, place, recording=None, crew=None):
    sweep.sweep(Scenario.from_dict(table), place, threads=2, recording=recording, crew=crew)


def _share(place, number):
    shards.play_shard(Scenario.from_dict(TABLE), Shard(number, 2), f"{place}-{number}", Crew(many=2))


HISTORIES = {
    "fixed": [lambda place: _run(TABLE, place)],
    "stopped": [lambda place: _run(STOPPED, place)],
    "extended": [lambda place: _run(FEWER, place), lambda place: _run(TABLE, place)],
    "shards": [
        lambda place: _share(place, 1),
        lambda place: _share(place, 2),
        lambda place: shards.combine(place, [f"{place}-1", f"{place}-2"], Crew(many=2)),
    ],
    "recording": [lambda place: _run(PLAIN, place, RECORDED)],
    "processes": [lambda place: _run(TABLE, place, crew=Crew("processes", 2))],
}
"""Each is a list of commands; the last of them is what the same bytes are asked of."""
WHOLE_OF = {"stopped": "stopped", "recording": "recording"}
"""Whose uninterrupted run it is held against, if not that of the fixed budget."""


def data(place):
    """Every file of a dataset but the manifest, the lock and what is left over."""
    files = [own for own in sorted(place.rglob("*.parquet")) if own.parent.name != "played"]
    return {str(own.relative_to(place)): hashlib.sha256(own.read_bytes()).hexdigest() for own in files}


def left_over(place):
    """Of runs that came to their end: shards keep what they played, and nothing else."""
    folders = [own for own in (place, *place.parent.glob(f"{place.name}-[12]")) if own.is_dir()]
    found = [left for own in folders for name in ("*.tmp", ".probe*") for left in own.rglob(name)]
    return found + list(place.glob("played"))


def children(process):
    """Workers that a run has begun, by number: what multiprocessing begins beside them holds no chunks."""
    try:
        numbers = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        return [int(own) for own in numbers if "spawn_main" in Path(f"/proc/{own}/cmdline").read_text()]
    except OSError:
        return []


def ended(workers):
    """Whether the workers of a run that was killed end by themselves."""
    until = time.monotonic() + 30
    while any(Path(f"/proc/{own}").exists() for own in workers):
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


class Killer:
    """Kills by chance, and counts."""

    def __init__(self, seed, seconds, by_workers):
        """``seconds`` are those of a run, and of one by processes, most of which they need to begin."""
        self.chance, self.count = random.Random(seed), Counter()
        self.seconds, self.by_workers = seconds, by_workers
        self.at, self.of = Counter(), Counter()

    def command(self, do, history):
        """A command, killed or not; whether it came to its end."""
        if history == "processes" and self.chance.random() < 0.7:
            return self._worker(do, history)
        by_time = self.chance.random() < 0.4
        if by_time:
            TOLD.begin()
            child = fork(do)
            time.sleep(self.chance.random() * (self.by_workers if history == "processes" else self.seconds))
            workers = children(child)
            os.kill(child, signal.SIGKILL)
            self.count["left over"] += not ended(workers)
        else:
            TOLD.begin(self.chance.choice(DOING[1:-1]), self.chance.randrange(1, 9))
            child = fork(do)
        status = os.waitpid(child, 0)[1]
        if os.WIFEXITED(status):
            self.count["errors"] += os.WEXITSTATUS(status) != 0
            return True
        self._hit(history, TOLD.doing, "at a random moment" if by_time else "at a change of the disk")
        return False

    def _worker(self, do, history):
        """Kill workers and not the run, which has to come to its end all the same."""
        TOLD.begin()
        child = fork(do)
        for _ in range(self.chance.randrange(1, 4)):
            own = []
            while not own and not os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                time.sleep(0.1)
                own = children(child)
            time.sleep(self.chance.random() * self.by_workers / 2)
            own = children(child)
            if own:
                os.kill(self.chance.choice(own), signal.SIGKILL)
                self._hit(history, "worker process", "at a random moment")
        self.count["errors"] += os.waitpid(child, 0)[1] != 0
        return True

    def _hit(self, history, doing, how):
        self.count["kills"] += 1
        self.count[how] += 1
        self.at[doing] += 1
        self.of[history] += 1

    def history(self, name, place, whole):
        """One after another its commands, each until it was not killed; now and then the next one before that."""
        commands = HISTORIES[name]
        for do in commands[:-1]:
            while not self.command(lambda do=do: do(place), name) and self.chance.random() < 0.7:
                pass
        for do in commands[:-1] if name == "shards" else []:  # each has to be played to its end
            TOLD.begin()
            self.count["errors"] += os.waitpid(fork(lambda do=do: do(place)), 0)[1] != 0
        for _ in range(8):
            if self.command(lambda: commands[-1](place), name):
                break
        TOLD.begin()
        self.count["errors"] += os.waitpid(fork(lambda: commands[-1](place)), 0)[1] != 0
        self.count["histories"] += 1
        self.count["other bytes"] += data(place) != whole
        self.count["left over"] += bool(left_over(place))
        for left in left_over(place):
            print(left, file=sys.stderr)


def main(place, kills, seed, names):
    small()
    for job in planning.plan(Scenario.from_dict(TABLE)).jobs:
        play(job, [0])  # compiled before anything is forked
    watch()
    whole, began = {}, time.monotonic()
    for name in {WHOLE_OF.get(own, "fixed") for own in names} | {"fixed"}:
        TOLD.begin()
        os.waitpid(fork(lambda name=name: HISTORIES[name][0](place / f"whole-{name}")), 0)
        whole[name] = data(place / f"whole-{name}")
    seconds, began = (time.monotonic() - began) / len(whole), time.monotonic()
    if "processes" in names:
        TOLD.begin()
        os.waitpid(fork(lambda: HISTORIES["processes"][0](place / "whole-processes")), 0)
    killer = Killer(seed, seconds, time.monotonic() - began)
    number = 0
    while killer.count["kills"] < kills and not killer.count["errors"]:
        name = names[number % len(names)]
        killer.history(name, place / f"cut{number}", whole[WHOLE_OF.get(name, "fixed")])
        number += 1
    found = {"other bytes": 0, "errors": 0, "left over": 0} | dict(killer.count)
    print(json.dumps(found | {"while": killer.at, "of": killer.of, "files": len(whole["fixed"])}))


if __name__ == "__main__":
    main(
        Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:] or 2 * list(HISTORIES)[:-1] + ["processes"]
    )
