"""Do estimators and tail risks have the moments that a listing of all windows gives?"""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import binom

from simspec.model.errors import ParameterError
from simspec.theory import accepted_over_drafted, accepted_over_examined, at_least_once, tail_risks


def totals(alpha: float, kappa: int, windows: int) -> dict[tuple[int, int], float]:
    """P(drafts accepted, drafts examined) over all windows, added window by window."""
    law = {(0, 0): 1.0}
    for _ in range(windows):
        after: dict[tuple[int, int], float] = defaultdict(float)
        for (accepted, examined), chance in law.items():
            for a in range(kappa + 1):
                own = alpha**a * (1.0 - alpha if a < kappa else 1.0)
                after[accepted + a, examined + min(a + 1, kappa)] += chance * own
        law = after
    return law


@pytest.mark.parametrize("alpha", [0.0, 0.05, 0.5, 0.7, 0.97, 1.0])
@pytest.mark.parametrize(("kappa", "windows"), [(1, 1), (1, 9), (2, 2), (4, 1), (4, 8), (4, 30), (9, 3), (40, 2)])
def test_moments_are_those_of_the_listed_windows(alpha: float, kappa: int, windows: int) -> None:
    law = totals(alpha, kappa, windows)
    chance = np.array(list(law.values()))
    accepted, examined = np.array(list(law)).T
    for found, estimate in (
        (accepted_over_examined(alpha, kappa, windows), accepted / examined),
        (accepted_over_drafted(alpha, kappa, windows), accepted / (kappa * windows)),
    ):
        mean = chance @ estimate
        assert_allclose(found.mean, mean, rtol=1e-12, atol=1e-14)
        assert_allclose(found.var, chance @ (estimate - mean) ** 2, rtol=1e-10, atol=1e-14)


@given(st.floats(0.01, 0.99), st.integers(1, 64), st.integers(1, 10_000))
@settings(deadline=None, max_examples=150)
def test_the_estimate_is_biased_downwards_and_nearly_efficient(alpha: float, kappa: int, windows: int) -> None:
    found = accepted_over_examined(alpha, kappa, windows)
    assert found.mean <= alpha + 1e-12
    if kappa == 1:  # a binomial share
        assert_allclose((found.mean, found.var), (alpha, alpha * (1 - alpha) / windows), rtol=1e-10)
    assert accepted_over_drafted(alpha, kappa, windows).mean <= alpha + 1e-12


def test_many_windows_reach_the_asymptotic_variance() -> None:
    """α(1 − α)/E[N] = .21/2.533 = .082906 at α = .7, κ = 4; bias −Cov(A − αN, N)/(n·E[N]²); next terms 1/n smaller."""
    accepted, examined = np.arange(5), np.array([1, 2, 3, 4, 4])
    chance = np.array([0.3, 0.21, 0.147, 0.1029, 0.2401])
    bias = -(chance @ ((accepted - 0.7 * examined) * examined)) / 2.533**2
    for windows in (10**3, 10**6, 10**9):
        found = accepted_over_examined(0.7, 4, windows)
        assert_allclose(windows * found.asymptotic_var, 0.21 / 2.533, rtol=1e-12)
        assert_allclose(found.var, found.asymptotic_var, rtol=20 / windows + 1e-9)
        assert_allclose(windows * (found.mean - 0.7), bias, atol=2 / windows + 1e-16 * windows)
    assert_allclose(accepted_over_examined(0.7, 4, 8).mean, 0.68280, atol=5e-6)


def test_accepted_over_drafted_is_not_alpha() -> None:
    """E[A]/κ at α = .7: (.7 + .49)/2 and so on."""
    found = [accepted_over_drafted(0.7, kappa, 5).mean for kappa in (1, 2, 4, 8)]
    assert_allclose(found, [0.7, 0.595, 1.7731 / 4, sum(0.7**j for j in range(1, 9)) / 8], rtol=1e-12)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("kappa", [1, 3, 4])
def test_tails_are_those_of_listed_verdicts(alpha: float, kappa: int) -> None:
    windows = 50
    risks = tail_risks(alpha, kappa, windows)
    zero = judged = mean = square = 0.0
    for verdicts in product((0, 1), repeat=kappa):
        chance = math.prod(alpha if verdict else 1 - alpha for verdict in verdicts)
        zero += chance * (verdicts[0] == 0)
        judged += chance * (sum(verdicts) == 0)
        mean += chance * sum(verdicts)
        square += chance * sum(verdicts) ** 2
    assert_allclose((risks.zero_accepted, risks.all_rejected), (zero, judged), atol=1e-15)
    assert_allclose((risks.sum_mean, risks.sum_var), (mean, square - mean**2), atol=1e-13)
    for some, one in ((risks.some_zero, zero), (risks.some_all_rejected, judged)):
        assert_allclose(some, 1 - binom.pmf(0, windows, min(one, 1.0)), rtol=1e-10, atol=1e-15)
    assert risks.all_rejected <= risks.hoeffding_bound
    assert_allclose(risks.sd_of_share, math.sqrt(max(square - mean**2, 0.0)) / kappa, atol=1e-8)
    if alpha > 0:
        assert_allclose(risks.relative_sd, math.sqrt(max(square - mean**2, 0.0)) / mean, atol=1e-7)
    else:
        assert math.isnan(risks.relative_sd)
    assert_allclose(tail_risks(risks.threshold_1pct, kappa, 1).all_rejected, 0.01, rtol=1e-12)


def test_at_least_once_at_the_ends() -> None:
    assert [at_least_once(p, n) for p, n in ((0.0, 9), (1.0, 9), (1.0, 0), (0.5, 0), (0.5, 1))] == [0, 1, 0, 0, 0.5]


@pytest.mark.parametrize(
    ("call", "key"),
    [
        (lambda: accepted_over_examined(1.2, 4, 8), "alpha"),
        (lambda: accepted_over_examined(0.7, 0, 8), "kappa"),
        (lambda: accepted_over_drafted(0.7, 1001, 8), "kappa"),
        (lambda: accepted_over_drafted(0.7, 4, 0), "windows"),
        (lambda: tail_risks(-0.1, 4, 8), "alpha"),
        (lambda: tail_risks(0.7, 0, 8), "kappa"),
        (lambda: tail_risks(0.7, 4, 0), "windows"),
        (lambda: at_least_once(2.0, 1), "probability"),
    ],
)
def test_what_is_out_of_range_is_named(call, key: str) -> None:
    with pytest.raises(ParameterError) as caught:
        call()
    assert caught.value.key == key
