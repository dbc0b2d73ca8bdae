"""Regret over time: counts at marks against the twin, and losses that are known exactly."""

import numpy as np
import pytest

from simspec import theory
from simspec.kernels import lower, play, twin
from simspec.kernels.lower_policies import policy_form
from simspec.kernels.words import stream_keys
from simspec.model import BetaMixture, Cost, DiscreteMixture, Drift, Iid, Markov, ParameterError, Trace
from simspec.model.policies import Exp3, Heuristic, Rolling, Schedule, Ucb
from simspec.run.comparators import comparators, fixed_speedups
from simspec.run.engine import form_of
from simspec.run.regret import crossover, regret
from simspec.stats.controlled import controlled
from simspec.stats.intervals import ratio

COST = Cost(c_d=0.1)
MIX = DiscreteMixture(alphas=(0.91, 0.49), weights=(0.5, 0.5), weights_of="requests", request_tokens=40)
FALLS = Drift(alpha_start=0.9, alpha_end=0.4, tokens=60)
DENSE = Trace(
    path="shipped:smollm2", alpha="alpha", request="request", where={"draft": "tl24", "temperature": 1.0}
)  # fmt: skip


def test_a_control_without_chance_changes_nothing():
    """Rounding alone is no chance: dividing by its square would make noise of it."""
    chance = np.array([[0.3, -0.1, 0.2, 0.5]])
    own, still = (ratio(values, np.ones((1, 4))) for values in (chance, 1e-16 * chance[:, ::-1]))
    found = controlled(own, still, 0.0)
    assert (found.value, found.error) == (own.value, own.error)


@pytest.mark.parametrize("policy", [Rolling(cost=COST, highest=6), Ucb(first=1, cost=COST), Exp3(cost=COST)], ids=str)
def test_counts_at_marks_are_those_of_the_twin(policy):
    form, first = policy_form(policy)
    rows, keys, marks = (
        lower.form(Markov(alpha=0.7, rho=0.2, start="carry"), form.highest),
        stream_keys(2, "m"),
        [1, 7, 40],
    )
    fast, slow = (player.counts_at(rows, keys, 1, np.array(marks), first, form) for player in (play, twin))
    for one, other in zip(fast, slow, strict=True):
        assert (one == other).all()
    assert fast.counts.sum(axis=(2, 3)).tolist() == [[n] * 64 for n in marks]


@pytest.mark.parametrize(
    "process",
    [MIX, MIX.model_copy(update={"request_law": "geometric"}), MIX.model_copy(update={"truncate": False}), FALLS,
     BetaMixture(alpha=0.7, rho=0.2, request_tokens=30), DENSE],
    ids=lambda own: own.type,
)  # fmt: skip
def test_counts_at_requests_are_those_of_the_twin_and_of_shorter_runs(process):
    """A lane is noted where its request ends, whatever the others do; flips and discarded tokens too."""
    form, first = policy_form(Heuristic(highest=6, keeps=True))
    rows, keys, marks = form_of(process, form.highest), stream_keys(2, "m"), np.array([1, 3])
    lanes = 3 if process is DENSE else 5
    fast, slow = (player.counts_at(rows, keys, 0, marks, first, form, lanes) for player in (play, twin))
    for one, other in zip(fast, slow, strict=True):
        assert (one == other).all()
    for mark, requests in enumerate(marks.tolist()):
        tally = play.play(rows, keys, 0, lanes, requests, first, form)
        assert (fast.counts[mark].sum(axis=0) == tally.histogram).all()
        assert (fast.flips[mark] == tally.flips).all()
        assert (fast.wakes[mark] == tally.wakes).all()
        made = tally.column("accepted") + tally.column("n") - tally.column("tokens")
        assert (fast.discarded[mark] == made).all()


def test_regret_along_requests_is_the_loss_per_request():
    """κ = 8 loses N(1/S_8 − 1/S*) per request, against every comparator; six errors of 256 lanes, 1e-8 together."""
    for process, tokens in ((MIX, 40), (FALLS, 60)):
        curve = regret(process, Schedule(kappas=(8,)), COST, [1, 4, 64], chunks=4)
        assert curve.unit == "requests"
        assert (curve.tokens == tokens * curve.marks).all()
        own = theory.speedup(process, 8, COST)
        assert len(curve.against) == 2
        for held in curve.against.values():
            lost = tokens * (1.0 / own - 1.0 / held.comparator.speedup)
            assert lost > 1.0
            assert (np.abs(held.mean - lost * curve.marks) < 6 * held.half / 1.96).all()
            assert (np.abs(held.mean - 1.1 * lost * curve.marks) > 6 * held.half / 1.96)[-1]


def test_tokens_behind_the_end_of_a_request_are_none():
    """Drafts are not cut and what they emit beyond the end is discarded; lengths may be random.  Six errors."""
    for law in ("fixed", "geometric"):
        process = MIX.model_copy(update={"truncate": False, "request_law": law})
        curve = regret(process, Schedule(kappas=(8,)), COST, [64], chunks=4)
        lost = curve.tokens[0] * (1.0 / theory.speedup(process, 8, COST) - 1.0 / curve.best_fixed)
        assert abs(curve.mean[0] - lost) < 6 * curve.half[0] / 1.96
        assert lost > 20 * curve.half[0]
        assert (curve.tokens[0] == 40 * 64) == (law == "fixed")


def test_the_plan_has_no_regret_against_itself():
    plan = Schedule(kappas=tuple(theory.optimal_plan(FALLS, COST, 8).kappas.tolist()))
    found = regret(FALLS, plan, COST, [64], chunks=2).against
    assert abs(found["schedule"].mean[0]) < 6 * found["schedule"].half[0] / 1.96
    assert found["fixed"].mean[0] < -6 * found["fixed"].half[0] / 1.96


def test_who_knows_the_rate_is_ahead_by_what_brute_force_says():
    """Windows: all pairs of κ; requests: each class at its best κ."""
    windows = DiscreteMixture(alphas=(0.95, 0.3), weights=(0.6, 0.4))
    cost = Cost(c_d=0.07, c_r=0.2)

    def window(alpha, kappa):
        tokens = sum(alpha**j for j in range(kappa + 1))
        return np.array([tokens, cost.base(kappa) + cost.c_r * (1 - alpha**kappa)])

    pairs = [0.6 * window(0.95, one) + 0.4 * window(0.3, two) for one in range(9) for two in range(9)]
    best = max(tokens / spent for tokens, spent in pairs)
    assert theory.informed_speedup(windows, cost, 8) == pytest.approx(best, rel=1e-12)

    def flat(alpha):
        own = Drift(alpha_start=alpha, alpha_end=alpha, tokens=40)
        return max(theory.speedup(own, kappa, COST) for kappa in range(9))

    each = [flat(alpha) for alpha in MIX.alphas]
    assert theory.informed_speedup(MIX, COST, 8) == pytest.approx(2 / sum(1 / own for own in each), rel=1e-9)
    assert theory.informed_speedup(FALLS, COST, 8) <= theory.optimal_plan(FALLS, COST, 8).speedup
    sure = BetaMixture(alpha=0.7, rho=0.0, request_tokens=40)
    assert theory.informed_speedup(sure, COST, 8) == pytest.approx(theory.optimum(sure, COST, 8).best_speedup)
    wide = BetaMixture(alpha=0.7, rho=1.0, request_tokens=40)
    assert theory.informed_speedup(wide, COST, 8) == pytest.approx(1 / (0.3 / flat(0.0) + 0.7 / flat(1.0)))
    for process in (Iid(alpha=0.5), MIX.model_copy(update={"weights_of": "rounds"})):
        with pytest.raises(ParameterError) as error:
            theory.informed_speedup(process, COST, 8)
        assert error.value.key == "process"


def test_exact_speeds_of_a_replayed_trace_are_those_it_plays_at():
    """72 requests replayed 8 times; their own differences are taken off by the best fixed κ, which is exact."""
    speeds = fixed_speedups(DENSE, COST, 8)
    held = comparators(DENSE, COST, 8)
    assert held["fixed"].speedup == speeds.max()
    assert held["schedule"].speedup > held["fixed"].speedup
    curve = regret(DENSE, Schedule(kappas=(8,)), COST, [8])
    lost = curve.tokens[0] * (1 / speeds[8] - 1 / held["fixed"].speedup)
    assert lost > 6 * curve.half[0]
    assert abs(curve.mean[0] - lost) < 6 * curve.half[0] / 1.96


def test_regret_of_a_fixed_length_is_its_loss():
    """κ = 7 loses the same every round: without noise for independent windows, else within six errors of 256 lanes."""
    for process in (Iid(alpha=0.7), Markov(alpha=0.7, rho=0.3, start="carry")):
        curve = regret(process, Schedule(kappas=(7,)), COST, [10, 100, 1000], chunks=4)
        law, best = theory.window(process, 7), theory.optimum(process, COST, 7).best_speedup
        lost = COST.base(7) - law.mean_tokens / best
        assert (np.abs(curve.mean - lost * curve.rounds) <= 6 * curve.half / 1.96 + 1e-9).all()
        assert curve.slope == pytest.approx(1.0, abs=0.1)


def test_regret_of_the_rolling_estimate_is_linear_and_that_of_a_bandit_is_not():
    """The loss per token of λ = .85 is that of the exact chain of estimates (six errors)."""
    marks = [100, 300, 1000, 3000, 10_000, 30_000]
    rolling, bandit = (regret(Iid(alpha=0.7), own, COST, marks) for own in (Rolling(highest=20), Ucb(first=1)))
    exact = theory.controller_long_run(0.7, lambda e: theory.plug_in_kappas(e, COST), COST, 0.85, points=1025)
    lost = exact.mean_cost - exact.mean_tokens / rolling.best_fixed
    grown = rolling.mean[-1] - rolling.mean[-2]
    assert abs(grown - 20_000 * lost) < 6 * rolling.half[-1] / 1.96
    assert rolling.slope == pytest.approx(1.0, abs=0.02)
    assert bandit.slope < 0.85
    assert crossover(bandit, rolling) == 30_000 or bandit.mean[-1] < rolling.mean[-1]
    assert crossover(rolling, bandit) is None or crossover(rolling, bandit) < 30_000


@pytest.mark.parametrize(
    ("process", "marks", "key"),
    [
        (Iid(alpha=0.7), [], "marks"),
        (Iid(alpha=0.7), [5, 5], "marks"),
        (Iid(alpha=0.7), [0, 5], "marks"),
        (Drift(alpha_start=0.8, alpha_end=0.7, tokens=9), [], "marks"),
    ],
)
def test_what_regret_refuses(process, marks, key):
    with pytest.raises(ParameterError) as error:
        regret(process, Rolling(), COST, marks)
    assert error.value.key == key


def test_the_interval_of_a_slope_covers_it():
    """200 seeds: at 95% fewer than 167 hits have a probability of 1e-9; half the width hits some 135 times."""
    curves = [regret(Iid(alpha=0.7), Rolling(highest=8), COST, [10, 100], seed=seed) for seed in range(200)]
    low, high = (np.mean([curve.mean[i] for curve in curves]) for i in (0, 1))
    off = np.array([abs(curve.slope - np.log10(high / low)) for curve in curves])
    half = np.array([curve.slope_half() for curve in curves])
    assert 167 <= (off < half).sum() < 200
    assert (off < half / 2).sum() < 167
    assert np.isnan(regret(Iid(alpha=0.7), Rolling(), COST, [10]).slope_half())
