"""A log in pieces is one log; a κ that contradicts it is refused; printed means are taken with what they assume."""

import gzip
import io
import math

import pytest
from writers import (
    DEEP,
    OTHER,
    SMALL,
    Truth,
    lines,
    llamacpp_cli,
    rounds_csv,
    sglang_decode,
    vllm_bench,
    vllm_current,
    vllm_early,
    vllm_engine,
    vllm_request,
)

import simspec
from simspec.advice.ab.reading import run_of
from simspec.advice.pieces import acceptance_of_sources
from simspec.advice.recommend.posterior import tokens_posterior
from simspec.cli.acceptance_options import read_acceptance
from simspec.cli.main import main
from simspec.evidence.lines import BLOCK, Text
from simspec.evidence.reading import listening
from simspec.evidence.recognise import read_one

EASY = Truth((20, 12, 10, 58))


@pytest.fixture
def put(tmp_path):
    def write(name, text):
        packed = name.endswith(".gz")
        (tmp_path / name).write_bytes(gzip.compress(text.encode()) if packed else text.encode())
        return str(tmp_path / name)

    return write


# pieces


def windows(*truths):
    return lines(*(text for truth in truths for text in (vllm_engine(running=4), vllm_current(truth))))


def test_pieces_of_a_log_are_the_log(put):
    first, last = windows(SMALL, OTHER, EASY), windows(OTHER, SMALL, SMALL)
    whole = simspec.fit(put("whole.log", first + last))[0]
    (own,) = read_one([put("a.log.1.gz", first), put("a.log", last)])
    assert own.pieces
    assert own.body == whole.body
    assert any("2 files are read as pieces of one log" in rule for rule in own.rules)
    told = read_acceptance(own.files, None, 0.95)
    assert told.origin.startswith("2 files pooled as one log: ")
    assert told.emitted_interval == acceptance_of_sources([whole]).emitted_interval
    assert run_of(",".join(own.files), "A").emitted == told.emitted


def test_requests_in_two_files_of_objects_are_pieces(put):
    files = [put(f"{name}.jsonl", lines(vllm_request(truth, name))) for name, truth in (("a", SMALL), ("b", OTHER))]
    (own,) = read_one(files)
    assert own.observed.groups == 2
    assert own.body["pooled"]["drafts"] == SMALL.drafts + OTHER.drafts


@pytest.mark.parametrize(
    "texts",
    [
        (windows(SMALL), windows(DEEP)),  # another κ
        (windows(SMALL), vllm_bench(SMALL)),  # another shape
        (vllm_bench(SMALL), vllm_bench(OTHER)),  # print-outs
        (rounds_csv(SMALL), rounds_csv(OTHER)),  # tables
    ],
)
def test_other_files_are_no_pieces(put, texts):
    files = [put(f"{i}.txt", text) for i, text in enumerate(texts)]
    assert len(read_one(files)) == 2
    with pytest.raises(simspec.ParameterError, match=r"2 sources: .*allowed: one, or pieces of one log"):
        read_acceptance(files, None, 0.95)


def test_one_file_twice_is_no_log_in_pieces(put):
    file = put("a.log", windows(SMALL, OTHER))
    assert len(read_one([file, file])) == 2


def test_pieces_that_differ_are_pooled_and_it_is_said(put):
    """explain, which is about one content, refuses them."""
    files = [put(f"{i}.log", windows(*[truth] * 12)) for i, truth in enumerate((SMALL, EASY))]
    assert "the files differ by more than chance" in read_acceptance(files, None, 0.95).origin
    with pytest.raises(simspec.ParameterError, match="not of one content"):
        acceptance_of_sources(simspec.fit(*files), one_content=True)


def test_runs_with_a_block_each_are_added_for_explain(put):
    files = [put(f"{i}.txt", llamacpp_cli(SMALL)) for i in range(2)]
    own = acceptance_of_sources(simspec.fit(*files), one_content=True)
    assert own.emitted == pytest.approx(SMALL.length)


def test_fit_keeps_them_apart_and_says_how_to_pool(put, capsys):
    assert main(["fit", "--counts-only", put("a.log", windows(SMALL)), put("b.log", windows(OTHER))]) == 0
    assert "pool them" in capsys.readouterr().out
    assert main(["fit", "--counts-only", put("a.log", windows(SMALL)), put("b.log", windows(DEEP))]) == 0
    assert "pool them" not in capsys.readouterr().out


# κ that contradicts


@pytest.mark.parametrize("command", ["fit", "explain", "recommend", "ab"])
def test_a_kappa_that_contradicts_the_log_is_refused(put, capsys, command):
    file = put("a.log", windows(DEEP, DEEP))
    assert main([command, file, "--kappa", "3"]) == 2
    said = capsys.readouterr().err
    assert f"{file}: kappa = 3 contradicts it: it ran at κ = 5; leave --kappa out" in said
    assert said.count("\n") == 1


def test_a_kappa_beside_several_or_beside_a_column_is_refused(put):
    with pytest.raises(simspec.ParameterError, match=r"kappa = 5 contradicts it: it ran at κ = 3, 5"):
        simspec.fit(put("a.log", windows(SMALL, DEEP)), kappa=5)
    with pytest.raises(simspec.ParameterError, match=r"kappa = 4 contradicts it: it ran at κ = 3"):
        simspec.fit(put("a.csv", "accepted,kappa\n3,3\n0,3\n"), kappa=4)
    with pytest.raises(simspec.ParameterError, match=r"kappa = 2 contradicts it: it has drafts of 3 tokens"):
        simspec.fit(put("a.csv", "accepted,kappa\n1,1\n0,3\n"), kappa=2)


def test_a_kappa_that_agrees_or_is_missing_is_taken(put):
    assert simspec.fit(put("a.log", windows(DEEP)), kappa=5)[0].body["pooled"]["kappa"] == 5
    assert "3" in simspec.fit(put("b.log", lines(vllm_early(SMALL))), kappa=3)[0].body["given_kappa"]
    assert simspec.fit(put("c.csv", "accepted,step\n1,1\n0,2\n"), kappa=2)[0].body["pooled"]["kappa"] == 2


# printed means


def decode(*pairs, kappa=3):
    return lines(*(sglang_decode(length, (length - 1) / kappa, running) for running, length in pairs))


def test_printed_means_are_weighted_by_running_requests(put):
    """E = Σ r·len ÷ Σ r; its error is that of this ratio between lines."""
    pairs = [(8, 2.2), (8, 2.4), (2, 3.1), (4, 2.5)]
    source = simspec.fit(put("a.log", decode(*pairs)))[0]
    assert source.to_dict()["pooled"]["mean_emitted_per_round"] is None
    mean = sum(r * x for r, x in pairs) / 22
    error = math.sqrt(4 / 3 * sum((r * (x - mean)) ** 2 for r, x in pairs)) / 22
    own = acceptance_of_sources([source])
    assert (own.kappa, own.rounds, own.observed) == (3, None, None)
    assert own.emitted == pytest.approx(mean)
    assert source.line_means.error == pytest.approx(error, rel=1e-6)
    assert "weighted by #running-req" in own.line_means.says
    assert "weighted alike it is 2.550" in own.line_means.says
    assert own.line_means.says in tokens_posterior(own, 3).notes
    run = run_of(source, "A")
    assert (run.emitted, run.error, run.rounds, run.counted) == (own.emitted, source.line_means.error, 4, "log line")
    draws = tokens_posterior(own, 3).draws[:, 3]
    low, high = own.emitted_interval
    assert float(((draws > low) & (draws < high)).mean()) == pytest.approx(0.95, abs=0.02)


def test_recommend_explain_and_ab_take_sglang_lines_and_say_what_is_assumed(put, capsys):
    a, b = (put(f"{name}.log", decode(*[(8, x), (8, x + 0.1)] * 5)) for name, x in (("a", 2.1), ("b", 2.4)))
    for words, code in (
        (["recommend", a, "--draft-cost", "0.1"], 0),
        (["explain", a, "--base-tpot", "12", "--spec-tpot", "9"], 0),
        (["ab", a, b], 1),
    ):
        assert main(words) == code
        assert "#running-req" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["recommend", "ab"])
def test_lines_without_one_kappa_say_what_to_do(put, capsys, command):
    """Adaptive κ with means only tells no curve; a κ nobody knows has to be given."""
    adaptive = put("a.log", decode((4, 3.1), (4, 2.8)) + decode((4, 3.7), (4, 3.4), kappa=7))
    assert main([command, adaptive]) == 2
    assert "it ran at κ = 3, 7 and holds means only: take a stretch of it at one κ" in capsys.readouterr().err
    assert main([command, put("b.log", lines(sglang_decode(2.5), sglang_decode(2.6)))]) == 2
    assert "give --kappa" in capsys.readouterr().err


def test_a_length_above_kappa_plus_one_contradicts_kappa(put):
    file = put("a.log", lines(sglang_decode(2.5), sglang_decode(2.6)))
    with pytest.raises(simspec.ParameterError, match=r"kappa = 1 contradicts it: E = 2\.550 is above"):
        read_acceptance([file], 1, 0.95)
    assert read_acceptance([file], 3, 0.95).kappa == 3


# progress


def test_what_is_read_is_told_in_bytes_on_the_disk(put):
    text = windows(*[SMALL] * 9000)
    assert len(text) > 3 * BLOCK
    for name in ("a.log", "a.log.gz"):
        said = []
        with listening(said.append):
            simspec.fit(put(name, text))
        assert f"reading {put(name, text)}: " in said[0]
        assert said[-1] == "all files are read; working"
        whole = said[-2].rpartition(": ")[2].split()
        assert whole[0] == whole[2]
        assert len(said) >= 4


def test_standard_input_has_no_size(monkeypatch):
    said = []
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"x" * 3_000_000)))
    with listening(said.append):
        list(Text("-").blocks())
    assert said[-1] == "reading standard input: 3 MB"


def test_nobody_listens_unless_asked(put, capsys):
    simspec.fit(put("a.log", windows(SMALL)))
    assert capsys.readouterr().err == ""
