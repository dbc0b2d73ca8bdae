"""Runs that are killed a hundred times go on to the bytes of one that was left alone; disks that are full or shut."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from simspec.model import DatasetError, Scenario
from simspec.run import store
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


def test_clocks_that_jump(tmp_path, monkeypatch):
    """The clock on the wall says when a run was, and nothing else."""
    scenario = Scenario.from_dict(
        {"name": "late", "windows": 1000, "kappa": [2], "process": {"type": "iid", "alpha": 0.7}}
    )
    whole = data(sweep(scenario, tmp_path / "whole").path)
    hours = iter(range(10**6, 0, -3600))
    monkeypatch.setattr("time.time", lambda: float(next(hours)))
    assert data(sweep(scenario, tmp_path / "back").path) == whole
