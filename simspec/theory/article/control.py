"""What does the article do with a running estimate (section 5.2, equation 17, and guide 2 of section 7)?"""

from __future__ import annotations

from simspec.model.errors import ParameterError
from simspec.theory.article.threshold import relative_fluctuation_b
from simspec.theory.ranges import check_positive, check_range, check_share, check_whole

SMOOTHING = 0.85
"""λ of section 5.2."""
GUARD = 0.25
"""Relative fluctuation at which guide 2 of section 7 lowers κ."""


def ewma_step(estimate: float, outcome: float, smoothing: float = SMOOTHING) -> float:
    """Rolling estimate of the acceptance rate after one more outcome: section 5.2, equation (17).

    Correct as a recursion; at λ = .85 its standard deviation is .13 at α = .7, so it falls below .6 in 22% of all
    steps of a constant rate.

    Parameters
    ----------
    estimate, outcome : float
        The estimate so far, and A_i = 1 for an accepted draft, 0 for a rejected one; both in [0, 1].
    smoothing : float
        λ, 0 ≤ smoothing ≤ 1.

    Returns
    -------
    float
        λ·estimate + (1 − λ)·outcome.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    See Also
    --------
    simspec.theory.ewma_deviation : how noisy it is; `ewma_effective_sample`, `ewma_half_life`, `ewma_drift_bias`.
    simspec.theory.ewma_moments : mean and variance after given rates.
    simspec.theory.ewma_below : how often it lies below a level.

    References
    ----------
    Claim C44.  The equation is lost; the text fixes a rolling estimate with λ ≈ .85.

    Examples
    --------
    >>> round(ewma_step(0.7, 0), 4), round(ewma_step(0.7, 1), 4)
    (0.595, 0.745)
    """
    check_range("estimate", estimate, 0, 1)
    check_range("outcome", outcome, 0, 1)
    check_range("smoothing", smoothing, 0, 1)
    return smoothing * estimate + (1.0 - smoothing) * outcome


def guard_fires(alpha: float, kappa: float, limit: float = GUARD) -> bool:
    """Whether the article lowers κ because σ/α is too large: section 7, guide 2, with σ of equation (15).

    Correct: nothing is gained; σ/α grows as κ falls, so a guard that has fired fires again at every shorter draft.

    Parameters
    ----------
    alpha, kappa : float
        Acceptance rate, 0 < alpha ≤ 1, draft length > 0.
    limit : float
        Largest σ/α that passes, > 0; the article's is .25.

    Returns
    -------
    bool
        √((1 − α)/(κα)) > limit.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    See Also
    --------
    simspec.theory.accepted_variance : Var A of the drafts that are judged in decoding.
    simspec.theory.optimum : the best κ, which needs no guard.

    References
    ----------
    Claim C51.

    Examples
    --------
    >>> [guard_fires(0.74, kappa) for kappa in (4, 5, 6)]
    [True, True, False]
    """
    check_positive("limit", limit)
    return relative_fluctuation_b(alpha, kappa) > limit


def guard_edge(alpha: float, limit: float = GUARD) -> float:
    """Draft length at which σ/α meets the limit: the guard of section 7, guide 2, fires at every shorter one.

    Parameters
    ----------
    alpha : float
        Acceptance rate, 0 < alpha ≤ 1.
    limit : float
        As in `guard_fires`, > 0.

    Returns
    -------
    float
        (1 − α)/(α·limit²); 16(1 − α)/α at .25.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Claim C51.

    Examples
    --------
    >>> [round(guard_edge(alpha), 3) for alpha in (0.7, 0.74, 0.8)]
    [6.857, 5.622, 4.0]
    """
    check_share("alpha", alpha)
    check_positive("limit", limit)
    return (1.0 - alpha) / (alpha * limit**2)


def guard_largest_kappa(alpha: float, limit: float = GUARD) -> int:
    """Largest draft length at which the guard of section 7, guide 2, fires.

    Parameters
    ----------
    alpha : float
        Acceptance rate, 0 < alpha ≤ 1.
    limit : float
        As in `guard_fires`, > 0.

    Returns
    -------
    int
        Largest whole κ below (1 − α)/(α·limit²); 0 where it never fires.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Claim C51.

    Examples
    --------
    >>> [guard_largest_kappa(alpha) for alpha in (0.7, 0.74, 0.9, 1.0)]
    [6, 5, 1, 0]
    """
    edge = guard_edge(alpha, limit)
    if edge > 2.0**52:
        raise ParameterError("limit", f"limit = {limit:g} lets the guard fire at every κ; allowed: a larger limit")
    nearest = max(1, round(edge))
    while nearest > 0 and not guard_fires(alpha, nearest, limit):
        nearest -= 1
    return nearest


def guard_settles_at(alpha: float, kappa: int, shortest: int = 1, limit: float = GUARD) -> int:
    """Where the guard of section 7, guide 2, ends if κ is lowered by one as long as it fires.

    Parameters
    ----------
    alpha : float
        Acceptance rate, 0 < alpha ≤ 1.
    kappa : int
        Draft length to begin with, ≥ shortest.
    shortest : int
        Draft length that is never undercut, ≥ 1.
    limit : float
        As in `guard_fires`, > 0.

    Returns
    -------
    int
        ``kappa`` if the guard does not fire there, else ``shortest``: σ/α only grows on the way down.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Claim C51: positive feedback.

    Examples
    --------
    >>> guard_settles_at(0.7, 4), guard_settles_at(0.7, 7)
    (1, 7)
    """
    check_whole("shortest", shortest, 1)
    check_whole("kappa", kappa, shortest)
    while kappa > shortest and guard_fires(alpha, kappa, limit):
        kappa -= 1
    return kappa
