"""Foresight: kernel against twin, against all histories listed, and the exact bound by trying every table."""

import itertools
import math

import numpy as np
import pytest
from test_policy_histories import ALARM, CHUNKS, COST, misfit

import simspec
from simspec import theory
from simspec.kernels import play, twin
from simspec.kernels.lower_foresight import foreseen_lengths, foreseen_speed
from simspec.kernels.lower_policies import prices as prices_of
from simspec.kernels.lower_steered import steered_form
from simspec.kernels.words import LANES, stream_keys
from simspec.model import Cost, DiscreteMixture, Drift, Iid, Markov, ParameterError, Survival
from simspec.model.policies import Foresight
from simspec.model.serving import Serving
from simspec.run.plans import steering

STAIRS = Cost(c_d=0.15, verify_table=(1.0, 1.02, 1.9, 1.95, 1.97, 3.1))
"""Verifying a second and a fifth draft is dear: κ is not the run."""
MIX = DiscreteMixture(alphas=(0.9, 0.3), weights=(0.4, 0.6), weights_of="requests", request_tokens=9)
FRESH = {
    "iid": Iid(alpha=0.7),
    "never": Iid(alpha=0.0),
    "always": Iid(alpha=1.0),
    "curve": Survival(survival=(0.8, 0.7, 0.3, 0.3, 0.1)),
    "markov": Markov(alpha=0.7, rho=0.3, start="stationary"),
}
SHORT = [
    Drift(alpha_start=0.9, alpha_end=0.4, tokens=8),
    Drift(alpha_start=0.3, alpha_end=0.95, tokens=7, truncate=False),
    Drift(alpha_start=0.0, alpha_end=0.0, tokens=6),
    Drift(alpha_start=1.0, alpha_end=1.0, tokens=8),
    Drift(alpha_start=0.5, alpha_end=0.5, tokens=1),
]
STALE = Serving(stale_rounds=2, stale_factor=0.5)


def knows(cost, highest, lowest, speed):
    """From the definition: the shortest draft with the most tokens − speed·cost."""

    def policy(rounds, run):
        worth = [min(run, k) + 1 - speed * cost.of_round(k, run < k) for k in range(lowest, highest + 1)]
        return lowest + next(i for i, own in enumerate(worth) if own > max(worth) - 1e-6)

    return policy


@pytest.mark.parametrize("serving", [Serving(), STALE], ids=["", "stale"])
@pytest.mark.parametrize("process", [*FRESH.values(), *SHORT, MIX], ids=str)
def test_the_loop_is_its_twin(process, serving):
    form, first = steering(process, Foresight(highest=5, cost=STAIRS), serving)
    rows, keys = steered_form(process, 5), stream_keys(4, "foresight")
    length = 20 if process.unit == "window" else 3
    fast, slow = (player.play(rows, keys, 2, 7, length, first, form) for player in (play, twin))
    for name in ("histogram", "sums", "flips", "wakes"):
        assert (getattr(fast, name) == getattr(slow, name)).all(), name
    assert fast.total("rejected") == 0


@pytest.mark.parametrize("serving", [Serving(), STALE], ids=["", "stale"])
@pytest.mark.parametrize("cost", [COST, STAIRS], ids=["linear", "stairs"])
@pytest.mark.parametrize("process", [*SHORT, MIX, Iid(alpha=0.7)], ids=str)
def test_generations_follow_their_exact_law(process, cost, serving):
    policy = Foresight(highest=5, lowest=0, speed=1.7, cost=cost)
    form, first = steering(process, policy, serving)
    rows, keys = steered_form(process, 5), stream_keys(6, "foresight")
    lane = process.unit == "window"
    tallies = [play.play(rows, keys, chunk, LANES, 4 if lane else 1, first, form) for chunk in range(CHUNKS)]
    end = {"rounds": 4} if lane else {}
    rule = knows(cost, 5, 0, 1.7)
    law = theory.enumerate_policy(process, rule, COST, longest=5, serving=serving, foresees=True, **end)
    assert misfit(tallies, law) > ALARM
    if lane:
        wrong = theory.enumerate_policy(
            process, lambda r, run: min(rule(r, run), 3), COST, longest=5, serving=serving, foresees=True, **end
        )
        assert misfit(tallies, wrong) < ALARM


@pytest.mark.parametrize("cost", [Cost(c_d=0.1), COST, STAIRS, Cost(c_d=2.0), Cost(c0=0.5, c_r=3.0)], ids=str)
@pytest.mark.parametrize("name", FRESH)
def test_no_table_is_faster_and_the_loop_is_as_fast(name, cost):
    """Every table of κ by run is tried for drafts of up to 3; then 2·10⁵ rounds; t with 99 degrees of freedom."""
    process = FRESH[name]
    found = theory.foresight(process, cost, highest=3)
    survival = np.concatenate([[1.0], theory.survival_curve(process, 3), [0.0]])
    law = survival[:-1] - survival[1:]
    speeds = []
    for table in itertools.product(range(4), repeat=4):
        made = sum(p * (min(run, k) + 1) for p, run, k in zip(law, range(4), table, strict=True))
        spent = sum(p * cost.of_round(k, run < k) for p, run, k in zip(law, range(4), table, strict=True))
        speeds.append(made / spent)
    assert found.speedup == pytest.approx(max(speeds), rel=1e-12)
    assert found.speedup >= theory.optimum(process, cost, 3).best_speedup - 1e-12

    form, first = steering(process, Foresight(highest=3, cost=cost))
    rows, keys = steered_form(process, 3), stream_keys(9, "bound")
    gaps = []
    for chunk in range(CHUNKS):
        tally = play.play(rows, keys, chunk, LANES, 30, first, form)
        price = sum(int(n) * cost.of_round(d, a < d) for (d, a), n in np.ndenumerate(tally.histogram) if n)
        gaps.append(tally.total("tokens") - found.speedup * price)
    error = np.std(gaps, ddof=1) / math.sqrt(CHUNKS)
    assert abs(np.mean(gaps)) <= 7 * error + 1e-6


def test_long_drafts_reach_the_closed_bound():
    for alpha, beta in ((0.5, 0.1), (0.8, 0.02), (0.0, 0.3)):
        found = theory.foresight(Iid(alpha=alpha), Cost(c_d=beta), highest=256)
        assert found.speedup == pytest.approx(theory.foresight_bound(alpha, beta), rel=1e-9)


def test_what_foresight_may_not_know():
    carried = Markov(alpha=0.7, rho=0.3, start="carry")
    beta = simspec.BetaMixture(alpha=0.7, rho=0.1, request_tokens=40)
    for process in (carried, beta, simspec.Hmm(P=((0.9, 0.1), (0.2, 0.8)), alphas=(0.9, 0.5), start="carry")):
        with pytest.raises(ParameterError, match="a run that is known tells of the rounds behind it"):
            simspec.simulate(process, {"c_d": 0.1}, policy="foresight", windows=100)
    with pytest.raises(ParameterError, match="windows start afresh"):
        theory.foresight(carried, COST)
    with pytest.raises(ParameterError, match=r"serving.delay = 2 has no effect on policy foresight"):
        simspec.simulate(Iid(alpha=0.5), COST, policy="foresight", serving={"delay": 2}, windows=100)
    with pytest.raises(ParameterError, match="lowest = 3 is above highest = 2"):
        Foresight(lowest=3, highest=2)
    with pytest.raises(ParameterError, match="a state that moves with every draft"):
        theory.enumerate_policy(carried, lambda rounds, run: run, COST, rounds=2, longest=3, foresees=True)


def test_it_runs_on_a_dense_trace_and_beats_the_best_plan():
    trace = {"type": "trace", "path": "shipped:smollm2", "alpha": "alpha", "request": "request"}
    found = simspec.simulate(trace, {"c_d": 0.1}, policy="foresight", windows=1000).to_pandas()
    best = simspec.simulate(trace, {"c_d": 0.1}, kappa=range(17), windows=1000).to_pandas()
    assert found["speedup"][0] > best["speedup"].max()
    falls = Drift(alpha_start=0.85, alpha_end=0.62, tokens=256)
    steady = simspec.simulate(Iid(alpha=0.7), {"c_d": 0.1}, policy="foresight", windows=100_000).to_pandas().iloc[0]
    assert steady["speedup_exact"] == theory.foresight(Iid(alpha=0.7), Cost(c_d=0.1)).speedup
    assert abs(steady["speedup"] - steady["speedup_exact"]) < 0.04  # six errors
    paid = simspec.simulate(Iid(alpha=0.7), {"c_d": 0.1, "c_switch": 0.1}, policy="foresight", windows=1000).to_pandas()
    assert np.isnan(paid["speedup_exact"][0])
    assert steady["speedup_high"] - steady["speedup_low"] < 0.04  # no room for a rejection that cannot be
    assert (Foresight(cost=STAIRS, highest=5).rejects, Foresight(cost=COST, lowest=1).rejects) == (False, True)
    assert Foresight(cost=Cost(draft_table=(0.0, 0.5, 0.2)), highest=2).rejects
    known, planned = (simspec.simulate(falls, {"c_d": 0.1}, policy=p, windows=40_000) for p in ("foresight", "optimal"))
    assert known.to_pandas()["speedup"][0] > planned.to_pandas()["speedup"][0] + 0.3


def test_a_longer_draft_that_is_cheaper_pays_for_its_rejection():
    """1, 1.5 and 1.2 for 0 to 2 drafts, .4 more after a rejection: of a run of 1 one draft leaves .5, two .4."""
    prices = np.array([1.0, 1.5, 1.2, 1.4, 1.9, 1.6])
    assert foreseen_lengths(2, 0, prices, 1.0).tolist() == [0, 1, 2]


def test_classes_of_requests_count_by_their_shares():
    """The mean law of a run over requests is that of windows with the same weights."""
    cost, keys = Cost(c_d=0.12, c_v=0.02, c_r=0.1), {"alphas": (0.95, 0.2), "weights": (0.2, 0.8)}
    policy = Foresight(highest=8, cost=cost)
    requests = DiscreteMixture(**keys, weights_of="requests", request_tokens=40)
    exact = theory.foresight(DiscreteMixture(**keys), cost, 8).speedup
    assert foreseen_speed(steered_form(requests, 8), policy, prices_of(policy)) == pytest.approx(exact, rel=1e-5)
