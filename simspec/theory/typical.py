"""What does typical acceptance keep, and what does it do to the output law?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from simspec.model.errors import ParameterError
from simspec.theory.divergence import overlap
from simspec.theory.law import FloatArray
from simspec.theory.ranges import check_least, check_range
from simspec.theory.token_laws import Law, as_pair


@dataclass(frozen=True, eq=False)
class TypicalAcceptance:
    """One draft token under typical acceptance, in one context.

    Attributes
    ----------
    entropy : float
        Entropy of the target law, in nats.
    threshold : float
        min(ε, δe^(−entropy)): drafts whose target probability is above it are kept.
    accepted_tokens : tuple of int
        Those tokens.
    acceptance : float
        Probability that the draft is kept.
    lossless_alpha : float
        What speculative sampling would accept, Σ min(p, q).
    output_law : array, shape (V,)
        Law of the token that comes out; not the target law.
    tv_output_target : float
        Total variation between the two.
    """

    entropy: float
    threshold: float
    accepted_tokens: tuple[int, ...]
    acceptance: float
    lossless_alpha: float
    output_law: FloatArray
    tv_output_target: float


def typical_acceptance(
    target: Law,
    draft: Law,
    epsilon: float = 0.09,
    delta: float | None = None,
    on_reject: Literal["target", "residual"] = "target",
) -> TypicalAcceptance:
    """Keep a drafted token iff the target finds it typical: p(x) > min(ε, δe^(−H(p))).

    Parameters
    ----------
    target, draft : sequence of float, shape (V,)
        p and q, probabilities by token.
    epsilon : float
        Hard threshold ε, 0 ≤ epsilon ≤ 1.
    delta : float, optional
        Entropy-dependent threshold δ ≥ 0; √ε if left out.
    on_reject : {"target", "residual"}
        What replaces a rejected draft: a token drawn from p, or from (p − q)⁺ as in speculative sampling (from p where
        that is empty).

    Returns
    -------
    TypicalAcceptance

    Raises
    ------
    ParameterError
        If an argument is out of range or no law.

    References
    ----------
    Cai et al. (2024), Medusa, section 2.3.1, with δ = √ε.  Its rule that the first token is always kept is left out.

    Examples
    --------
    >>> found = typical_acceptance([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], epsilon=0.25, delta=1.0)
    >>> found.accepted_tokens, round(found.acceptance, 6), round(found.tv_output_target, 6)
    ((0, 1), 0.5, 0.15)
    """
    p, q = as_pair(target, draft)
    check_range("epsilon", epsilon, 0, 1)
    delta = math.sqrt(epsilon) if delta is None else delta
    check_least("delta", delta, 0)
    if on_reject not in ("target", "residual"):
        raise ParameterError("on_reject", f'on_reject = {on_reject!r} is unknown; allowed: "target" or "residual"')
    some = p[p > 0.0]
    entropy = max(0.0, -float(some @ np.log(some)))
    threshold = min(epsilon, delta * math.exp(-entropy))
    kept = p > threshold * (1.0 + 1e-12)  # a tie is none but for rounding
    lossless = overlap(p, q)
    instead = p if on_reject == "target" or lossless.residual_law is None else lossless.residual_law
    output = np.where(kept, q, 0.0) + float(q[~kept].sum()) * instead
    return TypicalAcceptance(
        entropy=entropy,
        threshold=threshold,
        accepted_tokens=tuple(int(token) for token in np.flatnonzero(kept)),
        acceptance=min(float(q[kept].sum()), 1.0),
        lossless_alpha=lossless.alpha,
        output_law=output,
        tv_output_target=0.5 * float(np.abs(output - p).sum()),
    )
