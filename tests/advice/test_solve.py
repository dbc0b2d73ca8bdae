"""The machine interface: every process against brute force and against simulation, errors that stop nothing else."""

import json
import subprocess
import sys

import numpy as np
import pytest

from simspec import theory
from simspec.advice.solve import solve

STICKY = [[0.9, 0.1], [0.2, 0.8]]
PROCESSES = [
    {"type": "iid", "alpha": 0.7},
    {"type": "iid", "alpha": 0.0},
    {"type": "iid", "alpha": 1},
    {"type": "position", "alphas": [0.79, 0.74, 0.72, 0.73, 0.67, 0.6, 0.5, 0.4]},
    {"type": "survival", "survival": [0.7617, 0.6158, 0.5125, 0.4243, 0.364, 0.3094, 0.2722, 0.2365]},
    {"type": "markov", "alpha": 0.7, "rho": 0.3},
    {"type": "markov", "alpha": 0.7, "rho": 0.3, "start": "carry"},
    {"type": "markov", "alpha": 0.7, "rho": -0.4, "start": "carry", "steps_after_reject": 2, "steps_after_full": 3},
    {"type": "beta_mixture", "alpha": 0.7, "rho": 0.3},
    {"type": "beta_mixture", "a": 2.0, "b": 1.0},
    {"type": "discrete_mixture", "alphas": [0.95, 0.45], "weights": [0.5, 0.5]},
    {"type": "gaussian_copula_ar1", "alpha": 0.7, "rho": 0.3},
    {"type": "gaussian_copula_ar1", "alpha": 0.6, "phi": -0.5},
    {"type": "hmm", "P": STICKY, "alphas": [0.98, 0.42]},
    {"type": "hmm", "P": STICKY, "alphas": [0.98, 0.42], "start": "carry", "steps_after_full": 2},
    {
        "type": "token_chain",
        "target": [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]],
        "draft": [[0.5, 0.5, 0.0], [0.3, 0.3, 0.4], [0.2, 0.2, 0.6]],
    },
    {"type": "drift", "alpha_start": 0.85, "alpha_end": 0.62, "tokens": 64},
    {"type": "drift", "alpha_start": 0.4, "alpha_end": 0.9, "tokens": 20, "truncate": False},
    {"type": "drift", "shape": "piecewise", "alphas": [0.9, 0.3], "lengths": [10, 10]},
    {"type": "drift", "shape": "exponential", "alpha_start": 0.9, "alpha_end": 0.4, "half_life": 8, "tokens": 40},
    {"type": "discrete_mixture", "alphas": [0.9, 0.6], "weights": [0.6, 0.4], "weights_of": "tokens",
     "request_tokens": 30},
    {"type": "discrete_mixture", "alphas": [0.9, 0.6], "weights": [0.6, 0.4], "weights_of": "rounds",
     "request_tokens": 30},
    {
        "type": "discrete_mixture", "alphas": [0.9, 0.6], "weights": [0.6, 0.4], "weights_of": "requests",
        "request_tokens": 30, "request_law": "geometric",
    },
    {"type": "beta_mixture", "alpha": 0.7, "rho": 0.2, "request_tokens": 30},
    {"type": "beta_mixture", "alpha": 0.7, "rho": 0.2, "request_tokens": 30, "request_law": "geometric"},
]  # fmt: skip
COST = {"c_d": 0.1, "c_v": 0.02, "c_r": 0.3}


def cases():
    """A hundred mixed cases over all processes."""
    out = []
    for i, process in enumerate(PROCESSES):
        for kappa in (0, 1, 4, 7):
            out.append({"id": f"{i}-{kappa}", "process": process, "kappa": kappa, "cost": COST})
    return out


def test_there_are_a_hundred_cases():
    assert len(cases()) == 100


def test_exact_and_simulated_answers_agree_in_every_case():
    """9 quantities of 100 cases at 2·10⁵ windows: within 6.5 times the half-width of a 95% interval over 1.96.

    6.5 standard errors leave 8e-11 each, 1e-7 in all.
    """
    for case, answer in zip(cases(), solve(cases(), windows=200_000, seed=7), strict=True):
        assert "error" not in answer, answer
        seen = answer["simulated"]
        for key in (
            "mean_accepted",
            "var_accepted",
            "mean_tokens",
            "p_zero_accepted",
            "p_full",
            "mean_cost",
            "speedup",
        ):
            low, high = seen[f"{key}_interval"]
            reach = max(high - seen[key], seen[key] - low) / 1.96 * 6.5 + 1e-9
            assert abs(seen[key] - answer[key]) <= reach, (case["process"], case["kappa"], key, seen[key], answer[key])
        assert abs(seen["mean_examined"] - answer["mean_examined"]) < 0.05
        assert np.isclose(sum(answer["pmf_accepted"]), 1.0)


def test_conventions_at_kappa_0():
    for answer in solve([{"id": 1, "process": process, "kappa": 0} for process in PROCESSES]):
        assert answer["p_zero_accepted"] == answer["p_full"] == 1.0
        assert answer["mean_examined"] == answer["mean_accepted"] == 0.0
        assert answer["mean_cost"] == 1.0


def test_kappa_star_with_ties_and_continuous():
    (answer,) = solve([{"id": 1, "process": {"type": "iid", "alpha": 0.1}, "kappa_max": 4, "cost": {"c_d": 0.1}}])
    assert answer["ties"] == [0, 1]
    assert answer["kappa_star"] == 0
    (own,) = solve(
        [{"id": 2, "process": {"type": "iid", "alpha": 0.7}, "kappa_max": 8, "cost": {"c_d": 0.1}}], windows=400_000
    )
    assert own["kappa_star"] == own["simulated"]["kappa_star"] == 4
    assert own["simulated"]["indistinguishable"] == [4]
    assert abs(own["kappa_star_continuous"] - 4.0245) < 1e-4


BAD = [
    ({"process": {"type": "iid", "alpha": 1.2}, "kappa": 4}, "process.alpha"),
    ({"process": {"type": "iid", "alpha": 0.7, "rho": 0.1}, "kappa": 4}, "process.rho"),
    ({"process": {"type": "iid", "alpha": 0.7}, "kapa": 4}, "kapa"),
    ({"process": {"type": "iid", "alpha": 0.7}}, "kappa"),
    ({"process": {"type": "iid", "alpha": 0.7}, "kappa": 4, "kappa_max": 4}, "kappa"),
    ({"process": {"type": "iid", "alpha": 0.7}, "kappa": -1}, "kappa"),
    ({"process": {"type": "iid", "alpha": 0.7}, "kappa": 1001}, "kappa"),
    ({"process": {"type": "iid", "alpha": 0.7}, "kappa": 2.5}, "kappa"),
    ({"process": {"type": "survival", "survival": [0.5]}, "kappa": 2}, "kappa"),
    ({"process": {"type": "iid", "alpha": 0.7}, "kappa": 4, "cost": {"c_d": -1}}, "cost.c_d"),
    ({"process": {"type": "iid", "alpha": 0.7}, "kappa": 4, "cost": 3}, "cost"),
    ({"process": 3, "kappa": 4}, "process"),
    ({"kind": "wndow", "process": {"type": "iid", "alpha": 0.7}, "kappa": 4}, "kind"),
    ({"process": {"type": ["iid"]}, "kappa": 4}, "process.type"),
    ({"process": {"type": "markov", "alpha": 0.5, "rho": -1.0, "start": "carry", "steps_after_reject": 2,
                  "steps_after_full": 2}, "kappa": 1}, "kappa"),
    (7, ""),
]  # fmt: skip


@pytest.mark.parametrize(("case", "key"), BAD, ids=lambda x: str(x)[:40])
def test_a_bad_case_is_named_and_the_others_are_answered(case, key):
    good = {"id": "good", "process": {"type": "iid", "alpha": 0.7}, "kappa": 4}
    bad, answer = solve([{"id": "bad", **case} if isinstance(case, dict) else case, good])
    assert bad["error"]["key"] == key
    assert "\n" not in bad["error"]["message"]
    assert answer["id"] == "good"
    assert round(answer["mean_accepted"], 4) == 1.7731


def run(text, *arguments):
    command = [sys.executable, "-m", "simspec", "solve", "-", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=120)


def test_the_command_keeps_order_and_exit_codes():
    good = {"id": 1, "process": {"type": "iid", "alpha": 0.7}, "kappa": 4}
    done = run(json.dumps([good]))
    assert done.returncode == 0
    assert json.loads(done.stdout)[0]["id"] == 1
    mixed = run(json.dumps([{"id": "x"}, good]))
    assert mixed.returncode == 1
    assert [answer["id"] for answer in json.loads(mixed.stdout)] == ["x", 1]
    for rubbish in ("", "{}", "[1", "[" * 100_000):
        done = run(rubbish)
        assert done.returncode == 2
        assert done.stdout == ""
        assert len(done.stderr.strip().splitlines()) == 1


ODD = [
    ({"id": [1], "process": {"type": "iid", "alpha": 0.7}, "kappa": 2}, "id"),
    ({"kind": ["x"], "process": {"type": "iid", "alpha": 0.7}, "kappa": 2}, "kind"),
    ({"process": {"type": "iid", "alpha": 0.7}, "kappa": 10**400}, "kappa"),
    ({"process": {"type": "iid", "alpha": 0.7}, "kappa": 2, "cost": {"c_d": 1e300}}, "cost.c_d"),
    ({"process": {"type": "beta_mixture", "a": 1e300, "b": 1}, "kappa": 2}, "process.a"),
    ({"process": {"type": "iid", "alpha": 0.7, "self": 1}, "kappa": 2}, "process.self"),
    ({"process": {"type": "drift", "alpha_start": 0.9, "alpha_end": 0.5, "tokens": 10**8}, "kappa": 4}, None),
    ({"process": {"type": "drift", "alpha_start": 0.9, "alpha_end": 0.5, "tokens": 10**5}, "kappa_max": 1000},
     "kappa_max"),
    ({"process": {"type": "gaussian_copula_ar1", "alpha": 0.7, "rho": 0.9999999}, "kappa": 3}, "process.rho"),
]  # fmt: skip


@pytest.mark.parametrize(("case", "key"), ODD, ids=str)
def test_odd_cases_are_named_and_stop_nothing(case, key):
    good = {"id": "good", "process": {"type": "iid", "alpha": 0.7}, "kappa": 2}
    odd, last = solve([case, good])
    assert abs(last["mean_tokens"] - 2.19) < 1e-12
    if key is not None:
        assert odd["error"]["key"] == key, odd
    assert "error" in odd
    json.dumps(odd, allow_nan=False)


def test_a_route_that_breaks_costs_its_case_alone(monkeypatch):
    def broken(*_):
        raise FloatingPointError("planted")

    monkeypatch.setattr(theory, "optimum", broken)
    process = {"type": "iid", "alpha": 0.7}
    bad, good = solve([{"process": process, "kappa_max": 3}, {"process": process, "kappa": 2}])
    assert "planted" in bad["error"]["message"]
    assert abs(good["mean_tokens"] - 2.19) < 1e-12
