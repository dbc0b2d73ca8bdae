"""What was played is kept: after a stop, beside other points, in spite of damage; and never played twice."""

import dataclasses
import json
import random
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from heard import Heard

from simspec.kernels.tally import Folded
from simspec.model import DatasetError, Scenario, SimspecError
from simspec.run import count_files, dispatch, engine, folder, keeping, planning, store
from simspec.run.dispatch import play_jobs
from simspec.run.engine import merge
from simspec.run.executors import threads_only
from simspec.run.folder import locked, open_folder
from simspec.run.keeping import Kept
from simspec.run.planning import plan
from simspec.run.played import arrays_of
from simspec.run.sweep import sweep

CHAIN = {"type": "markov", "alpha": 0.7, "rho": 0.3, "start": "carry"}
BASE = {"name": "kept", "windows": 600_000, "kappa": [0, 2, 4], "cost": {"c_d": 0.1}}
KINDS = {
    "iid": {"process": {"type": "iid", "alpha": 0.7}},
    "multinomial": {"process": {"type": "iid", "alpha": 0.7}, "method": "multinomial"},
    "markov": {"process": CHAIN},
    "hidden": {"process": {"type": "hmm", "P": [[0.9, 0.1], [0.2, 0.8]], "alphas": [0.95, 0.4]}},
    "carried": {
        "process": {"type": "hmm", "P": [[0.9, 0.1], [0.2, 0.8]], "alphas": [0.95, 0.4], "start": "carry"},
        "windows": 100_000,
    },
    "drift": {"process": {"type": "drift", "alpha_start": 0.85, "alpha_end": 0.62, "tokens": 128}},
    "tree": {"process": {"type": "iid", "alpha": 0.7}, "scheme": {"type": "tree", "misses": [0.4, 0.2]}, "kappa": [4]},
    "policy": {"process": CHAIN, "policy": {"type": "heuristic"}},
    "batch": {"process": CHAIN, "policy": {"type": "rolling"}, "serving": {"batch": 4}, "windows": 200_000},
}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Several pieces per job, and each written at once."""
    monkeypatch.setattr(engine, "PIECE_WINDOWS", 2**19)
    monkeypatch.setattr(engine, "FRESH_PIECE_WINDOWS", 2**19)
    monkeypatch.setattr(dispatch, "PIECE_WINDOWS", 2**19)
    monkeypatch.setattr(keeping, "FLUSH_SECONDS", 0.0)
    monkeypatch.setattr(keeping, "FLUSH_SHARE", 0.0)
    for module in (store, count_files):  # nobody pulls the plug here, and a disk takes its time
        monkeypatch.setattr(module, "sync", lambda path: None)


def scenario(**changes):
    return Scenario.from_dict(BASE | {"process": CHAIN} | changes)


def data(path):
    return {str(f.relative_to(path)): f.read_bytes() for f in sorted(path.rglob("part-*.parquet"))}


def same(one, other):
    """Whether two tallies hold the same integers."""
    if isinstance(one, Folded):
        return np.array_equal(one.runs, other.runs)
    names = [field.name for field in dataclasses.fields(one) if field.name != "kinds"]
    pairs = [(np.asarray(getattr(one, name)), np.asarray(getattr(other, name))) for name in names]
    return all(np.array_equal(a, b) or not (a.size or b.size) for a, b in pairs)


@pytest.mark.parametrize("kind", KINDS)
def test_counts_of_every_kind_are_read_back_as_they_were_played(kind, tmp_path):
    jobs = list(plan(scenario(**KINDS[kind])).jobs)
    kept = Kept(tmp_path)
    with threads_only(2) as workers:
        first = [merge(own) for _, own in play_jobs(jobs, workers, None, kept)]
    kept.flush()
    again = Kept(tmp_path)
    assert all(work.outcome for job in jobs for work in again.split(job))
    with threads_only(2) as workers:
        second = [merge(own) for _, own in play_jobs(jobs, workers, None, again)]
    for one, other in zip(first, second, strict=True):
        assert type(one) is type(other)
        assert isinstance(one, Folded) or all(map(same, one, other))
        assert not isinstance(one, Folded) or same(one, other)


def stop_after(monkeypatch, pieces):
    """Ctrl-C once so many pieces were played."""
    keep, left = Kept.keep, iter(range(pieces))

    def stopped(self, *own):
        keep(self, *own)
        if next(left, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr(Kept, "keep", stopped)
    return lambda: monkeypatch.setattr(Kept, "keep", keep)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pieces", [0, 2])
def test_a_stopped_run_goes_on_to_the_same_bytes(kind, pieces, tmp_path, monkeypatch):
    own = scenario(**KINDS[kind])
    sweep(own, tmp_path / "whole")
    go_on = stop_after(monkeypatch, pieces)
    for _ in range(100):
        try:
            sweep(own, tmp_path / "cut")
        except KeyboardInterrupt:
            continue
        break
    go_on()
    sweep(own, tmp_path / "cut")
    assert data(tmp_path / "cut") == data(tmp_path / "whole")
    assert not (tmp_path / "cut" / "played").exists()


def test_nothing_is_played_twice(tmp_path, monkeypatch, played):
    own = scenario(process=CHAIN | {"alpha": [0.6, 0.7]})
    go_on = stop_after(monkeypatch, 2)
    with pytest.raises(KeyboardInterrupt):
        sweep(own, tmp_path / "cut", threads=1)
    go_on()
    before = len(list(Kept(tmp_path / "cut").files()))
    kept = sum(at.stretch.chunks for entries in Kept(tmp_path / "cut")._index.values() for at in entries)
    done = len(played)
    sweep(own, tmp_path / "cut", threads=1)
    every = sum(job.layout.chunks * len(job.kappas) for job in plan(own).jobs)
    assert before > 0
    assert len(played) - done == every - kept


def damage(path, how):
    whole = path.read_bytes()
    if how == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    elif how == "empty":
        path.write_bytes(b"")
    else:
        place = random.Random(len(whole)).randrange(len(whole))
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])


@pytest.mark.parametrize("how", ["cut", "empty", "flipped"])
def test_a_damaged_file_of_counts_is_named_and_played_again(how, tmp_path, monkeypatch):
    own = scenario()
    sweep(own, tmp_path / "whole")
    go_on = stop_after(monkeypatch, 2)
    with pytest.raises(KeyboardInterrupt):
        sweep(own, tmp_path / "cut")
    go_on()
    victim = Kept(tmp_path / "cut").files()[0]
    damage(victim, how)
    heard = Heard()
    sweep(own, tmp_path / "cut", progress=heard)
    assert [line for line in heard.lines if victim.name in line and "damaged" in line]
    assert data(tmp_path / "cut") == data(tmp_path / "whole")


@pytest.mark.parametrize("how", ["cut", "empty", "flipped", "gone"])
@pytest.mark.parametrize("table", ["chunks", "counts", "estimates", "tallies"])
def test_a_damaged_table_is_named_and_made_again(table, how, tmp_path, played):
    whole, heard = sweep(scenario(), tmp_path / "out"), Heard()
    before, done = data(whole.path), len(played)
    victim = whole.path / table / "part-000000.parquet"
    victim.unlink() if how == "gone" else damage(victim, how)
    sweep(scenario(), whole.path, progress=heard)
    assert data(whole.path) == before
    assert [line for line in heard.lines if str(victim) in line]
    assert (len(played) > done) == (table == "tallies")  # the others follow from these


def test_new_costs_play_nothing_and_new_kappas_only_themselves(tmp_path, played):
    own = sweep(scenario(), tmp_path / "out")
    done, points = len(played), len(own.estimates)
    dearer = scenario(cost={"c_d": [0.1, 0.2]}, level=0.9)
    assert len(sweep(dearer, own.path).estimates) == 2 * points
    assert len(played) == done
    longer = scenario(kappa=[0, 2, 4, 6], cost={"c_d": [0.1, 0.2]})
    sweep(longer, own.path)
    assert {kappa for _, kappa, _ in played[done:]} == {6}
    sweep(longer, tmp_path / "fresh")
    assert data(own.path) == data(tmp_path / "fresh")


@pytest.mark.parametrize(
    "sizes",
    [(1_000_000, 2_000_000), (8192, 1_000_000), (2_000_000, 1_000_000)],
    ids=["fewer lanes in a last chunk", "shorter lanes", "less"],
)
def test_another_budget_and_back_plays_nothing(sizes, tmp_path, played):
    """What the tables of the second do not hold of the first stays among what was played."""
    whole = data(sweep(scenario(windows=sizes[0]), tmp_path / "out").path)
    sweep(scenario(windows=sizes[1]), tmp_path / "out")
    done = len(played)
    assert data(sweep(scenario(windows=sizes[0]), tmp_path / "out").path) == whole
    assert len(played) == done


def test_traces_of_before_are_remembered_and_make_no_other_run(tmp_path, played):
    """What was played of one that is no longer asked for is kept: it has to be the same when it is asked for again."""
    runs = {}
    for name in ("one", "two"):
        file = tmp_path / f"{name}.csv"
        file.write_text("request,accepted\n" + "".join(f"{r},{(r * len(runs) + r) % 5}\n" for r in range(300)))
        trace = {"type": "trace", "path": str(file), "accepted": "accepted", "bonus_included": False, "drafted": 4}
        runs[name] = scenario(process=trace | {"request": "request"}, kappa=[4], windows=1000)
        sweep(runs[name], tmp_path / "out")
    before, done = (tmp_path / "out/manifest.json").read_bytes(), len(played)
    assert open_folder(tmp_path / "out", runs["two"], plan(runs["two"])).complete
    sweep(runs["two"], tmp_path / "out")
    assert (tmp_path / "out/manifest.json").read_bytes() == before
    assert len(played) == done
    manifest = json.loads(before)
    (tmp_path / "out/manifest.json").write_text(json.dumps(manifest | {"traces": {}}))  # vouches for none
    assert not open_folder(tmp_path / "out", runs["two"], plan(runs["two"])).complete
    (tmp_path / "out/manifest.json").write_bytes(before)
    (tmp_path / "one.csv").write_text("request,accepted\n1,2\n1,0\n2,1\n")
    with pytest.raises(DatasetError, match=r"it differs in traces\.one\.csv"):
        sweep(scenario(process=runs["one"].process[0], kappa=[4], windows=1000), tmp_path / "out")


@pytest.mark.parametrize("key", ["schema_version", "stream_version"])
def test_a_folder_of_another_version_is_refused(key, tmp_path):
    own = sweep(scenario(windows=1000), tmp_path / "out").path / "manifest.json"
    manifest = json.loads(own.read_text())
    own.write_text(json.dumps(manifest | {key: manifest[key] - 1}))
    for asked in (scenario(windows=1000), scenario(windows=2000)):
        with pytest.raises(DatasetError, match=rf"it differs in {key} \({manifest[key] - 1} there"):
            sweep(asked, tmp_path / "out")


def test_what_a_killed_run_left_half_written_is_removed(tmp_path, monkeypatch):
    go_on = stop_after(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt):
        sweep(scenario(), tmp_path / "out")
    go_on()
    left = [tmp_path / "out" / name for name in (".manifest.json.1.tmp", "chunks/.part-000000.parquet.2.tmp",
                                                 "played/.3.tmp")]  # fmt: skip
    for path in left:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"half")
    sweep(scenario(), tmp_path / "out")
    assert not list((tmp_path / "out").rglob("*.tmp"))


def test_a_simulation_that_failed_before_is_one_that_did_not_when_it_is_played(tmp_path, monkeypatch):
    def fails(job, chunks, kappas=()):
        raise SimspecError("not today")

    with monkeypatch.context() as today:
        today.setattr(dispatch, "play", fails)
        (failed,) = sweep(scenario(), tmp_path / "out").failed
    assert failed["error"] == "not today"
    (tmp_path / "out/estimates/part-000000.parquet").unlink()
    own = sweep(scenario(), tmp_path / "out")
    assert own.failed == []
    assert data(own.path) == data(sweep(scenario(), tmp_path / "whole").path)


def test_what_a_finished_table_holds_is_not_written_beside_it(tmp_path, monkeypatch):
    """Counts of a part are given up when it is there; those of two parts would be too many to be held."""
    own = scenario(process=CHAIN | {"alpha": [0.6, 0.7, 0.8]}, windows=20_000)
    job = next(plan(own).jobs)
    tallies = engine.play(job, range(job.layout.chunks))
    each = sum(array.nbytes for tally in tallies for array in arrays_of(tally).values())
    monkeypatch.setattr(planning, "ROWS_PER_PART", 1)
    monkeypatch.setattr(planning, "MOST_PARTS", 1000)
    monkeypatch.setattr(keeping, "FLUSH_SECONDS", 1e9)
    monkeypatch.setattr(keeping, "FLUSH_BYTES", 1.5 * each)
    monkeypatch.setattr(keeping, "write", lambda *_: pytest.fail("written twice"))
    sweep(own, tmp_path / "out", threads=1)


def test_what_a_folder_was_asked_for_before_stands_in_its_manifest(tmp_path):
    for level in (0.9, 0.95, 0.99):
        own = sweep(scenario(windows=1000, level=level), tmp_path / "out")
    earlier = own.manifest["earlier"]
    assert [before["scenario"]["level"] for before in earlier] == [0.9, 0.95]
    assert all(before["provenance"]["finished"] for before in earlier)


def test_counts_reach_the_disk_after_some_time_or_some_share_of_it_or_when_they_are_many(tmp_path, monkeypatch):
    """10 s, 2% of a long run, 16 MB: little is lost to a kill, and a long run is not written all the time."""
    now, flushed = SimpleNamespace(seconds=0.0), []
    monkeypatch.setattr(keeping, "time", SimpleNamespace(monotonic=lambda: now.seconds))
    monkeypatch.setattr(keeping, "FLUSH_SECONDS", 10.0)
    monkeypatch.setattr(keeping, "FLUSH_SHARE", 0.02)
    job = next(plan(scenario(windows=1000, kappa=[0])).jobs)
    outcome = engine.play(job, [0])
    kept = Kept(tmp_path, written=lambda: flushed.append(now.seconds))
    for now.seconds in (9.0, 11.0, 12.0, 22.0, 1000.0, 1011.0, 1019.0, 1021.0):
        kept.keep(job, range(1), outcome)
    assert flushed == [11.0, 22.0, 1000.0, 1021.0]
    each = sum(array.nbytes for array in arrays_of(outcome[0]).values())
    monkeypatch.setattr(keeping, "FLUSH_BYTES", 2 * each)
    for _ in range(6):
        kept.keep(job, range(1), outcome)
    assert len(flushed) == 6


def test_points_no_longer_asked_for_are_kept_and_not_shown(tmp_path, played):
    two = scenario(process=CHAIN | {"alpha": [0.6, 0.7]})
    whole = sweep(two, tmp_path / "out")
    before, done = data(whole.path), len(played)
    heard = Heard()
    assert set(sweep(scenario(), whole.path, progress=heard).estimates["alpha"]) == {0.7}
    assert heard.lines == [
        f"{whole.path}: holds an earlier run, whose counts are used; what is asked for now differs in process",
        f"{whole.path}: 1 simulation no longer asked for, kept and not shown",
    ]
    assert set(sweep(two, whole.path).estimates["alpha"]) == {0.6, 0.7}
    assert len(played) == done
    assert data(whole.path) == before


@pytest.mark.parametrize("process", [CHAIN, {"type": "iid", "alpha": 0.7}], ids=lambda own: own["type"])
def test_a_larger_budget_plays_what_is_new(process, tmp_path, played):
    less, more = (scenario(process=process, windows=windows) for windows in (1_000_000, 2_000_000))
    sweep(less, tmp_path / "out")
    done = len(played)
    sweep(more, tmp_path / "out")
    added = played[done:]
    full = next(iter(plan(less).jobs)).layout.lanes // 64
    assert min(chunk for _, _, chunk in added) == full  # its last chunk had fewer lanes
    sweep(more, tmp_path / "fresh")
    assert data(tmp_path / "out") == data(tmp_path / "fresh")


def test_two_runs_into_one_folder(tmp_path):
    own = scenario()
    (tmp_path / "out").mkdir()
    with locked(tmp_path / "out"), pytest.raises(DatasetError, match=r"another run is at work here \(process \d+ on"):
        sweep(own, tmp_path / "out")
    assert sweep(own, tmp_path / "out").complete
    with locked(tmp_path / "out"):  # looking at what is complete needs no lock
        assert sweep(own, tmp_path / "out").complete


@pytest.mark.parametrize(("place", "name"), [(store, "write_json"), (folder, "keep_counts")], ids=["after", "before"])
def test_a_stop_while_other_points_are_taken_over_loses_nothing(place, name, tmp_path, monkeypatch, played):
    sweep(scenario(), tmp_path / "out")
    done, own = len(played), getattr(place, name)

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(place, name, stop)
    with pytest.raises(KeyboardInterrupt):
        sweep(scenario(kappa=[0, 4]), tmp_path / "out")
    monkeypatch.setattr(place, name, own)
    assert len(sweep(scenario(kappa=[0, 4]), tmp_path / "out").estimates) == 2
    assert len(played) == done


def test_counts_of_another_seed_are_not_taken_for_ours(tmp_path, monkeypatch):
    """Simulations have the same ids at every seed; two machines that write to one store could mix them up."""
    whole = data(sweep(scenario(), tmp_path / "whole").path)
    for seed in (1, 2):
        go_on = stop_after(monkeypatch, 1)
        with pytest.raises(KeyboardInterrupt):
            sweep(scenario(seed=seed), tmp_path / f"cut{seed}", threads=1)
        go_on()
    foreign = Kept(tmp_path / "cut2").files()
    assert foreign
    for path in foreign:
        shutil.copy(path, tmp_path / "cut1/played")
    heard = Heard()
    assert data(sweep(scenario(), tmp_path / "cut1", progress=heard).path) == whole
    assert '"seed":2' in "".join(line for line in heard.lines if "of another run" in line)
    assert {path.name for path in Kept(tmp_path / "cut1").files()} == {path.name for path in foreign}
