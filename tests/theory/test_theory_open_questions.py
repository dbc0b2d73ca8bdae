"""The open questions: are stop rules, ρ_A of token chains, and the bound with K drafts what listing them says?"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from simspec.claims.experiments import simulated_correlation
from simspec.claims.random_pairs import Words, random_chain
from simspec.model import Cost, Drift, Iid, ParameterError, TokenChain
from simspec.theory import (
    acceptance_by_draws,
    acceptance_correlation,
    closed_kappas,
    generation,
    local_kappas,
    many_drafts_speedup,
    matching_chain,
    optimal_plan,
    optimum,
    plan_of,
    speedup,
    stop_rules,
    threshold_kappas,
    threshold_plan,
    token_alpha,
    transport_optimum,
    transport_programme,
)

COST = Cost(c_d=0.1)
DEAR = Cost(c0=1.1, c_d=0.1, c_v=0.05, c_r=0.7)
TABLES = Cost(draft_table=[0.0, 0.1, 0.2], verify_table=[1.0, 1.0, 1.2])


def linear(tokens, start=0.9, end=0.3, truncate=True):
    return Drift(shape="linear", alpha_start=start, alpha_end=end, tokens=tokens, truncate=truncate)


# stop rules along a drift


def brute_price(process, kappas, cost, done=0):
    rates, n = process.rates(), process.n_tokens
    if done >= n:
        return 0.0
    drafts = min(int(kappas[done]), n - 1 - done) if process.truncate else int(kappas[done])
    price, alive = 0.0, 1.0
    for j in range(drafts + 1):
        stop = 1.0 - rates[min(done + j, n - 1)] if j < drafts else 1.0
        rest = brute_price(process, kappas, cost, done + j + 1)
        price += alive * stop * (cost.of_round(drafts, j < drafts) + rest)
        alive *= 1.0 - stop
    return price


@pytest.mark.parametrize("truncate", [True, False])
@pytest.mark.parametrize("cost", [COST, DEAR])
@pytest.mark.parametrize("kappas", [(0, 1, 2, 3, 1, 4, 0), (5, 5, 5, 5, 5, 5, 5)])
def test_the_price_of_a_plan_is_that_of_its_paths(truncate, cost, kappas):
    process = linear(7, truncate=truncate)
    assert_allclose(plan_of(process, kappas, cost).mean_cost, brute_price(process, kappas, cost), rtol=1e-13)


@pytest.mark.parametrize("cost", [COST, DEAR])
def test_plans_have_the_prices_of_the_other_routes(cost):
    process = linear(300, 0.85, 0.62)
    best = optimal_plan(process, cost, 12)
    assert_allclose(plan_of(process, best.kappas, cost).speedup, best.speedup, rtol=1e-13)
    assert_allclose(plan_of(process, [5] * 300, cost).mean_cost, generation(process, 5, cost).mean_cost, rtol=1e-12)


@pytest.mark.parametrize("alpha", [0.3, 0.6, 0.7, 0.85, 0.93])
@pytest.mark.parametrize("cost", [COST, Cost(c_d=0.03, c_v=0.02)])
def test_at_a_constant_rate_all_rules_are_kappa_star(alpha, cost):
    process = linear(400, alpha, alpha, truncate=False)
    best = optimum(Iid(alpha=alpha), cost, 40)
    assert local_kappas(process, cost, 40).tolist() == [best.kappa_star] * 400
    at_price = threshold_kappas(process, best.best_speedup, cost, 40)  # the last draft pays, the next does not
    assert set(at_price.tolist()) == {best.kappa_star}
    assert set(threshold_kappas(process, np.full(400, best.best_speedup), cost, 40)) == {best.kappa_star}
    assert abs(int(closed_kappas(process, cost, 40)[0]) - best.kappa_star) <= 1
    if best.kappa_star:
        assert speedup(Iid(alpha=alpha), int(closed_kappas(process, cost, 40)[0]), cost) > best.best_speedup * 0.998


@pytest.mark.parametrize("cost", [COST, DEAR, Cost(c_d=0.05, c_r=1.0)])
@pytest.mark.parametrize("process", [linear(64, 0.95, 0.3), linear(100, 0.62, 0.85)])
def test_no_rule_beats_the_optimum(process, cost):
    found = stop_rules(process, cost, 24)
    rules = (found.fixed, found.local, found.closed, found.threshold, found.threshold_local)
    assert max(rules) <= found.optimal * (1 + 1e-12)
    assert threshold_plan(process, cost, 24).speedup == pytest.approx(found.threshold)


def test_figures_of_claims_c44_and_c54():
    found = stop_rules(linear(1024, 0.85, 0.62), COST)
    assert (found.fixed_kappa, round(found.fixed, 5)) == (4, 2.10288)
    assert (round(found.local, 5), round(found.optimal, 5)) == (2.12979, 2.12988)
    assert 1 - found.local / found.optimal < 2e-4
    assert found.threshold < found.threshold_local  # one price for a whole drift is not the optimum
    for beta, fixed, best in ((0.05, 2.54369, 2.57196), (0.2, 1.66175, 1.67508)):
        found = stop_rules(linear(1024, 0.85, 0.62), Cost(c_d=beta))
        assert (round(found.fixed, 5), round(found.optimal, 5)) == (fixed, best)


# ρ_A from the two models


def listed(pair, lag, path):
    """Correlation of verdicts by listing all texts between two positions, from the long-run law by powers."""
    target, draft = np.array(pair.target), np.array(pair.draft)
    moves = target if path == "text" else draft
    law = np.linalg.matrix_power(moves, 4096)[0]
    size, both, one = len(target), 0.0, 0.0
    for text in itertools.product(range(size), repeat=lag + 1):
        first, second = text[0], text[1]
        chance = law[first] * min(target[first, second], draft[first, second])
        for here, there in itertools.pairwise(text[1:]):
            chance *= moves[here, there]
        both += chance * sum(min(target[text[-1], x], draft[text[-1], x]) for x in range(size))
    one = sum(law[c] * min(target[c, x], draft[c, x]) for c in range(size) for x in range(size))
    return (both - one * one) / (one * (1 - one))


def some_pairs():
    return [
        random_chain(kind, 4, sharpness, 0.6, Words(f"test {kind} {sharpness}"))
        for kind in ("free", "sticky", "topics")
        for sharpness in (1, 3)
    ]


@pytest.mark.parametrize("path", ["text", "draft"])
@pytest.mark.parametrize("number", range(6))
def test_correlation_is_that_of_listed_texts(number, path):
    pair = some_pairs()[number]
    found = acceptance_correlation(pair, 4, path)
    assert_allclose(found.rho, [listed(pair, lag, path) for lag in (1, 2, 3, 4)], atol=1e-10)
    assert np.all(np.abs(found.rho) <= found.bound + 1e-12)
    if path == "text":
        assert_allclose((found.alpha, found.rho[0]), token_alpha(pair), atol=1e-12)
        chain = matching_chain(pair)
        assert (chain.alpha, chain.rho) == pytest.approx((found.alpha, found.rho[0]))


def test_correlation_fades_like_the_second_eigenvalue():
    pair = TokenChain(target=((0.9, 0.1), (0.2, 0.8)), draft=((0.7, 0.3), (0.7, 0.3)))
    found = acceptance_correlation(pair, 20)
    assert found.second_eigenvalue == pytest.approx(0.7)
    assert_allclose(found.rho[1:] / found.rho[:-1], 0.7, rtol=1e-9)
    assert_allclose(found.rho_uncoupled[0], 0.7 * found.rate_share)


def test_verdicts_that_do_not_vary_have_no_correlation():
    same = TokenChain(target=((0.9, 0.1), (0.2, 0.8)), draft=((0.9, 0.1), (0.2, 0.8)))
    found = acceptance_correlation(same, 3)
    assert (found.alpha, found.rate_share, found.rho.tolist()) == (pytest.approx(1.0), 0.0, [0.0] * 3)
    with pytest.raises(ParameterError, match="alpha"):
        matching_chain(same)


def test_simulated_verdicts_have_the_computed_correlation():
    """2¹⁵ rounds of 4 lags; 5.5 standard errors over 128 lanes: false alarm below 1e-6; the uncoupled value fails."""
    pair = TokenChain(target=((0.8, 0.2), (0.2, 0.8)), draft=((0.6, 0.4), (0.85, 0.15)))
    found = acceptance_correlation(pair, 5)
    seen = simulated_correlation(pair, (1, 2, 3, 5), 2**15, seed=5)
    for lag, (value, error) in zip((1, 2, 3, 5), seen, strict=True):
        assert abs(value - found.rho[lag - 1]) < 5.5 * error
    value, error = seen[0]
    assert abs(value - found.rho_uncoupled[0]) > 5.5 * error


# K drafts


def laws(number):
    words = Words(f"laws {number}")
    return words.rows(2 + number % 4, 1 + number % 3)[0], words.rows(2 + number % 4, 1 + number // 3 % 3)[0]


@pytest.mark.parametrize("number", range(12))
def test_the_programme_finds_the_optimum_of_the_set_formula(number):
    target, draft = laws(number)
    for draws in (1, 2, 3):
        by_sets = transport_optimum(target, [draft] * draws).acceptance
        assert transport_programme(target, draft, draws) == pytest.approx(by_sets, abs=1e-9)


@pytest.mark.parametrize("number", range(12))
def test_schemes_keep_their_order_as_drafts_are_added(number):
    found = acceptance_by_draws(*laws(number), 8)
    chain = (found.naive, found.recursive, found.k_seq, found.optimum, found.tokens_bound)
    for less, more in itertools.pairwise(chain):
        assert np.all(less <= more + 1e-9)
        assert np.all(np.diff(more) >= -1e-9)
    assert np.all(np.maximum(found.recursive, found.k_seq) <= found.independent + 1e-9)
    assert found.optimum[-1] <= found.limit + 1e-12


def test_figures_of_claim_c55():
    found = acceptance_by_draws([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], 3)
    assert_allclose(found.naive[1:], [0.483, 0.6161], atol=1e-9)
    assert_allclose(found.recursive[1:], [0.76, 0.808], atol=1e-9)
    assert_allclose(found.k_seq[1:], [0.791355, 0.858519], atol=1e-6)
    assert_allclose(found.optimum[1:], [0.86, 0.988], atol=1e-12)
    assert_allclose(found.independent[1:], [0.91, 0.973], atol=1e-12)
    two = acceptance_by_draws([0.4, 0.6], [0.6, 0.4], 2)
    assert_allclose((two.recursive[1], two.k_seq[1], two.optimum[1]), (0.88, 0.915959, 1.0), atol=1e-6)


def test_the_limit_is_reached_at_the_finite_number_of_drafts_that_covers_every_set():
    target, draft = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    sets = [list(own) for size in (1, 2) for own in itertools.combinations(range(3), size)]
    enough = max(np.log(target[own].sum()) / np.log(draft[own].sum()) for own in sets)
    found = acceptance_by_draws(target, draft, 8).optimum
    assert int(np.ceil(enough)) == 4
    assert found[2] < 1 - 1e-3
    assert_allclose(found[3:], 1.0, atol=1e-12)
    part = acceptance_by_draws([0.4, 0.3, 0.2, 0.1], [0.2, 0.2, 0.6, 0.0], 8)
    assert part.limit == pytest.approx(0.9)
    assert part.optimum[-1] == pytest.approx(0.9)
    assert acceptance_by_draws([1.0, 0.0], [0.0, 1.0], 4).optimum.tolist() == [0.0] * 4


@pytest.mark.parametrize("serial", [True, False])
def test_speed_with_many_drafts_is_tokens_over_cost(serial):
    cost = Cost(c0=1.1, c_d=0.1, c_v=0.02, c_r=0.3)
    for acceptance, kappa, draws in itertools.product((0.0, 0.6, 1.0), (0, 1, 5), (1, 4)):
        tokens = sum(acceptance**j for j in range(kappa + 1))
        spent = 1.1 + kappa * (0.1 * (draws if serial else 1) + 0.02 * draws) + 0.3 * (1 - acceptance**kappa)
        assert many_drafts_speedup(acceptance, kappa, draws, cost, serial) == pytest.approx(tokens / spent)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plan_of(linear(4), [1, 1], COST), "one for each of 4"),
        (lambda: plan_of(linear(4), [1, 1, 1, -1], COST), "kappas = -1 is out of range"),
        (lambda: threshold_kappas(linear(4), 0.0, COST, 4), "rate = 0 is out of range"),
        (lambda: threshold_kappas(linear(4), 1.0, TABLES, 2), "cost has tables"),
        (lambda: closed_kappas(linear(4), TABLES, 2), "cost has tables"),
        (lambda: closed_kappas(linear(4), COST, 65), "kappa_max = 65 is out of range"),
        (lambda: stop_rules(linear(4), COST, 0), "kappa_max = 0 is out of range"),
        (lambda: acceptance_correlation(some_pairs()[0], 0), "lags = 0 is out of range"),
        (lambda: acceptance_correlation(some_pairs()[0], 1, "both"), "path = 'both' is unknown"),
        (
            lambda: acceptance_correlation(
                TokenChain(target=((0.5, 0.5), (0.5, 0.5)), draft=((1.0, 0.0), (0.0, 1.0))), 1, "draft"
            ),
            "several sets of states",
        ),
        (lambda: acceptance_by_draws([1.0], [1.0], 0), "most = 0 is out of range"),
        (lambda: transport_programme(np.full(40, 1 / 40), np.full(40, 1 / 40), 4), "multisets; allowed"),
        (lambda: many_drafts_speedup(1.2, 1, 1, COST), "acceptance = 1.2 is out of range"),
        (lambda: many_drafts_speedup(0.5, 1, 2, TABLES), "cost has tables"),
    ],
)
def test_errors_say_what_is_allowed(call, message):
    with pytest.raises(ParameterError, match=message):
        call()
