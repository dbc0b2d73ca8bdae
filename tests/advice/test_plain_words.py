"""What a newcomer types and reads: decimal commas, percentages, units, and lines that fit on a screen."""

import json

import pytest

import simspec
from simspec import text
from simspec.advice.convert.conventions import QUANTITIES
from simspec.advice.explain.speeds import UNITS, flag_of
from simspec.cli.main import main
from simspec.evidence import figure_names
from simspec.evidence.costs import names as cost_names

VLLM = (
    "INFO 05-08 16:26:{:02d} [loggers.py:271] Engine 000: Avg prompt throughput: 5.0 tokens/s, Avg generation "
    "throughput: {:.1f} tokens/s, Running: 4 reqs, Waiting: 0 reqs, GPU KV cache usage: 7.4%, Prefix cache hit "
    "rate: 0.0%\n"
    "INFO 05-08 16:26:{:02d} [metrics.py:101] SpecDecoding metrics: Mean acceptance length: {:.2f}, Accepted "
    "throughput: {:.2f} tokens/s, Drafted throughput: {:.2f} tokens/s, Accepted: {} tokens, Drafted: {} tokens, "
    "Per-position acceptance rate: {:.3f}, {:.3f}, Avg Draft acceptance rate: {:.1f}%\n"
)
OLD = (
    "prompt eval time =     300.11 ms /    20 tokens (   15.01 ms per token,    66.64 tokens per second)\n"
    "       eval time =    1340.00 ms /   216 tokens (    6.20 ms per token,   161.19 tokens per second)\n"
    "      total time =    1640.11 ms /   236 tokens\n"
    "draft acceptance rate = 0.27799 (  149 accepted /   536 generated)\n"
)
"""The form of llama.cpp's server before the lengths were printed."""


def vllm_log(folder, name, shift=0):
    path = folder / name
    lines = []
    for i in range(12):
        rounds = 400 + 10 * i
        first, second = 240 + 10 * i + shift * (i % 2), 100 + 10 * (i % 3)
        kept = first + second
        lines.append(
            VLLM.format(
                i, (rounds + kept) / 10, i, 1 + kept / rounds, kept / 10, rounds / 5, kept, 2 * rounds,
                first / rounds, second / rounds, 50 * kept / rounds,
            )
        )  # fmt: skip
    path.write_text("".join(lines))
    return str(path)


def told(capsys, *words):
    code = main(list(words))
    out, err = capsys.readouterr()
    return code, out, err


def refused(function, *arguments, **figures):
    with pytest.raises(simspec.ParameterError) as error:
        function(*arguments, **figures)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("typed", ["342,2", "12,5", " 86,85 ", "1,024", "342,2 341,7", "1,024.5"])
def test_a_decimal_comma_is_no_pair_of_repeats(typed):
    said = refused(simspec.explain, emitted=2.2, kappa=3, base_tok_s=typed, spec_tok_s=128.3)
    assert said.startswith("--base-speed = ")
    assert "repeats" in said
    if " " not in typed.strip():
        assert "repeats" in refused(simspec.ab, f"k=3 n=100 accepted=50 speed={typed.strip()}")


def test_repeats_with_points_are_repeats():
    own = simspec.explain(emitted=2.2, kappa=3, base_tok_s="342.1,342.3", spec_tok_s=128.3)
    assert own.speedup.value == pytest.approx(128.3 / 342.2)
    assert simspec.explain(emitted=2.2, kappa=3, base_tok_s="342 341 343", spec_tok_s=128.3).speedup.half > 0.0


def test_a_rate_may_be_in_percent(capsys):
    words = ("explain", "--kappa", "3", "--json")
    assert told(capsys, *words, "--rate", "50%")[1] == told(capsys, *words, "--rate", "0.5")[1]
    assert told(capsys, *words, "--survival", "80%,60%,50%")[1] == told(capsys, *words, "--survival", "0.8,.6,.5")[1]
    assert told(capsys, *words, "--rate", "150%")[0] == 2
    assert told(capsys, "explain", "--survival", "80%%")[0] == 2
    assert simspec.ab("n=100 survival=80%,60%").a.emitted == pytest.approx(2.4)
    assert "not one number" in refused(simspec.ab, "k=3 n=100 accepted=50%")


def test_units_of_what_is_asked_for_are_those_that_are_counted(tmp_path):
    first, second = vllm_log(tmp_path, "a.log"), vllm_log(tmp_path, "b.log", 4)
    found = simspec.ab(first, second, detect=0.05)
    assert found.unit == "log line"
    said = " ".join(repr(found).split())
    assert f"({found.needed[1]} log lines) in each run" in said
    assert "requests) in each run" not in said


def test_a_speed_of_one_request_is_called_so(tmp_path):
    log = vllm_log(tmp_path, "a.log")
    found = simspec.ab(log, vllm_log(tmp_path, "b.log", 4))
    row = found.row("tok/s per request").change
    assert 10.0 < row.a < 25.0  # about 4 requests share what a line prints, 74 to 88
    mixed = simspec.ab(log, "k=2 n=5000 accepted=5000 speed=20.1,20.3,20.2")
    assert "in A; the other one, typed in, is taken to be per request too" in " ".join(repr(mixed).split())
    assert mixed.row("tok/s").change.b == pytest.approx(20.2)


def test_known_keys_are_listed_once():
    said = refused(simspec.ab, "k=3 n=100 zzzzzz=50")
    assert said.count("known:") == 1
    said = refused(simspec.ab, "k=3 n=100 acceptd=50")
    assert 'did you mean "accepted"?; known: kappa' in said


def test_the_old_line_of_llamacpp_says_what_its_timings_say(tmp_path):
    log, timings = tmp_path / "old.log", tmp_path / "timings.json"
    log.write_text(OLD)
    timings.write_text(
        json.dumps({"predicted_n": 216, "predicted_ms": 1340.0, "draft_n": 536, "draft_n_accepted": 149})
    )
    own, other = (simspec.explain(str(file), base_tpot_ms=12.5) for file in (log, timings))
    assert own.emitted == other.emitted == pytest.approx(216 / 67)
    assert own.round_cost.value == pytest.approx(20.0 / 12.5)
    assert own.round_cost.value == pytest.approx(other.round_cost.value)
    log.write_text(OLD + OLD.split("\n", 3)[3])  # a request without its time: E of all is not known
    assert "tokens per round are not known" in refused(simspec.explain, str(log), base_tpot_ms=12.5)


def test_convert_says_where_kappa_plus_1_comes_from(capsys):
    out = told(capsys, "convert", "vllm-v1", "mean_acceptance_length=3.23", "k=5", "--to", "sglang")[1]
    row = next(line for line in out.splitlines() if line.startswith("num_draft_tokens"))
    assert row.split() == ["num_draft_tokens", "6", "κ", "+", "1", "draft", "length", "κ", "+", "1"]
    assert "E[A] ÷ drafts per round" in out
    own = simspec.convert("llamacpp", predicted_n=100, draft_n=100, draft_n_accepted=50)
    assert own["drafts"] == 50
    out = told(capsys, "convert", "vllm-v1", "per_position=.8,.7,.6", "drafts=1000", "--to", "mlc")[1]
    assert "1.000 0.800 0.700 0.600" in out
    assert "1 for the target, then S_j" in out


def test_a_round_that_is_too_dear_names_both_limits():
    own = simspec.explain(emitted=3.04, kappa=5, base_tok_s=100.0, spec_tok_s=41.0)
    assert "cost less than 3.040 plain steps at this acceptance (less than 6.00 even if" in own.verdict
    cheap = simspec.explain(emitted=2.0, kappa=3, base_tok_s="100±10", spec_tok_s="204±10")
    assert "pays above α = 0.000" not in cheap.verdict
    assert "at that cost it pays at any α" in cheap.verdict


def test_names_in_python_carry_their_units():
    assert all(name.endswith(("_ms", "_tok_s")) for name in UNITS)
    assert [flag_of(name) for name in UNITS if name.startswith("base")] == ["--base-speed", "--base-tpot"]
    said = refused(simspec.costs, kappa=[2, 3], emitted=[2.1, 2.3], tpot_ms=[4.0, 5.0], base_tpot=7.0)
    assert 'did you mean "base_tpot_ms"' in said


def test_one_figure_has_one_list_of_names():
    for name, words in (("kappa", figure_names.KAPPA), ("drafts", figure_names.ROUNDS)):
        assert {cost_names.NAMES[word] for word in words} == {name}
        assert set(words) <= {name, *QUANTITIES[name].also}
        for word in words:
            counts = {"kappa": "3", "drafts": "100"} | {name: "3" if name == "kappa" else "100"}
            del counts[name]
            rest = " ".join(f"{key}={value}" for key, value in counts.items())
            own = simspec.ab(f"{word}={3 if name == 'kappa' else 100} {rest} accepted=0").a
            assert (own.kappa, own.rounds) == (3, 100)


@pytest.mark.parametrize("columns", [50, 80, 93, 200])
def test_running_text_fits_the_terminal(columns, monkeypatch):
    class Screen:
        def fileno(self):
            return 1

    monkeypatch.setattr(text.sys, "stdout", Screen())
    monkeypatch.setattr(text.os, "get_terminal_size", lambda _: (columns, 24) and text.os.terminal_size((columns, 24)))
    assert text.width() == min(100, max(80, columns))
    lines = text.wrapped("κ = 3 and " * 60, "  ", "    ").split("\n")
    assert max(map(len, lines)) <= text.width()
    assert not any(line.rstrip().endswith("=") or line.lstrip().startswith("=") for line in lines)


def test_no_line_is_longer_than_a_screen(capsys, tmp_path):
    first, second = vllm_log(tmp_path, "a.log"), vllm_log(tmp_path, "b.log", 4)
    (tmp_path / "old.log").write_text(OLD)
    curve = "per_position=.8,.7,.6,.55,.5,.4,.3,.2,.1,.05"
    old = str(tmp_path / "old.log")
    for words in (
        ("convert", "--list"),
        ("convert", "vllm-v1", curve, "drafts=1000"),
        ("convert", "vllm-v0", "k=3", "drafted=13311", "accepted=8547", "emitted=10616"),
        ("explain", first, "--base-tpot", "12.5"),
        ("explain", first, "--base-tpot", "100"),
        ("explain", old, "--base-tpot", "12.5"),
        ("explain", "--rate", "51%", "--kappa", "3", "--base-speed", "100", "--spec-speed", "120"),
        ("ab", first, second, "--detect", ".05"),
        ("ab", first),
        ("ab", "k=3 n=100 s=.8,.7,.6"),
    ):
        code, out, err = told(capsys, *words)
        assert code in (0, 1), err
        assert max(map(len, out.splitlines())) <= 110, words
    for engine in ("vllm", "sglang", "trtllm", "llamacpp"):
        out = told(capsys, "export", engine, "--survival", ".84,.60,.39,.27")[1]
        assert max(len(line) for line in out.splitlines() if line.startswith("#")) <= 100
