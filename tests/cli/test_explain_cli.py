"""simspec explain and simspec convert as a user meets them."""

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simspec
from simspec.advice.convert.conventions import CONVENTIONS
from simspec.cli.main import main

LINE = (
    "INFO 05-08 16:26:29 [metrics.py:10] SpecDecoding metrics: Mean acceptance length: 2.12, Accepted throughput: 4.50 "
    "tokens/s, Drafted throughput: 12.00 tokens/s, Accepted: 45 tokens, Drafted: 120 tokens, Per-position acceptance "
    "rate: 0.575, 0.350, 0.200, Avg Draft acceptance rate: 37.5%\n"
)


def told(capsys, *words):
    code = main(list(words))
    out, err = capsys.readouterr()
    return code, out, err


def test_the_answer_comes_first_then_the_table_then_the_caveats(capsys):
    code, out, err = told(
        capsys, "explain", "--emitted", "1.8", "--kappa", "3", "--base-speed", "100", "--spec-speed", "90"
    )
    assert (code, err) == (0, "")
    first = out.splitlines()[0]
    assert first.startswith(
        "0.900x, slower: a round emits E = 1.800 tokens and costs R = 2.000 plain steps; to pay it needs"
    )
    assert "α above 0.544, now 0.472" in out.splitlines()[1]
    order = [out.index(part) for part in ("figure", "where the time of a token goes", "note")]
    assert order == sorted(order)
    assert "drafting, verify width and fixed overhead together" in out


def test_json_is_json_only(capsys):
    code, out, err = told(
        capsys, "explain", "--emitted", "1.8", "--kappa", "3", "--base-speed", "100", "--spec-speed", "90", "--json"
    )
    assert (code, err) == (0, "")
    data = json.loads(out)
    assert data["round_cost"] == pytest.approx(2.0)
    assert data["round_cost_interval"] is None
    code, out, _ = told(capsys, "convert", "sglang", "accept_len=2.5", "num_draft_tokens=4", "--json")
    assert json.loads(out)["values"]["draft_acceptance_rate"] == 0.5
    assert json.loads(told(capsys, "convert", "--list", "--json")[1])[0]["name"] == "plain"


def test_a_log_and_its_warnings(capsys, tmp_path):
    log = tmp_path / "a.log"
    log.write_text(LINE)
    code, out, _ = told(capsys, "explain", str(log), "--base-tpot", "10", "--spec-tpot", "8", "--draft-ms", "1")
    assert code == 0
    assert out.startswith("1.250x, faster")
    assert "drafting" in out
    assert "ms/token" in out
    data = json.loads(told(capsys, "explain", str(log), "--base-tpot", "10", "--spec-tpot", "8", "--json")[1])
    low, high = data["round_cost_interval"]
    assert low < data["round_cost"] < high
    log.write_text(LINE + LINE.replace("120", "80").replace("0.575, 0.350, 0.200", "0.625, 0.500"))
    _, out, _ = told(capsys, "explain", str(log), "--base-tpot", "10", "--spec-tpot", "8")
    assert "the log warns" in out


def test_costs_from_a_file(capsys, tmp_path):
    table = tmp_path / "sweep.csv"
    table.write_text("kappa,round_ms\n0,7.07\n2,9.18\n3,9.82\n4,10.71\n")
    words = ("explain", "--emitted", "2.29", "--kappa", "3", "--base-tpot", "7.07", "--spec-tpot", "4.29")
    code, out, err = told(capsys, *words, "--costs", str(table))
    assert (code, err) == (0, "")
    assert "drafting and verify width together" in out
    assert "fixed overhead" in out
    code, _, err = told(capsys, *words, "--costs", str(table), "--verify-cost", "0.1")
    assert code == 2
    assert "give one or the other" in err


def test_a_loop_without_drafts(capsys):
    code, out, _ = told(capsys, "explain", "--no-drafts", "--base-tpot", "130", "--spec-round-ms", "200")
    assert code == 0
    assert "without a draft the loop of speculation costs R = 1.538 plain steps per token" in " ".join(out.split())
    assert told(capsys, "explain", "--no-drafts", "--kappa", "2", "--base-tpot", "1", "--spec-tpot", "2")[0] == 2


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("explain",), "nothing given"),
        (("explain", "--kappa", "3"), "nothing given"),
        (("explain", "missing.log"), "missing.log"),
        (("explain", "--emitted", "2", "--kappa", "3", "--base-speed", "1e400", "--spec-speed", "1"), "out of range"),
        (("explain", "--emitted", "2", "--kappa", "3", "--base-speed", "1", "--spec-tpot", "1"), "not comparable"),
        (("convert",), "--list"),
        (("convert", "vllm"), "did you mean"),
        (("convert", "vllm-v1"), "nothing given"),
        (("convert", "vllm-v1", "kappa"), "no FIELD=VALUE"),
        (("convert", "vllm-v1", "kappa=3", "kappa=4"), "given twice"),
        (("convert", "vllm-v1", "kappa=3", "k=4"), "given twice"),
        (("convert", "vllm-v1", "kappa=3", "--to", "nobody"), "unknown convention"),
        (("convert", "vllm-v1", "\x1b[31m=3"), "unknown field"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(words, part, capsys):
    code, out, err = told(capsys, *words)
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith(f"simspec {words[0]}: ")
    assert part in line
    assert "\x1b" not in line


def test_lists_as_pasted_from_a_log(capsys):
    for words in (("per_position=[0.601, 0.286, 0.128]",), ("per_position=0.601,", "0.286,", "0.128", "kappa=3")):
        code, out, _ = told(capsys, "convert", "vllm-v1", *words)
        assert code == 0
        assert out.startswith("vLLM V1 (vllm-v1): E = 2.0150 tokens per round")


def test_the_list_names_engines_and_versions(capsys):
    _, out, _ = told(capsys, "convert", "--list")
    for own in CONVENTIONS:
        assert own.name in out
    for part in ("before PR 23530", "accept len ÷ num_draft_tokens", "goes on after the first rejection"):
        assert part in out


def test_help_speaks_the_engines_words():
    done = subprocess.run(
        [sys.executable, "-m", "simspec.cli.main", "explain", "--help"],
        capture_output=True, text=True, timeout=60, check=True, env={"COLUMNS": "400", "PATH": ""},
    )  # fmt: skip
    for word in ("num_speculative_tokens", "TPOT", "ITL", "accept len", "batch", "default"):
        assert word in done.stdout


WORDS = st.sampled_from(
    [
        "",
        "0",
        "1",
        "-1",
        "0.5",
        "1.5",
        "3",
        "7",
        "64.2%",
        "nan",
        "inf",
        "1e308",
        "1e-308",
        "0.9,0.5,0.1",
        "1,2,3",
        "[]",
        "x",
    ]
)


def answer_or_line(function, *words, **figures):
    """What is answered, or the one line in which it is refused."""
    try:
        return function(*words, **figures)
    except simspec.ParameterError as error:
        line = str(error)
    assert "\n" not in line
    return line


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.sampled_from(CONVENTIONS), st.data())
def test_convert_answers_or_refuses(convention, data):
    """Any values in any fields: an answer, or one line; never a crash."""
    names = [*convention.fields, "kappa", "drafts"]
    fields = data.draw(st.dictionaries(st.sampled_from(names), WORDS, max_size=5))
    own = answer_or_line(simspec.convert, convention.name, **fields)
    if isinstance(own, str):
        return
    assert repr(own)
    emitted = own["mean_emitted_per_round"]
    assert not isinstance(emitted, float) or emitted >= 1.0 - 1e-6
    json.dumps(own.to_dict(), allow_nan=False)


SPEEDS = ("base_tok_s", "spec_tok_s", "base_tpot_ms", "spec_tpot_ms", "spec_round_ms", "spec_itl_ms", "draft_cost",
          "draft_ms", "verify_cost", "base_cost", "streams", "emitted", "alpha", "rate", "kappa", "rounds")  # fmt: skip
VALUES = st.one_of(st.integers(0, 9), st.floats(0.0, 1.0), st.floats(1e-300, 1e300))


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.dictionaries(st.sampled_from(SPEEDS), VALUES, max_size=7))
def test_explain_answers_or_refuses(figures):
    for name in ("streams", "kappa", "rounds"):
        if name in figures:
            figures[name] = int(min(figures[name], 50))
    own = answer_or_line(simspec.explain, **figures)
    if isinstance(own, str):
        return
    assert own.verdict
    assert repr(own)
    json.dumps(own.to_dict())
