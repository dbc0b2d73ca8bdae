"""Workers of a Dask scheduler and of MPI: killed, gone, of another version; the bytes are those of threads."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import simspec
from simspec.cli.main import main
from simspec.model import ParameterError, Scenario, SimspecError
from simspec.run import dispatch, engine
from simspec.run.executors import Crew
from simspec.run.progress import Progress
from simspec.run.sweep import sweep

pytestmark = [pytest.mark.deep, pytest.mark.filterwarnings("ignore")]

TABLE = {
    "name": "cluster",
    "windows": 20_000_000,
    "kappa": [0, 4],
    "process": [
        {"type": "iid", "alpha": 0.7},
        {"type": "markov", "alpha": 0.7, "rho": 0.3, "start": "carry"},
        {"type": "hmm", "P": [[0.9, 0.1], [0.2, 0.8]], "alphas": [0.95, 0.4]},
        {"type": "drift", "alpha_start": 0.85, "alpha_end": 0.62, "tokens": 128},
    ],
    "policy": [{"type": "fixed"}, {"type": "heuristic"}],
}
HERE = str(Path(simspec.__file__).parents[1])
PATH = os.environ | {"PYTHONPATH": HERE}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    for module in (engine, dispatch):
        monkeypatch.setattr(module, "PIECE_WINDOWS", 2**20)


def data(path):
    return {str(f.relative_to(path)): f.read_bytes() for f in sorted(path.rglob("part-*.parquet"))}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return data(sweep(Scenario.from_dict(TABLE), tmp_path_factory.mktemp("whole") / "out").path)


class Heard(Progress):
    """Keeps what it is told, and does something each time another share of the windows was counted."""

    def __init__(self, *does):
        super().__init__(quiet=True)
        self.lines, self._does, self._all = [], list(does), len(does)

    def note(self, line):
        self.lines.append(line)

    def add(self, *windows):
        super().add(*windows)
        if self._does and self.done > self.total * (self._all - len(self._does)) / (self._all + 1):
            self._does.pop(0)()

    def said(self, words):
        return [line for line in self.lines if words in line]


def run(place, address, *does):
    heard = Heard(*does)
    own = sweep(Scenario.from_dict(TABLE), place, progress=heard, crew=Crew("dask", scheduler=address))
    return data(own.path), heard


@contextmanager
def process(*words, **options):
    own = subprocess.Popen(
        [sys.executable, *words], env=PATH, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options
    )
    try:
        yield own
    finally:
        own.kill()
        own.wait()


def free_port():
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        return own.getsockname()[1]


@contextmanager
def scheduler():
    pytest.importorskip("distributed")
    port = free_port()
    words = ("-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    with process(*words) as own:
        yield f"tcp://127.0.0.1:{port}", own


def worker(address, *more):
    words = ("-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard", *more)
    return process(*words)


def test_workers_are_killed_while_they_play(tmp_path, whole):
    """Three times the one that has work is killed; its nanny starts another.  The scheduler counts what it lost."""
    distributed = pytest.importorskip("distributed")
    lost, victims = [], []

    class Losses(distributed.SchedulerPlugin):
        def transition(self, key, start, finish, *_, **__):
            if start == "processing" and finish in ("released", "waiting"):
                lost.append(key)

    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        cluster.scheduler.add_plugin(Losses())

        def kill():
            """From a thread of its own: the main one has to give out work meanwhile."""
            busy = []
            while not busy:
                busy = [own.address for own in list(cluster.scheduler.workers.values()) if own.processing]
            (victim,) = (own for own in cluster.workers.values() if own.worker_address == busy[0])
            os.kill(victim.pid, signal.SIGKILL)
            victims.append(victim.pid)

        kills = [threading.Thread(target=kill, daemon=True) for _ in range(3)]
        found, _ = run(tmp_path / "out", cluster.scheduler_address, *(own.start for own in kills))
    assert found == whole
    assert len(set(victims)) == 3
    assert len(lost) >= 3


def test_all_workers_are_gone_for_a_while_and_others_come(tmp_path, whole):
    with scheduler() as (address, _), ExitStack() as stack:
        first = stack.enter_context(worker(address))

        def kill():
            first.kill()
            for after in (2, 2):
                timer = threading.Timer(after, lambda: stack.enter_context(worker(address)))
                stack.callback(timer.cancel)
                timer.start()

        found, heard = run(tmp_path / "out", address, kill)
    assert found == whole
    assert heard.said("no worker is there; waiting for one")
    assert heard.said("2 threads of workers")


def test_workers_come_after_the_run_began(tmp_path, whole):
    with scheduler() as (address, _), ExitStack() as stack:
        timer = threading.Timer(3, lambda: stack.enter_context(worker(address)))
        timer.start()
        found, heard = run(tmp_path / "out", address)
    assert found == whole
    assert heard.said("no worker is there; waiting for one")


def test_the_scheduler_is_gone(tmp_path, whole):
    """One line, what was played is kept, and the same run goes on, on threads."""
    with scheduler() as (address, own), worker(address):
        began = []

        def kill():
            own.kill()
            began.append(time.monotonic())

        with pytest.raises(SimspecError, match=r"scheduler tcp://.* no longer answers; what was played is kept"):
            run(tmp_path / "out", address, kill)
        assert time.monotonic() - began[0] < 20
    assert list((tmp_path / "out" / "played").iterdir())
    heard = Heard()
    assert data(sweep(Scenario.from_dict(TABLE), tmp_path / "out", progress=heard).path) == whole
    other = Heard()
    sweep(Scenario.from_dict(TABLE), tmp_path / "other", progress=other)
    assert heard.done < other.done


PRELOADS = {
    "version": ("import simspec.run.workers as own\nown.version = lambda: ('0.0.9', 1)\n", "has simspec 0.0.9 (stream"),
    "absent": ("import sys\nsys.modules['simspec'] = None\n", "allowed: workers that can import simspec"),
}


@pytest.mark.parametrize("kind", PRELOADS)
def test_a_worker_of_another_version_is_refused(tmp_path, whole, kind):
    code, said = PRELOADS[kind]
    (tmp_path / "odd.py").write_text(code)
    with scheduler() as (address, _):
        with worker(address, "--preload", str(tmp_path / "odd.py")), pytest.raises(SimspecError) as caught:
            run(tmp_path / "out", address)
        assert said in str(caught.value)
        assert "\n" not in str(caught.value)
        assert not (tmp_path / "out" / "played").exists()  # nothing of it was counted
        with worker(address):
            assert run(tmp_path / "out", address)[0] == whole


def test_two_runs_share_a_scheduler_and_nothing_stays_there(tmp_path, whole):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    ) as cluster:
        found, runs = {}, []
        for name in "ab":
            runs.append(
                threading.Thread(
                    target=lambda n=name: found.update({n: run(tmp_path / n, cluster.scheduler_address)[0]})
                )
            )
            runs[-1].start()
        for own in runs:
            own.join()
        assert found == {"a": whole, "b": whole}
        time.sleep(1)
        assert not cluster.scheduler.tasks


@pytest.mark.parametrize(
    "address",
    [
        "tcp://127.0.0.1:1",
        "127.0.0.1:1",
        "tcp://no.such.host.invalid:8786",
        "nonsense",
        "http://127.0.0.1:1",
        "tls://127.0.0.1:1",
    ],
)
def test_an_address_where_nobody_is(tmp_path, address):
    pytest.importorskip("distributed")
    began = time.monotonic()
    with pytest.raises(ParameterError, match="scheduler = ") as caught, Crew("dask", scheduler=address).workers():
        pass
    assert time.monotonic() - began < 15
    assert "\n" not in str(caught.value)


def mpi(*words, **options):
    pytest.importorskip("mpi4py")
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if mpiexec is None:
        pytest.skip("no mpiexec")
    command = [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures", "-m", "simspec", *map(str, words)]
    return subprocess.Popen(
        command, env=PATH, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, **options
    )


def test_mpi_plays_the_same_and_survives_a_lost_process(tmp_path):
    """Whoever dies takes all of MPI with it; the same command continues."""
    import tomllib

    text = (
        'name = "cluster"\nwindows = 2_000_000_000\nkappa = [0, 4]\n'
        '[[process]]\ntype = "markov"\nalpha = [0.5, 0.6, 0.7, 0.8]\nrho = 0.3\nstart = "carry"\n'
        '[[process]]\ntype = "drift"\nalpha_start = 0.85\nalpha_end = 0.62\ntokens = 128\n'
    )
    (tmp_path / "cluster.toml").write_text(text)
    whole = data(sweep(Scenario.from_dict(tomllib.loads(text)), tmp_path / "whole").path)
    words = ("run", tmp_path / "cluster.toml", "-o", tmp_path / "out", "--executor", "mpi")
    with mpi(*words) as own:
        victim = _playing(own, tmp_path)
        os.kill(victim, signal.SIGKILL)
        out, said = own.communicate(timeout=60)
    assert own.returncode != 0
    assert "look again" not in out
    with mpi(*words) as own:
        out, said = own.communicate(timeout=100)
    assert own.returncode == 0, said
    assert "2 workers" in said
    assert data(tmp_path / "out") == whole
    with mpi(*words, "--seed", 5) as own:
        assert own.communicate(timeout=60)[1].count("it differs in seed") == 1
    assert own.returncode == 2


def _playing(own, place):
    """A worker process of an MPI run into a folder, once the run counts windows."""
    for line in own.stderr:
        if "simulating" in line and "windows" in line:
            break
    else:
        raise AssertionError("it never played")
    ranks = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.fsencode(place) in (process / "cmdline").read_bytes():
                words = (process / "environ").read_bytes().split(b"\0")
                ranks |= {int(word[9:]): int(process.name) for word in words if word.startswith(b"PMI_RANK=")}
        except OSError:
            continue
    return ranks[2]


def test_mpi_without_its_start_says_how(capsys):
    assert main(["run", "scenarios/quickstart.toml", "--executor", "mpi"]) == 2
    assert "mpiexec -n 3 python -m mpi4py.futures -m simspec run FILE --executor mpi" in capsys.readouterr().err


def test_the_slurm_script_of_the_docs_goes_on_after_its_time(tmp_path):
    """With an srun that sends SIGTERM, as SLURM does, and an scontrol that notes what it is asked."""
    import re

    text = (Path(HERE) / "docs" / "sweeps.md").read_text(encoding="utf-8")
    (found,) = re.findall(r"^    #!/bin/bash\n(?:    .*\n)+", text, re.MULTILINE)
    script = "\n".join(line[4:] for line in found.splitlines()).replace("FILE", "own.toml").replace("/64", "/2")
    (tmp_path / "own.toml").write_text(
        'name = "own"\nwindows = 2_000_000_000\nkappa = [0, 4]\n[process]\ntype = "markov"\n'
        'alpha = { from = 0.5, to = 0.95, step = 0.01 }\nrho = 0.3\nstart = "carry"\n'
    )
    commands = {
        "srun": 'shift 2\nexec timeout --preserve-status -s TERM $LIMIT "$@"\n',
        "scontrol": 'echo "$@" >> asked\n',
        "simspec": f'exec {sys.executable} -m simspec "$@"\n',
    }
    (tmp_path / "bin").mkdir()
    for name, code in commands.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{code}")
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "job.sh").write_text(script + "\n")
    subprocess.run(["bash", "-n", "job.sh"], cwd=tmp_path, check=True)
    task = {"SLURM_ARRAY_TASK_ID": "1", "SLURM_JOB_ID": "77", "SLURM_CPUS_PER_TASK": "2"}
    task |= PATH | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    codes = []
    while (tmp_path / "asked").exists() or not codes:
        (tmp_path / "asked").unlink(missing_ok=True)
        code = subprocess.run(["bash", "job.sh"], cwd=tmp_path, env=task | {"LIMIT": "8" if not codes else "400"})
        codes.append(code.returncode)
        if codes[-1] == 143:
            assert (tmp_path / "asked").read_text() == "requeue 77\n"
            assert list((tmp_path / "shards" / "1" / "played").iterdir())
    assert codes == [143, 0]
