"""What does `simspec solve` say of a rolling estimate, and of the article's loop around it?"""

from __future__ import annotations

from typing import Any

from simspec import theory
from simspec.advice import fields
from simspec.model import Drift, ParameterError
from simspec.model.errors import shown
from simspec.theory.estimate_loops import LOOP_KAPPA_LIMIT, LOOP_TOKENS_LIMIT
from simspec.theory.ranges import check_range


def ewma(case: fields.Case) -> dict[str, Any]:
    """Mean and variance of the estimate after independent outcomes.

    Examples
    --------
    >>> answer = ewma({"lambda": 0.5, "alphas": [1.0, 0.5], "initial": 0.0})
    >>> answer["mean"], answer["var"]
    (0.5, 0.0625)
    """
    fields.check_known(case, "lambda", "alphas", "initial")
    alphas = case.get("alphas")
    rates = [] if alphas == [] else fields.numbers(case, "alphas")
    for i, rate in enumerate(rates):
        check_range(f"alphas[{i}]", rate, 0, 1)
    found = theory.ewma_moments(_smoothing(case), rates, _share(case, "initial"))
    return {"mean": found.mean, "var": found.var}


def control_loop(case: fields.Case) -> dict[str, Any]:
    """One short generation in which κ follows a rolling estimate.

    Examples
    --------
    >>> loop = {"lambda": 0.85, "initial": 0.7, "cuts": [0.5, 0.8], "kappa_table": [1, 3, 6], "k_min": 1}
    >>> answer = control_loop({"alpha": 0.7, "n_tokens": 12, **loop, "cost": {"c_d": 0.1}})
    >>> round(answer["speedup"], 4), round(answer["mean_final_estimate"], 4)
    (1.8242, 0.7046)
    """
    known = ("alpha", "n_tokens", "lambda", "initial", "cuts", "kappa_table", "k_min", "guard", "truncate", "cost")
    fields.check_known(case, *known)
    alpha, n_tokens = _share(case, "alpha"), fields.whole(case, "n_tokens", 1, LOOP_TOKENS_LIMIT)
    flat = Drift(
        shape="linear",
        alpha_start=alpha,
        alpha_end=alpha,
        tokens=n_tokens,
        truncate=fields.yes_or_no(case, "truncate", default=True),
    )
    rule = theory.LookUp(
        cuts=tuple([] if case.get("cuts") == [] else fields.numbers(case, "cuts")),
        kappas=_kappas(case),
        shortest=fields.whole(case, "k_min", 0, LOOP_KAPPA_LIMIT, default=0),
        guard=None if case.get("guard") is None else fields.number(case, "guard"),
    )
    found = theory.estimate_loop(flat, rule, fields.cost(case), _smoothing(case), _share(case, "initial"))
    return {
        "mean_rounds": found.mean_rounds,
        "pmf_rounds": fields.listed(found.pmf_rounds),
        "mean_cost": found.mean_cost,
        "mean_drafted": found.mean_drafted,
        "mean_final_estimate": found.mean_final_estimate,
        "speedup": found.speedup,
    }


def _share(case: fields.Case, key: str) -> float:
    value = fields.number(case, key)
    check_range(key, value, 0, 1)
    return value


def _smoothing(case: fields.Case) -> float:
    """λ < 1: at 1 nothing is learned."""
    value = _share(case, "lambda")
    if value == 1.0:
        raise ParameterError("lambda", "lambda = 1 never learns; allowed: 0 ≤ lambda < 1")
    return value


def _kappas(case: fields.Case) -> tuple[int, ...]:
    table = case.get("kappa_table")
    allowed = f"a list of whole numbers from 0 to {LOOP_KAPPA_LIMIT}"
    if not isinstance(table, (list, tuple)) or not all(type(kappa) is int for kappa in table):
        raise ParameterError("kappa_table", f"kappa_table = {shown(table)} is no such list; allowed: {allowed}")
    return tuple(table)
