"""How often does the judge say something false of true claims, if he is allowed to in 5% of all runs?

Played by `simspec.claims.coverage.judged`, which see; other seeds than in results/coverage.
"""

import math
from dataclasses import dataclass

import pytest

from simspec.claims import judge as judging
from simspec.claims import quantity as q
from simspec.claims.coverage import judged as planted
from simspec.claims.coverage.judged import FALSE, LEVEL, NAMED, STAGES, Drawn, refuted, true_claims, wrong
from simspec.claims.judge import judge
from simspec.stats.counts import Counts

SEED, FEW, MOST = 10**6, 100, 21
"""Of 100 seeds, more than 21 false ones have odds of 1e-8 at 5%."""
SEEDS = range(SEED, SEED + FEW)


@pytest.mark.deep
def test_a_judge_at_five_percent_is_wrong_in_no_more():
    """20,000 seeds; four standard errors of 5% are .62%."""
    found = wrong(range(SEED, SEED + 20_000))
    share = sum(found.values()) / 20_000
    print(f"false verdicts in {share:.4f} of 20,000 seeds: {found}")
    assert share <= LEVEL + 4 * math.sqrt(LEVEL * (1 - LEVEL) / 20_000)


def test_few_seeds_do_not_contradict_it():
    assert sum(wrong(SEEDS).values()) <= MOST


def test_false_claims_are_refuted():
    """Those of 1% too much, at 2²⁰ windows at last; the rest is doubted for other reasons, rarely."""
    assert all(sum(own.values()) > 0.9 * FEW for own in refuted(SEEDS).values())


def test_looks_and_claims_that_share_nothing_would_be_seen():
    """Every claim at 5% at every stage: half of the seeds are wrong somewhere."""
    assert sum(wrong(SEEDS, LEVEL * len(NAMED) * len(STAGES)).values()) > MOST


def test_one_quantity_a_little_off_would_be_seen(monkeypatch):
    """An engine that gives half a percent too much."""
    name = next(iter(NAMED))
    monkeypatch.setitem(planted.NAMED, name, Off(NAMED[name]))
    assert sum(wrong(SEEDS).values()) > MOST


@dataclass(frozen=True)
class Off:
    """A quantity whose exact value is another than what is played."""

    own: q.Quantity

    @property
    def needs(self):
        return self.own.needs

    def exact(self):
        return 1.005 * self.own.exact()

    def observe(self, lab, level):
        return self.own.observe(lab, level)


@dataclass(frozen=True)
class Unknown(Off):
    """A quantity without an exact route: then the claim itself is refuted, not the engine doubted."""

    def exact(self):
        return float("nan")


def test_without_an_exact_route_the_same_claims_are_called_false_on_one_side():
    """An interval beside the truth: the engine is doubted on both sides, a claim "at least" refuted on one."""
    both = one = 0
    for seed in SEEDS:
        claims = true_claims()
        blind = [judging.Claim(own.id, "0", "planted", "", own.says, Unknown(own.quantity), "") for own in claims]
        seen = {own.claim.id for own in judge(claims, Drawn(seed), STAGES, LEVEL) if own.verdict in FALSE}
        refuted = {own.claim.id for own in judge(blind, Drawn(seed), STAGES, LEVEL) if own.verdict == "refuted"}
        assert refuted <= seen
        both, one = both + len(seen), one + len(refuted)
    assert 0 < one < both


def test_a_larger_budget_contains_the_smaller_one():
    """As where windows are played; two budgets drawn from the same words would be off in the same direction."""
    lab, claims = Drawn(SEED), true_claims()
    before: dict[str, Counts] = {}
    for windows in STAGES[:3]:
        lab.simulate((need for claim in claims for need in claim.quantity.needs), windows)
        for claim in claims:
            own = lab.counts(claim.quantity.process)
            assert own.units == windows
            if claim.id in before:
                assert (own.weight >= before[claim.id].weight).all()
            before[claim.id] = own
