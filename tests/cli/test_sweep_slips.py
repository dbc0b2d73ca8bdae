"""What a newcomer gets wrong about sweeps: each slip is said, and nothing that was played is lost to it."""

import re

import pytest

from simspec.cli.main import main
from simspec.model import DatasetError, Scenario
from simspec.run import doctor, planning
from simspec.run.planning import plan
from simspec.run.progress import Progress
from simspec.run.shards import Shard, combine, play_shard
from simspec.run.sweep import sweep

TABLE = {
    "name": "slips",
    "windows": 20_000,
    "kappa": [0, 2],
    "process": [{"type": "markov", "alpha": [0.5, 0.7], "rho": 0.3, "start": "carry"}],
}
FILE = """\
windows = 20_000
kappa = [0, 2]
[process]
type = "markov"
alpha = [0.5, 0.7]
rho = 0.3
start = "carry"
[stop]
speedup = 0.1
budget = 1.5
"""


@pytest.fixture
def scenario():
    return Scenario.from_dict(TABLE)


def test_a_shard_that_is_empty_is_not_the_whole(tmp_path, capsys):
    """A variable of a script that is not set must not make each of 64 machines play everything."""
    file = tmp_path / "slips.toml"
    file.write_text(FILE.partition("[stop]")[0])
    assert main(["run", str(file), "--shard", "", "-o", str(tmp_path / "out"), "--quiet"]) == 2
    assert "shard = '' is out of range; allowed: i/n" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_budget_that_is_too_small_has_its_line(tmp_path, capsys):
    file = tmp_path / "slips.toml"
    file.write_text(FILE)
    for flags in ((), ("--dry-run",)):
        assert main(["run", str(file), "-o", str(tmp_path / "out"), "--quiet", *flags]) == 2
        assert capsys.readouterr().err.startswith(f"{file}:10: stop.budget = 1.5 is less than the first look")
    flags = ("--until", "speedup=0.1", "--until", "budget=3")
    assert main(["run", str(file), "-o", str(tmp_path / "out"), "--quiet", *flags]) == 2
    assert capsys.readouterr().err.startswith("simspec run: stop.budget = 3 is less")  # of no line of the file


def test_a_forgotten_first_folder_does_not_make_a_shard_the_whole(scenario, tmp_path):
    folders = [play_shard(scenario, Shard(i, 2), tmp_path / f"s{i}").folder for i in (1, 2)]
    before = (folders[0] / "manifest.json").read_bytes()
    with pytest.raises(DatasetError, match=r"holds shard 1/2, and the whole takes a folder of its own"):
        combine(*folders[:1], folders[1:])
    assert (folders[0] / "manifest.json").read_bytes() == before
    assert combine(tmp_path / "all", folders).complete


def test_a_shard_does_not_undo_a_complete_run(scenario, tmp_path):
    own = sweep(scenario, tmp_path / "all")
    with pytest.raises(DatasetError, match="holds a complete run"):
        play_shard(scenario, Shard(1, 2), own.path)
    assert sweep(scenario, own.path).complete


def test_another_budget_in_the_same_folder_is_said(scenario, tmp_path, capsys):
    sweep(scenario, tmp_path / "own")
    fewer = Scenario.from_dict(TABLE | {"windows": 9_000, "kappa": [2]})
    for told in ("windows (20,000 before, 9,000 now), kappa\n", None):
        with Progress() as progress:
            sweep(fewer, tmp_path / "own", progress=progress)
        said = capsys.readouterr().err
        assert f"differs in {told}" in said if told else "differs" not in said


def test_what_was_played_before_is_told_apart(monkeypatch):
    progress = Progress(total=1000)
    progress.began = 0.0
    progress.spare(600)
    progress.add(100)
    assert re.search(r": 100 windows, .*, 600 kept from before, 25%, ready", progress.line())
    progress.begin("looks at a run that stops by itself read what looks before have played", 0)
    progress.spare(100)
    progress.add(1)
    assert "kept" not in progress.line()


def test_a_forecast_times_rounds_and_not_how_a_call_begins(scenario, monkeypatch):
    """Each call takes .1 ms and each round 1 ns; from one round per lane the forecast would be ten times too long."""
    clock = [0.0]

    def play(job, chunks, real=planning.play):
        tallies = real(job, chunks)
        clock[0] += 1e-4 + 1e-9 * sum(tally.total("n") for tally in tallies)
        return tallies

    monkeypatch.setattr(planning, "play", play)
    monkeypatch.setattr(planning.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(planning, "POINT_SECONDS", 0.0)
    monkeypatch.setattr(planning, "LANE_ROW_SECONDS", 0.0)
    rounds, seconds = plan(scenario).forecast(2)
    assert 0.5e-9 < seconds / rounds < 0.65e-9


def test_points_that_a_budget_leaves_open_are_not_called_decided():
    said = []
    progress = Progress(quiet=True)
    progress.say = said.append
    many = TABLE | {"windows": 10**7, "stop": {"speedup": 1e-9}}
    first = sum(planning.windows_of(job.at_look(1)) for job in plan(Scenario.from_dict(many)).jobs)
    short = Scenario.from_dict(many | {"stop": {"speedup": 1e-9, "budget": first * 1.5}})
    looks = [line for line in _says(short, progress, said) if line.startswith("look")]
    assert [line.partition(", ")[2] for line in looks] == [
        "0 of 2 points decided, 2 played on",
        "0 of 2 points decided, 1 played on",
        "0 of 2 points decided, 0 played on",
    ]


def _says(scenario, progress, said):
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as place:
        sweep(scenario, f"{place}/own", progress=progress)
    return said


def test_results_cannot_be_written_into_a_file(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(DatasetError, match="taken: is a file"):
        doctor._files(tmp_path / "taken")
    assert "can be written" in doctor._files(tmp_path / "new" / "results")
