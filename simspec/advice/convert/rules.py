"""What follows from what?  The equations between quantities of acceptance, each with what it needs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from simspec import theory
from simspec.advice.curves import conditional_of, iid_alpha, survival_of, variance_of
from simspec.evidence.block import reached_of
from simspec.model import Iid

Found = dict[str, Any]


@dataclass(frozen=True)
class Rule:
    """One equation, read from right to left; None from ``how`` where it does not apply."""

    gives: str
    needs: tuple[str, ...]
    how: Callable[..., Any]
    text: str
    same_length: bool = False
    """Only where every draft has κ tokens."""


@dataclass(frozen=True)
class Derived:
    """A value and the equation it came from; ``given`` if it was typed in."""

    value: Any
    text: str


def _whole(value: float) -> int | None:
    return round(value) if abs(value - round(value)) < 1e-9 else None


def _over(top: float, bottom: float) -> float | None:
    return top / bottom if bottom else None


def _pmf(survival: list[float]) -> list[float]:
    return [a - b for a, b in itertools.pairwise([1.0, *survival, 0.0])]


def _tails(pmf: list[float]) -> list[float]:
    return list(itertools.accumulate(reversed(pmf[1:])))[::-1]


def _iid(alpha: float, kappa: int) -> list[float]:
    return [float(s) for s in theory.survival_curve(Iid(alpha=alpha), kappa)]


def _full(mean: float, alpha: float) -> float | None:
    """From E[A] = α·E[examined], E[examined] = E[A] + 1 − P(A = κ)."""
    return 1.0 - mean * (1.0 - alpha) / alpha if 0.0 < alpha < 1.0 else None


_FROM_COUNTS = (
    Rule("drafts", ("histogram",), sum, "Σ h_j"),
    Rule("kappa", ("histogram",), lambda h: len(h) - 1, "bins − 1"),
    Rule("accepted_at_position", ("histogram",), reached_of, "Σ_(m≥j) h_m"),
    Rule("accepted_tokens", ("accepted_at_position",), sum, "Σ rounds that accepted draft j"),
    Rule("histogram", ("accepted_at_position", "drafts"),
         lambda n, d: [a - b for a, b in itertools.pairwise([d, *n, 0])], "differences of the counts"),
    Rule("drafts", ("draft_tokens", "kappa"), lambda d, k: _whole(d / k) if k else None, "drafted ÷ κ", True),
    Rule("draft_tokens", ("drafts", "kappa"), lambda n, k: n * k, "rounds·κ", True),
    Rule("kappa", ("draft_tokens", "drafts"), lambda d, n: _whole(d / n) if n else None, "drafted ÷ rounds", True),
    Rule("drafts", ("emitted_tokens", "accepted_tokens"), lambda e, a: e - a, "emitted − accepted"),
    Rule("emitted_tokens", ("accepted_tokens", "drafts"), lambda a, n: a + n, "accepted + rounds"),
    Rule("accepted_tokens", ("emitted_tokens", "drafts"), lambda e, n: e - n, "emitted − rounds"),
    Rule("survival", ("accepted_at_position", "drafts"), lambda n, d: [c / d for c in n] if d else None,
         "accepted_at_position ÷ rounds"),
    Rule("mean_accepted_per_round", ("accepted_tokens", "drafts"), _over, "accepted ÷ rounds"),
    Rule("mean_drafted_per_round", ("draft_tokens", "drafts"), _over, "drafted ÷ rounds"),
    Rule("draft_acceptance_rate", ("accepted_tokens", "draft_tokens"), _over, "accepted ÷ drafted"),
    Rule("agreement_rate", ("agreed_tokens", "draft_tokens"), _over, "agreed ÷ drafted"),
    Rule("naive_wrong_emitted_per_round", ("agreed_tokens", "drafts"), lambda a, n: 1.0 + a / n if n else None,
         "1 + agreed ÷ rounds"),
)  # fmt: skip

_FROM_CURVES = (
    Rule("survival", ("alpha", "kappa"), _iid, "α^j, i.i.d. assumed"),
    Rule("survival", ("cond_alpha",), survival_of, "α_1·…·α_j"),
    Rule("survival", ("pmf_accepted",), _tails, "Σ_(m≥j) P(A = m)"),
    Rule("survival", ("relative_survival", "mean_accepted_per_round"),
         lambda r, m: [m * x / math.fsum(r) for x in r] if math.fsum(r) else None, "printed·E[A] ÷ Σ printed"),
    Rule("kappa", ("survival",), len, "number of positions"),
    Rule("mean_accepted_per_round", ("survival",), math.fsum, "Σ S_j"),
    Rule("cond_alpha", ("survival",), conditional_of, "S_j ÷ S_(j−1)"),
    Rule("pmf_accepted", ("survival",), _pmf, "S_j − S_(j+1)"),
    Rule("relative_survival", ("survival",), lambda s: [x / s[0] for x in s] if s and s[0] else None, "S_j ÷ S_1"),
    Rule("p_zero_accepted", ("survival",), lambda s: 1.0 - s[0] if s else None, "1 − S_1"),
    Rule("p_full", ("survival",), lambda s: s[-1] if s else None, "S_κ", True),
    Rule("var_accepted", ("survival",), variance_of, "Σ(2j − 1)S_j − (Σ S_j)²"),
    Rule("alpha_examined", ("survival",), lambda s: math.fsum(s) / (1.0 + math.fsum(s[:-1])) if s else None,
         "Σ S_j ÷ (1 + … + S_(κ−1))", True),
    Rule("alpha_examined", ("alpha",), lambda a: a, "α, i.i.d. assumed"),
)  # fmt: skip

_BETWEEN_MEANS = (
    Rule("mean_accepted_per_round", ("mean_emitted_per_round",), lambda e: e - 1.0, "E − 1"),
    Rule("mean_emitted_per_round", ("emitted_tokens", "drafts"), _over, "emitted ÷ rounds"),
    Rule("mean_emitted_per_round", ("mean_accepted_per_round",), lambda a: a + 1.0, "E[A] + 1"),
    Rule("mean_drafted_per_round", ("kappa",), float, "κ, as every draft has κ tokens", True),
    Rule("draft_acceptance_rate", ("mean_accepted_per_round", "mean_drafted_per_round"), _over,
         "E[A] ÷ drafts per round"),
    Rule("mean_accepted_per_round", ("draft_acceptance_rate", "mean_drafted_per_round"), lambda r, k: r * k,
         "rate·drafts per round"),
    Rule("rate_with_bonus", ("mean_emitted_per_round", "mean_drafted_per_round"), lambda e, k: e / (k + 1.0),
         "E ÷ (drafts per round + 1)", True),
    Rule("mean_emitted_per_round", ("rate_with_bonus", "mean_drafted_per_round"), lambda r, k: r * (k + 1.0),
         "rate·(drafts per round + 1)", True),
    Rule("iid_alpha_mle_from_mean", ("mean_accepted_per_round", "kappa"), iid_alpha,
         "E[A] = α + … + α^κ, solved for α", True),
    Rule("p_full", ("mean_accepted_per_round", "alpha_examined"), _full, "1 − E[A](1 − α) ÷ α", True),
)  # fmt: skip

RULES = (*_FROM_COUNTS, *_FROM_CURVES, *_BETWEEN_MEANS)


def follow(given: Mapping[str, Any], same_length: bool) -> dict[str, Derived]:
    """Everything that follows, the given figures included.

    Examples
    --------
    >>> follow({"mean_emitted_per_round": 2.5, "kappa": 3}, same_length=True)["draft_acceptance_rate"]
    Derived(value=0.5, text='E[A] ÷ drafts per round')
    """
    found = {name: Derived(value, "given") for name, value in given.items()}
    rules = [rule for rule in RULES if same_length or not rule.same_length]
    again = True
    while again:
        again = False
        for rule in rules:
            if rule.gives in found or not all(name in found for name in rule.needs):
                continue
            value = rule.how(*(found[name].value for name in rule.needs))
            if value is not None:
                found[rule.gives] = Derived(value, rule.text)
                again = True
    return found


def why_not(name: str, same_length: bool) -> str:
    """What would be needed for a quantity.

    Examples
    --------
    >>> why_not("alpha_examined", same_length=True)
    'follows from survival; or alpha'
    """
    ways = [rule for rule in RULES if rule.gives == name and (same_length or not rule.same_length)]
    if ways:
        return "follows from " + "; or ".join(" and ".join(rule.needs) for rule in ways)
    only = any(rule.gives == name for rule in RULES)
    return "drafts may be shorter than κ here" if only else "follows from nothing else: it is given or not known"
