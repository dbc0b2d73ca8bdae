"""Hidden states as integers: hidden Markov model, token laws, and the Gaussian copula on quadrature nodes."""

from __future__ import annotations

import numpy as np

from simspec.kernels.arithmetic import (
    PI,
    bisect,
    cumulative,
    exponential,
    geometric,
    legendre,
    matrix_power,
    matrix_product,
    normal_quantile,
    sine,
    stationary,
)
from simspec.kernels.forms import FreshRow, Steps
from simspec.model import GaussianCopulaAr1, Hmm, ParameterError, TokenChain
from simspec.model.chains import normalised

LARGEST_PHI = 0.999
LOWEST_LATENT = -8.5


def hmm_form(process: Hmm, kappa: int) -> Steps:
    """In state s accept with alphas[s]; then move by P, also from the last draft of a window."""
    move = np.array(normalised(process.P))
    rate = np.array(process.alphas)[:, None]
    accept, reject = rate * move, (1.0 - rate) * move
    if not process.carried:
        law = stationary(move)
        assert law is not None  # the model saw to it
        again = np.tile(law, (len(move), 1))
        return _steps(accept, reject, again, again, law, restarts=True)
    after_reject = matrix_power(move, process.steps_after_reject - 1)
    after_full = matrix_power(move, process.steps_after_full - 1)
    start = _window_law(accept, reject, after_reject, after_full, kappa)
    return _steps(accept, reject, after_reject, after_full, start, restarts=False)


def token_chain_form(process: TokenChain, kappa: int) -> Steps:
    """Accepted mass min(p, q), residual mass (p − q)₊, bonus token from the target."""
    target, draft = np.array(normalised(process.target)), np.array(normalised(process.draft))
    accept, reject = np.minimum(target, draft), np.maximum(target - draft, 0.0)
    stay = np.eye(len(target))
    start = _window_law(accept, reject, stay, target, kappa)
    return _steps(accept, reject, stay, target, start, restarts=False)


def _steps(
    accept: np.ndarray, reject: np.ndarray, after_reject: np.ndarray, after_full: np.ndarray, start: np.ndarray,
    restarts: bool,
) -> Steps:  # fmt: skip
    cells = cumulative(np.concatenate([accept, reject], axis=1))
    return Steps(cells, cumulative(after_reject), cumulative(after_full), cumulative(start), restarts)


def _window_law(
    accept: np.ndarray, reject: np.ndarray, after_reject: np.ndarray, after_full: np.ndarray, kappa: int
) -> np.ndarray:
    """Long-run law of the state at the start of a window; without drafts no state matters."""
    if kappa == 0:
        first: np.ndarray = np.eye(len(accept))[0]
        return first
    alive, chain = np.eye(len(accept)), np.zeros_like(accept)
    for _ in range(kappa):
        chain = chain + matrix_product(matrix_product(alive, reject), after_reject)
        alive = matrix_product(alive, accept)
    law = stationary(chain + matrix_product(alive, after_full))
    if law is None:
        raise ParameterError(
            "kappa", f"kappa = {kappa}: the windows never leave the states they start in; allowed: others"
        )
    return law


def copula_form(process: GaussianCopulaAr1, kappa: int) -> FreshRow | Steps:
    """A finite chain on quadrature nodes below the threshold: the same survival curve to 1e-10, with real steps."""
    alpha = process.alpha
    if alpha in (0.0, 1.0):
        return FreshRow.of(np.full(kappa, alpha))
    z = normal_quantile(alpha)
    phi = process.phi if process.phi is not None else _latent(alpha, z, float(process.rho or 0.0), process)
    if abs(phi) == 1.0:
        beyond = alpha if phi > 0 else max(0.0, 2.0 * alpha - 1.0)
        return FreshRow.of(np.where(np.arange(kappa) == 0, alpha, beyond))
    if phi == 0.0:
        return FreshRow.of(geometric(alpha, alpha, kappa))
    if abs(phi) > LARGEST_PHI:
        key = "phi" if process.phi is not None else "rho"
        raise ParameterError(
            key, f"{key}: the latent correlation {phi:.12g} is too close to 1; allowed: up to {LARGEST_PHI}"
        )
    nodes, weights = _nodes(z, phi)
    return _on_nodes(nodes, weights, phi)


def _latent(alpha: float, z: float, rho: float, process: GaussianCopulaAr1) -> float:
    """phi with Φ₂(z, z; phi) = α² + ρα(1 − α), from ∂Φ₂/∂phi integrated over phi = sin θ."""
    if rho == 1.0 or rho <= process.lowest_rho():
        return 1.0 if rho == 1.0 else -1.0
    nodes, weights = legendre(64)

    def both(theta: float) -> float:
        angles = (nodes + 1.0) * (theta / 2.0)
        heights = exponential(-z * z / (1.0 + np.array([sine(angle) for angle in angles])))
        return float(alpha * alpha + (weights * heights).sum() * (theta / 2.0) / (2.0 * PI))

    edge = PI / 2.0 * (1.0 - 1e-9)
    return sine(bisect(both, alpha * alpha + rho * alpha * (1.0 - alpha), -edge, edge))


def _nodes(z: float, phi: float) -> tuple[np.ndarray, np.ndarray]:
    width = float(np.sqrt(1.0 - phi * phi))
    low = LOWEST_LATENT
    size = int(min(2000, max(48, np.ceil((z - low) / width * 4.0))))
    x, w = legendre(size)
    return low + (x + 1.0) * ((z - low) / 2.0), w * ((z - low) / 2.0)


def _on_nodes(nodes: np.ndarray, weights: np.ndarray, phi: float) -> Steps:
    """State 0 is the start of a window, state i a latent value at node i; a rejection leads back to state 0."""
    size = len(nodes) + 1
    spread = 1.0 - phi * phi
    density = exponential(-((nodes[None, :] - phi * nodes[:, None]) ** 2) / (2.0 * spread))
    accept = np.zeros((size, size))
    accept[1:, 1:] = density * weights / np.sqrt(2.0 * PI * spread)
    accept[0, 1:] = exponential(-nodes * nodes / 2.0) * weights / np.sqrt(2.0 * PI)
    accept /= np.maximum(accept.sum(axis=1, keepdims=True), 1.0)  # quadrature may exceed 1 in the last digits
    reject = np.zeros((size, size))
    reject[:, 0] = 1.0 - accept.sum(axis=1)
    home = np.zeros((size, size))
    home[:, 0] = 1.0
    return _steps(accept, reject, home, home, home[0], restarts=True)
