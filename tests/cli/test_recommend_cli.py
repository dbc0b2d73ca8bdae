"""simspec recommend as a user meets it."""

import json
import subprocess
import sys

import pytest

import simspec
from simspec.cli.main import main

LINE = (
    "INFO 05-08 16:26:29 [metrics.py:10] SpecDecoding metrics: Mean acceptance length: 2.12, Accepted throughput: 4.50 "
    "tokens/s, Drafted throughput: 12.00 tokens/s, Accepted: 45 tokens, Drafted: 120 tokens, Per-position acceptance "
    "rate: 0.575, 0.350, 0.200, Avg Draft acceptance rate: 37.5%\n"
)
SWEEP = "num_speculative_tokens,accept_length,tpot_ms\n0,1,10\n1,1.6,8\n2,1.9,7.6\n3,2.12,7.4\n4,2.2,7.7\n"


@pytest.fixture
def answer(capsys, monkeypatch, tmp_path):
    """What a command prints, run in the folder of the test."""
    monkeypatch.chdir(tmp_path)

    def run(*words):
        code = main(list(words))
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_a_log_and_a_sweep_give_the_answer_in_the_first_line(answer, tmp_path):
    (tmp_path / "a.log").write_text(LINE)
    (tmp_path / "sweep.csv").write_text(SWEEP)
    code, out, err = answer("recommend", "a.log", "--costs", "sweep.csv")
    assert (code, err) == (0, "")
    first = out[: out.index("flat: ")]
    assert first.startswith("use κ = ")
    for part in ("sure to be within 1% of the best", "cannot be told apart"):
        assert part in " ".join(first.split())
    for part in (
        "off gives 1.00x",
        "tokens E",
        "← use",
        "is extrapolated, by a model",
        "acceptance: a.log",
        "costs: sweep.csv",
    ):
        assert part in out, part


def test_json_is_json_only_and_export_takes_it(tmp_path):
    (tmp_path / "a.log").write_text(LINE * 40)
    own = [sys.executable, "-m", "simspec.cli.main"]
    words = [*own, "recommend", "a.log", "--draft-cost", "0.1", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    data = json.loads(done.stdout)
    assert done.stderr == ""
    assert data["survival_is"] == "measured"
    assert data["survival"] == [0.575, 0.35, 0.2]
    assert set(data["indistinguishable"]) >= {data["kappa_star"]}
    taken = simspec.export(data, "vllm")
    assert "num_speculative_tokens" in str(taken)


def test_the_default_cost_is_said(answer):
    assert "with the default draft cost 0.1; measure yours" in answer("recommend", "--alpha", "0.7")[1].splitlines()[1]


def test_the_answer_without_any_error_claims_no_sureness(answer):
    first = answer("recommend", "--alpha", "0.7", "--draft-cost", "0.1")[1].splitlines()[0]
    assert first == "use κ = 4 (num_speculative_tokens): 1.98x a plain step"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "nothing given; allowed: exactly one of --emitted"),
        (("a.log", "--emitted", "2", "--kappa", "3"), "a log and --emitted given"),
        (("a.log", "--rounds", "9"), "--rounds goes with a figure"),
        (("a.log", "a.log"), "2 sources"),
        (("missing.log",), "missing.log"),
        (("--emitted", "2"), "needs --kappa"),
        (("--survival", "0.5,0.8"), "never rises"),
        (("--survival", "x"), "'x' is not a number"),
        (("--alpha", "0.5", "--batch", "8"), "were not measured"),
        (("--alpha", "0.5", "--batch", "-1"), "allowed: numbers above 0"),
        (("--alpha", "0.5", "--p99-gap", "9"), "give --plain-ms"),
        (("--alpha", "0.5", "--p99-gap", "-9", "--plain-ms", "9"), "above 0 ms"),
        (("--alpha", "0.5", "--plain-ms", "0", "--p99-gap", "9"), "plain_ms"),
        (("--alpha", "0.5", "--p99-tpot", "9", "--plain-ms", "9", "--tokens", "99999"), "1 ≤ tokens ≤ 4096"),
        (("--at", "2048=2"), "needs --kappa"),
        (("--at", "2048=2", "--kappa", "3"), "say --context"),
        (("--at", "here=2", "--kappa", "3", "--context", "2048"), "CONTEXT=LOG or CONTEXT=E"),
        (("--at", "2048=2", "--kappa", "3", "--context", "4096"), "allowed: between them"),
        (("--alpha", "0.5", "--at", "2048=2"), "allowed: one of them"),
        (("--alpha", "0.5", "--kappa-max", "999"), "allowed: 1 to 256"),
        (("--alpha", "0.5", "--level", "1"), "0.5 ≤ level < 1"),
        (("--alpha", "0.5", "--costs", "a.log"), "a.log"),
    ],
)
def test_what_cannot_be_answered_is_one_line_and_exit_code_2(answer, tmp_path, words, says):
    (tmp_path / "a.log").write_text(LINE)
    code, out, err = answer("recommend", *words)
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith("simspec recommend: ")
    assert says in line, line


def test_acceptance_by_context_from_logs(answer, tmp_path):
    (tmp_path / "near.log").write_text(LINE)
    (tmp_path / "far.log").write_text(LINE.replace("0.575, 0.350, 0.200", "0.600, 0.325, 0.200"))
    logs = ("--at", "1000=near.log", "--at", "16000=far.log")
    code, out, _ = answer("recommend", *logs, "--context", "1000,4000,16000", "--json")
    assert code == 0
    grid = json.loads(out)["grid"]
    assert [cell["context"] for cell in grid] == [1000, 4000, 16000]
    assert grid[1]["kappas"][1]["emitted"] == pytest.approx(1 + (0.575 + 0.600) / 2)
