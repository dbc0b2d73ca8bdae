"""Claims about loops are played as well: the engine's table of an estimate is the rule's, and a wrong one is seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simspec import theory
from simspec.claims import control, guides_in_loop, loops
from simspec.claims.claim import Claim, above, below
from simspec.claims.judge import judge
from simspec.claims.lab import Lab
from simspec.claims.loops import ARTICLE, CODED, GUARDED, LOWERED_ONCE, PLUG_IN, shortened
from simspec.claims.policy_quantity import Against, RegretSlope
from simspec.claims.setup import STANDARD, USUAL
from simspec.kernels.lower_policies import rolling_table
from simspec.model import Iid, Markov, ParameterError
from simspec.model.policies import Rolling, Schedule
from simspec.stats.intervals import student
from simspec.stats.point import speedups
from simspec.theory import article

LOOPS = {
    "plug in": PLUG_IN,
    "guarded": GUARDED,
    "lowered once": LOWERED_ONCE,
    "coded": CODED,
    "article": ARTICLE,
    "one less": shortened(1),
    "two less": shortened(2),
}


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("beta", [0.05, 0.1, 0.2])
def test_rule_and_policy_draft_the_same_at_every_estimate(name, beta):
    """Two programs, one sentence: 4,001 estimates but for those at a cut, where two lengths are equally good."""
    if "less" in name and beta != STANDARD.c_d:
        return  # a table of the standard cost
    loop, policy = LOOPS[name], LOOPS[name].policy(0.7, beta=beta)
    cuts, lengths = rolling_table(policy)
    estimates = np.linspace(0.0, 1.0, 4001)
    far = np.abs(estimates[:, None] - np.array(cuts)).min(axis=1) > 1e-5  # prices are whole ticks of 2^-20
    engine = np.array(lengths)[np.searchsorted(cuts, estimates, side="right")]
    assert engine[far].tolist() == loop.rule(beta)(estimates)[far].tolist()


def test_the_guard_lowers_as_the_article_says():
    at = np.array([0.5, 0.7, 0.8, 0.95])
    free, held, once = (loop.rule()(at).tolist() for loop in (PLUG_IN, GUARDED, LOWERED_ONCE))
    assert held == [article.guard_settles_at(e, k) for e, k in zip(at.tolist(), free, strict=True)]
    assert once == [k - (k > 1 and article.guard_fires(e, k)) for e, k in zip(at.tolist(), free, strict=True)]


def test_the_drop_of_guide_2_is_one():
    rates = guides_in_loop.DROP.rates()
    assert (len(rates), rates[511:513], rates[0], rates[-1]) == (1024, [0.85, 0.6], 0.85, 0.6)


def row(quantity):
    return Claim("C0", "0", "a reading", "a statement.", above(0.0), quantity, "so.")


def test_a_loop_that_the_engine_plays_otherwise_is_a_disagreement():
    """λ = .8 in place of .85, and a guard at .3 in place of .25: 2¹⁹ rounds show it."""
    level = Iid(alpha=0.7)
    for loop, keys in ((PLUG_IN, {"smoothing": 0.8}), (GUARDED, {"guard": 0.3})):
        own = loop.steady_speed(level)
        wrong = replace(own, policy=own.policy.model_copy(update=keys))
        found = judge([row(own), row(wrong)], Lab(5), (2**19,))
        assert [verdict.verdict for verdict in found] == ["supported", "engine-disagreement"]


def test_against_turns_an_interval_round():
    own = PLUG_IN.steady_speed(Iid(alpha=0.7))
    lab = Lab(3)
    lab.simulate(own.needs, 2**16)
    seen, share, gap = (each.observe(lab, 0.99) for each in (own, Against(own, 2.0, share=True), Against(own, 2.0)))
    speed = speedups(lab.counts(own.process, policy=own.policy), own.cost)
    lanes = lab.counts(own.process, policy=own.policy).units
    assert seen.high - seen.value == pytest.approx(student(0.99, lanes) * speed.error[0] + own.off)
    assert own.off == 3e-4  # of the grid of estimates
    assert (share.low, share.high) == pytest.approx((1 - seen.high / 2, 1 - seen.low / 2))
    assert (gap.low, gap.value, gap.high) == pytest.approx((seen.low - 2, seen.value - 2, seen.high - 2))
    assert share.low < share.value < share.high
    assert share.windows == seen.windows >= 2**16


def test_a_slope_is_as_wide_as_asked_for():
    own, lab = RegretSlope(Iid(alpha=0.7), PLUG_IN.policy(0.7), STANDARD, (10, 100)), Lab(3)
    lab.simulate(own.needs, 2**10)
    curve = lab.regret(own.needs[0])
    for level in (0.5, 0.99):
        seen = own.observe(lab, level)
        assert seen.value == curve.slope
        assert seen.high - seen.value == pytest.approx(curve.slope_half(level))
    assert seen.windows == curve.against["fixed"].by_lane.shape[1] * 100 >= 6400


@pytest.mark.parametrize(
    ("chain", "planted"),
    [
        (Markov(alpha=0.7, rho=0.3), {"start": "carry"}),
        (Markov(alpha=0.7, rho=0.3, start="carry"), {"steps_after_full": 2}),
        (Markov(alpha=0.7, rho=-0.3, start="carry", steps_after_reject=2), {"steps_after_reject": 1}),
    ],
    ids=["fresh", "carried", "two steps after a rejection"],
)
def test_the_long_run_on_a_chain_is_that_of_the_engine(chain, planted):
    """2²⁰ rounds, false alarm 1e-8 each; a chain with another boundary is seen."""
    own, lab = PLUG_IN.steady_speed(chain), Lab(11)
    lab.simulate(own.needs, 2**20)
    seen = own.observe(lab, 1 - 1e-8)
    other = loops.steady_truth(PLUG_IN, chain.model_copy(update=planted))
    assert seen.low <= own.exact() <= seen.high
    assert not seen.low <= other <= seen.high


def test_a_chain_without_correlation_is_none():
    free = theory.controller_long_run(0.7, PLUG_IN.rule(), STANDARD, 0.85, 513)
    for start in ("carry", "stationary"):
        own = theory.controller_long_run(Markov(alpha=0.7, rho=0.0, start=start), PLUG_IN.rule(), STANDARD, 0.85, 513)
        assert own.speedup == pytest.approx(free.speedup, rel=1e-12)
    with pytest.raises(ParameterError):
        theory.controller_long_run(Markov(alpha=1.0, rho=0.0), PLUG_IN.rule(), STANDARD, 0.85, 513)


def test_every_row_that_can_be_played_is():
    """Of C44, C50–C52, C54 and C56 in the loop, all but formulas on the estimate itself and shares of lengths."""
    for claim in (*control.claims(), *guides_in_loop.claims()):
        if "loop" in claim.reading or "controller" in claim.reading:
            assert claim.quantity.needs or "share of kappa" in claim.reading, claim.reading


def test_a_slope_of_regret_is_judged_by_simulation_alone():
    """κ = 7 throughout loses the same every round, so its slope is 1; the row says that there is no exact value."""
    own = RegretSlope(USUAL, Schedule(kappas=(7,)), STANDARD, (100, 1000))
    lab = Lab(3)
    (found,) = judge([replace(row(own), says=below(0.6))], lab, (2**10, 2**12))
    assert (found.verdict, found.route) == ("refuted", "simulation")
    told = found.to_dict()
    assert told["exact"] is None
    assert told["observed"] == pytest.approx(1.0, abs=1e-9)
    assert told["windows"] == 64 * 1000


def test_a_larger_budget_plays_more_lanes_of_the_same_length():
    own = RegretSlope(USUAL, Rolling(highest=8).told((STANDARD,)), STANDARD, (10, 100))
    lab = Lab(3)
    widths = []
    for windows in (1, 2**13, 2**15):
        lab.simulate(own.needs, windows)
        seen = own.observe(lab, 0.99)
        widths.append((seen.windows, seen.high - seen.low))
    assert [windows for windows, _ in widths] == [6400, 6400, 32_000]
    assert widths[0] == widths[1]
    assert widths[2][1] < widths[0][1]
