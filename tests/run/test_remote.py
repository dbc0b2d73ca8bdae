"""A dataset in an object store: the same bytes as in a folder, whatever the store does meanwhile."""

import fcntl
import functools
import json
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from heard import Heard

from simspec.cli.main import main
from simspec.model import DatasetError, Scenario
from simspec.run import dispatch, keeping, planning, remote
from simspec.run.address import checked, local
from simspec.run.dataset import read
from simspec.run.keeping import Kept
from simspec.run.record import Recording
from simspec.run.remote import Mirror, mirrored
from simspec.run.shards import Shard, combine, play_shard
from simspec.run.sweep import sweep

TABLE = {
    "name": "far",
    "windows": 300_000,
    "kappa": [0, 2, 4],
    "process": {"type": "markov", "alpha": [0.6, 0.7, 0.8], "rho": 0.3, "start": "carry"},
    "cost": {"c_d": 0.1},
}


@pytest.fixture(autouse=True)
def many_files(monkeypatch, tmp_path):
    monkeypatch.setattr(keeping, "FLUSH_SECONDS", 0.0)
    monkeypatch.setattr(keeping, "FLUSH_SHARE", 0.0)
    monkeypatch.setattr(planning, "ROWS_PER_PART", 1)
    monkeypatch.setattr(remote, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(remote, "home", lambda: tmp_path / "cache")


def data(path):
    return {str(f.relative_to(path)): f.read_bytes() for f in sorted(path.rglob("part-*.parquet"))}


@functools.cache
def _expected(told, rows_per_part):
    with tempfile.TemporaryDirectory() as folder:
        return data(sweep(Scenario.from_dict(json.loads(told)), Path(folder) / "local").path)


def expected(own):
    """The tables of a run in a folder."""
    return _expected(json.dumps(own if isinstance(own, dict) else own.to_dict()), planning.ROWS_PER_PART)


@pytest.fixture
def url(tmp_path):
    return f"file://{tmp_path}/far/away"


def test_the_same_bytes_there(url, tmp_path):
    there = sweep(Scenario.from_dict(TABLE), url)
    assert data(tmp_path / "far/away") == expected(TABLE)
    assert not list((tmp_path / "far/away").glob("played/*"))
    assert f"in {url}" in there.summary()


def test_another_machine_reads_it_and_goes_on(url, tmp_path, monkeypatch):
    keep, left = Kept.keep, iter(range(2))

    def stopped(self, *own):
        keep(self, *own)
        if next(left, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr(Kept, "keep", stopped)
    with pytest.raises(KeyboardInterrupt):
        sweep(Scenario.from_dict(TABLE), url, threads=1)
    monkeypatch.setattr(Kept, "keep", keep)
    monkeypatch.setattr(remote, "home", lambda: tmp_path / "another")
    assert len(data(tmp_path / "far/away")) >= 4 or list((tmp_path / "far/away").glob("played/*"))
    assert not read(url).complete
    sweep(Scenario.from_dict(TABLE), url)
    assert data(tmp_path / "far/away") == expected(TABLE)
    monkeypatch.setattr(remote, "home", lambda: tmp_path / "third")
    assert len(read(url).estimates) == 9


def test_a_manifest_there_names_only_what_is_there(url, tmp_path, monkeypatch):
    """At every moment: who reads while it is written finds whole tables, each as soon as it is finished."""
    monkeypatch.setattr(keeping, "FLUSH_SECONDS", 1e9)
    put, named = Mirror._put, []

    def noted(self, path, name):
        put(self, path, name)
        if name == "manifest.json":
            files = json.loads(path.read_text())["files"]
            named.append(len(files))
            for other, (size, _) in files.items():
                assert (tmp_path / "far/away" / other).stat().st_size == size

    monkeypatch.setattr(Mirror, "_put", noted)
    sweep(Scenario.from_dict(TABLE), url)
    assert {0, 4, 8, 12} <= set(named)


def test_recorded_rounds_are_sent_too(url, tmp_path, monkeypatch):
    sweep(Scenario.from_dict(TABLE), url, recording=Recording(100))
    monkeypatch.setattr(remote, "home", lambda: tmp_path / "another")
    found = read(url)
    assert len(list((tmp_path / "far/away/rounds").iterdir())) == 9
    assert len(found.rounds(min(found.simulation_ids), 4)) == 100


def test_a_manifest_there_is_never_half_written(url, tmp_path, monkeypatch):
    """A kill while it is sent leaves the one before, where files are seen before they are whole."""
    sweep(Scenario.from_dict(TABLE), url)
    there = tmp_path / "far/away" / "manifest.json"
    before = there.read_bytes()

    def killed(source, target, *_):
        if source.name.endswith("manifest.json"):
            target.write(source.read(9))
            raise KeyboardInterrupt
        target.write(source.read())

    with monkeypatch.context() as own:
        own.setattr(remote.shutil, "copyfileobj", killed)
        with pytest.raises(KeyboardInterrupt):
            sweep(Scenario.from_dict(TABLE | {"kappa": [0, 1]}), url)
    assert there.read_bytes() == before
    sweep(Scenario.from_dict(TABLE | {"kappa": [0, 1]}), url)
    assert read(url).complete
    assert not list(there.parent.glob(".*"))


def test_a_table_here_that_is_damaged_is_not_taken_for_counts(url, tmp_path, monkeypatch):
    """The store holds other points by now, so that ours become counts among others, under the name of their content."""
    here = sweep(Scenario.from_dict(TABLE), url).path
    monkeypatch.setattr(remote, "home", lambda: tmp_path / "another")
    sweep(Scenario.from_dict(TABLE | {"process": TABLE["process"] | {"alpha": 0.9}}), url)
    monkeypatch.setattr(remote, "home", lambda: tmp_path / "cache")
    victim = here / "tallies" / "part-000001.parquet"
    victim.write_bytes(victim.read_bytes()[:-9])
    assert data(sweep(Scenario.from_dict(TABLE), url).path) == expected(TABLE)


def test_another_run_there_is_refused_and_other_files_are_left_alone(url, tmp_path):
    sweep(Scenario.from_dict(TABLE), url)
    (tmp_path / "far/away/notes.txt").write_text("mine")
    (tmp_path / "far/away/played").mkdir(exist_ok=True)
    (tmp_path / "far/away/played/..evil.parquet").write_text("x")
    with pytest.raises(DatasetError, match="seed"):
        sweep(Scenario.from_dict(TABLE | {"seed": 2}), url)
    assert read(url).complete
    assert (tmp_path / "far/away/notes.txt").read_text() == "mine"
    assert not list(Mirror(url).folder.rglob("*evil*"))


def test_a_store_that_fails_now_and_then(url, tmp_path, monkeypatch):
    """Every third copy breaks off in the middle, and is made again."""
    put, calls = Mirror._put, []

    def broken(self, path, name):
        calls.append(name)
        put(self, path, name)
        if len(calls) % 3 == 0:
            with self._store.open_output_stream(f"{self._root}/{name}") as target:
                target.write(b"half")
            raise OSError("503 Slow Down for s3://key:secret@host/bucket")

    monkeypatch.setattr(Mirror, "_put", broken)
    heard = Heard()
    sweep(Scenario.from_dict(TABLE), url, progress=heard)
    assert data(tmp_path / "far/away") == expected(TABLE)
    told = [line for line in heard.lines if "does not answer" in line]
    assert told
    assert "secret" not in "".join(told)


def failing(monkeypatch, after):
    """The store fails for good once so many files were sent; returns what mends it."""
    put, left = Mirror._put, iter(range(after))

    def gone(self, path, name):
        if next(left, None) is None:
            raise OSError("503 Slow Down")
        put(self, path, name)

    monkeypatch.setattr(Mirror, "_put", gone)
    monkeypatch.setattr(remote, "PATIENCE", 0.0)
    return lambda: monkeypatch.setattr(Mirror, "_put", put)


@pytest.fixture
def plays(monkeypatch):
    """Every piece of work that is played."""
    calls, play = [], dispatch.play

    def noted(job, chunks, kappas=()):
        calls.append((job.simulation.id, tuple(chunks), kappas))
        return play(job, chunks, kappas)

    monkeypatch.setattr(dispatch, "play", noted)
    return calls


@pytest.mark.parametrize(("after", "flush"), [(1, 0.0), (8, 0.0), (1, 1e9), (5, 1e9)])
def test_a_store_that_fails_for_good_loses_nothing(after, flush, url, tmp_path, monkeypatch, plays):
    """What was played while the store was away is not played again: counts here are kept beside those there."""
    monkeypatch.setattr(keeping, "FLUSH_SECONDS", flush)  # where it is long, only finished tables hold counts
    keep, kept = Kept.keep, []

    def noted(self, job, chunks, outcome):
        kept.append((job.simulation.id, tuple(chunks), job.kappas))
        keep(self, job, chunks, outcome)

    monkeypatch.setattr(Kept, "keep", noted)
    mend = failing(monkeypatch, after)
    with pytest.raises(DatasetError, match=r"cannot be reached \(503 Slow Down\); what was played is kept in"):
        sweep(Scenario.from_dict(TABLE), url)
    mend()
    before, _ = set(kept), plays.clear()
    sweep(Scenario.from_dict(TABLE), url)
    assert before
    assert not before & set(plays)
    assert len(before | set(plays)) == 6
    assert data(tmp_path / "far/away") == expected(TABLE)


def test_a_store_that_cannot_be_written_is_known_before_anything_is_played(url, monkeypatch, plays):
    mend = failing(monkeypatch, 0)
    with pytest.raises(DatasetError, match="cannot be reached"):
        sweep(Scenario.from_dict(TABLE), url)
    mend()
    assert not plays


def test_a_finished_run_sends_nothing_again(url, monkeypatch):
    sweep(Scenario.from_dict(TABLE), url)
    monkeypatch.setattr(Mirror, "_put", lambda *own: pytest.fail(f"sent again: {own[2]}"))
    sweep(Scenario.from_dict(TABLE), url)


def test_a_full_disk_here_is_no_fault_of_the_store(url, tmp_path, monkeypatch):
    sweep(Scenario.from_dict(TABLE), url)
    monkeypatch.setattr(remote, "home", lambda: tmp_path / "another")

    class Full:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def write(self, _):
            raise OSError(28, "No space left on device")

    opened = Path.open
    monkeypatch.setattr(
        Path, "open", lambda self, *own, **more: Full() if own == ("wb", 0) else opened(self, *own, **more)
    )
    with pytest.raises(DatasetError, match=r"cannot be written \(No space left on device\)"):
        read(url)


@pytest.mark.parametrize(
    ("how", "table"),
    [("cut", "estimates"), ("changed", "chunks"), ("gone", "counts"), ("changed", "tallies"), ("gone", "tallies")],
)
def test_what_is_damaged_there_is_noticed_and_made_again(how, table, url, tmp_path, monkeypatch):
    whole = data(sweep(Scenario.from_dict(TABLE), url).path)
    victim = tmp_path / "far/away" / table / "part-000001.parquet"
    content = victim.read_bytes()
    victim.write_bytes(content[:-9] if how == "cut" else content[:99] + b"?" + content[100:])
    if how == "gone":
        victim.unlink()
    monkeypatch.setattr(remote, "home", lambda: tmp_path / "another")
    if table != "tallies":  # is not read
        with pytest.raises(DatasetError, match=f"{table}/part-000001.parquet: missing or damaged"):
            read(url)
    heard = Heard()
    assert data(sweep(Scenario.from_dict(TABLE), url, progress=heard).path) == whole
    assert f"{table}/part-000001.parquet: " in "".join(heard.lines)
    assert data(tmp_path / "far/away") == whole


def test_an_address_in_place_of_a_scenario_makes_again_what_is_damaged(url, tmp_path, monkeypatch):
    whole = data(sweep(Scenario.from_dict(TABLE), url).path)
    (tmp_path / "far/away/estimates/part-000001.parquet").write_bytes(b"PAR1")
    monkeypatch.setattr(remote, "home", lambda: tmp_path / "another")
    assert main(["run", url, "--quiet"]) == 0
    assert data(tmp_path / "far/away") == whole


def stopped(monkeypatch, url, pieces=2, **changes):
    """A run that Ctrl-C ended."""
    keep, left = Kept.keep, iter(range(pieces))

    def stop(self, *own):
        keep(self, *own)
        if next(left, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr(Kept, "keep", stop)
    with pytest.raises(KeyboardInterrupt):
        sweep(Scenario.from_dict(TABLE | changes), url, threads=1)
    monkeypatch.setattr(Kept, "keep", keep)


def test_kept_counts_that_are_damaged_there_are_played_again_and_removed(url, tmp_path, monkeypatch):
    monkeypatch.setattr(planning, "ROWS_PER_PART", 2**20)
    stopped(monkeypatch, url)
    kept = sorted((tmp_path / "far/away/played").glob("*"))
    kept[0].write_bytes(kept[0].read_bytes()[:-1] + b"?")
    kept[0].with_name("0" * 32 + ".parquet").write_bytes(b"of nobody")  # that will not be made again
    monkeypatch.setattr(remote, "home", lambda: tmp_path / "another")
    heard = Heard()
    sweep(Scenario.from_dict(TABLE), url, progress=heard)
    assert f"played/{kept[0].name}: damaged there" in "".join(heard.lines)
    assert not list((tmp_path / "far/away/played").glob("*"))
    assert data(tmp_path / "far/away") == expected(TABLE)


def meanwhile(monkeypatch, owner, name, do):
    """Another machine does something when a method of ours has ended for the first time."""
    method, done = getattr(owner, name), []

    def and_another(self, *own):
        method(self, *own)
        if not done:
            done.append(True)
            do()

    monkeypatch.setattr(owner, name, and_another)


@pytest.mark.parametrize(("owner", "name"), [(Mirror, "pull"), (Mirror, "push"), (Kept, "keep")])
@pytest.mark.parametrize("seed", [1, 2])
def test_two_machines_at_one_address(owner, name, seed, url, tmp_path, monkeypatch):
    """One of them notices and stops, whatever the order; the other one's files are sound, and none are mixed up."""
    said, other = [], Scenario.from_dict(TABLE | {"seed": seed, "windows": 200_000})

    def from_another_machine():
        with pytest.MonkeyPatch.context() as there:
            there.setattr(remote, "home", lambda: tmp_path / "another")
            try:
                sweep(other, url)
            except DatasetError as error:
                said.append(str(error))

    meanwhile(monkeypatch, owner, name, from_another_machine)
    try:
        sweep(Scenario.from_dict(TABLE), url, threads=1)
        winner = Scenario.from_dict(TABLE)
    except DatasetError as error:
        said.append(str(error))
        winner = other
    assert len(said) == 1
    assert "another run" in said[0]
    assert data(tmp_path / "far/away") == expected(winner)


def test_two_runs_of_this_machine_at_one_address(url, monkeypatch):
    with mirrored(url), pytest.raises(DatasetError, match=f"{url}, in .*another run is at work here"):
        sweep(Scenario.from_dict(TABLE), url)


def test_who_reads_while_a_run_is_at_work_does_not_touch_it(url, tmp_path):
    sweep(Scenario.from_dict(TABLE), url)
    with mirrored(url) as mirror:
        note = mirror.folder / "manifest.json"
        note.write_text(note.read_text().replace('"complete": true', '"complete": false'))
        assert not read(url).complete
        assert '"complete": false' in note.read_text()
    assert read(url).complete


def test_other_points_from_another_machine_leave_no_old_parts(url, tmp_path, monkeypatch):
    """A copy of three parts becomes one of a single part, and is not read as both."""
    sweep(Scenario.from_dict(TABLE), url)
    assert len(read(url).estimates) == 9
    fewer = TABLE | {"process": TABLE["process"] | {"alpha": 0.7}}
    monkeypatch.setattr(remote, "home", lambda: tmp_path / "another")
    sweep(Scenario.from_dict(fewer), url)
    monkeypatch.setattr(remote, "home", lambda: tmp_path / "cache")
    assert len(read(url).estimates) == 3
    assert data(tmp_path / "far/away") == expected(fewer)


def test_shards_in_a_store(url, tmp_path, monkeypatch):
    own = Scenario.from_dict(TABLE)
    for i in (1, 2):
        monkeypatch.setattr(remote, "home", lambda i=i: tmp_path / f"machine{i}")
        assert f"in {url}-{i}" in str(play_shard(own, Shard(i, 2), f"{url}-{i}"))
    monkeypatch.setattr(remote, "home", lambda: tmp_path / "third")
    with pytest.raises(DatasetError, match="no folder of shard 2/2"):
        combine(url, [f"{url}-1"])
    assert list((tmp_path / "far/away/played").iterdir())  # combined again from anywhere
    with pytest.raises(DatasetError, match=f"{url}-3, in .*: is no folder of a shard"):
        combine(url, [f"{url}-3"])
    found = combine(url, [f"{url}-1", f"{url}-2"])
    assert found.place == url
    assert data(tmp_path / "far/away") == expected(own)


def test_a_manifest_there_that_is_none(url, tmp_path):
    sweep(Scenario.from_dict(TABLE), url)
    (tmp_path / "far/away/manifest.json").write_text("{")
    for use in (read, lambda own: sweep(Scenario.from_dict(TABLE), own)):
        with pytest.raises(DatasetError, match=r"manifest.json: cannot be read .* remove it there to begin anew"):
            use(url)


def test_nothing_there(url):
    with pytest.raises(DatasetError, match=r"far/away: holds no simspec dataset \(it has no manifest.json\)"):
        read(url)


SECRET = "wJalrXUtnFEMI"


@pytest.mark.parametrize(
    "url",
    [
        f"s3://AKIA:{SECRET}@bucket/name",
        f"s3://{SECRET}@bucket/name",
        f"s3://AKIA:{SECRET}/more@bucket/name",
        f"s3://AKIA:{SECRET}/name",
        f"nope://key:{SECRET}@bucket/name",
        f"gs://key:{SECRET}@bucket/name",
        f"simplecache::s3://AKIA:{SECRET}@bucket/name",
        f"s3://bucket/name?access_key=AKIA&secret_key={SECRET}",
        f"s3://bucket/name?endpoint_override=http://AKIA:{SECRET}@host",
        f"abfs://box@account.example/name?client_secret={SECRET}",
        f"S3://bucket/name?sas_token={SECRET}",
    ],
)
def test_an_address_holds_no_secret(url, tmp_path, monkeypatch, capsys):
    """It is refused, not shown, and nothing is written: not into the cache either."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(
        'name = "far"\nwindows = 1000\nkappa = [2]\n[process]\ntype = "iid"\nalpha = 0.7\n'
    )
    for words in (["run", "s.toml", "-o", url, "--json"], ["run", "s.toml", "--shard", "1/2", "-o", url], ["show", url],
                  ["combine", url, url], ["replay", url], ["compare", url, url],
                  ["report", "x", f"--output={url}"], ["fit", url], ["run", url]):  # fmt: skip
        assert main(words) == 2
        said = "".join(capsys.readouterr())
        assert SECRET not in said
        assert said.count("\n") == 1
    assert [path.name for path in tmp_path.rglob("*")] == ["s.toml"]


@pytest.mark.parametrize("option", ["colour=red", "endpoint_overide=host", "SCHEME=http"])
def test_an_option_that_nobody_knows(option):
    with pytest.raises(DatasetError, match=f"unknown option '{option.split('=')[0]}'; allowed: .*endpoint_override"):
        checked(f"s3://bucket/name?region=x&{option}")


def test_whoever_names_an_account_names_no_secret():
    for url in ("abfs://box@account.dfs.core.windows.net/name", "gs://anonymous@bucket/name", "s3://bucket/a@b"):
        assert checked(url) == url


@pytest.mark.parametrize(
    "do", [sweep, lambda own, url, threads: play_shard(own, Shard(1, 2), url)], ids=["run", "shard"]
)
def test_who_stops_a_run_waits_for_no_store(do, url, monkeypatch):
    """Ctrl-C while the store is away: the counts are kept here at once."""
    mend, keep = failing(monkeypatch, 1), Kept.keep
    monkeypatch.setattr(remote, "PATIENCE", 1e9)
    monkeypatch.setattr(keeping, "FLUSH_SECONDS", 1e9)
    monkeypatch.setattr(remote.time, "sleep", lambda _: pytest.fail("waits"))

    def stop(self, *own):
        keep(self, *own)
        raise KeyboardInterrupt

    monkeypatch.setattr(Kept, "keep", stop)
    with pytest.raises(DatasetError, match="what was played is kept"):
        do(Scenario.from_dict(TABLE), url, threads=1)
    mend()
    assert list(Mirror(url).folder.glob("played/*"))


def test_a_store_that_is_away_is_asked_less_and_less_often_for_five_minutes(url, monkeypatch):
    now, waits = SimpleNamespace(seconds=0.0), []

    def sleep(seconds):
        waits.append(seconds)
        now.seconds += seconds

    def away(_):
        raise OSError("503 Slow Down")

    monkeypatch.setattr(remote, "time", SimpleNamespace(monotonic=lambda: now.seconds, sleep=sleep))
    monkeypatch.setattr(remote, "FIRST_WAIT", 0.5)
    monkeypatch.setattr(Mirror, "_listed", away)
    heard = Heard()
    with pytest.raises(DatasetError, match=r"cannot be reached \(503 Slow Down\)"):
        sweep(Scenario.from_dict(TABLE), url, progress=heard)
    assert waits[:8] == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 20.0, 20.0]
    assert 300 <= sum(waits) < 320
    assert len([line for line in heard.lines if "does not answer" in line]) == len(waits)


def test_a_large_file_comes_whole(url, tmp_path):
    """It is read a megabyte at a time."""
    content = np.random.default_rng(1).bytes(2_500_000)
    (tmp_path / "far/away").mkdir(parents=True)
    (tmp_path / "far/away/large").write_bytes(content)
    Mirror(url)._get("large", tmp_path / "here")
    assert (tmp_path / "here").read_bytes() == content


def test_readers_of_one_copy_bring_it_one_after_the_other(url, monkeypatch):
    sweep(Scenario.from_dict(TABLE), url)
    listed, locks = Mirror._listed, []

    def noted(self):
        with (self.folder / remote.PULLING).open("a") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                locks.append(True)
        return listed(self)

    monkeypatch.setattr(Mirror, "_listed", noted)
    assert read(url).complete
    assert locks == [True]


def test_where_a_folder_is_needed_an_address_makes_none():
    assert local("results/x") == Path("results/x")
    with pytest.raises(DatasetError, match="s3://bucket/x: is an address; allowed here: a folder"):
        local("s3://bucket/x")


def test_a_scheme_that_nobody_knows():
    with pytest.raises(DatasetError, match=r"nope://bucket/name: .*allowed: s3://"):
        Mirror("nope://bucket/name")


@pytest.mark.parametrize(
    "words",
    ["AWS Error ACCESS_DENIED during X", "NO_SUCH_BUCKET", "Bucket 'no' not found.", "create a OAuth2 access token"],
)
def test_what_will_not_help_is_not_tried_again(words, url, monkeypatch):
    calls = []

    def refused(_):
        calls.append(True)
        raise OSError(words)

    monkeypatch.setattr(Mirror, "_listed", refused)
    with pytest.raises(DatasetError, match="cannot be used") as caught:
        sweep(Scenario.from_dict(TABLE), url)
    assert len(calls) == 1
    assert "\n" not in str(caught.value)
    assert ("credentials" in str(caught.value)) == ("ccess" in words or "ACCESS" in words)
