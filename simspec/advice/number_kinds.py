"""What does `simspec solve` say of sums, estimators, tails, the article's formulas and whole generations?

Each kind answers one case exactly; what its keys and answers mean is in docs/solve.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simspec import theory
from simspec.advice import fields
from simspec.model import Drift, Markov, ParameterError
from simspec.theory import article
from simspec.theory.ranges import EXACT_KAPPA_LIMIT, check_least, check_range

WINDOWS_LIMIT = 10**12
ROUNDS_LIMIT = 1_000_000
FIRST_KAPPAS = 64
"""How many draft lengths of the optimal policy are listed."""


def markov_sum_variance(case: fields.Case) -> dict[str, Any]:
    """Mean and variance of κ judged outcomes of a stationary chain.

    Examples
    --------
    >>> answer = markov_sum_variance({"alpha": 0.7, "rho": 0.3, "kappa": 4})
    >>> round(answer["factor_over_iid"], 4), round(answer["asymptotic_factor"], 4)
    (1.5535, 1.8571)
    """
    fields.check_known(case, "alpha", "rho", "kappa")
    kappa = fields.whole(case, "kappa", 1, EXACT_KAPPA_LIMIT)
    chain = Markov(alpha=fields.number(case, "alpha"), rho=fields.number(case, "rho"))
    factor = theory.judged_variance_factor(chain, kappa)
    return {
        "mean": kappa * chain.alpha,
        "var": kappa * chain.alpha * (1.0 - chain.alpha) * factor,
        "factor_over_iid": factor,
        "nearest_neighbour_factor": article.variance_factor_nearest(chain.rho, kappa),
        "asymptotic_factor": article.variance_factor_asymptotic(chain.rho, kappa) if chain.rho < 1.0 else None,
    }


def estimators(case: fields.Case) -> dict[str, Any]:
    """Moments of two estimates of an acceptance rate.

    Examples
    --------
    >>> round(estimators({"alpha": 0.7, "kappa": 4, "windows": 8})["mean_examined_mle"], 5)
    0.6828
    """
    alpha, kappa, windows = _windows_case(case)
    examined = theory.accepted_over_examined(alpha, kappa, windows)
    drafted = theory.accepted_over_drafted(alpha, kappa, windows)
    return {
        "mean_examined_mle": examined.mean,
        "var_examined_mle": examined.var,
        "mean_drafted_ratio": drafted.mean,
        "var_drafted_ratio": drafted.var,
        "asymptotic_var_mle": examined.asymptotic_var,
    }


def tails(case: fields.Case) -> dict[str, Any]:
    """Both readings of a completely rejected window.

    Examples
    --------
    >>> round(tails({"alpha": 0.7, "kappa": 4, "windows": 100})["p_all_k_bernoulli_reject"], 6)
    0.0081
    """
    risks = theory.tail_risks(*_windows_case(case))
    return {
        "p_window_zero_accepted": risks.zero_accepted,
        "p_all_k_bernoulli_reject": risks.all_rejected,
        "hoeffding_bound_all_reject": risks.hoeffding_bound,
        "p_some_zero_window": risks.some_zero,
        "p_some_all_reject_window": risks.some_all_rejected,
        "bernoulli_sum_mean": risks.sum_mean,
        "bernoulli_sum_var": risks.sum_var,
        "relative_sd": fields.finite(risks.relative_sd),
        "absolute_sd_of_mean": risks.sd_of_share,
        "alpha_threshold_1pct_all_reject": risks.threshold_1pct,
    }


def _windows_case(case: fields.Case) -> tuple[float, int, int]:
    fields.check_known(case, "alpha", "kappa", "windows")
    alpha = fields.number(case, "alpha")
    check_range("alpha", alpha, 0, 1)
    return alpha, fields.whole(case, "kappa", 1, EXACT_KAPPA_LIMIT), fields.whole(case, "windows", 1, WINDOWS_LIMIT)


def seed_formulas(case: fields.Case) -> dict[str, Any]:
    """What the article's own formulas evaluate to; None where one has no finite value.

    Examples
    --------
    >>> answer = seed_formulas({"alpha": 0.7, "beta": 0.1, "c_v": 0.5, "c_r": 1.0})
    >>> round(answer["kappa_star_as_coded"], 4), round(answer["alpha_c_formula"], 6)
    (1.4582, 0.000617)
    """
    fields.check_known(case, "alpha", "beta", "c_v", "c_r")
    alpha = fields.number(case, "alpha")
    check_range("alpha", alpha, 0, 1)
    beta, c_v, c_r = (fields.number(case, key, usual) for key, usual in (("beta", 0.1), ("c_v", 0.5), ("c_r", 1.0)))
    for key, value in (("beta", beta), ("c_v", c_v), ("c_r", c_r)):
        check_least(key, value, 0)
    return {
        "kappa_star_as_coded": _or_none(lambda: article.kappa_star_as_coded(alpha, beta, c_v, c_r)),
        "alpha_c_formula": fields.finite(article.alpha_c_formula(beta)[0]),
        "rho_inf": fields.finite(article.rho_infinity(alpha, beta)),
        "kappa_09_R1": _or_none(lambda: article.kappa_09_r1(alpha, beta)),
        "rho_R1_at_kappa4": article.rho_r1(4, alpha, beta),
    }


def _or_none(formula: Callable[[], float]) -> float | None:
    try:
        return fields.finite(formula())
    except ParameterError:  # an argument at which the formula has no value; all are in range
        return None


def generation(case: fields.Case) -> dict[str, Any]:
    """One output sequence of N tokens with a fixed draft length.

    Examples
    --------
    >>> flat = {"n_tokens": 3, "alpha_start": 0.5, "alpha_end": 0.5}
    >>> generation({"generation": flat, "kappa": 1})["pmf_rounds"]
    [0.0, 0.0, 0.75, 0.25]
    """
    fields.check_known(case, "generation", "kappa", "cost")
    process, cost = _sequence(case), fields.cost(case)
    kappa = fields.whole(case, "kappa", 0, EXACT_KAPPA_LIMIT)
    try:
        rounds = theory.generation_rounds(process, kappa)
    except ParameterError as error:
        raise fields.renamed(error, {"tokens": "generation.n_tokens"}) from None
    law = theory.generation(process, kappa, cost)
    return {
        "mean_rounds": law.mean_rounds,
        "var_rounds": law.var_rounds,
        "pmf_rounds": fields.listed(rounds),
        "mean_cost": law.mean_cost,
        "mean_drafted": law.mean_drafted,
        "mean_accepted_total": law.mean_accepted_total,
        "speedup": law.speedup,
    }


def generation_star(case: fields.Case) -> dict[str, Any]:
    """The best fixed draft length of an output sequence, and the best that may change from round to round.

    Examples
    --------
    >>> falling = {"n_tokens": 1024, "alpha_start": 0.85, "alpha_end": 0.62}
    >>> answer = generation_star({"generation": falling, "cost": {"c_d": 0.1}, "kappa_max": 8})
    >>> answer["best_fixed_kappa"], round(answer["best_fixed_speedup"], 5), round(answer["optimal_speedup"], 5)
    (4, 2.10288, 2.12988)
    """
    fields.check_known(case, "generation", "cost", "kappa_max")
    process, cost = _sequence(case), fields.cost(case)
    kappa_max = fields.whole(case, "kappa_max", 0, EXACT_KAPPA_LIMIT)
    try:
        fixed = theory.optimum(process, cost, kappa_max)
        plan = theory.optimal_plan(process, cost, kappa_max)
    except ParameterError as error:
        raise fields.renamed(error, {"tokens": "generation.n_tokens", "kappa": "kappa_max"}) from None
    return {
        "speedup_by_fixed_kappa": fields.listed(fixed.speedup_by_kappa),
        "best_fixed_kappa": fixed.kappa_star,
        "best_fixed_speedup": float(np.max(fixed.speedup_by_kappa)),
        "optimal_cost": plan.mean_cost,
        "optimal_speedup": plan.speedup,
        "first_kappas": plan.kappas[:FIRST_KAPPAS].tolist(),
    }


def _sequence(case: fields.Case) -> Drift:
    return fields.made(case, "generation", _drift)


def _drift(value: dict[str, Any]) -> Drift:
    fields.check_known(value, "n_tokens", "alpha_start", "alpha_end", "truncate", always=())
    rates = {}
    for key in ("alpha_start", "alpha_end"):
        rates[key] = fields.number(value, key)
        check_range(key, rates[key], 0, 1)
    return Drift(
        shape="linear",
        alpha_start=rates["alpha_start"],
        alpha_end=rates["alpha_end"],
        tokens=fields.whole(value, "n_tokens", 1, ROUNDS_LIMIT),
        truncate=fields.yes_or_no(value, "truncate", default=True),
    )
