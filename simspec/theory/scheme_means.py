"""What is known exactly of the rounds of a scheme in the long run?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from simspec.model.cost import Cost
from simspec.theory.law import FloatArray, moments


@dataclass(frozen=True, eq=False)
class SchemeLaw:
    """Long-run means of the rounds of a scheme.

    Attributes
    ----------
    mean_tokens, mean_accepted, mean_drafted : float
        Per round.
    p_rejected : float
        Share of rounds that pay the rollback price.
    price : callable
        Mean cost of a round under a `Cost`, in plain target steps.
    pmf_accepted : array, optional
        P(A = 0), P(A = 1), …, where a round emits A + 1 tokens and does not depend on the one before.
    loss : float, optional
        What a lossy scheme loses, by its own measure (`simspec.model.schemes.Scheme.loses`).
    """

    mean_tokens: float
    mean_accepted: float
    mean_drafted: float
    p_rejected: float
    price: Callable[[Cost], float]
    pmf_accepted: FloatArray | None = None
    loss: float | None = None

    def speedup(self, cost: Cost) -> float:
        """E[tokens]/E[cost], against one plain target step."""
        return self.mean_tokens / self.price(cost)


def by_length(pmf: FloatArray, drafted: float, p_rejected: float, unrejected: Callable[[Cost], float]) -> SchemeLaw:
    """The law of rounds that emit A + 1 tokens, from P(A = j) and what a round costs before c_r.

    Examples
    --------
    >>> import numpy as np
    >>> law = by_length(np.array([0.25, 0.75]), 1.0, 0.25, lambda cost: cost.base(1))
    >>> law.mean_tokens, law.price(Cost(c_d=0.1, c_r=0.2))
    (1.75, 1.1500000000000001)
    """
    mean = moments(pmf)[0]
    return SchemeLaw(mean + 1.0, mean, drafted, p_rejected, with_rollback(unrejected, p_rejected), pmf)


def with_rollback(unrejected: Callable[[Cost], float], p_rejected: float) -> Callable[[Cost], float]:
    """A price, and c_r for the share of rounds that pay it."""
    return lambda cost: unrejected(cost) + cost.c_r * p_rejected


def mean_price(widths: dict[int, float], p_rejected: float, cost: Cost) -> float:
    """Mean cost of rounds without draft steps, from the law of the tokens by which their pass is wider.

    Examples
    --------
    >>> round(mean_price({0: 0.5, 4: 0.5}, 0.1, Cost(c_v=0.01, c_r=0.2)), 6)
    1.04
    """
    return sum(share * cost.target_pass(width) for width, share in widths.items()) + cost.c_r * p_rejected
