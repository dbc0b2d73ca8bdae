"""Runs with a past: random histories of a folder, each of which has to end in the bytes of a run without one.

``python histories.py FOLDER MANY SEED [FIRST]`` plays so many histories and prints a line of JSON: of how many commands
of which kind they were, and how many ended in other bytes, in an error, or with something left over.  A history is a
function of its seed alone but for the moments at which a process is killed; ``FIRST 1`` plays one of them again.

Every command is the console's, in a process that is forked for it, since loading everything takes longer than a run.
"""

import hashlib
import json
import os
import random
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

from simspec.cli.main import entry
from simspec.model import ParameterError, Scenario
from simspec.run import count_files, dispatch, engine, keeping, planning, remote
from simspec.run.engine import Job, play

HERE = Path(__file__).resolve().parent
TRACES = HERE.parents[1] / "scenarios" / "data"
THREE = [[0.65, 0.28, 0.07], [0.07, 0.65, 0.28], [0.28, 0.07, 0.65]]
DRAFT = [[0.35, 0.58, 0.07], [0.07, 0.35, 0.58], [0.58, 0.07, 0.35]]
PROCESSES = {
    "iid": {"type": "iid", "alpha": [0.0, 0.6, 1.0]},
    "survival": {"type": "survival", "survival": [0.76, 0.62, 0.51, 0.42, 0.36, 0.31]},
    "position": {"type": "position", "alphas": [0.7, 0.65, 0.6, 0.5]},
    "markov": {"type": "markov", "alpha": [0.6, 0.8], "rho": 0.3, "start": ["stationary", "carry"]},
    "advanced": {
        "type": "markov", "alpha": 0.7, "rho": -0.1, "start": "carry", "steps_after_reject": 2, "steps_after_full": 2,
    },
    "beta windows": {"type": "beta_mixture", "alpha": 0.7, "rho": 0.3},
    "beta requests": {
        "type": "beta_mixture", "alpha": 0.7, "rho": 0.2, "request_tokens": 64,
    },
    "mix requests": {
        "type": "discrete_mixture", "alphas": [0.91, 0.49], "weights": [0.5, 0.5], "weights_of": "requests",
        "request_tokens": 32,
    },
    "mix windows": {"type": "discrete_mixture", "alphas": [0.9, 0.4], "weights": [0.5, 0.5]},
    "copula": {"type": "gaussian_copula_ar1", "alpha": 0.7, "rho": 0.3},
    "hmm": {"type": "hmm", "P": [[0.9, 0.1], [0.1, 0.9]], "alphas": [0.98, 0.42]},
    "unsure": {"type": "hmm", "P": [[0.4, 0.4, 0.2]] * 3, "alphas": [0.95, 0.65, 0.3]},
    "drift": {"type": "drift", "alpha_start": 0.85, "alpha_end": 0.62, "tokens": [1, 48]},
    "tokens": {"type": "token_chain", "target": THREE, "draft": DRAFT},
    "rounds": {
        "type": "trace", "path": str(TRACES / "smollm2_windows_k8.parquet"), "request": "request",
        "accepted": "accepted_full", "drafted": 8, "bonus_included": False,
    },
    "replayed": {
        "type": "trace", "path": str(TRACES / "smollm2_dense_tl24.parquet"), "request": "request",
        "alpha": "tok_accept",
    },
}  # fmt: skip
SCHEMES = {
    "tree": ({"type": "tree", "widths": [2, 2, 1], "misses": [0.4]}, "iid position"),
    "eagle2": ({"type": "eagle2"}, "iid"),
    "pick": ({"type": "tokens", "widths": [3, 1, 1]}, "tokens"),
    "specdec": ({"type": "SpecDec++"}, "unsure"),
    "lookup": ({"type": "lookup", "after_match": 0.8, "after_miss": 0.2}, "iid"),
    "pool": ({"type": "pool"}, "tokens"),
    "pearl": ({"type": "pearl"}, "iid"),
    "dsi": ({"type": "dsi"}, "iid"),
    "layers": ({"type": "layerskip"}, "iid markov"),
    "bild": ({"type": "bild", "p_fallback": 0.2}, "iid"),
    "unmask": ({"type": "unmask"}, "iid"),
    "lookahead": ({"type": "lookahead", "candidates": 5, "window": 5, "good": 0.4}, "iid"),
}
POLICIES = [
    {"type": "heuristic"}, {"type": "heuristic", "keeps": True}, {"type": "rolling"}, {"type": "exp3", "keeps": True},
    {"type": "goodput", "highest": 4}, {"type": "ucb"}, {"type": "steps", "candidates": [1, 3]},
    {"type": "thompson", "highest": 4},
    {"type": "gate", "least": 0.5, "rounds": 8, "first": 4, "highest": 4}, {"type": "ucb_spec"},
]  # fmt: skip
SERVINGS = [{}, {}, {"batch": 4}, {"batch": [1, 2], "shares": False}, {"delay": [0, 3]}, {"batch": 64}]
STOPPING = [name for name in PROCESSES if name not in ("rounds", "replayed")]
TARGETS = {"mean_accepted": (0.4, 0.005), "speedup": (0.2, 0.002), "best_kappa": (0.2, 0.0), "p99": (1.0, 0.02)}


def toml(table):
    """A scenario as a file."""
    return "".join(f"{key} = {_value(own)}\n" for key, own in table.items())


def _value(own):
    if isinstance(own, dict):
        return "{" + ", ".join(f"{key} = {_value(value)}" for key, value in own.items()) + "}"
    if isinstance(own, list):
        return "[" + ", ".join(map(_value, own)) + "]"
    return json.dumps(own)


class Wanted:
    """What is asked for: a scenario, and another one of the same name, seed and method after each change."""

    def __init__(self, chance, kind):
        self.chance, self.kind = chance, kind
        self.table = {"name": "past", "seed": chance.choice([1, 7, 2**64 - 1])}
        self.kappas = sorted(chance.sample([0, 1, 2, 3, 4], chance.randint(1, 3)))
        self.table["process"] = [dict(PROCESSES[name]) for name in self._processes()]
        for number, own in enumerate(self.table["process"]):
            own["label"] = f"p{number}"
        if kind == "scheme":
            name = chance.choice(list(SCHEMES))
            fit = [PROCESSES[own] for own in SCHEMES[name][1].split()]
            self.table["process"] = [dict(own) for own in fit]
            self.table["scheme"] = [dict(SCHEMES[name][0])] + ([{"type": "chain"}] if chance.random() < 0.5 else [])
            self.kappas = [1, 2, 4]
            if name == "lookahead":
                self.kappas = [4]
        if kind == "policy":
            self.table["policy"] = [{"type": "fixed"}, *chance.sample(POLICIES, chance.randint(0, 2))]
            serving = chance.choice(SERVINGS)
            if serving:
                self.table["serving"] = serving
            self.kappas = [1, 2, 4]
        if kind in ("multinomial", "exact"):
            self.table["method"] = kind
        self.every = list(self.table["process"])
        self.change(everything=True)

    def _processes(self):
        chance = self.chance
        if self.kind == "stop":
            return chance.sample(STOPPING, chance.randint(1, 3))
        if self.kind == "trace":
            return ["rounds", "replayed"][chance.randint(0, 1) :] + chance.sample(STOPPING, 1)
        if self.kind in ("multinomial", "exact"):
            return chance.sample(["iid", "survival", "position"], 2)
        if self.kind == "policy":
            return chance.sample(["iid", "markov", "drift", "mix requests", "position"], chance.randint(1, 2))
        return chance.sample(STOPPING, chance.randint(1, 3))

    def change(self, everything=False):
        """Another budget, other κ, costs, points, level, or targets."""
        chance = self.chance
        for _ in range(50):
            before = json.loads(json.dumps(self.table))
            for what in ("windows", "kappa", "cost", "level", "process", "stop", "order"):
                if everything or chance.random() < 0.4:
                    getattr(self, "_" + what)()
            try:
                planning.plan(Scenario.from_dict(self.table))
            except ParameterError:  # a policy that takes one cost, a budget below that of one look, …
                self.table = before
            else:
                return
        if everything:
            raise ValueError("these go with nothing")

    @staticmethod
    def any(chance, kind):
        """One of a kind."""
        while True:
            try:
                return Wanted(chance, kind)
            except ValueError:
                continue

    def _windows(self):
        most = 2_000_000 if self.kind == "stop" else 300_000 if self.kind in ("fixed", "trace") else 60_000
        exact = self.chance.choice([1, 100, 4096 * 128, 524_287])
        self.table["windows"] = exact if self.chance.random() < 0.1 else int(most ** self.chance.uniform(0.5, 1.0))

    def _kappa(self):
        own = self.kappas if self.kind in ("scheme", "policy") else list(range(5))
        many = self.chance.randint(1, min(3, len(own)))
        self.table["kappa"] = sorted(self.chance.sample(own, many))

    def _cost(self):
        cost = {"c_d": self.chance.choice([0.1, [0.05, 0.1], [0.1, 0.0]])}
        if self.chance.random() < 0.4:
            cost["c_r"] = self.chance.choice([0.3, [0.0, 0.5]])
        if self.kind == "policy" and self.chance.random() < 0.3 and "serving" not in self.table:
            cost["c_switch"] = [0.0, 0.05]
        self.table["cost"] = cost

    def _level(self):
        self.table["level"] = self.chance.choice([0.95, 0.95, 0.5, 0.999])

    def _process(self):
        self.table["process"] = sorted(
            self.chance.sample(self.every, self.chance.randint(1, len(self.every))), key=self.every.index
        )
        if self.kind not in ("scheme", "policy") and self.chance.random() < 0.3:
            self.table["process"].append({"type": "iid", "alpha": self.chance.choice([0.3, 0.35, 0.9])})

    def _order(self):
        self.chance.shuffle(self.table["process"])

    def _stop(self):
        chance = self.chance
        self.table.pop("stop", None)
        traced = any(own["type"] == "trace" for own in self.table["process"])
        if "method" not in self.table and not traced and chance.random() < (0.85 if self.kind == "stop" else 0.1):
            keys = chance.sample(list(TARGETS), chance.choice([1, 1, 2]))
            stop = {}
            for key in keys:
                wide, narrow = TARGETS[key]
                share = chance.random()
                stop[key] = wide ** (1 - share) * (narrow or 1e-3) ** share if key != "best_kappa" else wide * share
            if chance.random() < 0.5:
                stop["budget"] = int(10 ** chance.uniform(4.5, 7.5))
            self.table["stop"] = stop

    @property
    def shared(self):
        """Whether shards may play it."""
        return "method" not in self.table and "budget" not in self.table.get("stop", {})

    @property
    def recordable(self):
        return not {"method", "scheme", "policy", "serving"} & set(self.table)


def small():
    """Many pieces, many files of counts, several parts."""
    engine.PIECE_WINDOWS = dispatch.PIECE_WINDOWS = engine.FRESH_PIECE_WINDOWS = 2**16
    keeping.FLUSH_SECONDS = keeping.FLUSH_SHARE = 0.0
    count_files.MOST_FILES = 3
    planning.ROWS_PER_PART, planning.MOST_PARTS = 1500, 1000


def data(place):
    """Every file of a dataset but the manifest, the lock and what is kept for other points."""
    files = [own for own in sorted(place.rglob("*.parquet")) if own.parent.name != "played"]
    return {str(own.relative_to(place)): hashlib.sha256(own.read_bytes()).hexdigest() for own in files}


def about(place):
    """What a manifest says but for when and where."""
    known = json.loads((place / "manifest.json").read_text())
    return {key: own for key, own in known.items() if key not in ("provenance", "earlier", "traces", "shard")}


class History:
    """One folder and what happens to it."""

    def __init__(self, place, seed):
        self.chance, self.place, self.count, self.told = random.Random(seed), place, Counter(), []
        self.number, self.planted = 0, []
        self.kind = self.chance.choice(["fixed", "fixed", "stop", "stop", "stop", "policy", "scheme", "trace",
                                        "multinomial", "exact"])  # fmt: skip
        self.remote = self.chance.random() < 0.15
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        self.folder = place / "own"
        self.wanted = Wanted.any(self.chance, self.kind)
        self.shards, self.seconds, self.record = 0, 0.5, None

    @property
    def address(self):
        return f"file://{self.folder}" if self.remote else str(self.folder)

    def start(self, *words):
        """A command of the console in a process of its own."""
        self.number += 1
        log = self.place / f"log{self.number}"
        self.told.append(f"{self.number}: simspec {' '.join(words)}")
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # the process that is forked is none of ours
        child = os.fork()
        if child:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
            return child
        try:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
            remote.home = lambda: self.place / "cache"  # kernels stay where they are
            handle = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
            os.dup2(handle, 1), os.dup2(handle, 2)
            sys.argv = ["simspec", *words]
            entry()
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        os._exit(99)

    def end(self, child, allowed=(0,)):
        """Wait for a command, which has to end as allowed."""
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        self.told.append(f"   ended with {status}")
        if status not in allowed:
            self.count["errors"] += 1
            self.told.append((self.place / f"log{self.number}").read_text()[-3000:])
        return status

    def do(self, *words, allowed=(0,)):
        return self.end(self.start(*words), allowed)

    def cut(self, *words, also=()):
        """A command that is stopped somehow at some moment, or comes to its end before."""
        how = self.chance.choice(["kill", "kill", "int", "term", "int twice"])
        self.count[how] += 1
        child = self.start(*words)
        time.sleep(self.seconds * self.chance.random() ** 2)
        number = {"kill": signal.SIGKILL, "term": signal.SIGTERM}.get(how, signal.SIGINT)
        os.kill(child, number)
        if how == "int twice":
            time.sleep(0.02 * self.chance.random())
            os.kill(child, number)
        self.told.append(f"   {how}")
        return self.end(child, (0, 130, 143, -number, *also))

    def file(self):
        own = self.place / f"past{self.number}.toml"
        own.write_text(toml(self.wanted.table))
        self.told.append(json.dumps(self.wanted.table))
        return str(own)

    def words(self, record=True):
        """Flags of a run that change no number."""
        words = ["--threads", str(self.chance.randint(1, 3))]
        if record and self.wanted.recordable and self.chance.random() < 0.1:
            words += ["--record", str(self.chance.choice([1, 500, 3000]))]
        return words

    # what may happen

    def run(self):
        begun = time.monotonic()
        self.do("run", self.file(), "-o", self.address, *self.words(), allowed=self._allowed())
        self.seconds = max(0.1, time.monotonic() - begun)

    def _allowed(self):
        return (0,)

    def killed(self):
        self.cut("run", self.file(), "-o", self.address, *self.words())

    def goes_on(self):
        if self.begun():
            self.do("run", self.address, *self.words(record=False))

    def begun(self):
        return (self.folder / "manifest.json").is_file()

    def complete(self):
        return self.begun() and json.loads((self.folder / "manifest.json").read_text())["complete"]

    def changed(self):
        self.wanted.change()

    def damaged(self):
        """A file of a folder is cut off, changed, emptied, removed, or one that has no place there is added."""
        files = sorted(own for own in self.folder.rglob("*.parquet"))
        if self.remote and self.chance.random() < 0.5:
            shutil.rmtree(self.place / "cache", ignore_errors=True)
            self.told.append("cache removed")
            return
        if not files:
            return
        own = self.chance.choice(files)
        how = self.chance.choice(["cut", "flip", "empty", "gone", "longer", "other", "stray"])
        content = own.read_bytes()
        self.told.append(f"{how}: {own.relative_to(self.folder)}")
        self.count[f"file {how}"] += 1
        if how == "gone":
            own.unlink()
        elif how == "stray":
            names = [
                f".{own.name}.123.tmp",
                "0" * 32 + ".parquet" if own.parent.name == "played" else "part-000099.parquet",
            ]
            name = self.chance.choice(names)
            if own.parent.name == "rounds" or self.remote:
                return
            (own.parent / name).write_bytes(content)
            self.planted.append(str((own.parent / name).relative_to(self.folder)))
        else:
            at = self.chance.randrange(max(1, len(content)))
            flipped = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :] if content else b"x"
            if self.remote:  # else only a file of another size is looked at, since all would have to be brought
                shutil.rmtree(self.place / "cache", ignore_errors=True)
            new = {"cut": content[:at], "flip": flipped, "empty": b"", "longer": content + b"PAR1",
                   "other": self.chance.choice(files).read_bytes()}[how]  # fmt: skip
            own.write_bytes(new)

    def replayed(self):
        if self.complete() and not self.harmed():
            before = data(self.folder)
            self.do("replay", self.address, "--threads", "2")
            self.count["other bytes"] += data(self.folder) != before

    def harmed(self):
        """Whether a table or recorded rounds are not as the manifest says: replay finds both."""
        told = json.loads((self.folder / "manifest.json").read_text())
        files = told["files"] | (told.get("rounds") or {}).get("files", {})
        return any(
            not (self.folder / name).is_file()
            or hashlib.sha256((self.folder / name).read_bytes()).hexdigest() != own[1]
            for name, own in files.items()
        )

    def at_once(self):
        """Two runs into one folder: at least one ends well, and the other says why not, or also does."""
        words = ("run", self.file(), "-o", self.address)
        one = self.start(*words)
        time.sleep(self.chance.random() * 0.05)
        two = self.start(*words)
        found = sorted((self.end(one, (0, 2)), self.end(two, (0, 2))))
        self.count["errors"] += found[0] != 0

    def shared(self):
        """Shards, some of them stopped, lost or played twice, in any order."""
        if not self.wanted.shared:
            return
        self.shards += 1
        many, file = self.chance.randint(1, 4), self.file()
        folders = [f"{self.place}/s{self.shards}-{i}" for i in range(1, many + 1)]
        numbers = list(range(1, many + 1)) + ([self.chance.randint(1, many)] if self.chance.random() < 0.3 else [])
        self.chance.shuffle(numbers)
        lost = self.chance.randint(1, many) if self.chance.random() < 0.3 else 0
        for number in numbers:
            words = ("run", file, "--shard", f"{number}/{many}", "-o", folders[number - 1], *self.words(record=False))
            while self.chance.random() < 0.4 and self.cut(*words) != 0:
                pass
            if number != lost:
                self.do(*words)
        given = [own for own in folders if Path(own, "manifest.json").is_file()]
        if len(given) < many:
            lost = lost or many
        self.chance.shuffle(given)
        if self.complete() and self.chance.random() < 0.2:
            given.append(self.address)
        words = ("combine", self.address, *given)
        if not given:
            return
        if self.chance.random() < 0.4:
            self.cut(*words, also=(2,))
        for _ in range(self.chance.randint(1, 2)):
            self.do(*words, allowed=(0, 2))

    def by_processes(self):
        self.do("run", self.file(), "-o", self.address, "--executor", "processes", "--threads", "2")

    def play(self, most=8):
        """Some of that, then a run to its end; what it has to be equal to."""
        happen = {
            self.run: 2, self.killed: 4, self.goes_on: 1, self.changed: 4, self.damaged: 3, self.replayed: 1,
            self.at_once: 1, self.shared: 2,
        }  # fmt: skip
        for _ in range(self.chance.randint(2, most)):
            own = self.chance.choices(list(happen), list(happen.values()))[0]
            self.told.append(f"-- {own.__name__}")
            self.count[own.__name__] += 1
            own()
        record = []
        if self.wanted.recordable and self.chance.random() < 0.25:
            record = ["--record", str(self.chance.choice([1, 700, 5000]))]
            if self.chance.random() < 0.5:
                record += ["--record-every", "2"]
        file = self.file()
        self.told.append("-- end")
        self.do("run", file, "-o", self.address, *record, "--threads", "2")
        fresh = self.place / "fresh"
        self.do("run", file, "-o", str(fresh), *record, "--threads", "1")
        self.judge(fresh, bool(record))
        return self.count

    def judge(self, fresh, recorded):
        found, whole = data(self.folder), data(fresh)
        for left in self.planted:  # the folder was whole, and what a manifest does not name is not read
            found.pop(left, None)
        told = json.loads((self.folder / "manifest.json").read_text())
        asked = {f"rounds/{name}" for name in (told.get("rounds") or {}).get("files", {})} if recorded else set()
        # recorded rounds of an earlier scenario or command are kept
        found = {name: own for name, own in found.items() if not name.startswith("rounds/") or name in asked}
        if found != whole or not whole:
            self.count["other bytes"] += 1
            differ = sorted(name for name in found | whole if found.get(name) != whole.get(name))
            self.told.append(f"OTHER BYTES: {differ}")
        said, due = about(self.folder), about(fresh)
        if not recorded:
            said.pop("rounds", None)
        if said != due:
            self.count["other words"] += 1
            self.told.append(f"OTHER MANIFEST: {[key for key in said | due if said.get(key) != due.get(key)]}")
        left = [own for name in ("*.tmp", ".probe*") for own in self.folder.rglob(name)]
        left = [own for own in left if str(own.relative_to(self.folder)) not in self.planted]
        left = [own for own in left if recorded or own.parent.name != "rounds"]  # begun, and not asked for since
        if left:
            self.count["left over"] += 1
            self.told.append(f"LEFT OVER: {left}")


BAD = ("errors", "other bytes", "other words", "left over")


def load(wanted):
    """Kernels, before anything is forked."""
    for job in planning.plan(Scenario.from_dict(wanted.table)).jobs:
        play(Job(job.simulation, (max(job.kappas),), 1, 1), [0])


def main(place, many, seed, first=0):
    small()
    began, count, kinds, bad = time.monotonic(), Counter(), Counter(), []
    for number in range(first, first + many):
        own = History(place / f"h{number}", f"{seed}-{number}")
        load(own.wanted)
        try:
            found = own.play()
        except OSError as error:  # what should be there is not
            found = own.count
            found["errors"] += 1
            own.told.append(repr(error))
        kinds[own.kind] += 1
        count += found
        if any(found[key] for key in BAD):
            bad.append(number)
            (place / f"bad{number}.txt").write_text("\n".join(own.told))
            print(
                f"bad: {number} ({own.kind}): { {key: found[key] for key in BAD if found[key]} }",
                file=sys.stderr,
                flush=True,
            )
        else:
            shutil.rmtree(own.place)
    told = {key: count[key] for key in BAD} | dict(count)
    print(json.dumps(told | {"kinds": kinds, "bad histories": bad, "seconds": round(time.monotonic() - began)}))
    return not bad


if __name__ == "__main__":
    sys.exit(0 if main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int((sys.argv[4:] or "0")[0])) else 1)
