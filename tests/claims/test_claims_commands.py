"""Do the commands beside `simspec` end politely: stopped, refused, out of disk, and never half-written?"""

import os
import signal
import subprocess
import sys

import pandas as pd
import pytest

from simspec.claims import experiments, handbook, reference
from simspec.claims.commands import ended, write_all
from simspec.model import DatasetError

COMMANDS = {
    "experiments": (experiments, ["-o", "{0}/new", "--quiet"], "correlation_scan"),
    "reference": (reference, ["{0}/new", "--quick", "--quiet"], "validate"),
    "handbook": (handbook, ["{0}/theory.md", "{0}"], "read_rows"),
}
TABLE = pd.DataFrame({"x": [1.0]})


@pytest.fixture
def quick(monkeypatch):
    """Experiments that take no time."""
    for name in ("correlation_scan", "correlation_check", "drift_scan", "draws_scan"):
        monkeypatch.setattr(experiments, name, lambda *_: TABLE)
    monkeypatch.setattr(experiments, "readme", lambda tables, seed: f"{experiments.HEADING}\n\nseed {seed}\n")


@pytest.fixture
def heard():
    """Ctrl-C as a terminal has it: a shell's background jobs ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_stopped_in_one_line(name, sent, tmp_path, monkeypatch, capsys):
    module, arguments, busy = COMMANDS[name]
    (tmp_path / "theory.md").write_text("as it was")
    monkeypatch.setattr(module, busy, lambda *_: os.kill(os.getpid(), sent))
    assert module.main([word.format(tmp_path) for word in arguments]) == 130
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"python -m simspec.claims.{name}: stopped; nothing half-written is left\n"
    assert [path.name for path in tmp_path.iterdir()] == ["theory.md"]
    assert (tmp_path / "theory.md").read_text() == "as it was"


def test_stopped_while_it_loads(tmp_path):
    """In the middle of the imports: one line, no traceback."""
    command = [sys.executable, "-m", "simspec.claims.reference", str(tmp_path / "new"), "--quick"]
    loading = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONVERBOSE": "1"})
    assert loading.stderr is not None
    for line in loading.stderr:  # PYTHONVERBOSE names every module as it is loaded
        if line.startswith("import 'simspec.claims' "):
            break
    loading.send_signal(signal.SIGINT)
    rest = loading.communicate(timeout=60)[1]
    assert loading.returncode == 130
    assert "stopped" in rest
    assert "Traceback" not in rest
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", COMMANDS)
def test_help_names_the_command_as_it_is_called(name, capsys):
    with pytest.raises(SystemExit):
        COMMANDS[name][0].main(["--help"])
    out = capsys.readouterr().out
    assert f"usage: python -m simspec.claims.{name} " in out
    assert name != "experiments" or "default 1" in " ".join(out.split("--seed SEED")[-1].split())


@pytest.mark.parametrize("name", ["experiments", "reference"])
@pytest.mark.parametrize(
    ("place", "says"), [("full", "holds other files"), ("afile", "is a file"), ("afile/x", "is a file")]
)
def test_a_foreign_place_is_refused_before_any_work(name, place, says, tmp_path, monkeypatch, capsys):
    module, arguments, busy = COMMANDS[name]
    monkeypatch.setattr(module, busy, lambda *_: pytest.fail("worked in vain"))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "README.md").write_text("mine")
    (tmp_path / "afile").write_text("x")
    words = [word.format(tmp_path).replace("/new", f"/{place}") for word in arguments]
    assert module.main(words) == 2
    err = capsys.readouterr().err
    assert says in err
    assert err.count("\n") == 1
    assert (tmp_path / "full" / "README.md").read_text() == "mine"


def test_experiments_write_where_they_wrote_before(quick, tmp_path, capsys):
    for seed in ("1", "2"):
        assert experiments.main(["-o", str(tmp_path / "o"), "--seed", seed, "--quiet"]) == 0
    assert (tmp_path / "o" / "README.md").read_text().endswith("seed 2\n")
    assert len(list((tmp_path / "o").iterdir())) == 5
    assert experiments.main(["-o", str(tmp_path / "o"), "--seed", "-1"]) == 2
    assert "seed = -1 is out of range" in capsys.readouterr().err


def test_a_full_disk_leaves_what_was_there(quick, tmp_path, monkeypatch, capsys):
    assert experiments.main(["-o", str(tmp_path / "o"), "--quiet"]) == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "o").iterdir()}
    made = []

    def full(table, path):
        path.write_bytes(b"half")
        made.append(path)
        if len(made) > 1:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(experiments, "_to_parquet", full)
    capsys.readouterr()
    for place in ("o", "new"):
        made.clear()
        assert experiments.main(["-o", str(tmp_path / place), "--seed", "2", "--quiet"]) == 2
        assert capsys.readouterr().err == f"{tmp_path / place}: cannot be written (No space left on device)\n"
    assert {path.name: path.read_bytes() for path in (tmp_path / "o").iterdir()} == before
    assert not (tmp_path / "new").exists()


def test_a_failure_that_is_ours_is_not_hidden():
    """Only what a user did becomes a line."""
    with pytest.raises(ZeroDivisionError):
        ended("x", lambda: 1 // 0)


def test_files_come_together(tmp_path):
    def wrong(path):
        raise DatasetError(f"{path}: no")

    with pytest.raises(DatasetError) as caught:
        write_all(tmp_path / "w", {"a": lambda path: path.write_text("a"), "b": wrong})
    assert str(caught.value) == f"{tmp_path / 'w' / 'b'}: no"
    assert not (tmp_path / "w").exists()
