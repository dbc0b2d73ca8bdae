"""Servers of this machine that speak as object stores do, and fail as they do: the same bytes, or a clear line.

Needs ``pip install "moto[server]" s3fs gcsfs gcp-storage-emulator``; what is not installed is skipped.
"""

import contextlib
import os
import random
import shutil
import socket
import subprocess
import sys
import threading
import time

import pyarrow.fs as pafs
import pytest
from heard import Heard

from simspec.model import DatasetError, Scenario
from simspec.run import keeping, planning, remote
from simspec.run.dataset import read
from simspec.run.remote import Mirror
from simspec.run.store import MANIFEST
from simspec.run.sweep import sweep

pytestmark = pytest.mark.deep
TABLE = {
    "name": "far",
    "windows": 300_000,
    "kappa": [0, 2, 4],
    "process": {"type": "markov", "alpha": [0.6, 0.7, 0.8], "rho": 0.3, "start": "carry"},
    "cost": {"c_d": 0.1},
}
FILE = """
name = "far"
windows = 3_000_000
kappa = [0, 2, 4]
process = { type = "markov", alpha = [0.6, 0.7, 0.8], rho = 0.3, start = "carry" }
cost = { c_d = 0.1 }
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


@contextlib.contextmanager
def serving(words, port, **environment):
    server = subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | environment
    )
    try:
        for _ in range(300):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        yield
    finally:
        server.kill()
        server.wait()


class Proxy(threading.Thread):
    """Passes on what it is sent, slowly if asked to; for some seconds it answers 503 or hangs up."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.target, self.bad_until, self.refused, self.delay = port, 0.0, 0, 0.0
        self.fails_after, self.lasts, self.blocks = None, 0.0, 0
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]

    def run(self):
        while True:
            client, _ = self.server.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        passed = 0
        with contextlib.suppress(OSError), client, socket.create_connection(("127.0.0.1", self.target)) as target:
            threading.Thread(target=self.back, args=(target, client), daemon=True).start()
            while block := client.recv(2**14):
                if self.fails_after is not None and passed > self.fails_after:
                    self.fails_after, self.bad_until = None, time.monotonic() + self.lasts
                if time.monotonic() < self.bad_until:
                    self.refused += 1
                    if self.refused % 2:
                        client.sendall(b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    return
                passed, self.blocks = passed + len(block), self.blocks + 1
                time.sleep(self.delay)
                target.sendall(block)

    def back(self, target, client):
        with contextlib.suppress(OSError):
            while block := target.recv(2**16):
                client.sendall(block)


@pytest.fixture(scope="module")
def s3():
    """The port of an S3 server that forgets at the end."""
    pytest.importorskip(
        "moto", "5.2.5", reason="pip install 'moto[server]>=5.2.5', which can complete uploads in parts"
    )
    port = free_port()
    keys = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_EC2_METADATA_DISABLED": "true"}
    with pytest.MonkeyPatch.context() as own, serving(["-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], port):
        for key, value in keys.items():
            own.setenv(key, value)
        files(port, allow_bucket_creation=True).create_dir("bucket")
        yield port


def files(port, **more):
    return pafs.S3FileSystem(endpoint_override=f"127.0.0.1:{port}", scheme="http", region="us-east-1", **more)


def data(store, root):
    """Finished tables there, by name."""
    found = store.get_file_info(pafs.FileSelector(root, recursive=True))
    out = {}
    for own in found:
        if "/part-" in own.path:
            with store.open_input_stream(own.path) as source:
                out[own.path[len(root) + 1 :]] = source.read()
    return out


def here(path):
    return {str(f.relative_to(path)): f.read_bytes() for f in sorted(path.rglob("part-*.parquet"))}


@pytest.fixture
def proxy(s3):
    own = Proxy(s3)
    own.start()
    return own


@pytest.fixture
def url(proxy, request):
    name = "".join(c if c.isalnum() else "-" for c in request.node.name)
    return f"s3://bucket/{name}?endpoint_override=127.0.0.1:{proxy.port}&scheme=http&region=us-east-1"


@pytest.fixture
def many_files(monkeypatch, tmp_path):
    monkeypatch.setattr(keeping, "FLUSH_SECONDS", 0.0)
    monkeypatch.setattr(keeping, "FLUSH_SHARE", 0.0)
    monkeypatch.setattr(planning, "ROWS_PER_PART", 1)
    monkeypatch.setattr(remote, "home", lambda: tmp_path / "cache")


def root_of(url):
    return url.partition("://")[2].partition("?")[0]


def fails_before(monkeypatch, proxy, method, when, seconds):
    """The store fails for some seconds from a moment on."""
    own, told = getattr(Mirror, method), []

    def failing(self, *given):
        if not told and when(self, *given):
            told.append(True)
            proxy.bad_until = time.monotonic() + seconds
        return own(self, *given)

    monkeypatch.setattr(Mirror, method, failing)


def is_last_manifest(mirror, path, name):
    return name == MANIFEST and '"complete": true' in path.read_text()


MOMENTS = {
    "first listing": ("_listed", lambda *_: True),
    "first manifest": ("_put", lambda *_: True),
    "a part": ("_put", lambda _, path, name: name.startswith("tallies")),
    "last manifest": ("_put", is_last_manifest),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_503_and_resets_for_twenty_seconds(moment, s3, proxy, url, tmp_path, monkeypatch, many_files):
    fails_before(monkeypatch, proxy, *MOMENTS[moment], seconds=20.0)
    heard = Heard()
    sweep(Scenario.from_dict(TABLE), url, progress=heard)
    assert proxy.refused > 3
    assert any("does not answer" in line for line in heard.lines)
    assert data(files(s3), root_of(url)) == here(sweep(Scenario.from_dict(TABLE), tmp_path / "local").path)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_store_that_is_away_for_too_long(moment, s3, proxy, url, tmp_path, monkeypatch, many_files):
    """One clear line; the same command, here or on another machine, ends in the same bytes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(remote, "PATIENCE", 0.5)
        fails_before(patch, proxy, *MOMENTS[moment], seconds=1e9)
        with pytest.raises(DatasetError, match=r"^s3://bucket/\S+: cannot be reached \(.*\)") as caught:
            sweep(Scenario.from_dict(TABLE), url)
    assert "\n" not in str(caught.value)
    proxy.bad_until = 0.0
    if moment == "a part":
        monkeypatch.setattr(remote, "home", lambda: tmp_path / "another")
    sweep(Scenario.from_dict(TABLE), url)
    assert data(files(s3), root_of(url)) == here(sweep(Scenario.from_dict(TABLE), tmp_path / "local").path)


def test_a_large_file_breaks_off_in_the_middle(s3, proxy, url, many_files):
    """Sent in several requests; the store never has half of it under its name."""
    mirror = Mirror(url, Heard())
    path = mirror.folder / "tallies/part-000000.parquet"
    path.parent.mkdir(parents=True)
    path.write_bytes(random.Random(1).randbytes(14 * 2**20))
    (mirror.folder / MANIFEST).write_text("{}")
    proxy.fails_after, proxy.lasts = 3 * 2**20, 8.0
    mirror.push()
    assert proxy.refused
    assert data(files(s3), root_of(url))["tallies/part-000000.parquet"] == path.read_bytes()


@pytest.mark.parametrize("seed", range(3))
def test_killed_while_it_sends(seed, s3, proxy, url, tmp_path):
    """kill -9 after so many requests; gone on with here, or on another machine with nothing but the store."""
    dice, cache = random.Random(seed), "first"
    (tmp_path / "s.toml").write_text(FILE)

    def begun(where):
        words = [sys.executable, "-m", "simspec", "run", str(tmp_path / "s.toml"), "-o", where, "--quiet"]
        environment = os.environ | {"SIMSPEC_CACHE_DIR": str(tmp_path / cache)}
        return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)

    def ended(own):
        said = own.communicate(timeout=120)[1]
        assert own.returncode == 0, said

    ended(begun(str(tmp_path / "local")))  # compiles the kernels too
    kernels = next((tmp_path / "first").glob("kernels-*"))
    proxy.delay, killed = 0.02, 0
    for _ in range(5):
        own, enough = begun(url), proxy.blocks + dice.randint(4, 24)
        while proxy.blocks < enough and own.poll() is None:
            time.sleep(0.002)
        killed += own.poll() is None
        own.kill()
        own.communicate()
        if dice.random() < 0.5:
            cache = f"cache{dice.random()}"
            shutil.copytree(kernels, tmp_path / cache / kernels.name)
    assert killed >= 3
    cache, proxy.delay = "first", 0.0
    ended(begun(url))
    assert data(files(s3), root_of(url)) == here(tmp_path / "local")
    left = files(s3).get_file_info(pafs.FileSelector(f"{root_of(url)}/played", allow_not_found=True))
    assert not [own.path for own in left if own.is_file]


def test_no_such_bucket_and_wrong_keys(s3, url, tmp_path, monkeypatch, many_files):
    away = url.replace("bucket/", "nobucket/")
    with pytest.raises(DatasetError, match=r"nobucket/\S+: cannot be used \(NO_SUCH_BUCKET"):
        sweep(Scenario.from_dict(TABLE), away)
    with pytest.raises(DatasetError, match="there is no bucket nobucket"):
        read(away)
    port = free_port()
    words = ["-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with serving(words, port, INITIAL_NO_AUTH_ACTION_COUNT="0"):
        for use in (read, lambda own: sweep(Scenario.from_dict(TABLE), own)):
            with pytest.raises(
                DatasetError, match=r"cannot be used \(INVALID_ACCESS_KEY_ID.*credentials are taken from"
            ):
                use(f"s3://bucket/x?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1")


def test_keys_are_in_no_file_and_no_line(s3, url, tmp_path):
    """From ~/.aws/credentials, through the command line; all that was written or said is searched for them."""
    secret = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY"
    (tmp_path / "home/.aws").mkdir(parents=True)
    keys = tmp_path / "home/.aws/credentials"
    keys.write_text(f"[default]\naws_access_key_id = AKIAHIDDEN\naws_secret_access_key = {secret}\n")
    (tmp_path / "s.toml").write_text(FILE)
    unset = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
    environment = unset | {"HOME": str(tmp_path / "home"), "SIMSPEC_CACHE_DIR": str(tmp_path / "cache")}
    for words in (["run", str(tmp_path / "s.toml"), "-o", url, "--json"], ["show", url], ["replay", url]):
        done = subprocess.run(
            [sys.executable, "-m", "simspec", *words],
            env=environment, capture_output=True, text=True, cwd=tmp_path, check=True,
        )  # fmt: skip
        assert secret not in done.stdout + done.stderr
        assert "AKIAHIDDEN" not in done.stdout + done.stderr
    store = files(s3)
    there = [own.path for own in store.get_file_info(pafs.FileSelector(root_of(url), recursive=True)) if own.is_file]
    assert len(there) >= 5
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path != keys]
    for path in there:
        with store.open_input_stream(path) as source:
            written.append(source.read())
    for content in written:
        assert secret.encode() not in content
        assert b"AKIAHIDDEN" not in content


def same_there_and_back(url, tmp_path, monkeypatch):
    local = here(sweep(Scenario.from_dict(TABLE), tmp_path / "local").path)
    assert here(sweep(Scenario.from_dict(TABLE), url).path) == local
    monkeypatch.setattr(remote, "home", lambda: tmp_path / "another")
    assert len(read(url).estimates) == 9
    assert here(sweep(Scenario.from_dict(TABLE), url).path) == local


def test_a_store_of_fsspec(tmp_path, monkeypatch, many_files):
    pytest.importorskip("fsspec")
    same_there_and_back("memory://bucket/name", tmp_path, monkeypatch)


def test_google_by_pyarrow(tmp_path, monkeypatch, many_files):
    pytest.importorskip("gcp_storage_emulator", reason="pip install gcp-storage-emulator")
    port = free_port()
    words = ["-m", "gcp_storage_emulator", "start", "--host", "127.0.0.1", "--port", str(port), "--in-memory",
             "--default-bucket", "bucket"]  # fmt: skip
    with serving(words, port):
        where = f"gs://anonymous@bucket/name?endpoint_override=127.0.0.1:{port}&scheme=http"
        same_there_and_back(where, tmp_path, monkeypatch)
