"""A stored run comes out again, and what does not is named; an installation that is not sound says so."""

import ast
import errno
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from simspec.cli.main import main
from simspec.model import DatasetError, ParameterError, Scenario
from simspec.run import doctor, planning
from simspec.run import replay as again
from simspec.run.columns import column
from simspec.run.provenance import provenance
from simspec.run.record import Recording
from simspec.run.replay import Replayed, replay
from simspec.run.sweep import sweep

ROOT = Path(__file__).parents[2]
TABLE = {
    "name": "again",
    "windows": 600_000,
    "kappa": [0, 2, 4],
    "process": [
        {"type": "iid", "alpha": 0.7},
        {"type": "markov", "alpha": 0.7, "rho": 0.3, "start": "carry"},
        {"type": "hmm", "P": [[0.9, 0.1], [0.2, 0.8]], "alphas": [0.95, 0.4]},
        {"type": "drift", "alpha_start": 0.85, "alpha_end": 0.62, "tokens": 128},
    ],
    "policy": [{"type": "fixed"}, {"type": "heuristic"}],
    "cost": {"c_d": 0.1},
}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return sweep(Scenario.from_dict(TABLE), tmp_path_factory.mktemp("replay") / "out")


def test_every_simulation_and_its_last_chunk_come_out_again(dataset):
    for own in sorted(dataset.simulation_ids):
        chunks = dataset.chunks[dataset.chunks["simulation_id"] == own]["chunk"]
        assert replay(dataset.path, own).same
        assert replay(dataset.path, own[:16], int(chunks.max())).same


def test_the_whole_comes_out_again(dataset):
    assert replay(dataset.path).same


def test_a_run_that_stopped_by_itself_comes_out_again(tmp_path):
    table = TABLE | {"windows": 20_000_000, "process": TABLE["process"][1], "policy": {"type": "fixed"}}
    own = sweep(Scenario.from_dict(table | {"stop": {"speedup": 0.005}}), tmp_path / "out")
    assert own.estimates["looks"].max() < 7
    assert replay(own.path).same
    assert replay(own.path, chunk=1).same


@pytest.fixture
def planted(tmp_path):
    """A run in which one count of one lane is one too high."""
    own = sweep(
        Scenario.from_dict(TABLE | {"process": TABLE["process"][1], "policy": {"type": "fixed"}}), tmp_path / "o"
    )
    path = own.path / "chunks" / "part-000000.parquet"
    table = pq.read_table(path)
    wrong = table["sum_accepted"].to_numpy().copy()
    row = int(np.flatnonzero((table["kappa"].to_numpy() == 4) & (table["chunk"].to_numpy() == 1))[5])
    wrong[row] += 1
    place = table.schema.get_field_index("sum_accepted")
    pq.write_table(
        table.set_column(place, table.schema.field(place), column(wrong, table.schema.field(place).type)), path
    )
    return own, int(table["lane"][row].as_py())


def test_one_count_that_is_wrong_by_one_is_found(planted):
    own, lane = planted
    assert replay(own.path).differs == ("chunks.sum_accepted: differs in 1 row",)
    assert replay(own.path, chunk=0).same
    (told,) = replay(own.path, chunk=1).differs
    assert told.startswith(f"κ = 4, chunk 1, lane {lane}: accepted ")


def plant(path, change):
    """One table is another one, its file as sound as before."""
    pq.write_table(change(pq.read_table(path)), path)


def with_column(name, change):
    """One entry of a column is changed in a table."""

    def changed(table):
        place, own = table.schema.get_field_index(name), table[name].to_numpy().copy()
        own[1] = change(own[1])
        return table.set_column(place, table.schema.field(place), pa.array(own, table.schema.field(place).type))

    return changed


LITTLE = TABLE | {
    "windows": 20_000,
    "process": TABLE["process"][1] | {"alpha": [0.6, 0.7]},
    "policy": {"type": "fixed"},
}


@pytest.mark.parametrize(
    ("table", "change", "said"),
    [
        ("counts", with_column("count", lambda own: own + 1), "counts.count: differs in 1 row"),
        ("estimates", with_column("speedup", lambda own: np.nextafter(own, 9)), "estimates.speedup: differs in 1 row"),
        ("estimates", with_column("speedup", lambda _: np.nan), "estimates.speedup: differs in 1 row"),
        ("estimates", with_column("kappa_fixed", lambda _: 3.0), "estimates.kappa_fixed: differs in 1 row"),
        ("counts", lambda own: own.slice(1), r"counts: [0-9]+ rows stored, [0-9]+ now"),
        ("chunks", lambda own: own.slice(1), r"chunks: [0-9]+ rows stored, [0-9]+ now"),
    ],
)
def test_what_differs_in_any_table_is_found(table, change, said, tmp_path, monkeypatch):
    """By one, by one bit of a fraction, by a number or none in place of the other, by a row; in the second part."""
    monkeypatch.setattr(planning, "ROWS_PER_PART", 1)
    monkeypatch.setattr(planning, "MOST_PARTS", 1000)
    own = sweep(Scenario.from_dict(LITTLE), tmp_path / "o")
    plant(own.path / table / "part-000001.parquet", change)
    (told,) = replay(own.path).differs
    assert re.fullmatch(said, told)
    second = own.estimates["simulation_id"].iloc[-1]
    assert replay(own.path, second).same == (table != "chunks")
    assert "rows stored" in str(replay(own.path, second)) or table != "chunks"


def test_only_some_of_many_differences_are_listed():
    text = str(Replayed("a run", tuple(f"row {number}" for number in range(7))))
    assert text.splitlines()[1:] == ["row 0", "row 1", "row 2", "row 3", "row 4", "… and 2 more"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    table = TABLE | {"process": TABLE["process"][1:4:2], "policy": {"type": "fixed"}, "stop": {"speedup": 0.02}}
    place = tmp_path_factory.mktemp("recorded") / "out"
    return sweep(Scenario.from_dict(table), place, recording=Recording(3000, every=2))


def test_recorded_rounds_come_out_again(recorded):
    assert len(list((recorded.path / "rounds").iterdir())) == 6
    assert replay(recorded.path).same
    assert all(replay(recorded.path, own).same for own in recorded.simulation_ids)


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        ("one", " accepted: differs in 1 row"),
        ("rows", ": 2,999 rows stored, 3,000 now, or other columns"),
        ("gone", ": is not there"),
        ("cut", ": cannot be read ("),
    ],
)
def test_a_recorded_round_that_is_wrong_is_found(harm, said, recorded, tmp_path):
    folder = Path(shutil.copytree(recorded.path, tmp_path / "copy"))
    path = sorted((folder / "rounds").glob("*-kappa-4.parquet"))[0]
    table = pq.read_table(path)
    if harm == "one":
        wrong, place = table["accepted"].to_numpy().copy(), table.schema.get_field_index("accepted")
        wrong[7] = 4 - wrong[7] if wrong[7] != 2 else 3
        field = table.schema.field(place)
        pq.write_table(table.set_column(place, field, column(wrong, field.type)), path)
    elif harm == "rows":
        pq.write_table(table.slice(1), path)
    elif harm == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:1000])
    (simulation,) = (own for own in recorded.simulation_ids if path.name.startswith(own[:16]))
    (other,) = set(recorded.simulation_ids) - {simulation}
    for point in (None, simulation):
        (told,) = replay(folder, point).differs
        assert told.startswith(f"rounds/{path.name}{said}")
    assert replay(folder, other).same


def test_rounds_that_were_broken_off_are_to_be_continued_first(recorded, tmp_path):
    folder = Path(shutil.copytree(recorded.path, tmp_path / "copy"))
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"rounds": manifest["rounds"] | {"complete": False}}))
    with pytest.raises(DatasetError, match=r"its rounds/ are not complete; simspec run continues them"):
        replay(folder)


def test_other_versions_are_said_where_something_differs(planted, monkeypatch):
    own, _ = planted
    assert "other versions" not in str(replay(own.path))
    now = provenance()
    monkeypatch.setattr(again, "provenance", lambda: now | {"libraries": now["libraries"] | {"scipy": "99"}})
    told = str(replay(own.path)).splitlines()[-1]
    assert told.startswith(f"other versions: scipy {now['libraries']['scipy']} (now 99); they may move the last digits")
    assert "other versions" not in str(replay(own.path, chunk=0))  # which is the same


def test_the_command(planted, capsys):
    own, _ = planted
    assert main(["replay", str(own.path), "--quiet"]) == 1
    assert "NOT the same" in capsys.readouterr().out
    assert main(["replay", str(own.path), "--chunk", "0", "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["same"] is True


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "simulations are meant"),
        ({"point": "zz"}, "there is no such point"),
        ({"point": "*"}, "there is no such point"),
        ({"point": None, "chunk": 99}, "chunk 99 was not played"),
        ({"point": None, "chunk": -1}, "chunk -1 was not played"),
    ],
)
def test_what_was_never_played(asked, said, dataset):
    if "point" in asked and asked["point"] is None:
        asked = asked | {"point": min(dataset.simulation_ids)}
    with pytest.raises(DatasetError, match=said.replace("*", r"\*")):
        replay(dataset.path, **({"chunk": 0} | asked))


def test_the_chunk_after_the_last_was_never_played(dataset):
    own = min(dataset.simulation_ids)
    last = int(dataset.chunks[dataset.chunks["simulation_id"] == own]["chunk"].max())
    with pytest.raises(DatasetError, match=f"chunk {last + 1} was not played; allowed: 0 to {last}$"):
        replay(dataset.path, own, last + 1)


def test_what_cannot_be_replayed(tmp_path):
    own = sweep(Scenario.from_dict({"name": "e", "method": "exact", "process": TABLE["process"][0]}), tmp_path / "e")
    with pytest.raises(ParameterError, match="plays no chunks"):
        replay(own.path, chunk=0)
    assert replay(own.path).same
    manifest = own.path / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"complete": False}))
    with pytest.raises(DatasetError, match="is not complete"):
        replay(own.path)


def test_this_installation_is_sound(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(doctor, "SPEED_WINDOWS", 2**20)
    assert main(["doctor", "--results", str(tmp_path / "results")]) == 0
    out = capsys.readouterr().out
    assert out.count("as they must be (stream version 2)") == len(doctor.KNOWN)
    assert "BAD" not in out
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("wrong", ["versions", "words", "squares", "kernels", "threads", "files", "full", "locks"])
def test_what_is_not_sound_is_said(wrong, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(doctor, "SPEED_WINDOWS", 2**20)
    place = tmp_path
    if wrong == "versions":
        now = provenance()
        monkeypatch.setattr(doctor, "provenance", lambda: now | {"libraries": now["libraries"] | {"scipy": "1.9.3"}})
    elif wrong == "words":
        simulation, kappa, accepted, squares = doctor.KNOWN["a policy"]
        monkeypatch.setitem(doctor.KNOWN, "a policy", (simulation, kappa, accepted + 1, squares))
    elif wrong == "squares":
        simulation, kappa, accepted, squares = doctor.KNOWN["a policy"]
        monkeypatch.setitem(doctor.KNOWN, "a policy", (simulation, kappa, accepted, squares + 1))
    elif wrong == "threads":
        run = doctor.run_jobs

        def unsafe(jobs, threads):
            for job, (tally,) in run(jobs, threads):
                tally.sums[3, 1] += threads == 3
                yield job, [tally]

        monkeypatch.setattr(doctor, "default_threads", lambda: 3)
        monkeypatch.setattr(doctor, "run_jobs", unsafe)
    elif wrong in ("full", "locks"):
        code, name = (errno.ENOSPC, "os.fsync") if wrong == "full" else (errno.ENOLCK, "fcntl.flock")

        def fails(*_):
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(name, fails)
    elif wrong == "kernels":
        from simspec.kernels import twin

        play = twin.play

        def other(*own):
            tally = play(*own)
            tally.sums[3, 1] += 1
            return tally

        monkeypatch.setattr(twin, "play", other)
    else:
        place = tmp_path / "file"
        place.write_text("x")

        def shut(*_, **__):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(doctor.tempfile, "TemporaryDirectory", shut)
    assert main(["doctor", "--results", str(place)]) == 1
    assert capsys.readouterr().out.count("BAD") == 1


def test_doctor_tells_how_large_copies_of_stores_are(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor, "home", lambda: tmp_path / "mirrors")
    assert doctor._copies() == f"none in {tmp_path / 'mirrors'}"
    for name in ("one", "two"):
        (tmp_path / "mirrors" / name / "tallies").mkdir(parents=True)
        (tmp_path / "mirrors" / name / "tallies" / "x").write_bytes(bytes(1_500_000))
    assert doctor._copies().startswith(f"2 of 3.0 MB in {tmp_path / 'mirrors'}; ")


def test_doctor_asserts_nothing():
    """python -O drops assert statements; that it then finds the same is tried below."""
    assert not [own for own in ast.walk(ast.parse(Path(doctor.__file__).read_text())) if isinstance(own, ast.Assert)]


@pytest.mark.deep
def test_what_doctor_finds_does_not_hang_on_assertions(tmp_path):
    """python -O drops assert statements."""
    words = "from simspec.run import doctor; doctor.SPEED_WINDOWS = 1; own = doctor.KNOWN; one = own['a policy']; "
    words += "own['a policy'] = (*one[:3], one[3] + 1)"
    call = f"{words}; print([f.what for f in doctor.examine({str(tmp_path)!r}) if not f.sound])"
    done = subprocess.run([sys.executable, "-O", "-c", call], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "['random words, a policy']"
