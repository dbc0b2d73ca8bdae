"""Regret over time: counts at marks against the twin, and losses that are known exactly."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from simspec import theory
from simspec.kernels import lower, play, twin
from simspec.kernels.lower_policies import policy_form
from simspec.kernels.words import stream_keys
from simspec.model import BetaMixture, Cost, DiscreteMixture, Drift, Iid, Markov, ParameterError, Trace
from simspec.model.policies import Exp3, Fixed, Heuristic, Rolling, Schedule, Ucb
from simspec.model.serving import Serving
from simspec.run.comparators import Comparator, best_fixed
from simspec.run.engine import form_of
from simspec.run.regret import Against, RegretCurve, crossover, regret
from simspec.stats.controlled import controlled
from simspec.stats.intervals import ratio, student

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


def test_rollbacks_and_changes_of_kappa_are_paid():
    """Ten tokens, all histories listed: regret of 64 requests, κ going off and on; six errors of 256 lanes."""

    def falling(rounds):
        kappa = 3
        for drafted, accepted in rounds:
            kappa = min(5, kappa + 2) if accepted == drafted else max(0, kappa - 3)
        return kappa

    short, policy = Drift(alpha_start=0.8, alpha_end=0.5, tokens=10), Heuristic(first=3, lowest=0, highest=5, down=3)
    free = Cost(c_d=0.1, c_v=0.02, c_r=0.3)
    dear, other = free.changed(c_switch=0.05, c_wake=0.4), free.changed(c_switch=0.4, c_wake=0.05)
    curve = regret(short, policy, dear, [64], chunks=4)
    laws = [theory.enumerate_policy(short, falling, cost) for cost in (dear, other, free, free.changed(c_switch=0.05))]
    assert curve.best_fixed == theory.optimum(short, free, 5).best_speedup  # who never changes κ pays for no change
    off = [abs(curve.mean[0] - 64 * (law.mean_cost - 10 / curve.best_fixed)) for law in laws]
    assert off[0] < 6 * curve.half[0] / 1.96 < min(off[1:])
    late = regret(short, policy, dear, [64], chunks=4, serving=Serving(delay=1))
    law = theory.enumerate_policy(short, falling, dear, serving=Serving(delay=1))
    off = [abs(own.mean[0] - 64 * (law.mean_cost - 10 / late.best_fixed)) for own in (late, curve)]
    assert off[0] < 6 * late.half[0] / 1.96 < off[1]
    found = regret(Iid(alpha=0.7), Schedule(kappas=(5,)), free, [100])  # without noise
    law, best = theory.window(Iid(alpha=0.7), 5), theory.optimum(Iid(alpha=0.7), free, 5).best_speedup
    lost = free.base(5) + 0.3 * (1 - 0.7**5) - law.mean_tokens / best
    assert found.mean[0] == pytest.approx(100 * lost)


def test_every_chunk_has_words_of_its_own():
    """The lanes of a second chunk are none of the first, of which the first are those of a run of one."""
    process = Markov(alpha=0.7, rho=0.3, start="carry")
    one, two = (regret(process, Heuristic(highest=6), COST, [50], chunks=n) for n in (1, 2))
    lanes = two.against["fixed"].by_lane[0]
    assert (two.tokens[0] != one.tokens[0], lanes.size) == (True, 128)
    assert not np.isin(lanes[64:].round(6), lanes[:64].round(6)).all()
    assert abs(np.corrcoef(lanes[:64], lanes[64:])[0, 1]) < 0.7  # 64 pairs: beyond it with probability below 1e-9


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
    for change in ({"truncate": False}, {"request_law": "geometric"}):
        own, dear = MIX.model_copy(update=change), Cost(c_d=0.05, c_r=0.3)
        alone = [own.model_copy(update={"alphas": (a,), "weights": (1.0,)}) for a in MIX.alphas]
        speeds = [theory.optimum(one, dear, 8).best_speedup for one in alone]
        assert theory.informed_speedup(own, dear, 8) == pytest.approx(2 / sum(1 / x for x in speeds), rel=1e-9)
    assert theory.informed_speedup(FALLS, COST, 8) <= theory.optimal_plan(FALLS, COST, 8).speedup
    sure = BetaMixture(alpha=0.7, rho=0.0, request_tokens=40)
    assert theory.informed_speedup(sure, COST, 8) == pytest.approx(theory.optimum(sure, COST, 8).best_speedup)
    wide = BetaMixture(alpha=0.7, rho=1.0, request_tokens=40)
    assert theory.informed_speedup(wide, COST, 8) == pytest.approx(1 / (0.3 / flat(0.0) + 0.7 / flat(1.0)))
    for process in (Iid(alpha=0.5), MIX.model_copy(update={"weights_of": "rounds"})):
        with pytest.raises(ParameterError) as error:
            theory.informed_speedup(process, COST, 8)
        assert error.value.key == "process"


def test_who_knows_a_rate_of_a_beta_law_or_of_a_position():
    """Thousands of equally likely rates in place of 64 weighed ones; along a drift κ*(α_i), all histories listed."""
    cost, rates = Cost(c_d=0.07, c_r=0.2), stats.beta(1.4, 0.6).ppf((np.arange(4000) + 0.5) / 4000)
    kappas = np.arange(9)
    tokens = np.array([sum(rates**j for j in range(kappa + 1)) for kappa in kappas])
    price = np.array([cost.base(kappa) + cost.c_r * (1 - rates**kappa) for kappa in kappas.tolist()])

    def left(speed):
        return (tokens - speed * price).max(axis=0).mean()

    best = optimize.brentq(left, 0.5, 9.0)
    windows = BetaMixture(alpha=0.7, rho=1 / 3)  # a + b = 1/ρ − 1 = 2
    assert theory.informed_speedup(windows, cost, 8) == pytest.approx(best, rel=1e-3)
    few = stats.beta(1.4, 0.6).ppf((np.arange(50) + 0.5) / 50)
    flat = [Drift(alpha_start=rate, alpha_end=rate, tokens=8) for rate in few]
    spent = np.mean([min(theory.generation(own, kappa, cost).mean_cost for kappa in range(9)) for own in flat])
    requests = BetaMixture(alpha=0.7, rho=1 / 3, request_tokens=8)
    assert theory.informed_speedup(requests, cost, 8) == pytest.approx(8 / spent, rel=5e-3)
    falls = Drift(alpha_start=0.95, alpha_end=0.2, tokens=10)

    def local(rounds):
        rate = falls.rates()[sum(accepted + 1 for _, accepted in rounds)]
        return theory.optimum(Iid(alpha=rate), cost, 8).kappa_star

    law = theory.enumerate_policy(falls, local, cost)
    assert theory.informed_speedup(falls, cost, 8) == pytest.approx(law.speedup, rel=1e-12)


def test_of_equally_good_lengths_the_shortest_is_the_best():
    assert [best_fixed(Iid(alpha=alpha), Cost(c_d=0.0), 8).kappa for alpha in (0.0, 0.5)] == [0, 8]


@pytest.mark.parametrize("truncate", [True, False])
def test_exact_speeds_of_a_replayed_trace_are_those_it_plays_at(truncate, tmp_path):
    """Eight texts, the long ones bad, replayed 500 times; their differences are taken off by the best fixed κ."""
    rng, rows, texts = np.random.default_rng(3), ["request,alpha"], []
    for number in range(8):
        rates = rng.beta(9 - number, 1 + number, 8 + 6 * number).round(3).tolist()
        rows += [f"{number},{rate}" for rate in rates]
        texts.append(Drift(shape="table", alphas=tuple(rates), truncate=truncate))
    (tmp_path / "own.csv").write_text("\n".join(rows) + "\n")
    trace = Trace(path=str(tmp_path / "own.csv"), alpha="alpha", request="request", truncate=truncate)
    tokens = sum(own.n_tokens for own in texts)
    speeds = [tokens / sum(theory.generation(own, kappa, COST).mean_cost for own in texts) for kappa in range(9)]
    plan = tokens / sum(theory.optimal_plan(own, COST, 8).mean_cost for own in texts)
    curve = regret(trace, Schedule(kappas=(8,)), COST, [500])
    held = {name: own.comparator.speedup for name, own in curve.against.items()}
    assert held == pytest.approx({"fixed": max(speeds), "schedule": plan})
    assert plan > max(speeds)
    assert curve.tokens[0] == 500 * tokens / 8
    for own in curve.against.values():
        lost = curve.tokens[0] * (1 / speeds[8] - 1 / own.comparator.speedup)
        assert lost > 3000
        assert abs(own.mean[0] - lost) < 280  # seven times what thirty seeds spread by: 39


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
    assert bandit.mean[0] > rolling.mean[0]
    assert bandit.mean[-1] < rolling.mean[-1]
    assert 100 < crossover(bandit, rolling) <= 30_000
    assert crossover(rolling, bandit) is None


def curve_of(marks, by_lane):
    """A curve as if it had been played."""
    held = Comparator("fixed", 2.0, "the best fixed κ = 4", 4)
    lanes, at = np.asarray(by_lane, float), np.array(marks)
    own = Against(held, lanes.mean(axis=1), np.zeros(len(at)), lanes)
    return RegretCurve(Rolling(), "rounds", at, at.astype(float), 2.0 * at, {"fixed": own})


def test_a_slope_is_that_of_the_last_decade():
    """Regret that is linear up to the 30th round and a square root from there on; a tenth of 250 is nearest to 30."""
    marks = [1, 10, 30, 100, 250]
    grown = [mark if mark <= 30 else 30 * math.sqrt(mark / 30) for mark in marks]
    assert curve_of(marks, np.outer(grown, np.ones(4))).slope == pytest.approx(0.5, rel=1e-12)
    assert np.isnan(curve_of(marks, np.outer([*grown[:-1], -1.0], np.ones(4))).slope)
    assert np.isnan(curve_of([7], np.ones((1, 4))).slope)


def test_the_error_of_a_slope_leaves_lanes_out_one_by_one():
    """The jackknife: what a lane loses early it has lost late as well, so that both marks move together."""
    rng = np.random.default_rng(9)
    early = 10.0 + rng.normal(size=64)
    own = curve_of([10, 100], [early, 9.0 * early + rng.normal(size=64)])
    slopes = [curve_of([10, 100], np.delete(own.against["fixed"].by_lane, lane, axis=1)).slope for lane in range(64)]
    jackknife = math.sqrt(63 / 64 * ((np.array(slopes) - np.mean(slopes)) ** 2).sum())
    assert own.slope_half(0.95) == pytest.approx(student(0.95, 64) * jackknife, rel=0.05)
    assert own.slope_half(0.5) == pytest.approx(student(0.5, 64) * jackknife, rel=0.05)


def test_a_crossover_is_the_last_one():
    """Ahead, behind, level, ahead for good: from the fourth mark on."""
    marks = [1, 2, 3, 4, 5]
    one, other = (curve_of(marks, np.outer(mean, np.ones(4))) for mean in ([1, 3, 2, 1, 1], [2, 2, 2, 2, 2]))
    assert (crossover(one, other), crossover(other, one), crossover(one, one)) == (4, None, None)
    assert crossover(curve_of(marks, np.zeros((5, 4))), other) == 1


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


@pytest.mark.parametrize(
    ("wrong", "key"),
    [({"marks": [10.5]}, "marks"), ({"marks": "abc"}, "marks"), ({"policy": Fixed()}, "policy"), ({"seed": -1}, "seed"),
     ({"chunks": 0}, "chunks"), ({"level": 2.0}, "level")],
)  # fmt: skip
def test_arguments_of_regret_that_mean_nothing_are_named(wrong, key):
    with pytest.raises(ParameterError) as error:
        regret(**{"process": Iid(alpha=0.7), "policy": Rolling(), "cost": COST, "marks": [10]} | wrong)
    assert error.value.key == key


def test_the_intervals_of_regret_and_of_its_slope_cover_them():
    """200 seeds: at 95% fewer than 167 hits have a probability of 1e-9; half the width hits some 135 times."""
    curves = [regret(Iid(alpha=0.7), Rolling(highest=8), COST, [10, 100], seed=seed) for seed in range(200)]
    low, high = (np.mean([curve.mean[i] for curve in curves]) for i in (0, 1))
    off = np.array([abs(curve.slope - np.log10(high / low)) for curve in curves])
    half = np.array([curve.slope_half() for curve in curves])
    assert 167 <= (off < half).sum() < 200
    assert (off < half / 2).sum() < 167
    near, width = np.array([(abs(curve.mean[1] - high), curve.half[1]) for curve in curves]).T
    assert 167 <= (near < width).sum() < 200
    assert (near < width / 2).sum() < 167
    wide = regret(Iid(alpha=0.7), Rolling(highest=8), COST, [10, 100], seed=0, level=0.5)
    assert wide.half / curves[0].half == pytest.approx(np.full(2, 0.68 / 2.0), rel=0.01)
    assert np.isnan(regret(Iid(alpha=0.7), Rolling(), COST, [10]).slope_half())


@pytest.mark.parametrize(
    "marks", [[], 10, "x", [1, "x"], [1.5], [math.nan], [[1, 2]], [100, 1], [0, 1], [1, 2**31], [1e30]]
)
def test_marks_that_are_none_are_refused_in_a_line(marks):
    with pytest.raises(ParameterError, match=r"^marks = .*; allowed: ") as error:
        regret(Iid(alpha=0.7), Rolling(), COST, marks)
    assert "\n" not in str(error.value)


def test_a_fixed_length_is_asked_which():
    with pytest.raises(ParameterError, match="policy fixed names no κ"):
        regret(Iid(alpha=0.7), Fixed(), COST, [1, 10])


def test_a_curve_of_one_mark_has_no_slope():
    assert "slope" not in repr(regret(Iid(alpha=0.7), Rolling(), COST, [50]))
