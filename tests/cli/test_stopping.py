"""What a stopped run leaves and says: Ctrl-C on a real terminal, SIGTERM, a closed terminal, a second Ctrl-C."""

import fcntl
import json
import os
import pty
import re
import select
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

import simspec
from simspec.cli import interrupts
from simspec.cli.main import main
from simspec.model import Scenario
from simspec.run import keeping
from simspec.run.dispatch import play_jobs
from simspec.run.executors import threads_only
from simspec.run.planning import plan
from simspec.run.progress import Progress

ENTRY = "import simspec.run.progress as own; own.TICK = 0.2; from simspec.cli.main import entry; entry()"
SLOW = "import simspec.run.keeping as own; own.Kept.flush = lambda self: __import__('time').sleep(60); " + ENTRY
OURS = {"PYTHONPATH": str(Path(simspec.__file__).parents[1])}
LONG = """\
name = "long"
windows = 1_000_000_000
kappa = [2, 4]
[process]
type = "markov"
alpha = { from = 0.5, to = 0.9, step = 0.005 }
rho = 0.3
start = "carry"
"""


@pytest.fixture
def place(tmp_path):
    (tmp_path / "a long run.toml").write_text(LONG)
    return tmp_path


@pytest.fixture
def start(place):
    """Begins a command; one that is left over ends with the test."""
    begun = []

    def begin(*words, **options):
        begun.append(Running(place, *words, **options))
        return begun[-1]

    yield begin
    for own in begun:
        own.process.kill()
        own.process.wait()


class Running:
    """A command on a terminal of some columns, or with a pipe."""

    def __init__(self, folder, *words, columns=0, program=ENTRY, **environment):
        own = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "TERM")}
        here, there = pty.openpty() if columns else os.pipe()
        if columns:
            fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, *words], stdin=there if columns else subprocess.DEVNULL, stdout=there,
            stderr=there, cwd=folder, env=own | OURS | environment, start_new_session=bool(columns),
            preexec_fn=_own_terminal if columns else _hears_ctrl_c,
        )  # fmt: skip
        os.close(there)
        self.end, self.text = here, ""

    def until(self, pattern, seconds=60):
        """Read until something was said."""
        end = time.monotonic() + seconds
        while not re.search(pattern, self.text) and time.monotonic() < end:
            if not self._read():
                break
        assert re.search(pattern, self.text), self.text
        return self

    def over(self):
        """Exit code, once it has ended."""
        while self._read():
            pass
        return self.process.wait(60)

    def _read(self):
        if not select.select([self.end], [], [], 60)[0]:
            return False
        try:
            new = os.read(self.end, 2**16)
        except OSError:  # a terminal without a process
            return False
        self.text += new.decode()
        return bool(new)

    def send(self, number):
        self.process.send_signal(number)
        return self


def _hears_ctrl_c():
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _own_terminal():
    _hears_ctrl_c()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def kept(folder):
    return len(list((folder / keeping.FOLDER).glob("*.parquet")))


def test_ctrl_c_on_a_narrow_terminal_and_the_line_that_goes_on(place, start):
    words = ("run", "a long run.toml", "-o", "out here", "--seed", "7", "--until", "speedup=0.1")
    own = start(*words, columns=24).until("M/s|simulating|look")
    os.write(own.end, b"\x03")
    assert own.over() == 130
    live = re.findall(r"\r([^\r\n]*)\x1b\[K", own.text)
    assert live
    assert max(map(len, live)) < 24
    assert "simspec run: interrupted; what was played is kept" in own.text
    (line,) = re.findall(r"go on: (.*?)\r\n", own.text)
    assert tuple(shlex.split(line)[-len(words) :]) == words
    done = subprocess.run(
        ["bash", "-c", f"{line} --windows 1000 --json"],
        cwd=place,
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | OURS,
    )
    own = json.loads(done.stdout)
    assert (own["folder"], own["scenario"]["seed"], own["scenario"]["stop"]) == ("out here", 7, {"speedup": 0.1})


def test_sigterm_keeps_what_was_played_and_its_folder_goes_on(place, start):
    own = start("run", "a long run.toml", "-o", "out", "--seed", "3", TERM="xterm").until("M/s")
    own.send(signal.SIGTERM).send(signal.SIGTERM)  # as timeout does, to a process and to its group
    assert own.over() == 143
    assert all(
        re.match(r"\[ *\d+\.\d s\] |simspec run: stopped by SIGTERM|go on: ", own) for own in own.text.splitlines()
    )
    before = kept(place / "out")
    assert before
    (place / "a long run.toml").rename(place / "elsewhere.toml")
    own = start("run", "out").until("M/s").send(signal.SIGINT)
    assert own.over() == 130
    assert kept(place / "out") > before
    assert json.loads((place / "out" / "manifest.json").read_text())["scenario"]["seed"] == 3


def test_a_closed_terminal_loses_nothing(place, start):
    own = start("run", "a long run.toml", "-o", "out", columns=80).until("M/s")
    os.close(own.end)
    assert own.process.wait(60) == 129
    assert kept(place / "out")


def test_only_a_second_ctrl_c_stops_at_once(start):
    own = start("run", "a long run.toml", "-o", "out", program=SLOW).until("M/s")
    own.send(signal.SIGINT)
    time.sleep(0.05)
    own.send(signal.SIGINT)  # the same press
    time.sleep(2 * interrupts.SAME_PRESS)
    own.send(signal.SIGTERM)
    time.sleep(0.2)
    assert own.process.poll() is None
    began = time.monotonic()
    assert own.send(signal.SIGINT).over() == 130
    assert time.monotonic() - began < 5
    assert own.text.endswith("simspec run: stopped at once\n")


def test_signals_that_are_ignored_stay_so(monkeypatch):
    """As nohup and & in a script have it."""
    taken = {}
    monkeypatch.setattr(interrupts._Console, "signals", ())
    monkeypatch.setattr(signal, "signal", taken.__setitem__)
    monkeypatch.setattr(signal, "getsignal", lambda one: signal.SIG_IGN if one == signal.SIGHUP else signal.SIG_DFL)
    interrupts.begin()
    assert set(taken) == {signal.SIGINT, signal.SIGTERM}


@pytest.mark.parametrize("name", ["run", "combine", "replay"])
def test_the_way_on_is_told_where_there_is_one(name, place, monkeypatch, capsys):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    for where in ("sweep.sweep", "shards.combine", "replay.replay"):
        monkeypatch.setattr(f"simspec.run.{where}", stopped)
    words = {"run": ["a long run.toml"], "combine": ["all", "s1"], "replay": ["out"]}[name]
    monkeypatch.chdir(place)
    assert main([name, *words, "--quiet"]) == 130
    said = capsys.readouterr().err
    assert said.startswith(f"simspec {name}: interrupted")
    assert ("; what was played is kept\ngo on: " in said) == (name != "replay")


def test_a_reader_that_leaves_does_not_stop_a_run(place, start):
    (place / "short.toml").write_text(LONG.replace("1_000_000_000", "1000"))
    own = start("run", "short.toml", "-o", "out")
    os.close(own.end)
    own.process.wait(60)
    assert json.loads((place / "out" / "manifest.json").read_text())["complete"]


def test_pieces_of_one_long_simulation_are_kept_and_counted_as_they_come(tmp_path):
    job = next(plan(Scenario.from_dict({"name": "l", "windows": 40_000_000, "kappa": [4], "process": {"type": "markov",
                "alpha": 0.7, "rho": 0.3, "start": "carry"}})).jobs)  # fmt: skip
    shelf, progress, seen = keeping.Kept(tmp_path), Progress(quiet=True), []
    keep = shelf.keep
    shelf.keep = lambda *own: (keep(*own), seen.append(progress.done))
    with threads_only(1) as workers:
        list(play_jobs([job], workers, progress, shelf))
    assert len(seen) == len(job.pieces()) > 5
    assert seen == sorted(set(seen))
    shelf.flush()
    progress.begin("again", progress.done)
    with threads_only(1) as workers:
        list(play_jobs([job], workers, progress, keeping.Kept(tmp_path)))
    assert (progress.done, progress.total) == (0, 0)  # what is kept is not waited for


def test_a_folder_goes_on_as_it_was_begun(place, capsys):
    words = ["--windows", "1000", "--method", "simulate", "--record", "100", "--quiet"]
    assert main(["run", str(place / "a long run.toml"), "-o", str(place / "out"), *words]) == 0
    before = {file: file.read_bytes() for file in (place / "out").rglob("*.parquet")}
    for file in (place / "out").glob("rounds/*"):
        file.unlink()
    manifest = json.loads((place / "out" / "manifest.json").read_text())
    manifest["complete"] = manifest["rounds"]["complete"] = False
    (place / "out" / "manifest.json").write_text(json.dumps(manifest))
    (place / "out").rename(place / "moved")
    (place / "a long run.toml").unlink()
    assert main(["run", str(place / "moved"), "--quiet"]) == 0
    assert {file.relative_to(place / "out"): own for file, own in before.items()} == {
        file.relative_to(place / "moved"): file.read_bytes() for file in (place / "moved").rglob("*.parquet")
    }
    capsys.readouterr()
    assert main(["run", str(place / "moved"), "--seed", "9", "--quiet"]) == 2
    assert "it differs in seed (1 there, 9 asked for)" in capsys.readouterr().err


def test_the_folder_of_a_shard_stays_one(place, capsys):
    words = ["run", str(place / "a long run.toml"), "--windows", "1e4", "--quiet"]
    assert main([*words, "--shard", "2/2", "-o", str(place / "s2")]) == 0
    assert main(["run", str(place / "s2"), "--quiet"]) == 0
    assert capsys.readouterr().out.count("shard 2/2 of long: ") == 2


@pytest.mark.parametrize("what", ["nothing", "verdicts"])
def test_a_folder_of_something_else(what, tmp_path, capsys):
    if what == "verdicts":
        (tmp_path / "manifest.json").write_text(json.dumps({"schema_version": 7, "scenario": {"claims": 3}}))
    assert main(["run", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert ("is not a simspec dataset" if what == "nothing" else "is of another command") in line


@pytest.mark.parametrize(
    "words", [("run", "a long run.toml"), ("combine", "out", "s1"), ("replay", "out")], ids="".join
)
def test_ctrl_c_while_it_loads_is_one_line(words, place):
    """In the middle of the imports, where modules turn a KeyboardInterrupt into errors of their own."""
    loading = subprocess.Popen(
        [sys.executable, "-v", "-c", ENTRY, *words], cwd=place, stderr=subprocess.PIPE, text=True,
        env=os.environ | OURS, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert loading.stderr is not None
    for line in loading.stderr:  # -v names every module as it is loaded
        if line.startswith("import 'simspec.run.planning' "):
            break
    loading.send_signal(signal.SIGINT)
    rest = [line for line in loading.communicate(timeout=60)[1].splitlines() if line.startswith("simspec ")]
    assert loading.returncode == 130
    assert rest == [f"simspec {words[0]}: interrupted"]
    assert [path.name for path in place.iterdir()] == ["a long run.toml"]
