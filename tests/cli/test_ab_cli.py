"""simspec ab as a user meets it."""

import json
import subprocess
import sys

import pytest

from simspec.cli.main import main

HEAD = "INFO 05-08 16:26:29 [metrics.py:10] SpecDecoding metrics: "
LINE = HEAD + (
    "Mean acceptance length: {length:.2f}, Accepted throughput: 4.50 tokens/s, Drafted throughput: 12.00 tokens/s, "
    "Accepted: {accepted} tokens, Drafted: {drafted} tokens, Per-position acceptance rate: {rates}, "
    "Avg Draft acceptance rate: {rate:.1f}%\n"
)


def log(*windows):
    """vLLM lines of 400 drafts each from accepted drafts per position."""
    out = ""
    for reached in windows:
        accepted, drafted = sum(reached), 400 * len(reached)
        rates = ", ".join(f"{count / 400:.3f}" for count in reached)
        out += LINE.format(length=1 + accepted / 400, accepted=accepted, drafted=drafted, rates=rates,
                           rate=100 * accepted / drafted)  # fmt: skip
    return out


def rounds(rows):
    return "request,accepted,kappa\n" + "".join(f"{request},{accepted},3\n" for request, accepted in rows)


def run(capsys, *arguments):
    code = main(["ab", *arguments])
    return code, capsys.readouterr()


def test_two_logs_of_vllm_that_differ_exit_with_1(tmp_path, capsys):
    a, b = tmp_path / "before.log", tmp_path / "after.log"
    a.write_text(log(*[(320, 256, 204), (316, 260, 200), (322, 250, 205), (318, 256, 204)] * 3))
    b.write_text(log(*[(280, 200, 140), (284, 196, 144), (276, 204, 136), (280, 200, 140)] * 3))
    code, out = run(capsys, str(a), str(b))
    assert code == 1
    assert out.out.startswith("The runs differ.  E: 2.944 → 2.550 tokens per round, -0.394 [")
    assert "unit: log line" in out.out
    assert "neighbours share requests" in out.out
    code, out = run(capsys, str(a), str(a))
    assert code == 0
    assert out.out.startswith("No difference beyond chance.")
    assert "is it one file twice?" in out.out


def test_tables_with_the_same_requests(tmp_path, capsys):
    rows = [(f"r{i}", (i + k) % 4) for i in range(12) for k in range(9)]
    (tmp_path / "a.csv").write_text(rounds(rows))
    (tmp_path / "b.csv").write_text(rounds([(r, max(0, a - (i % 7 == 0))) for i, (r, a) in enumerate(rows)]))
    code, out = run(capsys, str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), "--json")
    told = json.loads(out.out)
    assert told["unit"] == "request"
    assert [own["quantity"] for own in told["comparisons"]][:4] == ["E", "S_1", "S_2", "S_3"]
    assert code == int(told["differs"] or told["broken"])


def test_one_run_alone_and_what_could_be_seen(capsys):
    code, out = run(capsys, "kappa=7 rounds=4816 accepted=12208", "--detect", "0.1")
    assert code == 0
    assert out.out.startswith(
        "No fault found.  E = 3.535 tokens per round in 4,816 rounds; a second run as long differs"
    )
    assert "a true difference of 0.100 needs 11,999 rounds in each run" in out.out


def test_json_is_json_and_nothing_else(capsys):
    code, out = run(capsys, "speed=61", "speed=55", "--json")
    assert code == 0
    told = json.loads(out.out)
    assert told["comparisons"][0]["p"] is None
    assert out.err == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.log", "other.log"], "missing.log"),
        (["kappa=3 rounds=5 accepted=20", "kappa=3 rounds=5 accepted=2"], "allowed: 0 to 15"),
        (["kappa=3 rounds=5 accepted=2", "--level", "2"], "allowed: 0.5 ≤ level < 1"),
        (["kappa=3 rounds=5 accepted=2", "--detect", "-1"], "allowed: detect > 0"),
        (["a=b"], "unknown key 'a'"),
        ([""], "cannot be read"),
    ],
)
def test_rubbish_is_one_line_and_exit_code_2(tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(tmp_path)
    code, out = run(capsys, *arguments)
    assert code == 2
    assert out.out == ""
    assert out.err.startswith("simspec ab: ")
    assert said in out.err
    assert out.err.count("\n") == 1


def test_a_name_that_would_steer_the_terminal_is_shown_as_text(tmp_path, capsys):
    file = tmp_path / "a\x1b[31m.csv"
    file.write_text(rounds([(f"r{i}", i % 4) for i in range(40)]))
    _, out = run(capsys, str(file), str(file))
    assert "\x1b" not in out.out


def test_several_sources_in_one_file_are_refused(tmp_path, capsys):
    early = HEAD + "Draft acceptance rate: 50.0%, Accepted: 6 tokens, Drafted: 12 tokens\n"
    (tmp_path / "two.log").write_text(log((320, 256, 204)) + early)
    code, out = run(capsys, str(tmp_path / "two.log"))
    assert code == 2
    assert "2 sources" in out.err


def test_the_command_by_itself_and_its_help():
    command = [sys.executable, "-m", "simspec.cli.main", "ab"]
    done = subprocess.run([*command, "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    for word in ("num_speculative_tokens", "γ", "--draft-max", "mean acceptance length", "--detect", "exit"):
        assert word in done.stdout.replace("Exit", "exit"), word
    assert subprocess.run(command, capture_output=True, text=True, timeout=60).returncode == 2


def test_scrapes_of_one_run_are_given_with_commas(tmp_path, capsys):
    name = "vllm:spec_decode_num_"
    for i, (drafts, reached) in enumerate([(100, (70, 40)), (1100, (770, 440)), (2100, (1370, 760))]):
        lines = [f'{name}{key}_total{{engine="0",model_name="m"}} {value}.0' for key, value in (
            ("drafts", drafts), ("draft_tokens", 2 * drafts), ("accepted_tokens", sum(reached)))]  # fmt: skip
        lines += [f'{name}accepted_tokens_per_pos_total{{engine="0",model_name="m",position="{j}"}} {count}.0'
                  for j, count in enumerate(reached)]  # fmt: skip
        (tmp_path / f"t{i}.prom").write_text("\n".join(lines) + "\n")
    scrapes = [str(tmp_path / f"t{i}.prom") for i in range(3)]
    code, out = run(capsys, ",".join(scrapes[:2]), ",".join(scrapes[1:]), "--json")
    told = json.loads(out.out)
    assert code == 1
    first = next(own for own in told["comparisons"] if own["quantity"] == "S_1")
    assert (first["a"], first["b"]) == (0.7, 0.6)


def test_what_a_log_lacks_is_named_with_the_words_of_this_command(tmp_path, capsys):
    early = tmp_path / "early.log"
    early.write_text(HEAD + "Draft acceptance rate: 50.0%, Accepted: 60 tokens, Drafted: 120 tokens\n")
    code, out = run(capsys, str(early))
    assert code == 2
    assert "pass it (--kappa)" in out.err
    assert "'kappa=N rounds=N emitted=E'" in out.err
    assert "--emitted" not in out.err
    code, out = run(capsys, str(early), "kappa=3 rounds=40 emitted=2.5", "--kappa", "3")
    assert code == 0
    assert "E: 2.500 → 2.500 tokens per round" in out.out
    assert "A: its rounds are not told" in out.out
