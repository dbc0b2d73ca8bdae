"""Every critical α two ways: by its closed form or root, and by what it claims on either side of it."""

from __future__ import annotations

import itertools
import math
import random
import time
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

from simspec.model import Cost, Drift, Iid, Markov, ParameterError
from simspec.theory import (
    CriticalAlpha,
    article,
    break_even_alpha,
    critical,
    critical_alphas,
    emission_time,
    fluctuation_alpha_a,
    fluctuation_alpha_b,
    generation,
    generation_rounds,
    guard_alpha,
    integer_kappa_for_share,
    kappa_star_continuous,
    most_variable_alpha,
    optimum,
    share_step_alpha,
    speedup,
    staircase,
    step_alpha,
    surroundings,
    tail_optimal_kappa,
    tail_staircase,
    window,
)
from simspec.theory.critical import DEFINITIONS, first_turn
from simspec.theory.many_rates import emission_rounds, long_run, rounds_quantile, starts

STANDARD = Cost(c_d=0.1)
HAIR = 1e-7
BETAS = (0.05, 0.1, 0.15, 0.2)


@pytest.fixture(scope="module")
def rows():
    return critical_alphas(STANDARD)


def random_costs(count):
    draw = random.Random(20261130)
    return [
        Cost(
            c0=draw.uniform(0.6, 1.5), c_d=draw.uniform(0.005, 0.4), c_v=draw.choice([0.0, 0.1]),
            c_r=draw.choice([0.0, 0.3, 1.0]),
        )
        for _ in range(count)
    ]  # fmt: skip


def brute_star(alpha, cost, kappa_max=48):
    """κ* from the sums Σ α^j themselves."""
    best = [sum(alpha**j for j in range(k + 1)) / (cost.c0 + (cost.c_d + cost.c_v) * k + cost.c_r * (1 - alpha**k))
            for k in range(kappa_max + 1)]  # fmt: skip
    return max(range(kappa_max + 1), key=lambda k: (best[k], -k))


@pytest.mark.parametrize("cost", random_costs(25), ids=str)
def test_a_step_is_where_the_best_kappa_changes(cost):
    steps = staircase(cost, 8)
    assert list(steps) == sorted(steps)
    assert steps[0] == pytest.approx(break_even_alpha(cost), rel=1e-14)
    for k, alpha in enumerate(steps):
        if alpha > 0.93:  # beyond it the brute search would need longer drafts
            continue
        assert speedup(Iid(alpha=alpha), k, cost) == pytest.approx(speedup(Iid(alpha=alpha), k + 1, cost), rel=1e-13)
        assert (brute_star(alpha - HAIR, cost), brute_star(alpha + HAIR, cost)) == (k, k + 1)
        assert optimum(Iid(alpha=alpha + HAIR), cost).kappa_star == k + 1


def test_the_steps_at_a_tenth():
    """Section 1.3 of the notes has .5331, .7324, .7879, .8278: rounded up."""
    found = [round(alpha, 4) for alpha in staircase(STANDARD, 10)]
    assert found == [0.1, 0.3504, 0.533, 0.6525, 0.7323, 0.7878, 0.8277, 0.8574, 0.88, 0.8976]


def test_steps_at_the_edges():
    assert step_alpha(3, Cost(c_d=1.0)) == math.inf  # a draft as dear as a target step never pays
    assert staircase(Cost(c_r=0.5), 3) == (pytest.approx(1 / 3),) * 3  # free drafts: from 0 to ∞ at once
    assert step_alpha(1000, Cost(c_d=0.5)) == pytest.approx(1.0, abs=0.01)
    assert step_alpha(600, Cost(c_d=1e-300)) == pytest.approx(1e-300 ** (1 / 601), rel=1e-3)  # x^601 is no float below
    assert optimum(Iid(alpha=step_alpha(5, Cost(c_d=1e-7)) * 1.001), Cost(c_d=1e-7), 12).kappa_star == 6


@pytest.mark.parametrize("cost", [STANDARD, Cost(c_d=0.05), Cost(c_d=0.1, c_v=0.05, c_r=0.5)], ids=str)
def test_a_share_step_is_where_the_kappa_for_the_share_changes(cost):
    for k in range(5):
        alpha = share_step_alpha(k, cost)
        around = [integer_kappa_for_share(Iid(alpha=alpha + side * 1e-6), cost) for side in (-1, 1)]
        assert around == [k, k + 1]
    assert math.isnan(share_step_alpha(2, Cost(c_d=1.0)))
    assert math.isnan(share_step_alpha(2, Cost(c_d=0.95)))  # κ = 2 stays within 90% up to α = 1


def test_the_largest_variance_of_the_accepted_length():
    published = {1: 0.5, 2: 0.6462, 3: 0.7286, 4: 0.7805, 5: 0.8159, 7: 0.8610, 10: 0.8985, 20: 0.9466}  # claim C16
    grid = np.linspace(0.4, 0.99, 591)
    for kappa, alpha in published.items():
        found = most_variable_alpha(kappa)
        assert found == pytest.approx(alpha, abs=5.1e-5)
        values = [window(Iid(alpha=float(a)), kappa).var_accepted for a in grid]
        assert abs(grid[int(np.argmax(values))] - found) <= 0.001
        top = window(Iid(alpha=found), kappa).var_accepted
        assert all(window(Iid(alpha=found + shift), kappa).var_accepted < top for shift in (-1e-4, 1e-4))


@pytest.mark.parametrize(
    ("beta", "whole", "real"),
    [(0.05, 0.7273, 0.7274), (0.1, 0.7619, 0.7626), (0.15, 0.7910, 0.7852), (0.2, 0.8, 0.8023)],
)
def test_the_guard_fires_below(beta, whole, real):
    """Claim C51 holds the figures for a real κ*; whole draft lengths differ."""
    cost = Cost(c_d=beta)
    assert (round(guard_alpha(cost), 4), round(guard_alpha(cost, whole=False), 4)) == (whole, real)

    def fires(alpha, kappa):
        return article.relative_fluctuation_b(alpha, kappa) > 0.25

    for alpha in np.linspace(0.5, 0.97, 95):
        alpha = float(alpha)
        assert fires(alpha, brute_star(alpha, cost)) == (alpha < guard_alpha(cost))
        assert fires(alpha, kappa_star_continuous(alpha, cost)) == (alpha < guard_alpha(cost, whole=False))


def test_the_guard_without_a_finite_best_draft():
    assert math.isnan(guard_alpha(Cost()))
    assert math.isnan(guard_alpha(Cost(c_d=2.0), whole=False))


@pytest.mark.parametrize("kappa", [1, 4, 6, 9])
@pytest.mark.parametrize("level", [0.2, 0.25])
def test_the_fluctuations_cross_where_they_say(kappa, level):
    b = fluctuation_alpha_b(kappa, level)
    assert article.relative_fluctuation_b(b, kappa) == pytest.approx(level, rel=1e-12)
    a = fluctuation_alpha_a(kappa, level)
    highest = article.relative_fluctuation_a(0.5, kappa)
    assert math.isnan(a) == (highest < level)
    if not math.isnan(a):
        assert article.relative_fluctuation_a(a, kappa) == pytest.approx(level, abs=1e-9)
        assert a >= 0.5


def slope_of_bound(alpha):
    """−dρ∞/dα at β = .1, numerically."""
    return -(article.rho_infinity(alpha + 1e-6, 0.1) - article.rho_infinity(alpha - 1e-6, 0.1)) / 2e-6


CHECKS = {
    "break-even": lambda a: speedup(Iid(alpha=a), 1, STANDARD) - 1,
    "Var A largest": lambda a: a - 0.7805,
    "P(none accepted) = 1%": lambda a: window(Iid(alpha=a), 4).p_zero_accepted - 0.01,
    "CV(A) = .25 at κ = 1": lambda a: math.sqrt(window(Iid(alpha=a), 1).var_accepted) / a - 0.25,
    "α_c formula": lambda a: (0.9 - a) ** 2 - (0.9**2 - 0.01 / 9),
    "α_c formula, other root": lambda a: (a - 0.9) ** 2 - (0.9**2 - 0.01 / 9),
    "slopes match": lambda a: slope_of_bound(a) - 1,
    "P(all rejected) = 1%": lambda a: article.all_rejected(a, 4) - 0.01,
    "judged share varies most": lambda a: (
        article.relative_fluctuation_a(a + 0.1, 4) - article.relative_fluctuation_a(a - 0.1, 4)
    ),
    "(15a) = .2": lambda a: article.relative_fluctuation_a(a, 4) - 0.2,
    "(15b) = .2": lambda a: article.relative_fluctuation_b(a, 4) - 0.2,
    "(15b) = .25": lambda a: article.relative_fluctuation_b(a, 4) - 0.25,
    "guide 2 at κ*": lambda a: a - 0.7619,
    "guide 2 at real κ*": lambda a: a - 0.7626,
    "(12) = 0, its own costs": lambda a: article.kappa_star_as_coded(a),
    "(12) = 3, its own costs": lambda a: article.kappa_star_as_coded(a) - 3,
    "(12) = 7, its own costs": lambda a: article.kappa_star_as_coded(a) - 7,
    "ρ = −.1 possible": lambda a: -0.1 + (1 - a) / a,
}
"""What is zero at each critical α, written another way; β = .1 and κ = 4."""
NOWHERE = {"S* stops accelerating", "κ_0.9 turns", "κ_0.9 of (14) turns", "(12) = 0"}


def test_every_definition_holds_at_its_rate(rows):
    by_name = {row.name: row for row in rows}
    assert set(CHECKS) | NOWHERE == {definition.name for definition in DEFINITIONS}
    for name, residual in CHECKS.items():
        assert residual(by_name[name].alpha) == pytest.approx(0, abs=6e-5), name
        assert abs(residual(by_name[name].alpha + 0.01)) > 1e-4, name  # and the check would see a shift
    assert {row.name for row in rows if math.isnan(row.alpha)} == NOWHERE
    assert by_name["(12) = 0, its own costs"].alpha == pytest.approx(0.5488, abs=5e-5)
    assert by_name["P(all rejected) = 1%"].alpha == pytest.approx(0.683772, abs=5e-7)


def test_the_rows_follow_the_prices_and_the_draft_length():
    dear = {row.name: row.alpha for row in critical_alphas(Cost(c_d=0.1, c_v=0.5, c_r=1.0), kappa=3)}
    assert dear["break-even"] == pytest.approx(0.8)
    assert dear["(12) = 0"] == dear["(12) = 0, its own costs"] == pytest.approx(math.exp(-0.6))
    assert dear["P(all rejected) = 1%"] == pytest.approx(0.784557, abs=5e-7)
    assert dear["Var A largest"] == pytest.approx(0.7286, abs=5e-5)
    assert not any(name.startswith("P99") for name in dear)  # with a rollback cost the time is no multiple of rounds
    never = {row.name: row.alpha for row in critical_alphas(Cost(c_d=1.2))}
    assert math.isnan(never["break-even"])
    assert math.isnan(never["κ* 0|1"])
    assert math.isnan(never["guide 2 at κ*"])


def test_a_saturation_or_a_turn_would_be_found(monkeypatch):
    grid = np.linspace(0, 1, 101)
    assert (
        first_turn(grid, np.cos(3 * grid)) != first_turn(grid, np.cos(7 * grid)) == pytest.approx(math.pi / 7, abs=0.02)
    )
    monkeypatch.setattr(critical, "best_speedup", lambda alpha, cost: math.tanh(8 * (alpha - 0.74)))
    assert critical._gain_slows(STANDARD, 4) == pytest.approx(0.74, abs=0.002)  # where a phase transition would lie
    monkeypatch.setattr(critical, "kappa_for_share", lambda alpha, cost: 2 + (alpha - 0.74) ** 2)
    assert critical._share_turns(STANDARD, 4) == pytest.approx(0.74, abs=0.002)


def test_what_lies_at_74(rows):
    found = surroundings(0.74, STANDARD, rows)
    assert [(row.name, round(row.alpha, 4)) for row in found.here] == [("P99 κ 3|4", 0.7442)]
    assert [row.name for row in found.nearest[:3]] == ["P99 κ 3|4", "κ* 4|5", "κ_0.9 2|3"]
    assert all(bend > 0 for bend in found.bends)
    assert list(found.bends) == sorted(found.bends)
    draw = random.Random(7)
    places = [row.alpha for row in rows if 0 < row.alpha < 1]
    near = [min(abs(a - p) for p in places) for a in (draw.uniform(0.5, 0.95) for _ in range(20_000))]
    mine = abs(found.nearest[0].alpha - 0.74)
    share = sum(distance <= mine for distance in near) / len(near)
    assert share == pytest.approx(found.share_as_near, abs=5 * 0.5 / math.sqrt(20_000))  # 5σ: false alarm 6e-7


def test_gains_accelerate_at_74_as_anywhere(rows):
    """S* is convex: second differences at .74 and at random other rates, at every cost tried; 0 only where κ* = 1."""
    draw = random.Random(11)
    for beta in BETAS:
        for alpha in (0.74, *(draw.uniform(max(0.15, 1.2 * beta + 0.05), 0.9) for _ in range(20))):
            for h in (0.002, 0.01, 0.04):
                at = [optimum(Iid(alpha=alpha + s * h), Cost(c_d=beta), 120).best_speedup for s in (-1, 0, 1)]
                bend = at[0] - 2 * at[1] + at[2]
                assert bend > 0 or (abs(bend) < 1e-14 and brute_star(alpha + h, Cost(c_d=beta)) == 1)


def enumerate_times(first_reject, first_full, again, start_full, kappa, tokens, cost, truncate):
    """The law of the time by walking every sequence of rounds."""
    law = {}

    def walk(left, full, chance, time):
        if left <= 0:
            law[round(time, 9)] = law.get(round(time, 9), 0.0) + chance
            return
        drafts = min(kappa, left - 1) if truncate else kappa
        rates = [first_full if full else first_reject] + [again] * (drafts - 1)
        alive = chance
        for accepted in range(drafts):
            price = cost.c0 + (cost.c_d + cost.c_v) * drafts + cost.c_r
            walk(left - 1 - accepted, False, alive * (1 - rates[accepted]), time + price)
            alive *= rates[accepted]
        walk(left - 1 - drafts, True, alive, time + cost.c0 + (cost.c_d + cost.c_v) * drafts)

    walk(tokens, False, 1 - start_full, 0.0)
    walk(tokens, True, start_full, 0.0)
    return law


@pytest.mark.parametrize("truncate", [True, False])
@pytest.mark.parametrize("kappa", [0, 1, 3])
def test_the_law_of_the_time_is_that_of_all_sequences(kappa, truncate):
    cost = Cost(c0=1.1, c_d=0.07, c_v=0.02, c_r=0.4)
    chain = Markov(alpha=0.7, rho=0.3, start="carry", steps_after_full=2)
    for process, chances in (
        (Iid(alpha=0.8), (0.8, 0.8, 0.8, 0.0)),
        (Markov(alpha=0.7, rho=-0.2), (0.7, 0.7, 0.64, 0.0)),
        (chain, (0.49, 1 - 0.3 * 0.91, 0.79, None)),
    ):
        s_reject, s_full, again, start = chances
        if start is None:
            power = again ** max(kappa - 1, 0)
            start = 1.0 if kappa == 0 else s_reject * power / (1 - s_full * power + s_reject * power)
        expected = enumerate_times(s_reject, s_full, again, start, kappa, 7, cost, truncate)
        found = emission_time(process, kappa, cost, tokens=7, truncate=truncate)
        got = dict(zip(np.round(found.times, 9).tolist(), found.probabilities, strict=True))
        expected = {time: chance for time, chance in expected.items() if chance > 0}
        assert got.keys() == expected.keys()
        assert_allclose([got[time] for time in expected], list(expected.values()), atol=1e-14)


def test_the_time_of_128_tokens():
    """Section 1.8 of the notes, with two corrections: 66.00 at κ = 3; at α = .85 the mean is least at κ = 7."""
    table = {1: (83.03, 2.58, 89.1), 2: (70.42, 3.64, 79.1), 3: (66.0, 4.52, 77.4), 4: (64.93, 5.32, 78.0),
             5: (65.55, 6.09, 80.5), 6: (67.16, 6.83, 84.0), 8: (72.0, 8.22, 92.1)}  # fmt: skip
    for kappa, figures in table.items():
        law = emission_time(Iid(alpha=0.7), kappa, STANDARD)
        assert (round(law.mean, 2), round(law.sd, 2), round(law.quantile(0.99), 1)) == figures
        exact = generation(Drift(shape="table", alphas=[0.7] * 128), kappa, STANDARD)
        assert_allclose((law.mean, law.sd**2), (exact.mean_cost, exact.var_cost), rtol=1e-11)
    laws = {kappa: emission_time(Iid(alpha=0.85), kappa, STANDARD) for kappa in range(1, 13)}
    assert min(laws, key=lambda k: laws[k].mean) == 7
    assert round(laws[7].mean, 2) == 45.22
    assert min(laws, key=lambda k: laws[k].quantile(0.99)) == 5
    assert round(laws[5].quantile(0.99), 1) == 56.6


@pytest.mark.parametrize("kappa", [0, 1, 2, 5, 40])
def test_the_rounds_at_many_rates_are_those_at_each(kappa):
    rates = np.array([0.0, 0.3, 0.8, 1.0])
    found = emission_rounds(starts(rates), kappa, 30)
    for rate, law in zip(rates, found, strict=True):
        assert_allclose(law, generation_rounds(Drift(shape="table", alphas=[float(rate)] * 30), kappa), atol=1e-13)


def test_the_rounds_of_a_carried_chain_are_those_of_its_time():
    for kappa, (rho, steps) in itertools.product((1, 2, 6), ((0.3, (1, 2)), (-0.2, (2, 1)))):
        chain = Markov(alpha=0.7, rho=rho, start="carry", steps_after_reject=steps[0], steps_after_full=steps[1])
        many = starts(np.array([0.7]), rho, steps)
        _, full = long_run(many, kappa)
        rounds = emission_rounds(many, kappa, 40, full[:, kappa])[0]
        law = emission_time(chain, kappa, STANDARD, 40, truncate=False)
        price = 1 + 0.1 * kappa
        assert rounds @ np.arange(41) * price == pytest.approx(law.mean, rel=1e-12)
        assert rounds_quantile(rounds, 0.99) * price == pytest.approx(law.quantile(0.99))


def test_the_long_run_at_many_rates_is_the_exact_route():
    draw = random.Random(3)
    for _ in range(20):
        alpha, rho = draw.uniform(0.3, 0.9), draw.uniform(-0.1, 0.6)
        steps = draw.choice([None, (1, 1), (1, 2), (2, 2), (3, 1)])
        more = {} if steps is None else {"start": "carry", "steps_after_reject": steps[0], "steps_after_full": steps[1]}
        tokens, full = long_run(starts(np.array([alpha]), rho, steps), 9)
        for kappa in range(10):
            law = window(Markov(alpha=alpha, rho=rho, **more), kappa)
            assert_allclose((tokens[0, kappa], full[0, kappa]), (law.mean_tokens, law.p_full), rtol=1e-12)


def test_a_tail_step_is_where_the_kappa_for_slow_sequences_changes():
    for k, alpha in enumerate(tail_staircase(STANDARD, 4, tokens=48)):
        for side in (-1, 1):
            rate = alpha + side * 2e-6
            times = [emission_time(Iid(alpha=rate), kappa, STANDARD, 48, False).quantile(0.99) for kappa in range(13)]
            best = min(kappa for kappa in range(13) if times[kappa] <= min(times) + 1e-9)
            assert best == tail_optimal_kappa(np.array([rate]), STANDARD, 12, 48, 0.99)[0]
            assert (best > k) == (side > 0)


def rounds_by_listing(rates, kappa, tokens, level):
    """Rounds that emit N tokens with a share ``level``, the law of the tokens carried from round to round."""
    law, rounds, found = np.eye(1, tokens + 1).repeat(rates.size, axis=0), 0, np.zeros(rates.size, dtype=int)
    while not found.all():
        rounds += 1
        after = np.zeros_like(law)
        for accepted in range(kappa + 1):
            chance = rates**accepted * (1.0 - rates if accepted < kappa else 1.0)
            for out in range(tokens + 1):
                after[:, min(tokens, out + accepted + 1)] += chance * law[:, out]
        law = after
        found[(found == 0) & (law[:, tokens] >= level - 1e-13)] = rounds
    return found


def best_by_listing(rates, cost, tokens, level, longest):
    times = np.array([rounds_by_listing(rates, k, tokens, level) * cost.base(k) for k in range(longest + 1)])
    return (times <= times.min(axis=0) + 1e-9).argmax(axis=0)


@pytest.mark.parametrize(
    ("beta", "steps", "tokens", "level"),
    [(0.249, 3, 4, 0.9), (0.19, 4, 9, 0.9), (0.398, 4, 17, 0.99), (0.215, 4, 6, 0.99), (0.02, 3, 12, 0.9),
     (0.1, 4, 20, 0.5)],
)  # fmt: skip
def test_a_tail_step_is_not_made_by_rounding(beta, steps, tokens, level):
    """Above it the longer draft is best over .0001, below it nowhere so; κ that need the same rounds tie exactly."""
    cost = Cost(c_d=beta)
    scan = np.arange(5e-4, 1.0, 1e-3)
    best = best_by_listing(scan, cost, tokens, level, steps + 6)
    for k, alpha in enumerate(tail_staircase(cost, steps, tokens, level)):
        after = best_by_listing(alpha + np.linspace(1e-8, 9.9e-5, 5), cost, tokens, level, steps + 6)
        assert (after > k).all()
        longer = np.flatnonzero(best > k)  # two neighbours of the scan are .001 apart: wider than what counts for none
        wide = longer[np.isin(longer + 1, longer)]
        assert alpha <= scan[wide[0]]


def test_cheap_drafts_and_short_replies_have_steps_that_differ():
    """Scanned in steps of .0001: 1|2 and 2|3 of the first, 1|2 to 3|4 of the second; rounding had made them one."""
    first = tail_staircase(Cost(c_d=0.001), 3)
    assert [round(alpha, 4) for alpha in first[:2]] == [0.0356, 0.0511]
    assert first[0] < first[1] < first[2]
    second = tail_staircase(Cost(c_d=0.005), 4, 64)
    assert [round(alpha, 4) for alpha in second] == [0.0705, 0.1008, 0.1508, 0.2362]
    assert round(tail_staircase(Cost(c_d=0.249), 3, 4, 0.9)[2], 4) == 0.9655


def test_long_sequences_need_no_more_memory_than_their_last_laws():
    tracemalloc.start()
    emission_rounds(starts(np.linspace(0, 1, 101)), 1, 1000)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20e6  # all thousand laws would be 800 MB


def test_a_staircase_that_would_take_minutes_is_refused():
    began = time.process_time()
    for steps, tokens in ((32, 512), (8, 3000), (1, 4096)):
        with pytest.raises(ParameterError, match=r"too much work for \d+ steps; allowed: tokens ≤ \d+$"):
            tail_staircase(STANDARD, steps, tokens)
    assert time.process_time() - began < 0.5


def test_measured_prices_are_rounded_if_asked():
    cost = Cost(c_d=0.0123, c_r=0.2)
    with pytest.raises(ParameterError, match=r"tick = 0\.001,"):
        emission_time(Iid(alpha=0.7), 8, cost)
    law = emission_time(Iid(alpha=0.7), 8, cost, tick=0.001)
    drift = Drift(shape="table", alphas=[0.7] * 128)
    true = 128 / generation(drift, 8, cost).speedup
    assert 0 < abs(law.mean - true) <= law.error <= 128 * 0.001
    near = emission_time(Iid(alpha=0.7), 8, Cost(c_d=0.012, c_r=0.2))
    assert abs(law.quantile(0.99) - near.quantile(0.99)) <= law.error + 128 * 8 * 0.0003
    third = emission_time(Iid(alpha=0.7), 2, Cost(c_d=1 / 3), 4, tick=1e-4)
    assert third.mean == pytest.approx(
        4 / generation(Drift(shape="table", alphas=[0.7] * 4), 2, Cost(c_d=1 / 3)).speedup, abs=third.error
    )
    assert emission_time(Iid(alpha=0.7), 4, STANDARD, tick=0.1).error == pytest.approx(0.0, abs=1e-12)


def test_slow_sequences_want_shorter_drafts():
    rates = np.linspace(0.05, 0.95, 91)
    slow = tail_optimal_kappa(rates, STANDARD, 24, 128, 0.99)
    star = [brute_star(float(rate), STANDARD) for rate in rates]
    assert (slow <= star).all()
    assert (slow < star).mean() > 0.4


def test_a_draft_that_never_pays_has_no_tail_step():
    assert all(math.isnan(alpha) for alpha in tail_staircase(Cost(c_d=1.5), 3, tokens=8))


TABLES = Cost(verify_table=[1.0, 1.1, 1.3])


@pytest.mark.parametrize(
    "ask",
    [
        lambda: step_alpha(-1, STANDARD), lambda: step_alpha(1001, STANDARD), lambda: step_alpha(1, TABLES),
        lambda: staircase(STANDARD, 0), lambda: share_step_alpha(0, STANDARD, 1.0),
        lambda: share_step_alpha(1000, STANDARD), lambda: most_variable_alpha(0), lambda: guard_alpha(STANDARD, 0.0),
        lambda: guard_alpha(TABLES), lambda: fluctuation_alpha_a(0), lambda: fluctuation_alpha_b(4, -1.0),
        lambda: critical_alphas(TABLES), lambda: critical_alphas(STANDARD, 0),
        lambda: surroundings(0.95, STANDARD, ()), lambda: surroundings(0.74, STANDARD, ()),
        lambda: emission_time(Iid(alpha=0.7), 4, STANDARD, 0), lambda: emission_time(Iid(alpha=0.7), -1, STANDARD),
        lambda: emission_time(Iid(alpha=0.7), 4, Cost(c_d=0.123456789)),
        lambda: emission_time(Drift(shape="table", alphas=[0.5]), 1, STANDARD),
        lambda: emission_time(Iid(alpha=0.7), 4, STANDARD).quantile(1.0),
        lambda: tail_staircase(Cost(c_d=0.1, c_r=0.1)), lambda: tail_staircase(STANDARD, 33),
        lambda: tail_staircase(STANDARD, 4, 0), lambda: tail_staircase(STANDARD, 4, 128, 1.0),
        lambda: surroundings(0.74, STANDARD, (CriticalAlpha("a", "model", math.nan, "", ""),)),
        lambda: emission_time(Iid(alpha=0.7), 4, STANDARD, tick=0.0),
    ],
)  # fmt: skip
def test_what_is_out_of_range_says_so(ask):
    with pytest.raises(ParameterError) as error:
        ask()
    assert "allowed" in str(error.value)
    assert "\n" not in str(error.value)
