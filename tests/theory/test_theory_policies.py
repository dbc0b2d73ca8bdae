"""A rule that chooses κ along a short generation: all histories listed, against every other exact route there is."""

import numpy as np
import pytest

from simspec import theory
from simspec.model import Cost, Drift, ParameterError

COST = Cost(c_d=0.1, c_v=0.02, c_r=0.3)
CHANGING = COST.changed(c_switch=0.07, c_wake=0.4)
CASES = [
    Drift(shape="linear", alpha_start=0.85, alpha_end=0.62, tokens=12),
    Drift(shape="linear", alpha_start=0.3, alpha_end=0.9, tokens=11, truncate=False),
    Drift(shape="linear", alpha_start=0.0, alpha_end=0.0, tokens=7),
    Drift(shape="linear", alpha_start=1.0, alpha_end=1.0, tokens=9),
    Drift(shape="table", alphas=(0.9, 0.1, 1.0, 0.0, 0.5, 0.7, 0.6, 0.8, 0.2, 0.4), tokens=10),
    Drift(shape="linear", alpha_start=0.5, alpha_end=0.5, tokens=1),
]


def fixed(kappa):
    return lambda rounds: kappa


def rolling(rule, smoothing, initial):
    """The article's loop as a function of the rounds so far, verdict by verdict."""

    def estimate(rounds):
        e = initial
        for drafted, accepted in rounds:
            for verdict in [1.0] * accepted + [0.0] * (accepted < drafted):
                e = smoothing * e + (1 - smoothing) * verdict
        return e

    return (lambda rounds: rule.kappa(estimate(rounds))), estimate


@pytest.mark.parametrize("process", CASES, ids=str)
@pytest.mark.parametrize("kappa", [0, 1, 4, 20])
def test_a_fixed_length_is_the_generation(process, kappa):
    found, law = theory.enumerate_policy(process, fixed(kappa), COST), theory.generation(process, kappa, COST)
    assert found.pmf_rounds == pytest.approx(theory.generation_rounds(process, kappa), abs=1e-12)
    assert (found.mean_rounds, found.mean_drafted) == pytest.approx((law.mean_rounds, law.mean_drafted))
    assert (found.mean_cost, found.speedup) == pytest.approx((law.mean_cost, law.speedup))
    assert found.var_cost == pytest.approx(law.var_cost, abs=1e-9)
    assert found.mean_accepted == pytest.approx(law.mean_accepted_total)
    assert (found.mean_flips, sum(chance for chance, _ in found.endings)) == pytest.approx((0.0, 1.0))


@pytest.mark.parametrize("process", CASES, ids=str)
def test_lengths_by_position_are_a_plan(process):
    lengths = [5, 0, 3, 1, 2, 4, 0, 7, 1, 1, 2, 2][: process.n_tokens]
    for cost in (COST, CHANGING):
        found = theory.enumerate_policy(process, lambda rounds: lengths[sum(a + 1 for _, a in rounds)], cost)
        assert found.speedup == pytest.approx(theory.plan_of(process, lengths, cost).speedup)
    best = theory.optimal_plan(process, COST, 8)
    again = theory.enumerate_policy(process, lambda rounds: int(best.kappas[sum(a + 1 for _, a in rounds)]), COST)
    assert again.speedup == pytest.approx(best.speedup)


@pytest.mark.parametrize("process", CASES, ids=str)
@pytest.mark.parametrize("guard", [None, 0.25, 0.6])
def test_the_loop_verdict_by_verdict(process, guard):
    """Three ways: histories, the forward pass over estimates, and the controller's own listing."""
    rule = theory.LookUp((0.35, 0.5, 0.62, 0.8), (0, 1, 3, 4, 7), 1, guard)
    choose, estimate = rolling(rule, 0.85, 0.7)
    listed, passed = (
        theory.enumerate_policy(process, choose, COST),
        theory.estimate_loop(process, rule, COST, 0.85, 0.7),
    )
    for shortest in (0, 1):  # off at a low estimate, where it stays for want of a verdict, or never
        own = theory.LookUp(rule.cuts, rule.kappas, shortest, guard)
        one = theory.enumerate_policy(process, rolling(own, 0.85, 0.7)[0], CHANGING)
        other = theory.estimate_loop(process, own, CHANGING, 0.85, 0.7)
        assert (one.mean_flips, one.mean_wakes) == pytest.approx((other.mean_flips, other.mean_wakes))
        assert one.mean_cost == pytest.approx(other.mean_cost)
        assert (one.mean_flips == 0.0) == (one.mean_cost == pytest.approx(theory.enumerate_policy(
            process, rolling(own, 0.85, 0.7)[0], COST).mean_cost))  # fmt: skip
    assert passed.pmf_rounds == pytest.approx(listed.pmf_rounds, abs=1e-12)
    assert (passed.mean_cost, passed.mean_drafted) == pytest.approx((listed.mean_cost, listed.mean_drafted))
    assert passed.mean_final_estimate == pytest.approx(listed.mean(estimate))
    whole = theory.controller_generation(
        process, lambda e: np.array([rule.kappa(x) for x in e]), COST, 0.85, 0.7, points=None
    )
    assert passed.speedup == pytest.approx(whole.speedup)


def test_the_plug_in_rule_in_a_table():
    """κ*(e) between its own steps is what `plug_in_kappas` searches for."""
    cost, drift = Cost(c_d=0.1), CASES[0]
    grid = np.linspace(0, 1, 20001)
    kappas = theory.plug_in_kappas(grid, cost)
    at = np.flatnonzero(np.diff(kappas)) + 1
    rule = theory.LookUp(tuple(grid[at]), tuple(int(k) for k in [kappas[0], *kappas[at]]))
    own = theory.controller_generation(drift, lambda e: theory.plug_in_kappas(e, cost), cost, 0.85, 0.7, points=None)
    assert theory.estimate_loop(drift, rule, cost, 0.85, 0.7).speedup == pytest.approx(own.speedup)


def test_flips_are_counted_between_rounds():
    """Accepts everything: κ = 1, 2, 1, 2 … asks for another one in every round but the first."""
    sure = Drift(shape="linear", alpha_start=1.0, alpha_end=1.0, tokens=10)
    found = theory.enumerate_policy(sure, lambda rounds: 1 + len(rounds) % 2, COST)
    assert (found.mean_rounds, found.mean_flips) == (4.0, 3.0)  # 2 + 3 + 2 + 3 tokens


def test_changes_are_priced_history_by_history():
    """Accepts everything: κ = 3, 0, 3, 0 … changes in every round but the first and wakes in every second."""
    sure = Drift(shape="linear", alpha_start=1.0, alpha_end=1.0, tokens=10)
    found = theory.enumerate_policy(sure, lambda rounds: 3 * (1 - len(rounds) % 2), CHANGING)
    assert (found.mean_rounds, found.mean_flips, found.mean_wakes) == (4.0, 3.0, 1.0)  # 4 + 1 + 4 + 1 tokens
    plain = 2 * COST.base(3) + 2 * COST.base(0)
    assert (found.mean_cost, found.var_cost) == pytest.approx((plain + 3 * 0.07 + 0.4, 0.0))
    cut = theory.enumerate_policy(sure, lambda rounds: 8 if not rounds else 0 if len(rounds) == 1 else 5, CHANGING)
    assert (cut.mean_rounds, cut.mean_flips, cut.mean_wakes) == (2.0, 1.0, 0.0)
    never = theory.enumerate_policy(
        sure.model_copy(update={"alpha_start": 0.0, "alpha_end": 0.0, "tokens": 3}),
        lambda rounds: len(rounds),
        CHANGING,
    )
    assert (never.mean_rounds, never.mean_flips, never.mean_wakes) == (3.0, 2.0, 1.0)  # κ = 0, 1, 2 cut to 0, 1, 0


def test_what_cannot_price_changes_says_so():
    drift = CASES[0]

    def rule(estimates):
        return theory.plug_in_kappas(estimates, COST)

    for ask in (
        lambda: theory.optimal_plan(drift, CHANGING, 8),
        lambda: theory.controller_generation(drift, rule, CHANGING, 0.85, 0.7),
        lambda: theory.controller_long_run(0.7, rule, CHANGING, 0.85),
    ):
        with pytest.raises(ParameterError, match=r"cost\.c_switch = 0\.07 is not priced by .*; allowed: 0") as error:
            ask()
        assert error.value.key == "cost.c_switch"


def test_a_rule_may_keep_any_state():
    """What it says may depend on the whole past: each history is asked about as it was."""
    seen = []

    def rule(rounds):
        seen.append(rounds)
        return 1

    theory.enumerate_policy(CASES[5].model_copy(update={"tokens": 3}), rule, COST)
    assert {len(rounds) for rounds in seen} == {0, 1, 2}
    assert all(drafted in (0, 1) and accepted <= drafted for rounds in seen for drafted, accepted in rounds)


@pytest.mark.parametrize("answer", [-1, 65, 2.0, True, None, "4"], ids=str)
def test_what_is_no_length_is_named_with_its_history(answer):
    with pytest.raises(ParameterError, match=r"policy asks for .* after \[\(1, 1\)\]; allowed: a whole number"):
        theory.enumerate_policy(CASES[3], lambda rounds: answer if rounds else 1, COST)


def test_long_generations_are_refused():
    with pytest.raises(ParameterError, match="17 is out of range"):
        theory.enumerate_policy(Drift(alpha_start=0.8, alpha_end=0.8, tokens=17), fixed(1), COST)


def test_a_planted_bias_is_seen():
    """Averaging accepted over drafted, not over examined, is another loop."""
    rule = theory.LookUp((0.35, 0.5, 0.62, 0.8), (0, 1, 3, 4, 7), 1)

    def biased(rounds):
        e = 0.7
        for drafted, accepted in rounds:
            for verdict in [1.0] * accepted + [0.0] * (drafted - accepted):
                e = 0.85 * e + 0.15 * verdict
        return rule.kappa(e)

    right = theory.estimate_loop(CASES[0], rule, COST, 0.85, 0.7)
    assert abs(theory.enumerate_policy(CASES[0], biased, COST).speedup - right.speedup) > 1e-3


def test_all_histories_are_different():
    found = theory.enumerate_policy(CASES[1], fixed(3), COST)
    histories = [history for _, history in found.endings]
    assert len(set(histories)) == len(histories)
    assert all(sum(a + 1 for _, a in history) >= 11 for history in histories)
    assert all(sum(a + 1 for _, a in history[:-1]) < 11 for history in histories)


def test_a_guard_fires_below_its_rate():
    """σ/α = √((1 − e)/(κe)) > .25 ⟺ e < 1/(1 + κ/16); lowered κ fluctuate more, so that it ends at the shortest."""
    for kappa in (2, 4, 7):
        rule, edge = theory.LookUp((), (kappa,), 1, 0.25), 1 / (1 + kappa / 16)
        assert [rule.kappa(edge + step) for step in (-1e-9, 1e-9)] == [1, kappa]
    assert [theory.LookUp((), (3,), 0, 0.25).kappa(e) for e in (0.0, 0.5, 1.0)] == [0, 0, 3]
