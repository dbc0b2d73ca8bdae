"""Whoever plays, and whoever is lost meanwhile, the numbers are the same."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import simspec
from simspec.model import ParameterError, Scenario, SimspecError
from simspec.run import clusters, dispatch, engine, executors, workers
from simspec.run.executors import Crew
from simspec.run.planning import plan
from simspec.run.progress import Progress
from simspec.run.sweep import sweep
from simspec.run.workers import TRIES, Workers, answer

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

    def add(self, *windows):
        super().add(*windows)
        if self._do is not None:
            do, self._do = self._do, None
            do()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return data(sweep(Scenario.from_dict(TABLE), tmp_path_factory.mktemp("whole") / "out").path)


def test_a_process_that_is_killed(tmp_path, whole, monkeypatch):
    pools, make = [], ProcessPoolExecutor

    def noted(*own, **options):
        pools.append(make(*own, **options))
        return pools[-1]

    monkeypatch.setattr(executors, "ProcessPoolExecutor", noted)
    heard = Heard(lambda: os.kill(next(iter(pools[0]._processes)), signal.SIGKILL))
    own = sweep(Scenario.from_dict(TABLE), tmp_path / "out", progress=heard, crew=Crew("processes", 1))
    assert data(own.path) == whole
    assert len(pools) == 2
    assert [line for line in heard.lines if "a worker was lost" in line]


def named(name, base=Exception):
    """An error of a package that may not be there."""
    return type(name, (base,), {})


LOSSES = [BrokenExecutor, CancelledError, named("KilledWorker"), named("CommClosedError", OSError)]
LOSSES += [named("Own", named("ClosedClientError"))]


class Forgetful(Executor):
    """Loses every third handful with its worker, each time another one."""

    def __init__(self, error):
        self.asked, self.error, self._pool = 0, error, ThreadPoolExecutor(2)

    def submit(self, do, /, *arguments):
        self.asked += 1
        if self.asked % 3 == 0:
            future = Future()
            future.set_exception(self.error("gone"))
            return future
        return self._pool.submit(do, *arguments)

    def shutdown(self, wait=True, *, cancel_futures=False):
        self._pool.shutdown(wait)


@pytest.mark.parametrize("error", LOSSES)
def test_lost_handfuls_are_played_again(error, tmp_path, whole, monkeypatch):
    monkeypatch.setattr(executors, "ThreadPoolExecutor", lambda *_, **__: Forgetful(error))
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


def test_a_process_leaves_ctrl_c_to_the_first_one_and_ends_with_it(monkeypatch):
    """A terminal tells all of them; what is under way is to be finished and kept."""
    taken, waits = {}, threading.Event()
    monkeypatch.setattr(signal, "signal", taken.__setitem__)
    monkeypatch.setattr(executors, "_end_with_parent", waits.set)
    executors._begin()
    assert taken == {signal.SIGINT: signal.SIG_IGN}
    assert waits.wait(10)


def test_work_is_given_out_five_times_and_no_more():
    asked = []

    class Losing(Executor):
        def submit(self, do, /, *arguments):
            asked.append(arguments)
            future = Future()
            future.set_exception(BrokenExecutor())
            return future

    own = Workers(Losing, 1)
    with pytest.raises(SimspecError, match=f"lost with their worker {TRIES} times in a row"):
        own.result(own.submit(max, 1, 2))
    assert asked == [(1, 2)] * TRIES


def test_after_an_error_nothing_is_left_with_an_executor_of_ones_own(tmp_path):
    futures = []

    class Slow(Executor):
        def submit(self, do, /, *arguments):
            futures.append(Future())
            if len(futures) == 4:
                futures[0].set_exception(ValueError("no"))
            return futures[-1]

    with pytest.raises(SimspecError, match="a worker cannot play"):
        sweep(Scenario.from_dict(TABLE), tmp_path / "out", crew=Crew(Slow(), 1))
    assert len(futures) > 4
    assert all(future.cancelled() for future in futures[1:])


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
        ({"executor": ThreadPoolExecutor}, "or in Python a concurrent.futures.Executor"),
    ],
)
def test_what_is_no_crew(keys, said):
    with pytest.raises(ParameterError, match=said):
        Crew(**keys)


class Far(Executor):
    """Somebody's workers: threads that are not known to be ones, so that all is packed; each handful is played twice.

    ``odd`` may do something else with a message than workers do.
    """

    def __init__(self, odd=answer):
        self.pool, self.odd, self.asked = ThreadPoolExecutor(3), odd, 0

    def submit(self, do, /, *arguments):
        assert do is answer
        self.asked += 1
        twice = [self.pool.submit(self.odd, *arguments) for _ in range(2)]
        return twice[self.asked % 2]

    def shutdown(self, wait=True, *, cancel_futures=False):
        raise AssertionError("not simspec's to end")


def test_an_executor_of_ones_own_is_used_and_left_as_it_was(tmp_path, whole):
    """And work that is done twice, as some schedulers have it, counts once."""
    far = Far()
    assert data(sweep(Scenario.from_dict(TABLE), tmp_path / "far", crew=Crew(far)).path) == whole
    assert far.asked > 10
    with ThreadPoolExecutor(2) as pool:
        table = TABLE | {"policy": {"type": "fixed"}}
        a, b = (sweep(Scenario.from_dict(table), tmp_path / name, crew=crew).path
                for name, crew in (("near", Crew(pool)), ("threads", None)))  # fmt: skip
        assert data(a) == data(b)
        assert pool.submit(divmod, 7, 2).result() == (3, 1)


def test_an_executor_of_ones_own_that_breaks(tmp_path):
    class Broken(Executor):
        def submit(self, do, /, *arguments):
            raise BrokenExecutor("gone")

    with pytest.raises(SimspecError, match=r"executor Broken: its workers were lost .* a run with a new one continues"):
        sweep(Scenario.from_dict(TABLE), tmp_path / "out", crew=Crew(Broken()))


def _another_version(theirs, packed):
    _, host, reply, wrong = answer(theirs, packed)
    return ("0.0.9", 1), host, reply, wrong


def _failing(theirs, packed):
    return answer(theirs, pickle.dumps((divmod, (1, 0))))


def _unread(theirs, packed):
    return answer(theirs, b"csimspec.none\nPolicy\n.")


def _gibberish(theirs, packed):
    raise ValueError("two\nlines")


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        (_another_version, r"has simspec 0.0.9 \(stream version 1\), and this is .*; allowed: the same everywhere"),
        (_failing, "failed with ZeroDivisionError: .* at .*workers.py:"),
        (_unread, "No module named 'simspec.none'; allowed: .* from a module that workers can import"),
        (_gibberish, r"a worker cannot play \(ValueError: two lines\)"),
    ],
)
def test_what_is_wrong_with_a_worker_is_one_line_and_counts_nothing(tmp_path, whole, odd, said):
    far = Far(odd)
    with pytest.raises(SimspecError, match=said) as caught:
        sweep(Scenario.from_dict(TABLE), tmp_path / "out", crew=Crew(far, 1))
    assert "\n" not in str(caught.value)
    assert far.asked <= 5  # those that were under way, and none again
    assert not (tmp_path / "out" / "played").exists()
    assert data(sweep(Scenario.from_dict(TABLE), tmp_path / "out").path) == whole


def test_a_worker_of_another_version_does_not_even_read_the_question():
    assert answer(("0.0.9", 1), b"no pickle")[2:] == (b"", "")


def test_what_cannot_be_sent_is_said(tmp_path):
    own = Workers(Far, 1, kind="far", near=False)
    with pytest.raises(SimspecError, match=r"executor far: cannot be sent to a worker .*; allowed: policies, schemes"):
        own.submit(lambda: None)


def _no_file(asked):
    return [ParameterError("path", "x.csv: cannot be read") for _ in asked]


def _lacking(theirs, packed):
    return answer(theirs, pickle.dumps((_no_file, pickle.loads(packed)[1])))


def test_an_error_of_the_user_is_one_everywhere_and_otherwise_it_is_the_workers(tmp_path, monkeypatch):
    """A trace that changed since it was planned fails alike near and far; what only a worker lacks ends the run."""
    file = tmp_path / "rounds.csv"
    trace = {"type": "trace", "path": str(file), "accepted": "accepted", "bonus_included": False, "drafted": 4,
             "request": "request"}  # fmt: skip
    table = TABLE | {"process": [TABLE["process"][0], trace], "policy": {"type": "fixed"}}
    found = {}
    for name, crew in (("near", Crew(many=1)), ("far", Crew(Far()))):
        file.write_text("request,accepted\n1,2\n1,0\n2,1\n")
        scenario = Scenario.from_dict(table)
        todo = plan(scenario)
        assert all(job.layout.lanes for job in todo.jobs)
        monkeypatch.setattr("simspec.run.sweep.plan", lambda *_, todo=todo: todo)
        file.write_text("request,accepted\n1,2\n1,1\n2,1\n")
        found[name] = sweep(scenario, tmp_path / name, crew=crew)
        (failed,) = found[name].failed
        assert "allowed: the same file for every worker, unchanged while it plays" in failed["error"]
    assert data(found["near"].path) == data(found["far"].path)
    monkeypatch.undo()
    with pytest.raises(SimspecError, match=r"executor Far: on a worker, though not here: x.csv: cannot be read; what"):
        sweep(Scenario.from_dict(TABLE), tmp_path / "lacking", crew=Crew(Far(_lacking)))
    error = pickle.loads(pickle.dumps(ParameterError("kappa", "kappa = 9; allowed: less")))
    assert (error.key, str(error)) == ("kappa", "kappa = 9; allowed: less")


def test_all_that_was_lost_is_given_out_again_at_once():
    """The pool breaks under six handfuls: the first result that is asked for starts all of them on a new one."""
    pools = []

    class Pool(Executor):
        def __init__(self):
            self.futures = []
            pools.append(self)

        def submit(self, do, /, *arguments):
            self.futures.append(Future())
            return self.futures[-1]

        def shutdown(self, wait=True, *, cancel_futures=False):
            pass

    own = Workers(Pool, 2)
    asked = [own.submit(max, n, 0) for n in range(6)]
    for future in pools[0].futures[:4]:
        future.set_exception(BrokenExecutor())
    pools[0].futures[4].set_result(4)  # came in time
    pools[0].futures[5].cancel()
    made = iter(range(1))

    def wait(futures, *_):
        if next(made, None) is None:
            for n, future in enumerate(pools[1].futures):
                if not future.done():
                    future.set_result(n)
        assert futures[0].done()  # all that was lost was begun again
        return type("Done", (), {"done": True})

    patched, workers.wait = workers.wait, wait
    try:
        assert [own.result(one) for one in asked] == [0, 1, 2, 3, 4, 4]
    finally:
        workers.wait = patched
    assert [len(pool.futures) for pool in pools] == [6, 5]


class Deaf(Executor):
    """Dask's, while the scheduler is looked for: what it is given is never heard of again (here: for five seconds)."""

    def submit(self, do, /, *arguments):
        future = Future()
        late = threading.Timer(5, future.set_result, [("", "", b"", "")])
        late.daemon = True
        late.start()
        return future


def test_what_was_given_out_while_a_scheduler_was_looked_for_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(workers, "PATIENCE", 0.01)
    left = ["running", *4 * ["connecting"], "closing", "closed"]

    class Client:
        status = property(lambda self: left.pop(0) if len(left) > 1 else left[0])

        def get_executor(self, pure):
            return Deaf()

        def nthreads(self):
            return {"worker": 1}

    own = clusters._Dask(Client(), "tcp://127.0.0.1:1", lambda line: None)
    asked = own.submit(max, 3, 4)
    began = time.monotonic()
    with pytest.raises(SimspecError, match=r"scheduler tcp://127.0.0.1:1 no longer answers; what was played is kept"):
        own.result(asked)
    assert left == ["closed"]  # it was waited for as long as it might have come back
    assert time.monotonic() - began < 4


def _command(place, *more):
    (place / "own.toml").write_text(
        'name = "own"\nwindows = 1_000_000_000\nkappa = [0, 4]\n[process]\ntype = "markov"\n'
        'alpha = { from = 0.5, to = 0.95, step = 0.01 }\nrho = 0.3\nstart = "carry"\n'
    )
    words = ["-m", "simspec", "run", "own.toml", "-o", "out", "--executor", "processes", "--threads", "2", *more]
    path = os.environ | {"PYTHONPATH": str(Path(simspec.__file__).parents[1])}
    return subprocess.Popen([sys.executable, *words], cwd=place, env=path, stderr=subprocess.PIPE, text=True)


def _children(pid):
    out = subprocess.run(["pgrep", "-P", str(pid), "-f", "spawn_main"], capture_output=True, text=True).stdout
    return [int(word) for word in out.split()]


@pytest.mark.deep
def test_processes_are_killed_at_random(tmp_path):
    """Three times one that plays, and soon after one that may be just beginning: the bytes of threads."""
    rng, killed, known, lines = np.random.default_rng(9), 0, 0, []
    with _command(tmp_path) as own:
        for line in own.stderr:
            lines.append(line)
            windows = int(line.split(" windows,")[0].split()[-1].replace(",", "")) if " windows," in line else 0
            if windows > known and killed < 6:
                known = windows
                for pause in rng.uniform((0, 0.5), (1.5, 3.0)):
                    time.sleep(pause)
                    victims = _children(own.pid)
                    if victims:
                        os.kill(int(rng.choice(victims)), signal.SIGKILL)
                        killed += 1
    assert own.returncode == 0, lines[-3:]
    assert killed >= 4
    assert sum("a worker was lost" in line for line in lines) >= 3
    scenario = Scenario.from_toml(tmp_path / "own.toml")
    assert data(tmp_path / "out") == data(sweep(scenario, tmp_path / "threads").path)


@pytest.mark.deep
@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -9), (signal.SIGTERM, 143)])
def test_processes_end_with_the_first_one(tmp_path, number, code):
    with _command(tmp_path) as own:
        for line in own.stderr:
            if "windows," in line:
                break
        children = _children(own.pid)
        own.send_signal(number)
        said = own.stderr.read()
    assert own.returncode == code
    assert len(children) == 2
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{child}/exe").exists() for child in children):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    if code == 143:
        assert "what was played is kept\ngo on: " in said
        assert list((tmp_path / "out" / "played").iterdir())


@pytest.mark.deep
def test_a_script_that_processes_cannot_read_is_told_so(tmp_path):
    (tmp_path / "script.py").write_text(
        "import simspec\n"
        "table = {'name': 'a', 'windows': 10_000, 'kappa': [4], 'process': {'type': 'iid', 'alpha': 0.7}}\n"
        "simspec.sweep(table, 'out', crew=simspec.Crew('processes', 1))\n"
    )
    path = os.environ | {"PYTHONPATH": str(Path(simspec.__file__).parents[1])}
    own = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, env=path, capture_output=True, text=True)
    assert own.stderr.strip().endswith('whose own code stands below if __name__ == "__main__"')
    assert own.stderr.count("processes end before they begin") == 1


def test_workers_that_cannot_begin_leave_no_folder(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ParameterError, match="needs the package distributed"):
        sweep(Scenario.from_dict(TABLE), tmp_path / "out", crew=Crew("dask", scheduler="tcp://127.0.0.1:9"))
    assert not list(tmp_path.iterdir())
