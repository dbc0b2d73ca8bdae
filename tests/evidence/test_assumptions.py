"""Tests of assumptions: quiet where they hold, as often wrong as they say, loud where an assumption is broken."""

import numpy as np
import pytest
from evidence_traces import beta_by_request, iid, markov, trace_of
from scipy.stats import binom

from simspec.evidence.assumptions import Assumptions, Test, check_assumptions, p_value

STATISTICS = [
    "correlation of neighbouring verdicts, pooled",
    "correlation of neighbouring verdicts",
    "second half of a request minus first",
    "slope of α per 100 tokens",
    "correlation of a request's two halves",
    "slope of acceptance by draft position",
    "correlation of successive accepted lengths, pooled",
]


@pytest.fixture(scope="module")
def quiet():
    """p-values of 200 traces where every assumption holds, 24 × 80 positions."""
    rng = np.random.default_rng(1)
    found = [check_assumptions(trace_of(iid(rng, 24, 80)), kappa=4).tests for _ in range(200)]
    return np.array([[test.p_value for test in tests] for tests in found])


def test_a_test_errs_as_often_as_it_says(quiet):
    """Of 200, below .05: limits of false alarm 1e-6 each; p-values a fifth as large would break the upper one."""
    limits = binom.ppf([1e-6], 200, 0.05)[0], binom.isf(1e-6, 200, 0.05)
    hits = (quiet < 0.05).sum(axis=0)
    assert (hits >= limits[0]).all()
    assert (hits <= limits[1]).all()
    assert ((quiet / 5 < 0.05).sum(axis=0) > limits[1]).all()


BROKEN = {
    "memory": (lambda rng: markov(rng, 60, 200), {0, 1, 5}),
    "drift": (lambda rng: rng.random((60, 200)) < np.linspace(0.75, 0.45, 200), {2, 3}),
    "differences": (lambda rng: beta_by_request(rng, 60, 200), {0, 4, 5, 6}),
    "a slow state": (lambda rng: rng.random((60, 200)) < np.repeat(rng.beta(3, 2, (60, 5)), 40, axis=1), {0, 1, 5, 6}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_named(name):
    """Every test that looks at it has p < 1e-5, and nothing is said of drift where there is none (false alarm 1e-6)."""
    make, loud = BROKEN[name]
    tests = check_assumptions(trace_of(make(np.random.default_rng(2))), kappa=8).tests
    assert [test.statistic for test in tests] == STATISTICS
    assert {i for i, test in enumerate(tests) if test.p_value < 1e-5} >= loud
    for quiet_one in {2, 3} - loud:
        assert tests[quiet_one].p_value > 1e-6


def test_differences_alone_leave_no_memory_inside_requests():
    tests = check_assumptions(trace_of(beta_by_request(np.random.default_rng(3), 60, 200)), kappa=8).tests
    assert tests[1].p_value > 1e-6
    assert abs(tests[1].value) < 5 * tests[1].error


def test_holm_lets_the_worst_go_first():
    tests = [Test("", f"{p}", 0.0, 1.0, p, 9) for p in (0.03, 0.001, float("nan"), 0.02, 0.5)]
    named = [test.statistic for test in Assumptions(8, [], tests).rejected()]
    assert named == ["0.001"]  # 0.02 against 0.05/3 stops it
    tests[3] = Test("", "0.016", 0.0, 1.0, 0.016, 9)
    assert [test.statistic for test in Assumptions(8, [], tests).rejected()] == ["0.001", "0.016"]


def test_a_trace_that_does_not_vary_is_not_judged():
    tests = check_assumptions(trace_of(np.ones((5, 20))), kappa=2).tests
    assert all(np.isnan(test.p_value) for test in tests)
    assert np.isnan(p_value(1.0, float("nan"), 5))


@pytest.mark.parametrize("chance", [0.5, 0.3, 0.1, 0.7])
def test_a_constant_chance_rejects_nothing(chance):
    """Its errors are rounding, 1e-17 and 0: they say that nothing varies, never that something is rejected."""
    told = check_assumptions(trace_of(np.full((20, 30), chance)), kappa=8)
    assert told.rejected() == []
    assert all(np.isnan(test.p_value) for test in told.tests)
    assert not any(test.varies for test in told.tests if test.error == test.error)
    assert np.isnan(dict(told.figures)["correlation of α 1 apart, pooled"].value)
    assert p_value(1e-6, 1e-7, 20) < 1e-6  # small is not the same as rounding


def test_no_label_of_a_figure_within_requests_or_of_the_spread_promises_too_much():
    names = dict(check_assumptions(trace_of(iid(np.random.default_rng(8), 12, 40)), kappa=2).figures)
    assert "spread between requests, if positions had no memory" in names
    within = [name for name in names if "within requests" in name]
    assert len(within) > 2
    assert all("reads low" in name for name in within)
