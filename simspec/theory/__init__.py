"""What is the truth?  Closed forms, transfer matrices and dynamic programs; no table is shared with the kernels.

Modules are imported when one of their names is first used: a single answer needs few of them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_HOMES = {
    "alpha_bounds": (
        "alpha_bounds_from_half",
        "alpha_lower_bretagnolle_huber",
        "alpha_lower_chi_square",
        "alpha_lower_hoelder",
        "alpha_lower_max_ratio",
        "alpha_lower_pinsker",
        "alpha_upper_chernoff",
    ),
    "best": ("Optimum", "integer_kappa_for_share", "optimum"),
    "carried": ("window_start_full",),
    "closed": (
        "break_even_alpha",
        "break_even_alpha_off",
        "foresight_bound",
        "kappa_for_share",
        "kappa_star_continuous",
        "speedup_continuous",
    ),
    "divergence": ("Overlap", "overlap", "renyi"),
    "estimators": ("Estimator", "accepted_over_drafted", "accepted_over_examined"),
    "generations": ("GenerationLaw", "generation"),
    "hidden": ("token_alpha",),
    "judged": (
        "complete_rejection",
        "complete_rejection_threshold",
        "exchangeable_variance_factor",
        "judged_sum",
        "judged_variance_factor",
    ),
    "law": ("WindowLaw", "mean_round_cost"),
    "multidraft": (
        "MultiDraft",
        "k_seq",
        "naive_matching",
        "recursive_rejection",
        "recursive_rejection_distinct",
        "top_candidates",
    ),
    "plans": ("Plan", "optimal_plan"),
    "rounds": ("generation_rounds",),
    "routes": ("speedup", "survival_curve", "unit_counts", "window"),
    "tails": ("TailRisks", "at_least_once", "tail_risks"),
    "transport": ("Transport", "transport_optimum", "transport_optimum_distinct"),
    "typical": ("TypicalAcceptance", "typical_acceptance"),
}
"""Module → public names in it."""
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name != "article" and name not in _HOME:
        raise AttributeError(f"module 'simspec.theory' has no attribute {name!r}")
    module = importlib.import_module(f"simspec.theory.{_HOME.get(name, name)}")
    found = module if name == "article" else getattr(module, name)
    globals()[name] = found  # the next use asks no more
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
