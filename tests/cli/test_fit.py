"""simspec fit as a user meets it."""

import json
import subprocess
import sys

import pytest

from simspec.cli.main import main

LINE = (
    "INFO 05-08 16:26:29 [metrics.py:10] SpecDecoding metrics: Mean acceptance length: 2.12, Accepted throughput: 4.50 "
    "tokens/s, Drafted throughput: 12.00 tokens/s, Accepted: 45 tokens, Drafted: 120 tokens, Per-position acceptance "
    "rate: 0.575, 0.350, 0.200, Avg Draft acceptance rate: 37.5%\n"
)
EARLY = (
    "INFO [metrics.py:61] SpecDecoding metrics: Draft acceptance rate: 50.0%, Accepted: 6 tokens, Drafted: 12 tokens\n"
)


@pytest.fixture
def fit(tmp_path, monkeypatch, capsys):
    """Exit code, output and errors of the command; counts only, since fits have tests of their own."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        code = main(["fit", *arguments, "--counts-only"])
        return code, *capsys.readouterr()

    return run


def test_one_source_is_an_object_and_several_are_a_list(tmp_path, fit):
    (tmp_path / "a.log").write_text(LINE)
    (tmp_path / "b.log").write_text(EARLY)
    one = json.loads(fit("a.log", "--json")[1])
    assert (one["file"], one["pooled"]["drafts"]) == ("a.log", 40)
    two = json.loads(fit("a.log", "b.log", "--json", "--kappa", "3")[1])
    assert [own["shape"] for own in two] == ["vllm-v1-current", "vllm-v1-early"]
    assert two[1]["given_kappa"]["3"]["drafts"] == 4


def test_the_text_shows_counts_intervals_warnings_and_reasons(tmp_path, fit):
    (tmp_path / "b.log").write_text(LINE + EARLY)
    code, said, _ = fit("b.log")
    assert code == 0
    for part in ("vllm-v1-current", "0.5750", "[0.4", "binomial", "KAPPA_UNKNOWN", "not known", "pass it (--kappa)"):
        assert part in said, part


def test_standard_input_is_a_file_and_a_process_is_fitted(tmp_path):
    command = [sys.executable, "-m", "simspec.cli.main", "fit", "-", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, input=LINE, timeout=120)
    own = json.loads(done.stdout)
    assert own["pooled"]["accepted_tokens"] == 45
    assert own["processes"]["fits"]


@pytest.mark.parametrize(
    "arguments", [("notes.txt",), ("missing.log",), ("new.log",), (".",), ("new.log", "--level", "2"), ("other.json",)]
)
def test_what_cannot_be_read_is_one_line_and_exit_code_2(tmp_path, fit, arguments):
    (tmp_path / "notes.txt").write_text("nothing of the kind " * 30 + "\n")
    (tmp_path / "new.log").write_text(LINE.replace("Drafted throughput", "Drafting throughput"))
    (tmp_path / "other.json").write_text(json.dumps({"some quite long key " + str(i): 1 for i in range(99)}) + "\n")
    code, said, error = fit(*arguments, "--json")
    assert code == 2
    assert said == ""
    (line,) = error.splitlines()
    assert line.startswith("simspec fit: ")
    if arguments in (("notes.txt",), ("other.json",)):
        assert len(line) <= 270  # 250 and the name of the command and of the file
        assert "known: vLLM, SGLang" in line


def test_a_hostile_name_cannot_steer_the_terminal(tmp_path, fit):
    (tmp_path / "x.csv").write_text("accepted,kappa,request\n1,3,\x1b[31mred\n2,3,\x1b[31mred\n")
    code, said, _ = fit("x.csv")
    assert code == 0
    assert "\x1b" not in said
