"""Worked cases, input → answer, each through the public functions.

SIMSPEC_GOLDEN names a JSON file with the same cases (``{"cases": [{"id", "in", "out", "tol"}, …]}``): they are then
read from there as well.  α is the rate of one examined draft, R the cost of a round in plain steps, E tokens per round.
"""

import json
import os
from pathlib import Path

import pytest

import simspec


def best(process, cost, kappa_max):
    answer = simspec.exact(process, cost, kappa_max=kappa_max)
    return answer.kappa_star, answer.optimum.best_speedup, list(answer.optimum.speedup_by_kappa)


def one_rate(given):
    """R = 1 + κc."""
    kappa, _, speedups = best(simspec.Iid(alpha=given["alpha"]), {"c_d": given["c"]}, 4)
    return {"best_kappa": kappa, "speedup": speedups[1:]}


def sweep_of_times(given):
    """Times per token of a κ sweep."""
    base, kappas = given["base_tpot_ms"], given["kappa"]
    grid = simspec.costs(kappa=kappas, emitted=given["AL"], tpot_ms=given["tpot_ms"], base_tpot_ms=base)
    told = [
        simspec.explain(emitted=e, kappa=k, base_tpot_ms=base, spec_tpot_ms=t)
        for k, e, t in zip(kappas, given["AL"], given["tpot_ms"], strict=True)
    ]
    top = max(told, key=lambda own: own.speedup.value)
    line = grid.at().figures
    return {
        "round_ms": [own.round_ms for own in told],
        "round_fit_slope_ms": line["slope"] * base,
        "round_fit_intercept_ms": line["fixed"] * base,
        "best_kappa": top.kappa,
        "best_speedup": top.speedup.value,
    }


def sweep_of_rounds(given):
    """Times per round of a κ sweep."""
    base = given["base_tok_s"]
    told = [
        simspec.explain(emitted=e, kappa=k, base_tok_s=base, spec_round_ms=ms, streams=1)
        for k, e, ms in zip(given["kappa"], given["E"], given["round_ms"], strict=True)
    ]
    top = max(told, key=lambda own: own.speedup.value)
    grid = simspec.costs(kappa=given["kappa"], round_ms=given["round_ms"], base_tok_s=base).at()
    for own in told:
        assert grid.at(own.kappa) == pytest.approx(own.round_cost.value, rel=0.05)  # the line, or the table
    return {
        "tok_s": [own.speedup.value * base for own in told],
        "R": [own.round_cost.value for own in told],
        "best_kappa": top.kappa,
        "best_speedup": top.speedup.value,
    }


def verify_by_width(given):
    """Times of the target pass by width, with the edge of a tile."""
    widths = [int(width) for width in given["verify_ms"]]
    grid = simspec.costs(width=widths, verify_ms=list(given["verify_ms"].values()), draft_cost=given["c"])
    cost = grid.at().cost(max(widths) - 1)
    rows = [best(simspec.Iid(alpha=alpha), cost, max(widths) - 1) for alpha in given["alpha"]]
    return {
        "best_kappa": [kappa for kappa, _, _ in rows],
        "best_speedup": [speedup for _, speedup, _ in rows],
        "speedup_at_7": [speedups[7] for _, _, speedups in rows],
        "speedup_at_8": [speedups[8] for _, _, speedups in rows],
    }


def requests_of_two_kinds(given):
    """Shares of tokens; requests so long (5,000 tokens) that their ends do not count."""
    mix = given["request_mix"]
    process = {
        "type": "discrete_mixture",
        "alphas": [own["alpha"] for own in mix],
        "weights": [own["token_share"] for own in mix],
        "weights_of": "tokens",
        "request_tokens": 5000,
    }
    answers = simspec.solve([{"id": kappa, "process": process, "kappa": kappa} for kappa in given["kappa"]])
    return {
        "S1": [1 - answer["p_zero_accepted"] for answer in answers],
        "E": [answer["mean_tokens"] for answer in answers],
    }


def counts_of_v0(given):
    own = simspec.convert(
        "vllm-v0", kappa=given["k"], accepted=given["accepted"], drafted=given["drafted"], emitted=given["emitted"]
    )
    return {
        "drafts": own["drafts"],
        "E": own["mean_emitted_per_round"],
        "alpha_iid": own["iid_alpha_mle_from_mean"],
        "system_efficiency": own["rate_with_bonus"],
        "wrong_E_if_naive": own["naive_wrong_emitted_per_round"],
    }


def slower_with_good_acceptance(given):
    own = simspec.explain(
        emitted=given["E"], kappa=given["kappa"], base_tok_s=given["base_tok_s"], spec_tok_s=given["spec_tok_s"]
    )
    assert "better acceptance cannot help" in own.verdict
    return {"R": own.round_cost.value, "speedup": own.speedup.value, "max_speedup_at_alpha_1": own.ceiling}


def rounds_of_two_kinds(given):
    """A rate for each round, against the one rate of the first draft."""
    weights, alphas = zip(*given["round_mix"], strict=True)
    mixed = simspec.DiscreteMixture(alphas=alphas, weights=weights)
    single = simspec.Iid(alpha=sum(w * a for w, a in given["round_mix"]))
    cost = {"c_d": given["c"]}
    out = {}
    for name, process in (("iid", single), ("mix", mixed)):
        answer = simspec.exact(process, cost)
        out |= {
            f"E_{name}_k4": answer.rows[4]["mean_tokens"],
            f"best_kappa_{name}": answer.kappa_star,
            f"best_speedup_{name}": answer.optimum.best_speedup,
        }
    return out


def law_of_a_window(given):
    process = {"type": "iid", "alpha": given["alpha"]}
    (own,) = simspec.solve([{"id": 1, "process": process, "kappa": given["kappa"]}])
    told = simspec.convert("iid", alpha=given["alpha"], gamma=given["kappa"])
    assert told["var_accepted"] == pytest.approx(own["var_accepted"])
    return {
        "mean": own["mean_accepted"],
        "var": own["var_accepted"],
        "P_zero": own["p_zero_accepted"],
        "P_full": own["p_full"],
    }


def counts_of_llamacpp(given):
    told = [
        simspec.convert("llamacpp", n_predict=run["predict"], n_accept=run["accepted"], n_drafted=run["drafted"])
        for run in given
    ]
    return [
        {
            "rounds": own["drafts"],
            "E": own["mean_emitted_per_round"],
            "rate": own["draft_acceptance_rate"],
            "mean_kappa": own["mean_drafted_per_round"],
        }
        for own in told
    ]


def rate_by_kappa(given):
    told = [simspec.convert("iid", alpha=given["alpha"], gamma=kappa) for kappa in given["kappa"]]
    return {"draft_acceptance_rate": [own["draft_acceptance_rate"] for own in told]}


def one_draft_at_a_cost(given):
    told = {
        name: simspec.explain(alpha=alpha, kappa=1, base_tpot_ms=1.0, spec_round_ms=given["R_k1"])
        for name, alpha in given["alpha"].items()
    }
    (level,) = {own.break_even_alpha for own in told.values()}
    return {"break_even_alpha": level, "speedup": {name: own.speedup.value for name, own in told.items()}}


def three_rules(given):
    schemes = {"sampled_match": "naive", "rejection_1_minus_TV": "single", "argmax_draft": "topk_deterministic"}
    cases = [
        {"id": name, "kind": "multidraft", "p": given["p"], "q": given["q"], "K": 1, "scheme": scheme}
        for name, scheme in schemes.items()
    ]
    return {answer["id"]: answer["acceptance"] for answer in simspec.solve(cases)}


ROUTES = {
    "G01": one_rate,
    "G02": sweep_of_times,
    "G04": sweep_of_rounds,
    "G06": verify_by_width,
    "G07": requests_of_two_kinds,
    "G08": counts_of_v0,
    "G09": slower_with_good_acceptance,
    "G12": rounds_of_two_kinds,
    "G13": law_of_a_window,
    "G15": counts_of_llamacpp,
    "G17": rate_by_kappa,
    "G19": one_draft_at_a_cost,
    "G21": three_rules,
}

CASES = [
    {
        "id": "G01",
        "in": {"alpha": 0.55, "c": 0.3},
        "out": {"best_kappa": 1, "speedup": [1.1923, 1.1578, 1.0633, 0.9593]},
        "tol": 0.001,
    },
    {  # vllm-project/vllm issue 20780, EAGLE
        "id": "G02",
        "in": {
            "base_tpot_ms": 7.07,
            "kappa": [2, 3, 4, 5, 6, 7],
            "AL": [2.1, 2.29, 2.39, 2.43, 2.45, 2.47],
            "tpot_ms": [4.37, 4.29, 4.48, 4.71, 4.94, 5.2],
        },
        "out": {
            "round_ms": [9.18, 9.82, 10.71, 11.45, 12.1, 12.84],
            "round_fit_slope_ms": 0.74,
            "round_fit_intercept_ms": 7.69,
            "best_kappa": 3,
            "best_speedup": 1.648,
        },
        "tol": 0.01,
    },
    {  # kekzl/imp issue 1481
        "id": "G04",
        "in": {"base_tok_s": 86.03, "kappa": [1, 2, 3], "E": [1.76, 2.2, 2.5], "round_ms": [16.89, 21.82, 28.52]},
        "out": {
            "tok_s": [104.2, 100.8, 87.7],
            "R": [1.453, 1.877, 2.453],
            "best_kappa": 1,
            "best_speedup": 1.212,
        },
        "tol": 0.005,
    },
    {  # times of a target pass by width on a consumer GPU
        "id": "G06",
        "in": {
            "verify_ms": {
                "1": 31.0, "2": 36.2, "4": 42.3, "8": 68.7, "9": 106.9, "13": 113.7, "16": 118.7, "32": 146.1,
            },
            "c": 0,
            "alpha": [0.6, 0.7, 0.8, 0.9],
        },
        "out": {
            "best_kappa": [3, 3, 3, 5],
            "best_speedup": [1.595, 1.856, 2.163, 2.617],
            "speedup_at_7": [1.109, 1.417, 1.878, 2.57],
            "speedup_at_8": [0.718, 0.928, 1.255, 1.776],
        },
        "tol": 0.002,
    },
    {  # vllm-project/vllm PR 48892
        "id": "G07",
        "in": {
            "request_mix": [{"alpha": 0.917, "token_share": 0.654}, {"alpha": 0.66, "token_share": 0.346}],
            "kappa": [1, 2, 3, 4, 8, 16],
        },
        "out": {
            "S1": [0.8195, 0.8115, 0.8041, 0.7974, 0.7767, 0.7562],
            "E": [1.82, 2.486, 3.026, 3.462, 4.53, 5.314],
        },
        "tol": 0.002,
    },
    {  # vllm-project/vllm issue 9539
        "id": "G08",
        "in": {"k": 3, "accepted": 8547, "drafted": 13311, "emitted": 10616},
        "out": {
            "drafts": 4437,
            "E": 2.3926,
            "alpha_iid": 0.6626,
            "system_efficiency": 0.598,
            "wrong_E_if_naive": 2.926,
        },
        "tol": 0.001,
    },
    {  # vllm-project/vllm issue 39680
        "id": "G09",
        "in": {"base_tok_s": 342.2, "spec_tok_s": 128.3, "E": 1.97, "kappa": 1},
        "out": {"R": 5.254, "speedup": 0.375, "max_speedup_at_alpha_1": 0.381},
        "tol": 0.002,
    },
    {
        "id": "G12",
        "in": {"round_mix": [[0.5, 0.95], [0.5, 0.45]], "c": 0.1},
        "out": {
            "E_iid_k4": 2.7731,
            "E_mix_k4": 3.1545,
            "best_kappa_iid": 4,
            "best_kappa_mix": 12,
            "best_speedup_iid": 1.981,
            "best_speedup_mix": 2.625,
        },
        "tol": 0.001,
    },
    {
        "id": "G13",
        "in": {"alpha": 0.7, "kappa": 4},
        "out": {"mean": 1.7731, "var": 2.4218, "P_zero": 0.3, "P_full": 0.2401},
        "tol": 0.0005,
    },
    {  # two runs of llama.cpp that differ in their drafts only
        "id": "G15",
        "in": [{"predict": 64, "accepted": 51, "drafted": 171}, {"predict": 64, "accepted": 31, "drafted": 33}],
        "out": [
            {"rounds": 13, "E": 4.923, "rate": 0.298, "mean_kappa": 13.15},
            {"rounds": 33, "E": 1.939, "rate": 0.939, "mean_kappa": 1.0},
        ],
        "tol": 0.002,
    },
    {  # NVIDIA/TensorRT-LLM PR 12905
        "id": "G17",
        "in": {"alpha": 0.7, "kappa": [1, 2, 4, 8]},
        "out": {"draft_acceptance_rate": [0.7, 0.595, 0.4433, 0.2749]},
        "tol": 0.001,
    },
    {
        "id": "G19",
        "in": {
            "R_k1": 1.39,
            "alpha": {"code": 0.9076, "factual": 0.6058, "prose": 0.4918, "technical": 0.4797, "pooled": 0.647},
        },
        "out": {
            "break_even_alpha": 0.39,
            "speedup": {"code": 1.372, "factual": 1.155, "prose": 1.073, "technical": 1.065, "pooled": 1.185},
        },
        "tol": 0.002,
    },
    {  # vllm-project/vllm PR 40651
        "id": "G21",
        "in": {"p": [0.9, 0.1], "q": [0.6, 0.4]},
        "out": {"sampled_match": 0.58, "rejection_1_minus_TV": 0.7, "argmax_draft": 0.9},
        "tol": 1e-9,
    },
]  # fmt: skip


def differences(seen, expected, tolerance, where=""):
    """Where an answer leaves its tolerance; whole numbers must be equal."""
    if isinstance(expected, dict):
        keys = seen.keys() ^ expected.keys()
        out = [f"{where}.{key} is missing on one side" for key in sorted(keys)]
        return out + [
            line
            for key in expected.keys() & seen.keys()
            for line in differences(seen[key], expected[key], tolerance, f"{where}.{key}")
        ]
    if isinstance(expected, list):
        if len(seen) != len(expected):
            return [f"{where}: {len(seen)} entries, {len(expected)} expected"]
        return [
            line
            for i, (own, other) in enumerate(zip(seen, expected, strict=True))
            for line in differences(own, other, tolerance, f"{where}[{i}]")
        ]
    if isinstance(expected, int):
        return [] if seen == expected else [f"{where}: {seen}, {expected} expected"]
    return [] if seen == pytest.approx(expected, rel=tolerance) else [f"{where}: {seen}, {expected} expected"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_worked_case(case):
    assert differences(ROUTES[case["id"]](case["in"]), case["out"], case["tol"]) == []


def test_a_wrong_answer_would_be_seen():
    case = CASES[-2]
    seen = ROUTES[case["id"]](case["in"])
    assert differences(seen | {"break_even_alpha": 0.391}, case["out"], case["tol"]) == [
        ".break_even_alpha: 0.391, 0.39 expected"
    ]
    assert differences({}, case["out"], case["tol"]) != []


def test_every_case_of_the_shared_file():
    """The file of SIMSPEC_GOLDEN: each of its cases has a route and keeps its tolerance."""
    if "SIMSPEC_GOLDEN" not in os.environ:
        pytest.skip("SIMSPEC_GOLDEN names no file")
    cases = json.loads(Path(os.environ["SIMSPEC_GOLDEN"]).read_text())["cases"]
    assert {case["id"] for case in cases} == set(ROUTES)
    wrong = {case["id"]: differences(ROUTES[case["id"]](case["in"]), case["out"], case["tol"]) for case in cases}
    assert {name: lines for name, lines in wrong.items() if lines} == {}
