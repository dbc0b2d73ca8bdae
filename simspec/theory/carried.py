"""What happens when the outcome chain runs on from one window to the next?  Windows form a chain on {R, F}.

R: the window starts after a rejection; F: after a full window.  The outcome chain takes m_r (m_f) steps from the
rejected (last accepted) draft to the next window's first draft.  Everything about a window depends on the past through
that one bit, so a 2 × 2 matrix holds the long run.
"""

from __future__ import annotations

import numpy as np

from simspec.model.errors import ParameterError
from simspec.model.markov import Markov
from simspec.model.process import Process
from simspec.theory.fresh import multinomial, stay_accepted
from simspec.theory.law import FloatArray, Sweep, WindowLaw, law_of_window
from simspec.theory.ranges import check_kappa


def window_start_full(process: Process, kappa: int) -> float:
    """Long-run probability π_F that a carried window starts after a full one.

    Parameters
    ----------
    process : Markov
        With ``start = "carry"``.
    kappa : int
        Draft length, 0 ≤ kappa ≤ 1000; at 0 no window rejects, so π_F = 1.

    Returns
    -------
    float
        s_R a^(κ−1) / (1 − s_F a^(κ−1) + s_R a^(κ−1)), which is also the long-run share of full windows.

    Raises
    ------
    ParameterError
        If the process is not carried, or no long-run law exists at this ``kappa``.

    References
    ----------
    docs/theory.md section 6 and claim C40 (ii).

    Examples
    --------
    >>> round(window_start_full(Markov(alpha=0.7, rho=0.3, start="carry"), 4), 4)
    0.2835
    """
    if not isinstance(process, Markov) or not process.carried:
        raise ParameterError(
            "process", f'{process} is no carried two-state chain; allowed: type = "markov", start = "carry"'
        )
    check_kappa(process, kappa)
    return 1.0 if kappa == 0 else float(_start_full(process, kappa)[-1])


def carried_window(process: Markov, kappa: int) -> WindowLaw:
    """Long-run law of one window of a carried chain.

    Examples
    --------
    >>> round(carried_window(Markov(alpha=0.7, rho=0.3, start="carry"), 4).mean_accepted, 4)
    1.6718
    """
    full = window_start_full(process, kappa)
    start = np.array([1.0 - full, full])
    reach = start @ _survival_by_start(process, kappa)
    # the first draft is always examined, each other one when all before it were accepted
    examined = 1.0 + float(reach[:-1].sum()) if kappa else 0.0
    return law_of_window(start @ _pmf_by_start(process, kappa), mean_examined=examined)


def carried_sweep(process: Markov, kappa_max: int) -> Sweep:
    """Means per round at every κ; NaN where the window chain falls apart (ρ = −1, κ = 1, even steps).

    Examples
    --------
    >>> carried_sweep(Markov(alpha=0.7, rho=0.3, start="carry"), 4).mean_tokens.round(4)
    array([1.    , 1.7   , 2.1495, 2.4554, 2.6718])
    """
    full = _start_full(process, kappa_max)
    accepted = np.cumsum(_survival_by_start(process, kappa_max), axis=1)
    return Sweep(
        mean_tokens=np.concatenate(([1.0], 1.0 + (1.0 - full) * accepted[0] + full * accepted[1])),
        mean_drafted=np.arange(kappa_max + 1.0),
        p_full=np.concatenate(([1.0], full)),
    )


def carried_counts(process: Markov, kappa: int, rounds: int) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of the counts of A in one lane of ``rounds`` windows started in the long-run law.

    Knowing A_t tells only whether it was full; that excess decays by λ = P(full|F) − P(full|R) per window, so
    Cov(1[A_t = i], 1[A_{t+d} = j]) = λ^(d−1) u_i v_j with u_i = p_i(1[i = κ] − π_F), v = P(·|F) − P(·|R).

    Examples
    --------
    >>> carried_counts(Markov(alpha=0.5, rho=0.5, start="carry"), 1, 2)[1]
    array([[ 0.75, -0.75],
           [-0.75,  0.75]])
    """
    if kappa == 0:
        return multinomial(np.ones(1), rounds)
    full = window_start_full(process, kappa)
    by_start = _pmf_by_start(process, kappa)
    pmf = np.array([1.0 - full, full]) @ by_start
    excess = pmf * (np.arange(kappa + 1) == kappa) - pmf * full
    reply = by_start[1] - by_start[0]
    mean, covariance = multinomial(pmf, rounds)
    cross = _lagged_sum(float(reply[-1]), rounds) * np.outer(excess, reply)
    return mean, covariance + cross + cross.T


def _first_accepted(process: Markov) -> tuple[float, float]:
    """(s_R, s_F): chance that a window's first draft is accepted, by what the window before ended with."""
    alpha, rho = process.alpha, process.rho
    after_reject = alpha * (1.0 - rho**process.steps_after_reject)
    after_full = 1.0 - (1.0 - alpha) * (1.0 - rho**process.steps_after_full)
    # as for a: admissible to 1e-12
    return min(max(after_reject, 0.0), 1.0), min(max(after_full, 0.0), 1.0)


def _survival_by_start(process: Markov, kappa: int) -> FloatArray:
    """S_1 … S_κ, row 0 after a rejection, row 1 after a full window."""
    return np.outer(_first_accepted(process), np.power(stay_accepted(process), np.arange(0.0, kappa)))


def _pmf_by_start(process: Markov, kappa: int) -> FloatArray:
    """P(A = j), row 0 after a rejection, row 1 after a full window; products only, so nothing cancels near α = 1."""
    if kappa == 0:
        return np.ones((2, 1))
    survival = _survival_by_start(process, kappa)
    first = 1.0 - np.array([_first_accepted(process)]).T
    return np.hstack([first, survival[:, :-1] * (1.0 - stay_accepted(process)), survival[:, -1:]])


def _start_full(process: Markov, kappa_max: int) -> FloatArray:
    """π_F at κ = 1 … kappa_max: flow R → F over the sum of the flows R → F and F → R."""
    survival = _survival_by_start(process, kappa_max)
    rejects = np.cumsum(_pmf_by_start(process, kappa_max)[1, :-1])
    with np.errstate(invalid="ignore"):  # 0/0: neither state is ever left, there is no long run
        return np.asarray(survival[0] / (rejects + survival[0]), dtype=np.float64)


def _lagged_sum(decay: float, rounds: int) -> float:
    """Σ_{d=1}^{T−1} (T − d) λ^(d−1) at T = rounds, by doubling T: no 1 − λ in a denominator, and log T steps."""
    total, geometric, power, size = 0.0, 0.0, 1.0, 0  # Σ as above, Σ_{d<size} λ^d, λ^size
    for bit in f"{rounds:b}":
        total += power * total + size * geometric
        geometric += power * geometric
        power, size = power * power, 2 * size
        if bit == "1":
            total += geometric
            geometric = geometric * decay + 1.0
            power, size = power * decay, size + 1
    return total
