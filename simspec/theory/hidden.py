"""Which draft chains do the hidden Markov model and real token laws make, and what ρ do token laws imply?"""

from __future__ import annotations

import functools

import numpy as np

from simspec.model.chains import Hmm, TokenChain, normalised
from simspec.theory.lanes import DraftChain, long_run_law
from simspec.theory.law import FloatArray


def hmm_curve(process: Hmm, kappa: int) -> FloatArray:
    """S_j = π D P D ⋯ P D 1 with D = diag(alphas) and π the long-run law of P.

    Parameters
    ----------
    process : Hmm
        With ``start = "stationary"``.
    kappa : int
        Draft length, ≥ 0.

    Returns
    -------
    array, shape (kappa,)
        S_1 … S_kappa.

    References
    ----------
    docs/theory.md section 6 and claim C40, "hidden Markov".

    Examples
    --------
    >>> hmm_curve(Hmm(P=[[0.5, 0.5], [0.5, 0.5]], alphas=[0.0, 1.0]), 3)
    array([0.5  , 0.25 , 0.125])
    """
    moves, alphas = np.array(normalised(process.P)), np.array(process.alphas)
    alive = _only_law(moves)
    curve = np.empty(kappa)
    for j in range(kappa):
        alive = alive * alphas
        curve[j] = alive.sum()
        alive = alive @ moves
    return curve


@functools.lru_cache(maxsize=8)
def hmm_chain(process: Hmm) -> DraftChain:
    """The state sits at a draft; it moves m_f steps from the last accepted draft, m_r from a rejected one.

    Examples
    --------
    >>> hmm_chain(Hmm(P=[[0.5, 0.5], [0.5, 0.5]], alphas=[0.0, 1.0], start="carry")).accept
    array([[0. , 0. ],
           [0.5, 0.5]])
    """
    moves, alphas = np.array(normalised(process.P)), np.array(process.alphas)[:, None]
    return DraftChain(
        accept=alphas * moves,
        reject=(1.0 - alphas) * np.linalg.matrix_power(moves, process.steps_after_reject),
        last=alphas * np.linalg.matrix_power(moves, process.steps_after_full),
    )


@functools.lru_cache(maxsize=8)
def token_draft_chain(process: TokenChain) -> DraftChain:
    """State = last emitted token: min(P, Q) accepts, (P − Q)₊ corrects, and P adds a bonus token to a full window.

    Examples
    --------
    >>> chain = token_draft_chain(TokenChain(target=[[0.75, 0.25], [0.5, 0.5]], draft=[[0.5, 0.5], [0.5, 0.5]]))
    >>> chain.accept, chain.reject
    (array([[0.5 , 0.25], [0.5 , 0.5 ]]), array([[0.25, 0.  ], [0.  , 0.  ]]))
    """
    target, draft = np.array(normalised(process.target)), np.array(normalised(process.draft))
    accept = np.minimum(target, draft)
    return DraftChain(accept=accept, reject=np.maximum(target - draft, 0.0), last=accept @ target)


def bonus_move(process: Hmm | TokenChain) -> FloatArray:
    """What the bonus token of a full window does to the state at the draft after the last one.

    After d accepted drafts, d = 0 included, the next window starts in a state of law ∝ π Bᵈ times this matrix: the
    other m_f − 1 steps of a hidden Markov model, a draw from the target of token laws.

    Examples
    --------
    >>> bonus_move(Hmm(P=[[0.5, 0.5], [0.0, 1.0]], alphas=[0.0, 1.0], start="carry", steps_after_full=3))
    array([[0.25, 0.75],
           [0.  , 1.  ]])
    """
    if isinstance(process, Hmm):
        return np.linalg.matrix_power(np.array(normalised(process.P)), process.steps_after_full - 1)
    return np.array(normalised(process.target))


def token_alpha(process: TokenChain) -> tuple[float, float]:
    """Acceptance rate of an examined draft, and the correlation of neighbouring ones: ρ is made by the token laws.

    Parameters
    ----------
    process : TokenChain
        The target and draft laws by context.

    Returns
    -------
    alpha : float
        Σ_c π_c Σ_x min(P, Q)[c][x], π the long-run law of the target, which emitted tokens follow.
    rho : float
        Correlation of the verdicts on two successive drafts, (a − α)/(1 − α) with a the rate of a draft right after an
        accepted one; 0 where verdicts do not vary.

    Notes
    -----
    Both are exact when every token gets a verdict (κ without end).  At finite κ the bonus tokens get none, so that the
    long-run rate accepted/examined of `window` differs slightly.  `survival_curve` of a two-state chain with
    these two numbers is not that of the token laws: lag 1 does not determine the rest (claim C40).

    References
    ----------
    Leviathan, Kalman, Matias (2023), Corollary 3.6, for α = Σ min(P, Q) of one context; docs/theory.md section 6.

    Examples
    --------
    >>> alpha, rho = token_alpha(TokenChain(target=[[0.9, 0.1], [0.5, 0.5]], draft=[[0.9, 0.1], [0.0, 1.0]]))
    >>> round(alpha, 6), round(rho, 6)  # only context 1, rate ½, ever rejects
    (0.916667, -0.090909)
    """
    chain = token_draft_chain(process)
    law = _only_law(np.array(normalised(process.target)))
    by_context = chain.accept.sum(axis=1)
    alpha, rejected = float(law @ by_context), float(law @ chain.reject.sum(axis=1))
    spread = alpha * rejected
    if spread <= 0.0:
        return alpha, 0.0
    return alpha, float(law @ chain.accept @ (by_context - alpha)) / spread


def _only_law(moves: FloatArray) -> FloatArray:
    law = long_run_law(moves)
    assert law is not None  # the model refuses chains with several closed classes
    return law
