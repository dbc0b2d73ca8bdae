"""Which points do claims keep coming back to?  The usual process, the price lists, the article's grid."""

from __future__ import annotations

from simspec import theory
from simspec.model import Cost, Iid

USUAL = Iid(alpha=0.7)
STANDARD = Cost(c_d=0.1)
ARTICLE = Cost(c_d=0.1, c_v=0.5, c_r=1.0)
"""The costs of section 3.3 if a pass of the target over one token costs c_t, which the article does not say."""
KAPPAS = tuple(range(17))
LONGEST = 100
"""The longest draft that is simulated."""


def article_cost(overhead: float, beta: float = 0.1, c_r: float = 1.0) -> Cost:
    """The article's c_v = .5, with κ ≥ 1 drafts verified for ``overhead`` + κ·c_v and no drafts for a plain step.

    A table, unless the overhead is c_t: without drafts a plain step costs c_t whatever the overhead is taken to be.
    """
    if overhead == 1.0:
        return Cost(c_d=beta, c_v=0.5, c_r=c_r)
    return Cost(c_d=beta, c_r=c_r, verify_table=(1.0, *(overhead + 0.5 * kappa for kappa in range(1, LONGEST + 1))))


OVERHEADS: dict[str, float] = {
    "c0 = 1 (a pass over one token costs c_t)": 1.0,
    "c0 = .5 (c0 + c_v = c_t)": 0.5,
    "c0 = 0": 0.0,
}
"""What c_0 may be, which the article calls a constant overhead and gives no number: reading → c_0/c_t."""
GRID_ALPHAS = tuple(round(0.6 + 0.005 * i, 3) for i in range(51))
GRID_BETAS = tuple(round(0.05 + 0.005 * i, 3) for i in range(31))


def step_alpha(kappa: int, cost: Cost) -> float:
    """The α at which κ* of independent drafts steps from ``kappa`` to ``kappa + 1``: where S(κ) = S(κ + 1)."""
    return theory.step_alpha(kappa, cost)


def one_draft_pays_from(overhead: float) -> float:
    """α at which a round of one draft, at the article's costs, gives as much as plain decoding.

    1 + α tokens for c_0 + c_d + c_v + c_r(1 − α).
    """
    return (overhead + ARTICLE.c_d + ARTICLE.c_v + ARTICLE.c_r - 1.0) / (1.0 + ARTICLE.c_r)


def best_at(alpha: float, cost: Cost) -> int:
    """Exact κ* of independent drafts."""
    longest = cost.longest_draft
    return theory.optimum(Iid(alpha=alpha), cost, 64 if longest is None else longest).kappa_star


def usual_s(kappa: int, cost: Cost = STANDARD) -> float:
    """Exact speed-up of the usual process."""
    return theory.speedup(USUAL, kappa, cost)
