"""Do requests that keep their rate have the law of every way a short request can go?"""

from __future__ import annotations

import time

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, special, stats
from theory_brute import geometric_moments, request_chances, request_paths

from simspec.model.cost import Cost
from simspec.model.drift import Drift
from simspec.model.iid import Iid
from simspec.model.mixture import BetaMixture, DiscreteMixture
from simspec.theory import optimum, requests, speedup, unit_counts, window
from simspec.theory.requests import request_shares

EXACT = {"rtol": 1e-10, "atol": 1e-11}
COST = Cost(c0=1.1, c_d=0.1, c_v=0.05, c_r=0.7)
Mixture = BetaMixture | DiscreteMixture
THREE = {"alphas": [0.95, 0.45, 0.0], "weights": [0.5, 0.3, 0.2]}


def short(n: int, truncate: bool) -> list[Mixture]:
    size = {"request_tokens": n, "truncate": truncate}
    return [
        DiscreteMixture(**THREE, weights_of="requests", **size),
        DiscreteMixture(**THREE, weights_of="tokens", **size),
        DiscreteMixture(**THREE, weights_of="rounds", **size),
        DiscreteMixture(alphas=[1.0, 0.3], weights=[0.9, 0.1], weights_of="rounds", **size),
        BetaMixture(alpha=0.7, rho=0.3, **size),
        BetaMixture(a=0.2, b=0.1, **size),
        BetaMixture(alpha=0.7, rho=0.0, **size),
        BetaMixture(alpha=0.7, rho=1.0, **size),
        BetaMixture(alpha=1.0, rho=0.5, **size),
        BetaMixture(alpha=0.0, rho=0.5, **size),
    ]


@pytest.mark.parametrize("truncate", [True, False], ids=["cut", "whole"])
@pytest.mark.parametrize(
    ("n", "kappa"), [(1, 0), (1, 3), (2, 1), (3, 0), (4, 2), (5, 9), (6, 1), (7, 3), (8, 2), (8, 6), (8, 10)]
)
def test_a_short_request_has_the_moments_of_its_listed_paths(n: int, kappa: int, truncate: bool) -> None:
    paths = list(request_paths(n, kappa, truncate))
    rounds = np.array([len(path) for path in paths])
    counts = np.array([np.bincount([a for a, _, _ in path], minlength=kappa + 1) for path in paths])
    drafted = np.array([sum(d for _, d, _ in path) for path in paths])
    rejected = np.array([sum(r for _, _, r in path) for path in paths])
    examined = np.array([sum(a + r for a, _, r in path) for path in paths])
    for process in short(n, truncate):
        chance = request_chances(process, paths)
        per = chance @ rounds
        law = window(process, kappa)
        assert_allclose(law.pmf_accepted, chance @ counts / per, **EXACT)
        assert_allclose(law.mean_tokens, n / per, **EXACT)
        assert_allclose(law.p_full, 1.0 - chance @ rejected / per, **EXACT)
        assert_allclose(law.mean_drafted, chance @ drafted / per, **EXACT)
        assert_allclose(law.mean_examined, chance @ examined / per, **EXACT)
        price = rounds * COST.c0 + drafted * (COST.c_d + COST.c_v) + rejected * COST.c_r
        assert_allclose(speedup(process, kappa, COST), n / (chance @ price), **EXACT)
        assert_allclose(optimum(process, COST, kappa).speedup_by_kappa[-1], n / (chance @ price), **EXACT)
        mean, covariance = unit_counts(process, kappa, 1)
        assert_allclose(mean, chance @ counts, **EXACT)
        assert_allclose(covariance, (counts - mean).T @ (chance[:, None] * (counts - mean)), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("truncate", [True, False], ids=["cut", "whole"])
@pytest.mark.parametrize("rate", [0.0, 0.3, 0.9, 0.9999, 1.0])
@pytest.mark.parametrize(("n", "kappa"), [(60, 4), (61, 4), (45, 8), (50, 70), (400, 3)])
def test_one_rate_for_all_requests_is_a_drift_that_stands_still(
    n: int, kappa: int, rate: float, truncate: bool
) -> None:
    """The closed forms against the dynamic program of `generations`."""
    still = Drift(shape="piecewise", alphas=[rate], lengths=[n], truncate=truncate)
    process = DiscreteMixture(alphas=[rate], weights=[1.0], weights_of="requests", request_tokens=n, truncate=truncate)
    mine, theirs = window(process, kappa), window(still, kappa)
    assert_allclose(mine.pmf_accepted, theirs.pmf_accepted, **EXACT)
    for name in ("mean_tokens", "p_full", "mean_drafted", "mean_examined", "var_accepted"):
        assert_allclose(getattr(mine, name), getattr(theirs, name), **EXACT)
    for a, b in zip(unit_counts(process, kappa, 1), unit_counts(still, kappa, 1), strict=True):
        assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    assert_allclose(
        optimum(process, COST, kappa).speedup_by_kappa, optimum(still, COST, kappa).speedup_by_kappa, **EXACT
    )


def classes(process: Mixture) -> list[tuple[float, float]]:
    """(share of requests, rate); scipy's nodes for a Beta law."""
    if isinstance(process, DiscreteMixture):
        return list(zip(process.shares(), process.alphas, strict=True))
    alpha, rho = process.mean_and_rho()
    a, b = alpha * (1.0 - rho) / rho, (1.0 - alpha) * (1.0 - rho) / rho
    points, weights = special.roots_jacobi(48, b - 1.0, a - 1.0)
    return list(zip(weights / weights.sum(), 0.5 * (1.0 + points), strict=True))


@pytest.mark.parametrize("weights_of", ["requests", "rounds", "beta"])
@pytest.mark.parametrize(("tokens", "kappa"), [(1, 3), (2, 0), (3, 1), (4, 3), (7, 2), (8, 8)])
def test_a_geometric_request_is_a_fixed_one_of_random_length(tokens: int, kappa: int, weights_of: str) -> None:
    size = {"request_tokens": tokens, "request_law": "geometric"}
    process: Mixture = (
        BetaMixture(alpha=0.7, rho=0.3, **size)
        if weights_of == "beta"
        else DiscreteMixture(**THREE, weights_of=weights_of, **size)
    )
    parts = [(share, *geometric_moments(rate, kappa, tokens, 30 * tokens + 10)) for share, rate in classes(process)]
    shares = np.array([share / mean.sum() if weights_of == "rounds" else share for share, mean, _ in parts])
    shares /= shares.sum()
    mean = sum(share * part[1] for share, part in zip(shares, parts, strict=True))
    second = sum(share * part[2] for share, part in zip(shares, parts, strict=True))
    law, accepted = window(process, kappa), np.arange(kappa + 1)
    assert_allclose(law.pmf_accepted, mean / mean.sum(), atol=1e-10)
    assert_allclose(law.mean_tokens, tokens / mean.sum(), atol=1e-10)
    assert_allclose(law.p_full, mean[-1] / mean.sum(), atol=1e-10)
    assert law.mean_drafted == pytest.approx(kappa, abs=1e-12)
    assert_allclose(law.mean_examined, mean @ np.minimum(accepted + 1, kappa) / mean.sum(), atol=1e-10)
    found, covariance = unit_counts(process, kappa, 1)
    assert_allclose(found, mean, atol=1e-9)
    assert_allclose(covariance, second - np.outer(mean, mean), atol=1e-8)
    assert_allclose(optimum(process, COST, kappa).speedup_by_kappa[-1], speedup(process, kappa, COST), **EXACT)


@pytest.mark.parametrize("kappa", [0, 1, 4, 64])
@pytest.mark.parametrize(("a", "b"), [(1.6333, 0.7), (0.3, 0.2), (30.0, 2.0)])
def test_a_beta_request_of_1024_tokens_is_integrated_to_ten_digits(a: float, b: float, kappa: int) -> None:
    """E[rounds] as a function of the rate by the route itself, averaged by scipy's adaptive quadrature instead."""

    def rounds(rate: float, law: str) -> float:
        one = DiscreteMixture(alphas=[rate], weights=[1.0], weights_of="requests", request_tokens=1024, request_law=law)
        return 1024 / window(one, kappa).mean_tokens

    beta = stats.beta(a, b)
    for law in ("fixed", "geometric"):
        process = BetaMixture(a=a, b=b, request_tokens=1024, request_law=law)
        found = 1024 / window(process, kappa).mean_tokens
        pieces = [beta.ppf(share) for share in (0.0, 0.05, 0.5, 0.9, 0.99, 1.0)]
        # over quantiles the density is 1: no singular ends
        expected = sum(
            integrate.quad(lambda u, law=law: rounds(float(beta.ppf(u)), law), low, high, epsrel=1e-11, limit=60)[0]
            for low, high in zip(beta.cdf(pieces)[:-1], beta.cdf(pieces)[1:], strict=True)
        )
        assert found == pytest.approx(expected, rel=3e-9)  # the quadrature's digits; the next test has the route's


@pytest.mark.parametrize(("a", "b"), [(1.6333, 0.7), (0.3, 0.2), (0.02, 0.01), (30.0, 2.0)])
def test_more_beta_nodes_change_nothing(a: float, b: float, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [
        (BetaMixture(a=a, b=b, request_tokens=n, request_law=law), kappa)
        for n in (8, 1024, 20_000)
        for law in ("fixed", "geometric")
        for kappa in (1, 4, 64)
    ]
    before = [window(process, kappa) for process, kappa in asked]
    before_counts = [unit_counts(process, 4, 1)[1] for process, kappa in asked[:12] if kappa == 4]
    monkeypatch.setattr(requests, "_NODES", 600)
    for law, (process, kappa) in zip(before, asked, strict=True):
        assert_allclose(window(process, kappa).pmf_accepted, law.pmf_accepted, atol=1e-11)
        assert_allclose(window(process, kappa).mean_tokens, law.mean_tokens, rtol=1e-10)
    after_counts = [unit_counts(process, 4, 1)[1] for process, kappa in asked[:12] if kappa == 4]
    for one, other in zip(before_counts, after_counts, strict=True):
        assert_allclose(one, other, atol=1e-10 * np.abs(other).max())


def test_golden_g07_hard_requests_need_more_rounds() -> None:
    expected = {1: (0.8195, 1.82), 2: (0.8115, 2.486), 3: (0.8041, 3.026), 4: (0.7974, 3.462), 8: (0.7767, 4.53),
                16: (0.7562, 5.314)}  # fmt: skip
    process = DiscreteMixture(
        alphas=[0.917, 0.66], weights=[0.654, 0.346], weights_of="tokens", request_tokens=1_000_000
    )
    for kappa, (first, tokens) in expected.items():
        law = window(process, kappa)
        assert 1.0 - law.p_zero_accepted == pytest.approx(first, abs=6e-5)
        assert law.mean_tokens == pytest.approx(tokens, abs=6e-4)


def test_shares_of_rounds_come_back_as_shares_of_rounds() -> None:
    process = DiscreteMixture(alphas=[0.9, 0.5], weights=[0.3, 0.7], weights_of="rounds", request_tokens=10**6)
    for kappa in (1, 6):
        assert window(process, kappa).p_zero_accepted == pytest.approx(0.3 * 0.1 + 0.7 * 0.5, abs=1e-5)
    _, at_one = request_shares(process, 1)
    _, at_six = request_shares(process, 6)
    assert at_six[0] > at_one[0] > 0.3  # requests with a high rate need fewer rounds, the more so the longer the draft


def test_an_equal_rate_is_iid_in_the_long_run() -> None:
    for law in ("fixed", "geometric"):
        process = BetaMixture(alpha=0.7, rho=0.0, request_tokens=10**6, request_law=law)
        assert_allclose(window(process, 4).pmf_accepted, window(Iid(alpha=0.7), 4).pmf_accepted, atol=1e-5)


def test_rates_near_one_lose_no_digits() -> None:
    """E[rounds] falls smoothly to N/(κ + 1) there; a difference of sums of size N²/κ would not."""
    for gap in (1e-4, 1e-8, 1e-12, 1e-16):
        process = DiscreteMixture(alphas=[1.0 - gap], weights=[1.0], weights_of="requests", request_tokens=1000)
        assert 1000 / window(process, 4).mean_tokens == pytest.approx(200.0, rel=1100 * gap + 1e-13)


def test_the_search_over_beta_requests_is_quick() -> None:
    process = BetaMixture(alpha=0.71, rho=0.31, request_tokens=1024)
    began = time.process_time()
    optimum(process, Cost(c_d=0.1), 64)
    assert time.process_time() - began < 3.0  # .3 s of one core
