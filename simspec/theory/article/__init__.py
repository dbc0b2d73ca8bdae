"""What do the article's own formulas evaluate to, exactly as written?  Each docstring adds the correct statement.

The displayed equations of the article are lost; the text fixes most of them, and where it does not, the readings stand
beside each other.  (1) A_i = 1[r_i ≤ min(1, p_t(x_i)/p_d(x_i))] and (2) α = E min(1, p_t/p_d) are as published, see
`simspec.theory.overlap`; (8) is 1 − α = 0.  Latencies are in units of one plain target step, c_t = 1.  None of these is
used by the rest of the room, except what `simspec.theory.tail_risks` quotes.
"""

from simspec.theory.article.acceptance import (
    RENYI_BOUNDS,
    NormalShare,
    RenyiBound,
    alpha_from_distance,
    normal_share,
    renyi_bound,
)
from simspec.theory.article.averages import (
    VARIANCE_FACTORS,
    accepted_by_geometric_mean,
    accepted_by_mean_confidence,
    corrected_variance,
    geometric_mean_rate,
    variance_factor_all_lags,
)
from simspec.theory.article.control import (
    ewma_step,
    guard_edge,
    guard_fires,
    guard_largest_kappa,
    guard_settles_at,
)
from simspec.theory.article.latency import (
    LATENCIES,
    LatencyReading,
    kappa_of_stationarity,
    latency_by_reading,
    latency_slope,
    rho_by_reading,
    rho_limit,
    stationarity,
)
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
    "LATENCIES",
    "RENYI_BOUNDS",
    "VARIANCE_FACTORS",
    "LatencyReading",
    "NormalShare",
    "RenyiBound",
    "accepted_by_geometric_mean",
    "accepted_by_mean_confidence",
    "all_rejected",
    "alpha_c_formula",
    "alpha_from_distance",
    "corrected_variance",
    "ewma_step",
    "geometric_mean_rate",
    "guard_edge",
    "guard_fires",
    "guard_largest_kappa",
    "guard_settles_at",
    "hoeffding_bound",
    "kappa_09_first_order",
    "kappa_09_r1",
    "kappa_09_r4",
    "kappa_of_stationarity",
    "kappa_star_as_coded",
    "latency_by_reading",
    "latency_constrained",
    "latency_r1",
    "latency_r4",
    "latency_slope",
    "normal_share",
    "relative_fluctuation_a",
    "relative_fluctuation_b",
    "renyi_bound",
    "rho_by_reading",
    "rho_expansion",
    "rho_infinity",
    "rho_limit",
    "rho_r1",
    "rho_r4",
    "stationarity",
    "variance_factor_all_lags",
    "variance_factor_asymptotic",
    "variance_factor_exchangeable",
    "variance_factor_nearest",
]
