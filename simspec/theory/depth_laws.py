"""What do schemes make of drafts whose rate depends on their depth alone?  One survival curve says all of one chain.

With S_j = P(first j drafts are kept), the best of G independent n-grams has P(best ≥ j) = 1 − (1 − S_j)^G, and a draft
that stops by what its depth lets it believe has always the same length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.model.schemes import BigLittle, Lookahead, Stop
from simspec.theory.law import FloatArray
from simspec.theory.ranges import check_whole
from simspec.theory.scheme_means import SchemeLaw, by_length

_NEAR = 1e-12


def law_of_curve(curve: Sequence[float] | npt.NDArray[np.floating[Any]]) -> FloatArray:
    """P(A = 0), P(A = 1), … from S_1, S_2, …

    Examples
    --------
    >>> law_of_curve([0.5, 0.25])
    array([0.5 , 0.25, 0.25])
    """
    return np.asarray(-np.diff(np.concatenate(([1.0], curve, [0.0]))), dtype=np.float64)


def stopped_length(scheme: Stop, rates: Sequence[float]) -> int:
    """Drafts of a chain that ends where what it believes falls below θ, where belief follows from the depth alone.

    Examples
    --------
    >>> stopped_length(Stop(theta=0.4), [0.7, 0.7, 0.7, 0.7]), stopped_length(Stop(theta=0.0), [0.7, 0.0])
    (3, 2)
    """
    believed = _believed(scheme, rates)
    return next((drafts for drafts in range(1, len(rates)) if _fails(scheme, believed, drafts)), len(rates))


def _believed(scheme: Stop, rates: Sequence[float]) -> list[float]:
    """What the draft takes for its chances, by depth."""
    if scheme.confidences is None:
        return list(rates)
    if len(scheme.confidences) != 1:
        many = len(scheme.confidences)
        raise ParameterError("confidences", f"confidences has {many} entries; allowed: 1, there is no hidden state")
    return [*scheme.confidences] * len(rates)


def _fails(scheme: Stop, believed: Sequence[float], drafts: int) -> bool:
    """Whether the draft with this number is the one to stop at."""
    if drafts < scheme.kmin:
        return False
    confidence = math.prod(believed[:drafts]) if scheme.rule == "survival" else believed[drafts - 1]
    return confidence < scheme.theta * (1.0 - _NEAR)


def stop_law(scheme: Stop, rates: Sequence[float]) -> SchemeLaw:
    """A draft that stops, by depth.

    Examples
    --------
    >>> law = stop_law(Stop(theta=0.4), [0.7, 0.5, 0.5])
    >>> law.mean_drafted, round(law.mean_accepted, 4)
    (2.0, 1.05)
    >>> stop_law(Stop(theta=0.4, submits=False), [0.7, 0.5, 0.5]).mean_drafted  # the second one is thrown away
    1.0
    """
    made = stopped_length(scheme, rates)
    thrown = bool(made) and not scheme.submits and _fails(scheme, _believed(scheme, rates), made)
    length = made - thrown  # drafts that are verified
    pmf = law_of_curve(np.cumprod(rates[:length]))
    rejected = 1.0 - float(pmf[-1]) if length else 0.0
    return by_length(pmf, float(length), rejected, lambda cost: cost.drafting(made) + cost.target_pass(length))


def lookahead_law(scheme: Lookahead, rates: Sequence[float]) -> SchemeLaw:
    """The best of G independent n-grams, by depth; a step without candidates makes one token at the same cost.

    Examples
    --------
    >>> round(lookahead_law(Lookahead(candidates=7), [0.5] * 4).mean_tokens, 4)  # Fu et al., Eq. (5)
    3.8295
    """
    curve = 1.0 - (1.0 - np.cumprod(rates)) ** scheme.candidates
    pmf = law_of_curve(curve) * scheme.good
    pmf[0] += 1.0 - scheme.good
    width = len(rates) * (scheme.candidates + scheme.window)
    rejected = 1.0 - float(pmf[-1]) if len(rates) else 0.0
    return by_length(pmf, float(width), rejected, lambda cost: cost.target_pass(width))


def big_little_law(scheme: BigLittle, rates: Sequence[float]) -> SchemeLaw:
    """A turn of two models with a chance to be unsure, by depth.

    Examples
    --------
    >>> law = big_little_law(BigLittle(p_fallback=0.2), [0.9, 0.9])
    >>> round(law.mean_drafted, 4), round(law.mean_accepted, 4)
    (1.44, 1.2384)
    """
    if scheme.p_fallback is None:
        raise ParameterError("process", 'thresholds judge tokens; allowed: type = "token_chain", or p_fallback')
    most, unsure = len(rates), scheme.p_fallback
    written = [(1.0 - unsure) ** n * (unsure if n < most else 1.0) for n in range(most + 1)]
    laws = [law_of_curve(np.cumprod(rates[:n])) for n in range(most + 1)]
    pmf = np.zeros(most + 1)
    for share, own in zip(written, laws, strict=True):
        pmf[: own.size] += share * own
    rejected = sum(share * (1.0 - float(own[-1])) for share, own in zip(written, laws, strict=True))
    drafted = sum(share * n for n, share in enumerate(written))

    def unrejected(cost: Cost) -> float:
        turns = (cost.drafting(min(n + 1, most)) + cost.target_pass(n) for n in range(most + 1))
        return sum(share * own for share, own in zip(written, turns, strict=True))

    return by_length(pmf, drafted, rejected, unrejected)


def ahead_drawn(shares: Sequence[float] | FloatArray, alphas: Sequence[float] | FloatArray, kappa: int) -> SchemeLaw:
    """Windows drafted while the one before is judged, each with a rate of its own.

    Only after a rejection is a window drafted alone, and windows are alike, so that happens with the chance of one.

    Examples
    --------
    >>> law = ahead_drawn([1.0], [0.7], 4)
    >>> round(law.mean_tokens, 4), round(law.speedup(Cost(c_d=0.1)), 4)
    (2.533, 1.9425)
    """
    check_whole("kappa", kappa, 1)
    weights, rates = np.asarray(shares, dtype=np.float64), np.asarray(alphas, dtype=np.float64)
    curve = weights @ np.power(rates[:, None], np.arange(1.0, kappa + 1))
    full = float(curve[-1])
    accepted = float(curve.sum())

    def price(cost: Cost) -> float:
        hidden = max(cost.target_pass(kappa), cost.drafting(kappa))
        return (1.0 - full) * (cost.drafting(kappa) + cost.c_r) + hidden

    return SchemeLaw(accepted + 1.0 - full, accepted, float(kappa), 1.0 - full, price)
