"""Do the exact routes give the figures worked out beforehand for claims C05 to C41?"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from theory_brute import judged_law

from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.model.iid import Iid
from simspec.model.markov import Markov
from simspec.model.survival import Survival
from simspec.theory import (
    article,
    break_even_alpha,
    complete_rejection,
    complete_rejection_threshold,
    exchangeable_variance_factor,
    judged_sum,
    judged_variance_factor,
    kappa_star_continuous,
    optimum,
    speedup,
    window,
)

GRID_ALPHAS, GRID_BETAS = np.linspace(0.6, 0.85, 51), np.linspace(0.05, 0.2, 31)
CARRY = {"stationary": None, "carry": (1, 1), "position": (1, 2), "advance": (2, 2)}


def chain(alpha: float, rho: float, boundary: str) -> Markov:
    steps = CARRY[boundary]
    if steps is None:
        return Markov(alpha=alpha, rho=rho)
    return Markov(alpha=alpha, rho=rho, start="carry", steps_after_reject=steps[0], steps_after_full=steps[1])


def test_c05_expected_accepted_approaches_its_limit() -> None:
    found = [window(Iid(alpha=0.7), kappa).mean_accepted for kappa in (1, 2, 3, 4, 5, 200)]
    assert_allclose(found, [0.7, 1.19, 1.533, 1.7731, 1.94117, 7 / 3], atol=5e-6)


@pytest.mark.parametrize(
    ("extra", "share"),
    [
        ({}, 0.898), ({"c_r": 0.5}, 0.787), ({"c_r": 1.0}, 0.623), ({"c_v": 0.05}, 0.806), ({"c_v": 0.1}, 0.624),
        ({"c_v": 0.1, "c_r": 1.0}, 0.321), ({"c_v": 0.5}, 0.0), ({"c_v": 0.5, "c_r": 1.0}, 0.0),
    ],
)  # fmt: skip
def test_c06_share_of_the_grid_with_kappa_star_in_3_to_7(extra: dict[str, float], share: float) -> None:
    stars = np.array(
        [
            optimum(Iid(alpha=alpha), Cost(c_d=beta, **extra), 16).kappa_star
            for alpha in GRID_ALPHAS
            for beta in GRID_BETAS
        ]
    )
    assert np.mean((stars >= 3) & (stars <= 7)) == pytest.approx(share, abs=5.1e-4)
    if not extra:
        assert (stars.min(), stars.max(), np.median(stars)) == (2, 10, 4)
    if extra == {"c_v": 0.5, "c_r": 1.0}:
        assert np.mean(stars == 0) == pytest.approx(0.85, abs=0.006)


def test_c15_the_variance_of_a_window() -> None:
    variances = {
        0.5: 1.43359, 0.6: 1.96261, 0.7: 2.42182, 0.74: 2.53717, 0.8: 2.57005, 0.85: 2.40549, 0.9: 1.98806,
    }  # fmt: skip
    for alpha, variance in variances.items():
        assert window(Iid(alpha=alpha), 4).var_accepted == pytest.approx(variance, abs=6e-6)


def test_c18_c20_c21_the_articles_speedup() -> None:
    found = [article.rho_r1(kappa, 0.7, 0.1) for kappa in (1, 2, 4, 8, 100)]
    assert_allclose(found, [0.9091, 1.0526, 1.1429, 1.1940, 1.2453], atol=5.1e-5)
    for rho in (article.rho_r1, article.rho_r4):
        curve = [rho(kappa, 0.7, 0.1) for kappa in np.linspace(0.5, 60, 120)]
        assert (np.diff(curve) > 0).all()
        assert rho(1e9, 0.7, 0.1) == pytest.approx(article.rho_infinity(0.7, 0.1))
    assert article.rho_infinity(0.7, 0.1) == pytest.approx(1.25)
    assert article.rho_infinity(0.0, 0.0) == math.inf
    assert speedup(Iid(alpha=0.7), 100, Cost(c_d=0.1)) < article.rho_infinity(0.7, 0.1)
    assert speedup(Iid(alpha=0.7), 4, Cost(c_d=0.1)) > article.rho_infinity(0.7, 0.1)


def test_c23_the_latency_is_concave_and_rises() -> None:
    kappas = np.linspace(0, 10, 101)
    latency = np.array([article.latency_constrained(kappa, 0.7) for kappa in kappas])
    assert (np.diff(latency) > 0).all()
    assert (np.diff(latency, 2) < 0).all()
    for kappa, slope in ((0.0, 0.9567), (1.0, 0.8497), (4.0, 0.6856)):
        width = 1e-6
        rise = article.latency_constrained(kappa + width, 0.7) - article.latency_constrained(kappa, 0.7)
        assert rise / width == pytest.approx(slope, abs=6e-5)
    for kappa, share in ((4, 0.9616), (64, 1.5842)):
        assert kappa / article.latency_constrained(kappa, 0.7) == pytest.approx(share, abs=5.1e-5)


def test_c24_the_coded_kappa_star_rises_with_the_cost_of_a_draft() -> None:
    found = [article.kappa_star_as_coded(0.7, beta) for beta in (0.05, 0.1, 0.2, 0.3)]
    assert_allclose(found, [1.214, 1.458, 1.890, 2.265], atol=5.1e-4)
    assert [optimum(Iid(alpha=0.7), Cost(c_d=beta)).kappa_star for beta in (0.05, 0.1, 0.2, 0.3)] == [6, 4, 3, 2]
    assert article.kappa_star_as_coded(math.exp(-0.6)) == pytest.approx(0.0, abs=1e-12)
    assert math.exp(-0.6) == pytest.approx(0.5488, abs=5e-5)


def test_c25_the_seed_point() -> None:
    assert article.kappa_star_as_coded(0.7) == pytest.approx(1.4582, abs=5e-5)
    assert article.kappa_star_as_coded(0.79730) == pytest.approx(4.3, abs=1e-3)
    assert article.kappa_star_as_coded(0.7, beta=0.1, c_v=1.55330) == pytest.approx(4.3, abs=1e-3)
    assert article.kappa_star_as_coded(0.7, c_r=0.36291) == pytest.approx(4.3, abs=1e-3)
    best = optimum(Iid(alpha=0.7), Cost(c_d=0.1, c_v=0.5, c_r=1.0))
    assert best.kappa_star == 0
    assert_allclose(best.speedup_by_kappa[[0, 1, 4]], [1, 0.8947, 0.6666], atol=5.1e-5)
    free = optimum(Iid(alpha=0.7), Cost(c_d=0.1, c_v=0.5))
    assert (free.kappa_star, free.best_speedup) == (1, pytest.approx(1.0625))
    assert kappa_star_continuous(0.7, Cost(c_d=0.1)) == pytest.approx(4.0245, abs=5e-5)


def test_c26_the_articles_grid() -> None:
    alphas, betas = np.linspace(0.6, 0.85, 251), np.linspace(0.05, 0.2, 151)
    coded = np.array([article.kappa_star_as_coded(alpha, beta) for alpha in alphas for beta in betas])
    assert_allclose((coded.min(), coded.max(), np.median(coded)), (0.1446, 8.9853, 2.0602), atol=5.1e-5)
    assert_allclose((coded.mean(), np.exp(np.log(coded).mean())), (2.7368, 1.9594), atol=5.1e-5)
    shares = (np.mean((coded >= 3) & (coded <= 7)), np.mean(coded < 3), np.mean(coded > 7))
    assert_allclose(shares, (0.303, 0.641, 0.056), atol=5.1e-4)
    printed = [article.kappa_star_as_coded(alpha) for alpha in (0.6, 0.64, 0.68, 0.72, 0.76, 0.8, 0.84)]
    assert_allclose(printed, [0.3150, 0.6632, 1.1460, 1.8337, 2.8502, 4.4326, 7.0882], atol=5.1e-5)
    assert article.kappa_star_as_coded(0.7647) == pytest.approx(3, abs=2e-3)
    assert article.kappa_star_as_coded(0.8390) == pytest.approx(7, abs=5e-3)
    true = [kappa_star_continuous(alpha, Cost(c_d=beta)) for alpha in GRID_ALPHAS for beta in GRID_BETAS]
    assert np.exp(np.log(true).mean()) == pytest.approx(4.04, abs=0.03)  # depends on the grid


def test_c26_throughput_lost_by_the_coded_kappa_star() -> None:
    """On the article's 26 values of alpha."""
    for extra, mean, worst in (({}, 0.104, 0.517), ({"c_v": 0.5, "c_r": 1.0}, 0.181, 0.336)):
        losses = []
        for alpha in np.linspace(0.6, 0.85, 26):
            for beta in np.linspace(0.05, 0.2, 16):
                best = optimum(Iid(alpha=alpha), Cost(c_d=beta, **extra), 16)
                used = best.speedup_by_kappa[round(article.kappa_star_as_coded(alpha, beta))]
                losses.append(1 - used / best.best_speedup)
        assert np.mean(losses) == pytest.approx(mean, abs=5.1e-4)
        assert np.max(losses) == pytest.approx(worst, abs=5.1e-4)


def test_c27_the_working_range() -> None:
    assert_allclose([article.kappa_star_as_coded(alpha) for alpha in (0.68, 0.75)], [1.146, 2.555], atol=5.1e-4)
    assert article.kappa_star_as_coded(0.68, 0.05) == pytest.approx(0.920, abs=5.1e-4)
    assert article.kappa_star_as_coded(0.75, 0.2) == pytest.approx(3.091, abs=5.1e-4)
    for beta, stars in ((0.1, {4, 5}), (0.05, {5, 6, 7}), (0.2, {3})):
        assert {optimum(Iid(alpha=a), Cost(c_d=beta)).kappa_star for a in np.linspace(0.68, 0.75, 71)} == stars


def test_c30_kappa_09_in_both_readings() -> None:
    alphas = (0.5, 0.6, 0.7, 0.74, 0.8, 0.9)
    first = [article.kappa_09_r1(alpha, 0.1) for alpha in alphas]
    fourth = [article.kappa_09_r4(alpha, 0.1) for alpha in alphas]
    assert_allclose(first, [7.5, 5.143, 3.375, 2.786, 2.0, 0.9], atol=5.1e-4)
    assert_allclose(fourth, [15.0, 12.839, 11.030, 10.221, 8.499, 0], atol=5.1e-4)
    for alpha, kappa in zip(alphas[:-1], fourth[:-1], strict=True):
        assert article.rho_r4(kappa, alpha, 0.1) == pytest.approx(0.9 * article.rho_infinity(alpha, 0.1))
    for alpha, kappa in zip(alphas, first, strict=True):
        assert article.rho_r1(kappa, alpha, 0.1) == pytest.approx(0.9 * article.rho_infinity(alpha, 0.1))
        longer = article.kappa_09_first_order(alpha, 0.1)
        assert article.rho_expansion(longer, alpha, 0.1) == pytest.approx(0.9 * article.rho_infinity(alpha, 0.1))
    assert article.kappa_09_r4(0.0, 0.1) == pytest.approx(90)
    assert article.kappa_09_r4(1.0, 0.1) == 0.0


def test_c31_the_formula_for_alpha_c_is_nowhere_near_074() -> None:
    assert_allclose(article.alpha_c_formula(0.1), (0.000617, 1.79938), atol=5e-6)
    assert article.alpha_c_formula(0.05)[0] == pytest.approx(0.000146, abs=5e-7)
    assert article.alpha_c_formula(0.2)[0] == pytest.approx(0.002783, abs=5e-7)
    assert math.isnan(article.alpha_c_formula(0.751)[0])
    assert max(article.alpha_c_formula(beta)[0] for beta in np.linspace(0, 0.75, 751)) == pytest.approx(0.25, abs=1e-6)
    assert article.alpha_c_formula(1.6)[0] < 0  # real again from 1.5 on


def test_c32_the_articles_kappa_09_only_falls() -> None:
    alphas = np.linspace(0.05, 0.95, 181)
    for beta in (0.05, 0.1, 0.2):
        assert (np.diff([article.kappa_09_r1(alpha, beta) for alpha in alphas]) < 0).all()
        fourth = np.array([article.kappa_09_r4(alpha, beta) for alpha in alphas])
        assert (np.diff(fourth[fourth > 0]) < 0).all()
    width = 1e-6
    slope = (article.kappa_09_r1(0.74 + width, 0.1) - article.kappa_09_r1(0.74 - width, 0.1)) / (2 * width)
    assert slope == pytest.approx(-14.03, abs=5e-3)


def test_c34_relative_fluctuations() -> None:
    found = [article.relative_fluctuation_b(0.74, kappa) for kappa in (3, 4, 5, 6, 7)]
    assert_allclose(found, [0.3422, 0.2964, 0.2651, 0.2420, 0.2240], atol=5.1e-5)
    found = [article.relative_fluctuation_a(0.74, kappa) for kappa in (3, 4, 5, 6, 7)]
    assert_allclose(found, [0.2532, 0.2193, 0.1962, 0.1791, 0.1658], atol=5.1e-5)
    laws = [window(Iid(alpha=0.74), kappa) for kappa in (1, 3, 4, 5, 7)]
    true = [law.var_accepted**0.5 / law.mean_accepted for law in laws]
    assert_allclose(true, [0.593, 0.734, 0.799, 0.857, 0.950], atol=5.1e-4)


def test_c35_no_draft_accepted() -> None:
    assert article.all_rejected(0.7, 4) == pytest.approx(0.0081)
    assert article.all_rejected(0.85, 4) == pytest.approx(0.00050625)
    assert article.hoeffding_bound(0.7, 4) == pytest.approx(0.0198, abs=5e-5)
    assert article.hoeffding_bound(0.85, 4) == pytest.approx(0.00309, abs=5e-6)
    assert window(Iid(alpha=0.7), 4).p_zero_accepted == pytest.approx(0.3)


def test_c36_the_one_percent_level_of_complete_rejection() -> None:
    found = [complete_rejection_threshold(0.01, kappa) for kappa in (3, 4, 5)]
    assert_allclose(found, [0.784557, 0.683772, 0.601893], atol=5.1e-7)
    assert complete_rejection(Iid(alpha=0.74), 4) == pytest.approx(0.004570, abs=5e-7)
    assert complete_rejection(Iid(alpha=found[1]), 4) == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("rho", "exact", "nearest", "asymptotic", "exchangeable"),
    [(0.3, 1.5535, 1.45, 1.8571, 1.9), (-0.1, 0.8595, 0.85, 0.8182, 0.7)],
)
def test_c39_variance_factors(rho: float, exact: float, nearest: float, asymptotic: float, exchangeable: float) -> None:
    found = (
        judged_variance_factor(Markov(alpha=0.7, rho=rho), 4),
        article.variance_factor_nearest(rho, 4),
        article.variance_factor_asymptotic(rho, 4),
        article.variance_factor_exchangeable(rho, 4),
    )
    assert_allclose(found, (exact, nearest, asymptotic, exchangeable), atol=5.1e-5)
    assert exchangeable_variance_factor(rho, 4) == article.variance_factor_exchangeable(rho, 4)


@pytest.mark.parametrize(
    "process",
    [
        Iid(alpha=0.0), Iid(alpha=0.7), Iid(alpha=1.0), Markov(alpha=0.7, rho=0.3), Markov(alpha=0.8, rho=-0.25),
        Markov(alpha=0.5, rho=-1.0), Markov(alpha=0.6, rho=1.0),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("kappa", [1, 2, 5, 8])
def test_the_judged_sum_has_the_law_of_its_listed_verdicts(process: Iid | Markov, kappa: int) -> None:
    pmf, judged = judged_law(process, kappa), np.arange(kappa + 1)
    assert_allclose(judged_sum(process, kappa), pmf, rtol=1e-12, atol=1e-14)
    assert complete_rejection(process, kappa) == pytest.approx(pmf[0], rel=1e-12, abs=1e-14)
    alone = kappa * process.alpha * (1 - process.alpha)
    variance = pmf @ (judged - pmf @ judged) ** 2
    assert variance == pytest.approx(judged_variance_factor(process, kappa) * alone, abs=1e-12)


def test_nothing_is_judged_without_drafts() -> None:
    assert judged_sum(Iid(alpha=0.7), 0).tolist() == [1.0]
    assert complete_rejection(Iid(alpha=0.7), 0) == 1.0


@pytest.mark.parametrize(
    ("call", "key"),
    [
        (lambda: judged_sum(Markov(alpha=0.7, rho=0.3, start="carry"), 4), "process"),
        (lambda: judged_sum(Survival(survival=[0.5]), 1), "process"),
        (lambda: judged_variance_factor(Iid(alpha=0.7), 0), "kappa"),
        (lambda: exchangeable_variance_factor(-0.5, 4), "rho"),
        (lambda: complete_rejection_threshold(1.1, 4), "level"),
        (lambda: article.kappa_star_as_coded(1.0), "alpha"),
        (lambda: article.kappa_star_as_coded(0.7, beta=0.0, c_v=0.0), "beta + c_v"),
        (lambda: article.rho_r1(0, 0.7, 0.1), "kappa"),
        (lambda: article.kappa_09_r1(0.0, 0.0), "alpha + beta"),
        (lambda: article.relative_fluctuation_b(0.0, 4), "alpha"),
        (lambda: article.variance_factor_asymptotic(1.0, 4), "rho"),
    ],
)
def test_what_has_no_answer_is_refused_by_name(call, key: str) -> None:
    with pytest.raises(ParameterError) as caught:
        call()
    assert caught.value.key == key


C40 = {
    "stationary": (5, 2.2051, 2.0350, 0.3),
    "carry": (4, 1.9084, 1.6718, 0.4249),
    "position": (4, 1.8664, 1.6130, 0.4452),
    "advance": (5, 2.1175, 1.9378, 0.3334),
}


@pytest.mark.parametrize("boundary", C40)
def test_c40_the_boundary_between_windows_decides(boundary: str) -> None:
    star, best, accepted, none = C40[boundary]
    process = chain(0.7, 0.3, boundary)
    found = optimum(process, Cost(c_d=0.1))
    law = window(process, 4)
    assert found.kappa_star == star
    assert_allclose((found.best_speedup, law.mean_accepted, law.p_zero_accepted), (best, accepted, none), atol=5.1e-5)


def test_c40_all_rejected_in_a_chain() -> None:
    assert complete_rejection(Markov(alpha=0.7, rho=0.3), 4) == pytest.approx(0.0398, abs=5e-5)


def test_c40_carried_chains_lose_only_through_full_windows() -> None:
    """E[A] = α(1 − π_full)/(1 − α), with the i.i.d. limit."""
    for kappa in (1, 4, 9):
        law = window(chain(0.7, 0.3, "carry"), kappa)
        assert law.mean_accepted == pytest.approx(0.7 * (1 - law.p_full) / 0.3)
    assert window(chain(0.7, 0.3, "carry"), 400).mean_accepted == pytest.approx(7 / 3)


@pytest.mark.parametrize(
    ("boundary", "lowest", "shares"),
    [
        ("stationary", 0, (0.0, 0.394, 0.606)), ("carry", -1, (0.094, 0.905, 0.001)),
        ("position", -1, (0.039, 0.854, 0.107)), ("advance", 0, (0.0, 0.465, 0.536)),
    ],
)  # fmt: skip
def test_c40_shifts_of_kappa_star_in_the_articles_range(
    boundary: str, lowest: int, shares: tuple[float, float, float]
) -> None:
    """Some 6,000 cases were drawn beforehand; 2,000 of another draw have the same shares within 4 deviations."""
    draw = np.random.default_rng(40)
    shifts = []
    for _ in range(2000):
        alpha, rho = draw.uniform(0.55, 0.85), draw.uniform(0.0, 0.3)
        cost = Cost(c_d=draw.uniform(0.05, 0.2), c_r=float(draw.choice([0.0, 0.5, 1.0])))
        alone = optimum(Iid(alpha=alpha), cost).kappa_star
        shifts.append(optimum(chain(alpha, rho, boundary), cost).kappa_star - alone)
    found = np.sign(shifts)
    assert min(shifts) >= lowest
    assert_allclose([np.mean(found == sign) for sign in (-1, 0, 1)], shares, atol=0.045)


def test_c41_negative_correlation() -> None:
    plain = optimum(Iid(alpha=0.8), Cost(c_d=0.1))
    stationary = optimum(Markov(alpha=0.8, rho=-0.1), Cost(c_d=0.1))
    carried = optimum(chain(0.8, -0.1, "carry"), Cost(c_d=0.1))
    assert (plain.kappa_star, stationary.kappa_star, carried.kappa_star) == (6, 5, 6)
    found = (plain.best_speedup, stationary.best_speedup, carried.best_speedup)
    assert_allclose(found, (2.4696, 2.3910, 2.5076), atol=5.1e-5)


def test_the_seed_costs_break_even_at_080() -> None:
    assert break_even_alpha(Cost(c_d=0.1, c_v=0.5, c_r=1.0)) == pytest.approx(0.8)
    assert break_even_alpha(Cost(c_d=0.1, c_v=0.5)) == pytest.approx(0.6)
