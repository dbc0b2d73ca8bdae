"""What does a rolling estimate believe on average when a round has ended?  Three readings of what it averages."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simspec.model.errors import ParameterError
from simspec.theory.ranges import check_inside, check_range

READINGS = ("examined", "drafted", "round")


def settled_estimate(pmf_accepted: npt.ArrayLike, smoothing: float = 0.85, of: str = "examined") -> float:
    """Long-run mean of an exponential average at the ends of rounds, which is when κ is chosen, at a fixed κ.

    Parameters
    ----------
    pmf_accepted : array, shape (κ + 1,)
        P(A = 0 … κ) of rounds that are independent of each other, κ ≥ 1.
    smoothing : float
        λ, the weight of the old estimate, 0 < smoothing < 1.
    of : str
        ``"examined"``: every draft that was judged, one after another.  ``"drafted"``: A/κ, one number a round.
        ``"round"``: every draft, those behind a rejection as if rejected.

    Returns
    -------
    float
        Where e = E[a] + E[b]·e, a round with A accepted making a + b·e of an estimate e.  For ``"drafted"`` it is
        E[A]/κ for every λ, for ``"round"`` near it, for ``"examined"`` α only as λ nears 1: a round has mostly just
        ended with a rejection.

    Raises
    ------
    ParameterError
        If the law is none, or an argument is out of range.

    References
    ----------
    The article's equation (17), section 5.2, does not say what is averaged; docs/rules.md.

    Examples
    --------
    >>> from simspec import theory
    >>> from simspec.model import Iid
    >>> law = theory.window(Iid(alpha=0.7), 4).pmf_accepted
    >>> [round(settled_estimate(law, 0.85, of), 3) for of in ("examined", "drafted", "round")]
    [0.648, 0.443, 0.413]
    >>> [round(settled_estimate(law, 0.999, of), 3) for of in ("examined", "drafted", "round")]
    [0.7, 0.443, 0.443]
    """
    law = np.asarray(pmf_accepted, dtype=np.float64)
    if law.ndim != 1 or law.size < 2:
        raise ParameterError("pmf_accepted", "pmf_accepted has no draft; allowed: P(A = 0 … κ), κ ≥ 1")
    check_range("pmf_accepted", float(law.min()) + 0.0, 0, 1)
    if abs(law.sum() - 1.0) > 1e-9:
        raise ParameterError("pmf_accepted", f"pmf_accepted adds up to {law.sum():.6g}; allowed: 1")
    check_inside("smoothing", smoothing, 0, 1)
    if of not in READINGS:
        raise ParameterError("of", f"of = {of!r} is unknown; allowed: {', '.join(READINGS)}")
    kappa, accepted = law.size - 1, np.arange(law.size)
    risen = 1.0 - smoothing**accepted  # what A acceptances make of an estimate of 0
    if of == "drafted":
        return float(law @ accepted) / kappa
    judged_badly = np.where(accepted < kappa, 1, 0) if of == "examined" else kappa - accepted
    falls = smoothing**judged_badly
    return float(law @ (falls * risen)) / (1.0 - float(law @ (falls * smoothing**accepted)))
