"""Costs behind reports of users: their figures in, the round cost and the conclusion out.

Figures are the reporters', typed in with the issue they stand in.
"""

import os
from pathlib import Path

import numpy as np
import pytest

import simspec
from simspec import ParameterError


def costs(**columns):
    return simspec.costs(**columns).at()


def measured(own):
    return [point.cost for point in own.measured if point.kappa > 0]


def speedups(alpha, own, kappas):
    best = simspec.exact({"type": "iid", "alpha": alpha}, own.cost(max(kappas)), max(kappas))
    return [best.optimum.speedup_by_kappa[kappa] for kappa in kappas]


# vllm-project/vllm issue 20780: 8B on H100, batch 1
U05 = {"kappa": [2, 3, 4, 5, 6, 7], "base_tpot_ms": 7.07}
EAGLE1 = U05 | {"AL": [2.10, 2.29, 2.39, 2.43, 2.45, 2.47], "TPOT": [4.37, 4.29, 4.48, 4.71, 4.94, 5.20]}
EAGLE3 = U05 | {"AL": [2.36, 2.79, 3.08, 3.32, 3.46, 3.54], "TPOT": [4.32, 4.09, 4.05, 4.13, 4.20, 4.29]}


def test_u05_g02_rounds_of_eagle_1_are_a_line():
    own = costs(**EAGLE1)
    assert own.model == "affine"
    assert own.figures["fixed_ms"] == pytest.approx(7.69, abs=0.005)
    assert own.figures["slope_ms"] == pytest.approx(0.74, abs=0.005)
    assert [round(point.cost * own.plain_ms, 2) for point in own.measured] == [9.18, 9.82, 10.71, 11.45, 12.1, 12.84]
    assert own.figures["largest_residual"] < 0.01
    best = max(own.measured, key=lambda point: point.emitted / point.cost)
    assert (best.kappa, round(best.emitted / best.cost, 3)) == (3, 1.648)


def test_u05_the_draft_step_of_eagle_3_eats_its_gain():
    """8.35 + 1.02κ ms.  At the costs of EAGLE-1 its acceptance would reach 3.43 ms per token."""
    one, three = costs(**EAGLE1), costs(**EAGLE3)
    assert three.figures["fixed_ms"] == pytest.approx(8.35, abs=0.01)
    assert three.figures["slope_ms"] == pytest.approx(1.02, abs=0.005)
    best = max(three.measured, key=lambda point: point.emitted / point.cost)
    assert (best.kappa, round(best.emitted / best.cost, 2)) == (4, 1.75)
    swapped = {point.kappa: one.at(point.kappa) * one.plain_ms / point.emitted for point in three.measured}
    assert min(swapped.values()) == pytest.approx(3.43, abs=0.01)
    gap = three.figures["slope_ms"] - one.figures["slope_ms"]
    error = np.hypot(three.figures["slope_error"], one.figures["slope_error"]) * 7.07
    assert gap > 4 * error  # no chance: the draft steps differ


def test_u08_a_long_draft_costs_by_the_token():
    """vllm pull 24343: A100, plain about 82 tok/s; κ = 1: 108.5 at E 1.63; κ = 32: 48.3 at E 2.18."""
    own = costs(kappa=[1, 32], emitted=[1.63, 2.18], tok_s=[108.5, 48.3], base_tok_s=82)
    assert measured(own) == pytest.approx([1.23, 3.70], abs=0.005)
    assert own.figures["slope_ms"] == pytest.approx(0.97, abs=0.005)
    assert not own.known_noise  # two figures are no noise
    best = simspec.exact({"type": "iid", "alpha": 0.63}, own.cost(32), 32)
    assert best.kappa_star in (3, 4)  # with a rate that stays; it falls (E(32) = 2.18, not 2.70): stop earlier
    assert pytest.approx(2.70, abs=0.005) == 1 + 0.63 * (1 - 0.63**32) / 0.37


def test_u10_without_a_draft_cost_the_loss_at_load_is_verify_width():
    """vllm issue 19254: n-gram κ = 3, 337-629 running, E 2.16-2.83.  Rows of a machine of that kind."""
    grid = roofline()
    one, many = grid.surface.at(1, 200), grid.surface.at(600, 200)
    assert one.at(3) < 1.01  # drafts are free and one request's pass is bound by memory
    assert many.at(3) == pytest.approx(4.0, abs=0.02)
    assert all(emitted / many.at(3) < 1.0 for emitted in (2.16, 2.83))


def roofline(draft=0.0, draft_kv=0.0):
    """A machine of 3.35 TB/s and 600 Tflop/s with 8B in bf16: 4.8 ms of weights, .027 ms per token, and 128 kB of cache
    per token of context (4e-5 ms)."""
    rows = [(b, c, k) for b in (1, 16, 64, 256, 640) for c in (200, 500, 4000, 16000) for k in (0, 1, 3, 6)]
    ms = [max(4.8 + 4e-5 * b * c, 0.027 * b * (k + 1)) + k * (draft + draft_kv * b * c) for b, c, k in rows]
    batch, context, kappa = (list(own) for own in zip(*rows, strict=True))
    return simspec.costs(batch=batch, context=context, kappa=kappa, round_ms=ms)


def test_u16_a_draft_that_reads_the_context_makes_long_rounds_dear():
    """vllm issue 47602: κ = 6 is a net loss at long context.  Acceptance is one half, R the other: it grows where the
    draft's attention grows faster than the target's."""
    own = roofline(draft=0.3, draft_kv=1.2e-5).surface
    assert [own.at(1, context).at(6) for context in (500, 16000)] == pytest.approx([1.38, 1.54], abs=0.01)
    flat = roofline(draft=0.3).surface
    assert flat.at(1, 16000).at(6) < flat.at(1, 500).at(6)


def test_u17_long_context_makes_verification_cheap_again():
    """vllm issue 48627: speculation off at batch 65-256 and short context, on again at long context."""
    grid = roofline()
    assert grid.surface.at(200, 500).at(3) > 2.2
    assert grid.surface.at(200, 16000).at(3) < 1.01
    by_batch = [grid.surface.at(batch, 500).at(3) for batch in (1, 64, 256)]
    assert by_batch == sorted(by_batch)


def test_u19_off_has_a_cost_of_its_own():
    """vllm pull 52087: the arm with κ = 0 costs 6.56% at concurrency 2 and 21.58% at 189."""
    grid = simspec.costs(
        concurrency=[2, 2, 2, 189, 189, 189], k=[0, 0, 3, 0, 0, 3], round_ms=[10, 10.656, 13, 20, 24.316, 40],
        speculation=["no", "loop", "yes"] * 2,
    )  # fmt: skip
    assert grid.at(batch=2).off == pytest.approx(1.0656)
    assert grid.at(batch=189).off == pytest.approx(1.2158)
    assert grid.at(batch=2).cost(4).off == pytest.approx(1.0656)
    dear = simspec.exact({"type": "iid", "alpha": 0.3}, grid.at(batch=189).cost(3), 3)
    assert dear.to_dict()["off_speedup"] == pytest.approx(1 / 1.2158)


def test_u25_rounds_are_told_though_plain_is_missing():
    """eugr/spark-vllm-docker issue 343: κ = 4, 2: one stream 55.6, 54.9 tok/s, eight 210, 303.6."""
    emitted = [1 + 0.844 + 0.599 + 0.385 + 0.271, 1 + 0.766 + 0.545]
    with pytest.raises(ParameterError, match=r"R is unknown.*42\.09 ms at κ = 2, 55\.74 ms at κ = 4"):
        simspec.costs(kappa=[4, 2], emitted=emitted, tok_s=[55.6, 54.9])
    with pytest.raises(ParameterError, match=r"60\.9 ms at κ = 2, 118\.1 ms at κ = 4"):
        simspec.costs(kappa=[4, 2], emitted=emitted, tok_s_total=[210, 303.6], batch=8)


def test_u35_a_faster_target_with_the_same_draft_raises_the_round_cost():
    """sgl-project/sglang issue 6949: tp 1 21 -> 30 tok/s, tp 4 61 -> 59, same acceptance: R grows by 1.48."""
    for emitted in (2.0, 3.3):
        one, four = (
            costs(kappa=4, emitted=emitted, tok_s=speculative, base_tok_s=plain)
            for plain, speculative in ((21, 30), (61, 59))
        )
        assert four.at(4) / one.at(4) == pytest.approx(1.48, abs=0.005)


# sgl-project/sglang pull 22520: 70B + 1B, κ = 5, six batches from 1 to 64 (those between are not needed here)
U38 = {
    "batch": [1, 2, 4, 16, 32, 64],
    "accepted": [1.62, 1.39, 1.54, 1.57, 1.47, 1.52],
    "speedup": [1.81, 1.83, 1.91, 1.81, 1.56, 1.21],
}


def test_u38_the_round_gets_dearer_with_the_batch_and_acceptance_does_not():
    grid = simspec.costs(
        batch=U38["batch"] * 2, kappa=[0] * 6 + [5] * 6, accepted=[0.0] * 6 + U38["accepted"],
        tok_s=[1.0] * 6 + U38["speedup"],
    )  # fmt: skip
    found = [grid.at(batch).at(5) for batch in U38["batch"]]
    assert found == pytest.approx([1.45, 1.31, 1.33, 1.42, 1.59, 2.08], abs=0.01)
    assert np.ptp(U38["accepted"]) < 0.25
    assert any("no roofline" in note for note in grid.notes)  # whose tok/s these are is not said
    assert grid.at(64).plain_ms is None


def test_u47_one_long_draft_gives_a_cost_per_draft_and_a_better_kappa():
    """ggml-org/llama.cpp pull 10455: drafted 912, accepted 313, predicted 371, 10.78 / 11 tok/s, draft 10.30 ms."""
    own = costs(
        n_max=16, draft_n=912, draft_n_accepted=313, predicted_n=371, predicted_ms=371 / 10.78 * 1000, base_tok_s=11,
        draft_token_ms=10.30,
    )  # fmt: skip
    assert own.measured[0].emitted == pytest.approx(371 / 58)
    assert own.measured[0].cost == pytest.approx(6.53, abs=0.005)
    assert own.draft == pytest.approx(0.113, abs=0.0005)
    assert own.model == "through plain"
    assert any("assumes" in note for note in own.notes)
    found = speedups(0.854, own, range(1, 7))
    assert found == pytest.approx([1.37, 1.51, 1.56, 1.55, 1.51, 1.47], rel=0.01)


def test_u56_a_hidden_draft_is_flagged():
    """LostRuins/koboldcpp issue 2262: base 36; n = 1 2 3 4 8, rate .47 .30 .23 .20 .11; "n = 0" runs at 44.4."""
    own = costs(
        n_max=[1, 2, 3, 4, 8], rate=[0.47, 0.30, 0.23, 0.20, 0.11], tok_s=[47.8, 45.5, 44.4, 41.9, 30.9], base_tok_s=36,
        loop_tok_s=44.4,
    )  # fmt: skip
    assert [point.emitted for point in own.measured] == pytest.approx([1.47, 1.60, 1.69, 1.80, 1.88])
    assert measured(own) == pytest.approx([1.11, 1.27, 1.37, 1.55, 2.19], abs=0.006)
    assert any("drafts are made in secret" in note for note in own.notes)
    assert own.off == 1.0  # what runs with a hidden draft is not off
    best = max(own.measured, key=lambda point: point.emitted / point.cost)
    assert (best.kappa, round(best.emitted / best.cost, 2)) == (1, 1.33)


def test_u58_g04_the_tool_prices_kekzls_rounds():
    """kekzl/imp pull 1481: κ 0..3: 86.03 tok/s; E 1.76 2.20 2.50; rounds of 16.89 21.82 28.52 ms."""
    own = costs(kappa=[1, 2, 3], E=[1.76, 2.2, 2.5], round_ms=[16.89, 21.82, 28.52], base_tok_s=86.03)
    assert measured(own) == pytest.approx([1.453, 1.877, 2.453], rel=0.005)
    speeds = [86.03 * point.emitted / point.cost for point in own.measured]
    assert speeds == pytest.approx([104.2, 100.8, 87.7], rel=0.005)
    best = max(own.measured, key=lambda point: point.emitted / point.cost)
    assert best.kappa == 1
    assert best.emitted / best.cost == pytest.approx(1.212, rel=0.005)


def test_u59_verification_that_is_linear_in_the_width():
    """lablup/mlxcel issue 736: 69 ms plain; a block of 3 (κ = 2) 140 ms, of 5 (κ = 4) 270 ms; blocks of 3 4 6 8: E 2.3
    2.47 2.72 2.74 at 21.3 16.2 12.1 9.1 tok/s."""
    own = costs(kappa=[2, 4], round_ms=[140, 270], base_tpot_ms=69)
    assert measured(own) == pytest.approx([2.03, 3.91], abs=0.005)
    wide = costs(block_size=[3, 4, 6, 8], E=[2.3, 2.47, 2.72, 2.74], tok_s=[21.3, 16.2, 12.1, 9.1], base_tpot_ms=69)
    assert [point.cost * 69 for point in wide.measured] == pytest.approx([108, 152, 224, 300], rel=0.01)
    assert wide.kappas == (2, 3, 5, 7)
    assert wide.model == "affine"
    assert not wide.edges  # cost grows by the draft, E does not: shorten
    gains = np.diff([point.emitted / point.cost for point in wide.measured])
    assert (gains < 0).all()


# report U60 of the golden cases: ms of a target pass by width
U60 = {"width": [1, 2, 4, 8, 9, 13, 16, 32], "verify_ms": [31.0, 36.2, 42.3, 68.7, 106.9, 113.7, 118.7, 146.1]}


def test_u60_g06_a_tile_edge_between_width_8_and_9():
    own = costs(**U60, draft_cost=0.0)
    assert own.model == "table"
    assert [(edge.below + 1, edge.above + 1) for edge in own.edges] == [(8, 9)]
    assert "width 8 and 9" in str(own.edges[0])
    for alpha, kappa, best, at_7, at_8 in (
        (0.6, 3, 1.595, 1.109, 0.718), (0.7, 3, 1.856, 1.417, 0.928), (0.8, 3, 2.163, 1.878, 1.255),
        (0.9, 5, 2.617, 2.570, 1.776),
    ):  # fmt: skip
        found = simspec.exact({"type": "iid", "alpha": alpha}, own.cost(31), 31)
        assert found.kappa_star == kappa
        speed = found.optimum.speedup_by_kappa
        assert [speed[kappa], speed[7], speed[8]] == pytest.approx([best, at_7, at_8], rel=0.002)


def test_u61_speeds_alone_name_the_edge_and_ask_for_lengths():
    """ashalliants/ninfer-3090 pull 65: base 37.7 tok/s; accept length not given."""
    with pytest.raises(ParameterError) as caught:
        simspec.costs(
            kappa=[1, 2, 3, 4, 5, 6, 7, 8, 10, 12], tok_s=[49.7, 56.4, 58.4, 59.1, 57.2, 48.4, 48.2, 47.6, 42.4, 40.6],
            base_tok_s=37.7,
        )  # fmt: skip
    said = caught.value.message
    assert "κ = 4 is fastest (1.57x)" in said
    assert "from κ = 5 to 6 a round gets at least 18% dearer" in said
    assert "accept length" in said


def test_u61_with_lengths_the_edge_is_in_the_table():
    """The same speeds at an acceptance rate of .7, taken to have numbers: the edge stands out of line and noise."""
    kappa = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12]
    emitted = [(1 - 0.7 ** (k + 1)) / 0.3 for k in kappa]
    own = costs(
        kappa=kappa,
        emitted=emitted,
        tok_s=[49.7, 56.4, 58.4, 59.1, 57.2, 48.4, 48.2, 47.6, 42.4, 40.6],
        base_tok_s=37.7,
    )
    assert [(edge.below, edge.above) for edge in own.edges] == [(5, 6)]
    assert own.model == "table"


def test_u64_a_long_block_takes_more_than_twice_the_time():
    """bstnxbt/dflash-mlx issue 32: block of 8: E 3.73 at 13.7 tok/s; of 4: 2.80 at 25.1."""
    with pytest.raises(ParameterError, match=r"111\.6 ms at κ = 3, 272\.3 ms at κ = 7"):
        simspec.costs(block_size=[8, 4], E=[3.73, 2.80], tok_s=[13.7, 25.1])


def test_u79_the_loop_itself_costs_half_a_step():
    """ml-explore/mlx-lm issue 250: 130 against 200 ms with κ = 0; panbanda/higgs pull 161: 35 rounds, 29 accepted, 28.2
    -> 36.4 tok/s."""
    own = costs(kappa=1, rounds=35, accepted_tokens=29, tok_s=36.4, base_tok_s=28.2)
    assert own.measured[0].emitted == pytest.approx(1.83, abs=0.005)
    assert own.at(1) == pytest.approx(1.42, abs=0.005)
    off = costs(kappa=[1, 2], round_ms=[210, 220], base_tpot_ms=130, loop_tpot_ms=200).off
    assert off == pytest.approx(1.54, abs=0.005)


def folder():
    found = os.environ.get("SIMSPEC_COST_TABLES")
    if not found:
        pytest.skip("SIMSPEC_COST_TABLES names no folder with tables of measurements")
    return Path(found)


@pytest.mark.parametrize("model", ["dense", "moe"])
def test_a_llama_cpp_sweep_by_request(model):
    """thc1006/qwen3.6-speculative-decoding-v100 at e989488: 40 requests per n_max; against sums made with pandas."""
    import pandas as pd

    file = folder() / "thc1006_v100_dflash_mtp_nmax_sweep.csv"
    phase = "main_sweep_nonthinking_greedy"
    with pytest.raises(ParameterError, match="not comparable; choose one"):
        simspec.costs(file)
    own = simspec.costs(file, where={"phase": phase, "model": model}).at()
    table = pd.read_csv(file)
    table = table[(table.phase == phase) & (table.model == model)]
    plain = table[table.baseline_flag == 1]
    unit = plain.predicted_ms.sum() / plain.predicted_n.sum()
    assert own.plain_ms == pytest.approx(unit)
    for n_max, rows in table[table.baseline_flag == 0].groupby("n_max"):
        rounds = rows.predicted_n.sum() - rows.draft_n_accepted.sum()
        point = next(point for point in own.measured if point.kappa == n_max)
        assert (point.rows, point.cost) == (40, pytest.approx(rows.predicted_ms.sum() / rounds / unit))
    assert own.model == "table"  # the block drafter's rounds are no line in κ


def test_a_consumer_gpu_table_with_one_kappa():
    """InventiveHQ/speculative-decoding-consumer-gpus at 451748f: plain rows carry the same draft_max as the others."""
    own = simspec.costs(
        folder() / "inventivehq_llamacpp_draft5.csv",
        where={"gpu": "RTX 5060 Ti (sm_120)", "backend": "cuda", "method": "draft_0_5b"},
    ).at()
    assert own.kappas == (5,)
    assert own.model == "through plain"
    assert own.plain_ms == pytest.approx(11.8, abs=0.05)
