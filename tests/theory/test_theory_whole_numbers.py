"""A fraction where a whole number is asked, and what is no number at all: one line, never a wrong answer."""

import math

import numpy as np
import pytest

from simspec.model import Cost, Drift, Iid, Markov, ParameterError, TokenChain
from simspec.theory import (
    acceptance_by_draws,
    acceptance_correlation,
    accepted_variance,
    article,
    closed_kappas,
    controller_generation,
    controller_long_run,
    critical_alphas,
    emission_time,
    expected_accepted_heads,
    expected_accepted_random_rate,
    fluctuation_alpha_a,
    fluctuation_alpha_b,
    guard_alpha,
    lookahead_step,
    many_drafts_speedup,
    most_variable_alpha,
    plan_of,
    plug_in_kappas,
    share_step_alpha,
    staircase,
    step_alpha,
    stop_rules,
    tail_staircase,
    threshold_kappas,
    transport_programme,
    window,
)

COST = Cost(c_d=0.1)
DRIFT = Drift(shape="linear", alpha_start=0.85, alpha_end=0.62, tokens=16)
P, Q = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
CHAIN = TokenChain(target=[[0.9, 0.1], [0.5, 0.5]], draft=[[0.9, 0.1], [0.0, 1.0]])


def fixed(value):
    return lambda estimates: np.full(estimates.size, value)


FRACTIONS = {
    "accepted_variance": lambda: accepted_variance(0.7, 2.5),
    "lookahead gamma": lambda: lookahead_step(0.5, 2.5, 3),
    "lookahead candidates": lambda: lookahead_step(0.5, 3, 2.5),
    "many drafts kappa": lambda: many_drafts_speedup(0.7, 2.5, 2, COST),
    "many drafts draws": lambda: many_drafts_speedup(0.7, 2, 2.5, COST),
    "acceptance_by_draws": lambda: acceptance_by_draws(P, Q, 2.5),
    "transport_programme": lambda: transport_programme(P, Q, 2.5),
    "plan_of": lambda: plan_of(DRIFT, [4.7] * 16, COST),
    "rule, long run": lambda: controller_long_run(0.7, fixed(2.7), COST, 0.85, 129),
    "rule, grid": lambda: controller_generation(DRIFT, fixed(2.7), COST, 0.85, 0.7, 129),
    "rule, listed": lambda: controller_generation(DRIFT, fixed(2.7), COST, 0.85, 0.7, None),
    "closed_kappas": lambda: closed_kappas(DRIFT, COST, 2.5),
    "threshold_kappas": lambda: threshold_kappas(DRIFT, 2.0, COST, 2.5),
    "stop_rules": lambda: stop_rules(DRIFT, COST, 2.5),
    "plug_in_kappas": lambda: plug_in_kappas(np.array([0.5]), COST, 2.5),
    "emission kappa": lambda: emission_time(Iid(alpha=0.7), 2.5, COST),
    "emission tokens": lambda: emission_time(Iid(alpha=0.7), 2, COST, 2.5),
    "tail_staircase": lambda: tail_staircase(COST, 2.5),
    "tail_staircase tokens": lambda: tail_staircase(COST, 2, 16.5),
    "staircase": lambda: staircase(COST, 2.5),
    "step_alpha": lambda: step_alpha(2.5, COST),
    "share_step_alpha": lambda: share_step_alpha(2.5, COST),
    "most_variable_alpha": lambda: most_variable_alpha(2.5),
    "fluctuation a": lambda: fluctuation_alpha_a(2.5),
    "fluctuation b": lambda: fluctuation_alpha_b(2.5),
    "critical_alphas": lambda: critical_alphas(COST, 2.5),
    "acceptance_correlation": lambda: acceptance_correlation(CHAIN, 2.5),
    "window": lambda: window(Markov(alpha=0.7, rho=0.1), 2.5),
    "guard_settles_at": lambda: article.guard_settles_at(0.7, 4.5),
    "normal_share": lambda: article.normal_share(0.7, 4.5),
}
NUMBERS = {
    "plan_of nan": lambda: plan_of(DRIFT, [math.nan] * 16, COST),
    "rule nan": lambda: controller_long_run(0.7, fixed(math.nan), COST, 0.85, 129),
    "rule of another shape": lambda: controller_long_run(0.7, lambda e: np.ones(3), COST, 0.85, 129),
    "plug-in of none": lambda: plug_in_kappas(np.array([]), COST),
    "plug-in of a number": lambda: plug_in_kappas(0.5, COST),
    "plug-in of words": lambda: plug_in_kappas(["a"], COST),
    "no rate": lambda: threshold_kappas(DRIFT, [], COST, 4),
    "rate nan": lambda: threshold_kappas(DRIFT, math.nan, COST, 4),
    "two rates": lambda: threshold_kappas(DRIFT, [1.0, 2.0], COST, 4),
    "beta inf": lambda: article.kappa_of_stationarity(0.7, beta=math.inf),
    "c_v inf": lambda: article.kappa_star_as_coded(0.7, c_v=math.inf),
    "alpha_c inf": lambda: article.alpha_c_formula(math.inf),
    "lags inf": lambda: article.variance_factor_all_lags(0.3, math.inf),
    "lags 1e9": lambda: article.variance_factor_all_lags(0.3, 1e9),
    "lookahead inf": lambda: lookahead_step(0.5, 3, math.inf),
    "words for rates": lambda: expected_accepted_heads(["a"]),
    "words for weights": lambda: expected_accepted_random_rate([0.5], ["a"], 3),
    "words for heads": lambda: article.geometric_mean_rate(["a"]),
    "guard": lambda: guard_alpha(COST, 1e-6),
}


@pytest.mark.parametrize("call", FRACTIONS.values(), ids=FRACTIONS)
def test_a_fraction_is_no_whole_number(call):
    with pytest.raises(ParameterError, match="whole number") as error:
        call()
    assert "allowed" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("call", NUMBERS.values(), ids=NUMBERS)
def test_what_is_no_number_is_one_line(call):
    with pytest.raises(ParameterError, match="allowed") as error:
        call()
    assert "\n" not in str(error.value)


def test_the_guard_names_the_argument_that_was_given():
    with pytest.raises(ParameterError) as error:
        guard_alpha(COST, 1e-6)
    assert error.value.key == "level"
    assert "kappa" not in str(error.value)


def test_whole_numbers_of_numpy_are_taken():
    assert accepted_variance(0.7, np.int64(4)) == accepted_variance(0.7, 4)
    assert plan_of(DRIFT, np.full(16, 4.0), COST).mean_cost == plan_of(DRIFT, [4] * 16, COST).mean_cost
    assert emission_time(Iid(alpha=0.7), np.int32(2), COST, np.int64(16)).mean > 0
