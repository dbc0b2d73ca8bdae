"""What rows say of a policy: κ over rounds, shares, losses and tails, held against all histories and exact optima."""

import math

import numpy as np
import pytest

import simspec
from simspec import theory
from simspec.kernels import play
from simspec.kernels.lower_policies import policy_form
from simspec.kernels.words import LANES
from simspec.model import Cost, Drift, Iid, Simulation
from simspec.model.policies import Heuristic, Rolling, Schedule
from simspec.run.engine import Job, run_jobs, steered_form_of
from simspec.run.policy_columns import best_known
from simspec.stats.counts import Counts
from simspec.stats.intervals import ratio, student

COST = Cost(c_d=0.1, c_v=0.02, c_r=0.3)
FALLS = Drift(alpha_start=0.95, alpha_end=0.3, tokens=10)
HF = Heuristic(first=3, lowest=0, highest=7, down=2)
BOUND = 7.0
"""Student's t with over 500 degrees of freedom exceeds it with probability below 1e-11; ten figures: 1e-10."""


def heuristic(rounds):
    kappa = 3
    for drafted, accepted in rounds:
        kappa = min(7, kappa + 2) if accepted == drafted else max(0, kappa - 2)
    return kappa


def asked(rule, history):
    return [rule(history[:r]) for r in range(len(history))]


def tally_of(policy, process, windows=200_000):
    job = Job(Simulation(process, policy=policy), (policy.longest,), windows, 5)
    ((_, (tally,)),) = run_jobs([job])
    return tally


def off_by(tally, law, rule):
    """Largest distance of the share of rounds that ask for a κ from the exact one, in errors over lanes."""
    worst = 0.0
    for kappa in range(8):
        exact = law.mean(lambda history, k=kappa: asked(rule, history).count(k)) / law.mean_rounds
        seen = ratio(tally.asked[None, :, kappa], tally.column("n")[None])
        gap = abs(float(seen.value[0]) - exact)
        worst = max(worst, gap / float(seen.error[0]) if seen.error[0] > 1e-9 else math.inf if gap > 1e-9 else 0.0)
    return worst


def test_kappa_is_counted_as_it_was_asked_for():
    """On ten tokens one round in three has its draft cut: κ asked for is exact, and drafts made are not κ."""
    law, tally = theory.enumerate_policy(FALLS, heuristic, COST), tally_of(HF, FALLS)
    assert off_by(tally, law, heuristic) < BOUND
    assert off_by(tally, law, lambda rounds: max(0, heuristic(rounds) - (len(rounds) == 3))) > BOUND  # planted
    cut = {"asked": tally.made, "sums": tally.sums}
    assert off_by(type(tally)(7, cut["sums"], tally.histogram, asked=cut["asked"]), law, heuristic) > BOUND


def test_columns_of_kappa_are_their_means():
    law = theory.enumerate_policy(FALLS, heuristic, COST)
    row = simspec.simulate(FALLS, COST, windows=200_000, policy=HF).to_pandas().iloc[0]
    moments = [
        law.mean(lambda h, p=power: sum(k**p for k in asked(heuristic, h))) / law.mean_rounds for power in (1, 2)
    ]
    error = (row.mean_kappa_high - row.mean_kappa_low) / 2 / 1.96
    assert abs(row.mean_kappa - moments[0]) < BOUND * error
    assert error < 0.01
    tally = tally_of(HF, FALLS)
    seen = ratio((tally.asked @ np.arange(8))[None], tally.column("n")[None])
    own = simspec.simulate(FALLS, COST, windows=200_000, policy=HF, seed=5).to_pandas().iloc[0]
    half = student(0.95, len(tally.sums)) * float(seen.error[0])
    assert (own.mean_kappa_low, own.mean_kappa_high) == pytest.approx((own.mean_kappa - half, own.mean_kappa + half))
    assert row.sd_kappa == pytest.approx(math.sqrt(moments[1] - moments[0] ** 2), abs=0.02)
    assert row.share_off == pytest.approx(law.mean(lambda h: asked(heuristic, h).count(0)) / law.mean_rounds, abs=0.005)
    assert row.wakes_per_1000 == pytest.approx(1000 * law.mean_wakes / law.mean_rounds, abs=5)


def test_an_interval_of_kappa_ends_where_kappa_does():
    """Hardly any rejection: κ is 7 but for a few rounds, and the error of its mean reaches beyond."""
    policy = Heuristic(first=7, lowest=0, highest=7)
    row = simspec.simulate(Iid(alpha=0.9998), COST, windows=2_000, policy=policy).to_pandas().iloc[0]
    assert row.mean_kappa_low < row.mean_kappa < row.mean_kappa_high == 7.0


def test_losses_are_held_against_exact_optima():
    process = Drift(alpha_start=0.9, alpha_end=0.5, tokens=64)
    row = simspec.simulate(process, COST, windows=50_000, policy="heuristic").to_pandas().iloc[0]
    best = max(theory.generation(process, kappa, COST).speedup for kappa in range(20))
    assert (row.best_fixed, row.best_schedule) == pytest.approx((best, theory.optimal_plan(process, COST, 20).speedup))
    assert theory.generation(process, int(row.kappa_fixed), COST).speedup == pytest.approx(best)
    assert row.loss_fixed == pytest.approx(1 - row.speedup / best)
    assert (row.loss_fixed_low, row.loss_schedule_high) == pytest.approx(
        (1 - row.speedup_high / best, 1 - row.speedup_low / row.best_schedule)
    )
    still = simspec.simulate(process, COST, windows=50_000, policy=Schedule(kappas=(int(row.kappa_fixed),))).to_pandas()
    assert still.share_best[0] == 1.0
    assert still.sd_kappa[0] == 0.0
    assert abs(still.loss_fixed[0]) < BOUND * (still.loss_fixed_high[0] - still.loss_fixed_low[0]) / 2 / 1.96


def test_a_planned_share_and_loss_of_probing():
    """κ is 3, the best, or 8: share, mean and spread follow from each other."""
    flip = Rolling(first=3, highest=8, rule="table", cuts=(0.4,), kappas=(8, 3), smoothing=0.7, initial=0.6)
    row = simspec.simulate(Iid(alpha=0.6), {"c_d": 0.1}, windows=200_000, policy=flip).to_pandas().iloc[0]
    assert row.kappa_fixed == 3
    speeds = [theory.speedup(Iid(alpha=0.6), kappa, Cost(c_d=0.1)) for kappa in (3, 8)]
    assert 0.0 < row.share_best < 1.0
    assert speeds[1] < row.speedup < speeds[0] == row.best_fixed
    assert np.isnan(row.best_schedule)
    share = row.share_best
    assert row.mean_kappa == pytest.approx(3 * share + 8 * (1 - share))
    assert row.sd_kappa == pytest.approx(5 * math.sqrt(share * (1 - share)))


def test_what_is_fixed_has_no_loss_but_a_kappa():
    frame = simspec.simulate(Iid(alpha=0.6), COST, kappa=[0, 3], windows=5_000).to_pandas()
    assert frame.mean_kappa.tolist() == frame.mean_kappa_low.tolist() == [0.0, 3.0]
    assert frame.share_off.tolist() == [1.0, 0.0]
    assert frame[["loss_fixed", "best_fixed", "share_best", "kappa_fixed", "best_schedule"]].isna().all(axis=None)
    tree = simspec.simulate(Iid(alpha=0.6), COST, windows=5_000, scheme={"type": "tree", "misses": [0.4]}).to_pandas()
    assert tree.mean_kappa.isna().all()


def test_where_no_exact_speed_is_known_there_is_none():
    assert np.isnan(best_known(Drift(alpha_start=0.9, alpha_end=0.5, tokens=20_001), COST)).all()
    curve = simspec.Survival(survival=[0.8, 0.5])
    assert best_known(curve, COST)[0] == 2.0
    assert best_known(Iid(alpha=0.9), Cost(draft_table=[0.0, 0.1, 0.2]))[0] == 2.0


def quantile(values, shares, level):
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(np.asarray(shares)[order])
    return np.asarray(values)[order][np.searchsorted(reached, level * reached[-1] - 1e-9)]


def test_tails_of_rounds_are_those_of_the_exact_law():
    """Each round at its own price, by drafts made and rejection: not at that of the longest draft."""
    law = theory.enumerate_policy(FALLS, heuristic, COST)
    row = simspec.simulate(FALLS, COST, windows=400_000, policy=HF).to_pandas().iloc[0]
    cells = np.argwhere(law.expected_counts > 0)
    shares = [law.expected_counts[d, a] for d, a in cells]
    price, tokens = [COST.of_round(d, a < d) for d, a in cells], [a + 1 for _, a in cells]
    each = [p / t for p, t in zip(price, tokens, strict=True)]
    for name, values, levels in (
        ("round_cost", price, (50, 95, 99)), ("round_token_cost", each, (50, 99)), ("tokens", tokens, (5, 50, 95)),
    ):  # fmt: skip
        for level in levels:
            near = {float(quantile(values, shares, level / 100 + step)) for step in (-0.002, 0.002)}
            assert len(near) == 1  # the law has no jump there: chance cannot move it
            assert row[f"{name}_p{level:02d}"] == pytest.approx(near.pop())
    assert row.round_cost_p50 < COST.of_round(7, True)


def test_units_pay_for_their_own_rounds_by_tables():
    """Prices that jump: a lane's cost is that of its rounds, not a share of all costs."""
    tables = Cost(
        verify_table=[1.0, 1.0, 1.0, 1.0, 1.0, 2.5, 2.5, 2.5], draft_table=[0.1 * k for k in range(8)], c_r=0.2
    )
    job = Job(Simulation(FALLS, policy=HF), (7,), 1, 5)
    form, first = policy_form(HF)
    rows = steered_form_of(FALLS, 7)
    counts = play.counts_at(rows, job.keys, 0, np.array([3]), first, form).counts[0]
    tally = play.play(rows, job.keys, 0, LANES, 3, first, form)
    price = np.array([[tables.of_round(d, a < d) for a in range(8)] for d in range(8)])
    by_hand = (counts * price).sum(axis=(1, 2))
    assert Counts.of([tally], fresh=False).cost_by_unit(tables)[0] == pytest.approx(by_hand)
    assert by_hand.std() > 0.5
