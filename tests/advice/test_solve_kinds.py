"""The other kinds of the machine interface: what they answer, in which words, and what they refuse."""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from simspec import theory
from simspec.advice.solve import KINDS, solve
from simspec.model import Cost, Drift

DOCS = Path(__file__).parents[2] / "docs" / "solve.md"
SKEW, BACK = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
FALLING = {"n_tokens": 64, "alpha_start": 0.85, "alpha_end": 0.62, "truncate": True}
SCHEMES = ("single", "naive", "rrs", "rrs_wor", "kseq", "otm", "otm_wor", "topk_deterministic")

GOOD = [
    ({"kind": "markov_sum_variance", "alpha": 0.7, "rho": 0.3, "kappa": 4},
     {"mean": 2.8, "var": 1.30494, "factor_over_iid": 1.5535, "nearest_neighbour_factor": 1.45,
      "asymptotic_factor": 13 / 7}),
    ({"kind": "markov_sum_variance", "alpha": 0.5, "rho": 1.0, "kappa": 3},
     {"mean": 1.5, "var": 2.25, "factor_over_iid": 3.0, "nearest_neighbour_factor": 7 / 3, "asymptotic_factor": None}),
    ({"kind": "estimators", "alpha": 0.5, "kappa": 1, "windows": 10},
     {"mean_examined_mle": 0.5, "var_examined_mle": 0.025, "mean_drafted_ratio": 0.5, "var_drafted_ratio": 0.025,
      "asymptotic_var_mle": 0.025}),
    ({"kind": "tails", "alpha": 0.7, "kappa": 4, "windows": 10_000},
     {"p_window_zero_accepted": 0.3, "p_all_k_bernoulli_reject": 0.0081,
      "hoeffding_bound_all_reject": math.exp(-3.92), "p_some_zero_window": 1.0,
      "p_some_all_reject_window": 1.0 - 0.9919**10_000, "bernoulli_sum_mean": 2.8, "bernoulli_sum_var": 0.84,
      "relative_sd": math.sqrt(0.84) / 2.8, "absolute_sd_of_mean": math.sqrt(0.84) / 4,
      "alpha_threshold_1pct_all_reject": 1 - 0.01**0.25}),
    ({"kind": "seed_formulas", "alpha": 0.7, "beta": 0.1, "c_v": 0.5, "c_r": 1.0},
     {"kappa_star_as_coded": math.log(math.log(1 / 0.7) / 0.6) / math.log(0.7),
      "alpha_c_formula": 0.9 - math.sqrt(0.81 - 0.01 / 9), "rho_inf": 1.25, "kappa_09_R1": 3.375,
      "rho_R1_at_kappa4": 4 / 3.5}),
    ({"kind": "seed_formulas", "alpha": 0.0, "beta": 1.0, "c_r": 0.0},
     {"kappa_star_as_coded": None, "alpha_c_formula": None, "rho_inf": 1.0, "kappa_09_R1": 9.0,
      "rho_R1_at_kappa4": 0.8}),
    ({"kind": "divergence", "target": SKEW, "draft": BACK, "orders": [0, 0.5, 1, 2, "inf"]},
     {"alpha": 0.7, "tv": 0.3, "l1": 0.6, "bhattacharyya": 2 * math.sqrt(0.1) + 0.3,
      "hellinger2": 0.7 - 2 * math.sqrt(0.1),
      "renyi_draft_target": {"0": 0.0, "0.5": -2 * math.log(2 * math.sqrt(0.1) + 0.3), "1": 0.3 * math.log(2.5),
                             "2": math.log(1.63), "inf": math.log(2.5)},
      "renyi_target_draft": {"0": 0.0, "0.5": -2 * math.log(2 * math.sqrt(0.1) + 0.3), "1": 0.3 * math.log(2.5),
                             "2": math.log(1.63), "inf": math.log(2.5)},
      "alpha_lower_from_half": 1 - math.sqrt(1 - (2 * math.sqrt(0.1) + 0.3) ** 2),
      "alpha_upper_from_half": 2 * math.sqrt(0.1) + 0.3,
      "alpha_lower_pinsker": 1 - math.sqrt(0.15 * math.log(2.5)),
      "alpha_lower_bretagnolle_huber": 1 - math.sqrt(1 - 2.5**-0.3), "alpha_lower_dinf": 0.4,
      "accepted_token_law": [2 / 7, 3 / 7, 2 / 7], "residual_law": [1.0, 0.0, 0.0]}),
    ({"kind": "divergence", "target": [1, 0], "draft": [0, 1], "orders": [1.0]},
     {"alpha": 0.0, "tv": 1.0, "l1": 2.0, "bhattacharyya": 0.0, "hellinger2": 1.0, "renyi_draft_target": {"1.0": None},
      "renyi_target_draft": {"1.0": None}, "alpha_lower_from_half": 0.0, "alpha_upper_from_half": 0.0,
      "alpha_lower_pinsker": 0.0, "alpha_lower_bretagnolle_huber": 0.0, "alpha_lower_dinf": 0.0,
      "accepted_token_law": None, "residual_law": [1.0, 0.0]}),
    ({"kind": "typical_acceptance", "target": SKEW, "draft": BACK, "epsilon": 0.25, "delta": 1.0,
      "on_reject": "residual"},
     {"entropy": -sum(p * math.log(p) for p in SKEW), "threshold": 0.25, "accepted_tokens": [0, 1], "acceptance": 0.5,
      "lossless_alpha": 0.7, "output_law": [0.7, 0.3, 0.0], "tv_output_target": 0.2}),
    ({"kind": "multidraft", "p": SKEW, "q": BACK, "K": 2, "scheme": "rrs", "depth": 3},
     {"acceptance": 0.76, "output_law": SKEW, "tv_output_target": 0.0, "stage_acceptance": [0.7, 0.2],
      "mean_accepted_depth": 0.76 + 0.76**2 + 0.76**3, "single_draft_alpha": 0.7, "one_minus_miss_power": 0.91,
      "singleton_bound": 0.86}),
    ({"kind": "multidraft", "p": SKEW, "q": BACK, "K": 2, "scheme": "otm"},
     {"acceptance": 0.86, "output_law": SKEW, "tv_output_target": 0.0, "stage_acceptance": None,
      "mean_accepted_depth": 0.86, "min_cut": [1, 2], "single_draft_alpha": 0.7, "one_minus_miss_power": 0.91,
      "singleton_bound": 0.86}),
    ({"kind": "multidraft", "p": SKEW, "q": BACK, "K": 2, "scheme": "topk_deterministic"},
     {"acceptance": 0.5, "output_law": SKEW, "tv_output_target": 0.0, "stage_acceptance": [0.2, 0.375],
      "mean_accepted_depth": 0.5, "candidates": [2, 1], "single_draft_alpha": 0.7, "one_minus_miss_power": 0.91,
      "singleton_bound": 0.5}),
    ({"kind": "multidraft", "p": SKEW, "drafts": [BACK, SKEW], "scheme": "single"},
     {"acceptance": 0.7, "output_law": SKEW, "tv_output_target": 0.0, "stage_acceptance": [0.7],
      "mean_accepted_depth": 0.7, "single_draft_alpha": 0.7, "one_minus_miss_power": 1.0,
      "singleton_bound": 0.3 + 0.2 + 0.5}),
    ({"kind": "generation", "generation": {"n_tokens": 3, "alpha_start": 0.5, "alpha_end": 0.5}, "kappa": 1,
      "cost": {"c_d": 0.1, "c_r": 0.2}},
     {"mean_rounds": 2.25, "var_rounds": 0.1875, "pmf_rounds": [0.0, 0.0, 0.75, 0.25], "mean_cost": 2.25 + 0.15 + 0.15,
      "mean_drafted": 1.5, "mean_accepted_total": 0.75, "speedup": 3 / 2.55}),
    ({"kind": "generation_star", "generation": {"n_tokens": 2, "alpha_start": 0.5, "alpha_end": 0.5},
      "cost": {"c_d": 0.1}, "kappa_max": 2},
     {"speedup_by_fixed_kappa": [1.0, 2 / 1.6, 2 / 1.6], "best_fixed_kappa": 1, "best_fixed_speedup": 1.25,
      "optimal_cost": 1.6, "optimal_speedup": 1.25, "first_kappas": [1, 0]}),
    ({"kind": "tree", "cost": {"c_d": 0.1, "c_v": 0.02, "c_r": 0.4}, "tree": {"sibling_model": "exclusive", "nodes": [
        {"id": 3, "parent": 1, "p": 0.5}, {"id": 1, "parent": 0, "p": 0.6}, {"id": 2, "parent": 0, "p": 0.2}]}},
     {"depth": 2, "n_nodes": 3, "pmf_accepted": [0.2, 0.5, 0.3], "mean_accepted": 1.1, "var_accepted": 0.49,
      "p_reject": 0.5, "mean_cost": 1.46, "speedup": 2.1 / 1.46}),
    ({"kind": "tree", "tree": {"sibling_model": "sequential", "nodes": [
        {"id": "a", "parent": 0, "p": 0.5}, {"id": "b", "parent": 0, "p": 0.5}, {"id": "c", "parent": "b", "p": 0.2}]}},
     {"depth": 2, "n_nodes": 3, "pmf_accepted": [0.25, 0.7, 0.05], "mean_accepted": 0.8, "var_accepted": 0.26,
      "p_reject": 0.25 + 0.2, "mean_cost": 1.0, "speedup": 1.8}),
    ({"kind": "tree", "tree": {"sibling_model": "exclusive", "nodes": []}},
     {"depth": 0, "n_nodes": 0, "pmf_accepted": [1.0], "mean_accepted": 0.0, "var_accepted": 0.0, "p_reject": 0.0,
      "mean_cost": 1.0, "speedup": 1.0}),
    ({"kind": "optimal_tree", "rank_p": [0.6, 0.2], "n_nodes": 4, "max_depth": 2},
     {"mean_accepted": 0.6 + 0.36 + 0.2 + 0.12}),
    ({"kind": "optimal_tree", "rank_p": [0.6, 0.2], "n_nodes": 3}, {"mean_accepted": 0.6 + 0.36 + 0.216}),
    ({"kind": "optimal_tree", "rank_p": [0.5, 0.5], "n_nodes": 9, "max_depth": 1}, {"mean_accepted": 1.0}),
    ({"kind": "threshold_policy", "values": [0.9, 0.3], "weights": [0.75, 0.25], "rule": "survival", "theta": 0.5,
      "kmin": 1, "kmax": 2, "cost": {"c_d": 0.1, "c_v": 0.1, "c_r": 1.0}},
     {"mean_drafted": 1.75, "pmf_drafted": [0.0, 0.25, 0.75], "mean_accepted": 0.75 + 0.675 * 0.75,
      "p_full": 0.25 * 0.3 + 0.675 * 0.75, "mean_cost": 1.35 + 1.0 - 0.58125, "speedup": 2.25625 / 1.76875}),
    ({"kind": "threshold_policy", "values": [0.9, 0.3], "weights": [0.75, 0.25], "rule": "confidence", "theta": 0.5,
      "kmin": 2, "kmax": 3},
     {"mean_drafted": 2.75, "pmf_drafted": [0.0, 0.0, 0.25, 0.75],
      "mean_accepted": 0.75 + 0.75**2 + 0.75 * 0.675 * 0.75, "p_full": 0.75 * 0.075 + 0.75 * 0.675 * 0.75,
      "mean_cost": 1.0, "speedup": 1.75 + 0.75**2 + 0.75 * 0.675 * 0.75}),
    ({"kind": "bild", "p_fallback": 0.2, "p_rollback": 0.1, "kmax": 2,
      "cost": {"c_d": 0.1, "c_v": 0.05, "c_r": 0.5}},
     {"mean_small_tokens": 0.8 + 0.64, "mean_small_passes": 1.8, "mean_kept": 0.72 + 0.72**2,
      "p_rollback_turn": 0.16 * 0.1 + 0.64 * 0.19, "mean_cost": 1.0 + 0.18 + 0.072 + 0.5 * 0.1376,
      "speedup": 2.2384 / 1.3208}),
    ({"kind": "lookahead", "alpha": 0.5, "gamma": 2, "G": 2, "f": 4, "cost": {"c_v": 0.01, "c_r": 0.1}},
     {"pmf_best": [0.25, 0.3125, 0.4375], "mean_best": 1.1875, "mean_tokens_good_step": 2.1875,
      "step_compression": 1.296875, "speedup": 1.296875 / (1.04 + 0.1 * (1 - 0.4375 / 4))}),
    ({"kind": "llada_schedule", "gen_length": 10, "steps": 4},
     {"tokens_per_step": [3, 3, 2, 2], "tokens_per_pass": 2.5}),
    ({"kind": "parallel_unmask", "gen_length": 2, "p_confident": 0.5},
     {"mean_steps": 1.75, "var_steps": 0.1875, "pmf_steps": [0.0, 0.25, 0.75], "tokens_per_pass": 2 / 1.75}),
    ({"kind": "ewma", "lambda": 0.5, "alphas": [1.0, 0.5], "initial": 0.0}, {"mean": 0.5, "var": 0.0625}),
    ({"kind": "ewma", "lambda": 0.85, "alphas": [], "initial": 0.7}, {"mean": 0.7, "var": 0.0}),
    ({"kind": "control_loop", "alpha": 0.5, "n_tokens": 3, "lambda": 0.5, "initial": 0.5, "cuts": [0.5],
      "kappa_table": [0, 2], "k_min": 1, "guard": 0.8, "cost": {"c_d": 0.1, "c_r": 0.2}},
     {"mean_rounds": 2.0, "pmf_rounds": [0.0, 0.25, 0.5, 0.25], "mean_cost": 2.0 + 0.25 + 0.2, "mean_drafted": 2.5,
      "mean_final_estimate": 0.25 * (0.875 + 0.375 + 0.625 + 0.125), "speedup": 3 / 2.45}),
    ({"kind": "control_loop", "alpha": 0.5, "n_tokens": 2, "lambda": 0.5, "initial": 0.5, "cuts": [0.5],
      "kappa_table": [3, 2], "guard": 0.8},  # 2 drafts would pass the guard, and are cut to 1; the last round has none
     {"mean_rounds": 1.5, "pmf_rounds": [0.0, 0.5, 0.5], "mean_cost": 1.5, "mean_drafted": 1.0,
      "mean_final_estimate": 0.5, "speedup": 2 / 1.5}),
    ({"kind": "control_loop", "alpha": 1.0, "n_tokens": 4, "lambda": 0.0, "initial": 0.0, "cuts": [],
      "kappa_table": [1]},
     {"mean_rounds": 2.0, "pmf_rounds": [0.0, 0.0, 1.0, 0.0, 0.0], "mean_cost": 2.0, "mean_drafted": 2.0,
      "mean_final_estimate": 1.0, "speedup": 2.0}),
]  # fmt: skip
"""Cases worked by hand: (case, the whole answer)."""


def assert_same(found, expected, where):
    assert type(found) is type(expected) or isinstance(expected, (int, float)), where
    if isinstance(expected, dict):
        assert list(found) == list(expected), where
        for key, value in expected.items():
            assert_same(found[key], value, f"{where}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for i, value in enumerate(expected):
            assert_same(found[i], value, f"{where}[{i}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-12), where
    else:
        assert found == expected, where


@pytest.mark.parametrize(("case", "expected"), GOOD, ids=lambda x: str(x.get("kind", "")))
def test_cases_worked_by_hand(case, expected):
    (answer,) = solve([{"id": "x", **case}])
    json.dumps(answer, allow_nan=False)
    assert_same(answer, {"id": "x", **expected}, case["kind"])


def test_every_kind_is_worked_by_hand():
    assert {case["kind"] for case, _ in GOOD} == set(KINDS) - {"window"}


def test_schemes_in_one_order():
    answers = solve([{"kind": "multidraft", "p": SKEW, "q": BACK, "K": 2, "scheme": scheme} for scheme in SCHEMES])
    found = {scheme: round(answer["acceptance"], 6) for scheme, answer in zip(SCHEMES, answers, strict=True)}
    assert found == {
        "single": 0.7, "naive": 0.483, "rrs": 0.76, "rrs_wor": 0.82, "kseq": 0.791355, "otm": 0.86,
        "otm_wor": 0.985714, "topk_deterministic": 0.5,
    }  # fmt: skip
    for answer in answers:
        assert answer["tv_output_target"] < 1e-12
        assert answer["singleton_bound"] >= answer["acceptance"] - 1e-12
    assert answers[4]["rho"] == pytest.approx(1.45678, abs=5e-6)
    assert 1 - (1 - answers[4]["beta"]) ** 2 == pytest.approx(answers[4]["acceptance"])


def test_one_scheme_for_what_greedy_and_sampled_drafts_accept():
    """p = (.9, .1), q = (.6, .4), one draft: matching .58, rejection .7, the likeliest token .9."""
    cases = [{"kind": "multidraft", "p": [0.9, 0.1], "q": [0.6, 0.4], "scheme": name}
             for name in ("naive", "single", "topk_deterministic")]  # fmt: skip
    assert [round(answer["acceptance"], 12) for answer in solve(cases)] == [0.58, 0.7, 0.9]


def test_the_direction_of_a_divergence():
    """D(target ‖ draft) is infinite where the draft lacks a token; bounds then use the other direction."""
    (answer,) = solve([{"kind": "divergence", "target": [0.5, 0.5], "draft": [1.0, 0.0]}])
    assert answer["renyi_target_draft"]["1"] is None
    assert answer["renyi_draft_target"]["1"] == pytest.approx(math.log(2))
    assert answer["alpha_lower_dinf"] == pytest.approx(0.5)
    assert list(answer["renyi_draft_target"]) == ["0", "0.5", "1", "2", "inf"]


def test_a_generation_is_the_drift_process():
    """The same sequence as kind "window" sees it: totals over rounds."""
    drift = {"type": "drift", "shape": "linear", "alpha_start": 0.85, "alpha_end": 0.62, "tokens": 64, "truncate": True}
    cost = {"c_d": 0.1, "c_v": 0.02, "c_r": 0.3}
    whole, window, star = solve([
        {"kind": "generation", "generation": FALLING, "kappa": 4, "cost": cost},
        {"process": drift, "kappa": 4, "cost": cost},
        {"kind": "generation_star", "generation": FALLING, "cost": cost, "kappa_max": 8},
    ])  # fmt: skip
    assert whole["speedup"] == pytest.approx(window["speedup"])
    assert whole["mean_rounds"] == pytest.approx(64 / window["mean_tokens"])
    assert whole["mean_accepted_total"] == pytest.approx(whole["mean_rounds"] * window["mean_accepted"])
    assert np.arange(65) @ whole["pmf_rounds"] == pytest.approx(whole["mean_rounds"])
    assert star["speedup_by_fixed_kappa"][4] == pytest.approx(whole["speedup"])
    assert star["optimal_speedup"] >= star["best_fixed_speedup"] == max(star["speedup_by_fixed_kappa"])
    plan = theory.optimal_plan(Drift(alpha_start=0.85, alpha_end=0.62, tokens=64), Cost(**cost), 8)
    assert star["first_kappas"] == plan.kappas.tolist()


LAWS = {"target": SKEW, "draft": BACK}
LOOP = {"alpha": 0.7, "n_tokens": 8, "lambda": 0.85, "initial": 0.7, "cuts": [0.5, 0.8], "kappa_table": [1, 3, 6]}
MULTI = {"kind": "multidraft", "p": SKEW, "q": BACK, "K": 2, "scheme": "rrs"}
BAD = [
    ({"kind": "markov_sum_variance", "alpha": 0.8, "rho": -0.5, "kappa": 4}, "rho"),
    ({"kind": "ewma", "lambda": 1, "alphas": [0.5], "initial": 0.5}, "lambda"),
    ({"kind": "ewma", "lambda": 0.5, "alphas": [0.5, 1.5], "initial": 0.5}, "alphas[1]"),
    ({"kind": "ewma", "lambda": 0.5, "alphas": [0.5]}, "initial"),
    ({"kind": "control_loop", **LOOP, "n_tokens": 17}, "n_tokens"),
    ({"kind": "control_loop", **LOOP, "alpha": -0.1}, "alpha"),
    ({"kind": "control_loop", **LOOP, "cuts": [0.8, 0.5]}, "cuts"),
    ({"kind": "control_loop", **LOOP, "cuts": [0.5]}, "kappa_table"),
    ({"kind": "control_loop", **LOOP, "kappa_table": [1, 2, 3.0]}, "kappa_table"),
    ({"kind": "control_loop", **LOOP, "kappa_table": [1, 2, 65]}, "kappa_table"),
    ({"kind": "control_loop", **LOOP, "guard": 0}, "guard"),
    ({"kind": "control_loop", **LOOP, "lambda": 1.0}, "lambda"),
    ({"kind": "control_loop", **LOOP, "k_max": 3}, "k_max"),
    ({"kind": "markov_sum_variance", "alpha": 1.8, "rho": 0.5, "kappa": 4}, "alpha"),
    ({"kind": "markov_sum_variance", "alpha": 0.8, "rho": 0.5, "kappa": 0}, "kappa"),
    ({"kind": "markov_sum_variance", "alpha": 0.8, "rho": 0.5}, "kappa"),
    ({"kind": "estimators", "alpha": 0.7, "kappa": 4, "windows": 0}, "windows"),
    ({"kind": "estimators", "alpha": "0.7", "kappa": 4, "windows": 10}, "alpha"),
    ({"kind": "estimators", "alpha": True, "kappa": 4, "windows": 10}, "alpha"),
    ({"kind": "estimators", "alpha": 10**400, "kappa": 4, "windows": 10}, "alpha"),
    ({"kind": "estimators", "alpha": 0.7, "kappa": 4.5, "windows": 10}, "kappa"),
    ({"kind": "estimators", "alpha": 0.7, "kapa": 4, "windows": 10}, "kapa"),
    ({"kind": "tails", "alpha": float("nan"), "kappa": 4, "windows": 10}, "alpha"),
    ({"kind": "tails", "alpha": 0.7, "kappa": 4}, "windows"),
    ({"kind": "seed_formulas", "alpha": 0.7, "beta": -0.1}, "beta"),
    ({"kind": "seed_formulas", "beta": 0.1}, "alpha"),
    ({"kind": "seed_formulas", "alpha": 0.7, "c_d": 0.1}, "c_d"),
    ({"kind": "divergence", **LAWS, "draft": [0.5, 0.5]}, "draft"),
    ({"kind": "divergence", **LAWS, "target": [0.5, 0.3, 0.1]}, "target"),
    ({"kind": "divergence", **LAWS, "target": [0.5, 0.7, -0.2]}, "target[2]"),
    ({"kind": "divergence", **LAWS, "target": [0.5, "x", 0.5]}, "target[1]"),
    ({"kind": "divergence", **LAWS, "target": [[0.5], [0.5], [0.0]]}, "target[0]"),
    ({"kind": "divergence", **LAWS, "target": {"a": 1}}, "target"),
    ({"kind": "divergence", "target": SKEW}, "draft"),
    ({"kind": "divergence", **LAWS, "orders": [-1]}, "orders[0]"),
    ({"kind": "divergence", **LAWS, "orders": [1, "infinity"]}, "orders[1]"),
    ({"kind": "divergence", **LAWS, "orders": 1}, "orders"),
    ({"kind": "typical_acceptance", **LAWS, "epsilon": 2}, "epsilon"),
    ({"kind": "typical_acceptance", **LAWS, "delta": -1}, "delta"),
    ({"kind": "typical_acceptance", **LAWS, "on_reject": "draft"}, "on_reject"),
    ({**MULTI, "scheme": "rsr"}, "scheme"),
    ({**MULTI, "scheme": ["rrs"]}, "scheme"),
    ({**MULTI, "K": 0}, "K"),
    ({**MULTI, "K": 4, "scheme": "rrs_wor"}, "K"),
    ({**MULTI, "K": 4, "scheme": "otm_wor"}, "K"),
    ({**MULTI, "K": 4, "scheme": "topk_deterministic"}, "K"),
    ({**MULTI, "drafts": [BACK]}, "q"),
    ({"kind": "multidraft", "p": SKEW, "scheme": "rrs"}, "q"),
    ({"kind": "multidraft", "p": SKEW, "drafts": [BACK, BACK], "scheme": "kseq"}, "drafts"),
    ({"kind": "multidraft", "p": SKEW, "drafts": [BACK, [1.0]], "scheme": "rrs"}, "drafts[1]"),
    ({"kind": "multidraft", "p": SKEW, "drafts": [], "scheme": "rrs"}, "drafts"),
    ({"kind": "multidraft", "p": SKEW, "drafts": [BACK, BACK], "K": 3, "scheme": "rrs"}, "K"),
    ({**MULTI, "rho": 1.5}, "rho"),
    ({**MULTI, "scheme": "kseq", "rho": 1.1}, "rho"),
    ({**MULTI, "depth": -1}, "depth"),
    ({"kind": "multidraft", "p": [0.04] * 25, "q": [0.04] * 25, "K": 2, "scheme": "otm_wor"}, "p"),
    ({"kind": "generation", "generation": FALLING, "kappa": -1}, "kappa"),
    ({"kind": "generation", "kappa": 4}, "generation"),
    ({"kind": "generation", "generation": {**FALLING, "alpha_end": 1.2}, "kappa": 4}, "generation.alpha_end"),
    ({"kind": "generation", "generation": {**FALLING, "n_tokens": 0}, "kappa": 4}, "generation.n_tokens"),
    ({"kind": "generation", "generation": {**FALLING, "n_tokens": 10**6}, "kappa": 99}, "generation.n_tokens"),
    ({"kind": "generation", "generation": {**FALLING, "truncate": 1}, "kappa": 4}, "generation.truncate"),
    ({"kind": "generation", "generation": {**FALLING, "tokens": 64}, "kappa": 4}, "generation.tokens"),
    ({"kind": "generation", "generation": FALLING, "kappa": 4, "cost": {"c_d": -1}}, "cost.c_d"),
    ({"kind": "generation_star", "generation": FALLING, "kappa_max": 1001}, "kappa_max"),
    ({"kind": "generation_star", "generation": FALLING, "kappa_max": 4, "cost": {"draft_table": [0, 1]}}, "kappa_max"),
    ({"kind": "generation_star", "generation": {**FALLING, "n_tokens": 10**6}, "kappa_max": 500}, "kappa_max"),
    ({"kind": "tree"}, "tree"),
    ({"kind": "tree", "tree": {"sibling_model": "both", "nodes": []}}, "tree.sibling_model"),
    ({"kind": "tree", "tree": {"nodes": {"id": 1}}}, "tree.nodes"),
    ({"kind": "tree", "tree": {"nodes": [1]}}, "tree.nodes[0]"),
    ({"kind": "tree", "tree": {"nodes": [{"id": 1, "parent": 0}]}}, "tree.nodes[0].p"),
    ({"kind": "tree", "tree": {"nodes": [{"id": 1, "parent": 0, "p": 1.2}]}}, "tree.nodes[0].p"),
    ({"kind": "tree", "tree": {"nodes": [{"id": 1, "parent": 5, "p": 0.2}]}}, "tree.nodes[0].parent"),
    ({"kind": "tree", "tree": {"nodes": [{"id": 1, "parent": 1, "p": 0.2}]}}, "tree.nodes[0].parent"),
    ({"kind": "tree", "tree": {"nodes": [{"id": 0, "parent": 0, "p": 0.2}]}}, "tree.nodes[0].id"),
    ({"kind": "tree", "tree": {"nodes": [{"id": [1], "parent": 0, "p": 0.2}]}}, "tree.nodes[0].id"),
    ({"kind": "tree", "tree": {"nodes": [{"id": 1, "parent": 0, "p": 0.2}] * 2}}, "tree.nodes[1].id"),
    ({"kind": "tree", "tree": {"nodes": [{"id": 1, "parent": 0, "p": 0.2, "q": 1}]}}, "tree.nodes[0].q"),
    ({"kind": "tree", "tree": {"nodes": [{"id": i, "parent": 0, "p": 0.6} for i in (1, 2)]}}, "tree.nodes"),
    ({"kind": "tree", "tree": {"nodes": [{"id": 1, "parent": 0, "p": 0.6}]}, "cost": {"draft_table": [0]}},
     "cost.draft_table"),
    ({"kind": "optimal_tree", "rank_p": [0.6, 0.6], "n_nodes": 3, "max_depth": 2}, "rank_p"),
    ({"kind": "optimal_tree", "rank_p": [0.6, -0.1], "n_nodes": 3, "max_depth": 2}, "rank_p[1]"),
    ({"kind": "optimal_tree", "rank_p": [0.6], "n_nodes": 1025, "max_depth": 2}, "n_nodes"),
    ({"kind": "optimal_tree", "rank_p": [0.6], "n_nodes": 3, "max_depth": -1}, "max_depth"),
    ({"kind": "threshold_policy", "values": [0.9], "weights": [1], "rule": "survival", "theta": 0.5}, "kmax"),
    ({"kind": "threshold_policy", "values": [0.9], "weights": [1], "theta": 0.5, "kmax": 3}, "rule"),
    ({"kind": "threshold_policy", "values": [0.9], "weights": [1, 2], "rule": "survival", "theta": 0.5, "kmax": 3},
     "weights"),
    ({"kind": "threshold_policy", "values": [1.9], "weights": [1], "rule": "survival", "theta": 0.5, "kmax": 3},
     "values[0]"),
    ({"kind": "threshold_policy", "values": [0.9], "weights": [1], "rule": "survival", "theta": 0.5, "kmax": 3,
      "kmin": 4}, "kmin"),
    ({"kind": "threshold_policy", "values": [0.9], "weights": [1], "rule": "survival", "theta": 0.5, "kmax": 3,
      "cost": {"draft_table": [0, 0.1]}}, "cost.kappa"),
    ({"kind": "bild", "p_fallback": 1.2, "p_rollback": 0.1, "kmax": 2}, "p_fallback"),
    ({"kind": "bild", "p_fallback": 0.2, "p_rollback": 0.1, "kmax": 2, "cost": {"draft_table": [0, 0.1]}}, "cost"),
    ({"kind": "lookahead", "alpha": 0.5, "gamma": 4, "G": 0}, "G"),
    ({"kind": "lookahead", "alpha": 0.5, "gamma": 4, "G": 3, "f": 0.5}, "f"),
    ({"kind": "llada_schedule", "gen_length": 10, "steps": 0}, "steps"),
    ({"kind": "llada_schedule", "gen_length": 10, "steps": 5, "block_length": 3}, "block_length"),
    ({"kind": "parallel_unmask", "gen_length": 0, "p_confident": 0.5}, "gen_length"),
    ({"kind": "parallel_unmask", "gen_length": 8, "p_confident": -0.5}, "p_confident"),
]  # fmt: skip


@pytest.mark.parametrize(("case", "key"), BAD, ids=lambda x: str(x)[-60:])
def test_a_bad_case_is_named_and_the_others_are_answered(case, key):
    good = {"id": "good", "kind": "tails", "alpha": 0.7, "kappa": 4, "windows": 1}
    bad, answer = solve([{"id": "bad", **case}, good])
    assert bad["error"]["key"] == key, bad
    message = bad["error"]["message"]
    assert "\n" not in message
    assert any(word in message for word in ("allowed", "known", "did you mean", "give either")), message
    assert key in message or message.startswith("unknown key"), message
    json.dumps(bad, allow_nan=False)
    assert answer["p_all_k_bernoulli_reject"] == pytest.approx(0.0081)


def test_windows_simulate_nothing_for_exact_kinds():
    case = {"id": 1, "kind": "tails", "alpha": 0.7, "kappa": 4, "windows": 3}
    assert solve([case], windows=1000) == solve([case])


def test_the_page_of_kinds_shows_what_the_command_prints(tmp_path):
    """docs/solve.md: its list of cases, its answers, and a heading per kind."""
    text = DOCS.read_text(encoding="utf-8")
    cases, answers = (block.split("```")[0] for block in text.split("```json\n")[1:3])
    (tmp_path / "cases.json").write_text(cases)
    command = [sys.executable, "-m", "simspec", "solve", "cases.json", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert_same(json.loads(done.stdout), json.loads(answers), "docs")
    for kind in KINDS:
        assert f"`{kind}`" in text
