"""What is the truth?  Closed forms, transfer matrices and dynamic programs; no table is shared with the kernels.

Modules are imported when one of their names is first used: a single answer needs few of them.  Type checkers, which
import nothing, read the same names in ``__init__.pyi``.
"""

from __future__ import annotations

import importlib
from typing import Any

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
    "batch_histories": ("BatchLaw", "enumerate_batch"),
    "batches": ("StaticBatch", "static_batch"),
    "best": ("Optimum", "integer_kappa_for_share", "optimum"),
    "best_trees": ("BestTree", "best_accepted", "best_tree", "fastest_tree", "fastest_trees"),
    "block": ("BlockLaw", "block_verification"),
    "brackets": ("block_bracket",),
    "carried": ("window_start_full",),
    "closed": (
        "break_even_alpha",
        "break_even_alpha_off",
        "foresight_bound",
        "kappa_for_share",
        "kappa_star_continuous",
        "speedup_continuous",
    ),
    "confidence_stops": ("StoppedDraft", "best_threshold", "stopped_draft"),
    "controller": ("ControlledGeneration", "LongRun", "controller_generation", "controller_long_run", "plug_in_kappas"),
    "copied_drafts": ("CopyLaw", "copy_law"),
    "critical": ("CriticalAlpha", "Surroundings", "critical_alphas", "surroundings"),
    "divergence": ("Overlap", "overlap", "renyi"),
    "drift_rules": (
        "StopRules",
        "closed_kappas",
        "local_kappas",
        "plan_of",
        "stop_rules",
        "threshold_kappas",
        "threshold_plan",
    ),
    "dynamic_trees": ("DynamicTree", "dynamic_tree"),
    "emission": ("EmissionTime", "emission_time", "tail_optimal_kappa"),
    "estimate_loops": ("EstimateLoop", "LookUp", "estimate_loop"),
    "estimate_readings": ("settled_estimate",),
    "estimators": ("Estimator", "accepted_over_drafted", "accepted_over_examined"),
    "ewma": (
        "Estimate",
        "ewma_below",
        "ewma_deviation",
        "ewma_drift_bias",
        "ewma_effective_sample",
        "ewma_half_life",
        "ewma_moments",
    ),
    "foreseen": ("Foreseen", "foresight"),
    "generations": ("GenerationLaw", "generation"),
    "hidden": ("token_alpha",),
    "informed": ("informed_speedup",),
    "judged": (
        "complete_rejection",
        "complete_rejection_threshold",
        "exchangeable_variance_factor",
        "judged_sum",
        "judged_variance_factor",
    ),
    "law": ("WindowLaw", "mean_round_cost"),
    "lenience": ("LenientAcceptance", "lenient_acceptance"),
    "many_drafts": ("ManyDrafts", "acceptance_by_draws", "many_drafts_speedup", "transport_programme"),
    "multidraft": (
        "MultiDraft",
        "k_seq",
        "naive_matching",
        "recursive_rejection",
        "recursive_rejection_distinct",
        "top_candidates",
    ),
    "ngram_pools": ("NgramPoolLaw", "ngram_pool_law"),
    "overlapped": ("Overlapped", "draft_ahead", "draft_ahead_time", "overlapped_by_runs", "speculation_parallel"),
    "plans": ("Plan", "optimal_plan"),
    "policy_histories": ("PolicyLaw", "enumerate_policy"),
    "remasking": ("Remasking", "remask"),
    "rounds": ("generation_rounds",),
    "routes": ("speedup", "survival_curve", "unit_counts", "window"),
    "scheme_arguments": ("depth_rates", "matched_share", "tree_of"),
    "scheme_means": ("SchemeLaw",),
    "scheme_routes": ("scheme_law",),
    "self_drafts": ("SelfDraftWork", "self_draft_cost", "self_draft_work"),
    "step_rates": (
        "fluctuation_alpha_a",
        "fluctuation_alpha_b",
        "guard_alpha",
        "most_variable_alpha",
        "share_step_alpha",
        "staircase",
        "step_alpha",
    ),
    "stretch_costs": ("StretchOptimum", "stretch_optimum"),
    "systems": (
        "LookaheadStep",
        "accepted_variance",
        "expected_accepted",
        "expected_accepted_heads",
        "expected_accepted_random_rate",
        "lookahead_step",
    ),
    "tail_steps": ("tail_staircase",),
    "tails": ("TailRisks", "at_least_once", "tail_risks"),
    "text_correlation": ("AcceptanceCorrelation", "acceptance_correlation", "matching_chain"),
    "token_pools": ("PoolLaw", "pool_law"),
    "token_walks": ("TokenWalk", "merged_nodes", "token_walk"),
    "transport": ("Transport", "transport_optimum", "transport_optimum_distinct"),
    "tree_laws": ("TreeLaw", "merged_tree", "tree_law"),
    "two_model_texts": ("BigLittleText", "big_little_text"),
    "two_models": ("BigLittleRates", "BigLittleTurn", "big_little", "big_little_rates"),
    "typical": ("TypicalAcceptance", "typical_acceptance"),
    "unmasking": ("ParallelUnmasking", "parallel_unmask", "schedule_confidence", "unmask_schedule"),
}
"""Module → public names in it."""
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["article", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name != "article" and name not in _HOME:
        raise AttributeError(f"module 'simspec.theory' has no attribute {name!r}")
    module = importlib.import_module(f"simspec.theory.{_HOME.get(name, name)}")
    found = module if name == "article" else getattr(module, name)
    globals()[name] = found  # the next use asks no more
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
