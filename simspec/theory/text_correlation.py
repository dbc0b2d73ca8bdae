"""Which correlation of verdicts do two models make: can ρ_A be computed from p_t and p_d?  On token chains it can.

B = min(P, Q) accepts.  Along the emitted text, whose law is the target's own chain P, the verdict on the draft at one
position and the verdict k positions on have P(both accepted) = π B P^(k−1) a, with a = B1 the acceptance rate by
context.  Along a draft that runs on regardless of verdicts, Q takes the place of P.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from simspec.model.chains import TokenChain, normalised
from simspec.model.errors import ParameterError
from simspec.model.markov import Markov
from simspec.theory.lanes import long_run_law
from simspec.theory.law import FloatArray
from simspec.theory.ranges import check_inside, check_whole

LAGS_LIMIT = 10_000


@dataclass(frozen=True, eq=False)
class AcceptanceCorrelation:
    """Correlation of verdicts along a text or a draft, in the long run.

    Attributes
    ----------
    alpha : float
        Mean acceptance rate of one position.
    rho : array, shape (lags,)
        Correlation of the verdicts k = 1 … lags positions apart; 0 where verdicts do not vary.
    rho_uncoupled : array, shape (lags,)
        The same if verdicts were drawn from the rates of the contexts, independently of the tokens: the autocovariance
        of the rates over α(1 − α).
    rate_share : float
        Var(a)/(α(1 − α)), the share of the variance of a verdict that its context explains.
    bound : float
        √rate_share, which no |ρ(k)| exceeds.
    second_eigenvalue : float
        Largest modulus of an eigenvalue of the chain besides its 1: correlations fade like its powers.
    """

    alpha: float
    rho: FloatArray
    rho_uncoupled: FloatArray
    rate_share: float
    bound: float
    second_eigenvalue: float


def acceptance_correlation(
    process: TokenChain, lags: int = 5, path: Literal["text", "draft"] = "text"
) -> AcceptanceCorrelation:
    """ρ_A of a target and a draft model, from their next-token laws alone.

    Parameters
    ----------
    process : TokenChain
        Target and draft laws by context.
    lags : int
        Largest distance, 1 to 10,000.
    path : {"text", "draft"}
        ``"text"``: one draft at every position of the emitted text, a rejected one replaced by the target's token.
        ``"draft"``: the draft model writes on whatever the verdicts are.

    Returns
    -------
    AcceptanceCorrelation

    Raises
    ------
    ParameterError
        If ``lags`` or ``path`` is none of these, or the draft chain has no long-run law.

    Notes
    -----
    |ρ(k)| ≤ √(Var(a)/(α(1 − α))) by Cauchy and Schwarz, since the second verdict enters through its rate only.  A draft
    up to the first rejection is the emitted text, so that ρ(1) along the text is that of successive examined drafts.

    References
    ----------
    Leviathan, Kalman, Matias (2023), Algorithm 1, for the two models' part in a verdict; the article's section 8, first
    question, asks for ρ_A from the models.

    Examples
    --------
    >>> pair = TokenChain(target=[[0.9, 0.1], [0.5, 0.5]], draft=[[0.9, 0.1], [0.0, 1.0]])
    >>> found = acceptance_correlation(pair, 3)
    >>> round(found.alpha, 6), found.rho.round(6)  # only context 1, rate ½, ever rejects
    (0.916667, array([-0.090909, -0.036364, -0.014545]))
    """
    check_whole("lags", lags, 1, LAGS_LIMIT)
    if path not in ("text", "draft"):
        raise ParameterError("path", f'path = {path!r} is unknown; allowed: "text" or "draft"')
    target, draft = np.array(normalised(process.target)), np.array(normalised(process.draft))
    accept = np.minimum(target, draft)
    moves = target if path == "text" else draft
    law = long_run_law(moves)
    if law is None:
        raise ParameterError("draft", "draft has several sets of states that are never left; allowed: one")
    rates = accept.sum(axis=1)
    alpha = float(law @ rates)
    centred, spread = rates - alpha, alpha * (1.0 - alpha)
    share = float(law @ centred**2) / spread if spread > 1e-15 else 0.0
    both, apart = law @ accept, (law * rates) @ moves  # after an accepted draft: by its token, or by any token
    rho, uncoupled = np.zeros(lags), np.zeros(lags)
    if spread > 1e-15:
        for k in range(lags):
            rho[k], uncoupled[k] = float(both @ centred) / spread, float(apart @ centred) / spread
            both, apart = both @ moves, apart @ moves
    return AcceptanceCorrelation(alpha, rho, uncoupled, share, share**0.5, _second_eigenvalue(moves))


def _second_eigenvalue(moves: FloatArray) -> float:
    sizes = np.sort(np.abs(np.linalg.eigvals(moves)))
    return float(sizes[-2]) if sizes.size > 1 else 0.0


def matching_chain(process: TokenChain) -> Markov:
    """The two-state chain with the α and ρ_A(1) of a pair of models, along the text.

    A corrected token takes the place of the rejected draft, so that the next draft is one position on (one step); a
    bonus token has no verdict, so that after a full window it is two.

    Parameters
    ----------
    process : TokenChain
        Target and draft laws by context.

    Returns
    -------
    Markov

    Raises
    ------
    ParameterError
        If α is 0 or 1, where verdicts do not vary.

    References
    ----------
    docs/theory.md section 6, "sequence position"; claim C53: what one number ρ_A can say of κ*.

    Examples
    --------
    >>> matching_chain(TokenChain(target=[[0.9, 0.1], [0.2, 0.8]], draft=[[0.7, 0.3], [0.7, 0.3]])).rho
    0.095238095238
    """
    found = acceptance_correlation(process, 1)
    check_inside("alpha", found.alpha, 0, 1)
    rho = round(float(found.rho[0]), 12)  # a rounding beyond the edge of what α allows would be refused
    return Markov(alpha=found.alpha, rho=rho, start="carry", steps_after_reject=1, steps_after_full=2)
