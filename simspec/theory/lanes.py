"""What happens when a hidden state of finitely many values runs on from draft to draft and from window to window?

A `DraftChain` says what one draft does to the state; windows of any length follow.  With B = ``accept``, R = ``reject``
and L = ``last``, a window that starts in a state drawn from the row vector π accepts exactly j < κ drafts and hands
over to the next window with mass π Bʲ R, and is full with mass π B^(κ−1) L.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simspec.model.errors import ParameterError
from simspec.theory.fresh import multinomial
from simspec.theory.law import FloatArray, Sweep, WindowLaw, law_of_window


@dataclass(frozen=True, eq=False)
class DraftChain:
    """What one draft, made in state s, does: three non-negative matrices, row = state now.

    Attributes
    ----------
    accept : array, shape (states, states)
        Mass of "accepted, and the next draft of the window is made in state s'".
    reject : array, shape (states, states)
        Mass of "rejected, and the next window starts in state s'".  Rows of accept + reject add up to 1.
    last : array, shape (states, states)
        Mass of "accepted as the last draft of a full window, and the next window starts in state s'"; the row sums are
        those of ``accept``.

    References
    ----------
    docs/theory.md section 6.
    """

    accept: FloatArray
    reject: FloatArray
    last: FloatArray


def chain_window(chain: DraftChain, kappa: int) -> WindowLaw:
    """Long-run law of one window; `ParameterError` where it depends on the first state for ever.

    Examples
    --------
    >>> half = np.full((2, 2), 0.25)
    >>> chain_window(DraftChain(half, half, half), 2).pmf_accepted
    array([0.5 , 0.25, 0.25])
    """
    if kappa == 0:
        return law_of_window(np.ones(1), mean_examined=0.0)
    starts = _starts(chain, window_start_law(chain, kappa), kappa)
    # draft j is examined when the j − 1 before it were accepted
    return law_of_window(_pmf(chain, starts), mean_examined=float(starts.sum()))


def chain_sweep(chain: DraftChain, kappa_max: int) -> Sweep:
    """Means per round at every κ; NaN where windows have no long-run law.

    Examples
    --------
    >>> half = np.full((2, 2), 0.25)
    >>> chain_sweep(DraftChain(half, half, half), 2).mean_tokens
    array([1.  , 1.5 , 1.75])
    """
    tokens, full = np.ones(kappa_max + 1), np.ones(kappa_max + 1)
    survival = np.ones(len(chain.accept))  # by first state
    tokens_by_start = survival
    step = chain.last
    for kappa in range(1, kappa_max + 1):
        step = chain.reject + (chain.accept @ step if kappa > 1 else step)
        survival = chain.accept @ survival
        tokens_by_start = tokens_by_start + survival
        law = long_run_law(step)
        tokens[kappa] = law @ tokens_by_start if law is not None else np.nan
        full[kappa] = law @ survival if law is not None else np.nan
    return Sweep(mean_tokens=tokens, mean_drafted=np.arange(kappa_max + 1.0), p_full=full)


def chain_counts(chain: DraftChain, kappa: int, rounds: int) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of the counts of A in one lane of ``rounds`` windows started in the long-run law.

    With T the chain of window starts and W = T − 1π, Cov(1[A_t = i], 1[A_{t+d} = j]) = u_i Wᵈ⁻¹ v_j, where u_i is the
    start of the next window after A = i, in excess of p_i π, and v_j the chance of A = j by start, in excess of p_j.

    Examples
    --------
    >>> half = np.full((2, 2), 0.25)
    >>> chain_counts(DraftChain(half, half, half), 1, 4)[1]
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    if kappa == 0:
        return multinomial(np.ones(1), rounds)
    law = window_start_law(chain, kappa)
    starts = _starts(chain, law, kappa)
    pmf = _pmf(chain, starts)
    after = np.vstack([starts @ chain.reject, starts[-1:] @ chain.last]) - np.outer(pmf, law)
    reply = _pmf_by_start(chain, kappa) - pmf
    between = lagged_sum(_step(chain, kappa) - law, rounds)
    mean, covariance = multinomial(pmf, rounds)
    cross = after @ between @ reply
    return mean, covariance + cross + cross.T


def window_start_law(chain: DraftChain, kappa: int) -> FloatArray:
    """Long-run law of the state in which windows of ``kappa`` ≥ 1 drafts start; `ParameterError` if there are several.

    Examples
    --------
    >>> half = np.full((2, 2), 0.25)
    >>> window_start_law(DraftChain(half, half, half), 2)
    array([0.5, 0.5])
    """
    law = long_run_law(_step(chain, kappa))
    if law is None:
        raise ParameterError(
            "kappa",
            f"kappa = {kappa} splits the states in which windows start into sets that are never left, so no long-run "
            "law exists; allowed: a kappa (or steps between windows) that mixes them",
        )
    return law


def long_run_law(step: FloatArray) -> FloatArray | None:
    """Law π = π·step of a chain with one closed class, 0 outside it; None if there are more.

    States are removed one by one (Grassmann, Taksar, Heyman 1985): nothing is subtracted, so nothing cancels.

    Examples
    --------
    >>> long_run_law(np.array([[0.0, 1.0], [0.5, 0.5]]))
    array([0.33333333, 0.66666667])
    >>> long_run_law(np.eye(2)) is None
    True
    """
    closed = _closed_class(step)
    if not closed.any():
        return None
    rest = step[np.ix_(closed, closed)]
    inside = np.ones(len(rest))
    for k in range(len(rest) - 1, 0, -1):
        rest[:k, k] /= rest[k, :k].sum()
        rest[:k, :k] += np.outer(rest[:k, k], rest[k, :k])
    for k in range(1, len(rest)):
        inside[k] = inside[:k] @ rest[:k, k]
    law = np.zeros(len(step))
    law[closed] = inside / inside.sum()
    return law


def lagged_sum(decay: FloatArray, rounds: int) -> FloatArray:
    """Σ_{d=1}^{T−1} (T − d) Wᵈ⁻¹ at T = rounds, by doubling T: no inverse of 1 − W, and log T steps.

    ``decay`` is W, or a stack of them.

    Examples
    --------
    >>> lagged_sum(np.array([[0.5]]), 3)  # 2 + 1·0.5
    array([[2.5]])
    """
    one = np.eye(decay.shape[-1])
    total, geometric, power, size = np.zeros_like(decay), np.zeros_like(decay), one, 0
    for bit in f"{rounds:b}":  # total as above, geometric = Σ_{d<size} Wᵈ, power = W^size
        total = total + power @ total + size * geometric
        geometric = geometric + power @ geometric
        power, size = power @ power, 2 * size
        if bit == "1":
            total = total + geometric
            geometric = geometric @ decay + one
            power, size = power @ decay, size + 1
    return total


def _closed_class(step: FloatArray) -> npt.NDArray[np.bool_]:
    """Which states can be reached from everywhere: the closed class if there is one, no state if there are more."""
    reach = (step > 0.0) | np.eye(len(step), dtype=bool)
    while not reach.all():
        further = (reach.astype(np.float32) @ reach.astype(np.float32)) > 0.0
        if np.array_equal(further, reach):
            break
        reach = further
    return np.asarray(reach.all(axis=0))


def _step(chain: DraftChain, kappa: int) -> FloatArray:
    """Window start → next window start, κ ≥ 1: T_κ = R + B T_{κ−1}, T_1 = R + L."""
    step = chain.reject + chain.last
    for _ in range(kappa - 1):
        step = chain.reject + chain.accept @ step
    return step


def _starts(chain: DraftChain, law: FloatArray, kappa: int) -> FloatArray:
    """π Bʲ, j = 0 … κ − 1: mass of "the first j drafts were accepted" by the state of the draft after them."""
    rows = np.empty((kappa, law.size))
    rows[0] = law
    for j in range(1, kappa):
        rows[j] = rows[j - 1] @ chain.accept
    return rows


def _pmf(chain: DraftChain, starts: FloatArray) -> FloatArray:
    return np.append(starts @ chain.reject.sum(axis=1), starts[-1] @ chain.last.sum(axis=1))


def _pmf_by_start(chain: DraftChain, kappa: int) -> FloatArray:
    """P(A = j | state of the first draft), shape (states, κ + 1)."""
    columns = np.empty((len(chain.accept), kappa + 1))
    rejected, full = chain.reject.sum(axis=1), chain.last.sum(axis=1)
    for j in range(kappa):
        columns[:, j] = rejected
        rejected = chain.accept @ rejected
        full = chain.accept @ full if j else full
    columns[:, kappa] = full
    return columns
