"""Every shape is recognised and gives back the counts that were printed."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from writers import (
    ANSI,
    DEEP,
    OTHER,
    SAMPLES,
    SMALL,
    Truth,
    keyvalue,
    lengths_of,
    lines,
    llamacpp_cli,
    llamacpp_old,
    llamacpp_request,
    llamacpp_statistics,
    llamacpp_timings,
    mlc,
    rounds_csv,
    sglang_decode,
    sglang_meta,
    specbench,
    trtllm_iteration,
    vllm_bench,
    vllm_bench_json,
    vllm_current,
    vllm_early,
    vllm_engine,
    vllm_mid,
    vllm_offline,
    vllm_request,
    vllm_scrape,
    vllm_v0,
)

import simspec
from simspec.evidence.block import Counts, alpha_from_mean, figures
from simspec.evidence.kappa_seen import kappas_in
from simspec.evidence.readers import LINE_READERS, OBJECT_READERS, TABLE_READERS
from simspec.evidence.show import shown
from simspec.evidence.source import WARNINGS

BOTH = Truth(tuple(a + b for a, b in zip(SMALL.histogram, OTHER.histogram, strict=True)))


@pytest.fixture
def fit(tmp_path):
    """Texts as files, read; one source as a dictionary, several as a list."""

    def read(*texts, **options):
        files = []
        for i, text in enumerate(texts):
            files.append(tmp_path / f"file{i}")
            files[-1].write_bytes(text if isinstance(text, bytes) else text.encode())
        found = [source.to_dict() for source in simspec.fit(*files, **options)]
        return found[0] if len(found) == 1 else found

    return read


def agrees(block, truth, drafted=None):
    """The common block against the counts that were printed."""
    assert block["kappa"] == truth.kappa
    assert block["drafts"] == truth.drafts
    assert block["draft_tokens"] == (truth.drafted if drafted is None else drafted)
    assert block["accepted_tokens"] == truth.accepted
    assert block["accepted_at_position"] == truth.reached
    assert block["survival"] == truth.survival
    assert block["mean_emitted_per_round"] == pytest.approx(truth.length)
    assert block["cond_alpha"] == [
        b / a if a else None for a, b in zip([truth.drafts, *truth.reached], truth.reached, strict=False)
    ]
    for name in ("survival", "cond_alpha"):
        for value, (low, high) in zip(block[name], block["intervals"][name], strict=True):
            assert low <= value <= high
    alpha = block["iid_alpha_mle_from_mean"]
    assert sum(alpha ** (j + 1) for j in range(truth.kappa)) == pytest.approx(truth.length - 1)


@pytest.mark.parametrize("shape", SAMPLES)
def test_a_shape_is_recognised_and_every_null_has_a_reason(fit, shape):
    own = fit(SAMPLES[shape])
    assert own["shape"] == shape
    assert set(own["warn"]) <= set(WARNINGS)
    assert own["warn"] == sorted(own["warnings"])
    assert json.loads(json.dumps(own, allow_nan=False)) == own
    paths = set()

    def walk(value, path):
        if value is None:
            paths.add(path)
        for key, entry in value.items() if isinstance(value, dict) else ():
            walk(entry, f"{path}.{key}" if path else key)
        for i, entry in enumerate(value) if isinstance(value, list) else ():
            walk(entry, f"{path}[{i}]")

    body = {key: value for key, value in own.items() if key not in ("identities", "reasons")}
    walk(body, "")
    assert paths <= set(own["reasons"])


@pytest.mark.parametrize("shape", SAMPLES)
def test_a_source_reads_on_a_terminal(tmp_path, shape):
    (tmp_path / "file").write_text(SAMPLES[shape])
    (own,) = simspec.fit(tmp_path / "file")
    text = shown(own)
    assert f"{shape} (" in text
    assert all(code in text for code in own.warn)
    assert all(line.isprintable() for line in text.splitlines())
    survival = own.to_dict().get("pooled", {}).get("survival")
    assert survival is None or f"{survival[0]:.4f}" in text


def test_every_shape_of_every_reader_has_a_sample():
    shapes = {shape for reader in (*LINE_READERS, *OBJECT_READERS, *TABLE_READERS) for shape in reader.shapes}
    assert shapes - set(SAMPLES) == {"sglang-decode-rate-undecided", "rounds-parquet"}  # below


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        (SAMPLES["vllm-v1-mid"], BOTH),
        (SAMPLES["vllm-v1-current"], BOTH),
        (lines(vllm_current(SMALL, depth=True), vllm_current(OTHER, depth=True)), BOTH),
        (vllm_bench(DEEP), DEEP),
        (vllm_offline(SMALL), SMALL),
        (SAMPLES["vllm-per-request"], BOTH),
        (SAMPLES["sglang-meta-info"], BOTH),
        (lines(llamacpp_request(SMALL), llamacpp_request(OTHER, 2)), BOTH),
        (lines(llamacpp_statistics(SMALL), llamacpp_statistics(BOTH)), BOTH),
        (SAMPLES["spec-bench"], BOTH),
        (lines(mlc(SMALL), mlc(BOTH)), BOTH),
        (SAMPLES["key-value"], BOTH),
        (rounds_csv(DEEP), DEEP),
        (SAMPLES["speculators-csv"], BOTH),
        (vllm_scrape({"0": SMALL}) + vllm_scrape({"0": BOTH}), OTHER),
    ],
)
def test_counts_come_back(fit, text, truth):
    own = fit(text)
    agrees(own.get("pooled") or own["pooled_with_histogram"], truth)
    assert not {"IDENTITY_BROKEN", "RATE_CONTRADICTS_COUNTS", "TRUNCATED_LINE_DROPPED"} & set(own["warn"])
    assert all(identity["broken"] == 0 for identity in own["identities"])


# vLLM


def test_published_lines_of_vllm(fit):
    """Figures of vllm-project/vllm issues, one of each generation: 206 of 609 at κ = 3 is 203 drafts; issue 9539."""
    current = (
        "SpecDecoding metrics: Mean acceptance length: 2.01, Accepted throughput: 20.60 tokens/s, Drafted throughput: "
        "60.90 tokens/s, Accepted: 206 tokens, Drafted: 609 tokens, Per-position acceptance rate: 0.601, 0.286, 0.128, "
        "Avg Draft acceptance rate: 33.8%"
    )
    pooled = fit(lines(current))["pooled"]
    assert (pooled["drafts"], pooled["accepted_at_position"]) == (203, [122, 58, 26])
    old = (
        "Speculative metrics: Draft acceptance rate: 0.642, System efficiency: 0.598, Number of speculative tokens: 3, "
        "Number of accepted tokens: 8547, Number of draft tokens: 13311, Number of emitted tokens: 10616."
    )
    (segment,) = fit(lines(old))["segments"]
    assert segment["drafts"] == 4437
    assert segment["mean_emitted_per_round"] == pytest.approx(2.3926, abs=5e-5)
    assert segment["iid_alpha_from_emitted"] == pytest.approx(0.6626, abs=5e-5)
    assert segment["naive_wrong_emitted_per_round"] == pytest.approx(2.926, abs=5e-4)


PUBLISHED = [
    ("2.89", 104, 330, "0.691, 0.491, 0.291, 0.182, 0.164, 0.073", "31.5", 55),
    ("5.04", 813, 1206, "0.871, 0.751, 0.692, 0.632, 0.562, 0.537", "67.4", 201),
    ("2.48", 59, 240, "0.550, 0.425, 0.200, 0.150, 0.100, 0.050", "24.6", 40),
    ("2.62", 117, 432, "0.708, 0.417, 0.236, 0.139, 0.069, 0.056", "27.1", 72),
    ("2.01", 206, 609, "0.601, 0.286, 0.128", "33.8", 203),
    ("3.07", 141, 204, "0.897, 0.676, 0.500", "69.1", 68),
    ("2.88", 354, 564, "0.798, 0.628, 0.457", "62.8", 188),
    ("2.61", 361, 448, "0.853, 0.759", "80.6", 224),
    ("2.49", 94, 126, "0.841, 0.651", "74.6", 63),
    ("2.32", 256, 388, "0.747, 0.572", "66.0", 194),
    ("3.38", 31, 39, "0.846, 0.846, 0.692", "79.5", 13),
    ("2.56", 136, 174, "0.862, 0.701", "78.2", 87),
    ("2.42", 121, 170, "0.765, 0.659", "71.2", 85),
    ("2.97", 463, 705, "0.813, 0.664, 0.494", "65.7", 235),
    ("3.03", 337, 498, "0.837, 0.669, 0.524", "67.7", 166),
    ("2.89", 398, 633, "0.777, 0.635, 0.474", "62.9", 211),
    ("3.31", 259, 336, "0.884, 0.768, 0.661", "77.1", 112),
    ("3.00", 14, 35, "0.714, 0.429, 0.286, 0.286, 0.286", "40.0", 7),
    ("3.00", 1121, 3920, "0.732, 0.468, 0.330, 0.195, 0.129, 0.086, 0.062", "28.6", 560),
    ("2.83", 1003, 3836, "0.690, 0.449, 0.299, 0.170, 0.113, 0.071, 0.038", "26.1", 548),
    ("3.97", 95, 256, "0.750, 0.594, 0.375, 0.344, 0.312, 0.219, 0.188, 0.188", "37.1", 32),
    ("2.66", 103, 186, "0.726, 0.516, 0.419", "55.4", 62),
    ("2.61", 7667, 14322, "0.906, 0.497, 0.203", "53.5", 4774),
    ("1.34", 49, 2160, "0.340" + 14 * ", 0.000", "2.3", 144),
    ("1.93", 13, 14, "0.929", "92.9", 14),
]
"""Mean length, accepted, drafted, survival, rate in percent and drafts of lines of vLLM 0.11 that users posted: public
issues of vllm-project/vllm and vllm-project/speculators (613 is the one with fourteen zeros), a test fixture, and pull
request 40662, whose acceptance was set to .9, .5, .2."""


@pytest.mark.parametrize(("length", "accepted", "drafted", "rates", "rate", "drafts"), PUBLISHED)
def test_lines_that_users_posted_give_whole_counts(fit, length, accepted, drafted, rates, rate, drafts):
    line = (
        f"SpecDecoding metrics: Mean acceptance length: {length}, Accepted throughput: {accepted / 10:.2f} tokens/s, "
        f"Drafted throughput: {drafted / 10:.2f} tokens/s, Accepted: {accepted} tokens, Drafted: {drafted} tokens, "
        f"Per-position acceptance rate: {rates}, Avg Draft acceptance rate: {rate}%"
    )
    own = fit(lines(line))
    pooled, survival = own["pooled"], [float(text) for text in rates.split(", ")]
    assert (pooled["drafts"], pooled["kappa"]) == (drafts, len(survival))
    assert pooled["mean_emitted_per_round"] == 1 + accepted / drafts
    assert pooled["mean_emitted_per_round"] == pytest.approx(float(length), abs=5.1e-3)
    slack = pooled.get("accepted_at_position_error", 0)
    assert slack <= (5 if drafts > 1000 else 0)
    assert abs(sum(pooled["accepted_at_position"]) - accepted) <= slack * len(survival)
    assert pooled["survival"] == pytest.approx(survival, abs=5.1e-4)
    assert own["warn"] == []


def test_published_objects_of_requests(fit):
    """A request of vLLM's documentation of acceptance metrics, and one of sgl-project/sglang pull request 33518."""
    block = {"mean_acceptance_length": 53 / 43, "draft_acceptance_rate": 10 / 129,
             "acceptance_histogram": [39, 1, 0, 3], "num_spec_steps": 43, "num_accepted_draft_tokens": 10,
             "num_draft_tokens": 129, "num_spec_tokens": 3}  # fmt: skip
    pooled = fit(lines(json.dumps({"id": "a", "metrics": {"speculative_decoding": block}})))["pooled"]
    assert pooled["mean_emitted_per_round"] == pytest.approx(1.2326, abs=5e-5)
    assert pooled["draft_acceptance_rate"] == pytest.approx(0.0775, abs=5e-5)
    meta = {"spec_verify_ct": 43, "completion_tokens": 106, "spec_accept_length": 106 / 43,
            "spec_accept_rate": 63 / 215, "spec_num_correct_drafts": 63, "spec_num_proposed_drafts": 215,
            "spec_correct_drafts_histogram": [11, 14, 11, 4, 0, 3]}  # fmt: skip
    own = fit(lines(json.dumps({"meta_info": meta})))
    pooled = own["pooled_with_histogram"]
    assert (pooled["kappa"], pooled["drafts"], pooled["accepted_at_position"]) == (5, 43, [32, 18, 7, 3, 3])
    assert pooled["mean_emitted_per_round"] == pytest.approx(2.4651, abs=5e-5)
    assert own["warn"] == []


def test_scrapes_of_llamacpp(fit):
    """Counters as llama.cpp's server writes them: drafts that stop early, all accounted for by position."""
    head = "llamacpp:spec_decode_num_"
    positions = [
        f'{head}accepted_tokens_per_pos_total{{position="{j}"}} {n}' for j, n in enumerate((548, 540, 525, 492))
    ]
    counters = [f"{head}draft_tokens_total 2160", f"{head}accepted_tokens_total 2105", f"{head}drafts_total 552"]
    own = fit(lines(*counters, *positions))
    assert own["shape"] == "llamacpp-prometheus"
    assert own["pooled"]["mean_emitted_per_round"] == 1 + 2105 / 552
    assert own["pooled"]["accepted_at_position"] == [548, 540, 525, 492]
    assert own["warn"] == ["VARIABLE_DRAFT_LENGTH"]


def test_scrapes_of_old_vllm_hold_no_counts(fit):
    """vllm-project/vllm issue 7301 as gauges: efficiency .51 at κ = 4 is 2.55 tokens a round."""
    text = lines('vllm:spec_decode_draft_acceptance_rate{model_name="m"} 0.607',
                 'vllm:spec_decode_efficiency{model_name="m"} 0.51',
                 'vllm:spec_decode_num_accepted_tokens_total{model_name="m"} 32594.0',
                 'vllm:spec_decode_num_emitted_tokens_total{model_name="m"} 34244.0')  # fmt: skip
    own = fit(text)
    assert own["pooled"]["drafts"] is None
    assert "totals" in own["reasons"]["pooled.drafts"]
    assert fit(text, kappa=4)["given_kappa"]["4"]["mean_emitted_per_round"] == pytest.approx(2.55)


@pytest.mark.parametrize("percent", [False, True])
def test_a_result_file_of_vllm_bench_tells_its_unit_by_the_counts(fit, percent):
    own = fit(lines(vllm_bench_json(DEEP, percent)))
    agrees(own["pooled"], DEEP)
    assert "accepted_at_position_error" not in own["pooled"]
    assert own["pooled"]["output_tok_s"] == 1200.25
    assert own["warn"] == ["ITL_IS_PER_ROUND"]


def test_v0_is_cumulative_and_restarts_begin_a_segment(fit):
    own = fit(SAMPLES["vllm-v0-speculative-metrics"])
    assert [row["drafts"] for row in own["segments"]] == [OTHER.drafts, SMALL.drafts]
    assert own["segments"][0]["mean_emitted_per_round"] == pytest.approx(OTHER.length)
    assert own["warn"] == ["COUNTER_RESET", "V0_ACCEPTED_COUNTS_POST_REJECTION"]
    assert own["survival"] is None
    assert "rejection" in own["reasons"]["survival"]


def test_a_draft_that_never_helps_is_said(fit):
    """vllm-project/vllm issue 8620: 483 drafted at κ = 3, 161 emitted; no round emitted more than its own token."""
    own = fit(lines(vllm_v0(Truth((161, 0, 0, 0)))))
    assert own["segments"][0]["mean_emitted_per_round"] == 1.0
    assert "DRAFT_NEVER_ACCEPTED" in own["warn"]


def test_early_builds_say_tokens_twice(fit):
    doubled = (
        vllm_v0(SMALL)
        .replace("draft tokens:", "draft tokens tokens:")
        .replace("emitted tokens:", "emitted tokens tokens:")
    )
    assert fit(lines(doubled))["segments"] == fit(lines(vllm_v0(SMALL)))["segments"]


def test_a_mark_that_stands_twice_is_no_torn_line(fit):
    own = fit(lines(vllm_current(SMALL).replace("SpecDecoding metrics: ", "SpecDecoding metrics: " * 2)))
    agrees(own["pooled"], SMALL)
    assert own["warn"] == []


def test_v0_with_a_new_kappa_while_totals_go_on_is_refused(fit):
    with pytest.raises(simspec.ParameterError, match="κ changes from 3 to 5"):
        fit(lines(vllm_v0(SMALL), vllm_v0(DEEP)))


def test_without_kappa_nothing_is_said_per_round_and_with_it_all(fit):
    text = lines(vllm_early(SMALL), vllm_early(OTHER))
    own = fit(text)
    assert own["pooled"]["drafts"] is None
    assert "given_kappa" not in own
    assert "KAPPA_UNKNOWN" in own["warn"]
    given = fit(text, kappa=3)["given_kappa"]["3"]
    assert given["drafts"] == BOTH.drafts
    assert given["mean_emitted_per_round"] == pytest.approx(BOTH.length)
    assert fit(text, kappa=7)["given_kappa"]["7"]["drafts"] is None


def test_a_fraction_and_a_percentage_are_told_by_the_sign(fit):
    own = fit(SAMPLES["vllm-v1-early"])
    assert "UNIT_CHANGE_FRACTION_TO_PERCENT" in own["warn"]
    assert own["pooled"]["accepted_tokens"] == BOTH.accepted


def test_short_drafts_are_counted_by_the_only_number_that_fits(fit):
    own = fit(lines(vllm_mid(SMALL, SMALL.drafted - 11)))
    assert own["windows"][0]["drafts_exact"] == SMALL.drafts
    assert own["pooled"]["accepted_at_position"] == SMALL.reached
    assert own["pooled"]["cond_alpha_given_offered"] is None
    assert "VARIABLE_DRAFT_LENGTH" in own["warn"]


def test_a_multiple_of_kappa_is_no_proof_of_full_drafts(fit):
    """Twelve tokens fewer, four whole drafts of three: length and rates still tell the number."""
    own = fit(lines(vllm_mid(SMALL, SMALL.drafted - 12)))
    assert own["windows"][0]["drafts_exact"] == SMALL.drafts
    assert "VARIABLE_DRAFT_LENGTH" in own["warn"]


def test_a_rate_that_no_count_has_gives_no_number(fit):
    """Of 40 drafts, 23 are .575; no count is .576."""
    own = fit(lines(vllm_mid(SMALL).replace("0.575", "0.576"), vllm_mid(OTHER)))
    assert own["windows"][0]["drafts"] is None
    agrees(own["pooled"], OTHER)
    assert "IDENTITY_BROKEN" in own["warn"]


@pytest.mark.parametrize(("alpha", "rounds"), [(0.01, 161), (0.02, 100), (0.99, 100), (0.5, 100)])
def test_e_of_counts_without_requests_is_covered_near_its_ends_too(alpha, rounds):
    """1,000 logs at 95%, κ = 4: .91 or less has probability under 1e-6; the spread of lengths covers .82 at α = .01."""
    rng = np.random.default_rng(12)
    truth, hits = 1 + sum(alpha**j for j in range(1, 5)), 0
    for _ in range(1000):
        own = np.minimum(rng.geometric(1 - alpha, rounds) - 1, 4)
        counts = Counts(4, rounds, 4 * rounds, int(own.sum()), [int((own > j).sum()) for j in range(4)])
        low, high = figures(counts, 0.95)["intervals"]["mean_emitted_per_round"]
        hits += low <= truth <= high
    assert hits > 910
    low, high = figures(Counts(3, 161, 483, 0, [0, 0, 0]), 0.95)["intervals"]["mean_emitted_per_round"]
    assert (low, high) == (1.0, pytest.approx(1 + 3 * (1 - 0.025 ** (1 / 161)), abs=1e-9))


def test_the_rate_of_a_mean_is_that_of_the_sum_however_long_the_draft():
    for alpha, kappa in ((0.7, 4), (1 - 1e-9, 10_000), (1e-9, 3), (0.999, 10_000), (0.5, 1)):
        mean = sum(alpha**j for j in range(1, kappa + 1))
        assert alpha_from_mean(mean, kappa) == pytest.approx(alpha, rel=1e-7)
    assert (alpha_from_mean(0.0, 3), alpha_from_mean(3.0, 3)) == (pytest.approx(0.0, abs=1e-15), pytest.approx(1.0))


def test_a_statistics_line_belongs_to_one_window(fit):
    own = fit(lines(vllm_engine(running=2), vllm_mid(SMALL), vllm_mid(SMALL)))
    assert [row.get("running") for row in own["windows"]] == [2, None]
    assert [row.get("generation_tok_s") for row in own["windows"]] == [100.0, None]


def test_a_thousand_windows_are_listed_and_all_are_counted(fit):
    own = fit(lines(*[vllm_mid(SMALL)] * 1005))
    assert len(own["windows"]) == 1000
    assert own["windows_left_out"] == 5
    assert own["pooled"]["drafts"] == 1005 * SMALL.drafts
    requests = fit(lines(*(sglang_meta(SMALL, f"r{i}") for i in range(1005))))
    assert (len(requests["per_request"]), requests["per_request_left_out"]) == (1000, 5)


def test_where_several_numbers_of_drafts_fit_a_range_is_given(fit):
    truth = Truth((700_000, 200_000, 150_000, 300_000))
    own = fit(lines(vllm_mid(truth, truth.drafted - 7)))
    low, high = own["pooled"]["drafts_range"]
    assert low < truth.drafts < high
    assert own["windows"][0]["drafts_exact"] is None


def test_a_length_without_bonus_is_told_by_the_sum_of_the_rates(fit):
    own = fit(lines(vllm_mid(SMALL, bonus=False)))
    agrees(own["pooled"], SMALL)
    assert own["conventions"]["acceptance length"] == "bonus token excluded"


def test_nan_windows_are_skipped_and_said(fit):
    nothing = (
        "SpecDecoding metrics: Mean acceptance length: nan, Accepted throughput: 0.00 tokens/s, Drafted throughput: "
        "0.00 tokens/s, Accepted: 0 tokens, Drafted: 0 tokens, Per-position acceptance rate: nan, nan, nan, Avg Draft "
        "acceptance rate: nan%"
    )
    own = fit(lines(nothing, vllm_current(SMALL)))
    agrees(own["pooled"], SMALL)
    assert "NO_DRAFTS_IN_WINDOW" in own["warn"]


def test_a_changing_kappa_keeps_segments_and_censors(fit):
    own = fit(lines(vllm_current(SMALL), vllm_current(DEEP)))
    assert own["pooled"]["kappa"] is None
    assert own["pooled"]["survival"] is None
    assert not {"survival", "cond_alpha"} & set(own["pooled"]["intervals"])
    assert [block["kappa"] for block in own["segments"]] == [3, 5]
    agrees(own["segments"][1], DEEP)
    assert {"KAPPA_CHANGED", "CENSORED_BY_KAPPA"} <= set(own["warn"])
    both = SMALL.drafts + DEEP.drafts
    assert own["pooled"]["offered_at_position"] == [both] * 3 + [DEEP.drafts] * 2
    assert own["pooled"]["cond_alpha_given_offered"][3] == DEEP.reached[3] / DEEP.reached[2]


def test_several_engines_are_kept_apart_and_pooled_with_a_warning(fit):
    own = fit(lines(vllm_engine(0), vllm_current(SMALL), vllm_engine(1), vllm_current(OTHER)))
    agrees(own["engines"]["000"], SMALL)
    agrees(own["engines"]["001"], OTHER)
    agrees(own["pooled"], BOTH)
    assert "MULTI_ENGINE_POOLING" in own["warn"]


def test_processes_that_take_turns_are_engines_and_one_after_the_other_is_a_restart(fit):
    def window(pid, truth):
        prefix = f"(APIServer pid={pid}) "
        return vllm_engine(prefix=prefix), vllm_current(truth, prefix)

    turns = fit(lines(*window(1, SMALL), *window(2, OTHER), *window(1, SMALL)))
    assert sorted(turns["engines"]) == ["000 (pid 1)", "000 (pid 2)"]
    assert "engines" not in fit(lines(*window(1, SMALL), *window(1, SMALL), *window(2, OTHER)))


def test_a_printed_rate_that_contradicts_the_counts_is_said(fit):
    own = fit(lines(vllm_current(SMALL).replace(f"{100 * SMALL.rate:.1f}%", "99.0%")))
    agrees(own["pooled"], SMALL)
    assert "RATE_CONTRADICTS_COUNTS" in own["warn"]


def test_rates_that_contradict_the_length_give_no_number(fit):
    wrong = vllm_current(SMALL).replace(f"length: {SMALL.length:.2f}", "length: 3.90")
    own = fit(lines(wrong, vllm_current(OTHER)))
    agrees(own["pooled"], OTHER)
    assert own["windows_without_drafts"] == 1
    assert "IDENTITY_BROKEN" in own["warn"]


def test_a_batch_that_changes_is_said(fit):
    windows = [text for n in (4, 60) for text in (vllm_engine(running=n), vllm_current(SMALL))]
    own = fit(lines(*windows))
    assert "BATCH_CHANGES_IN_LOG" in own["warn"]
    assert "implied_round_ms" not in own["pooled"]
    steady = fit(lines(*windows[:2]))["pooled"]
    assert steady["tokens_per_s_per_request"] == 25.0
    assert steady["implied_round_ms"] == pytest.approx(1000 * SMALL.length / 25)


def test_a_broken_draft_is_said(fit):
    own = fit(lines(vllm_current(Truth((44, 0, 0, 0)))))
    assert own["pooled"]["mean_emitted_per_round"] == 1.0
    assert "DRAFT_NEVER_ACCEPTED" in own["warn"]
    assert own["pooled"]["intervals"]["survival"][0][1] < 0.09


def test_scrapes_of_one_server_are_one_source(fit):
    third = Truth(tuple(a + b for a, b in zip(BOTH.histogram, SMALL.histogram, strict=True)))
    own = fit(*(vllm_scrape({"0": t, "1": s}) for t, s in ((SMALL, SMALL), (BOTH, SMALL), (third, OTHER))))
    agrees(own["single_scrape_t0"]["0"], SMALL)
    agrees(own["delta_t0_t1"]["0"], OTHER)
    agrees(own["delta_t1_t2"]["0"], SMALL)
    agrees(own["engines"]["0"], BOTH)
    assert own["delta_t0_t1"]["1"]["drafts"] == 0
    assert own["delta_t0_t1"]["1"]["survival"] is None
    assert "MULTI_ENGINE_POOLING" in own["warn"]


def test_a_restart_between_scrapes_takes_the_new_value(fit):
    own = fit(vllm_scrape({"0": BOTH}), vllm_scrape({"0": SMALL}, created=1.6e9))
    agrees(own["delta_t0_t1"]["0"], SMALL)
    assert own["delta_t0_t1"]["0"]["since_restart"] is True
    assert "COUNTER_RESET" in own["warn"]


def test_a_restart_with_another_kappa_has_no_common_survival(fit):
    again = Truth(tuple(2 * n for n in DEEP.histogram))
    own = fit(vllm_scrape({"0": SMALL}), vllm_scrape({"0": BOTH}), vllm_scrape({"0": DEEP}, created=1.6e9),
              vllm_scrape({"0": again}, created=1.6e9))  # fmt: skip
    agrees(own["delta_t0_t1"]["0"], OTHER)
    agrees(own["delta_t2_t3"]["0"], DEEP)
    assert own["engines"]["0"]["survival"] is None
    assert own["engines"]["0"]["offered_at_position"][4] == again.drafts
    assert {"COUNTER_RESET", "KAPPA_CHANGED", "CENSORED_BY_KAPPA"} <= set(own["warn"])


def test_a_restart_with_a_shorter_draft_is_no_torn_scrape(fit):
    own = fit(vllm_scrape({"0": DEEP}), vllm_scrape({"0": SMALL}, created=1.6e9))
    agrees(own["delta_t0_t1"]["0"], SMALL)
    assert "TRUNCATED_LINE_DROPPED" not in own["warn"]


def test_scrapes_out_of_order_are_refused(fit):
    with pytest.raises(simspec.ParameterError, match="in order of time"):
        fit(vllm_scrape({"0": BOTH}), vllm_scrape({"0": SMALL}))


def test_ranks_that_repeat_a_series_are_dropped(fit):
    text = vllm_scrape({"0": SMALL})
    repeated = text + text.replace('model_name="m"', 'model_name="m",tp_rank="1"')
    own = fit(repeated)
    agrees(own["pooled"], SMALL)
    assert "DUPLICATE_RANK_SERIES" in own["warn"]


def test_a_scrape_that_lacks_a_position_is_dropped(fit):
    whole, short = vllm_scrape({"0": DEEP}), vllm_scrape({"0": Truth(tuple(2 * n for n in DEEP.histogram))})
    short = "".join(line + "\n" for line in short.splitlines() if 'position="4"' not in line)
    own = fit(whole, short)
    assert "delta_t0_t1" not in own
    assert "TRUNCATED_LINE_DROPPED" in own["warn"]


def test_itl_is_not_a_token_latency(fit):
    own = fit(vllm_bench(DEEP))
    assert own["pooled"]["itl_over_tpot"] == 2.5
    assert "ITL_IS_PER_ROUND" in own["warn"]


def test_a_benchmark_without_speculation_says_so(fit):
    text = "".join(line + "\n" for line in vllm_bench(DEEP).splitlines() if "cept" not in line and "raft" not in line
                   and "Position" not in line)  # fmt: skip
    own = fit(text)
    assert own["pooled"]["speculation"] is False
    assert own["warn"] == ["NO_DRAFT_FIELDS"]


def test_requests_are_pooled_by_counts_and_their_mean_is_kept_beside(fit):
    without = json.dumps({"id": "c", "metrics": {"speculative_decoding": None}})
    own = fit(lines(vllm_request(SMALL, "a"), without, vllm_request(OTHER, "b")))
    assert own["per_request_emitted"] == [pytest.approx(SMALL.length), None, pytest.approx(OTHER.length)]
    assert own["mean_of_ratios_emitted"] == pytest.approx((SMALL.length + OTHER.length) / 2)
    assert own["pooled_emitted"] == pytest.approx(BOTH.length)
    assert own["pooled"]["intervals"]["method"].startswith("clustered by request")
    assert "REQUEST_WITHOUT_SPEC" in own["warn"]


@pytest.mark.parametrize("write", [vllm_request, sglang_meta])
def test_requests_of_different_kappa_have_no_common_survival(fit, write):
    own = fit(lines(write(SMALL, "a"), write(DEEP, "b"), write(OTHER, "c")))
    pooled = own.get("pooled") or own["pooled_with_histogram"]
    assert pooled["survival"] is None
    assert pooled["drafts"] == BOTH.drafts + DEEP.drafts
    assert pooled["offered_at_position"] == [BOTH.drafts + DEEP.drafts] * 3 + [DEEP.drafts] * 2
    assert pooled["cond_alpha_given_offered"][4] == DEEP.reached[4] / DEEP.reached[3]
    agrees(own["segments"][0], BOTH)
    agrees(own["segments"][1], DEEP)
    assert {"KAPPA_CHANGED", "CENSORED_BY_KAPPA"} <= set(own["warn"])


def test_a_request_without_kappa_is_counted_with_those_it_may_belong_to(fit):
    """Its longest draft was two: at κ = 3 that is short, not another κ."""
    short = vllm_request(Truth((10, 5, 4)), "a", num_spec_tokens=None)
    own = fit(lines(short, vllm_request(SMALL, "b")))
    assert own["pooled"]["kappa"] == 3
    assert own["pooled"]["accepted_at_position"] == [SMALL.reached[0] + 9, SMALL.reached[1] + 4, SMALL.reached[2]]
    assert own["pooled"]["cond_alpha_given_offered"] is None
    assert "KAPPA_CHANGED" not in own["warn"]
    full = vllm_request(OTHER, "a", num_spec_tokens=None)
    own = fit(lines(full, vllm_request(SMALL, "b"), vllm_request(DEEP, "c")))
    agrees(own["segments"][0], BOTH)
    steps = {"per_step_accepted": [1, 0], "per_step_drafted": [3, 1], "acceptance_histogram": None, "num_spec_steps": 2,
             "num_accepted_draft_tokens": 1, "num_draft_tokens": 4, "mean_acceptance_length": None,
             "draft_acceptance_rate": None}  # fmt: skip
    own = fit(lines(short, vllm_request(SMALL, "b", **steps)))
    assert own["pooled"]["cond_alpha_given_offered"] is None


def test_a_request_that_stands_twice_counts_once(fit):
    own = fit(lines(vllm_request(SMALL, "a"), vllm_request(SMALL, "a"), vllm_request(SMALL, "b")))
    assert own["pooled"]["drafts"] == 2 * SMALL.drafts
    assert "DUPLICATE_ROWS" in own["warn"]


def test_steps_with_their_drafts_give_acceptance_of_what_was_offered(fit):
    changes = {"per_step_accepted": [2, 0, 1, 1], "per_step_drafted": [3, 1, 1, 2], "acceptance_histogram": None,
               "num_spec_steps": 4, "num_accepted_draft_tokens": 4, "num_draft_tokens": 7,
               "mean_acceptance_length": 2.0, "draft_acceptance_rate": 4 / 7}  # fmt: skip
    own = fit(lines(vllm_request(SMALL, "a", **changes)))["pooled"]
    assert own["offered_at_position"] == [4, 2, 1]
    assert own["cond_alpha_given_offered"] == [3 / 4, 1 / 2, 0.0]


# SGLang


def test_the_convention_of_sglangs_rate_is_told_from_the_lines(fit):
    own = fit(SAMPLES["sglang-decode-rate-with-bonus"])
    assert [row["kappa_inferred"] for row in own["windows"]] == [3, 3]
    assert "ACCEPT_RATE_INCLUDES_BONUS" in own["warn"]
    assert own["pooled"]["kappa"] == 3
    assert own["pooled"]["drafts"] is None
    other = fit(SAMPLES["sglang-decode-rate-draft-only"])
    assert [row["kappa_inferred"] for row in other["windows"]] == [3, 3]


def test_a_rate_is_found_wherever_it_stands_and_never_overlooked(fit):
    line = sglang_decode(2.85, 0.62)
    moved = line.replace("accept rate: 0.62, ", "").replace("gen throughput", "accept rate: 0.62, gen throughput")
    assert fit(lines(moved))["windows"] == fit(lines(line))["windows"]
    with pytest.raises(simspec.ParameterError, match="accept rate is no number"):
        fit(lines(line.replace("0.62", "62%")))


def test_a_rate_that_fits_both_conventions_stays_undecided(fit):
    """Length 1.00 and rate 0.25: one of four with the bonus token; or κ unknown without."""
    own = fit(lines(sglang_decode(1.00, 0.00), sglang_decode(1.00, 0.00)))
    assert own["shape"] == "sglang-decode-rate-undecided"
    assert own["windows"][0]["kappa_inferred"] is None
    assert "KAPPA_UNKNOWN" in own["warn"]


def test_means_without_counts_are_not_pooled(fit):
    own = fit(lines(sglang_decode(2.0), sglang_decode(3.0, running=8)))
    assert own["pooled"]["mean_emitted_per_round"] is None
    assert own["pooled"]["mean_of_printed"] == 2.5
    assert {"NO_COUNTS", "KAPPA_UNKNOWN", "BATCH_CHANGES_IN_LOG"} == set(own["warn"])


def test_tensor_ranks_repeat_and_data_ranks_do_not(fit):
    own = fit(lines(*(sglang_decode(2.5, dp=dp, tp=tp) for dp in (0, 1) for tp in (0, 1))))
    assert [row["dp_rank"] for row in own["windows"]] == [0, 1]
    assert "DUPLICATE_RANK_ROWS" in own["warn"]


def test_a_switch_of_steps_changes_kappa(fit):
    own = fit(lines(sglang_decode(3.03, 0.68), sglang_decode(3.67, 0.38), sglang_decode(1.84, 0.84)))
    assert [row["kappa_inferred"] for row in own["windows"]] == [3, 7, 1]
    assert own["pooled"]["kappa"] is None
    assert {"KAPPA_CHANGED", "CENSORED_BY_KAPPA"} <= set(own["warn"])


def test_a_histogram_counts_for_acceptance_where_the_field_was_cut(fit):
    own = fit(lines(sglang_meta(SMALL, spec_num_correct_drafts=SMALL.accepted - 2)))
    agrees(own["pooled_with_histogram"], SMALL)
    row = own["per_request"][0]
    assert (row["accepted_by_histogram"], row["accepted_by_field"]) == (SMALL.accepted, SMALL.accepted - 2)
    assert "IDENTITY_BROKEN" in own["warn"]


def test_figures_of_the_requests_with_a_histogram_are_read_as_pooled_ones(tmp_path):
    file = tmp_path / "meta.jsonl"
    file.write_text(lines(sglang_meta(SMALL, spec_num_correct_drafts=SMALL.accepted - 2)))
    (source,) = simspec.fit(file)
    emitted = 1 + SMALL.accepted / SMALL.drafts
    assert f"a round emits E = {emitted:.3f}" in shown(source)
    assert kappas_in(source) == {SMALL.kappa}
    assert simspec.explain(file, base_tok_s=50.0, spec_tok_s=90.0).emitted == pytest.approx(emitted)


def test_a_request_without_verification_is_no_data(fit):
    nothing = json.dumps({"meta_info": {"id": "x", "completion_tokens": 0, "spec_verify_ct": 0}})
    bare = json.dumps({"meta_info": {"id": "y", "completion_tokens": 61, "spec_verify_ct": 25}})
    own = fit(lines(nothing, bare))
    assert own["pooled_with_histogram"]["drafts"] is None
    assert own["per_request"][0]["emitted"] is None
    assert own["per_request"][1] == {"id": "y", "emitted": 2.44, "emitted_without_prefill_token": 2.4}
    assert "ZERO_ROUNDS" in own["warn"]


def test_proposed_beyond_the_depth_is_a_tree(fit):
    own = fit(lines(sglang_meta(SMALL, spec_num_proposed_drafts=500, spec_accept_rate=SMALL.accepted / 500)))
    assert "TREE_DRAFTER" in own["warn"]


# llama.cpp


def test_the_cli_counts_rounds_and_costs(fit):
    own = fit(llamacpp_cli(DEEP))["pooled"]
    assert own["drafts"] == DEEP.drafts
    assert own["mean_emitted_per_round"] == pytest.approx(DEEP.length)
    assert own["draft_cost_ratio"] == pytest.approx(0.1)
    assert own["measured_round_ms"] == pytest.approx(10_000 / DEEP.drafts)
    assert own["speedup_vs_single_token"] == pytest.approx(DEEP.length / (100 / DEEP.drafts))


def test_runs_at_different_draft_lengths_are_segments(fit):
    own = fit(llamacpp_cli(SMALL) + llamacpp_cli(DEEP))
    assert [row["kappa_max"] for row in own["segments"]] == [3, 5]
    assert "ACCEPTANCE_RATE_NOT_COMPARABLE_ACROSS_KAPPA" in own["warn"]


def test_a_rate_far_from_alpha_is_said(fit):
    truth = Truth((10, *(3,) * 15, 5))
    assert "ACCEPTANCE_RATE_IS_NOT_ALPHA" in fit(llamacpp_cli(truth))["warn"]


def test_statistics_are_cumulative_and_drafters_are_kept_apart(fit):
    own = fit(lines(llamacpp_statistics(SMALL), llamacpp_statistics(BOTH)))
    assert "CUMULATIVE_STATISTICS" in own["warn"]
    assert own["pooled"]["draft_ms_per_round"] == pytest.approx(2.0)
    two = fit(lines(llamacpp_statistics(SMALL), llamacpp_statistics(DEEP, "ngram-simple")))
    agrees(two["drafters"]["ngram-simple"], DEEP)
    assert two["pooled"] is None
    assert "MIXED_DRAFTERS" in two["warn"]
    again = fit(lines(llamacpp_statistics(BOTH), llamacpp_statistics(SMALL)))
    assert [s["pooled"]["drafts"] for s in again["segments"]] == [BOTH.drafts, SMALL.drafts]
    assert "COUNTER_RESET" in again["warn"]


def test_requests_in_the_log_cluster_the_intervals_if_they_are_all(fit):
    listed = fit(lines(llamacpp_request(SMALL), llamacpp_request(OTHER, 2), llamacpp_statistics(BOTH)))
    assert listed["pooled"]["intervals"]["method"].startswith("clustered by request")
    more = Truth(tuple(a + b for a, b in zip(BOTH.histogram, SMALL.histogram, strict=True)))
    some = fit(lines(llamacpp_request(SMALL), llamacpp_request(OTHER, 2), llamacpp_statistics(more)))
    told = f"from the {BOTH.drafts} of {more.drafts} rounds that they hold"
    assert some["pooled"]["intervals"]["method"].endswith(told)


def test_requests_with_different_draft_lengths_have_no_common_survival(fit):
    own = fit(lines(llamacpp_request(SMALL), llamacpp_request(DEEP, 2)))
    assert own["pooled"]["survival"] is None
    assert "CENSORED_BY_KAPPA" in own["warn"]


def test_a_request_without_an_accepted_draft_breaks_nothing(fit):
    """58 tokens in drafts of up to three, none accepted: how many drafts, nobody can say."""
    row = llamacpp_request(Truth((19, 0, 0, 0))).replace("57 generated", "58 generated")
    own = fit(lines(row, llamacpp_request(SMALL, 2)))
    assert own["per_task"]["0"]["drafts"] is None
    assert own["requests_without_drafts"] == 1
    assert "IDENTITY_BROKEN" not in own["warn"]
    assert own["pooled"]["drafts"] == SMALL.drafts


def test_the_old_server_line_has_no_drafts(fit):
    own = fit(llamacpp_old(SMALL))
    row = own["per_task"]["5"]
    assert row["drafts"] is None
    assert row["drafts_upper"] == SMALL.drafts
    assert own["pooled"]["p_first_accepted"] == SMALL.survival[0]
    assert own["pooled"]["survival"] is None


def test_timings_without_draft_fields_are_no_zero(fit):
    own = fit(SAMPLES["llamacpp-timings"])
    assert own["items"][0]["drafts_if_every_round_drafts"] == SMALL.drafts
    assert own["items"][0]["round_ms"] == 10.0
    assert own["items"][1] == {"speculation": False, "predicted_per_second": None}
    assert set(own["warn"]) == {"KAPPA_UNKNOWN", "NO_DRAFT_FIELDS"}
    nested = fit(lines(json.dumps({"content": "x", "timings": llamacpp_timings(SMALL)})))
    assert nested["items"][0]["accepted_tokens"] == SMALL.accepted


# others


def test_iterations_are_weighted_by_requests_and_ranks_dropped(fit):
    rows = [trtllm_iteration(1, 0, 3, 0), trtllm_iteration(2, 8, 3, 16), trtllm_iteration(2, 8, 3, 16, rank=1),
            trtllm_iteration(3, 4, 2, 2), '{"iter": 9, "spec_decoding_stats": null}']  # fmt: skip
    own = fit(lines(*rows))
    assert own["pooled"]["drafts"] == 12
    assert own["pooled"]["mean_emitted_per_round"] == 1 + 18 / 12
    assert own["pooled"]["kappa_by_iteration"] == {"2": 3, "3": 2}
    assert set(own["warn"]) == {"DUPLICATE_RANK_ROWS", "KAPPA_CHANGED", "ZERO_ROUNDS"}
    assert "5 iterations are missing" in own["ambiguous"][0]


def test_a_question_that_stands_twice_counts_once_and_the_last_row_wins(fit):
    empty = json.dumps({"question_id": 3, "choices": [{"accept_lengths": []}]})
    own = fit(lines(specbench(1, [9, 9]), specbench(1, lengths_of(SMALL)), empty))
    agrees(own["pooled"], SMALL)
    assert set(own["warn"]) == {"DUPLICATE_ROWS", "EMPTY_ROWS"}
    assert own["per_category"]["qa"]["rounds"] == SMALL.drafts


def test_kappa_of_an_answer_file_may_be_given_but_not_below_a_step(fit):
    assert fit(lines(specbench(1, [1, 2, 3])), kappa=6)["pooled"]["draft_tokens"] == 18
    short = fit(lines(specbench(1, [1, 2, 6])), kappa=3)
    assert short["pooled"]["drafts"] is None
    assert "IDENTITY_BROKEN" in short["warn"]


def test_a_rate_that_breaks_the_sum_of_an_offline_print_out_is_said(fit):
    own = fit(SAMPLES["vllm-offline-example"].replace("token 1: 0.35", "token 1: 0.035"))
    assert "IDENTITY_BROKEN" in own["warn"]


def test_eagle_steps_are_one_more_than_the_last_index(fit):
    own = fit(SAMPLES["eagle-medusa-eval"])["pooled"]
    assert (own["drafts"], own["mean_emitted_per_round"], own["kappa"]) == (30, 3.5, None)


def test_shares_of_gptfast_are_a_law_not_a_survival(fit):
    own = fit(SAMPLES["gpt-fast-summary"])
    assert own["pooled"]["survival"] == pytest.approx(SMALL.survival)
    assert own["pooled"]["drafts"] is None
    assert {"PMF_NOT_SURVIVAL", "NO_COUNTS"} == set(own["warn"])


def test_ignored_drafts_give_two_rates(fit):
    own = fit(SAMPLES["lmstudio-stats"])
    assert own["pooled"]["acceptance_of_total"] == 0.6
    assert own["pooled"]["drafts_upper"] == 33
    assert own["pooled"]["mean_emitted_per_round_lower"] == pytest.approx(63 / 33)
    assert own["pooled"]["acceptance_of_verified"] == pytest.approx(30 / 45)
    assert set(own["warn"]) == {"IGNORED_DRAFTS", "KAPPA_UNKNOWN"}


# tables


def test_rounds_with_requests_have_clustered_intervals(fit):
    own = fit(rounds_csv(OTHER, request=lambda i: f"r{i // 8}"))
    agrees(own["pooled"], OTHER)
    assert own["pooled"]["intervals"]["requests"] == 13


def test_requests_must_stand_together(fit):
    with pytest.raises(simspec.ParameterError, match="are not together"):
        fit(rounds_csv(SMALL, request=lambda i: f"r{i % 3}"))


def test_decimal_commas_and_changing_kappa(fit):
    rows = [f"{i};{k};{a};{0.5 + 2 * k:.1f};{20 + 0.25 * k:.2f}".replace(".", ",")
            for i, (k, a) in enumerate([(5, 5), (7, 2), (6, 0), (5, 3)] * 5)]  # fmt: skip
    own = fit(lines("round;kappa;accepted;draft_ms;verify_ms", *rows))
    block = own["pooled"]
    assert block["mean_kappa"] == 5.75
    assert block["survival"] is None
    assert block["offered_at_position"] == [20, 20, 20, 20, 20, 10, 5]
    assert block["examined_at_position"] == [20, 15, 15, 10, 5, 0, 0]
    assert block["cond_alpha_given_offered"] == [0.75, 1.0, 10 / 15, 0.5]
    assert block["draft_ms_per_token"] == pytest.approx(2.0)
    assert block["verify_ms_base"] == pytest.approx(20.0)
    assert block["draft_ms_per_round"] == pytest.approx(0.5 + 2.0 * 5.75)
    assert {"KAPPA_CHANGED", "CENSORED_BY_KAPPA"} == set(own["warn"])


@pytest.mark.parametrize(("values", "included"), [([0, 1, 2], False), ([1, 2, 4], True)])
def test_rows_may_prove_whether_the_bonus_token_counts(fit, values, included):
    own = fit(lines("accept_len,kappa", *(f"{a},3" for a in values)))
    assert own["pooled"]["accepted_tokens"] == sum(values) - 3 * included


def test_where_rows_prove_nothing_the_caller_must_say(fit):
    text = lines("accept_len,kappa", "1,3", "2,3", "3,3")
    with pytest.raises(simspec.ParameterError, match="bonus-included"):
        fit(text)
    assert fit(text, bonus_included=True)["pooled"]["accepted_tokens"] == 3
    assert fit(text, bonus_included=False)["pooled"]["accepted_tokens"] == 6


def test_a_column_without_a_single_zero_is_strange(fit):
    text = lines("accepted,kappa", *["1,3", "2,3"] * 60)
    assert "bonus token?" in fit(text)["ambiguous"][0]
    assert fit(lines("accepted,kappa", *["0,3", "2,3"] * 60))["ambiguous"] == []


def test_blanks_around_names_are_no_part_of_them(fit):
    assert fit(lines("accepted, kappa", "0, 3", "2, 3"))["pooled"]["accepted_tokens"] == 2
    assert fit(SAMPLES["speculators-csv"].replace("num_drafts", " num_drafts ", 1))["pooled"]["drafts"] == BOTH.drafts


def test_columns_may_be_named(fit):
    text = lines("x,y,z", "1,4,a", "0,4,a", "4,4,b")
    own = fit(text, accepted="x", drafted="y", request="z", bonus_included=False)
    assert own["pooled"]["accepted_tokens"] == 5
    with pytest.raises(simspec.ParameterError, match='did you mean "y"'):
        fit(text, accepted="x", drafted="yy", bonus_included=False)


def test_parquet_of_rounds_and_of_lists(tmp_path):
    import pandas as pd

    pd.DataFrame({"accepted": [a - 1 for a in lengths_of(SMALL)], "kappa": 3}).to_parquet(tmp_path / "a.parquet")
    lists = [np.array(lengths_of(SMALL)), np.array(lengths_of(OTHER))]
    pd.DataFrame({"accept_len": lists}).to_parquet(tmp_path / "b.parquet")
    agrees(simspec.fit(tmp_path / "a.parquet")[0].to_dict()["pooled"], SMALL)
    own = simspec.fit(tmp_path / "b.parquet", drafted=3, bonus_included=True)[0].to_dict()
    assert own["shape"] == "rounds-parquet"
    agrees(own["pooled"], BOTH)
    assert own["pooled"]["intervals"]["requests"] == 2


def test_an_acceptance_rate_that_moves_is_said(fit):
    def rows(truth):
        return [f"{length - 1},{truth.kappa}" for length in np.random.default_rng(2).permutation(lengths_of(truth))]

    low, high = Truth((160, 20, 10, 10)), Truth((20, 20, 40, 120))
    assert "NON_STATIONARY" in fit(lines("accepted,kappa", *rows(low), *rows(high)))["warn"]
    assert "NON_STATIONARY" not in fit(lines("accepted,kappa", *rows(low), *rows(low)))["warn"]


def test_requests_that_differ_are_no_movement_unless_they_are_in_order(fit):
    """Two kinds of request, 120 of 20 rounds: mixed, and the easy ones last."""
    rng = np.random.default_rng(3)
    easy = rng.permutation(np.arange(120) % 2 == 0)

    def table(kinds):
        rows = [f"{a},4,r{i}" for i, kind in enumerate(kinds)
                for a in np.minimum(rng.geometric(0.2 if kind else 0.5, 20) - 1, 4)]  # fmt: skip
        return lines("accepted,kappa,request", *rows)

    assert "NON_STATIONARY" not in fit(table(easy))["warn"]
    assert "NON_STATIONARY" in fit(table(np.sort(easy)))["warn"]
    assert "NON_STATIONARY" in fit(table(easy).replace(",request", ",other"))["warn"]


# what is refused


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "holds no line"),
        ("hello\n", "begins with 'hello'"),
        ('{"a": 1}\n', "an object of unknown shape, with the keys 'a'"),
        ('{"a": 1\n', "unexpected|breaks off"),
        ("[1, 2]\n", "unknown shape"),
        (lines(vllm_request(SMALL), "[]"), "holds \\[\\]; allowed: JSON objects"),
        (lines(vllm_current(SMALL).replace("Accepted throughput", "Won throughput")), "unknown field 'Won throughput'"),
        (lines(vllm_current(SMALL) + ", Draft time: 3 ms"), "unknown field 'Draft time'"),
        (lines(sglang_decode(2.5).replace("gen throughput", "throughput")), "unknown form of SGLang's decode line"),
        (lines(sglang_meta(SMALL, spec_new_field=3)), "unknown field meta_info.spec_new_field"),
        (keyvalue(SMALL).replace("accepted_tokens", "accepted"), "unknown name 'accepted'"),
        (lines(vllm_request(SMALL, num_spec_steps=-1)), "num_spec_steps = -1"),
        (lines(vllm_request(SMALL, num_draft_tokens=1.5)), "num_draft_tokens = 1.5"),
        (lines(vllm_request(SMALL, num_draft_tokens=float("inf"))), "num_draft_tokens = inf"),
        (lines(vllm_request(SMALL, acceptance_histogram=[1, 2])), "adds up to 3"),
        (lines(vllm_mid(SMALL).replace(f"Drafted: {SMALL.drafted}", "Drafted: 1")), "accepted of 1 drafted"),
        (lines("accepted,kappa", "1,3", "5,3"), "file0:3: 5 accepted of 3 drafts"),
        (lines("accepted,kappa", "1,3", "1.5,3"), "file0:3: 1.5 is no whole number"),
        (lines("accepted,kappa", "x,3"), "no table of rounds"),
        (lines("accepted,other", "1,3"), "--drafted"),
        (lines('vllm:spec_decode_num_drafts_total{engine="0"} x'), "allowed: a number"),
        (lines('vllm:spec_decode_num_foo_total{engine="0"} 1.0'), "unknown series vllm:spec_decode_num_foo_total"),
    ],
)
def test_what_nobody_knows_is_refused_by_name(fit, text, reason):
    with pytest.raises(simspec.ParameterError, match=reason):
        fit(text)


def test_a_file_that_is_missing_or_damaged_is_one_line(tmp_path):
    with pytest.raises(simspec.ParameterError, match="cannot be read"):
        simspec.fit(tmp_path / "missing.log")
    with pytest.raises(simspec.ParameterError, match="cannot be read"):
        simspec.fit(tmp_path)
    (tmp_path / "bad.gz").write_bytes(b"\x1f\x8b\x08\x00" + b"rubbish" * 9)
    with pytest.raises(simspec.ParameterError, match=r"cannot be read|breaks off"):
        simspec.fit(tmp_path / "bad.gz")


def test_sources_come_in_the_order_of_their_files(fit):
    own = fit(vllm_scrape({"0": SMALL}), lines(vllm_mid(SMALL)), vllm_scrape({"0": BOTH}), vllm_bench(DEEP))
    assert [source["shape"] for source in own] == ["vllm-prometheus", "vllm-v1-mid", "vllm-bench-serve"]
    assert own[0]["files"] == ["file0", "file2"]


def test_several_shapes_in_one_file_are_several_sources(fit):
    own = fit(SAMPLES["vllm-v0-speculative-metrics"] + SAMPLES["vllm-v1-current"] + SAMPLES["vllm-bench-serve"])
    assert {source["shape"] for source in own} == {"vllm-v0-speculative-metrics", "vllm-v1-current", "vllm-bench-serve"}


def test_engine_lines_need_no_engine_prefix(fit):
    assert fit(lines(vllm_engine(prefix=ANSI), vllm_current(SMALL)))["pooled"]["drafts"] == SMALL.drafts


def test_the_document_names_every_shape_and_warning():
    text = (Path(__file__).parents[2] / "docs" / "fit.md").read_text(encoding="utf-8")
    shapes = {shape for reader in (*LINE_READERS, *OBJECT_READERS, *TABLE_READERS) for shape in reader.shapes}
    assert set(re.findall(r"^\| `([a-z0-9-]+)` \|", text, re.MULTILINE)) >= shapes
    for code, meaning in WARNINGS.items():
        assert f"| `{code}` | {meaning} |" in text
    assert set(re.findall(r"^\| `([A-Z0-9_]+)` \|", text, re.MULTILINE)) == set(WARNINGS)


@pytest.mark.parametrize("text", [vllm_bench(SMALL), vllm_offline(SMALL), vllm_bench_json(SMALL) + "\n"])
def test_print_outs_are_sources_of_their_own_up_to_a_limit(fit, text, monkeypatch):
    monkeypatch.setattr("simspec.evidence.readers.base.MOST_GROUPS", 3)
    assert len(fit(3 * text)) == 3
    with pytest.raises(simspec.ParameterError, match="more than 3 print-outs"):
        fit(4 * text)


def test_a_stop_token_that_cuts_the_last_round_of_sglang_is_said(fit):
    """The histogram counts the round as it was, the field what was kept of it."""
    own = fit(lines(sglang_meta(SMALL, spec_num_correct_drafts=SMALL.accepted - 2)))
    agrees(own["pooled_with_histogram"], SMALL)
    assert "IDENTITY_BROKEN" in own["warn"]
    row = own["per_request"][0]
    assert (row["accepted_by_histogram"], row["accepted_by_field"]) == (SMALL.accepted, SMALL.accepted - 2)
