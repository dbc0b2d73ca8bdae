"""simspec export as a user meets it."""

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
ADVICE = {"kappa_star": 3, "indistinguishable": [2, 3], "kappas": [{"kappa": 3, "speedup": 1.62}]}


def export(*arguments, cwd, stdin=None):
    command = [sys.executable, "-m", "simspec.cli.main", "export", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, input=stdin, timeout=120)


def test_a_recommendation_from_a_file_and_from_standard_input(tmp_path):
    (tmp_path / "advice.json").write_text(json.dumps(ADVICE))
    one = export("vllm", "advice.json", cwd=tmp_path)
    two = export("vllm", "-", cwd=tmp_path, stdin=json.dumps(ADVICE))
    assert one.stdout == two.stdout
    first, command = one.stdout.splitlines()[:2]
    assert first == "# vLLM: use κ = 3 (num_speculative_tokens): 1.62x"
    assert command == """vllm serve MODEL --speculative-config '{"model": "DRAFT", "num_speculative_tokens": 3}'"""
    assert "# note: κ = 2 is as good by these data and drafts less: --kappa 2 sets it" in one.stdout


def test_json_only_on_stdout(tmp_path):
    done = export("sglang", "--kappa", "3", "--json", cwd=tmp_path)
    own = json.loads(done.stdout)
    assert own["settings"] == {
        "speculative_num_steps": 3, "speculative_eagle_topk": 1, "speculative_num_draft_tokens": 4,
    }  # fmt: skip
    assert done.stderr == ""


def test_a_log_becomes_synthetic_acceptance(tmp_path):
    (tmp_path / "server.log").write_text(LINE)
    own = json.loads(export("vllm", "server.log", "--json", cwd=tmp_path).stdout)
    assert own["form"] == "synthetic"
    assert own["settings"]["speculative_config"]["synthetic_acceptance_rates"] == [0.575, 0.35, 0.2]
    assert "server.log" in own["says"]


def test_figures_become_synthetic_acceptance(tmp_path):
    done = export("llamacpp", "--alpha", ".7", "--kappa", "3", cwd=tmp_path)
    assert "--spec-synth-rates 0.7,0.49,0.343" in done.stdout
    done = export("trtllm", "--emitted", "2.17", "--kappa", "3", cwd=tmp_path)
    assert "export TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS=1.17" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("vllm",), "nothing to export"),
        (("vlm", "--kappa", "3"), 'did you mean "vllm"?'),
        (("vllm", "--kappa", "0"), "leave --speculative-config out"),
        (("vllm", "--kappa", "-1"), "allowed: 0 to 256"),
        (("vllm", "--kappa", "3", "--form", "lists"), "allowed: static"),
        (("vllm", "--kappa", "3", "--rounds", "9"), "--rounds goes with a figure"),
        (("vllm", "missing.json"), "cannot be read"),
        (("vllm", "notes.txt"), "notes.txt"),
        (("vllm", "torn.json"), "torn.json"),
        (("vllm", "bad.json"), "kappa_star = 99999"),
        (("vllm", "--survival", ".5,.8"), "never rises"),
        (("trtllm", "--emitted", "1", "--kappa", "3"), "cannot imitate E = 1"),
        (("vllm", "bad.json", "--survival", ".5"), "a log and --survival given"),
        (("vllm", "--max-batch", "0", "--kappa", "3"), "at least 1"),
        (("vllm", "."), "Is a directory"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("nothing of the kind\n")
    (tmp_path / "torn.json").write_text('{"kappa_star": 3, "gri')
    (tmp_path / "bad.json").write_text('{"kappa_star": 99999}')
    try:
        code = main(["export", *arguments])
    except SystemExit as stopped:  # argparse
        code = stopped.code
    done = capsys.readouterr()
    assert code == 2
    assert done.out == ""
    (line,) = done.err.splitlines()
    assert line.startswith("simspec export: ")
    assert said in line


def test_standard_input_that_is_no_recommendation_says_what_is_allowed(tmp_path):
    done = export("vllm", "-", cwd=tmp_path, stdin=LINE)
    assert done.returncode == 2
    assert "what simspec recommend --json prints" in done.stderr


def test_help_names_the_engines_words(tmp_path):
    text = " ".join(export("--help", cwd=tmp_path).stdout.split())
    for word in ("num_speculative_tokens_per_batch_size", "max_num_seqs", "draft_len_schedule", "speculative_num_steps",
                 "--draft-max", "SIMULATE_ACC_LEN"):  # fmt: skip
        assert word in text, word
