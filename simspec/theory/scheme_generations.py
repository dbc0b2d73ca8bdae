"""What are the exact means of a scheme over whole generations, whose rates change along the output or between requests?

Rounds move forward from position to position, so one pass counts how often each is met.  A regime may be carried on
from round to round, and over the ends of generations: then the regimes at their starts are a small chain.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.theory.lanes import long_run_law
from simspec.theory.law import FloatArray
from simspec.theory.scheme_means import SchemeLaw

Round = tuple[float, SchemeLaw, int]
"""A chance, what the round is like then, and the regime after it."""


def plain_step() -> SchemeLaw:
    """A round without drafts.

    Examples
    --------
    >>> plain_step().speedup(Cost(c_d=0.1))
    1.0
    """
    return SchemeLaw(1.0, 0.0, 0.0, 0.0, lambda cost: cost.target_pass(0), np.ones(1))


def _pmf(law: SchemeLaw) -> FloatArray:
    if law.pmf_accepted is None:
        raise ParameterError(
            "process.type", "the scheme gives no law of its accepted length, which a generation needs; allowed: iid"
        )
    return law.pmf_accepted


class _Visits:
    """Expected rounds of one generation by law, and the regime it ends in, from a regime it begins in."""

    def __init__(self, along: Sequence[Sequence[Sequence[Round]]], regime: int, regimes: int) -> None:
        n = len(along)
        here = np.zeros((n + 1, regimes))  # the last row collects the ends
        here[0, regime] = 1.0
        self.many: dict[int, tuple[float, SchemeLaw]] = {}
        for i, by_regime in enumerate(along):
            for before, own in enumerate(by_regime):
                for chance, law, after in own:
                    mass = here[i, before] * chance
                    if mass == 0.0:
                        continue
                    known = self.many.get(id(law), (0.0, law))[0]
                    self.many[id(law)] = known + mass, law
                    for accepted, p in enumerate(_pmf(law)):
                        here[min(i + accepted + 1, n), after] += mass * p
        self.ends = here[n]
        self.rounds = sum(many for many, _ in self.many.values())


def generations(
    along: Sequence[Sequence[Sequence[Sequence[Round]]]], shares: Sequence[float], by_rounds: bool = False
) -> SchemeLaw:
    """Means per round over many generations of equal length.

    Parameters
    ----------
    along : nested lists
        ``along[rate][position][regime]``: the rounds there.
    shares : sequence of float
        Shares of generations by rate, or of rounds if ``by_rounds``.

    Examples
    --------
    >>> sure = SchemeLaw(2.0, 1.0, 1.0, 0.0, lambda cost: cost.base(1), np.array([0.0, 1.0]))
    >>> law = generations([[[[(1.0, sure, 0)]]] * 3], [1.0])  # 3 tokens in 2 rounds
    >>> law.mean_tokens, law.mean_accepted
    (1.5, 1.0)
    """
    n, regimes = len(along[0]), len(along[0][0])
    visits = [[_Visits(own, regime, regimes) for regime in range(regimes)] for own in along]
    weights = np.array(shares, dtype=np.float64)
    if by_rounds:  # there is one regime only
        weights = weights / np.array([own[0].rounds for own in visits])
        weights /= weights.sum()
    step = sum(weight * np.array([one.ends for one in own]) for weight, own in zip(weights, visits, strict=True))
    starts = long_run_law(np.asarray(step))
    if starts is None:
        raise ParameterError("scheme", "a regime is never left, so no long-run law exists; allowed: one that changes")
    parts = [
        (weight * start * many, law)
        for weight, own in zip(weights, visits, strict=True)
        for start, one in zip(starts, own, strict=True)
        for many, law in one.many.values()
    ]
    return _per_round(parts, n)


def geometric_requests(
    each: Sequence[Sequence[Sequence[Round]]], shares: Sequence[float], tokens: int, by_rounds: bool
) -> SchemeLaw:
    """Means per round where a request ends after each token with chance 1/tokens, and the next one draws a rate.

    Parameters
    ----------
    each : nested lists
        ``each[rate][regime]``: the rounds there.

    Examples
    --------
    >>> sure = SchemeLaw(2.0, 1.0, 1.0, 0.0, lambda cost: cost.base(1), np.array([0.0, 1.0]))
    >>> round(geometric_requests([[[(1.0, sure, 0)]]], [1.0], 2, False).mean_tokens, 12)  # 1 or 2, alike likely
    1.5
    """
    stays = 1.0 - 1.0 / tokens
    regimes, weights = len(each[0]), np.array(shares, dtype=np.float64)
    if by_rounds:
        weights = weights * np.array([1.0 - _goes_on(own[0][0][1], stays) for own in each])
        weights /= weights.sum()
    size = len(each) * regimes
    step, ends, parts = np.zeros((size, size)), np.zeros(size), list[tuple[int, float, SchemeLaw]]()
    for rate, by_regime in enumerate(each):
        for before, own in enumerate(by_regime):
            here = rate * regimes + before
            for chance, law, after in own:
                on = _goes_on(law, stays)
                step[here, rate * regimes + after] += chance * on
                step[here, after::regimes] += chance * (1.0 - on) * weights
                ends[here] += chance * (1.0 - on)
                parts.append((here, chance, law))
    long_run = long_run_law(step)
    if long_run is None:
        raise ParameterError("scheme", "a regime is never left, so no long-run law exists; allowed: one that changes")
    weighed = [(float(long_run[here]) * chance, law) for here, chance, law in parts]
    per_request = 1.0 / float(long_run @ ends)
    return _per_round([(share * per_request, law) for share, law in weighed], tokens)


def _goes_on(law: SchemeLaw, stays: float) -> float:
    """Chance that a request outlives a round."""
    pmf = _pmf(law)
    return float(pmf @ stays ** np.arange(1.0, pmf.size + 1))


def _per_round(parts: Sequence[tuple[float, SchemeLaw]], tokens: int) -> SchemeLaw:
    """Totals of a generation over its rounds."""
    rounds = float(sum(many for many, _ in parts))

    def mean(name: str) -> float:
        return float(sum(many * getattr(law, name) for many, law in parts)) / rounds

    def price(cost: Cost) -> float:
        return float(sum(many * law.price(cost) for many, law in parts)) / rounds

    return SchemeLaw(tokens / rounds, mean("mean_accepted"), mean("mean_drafted"), mean("p_rejected"), price)
