"""Compiled code on disk: never stale, never broken, shared by processes that start at once, and never in the way."""

import os
import re
import shutil
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

import simspec
from simspec.kernels import shelf

SIMULATE = """
import simspec
result = simspec.simulate(simspec.Iid(alpha=0.7), kappa=[4], windows=10_000, seed=1, threads=1)
print([tally.histogram.tolist() for tally in result.tallies])
"""

TINY = """
from simspec.kernels.jit import njit

@njit
def power(x):
    return x * x

@njit
def cube(x):
    return x * power(x)
"""

USE_TINY = """
import tiny
print([tiny.cube(3), tiny.cube(0.5), tiny.cube(2j)], sum(tiny.cube.stats.cache_hits.values()))
"""

ANSWER = "[27, 0.125, (-0-8j)]"


def start(code, cache, *paths, **more):
    """A fresh Python with its kernel cache at ``cache`` and ``paths`` before all others."""
    paths = os.pathsep.join([*map(str, paths), *filter(None, [os.environ.get("PYTHONPATH")])])
    own = {"SIMSPEC_CACHE_DIR": str(cache), "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", **more}
    return subprocess.Popen(
        [sys.executable, "-P", "-W", "always::RuntimeWarning", "-c", code],
        env=os.environ | own, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def finish(process):
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    return out.strip(), err


def run(code, cache, *paths, **more):
    return finish(start(code, cache, *paths, **more))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A folder with a module of two kernels that compile in no time."""
    folder = tmp_path_factory.mktemp("module")
    (folder / "tiny.py").write_text(TINY)
    return folder


@pytest.fixture(scope="module")
def filled(tiny, tmp_path_factory):
    """A cache that holds all of them; not to be changed."""
    cache = tmp_path_factory.mktemp("filled") / "cache"
    assert run(USE_TINY, cache, tiny) == (f"{ANSWER} 0", "")
    return cache


@pytest.fixture
def cache(filled, tmp_path):
    """A copy of it."""
    return shutil.copytree(filled, tmp_path / "cache")


def files(cache):
    return [path for path in Path(cache).rglob("*") if path.is_file()]


def test_the_second_process_compiles_nothing(tiny, cache):
    before = {path: path.stat().st_mtime_ns for path in files(cache)}
    assert len(before) == 6  # two functions, three signatures
    assert run(USE_TINY, cache, tiny) == (f"{ANSWER} 3", "")
    assert {path: path.stat().st_mtime_ns for path in files(cache)} == before


def test_ten_processes_on_an_empty_cache_agree(tiny, tmp_path):
    processes = [start("import tiny; print(tiny.cube(3))", tmp_path / "cache", tiny) for _ in range(10)]
    assert [finish(process) for process in processes] == [("27", "")] * 10
    assert len(files(tmp_path / "cache")) == 2
    assert {path.suffix for path in files(tmp_path / "cache")} == {".kernel"}


@pytest.mark.deep
def test_ten_simulations_on_an_empty_cache_agree(tmp_path):
    answers = [finish(process) for process in [start(SIMULATE, tmp_path / "cache") for _ in range(10)]]
    assert answers == [answers[0]] * 10
    assert answers[0][1] == ""


def halve(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path):
    path.write_bytes(b"")


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("damage", [halve, empty, flip])
def test_damaged_files_are_compiled_anew_and_replaced(tiny, cache, damage):
    for path in files(cache):
        damage(path)
    assert run(USE_TINY, cache, tiny) == (f"{ANSWER} 0", "")
    assert run(USE_TINY, cache, tiny) == (f"{ANSWER} 3", "")


def test_code_under_a_wrong_name_is_not_used(tiny, cache):
    """A file is taken only if it says that it is the function and the signature asked for."""
    cubes = sorted(path for path in files(cache) if path.name.startswith("cube"))
    contents = [path.read_bytes() for path in cubes]
    for path, content in zip(cubes, contents[1:] + contents[:1], strict=True):
        path.write_bytes(content)
    assert run(USE_TINY, cache, tiny) == (f"{ANSWER} 0", "")


@pytest.mark.parametrize("other", [{"NUMBA_CPU_NAME": "generic"}, {"NUMBA_OPT": "1"}], ids=str)
def test_code_for_another_cpu_or_made_otherwise_is_not_used(tiny, cache, other):
    assert run(USE_TINY, cache, tiny, **other) == (f"{ANSWER} 0", "")
    assert run(USE_TINY, cache, tiny, **other) == (f"{ANSWER} 3", "")
    assert run(USE_TINY, cache, tiny) == (f"{ANSWER} 3", "")


def test_functions_that_close_over_other_values_are_others(tmp_path):
    lines = ["from simspec.kernels.jit import njit", "def times(n):", "    return njit(lambda x: x * n)"]
    (tmp_path / "made.py").write_text("\n".join(lines))
    for _ in range(2):
        out, _ = run("import made; print(made.times(2)(5), made.times(3)(5))", tmp_path / "cache", tmp_path)
        assert out == "10 15"
    assert len(files(tmp_path / "cache")) == 2


USE_OWN = """
import numpy as np, own
from simspec.kernels.policy_types import own_policy
kappa, state = np.zeros(64, np.int32), np.zeros((1, 64))
for choose in (own.choose, eval("lambda kappa, accepted, full, state: None")):
    passed = own_policy(choose)
    passed(kappa, kappa.copy(), kappa.copy(), state)
    print(kappa.max(), sum(passed.stats.cache_hits.values()) if choose is own.choose else "")
"""


def test_a_pass_of_the_user_is_kept_by_its_own_source(tmp_path):
    """The function around it is found by what it closes over; one without a file is not kept."""
    own, cache = tmp_path / "own.py", tmp_path / "cache"
    for answer, hits in ((3, 0), (3, 1), (5, 0), (5, 1)):
        own.write_text(f"def choose(kappa, accepted, full, state):\n    kappa[:] = {answer}\n")
        out, _ = run(USE_OWN, cache, tmp_path)
        assert out.split() == [str(answer), str(hits), str(answer)]
    assert len(files(cache)) == 4


@pytest.mark.parametrize("compiler", ["numba", "llvmlite"])
def test_another_compiler_has_another_shelf(compiler, monkeypatch):
    before = shelf.fingerprint()
    monkeypatch.setattr(getattr(shelf, compiler), "__version__", "0")
    assert shelf.fingerprint() != before


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    shelf.Shelf(tmp_path / "kernels").put("a", b"old code")
    write = Path.write_bytes

    def half(path, content):
        write(path, content[: len(content) // 2])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", half)
        with pytest.warns(RuntimeWarning, match="No space left"):
            shelf.Shelf(tmp_path / "kernels").put("a", b"new code")
    assert shelf.Shelf(tmp_path / "kernels").get("a") == b"old code"
    assert [path.name for path in (tmp_path / "kernels").iterdir()] == ["a"]


@pytest.mark.parametrize("break_it", ["a file is in the way", "it vanishes", "it is read-only"])
def test_a_cache_lost_after_the_start_is_no_accident(tiny, tmp_path, break_it):
    cache = tmp_path / "cache"
    lose = {
        "a file is in the way": "shutil.rmtree(folder); folder.write_text('')",
        "it vanishes": "shutil.rmtree(folder.parent)",
        "it is read-only": "os.replace = no",
    }[break_it]
    code = f"""
import errno, os, shutil, tiny
from simspec.kernels.shelf import shelf
def no(*_):
    raise OSError(errno.EROFS, "Read-only file system")
print(tiny.cube(3))
folder = shelf().folder
{lose}
print(tiny.cube(0.5), tiny.cube(2j))
"""
    out, err = run(code, cache, tiny)
    assert out.split() == ["27", "0.125", "(-0-8j)"]
    assert err.count("RuntimeWarning") == (0 if break_it == "it vanishes" else 1)


def test_a_folder_that_cannot_be_made_is_said_once(tiny, tmp_path):
    (tmp_path / "file").write_text("")
    out, err = run(USE_TINY, tmp_path / "file" / "below", tiny)
    assert out == f"{ANSWER} 0"
    assert err.count("RuntimeWarning") == 1
    assert "SIMSPEC_CACHE_DIR" in err


def test_a_user_without_a_home_is_told(monkeypatch):
    def nowhere():
        raise RuntimeError("Could not determine home directory.")

    for name in ("SIMSPEC_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", nowhere)
    homeless = shelf.shelf.__wrapped__()
    assert homeless.get("x") is None
    with pytest.warns(RuntimeWarning, match="no home folder"):
        homeless.put("x", b"code")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        homeless.put("x", b"code")


def test_a_shelf_from_elsewhere_is_read_where_it_cannot_be_written(tmp_path, monkeypatch):
    own = shelf.Shelf(tmp_path / "kernels")
    own.put("a", b"code")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shelf, "_write_whole", full)
    later = shelf.Shelf(tmp_path / "kernels")
    with pytest.warns(RuntimeWarning, match="No space left"):
        later.put("b", b"code")
    assert later.get("a") == b"code"
    assert later.get("b") is None


def test_old_versions_go_and_nothing_else_does(tmp_path):
    month = 31 * 86_400

    def folder(name, age, *names):
        made = tmp_path / name
        made.mkdir()
        for file in names:
            (made / file).write_text("")
        os.utime(made, (time.time() - age,) * 2)
        return made

    old = folder("kernels-" + "0" * 16, month, "a.kernel", "b.1.tmp")
    young = folder("kernels-" + "1" * 16, month / 2, "a.kernel")
    mixed = folder("kernels-" + "2" * 16, month, "a.kernel", "thesis.tex")
    foreign = folder("photographs", month, "a.kernel")
    (tmp_path / ("kernels-" + "3" * 16)).symlink_to(foreign)
    shelf.Shelf(tmp_path / ("kernels-" + "4" * 16)).put("a.kernel", b"code")
    assert not old.exists()
    assert (young / "a.kernel").exists()
    assert (mixed / "thesis.tex").exists()
    assert (foreign / "a.kernel").exists()
    shelf.clear_old(tmp_path / "nowhere" / "at all")


def test_a_shelf_in_use_is_marked_as_used(tmp_path):
    shelf.Shelf(tmp_path / "kernels").put("a", b"code")
    os.utime(tmp_path / "kernels", (0, 0))
    shelf.Shelf(tmp_path / "kernels").get("a")
    assert time.time() - (tmp_path / "kernels").stat().st_mtime < 3600


def test_an_edited_helper_is_used_by_the_next_run(tmp_path):
    """The kernels are compiled from another file than the helper; numba's own cache would serve the old code."""
    shutil.copytree(Path(simspec.__file__).parent, tmp_path / "copy" / "simspec")
    helper = tmp_path / "copy" / "simspec" / "kernels" / "words.py"
    original = helper.read_text()
    edited, count = re.subn(r"^MIX_1 = 0x[0-9A-F]+", "MIX_1 = 0xBF58476D1CE4E5BB", original, flags=re.M)
    assert count == 1
    cache = tmp_path / "cache"
    first = run(SIMULATE, cache, tmp_path / "copy")
    helper.write_text(edited)
    second = run(SIMULATE, cache, tmp_path / "copy")
    helper.write_text(original)
    third = run(SIMULATE, cache, tmp_path / "copy")
    assert first[0].startswith("[[")
    assert second[0] != first[0]
    assert third == first
    assert len(list(cache.iterdir())) == 2


def test_numba_keeps_its_blas(tiny, cache):
    """Loading kernels imports no scipy; numba still finds the BLAS for a user's own functions."""
    code = """
import sys, numba, numpy as np, tiny
tiny.cube(3)
print("scipy.linalg" in sys.modules)
print(numba.njit(lambda a: np.dot(a, a))(np.eye(2))[0, 0])
"""
    assert run(code, cache, tiny)[0].split() == ["False", "1.0"]


@pytest.mark.parametrize(("value", "disabled"), [("1", True), ("0", False), ("", False)])
def test_disabled_kernels_are_plain_python_without_numba(tmp_path, value, disabled):
    code = """
import sys
from simspec.kernels import jit
def own(): pass
print(jit.DISABLED, jit.DISABLED and (jit.njit(own) is own and "numba" not in sys.modules))
"""
    out, err = run(code, tmp_path / "cache", NUMBA_DISABLE_JIT=value)
    assert out == f"{disabled} {disabled}"
    assert err == ""
    assert not (tmp_path / "cache").exists()
