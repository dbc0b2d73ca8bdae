"""What users of engines asked for, answered by configuration; ids as in the list of reports, figures as reported."""

import json

import pytest

import simspec
from simspec import ParameterError
from simspec.advice.acceptance import acceptance_of_numbers

BY_CONTEXT = {"short": 512, "long": 2048}


def rows(*speeds):
    """Speed-up of κ = 0, 1, …"""
    return [{"kappa": kappa, "speedup": speed} for kappa, speed in enumerate(speeds)]


def cell(batch, context, *speeds):
    best = max(range(len(speeds)), key=lambda kappa: speeds[kappa])
    return {"batch": batch, "context": context, "kappa": best, "kappas": rows(*speeds)}


def test_u17_off_at_short_context_and_on_again_at_long_needs_the_five_item_table():
    """vllm-project/vllm issue 48627: off at 65-256 short, on again above 769 tokens; not monotone in batch alone."""
    grid = [
        cell(32, 512, 1.0, 1.4, 1.6, 1.7), cell(32, 1156, 1.0, 1.4, 1.6, 1.7),
        cell(132, 512, 1.0, 0.9, 0.8, 0.7), cell(132, 1156, 1.0, 1.2, 1.3, 1.25),
    ]  # fmt: skip
    own = simspec.export({"kappa_star": 3, "grid": grid}, "vllm", form="context", max_batch=256)
    assert own.settings["speculative_config"]["num_speculative_tokens_per_batch_size"] == [
        [1, 64, 1, 769, 3], [1, 64, 770, 2**31 - 1, 3], [65, 256, 1, 769, 0], [65, 256, 770, 2**31 - 1, 2],
    ]  # fmt: skip
    by_batch = simspec.export({"kappa_star": 3, "grid": grid}, "vllm", max_batch=256)
    assert by_batch.settings["speculative_config"]["num_speculative_tokens_per_batch_size"] == [
        [1, 64, 3],
        [65, 256, 1],
    ]
    assert by_batch.losses == (
        "one κ = 1 loses 10.0% at batch 132, context 512, where off is best",
        "one κ = 1 loses 7.7% at batch 132, context 1,156, where κ = 2 is best",
    )


def test_u19_off_in_a_table_has_its_own_cost():
    """vllm-project/vllm pull request 52087: the arm with K = 0 costs 6.56% at concurrency 2, 21.58% at 189."""
    grid = [cell(2, None, 1 / 1.0656, 1.3), cell(189, None, 1 / 1.2158, 0.8) | {"kappa": 0}]
    own = simspec.export({"kappa_star": 1, "grid": grid}, "vllm")
    assert own.settings["speculative_config"]["num_speculative_tokens_per_batch_size"][-1] == [20, 189, 0]
    assert own.losses == ("at batch 189 off is best (1.00x); inside a table κ = 0 is (0.82x)",)
    assert any("6.6% at 2 requests and 21.6% at 189" in note for note in own.notes)


def test_u25_one_default_for_one_and_eight_streams_loses_what_is_named():
    """eugr/spark-vllm-docker issue 343: flat at one stream, κ = 2 wins 1.45x at eight (303.6 against 210 tok/s)."""
    grid = [cell(1, None, 0.9, 0.97, 0.99, 1.0, 1.01), cell(8, None, 1.0, 1.5, 1.9, 1.5, 1.9 / 1.45)]
    advice = {"kappa_star": 4, "grid": grid}
    table = simspec.export(advice, "vllm").settings["speculative_config"]
    assert table["num_speculative_tokens_per_batch_size"] == [[1, 2, 4], [3, 8, 2]]
    one = simspec.export(advice, "vllm", form="static")
    assert one.settings["speculative_config"]["num_speculative_tokens"] == 2
    assert one.losses == ("one κ = 2 loses 2.0% at batch 1, where κ = 4 is best",)


def test_u49_the_table_of_steps_instead_of_135_server_starts():
    """sgl-project/sglang pull request 22246: 235B is best with 4 steps at batch 1 and 2 at batch 64."""
    grid = [{"batch": 1, "kappa": 4}, {"batch": 64, "kappa": 2}]
    own = simspec.export({"kappa_star": 4, "grid": grid}, "sglang", method="EAGLE3")
    assert json.loads(own.files["adaptive_spec.json"]) == {"1": {"candidate_steps": [4]}, "9": {"candidate_steps": [2]}}
    assert "--speculative-num-steps 4 --speculative-eagle-topk 1 --speculative-num-draft-tokens 5" in own.command


@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm", "llamacpp"])
def test_u04_u14_a_draft_that_cannot_pay_is_switched_off_and_how_is_said(engine):
    """vllm-project/vllm issues 8620 (no draft accepted in 2642 rounds) and 39680 (ceiling 0.38x): best κ is 0."""
    advice = simspec.recommend(acceptance_of_numbers(survival=[0.0, 0.0, 0.0], rounds=161), {"c_d": 0.1})
    assert advice.kappa_star == 0
    with pytest.raises(ParameterError, match="to switch speculation off, leave"):
        simspec.export(advice, engine)


def test_u32_an_accept_length_has_the_bonus_in_sglang_and_not_in_tensorrt():
    """sgl-project/sglang issue 11948: accept len 2.17 counts the bonus token; drafts accepted are 1.17."""
    seen = acceptance_of_numbers(kappa=3, emitted=2.17)
    sglang = simspec.export(None, "sglang", acceptance=seen)
    trtllm = simspec.export(None, "trtllm", acceptance=seen)
    assert sglang.environment["SGLANG_SIMULATE_ACC_LEN"] == "2.17"
    assert trtllm.environment == {"TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS": "1.17"}


def test_u31_all_or_nothing_acceptance_is_lost_where_only_the_mean_is_kept():
    """vllm-project/vllm pull request 48915: 43 rounds, [39, 1, 0, 3]: S = .093 .070 .070, E = 1.2326."""
    survival = [4 / 43, 3 / 43, 3 / 43]
    seen = acceptance_of_numbers(survival=survival)
    config = simspec.export(None, "vllm", acceptance=seen).settings["speculative_config"]
    assert config["synthetic_acceptance_rates"] == pytest.approx(survival, abs=1e-6)
    sglang = simspec.export(None, "sglang", acceptance=seen)
    assert sglang.environment["SGLANG_SIMULATE_ACC_LEN"] == "1.232558"
    assert "1 or 2 tokens (23% the latter)" in sglang.losses[0]  # never the four tokens of the real run


def test_u28_six_positions_serve_any_shorter_draft():
    """noonghunna/club-3090 issue 105: .917 .837 .648 .538 .451 .348."""
    seen = acceptance_of_numbers(survival=[0.917, 0.837, 0.648, 0.538, 0.451, 0.348])
    own = simspec.export(None, "llamacpp", acceptance=seen, kappa=4)
    assert "--spec-draft-n-max 4" in own.command
    assert own.command.endswith("--spec-synth-rates 0.917,0.837,0.648,0.538")
    assert "mean acceptance length = 3.94" in own.shows


def test_u37_the_adaptive_file_holds_only_what_pays_and_says_that_sglang_knows_no_costs():
    """sgl-project/sglang pull request 23336: static 1/3/7 gave 595/768/732 of 447 tok/s; 7 is not worth having."""
    grid = [{"batch": 2, "kappa": 3, "kappas": [{"kappa": k, "speedup": t / 447} for k, t in
             ((1, 595), (3, 768), (7, 732))]}]  # fmt: skip
    own = simspec.export({"kappa_star": 3, "grid": grid}, "sglang", form="batch")
    assert own.settings["adaptive_config"] == {"1": {"candidate_steps": [3]}}
    assert any("does not know what a step costs" in note for note in own.notes)


def test_u46_a_schedule_says_which_end_its_keys_are():
    """NVIDIA/TensorRT-LLM: {4: 4, 8: 2} means up to 4 and up to 8 since PR 10860, from 4 and from 8 before."""
    grid = [{"batch": 4, "kappa": 4}, {"batch": 32, "kappa": 2}, {"batch": 128, "kappa": 0}]
    advice = {"kappa_star": 4, "grid": grid}
    after = simspec.export(advice, "trtllm").settings["speculative_config"]
    before = simspec.export(advice, "trtllm", form="from").settings["speculative_config"]
    assert after["draft_len_schedule"] == {11: 4, 64: 2}
    assert before["draft_len_schedule"] == {1: 4, 12: 2, 65: 0}


def test_u55_u56_llamacpp_gets_the_length_and_a_chain_that_does_not_stop_early():
    """ggml-org/llama.cpp pull request 24508: n = 2 beats n = 3; LostRuins/koboldcpp issue 2262: n = 1 is best."""
    own = simspec.export(None, "llamacpp", kappa=2)
    assert own.command.endswith("--spec-draft-n-max 2 --spec-draft-n-min 0 --spec-draft-p-min 0")
    assert any("κ is only a cap" in note for note in own.notes)
    with pytest.raises(ParameterError, match="leave -md and --spec-type out"):  # "n = 0" drafted one token, hidden
        simspec.export(None, "llamacpp", kappa=0)
