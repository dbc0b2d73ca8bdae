"""A dataset in an object store: the same bytes as in a folder, whatever the store does meanwhile."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time

import pyarrow.fs as pafs
import pytest

from simspec.model import DatasetError, Scenario
from simspec.run import parts, planning, remote
from simspec.run.dataset import read
from simspec.run.parts import Parts
from simspec.run.progress import Progress
from simspec.run.remote import Mirror
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
    monkeypatch.setattr(parts, "FLUSH_SECONDS", 0.0)
    monkeypatch.setattr(parts, "FLUSH_SHARE", 0.0)
    monkeypatch.setattr(planning, "ROWS_PER_PART", 1)
    monkeypatch.setattr(remote, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(remote, "_home", lambda: tmp_path / "cache")


def data(path):
    return {str(f.relative_to(path)): f.read_bytes() for f in sorted(path.rglob("part-*.parquet"))}


@pytest.fixture
def url(tmp_path):
    return f"file://{tmp_path}/far/away"


def test_the_same_bytes_there(url, tmp_path):
    local = sweep(Scenario.from_dict(TABLE), tmp_path / "local")
    there = sweep(Scenario.from_dict(TABLE), url)
    assert data(tmp_path / "far/away") == data(local.path)
    assert not list((tmp_path / "far/away").glob("played/*"))
    assert f"in {url}" in there.summary()


def test_another_machine_reads_it_and_goes_on(url, tmp_path, monkeypatch):
    keep, left = Parts.keep, iter(range(2))

    def stopped(self, *own):
        keep(self, *own)
        if next(left, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr(Parts, "keep", stopped)
    with pytest.raises(KeyboardInterrupt):
        sweep(Scenario.from_dict(TABLE), url, threads=1)
    monkeypatch.setattr(Parts, "keep", keep)
    monkeypatch.setattr(remote, "_home", lambda: tmp_path / "another")
    assert len(data(tmp_path / "far/away")) >= 4 or list((tmp_path / "far/away").glob("played/*"))
    assert not read(url).complete
    sweep(Scenario.from_dict(TABLE), url)
    assert data(tmp_path / "far/away") == data(sweep(Scenario.from_dict(TABLE), tmp_path / "local").path)
    monkeypatch.setattr(remote, "_home", lambda: tmp_path / "third")
    assert len(read(url).estimates) == 9


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


class Heard(Progress):
    def __init__(self):
        super().__init__(quiet=True)
        self.lines = []

    def note(self, line):
        self.lines.append(line)


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
    assert data(tmp_path / "far/away") == data(sweep(Scenario.from_dict(TABLE), tmp_path / "local").path)
    told = [line for line in heard.lines if "does not answer" in line]
    assert told
    assert "secret" not in "".join(told)


def test_a_store_that_fails_for_good_loses_nothing(url, tmp_path, monkeypatch):
    def gone(*_):
        raise OSError("503 Slow Down")

    put = Mirror._put
    monkeypatch.setattr(Mirror, "_put", gone)
    monkeypatch.setattr(remote, "PATIENCE", 0.05)
    with pytest.raises(DatasetError, match=r"cannot be reached \(503 Slow Down\); what was played is kept in"):
        sweep(Scenario.from_dict(TABLE), url)
    assert list(Mirror(url).folder.glob("played/*"))
    monkeypatch.setattr(Mirror, "_put", put)
    sweep(Scenario.from_dict(TABLE), url)
    assert data(tmp_path / "far/away") == data(sweep(Scenario.from_dict(TABLE), tmp_path / "local").path)


def test_no_secret_is_shown():
    with pytest.raises(DatasetError) as caught:
        Mirror("nope://key:secret@bucket/name?token=secret")
    assert "secret" not in str(caught.value)
    assert "nope://bucket/name" in str(caught.value)


class Proxy(threading.Thread):
    """Passes on what it is sent, except for some seconds in which it answers 503 or hangs up."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.target, self.bad_until, self.refused = port, 0.0, 0
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]

    def run(self):
        while True:
            client, _ = self.server.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with contextlib.suppress(OSError), client, socket.create_connection(("127.0.0.1", self.target)) as target:
            threading.Thread(target=self.back, args=(target, client), daemon=True).start()
            while block := client.recv(2**16):
                if time.monotonic() < self.bad_until:
                    self.refused += 1
                    if self.refused % 2:
                        client.sendall(b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    return
                target.sendall(block)

    def back(self, target, client):
        with contextlib.suppress(OSError):
            while block := target.recv(2**16):
                client.sendall(block)


@pytest.mark.deep
def test_an_s3_server_that_answers_503_and_hangs_up_for_twenty_seconds(tmp_path, monkeypatch):
    pytest.importorskip("moto")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for key, value in {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}.items():
        monkeypatch.setenv(key, value)
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ),
    )  # fmt: skip
    try:
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        own = pafs.S3FileSystem(
            endpoint_override=f"127.0.0.1:{port}", scheme="http", region="us-east-1", allow_bucket_creation=True
        )
        own.create_dir("bucket")
        proxy = Proxy(port)
        proxy.start()
        url = f"s3://bucket/far?endpoint_override=127.0.0.1:{proxy.port}&scheme=http&region=us-east-1"
        Mirror(url).pull()
        keep, left = Parts.keep, iter(range(2))

        def then_fails(self, *given):
            keep(self, *given)
            if next(left, None) == 1:
                proxy.bad_until = time.monotonic() + 20.0

        monkeypatch.setattr(Parts, "keep", then_fails)
        monkeypatch.setattr(remote, "FIRST_WAIT", 0.5)
        heard = Heard()
        sweep(Scenario.from_dict(TABLE), url, progress=heard)
        assert proxy.refused > 3
        assert [line for line in heard.lines if "does not answer" in line]
        monkeypatch.setattr(remote, "_home", lambda: tmp_path / "another")
        again = read(url)
        assert again.complete
        assert data(again.path) == data(sweep(Scenario.from_dict(TABLE), tmp_path / "local").path)
    finally:
        server.kill()
        server.wait()
