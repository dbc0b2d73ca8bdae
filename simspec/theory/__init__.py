"""What is the truth?  Closed forms, transfer matrices and dynamic programs; no table is shared with the kernels."""

from simspec.theory import article
from simspec.theory.alpha_bounds import (
    alpha_bounds_from_half,
    alpha_lower_bretagnolle_huber,
    alpha_lower_chi_square,
    alpha_lower_hoelder,
    alpha_lower_max_ratio,
    alpha_lower_pinsker,
    alpha_upper_chernoff,
)
from simspec.theory.best import Optimum, integer_kappa_for_share, optimum
from simspec.theory.carried import window_start_full
from simspec.theory.closed import (
    break_even_alpha,
    break_even_alpha_off,
    foresight_bound,
    kappa_for_share,
    kappa_star_continuous,
    speedup_continuous,
)
from simspec.theory.divergence import Overlap, overlap, renyi
from simspec.theory.estimators import Estimator, accepted_over_drafted, accepted_over_examined
from simspec.theory.generations import GenerationLaw, generation
from simspec.theory.hidden import token_alpha
from simspec.theory.judged import (
    complete_rejection,
    complete_rejection_threshold,
    exchangeable_variance_factor,
    judged_sum,
    judged_variance_factor,
)
from simspec.theory.law import WindowLaw, mean_round_cost
from simspec.theory.multidraft import (
    MultiDraft,
    k_seq,
    naive_matching,
    recursive_rejection,
    recursive_rejection_distinct,
    top_candidates,
)
from simspec.theory.plans import Plan, optimal_plan
from simspec.theory.rounds import generation_rounds
from simspec.theory.routes import speedup, survival_curve, unit_counts, window
from simspec.theory.tails import TailRisks, at_least_once, tail_risks
from simspec.theory.transport import Transport, transport_optimum, transport_optimum_distinct
from simspec.theory.typical import TypicalAcceptance, typical_acceptance

__all__ = [
    "Estimator",
    "GenerationLaw",
    "MultiDraft",
    "Optimum",
    "Overlap",
    "Plan",
    "TailRisks",
    "Transport",
    "TypicalAcceptance",
    "WindowLaw",
    "accepted_over_drafted",
    "accepted_over_examined",
    "alpha_bounds_from_half",
    "alpha_lower_bretagnolle_huber",
    "alpha_lower_chi_square",
    "alpha_lower_hoelder",
    "alpha_lower_max_ratio",
    "alpha_lower_pinsker",
    "alpha_upper_chernoff",
    "article",
    "at_least_once",
    "break_even_alpha",
    "break_even_alpha_off",
    "complete_rejection",
    "complete_rejection_threshold",
    "exchangeable_variance_factor",
    "foresight_bound",
    "generation",
    "generation_rounds",
    "integer_kappa_for_share",
    "judged_sum",
    "judged_variance_factor",
    "k_seq",
    "kappa_for_share",
    "kappa_star_continuous",
    "mean_round_cost",
    "naive_matching",
    "optimal_plan",
    "optimum",
    "overlap",
    "recursive_rejection",
    "recursive_rejection_distinct",
    "renyi",
    "speedup",
    "speedup_continuous",
    "survival_curve",
    "tail_risks",
    "token_alpha",
    "top_candidates",
    "transport_optimum",
    "transport_optimum_distinct",
    "typical_acceptance",
    "unit_counts",
    "window",
    "window_start_full",
]
