"""What if the acceptance rate itself is drawn anew for every window?  Outcomes of a window are then exchangeable."""

from __future__ import annotations

import numpy as np

from simspec.model.mixture import BetaMixture, DiscreteMixture
from simspec.theory.law import FloatArray


def beta_curve(process: BetaMixture, kappa: int) -> FloatArray:
    """S_j = ∏_{i<j} (α(1 − ρ) + iρ)/(1 − ρ + iρ): after i acceptances the rate is likely a high one.

    Parameters
    ----------
    process : BetaMixture
        Without ``request_tokens``; rho = 0 gives α^j, rho = 1 gives α.
    kappa : int
        Draft length, ≥ 0.

    Returns
    -------
    array, shape (kappa,)
        S_1 … S_kappa.

    References
    ----------
    docs/theory.md section 6, with s = (1 − ρ)/ρ; the j-th moment of the Beta law.

    Examples
    --------
    >>> beta_curve(BetaMixture(a=1.0, b=1.0), 3)
    array([0.5       , 0.33333333, 0.25      ])
    """
    alpha, rho = process.mean_and_rho()
    before = np.arange(float(kappa))
    again = np.full(kappa, alpha)  # the first factor is α whatever ρ is, also where it reads 0/0
    again[1:] = (alpha * (1.0 - rho) + before[1:] * rho) / (1.0 - rho + before[1:] * rho)
    return np.cumprod(again)


def discrete_curve(process: DiscreteMixture, kappa: int) -> FloatArray:
    """S_j = Σ_c w_c α_c^j.

    Parameters
    ----------
    process : DiscreteMixture
        With ``weights_of = "windows"``.
    kappa : int
        Draft length, ≥ 0.

    Returns
    -------
    array, shape (kappa,)
        S_1 … S_kappa.

    References
    ----------
    docs/theory.md, claim C40, "symmetric two-point mixture".

    Examples
    --------
    >>> discrete_curve(DiscreteMixture(alphas=[1.0, 0.5], weights=[0.5, 0.5]), 3)
    array([0.75  , 0.625 , 0.5625])
    """
    powers = np.power(np.array(process.alphas)[:, None], np.arange(1.0, kappa + 1))
    return np.asarray(np.array(process.shares()) @ powers, dtype=np.float64)


def beta_judged(process: BetaMixture, kappa: int) -> FloatArray:
    """Beta-binomial law of the acceptances among κ judged drafts, one draft at a time as in a Pólya urn.

    Examples
    --------
    >>> beta_judged(BetaMixture(a=1.0, b=1.0), 3)
    array([0.25, 0.25, 0.25, 0.25])
    """
    alpha, rho = process.mean_and_rho()
    law = np.zeros(kappa + 1)
    law[0] = 1.0
    yes: FloatArray | float = alpha  # of the first draft, whatever ρ is
    no: FloatArray | float = 1.0 - alpha
    for judged in range(kappa):
        if judged:
            accepted, scale = np.arange(judged + 1.0), 1.0 - rho + judged * rho
            yes = (alpha * (1.0 - rho) + accepted * rho) / scale
            no = ((1.0 - alpha) * (1.0 - rho) + (judged - accepted) * rho) / scale
        up = law[: judged + 1] * yes
        law[: judged + 1] *= no
        law[1 : judged + 2] += up
    return law


def discrete_judged(process: DiscreteMixture, kappa: int) -> FloatArray:
    """Mixture of binomial laws.

    Examples
    --------
    >>> discrete_judged(DiscreteMixture(alphas=[1.0, 0.0], weights=[0.25, 0.75]), 2)
    array([0.75, 0.  , 0.25])
    """
    alphas = np.array(process.alphas)[:, None]
    law = np.zeros((len(alphas), kappa + 1))
    law[:, 0] = 1.0
    for _ in range(kappa):
        step = law * (1.0 - alphas)
        step[:, 1:] += law[:, :-1] * alphas
        law = step
    return np.asarray(np.array(process.shares()) @ law, dtype=np.float64)


def beta_outcomes(process: BetaMixture) -> tuple[float, float]:
    """(α, ρ): marginal rate and correlation of any two outcomes of a window.

    Examples
    --------
    >>> beta_outcomes(BetaMixture(a=1.0, b=1.0))
    (0.5, 0.3333333333333333)
    """
    return process.mean_and_rho()


def discrete_outcomes(process: DiscreteMixture) -> tuple[float, float]:
    """(α, ρ) with ρ = Var(rate)/(α(1 − α)), 0 where the outcomes do not vary.

    Examples
    --------
    >>> discrete_outcomes(DiscreteMixture(alphas=[0.75, 0.25], weights=[0.5, 0.5]))
    (0.5, 0.25)
    """
    shares, alphas = np.array(process.shares()), np.array(process.alphas)
    alpha = float(shares @ alphas)
    spread = alpha * float(shares @ (1.0 - alphas))
    return alpha, float(shares @ (alphas - alpha) ** 2) / spread if spread > 0.0 else 0.0
