"""What stands on a side of a comparison that holds exact values?  As many windows of the exact law as make no noise."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from simspec import theory
from simspec.kernels.tally import SUMS
from simspec.model import Processes, Schemes, SimspecError
from simspec.stats.counts import round_sums
from simspec.stats.difference import Moments
from simspec.theory.law import WindowLaw
from simspec.theory.scheme_means import SchemeLaw

UNKNOWN = ("var_accepted", "p_zero_accepted")
"""Quantities that exact means of a scheme without the law of A do not hold."""
_OTHER = "its exact values are not those of this version"
WINDOWS = 2.0**46
"""So many that their noise is below that of any run, and products of their totals stay exact enough."""


def law_of(point: Mapping[Any, Any], kappa: int) -> WindowLaw | SchemeLaw | str:
    """The law behind a stored point at one κ, means alone of a scheme, or why there is none to compare with.

    Examples
    --------
    >>> law_of({"process": "iid", "parameters": '{"alpha":0.5}', "mean_accepted": 0.75}, 2).pmf_accepted.tolist()
    [0.5, 0.25, 0.25]
    >>> law_of({"process": "iid", "parameters": '{"alpha":0.5}', "mean_accepted": 0.76}, 2)
    'its exact values are not those of this version'
    """
    law: WindowLaw | SchemeLaw
    try:
        process = Processes.make(type=point["process"], **json.loads(point["parameters"]))
        if (point.get("scheme") or "chain") == "chain":
            law = theory.window(process, kappa)
        else:
            scheme = Schemes.make(type=point["scheme"], **json.loads(point["scheme_parameters"]))
            law = theory.scheme_law(scheme, process, kappa)
    except (SimspecError, ValueError, TypeError) as error:
        return f"it holds exact values and no counts, and their law is not known here ({error})"
    if isinstance(law, SchemeLaw):
        return law if abs(law.mean_accepted - point["mean_accepted"]) <= 1e-9 else _OTHER
    if (law.p_cut is not None and np.any(law.p_cut)) or abs(law.mean_tokens - law.mean_accepted - 1.0) > 1e-9:
        return "one side holds exact values and no counts, and the end of a generation leaves no law of one round"
    if not abs(law.mean_accepted - point["mean_accepted"]) <= 1e-9:
        return _OTHER
    return law


def moments_of(laws: list[WindowLaw | SchemeLaw]) -> Moments:
    """Moments of `WINDOWS` windows of each law, as if they had been counted without chance.

    Of a scheme nothing spreads, and where the law of A is not known, the sums that `UNKNOWN` needs are 0.

    Examples
    --------
    >>> from simspec.model import Iid
    >>> own = moments_of([theory.window(Iid(alpha=0.5), 2)])
    >>> own.total[0, :2] / own.units
    array([1.  , 0.75])
    """
    total, spread = np.zeros((len(laws), len(SUMS))), np.zeros((len(laws), len(SUMS), len(SUMS)))
    for i, law in enumerate(laws):
        if isinstance(law, SchemeLaw):
            pmf = np.zeros(1) if law.pmf_accepted is None else law.pmf_accepted
            known = {
                "n": 1.0, "accepted": law.mean_accepted, "accepted_sq": pmf @ np.arange(pmf.size) ** 2, "zero": pmf[0],
                "rejected": law.p_rejected, "drafted": law.mean_drafted, "tokens": law.mean_tokens,
            }  # fmt: skip
            total[i] = [WINDOWS * known.get(name, 0.0) for name in SUMS]
            continue
        accepted = np.arange(law.kappa + 1)
        sums = round_sums(np.full_like(accepted, law.kappa), accepted)
        mean = law.pmf_accepted @ sums
        off = sums - mean
        total[i], spread[i] = WINDOWS * mean, WINDOWS * (off.T @ (law.pmf_accepted[:, None] * off))
    return Moments(np.full(len(laws), WINDOWS), total, spread)
