"""What do the counts of one group of rounds say?  The common figures of every shape, with intervals and reasons."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from simspec.evidence.source import Unknown
from simspec.stats.intervals import student
from simspec.stats.request_sums import RequestSums, proportion_interval

LONGEST_DRAFT = 10_000
_HALVINGS = 60
ONE_BY_ONE = (
    "binomial: rounds are taken as independent, as the source does not tell requests apart; "
    "where requests differ the true interval is wider"
)
BY_REQUEST = "clustered by request (ratio estimator, Student's quantile)"


@dataclass
class Tally:
    """Counts of rounds, added up.

    Attributes
    ----------
    kappa : int or Unknown
        Draft length of every round, or the longest.
    drafts, draft_tokens, accepted : int or Unknown
    reached : list of int or Unknown
        ``reached[j]``: rounds with more than j drafts accepted.
    slack : int
        How far each of ``reached`` may be off, where it comes from a rounded rate.
    requests : RequestSums or None
        The same by request, where requests are known.
    """

    kappa: int | Unknown
    drafts: int | Unknown
    draft_tokens: int | Unknown
    accepted: int | Unknown
    reached: list[int] | Unknown = field(default_factory=lambda: Unknown("no count per position in this shape"))
    slack: int = 0
    requests: RequestSums | None = None


def figures(tally: Tally, level: float) -> dict[str, Any]:
    """The common block: κ, counts, E, accepted ÷ drafted, survival, conditional α, i.i.d. α, intervals.

    Parameters
    ----------
    tally : Tally
    level : float
        Confidence level.

    Returns
    -------
    dict
        What the tally cannot say is an `Unknown` with its reason.

    Examples
    --------
    >>> own = figures(Tally(3, 100, 300, 140, [70, 45, 25]), 0.95)
    >>> own["mean_emitted_per_round"], own["cond_alpha"][1], round(own["iid_alpha_mle_from_mean"], 4)
    (2.4, 0.6428571428571429, 0.6642)
    """
    mean = _over(tally.accepted, tally.drafts)
    emitted = mean if isinstance(mean, Unknown) else 1.0 + mean
    out: dict[str, Any] = {
        "kappa": tally.kappa,
        "drafts": tally.drafts,
        "draft_tokens": tally.draft_tokens,
        "accepted_tokens": tally.accepted,
        "mean_accepted_per_round": mean,
        "mean_emitted_per_round": emitted,
        "draft_acceptance_rate": _over(tally.accepted, tally.draft_tokens),
        "accepted_at_position": tally.reached,
        "survival": tally.reached,
        "cond_alpha": tally.reached,
        "iid_alpha_mle_from_mean": _alpha_of(mean, tally.kappa),
    }
    if isinstance(tally.reached, list) and isinstance(tally.drafts, int):
        if tally.drafts == 0:
            out["survival"] = out["cond_alpha"] = Unknown("no round was seen")
            return out
        drafts, reached = tally.drafts, tally.reached
        out["survival"] = [count / drafts for count in reached]
        out["cond_alpha"] = [
            count / before if before else Unknown("the position before was never accepted")
            for count, before in zip(reached, [drafts, *reached], strict=False)
        ]
        if tally.slack:
            out["accepted_at_position_error"] = tally.slack
        out["intervals"] = _intervals(tally, drafts, reached, level)
    elif isinstance(tally.reached, list):
        out["survival"] = out["cond_alpha"] = tally.drafts
    return out


def _over(top: int | Unknown, bottom: int | Unknown) -> float | Unknown:
    for part in (top, bottom):
        if isinstance(part, Unknown):
            return part
    return top / bottom if bottom else Unknown("there is nothing to divide by")  # type: ignore[operator, return-value]


def _alpha_of(mean: float | Unknown, kappa: int | Unknown) -> float | Unknown:
    for part in (mean, kappa):
        if isinstance(part, Unknown):
            return part
    return alpha_from_mean(mean, kappa)  # type: ignore[arg-type]


def alpha_from_mean(mean: float, kappa: int) -> float | Unknown:
    """The i.i.d. α whose rounds of κ drafts accept ``mean`` of them on average.

    References
    ----------
    Leviathan, Kalman, Matias (2023), Eq. (1), solved for α by bisection.

    Examples
    --------
    >>> round(alpha_from_mean(1.7731, 4), 4)
    0.7
    """
    if not 0.0 <= mean <= kappa:
        return Unknown(f"a mean accepted length of {mean:.4g} does not fit κ = {kappa}")
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        total = 0.0
        for _ in range(kappa):  # Horner: α(1 + α(1 + …))
            total = middle * (1.0 + total)
        low, high = (middle, high) if total < mean else (low, middle)
    return (low + high) / 2


def _intervals(tally: Tally, drafts: int, reached: list[int], level: float) -> dict[str, Any]:
    sums = tally.requests
    if sums is not None and sums.requests > 1:
        return {
            "level": level,
            "method": BY_REQUEST,
            "requests": sums.requests,
            "survival": [sums.survival(j, level) for j in range(len(reached))],
            "cond_alpha": [sums.conditional(j, level) or _NEVER for j in range(len(reached))],
            "mean_emitted_per_round": [1.0 + end for end in sums.mean_accepted(level)],
        }
    before = [drafts, *reached]
    return {
        "level": level,
        "method": ONE_BY_ONE,
        "survival": [proportion_interval(count / drafts, drafts, level) for count in reached],
        "cond_alpha": [
            proportion_interval(min(1.0, count / risk), risk, level) if risk else _NEVER
            for count, risk in zip(reached, before, strict=False)
        ],
        "mean_emitted_per_round": _mean_interval(drafts, reached, level),
    }


_NEVER = Unknown("the position before was never accepted")


def _mean_interval(drafts: int, reached: Sequence[int], level: float) -> list[float]:
    """Of E = 1 + ΣS_j, from Var A = Σ(2j − 1)S_j − (ΣS_j)²."""
    survival = [count / drafts for count in reached]
    mean = sum(survival)
    variance = max(0.0, sum((2 * j + 1) * s for j, s in enumerate(survival)) - mean * mean)
    half = student(level, drafts) * math.sqrt(variance / max(1, drafts - 1)) if drafts > 1 else float(len(reached))
    return [1.0 + max(0.0, mean - half), 1.0 + min(float(len(reached)), mean + half)]


def reached_of(histogram: Sequence[int]) -> list[int]:
    """Rounds that accepted more than j drafts, from the number with exactly j.

    Examples
    --------
    >>> reached_of([39, 1, 0, 3])
    [4, 3, 3]
    """
    out, running = [], 0
    for count in reversed(histogram[1:]):
        running += count
        out.append(running)
    return out[::-1]


def add_into(total: list[int], more: Sequence[int]) -> None:
    """Position by position; the longer one decides the length."""
    total.extend([0] * (len(more) - len(total)))
    for j, count in enumerate(more):
        total[j] += count
