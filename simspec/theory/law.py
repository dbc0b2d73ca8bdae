"""What is known of a round: its law at one κ, its means at every κ, and what it costs?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simspec.model.cost import Cost

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WindowLaw:
    """Long-run law of the windows (rounds) of one process at one draft length.

    A counts the drafts accepted before the first rejection.  For a generation of fixed length every mean is an
    expected total over the expected number of rounds.

    Attributes
    ----------
    kappa : int
        Draft length asked for.
    pmf_accepted : array, shape (kappa + 1,)
        P(A = j), j = 0 … kappa.
    mean_accepted, var_accepted : float
        Mean and variance of A in one window.  Surplus tokens at the end of a generation are still counted.
    mean_tokens : float
        Tokens emitted per round: E[A] + 1, or N over the expected number of rounds of a generation.
    p_zero_accepted : float
        P(A = 0); 1 at kappa = 0.
    p_full : float
        Share of rounds without a rejection; 1 at kappa = 0.
    mean_examined : float
        Drafts that got a verdict, per round; 0 at kappa = 0.
    mean_drafted : float
        Drafts made per round; kappa unless the end of a generation cuts them.
    p_cut : array, shape (kappa,), or None
        Share of rounds that make only d < kappa drafts, by d; None where the end cuts nothing.

    References
    ----------
    docs/theory.md sections 1 and 3.
    """

    kappa: int
    pmf_accepted: FloatArray
    mean_accepted: float
    var_accepted: float
    mean_tokens: float
    p_zero_accepted: float
    p_full: float
    mean_examined: float
    mean_drafted: float
    p_cut: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Sweep:
    """Means per round at every draft length κ = 0 … kappa_max: all that a price needs, so costs come later.

    Attributes
    ----------
    mean_tokens, mean_drafted, p_full : array, shape (kappa_max + 1,)
        As in `WindowLaw`, by κ.
    """

    mean_tokens: FloatArray
    mean_drafted: FloatArray
    p_full: FloatArray

    def speedup(self, cost: Cost) -> FloatArray:
        """E[tokens]/E[cost] by κ, in tokens per plain target step; cost tables only where the end cuts no draft.

        Examples
        --------
        >>> Sweep(np.array([1.0, 1.5]), np.array([0.0, 1.0]), np.array([1.0, 0.5])).speedup(Cost(c_d=0.25))
        array([1. , 1.2])
        """
        rejecting = 1.0 - self.p_full
        if cost.longest_draft is not None:
            base = np.array([cost.base(kappa) for kappa in range(self.mean_tokens.size)])
            return self.mean_tokens / (base + cost.c_r * rejecting)
        return self.mean_tokens / (cost.c0 + self.mean_drafted * (cost.c_d + cost.c_v) + cost.c_r * rejecting)


def law_of_window(pmf: FloatArray, mean_examined: float) -> WindowLaw:
    """Law of a window that drafts all κ and keeps all it emits, from P(A = j).

    Examples
    --------
    >>> law_of_window(np.array([0.25, 0.75]), mean_examined=1.0).mean_tokens
    1.75
    """
    kappa = pmf.size - 1
    mean, var = moments(pmf)
    return WindowLaw(
        kappa=kappa,
        pmf_accepted=pmf,
        mean_accepted=mean,
        var_accepted=var,
        mean_tokens=mean + 1.0,
        p_zero_accepted=float(pmf[0]),
        p_full=float(pmf[-1]),
        mean_examined=mean_examined,
        mean_drafted=float(kappa),
    )


def moments(pmf: FloatArray) -> tuple[float, float]:
    """Mean and variance of a law on 0, 1, … .

    Examples
    --------
    >>> moments(np.array([0.25, 0.75]))
    (0.75, 0.1875)
    """
    value = np.arange(pmf.size)
    mean = float(pmf @ value)
    return mean, float(pmf @ (value - mean) ** 2)  # central: no difference of large numbers


def mean_round_cost(law: WindowLaw, cost: Cost) -> float:
    """Expected cost of one round, c0 + E[drafted](c_d + c_v) + c_r·P(a draft is rejected), in plain target steps.

    Parameters
    ----------
    law : WindowLaw
        The rounds, from `simspec.theory.window`.
    cost : Cost
        The prices.

    Returns
    -------
    float
        E[cost]; c0 at kappa = 0.

    References
    ----------
    docs/theory.md section 3; equation (10) of the article, section 3.2, is its i.i.d. case.

    Examples
    --------
    >>> from simspec.model.iid import Iid
    >>> from simspec.theory import window
    >>> round(mean_round_cost(window(Iid(alpha=0.7), 4), Cost(c_d=0.1, c_r=1.0)), 4)
    2.1599
    """
    rollback = cost.c_r * (1.0 - law.p_full)
    if cost.longest_draft is None:
        return cost.c0 + law.mean_drafted * (cost.c_d + cost.c_v) + rollback
    full = cost.base(law.kappa)
    saved = 0.0 if law.p_cut is None else sum(p * (full - cost.base(d)) for d, p in enumerate(law.p_cut))
    return float(full - saved + rollback)
