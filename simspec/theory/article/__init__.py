"""What do the article's own formulas evaluate to, exactly as written?  Each docstring adds the correct statement.

The displayed equations of the article are lost; theory.md section 2 rebuilds them from the text, with its numbering.
Latencies are in units of one plain target step, c_t = 1.  None of these is used by the rest of the room.
"""

from simspec.theory.article.speed import (
    kappa_star_as_coded,
    latency_constrained,
    latency_r1,
    latency_r4,
    rho_expansion,
    rho_infinity,
    rho_r1,
    rho_r4,
)
from simspec.theory.article.threshold import (
    all_rejected,
    alpha_c_formula,
    hoeffding_bound,
    kappa_09_first_order,
    kappa_09_r1,
    kappa_09_r4,
    relative_fluctuation_a,
    relative_fluctuation_b,
    variance_factor_asymptotic,
    variance_factor_exchangeable,
    variance_factor_nearest,
)

__all__ = [
    "all_rejected",
    "alpha_c_formula",
    "hoeffding_bound",
    "kappa_09_first_order",
    "kappa_09_r1",
    "kappa_09_r4",
    "kappa_star_as_coded",
    "latency_constrained",
    "latency_r1",
    "latency_r4",
    "relative_fluctuation_a",
    "relative_fluctuation_b",
    "rho_expansion",
    "rho_infinity",
    "rho_r1",
    "rho_r4",
    "variance_factor_asymptotic",
    "variance_factor_exchangeable",
    "variance_factor_nearest",
]
