"""What can be read off tokens drawn from real laws?  Acceptance, the law of accepted and emitted tokens, and κ*."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simspec import theory
from simspec.claims.lab import Lab, Observed, TokenNeed
from simspec.claims.quantity import exact_best
from simspec.kernels.sampling import KINDS
from simspec.kernels.tally import fold
from simspec.model import Cost, Iid
from simspec.model.pairs import TokenPair
from simspec.run.pairs import laws_of
from simspec.stats.counts import Counts
from simspec.stats.intervals import proportion, student
from simspec.stats.point import best_kappa, speedups

KAPPA = 4
"""Draft length at which tokens are looked at; no token's law depends on it."""


def alpha_of(pair: TokenPair) -> float:
    """Exact acceptance rate of one examined draft."""
    target, draft = (law[0] for law in laws_of(pair))
    return theory.overlap(target, draft).alpha


@dataclass(frozen=True)
class TokenAlpha:
    """Chance that an examined draft token is accepted, Σ min(p, q); observed as accepted over examined."""

    pair: TokenPair
    kappa: int = KAPPA

    @property
    def needs(self) -> tuple[TokenNeed, ...]:
        return (TokenNeed.of(self.pair, self.kappa),)

    def exact(self) -> float:
        return alpha_of(self.pair)

    def observe(self, lab: Lab, level: float) -> Observed:
        found = lab.sampled(self.needs[0])
        seen = found.alpha
        assert seen is not None  # drafts were made, and each was judged
        return Observed.around(seen.value, student(level, len(found.accepted)) * seen.error, found.rounds)


@dataclass(frozen=True)
class TokenMeanAccepted:
    """E[A] of real tokens under a rule."""

    pair: TokenPair
    kappa: int = KAPPA
    rule: str = "token"

    @property
    def needs(self) -> tuple[TokenNeed, ...]:
        return (TokenNeed.of(self.pair, self.kappa, self.rule),)

    def exact(self) -> float:
        if self.rule == "token":
            return theory.window(Iid(alpha=alpha_of(self.pair)), self.kappa).mean_accepted
        target, draft = (law[0] for law in laws_of(self.pair))
        return theory.block_verification(target, draft, self.kappa).mean_accepted

    def observe(self, lab: Lab, level: float) -> Observed:
        found = lab.sampled(self.needs[0])
        seen = found.mean_accepted
        return Observed.around(seen.value, student(level, len(found.accepted)) * seen.error, found.rounds)


@dataclass(frozen=True)
class TokenShare:
    """Share of one token among those of a kind: ``"accepted"``, ``"corrected"``, ``"bonus"``, or all ``"emitted"``."""

    pair: TokenPair
    token: int
    kind: str = "emitted"

    @property
    def needs(self) -> tuple[TokenNeed, ...]:
        return (TokenNeed.of(self.pair, KAPPA),)

    def exact(self) -> float:
        target, draft = (law[0] for law in laws_of(self.pair))
        both = theory.overlap(target, draft)
        laws = {"accepted": both.accepted_law, "corrected": both.residual_law}
        law = laws.get(self.kind, target)
        return float(law[self.token]) if law is not None else math.nan

    def observe(self, lab: Lab, level: float) -> Observed:
        found = lab.sampled(self.needs[0])
        counts = (found.emitted if self.kind == "emitted" else found.tokens[KINDS.index(self.kind)])[0]
        many = counts.sum(keepdims=True)
        share = counts[self.token] / many
        low, high = proportion(share, None, many, int(many[0]), True, level)
        return Observed(float(share[0]), float(low[0]), float(high[0]), found.rounds)


@dataclass(frozen=True)
class TokenBestKappa:
    """κ* of real tokens under the token rule, from one run at the longest κ; observed as those not to be told apart."""

    pair: TokenPair
    cost: Cost
    kappas: tuple[int, ...]

    @property
    def needs(self) -> tuple[TokenNeed, ...]:
        return (TokenNeed.of(self.pair, max(self.kappas)),)

    def exact(self) -> float:
        return float(exact_best(Iid(alpha=alpha_of(self.pair)), self.cost, self.kappas))

    def observe(self, lab: Lab, level: float) -> Observed:
        found = lab.sampled(self.needs[0])
        tallies = [fold(found.accepted, kappa) for kappa in self.kappas]
        speed = speedups(Counts.of(tallies, fresh=True), self.cost)
        best = best_kappa(self.kappas, speed, np.zeros(len(self.kappas)), level)
        kept = np.array(self.kappas)[best["indistinguishable"]]
        return Observed(float(best["kappa_star"]), float(kept.min()), float(kept.max()), found.rounds)
