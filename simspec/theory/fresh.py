"""What happens in a window that knows nothing of the windows before it?  Its survival curve S_j = P(A ≥ j) says all."""

from __future__ import annotations

import numpy as np

from simspec.model.iid import Iid
from simspec.model.markov import Markov
from simspec.model.position import Position
from simspec.model.survival import Survival
from simspec.theory.law import FloatArray, Sweep, WindowLaw, law_of_window


def iid_curve(process: Iid, kappa: int) -> FloatArray:
    """S_j = α^j, j = 1 … kappa (Leviathan et al. 2023, section 3.1).

    Examples
    --------
    >>> iid_curve(Iid(alpha=0.5), 3)
    array([0.5  , 0.25 , 0.125])
    """
    return np.asarray(np.power(process.alpha, np.arange(1.0, kappa + 1)), dtype=np.float64)


def measured_curve(process: Survival, kappa: int) -> FloatArray:
    """The first kappa values of a measured curve.

    Examples
    --------
    >>> measured_curve(Survival(survival=[0.76, 0.62, 0.51]), 2)
    array([0.76, 0.62])
    """
    return np.array(process.survival[:kappa], dtype=np.float64)


def position_curve(process: Position, kappa: int) -> FloatArray:
    """S_j = α_1 ⋯ α_j, with the conditional rates by draft position (docs/theory.md section 9).

    Examples
    --------
    >>> position_curve(Position(alphas=[0.5, 1.0, 0.5]), 3)
    array([0.5 , 0.5 , 0.25])
    """
    return np.asarray(np.cumprod(process.alphas[:kappa]), dtype=np.float64)


def stationary_markov_curve(process: Markov, kappa: int) -> FloatArray:
    """S_j = α·a^(j−1) with a = α + ρ(1 − α), the chance of one more acceptance after an acceptance (claim C40 (i)).

    Examples
    --------
    >>> stationary_markov_curve(Markov(alpha=0.5, rho=0.5), 3)
    array([0.5    , 0.375  , 0.28125])
    """
    again = stay_accepted(process)
    return np.asarray(process.alpha * np.power(again, np.arange(0.0, kappa)), dtype=np.float64)


def stay_accepted(process: Markov) -> float:
    """a = α + ρ(1 − α): the chance that an acceptance is followed by another.

    Examples
    --------
    >>> stay_accepted(Markov(alpha=0.5, rho=-1.0))
    0.0
    """
    # the admissible rho is known to 1e-12 only, so a may come out a hair below 0
    return min(max(process.alpha + process.rho * (1.0 - process.alpha), 0.0), 1.0)


def fresh_window(curve: FloatArray) -> WindowLaw:
    """Law of one fresh window from its survival curve S_1 … S_κ.

    Examples
    --------
    >>> fresh_window(np.array([0.5, 0.25])).pmf_accepted
    array([0.5 , 0.25, 0.25])
    """
    reach = np.concatenate(([1.0], curve))  # draft j is examined when the j − 1 before it were accepted
    return law_of_window(-np.diff(reach, append=0.0), mean_examined=float(reach[:-1].sum()))


def fresh_sweep(curve: FloatArray) -> Sweep:
    """Means at every κ at once: windows are fresh, so a shorter draft is the same curve cut short.

    Examples
    --------
    >>> fresh_sweep(np.array([0.5, 0.25])).mean_tokens
    array([1.  , 1.5 , 1.75])
    """
    reach = np.concatenate(([1.0], curve))
    return Sweep(mean_tokens=np.cumsum(reach), mean_drafted=np.arange(float(reach.size)), p_full=reach)


def multinomial(pmf: FloatArray, rounds: int) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of the counts of ``rounds`` independent windows.

    Examples
    --------
    >>> multinomial(np.array([0.5, 0.5]), 4)[1]
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    return rounds * pmf, rounds * (np.diag(pmf) - np.outer(pmf, pmf))
