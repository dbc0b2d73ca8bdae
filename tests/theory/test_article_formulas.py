"""Do the article's formulas, and the correct statements beside them, give what enumeration and publications give?"""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from theory_laws import BACK, SKEW

from simspec import theory
from simspec.model import Cost, DiscreteMixture, Iid, Markov, ParameterError, Position
from simspec.theory import article

STANDARD = Cost(c_d=0.1)


def listed(alphas: list[float]) -> list[tuple[tuple[int, ...], float]]:
    """All verdicts of drafts with these rates, and their chances."""
    chances = [(a, 1.0 - a) for a in alphas]
    return [
        (path, math.prod(chances[i][1 - passed] for i, passed in enumerate(path)))
        for path in product((0, 1), repeat=len(alphas))
    ]


def run(path: tuple[int, ...]) -> int:
    return (*path, 0).index(0)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.7, 0.999, 1.0])
@pytest.mark.parametrize("kappa", [0, 1, 4, 9])
def test_mean_and_variance_of_a_window_are_those_of_its_listed_verdicts(alpha: float, kappa: int) -> None:
    paths = listed([alpha] * kappa)
    mean = sum(p * run(path) for path, p in paths)
    variance = sum(p * (run(path) - mean) ** 2 for path, p in paths)
    assert theory.expected_accepted(alpha, kappa) == pytest.approx(mean, rel=1e-12, abs=1e-14)
    assert theory.accepted_variance(alpha, kappa) == pytest.approx(variance, rel=1e-11, abs=1e-14)


@pytest.mark.parametrize("miss", [1e-9, 1e-5, 0.9e-4, 1.1e-4, 1e-2])
def test_the_variance_keeps_its_digits_where_nearly_all_is_accepted(miss: float) -> None:
    law = theory.window(Iid(alpha=1.0 - miss), 1000)
    assert theory.accepted_variance(1.0 - miss, 1000) == pytest.approx(law.var_accepted, rel=1e-8)


def test_c15_and_c5_published_figures() -> None:
    found = [theory.accepted_variance(alpha, 4) for alpha in (0.5, 0.6, 0.7, 0.74, 0.8, 0.85, 0.9)]
    assert_allclose(found, [1.43359, 1.96261, 2.42182, 2.53717, 2.57005, 2.40549, 1.98806], atol=6e-6)
    assert theory.expected_accepted(0.7, math.inf) == pytest.approx(7 / 3)
    assert math.isinf(theory.expected_accepted(1.0, math.inf))


def test_c16_the_most_variable_alpha_rises_with_kappa() -> None:
    alphas = np.linspace(0.4, 0.99, 5901)
    for kappa, alpha in ((1, 0.5), (2, 0.6462), (3, 0.7286), (4, 0.7805), (5, 0.8159), (7, 0.8610), (20, 0.9466)):
        found = alphas[np.argmax([theory.accepted_variance(float(a), kappa) for a in alphas])]
        assert found == pytest.approx(alpha, abs=1.5e-4)


# Estimates ------------------------------------------------------------------------------------------------------------


def test_moments_of_the_estimate_are_those_of_all_outcomes() -> None:
    alphas, smoothing, start = [0.9, 0.2, 0.7, 0.6, 0.5, 0.8], 0.85, 0.3
    ends = []
    for path, chance in listed(alphas):
        estimate = start
        for outcome in path:
            estimate = article.ewma_step(estimate, outcome, smoothing)
        ends.append((estimate, chance))
    mean = sum(p * e for e, p in ends)
    found = theory.ewma_moments(smoothing, alphas, start)
    assert found.mean == pytest.approx(mean, rel=1e-12)
    assert found.var == pytest.approx(sum(p * (e - mean) ** 2 for e, p in ends), rel=1e-12)


def test_c44_published_figures_of_the_estimate() -> None:
    assert theory.ewma_deviation(0.7) == pytest.approx(0.1305, abs=5e-5)
    assert theory.ewma_deviation(0.62) == pytest.approx(0.1382, abs=5e-5)
    assert theory.ewma_deviation(0.5) / 0.5 == pytest.approx(0.28475, abs=5e-6)
    assert theory.ewma_effective_sample() == pytest.approx(12.33, abs=5e-3)
    assert theory.ewma_half_life() == pytest.approx(4.27, abs=5e-3)
    assert theory.ewma_drift_bias(1.0) == pytest.approx(5.667, abs=5e-4)
    for tokens, bias in ((1000, 0.0013), (50, 0.0266)):
        assert theory.ewma_drift_bias((0.85 - 0.62) / (tokens - 1)) == pytest.approx(bias, abs=5e-5)


def test_the_lag_behind_a_ramp_is_that_of_a_long_ramp() -> None:
    ramp = np.linspace(0.85, 0.62, 400)
    found = theory.ewma_moments(0.85, list(ramp), initial=0.85)
    assert found.mean - ramp[-1] == pytest.approx(-theory.ewma_drift_bias(ramp[1] - ramp[0]), rel=1e-9)
    assert theory.ewma_moments(0.85, [0.7] * 300).var ** 0.5 == pytest.approx(theory.ewma_deviation(0.7), rel=1e-12)


def below_by_fourier(alpha: float, level: float, smoothing: float, terms: int = 40000) -> float:
    """P(estimate < level) from the characteristic function ∏ (1 − α + α e^(it(1−λ)λ^k)) and a square wave."""
    odd = np.arange(1, terms, 2)
    t, phi, weight = np.pi * odd, np.ones(odd.size, complex), 1.0 - smoothing
    while weight * t[-1] > 1e-12:
        phi *= 1.0 - alpha + alpha * np.exp(1j * t * weight)
        weight *= smoothing
    return float(0.5 + 2.0 / np.pi * np.sum(np.imag(np.exp(1j * t * level) * np.conj(phi)) / odd))


@pytest.mark.parametrize(("alpha", "chance"), [(0.7, 0.2223), (0.74, 0.1398), (0.8, 0.0549)])
def test_c44_how_often_the_estimate_of_a_constant_rate_falls_below(alpha: float, chance: float) -> None:
    found = theory.ewma_below(alpha, 0.6)
    assert found == pytest.approx(chance, abs=5e-5)
    assert found == pytest.approx(below_by_fourier(alpha, 0.6, 0.85), abs=3e-7)


@pytest.mark.parametrize(("alpha", "smoothing"), [(0.7, 0.85), (0.9, 0.95), (0.3, 0.99)])
def test_the_law_of_the_estimate_has_its_moments(alpha: float, smoothing: float) -> None:
    levels = np.linspace(0.0, 1.0, 401)
    above = 1.0 - np.array([theory.ewma_below(alpha, float(x), smoothing) for x in levels])
    assert np.trapezoid(above, levels) == pytest.approx(alpha, abs=1e-4)
    second = np.trapezoid(2.0 * levels * above, levels)
    assert second - alpha**2 == pytest.approx(theory.ewma_deviation(alpha, smoothing) ** 2, abs=2e-4)


def test_a_sure_outcome_leaves_no_doubt() -> None:
    assert theory.ewma_below(1.0, 0.99) == 0.0
    assert theory.ewma_below(0.0, 0.01) == 1.0
    assert theory.ewma_deviation(1.0) == 0.0


# Systems --------------------------------------------------------------------------------------------------------------


def test_c47_heads() -> None:
    for alphas, exact, rule in (
        ([0.8, 0.6, 0.5, 0.4], 1.616, 1.134936),
        ([0.6, 0.42, 0.3, 0.22], 0.944232, 0.551028),
        ([0.4, 0.5, 0.6, 0.8], 0.816, 1.134936),
        ([0.85, 0.8, 0.75, 0.7, 0.62], 2.61834, 2.211881),
    ):
        assert theory.expected_accepted_heads(alphas) == pytest.approx(exact, abs=5e-7)
        assert theory.window(Position(alphas=alphas), len(alphas)).mean_accepted == pytest.approx(exact, abs=5e-7)
        assert sum(p * run(path) for path, p in listed(alphas)) == pytest.approx(exact, abs=5e-7)
        assert article.accepted_by_geometric_mean(alphas) == pytest.approx(rule, abs=5e-7)
        assert article.geometric_mean_rate(alphas) ** len(alphas) == pytest.approx(math.prod(alphas))


def test_c48_one_more_head_never_lowers_the_truth_but_lowers_the_rule() -> None:
    heads = [0.8, 0.6, 0.5, 0.4]
    true = [theory.expected_accepted_heads(heads[:n]) for n in (2, 3, 4)]
    rule = [article.accepted_by_geometric_mean(heads[:n]) for n in (2, 3, 4)]
    assert_allclose(true, [1.28, 1.52, 1.616], atol=5e-5)
    assert_allclose(rule, [1.1728, 1.2476, 1.1349], atol=5.1e-5)


def test_c47_falling_heads_are_under_estimated_and_rising_ones_over() -> None:
    draw = np.random.default_rng(47)
    for _ in range(2000):
        rates = np.sort(draw.uniform(0.05, 0.95, draw.integers(2, 6)))
        rule = article.accepted_by_geometric_mean(list(rates))
        assert theory.expected_accepted_heads(list(rates[::-1])) > rule > theory.expected_accepted_heads(list(rates))


def test_c46_a_branch_that_keeps_its_rate() -> None:
    kappas = (2, 4, 6, 8)
    exact = [theory.expected_accepted_random_rate([0.4, 0.9], [1, 1], kappa) for kappa in kappas]
    rule = [article.accepted_by_mean_confidence([0.4, 0.9], [1, 1], kappa) for kappa in kappas]
    assert_allclose(exact, [1.135, 1.87235, 2.440484, 2.896012], atol=5.1e-7)
    assert_allclose(np.array(rule) / exact - 1, [-0.055, -0.185, -0.296, -0.379], atol=5.1e-4)
    mixture = DiscreteMixture(alphas=(0.4, 0.9), weights=(0.5, 0.5))
    assert_allclose(exact, [theory.window(mixture, kappa).mean_accepted for kappa in kappas])


def test_c46_the_best_of_several_candidates() -> None:
    found = [theory.lookahead_step(0.5, 4, candidates).mean_tokens for candidates in (1, 7, 15)]
    assert_allclose(found, [1.9375, 3.8295, 4.4719], atol=5.1e-5)
    law = np.zeros(4)
    for first, p in listed([0.6] * 3):
        for second, q in listed([0.6] * 3):
            law[max(run(first), run(second))] += p * q
    own = theory.lookahead_step(0.6, 3, 2, period=3.0)
    assert_allclose(own.pmf_best, law, atol=1e-15)
    assert own.mean_tokens == pytest.approx(4 - sum((1 - 0.6**i) ** 2 for i in (1, 2, 3)))
    assert own.step_compression == pytest.approx((3 - 1 + own.mean_tokens) / 3)
    assert theory.lookahead_step(0.6, 5, 1).mean_best == pytest.approx(theory.expected_accepted(0.6, 5))


# The article's formulas -----------------------------------------------------------------------------------------------


def test_c10_the_printed_identity_needs_the_sum_of_differences() -> None:
    both = theory.overlap(SKEW, BACK)
    assert article.alpha_from_distance(2 * both.total_variation) == pytest.approx(both.alpha)
    assert article.alpha_from_distance(both.total_variation) == pytest.approx(0.85)


HOLD = ("root of half", "coefficient of half", "chernoff")
OFTEN = 0.02
"""Share of random laws that violate each other reading, at least; it depends on how laws are drawn."""


def violations(reading: str) -> float:
    own, draw = article.RENYI_BOUNDS[reading], np.random.default_rng(13)
    wrong = 0
    for _ in range(1000):
        p, q = draw.dirichlet(np.full(draw.integers(2, 7), 0.6), 2)
        order = 0.5 if own.half_only else float(draw.uniform(0.02, 0.98))
        alpha = theory.overlap(p, q).alpha
        bound = article.renyi_bound(reading, theory.renyi(p, q, order), order)
        wrong += alpha < bound - 1e-12 if own.side == "lower" else alpha > bound + 1e-12
    return wrong / 1000


@pytest.mark.parametrize("reading", article.RENYI_BOUNDS)
def test_c13_three_readings_of_equation_3_hold_and_six_fail(reading: str) -> None:
    found = violations(reading)
    assert (found == 0.0) if reading in HOLD else (found > OFTEN)


def test_c13_the_true_readings_are_the_bounds_of_the_house() -> None:
    for divergence in (0.0, 0.1, 1.0, math.inf):
        low, high = theory.alpha_bounds_from_half(divergence)
        assert article.renyi_bound("root of half", divergence) == pytest.approx(low)
        assert article.renyi_bound("coefficient of half", divergence) == pytest.approx(high)
        for order in (0.0, 0.3, 1.0):
            upper = theory.alpha_upper_chernoff(divergence, order)
            assert article.renyi_bound("chernoff", divergence, order) == pytest.approx(upper)


def test_equation_4_has_the_moments_of_the_binomial_law_but_not_its_shape() -> None:
    for alpha, kappa in ((0.7, 4), (0.5, 9)):
        law, share = theory.judged_sum(Iid(alpha=alpha), kappa), np.arange(kappa + 1) / kappa
        own = article.normal_share(alpha, kappa)
        assert own.mean == pytest.approx(law @ share)
        assert own.variance == pytest.approx(law @ (share - own.mean) ** 2)
        assert own.high - own.mean == pytest.approx(1.959964 * own.variance**0.5, rel=1e-6)
    assert article.normal_share(0.7, 4).high > 1.0


LIMITS = {"R1": 1.25, "R2": 10.0, "R3": 1 / 1.1, "R4": 1.25, "R6": 2.5}


@pytest.mark.parametrize("name", article.LATENCIES)
def test_every_reading_of_the_latency_tends_to_its_limit(name: str) -> None:
    assert article.rho_limit(name, 0.7, 0.1) == pytest.approx(LIMITS[name])
    assert article.rho_by_reading(name, 1e9, 0.7, 0.1) == pytest.approx(LIMITS[name], rel=1e-7)


def test_only_r1_has_all_that_the_text_says() -> None:
    """Increasing, limit 1/(α + β), κ_0.9 with the numerator 1 − α, stationary only where 1 − α = 0."""
    fits = []
    for name in article.LATENCIES:
        at = [article.rho_by_reading(name, kappa, 0.7, 0.1) for kappa in (1.0, 2.0, 5.0, 50.0, 1e9)]
        share = article.rho_by_reading(name, article.kappa_09_r1(0.7, 0.1), 0.7, 0.1) / at[-1]
        fits.append((np.diff(at) > 0).all() and at[-1] == pytest.approx(1.25) and share == pytest.approx(0.9))
    assert dict(zip(article.LATENCIES, fits, strict=True)) == {name: name == "R1" for name in article.LATENCIES}
    assert article.rho_by_reading("R1", 4, 0.7, 0.1) == article.rho_r1(4, 0.7, 0.1)
    assert article.rho_by_reading("R4", 4, 0.7, 0.1) == article.rho_r4(4, 0.7, 0.1)
    assert math.isinf(article.rho_by_reading("R1", 4, 0.0, 0.0)) is False


def test_c24_the_slope_of_the_latency_and_the_root_of_equation_11() -> None:
    for kappa, slope in ((0.0, 0.9567), (1.0, 0.8497), (4.0, 0.6856)):
        assert article.latency_slope(kappa, 0.7) == pytest.approx(slope, abs=5.1e-5)
        rise = article.latency_constrained(kappa + 1e-6, 0.7) - article.latency_constrained(kappa, 0.7)
        assert rise / 1e-6 == pytest.approx(article.latency_slope(kappa, 0.7), rel=1e-6)
    for alpha, beta in ((0.7, 0.1), (0.84, 0.2), (0.5, 0.05)):
        root = article.kappa_of_stationarity(alpha, beta)
        assert root == -article.kappa_star_as_coded(alpha, beta)
        assert article.stationarity(root, alpha, beta) == pytest.approx(0.0, abs=1e-12)
        assert article.latency_slope(max(root, 0.0), alpha, beta) > 0.0


def test_c39_equation_16_as_a_variance() -> None:
    found = [article.corrected_variance(0.7, 0.3, 4, reading) / 0.84 for reading in article.VARIANCE_FACTORS]
    assert_allclose(found, [1.45, 1.8571, 1.9, 1.5535], atol=5.1e-5)
    law = theory.judged_sum(Markov(alpha=0.7, rho=0.3), 4)
    variance = law @ np.arange(5) ** 2 - (law @ np.arange(5)) ** 2
    assert article.corrected_variance(0.7, 0.3, 4, "all lags") == pytest.approx(variance)
    for rho in (-0.1, 0.0, 0.5, 1.0):
        chain = Markov(alpha=0.7, rho=rho)
        assert article.variance_factor_all_lags(rho, 7) == pytest.approx(theory.judged_variance_factor(chain, 7))


def test_c51_the_guard_fires_the_more_the_shorter_the_draft() -> None:
    found = [article.relative_fluctuation_b(0.74, kappa) for kappa in (7, 6, 5, 4, 3, 2, 1)]
    assert_allclose(found, [0.224, 0.242, 0.265, 0.296, 0.342, 0.419, 0.593], atol=5.1e-4)
    assert_allclose([article.guard_edge(alpha) for alpha in (0.7, 0.74, 0.8)], [6.857, 5.622, 4.0], atol=5.1e-4)
    for alpha in np.linspace(0.05, 0.99, 40):
        last = article.guard_largest_kappa(float(alpha))
        fires = [article.guard_fires(float(alpha), kappa) for kappa in range(1, last + 3)]
        assert fires == [kappa <= last for kappa in range(1, last + 3)]
    assert not article.guard_fires(0.5, 16)  # met exactly is not above


def test_c51_the_guard_ends_at_the_shortest_draft() -> None:
    best = theory.optimum(Iid(alpha=0.7), STANDARD)
    end = article.guard_settles_at(0.7, best.kappa_star)
    assert (best.kappa_star, end) == (4, 1)
    assert_allclose(best.speedup_by_kappa[[4, 1]], [1.9808, 1.5455], atol=5.1e-5)
    assert article.guard_settles_at(0.74, 5, shortest=2) == 2
    assert article.guard_settles_at(0.74, 6) == 6


@pytest.mark.parametrize(("beta", "alpha"), [(0.05, 0.7274), (0.1, 0.7626), (0.15, 0.7852), (0.2, 0.8023)])
def test_c51_the_alpha_up_to_which_the_guard_fires_at_the_best_kappa(beta: float, alpha: float) -> None:
    """With κ* a real number."""

    def fires(at: float) -> bool:
        return theory.kappa_star_continuous(at, Cost(c_d=beta)) < article.guard_edge(at)

    assert fires(alpha - 1e-4)
    assert not fires(alpha + 1e-4)


@pytest.mark.parametrize(
    ("call", "key"),
    [
        (lambda: article.alpha_from_distance(2.1), "distance"),
        (lambda: article.renyi_bound("none", 0.1), "reading"),
        (lambda: article.renyi_bound("root of half", 0.1, 0.4), "order"),
        (lambda: article.renyi_bound("chernoff", -0.1), "divergence"),
        (lambda: article.normal_share(0.7, 0), "kappa"),
        (lambda: article.normal_share(0.7, 4, 1.0), "level"),
        (lambda: article.latency_by_reading("R5", 4, 0.7, 0.1), "reading"),
        (lambda: article.rho_by_reading("R2", 0, 0.7, 0.1), "kappa"),
        (lambda: article.rho_limit("R1", 1.1, 0.1), "alpha"),
        (lambda: article.latency_slope(4, 1.0), "alpha"),
        (lambda: article.corrected_variance(0.7, 0.3, 4, "(i)"), "reading"),
        (lambda: article.variance_factor_all_lags(1.1, 4), "rho"),
        (lambda: article.geometric_mean_rate([]), "alphas"),
        (lambda: article.geometric_mean_rate([0.7, 1.2]), "alphas"),
        (lambda: article.accepted_by_mean_confidence([0.7], [1, 2], 4), "weights"),
        (lambda: article.accepted_by_mean_confidence([0.7], [0], 4), "weights"),
        (lambda: article.ewma_step(1.2, 0), "estimate"),
        (lambda: article.guard_fires(0.0, 4), "alpha"),
        (lambda: article.guard_edge(0.7, 0.0), "limit"),
        (lambda: article.guard_settles_at(0.7, 0), "kappa"),
        (lambda: theory.ewma_moments(1.0, [0.7]), "smoothing"),
        (lambda: theory.ewma_moments(0.85, [1.7]), "alphas"),
        (lambda: theory.ewma_half_life(0.0), "smoothing"),
        (lambda: theory.ewma_below(0.7, 0.6, 0.4), "smoothing"),
        (lambda: theory.ewma_below(0.7, 1.6), "level"),
        (lambda: theory.expected_accepted(0.7, -1), "kappa"),
        (lambda: theory.accepted_variance(0.7, 1001), "kappa"),
        (lambda: theory.expected_accepted_heads([]), "alphas"),
        (lambda: theory.expected_accepted_random_rate([0.7], [-1], 4), "weights"),
        (lambda: theory.lookahead_step(0.7, 4, 0), "candidates"),
        (lambda: theory.lookahead_step(0.7, 4, 1, 0.5), "period"),
    ],
)
def test_what_has_no_answer_is_refused_by_name(call, key: str) -> None:
    with pytest.raises(ParameterError) as caught:
        call()
    assert caught.value.key == key
