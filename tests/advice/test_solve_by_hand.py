"""Big Little Decoding, lookahead and unmasking in `simspec solve`: cases worked by hand, played, and refused."""

import pytest

from simspec.advice.solve import solve

LARGE = ((0.1, 0.7, 0.1, 0.1), (0.05, 0.05, 0.2, 0.7), (0.4, 0.3, 0.2, 0.1), (0.6, 0.0, 0.3, 0.1))
SMALL = ((0.1, 0.8, 0.05, 0.05), (0.02, 0.02, 0.9, 0.06), (0.45, 0.25, 0.2, 0.1), (0.1, 0.7, 0.1, 0.1))
TWO = ([[0.2, 0.8], [0.6, 0.4]], [[0.3, 0.7], [0.1, 0.9]])
HAND = [
    # f = 1/2, r = 1/4, two tokens: kept 3/8 + 9/64; passes 1 + 1/2; back: 1/4·(n = 1) + (1 − 9/16)/4
    ({"kind": "bild", "p_fallback": 0.5, "p_rollback": 0.25, "kmax": 2, "cost": {"c_d": 0.1, "c_v": 0.04, "c_r": 0.8}},
     {"mean_small_tokens": 0.75, "mean_small_passes": 1.5, "mean_kept": 33 / 64, "p_rollback_turn": 11 / 64,
      "mean_cost": 1 + 0.15 + 0.03 + 0.1375, "speedup": (97 / 64) / 1.3175}),
    ({"kind": "bild", "p_fallback": 1.0, "p_rollback": 1.0, "kmax": 3, "cost": {"c_d": 0.1}},
     {"mean_small_tokens": 0.0, "mean_small_passes": 1.0, "mean_kept": 0.0, "p_rollback_turn": 0.0, "mean_cost": 1.1,
      "speedup": 1 / 1.1}),
    ({"kind": "bild", "p_fallback": 0.0, "p_rollback": 0.0, "kmax": 3, "cost": {"c_d": 0.1, "c_v": 0.05}},
     {"mean_small_tokens": 3.0, "mean_small_passes": 3.0, "mean_kept": 3.0, "p_rollback_turn": 0.0, "mean_cost": 1.45,
      "speedup": 4 / 1.45}),
    ({"kind": "bild", "p_fallback": 0.3, "p_rollback": 0.3, "kmax": 0, "cost": {"c_d": 0.1, "c_r": 1.0}},
     {"mean_small_tokens": 0.0, "mean_small_passes": 0.0, "mean_kept": 0.0, "p_rollback_turn": 0.0, "mean_cost": 1.0,
      "speedup": 1.0}),
    ({"kind": "bild", "p_fallback": 0.0, "p_rollback": 1.0, "kmax": 2, "cost": {"c_r": 0.5}},
     {"mean_small_tokens": 2.0, "mean_small_passes": 2.0, "mean_kept": 0.0, "p_rollback_turn": 1.0, "mean_cost": 1.5,
      "speedup": 1 / 1.5}),
    # best of three coins each two long: none with (1/2)³, both with 1 − (3/4)³
    ({"kind": "lookahead", "alpha": 0.5, "gamma": 2, "G": 3},
     {"pmf_best": [1 / 8, 19 / 64, 37 / 64], "mean_best": 93 / 64, "mean_tokens_good_step": 157 / 64,
      "step_compression": 157 / 64, "speedup": 157 / 64}),
    ({"kind": "lookahead", "alpha": 1.0, "gamma": 4, "G": 1, "f": 2, "W": 3, "cost": {"c_v": 0.01, "c_r": 0.2}},
     {"pmf_best": [0.0, 0.0, 0.0, 0.0, 1.0], "mean_best": 4.0, "mean_tokens_good_step": 5.0, "step_compression": 3.0,
      "speedup": 3 / (1 + 0.16 + 0.1)}),
    ({"kind": "lookahead", "alpha": 0.0, "gamma": 2, "G": 9},
     {"pmf_best": [1.0, 0.0, 0.0], "mean_best": 0.0, "mean_tokens_good_step": 1.0, "step_compression": 1.0,
      "speedup": 1.0}),
    ({"kind": "lookahead", "alpha": 0.7, "gamma": 0, "G": 2, "f": 3},
     {"pmf_best": [1.0], "mean_best": 0.0, "mean_tokens_good_step": 1.0, "step_compression": 1.0, "speedup": 1.0}),
    ({"kind": "lookahead", "alpha": 0.3, "gamma": 1, "G": 2},
     {"pmf_best": [0.49, 0.51], "mean_best": 0.51, "mean_tokens_good_step": 1.51, "step_compression": 1.51,
      "speedup": 1.51}),
    ({"kind": "llada_schedule", "gen_length": 128, "steps": 128},
     {"tokens_per_step": [1] * 128, "tokens_per_pass": 1.0}),
    ({"kind": "llada_schedule", "gen_length": 7, "steps": 3}, {"tokens_per_step": [3, 2, 2], "tokens_per_pass": 7 / 3}),
    ({"kind": "llada_schedule", "gen_length": 2, "steps": 4},
     {"tokens_per_step": [1, 1, 0, 0], "tokens_per_pass": 0.5}),
    ({"kind": "llada_schedule", "gen_length": 1, "steps": 1}, {"tokens_per_step": [1], "tokens_per_pass": 1.0}),
    ({"kind": "llada_schedule", "gen_length": 10, "steps": 6, "block_length": 5},
     {"tokens_per_step": [2, 2, 1, 2, 2, 1], "tokens_per_pass": 10 / 6}),
    # three masks, c = 1/2: three at once 1/8, two and one 3/8, else one (1/2) and then two masks as above
    ({"kind": "parallel_unmask", "gen_length": 3, "p_confident": 0.5},
     {"mean_steps": 1 / 8 + 3 / 8 * 2 + 1 / 2 * 2.75, "var_steps": 1 / 8 + 1 / 2 * 4 + 3 / 8 * 9 - 2.25**2,
      "pmf_steps": [0.0, 0.125, 0.5, 0.375], "tokens_per_pass": 3 / 2.25}),
    ({"kind": "parallel_unmask", "gen_length": 4, "p_confident": 1.0},
     {"mean_steps": 1.0, "var_steps": 0.0, "pmf_steps": [0.0, 1.0, 0.0, 0.0, 0.0], "tokens_per_pass": 4.0}),
    ({"kind": "parallel_unmask", "gen_length": 3, "p_confident": 0.0},
     {"mean_steps": 3.0, "var_steps": 0.0, "pmf_steps": [0.0, 0.0, 0.0, 1.0], "tokens_per_pass": 1.0}),
    ({"kind": "parallel_unmask", "gen_length": 1, "p_confident": 0.3},
     {"mean_steps": 1.0, "var_steps": 0.0, "pmf_steps": [0.0, 1.0], "tokens_per_pass": 1.0}),
    ({"kind": "parallel_unmask", "gen_length": 2, "p_confident": 0.25},
     {"mean_steps": 2 - 1 / 16, "var_steps": 15 / 256, "pmf_steps": [0.0, 1 / 16, 15 / 16],
      "tokens_per_pass": 32 / 31}),
    # 0 → 1, 2, then unsure and 0 again; the second of three tokens is not the likeliest
    ({"kind": "bild", "target": LARGE, "draft": SMALL, "kmax": 10, "cost": {"c_d": 0.1, "c_v": 0.02, "c_r": 0.3}},
     {"mean_small_tokens": 2.0, "mean_small_passes": 3.0, "mean_kept": 2.0, "p_rollback_turn": 0.0, "mean_cost": 1.34,
      "speedup": 3 / 1.34, "disagreement": 1 / 3, "own_disagreement": 0.0, "tv_output_target": 1 / 3}),
    ({"kind": "bild", "target": LARGE, "draft": SMALL, "kmax": 10, "rollback": 1.5, "cost": {"c_d": 0.1, "c_r": 0.3}},
     {"mean_small_tokens": 2.0, "mean_small_passes": 3.0, "mean_kept": 0.5, "p_rollback_turn": 1.0, "mean_cost": 1.6,
      "speedup": 1.5 / 1.6, "disagreement": 0.0, "own_disagreement": 0.0, "tv_output_target": 0.0}),
    # two of two masks at once, then of two blocks each; a coin for each confidence
    ({"kind": "llada_schedule", "gen_length": 4, "steps": 2, "block_length": 2, "values": [1.0, 0.2],
      "weights": [1, 1], "tau": 0.5},
     {"tokens_per_step": [2, 2], "tokens_per_pass": 2.0, "mean_confidence": 0.6, "p_unsure": 0.5}),
    ({"kind": "llada_schedule", "gen_length": 2, "steps": 2, "values": [1.0, 0.0], "weights": [1, 1]},
     {"tokens_per_step": [1, 1], "tokens_per_pass": 1.0, "mean_confidence": (3 / 4 + 1 / 2) / 2}),
]  # fmt: skip
"""Worked by hand: (case, the whole answer)."""


@pytest.mark.parametrize(("case", "answer"), HAND, ids=str)
def test_kinds_of_solve_by_hand(case, answer):
    (found,) = solve([{"id": "by hand", **case}])
    assert found.pop("id") == "by hand"
    assert found.keys() == answer.keys()
    for key, value in answer.items():
        assert found[key] == pytest.approx(value, abs=1e-12), key


PLAYED = [
    {"kind": "bild", "p_fallback": 0.2, "p_rollback": 0.1, "kmax": 5, "cost": {"c_d": 0.1, "c_v": 0.02, "c_r": 0.3}},
    {
        "kind": "bild",
        "target": LARGE,
        "draft": SMALL,
        "kmax": 5,
        "fallback": 0.4,
        "sampled": True,
        "cost": {"c_d": 0.1},
    },
    {
        "kind": "bild",
        "target": [[0.2, 0.8], [0.6, 0.4]],
        "draft": [[0.3, 0.7], [0.1, 0.9]],
        "kmax": 3,
        "rollback": 0.8,
        "sampled": True,
    },
]


@pytest.mark.parametrize("case", PLAYED, ids=str)
def test_solve_plays_turns_too(case):
    """Within two and a half times a 95% interval: 4.9 standard errors, false alarm 1e-6."""
    (answer,) = solve([case], windows=200_000, seed=4)
    seen = answer.pop("simulated")
    assert answer == solve([case])[0]
    assert ("disagreement" in seen) == ("target" in case)
    for name in seen.keys() & answer.keys():
        low, high = seen[f"{name}_interval"]
        assert low <= seen[name] <= high
        assert abs(seen[name] - answer[name]) <= 2.5 * (high - low) / 2 + 1e-12, name
    assert (seen["windows"] >= 200_000, seen["seed"]) == (True, 4)


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ({"kind": "bild", "target": [], "draft": [[1.0]], "kmax": 2}, "target"),
        ({"kind": "bild", "target": 5, "draft": [[1.0]], "kmax": 2}, "target"),
        ({"kind": "bild", "target": [[1.0]], "kmax": 2}, "draft"),
        ({"kind": "bild", "target": [[0.5, 0.5], [1.0]], "draft": [[1.0, 0.0]] * 2, "kmax": 2}, "target[1]"),
        ({"kind": "bild", "target": [[1.0]], "draft": [["a"]], "kmax": 2}, "draft[0][0]"),
        ({"kind": "bild", "fallback": 0.6, "kmax": 2}, "target"),
        ({"kind": "bild", "target": [[1.0]], "draft": [[1.0]], "kmax": 2, "p_fallback": 0.2}, "p_fallback"),
        ({"kind": "bild", "target": [[1.0]], "draft": [[1.0]], "kmax": 2, "sampled": 1}, "sampled"),
        ({"kind": "bild", "target": [[0.1] * 10] * 10, "draft": [[0.1] * 10] * 9, "kmax": 2}, "draft"),
        ({"kind": "bild", "target": [[0.01] * 100] * 100, "draft": [[0.01] * 100] * 100, "kmax": 1000}, "kmax"),
        ({"kind": "llada_schedule", "gen_length": 4, "steps": 2, "tau": 0.5}, "values"),
        ({"kind": "llada_schedule", "gen_length": 4, "steps": 2, "values": [0.5], "weights": []}, "weights"),
        ({"kind": "llada_schedule", "gen_length": 4, "steps": 2, "values": [0.5], "weights": [1], "tau": 2}, "tau"),
    ],
    ids=str,
)
def test_bad_cases_of_solve_are_one_error(more, key):
    (answer,) = solve([{"id": 1, **more}])
    assert answer["error"]["key"] == key, answer
