"""The recommendation against the exact answer, against simulated truth, and against itself."""

import json

import numpy as np
import pytest

import simspec
from simspec import ParameterError, recommend, theory
from simspec.advice.acceptance import Acceptance
from simspec.advice.recommend.decide import OFF, compare
from simspec.advice.recommend.latency_limit import rounds_quantile
from simspec.advice.recommend.posterior import tokens_posterior
from simspec.evidence.costs.round_costs import CostGrid, RoundCosts
from simspec.evidence.observed import Observed
from simspec.model import Cost, Iid

CURVE = np.array([0.75, 0.5, 0.3, 0.15])


def rounds_of(curve, rounds, rng):
    """Independent rounds of one survival curve, as counts without groups."""
    pmf = -np.diff(np.concatenate([[1.0], curve]), append=0.0)
    exactly = rng.multinomial(rounds, pmf)
    reached = np.cumsum(exactly[::-1])[::-1][1:]
    return seen(Observed.of_counts([(len(curve), rounds, reached.tolist())]))


def requests_of(kappa, requests, tokens, alphas, token_shares, rng):
    """Requests of equally many tokens, each with one of a few rates."""
    accepted = []
    for alpha in rng.choice(alphas, requests, p=token_shares):
        left, own = tokens, []
        while left > 0:
            own.append(min(int(rng.geometric(1.0 - alpha)) - 1, kappa))
            left -= own[-1] + 1
        accepted.append(own)
    return seen(Observed.in_order([[kappa] * len(own) for own in accepted], accepted))


def seen(observed):
    survival = observed.reached() / observed.rounds
    return Acceptance(
        observed.kappa_max, 1 + survival.sum(), None, tuple(survival), float(observed.kappa_max), observed, "simulated",
        rounds=observed.rounds,
    )  # fmt: skip


# --- by process -----------------------------------------------------------------------------------------------------


def test_each_process_names_its_kappa_and_the_rejected_ones_are_marked():
    """20,000 rounds of S₁ = .6, then .9 each: a geometric tail.  The one rate of i.i.d. drafts is rejected.

    A true process is rejected by 5% of logs (Holm over its statistics); the seed is fixed, and one in which it stands.
    """
    curve = 0.6 * 0.9 ** np.arange(5)
    own = recommend(rounds_of(curve, 20_000, np.random.default_rng(3)), {"c_d": 0.23}, kappa_max=16)
    found = {one["name"]: one for one in own.by_process}
    assert found["geometric tail"]["adequate"]
    assert not found["i.i.d."]["adequate"]
    whole = 0.6 * 0.9 ** np.arange(16)
    speed = [(1 + whole[:k].sum()) / (1 + 0.23 * k) for k in range(1, 17)]
    assert found["geometric tail"]["kappa"] == int(np.argmax(speed)) + 1 == 5
    assert found["geometric tail"]["speedup"] == pytest.approx(max(speed), rel=0.02)
    text = " ".join(str(own).split())
    assert "best under processes that these rounds do not reject: κ = 5 under geometric tail" in text
    assert "rejected by them: κ = " in text
    assert own.to_dict()["best_by_process"] == own.by_process
    assert recommend(rounds_of(curve, 29, np.random.default_rng(2)), {"c_d": 0.12}).by_process == []  # too few to fit
    assert (
        recommend({"emitted": 2.0, "kappa": 3, "rounds": 500}, {"c_d": 0.12}).by_process == []
    )  # a mean has no rounds


def test_a_rate_by_position_that_explains_the_rounds_is_said_to():
    """A dip at draft 2 that no law of rates has; `simspec fit` says "use position" of the same rounds."""
    own = recommend({"survival": [0.9, 0.3, 0.29, 0.28], "rounds": 5000}, {"c_d": 0.1})
    standing = [one for one in own.by_process if one["adequate"]]
    assert [(one["name"], one["says_up_to"]) for one in standing] == [("position", 4)]
    text = " ".join(str(own).split())
    assert "do not reject: κ = 4 under position (which ends at κ = 4)" in text
    assert "no process explains" not in text


def test_where_no_process_stands_it_is_said():
    """Half of the requests do badly at draft 2, the others at drafts 1 and 3: no process here has that."""
    rng, rates = np.random.default_rng(1), ([0.95, 0.2, 0.95, 0.95], [0.3, 0.9, 0.3, 0.9])
    far = [(rng.random((60, 4)) < rates[i % 2]).cumprod(axis=1).sum(axis=1).tolist() for i in range(40)]
    own = recommend(seen(Observed.in_order([[4] * 60] * 40, far)), {"c_d": 0.1})
    assert own.by_process
    assert not any(one["adequate"] for one in own.by_process)
    said = "no process explains these rounds (simspec fit says why, and tries hidden Markov too); rejected by them: "
    assert said in " ".join(str(own).split())


# --- against the exact answer ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.2, 0.55, 0.7, 0.85])
@pytest.mark.parametrize(
    "cost",
    [
        {"c_d": 0.1}, {"c_d": 0.3}, {"c_d": 0.05, "c_r": 0.4}, {"c0": 1.2, "c_d": 0.1, "off": 1.1},
        {"c_d": 0.01, "verify_table": [1.0, 1.1, 1.1, 1.1, 2.0, 2.0, 2.0, 2.0, 2.0]},
    ],
)  # fmt: skip
def test_without_doubt_it_is_the_exact_optimum(alpha, cost):
    own, exact = recommend({"alpha": alpha}, cost, kappa_max=8), simspec.exact({"type": "iid", "alpha": alpha}, cost, 8)
    by_kappa = {row["kappa"]: row["speedup"] for row in own.rows if not row["off"]}
    assert list(by_kappa.values()) == pytest.approx(exact.optimum.speedup_by_kappa.tolist())
    best = max(exact.optimum.best_speedup, exact.optimum.off_speedup)
    assert own.speedup == pytest.approx(best)
    if exact.optimum.off_is_better:
        assert own.switch_off
    else:
        assert own.kappa_star == exact.kappa_star
    assert own.rows[0]["speedup"] == pytest.approx(exact.optimum.off_speedup)


def test_a_measured_curve_needs_no_model_at_smaller_kappa():
    own = recommend({"survival": CURVE, "rounds": 100}, {"c_d": 0.1}, kappa_max=6)
    assert own.posterior.tokens[:5] == pytest.approx(1 + np.concatenate([[0], np.cumsum(CURVE)]))
    assert own.posterior.basis == ("measured",) * 5 + ("model",) * 2
    assert [row["extrapolated"] for row in own.rows] == [False] * 6 + [True] * 2


# --- against simulated truth ----------------------------------------------------------------------------------------


def coverage(make, kappa, truth, replicates, level=0.95, alike=False):
    hits = 0
    for i in range(replicates):
        own = tokens_posterior(make(np.random.default_rng(i)), kappa, count=400, seed=i + 1)
        draws = (own.alike if alike else own.draws)[:, kappa]
        low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
        hits += low <= truth <= high
    return hits / replicates


def test_posterior_of_independent_rounds_covers():
    """300 logs of 150 rounds, nominal 95%: outside ±6.1% has probability below 1e-6 (normal, 4.9 sd)."""
    share = coverage(lambda rng: rounds_of(CURVE, 150, rng), 3, 1 + CURVE[:3].sum(), 300, alike=True)
    assert abs(share - 0.95) < 4.9 * np.sqrt(0.95 * 0.05 / 300)


def test_posterior_of_requests_covers_and_rounds_alone_do_not():
    """100 logs of 40 requests of two kinds: rounds taken as independent cover far too seldom.

    With requests not told apart the doubt lets them differ, and covers.
    """
    kinds, shares, tokens = (0.9, 0.5), (0.5, 0.5), 120
    mean = [theory.window(Iid(alpha=a), 4).mean_tokens for a in kinds]
    truth = 1 / sum(s / e for s, e in zip(shares, mean, strict=True))  # Σ tokens over Σ rounds

    def by_request(rng):
        return requests_of(4, 40, tokens, kinds, shares, rng)

    def alone(rng):
        own = by_request(rng).observed
        return seen(Observed.of_counts([(4, own.rounds, own.reached().tolist())]))

    assert (
        coverage(by_request, 4, truth, 100) >= 0.79
    )  # 1e-6: exact binomial at 92%, which 40 requests of two kinds leave
    assert coverage(alone, 4, truth, 50, alike=True) < 0.7
    assert coverage(alone, 4, truth, 50) >= 0.7


def test_hard_requests_need_more_rounds_so_e_moves_with_kappa():
    """Two kinds of requests seen at κ = 8 (rates .917 and .660, 65.4% of tokens the first): E(κ) of vLLM PR 48892."""
    own = tokens_posterior(requests_of(8, 1500, 300, (0.917, 0.66), (0.654, 0.346), np.random.default_rng(1)), 16)
    truth = {1: 1.82, 2: 2.486, 3: 3.026, 4: 3.462, 8: 4.53, 16: 5.314}
    for kappa, tokens in truth.items():
        assert own.tokens[kappa] == pytest.approx(tokens, abs=5 * own.draws[:, kappa].std() + 0.02)
        assert own.tokens[kappa] == pytest.approx(tokens, rel=0.02)
    nested = 1 + own.survival[0]
    assert abs(nested - 1.82) > 0.03  # the share of rounds seen at κ = 8 is not that at κ = 1
    assert own.basis[1] == "re-weighted"


def test_requests_alike_are_left_alone():
    own = tokens_posterior(requests_of(4, 200, 100, (0.7,), (1.0,), np.random.default_rng(2)), 4)
    assert own.tokens == pytest.approx(1 + np.concatenate([[0], np.cumsum(own.survival)]), rel=2e-3)


def test_probability_to_be_best_is_that_of_repeated_logs():
    """Of 60 logs of 100 requests, 3 rounds each, from a truth at which κ = 3 and 4 tie, each is chosen half the time.

    With requests not told apart they may differ, which speaks for the shorter one.
    """
    curve, cost = np.array([0.8, 0.6, 0.45, 0.3]), {"c_d": 0.0}
    price = 1 + curve[:3].sum()
    cost = {"verify_table": [1.0, 1.4, 1.8, 2.0, 2.0 * (price + 0.3) / price]}

    def alike(rng):
        far = (rng.random((100, 3, 1)) < curve).sum(axis=2)
        return seen(Observed.in_order([[4] * 3] * 100, far.tolist()))

    chosen = []
    for i in range(60):
        own = tokens_posterior(alike(np.random.default_rng(i)), 4, 1000, i)
        chosen.append(compare(own, RoundCosts.of_cost(Cost(**cost)), 0.95, 1000, i).kappa)
    shares = {k: chosen.count(k) / 60 for k in (3, 4)}
    assert shares[3] + shares[4] > 0.95
    assert abs(shares[3] - 0.5) < 4.9 * 0.5 / np.sqrt(60)
    own = recommend(rounds_of(curve, 300, np.random.default_rng(1)), cost, kappa_max=4)
    assert set(own.alike) >= {3, 4}
    assert own.effort.rounds > 300


def test_rounds_to_decide_give_the_power_they_promise():
    """At the number of rounds asked for, a paired z test of 2,000 simulated logs finds the difference in 90 ± 5%."""
    costs = {"c_d": 0.05}
    own = recommend({"survival": CURVE, "rounds": 10_000}, costs, kappa_max=4)
    work, mine = own.effort, own.kappa_star
    rival, n = max(work.rival, 0), round(work.rounds)
    pmf = -np.diff(np.concatenate([[1.0], CURVE]), append=0.0)
    at = np.arange(len(pmf))
    logs = np.random.default_rng(3).multinomial(n, pmf, size=2000) / n
    tokens = [logs @ (np.minimum(at, k) + 1) for k in (mine, rival)]
    price = [Cost(**costs).base(k) for k in (mine, rival)]
    shares = [(np.minimum(at, k) + 1)[None, :] / e[:, None] for k, e in zip((mine, rival), tokens, strict=True)]
    contrast = shares[0] - shares[1]
    error = np.sqrt(((logs * contrast**2).sum(1) - (logs * contrast).sum(1) ** 2) / n)
    difference = np.log(tokens[0] / price[0]) - np.log(tokens[1] / price[1])
    assert abs((np.abs(difference / error) > 1.96).mean() - 0.9) < 0.05


def test_clusters_ask_for_more_rounds():
    mixed = requests_of(4, 200, 100, (0.9, 0.4), (0.5, 0.5), np.random.default_rng(4))
    own = recommend(mixed, {"c_d": 0.1}, kappa_max=4)
    assert own.effort.design_effect > 2


# --- the choice -----------------------------------------------------------------------------------------------------


def test_shares_and_regrets_are_those_of_the_draws():
    own = recommend({"survival": CURVE, "rounds": 60}, {"c_d": 0.1}, kappa_max=4)
    choice = own.choice
    best = choice.draws.max(axis=1)
    assert choice.probability.sum() == pytest.approx(1.0)
    assert choice.regret == pytest.approx((1 - choice.draws / best[:, None]).mean(axis=0))
    assert choice.regret[choice.chosen] == choice.regret.min()
    assert own.kappa_star in own.alike


def test_all_kappa_of_a_draw_share_its_acceptance():
    """Paired: the difference of neighbours is far surer than either."""
    own = recommend({"survival": CURVE, "rounds": 100}, {"c_d": 0.1}, kappa_max=4)
    a, b = (own.choice.draws[:, own.choice.options.index(k)] for k in (3, 4))
    assert (a - b).std() < 0.5 * np.hypot(a.std(), b.std())


def test_costs_bring_their_own_doubt():
    sure = RoundCosts.affine(1.0, 0.1, kappas=(1, 2, 3, 4))
    unsure = RoundCosts.affine(1.0, 0.1, kappas=(1, 2, 3, 4), covariance=np.diag([0.001, 0.05]) ** 2)
    acceptance = {"survival": [0.75, 0.5, 0.3, 0.15]}
    assert not recommend(acceptance, sure).known_error
    own = recommend(acceptance, unsure)
    assert own.known_error
    assert len(own.alike) > 1


def test_a_long_log_settles_what_a_short_one_cannot():
    short, long = (recommend({"survival": CURVE, "rounds": n}, {"c_d": 0.12}, kappa_max=4) for n in (25, 250_000))
    assert len(short.alike) > len(long.alike)
    assert long.choice.sureness > 0.99
    assert short.choice.regret[short.choice.chosen] > long.choice.regret[long.choice.chosen]


def test_an_empty_round_is_an_option_only_where_its_cost_is_known():
    assert 0 not in recommend({"alpha": 0.5}, RoundCosts.affine(0.9, 0.2, kappas=(1, 2, 3))).choice.options
    assert 0 in recommend({"alpha": 0.5}, {"c_d": 0.1}).choice.options


def test_a_cost_that_would_be_guessed_below_a_plain_step_is_no_option():
    own = recommend({"emitted": 2.3, "kappa": 2}, RoundCosts.affine(0.3, 0.63, kappas=(2, 3, 5, 7)), kappa_max=7)
    assert 1 not in own.choice.options
    assert any("κ = 1 left out" in line for line in own.assumptions)


def test_seeds_and_nothing_else_change_the_draws():
    one, same, other = (
        recommend({"survival": CURVE, "rounds": 50}, {"c_d": 0.1}, seed=seed).choice.draws for seed in (1, 1, 2)
    )
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


# --- limits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("alpha", "kappa", "tokens"), [(0.7, 4, 128), (0.3, 1, 20), (0.9, 6, 64), (0.5, 3, 1)])
def test_rounds_at_p99_are_those_of_the_exact_law(alpha, kappa, tokens):
    curve = theory.survival_curve(Iid(alpha=alpha), kappa)
    law = theory.emission_time(Iid(alpha=alpha), kappa, Cost(c_d=0.0), tokens, truncate=False)
    assert rounds_quantile(curve, tokens, 0.99) == law.quantile(0.99)


def test_a_gap_is_one_round():
    own = recommend({"alpha": 0.85}, {"c_d": 0.1}, p99_gap_ms=14.0, plain_ms=10.0)
    assert own.kappa_star == 4  # 10 ms · (1 + .1 κ) ≤ 14; 7 without a limit
    assert recommend({"alpha": 0.85}, {"c_d": 0.1}).kappa_star == 7
    assert own.limits[0].times_ms[own.choice.options.index(4)] == pytest.approx(14.0)
    assert "left out: κ = 5-16" in str(own)


def test_the_tail_of_the_time_per_token_prefers_shorter_drafts():
    """Documented: least p99 of 128 tokens at α = .7, c = .1 is at κ = 3, best mean at 4."""
    own = recommend({"alpha": 0.7}, {"c_d": 0.1}, p99_tpot_ms=6.3, plain_ms=10.0)
    times = dict(zip(own.choice.options, own.limits[0].times_ms, strict=True))
    assert min(times, key=times.get) == theory.tail_optimal_kappa(np.array([0.7]), Cost(c_d=0.1), 16, 128, 0.99)[0]
    assert all(times[o] <= 6.3 for o, ok in zip(own.choice.options, own.choice.allowed, strict=True) if ok)


def test_a_rollback_is_in_the_gap_whole():
    own = recommend({"alpha": 0.5}, {"c_d": 0.1, "c_r": 0.5}, p99_gap_ms=100.0, plain_ms=10.0)
    assert own.limits[0].times_ms[own.choice.options.index(2)] == pytest.approx(10 * (1.2 + 0.5))


def test_a_limit_that_nothing_keeps_is_refused():
    with pytest.raises(ParameterError, match="no κ keeps the limit"):
        recommend({"alpha": 0.7}, {"c_d": 0.1}, p99_gap_ms=5.0, plain_ms=10.0)
    with pytest.raises(ParameterError, match="give --plain-ms"):
        recommend({"alpha": 0.7}, {"c_d": 0.1}, p99_gap_ms=5.0)


# --- loads ----------------------------------------------------------------------------------------------------------


def grid(slopes):
    """(batch, context) → slope of R."""
    cells = {
        load: RoundCosts.affine(1.0, slope, kappas=(1, 2, 4, 8), batch=load[0], context=load[1], off=1.0)
        for load, slope in slopes.items()
    }
    return CostGrid(cells)


def test_one_kappa_for_all_loads_is_the_least_loss():
    own = recommend(
        {"alpha": 0.75}, grid({(1, 1024): 0.05, (8, 1024): 0.2, (64, 1024): 0.9}), batches=[1, 8, 64], contexts=[1024]
    )
    kappas = {cell.batch: cell.kappa for cell in own.grid.cells}
    assert kappas[1] > kappas[8] > 0
    assert kappas[64] == OFF
    options = {o for cell in own.grid.cells for o in cell.own.choice.options}
    mean = {o: np.mean([cell.loss(o) for cell in own.grid.cells]) for o in options}
    assert mean[own.grid.single] == pytest.approx(min(mean.values()))
    assert own.grid.single_loss == pytest.approx(
        (min(mean.values()), max(c.loss(own.grid.single) for c in own.grid.cells))
    )
    assert own.grid.by_batch is None


def test_loads_not_asked_for_are_all_that_were_measured():
    costs = grid({(b, c): 0.1 for b in (1, 8) for c in (1024, 4096)})

    def loads(**asked):
        return [(cell.batch, cell.context) for cell in recommend({"alpha": 0.7}, costs, **asked).grid.cells]

    assert loads() == [(1, 1024), (1, 4096), (8, 1024), (8, 4096)]
    assert loads(batches=[8]) == [(8, 1024), (8, 4096)]
    assert loads(contexts=[4096]) == [(1, 4096), (8, 4096)]
    assert recommend({"alpha": 0.7}, grid({(1, 1024): 0.1})).grid is None


def test_acceptance_between_two_contexts_is_linear_in_the_logarithm():
    by_context = {1000: {"emitted": 3.0, "kappa": 3}, 16000: {"emitted": 1.4, "kappa": 3}}
    own = recommend(by_context, {"c_d": 0.15}, contexts=[1000, 4000, 16000])
    assert [cell.own.acceptance.emitted for cell in own.grid.cells] == pytest.approx([3.0, 2.2, 1.4])
    for bad in ([500], [64000]):
        with pytest.raises(ParameterError, match="allowed: between them"):
            recommend(by_context, {"c_d": 0.15}, contexts=bad)
    with pytest.raises(ParameterError, match="say --context"):
        recommend(by_context, {"c_d": 0.15})


def test_probes_are_where_a_wrong_choice_costs_most():
    noise = np.diag([0.01, 0.04]) ** 2
    cells = {
        (b, None): RoundCosts.affine(1.0, slope, kappas=(1, 2, 4), covariance=cov, batch=b)
        for b, slope, cov in ((1, 0.1, None), (8, 0.2, noise), (32, 0.35, noise), (64, 0.3, noise), (128, 0.4, noise))
    }
    own = recommend({"survival": CURVE}, CostGrid(cells), batches=[1, 8, 32, 64, 128])
    assert 1 <= len(own.grid.probes) <= 3
    regrets = [probe.expected_regret for probe in own.grid.probes]
    assert regrets == sorted(regrets, reverse=True)
    assert all(probe.batch != 1 for probe in own.grid.probes)  # nothing is unsure there
    worst = max(float(c.own.choice.regret[c.own.choice.chosen]) for c in own.grid.cells if c.own.known_error)
    assert regrets[0] == pytest.approx(worst)


# --- the face -------------------------------------------------------------------------------------------------------


def test_json_holds_the_answer_and_survives_json():
    own = recommend({"survival": CURVE, "rounds": 200}, {"c_d": 0.1})
    data = json.loads(json.dumps(own.to_dict(), allow_nan=False))
    assert data["kappa_star"] == own.kappa_star
    assert [row["kappa"] for row in data["kappas"]] == list(range(9))
    assert data["conditional"] == pytest.approx([0.75, 2 / 3, 0.6, 0.5])
    assert sum(row["probability_best"] for row in data["kappas"]) + data["off"]["probability_best"] == pytest.approx(1)
    assert own.to_pandas().shape[0] == 10


def test_a_log_file_is_enough(tmp_path):
    rng = np.random.default_rng(5)
    lines = [f"{min(rng.geometric(0.35) - 1, 4)},4,{i // 20}" for i in range(800)]
    (tmp_path / "rounds.csv").write_text("accepted,kappa,request\n" + "\n".join(lines) + "\n")
    own = recommend(tmp_path / "rounds.csv", {"c_d": 0.1})
    assert "Bayesian bootstrap over 40 requests" in str(own)
    assert own.kappa_star in (3, 4, 5)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kappa_max": 0}, "allowed: 1 to 256"),
        ({"within": 1.0}, "0 ≤ within < 1"),
        ({"level": 0.2}, "0.5 ≤ level < 1"),
        ({"batches": [7]}, "were not measured"),
    ],
)
def test_what_is_out_of_range_is_refused(change, says):
    with pytest.raises(ParameterError, match=says):
        recommend({"alpha": 0.5}, grid({(1, None): 0.1}), **change)


def test_words_that_nobody_knows_are_refused():
    with pytest.raises(ParameterError, match='did you mean "emitted"'):
        recommend({"emited": 2.0}, {"c_d": 0.1})
    with pytest.raises(ParameterError, match="acceptance is a float"):
        recommend(0.7, {"c_d": 0.1})
    with pytest.raises(ParameterError, match="costs is a float"):
        recommend({"alpha": 0.7}, 0.1)
