"""Is the law of the number of rounds that of all listed paths, and is no other plan cheaper than the optimal one?"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from theory_brute import generation_paths

from simspec.model.cost import Cost
from simspec.model.drift import Drift
from simspec.model.errors import ParameterError
from simspec.theory import generation, generation_rounds, optimal_plan, optimum

COST = Cost(c0=1.1, c_d=0.1, c_v=0.05, c_r=0.7)


def linear(tokens: int, start: float = 0.9, end: float = 0.3, truncate: bool = True) -> Drift:
    return Drift(shape="linear", alpha_start=start, alpha_end=end, tokens=tokens, truncate=truncate)


@pytest.mark.parametrize("truncate", [True, False])
@pytest.mark.parametrize("tokens", [1, 2, 5, 8])
@pytest.mark.parametrize("kappa", [0, 1, 3, 9])
def test_rounds_are_those_of_the_listed_paths(tokens: int, kappa: int, truncate: bool) -> None:
    process = linear(tokens, truncate=truncate)
    expected = np.zeros(tokens + 1)
    for path in generation_paths(process, kappa):
        expected[len(path.rounds)] += path.chance
    assert_allclose(generation_rounds(process, kappa), expected, rtol=1e-12, atol=1e-16)


@pytest.mark.parametrize(("tokens", "kappa"), [(100, 4), (1000, 7), (20_000, 4)])
def test_rounds_have_the_moments_of_the_other_route(tokens: int, kappa: int) -> None:
    process = linear(tokens, 0.85, 0.62)
    rounds, law = generation_rounds(process, kappa), generation(process, kappa, COST)
    number = np.arange(tokens + 1)
    assert_allclose(rounds.sum(), 1.0, rtol=1e-10)
    assert_allclose(rounds @ number, law.mean_rounds, rtol=1e-10)
    assert_allclose(rounds @ (number - law.mean_rounds) ** 2, law.var_rounds, rtol=1e-8)


def price_of(process: Drift, kappas: tuple[int, ...], cost: Cost, done: int = 0) -> float:
    """Expected cost of a plan, by its definition: what a round costs, and then whatever follows."""
    rates, n = process.rates(), process.n_tokens
    if done >= n:
        return 0.0
    drafts = min(kappas[done], n - 1 - done) if process.truncate else kappas[done]
    price, alive = 0.0, 1.0
    for accepted in range(drafts + 1):
        stop = 1.0 - rates[min(done + accepted, n - 1)] if accepted < drafts else 1.0
        rest = price_of(process, kappas, cost, done + accepted + 1)
        price += alive * stop * (cost.of_round(drafts, accepted < drafts) + rest)
        alive *= 1.0 - stop
    return price


@pytest.mark.parametrize("truncate", [True, False])
@pytest.mark.parametrize(
    "cost", [COST, Cost(c_d=0.02), Cost(), Cost(c_d=0.3, c_r=0.5), Cost(verify_table=[1.0, 1.0, 1.9, 2.0])], ids=str
)
def test_no_other_plan_is_cheaper(truncate: bool, cost: Cost) -> None:
    """All 4⁴ plans for four tokens; the first of the cheapest in the order of shorter drafts is the one returned."""
    process, kappa_max = linear(4, 0.9, 0.4, truncate), 3
    prices = {
        kappas: price_of(process, kappas, cost) for kappas in product(range(kappa_max + 1), repeat=process.n_tokens)
    }
    plan = optimal_plan(process, cost, kappa_max)
    assert_allclose(plan.mean_cost, min(prices.values()), rtol=1e-12)
    assert_allclose(prices[tuple(plan.kappas.tolist())], plan.mean_cost, rtol=1e-12)
    assert_allclose(plan.speedup, 4 / plan.mean_cost, rtol=1e-12)


def test_with_even_rates_and_no_end_in_sight_the_plan_is_the_best_fixed_length() -> None:
    """α = .7, c_d = .1: κ* = 4 far from the end, and every cost lies below the best fixed one."""
    process = linear(400, 0.7, 0.7)
    plan = optimal_plan(process, Cost(c_d=0.1), 12)
    assert set(plan.kappas[:300].tolist()) == {4}
    assert plan.speedup >= optimum(process, Cost(c_d=0.1), 12).best_speedup


@pytest.mark.parametrize(("beta", "best"), [(0.05, 2.57196), (0.1, 2.12988), (0.2, 1.67508)])
def test_the_falling_rate_of_the_article(beta: float, best: float) -> None:
    """Section 5.2: α from .85 to .62; 1,024 tokens.  Figures of an earlier program of the same recursion."""
    assert optimal_plan(linear(1024, 0.85, 0.62), Cost(c_d=beta), 20).speedup == pytest.approx(best, abs=6e-6)


def test_what_is_out_of_range_is_named() -> None:
    for call, key in (
        (lambda: generation_rounds(linear(1000), 1001), "kappa"),
        (lambda: generation_rounds(linear(1_000_000), 100), "tokens"),
        (lambda: optimal_plan(linear(10), COST, -1), "kappa"),
        (lambda: optimal_plan(linear(10), Cost(verify_table=[1.0, 1.1]), 4), "kappa"),
    ):
        with pytest.raises(ParameterError) as caught:
            call()
        assert caught.value.key == key
