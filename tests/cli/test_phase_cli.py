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
    (*SMALL, "-o", "taken"), (*SMALL, "-o", "taken/below"), ("--bata", "0:1:0.1"),
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
    done = simspec("phase", *SMALL, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    folder = tmp_path / "results" / "phase"
    assert sorted(path.name for path in folder.iterdir()) == ["critical.md", "phase.parquet", "phase.png"]
    assert pq.read_metadata(folder / "phase.parquet").num_rows == 28
    assert "κ* 4|5" in done.stdout
    assert "α = .74 at β = 0.1:" in done.stdout
    assert done.stdout.count("written: ") == 3
    assert "written: results/phase/phase.parquet (28 points)" in done.stdout
    assert (folder / "critical.md").read_text(encoding="utf-8").startswith("# Critical acceptance rates, β = 0.1")


def test_json_is_all_there_is_on_stdout(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, said = in_process(capsys, (*SMALL, "--rollback-cost", "0.5", "-o", "here", "--json"))
    assert (code, said.err) == (0, "")
    answer = json.loads(said.out)
    by_name = {row["name"]: row["alpha"] for row in answer["critical"]}
    assert by_name["break-even"] == pytest.approx(0.4)
    assert by_name["S* stops accelerating"] is None
    assert answer["at"]["alpha"] == 0.74
    assert all((tmp_path / path).is_file() for path in answer["files"])


def test_without_matplotlib_the_table_is_written_and_one_line_says_how_to_get_the_picture(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, said = in_process(capsys, SMALL)
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
