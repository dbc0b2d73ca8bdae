"""What a benchmark or log prints of time becomes R: TPOT before throughput, lines as repeats, iterations as rounds."""

import json
import math
import re

import numpy as np
import pytest
from writers import bench_frame

import simspec
from simspec.cli.main import main
from simspec.evidence.readers.trtllm_times import LONGEST
from simspec.stats.batch_means import MOST, BatchMeans

VLLM = (
    ("Maximum request concurrency", 16), ("Total input tokens", 131072), ("Total generated tokens", 49347),
    ("Output token throughput (tok/s)", 1187.08), ("Mean TTFT (ms)", 149.59), ("Mean TPOT (ms)", 12.11),
    ("Mean ITL (ms)", 54.31), ("Acceptance rate (%)", 43.26), ("Acceptance length", 4.46), ("Drafts", 11043),
    ("Draft tokens", 88344), ("Accepted tokens", 38217), *((f"Position {j}", rate) for j, rate in enumerate(
        (75.58, 60.94, 50.76, 41.94, 35.84, 30.64, 26.96, 23.42))),
)  # fmt: skip
"""vllm-project/vllm issue 40551 and pull 48892."""
SGLANG = (
    ("Backend", "sglang"), ("Max request concurrency", 8), ("Total input tokens", 85028),
    ("Total generated tokens", 83200), ("Output token throughput (tok/s)", 1000.0), ("Concurrency", 7.9),
    ("Accept length", 2.5), ("Mean TPOT (ms)", 7.7), ("Mean ITL (ms)", 19.2),
)  # fmt: skip
PLAIN = {"Accept length": None, "Mean TPOT (ms)": 12.5, "Mean ITL (ms)": 12.5, "Output token throughput (tok/s)": 625.0,
         "Total generated tokens": 83187}  # fmt: skip


def printed(pairs, changes=None):
    """A print-out with some of its figures changed, or left out where None."""
    figures = dict(pairs) | (changes or {})
    return bench_frame(*(f"{name}:   {value}   " for name, value in figures.items() if value is not None))


@pytest.fixture
def file(tmp_path):
    def write(name, text):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def rounds_ms(grid):
    """R of the one measured κ."""
    (point,) = grid.at().measured
    return point.cost


def test_the_printed_tpot_is_the_time_of_a_token_and_not_throughput(file):
    """R = E·TPOT ÷ plain TPOT = 4.4607 · 12.11 ÷ 20; throughput ÷ concurrency would give 3.01, waiting included."""
    grid = simspec.costs(file("bench.txt", printed(VLLM)), base_tpot_ms=20.0)
    assert rounds_ms(grid) == pytest.approx((1 + 38217 / 11043) * 12.11 / 20.0, abs=1e-9)
    assert grid.at().batch == 16.0
    assert not any("no TPOT" in note for note in grid.at().notes)
    assert re.search(r"^8 +2\.7010 +– .* measured$", str(grid), re.M)  # one print-out has no error, rather than 0
    assert grid.to_dict()["cells"][0]["round_cost"][7]["error"] is None
    by_gap = 54.31 / 20.0  # ITL, one gap per round in this version, says the same within 1%
    assert rounds_ms(grid) == pytest.approx(by_gap, rel=0.01)


def test_throughput_stands_in_only_where_no_tpot_is_printed_and_it_is_said(file):
    without = file("bench.txt", printed(VLLM, {"Mean TPOT (ms)": None, "Mean ITL (ms)": None}))
    grid = simspec.costs(without, base_tpot_ms=20.0)
    assert rounds_ms(grid) == pytest.approx((1 + 38217 / 11043) * 16 * 1000 / 1187.08 / 20.0)
    assert any("no TPOT is printed" in note and "queueing" in note for note in grid.at().notes)
    assert "no TPOT is printed" in " ".join(str(grid).split())


def test_sglang_prints_both_runs_and_the_concurrency_asked_for_names_the_load(file):
    spec, base = file("spec.txt", printed(SGLANG)), file("base.txt", printed(SGLANG, PLAIN))
    grid = simspec.costs(spec, base, kappa=[3])
    assert rounds_ms(grid) == pytest.approx(2.5 * 7.7 / 12.5)
    assert grid.at().batch == 8.0
    assert simspec.fit(spec)[0].body["pooled"]["concurrency"] == 7.9


@pytest.mark.parametrize("asked", ["not set", "None", None])
def test_a_concurrency_nobody_set_is_the_measured_one(file, asked):
    grid = simspec.costs(
        file("s.txt", printed(SGLANG, {"Max request concurrency": asked})), kappa=[3], base_tpot_ms=12.5
    )
    assert grid.at().batch == 7.9


def test_result_files_hold_the_same_times(file):
    record = {
        "backend": "sglang", "request_throughput": 2.5, "output_throughput": 1000.0, "accept_length": 2.5,
        "concurrency": 7.9, "max_concurrency": 8, "mean_tpot_ms": 7.7, "mean_itl_ms": 19.2,
        "total_output_tokens": 83200, "total_input_tokens": 85028,
    }  # fmt: skip
    grid = simspec.costs(file("s.json", json.dumps(record)), kappa=[3], base_tpot_ms=12.5)
    assert (rounds_ms(grid), grid.at().batch) == (pytest.approx(1.54), 8.0)
    pooled = simspec.fit(file("t.json", json.dumps(record)))[0].body["pooled"]
    assert (pooled["generated_tokens"], pooled["input_tokens"], pooled["mean_tpot_ms"]) == (83200, 85028, 7.7)


# --- log lines as repeats -------------------------------------------------------------------------------------------


def vllm_lines(round_ms, kappa=3, running=4, drafts=400):
    """Log lines of a given time per round; half of the first drafts are accepted, nothing else."""
    out = []
    for i, ms in enumerate(round_ms):
        accepted = drafts // 2
        speed = running * (drafts + accepted) / drafts * 1000.0 / ms
        head = f"INFO 07-01 10:{i // 6:02}:{i % 6}0 [loggers.py:123] Engine 000: "
        out += [
            f"{head}Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: {speed:.1f} tokens/s, "
            f"Running: {running} reqs, Waiting: 0 reqs, GPU KV cache usage: 1.0%, Prefix cache hit rate: 0.0%",
            f"{head.replace('loggers.py:123', 'metrics.py:96').replace('Engine 000: ', '')}SpecDecoding metrics: Mean "
            f"acceptance length: 1.50, Accepted throughput: 20.00 tokens/s, Drafted throughput: 120.00 tokens/s, "
            f"Accepted: {accepted} tokens, Drafted: {kappa * drafts} tokens, Per-position acceptance rate: "
            f"{', '.join(['0.500'] + ['0.000'] * (kappa - 1))}, Avg Draft acceptance rate: {100 * 0.5 / kappa:.1f}%",
        ]
    return "\n".join(out) + "\n"


def test_lines_of_a_steady_log_are_repeats_whose_scatter_is_the_error(file):
    """One κ measured was R ± 0.0000; now the error is that of the mean over the lines, and follows their scatter."""
    times = [30.0 + 3.0 * math.sin(7.0 * i) for i in range(64)]
    errors = []
    for spread in (1.0, 3.0):
        own = [30.0 + spread * (ms - 30.0) for ms in times]
        text = file("v1.log", vllm_lines(own))
        (point,) = simspec.costs(text, base_tpot_ms=20.0).at().measured
        assert point.cost == pytest.approx(np.mean(own) / 20.0, rel=2e-3)
        assert point.rows == 8
        errors.append(point.error)
    assert 0.0 < errors[0] < 0.2
    assert 2.0 < errors[1] / errors[0] < 4.5


def test_a_log_whose_kappa_changes_is_a_sweep(file):
    text = vllm_lines([30.0] * 8, kappa=2) + vllm_lines([36.0] * 8, kappa=5)
    own = simspec.costs(file("v1.log", text), base_tpot_ms=20.0).at()
    assert [(point.kappa, round(point.cost, 2)) for point in own.measured] == [(2, 1.5), (5, 1.8)]


# --- TensorRT-LLM ---------------------------------------------------------------------------------------------------


def iteration(number, ms=15.0, accepted=12, requests=8, kappa=3, prefill=0, generating=None, share=0.2, snake=False):
    row = {
        "iter": number, "iterLatencyMS": ms,
        "inflightBatchingStats": {"numContextRequests": prefill, "numGenRequests": requests if generating is None
                                  else generating},
        "specDecodingStats": {
            "numDraftTokens": kappa * requests, "numAcceptedTokens": accepted, "numRequestsWithDraftTokens": requests,
            "acceptanceLength": 1 + accepted / requests, "iterLatencyMS": share * ms, "draftOverhead": share,
        },
    }  # fmt: skip
    if snake:
        row = json.loads(re.sub(r'"([a-zA-Z]+)":', lambda m: f'"{_snake(m[1])}":', json.dumps(row)))
    return json.dumps(row)


def _snake(name):
    return re.sub(r"(?<=[a-z])([A-Z]+)", lambda m: "_" + m[1].lower(), name)


@pytest.mark.parametrize("snake", [False, True])
def test_an_iteration_that_only_generates_is_a_round(file, snake):
    """Prefills, and iterations with requests that draft nothing, are no rounds."""
    rows = [iteration(i, 15.0 + 0.1 * (i % 3), 11 + i % 3, snake=snake) for i in range(120)]
    rows += [iteration(120, 80.0, prefill=2, snake=snake), iteration(121, 70.0, generating=9, snake=snake)]
    trt = file("trt.jsonl", "\n".join(rows) + "\n")
    (own,) = simspec.fit(trt)
    pooled = own.body["pooled"]
    assert pooled["iteration_ms"] == pytest.approx(15.1)
    assert pooled["draft_ms_per_round"] == pytest.approx(0.2 * 15.1)
    assert pooled["timed_iterations"] == 120
    assert [row["iterations"] for row in own.body["windows"]] == [LONGEST, LONGEST, 20]
    grid = simspec.costs(trt, base_tpot_ms=12.5)
    assert rounds_ms(grid) == pytest.approx(15.1 / 12.5)
    assert grid.at().draft == pytest.approx(0.2 * 15.1 / 3 / 12.5, rel=1e-3)
    why = simspec.explain(trt, base_tpot_ms=12.5)
    assert why.round_cost.value == pytest.approx(15.1 / 12.5)
    assert why.speedup.value == pytest.approx(pooled["mean_emitted_per_round"] * 12.5 / 15.1)
    low, high = pooled["intervals"]["mean_emitted_per_round"]
    assert low < 2.5 < high < low + 0.2


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([iteration(0, prefill=1)], "no iteration only generates"),
        ([iteration(0).replace("numContextRequests", "other")], "is missing"),
        ([iteration(0).replace('"iterLatencyMS": 15.0, ', "")], "is missing"),
        ([iteration(0), iteration(1, requests=1, accepted=1)], "the batch changes"),
    ],
)
def test_rows_that_time_no_round_say_so(file, rows, reason):
    (own,) = simspec.fit(file("trt.jsonl", "\n".join(rows) + "\n"))
    assert reason in own.to_dict()["reasons"]["pooled.iteration_ms"]


def test_the_interval_between_stretches_covers_with_dependent_entries():
    """AR(1) counts (ρ = 0.8), 2,000 series of 1,024 entries: at 95%, 93% are expected to cover; one by one, 48%.

    Stretches of 32 keep 7.8 of the 9 by which the dependence multiplies the variance.  False alarm below 1e-6: bounds
    are 5 standard errors (0.6%, 1.1%) away.  Stretches of 8 (``MOST = 128``) cover 84% and fail.
    """
    draws = np.random.default_rng(11)
    noise = draws.standard_normal((1024, 2000))
    level = np.zeros(2000)
    tops = np.empty((1024, 2000))
    for i in range(1024):
        level = 0.8 * level + 0.6 * noise[i]
        tops[i] = np.clip(np.rint(12.0 + 3.0 * level), 0, 24)
    covered, naive = 0, 0
    for series in tops.T.astype(int):
        own = BatchMeans()
        for top in series.tolist():
            own.add(top, 8)
        low, high = own.interval(0.95)
        covered += low <= 1.5 <= high
        naive += abs(series.mean() - 12.0) <= 1.96 * series.std() / 32.0
    assert len(own.tops) <= MOST
    assert 0.90 <= covered / 2000 <= 0.96
    assert naive / 2000 < 0.6


# --- columns and messages -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "text", "parts"),
    [
        ("fit", "num_speculative_tokens,TPOT,acceptance_length\n0,12.5,1\n1,8.4,1.80\n",
         [":1:", "'TPOT'", "simspec costs or --costs"]),
        ("explain", "k,tok_s,accept_length\n0,80,1\n2,160,2\n", [":1:", "'tok_s'", "simspec costs or --costs"]),
        ("fit", "kappa,ITL,accept_length\n0,12.5,1\n2,16.6,2.376\n", [":3:", "'accept_length'", "simspec costs or"]),
        ("costs", "speculative_num_steps,Mean ITL (ms),accept_length\n0,12.5,1\n2,16.6,2.376\n",
         ["'Mean ITL (ms)'", "round_ms or tpot_ms"]),
        ("costs", "kappa,tpot_s,accept_length\n0,0.0125,1\n2,0.007,2.376\n", ["'tpot_s'", "in ms"]),
        ("costs", '"Draft tokens","TPOT (ms)","Accept len"\n0,12.5,1\n2,7.0,2.376\n', ["no column of κ", "under k"]),
        ("costs", "|k|ITL|\n|-|-|\n|0|12.5|\n", ["'ITL'", "no column of time"]),
        ("costs", "k,TPOT,AL\nx,12.5,1\n2,7.0,2.376\n", ["k = 'x'", "0 or baseline"]),
        ("fit", "request_id,num_drafts_made,num_accepted\na,3,1\n", [":1:", "'num_drafts_made'", "num_draft"]),
    ],
)  # fmt: skip
def test_an_error_names_the_column_and_where_it_belongs(file, capsys, command, text, parts):
    assert main([command, str(file("table.csv", text))]) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("[")]
    assert all(part in line for part in parts), line


def test_num_draft_is_known_and_baseline_is_plain(file):
    (own,) = simspec.fit(file("r.csv", "request_id,step,num_draft,num_accepted\na,0,6,1\na,1,6,6\nb,0,6,4\n"))
    assert own.body["pooled"]["mean_emitted_per_round"] == pytest.approx(1 + 11 / 3)
    text = "| num_speculative_tokens | AL | TPOT (ms) |\n|---|---|---|\n| baseline | - | 12.5 |\n| 3 | 2.5 | 6.0 |\n"
    assert rounds_ms(simspec.costs(file("s.md", text))) == pytest.approx(2.5 * 6.0 / 12.5)


@pytest.mark.parametrize(("text", "flag"), [(vllm_lines([30.0] * 4), "--base-tpot MS"), (printed(SGLANG), "--kappa N")])
def test_costs_beside_a_command_name_no_option_it_does_not_have(file, capsys, text, flag):
    code = main(["recommend", "--emitted", "2", "--kappa", "3", "--costs", str(file("own.log", text))])
    err = capsys.readouterr().err
    assert code == 2
    assert re.search(rf"simspec costs \S+ {flag} --json > costs\.json", err)
