"""What can be read off rounds with K drafts per position?  Acceptance by the best plan, beside the formula for it.

Rounds are played draft by draft on the tokens themselves, kept by a plan that is a linear programme; the exact values
are the set formula 1 + min_H [p(H) − q(H)^K] and what follows from it, which know nothing of a plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simspec import theory
from simspec.claims.lab import Lab, Need, Observed
from simspec.claims.scheme_quantity import SchemeSpeed
from simspec.model import Cost, TokenChain
from simspec.model.schemes import Tokens
from simspec.stats.intervals import proportion

Law = tuple[float, ...]
Pair = tuple[Law, Law]


def same_everywhere(pair: Pair) -> TokenChain:
    """Target and draft with the same law behind every token."""
    target, draft = pair
    return TokenChain(target=(target,) * len(target), draft=(draft,) * len(target))


def best_plan(draws: int, kappa: int) -> Tokens:
    """K drafts behind every node of κ levels, kept by the best plan there is."""
    return Tokens(rule="otm", widths=(draws,) * kappa)


def set_formula(pair: Pair, draws: int) -> float:
    """α*_K by token sets."""
    target, draft = pair
    return theory.transport_optimum(target, [draft] * draws).acceptance


@dataclass(frozen=True)
class DraftsKept:
    """Share of positions at which one of K drafts is kept, by the best plan; positions are independent trials."""

    pair: Pair
    draws: int

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need(same_everywhere(self.pair), (1,), scheme=best_plan(self.draws, 1)),)

    def exact(self) -> float:
        return set_formula(self.pair, self.draws)

    def observe(self, lab: Lab, level: float) -> Observed:
        counts = lab.counts(same_everywhere(self.pair), best_plan(self.draws, 1))
        at = counts.kappas.index(1)
        trials = counts.total("n")[at : at + 1]
        share = counts.total("accepted")[at : at + 1] / trials
        low, high = proportion(share, None, trials, int(trials[0]), True, level)
        return Observed(float(share[0]), float(low[0]), float(high[0]), int(trials[0]))


@dataclass(frozen=True)
class FarthestKept:
    """Largest distance, over pairs, of played acceptance from the set formula; 0 if the formula is right."""

    pairs: tuple[Pair, ...]
    draws: int

    @property
    def parts(self) -> Sequence[DraftsKept]:
        """One per pair."""
        return [DraftsKept(pair, self.draws) for pair in self.pairs]

    @property
    def needs(self) -> tuple[Need, ...]:
        return tuple(need for part in self.parts for need in part.needs)

    def exact(self) -> float:
        return 0.0

    def observe(self, lab: Lab, level: float) -> Observed:
        each = 1.0 - (1.0 - level) / len(self.pairs)
        seen = [(part.observe(lab, each), part.exact()) for part in self.parts]
        value = max(abs(own.value - formula) for own, formula in seen)
        low = max(max(own.low - formula, formula - own.high, 0.0) for own, formula in seen)
        high = max(max(own.high - formula, formula - own.low) for own, formula in seen)
        return Observed(value, low, high, min(own.windows for own, _ in seen))


@dataclass(frozen=True)
class DraftsSpeed:
    """Speed-up with K drafts behind every node of κ levels, by the best plan; c_d is paid per level."""

    pair: Pair
    draws: int
    kappa: int
    cost: Cost

    @property
    def played(self) -> SchemeSpeed:
        """The rounds that are priced."""
        return SchemeSpeed(best_plan(self.draws, self.kappa), same_everywhere(self.pair), self.kappa, self.cost)

    @property
    def needs(self) -> tuple[Need, ...]:
        return self.played.needs

    def exact(self) -> float:
        return theory.many_drafts_speedup(set_formula(self.pair, self.draws), self.kappa, 1, self.cost)

    def observe(self, lab: Lab, level: float) -> Observed:
        return self.played.observe(lab, level)


@dataclass(frozen=True)
class ShareBeyond:
    """Share of pairs whose speed-up with K drafts is above 1/(α*_K + β)."""

    pairs: tuple[Pair, ...]
    draws: int
    kappa: int
    cost: Cost

    @property
    def parts(self) -> Sequence[DraftsSpeed]:
        """One per pair."""
        return [DraftsSpeed(pair, self.draws, self.kappa, self.cost) for pair in self.pairs]

    @property
    def needs(self) -> tuple[Need, ...]:
        return tuple(need for part in self.parts for need in part.needs)

    def limits(self) -> list[float]:
        """The article's bound of each pair."""
        return [1.0 / (set_formula(pair, self.draws) + self.cost.c_d) for pair in self.pairs]

    def exact(self) -> float:
        return float(np.mean([part.exact() > limit for part, limit in zip(self.parts, self.limits(), strict=True)]))

    def observe(self, lab: Lab, level: float) -> Observed:
        each = 1.0 - (1.0 - level) / len(self.pairs)
        seen = [(part.observe(lab, each), limit) for part, limit in zip(self.parts, self.limits(), strict=True)]
        value, low, high = (
            float(np.mean([getattr(own, end) > limit for own, limit in seen])) for end in ("value", "low", "high")
        )
        return Observed(value, low, high, min(own.windows for own, _ in seen))
