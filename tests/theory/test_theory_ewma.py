"""How often does a rolling estimate lie below a level?  Against listed sequences, the uniform law, its own equation."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.stats import norm

from simspec.kernels.words import stream_keys
from simspec.model.errors import ParameterError
from simspec.run.pairs import uniforms
from simspec.theory import block_bracket, ewma_below, ewma_deviation, ewma_drift_bias, overlap


def listed(alpha: float, level: float, smoothing: float, outcomes: int) -> tuple[float, float]:
    """Bounds from all sequences of the last outcomes: what came before moves the estimate by λ^n at most."""
    at, weight = np.zeros(1), np.ones(1)
    for k in range(outcomes):
        at = np.concatenate([at, at + (1 - smoothing) * smoothing**k])
        weight = np.concatenate([weight * (1 - alpha), weight * alpha])
    return float(weight[at + smoothing**outcomes < level].sum()), float(weight[at < level].sum())


@pytest.mark.parametrize(("alpha", "smoothing"), [(0.5, 0.6), (0.7, 0.7), (0.3, 0.75), (0.62, 0.65)])
@pytest.mark.parametrize("level", [0.2, 0.45, 0.6, 0.81])
def test_within_the_bounds_of_listed_sequences(alpha, smoothing, level):
    low, high = listed(alpha, level, smoothing, 18)
    assert high - low < 0.03
    assert low - 1e-6 <= ewma_below(alpha, level, smoothing) <= high + 1e-6


def test_a_half_makes_the_uniform_law():
    """λ = ½, α = ½: binary digits."""
    for level in (0.0, 0.1, 1 / 3, 0.75, 1.0):
        assert ewma_below(0.5, level, 0.5) == pytest.approx(level, abs=1e-6)


def test_the_law_obeys_its_equation():
    """F(x) = αF((x − 1 + λ)/λ) + (1 − α)F(x/λ): to 1e-9 where the law is smooth, 1e-6 at the edge of the range."""
    for alpha, smoothing, error in ((0.6, 0.9, 1e-9), (0.85, 0.85, 1e-6), (0.3, 0.7, 1e-6)):
        for level in (0.5, 0.72):
            before = [min(max(x, 0.0), 1.0) for x in ((level - 1 + smoothing) / smoothing, level / smoothing)]
            accepted, rejected = (ewma_below(alpha, x, smoothing) for x in before)
            expected = alpha * accepted + (1 - alpha) * rejected
            assert ewma_below(alpha, level, smoothing) == pytest.approx(expected, abs=error)


@pytest.mark.parametrize("smoothing", [0.99, 0.999, 0.9999, 0.99999])
def test_slow_estimates_are_nearly_normal_and_quick_to_find(smoothing):
    """A skewness of √(1 − λ) or so; the first correction of the normal law leaves a term of 1 − λ."""
    alpha, began = 0.7, time.monotonic()
    sigma = ewma_deviation(alpha, smoothing)
    third = alpha * (1 - alpha) * (1 - 2 * alpha) * (1 - smoothing) ** 3 / (1 - smoothing**3) / sigma**3
    for z in (-2.0, -0.5, 0.0, 1.0):
        normal = norm.cdf(z) - third / 6 * (z * z - 1) * norm.pdf(z)
        assert ewma_below(alpha, alpha + z * sigma, smoothing) == pytest.approx(normal, abs=1.0 - smoothing)
    assert time.monotonic() - began < 10.0


def test_a_simulated_estimate():
    """400,000 estimates after 120 outcomes, α = .85 and λ = .85; 5.2 standard errors, below 2e-7."""
    keys, estimate = stream_keys(1, "ewma", domain="pairs"), np.full(400_000, 0.85)
    for i in range(120):
        estimate = 0.85 * estimate + 0.15 * (uniforms(keys, i, estimate.size) < 0.85)
    for level in (0.7, 0.85, 0.95):
        truth = ewma_below(0.85, level, 0.85)
        assert (estimate < level).mean() == pytest.approx(truth, abs=5.2 * (truth * (1 - truth) / 4e5) ** 0.5)


WRONG = [
    (lambda: ewma_below(0.98, 0.85, 0.85), "smoothing"),  # a law of steps, once answered with .0251 for .0273
    (lambda: ewma_below(0.7, 0.5, 0.5), "smoothing"),
    (lambda: ewma_below(0.7, 0.5, 1.0), "smoothing"),
    (lambda: ewma_below(0.001, 0.5, 0.9995), "alpha"),
    (lambda: ewma_below(0.7, float("nan")), "level"),
    (lambda: ewma_drift_bias(float("nan")), "slope"),
    (lambda: overlap(["a"], [1.0]), "target"),
    (lambda: overlap([1.0], [[0.5], [0.5, 0.5]]), "draft"),
    (lambda: block_bracket([0.5, 0.5], [0.2, 0.8], 64, 10_001), "points"),
]


@pytest.mark.parametrize(("call", "key"), WRONG)
def test_what_cannot_be_answered_is_named(call, key):
    with pytest.raises(ParameterError) as caught:
        call()
    assert caught.value.key == key
    assert "\n" not in str(caught.value)
