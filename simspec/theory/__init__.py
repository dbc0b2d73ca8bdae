"""What is the truth?  Closed forms, transfer matrices and dynamic programs; no table is shared with the kernels."""

from simspec.theory import article
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
from simspec.theory.routes import speedup, survival_curve, unit_counts, window

__all__ = [
    "GenerationLaw",
    "Optimum",
    "WindowLaw",
    "article",
    "break_even_alpha",
    "break_even_alpha_off",
    "complete_rejection",
    "complete_rejection_threshold",
    "exchangeable_variance_factor",
    "foresight_bound",
    "generation",
    "integer_kappa_for_share",
    "judged_sum",
    "judged_variance_factor",
    "kappa_for_share",
    "kappa_star_continuous",
    "mean_round_cost",
    "optimum",
    "speedup",
    "speedup_continuous",
    "survival_curve",
    "token_alpha",
    "unit_counts",
    "window",
    "window_start_full",
]
