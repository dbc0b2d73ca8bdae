"""How soon does a command answer?  What it must not load, and how long it may take beside numpy and numba."""

import os
import subprocess
import sys
import time

import pytest

HEAVY = ("numpy", "numba", "pandas", "scipy", "pydantic", "pyarrow", "matplotlib")

SCENARIO = (
    'name = "tiny"\nwindows = 20000\nkappa = [0, 2, 4]\n[process]\ntype = "iid"\nalpha = 0.7\n[cost]\nc_d = 0.1\n'
)


def command(*arguments, watch=()):
    """The console script in a fresh Python; its last word on stderr is which of the modules ``watch`` it had loaded."""
    code = (
        "import os, sys\n"
        f"sys.argv = {['simspec', *map(str, arguments)]!r}\n"
        f"watch = {tuple(watch)!r}\n"
        "def leave(code):\n"
        "    if watch: os.write(2, repr([m for m in watch if m in sys.modules]).encode() + b'\\n')\n"
        "    leave_now(code)\n"
        "leave_now, os._exit = os._exit, leave\n"
        "from simspec.cli.main import entry\n"
        "try: entry()\n"
        "except SystemExit as gone: os._exit(gone.code or 0)\n"
    )
    return [sys.executable, "-c", code]


def loaded(*arguments, watch=HEAVY, cwd=None):
    done = subprocess.run(command(*arguments, watch=watch), capture_output=True, text=True, cwd=cwd, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stderr.strip().splitlines()[-1]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a scenario that has been run once, so that its kernel is compiled."""
    folder = tmp_path_factory.mktemp("startup")
    (folder / "tiny.toml").write_text(SCENARIO)
    subprocess.run(command("run", "tiny.toml", "--quiet"), cwd=folder, check=True, capture_output=True, timeout=600)
    return folder


@pytest.mark.parametrize("arguments", [("--help",), ("run", "--help"), ("--version",), ()], ids=" ".join)
def test_help_loads_nothing_heavy(arguments):
    assert loaded(*arguments) == "[]"


@pytest.mark.parametrize(
    "arguments",
    [
        ("--alpha", "0.7", "--draft-cost", "0.1"),
        ("--survival", "0.7,0.5,0.3"),
        ("--alpha", "0.7", "--rho", "0.3", "--start", "carry", "--json"),
        ("--drift", "0.9,0.5", "--tokens", "64", "--kappa-max", "8"),
    ],
    ids=" ".join,
)
def test_exact_loads_no_compiler_no_frames_and_no_scipy(arguments):
    assert loaded("exact", *arguments, watch=("numba", "pandas", "scipy", "pyarrow")) == "[]"


def test_an_error_is_found_before_anything_heavy_is_loaded(tmp_path):
    (tmp_path / "wrong.toml").write_text(SCENARIO.replace("0.7", "1.7"))
    watch = ("numba", "pandas", "scipy", "matplotlib")
    done = subprocess.run(command("run", "wrong.toml", watch=watch), capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert "out of range" in done.stderr


@pytest.mark.parametrize("more", [(), ("--json",)], ids=["text", "json"])
def test_run_and_show_load_no_pandas(place, tmp_path, more):
    assert loaded("run", "tiny.toml", "-o", tmp_path / "out", *more, watch=("pandas", "matplotlib"), cwd=place) == "[]"
    assert loaded("show", tmp_path / "out", *more, watch=("pandas", "matplotlib")) == "[]"


def test_import_of_the_package_is_immediate():
    code = f"import sys, simspec; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_a_kernel_cache_that_cannot_be_written_is_one_line(place, tmp_path):
    (tmp_path / "file").write_text("")
    done = subprocess.run(
        command("run", "tiny.toml", "-o", tmp_path / "out", "--quiet"),
        capture_output=True, text=True, cwd=place, env=os.environ | {"SIMSPEC_CACHE_DIR": str(tmp_path / "file")},
    )  # fmt: skip
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert line.startswith("simspec: the kernel cache (")


def test_a_wrong_number_of_threads_in_the_environment_is_one_line(place, tmp_path):
    done = subprocess.run(
        command("run", "tiny.toml", "-o", tmp_path / "out", "--quiet"),
        capture_output=True, text=True, cwd=place, env=os.environ | {"SIMSPEC_THREADS": "many"},
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == (
        "simspec run: SIMSPEC_THREADS = 'many' is out of range; allowed: a whole number of at least 1, or unset\n"
    )
    assert not (tmp_path / "out").exists()


def best_seconds(commands, rounds, cwd):
    """Least whole-process time of each command; interleaved, so that a slow phase of the machine hits all of them."""
    best = dict.fromkeys(commands, float("inf"))
    for turn in range(rounds):
        for name, make in commands.items():
            began = time.perf_counter()
            subprocess.run(make(turn), cwd=cwd, check=True, capture_output=True)
            best[name] = min(best[name], time.perf_counter() - began)
    return best


@pytest.mark.deep
def test_start_up_in_units_of_what_it_needs(place, tmp_path):
    """Best of 15 each; a machine whose load changes within a round can fail it."""
    best = best_seconds(
        {
            "numpy": lambda turn: [sys.executable, "-c", "import numpy"],
            "numba": lambda turn: [sys.executable, "-c", "import numba"],
            "help": lambda turn: command("--help"),
            "exact": lambda turn: command("exact", "--alpha", "0.7", "--draft-cost", "0.1"),
            "run": lambda turn: command("run", "tiny.toml", "-o", tmp_path / str(turn), "--quiet"),
        },
        15,
        place,
    )
    assert best["help"] < 2.0 * best["numpy"]
    assert best["exact"] < 2.0 * best["numpy"]
    assert best["run"] < 2.5 * best["numba"]
