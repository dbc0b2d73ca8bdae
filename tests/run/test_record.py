"""Single rounds on disk: they are the rounds that were counted, a prefix, whole or not there."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import simspec
from simspec.cli.main import main
from simspec.model import DatasetError, ParameterError, Scenario
from simspec.run import pages, record, store
from simspec.run.planning import plan
from simspec.run.progress import Progress
from simspec.run.record import Recording
from simspec.run.schema import ROUNDS
from simspec.run.sweep import sweep

DATA = Path(__file__).parents[2] / "scenarios" / "data"
STICKY = [[0.9, 0.1], [0.2, 0.8]]
SHORT = {"request_tokens": 12}
PROCESSES = {
    "iid": {"type": "iid", "alpha": 0.7},
    "carried": {"type": "markov", "alpha": 0.7, "rho": 0.3, "start": "carry"},
    "drift": {"type": "drift", "alpha_start": 0.9, "alpha_end": 0.3, "tokens": 30},
    "untruncated": {"type": "drift", "alpha_start": 0.9, "alpha_end": 0.3, "tokens": 30, "truncate": False},
    "hmm": {"type": "hmm", "P": STICKY, "alphas": [0.95, 0.4], "start": "carry"},
    "fresh hmm": {"type": "hmm", "P": STICKY, "alphas": [0.95, 0.4]},
    "beta requests": {"type": "beta_mixture", "alpha": 0.7, "rho": 0.2, **SHORT},
    "random lengths": {"type": "beta_mixture", "alpha": 0.7, "rho": 0.2, "request_law": "geometric", **SHORT},
    "dense trace": {
        "type": "trace", "path": str(DATA / "smollm2_dense_tl24.parquet"), "request": "request", "alpha": "tok_accept"
    },
    "measured rounds": {
        "type": "trace", "path": str(DATA / "smollm2_windows_k8.parquet"), "request": "request",
        "accepted": "accepted_full", "drafted": 8, "bonus_included": False,
    },
}  # fmt: skip
ALL = 10**9


def scenario(name="iid", **keys):
    table = {"name": "tiny", "windows": 20_000, "kappa": [0, 4], "process": PROCESSES[name], **keys}
    return Scenario.from_dict(table)


def counted(rounds):
    return rounds.groupby(["drafted", "accepted"]).size()


@pytest.mark.parametrize("name", PROCESSES)
def test_all_rounds_add_up_to_the_counts(name, tmp_path):
    data = sweep(scenario(name), tmp_path / "out", recording=Recording(ALL))
    (simulation,) = data.estimates["simulation_id"].unique()
    for kappa in (0, 4):
        rounds = data.rounds(simulation, kappa)
        own = data.counts[(data.counts["kappa"] == kappa) & (data.counts["count"] > 0)]
        expected = own.set_index(["drafted", "accepted"])["count"].sort_index()
        assert counted(rounds).to_dict() == expected.to_dict()
        lanes = rounds.groupby("unit")
        assert (rounds["round"] == lanes.cumcount()).all()
        assert rounds["unit"].is_monotonic_increasing
        if "position" in rounds:
            step = rounds["position"].diff()
            goes_on = (rounds["position"] > 0) & (rounds["unit"] == rounds["unit"].shift())
            assert (step[goes_on] == (rounds["accepted"].shift() + 1)[goes_on]).all()
        assert ("position" in rounds) == (plan(scenario(name)).parts[0][0].layout.generations > 0)


@pytest.mark.parametrize("name", ["iid", "carried", "hmm", "drift", "random lengths", "dense trace"])
def test_fewer_rounds_are_a_prefix(name, tmp_path):
    own = scenario(name, kappa=[4])
    whole = sweep(own, tmp_path / "out", recording=Recording(ALL)).rounds()
    for most in (1, 63, 1000, 12_345):
        few = sweep(own, tmp_path / "out", recording=Recording(most)).rounds()
        pd.testing.assert_frame_equal(few, whole.iloc[:most])


def test_every_takes_a_sample_of_chunks(tmp_path):
    own = scenario("carried", windows=200_000, kappa=[4])
    whole = sweep(own, tmp_path / "out", recording=Recording(ALL)).rounds()
    data = sweep(own, tmp_path / "out", recording=Recording(ALL, every=2))
    chunk = whole["unit"] // 64
    assert chunk.max() >= 3
    pd.testing.assert_frame_equal(data.rounds(), whole[chunk % 2 == 0].reset_index(drop=True))
    note = {"record": ALL, "every": 2, "complete": True}
    assert {key: own for key, own in data.manifest["rounds"].items() if key != "files"} == note
    assert "one chunk in 2" in data.summary()


def test_of_a_long_lane_only_the_first_rounds_are_taken(tmp_path, monkeypatch):
    own = scenario("drift", kappa=[2])
    whole = sweep(own, tmp_path / "out", recording=Recording(ALL)).rounds()
    monkeypatch.setattr(pages, "MOST_PER_LANE", 10)
    cut = sweep(own, tmp_path / "cut", recording=Recording(ALL)).rounds()
    pd.testing.assert_frame_equal(cut, whole[whole["round"] < 10].reset_index(drop=True))


def files(folder):
    return {path.name: path.read_bytes() for path in (folder / "rounds").iterdir()}


@pytest.mark.parametrize("name", ["iid", "beta requests"])
def test_threads_and_the_size_of_a_batch_change_no_round(name, tmp_path, monkeypatch):
    own = scenario(name)
    one, three = (sweep(own, tmp_path / str(n), threads=n, recording=Recording(9999)) for n in (1, 3))
    assert files(one.path) == files(three.path)
    monkeypatch.setattr(pages, "ROW_GROUP", 2**16)  # some chunks to a page, and many pages
    monkeypatch.setattr(pages, "MOST_PER_LANE", 2**10)
    small = sweep(own, tmp_path / "small", recording=Recording(9999))
    (simulation,) = one.estimates["simulation_id"].unique()
    for kappa in (0, 4):
        assert small.rounds(simulation, kappa).equals(one.rounds(simulation, kappa))


def test_many_row_groups(tmp_path):
    own = scenario("carried", windows=1_500_000, kappa=[4])
    data = sweep(own, tmp_path / "out", recording=Recording(ALL))
    (file,) = (data.path / "rounds").iterdir()
    assert pq.read_metadata(file).num_row_groups >= 5
    assert len(data.rounds()) == data.counts["count"].sum()
    assert data.rounds()["accepted"].sum() == data.chunks["sum_accepted"].sum()


def test_a_complete_folder_gets_rounds_and_keeps_the_rest(tmp_path):
    before = sweep(scenario(), tmp_path / "out")
    assert not (before.path / "rounds").exists()
    tables = {path: path.read_bytes() for path in before.path.rglob("part-*.parquet")}
    after = sweep(scenario(), tmp_path / "out", recording=Recording(100))
    assert tables == {path: path.read_bytes() for path in after.path.rglob("part-*.parquet")}
    assert "rounds" in sweep(scenario(), tmp_path / "out").summary()  # and a run without --record keeps them
    assert len(after.rounds(kappa=4)) == 100


def test_whole_files_are_kept_and_others_made(tmp_path):
    out = sweep(scenario(), tmp_path / "out", recording=Recording(5000)).path
    first, second = sorted((out / "rounds").iterdir())
    good = second.read_bytes()
    first.write_bytes(first.read_bytes()[:1000])
    old = second.stat().st_mtime_ns
    sweep(scenario(), out, recording=Recording(5000))
    assert second.stat().st_mtime_ns == old
    assert pq.read_metadata(first).num_rows == 5000
    sweep(scenario(), out, recording=Recording(100))
    assert pq.read_metadata(second).num_rows == 100
    sweep(scenario(), out, recording=Recording(5000))
    assert second.read_bytes() == good


@pytest.mark.parametrize("change", [{"seed": 2}, {"windows": 30_000}], ids=str)
def test_rounds_of_another_run_are_made_anew(change, tmp_path):
    """A file says of which seed and budget it is; one copied from elsewhere under the same name is not taken for it."""
    own, recording = scenario(kappa=[4]), Recording(100)
    out = sweep(own, tmp_path / "out", recording=recording).path
    good, other = files(out), files(sweep(scenario(kappa=[4], **change), tmp_path / "other", recording=recording).path)
    ((name, content),) = other.items()
    assert {name} == set(good)
    (out / "rounds" / name).write_bytes(content)
    sweep(own, out, recording=recording)
    assert files(out) == good


SLOWLY = """
import sys, time
import pyarrow.parquet as pq
from simspec.cli.main import main
write = pq.ParquetWriter.write_table
def slow(self, table, *args, **keys):
    write(self, table, *args, **keys)
    if "unit" not in table.column_names:
        return
    print("wrote", flush=True)
    time.sleep(60)
pq.ParquetWriter.write_table = slow
main(sys.argv[1:])
"""


def test_a_killed_run_leaves_at_most_a_temporary_file(tmp_path):
    (tmp_path / "s.toml").write_text('windows = 20000\nkappa = [4]\n[process]\ntype = "iid"\nalpha = 0.7\n')
    asked = ["run", "s.toml", "-o", "out", "--record", "5000", "--quiet"]
    running = subprocess.Popen([sys.executable, "-c", SLOWLY, *asked], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert running.stdout.readline() == "wrote\n"
    running.send_signal(signal.SIGKILL)
    running.wait()
    running.stdout.close()
    (left,) = (tmp_path / "out" / "rounds").iterdir()
    assert left.name.startswith(".")
    assert left.name.endswith(".tmp")
    note = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert (note["complete"], note["rounds"]["complete"]) == (True, False)
    assert "not all yet" in simspec.read(tmp_path / "out").summary()
    with pytest.raises(DatasetError, match="kappa is missing; recorded: none"):
        simspec.read(tmp_path / "out").rounds()
    subprocess.run([sys.executable, "-m", "simspec", *asked], cwd=tmp_path, check=True, capture_output=True)
    (file,) = (tmp_path / "out" / "rounds").iterdir()
    assert pq.read_metadata(file).num_rows == 5000


def full(*_args, **_kwargs):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("where", ["write_table", "__init__"])
def test_a_full_disk_is_one_line_and_nothing_half_written(where, tmp_path, monkeypatch):
    sweep(scenario(), tmp_path / "out")
    with monkeypatch.context() as patch:
        patch.setattr(record.pq.ParquetWriter, where, full)
        with pytest.raises(DatasetError, match=r"cannot be written \(No space") as caught:
            sweep(scenario(), tmp_path / "out", recording=Recording(1000))
    assert "\n" not in str(caught.value)
    assert list((tmp_path / "out" / "rounds").iterdir()) == []
    assert len(sweep(scenario(), tmp_path / "out", recording=Recording(1000)).rounds(kappa=0)) == 1000


LIMITED = """
import resource, signal, sys
from simspec.cli.main import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(os.name != "posix", reason="limits are POSIX")
def test_a_file_that_may_not_grow(tmp_path):
    """What the operating system itself says in the middle of a file."""
    (tmp_path / "s.toml").write_text('windows = 1000000\nkappa = [4]\n[process]\ntype = "iid"\nalpha = 0.7\n')
    common = ["run", "s.toml", "-o", "out", "--quiet"]
    subprocess.run([sys.executable, "-m", "simspec", *common], cwd=tmp_path, check=True, capture_output=True)
    command = [sys.executable, "-c", LIMITED, *common, "--record", "1e6"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert "cannot be written" in line
    assert list((tmp_path / "out" / "rounds").iterdir()) == []


def test_a_place_that_is_taken(tmp_path):
    out = sweep(scenario(), tmp_path / "out").path
    (out / "rounds").write_text("x")
    with pytest.raises(DatasetError, match=r"rounds.*cannot be written"):
        sweep(scenario(), out, recording=Recording(10))


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "5"])
def test_how_many_must_be_a_whole_number(value, tmp_path):
    for keys in ({"record": value}, {"record": 5, "record_every": value}):
        with pytest.raises(ParameterError, match="allowed: a whole number of at least 1"):
            simspec.sweep(scenario(), tmp_path / "out", **keys)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("method", ["exact", "multinomial"])
def test_other_methods_play_no_rounds(method, tmp_path):
    with pytest.raises(ParameterError, match=f'method = "{method}" plays none; allowed: method = "simulate"'):
        simspec.sweep(scenario(), tmp_path / "out", method=method, record=10)
    assert not (tmp_path / "out").exists()


def test_rounds_are_found_by_simulation_or_point(tiny, tmp_path):
    data = simspec.sweep(tiny, tmp_path / "out", record=50)
    row = data.estimates.iloc[0]
    frame = data.rounds(row["simulation_id"], 2)
    assert frame.columns.tolist() == ["unit", "round", "drafted", "accepted"]
    assert [str(kind) for kind in frame.dtypes] == ["int32", "int32", "int16", "int16"]
    assert frame.equals(data.rounds(row["point_id"], 2))
    assert frame.equals(data.rounds(row["simulation_id"][:12], kappa=np.int16(2)))
    for asked, said in (
        ((), "which of 2 simulations"),
        (("",), "more than one of 2 simulations"),
        (("nonsense",), "'nonsense' is none of 2 simulations"),
        ((row["simulation_id"],), "kappa is missing; recorded: 0, 2, 4"),
        ((row["simulation_id"], 3), "no rounds at kappa = 3; recorded: 0, 2, 4"),
    ):
        with pytest.raises(DatasetError, match=said):
            data.rounds(*asked)
    file = store.rounds_path(data.path, row["simulation_id"], 2)
    file.write_bytes(b"rubbish")
    with pytest.raises(DatasetError, match="cannot be read"):
        data.rounds(row["simulation_id"], 2)
    with pytest.raises(DatasetError, match="run the scenario again with --record N"):
        simspec.sweep(tiny, tmp_path / "none").rounds()


def test_the_only_kappa_recorded_is_not_taken_for_another(tmp_path):
    data = sweep(scenario(kappa=[4]), tmp_path / "out", recording=Recording(10))
    assert data.rounds().equals(data.rounds(kappa=4))
    with pytest.raises(DatasetError, match="no rounds at kappa = 3; recorded: 4"):
        data.rounds(kappa=3)


def test_a_file_says_what_it_holds(tmp_path):
    data = sweep(scenario("drift"), tmp_path / "out", recording=Recording(100))
    simulation = data.estimates["simulation_id"][0]
    schema = pq.read_schema(store.rounds_path(data.path, simulation, 4))
    assert schema.equals(ROUNDS)
    assert all(schema.field(name).metadata[b"description"] for name in ROUNDS.names)
    note = {key.decode(): value.decode() for key, value in schema.metadata.items()}
    assert (note["simulation_id"], note["kappa"], note["record"], note["every"]) == (simulation, "4", "100", "1")


def test_a_simulation_that_failed_has_no_rounds(tmp_path):
    two = [PROCESSES["iid"], PROCESSES["measured rounds"]]  # of which no round drafted 9
    data = sweep(scenario(process=two, kappa=[9]), tmp_path / "out", recording=Recording(10))
    assert len(data.failed) == 1
    assert len(list((data.path / "rounds").iterdir())) == 1


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "s.toml").write_text('windows = 20000\nkappa = [0, 4]\n[process]\ntype = "iid"\nalpha = 0.7\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_line(place, capsys):
    def said(*more):
        assert main(["run", "s.toml", "-o", "out", "--quiet", *more]) == 0
        return capsys.readouterr().out

    plain = said("--json")
    recorded = said("--json", "--record", "100", "--record-every", "2")
    assert json.loads(plain) == json.loads(recorded)
    assert len(files(place / "out")) == 2
    assert main(["show", "out"]) == 0
    assert "up to 100 single rounds" in capsys.readouterr().out
    plain, recorded = (json.loads(said("--dry-run", "--json", *more)) for more in ((), ("--record", "1e3")))
    new = {key: value for key, value in recorded.items() if key not in plain}
    assert set(new) == {"recorded_files", "recorded_rows", "recorded_bytes"}
    assert (new["recorded_files"], new["recorded_rows"]) == (2, 2000)
    assert "Rounds: at most 2,000 in 2 files" in said("--dry-run", "--record", "1000")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--record", "0"), "whole number of at least 1"),
        (("--record-every", "2"), "--record-every needs --record"),
        (("--record", "5", "--method", "exact"), "plays none"),
        (("--record", "5", "--method", "exact", "--dry-run"), "plays none"),
    ],
)
def test_wrong_options_are_one_line(place, more, said):
    command = [sys.executable, "-m", "simspec", "run", "s.toml", "-o", "out", "--quiet", *more]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert not (place / "out").exists()


@pytest.mark.parametrize("name", ["iid", "drift", "beta requests"])
def test_the_forecast_of_the_size(name, tmp_path):
    own, recording = scenario(name, windows=1_000_000), Recording(500_000)
    found, rows, size = recording.size(plan(own).jobs)
    data = sweep(own, tmp_path / "out", recording=recording)
    real = files(data.path)
    assert (found, rows) == (2, 1_000_000) == (len(real), sum(len(data.rounds(kappa=k)) for k in (0, 4)))
    assert size / 3 < sum(map(len, real.values())) < 2 * size


def test_the_forecast_of_a_sample_of_chunks(tmp_path):
    own, recording = scenario("carried", windows=200_000, kappa=[4]), Recording(ALL, every=2)
    _, rows, _ = recording.size(plan(own).jobs)
    assert rows == len(sweep(own, tmp_path / "out", recording=recording).rounds())


def test_progress_counts_rows_from_0(tmp_path):
    with Progress(quiet=True) as progress:
        sweep(scenario(), tmp_path / "out", progress=progress, recording=Recording(3000))
        assert (progress.done, progress.total) == (6000, 6000)
        assert "recording rounds, file 2 of 2: 6,000 windows" in progress.line()


def test_a_folder_with_all_rounds_is_not_written_to(tmp_path):
    out = sweep(scenario(), tmp_path / "out", recording=Recording(300)).path
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    time.sleep(0.02)
    sweep(scenario(), out, recording=Recording(300))
    assert before == {path: path.stat().st_mtime_ns for path in out.rglob("*")}
