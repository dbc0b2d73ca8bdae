"""The kernels' own arithmetic against scipy and numpy: it may use only + − × ÷ √, not be wrong."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import multivariate_normal

from simspec.kernels import arithmetic as own
from simspec.kernels import lower
from simspec.kernels.forms import FreshRow, Steps
from simspec.model import BetaMixture, GaussianCopulaAr1, Hmm, ParameterError


def test_exponential_sine_and_normal():
    x = np.linspace(-60, 5, 400)
    assert np.allclose(own.exponential(x), np.exp(x), rtol=1e-12, atol=0)
    assert max(abs(own.sine(t) - np.sin(t)) for t in np.linspace(-np.pi / 2, np.pi / 2, 200)) < 1e-15
    assert max(abs(own.normal_below(z) - ndtr(z)) for z in np.linspace(-8.5, 8.5, 100)) < 1e-13
    assert max(abs(own.normal_quantile(p) - ndtri(p)) for p in (1e-6, 0.1, 0.5, 0.7, 0.999)) < 1e-8


@pytest.mark.parametrize("n", [2, 5, 48, 300])
def test_quadrature_nodes(n):
    x, w = own.legendre(n)
    known_x, known_w = np.polynomial.legendre.leggauss(n)
    assert np.allclose(np.sort(x), known_x, atol=1e-13)
    assert np.allclose(w[np.argsort(x)], known_w, rtol=1e-9)


def test_stationary_law_also_with_transient_states():
    rng = np.random.default_rng(1)
    for n in (1, 2, 5, 30):
        chain = rng.dirichlet(np.ones(n), n)
        law = own.stationary(chain)
        assert np.allclose(law @ chain, law, atol=1e-13)
    assert np.allclose(own.stationary(np.array([[0.5, 0.5, 0.0], [0.0, 0.2, 0.8], [0.0, 0.6, 0.4]]))[0], 0.0)
    assert own.stationary(np.eye(2)) is None
    assert np.allclose(own.stationary(np.array([[0.0, 1.0], [1.0, 0.0]])), 0.5)


def survival_of(form, kappa):
    """Survival curve that the thresholds of a form amount to."""
    if isinstance(form, FreshRow):
        return (form.cells + form.lows / 2.0**52) / 2.0**12
    assert isinstance(form, Steps)
    cells = np.diff(form.cells, prepend=0, axis=1) / 2**32
    alive = np.diff(form.start, prepend=0) / 2**32
    out = []
    for _ in range(kappa):
        alive = alive @ cells[:, : len(cells)]
        out.append(alive.sum())
    return np.array(out)


@pytest.mark.parametrize("mean", [2, 60, 1024])
def test_the_binary_digits_of_a_geometric_length(mean):
    """Mean and chance of a single token from independent digits; what digits are left out weighs less than 1e-6."""
    process = BetaMixture(alpha=0.7, rho=0.2, request_tokens=mean, request_law="geometric")
    chances = lower.form(process, 4).ends.bits / 2**32
    assert 1.0 + chances @ 2.0 ** np.arange(len(chances)) == pytest.approx(mean, rel=1e-6)
    assert np.prod(1.0 - chances) == pytest.approx(1.0 / mean, rel=1e-6)


@pytest.mark.parametrize("phi", [-0.9, -0.3, 0.2, 0.62, 0.95])
def test_the_copula_on_nodes_has_the_gaussian_survival_curve(phi):
    """Orthant probabilities by scipy's quadrature, to 2e-5; thresholds alone allow 1e-9."""
    alpha = 0.7
    z = ndtri(alpha)
    own_curve = survival_of(lower.form(GaussianCopulaAr1(alpha=alpha, phi=phi), 4), 4)
    for j in range(1, 5):
        lag = np.abs(np.subtract.outer(np.arange(j), np.arange(j)))
        exact = multivariate_normal(np.zeros(j), phi**lag, seed=1).cdf(np.full(j, z))
        assert abs(own_curve[j - 1] - exact) < 2e-5


@pytest.mark.parametrize("rho", [-0.3, 0.0, 0.1, 0.3, 0.7])
def test_rho_of_the_copula_is_the_correlation_of_outcomes(rho):
    curve = survival_of(lower.form(GaussianCopulaAr1(alpha=0.7, rho=rho), 2), 2)
    assert abs((curve[1] - 0.49) / 0.21 - rho) < 1e-8


def test_limits_of_the_copula():
    assert survival_of(lower.form(GaussianCopulaAr1(alpha=0.7, phi=1.0), 3), 3).round(6).tolist() == [0.7] * 3
    assert survival_of(lower.form(GaussianCopulaAr1(alpha=0.7, phi=-1.0), 3), 3).round(6).tolist() == [0.7, 0.4, 0.4]
    with pytest.raises(ParameterError, match="too close to 1"):
        lower.form(GaussianCopulaAr1(alpha=0.7, phi=0.99999), 3)


def test_a_hidden_chain_that_never_mixes_between_windows_is_refused():
    swap = Hmm(P=((0.0, 1.0), (1.0, 0.0)), alphas=(0.0, 0.0), start="carry", steps_after_reject=2, steps_after_full=2)
    with pytest.raises(ParameterError, match="never leave"):
        lower.form(swap, 4)
