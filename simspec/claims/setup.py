"""Which points do claims keep coming back to?  The usual process, the price lists, the article's grid."""

from __future__ import annotations

from simspec import theory
from simspec.model import Cost, Iid

USUAL = Iid(alpha=0.7)
STANDARD = Cost(c_d=0.1)
ARTICLE = Cost(c_d=0.1, c_v=0.5, c_r=1.0)
KAPPAS = tuple(range(17))
GRID_ALPHAS = tuple(round(0.6 + 0.005 * i, 3) for i in range(51))
GRID_BETAS = tuple(round(0.05 + 0.005 * i, 3) for i in range(31))


def step_alpha(kappa: int, cost: Cost) -> float:
    """The α at which κ* of independent drafts steps from ``kappa`` to ``kappa + 1``: where S(κ) = S(κ + 1)."""
    return theory.step_alpha(kappa, cost)


def best_at(alpha: float, cost: Cost) -> int:
    """Exact κ* of independent drafts."""
    return theory.optimum(Iid(alpha=alpha), cost, 64).kappa_star


def usual_s(kappa: int, cost: Cost = STANDARD) -> float:
    """Exact speed-up of the usual process."""
    return theory.speedup(USUAL, kappa, cost)
