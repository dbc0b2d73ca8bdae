"""Runs that are killed a hundred times go on to the bytes of one that was left alone; disks that are full or shut."""

import errno
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from simspec.model import DatasetError, Scenario
from simspec.run import count_files, dispatch, engine, keeping, planning, store
from simspec.run.sweep import sweep

HERE = Path(__file__).parent
LIMITED = """
import resource, sys
from simspec.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
raise SystemExit(main(["run", sys.argv[2], "-o", sys.argv[3], "--quiet"]))
"""
TINY = {"windows": 1000, "kappa": [2], "process": {"type": "iid", "alpha": 0.7}}
FILE = """
windows = 1000000
kappa = [0, 2, 4]
[process]
type = "markov"
alpha = [0.6, 0.7]
rho = 0.3
start = "carry"
[cost]
c_d = 0.1
"""


WRITER = ("flushing played/", "writing a part", "between parts and manifest", "writing the manifest")


def killed(place, kills, seed, *histories):
    own = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}
    done = subprocess.run(
        [sys.executable, HERE / "killing.py", place, str(kills), str(seed), *histories],
        capture_output=True, text=True, check=False, env=own,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["other bytes"], found["errors"], found["left over"]) == (0, 0, 0), (found, done.stderr)
    assert found["kills"] >= kills
    return found


def test_a_few_kills_leave_the_same_bytes(tmp_path):
    assert sum(killed(tmp_path, 3, 5, "fixed")["while"].values()) >= 3


@pytest.mark.deep
def test_a_hundred_kills_leave_the_same_bytes(tmp_path):
    """At random moments, and just before and after random changes of the disk, of every kind of run and of workers."""
    found = killed(tmp_path, 100, 1)
    at = found["while"]
    assert at["simulating"] >= 10
    assert sum(at.get(doing, 0) for doing in WRITER) >= 15
    assert all(at.get(doing, 0) >= 1 for doing in WRITER), at
    assert at["compacting played/"] >= 3
    assert at["tidying"] >= 5
    assert at["worker process"] >= 3
    assert set(found["of"]) == {"fixed", "stopped", "extended", "shards", "recording", "processes"}


def data(path):
    return {str(f.relative_to(path)): f.read_bytes() for f in sorted(path.rglob("part-*.parquet"))}


def test_a_disk_that_fills_up(tmp_path):
    """Files may grow to some kB only, as under a quota; with more room the same command goes on."""
    file = tmp_path / "own.toml"
    file.write_text(FILE)
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, "9000", file, tmp_path / "out"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "cannot be written" in done.stderr
    assert not list((tmp_path / "out").rglob("*.tmp"))
    scenario = Scenario.from_toml(file)
    assert data(sweep(scenario, tmp_path / "out").path) == data(sweep(scenario, tmp_path / "whole").path)


def test_what_takes_its_name_is_on_the_disk(many_files, tmp_path, monkeypatch):
    """After a power cut a file may lack what was written last: each is written out before it is renamed."""
    written, renamed, replace = set(), [], os.replace

    def state(own):
        return own.st_ino, own.st_size, own.st_mtime_ns

    def noted(old, new):
        renamed.append((Path(new).parent.name, state(os.stat(old)) in written))
        replace(old, new)

    monkeypatch.setattr(os, "fsync", lambda handle: written.add(state(os.fstat(handle))))
    monkeypatch.setattr(os, "replace", noted)
    for kappa in ([0], [0, 2]):
        sweep(Scenario.from_dict(SOME | {"kappa": kappa}), tmp_path / "out")
    assert {where for where, _ in renamed} == {"out", "played", "tallies", "chunks", "counts", "estimates"}
    assert all(safe for _, safe in renamed)


def test_a_folder_that_must_not_be_written(tmp_path, monkeypatch):
    """As root nothing is forbidden: the system's refusal is played."""
    scenario = Scenario.from_dict(
        {"name": "shut", "windows": 1000, "kappa": [2], "process": {"type": "iid", "alpha": 0.7}}
    )

    def shut(*_args, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "touch", shut)
    with pytest.raises(DatasetError, match=r"shut: cannot be written \(Permission denied\)"):
        sweep(scenario, tmp_path / "shut")
    monkeypatch.undo()
    whole = sweep(scenario, tmp_path / "shut")
    monkeypatch.setattr(os, "replace", shut)
    monkeypatch.setattr(store, "write_json", shut)
    assert sweep(scenario, whole.path).complete  # looking at it takes no right to write


CHAIN = {"type": "markov", "alpha": [0.6, 0.7], "rho": 0.3, "start": "carry"}
SOME = {"name": "some", "windows": 200_000, "kappa": [0, 2], "process": CHAIN, "cost": {"c_d": 0.1}}
CHANGES = [
    (os, "replace"), (os, "fsync"), (os, "mkdir"), (os, "unlink"), (os, "rmdir"), (Path, "touch"), (Path, "write_text"),
    (pq.ParquetWriter, "__init__"), (pq.ParquetWriter, "write_table"),
]  # fmt: skip
QUICK = ("replace", "unlink", "write_table")


@pytest.fixture
def many_files(monkeypatch):
    monkeypatch.setattr(engine, "PIECE_WINDOWS", 2**18)
    monkeypatch.setattr(dispatch, "PIECE_WINDOWS", 2**18)
    monkeypatch.setattr(keeping, "FLUSH_SECONDS", 0.0)
    monkeypatch.setattr(keeping, "FLUSH_SHARE", 0.0)
    monkeypatch.setattr(planning, "ROWS_PER_PART", 200)
    monkeypatch.setattr(planning, "MOST_PARTS", 1000)
    monkeypatch.setattr(count_files, "MOST_FILES", 3)


CLOCKS = {"back": lambda n: 1e9 - 3600 * n, "forth": lambda n: 3600 * n, "both": lambda n: 1e9 + (-1) ** n * 1e5 * n}
"""What a clock shows when it is looked at for the n-th time, and the age of the n-th file."""


@pytest.mark.parametrize("clock", CLOCKS)
def test_clocks_that_jump(clock, many_files, tmp_path, monkeypatch):
    """They say when a run was, when to write what was played, and which of its files belong together; nothing else."""
    whole = data(sweep(Scenario.from_dict(SOME), tmp_path / "whole").path)
    replace, looks, files = os.replace, itertools.count(1), itertools.count(1)

    def dated(source, target):
        replace(source, target)
        os.utime(target, (CLOCKS[clock](next(files)),) * 2)

    monkeypatch.setattr(keeping, "FLUSH_SECONDS", 1000.0)
    with monkeypatch.context() as jumping:
        jumping.setattr(os, "replace", dated)
        for name in ("time", "monotonic"):
            jumping.setattr(time, name, lambda: CLOCKS[clock](next(looks)))
        own = sweep(Scenario.from_dict(SOME), tmp_path / "own")
    assert data(own.path) == whole
    assert next(looks) > 10
    assert next(files) > 8


def failing(place, name, number, code, to_the_end):
    """The n-th call fails, or all from there on; how often it was called is counted."""
    calls, own = [], getattr(place, name)

    def call(*arguments, **options):
        calls.append(name)
        if len(calls) == number or (to_the_end and len(calls) > number):
            raise OSError(code, os.strerror(code))
        return own(*arguments, **options)

    return call, calls


def error_of(do):
    try:
        do()
    except DatasetError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("place", "name"),
    [pytest.param(*own, marks=() if own[1] in QUICK else pytest.mark.deep, id=own[1]) for own in CHANGES],
)
def test_every_change_of_the_disk_fails_in_turn(place, name, many_files, tmp_path, monkeypatch, request):
    """Disk full at the first, the second, … call, while other points are taken over too: one line, and nothing lost."""
    own, before = Scenario.from_dict(SOME), Scenario.from_dict(SOME | {"kappa": [0]})
    whole = data(sweep(own, tmp_path / "whole").path)
    deep, told = request.config.getoption("-m") == "deep", 0
    for number in itertools.count(1) if deep else (2, 7):
        place_of_run = tmp_path / f"cut{number}"
        sweep(before, place_of_run)
        call, calls = failing(place, name, number, errno.ENOSPC, to_the_end=number % 2 == 0)
        with monkeypatch.context() as broken:
            broken.setattr(place, name, call)
            said = error_of(lambda place=place_of_run: sweep(own, place))
        if said:
            told += 1
            assert re.fullmatch(rf"{place_of_run}\S*: cannot be written \(No space left on device\)", said)
            assert name == "unlink" or not list(place_of_run.rglob("*.tmp"))
        assert data(sweep(own, place_of_run).path) == whole
        assert not list(place_of_run.rglob("*.tmp"))
        if len(calls) < number:
            break
    assert told or name in ("mkdir", "rmdir")  # of folders that are there


MOUNTED = """
import shutil, subprocess, sys
from pathlib import Path
from simspec.cli.main import main
place, file, size = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", place], check=True)
run = ["run", file, "-o", str(place / "out"), "--quiet"]
code = main(run)
subprocess.run(["mount", "-o", sys.argv[4], place], check=True)
again = main(run)
shutil.copytree(place / "out", sys.argv[5], ignore=shutil.ignore_patterns(".lock"))
left = len(list((place / "out").rglob("*.tmp")))
print("CODES", code, again, left)
"""


def mountable():
    try:
        done = subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


@pytest.mark.skipif(not mountable(), reason="needs a file system of its own: unshare -rm")
@pytest.mark.parametrize(
    "size", ["44k", *(pytest.param(f"{n}k", marks=pytest.mark.deep) for n in (12, 20, 28, 36, 52, 60))]
)
def test_a_file_system_without_room(size, tmp_path):
    """A tmpfs of some pages; once it is larger, the same command goes on."""
    file, place = tmp_path / "own.toml", tmp_path / "small"
    file.write_text(FILE)
    place.mkdir()
    done = subprocess.run(
        ["unshare", "-rm", sys.executable, "-c", MOUNTED, place, file, size, "remount,size=10m", tmp_path / "copy"],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(HERE.parents[1])},
    )  # fmt: skip
    assert "CODES 2 0 0" in done.stdout, done
    assert done.stderr.count("\n") == 1
    assert re.search(r"cannot be written \((No space left on device|.*errno 28.*)\)", done.stderr), done.stderr
    assert data(tmp_path / "copy") == data(sweep(Scenario.from_toml(file), tmp_path / "whole").path)


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    def none(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    with monkeypatch.context() as broken:
        broken.setattr("fcntl.flock", none)
        with pytest.raises(DatasetError, match=r"its file system has no locks \(No locks available\)"):
            sweep(Scenario.from_dict(SOME), tmp_path / "out")
    assert sweep(Scenario.from_dict(SOME), tmp_path / "out").complete


HARMS = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "empty": lambda path: path.write_bytes(b""),
    "head": lambda path: path.write_bytes(b"X" + path.read_bytes()[1:]),
    "foot": lambda path: path.write_bytes(path.read_bytes()[:-6] + b"X" + path.read_bytes()[-5:]),
    "other": lambda path: path.write_bytes(path.with_name("part-000001.parquet").read_bytes()),
    "gone": lambda path: path.unlink(),
    "folder": lambda path: (path.unlink(), path.mkdir()),
    "link": lambda path: (path.rename(path.parents[2] / "away"), path.symlink_to(path.parents[2] / "away")),
    "dangling": lambda path: (path.unlink(), path.symlink_to("/nowhere")),
}


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("table", ["tallies", "estimates"])
def test_a_part_that_was_harmed_is_made_again_or_named(harm, table, many_files, tmp_path):
    own = Scenario.from_dict(SOME)
    whole = data(sweep(own, tmp_path / "out").path)
    victim = tmp_path / "out" / table / "part-000000.parquet"
    HARMS[harm](victim)
    said = error_of(lambda: sweep(own, tmp_path / "out"))
    if harm == "folder":
        assert str(victim) in said
        victim.rmdir()
        assert not error_of(lambda: sweep(own, tmp_path / "out"))
    assert harm == "folder" or not said
    assert data(tmp_path / "out") == whole
    assert not (tmp_path / "nowhere").exists()


def test_a_folder_that_is_removed_under_a_run(many_files, tmp_path, monkeypatch):
    """Said in one line; counts that were written after that are used again."""
    own, keep, left = Scenario.from_dict(SOME), keeping.Kept.keep, iter(range(3))
    whole = data(sweep(own, tmp_path / "whole").path)

    def removing(self, *arguments):
        if next(left, None) == 2:
            shutil.rmtree(tmp_path / "out")
        keep(self, *arguments)

    monkeypatch.setattr(keeping.Kept, "keep", removing)
    assert re.search(
        r"out\S*: cannot be written \(No such file or directory\)", error_of(lambda: sweep(own, tmp_path / "out"))
    )
    assert list((tmp_path / "out" / "played").iterdir())
    assert data(sweep(own, tmp_path / "out").path) == whole
