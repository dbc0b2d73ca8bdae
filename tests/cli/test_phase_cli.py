"""simspec phase as a user meets it: three files, one screen, one line per error."""

import json
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

SMALL = ("--alpha", "0.3:0.9:0.1", "--beta", "0.1:0.4:0.1", "--tokens", "32")
RUBBISH = [
    ("--alpha", "0.7"), ("--alpha", "0.2:0.9"), ("--alpha", "a:b:c"), ("--alpha", "0.9:0.2:0.1"),
    ("--alpha", "0.2:0.95:0.1"), ("--alpha", "0.2:1.2:0.1"), ("--alpha", "nan:0.9:0.1"), ("--alpha", "0:1:1e-30"),
    ("--beta", "-0.1:0.2:0.1"), ("--beta", "0:inf:0.1"), ("--draft-cost", "0"), ("--draft-cost", "x"),
    ("--verify-cost", "-1"), ("--rollback-cost", "-1"), ("--rho", "-0.9"), ("--rho", "2"), ("--start", "never"),
    (*SMALL, "--kappa", "0"), ("--kappa-max", "0"), ("--kappa-max", "257"), ("--tokens", "0"), ("--tokens", "100000"),
    (*SMALL, "-o", "taken"), (*SMALL, "-o", "taken/below"), ("--bata", "0:1:0.1"), (*SMALL, "-o", ""),
    ("--tokens", "5000", "--kappa-max", "1"), ("--tokens", "3000", *SMALL[:4]), ("--tokens", "2.5"),
]  # fmt: skip


def simspec(*arguments, cwd):
    command = [sys.executable, "-m", "simspec.cli.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=300)


def in_process(capsys, arguments):
    """Exit code and output of the command in this process, which spares start-ups."""
    from simspec.cli.main import main

    try:
        code = main(["phase", *arguments])
    except SystemExit as gone:
        code = gone.code
    return code, capsys.readouterr()


@pytest.mark.parametrize("arguments", RUBBISH, ids=" ".join)
def test_rubbish_gives_one_line_and_exit_code_2(arguments, tmp_path, monkeypatch, capsys):
    (tmp_path / "taken").write_text("")
    monkeypatch.chdir(tmp_path)
    code, said = in_process(capsys, arguments)
    assert code == 2
    assert said.out == ""
    assert len(said.err.strip().splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_the_command_writes_three_files_and_says_what_lies_at_74(tmp_path):
    pytest.importorskip("matplotlib")
    done = simspec("phase", *SMALL, "--quiet", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    folder = tmp_path / "results" / "phase"
    assert sorted(path.name for path in folder.iterdir()) == ["critical.md", "phase.parquet", "phase.png"]
    assert pq.read_metadata(folder / "phase.parquet").num_rows == 28
    first, heads, _, *table = done.stdout.splitlines()
    assert first.startswith("Best draft length κ where a draft token costs β = 0.1")
    assert heads.split("  ")[-1] == "for slow replies"
    assert [row.split()[:3] for row in table[:5]] == [
        [".50", "2", "1.458"], [".60", "3", "1.674"], [".70", "4", "1.981"], [".80", "6", "2.470"],
        [".90", "10", "3.431"],
    ]  # fmt: skip
    assert "4|5 at .7323" in done.stdout
    assert len(done.stdout.splitlines()) < 30
    assert "α = .74 at β = 0.1:" in done.stdout
    assert done.stdout.count("written: ") == 3
    assert "written: results/phase/phase.parquet (28 points)" in done.stdout
    assert (folder / "critical.md").read_text(encoding="utf-8").startswith("# Critical acceptance rates, β = 0.1")


def test_json_is_all_there_is_on_stdout(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, said = in_process(capsys, (*SMALL, "--rollback-cost", "0.5", "-o", "here", "--json", "--quiet"))
    assert (code, said.err) == (0, "")
    answer = json.loads(said.out)
    by_name = {row["name"]: row["alpha"] for row in answer["critical"]}
    assert by_name["break-even"] == pytest.approx(0.4)
    assert by_name["S* stops accelerating"] is None
    assert answer["at"]["alpha"] == 0.74
    assert answer["best"][2]["kappa_star"] == 4
    assert answer["best"][2]["kappa_p99"] is None
    assert all((tmp_path / path).is_file() for path in answer["files"])


def test_without_matplotlib_the_table_is_written_and_one_line_says_how_to_get_the_picture(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, said = in_process(capsys, (*SMALL, "--quiet"))
    assert (code, said.err) == (0, "")
    names = sorted(path.name for path in (tmp_path / "results" / "phase").iterdir())
    assert names == ["critical.md", "phase.parquet"]
    assert "pip install 'simspec[report]'" in said.out.splitlines()[-1]


def test_a_chain_has_no_list_of_critical_rates(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, said = in_process(capsys, (*SMALL, "--rho", "0.3", "--start", "carry"))
    assert code == 0
    assert "leave out --rho" in said.out
    assert [path.name for path in (tmp_path / "results" / "phase").iterdir()] == ["phase.parquet"]


def test_help_names_the_words_of_the_engines(capsys):
    code, said = in_process(capsys, ("--help",))
    assert code == 0
    for word in ("num_speculative_tokens", "--draft-max", "TPOT", "max_tokens", "results/phase", "simspec[report]"):
        assert word in said.out.replace("\n", " ").replace("  ", " ")


def without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)


def test_what_another_run_left_does_not_stay_beside_this_one(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    assert in_process(capsys, (*SMALL, "-o", "here", "--quiet"))[0] == 0
    (tmp_path / "here" / "mine.txt").write_text("kept")
    without_matplotlib(monkeypatch)
    assert in_process(capsys, (*SMALL, "-o", "here", "--rho", "0.3", "--quiet"))[0] == 0
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == ["mine.txt", "phase.parquet"]


def test_files_come_all_or_none(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    from simspec.model import DatasetError
    from simspec.report import phase as drawing

    monkeypatch.chdir(tmp_path)
    assert in_process(capsys, (*SMALL, "-o", "here", "--quiet"))[0] == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "here").iterdir()}

    def full_disk(*_):
        raise DatasetError("phase.png: cannot be written (No space left on device)")

    monkeypatch.setattr(drawing, "picture", full_disk)
    code, said = in_process(capsys, (*SMALL, "-o", "here", "--draft-cost", "0.3", "--quiet"))
    assert (code, said.err.strip()) == (2, "phase.png: cannot be written (No space left on device)")
    assert "costs β = 0.3" in said.out  # what was computed is said all the same
    assert {path.name: path.read_bytes() for path in (tmp_path / "here").iterdir()} == before


def test_a_folder_in_the_way_of_a_file_is_seen_before_any_work(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here" / "phase.png").mkdir(parents=True)
    code, said = in_process(capsys, (*SMALL, "-o", "here", "--quiet"))
    assert (code, said.out) == (2, "")
    assert said.err.startswith("here/phase.png: is a folder")
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["phase.png"]


def test_something_is_said_while_it_works(tmp_path, monkeypatch, capsys):
    from simspec.run import progress

    monkeypatch.chdir(tmp_path)
    without_matplotlib(monkeypatch)
    monkeypatch.setattr(progress, "TICK", 0.005)
    code, said = in_process(capsys, SMALL)
    assert code == 0
    assert "the critical rates at β = 0.1" in said.err


def test_the_step_at_74_is_said_to_move_with_the_price_of_a_draft(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    without_matplotlib(monkeypatch)
    code, said = in_process(capsys, (*SMALL[:4], "--quiet"))
    assert code == 0
    assert ".7344 at β = 0.0999 and at .7442 at β = 0.1001" in said.out


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("phase", "--quite"), "did you mean --quiet? (see simspec phase --help)"),
        (("exact", "--kapa-max", "3"), "did you mean --kappa-max? (see simspec exact --help)"),
        (("phase", "--windows", "3"), "unrecognized arguments: --windows 3 (see"),  # a flag of other commands only
        (("phase", "--beta", "-1:1:.5"), "a value that begins with a minus is written --beta=-1:1:.5"),
        (("phase", "--rho", "2"), "rho = 2 is out of range; allowed: -1 ≤ rho ≤ 1\n"),
        (("phase", "--beta"), "argument --beta: expected one argument (see"),
    ],
    ids=str,
)
def test_a_hint_is_of_the_chosen_command(arguments, hint, tmp_path, monkeypatch, capsys):
    from simspec.cli.main import main

    monkeypatch.chdir(tmp_path)
    try:
        code = main(list(arguments))
    except SystemExit as gone:
        code = gone.code
    said = capsys.readouterr().err
    assert code == 2
    assert hint in said
    assert said.count("\n") == 1


def test_help_says_where_to_begin_and_which_article_is_meant(capsys):
    from simspec.cli.main import parser

    shown = parser().format_help()
    assert "\n  simspec phase " in shown
    assert "\n  simspec tokens " in shown
    for command in ("phase", "validate"):
        with pytest.raises(SystemExit):
            parser().parse_args([command, "--help"])
        assert "Acceptance-rate statistical mechanics of" in capsys.readouterr().out


SWALLOWED = """
import os, signal
from simspec.cli import interrupts
interrupts.begin()
interrupts.ready("phase")
with interrupts.loading():
    try:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000): pass
    except KeyboardInterrupt:  # what a compiled module does
        pass
print("went on")
"""
WORKING = """
import os, signal
from simspec.cli import interrupts
interrupts.begin()
interrupts.ready("phase")
with interrupts.loading(): pass
try:
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000): pass
except KeyboardInterrupt:
    print("told")
"""
EARLY = """
import os, signal, sys, threading
from simspec.cli import main
sys.argv = ["simspec", "phase", "--alpha", "0.3:0.9:0.1", "--beta", "0.1:0.4:0.1"]
threading.Timer({delay}, os.kill, (os.getpid(), signal.SIGINT)).start()
main.entry()
"""


def python(code, cwd):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=cwd, timeout=60)


def test_an_interrupt_that_an_import_would_swallow_ends_the_process(tmp_path):
    done = python(SWALLOWED, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "simspec phase: interrupted\n")
    assert python(WORKING, tmp_path).stdout == "told\n"


@pytest.mark.parametrize("delay", [0.01, 0.1, 0.2, 0.35])
def test_an_early_interrupt_is_one_line(delay, tmp_path):
    done = python(EARLY.format(delay=delay), tmp_path)
    assert done.returncode == 130
    assert done.stderr.splitlines()[-1].endswith(": interrupted")
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "results" / "phase" / "phase.png").exists()
