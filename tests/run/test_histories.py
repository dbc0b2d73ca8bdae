"""Whatever happened to a folder before, it ends in the bytes of a run that nothing happened to: random histories."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

import simspec
from simspec.model import Scenario
from simspec.run import shards, sweep
from simspec.run.progress import Progress
from simspec.run.record import Recording
from simspec.run.shards import Shard

HERE = Path(__file__).resolve().parent
OWN = Scenario.from_dict(
    {
        "name": "past",
        "windows": 20_000,
        "kappa": [1, 3],
        "process": {"type": "markov", "alpha": 0.7, "rho": 0.3, "start": "carry"},
    }
)


def data(place):
    """Bytes of every table."""
    return {str(own.relative_to(place)): own.read_bytes() for own in sorted(place.rglob("part-*.parquet"))}


def harm(place, table):
    own = place / table / "part-000000.parquet"
    own.write_bytes(own.read_bytes()[:-1] + b"x")


@pytest.mark.parametrize("table", ["estimates", "tallies"])
def test_a_repair_that_is_cut_off_leaves_a_folder_that_is_not_whole(tmp_path, monkeypatch, table):
    """What is removed to be made again is missing until it is: the folder said it was complete, and so it stayed."""
    whole = data(sweep.sweep(OWN, tmp_path / "own").path)
    harm(tmp_path / "own", table)

    def cut(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(sweep, "_write_missing", cut)
        with pytest.raises(KeyboardInterrupt):
            sweep.sweep(OWN, tmp_path / "own")
    assert not json.loads((tmp_path / "own" / "manifest.json").read_text())["complete"]
    sweep.sweep(OWN, tmp_path / "own")
    assert data(tmp_path / "own") == whole


@pytest.mark.parametrize("table", ["chunks", "tallies"])
def test_shards_are_combined_again_where_a_table_was_damaged(tmp_path, table):
    """The damaged table was removed, and not made again, since everything seemed to be there."""
    for number in (1, 2):
        shards.play_shard(OWN, Shard(number, 2), tmp_path / f"s{number}")
    folders = [tmp_path / "s1", tmp_path / "s2"]
    whole = data(shards.combine(tmp_path / "own", folders).path)
    harm(tmp_path / "own", table)
    shards.combine(tmp_path / "own", folders)
    assert data(tmp_path / "own") == whole


def test_recorded_rounds_that_were_damaged_are_made_again(tmp_path):
    """A file of rounds says of itself what it holds; a changed bit of them it does not."""
    place, recording, notes = tmp_path / "own", Recording(3000, 1), io.StringIO()
    sweep.sweep(OWN, place, recording=recording)
    first, *_ = sorted((place / "rounds").iterdir())
    whole = first.read_bytes()
    middle = len(whole) // 3
    first.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
    sweep.sweep(OWN, place, recording=recording, progress=Progress(stream=notes))
    assert first.read_bytes() == whole
    assert f"{first}: missing or damaged; made again" in notes.getvalue()


@pytest.mark.parametrize("table", ["counts", "chunks", "estimates"])
def test_tables_that_the_manifest_does_not_name_are_not_read(tmp_path, table):
    """What a kill leaves between tables and manifest is of another run, or only some of the tables."""
    place = sweep.sweep(OWN, tmp_path / "own").path
    rows = len(getattr(simspec.read(place), table))
    (place / table / "part-000099.parquet").write_bytes((place / table / "part-000000.parquet").read_bytes())
    assert len(getattr(simspec.read(place), table)) == rows


def histories(place, many, seed):
    """What `histories.py` finds, which forks."""
    words = [sys.executable, str(HERE / "histories.py"), str(place), str(many), str(seed)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    return json.loads(done.stdout), done.stderr


GOOD = {"errors": 0, "other bytes": 0, "other words": 0, "left over": 0}


def test_a_few_histories_end_alike(tmp_path):
    found, told = histories(tmp_path, 2, "few")
    assert {key: found[key] for key in GOOD} == GOOD, told


@pytest.mark.deep
def test_many_histories_end_alike(tmp_path):
    found, told = histories(tmp_path, 120, "many")
    assert {key: found[key] for key in GOOD} == GOOD, told
    assert min(found["killed"], found["damaged"], found["shared"]) > 20
