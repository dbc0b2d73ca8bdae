"""The command line as a user meets it: JSON alone on stdout, one line per error, exit codes."""

import argparse
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from simspec.cli.main import parser

ROOT = Path(__file__).parents[2]
PROGRESS = re.compile(r"\[ *\d+\.\d s\] ")
"""What a slow machine says while it works."""


def simspec(*arguments, cwd=None):
    command = [sys.executable, "-m", "simspec.cli.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=300)


RUBBISH = [
    ("exact", "--alpha", "1.2"),
    ("exact", "--alpha", "x"),
    ("exact", "--alpha", "nan"),
    ("exact", "--alhpa", "0.7"),
    ("exact", "--survival", "0.5,0.6"),
    ("exact", "--survival", ","),
    ("exact", "--survival", "0.5", "--rho", "0.1"),
    ("exact", "--kappa-max", "-1"),
    ("exact", "--kappa-max", "1001"),
    ("exact", "--drift", "0.5"),
    ("exact", "--rho", "-0.9"),
    ("exact", "--draft-cost", "-1"),
    ("exact", "--tokens", "5"),
    ("run", "missing.toml"),
    ("run", "."),
    ("run", "/dev/null"),
    ("run", "good.toml", "--seed", "-1"),
    ("run", "good.toml", "--windows", "0"),
    ("run", "good.toml", "--threads", "0"),
    ("run", "good.toml", "--max-points", "1"),
    ("run", "good.toml", "-o", "good.toml"),
    ("run", "good.toml", "-o", "good.toml/below"),
    ("run", "good.toml", "-o", "/proc/nowhere"),
    ("run", "huge.toml"),
    ("run", "binary.toml"),
    ("show", "missing"),
    ("show", "good.toml"),
    ("show", "."),
    ("run", "inf.toml"),
    ("run", "type.toml"),
    ("run", "step.toml"),
    ("run", "deep.toml"),
    ("run", "x" * 300),
    ("run", "good.toml", "-o", "x" * 300),
    ("show", "x" * 300),
    ("exact", "--drift", ".9,.5", "--tokens", "0"),
    ("exact", "--drift", ".9,.5", "--tokens", "1000000", "--kappa-max", "256"),
    ("report", "missing"),
    ("report", "."),
    ("trace", "good.toml", "--accepted", "a"),
    ("trace", "good.csv", "--accepted", "len", "--drafted", "4", "--request", "r"),
    ("trace", "good.csv", "--accepted", "nope", "--drafted", "4", "--request", "r", "--bonus-included", "yes"),
    ("compare", "missing", "good.toml"),
    ("solve", "missing.json"),
    ("solve", "binary.toml"),
    ("validate", "--seed", str(2**64)),
    ("validate", "--seed", "1.5"),
    ("validate", "-o", "good.toml"),
    ("nonsense",),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    good = 'name = "good"\nwindows = 20000\nkappa = [0, 4]\n[process]\ntype = "iid"\nalpha = [0.6, 0.7]\n'
    (folder / "good.toml").write_text(good)
    (folder / "huge.toml").write_text(
        'name = "huge"\n[process]\ntype = "iid"\nalpha = { from = 0, to = 1, step = 0.000000001 }\n'
    )
    (folder / "inf.toml").write_text('windows = inf\n[process]\ntype = "iid"\nalpha = 0.5\n')
    (folder / "type.toml").write_text('[process]\ntype = ["iid"]\nalpha = 0.5\n')
    (folder / "step.toml").write_text('[process]\ntype = "iid"\nalpha = { from = 0, to = 1, step = 1e-30 }\n')
    (folder / "deep.toml").write_text("a = " + "[" * 5000 + "\n")
    (folder / "good.csv").write_text("r,len\na,1\na,2\n")
    (folder / "binary.toml").write_bytes(bytes(range(256)))
    return folder


@pytest.mark.parametrize("arguments", RUBBISH, ids=" ".join)
def test_rubbish_gives_one_clear_line_and_exit_code_2(place, arguments):
    before = sorted(place.rglob("*"))
    done = (
        simspec(*arguments, "--quiet", cwd=place)
        if arguments[0] in ("run", "validate")
        else simspec(*arguments, cwd=place)
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert len([line for line in done.stderr.strip().splitlines() if not PROGRESS.match(line)]) == 1
    assert "Traceback" not in done.stderr
    assert sorted(place.rglob("*")) == before


def test_a_terminal_without_greek_still_gets_the_answer():
    for arguments in (("exact",), ("--help",)):
        done = subprocess.run(
            [sys.executable, "-m", "simspec", *arguments],
            capture_output=True,
            env={"PATH": "/usr/bin:/bin", "PYTHONIOENCODING": "ascii"},
        )
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_under_stdout_is_one_line():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "simspec", "exact"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1


def test_run_and_show_speak_json(place):
    done = simspec("run", "good.toml", "--json", cwd=place)
    assert done.returncode == 0
    points = json.loads(done.stdout)["points"]
    assert [point["alpha"] for point in points] == [0.6, 0.7]
    shown = json.loads(simspec("show", "results/good", "--json", cwd=place).stdout)
    assert shown["points"] == points
    assert "good: 2 points" in simspec("show", "results/good", cwd=place).stdout
    repeat = simspec("run", "good.toml", cwd=place)
    assert repeat.returncode == 0
    refused = simspec("run", "good.toml", "--seed", "9", cwd=place)
    assert refused.returncode == 2
    assert "seed (1 there, 9 asked for)" in refused.stderr


def test_a_dry_run_writes_nothing(place):
    before = sorted(place.rglob("*"))
    done = simspec("run", "good.toml", "--dry-run", "--json", cwd=place)
    assert json.loads(done.stdout)["points"] == 2
    assert sorted(place.rglob("*")) == before


def test_validate_prints_one_array(place):
    done = simspec("validate", "--quick", "--seed", "5", "--json", cwd=place)
    assert done.returncode == 0
    rows = json.loads(done.stdout)
    assert {"C06", "C24", "C41"} <= {row["id"] for row in rows}
    shown = json.loads(simspec("show", "results/claims/quick-seed5", "--json", cwd=place).stdout)
    assert [row["verdict"] for row in shown] == [row["verdict"] for row in rows]


def test_exact_answers_with_the_keys_of_the_machine_interface():
    own = json.loads(simspec("exact", "--alpha", "0.7", "--draft-cost", "0.1", "--json").stdout)
    assert own["kappa_star"] == 4
    assert round(own["kappa_star_continuous"], 4) == 4.0245
    assert own["ties"] == [4]
    assert [round(s, 4) for s in own["speedup_by_kappa"][:5]] == [1.0, 1.5455, 1.825, 1.9485, 1.9808]


def test_the_published_curve_gives_back_the_published_length():
    """vLLM pull request 48892: 38,611 accepted tokens in 11,043 drafts at κ = 8."""
    curve = ".7617,.6158,.5125,.4243,.3640,.3094,.2722,.2365"
    own = json.loads(simspec("exact", "--survival", curve, "--json").stdout)
    last = own["by_kappa"][8]
    assert abs(last["mean_tokens"] - (1 + 38611 / 11043)) < 5e-4
    assert last["mean_tokens_if_iid"] < last["mean_tokens"]
    assert own["kappa_star"] == 7


def test_a_draft_that_costs_nothing_is_best_at_the_longest():
    own = json.loads(simspec("exact", "--alpha", "0.7", "--draft-cost", "0", "--kappa-max", "16", "--json").stdout)
    assert own["kappa_star"] == 16
    assert own["at_kappa_max"] is True
    sure = json.loads(simspec("exact", "--alpha", "1", "--kappa-max", "16", "--json").stdout)
    assert sure["kappa_star"] == 16
    assert sure["at_kappa_max"] is True


def test_help_is_immediate_and_loads_nothing_heavy():
    code = (
        "import sys; from simspec.cli.main import parser; parser().format_help(); "
        "heavy = ('numpy', 'numba', 'pandas', 'scipy', 'pydantic', 'pyarrow', 'inspect'); "
        "print([m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_exact_loads_neither_numba_nor_pandas_nor_scipy():
    code = (
        "import sys; from simspec.cli.main import main; main(['exact']); "
        "print([m for m in ('numba', 'pandas', 'scipy', 'pyarrow') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip().splitlines()[-1] == "[]"


def test_every_option_says_its_default():
    (commands,) = [a for a in parser()._actions if isinstance(a, argparse._SubParsersAction)]
    silent = []
    for name, command in commands.choices.items():
        for action in command._actions:
            optional = action.option_strings and action.nargs != 0 and not isinstance(action, argparse._HelpAction)
            if optional and "default" not in action.help and "instead of --alpha" not in action.help:
                silent.append(f"{name} {action.option_strings[0]}")
    assert silent == []


def test_engine_words_are_in_the_help():
    text = simspec("exact", "--help").stdout + simspec("--help").stdout
    for word in ("num_speculative_tokens", "speculative_num_steps", "--draft-max", "max_draft_len", "γ"):
        assert word in text


def test_every_shipped_scenario_is_valid():
    from simspec.model import Scenario

    files = sorted((ROOT / "scenarios").glob("*.toml"))
    assert len(files) >= 8
    for file in files:
        own = Scenario.from_toml(file)
        assert own.name == file.stem == tomllib.loads(file.read_text()).get("name", file.stem)
        assert own.points() <= 500
