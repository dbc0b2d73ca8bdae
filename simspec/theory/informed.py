"""What if a controller knew the acceptance rate behind each window or request?  The κ that is best there, always."""

from __future__ import annotations

import numpy as np

from simspec.model.cost import Cost
from simspec.model.drift import Drift
from simspec.model.errors import ParameterError
from simspec.model.mixture import BetaMixture, DiscreteMixture
from simspec.model.process import Process
from simspec.theory.drift_rules import local_kappas, plan_of
from simspec.theory.law import FloatArray
from simspec.theory.quadrature import beta_nodes
from simspec.theory.ranges import check_whole
from simspec.theory.requests import request_costs

NODES = 256
"""Rates that stand for a Beta law.  The best κ jumps with the rate, so that a speedup is right to some 1e-5."""
_STEPS = 60
_SAME = 1e-14


def informed_speedup(process: Process, cost: Cost, kappa_max: int) -> float:
    """Tokens per cost of a controller that knows the rate and plays the κ that is best while it holds.

    Parameters
    ----------
    process : BetaMixture, DiscreteMixture or Drift
        Rates that are drawn for a window or a request, or that depend on the output position.
    cost : Cost
        The prices of a round.
    kappa_max : int
        Longest draft, 1 to 64.

    Returns
    -------
    float
        Of windows max Σ w E[tokens] ÷ Σ w E[cost] over κ by rate; of requests N ÷ Σ w min E[cost of N tokens]; along a
        drift N ÷ E[cost] with κ*(α_i) at every position, as if the rate stayed.

    Raises
    ------
    ParameterError
        There is no such rate, or weights are those of rounds, which depend on κ.

    References
    ----------
    Dinkelbach (1967) for the ratio over windows; docs/theory.md section 8, claim C54.

    Examples
    --------
    >>> mix = DiscreteMixture(alphas=[0.91, 0.49], weights=[0.5, 0.5], weights_of="requests", request_tokens=256)
    >>> round(informed_speedup(mix, Cost(c_d=0.1), 8), 3)  # the best fixed κ makes 1.866
    2.043
    """
    check_whole("kappa_max", kappa_max, 1, 64)
    if isinstance(process, Drift):
        return plan_of(process, local_kappas(process, cost, kappa_max), cost).speedup
    if not isinstance(process, (BetaMixture, DiscreteMixture)):
        raise ParameterError("process", f"{process} draws no rate; allowed: beta_mixture, discrete_mixture or drift")
    if isinstance(process, DiscreteMixture) and process.weights_of == "rounds":
        raise ParameterError(
            "process", 'weights_of = "rounds" depends on κ; allowed: "windows", "requests" or "tokens"'
        )
    rates, shares = _rates(process)
    if not process.by_request:
        return _of_windows(rates, shares, cost, kappa_max)
    each = [request_costs(process, rates, kappa, cost) for kappa in range(kappa_max + 1)]
    return float(process.request_tokens or 1) / float(shares @ np.min(each, axis=0))


def _rates(process: BetaMixture | DiscreteMixture) -> tuple[FloatArray, FloatArray]:
    if isinstance(process, DiscreteMixture):
        return np.array(process.alphas), np.array(process.shares())
    alpha, rho = process.mean_and_rho()
    if rho == 0.0 or alpha in (0.0, 1.0):
        return np.array([alpha]), np.ones(1)
    if rho == 1.0:
        return np.array([0.0, 1.0]), np.array([1.0 - alpha, alpha])
    size = (1.0 - rho) / rho
    return beta_nodes(alpha * size, (1.0 - alpha) * size, NODES)


def _of_windows(rates: FloatArray, shares: FloatArray, cost: Cost, kappa_max: int) -> float:
    """Windows have one rate each: the ratio climbs to its fixed point."""
    kappas = np.arange(kappa_max + 1)
    reach = np.power(rates[:, None], kappas)
    tokens = np.cumsum(reach, axis=1)
    price = np.array([cost.base(int(kappa)) for kappa in kappas]) + cost.c_r * (1.0 - reach)
    rate = 0.0
    for _ in range(_STEPS):
        best = np.argmax(tokens - rate * price, axis=1)[:, None]
        made, spent = (float(shares @ np.take_along_axis(own, best, 1)[:, 0]) for own in (tokens, price))
        if made / spent <= rate * (1.0 + _SAME):
            break
        rate = made / spent
    return rate
