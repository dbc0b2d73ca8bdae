"""The names of `simspec.theory` for type checkers: what its table says, in their language."""

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
from simspec.theory.batch_histories import BatchLaw, enumerate_batch
from simspec.theory.batches import StaticBatch, static_batch
from simspec.theory.best import Optimum, integer_kappa_for_share, optimum
from simspec.theory.best_trees import BestTree, best_accepted, best_tree, fastest_tree, fastest_trees
from simspec.theory.block import BlockLaw, block_verification
from simspec.theory.brackets import block_bracket
from simspec.theory.carried import window_start_full
from simspec.theory.closed import (
    break_even_alpha,
    break_even_alpha_off,
    foresight_bound,
    kappa_for_share,
    kappa_star_continuous,
    speedup_continuous,
)
from simspec.theory.confidence_stops import StoppedDraft, best_threshold, stopped_draft
from simspec.theory.controller import (
    ControlledGeneration,
    LongRun,
    controller_generation,
    controller_long_run,
    plug_in_kappas,
)
from simspec.theory.copied_drafts import CopyLaw, copy_law
from simspec.theory.critical import CriticalAlpha, Surroundings, critical_alphas, surroundings
from simspec.theory.divergence import Overlap, overlap, renyi
from simspec.theory.drift_rules import (
    StopRules,
    closed_kappas,
    local_kappas,
    plan_of,
    stop_rules,
    threshold_kappas,
    threshold_plan,
)
from simspec.theory.dynamic_trees import DynamicTree, dynamic_tree
from simspec.theory.emission import EmissionTime, emission_time, tail_optimal_kappa
from simspec.theory.estimate_loops import EstimateLoop, LookUp, estimate_loop
from simspec.theory.estimate_readings import settled_estimate
from simspec.theory.estimators import Estimator, accepted_over_drafted, accepted_over_examined
from simspec.theory.ewma import (
    Estimate,
    ewma_below,
    ewma_deviation,
    ewma_drift_bias,
    ewma_effective_sample,
    ewma_half_life,
    ewma_moments,
)
from simspec.theory.foreseen import Foreseen, foresight
from simspec.theory.generations import GenerationLaw, generation
from simspec.theory.hidden import token_alpha
from simspec.theory.informed import informed_speedup
from simspec.theory.judged import (
    complete_rejection,
    complete_rejection_threshold,
    exchangeable_variance_factor,
    judged_sum,
    judged_variance_factor,
)
from simspec.theory.law import WindowLaw, mean_round_cost
from simspec.theory.lenience import LenientAcceptance, lenient_acceptance
from simspec.theory.many_drafts import ManyDrafts, acceptance_by_draws, many_drafts_speedup, transport_programme
from simspec.theory.multidraft import (
    MultiDraft,
    k_seq,
    naive_matching,
    recursive_rejection,
    recursive_rejection_distinct,
    top_candidates,
)
from simspec.theory.ngram_pools import NgramPoolLaw, ngram_pool_law
from simspec.theory.overlapped import (
    Overlapped,
    draft_ahead,
    draft_ahead_time,
    overlapped_by_runs,
    speculation_parallel,
)
from simspec.theory.plans import Plan, optimal_plan
from simspec.theory.policy_histories import PolicyLaw, enumerate_policy
from simspec.theory.remasking import Remasking, remask
from simspec.theory.rounds import generation_rounds
from simspec.theory.routes import speedup, survival_curve, unit_counts, window
from simspec.theory.scheme_arguments import depth_rates, matched_share, tree_of
from simspec.theory.scheme_means import SchemeLaw
from simspec.theory.scheme_routes import scheme_law
from simspec.theory.self_drafts import SelfDraftWork, self_draft_cost, self_draft_work
from simspec.theory.step_rates import (
    fluctuation_alpha_a,
    fluctuation_alpha_b,
    guard_alpha,
    most_variable_alpha,
    share_step_alpha,
    staircase,
    step_alpha,
)
from simspec.theory.stretch_costs import StretchOptimum, stretch_optimum
from simspec.theory.systems import (
    LookaheadStep,
    accepted_variance,
    expected_accepted,
    expected_accepted_heads,
    expected_accepted_random_rate,
    lookahead_step,
)
from simspec.theory.tail_steps import tail_staircase
from simspec.theory.tails import TailRisks, at_least_once, tail_risks
from simspec.theory.text_correlation import AcceptanceCorrelation, acceptance_correlation, matching_chain
from simspec.theory.token_pools import PoolLaw, pool_law
from simspec.theory.token_walks import TokenWalk, merged_nodes, token_walk
from simspec.theory.transport import Transport, transport_optimum, transport_optimum_distinct
from simspec.theory.tree_laws import TreeLaw, merged_tree, tree_law
from simspec.theory.two_model_texts import BigLittleText, big_little_text
from simspec.theory.two_models import BigLittleRates, BigLittleTurn, big_little, big_little_rates
from simspec.theory.typical import TypicalAcceptance, typical_acceptance
from simspec.theory.unmasking import ParallelUnmasking, parallel_unmask, schedule_confidence, unmask_schedule

__all__ = [
    "AcceptanceCorrelation",
    "BatchLaw",
    "BestTree",
    "BigLittleRates",
    "BigLittleText",
    "BigLittleTurn",
    "BlockLaw",
    "ControlledGeneration",
    "CopyLaw",
    "CriticalAlpha",
    "DynamicTree",
    "EmissionTime",
    "Estimate",
    "EstimateLoop",
    "Estimator",
    "Foreseen",
    "GenerationLaw",
    "LenientAcceptance",
    "LongRun",
    "LookUp",
    "LookaheadStep",
    "ManyDrafts",
    "MultiDraft",
    "NgramPoolLaw",
    "Optimum",
    "Overlap",
    "Overlapped",
    "ParallelUnmasking",
    "Plan",
    "PolicyLaw",
    "PoolLaw",
    "Remasking",
    "SchemeLaw",
    "SelfDraftWork",
    "StaticBatch",
    "StopRules",
    "StoppedDraft",
    "StretchOptimum",
    "Surroundings",
    "TailRisks",
    "TokenWalk",
    "Transport",
    "TreeLaw",
    "TypicalAcceptance",
    "WindowLaw",
    "acceptance_by_draws",
    "acceptance_correlation",
    "accepted_over_drafted",
    "accepted_over_examined",
    "accepted_variance",
    "alpha_bounds_from_half",
    "alpha_lower_bretagnolle_huber",
    "alpha_lower_chi_square",
    "alpha_lower_hoelder",
    "alpha_lower_max_ratio",
    "alpha_lower_pinsker",
    "alpha_upper_chernoff",
    "article",
    "at_least_once",
    "best_accepted",
    "best_threshold",
    "best_tree",
    "big_little",
    "big_little_rates",
    "big_little_text",
    "block_bracket",
    "block_verification",
    "break_even_alpha",
    "break_even_alpha_off",
    "closed_kappas",
    "complete_rejection",
    "complete_rejection_threshold",
    "controller_generation",
    "controller_long_run",
    "copy_law",
    "critical_alphas",
    "depth_rates",
    "draft_ahead",
    "draft_ahead_time",
    "dynamic_tree",
    "emission_time",
    "enumerate_batch",
    "enumerate_policy",
    "estimate_loop",
    "ewma_below",
    "ewma_deviation",
    "ewma_drift_bias",
    "ewma_effective_sample",
    "ewma_half_life",
    "ewma_moments",
    "exchangeable_variance_factor",
    "expected_accepted",
    "expected_accepted_heads",
    "expected_accepted_random_rate",
    "fastest_tree",
    "fastest_trees",
    "fluctuation_alpha_a",
    "fluctuation_alpha_b",
    "foresight",
    "foresight_bound",
    "generation",
    "generation_rounds",
    "guard_alpha",
    "informed_speedup",
    "integer_kappa_for_share",
    "judged_sum",
    "judged_variance_factor",
    "k_seq",
    "kappa_for_share",
    "kappa_star_continuous",
    "lenient_acceptance",
    "local_kappas",
    "lookahead_step",
    "many_drafts_speedup",
    "matched_share",
    "matching_chain",
    "mean_round_cost",
    "merged_nodes",
    "merged_tree",
    "most_variable_alpha",
    "naive_matching",
    "ngram_pool_law",
    "optimal_plan",
    "optimum",
    "overlap",
    "overlapped_by_runs",
    "parallel_unmask",
    "plan_of",
    "plug_in_kappas",
    "pool_law",
    "recursive_rejection",
    "recursive_rejection_distinct",
    "remask",
    "renyi",
    "schedule_confidence",
    "scheme_law",
    "self_draft_cost",
    "self_draft_work",
    "settled_estimate",
    "share_step_alpha",
    "speculation_parallel",
    "speedup",
    "speedup_continuous",
    "staircase",
    "static_batch",
    "step_alpha",
    "stop_rules",
    "stopped_draft",
    "stretch_optimum",
    "surroundings",
    "survival_curve",
    "tail_optimal_kappa",
    "tail_risks",
    "tail_staircase",
    "threshold_kappas",
    "threshold_plan",
    "token_alpha",
    "token_walk",
    "top_candidates",
    "transport_optimum",
    "transport_optimum_distinct",
    "transport_programme",
    "tree_law",
    "tree_of",
    "typical_acceptance",
    "unit_counts",
    "unmask_schedule",
    "window",
    "window_start_full",
]
