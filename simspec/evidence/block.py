"""What do the counts of one group of rounds say?  The common figures of every shape, with intervals and reasons."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simspec.evidence.source import Unknown
from simspec.stats.intervals import student
from simspec.stats.request_sums import RequestSums, mean_between, proportion_interval

LONGEST_DRAFT = 10_000
_HALVINGS = 60
ONE_BY_ONE = (
    "binomial: rounds are taken as independent, as the source does not tell requests apart; "
    "where requests differ the true interval is wider"
)
BY_REQUEST = "clustered by request (ratio estimator, Student's quantile)"


@dataclass
class Counts:
    """Rounds added up: whole numbers only.

    Attributes
    ----------
    kappa : int
        Draft length of every round, or the longest.
    drafts, draft_tokens, accepted : int
    reached : list of int
        ``reached[j]``: rounds with more than j drafts accepted.
    """

    kappa: int = 0
    drafts: int = 0
    draft_tokens: int = 0
    accepted: int = 0
    reached: list[int] = field(default_factory=list)

    def add(self, more: Counts) -> None:
        """The rounds of ``more`` too."""
        self.kappa = max(self.kappa, more.kappa)
        self.drafts += more.drafts
        self.draft_tokens += more.draft_tokens
        self.accepted += more.accepted
        add_into(self.reached, more.reached)


def figures(
    counts: Counts,
    level: float,
    unknown: Mapping[str, Unknown] | None = None,
    requests: RequestSums | None = None,
    slack: int = 0,
) -> dict[str, Any]:
    """The common block: κ, counts, E, accepted ÷ drafted, survival, conditional α, i.i.d. α, intervals.

    Parameters
    ----------
    counts : Counts
    level : float
        Confidence level.
    unknown : mapping, optional
        Entries of ``counts`` that the shape does not give, with the reason.
    requests : RequestSums, optional
        The same rounds by request, where requests are known.
    slack : int
        How far each of ``counts.reached`` may be off, where it comes from a rounded rate.

    Returns
    -------
    dict
        What cannot be said is an `Unknown` with its reason.

    Examples
    --------
    >>> own = figures(Counts(3, 100, 300, 140, [70, 45, 25]), 0.95)
    >>> own["mean_emitted_per_round"], own["cond_alpha"][1], round(own["iid_alpha_mle_from_mean"], 4)
    (2.4, 0.6428571428571429, 0.6646)
    >>> figures(Counts(draft_tokens=300, accepted=140), 0.95, {"drafts": Unknown("not printed")})["drafts"]
    Unknown(reason='not printed')
    """
    hidden = dict(unknown or {})
    drafts = counts.drafts
    mean = _share(counts, "accepted", "drafts", hidden)
    reason = hidden.get("drafts") or hidden.get("reached") or (None if drafts else Unknown("no round was seen"))
    out: dict[str, Any] = {
        "kappa": hidden.get("kappa", counts.kappa),
        "drafts": hidden.get("drafts", drafts),
        "draft_tokens": hidden.get("draft_tokens", counts.draft_tokens),
        "accepted_tokens": hidden.get("accepted", counts.accepted),
        "mean_accepted_per_round": mean,
        "mean_emitted_per_round": mean if isinstance(mean, Unknown) else 1.0 + mean,
        "draft_acceptance_rate": _share(counts, "accepted", "draft_tokens", hidden),
        "accepted_at_position": hidden.get("reached", counts.reached),
        "survival": reason or [count / drafts for count in counts.reached],
        "cond_alpha": reason or [count / before if before else _NEVER for count, before in _risks(counts)],
        "iid_alpha_mle_from_mean": mean,
    }
    if not isinstance(mean, Unknown):
        out["iid_alpha_mle_from_mean"] = hidden.get("kappa") or alpha_from_mean(mean, counts.kappa)
    if reason is None:
        if slack:
            out["accepted_at_position_error"] = slack
        if requests is not None and requests.requests > 1:
            out["intervals"] = _between_requests(requests, len(counts.reached), level)
        else:
            out["intervals"] = _one_by_one(counts, level)
    return out


_NEVER = Unknown("the position before was never accepted")


def _risks(counts: Counts) -> Iterator[tuple[int, int]]:
    """Rounds that accepted a position, and those that accepted the one before."""
    return zip(counts.reached, [counts.drafts, *counts.reached], strict=False)


def _share(counts: Counts, top: str, bottom: str, hidden: Mapping[str, Unknown]) -> float | Unknown:
    reason = hidden.get(top) or hidden.get(bottom)
    if reason is not None:
        return reason
    over = int(getattr(counts, bottom))
    return int(getattr(counts, top)) / over if over else Unknown("there is nothing to divide by")


def added(parts: Iterable[Counts]) -> Counts:
    """All parts as one."""
    total = Counts()
    for part in parts:
        total.add(part)
    return total


def pooled_figures(
    parts: Collection[Counts], level: float, requests: RequestSums | None = None, slack: int = 0
) -> dict[str, Any]:
    """Figures of parts that may differ in κ: at deep positions each has another denominator, so survival is none.

    Examples
    --------
    >>> own = pooled_figures([Counts(1, 10, 10, 6, [6]), Counts(2, 10, 20, 9, [6, 3])], 0.95)
    >>> own["survival"].reason, own["offered_at_position"], own["cond_alpha_given_offered"]
    ('κ changes: positions beyond the κ of a round are unobserved; see segments', [20, 10], [0.6, 0.5])
    """
    parts = [part for part in parts if part.drafts]
    counts, kappas = added(parts), sorted({part.kappa for part in parts})
    hidden = {}
    if len(kappas) != 1:
        hidden["kappa"] = Unknown(f"κ changes: {kappas[:20]}" if kappas else "no round with drafts")
    out = figures(counts, level, hidden, requests, slack)
    if len(kappas) > 1:
        reason = Unknown("κ changes: positions beyond the κ of a round are unobserved; see segments")
        out |= {"survival": reason, "cond_alpha": reason}
        out.pop("intervals", None)
    if any(part.kappa * part.drafts != part.draft_tokens for part in parts):
        reason = Unknown("drafts are shorter than κ at times, and how many reach a position is not in the source")
        out |= {"offered_at_position": reason, "cond_alpha_given_offered": reason}
    elif len(kappas) > 1:
        deep = [[part for part in parts if part.kappa > j] for j in range(kappas[-1])]
        examined = [sum([part.drafts, *part.reached][j] for part in own) for j, own in enumerate(deep)]
        out["offered_at_position"] = [sum(part.drafts for part in own) for own in deep]
        out["cond_alpha_given_offered"] = [
            count / risk if risk else Unknown("never examined")
            for count, risk in zip(counts.reached, examined, strict=True)
        ]
    return out


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
        full = -math.expm1(kappa * math.log(middle))  # 1 − α^κ, exact where α is near 1
        total = middle * full / (1.0 - middle) if middle < 1.0 else kappa
        low, high = (middle, high) if total < mean else (low, middle)
    return (low + high) / 2


def _between_requests(sums: RequestSums, positions: int, level: float) -> dict[str, Any]:
    return {
        "level": level,
        "method": BY_REQUEST,
        "requests": sums.requests,
        "survival": [sums.survival(j, level) for j in range(positions)],
        "cond_alpha": [sums.conditional(j, level) or _NEVER for j in range(positions)],
        "mean_emitted_per_round": [1.0 + end for end in sums.mean_accepted(level)],
    }


def given_kappa(kappa: int, drafted: int, accepted: int) -> dict[str, Any]:
    """Figures per round where the caller gives the κ that the shape does not hold.

    Examples
    --------
    >>> own = given_kappa(3, 516, 349)
    >>> own["drafts"], round(own["mean_emitted_per_round"], 5)
    (172, 3.02907)
    """
    if drafted == 0 or drafted % kappa:
        reason = Unknown(f"{drafted} drafted tokens are no multiple of κ = {kappa}: drafts cannot be told")
        return dict.fromkeys(("drafts", "mean_emitted_per_round", "iid_alpha_mle_from_mean"), reason)
    mean = accepted * kappa / drafted
    return {
        "drafts": drafted // kappa,
        "mean_emitted_per_round": 1.0 + mean,
        "iid_alpha_mle_from_mean": alpha_from_mean(mean, kappa),
    }


def _one_by_one(counts: Counts, level: float) -> dict[str, Any]:
    drafts = counts.drafts
    return {
        "level": level,
        "method": ONE_BY_ONE,
        "survival": [proportion_interval(min(1.0, count / drafts), drafts, level) for count in counts.reached],
        "cond_alpha": [
            proportion_interval(min(1.0, count / risk), risk, level) if risk else _NEVER
            for count, risk in _risks(counts)
        ],
        "mean_emitted_per_round": _mean_interval(drafts, counts.reached, level),
    }


def _mean_interval(drafts: int, reached: Sequence[int], level: float) -> list[float]:
    """Of E = 1 + ΣS_j, from Var A = Σ(2j − 1)S_j − (ΣS_j)²; near 1 and κ + 1 from the exact limits of S_1 and S_κ."""
    survival = [count / drafts for count in reached]
    mean = sum(survival)
    variance = max(0.0, sum((2 * j + 1) * s for j, s in enumerate(survival)) - mean * mean)
    half = student(level, drafts) * math.sqrt(variance / (drafts - 1)) if drafts > 1 else math.inf
    ends = (reached[0], reached[-1]) if reached else (0, 0)

    def share(j: int) -> tuple[float, float]:
        return proportion_interval(min(1.0, reached[j - 1] / drafts), drafts, level)

    return [1.0 + end for end in mean_between(len(reached), drafts, sum(reached), ends, half, share)]


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
