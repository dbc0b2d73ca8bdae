"""simspec fit as a user meets it."""

import json
import subprocess
import sys

LINE = (
    "INFO 05-08 16:26:29 [metrics.py:10] SpecDecoding metrics: Mean acceptance length: 2.12, Accepted throughput: 4.50 "
    "tokens/s, Drafted throughput: 12.00 tokens/s, Accepted: 45 tokens, Drafted: 120 tokens, Per-position acceptance "
    "rate: 0.575, 0.350, 0.200, Avg Draft acceptance rate: 37.5%\n"
)
EARLY = (
    "INFO [metrics.py:61] SpecDecoding metrics: Draft acceptance rate: 50.0%, Accepted: 6 tokens, Drafted: 12 tokens\n"
)


def fit(*arguments, cwd, stdin=None):
    command = [sys.executable, "-m", "simspec.cli.main", "fit", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, input=stdin, timeout=120)


def test_one_source_is_an_object_and_several_are_a_list(tmp_path):
    (tmp_path / "a.log").write_text(LINE)
    (tmp_path / "b.log").write_text(EARLY)
    one = json.loads(fit("a.log", "--json", cwd=tmp_path).stdout)
    assert (one["file"], one["pooled"]["drafts"]) == ("a.log", 40)
    two = json.loads(fit("a.log", "b.log", "--json", "--kappa", "3", cwd=tmp_path).stdout)
    assert [own["shape"] for own in two] == ["vllm-v1-current", "vllm-v1-early"]
    assert two[1]["given_kappa"]["3"]["drafts"] == 4


def test_the_text_shows_counts_intervals_warnings_and_reasons(tmp_path):
    (tmp_path / "b.log").write_text(LINE + EARLY)
    done = fit("b.log", cwd=tmp_path)
    assert done.returncode == 0
    for part in ("vllm-v1-current", "0.5750", "[0.4", "binomial", "KAPPA_UNKNOWN", "not known", "pass it (--kappa)"):
        assert part in done.stdout, part


def test_standard_input_is_a_file(tmp_path):
    done = fit("-", "--json", cwd=tmp_path, stdin=LINE)
    assert json.loads(done.stdout)["pooled"]["accepted_tokens"] == 45


def test_what_cannot_be_read_is_one_line_and_exit_code_2(tmp_path):
    (tmp_path / "notes.txt").write_text("nothing of the kind\n")
    (tmp_path / "new.log").write_text(LINE.replace("Drafted throughput", "Drafting throughput"))
    for arguments in (("notes.txt",), ("missing.log",), ("new.log",), (".",), ("new.log", "--level", "2")):
        done = fit(*arguments, "--json", cwd=tmp_path)
        assert done.returncode == 2, arguments
        assert done.stdout == ""
        (line,) = done.stderr.splitlines()
        assert line.startswith("simspec fit: ")


def test_a_hostile_name_cannot_steer_the_terminal(tmp_path):
    (tmp_path / "x.csv").write_text("accepted,kappa,request\n1,3,\x1b[31mred\n2,3,\x1b[31mred\n")
    done = fit("x.csv", cwd=tmp_path)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
