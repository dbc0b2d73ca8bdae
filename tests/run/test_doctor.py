"""An installation that is not sound says so, and what is wrong."""

import ast
import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from simspec.cli.main import main
from simspec.kernels import shelf
from simspec.run import doctor
from simspec.run.provenance import provenance

ROOT = Path(__file__).parents[2]


def test_this_installation_is_sound(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(doctor, "SPEED_WINDOWS", 2**20)
    assert main(["doctor", "--results", str(tmp_path / "results")]) == 0
    out = capsys.readouterr().out
    assert out.count("as they must be (stream version 2)") == len(doctor.KNOWN)
    assert "BAD" not in out
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("wrong", ["versions", "words", "squares", "kernels", "threads", "files", "full", "locks"])
def test_what_is_not_sound_is_said(wrong, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(doctor, "SPEED_WINDOWS", 2**20)
    place = tmp_path
    if wrong == "versions":
        now = provenance()
        monkeypatch.setattr(doctor, "provenance", lambda: now | {"libraries": now["libraries"] | {"scipy": "1.9.3"}})
    elif wrong == "words":
        simulation, kappa, accepted, squares = doctor.KNOWN["a policy"]
        monkeypatch.setitem(doctor.KNOWN, "a policy", (simulation, kappa, accepted + 1, squares))
    elif wrong == "squares":
        simulation, kappa, accepted, squares = doctor.KNOWN["a policy"]
        monkeypatch.setitem(doctor.KNOWN, "a policy", (simulation, kappa, accepted, squares + 1))
    elif wrong == "threads":
        run = doctor.run_jobs

        def unsafe(jobs, threads):
            for job, (tally,) in run(jobs, threads):
                tally.sums[3, 1] += threads == 3
                yield job, [tally]

        monkeypatch.setattr(doctor, "default_threads", lambda: 3)
        monkeypatch.setattr(doctor, "run_jobs", unsafe)
    elif wrong in ("full", "locks"):
        code, name = (errno.ENOSPC, "os.fsync") if wrong == "full" else (errno.ENOLCK, "fcntl.flock")

        def fails(*_):
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(name, fails)
    elif wrong == "kernels":
        from simspec.kernels import twin

        play = twin.play

        def other(*own):
            tally = play(*own)
            tally.sums[3, 1] += 1
            return tally

        monkeypatch.setattr(twin, "play", other)
    else:
        place = tmp_path / "file"
        place.write_text("x")

        def shut(*_, **__):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(doctor.tempfile, "TemporaryDirectory", shut)
    assert main(["doctor", "--results", str(place)]) == 1
    assert capsys.readouterr().out.count("BAD") == 1


def test_doctor_tells_how_large_copies_of_stores_are(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor, "home", lambda: tmp_path / "mirrors")
    assert doctor._copies() == f"none in {tmp_path / 'mirrors'}"
    for name in ("one", "two"):
        (tmp_path / "mirrors" / name / "tallies").mkdir(parents=True)
        (tmp_path / "mirrors" / name / "tallies" / "x").write_bytes(bytes(1_500_000))
    assert doctor._copies().startswith(f"2 of 3.0 MB in {tmp_path / 'mirrors'}; ")


def test_doctor_asserts_nothing():
    """python -O drops assert statements; that it then finds the same is tried below."""
    assert not [own for own in ast.walk(ast.parse(Path(doctor.__file__).read_text())) if isinstance(own, ast.Assert)]


@pytest.mark.deep
def test_what_doctor_finds_does_not_hang_on_assertions(tmp_path):
    """python -O drops assert statements."""
    words = "from simspec.run import doctor; doctor.SPEED_WINDOWS = 1; own = doctor.KNOWN; one = own['a policy']; "
    words += "own['a policy'] = (*one[:3], one[3] + 1)"
    call = f"{words}; print([f.what for f in doctor.examine({str(tmp_path)!r}) if not f.sound])"
    done = subprocess.run([sys.executable, "-O", "-c", call], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "['random words, a policy']"


LOOK = """import sys
from simspec.run import doctor
from simspec.run.provenance import provenance
print([(f.what, f.sound, f.says) for f in (doctor._said(w, getattr(doctor, w)) for w in sys.argv[1:])])
"""


def look(*what, **environment):
    """What some looks say in a process of its own: (what, sound, says)."""
    words = [sys.executable, "-c", LOOK, *what]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return ast.literal_eval(done.stdout)


def test_a_library_that_is_too_old_is_named_with_what_is_needed(tmp_path):
    place = tmp_path / "numpy-1.26.4.dist-info"
    place.mkdir()
    (place / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 1.26.4\n")
    ((_, sound, says),) = look("_versions", PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    assert not sound
    assert says == "numpy 1.26.4, and simspec needs numpy>=2.0; allowed: pip install --upgrade numpy"


def test_the_kernel_cache_is_looked_at(tmp_path, monkeypatch):
    """Kept and whole; damaged files; a place where nothing can be kept; none at all."""
    own = shelf.Shelf(tmp_path / "kernels")
    monkeypatch.setattr(shelf, "shelf", lambda: own)
    for name in ("one", "two"):
        own.put(f"{name}.kernel", b"code")
    assert doctor._cache() == f"2 kernels in {tmp_path / 'kernels'}"
    file = tmp_path / "kernels" / "one.kernel"
    file.write_bytes(file.read_bytes()[:-1])
    assert doctor._cache().endswith(", 1 of them damaged, which are made again when they are needed")
    (tmp_path / "file").touch()
    for place in (tmp_path / "file" / "kernels", None):
        own = shelf.Shelf(place)
        found = doctor._said("kernel cache", doctor._cache)
        advice = "so that every process compiles anew; set SIMSPEC_CACHE_DIR to a folder that can be written"
        assert (found.sound, found.says.endswith(advice)) == (False, True)


def test_threads_that_are_none_or_too_many(monkeypatch):
    monkeypatch.setenv("SIMSPEC_THREADS", "many")
    assert not doctor._said("processors", doctor._processors).sound
    monkeypatch.setenv("SIMSPEC_THREADS", "100000")
    assert "asks for more than there are processors for them" in doctor._processors()
    monkeypatch.setenv("SIMSPEC_THREADS", "1")
    monkeypatch.setattr(doctor, "cpu_quota", lambda: 0.5)
    assert doctor._processors().endswith("a quota of 0.5: 1 thread")


def test_a_results_folder_without_room_or_locks(tmp_path, monkeypatch):
    import fcntl
    import resource
    import signal

    before, heard = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, before[1]))
        full = doctor._said("files", lambda: doctor._files(tmp_path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, heard)
    assert (full.sound, "cannot be written (File too large)" in full.says) == (False, True)

    def none(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    own = doctor._said("files", lambda: doctor._files(tmp_path))
    assert (own.sound, "has no locks" in own.says) == (False, True)
    assert list(tmp_path.iterdir()) == []
