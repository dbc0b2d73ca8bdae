"""How long does a Gaussian AR(1) stay below a threshold?  The survival curve of windows whose outcomes it cuts.

Let h_j(y) be the chance that the j − 1 values before were below z, given that the j-th is y.  Then h_1 = 1,
h_{j+1}(y) = ∫_{x<z} N(x; φy, 1 − φ²) h_j(x) dx, and S_j = ∫_{y<z} N(y; 0, 1) h_j(y) dy.  All integrands are bells of
width √(1 − φ²) or wider, so Gauss-Legendre panels of that width are exact to rounding, and each needs few neighbours.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from simspec.model.copula import GaussianCopulaAr1
from simspec.model.errors import ParameterError
from simspec.theory.law import FloatArray

_REACH = 9.0
"""Standard deviations beyond which a bell is dropped: 1e-19 of its mass."""
_NODES, _WIDTH = 12, 1.5
"""Gauss-Legendre nodes per panel, and its width in standard deviations: error below 1e-14 of the integral."""
_NARROWEST = 0.004
"""Least √(1 − φ²), |φ| ≤ .999992: tables grow with its inverse, here to 60 MB."""


def copula_curve(process: GaussianCopulaAr1, kappa: int) -> FloatArray:
    """S_j = P(Z_1 < z, …, Z_j < z), z = Φ⁻¹(α), accurate to 1e-12.

    Parameters
    ----------
    process : GaussianCopulaAr1
        With phi, or with rho, from which phi follows.
    kappa : int
        Draft length, ≥ 0.

    Returns
    -------
    array, shape (kappa,)
        S_1 … S_kappa; closed forms at alpha 0, 1 and phi −1, 0, 1.

    Raises
    ------
    ParameterError
        If |phi| is above .999992 without being 1.

    References
    ----------
    docs/theory.md section 6 and claim C40, "Gaussian-copula AR(1)".

    Examples
    --------
    >>> copula_curve(GaussianCopulaAr1(alpha=0.5, phi=0.5), 2).round(12)  # 1/4 + asin(phi)/2π
    array([0.5       , 0.33333333])
    """
    alpha = process.alpha
    phi, width = latent(process)
    if alpha in (0.0, 1.0) or phi == 1.0:
        return np.full(kappa, alpha)
    if phi == -1.0:  # −z < Z < z from the second draft on
        return np.where(np.arange(kappa) == 0, alpha, max(0.0, 2.0 * alpha - 1.0))
    if phi == 0.0:
        return np.asarray(np.power(alpha, np.arange(1.0, kappa + 1)), dtype=np.float64)
    if width < _NARROWEST:
        key = "phi" if process.phi is not None else "rho"
        raise ParameterError(
            key,
            f"{key} = {getattr(process, key)!r} is too near its end for the exact route; allowed: latent correlations "
            f"-0.999992 ≤ phi ≤ 0.999992, or exactly -1 or 1 (here |phi| = 1 - {1.0 - abs(phi):.3g})",
        )
    curve = np.full(kappa, alpha)
    if kappa > 1:
        curve[1:] = _later(normal_quantile(alpha), phi, width, kappa - 1)
    return np.minimum.accumulate(curve)  # a survival curve never rises, not even by a rounding


def latent(process: GaussianCopulaAr1) -> tuple[float, float]:
    """(φ, √(1 − φ²)), from rho if that was given.

    With φ = −cos δ, Φ₂(z, z; φ) − max(0, 2α − 1) = (1/2π) ∫₀^δ exp(−z²/(2 sin²(t/2))) dt rises in δ from 0 to
    q = min(α, 1 − α) and has to be q² + ρ q(1 − q).

    Examples
    --------
    >>> phi, _ = latent(GaussianCopulaAr1(alpha=0.5, rho=1 / 3))  # at α = ½, phi = sin(ρπ/2)
    >>> round(phi, 12)
    0.5
    """
    if process.phi is not None:
        return process.phi, math.sqrt((1.0 - process.phi) * (1.0 + process.phi))
    assert process.rho is not None  # the model asks for one of the two
    q = min(process.alpha, 1.0 - process.alpha)
    if process.rho in (0.0, 1.0) or q == 0.0:
        return process.rho, 1.0 - process.rho
    wanted = q * q + process.rho * q * (1.0 - q)
    if process.rho <= process.lowest_rho() or wanted <= 0.0:
        return -1.0, 0.0
    z = normal_quantile(q)
    low, high = 0.0, math.pi
    for _ in range(64):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _joint_excess(z, middle) < wanted else (low, middle)
    return -math.cos(high), math.sin(high)


def normal_cdf(x: float) -> float:
    """Φ(x).

    Examples
    --------
    >>> round(normal_cdf(1.959963984540054), 12)
    0.975
    """
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def normal_quantile(probability: float) -> float:
    """Φ⁻¹ by Newton steps on log Φ, which is concave: from the left they cannot overshoot.

    Examples
    --------
    >>> round(normal_quantile(0.975), 10)
    1.9599639845
    """
    if probability > 0.5:
        return -normal_quantile(1.0 - probability)
    x = -math.sqrt(-2.0 * math.log(2.0 * probability))  # Φ(−t) ≤ exp(−t²/2)/2
    for _ in range(60):
        below = max(normal_cdf(x), 5e-324)
        step = math.log(probability / below) * below * math.sqrt(2.0 * math.pi) * math.exp(0.5 * x * x)
        x += step
        if abs(step) <= 1e-16 * (1.0 + abs(x)):
            break
    return x


def _joint_excess(z: float, delta: float) -> float:
    """The integral of `latent` over [0, δ] on panels that halve towards 0, since it has a layer near t = |z|."""
    points, weights = np.polynomial.legendre.leggauss(16)
    right = delta * 0.5 ** np.arange(60.0)
    t = 0.25 * right[:, None] * (3.0 + points)  # panel [right/2, right]
    return float(np.exp(-0.5 * (z / np.sin(0.5 * t)) ** 2) @ weights @ right) / (8.0 * math.pi)


def _later(z: float, phi: float, width: float, steps: int) -> FloatArray:
    """S_2 … S_{steps + 1}."""
    low = min(-_REACH, z - _REACH)
    panel = min(1.0, _WIDTH * width)
    panels = math.ceil((z - low) / panel)
    panel = (z - low) / panels
    points, weights = np.polynomial.legendre.leggauss(_NODES)
    y = low + panel * (np.arange(panels)[:, None] + 0.5 * (1.0 + points))  # [panel, node]
    mass = 0.5 * panel * weights
    near, kernel = _kernel(y, mass, phi, width, low, panel)
    density = mass * np.exp(-0.5 * y * y) / math.sqrt(2.0 * math.pi)
    h, curve = np.ones_like(y), np.empty(steps)
    for j in range(steps):
        h = (kernel @ h[near].reshape(panels, -1, 1))[..., 0]
        curve[j] = float((density * h).sum())
    return curve


def _kernel(
    y: FloatArray, mass: FloatArray, phi: float, width: float, low: float, panel: float
) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Panels near φ·(panel of y), and weights·N(x; φy, width²) on their nodes x, shape (panels, nodes, near·nodes)."""
    panels = len(y)
    centre = np.floor((phi * y.mean(axis=1) - low) / panel).astype(np.int64)
    half = math.ceil(0.5 + _REACH * width / panel) + 1
    wanted = centre[:, None] + np.arange(-half, half + 1)
    near = np.clip(wanted, 0, panels - 1)
    exists = wanted == near
    x = y[near].reshape(panels, 1, -1)
    kernel = (x - phi * y[:, :, None]) / width
    np.exp(np.multiply(kernel, -0.5 * kernel, out=kernel), out=kernel)
    kernel *= (exists[:, :, None] * mass / (width * math.sqrt(2.0 * math.pi))).reshape(panels, 1, -1)
    return near, kernel
