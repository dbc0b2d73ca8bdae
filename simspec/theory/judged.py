"""What if all κ drafts got a verdict, also those after a rejection?  The article's sum of κ outcomes, not decoding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from simspec.model.errors import ParameterError
from simspec.model.process import Process
from simspec.theory.law import FloatArray
from simspec.theory.mixtures import beta_judged, beta_outcomes, discrete_judged, discrete_outcomes
from simspec.theory.ranges import check_kappa, check_least, check_range


@dataclass(frozen=True)
class _Judged:
    """The κ verdicts of one window: the law of their sum, their (α, ρ), and whether any two have correlation ρ.

    Otherwise two verdicts j apart have correlation ρ^j.
    """

    law: Callable[[Any, int], FloatArray]
    outcomes: Callable[[Any], tuple[float, float]]
    exchangeable: bool = False


def _chain_law(process: Any, kappa: int) -> FloatArray:
    alpha, rho = _JUDGED[process.type, process.unit].outcomes(process)
    again_accepted = min(max(alpha + rho * (1.0 - alpha), 0.0), 1.0)
    again_rejected = min(max(1.0 - alpha * (1.0 - rho), 0.0), 1.0)
    rejected, accepted = np.zeros(kappa + 1), np.zeros(kappa + 1)  # by last outcome; index: accepted so far
    if kappa == 0:
        return np.ones(1)
    rejected[0], accepted[1] = 1.0 - alpha, alpha
    for _ in range(kappa - 1):
        to_accepted = (1.0 - again_rejected) * rejected + again_accepted * accepted
        rejected = again_rejected * rejected + (1.0 - again_accepted) * accepted
        accepted = np.concatenate(([0.0], to_accepted[:-1]))
    return rejected + accepted


_JUDGED: dict[tuple[str, str], _Judged] = {
    ("iid", "window"): _Judged(_chain_law, lambda process: (process.alpha, 0.0)),
    ("markov", "window"): _Judged(_chain_law, lambda process: (process.alpha, process.rho)),
    ("beta_mixture", "window"): _Judged(beta_judged, beta_outcomes, exchangeable=True),
    ("discrete_mixture", "window"): _Judged(discrete_judged, discrete_outcomes, exchangeable=True),
}
"""(type, unit) → the verdicts of one window."""


def judged_sum(process: Process, kappa: int) -> FloatArray:
    """Law of the number of accepted drafts when all κ are judged.

    Parameters
    ----------
    process : Process
        iid, markov with ``start = "stationary"``, or a mixture without ``request_tokens``.
    kappa : int
        Drafts judged, 0 ≤ kappa ≤ 1000.

    Returns
    -------
    array, shape (kappa + 1,)
        P(sum = n); binomial for iid, beta-binomial for beta_mixture.

    Raises
    ------
    ParameterError
        If ``kappa`` is out of range or the process has no stationary outcomes.

    References
    ----------
    The article's section 2.3, equation (4), replaces it by a normal law; docs/theory.md, claims C15 and C40.

    Examples
    --------
    >>> from simspec.model.iid import Iid
    >>> judged_sum(Iid(alpha=0.7), 4).round(4)
    array([0.0081, 0.0756, 0.2646, 0.4116, 0.2401])
    """
    return _judged(process, kappa).law(process, kappa)


def judged_variance_factor(process: Process, kappa: int) -> float:
    """Variance of the judged sum over its i.i.d. value κα(1 − α).

    Parameters
    ----------
    process : Process
        iid, markov with ``start = "stationary"``, or a mixture without ``request_tokens``.
    kappa : int
        Drafts judged, 1 ≤ kappa ≤ 1000.

    Returns
    -------
    float
        1 + 2 Σ_{j<κ} (1 − j/κ) ρ^j; 1 for iid, and 1 + (κ − 1)ρ for a mixture.

    Raises
    ------
    ParameterError
        If ``kappa`` is out of range or the process has no stationary outcomes.

    References
    ----------
    The article's section 5.1, equation (16), as it reads for a two-state chain; docs/theory.md, claim C39.

    Examples
    --------
    >>> from simspec.model.markov import Markov
    >>> round(judged_variance_factor(Markov(alpha=0.7, rho=0.3), 4), 4)
    1.5535
    """
    check_least("kappa", kappa, 1)
    judged = _judged(process, kappa)
    _, rho = judged.outcomes(process)
    if judged.exchangeable:
        return exchangeable_variance_factor(rho, kappa)
    lag = np.arange(1, kappa)
    return float(1.0 + 2.0 * np.sum((1.0 - lag / kappa) * np.power(rho, lag)))


def exchangeable_variance_factor(rho: float, kappa: int) -> float:
    """The same factor when every pair of outcomes has correlation ρ, as in a mixture of i.i.d. windows.

    Parameters
    ----------
    rho : float
        Correlation of any two outcomes of a window, −1 ≤ rho ≤ 1.
    kappa : int
        Drafts judged, ≥ 1.

    Returns
    -------
    float
        1 + (κ − 1)ρ.

    Raises
    ------
    ParameterError
        If ``rho`` or ``kappa`` is out of range, or the factor would be negative: no such outcomes exist.

    References
    ----------
    docs/theory.md section 12, equation (16) reading (iii), claim C39.

    Examples
    --------
    >>> round(exchangeable_variance_factor(0.3, 4), 4)
    1.9
    """
    check_least("kappa", kappa, 1)
    check_range("rho", rho, -1.0 if kappa == 1 else -1.0 / (kappa - 1), 1.0)
    return 1.0 + (kappa - 1) * rho


def complete_rejection(process: Process, kappa: int) -> float:
    """Chance that all κ judged drafts are rejected.

    Parameters
    ----------
    process : Process
        iid, markov with ``start = "stationary"``, or a mixture without ``request_tokens``.
    kappa : int
        Drafts judged, 0 ≤ kappa ≤ 1000.

    Returns
    -------
    float
        (1 − α)(1 − α(1 − ρ))^(κ−1), which is (1 − α)^κ for iid; E[(1 − rate)^κ] for a mixture; 1 at kappa = 0.
        In decoding the event "no draft accepted" has probability 1 − α at every κ ≥ 1: later drafts are never judged.

    Raises
    ------
    ParameterError
        If ``kappa`` is out of range or the process has no stationary outcomes.

    References
    ----------
    The article's section 4.2; docs/theory.md, claims C35 and C40.

    Examples
    --------
    >>> from simspec.model.iid import Iid
    >>> round(complete_rejection(Iid(alpha=0.7), 4), 6)
    0.0081
    """
    return float(judged_sum(process, kappa)[0])


def complete_rejection_threshold(level: float, kappa: int) -> float:
    """Acceptance rate below which complete rejection of κ judged i.i.d. drafts is likelier than ``level``.

    Parameters
    ----------
    level : float
        Probability, 0 ≤ level ≤ 1.
    kappa : int
        Drafts judged, ≥ 1.

    Returns
    -------
    float
        1 − level^(1/κ).

    Raises
    ------
    ParameterError
        If ``level`` or ``kappa`` is out of range.

    References
    ----------
    docs/theory.md, claim C36: .6838, not .74, at κ = 4 and 1%.

    Examples
    --------
    >>> round(complete_rejection_threshold(0.01, 4), 6)
    0.683772
    """
    check_range("level", level, 0, 1)
    check_least("kappa", kappa, 1)
    return float(1.0 - level ** (1.0 / kappa))


def _judged(process: Process, kappa: int) -> _Judged:
    check_kappa(process, kappa)
    key = (process.type, process.unit)
    if key not in _JUDGED:
        raise ParameterError(
            "process",
            f'{process} has no stationary outcomes to judge; allowed: iid, markov with start = "stationary", or a '
            "mixture without request_tokens",
        )
    return _JUDGED[key]
