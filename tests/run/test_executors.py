"""Whoever plays, and whoever is lost meanwhile, the numbers are the same."""

import os
import signal
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor

import pytest

from simspec.model import ParameterError, Scenario, SimspecError
from simspec.run import dispatch, engine, executors
from simspec.run.executors import Crew, Workers
from simspec.run.progress import Progress
from simspec.run.sweep import sweep
from simspec.run.workers import TRIES

TABLE = {
    "name": "crew",
    "windows": 500_000,
    "kappa": [0, 4],
    "process": [
        {"type": "iid", "alpha": 0.7},
        {"type": "markov", "alpha": 0.7, "rho": 0.3, "start": "carry"},
        {"type": "hmm", "P": [[0.9, 0.1], [0.2, 0.8]], "alphas": [0.95, 0.4]},
        {"type": "drift", "alpha_start": 0.85, "alpha_end": 0.62, "tokens": 128},
    ],
    "policy": [{"type": "fixed"}, {"type": "heuristic"}],
}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Many handfuls, so that some are lost and some are not."""
    for module in (engine, dispatch):
        monkeypatch.setattr(module, "PIECE_WINDOWS", 2**17)


def data(path):
    return {str(f.relative_to(path)): f.read_bytes() for f in sorted(path.rglob("part-*.parquet"))}


class Heard(Progress):
    """Keeps what it is told, and calls someone after a number of windows."""

    def __init__(self, do=lambda: None):
        super().__init__(quiet=True)
        self.lines, self._do = [], do

    def note(self, line):
        self.lines.append(line)

    def add(self, windows):
        super().add(windows)
        if self._do is not None:
            do, self._do = self._do, None
            do()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return data(sweep(Scenario.from_dict(TABLE), tmp_path_factory.mktemp("whole") / "out").path)


def test_processes_one_of_which_is_killed(tmp_path, whole, monkeypatch):
    pools, make = [], ProcessPoolExecutor

    def noted(*own, **options):
        pools.append(make(*own, **options))
        return pools[-1]

    monkeypatch.setattr(executors, "ProcessPoolExecutor", noted)
    heard = Heard(lambda: os.kill(next(iter(pools[0]._processes)), signal.SIGKILL))
    own = sweep(Scenario.from_dict(TABLE), tmp_path / "out", progress=heard, crew=Crew("processes", 2))
    assert data(own.path) == whole
    assert len(pools) == 2
    assert [line for line in heard.lines if "a worker was lost" in line]


class Forgetful(Executor):
    """Loses every third handful with its worker, each time another one; and gives one result twice as late."""

    def __init__(self):
        self.asked, self._pool = 0, ThreadPoolExecutor(2)

    def submit(self, do, /, *arguments):
        self.asked += 1
        if self.asked % 3 == 0:
            future = Future()
            future.set_exception(BrokenExecutor("gone"))
            return future
        return self._pool.submit(do, *arguments)

    def shutdown(self, wait=True, *, cancel_futures=False):
        self._pool.shutdown(wait)


def test_lost_handfuls_are_played_again(tmp_path, whole, monkeypatch):
    monkeypatch.setattr(executors, "ThreadPoolExecutor", lambda *_, **__: Forgetful())
    heard = Heard()
    own = sweep(Scenario.from_dict(TABLE), tmp_path / "out", progress=heard)
    assert data(own.path) == whole


def test_a_handful_that_is_lost_every_time_ends_the_run_and_nothing_is_lost(tmp_path, whole, monkeypatch):
    play, left = dispatch.play_all, iter(range(5))

    def fatal(asked):
        if next(left, None) is None:
            raise BrokenProcessPool("gone")
        return play(asked)

    monkeypatch.setattr(dispatch, "play_all", fatal)
    with pytest.raises(SimspecError, match=f"lost with their worker {TRIES} times in a row"):
        sweep(Scenario.from_dict(TABLE), tmp_path / "out", threads=1)
    assert list((tmp_path / "out" / "played").iterdir())
    monkeypatch.setattr(dispatch, "play_all", play)
    assert data(sweep(Scenario.from_dict(TABLE), tmp_path / "out").path) == whole


def test_an_error_of_the_program_is_not_tried_again():
    calls = []

    def wrong():
        calls.append(1)
        raise ZeroDivisionError

    own = Workers(lambda: ThreadPoolExecutor(1), 1)
    with pytest.raises(ZeroDivisionError):
        own.result(own.submit(wrong))
    own.close()
    assert calls == [1]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"executor": "rocket"}, "allowed: threads, processes, dask, mpi"),
        ({"executor": "dask"}, "needs --scheduler ADDRESS"),
        ({"scheduler": "tcp://127.0.0.1:1"}, "executor = threads has no scheduler"),
        ({"many": 0}, "allowed: a whole number of at least 1"),
        ({"many": True}, "allowed: a whole number of at least 1"),
    ],
)
def test_what_is_no_crew(keys, said):
    with pytest.raises(ParameterError, match=said):
        Crew(**keys)


def test_a_scheduler_that_does_not_answer():
    pytest.importorskip("distributed")
    crew = Crew("dask", scheduler="tcp://127.0.0.1:1")
    with pytest.raises(ParameterError, match="nothing answers there"), crew.workers():
        pass


@pytest.mark.deep
@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_one_of_whose_workers_is_killed(tmp_path, whole):
    """Worker processes of their own; one is killed while it plays, and the scheduler starts another."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        victim = next(iter(cluster.workers.values()))

        done = []

        def kill():
            done.append(heard.done)
            os.kill(victim.pid, signal.SIGKILL)

        heard = Heard(kill)
        crew = Crew("dask", scheduler=cluster.scheduler_address)
        own = sweep(Scenario.from_dict(TABLE), tmp_path / "out", progress=heard, crew=crew)
    assert data(own.path) == whole
    assert done[0] < heard.done / 10  # most was still to be played, half of it by the one that was killed
