"""Do divergences have their closed forms and limits, and does no pair of laws break a bound of α?"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import rel_entr
from scipy.stats import norm
from theory_laws import BACK, SKEW, law_lists

from simspec.model.errors import ParameterError
from simspec.theory import (
    alpha_bounds_from_half,
    alpha_lower_bretagnolle_huber,
    alpha_lower_chi_square,
    alpha_lower_hoelder,
    alpha_lower_max_ratio,
    alpha_lower_pinsker,
    alpha_upper_chernoff,
    overlap,
    renyi,
    typical_acceptance,
)

ORDERS = (0.0, 0.1, 0.5, 0.9, 0.999999, 1.0, 1.000001, 1.5, 2.0, 7.0, 300.0, math.inf)
ROUNDING = 1e-9
"""A bound holds for reals; laws and divergences carry a rounding of 1e-16, and its root is 1e-8 of what it bounds."""


def by_definition(p: np.ndarray, q: np.ndarray, order: float) -> float:
    """Σ p^λ q^(1−λ) as it stands, for laws without zeros."""
    return math.log(math.fsum(p**order * q ** (1.0 - order))) / (order - 1.0)


def test_orders_have_the_values_of_the_definition() -> None:
    p, q = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.1, 0.2, 0.3, 0.4])
    for order in (0.1, 0.5, 0.9, 1.5, 2.0, 7.0):
        assert_allclose(renyi(p, q, order), by_definition(p, q, order), rtol=1e-13)
    assert_allclose(renyi(p, q, 1.0), rel_entr(p, q).sum(), rtol=1e-13)
    assert_allclose(renyi(p, q, math.inf), math.log(5.0), rtol=1e-13)
    assert_allclose(renyi([0.5, 0.5, 0.0], [0.25, 0.25, 0.5], 0.0), math.log(2.0), rtol=1e-13)


def test_orders_of_the_skewed_pair() -> None:
    """D_½ = −2 ln(2√.1 + .3), D_1 = .3 ln 2.5, D_2 = ln(1.25 + .3 + .08), D_∞ = ln 2.5."""
    expected = [0.0, -2 * math.log(2 * math.sqrt(0.1) + 0.3), 0.3 * math.log(2.5), math.log(1.63), math.log(2.5)]
    assert_allclose([renyi(SKEW, BACK, order) for order in (0, 0.5, 1, 2, math.inf)], expected, rtol=1e-13)


@pytest.mark.parametrize("shift", [0.01, 0.5, 2.0])
def test_gaussian_laws_on_a_fine_grid(shift: float) -> None:
    """N(0, 1) against N(shift, 1): D_λ = λ·shift²/2 (van Erven, Harremoës (2014), Eq. (10)), α = 2Φ(−shift/2)."""
    grid = np.linspace(-14.0, 16.0, 200_001)
    p, q = (density / density.sum() for density in (norm.pdf(grid), norm.pdf(grid - shift)))
    for order in (0.3, 0.5, 1.0, 1.7, 2.0):
        assert_allclose(renyi(p, q, order), order * shift**2 / 2, rtol=1e-6)
    assert_allclose(overlap(p, q).alpha, 2 * norm.cdf(-shift / 2), rtol=1e-4)
    assert_allclose(overlap(p, q).hellinger2, -math.expm1(-(shift**2) / 8), rtol=1e-6)


def test_laws_that_hardly_differ_keep_their_digits() -> None:
    """p = ½ ± ε: D_1 = 2ε² + 4ε⁴/3 + …, D_λ = λ·D_1 to first order; a sum of logarithms would leave noise."""
    p, q = [0.5 + 1e-8, 0.5 - 1e-8], [0.5, 0.5]
    for order in (0.5, 0.999, 1.0, 1.001, 2.0):
        assert_allclose(renyi(p, q, order), order * 2e-16, rtol=1e-6)


def test_what_is_infinite_and_what_is_not() -> None:
    inside, wider = [1.0, 0.0], [0.5, 0.5]
    for order in ORDERS:
        assert_allclose(renyi(inside, wider, order), math.log(2.0), rtol=1e-12)
    assert [math.isinf(renyi(wider, inside, order)) for order in (0, 0.5, 1, 2)] == [False, False, True, True]
    assert math.isinf(renyi(wider, inside, math.inf))
    assert renyi([1.0, 0.0], [0.0, 1.0], 0.0) == math.inf
    apart = overlap([1.0, 0.0], [0.0, 1.0])
    assert (apart.alpha, apart.total_variation, apart.bhattacharyya, apart.hellinger2) == (0.0, 1.0, 0.0, 1.0)
    assert apart.accepted_law is None
    same = overlap(SKEW, SKEW)
    assert (same.alpha, same.residual_law) == (1.0, None)


@given(law_lists())
@settings(deadline=None, max_examples=400)
def test_no_pair_of_laws_breaks_a_property(pair: list[list[float]]) -> None:
    p, q = pair
    both = overlap(p, q)
    found = [renyi(p, q, order) for order in ORDERS]
    assert all(first <= second * (1 + 1e-6) + 1e-12 for first, second in pairwise(found))
    assert math.isclose(both.alpha, 1.0 - both.total_variation, abs_tol=1e-12)
    assert math.isclose(both.bhattacharyya, 1.0 - both.hellinger2, abs_tol=1e-12)
    assert math.isclose(found[2], renyi(q, p, 0.5), rel_tol=1e-6, abs_tol=1e-13)
    emitted = both.alpha * (np.zeros(len(p)) if both.accepted_law is None else both.accepted_law)
    if both.residual_law is not None:
        emitted = emitted + both.total_variation * both.residual_law
    assert_allclose(emitted, p, atol=1e-9)


@given(law_lists(), st.floats(0.01, 0.99))
@settings(deadline=None, max_examples=400)
def test_no_pair_of_laws_breaks_a_bound(pair: list[list[float]], order: float) -> None:
    p, q = pair
    alpha = overlap(p, q).alpha
    lower, upper = alpha_bounds_from_half(renyi(p, q, 0.5))
    assert lower - ROUNDING <= alpha <= upper + ROUNDING
    for first, second in ((p, q), (q, p)):
        own, kullback = renyi(first, second, order), renyi(first, second, 1.0)
        largest = renyi(first, second, math.inf)
        assert alpha <= alpha_upper_chernoff(own, order) + ROUNDING
        for bound in (
            alpha_lower_hoelder(own, order),
            alpha_lower_pinsker(own, order),
            alpha_lower_pinsker(kullback),
            alpha_lower_bretagnolle_huber(kullback),
            alpha_lower_chi_square(renyi(first, second, 2.0)),
            alpha_lower_max_ratio(largest),
            alpha_lower_max_ratio(largest, renyi(second, first, math.inf)),
        ):
            assert bound <= alpha + ROUNDING
        assert alpha_lower_bretagnolle_huber(kullback) <= lower + ROUNDING


def test_a_false_bound_would_be_seen() -> None:
    """α ≤ e^(−D_½) looks like the upper bound and is false: the property above would fail on this pair."""
    assert overlap(SKEW, BACK).alpha < alpha_bounds_from_half(renyi(SKEW, BACK, 0.5))[1]
    near = overlap([0.5, 0.5, 0.0], [0.5, 0.0, 0.5])
    assert near.alpha > math.exp(-renyi([0.5, 0.5, 0.0], [0.5, 0.0, 0.5], 0.5)) + 0.1


@pytest.mark.parametrize("a", [0.05, 0.3, 0.5, 0.85])
def test_sharp_bounds_are_attained(a: float) -> None:
    swapped, apart = ([a, 1 - a], [1 - a, a]), ([a, 1 - a, 0.0], [a, 0.0, 1 - a])
    assert_allclose(alpha_bounds_from_half(renyi(*swapped, 0.5))[0], overlap(*swapped).alpha, rtol=1e-9)
    assert_allclose(alpha_bounds_from_half(renyi(*apart, 0.5))[1], overlap(*apart).alpha, rtol=1e-12)
    both = alpha_lower_max_ratio(renyi(*swapped, math.inf), renyi(*swapped[::-1], math.inf))
    assert_allclose(both, overlap(*swapped).alpha, rtol=1e-12)
    assert_allclose(alpha_lower_hoelder(0.4, 0.5), alpha_bounds_from_half(0.4)[0], rtol=1e-12)


@pytest.mark.parametrize(("divergence", "low", "high"), [(0.1, 0.691516, 0.951229), (0.5, 0.372729, 0.778801),
                                                         (1.0, 0.204940, 0.606531)])  # fmt: skip
def test_bounds_from_half_by_hand(divergence: float, low: float, high: float) -> None:
    """1 − √(1 − e^(−D)) and e^(−D/2), worked out with a table of exponentials."""
    assert_allclose(alpha_bounds_from_half(divergence), (low, high), atol=6e-7)


@given(law_lists(), st.floats(0, 1), st.floats(0, 3), st.sampled_from(["target", "residual"]))
@settings(deadline=None, max_examples=200)
def test_typical_acceptance_token_by_token(pair: list[list[float]], epsilon: float, delta: float, word: str) -> None:
    """Every drafted token and its replacement, listed."""
    p, q = (np.array(law) for law in pair)
    found = typical_acceptance(p, q, epsilon, delta, word)  # type: ignore[arg-type]
    output, accepted = np.zeros(p.size), 0.0
    entropy = -math.fsum(x * math.log(x) for x in p if x > 0)
    for token in range(p.size):
        if token in found.accepted_tokens:
            accepted += q[token]
            output[token] += q[token]
            continue
        rest = np.maximum(p - q, 0.0) if word == "residual" and np.maximum(p - q, 0.0).sum() > 1e-15 else p
        output += q[token] * rest / rest.sum()
    assert_allclose(found.entropy, entropy, atol=1e-9)
    for token in range(p.size):
        gap = p[token] - min(epsilon, delta * math.exp(-entropy))
        assert abs(gap) < 1e-9 or (token in found.accepted_tokens) == (gap > 0)
    assert_allclose(found.acceptance, accepted, atol=1e-9)
    assert_allclose(found.output_law, output, atol=1e-9)
    assert_allclose(found.tv_output_target, 0.5 * np.abs(output - p).sum(), atol=1e-9)


def test_the_published_thresholds_of_medusa() -> None:
    """Cai et al. (2024): δ = √ε.  ε = .09, δ = .3: ε binds below an entropy of ln(.3/.09) = 1.204 nats."""
    certain = typical_acceptance([1.0, 0.0], [0.4, 0.6])
    assert (certain.entropy, certain.threshold, certain.accepted_tokens) == (0.0, 0.09, (0,))
    flat = typical_acceptance([0.1] * 10, [0.1] * 10)
    assert_allclose(flat.threshold, 0.3 / 10, rtol=1e-12)
    assert flat.acceptance == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("call", "key"),
    [
        (lambda: overlap([0.5, 0.5], [1.0]), "draft"),
        (lambda: overlap([0.5, 0.4], [0.5, 0.5]), "target"),
        (lambda: overlap([1.5, -0.5], [0.5, 0.5]), "target[0]"),
        (lambda: overlap([float("nan"), 1.0], [0.5, 0.5]), "target[0]"),
        (lambda: overlap([], []), "target"),
        (lambda: renyi(SKEW, BACK, -0.5), "order"),
        (lambda: alpha_bounds_from_half(-1.0), "divergence"),
        (lambda: alpha_lower_hoelder(0.1, 1.0), "order"),
        (lambda: alpha_lower_pinsker(0.1, 0.0), "order"),
        (lambda: alpha_upper_chernoff(0.1, 1.5), "order"),
        (lambda: alpha_lower_max_ratio(0.5, -1.0), "reverse"),
        (lambda: typical_acceptance(SKEW, BACK, epsilon=1.5), "epsilon"),
        (lambda: typical_acceptance(SKEW, BACK, delta=-1.0), "delta"),
        (lambda: typical_acceptance(SKEW, BACK, on_reject="draft"), "on_reject"),  # type: ignore[arg-type]
    ],
)
def test_what_is_out_of_range_is_named(call, key: str) -> None:
    with pytest.raises(ParameterError) as caught:
        call()
    assert caught.value.key == key
