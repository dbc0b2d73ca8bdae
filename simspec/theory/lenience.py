"""What is gained, and what is lost, if a draft need only be nearly as likely under the target?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simspec.theory.law import FloatArray
from simspec.theory.ranges import check_share
from simspec.theory.token_laws import Law, as_pair, scaled


@dataclass(frozen=True, eq=False)
class LenientAcceptance:
    """One draft token under lenience, in one context.

    Attributes
    ----------
    acceptance : float
        Probability that the draft is kept, Σ min(q, p/l).
    lossless_alpha : float
        The same at l = 1, Σ min(p, q).
    output_law : array, shape (V,)
        Law of the token that comes out; never above p/l.
    tv_output_target : float
        Total variation between it and the target.
    """

    acceptance: float
    lossless_alpha: float
    output_law: FloatArray
    tv_output_target: float


def lenient_acceptance(target: Law, draft: Law, lenience: float) -> LenientAcceptance:
    """Keep a drafted token with probability min(1, p/(l·q)); otherwise draw from (p − l·q)⁺.

    Parameters
    ----------
    target, draft : sequence of float, shape (V,)
        p and q, probabilities by token.
    lenience : float
        l, 0 < l ≤ 1; 1 is speculative sampling.

    Returns
    -------
    LenientAcceptance

    Raises
    ------
    ParameterError
        If an argument is out of range or no law.

    References
    ----------
    Leviathan, Kalman, Matias (2023), appendix A.5 (lenience) and Table 5.

    Examples
    --------
    >>> found = lenient_acceptance([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], 0.5)
    >>> round(found.acceptance, 6), found.output_law.round(6), round(found.tv_output_target, 6)
    (0.9, array([0.272727, 0.327273, 0.4     ]), 0.227273)
    """
    p, q = as_pair(target, draft)
    check_share("lenience", lenience)
    kept = np.minimum(q, p / lenience)
    acceptance = min(float(kept.sum()), 1.0)
    rest = scaled(np.maximum(p - lenience * q, 0.0))
    output = kept if rest is None else kept + (1.0 - acceptance) * rest
    return LenientAcceptance(
        acceptance, min(float(np.minimum(p, q).sum()), 1.0), output, 0.5 * float(np.abs(output - p).sum())
    )
