"""How likely is a window, or one of many windows, in which nothing is accepted?"""

from __future__ import annotations

import math
from dataclasses import dataclass

from simspec.theory.article.threshold import (
    all_rejected,
    hoeffding_bound,
    relative_fluctuation_a,
    relative_fluctuation_b,
)
from simspec.theory.judged import complete_rejection_threshold
from simspec.theory.ranges import check_least, check_range


def at_least_once(probability: float, trials: int) -> float:
    """Chance that an event happens in at least one of independent trials.

    Parameters
    ----------
    probability : float
        Of the event in one trial, in [0, 1].
    trials : int
        Number of trials, ≥ 0.

    Returns
    -------
    float
        1 − (1 − probability)^trials, with all digits also where it is tiny.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    Examples
    --------
    >>> round(at_least_once(0.0081, 100), 6), at_least_once(1e-20, 10)
    (0.556607, 1e-19)
    """
    check_range("probability", probability, 0, 1)
    check_least("trials", trials, 0)
    if probability == 1.0:
        return float(trials > 0)
    return -math.expm1(trials * math.log1p(-probability))


@dataclass(frozen=True)
class TailRisks:
    """Both readings of "the window is completely rejected", for i.i.d. drafts.

    Attributes
    ----------
    zero_accepted : float
        P(A = 0) of a decoded window: 1 − α, whatever κ.
    all_rejected : float
        (1 − α)^κ, had all κ drafts been judged.
    hoeffding_bound : float
        exp(−2κα²), what Hoeffding's inequality says of the latter.
    some_zero, some_all_rejected : float
        Chance that the first, or the second, happens in at least one of the windows.
    sum_mean, sum_var : float
        Mean κα and variance κα(1 − α) of the number accepted of κ judged drafts.
    relative_sd : float
        Its standard deviation over its mean, √((1 − α)/(κα)); NaN at α = 0.
    sd_of_share : float
        Standard deviation of the share accepted, √(α(1 − α)/κ).
    threshold_1pct : float
        The α below which all_rejected exceeds 1%.
    """

    zero_accepted: float
    all_rejected: float
    hoeffding_bound: float
    some_zero: float
    some_all_rejected: float
    sum_mean: float
    sum_var: float
    relative_sd: float
    sd_of_share: float
    threshold_1pct: float


def tail_risks(alpha: float, kappa: int, windows: int) -> TailRisks:
    """Tail probabilities of i.i.d. windows, in decoding and in the article's reading.

    Parameters
    ----------
    alpha : float
        Acceptance rate of one examined draft, 0 ≤ alpha ≤ 1.
    kappa : int
        Draft length, ≥ 1.
    windows : int
        Number of windows, ≥ 1.

    Returns
    -------
    TailRisks

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    The article's sections 2.3 and 4.2, equations (4) and (15); Hoeffding (1963), Theorem 1.

    Examples
    --------
    >>> risks = tail_risks(0.7, 4, 100)
    >>> round(risks.zero_accepted, 6), round(risks.all_rejected, 6), round(risks.threshold_1pct, 6)
    (0.3, 0.0081, 0.683772)
    """
    check_range("alpha", alpha, 0, 1)
    check_least("kappa", kappa, 1)
    check_least("windows", windows, 1)
    judged = all_rejected(alpha, kappa)
    return TailRisks(
        zero_accepted=1.0 - alpha,
        all_rejected=judged,
        hoeffding_bound=hoeffding_bound(alpha, kappa),
        some_zero=at_least_once(1.0 - alpha, windows),
        some_all_rejected=at_least_once(judged, windows),
        sum_mean=kappa * alpha,
        sum_var=kappa * alpha * (1.0 - alpha),
        relative_sd=relative_fluctuation_b(alpha, kappa) if alpha > 0 else math.nan,
        sd_of_share=relative_fluctuation_a(alpha, kappa),
        threshold_1pct=complete_rejection_threshold(0.01, kappa),
    )
