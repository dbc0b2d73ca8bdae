"""The loss adds up, errors travel, unlike runs are refused, and what looks wrong is said."""

import json
import math
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simspec
from simspec.advice.acceptance import acceptance_of_numbers
from simspec.advice.convert.conventions import CONVENTIONS
from simspec.advice.explain.explanation import ACCOUNTING
from simspec.advice.explain.flags import FLAGS
from simspec.advice.explain.same_content import one_acceptance, unlike
from simspec.advice.explain.speeds import measured
from simspec.advice.explain.split import REST, Prices, split
from simspec.advice.explain.why import explain
from simspec.cli.main import main
from simspec.evidence.costs.round_costs import RoundCosts
from simspec.evidence.source import Unknown

PRICES = st.one_of(st.none(), st.floats(0.0, 3.0))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.floats(1.0, 50.0), st.floats(1.0, 20.0), st.integers(0, 16), PRICES, PRICES,
    st.one_of(st.none(), st.floats(0.0, 5.0)), PRICES,
)  # fmt: skip
def test_the_parts_add_up_to_what_was_measured(cost, emitted, kappa, draft, verify, fixed, slope):
    """1/(κ+1) + Σ parts = R/E to rounding, and the costs to R − 1, whatever is known."""
    emitted = min(emitted, kappa + 1.0)
    parts = split(cost, emitted, float(kappa), Prices(draft, verify, fixed, slope))
    total = 1.0 / (kappa + 1.0) + math.fsum(part.per_token for part in parts)
    assert total == pytest.approx(cost / emitted, rel=1e-9, abs=1e-12)
    steps = math.fsum(part.steps for part in parts if part.steps is not None)
    assert steps == pytest.approx(cost - 1.0, rel=1e-9, abs=1e-9)
    shares = [part.share for part in parts if not math.isnan(part.share)]
    assert not shares or math.fsum(shares) == pytest.approx(1.0)
    for part in parts[1:]:
        if part.without is not None:
            assert part.without == pytest.approx(emitted / (cost - part.steps))
    assert ACCOUNTING.startswith("plain steps per emitted token")


@pytest.mark.parametrize(
    ("prices", "names"),
    [
        (Prices(), ["drafting, verify width and fixed overhead together"]),
        (Prices(draft=0.1), ["drafting", "verify width and fixed overhead together"]),
        (Prices(draft=0.1, verify=0.05), ["drafting", "verify width", "fixed overhead (what is left)"]),
        (Prices(fixed=1.2), ["fixed overhead", "drafting and verify width together"]),
        (Prices(fixed=1.2, slope=0.1), ["drafting and verify width together", "fixed overhead"]),
        (Prices(draft=0.06, fixed=1.2, slope=0.1), ["drafting", "verify width", "fixed overhead"]),
        (Prices(draft=0.1, verify=0.02, fixed=1.2), ["drafting", "verify width", "fixed overhead", REST]),
    ],
)
def test_only_what_is_known_apart_is_split(prices, names):
    """R = 1.5 at κ = 3; a straight line 1.2 + 0.1κ meets it exactly."""
    assert [part.name for part in split(1.5, 2.0, 3.0, prices)][1:] == names


def test_costs_of_a_sweep_split_the_round():
    """R = 1.09 + .105κ, as of vllm-project/vllm issue 20780: EAGLE at κ = 3 took 9.82 ms, plain 7.07."""
    own = explain(emitted=2.29, kappa=3, base_tpot_ms=7.07, spec_tpot_ms=4.29, costs=RoundCosts.affine(1.0877, 0.1047))
    parts = {part.name: part for part in own.parts}
    assert parts["fixed overhead"].steps == pytest.approx(0.0877)
    assert parts["drafting and verify width together"].steps == pytest.approx(0.3141)
    assert "COSTS_DISAGREE" not in own.flags
    own = explain(
        emitted=2.29,
        kappa=3,
        base_tpot_ms=7.07,
        spec_tpot_ms=4.29,
        costs=RoundCosts.affine(1.0877, 0.1047),
        draft_ms=0.5,
    )
    assert {"drafting", "verify width", "fixed overhead"} < {part.name for part in own.parts}
    wrong = explain(emitted=2.29, kappa=3, base_tpot_ms=7.07, spec_tpot_ms=4.29, costs=RoundCosts.affine(2.0, 0.3))
    assert "COSTS_DISAGREE" in wrong.flags
    assert (
        "COSTS_DISAGREE" in explain(emitted=2.29, kappa=3, base_tpot_ms=7.07, spec_tpot_ms=4.29, draft_cost=0.5).flags
    )


def test_identities_between_the_figures():
    own = explain(survival=[0.7, 0.5, 0.3], base_tok_s=100, spec_tok_s=80)
    assert own.speedup.value == pytest.approx(own.emitted / own.round_cost.value)
    assert own.ceiling == pytest.approx(4.0 / own.round_cost.value)
    alpha = own.break_even_alpha
    assert math.fsum(alpha**j for j in range(4)) == pytest.approx(own.round_cost.value)
    pace = explain(alpha=alpha, kappa=3, base_tpot_ms=1.0, spec_round_ms=own.round_cost.value)
    assert pace.speedup.value == pytest.approx(1.0)
    assert "equally fast" in pace.verdict


def test_the_units_agree():
    """The same run in tok/s, TPOT and ms per round."""
    figures = {"emitted": 2.5, "kappa": 4}
    runs = [
        explain(**figures, base_tok_s=100, spec_tok_s=125),
        explain(**figures, base_tpot_ms=10, spec_tpot_ms=8),
        explain(**figures, base_tpot_ms=10, spec_round_ms=20),
        explain(**figures, base_tpot_ms=10, spec_itl_ms=20),
        explain(**figures, base_tok_s=100, spec_tpot_ms=8, streams=1),
        explain(**figures, base_tpot_ms=10, spec_tok_s=1000, streams=8),
        explain(**figures, base_tok_s=800, spec_round_ms=20, streams=8),
    ]
    for own in runs:
        assert own.round_cost.value == pytest.approx(2.0)
        assert own.speedup.value == pytest.approx(1.25)
    for own in runs[1:]:
        assert own.speeds.plain_ms == pytest.approx(10.0)
        assert own.round_ms == pytest.approx(20.0)
    assert runs[0].round_ms is None  # tok/s of how many streams?


def test_errors_travel():
    """Relative errors of E and of both speeds add in squares, on the scale of logarithms."""
    own = explain(emitted=2.5, kappa=4, rounds=400, base_tok_s="100±1", spec_tok_s="125±2")
    ends = own.acceptance.emitted_interval
    halves = (1.96 * 0.01, 1.96 * 0.016, math.log(ends[1] / ends[0]) / 2)
    assert own.round_cost.half == pytest.approx(math.hypot(*halves), rel=1e-3)
    assert own.speedup.half == pytest.approx(math.hypot(*halves[:2]), rel=1e-3)
    assert own.interval(own.speedup) == pytest.approx([1.25 * math.exp(-0.03678), 1.25 * math.exp(0.03678)], rel=1e-3)
    timed = explain(emitted=2.5, kappa=4, rounds=400, base_tpot_ms="10±0.1", spec_round_ms=20)
    assert timed.round_cost.half == pytest.approx(0.0196, rel=1e-3)
    assert timed.speedup.half > timed.round_cost.half
    repeats = measured("base_tok_s", [100.0, 101.0, 99.0], 0.95)
    assert repeats.value == 100.0
    assert repeats.half == pytest.approx(4.303 / 3**0.5 / 100, rel=1e-3)  # Student, two degrees of freedom


def test_coverage_of_the_interval_of_r():
    """2000 draws of both speeds from one addressed stream: the 95% interval of R holds the truth 93 to 97% of the time.

    Binomial with 2000 draws: outside [1860, 1940] with probability below 1e-4 at 95% coverage; the stream is fixed.
    Planting half the error makes it 67%.
    """
    import numpy as np
    from scipy.special import ndtri

    from simspec.evidence.words import uniforms
    from simspec.kernels.words import stream_keys

    keys = stream_keys(20, "explain", "test")
    base, spec = (ndtri(uniforms(keys, np.arange(2000), i) + 2.0**-54) for i in (0, 1))
    hit = {1.0: 0, 0.5: 0}
    for b, s in zip(100 + base, 125 + 2 * spec, strict=True):
        for scale in hit:
            own = explain(emitted=2.5, base_tok_s=f"{b}±{scale}", spec_tok_s=f"{s}±{2 * scale}")
            low, high = own.interval(own.round_cost)
            hit[scale] += low <= 2.0 <= high
    assert 1860 <= hit[1.0] <= 1940
    assert hit[0.5] < 1500


@pytest.mark.parametrize(
    ("figures", "part"),
    [
        ({}, "nothing given"),
        ({"emitted": 2.0}, None),
        ({"emitted": 0.5, "kappa": 3}, "out of range"),
        ({"emitted": 0.5}, "bonus token counted"),
        ({"emitted": 5.0, "kappa": 3}, "above κ + 1 = 4: the bonus token is counted twice"),
        ({"rate": 1.2, "kappa": 3}, "counts the bonus token above the line only"),
        ({"emitted": 2.0, "alpha": 0.5, "kappa": 3}, "exactly one"),
        ({"emitted": 2.0, "kappa": 3, "base_tok_s": 100}, "no speed of the speculative run"),
        ({"emitted": 2.0, "kappa": 3, "spec_tok_s": 100}, "no speed of the plain run"),
        (
            {"emitted": 2.0, "kappa": 3, "base_tok_s": 100, "base_tpot_ms": 10, "spec_tok_s": 100},
            "--base-speed and --base-tpot",
        ),
        ({"emitted": 2.0, "kappa": 3, "base_tok_s": 100, "spec_tpot_ms": 10}, "are not comparable"),
        ({"emitted": 2.0, "kappa": 3, "base_tok_s": 0, "spec_tok_s": 10}, "out of range"),
        ({"emitted": 2.0, "kappa": 3, "base_tok_s": "fast", "spec_tok_s": 10}, "allowed: a positive number"),
        ({"emitted": 2.0, "kappa": 3, "base_tok_s": "1,2±3", "spec_tok_s": 10}, "not beside repeats"),
        ({"emitted": 2.0, "kappa": 3, "base_tok_s": math.inf, "spec_tok_s": 10}, "out of range"),
        ({"emitted": 2.0, "kappa": 3, "base_tok_s": 1e-300, "spec_tok_s": 1e300}, "out of range"),
        ({"emitted": 2.0, "kappa": 3, "base_tok_s": 1, "spec_tok_s": 1, "streams": 0}, "streams ≥ 1"),
        ({"emitted": 2.0, "kappa": 3, "base_tok_s": 1, "spec_tok_s": 1, "draft_ms": 1}, "--draft-ms needs"),
        (
            {"emitted": 2.0, "kappa": 3, "base_tpot_ms": 1, "spec_tpot_ms": 1, "draft_ms": 1, "draft_cost": 1},
            "one of them",
        ),
        ({"emitted": 2.0, "kappa": 3, "base_tpot_ms": 1, "spec_tpot_ms": 1, "draft_cost": -1}, "at least 0"),
        ({"emitted": 2.0, "kappa": 3, "base_tokens": 0, "spec_tokens": 5}, "out of range"),
        ({"emitted": 2.0, "kappa": 3, "level": 1.5}, "0.5 ≤ level < 1"),
        ({"rounds": 5, "base_tok_s": 1, "spec_tok_s": 1}, "goes with a figure"),
        ({"kappa": 0, "emitted": 2.0, "base_tok_s": 1, "spec_tok_s": 1}, "emits 1 token"),
    ],
)
def test_rubbish_is_refused_in_one_line(figures, part):
    if part is None:
        assert "speculation pays as long as a round costs less" in explain(**figures).verdict
        return
    with pytest.raises(simspec.ParameterError) as told:
        explain(**figures)
    assert part in str(told.value)
    assert "\n" not in str(told.value)


def test_flags():
    cheap = explain(emitted=3.0, kappa=3, base_tok_s=100, spec_tok_s=350)
    assert "counts the bonus token twice" in cheap.flags["ROUND_CHEAPER_THAN_STEP"]
    assert "which no round can" in cheap.verdict
    assert isinstance(cheap.parts, Unknown)
    alike = explain(emitted=1.0, kappa=3, rounds=161, base_tok_s=100, spec_tok_s=70).to_dict()
    high = 1.0 + 3 * (1.0 - 0.025 ** (1 / 161))  # nothing accepted: at most so many first drafts, and all behind them
    assert alike["emitted_interval"] == pytest.approx([1.0, high])
    assert alike["round_cost_interval"][1] == pytest.approx(100 / 70 * high)
    with pytest.raises(simspec.ParameterError, match="cannot be split"):
        cheap.to_pandas()
    covered = explain(emitted=3.0, kappa=3, base_tok_s="100±5", spec_tok_s="305±10")
    assert "its interval covers 1" in covered.flags["ROUND_CHEAPER_THAN_STEP"]
    assert "which no round can" not in covered.verdict
    unsure = explain(emitted=2.0, kappa=3, base_tok_s="100±5", spec_tok_s="101±5")
    assert "not told from plain decoding" in unsure.verdict
    assert list(unsure.flags) == ["WITHIN_ERROR"]
    fine = explain(emitted=2.5, kappa=3, base_tok_s=100, spec_tok_s=150)
    assert fine.flags == {}
    seen = {code for own in (cheap, covered, unsure) for code in own.flags}
    assert seen <= set(FLAGS)


def test_better_acceptance_is_not_advised_below_the_ceiling():
    """At every R above κ + 1 the verdict says that acceptance cannot help; below, what it would take."""
    for cost in (3.5, 4.0, 4.5, 9.0):
        own = explain(emitted=2.0, kappa=3, base_tpot_ms=1.0, spec_round_ms=cost)
        helpless = cost >= 4.0
        assert ("better acceptance cannot help" in own.verdict) == helpless
        assert ("to pay it needs E above" in own.verdict) == (not helpless)
        assert isinstance(own.break_even_alpha, Unknown) == (cost > 4.0)


def log_line(rates, drafts):
    """A line of vLLM V1."""
    accepted = sum(round(rate * drafts) for rate in rates)
    total = drafts * len(rates)
    return (
        "INFO 05-08 16:26:29 [metrics.py:10] SpecDecoding metrics: "
        f"Mean acceptance length: {1 + accepted / drafts:.2f}, Accepted throughput: 4.50 tokens/s, Drafted throughput: "
        f"12.00 tokens/s, Accepted: {accepted} tokens, Drafted: {total} tokens, Per-position acceptance rate: "
        f"{', '.join(f'{rate:.3f}' for rate in rates)}, Avg Draft acceptance rate: {100 * accepted / total:.1f}%\n"
    )


def test_windows_of_different_content_are_not_merged(tmp_path):
    """Rates of eugr/spark-vllm-docker issue 343: .844 and .766 of the first draft; U25."""
    paths = []
    for name, rates in (("a", [0.844, 0.599]), ("b", [0.766, 0.545]), ("c", [0.842, 0.600])):
        paths.append(tmp_path / f"{name}.log")
        paths[-1].write_text(log_line(rates, 1000))
    a, b, c = paths
    with pytest.raises(simspec.ParameterError, match=r"not of one content.*0\.844 and 0\.766"):
        explain(a, b, base_tok_s=100, spec_tok_s=150)
    own = explain(a, c, base_tok_s=100, spec_tok_s=150)
    assert own.acceptance.rounds == 2000
    assert own.emitted == pytest.approx(1 + (0.844 + 0.599 + 0.842 + 0.600) / 2, abs=1e-3)
    single = explain(a, base_tok_s=100, spec_tok_s=150)
    widths = [x.acceptance.emitted_interval[1] - x.acceptance.emitted_interval[0] for x in (own, single)]
    assert widths[0] == pytest.approx(widths[1] / 2**0.5, rel=0.02)
    with pytest.raises(simspec.ParameterError, match="allowed: one of them"):
        explain(a, emitted=2.0)
    with pytest.raises(simspec.ParameterError, match="allowed: one of them"):
        explain(a, rounds=2)


def test_unlike_says_what_differs():
    a, b = (acceptance_of_numbers(kappa=k, emitted=2.0, rounds=100) for k in (3, 4))
    assert "κ = 3 and 4" in unlike(a, b, 0.95)
    a, b = (acceptance_of_numbers(kappa=3, emitted=e, rounds=5000) for e in (2.0, 2.2))
    assert "E = 2.000 and 2.200" in unlike(a, b, 0.95)
    assert unlike(a, a, 0.95) is None
    bare = acceptance_of_numbers(kappa=3, emitted=2.0)
    assert one_acceptance([bare], 0.95) is bare
    with pytest.raises(simspec.ParameterError, match="without a number of rounds"):
        one_acceptance([bare, bare], 0.95)


def test_json_and_table():
    own = explain(emitted=2.29, kappa=3, base_tpot_ms=7.07, spec_tpot_ms=4.29, draft_ms=0.74, rounds=1000)
    data = own.to_dict()
    total = data["ideal_per_token"] + sum(part["per_token"] for part in data["parts"])
    assert total == pytest.approx(data["round_cost_over_emitted"])
    frame = own.to_pandas()
    assert frame["per_token"].sum() == pytest.approx(data["round_cost_over_emitted"])
    assert data["round_ms"] == pytest.approx(9.824, rel=1e-3)
    assert own.verdict in " ".join(repr(own).split())
    missing = explain(kappa=3, base_tok_s=100, spec_tok_s=80).to_dict()
    assert missing["round_cost"] is None
    assert missing["parts"] is None
    assert set(missing["reasons"]) == {"emitted", "ceiling_speedup", "break_even_alpha", "parts"}


def test_the_document_lists_every_flag_and_convention_and_shows_true_answers(capsys):
    text = (Path(__file__).parents[2] / "docs" / "explain.md").read_text()
    for code, meaning in FLAGS.items():
        assert f"| `{code}` | {meaning} |" in text
    for own in CONVENTIONS:
        assert f"| `{own.name}` | {own.engine} | {own.versions} | {own.formula} | {own.cannot} |" in text
    shown = re.findall(r"^\$ simspec (.*)\n((?:.+\n)+?)```", text, re.MULTILINE)
    assert len(shown) == 2
    for command, first in shown:
        main(command.split())
        out, err = capsys.readouterr()
        assert (out + err).startswith(first)


CLI = """encoded    3 tokens in    0.082 seconds, speed:   36.586 t/s
decoded  371 tokens in   34.412 seconds, speed:   10.781 t/s

n_draft   = 16
n_predict = 371
n_drafted = 912
n_accept  = 313
accept    = 34.320%

draft:

llama_perf_context_print:        eval time =  9393.60 ms / 912 runs (   10.30 ms per token,    97.09 tokens per second)

target:

llama_perf_context_print:        eval time =   181.82 ms / 2 runs (   90.91 ms per token,    11.00 tokens per second)
"""
"""Figures of ggml-org/llama.cpp pull request 10455."""


def written(folder, name, text):
    (folder / name).write_text(text)
    return folder / name


def test_a_llamacpp_log_explains_itself(tmp_path):
    """Both speeds and the drafting stand in it; what is typed wins."""
    log = written(tmp_path, "run.txt", CLI)
    own = explain(log)
    assert own.speeds.plain_ms == pytest.approx(90.91)
    assert own.round_cost.value == pytest.approx(34412 / 58 / 90.91)
    parts = {part.name: part.steps for part in own.parts}
    assert parts["drafting"] == pytest.approx(912 / 58 * 10.3 / 90.91)
    assert set(own.read) == {"base_tpot_ms", "spec_round_ms", "draft_ms"}
    assert "90.91 ms per token, from its single-token passes of the target" in " ".join(str(own).split())
    assert own.to_dict()["read_from_log"]["spec_round_ms"].startswith("593.3 ms per round")
    other = explain(log, spec_tok_s=12.0, base_tok_s=11.0, draft_cost=0.2)
    assert other.speedup.value == pytest.approx(12 / 11)
    assert other.read == {}
    assert {part.name: part.steps for part in other.parts}["drafting"] == pytest.approx(912 / 58 * 0.2)


def test_a_log_without_a_plain_speed_says_what_is_missing(tmp_path):
    log = written(tmp_path, "run.txt", CLI.split("target:")[0])
    assert "the log tells its speed (593.3 ms per round" in explain(log).verdict
    assert "(--base-speed or --base-tpot)" in explain(log).verdict
    own = explain(log, base_tok_s=11.0)  # llama.cpp times one request: so is the plain speed
    assert own.round_cost.value == pytest.approx(34412 / 58 / (1000 / 11))


def test_requests_timed_one_by_one(tmp_path):
    """llama.cpp timings: 135 and 50 passes of 80 and 60 ms, one request without drafts at 16 tok/s."""
    timings = [
        {"predicted_n": 200, "predicted_ms": 135 * 80.0, "draft_n": 347, "draft_n_accepted": 65},
        {"predicted_n": 100, "predicted_ms": 50 * 60.0, "draft_n": 150, "draft_n_accepted": 50},
        {"predicted_n": 100, "predicted_ms": 6250.0, "predicted_per_second": 16.0},
    ]
    log = written(
        tmp_path, "t.jsonl", "".join(json.dumps({"timings": {"prompt_n": 1, **own}}) + "\n" for own in timings)
    )
    own = explain(log)
    mean = (135 * 80 + 50 * 60) / 185
    assert own.round_cost.value == pytest.approx(mean / 62.5)
    assert own.drafts == pytest.approx(497 / 185)
    assert not isinstance(own.ceiling, Unknown)
    assert "the times of 2 requests (185 rounds)" in own.read["spec_round_ms"]
    assert "which may be of other content" in own.read["base_tpot_ms"]


def test_a_table_of_timed_rounds_gives_every_part(tmp_path):
    """Drafting 0.4 + 2κ ms, verifying 21 + 0.5κ ms, plain 20 ms: fixed 1 ms, the rest by the mean κ = 2."""
    rows = [
        f"{a},{k},{0.4 + 2 * k},{21 + 0.5 * k}" for k in (1, 2, 3) for a in range(k + 1) for _ in range(12 // (k + 1))
    ]
    log = written(tmp_path, "r.csv", "\n".join(["accepted,kappa,draft_ms,verify_ms", *rows]) + "\n")
    own = explain(log, base_tpot_ms=20.0)
    parts = {part.name: part.steps for part in own.parts}
    assert parts["drafting"] == pytest.approx((0.4 + 2 * 2) / 20)
    assert parts["verify width"] == pytest.approx(0.5 * 2 / 20)
    assert parts["fixed overhead"] == pytest.approx(1 / 20)
    assert REST not in parts
    assert own.round_cost.value == pytest.approx((0.4 + 2 * 2 + 21 + 0.5 * 2) / 20)
    with pytest.raises(simspec.ParameterError, match=r"and the log tells ms per round: .* add --streams N"):
        explain(log, base_tok_s=50.0)
    assert explain(log, base_tok_s=50.0, streams=1).round_cost.value == pytest.approx(own.round_cost.value)


def test_a_table_of_timed_rounds_at_one_kappa_gives_the_round_and_the_drafting(tmp_path):
    """Drafting 6 ms and verifying 22 to 24 ms at κ = 3, plain 20 ms: no slope over κ, but R = 29/20 and D = 6/20."""
    rows = [f"{a},3,6.0,{22 + i % 3}" for i, a in enumerate([0, 1, 2, 3] * 6)]
    log = written(tmp_path, "r.csv", "\n".join(["accepted,kappa,draft_ms,verify_ms", *rows]) + "\n")
    own = explain(log, base_tpot_ms=20.0)
    assert own.round_cost.value == pytest.approx(29 / 20)
    assert {part.name: part.steps for part in own.parts}["drafting"] == pytest.approx(6 / 20)
    assert "the means of its columns" in own.read["spec_round_ms"]
    block = simspec.fit(log)[0].body["pooled"]
    assert isinstance(block["verify_ms_per_token"], Unknown)
    assert block["verify_ms_per_round"] == pytest.approx(23.0)


def test_a_steady_vllm_log_counts_its_streams(tmp_path):
    """Four running at 400 tok/s in all, E = 3: a round takes 30 ms, the plain run made 200 tok/s in all: R = 1.5."""
    head = "(EngineCore_0 pid=7) INFO 09-01 10:00:{:02d} [{}] "
    lines = []
    for second in (10, 20, 30):
        lines.append(
            head.format(second, "loggers.py:123")
            + "Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 400.0 tokens/s, "
            "Running: 4 reqs, Waiting: 0 reqs, GPU KV cache usage: 1.0%, Prefix cache hit rate: 0.0%"
        )
        lines.append(
            head.format(second, "metrics.py:96")
            + "SpecDecoding metrics: Mean acceptance length: 3.00, Accepted throughput: 266.60 tokens/s, Drafted "
            "throughput: 400.00 tokens/s, Accepted: 2666 tokens, Drafted: 3999 tokens, Per-position acceptance rate: "
            "0.800, 0.700, 0.500, Avg Draft acceptance rate: 66.7%"
        )
    log = written(tmp_path, "v.log", "\n".join(lines) + "\n")
    own = explain(log, base_tok_s=200.0)
    assert own.round_cost.value == pytest.approx(1.5, rel=1e-3)
    assert own.speedup.value == pytest.approx(2.0, rel=1e-3)


def test_a_table_of_costs_splits_what_it_holds(tmp_path):
    """R = 1 + .1κ and .8 more beyond κ = 5; the loop at κ = 0 costs 1.05."""
    rounds = {k: 10 * (1.0 + 0.1 * k + (0.8 if k > 5 else 0.0)) for k in range(1, 10)}
    rows = ["kind,kappa,round_ms", "plain,0,10", *(f"spec,{k},{ms}" for k, ms in rounds.items())]
    without = simspec.costs(written(tmp_path, "a.csv", "\n".join(rows) + "\n")).at()
    loop = simspec.costs(written(tmp_path, "b.csv", "\n".join([*rows, "loop,0,10.5"]) + "\n")).at()
    figures = {"emitted": 2.9, "kappa": 7, "base_tpot_ms": 10, "spec_round_ms": 25}
    own = explain(**figures, costs=without)
    steps = {part.name: part.steps for part in own.parts}
    assert steps["kernel edges"] == pytest.approx(0.8, abs=0.01)
    assert steps["drafting, verify width and fixed overhead together"] == pytest.approx(0.7, abs=0.01)
    assert any("no row of the loop without drafts" in note for note in own.to_dict()["notes"])
    own = explain(**figures, costs=loop)
    steps = {part.name: part.steps for part in own.parts}
    assert steps["fixed overhead"] == pytest.approx(0.05)
    assert steps["drafting and verify width together"] == pytest.approx(0.65, abs=0.01)
    assert "COSTS_DISAGREE" not in own.flags
    table = explain(**figures, costs=RoundCosts.of_cost(simspec.Cost(c_d=0.1, verify_table=[1.2] + [1.8] * 7)))
    steps = {part.name: part.steps for part in table.parts}
    assert (steps["fixed overhead"], steps["drafting"]) == (pytest.approx(0.2), pytest.approx(0.7))
    assert steps["verify width"] == pytest.approx(0.6)


def test_a_rollback_cost_is_a_part_of_its_own():
    """.5 of a step where a draft is rejected, in .7 of the rounds."""
    figures = {"survival": [0.7, 0.5, 0.3], "base_tpot_ms": 10, "spec_round_ms": 20}
    own = explain(**figures, draft_cost=0.1, verify_cost=0.05, rollback_cost=0.5)
    steps = {part.name: part.steps for part in own.parts}
    assert steps["rollback"] == pytest.approx(0.35)
    assert steps["fixed overhead (what is left)"] == pytest.approx(1.0 - 0.35 - 0.45)
    given = explain(**figures, costs=RoundCosts.of_cost(simspec.Cost(c_d=0.1, c_v=0.05, c0=1.2, c_r=0.5)))
    assert {part.name for part in given.parts} >= {"rollback", "fixed overhead"}
    assert "COSTS_DISAGREE" not in given.flags
    with pytest.raises(simspec.ParameterError, match="share of rounds that reject"):
        explain(emitted=2.0, base_tpot_ms=10, spec_round_ms=20, rollback_cost=0.5)
