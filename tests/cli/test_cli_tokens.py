"""simspec tokens: its answer, its JSON, its exit codes, and one line for rubbish."""

import json
import re
import subprocess
import sys

import pytest

from simspec.cli.main import main
from simspec.run import token_job

QUICK = ("--windows", "20000", "--quiet")


def test_the_default_answer(capsys):
    assert main(["tokens", "--windows", "200000", "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for part in ("α, accepted/examined", "0.700000", "0.139868", "0.638715", "0.932456", "1.773100"):
        assert part in out
    assert out.rstrip().endswith("lossless: emitted tokens follow the target")
    checks = [re.split(r"\s{2,}", line.strip()) for line in out.splitlines() if "~" in line]
    agree = {cells[0]: cells[4] for cells in checks}
    assert agree == {
        "emitted ~ p": "yes",
        "accepted ~ p": "no",
        "accepted ~ min(p, q)/α": "yes",
        "corrected ~ (p − q)⁺/(1 − α)": "yes",
    }


@pytest.mark.parametrize(
    "arguments",
    [
        ("--target", ".5,.3,.2", "--draft", ".2,.3,.5", "--kappa", "0"),
        ("--target", "1,0", "--draft", "0", "1"),  # disjoint; spaces as well as commas
        ("--draw", "zipf", "--vocabulary", "32000", "--sigma", "0.5", "--rule", "block"),
        ("--draw", "dirichlet", "--vocab-size", "50", "--concentration", "0.1", "--pair-seed", "7"),
        ("--draw", "logits", "--vocabulary", "50", "--correlation", "-0.5", "--temperature", "0", "--scale", "1"),
    ],
    ids=" ".join,
)
def test_json_is_json_and_nothing_else(capsys, arguments):
    assert main(["tokens", *arguments, "--json", *QUICK]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert err == ""
    assert found["lossless"] is True
    assert found["rounds"] >= 20_000
    assert {"pair", "kappa", "rule", "seed", "exact", "simulated", "checks", "accepted_lengths"} <= set(found)
    assert sum(found["accepted_lengths"]) == found["rounds"]


def test_what_is_not_lossless_has_exit_code_1(capsys, monkeypatch):
    real = token_job.token_tables
    monkeypatch.setattr(token_job, "token_tables", lambda target, draft: real(draft, target))
    assert main(["tokens", *QUICK]) == 1
    assert "NOT LOSSLESS" in capsys.readouterr().out


def test_the_region_is_written_and_counted(capsys, tmp_path):
    assert main(["tokens", "--region", str(tmp_path), "--pairs", "800", "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["broken_theorems"] == 0
    assert {row["order"] for row in found["inequalities"]} == {"0.25", "0.5", "0.75", "1", "2", "inf"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["region.parquet", "region.png"]
    assert main(["tokens", "--region", str(tmp_path), "--pairs", "80", "--quiet", "--pair-seed", "3"]) == 0
    assert "80 random pairs" in capsys.readouterr().out


RUBBISH = [
    ("--region", "/proc/nowhere"),
    ("--region", "x", "--sigma", "1"),
    ("--region", "x", "--target", "1", "--draft", "1"),
    ("--region", ""),
    ("--region", "x", "--kappa", "999999"),
    ("--region", "x", "--windows", "3"),
    ("--region", "x", "--rule", "block"),
    ("--region", "x", "--seed", "2"),
    ("--region", "x", "--threads", "2"),
    ("--region", "x", "--pair-seed", "-1"),
    ("--pairs", "10"),
    ("--target", ".5,.5"),
    ("--target", ".5,.6", "--draft", ".5,.5"),
    ("--target", ".5,.5", "--draft", "1"),
    ("--target", "x", "--draft", "1"),
    ("--target", "nan,1", "--draft", ".5,.5"),
    ("--target", ",", "--draft", ","),
    ("--target", "2,-1", "--draft", ".5,.5"),
    ("--draw", "zipf", "--target", "1", "--draft", "1"),
    ("--draw", "normal"),
    ("--draw", "zipf", "--scale", "2"),
    ("--draw", "zipf", "--vocabulary", "1"),
    ("--draw", "zipf", "--vocabulary", "150001"),
    ("--draw", "zipf", "--vocabulary", "3.5"),
    ("--draw", "logits", "--temperature", "-1"),
    ("--draw", "dirichlet", "--concentration", "0"),
    ("--draw", "zipf", "--pair-seed", "-1"),
    ("--sigma", "1"),
    ("--vocabulary", "10"),
    ("--kappa", "257"),
    ("--kappa", "-1"),
    ("--kappa", "two"),
    ("--rule", "greedy"),
    ("--windows", "0"),
    ("--windows", "1e11"),
    ("--seed", str(2**64)),
    ("--threads", "0"),
    ("--taget", "1"),
]


@pytest.mark.parametrize("arguments", RUBBISH, ids=" ".join)
def test_rubbish_gives_one_line_and_exit_code_2(capsys, arguments):
    try:
        code = main(["tokens", *arguments, "--quiet"])
    except SystemExit as gone:  # argparse
        code = gone.code
    out, err = capsys.readouterr()
    assert code == 2
    assert out == ""
    assert len(err.strip().splitlines()) == 1
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--target", "-.5,1.5", "--draft", ".5,.5"), "target[0] = -0.5 is out of range"),
        (("--draw", "zipf", "--pair-seed", "-3"), "--pair-seed -3 is out of range; allowed: 0 ≤ N < 2^64"),
        (
            ("--draw", "logits", "--correlation", "2"),
            "correlation = 2.0 is out of range; allowed: -1 ≤ correlation ≤ 1",
        ),
        (("--region", "x", "--kappa", "3"), "--kappa says nothing to --region"),
    ],
    ids=" ".join,
)
def test_the_cause_is_named(capsys, arguments, says):
    assert main(["tokens", *arguments, "--quiet"]) == 2
    err = capsys.readouterr().err
    assert says in err
    assert "%" not in err


def test_help_names_every_default_and_the_engines_words():
    done = subprocess.run([sys.executable, "-m", "simspec", "tokens", "--help"], capture_output=True, text=True)
    text = " ".join(done.stdout.split())
    for word in ("num_speculative_tokens", "--draft-max", "γ", "vocab_size", "block verification", "temperature"):
        assert word in text
    flags = [line for line in done.stdout.split("\n  --")[1:] if not line.startswith("help")]
    assert [flag.split()[0] for flag in flags if "default" not in flag] == []
