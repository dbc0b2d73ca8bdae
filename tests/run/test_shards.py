"""Shards of a sweep make the same dataset as one machine, and say what is missing."""

import errno
import os
import shutil

import pytest

from simspec.cli.main import main
from simspec.model import DatasetError, ParameterError, Scenario
from simspec.run import count_files, dispatch, engine, layout, shards, store
from simspec.run.compare import compare
from simspec.run.dataset import read
from simspec.run.folder import locked
from simspec.run.keeping import Kept
from simspec.run.planning import plan
from simspec.run.shards import Shard, combine, play_shard
from simspec.run.sweep import sweep

TABLE = {
    "name": "shared",
    "windows": 300_000,
    "kappa": [0, 2, 4],
    "process": [
        {"type": "iid", "alpha": [0.6, 0.7]},
        {"type": "markov", "alpha": 0.7, "rho": 0.3, "start": "carry"},
        {"type": "drift", "alpha_start": 0.85, "alpha_end": 0.62, "tokens": 128},
    ],
    "cost": {"c_d": [0.05, 0.1]},
}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Several pieces per job, so that there is something to share."""
    monkeypatch.setattr(engine, "PIECE_WINDOWS", 2**18)
    monkeypatch.setattr(engine, "FRESH_PIECE_WINDOWS", 2**17)
    for module in (store, count_files):  # nobody pulls the plug here, and a disk takes its time
        monkeypatch.setattr(module, "sync", lambda path: None)


@pytest.fixture
def scenario():
    return Scenario.from_dict(TABLE)


def data(path):
    return {str(f.relative_to(path)): f.read_bytes() for f in sorted(path.rglob("part-*.parquet"))}


def play(scenario, folder, many):
    return [play_shard(scenario, Shard(i, many), folder / f"s{i}").folder for i in range(1, many + 1)]


@pytest.mark.parametrize("many", [1, 3, 50])
def test_any_number_of_shards_makes_the_same_bytes(many, scenario, tmp_path, monkeypatch):
    whole = sweep(scenario, tmp_path / "whole")
    folders = play(scenario, tmp_path, many)
    monkeypatch.setattr(dispatch, "play", lambda *_: pytest.fail("played what a shard had played"))
    assert data(combine(tmp_path / "all", folders).path) == data(whole.path)


def test_every_piece_is_played_by_one_shard(scenario, tmp_path, monkeypatch):
    played, own = [], dispatch.play

    def noted(job, chunks, kappas=()):
        played.extend((job.simulation.id, chunk, kappa) for kappa in kappas for chunk in chunks)
        return own(job, chunks, kappas)

    monkeypatch.setattr(dispatch, "play", noted)
    sizes, job = [], next(plan(scenario).jobs)
    for i in (1, 2, 3):
        before = len(played)
        sizes.append(play_shard(scenario, Shard(i, 3), tmp_path / f"s{i}"))
        mine = {chunk for simulation, chunk, _ in played[before:] if simulation == job.simulation.id}
        assert mine == {chunk for piece in job.pieces()[i - 1 :: 3] for chunk in piece}
    assert len(played) == len(set(played))
    assert sum(own.pieces for own in sizes) == sizes[0].every
    assert max(own.pieces for own in sizes) - min(own.pieces for own in sizes) <= 1
    done = len(played)
    play_shard(scenario, Shard(2, 3), tmp_path / "s2")
    assert len(played) == done


def test_a_folder_in_which_a_run_is_at_work_is_left_alone(scenario, tmp_path):
    folders = play(scenario, tmp_path, 2)
    (tmp_path / "all").mkdir()
    with locked(tmp_path / "all"):
        with pytest.raises(DatasetError, match="another run is at work here"):
            combine(tmp_path / "all", folders)
        with pytest.raises(DatasetError, match="another run is at work here"):
            play_shard(scenario, Shard(1, 2), tmp_path / "all")
    assert [path.name for path in (tmp_path / "all").iterdir()] == [".lock"]


def test_a_shard_that_is_taken_over_is_whole_or_not_there(scenario, tmp_path, monkeypatch):
    folders, copy = play(scenario, tmp_path, 2), shutil.copyfile

    def breaks_off(source, target):
        copy(source, target)
        target.write_bytes(target.read_bytes()[:99])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as broken:
        broken.setattr(shutil, "copyfile", breaks_off)
        with pytest.raises(DatasetError, match=r"cannot be written \(No space left on device\)"):
            combine(tmp_path / "all", folders)
    assert not list((tmp_path / "all" / "played").iterdir())
    assert combine(tmp_path / "all", folders).complete


def test_ctrl_c_keeps_what_a_shard_has_played(scenario, tmp_path, monkeypatch):
    keep, left = Kept.keep, iter(range(2))

    def stopped(self, *own):
        keep(self, *own)
        if next(left, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr(Kept, "keep", stopped)
    with pytest.raises(KeyboardInterrupt):
        play_shard(scenario, Shard(1, 2), tmp_path / "s1")
    assert list((tmp_path / "s1" / "played").iterdir())


def test_a_shard_is_never_complete_and_becomes_a_whole_run(scenario, tmp_path):
    """Not even one that has everything."""
    whole = data(sweep(scenario, tmp_path / "whole").path)
    for shard in (Shard(1, 2), Shard(1, 1)):
        place = play_shard(scenario, shard, tmp_path / str(shard.of)).folder
        assert not read(place).complete
        assert data(sweep(scenario, place).path) == whole


def test_a_missing_shard_is_named_and_the_rest_is_kept(scenario, tmp_path):
    folders = play(scenario, tmp_path, 3)
    with pytest.raises(DatasetError, match="no folder of shard 2/3 was given"):
        combine(tmp_path / "all", [folders[0], folders[2]])
    with pytest.raises(DatasetError, match="no estimates yet"):
        _ = read(tmp_path / "all").estimates
    assert data(combine(tmp_path / "all", folders[1:2]).path) == data(sweep(scenario, tmp_path / "whole").path)


def test_a_run_plays_what_shards_lack(scenario, tmp_path):
    folders = play(scenario, tmp_path, 2)
    with pytest.raises(DatasetError, match="not complete"):
        combine(tmp_path / "all", folders[:1])
    assert data(sweep(scenario, tmp_path / "all").path) == data(sweep(scenario, tmp_path / "whole").path)


def test_shards_of_something_else_are_refused(scenario, tmp_path):
    own = play(scenario, tmp_path, 2)
    other = play_shard(Scenario.from_dict(TABLE | {"seed": 2}), Shard(2, 2), tmp_path / "seed").folder
    points = play_shard(Scenario.from_dict(TABLE | {"kappa": [0]}), Shard(2, 2), tmp_path / "points").folder
    with pytest.raises(DatasetError, match=r"seed \(2 there, 1 asked for\)"):
        combine(tmp_path / "all", [own[0], other])
    with pytest.raises(DatasetError, match="holds other points"):
        combine(tmp_path / "all", [own[0], points])
    with pytest.raises(DatasetError, match="no folder of a shard"):
        combine(tmp_path / "all", [own[0], tmp_path / "nowhere"])
    with pytest.raises(DatasetError, match="holds shard 1/2, not 2/2"):
        play_shard(scenario, Shard(2, 2), own[0])
    with pytest.raises(ParameterError, match="plays none"):
        play_shard(Scenario.from_dict({**TABLE, "process": TABLE["process"][0], "method": "exact"}), Shard(1, 2))


def test_shards_of_other_points_take_the_place_of_those_in_a_folder(scenario, tmp_path):
    sweep(Scenario.from_dict(TABLE | {"kappa": [0, 3]}), tmp_path / "all")
    folders = play(scenario, tmp_path, 2)
    whole = data(sweep(scenario, tmp_path / "whole").path)
    for _ in range(2):  # a repeat finds everything there
        assert data(combine(tmp_path / "all", folders).path) == whole
    kept = Kept(tmp_path / "all").simulations
    combine(tmp_path / "new", folders)
    combine(tmp_path / "new", folders)
    assert kept
    assert not (tmp_path / "new" / "played").exists()


def test_a_damaged_shard_is_named_and_its_own_run_mends_it(scenario, tmp_path):
    folders = play(scenario, tmp_path, 2)
    victim = next((folders[0] / "played").iterdir())
    whole = victim.read_bytes()
    victim.write_bytes(whole[:-1])
    with pytest.raises(DatasetError, match=f"{victim.name}: damaged"):
        combine(tmp_path / "all", folders)
    play_shard(scenario, Shard(1, 2), folders[0])
    assert victim.read_bytes() == whole
    assert combine(tmp_path / "all", folders).complete


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "1/0", "a/b", "-1/3", "1/3/5", "１/3"])
def test_what_is_no_shard(text):
    with pytest.raises(ParameterError, match="allowed: i/n with 1"):
        Shard.read(text)


def test_the_commands(tmp_path, capsys):
    file = tmp_path / "own.toml"
    file.write_text('windows = 10000\nkappa = [0, 2]\n[process]\ntype = "iid"\nalpha = 0.7\n[cost]\nc_d = 0.1\n')
    for i in (1, 2):
        assert main(["run", str(file), "--shard", f"{i}/2", "-o", str(tmp_path / f"s{i}"), "--quiet"]) == 0
    assert "simspec combine results/own" in capsys.readouterr().out
    assert main(["show", str(tmp_path / "s1")]) == 2
    assert "holds shard 1/2 only" in capsys.readouterr().err
    assert main(["combine", str(tmp_path / "all"), str(tmp_path / "s1"), str(tmp_path / "s2"), "--quiet"]) == 0
    assert "1 point" in capsys.readouterr().out
    assert main(["run", str(file), "--shard", "1/2", "--record", "9", "--quiet"]) == 2
    assert shards.Shard(1, 2) == Shard.read(" 1/2 ")


STOP = {"stop": {"speedup": 0.05, "best_kappa": 0.05}, "windows": 10**9}


@pytest.mark.parametrize("many", [2, 5])
def test_simulations_that_stop_are_shared_whole(many, tmp_path, monkeypatch):
    """Each is decided by its own counts; the fifth shard of four simulations has none."""
    monkeypatch.setattr(layout, "USUAL_ROUNDS", 32)
    monkeypatch.setattr(layout, "GROWING_GENERATIONS", 1)
    own = Scenario.from_dict(TABLE | STOP)
    whole = sweep(own, tmp_path / "whole")
    assert len(set(whole.estimates["looks"])) > 1
    done = [play_shard(own, Shard(i, many), tmp_path / f"s{i}") for i in range(1, many + 1)]
    assert sum(one.pieces for one in done) == 4
    assert f"shard 1/{many} of shared: {done[0].pieces} of 4 simulations done" in str(done[0])
    monkeypatch.setattr(dispatch, "play", lambda *_: pytest.fail("played what a shard had played"))
    play_shard(own, Shard(1, many), tmp_path / "s1")
    with pytest.raises(DatasetError, match=r"[12] simulations? of 4 not complete \(no folder of shard 2/"):
        combine(tmp_path / "few", [one.folder for one in done if one.shard.number != 2])
    assert data(combine(tmp_path / "all", [one.folder for one in done]).path) == data(whole.path)


def test_a_budget_of_the_sweep_cannot_be_shared(tmp_path):
    own = Scenario.from_dict(TABLE | {"stop": {"speedup": 0.01, "budget": 1e8}})
    with pytest.raises(ParameterError, match=r"stop\.budget is shared by all; allowed: \[stop\] without budget"):
        play_shard(own, Shard(1, 2), tmp_path / "s1")


def test_a_shard_is_called_one_where_tables_are_due(scenario, tmp_path):
    own = play(scenario, tmp_path, 2)[0]
    with pytest.raises(DatasetError, match="holds a shard, whose counts are in no table yet"):
        compare(own, own)
