"""Which other latencies could the article have meant (sections 3.1 and 3.2, readings of equation 5, equation 11)?"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from simspec.model.errors import ParameterError
from simspec.theory.article.speed import kappa_star_as_coded, latency_r1, latency_r4
from simspec.theory.ranges import check_finite, check_inside, check_positive, check_range

_Latency = Callable[[float, float, float], float]


@dataclass(frozen=True)
class LatencyReading:
    """One reading of equation (5).

    Attributes
    ----------
    text : str
        T(κ) in plain target steps: drafting + verification + regeneration.
    latency : callable
        (kappa, alpha, beta) → T(κ).
    limit : callable
        (alpha, beta) → limit of ρ(κ) = κ/T(κ) as κ → ∞; ``inf`` where it grows for ever.
    """

    text: str
    latency: _Latency
    limit: Callable[[float, float], float]


def _one_over(value: float) -> float:
    return 1.0 / value if value > 0 else math.inf


LATENCIES: dict[str, LatencyReading] = {
    "R1": LatencyReading("κβ + ακ + (1 − α)", latency_r1, lambda alpha, beta: _one_over(alpha + beta)),
    "R2": LatencyReading(
        "κβ + 1 + (1 − α)",
        lambda kappa, alpha, beta: kappa * beta + 1.0 + (1.0 - alpha),
        lambda alpha, beta: _one_over(beta),
    ),
    "R3": LatencyReading(
        "κβ + ακ + (1 − α)κ",
        lambda kappa, alpha, beta: kappa * beta + alpha * kappa + (1.0 - alpha) * kappa,
        lambda alpha, beta: 1.0 / (1.0 + beta),
    ),
    "R4": LatencyReading("κβ + ακ + (1 − α^κ)", latency_r4, lambda alpha, beta: _one_over(alpha + beta)),
    "R6": LatencyReading(
        "κβ + 1 + (1 − α)κ",
        lambda kappa, alpha, beta: kappa * beta + 1.0 + (1.0 - alpha) * kappa,
        lambda alpha, beta: _one_over(1.0 - alpha + beta),
    ),
}
"""Name → reading of equation (5).

R1 and R4 have the limit 1/(α + β) that the text states.  Rejected: R2 verifies in one pass, R3 pays a target step for
every draft whatever its fate, R6 verifies in one pass and regenerates every rejected draft.
"""


def latency_by_reading(reading: str, kappa: float, alpha: float, beta: float) -> float:
    """Latency of a window in any reading of section 3.1, equation (5).

    Correct: one verification pass per round, c0 + κ(c_d + c_v) + c_r·P(A < κ).

    Parameters
    ----------
    reading : str
        A key of `LATENCIES`: R1 to R4, R6.
    kappa, alpha, beta : float
        Draft length ≥ 0, acceptance rate in [0, 1], c_d/c_t ≥ 0.

    Returns
    -------
    float
        T(κ) in plain target steps.

    Raises
    ------
    ParameterError
        If ``reading`` is unknown or a number is out of range.

    See Also
    --------
    simspec.theory.mean_round_cost : the cost of a round.

    References
    ----------
    Claim C17.

    Examples
    --------
    >>> [round(latency_by_reading(name, 4, 0.7, 0.1), 4) for name in LATENCIES]
    [3.5, 1.7, 4.4, 3.9599, 2.6]
    """
    own = _reading(reading)
    _check(kappa, alpha, beta)
    return float(own.latency(kappa, alpha, beta))


def rho_by_reading(reading: str, kappa: float, alpha: float, beta: float) -> float:
    """The article's speed-up in any reading: section 3.1, equations (6) and (7).

    Correct: a round yields E[A] + 1 tokens, not κ; see `simspec.theory.speedup`.

    Parameters
    ----------
    reading : str
        A key of `LATENCIES`.
    kappa, alpha, beta : float
        Draft length > 0, acceptance rate in [0, 1], c_d/c_t ≥ 0.

    Returns
    -------
    float
        κ/T(κ); ``inf`` where T(κ) is 0.

    Raises
    ------
    ParameterError
        If ``reading`` is unknown or a number is out of range.

    See Also
    --------
    simspec.theory.speedup : E[tokens]/E[cost].

    References
    ----------
    Claim C18.

    Examples
    --------
    >>> [round(rho_by_reading(name, 4, 0.7, 0.1), 4) for name in LATENCIES]
    [1.1429, 2.3529, 0.9091, 1.0101, 1.5385]
    """
    check_positive("kappa", kappa)
    spent = latency_by_reading(reading, kappa, alpha, beta)
    return kappa / spent if spent > 0 else math.inf


def rho_limit(reading: str, alpha: float, beta: float) -> float:
    """The article's upper bound of the speed-up in any reading: section 3.2, equation (9).

    Correct: S(κ) → 0 as κ grows, and its supremum is S(κ*); see `simspec.theory.foresight_bound`.

    Parameters
    ----------
    reading : str
        A key of `LATENCIES`.
    alpha, beta : float
        Acceptance rate in [0, 1], c_d/c_t ≥ 0.

    Returns
    -------
    float
        lim κ/T(κ): 1/(α + β) for R1 and R4, 1/β for R2, 1/(1 + β) for R3, 1/(1 − α + β) for R6.

    Raises
    ------
    ParameterError
        If ``reading`` is unknown or a number is out of range.

    References
    ----------
    Claim C21.

    Examples
    --------
    >>> [round(rho_limit(name, 0.7, 0.1), 4) for name in LATENCIES]
    [1.25, 10.0, 0.9091, 1.25, 2.5]
    """
    own = _reading(reading)
    _check(0, alpha, beta)
    return own.limit(alpha, beta)


def latency_slope(kappa: float, alpha: float, beta: float = 0.1, c_v: float = 0.5, c_r: float = 1.0) -> float:
    """dT/dκ of equation (10), section 3.2: what equation (11) sets to 0.

    Correct: it is positive at every κ, so T has no minimum and (11) no root; throughput has a maximum instead.

    Parameters
    ----------
    kappa, alpha, beta, c_v, c_r : float
        Draft length ≥ 0, acceptance rate, 0 < alpha < 1, costs ≥ 0 in plain target steps; the article's defaults.

    Returns
    -------
    float
        β + c_v + c_r α^κ ln(1/α).

    Raises
    ------
    ParameterError
        If an argument is out of range.

    See Also
    --------
    simspec.theory.kappa_star_continuous : the root of dS/dκ.

    References
    ----------
    Claims C23 and C24.

    Examples
    --------
    >>> [round(latency_slope(kappa, 0.7), 4) for kappa in (0, 1, 4)]
    [0.9567, 0.8497, 0.6856]
    """
    _check_costs(kappa, alpha, beta, c_v, c_r)
    return float(beta + c_v + c_r * alpha**kappa * math.log(1.0 / alpha))


def stationarity(kappa: float, alpha: float, beta: float = 0.1, c_v: float = 0.5, c_r: float = 1.0) -> float:
    """Left minus right side of equation (11) as the article means it: section 3.2.

    Correct: dT/dκ = 0 reads c_r α^κ ln(1/α) + β + c_v = 0; this has the sign of one term turned.

    Parameters
    ----------
    kappa, alpha, beta, c_v, c_r : float
        As in `latency_slope`.

    Returns
    -------
    float
        c_r α^κ ln(1/α) − (β + c_v).

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Claim C24.

    Examples
    --------
    >>> root = kappa_of_stationarity(0.7)
    >>> round(root, 4), round(stationarity(root, 0.7), 12)
    (-1.4582, 0.0)
    """
    _check_costs(max(kappa, 0.0), alpha, beta, c_v, c_r)
    return float(c_r * alpha**kappa * math.log(1.0 / alpha) - (beta + c_v))


def kappa_of_stationarity(alpha: float, beta: float = 0.1, c_v: float = 0.5, c_r: float = 1.0) -> float:
    """Root of equation (11) as the article means it: section 3.2, before its code turns another sign.

    Correct: `simspec.theory.kappa_star_continuous`; this one is minus the value that the code prints.

    Parameters
    ----------
    alpha, beta, c_v, c_r : float
        As in `kappa_star_as_coded`: beta + c_v > 0 and c_r > 0.

    Returns
    -------
    float
        ln((β + c_v)/(c_r ln(1/α)))/ln α; below 0 where β + c_v > c_r ln(1/α).

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Claim C24.

    Examples
    --------
    >>> round(kappa_of_stationarity(0.7), 4), round(kappa_star_as_coded(0.7), 4)
    (-1.4582, 1.4582)
    """
    return -kappa_star_as_coded(alpha, beta, c_v, c_r)


def _reading(name: str) -> LatencyReading:
    if name not in LATENCIES:
        raise ParameterError("reading", f"reading = {name!r} is unknown; allowed: {', '.join(LATENCIES)}")
    return LATENCIES[name]


def _check(kappa: float, alpha: float, beta: float) -> None:
    check_finite("kappa", kappa, 0)
    check_range("alpha", alpha, 0, 1)
    check_finite("beta", beta, 0)


def _check_costs(kappa: float, alpha: float, beta: float, c_v: float, c_r: float) -> None:
    check_finite("kappa", kappa, 0)
    check_inside("alpha", alpha, 0, 1)
    for key, value in (("beta", beta), ("c_v", c_v), ("c_r", c_r)):
        check_finite(key, value, 0)
