"""Late news and stale drafters in the loop against all histories listed; 6,400 lanes a case."""

import math

import numpy as np
import pytest
from test_policy_histories import ALARM, CHUNKS, COST, DRIFTS, POLICIES, misfit

from simspec import theory
from simspec.claims.control_figures.rules import bounded
from simspec.kernels import play
from simspec.kernels.lower_policies import policy_form
from simspec.kernels.lower_steered import steered_form
from simspec.kernels.words import LANES, stream_keys
from simspec.model import DiscreteMixture, Iid, Markov
from simspec.model.policies import Heuristic, Schedule, Ucb
from simspec.model.serving import Serving

MIX = DiscreteMixture(alphas=(0.9, 0.3), weights=(0.4, 0.6), weights_of="requests", request_tokens=9)
PLAN = (3, 0, 3, 0, 2, 0, 4, 0, 1)


def played(policy, process, serving, length=1):
    form, first = policy_form(policy, serving)
    rows, keys = steered_form(process, form.highest), stream_keys(5, "served")
    return [play.play(rows, keys, chunk, LANES, length, first, form) for chunk in range(CHUNKS)]


def falling(rounds, lowest=0):
    """+1/−2 from 3, off at 0, up again after any round that was off (nothing drafted: nothing rejected)."""
    kappa = 3
    for drafted, accepted in rounds:
        kappa = min(5, kappa + 1) if accepted == drafted else max(lowest, kappa - 2)
    return kappa


FALLING = Heuristic(first=3, lowest=0, highest=5, up=1, down=2)
PLANNED = (Schedule(kappas=PLAN), lambda rounds: PLAN[min(sum(a + 1 for _, a in rounds), 8)])


@pytest.mark.parametrize("process", ["falls", "rises, uncut", "always", "one token"])
@pytest.mark.parametrize(("name", "delay"), [(n, 1 + i % 2) for i, n in enumerate(POLICIES) if not n.startswith("UCB")])
def test_generations_with_late_news(name, delay, process):
    (policy, rule), serving = POLICIES[name], Serving(delay=delay)
    law = theory.enumerate_policy(DRIFTS[process], rule, COST, serving=serving)
    assert misfit(played(policy, DRIFTS[process], serving), law) > ALARM


def late_bounds(rounds, delay):
    """UCB credits the κ of the round that it is told of, which was chosen ``delay`` rounds earlier still."""
    answers, seen = [1], []
    for number, (drafted, accepted) in enumerate(rounds):
        asked = answers[max(0, number - delay)]
        if drafted == asked:
            seen.append((asked, accepted + 1, COST.of_round(asked, accepted < drafted)))
        index = {}
        speed = sum(t for _, t, _ in seen) / sum(c for _, _, c in seen) if seen else 0.0
        for arm in (1, 2, 3):
            own = [t - speed * c for k, t, c in seen if k == arm]
            index[arm] = sum(own) / len(own) + math.sqrt(math.log(len(seen)) / len(own)) if own else math.inf
        best = max(index, key=lambda arm: (index[arm] >= max(index.values()) - 1e-9, -arm))
        answers.append(best if seen else answers[-1])
    return answers[-1]


@pytest.mark.parametrize("delay", [0, 1, 3])
def test_a_bandit_credits_the_arm_of_then(delay):
    policy, serving = Ucb(first=1, lowest=1, highest=3, width=1.0, cost=COST), Serving(delay=delay)
    for name in ("falls", "jumps"):
        tallies = played(policy, DRIFTS[name], serving)
        law = theory.enumerate_policy(DRIFTS[name], lambda r: late_bounds(r, delay), COST, serving=serving)
        assert misfit(tallies, law) > ALARM
        if (delay, name) == (1, "falls"):  # by the κ in play instead of that of the round: another law
            wrong = theory.enumerate_policy(DRIFTS[name], bounded, COST, serving=serving)
            assert misfit(tallies, wrong) < ALARM


STALE = [Serving(stale_rounds=1, stale_factor=0.5), Serving(stale_rounds=2, stale_factor=0.4, delay=1)]


@pytest.mark.parametrize("serving", [*STALE, Serving(stale_rounds=3, stale_factor=0.0)], ids=str)
@pytest.mark.parametrize("process", [*DRIFTS.values(), MIX], ids=str)
@pytest.mark.parametrize(("policy", "rule"), [(FALLING, falling), PLANNED], ids=["falling", "planned"])
def test_generations_with_a_stale_drafter(policy, rule, process, serving):
    law = theory.enumerate_policy(process, rule, COST, serving=serving)
    tallies = played(policy, process, serving)
    assert misfit(tallies, law) > ALARM
    wakes = np.array([t.wakes.mean() for t in tallies])
    error = wakes.std(ddof=1) / math.sqrt(CHUNKS)
    assert abs(wakes.mean() - law.mean_wakes) <= 7 * error + 1e-9  # t with 99 degrees of freedom: 3e-10


CHAINS = [Iid(alpha=0.6), Markov(alpha=0.6, rho=0.3, start="carry"), Iid(alpha=0.0)]


@pytest.mark.parametrize("process", CHAINS, ids=str)
@pytest.mark.parametrize("serving", STALE, ids=str)
def test_lanes_with_a_stale_drafter(process, serving):
    law = theory.enumerate_policy(process, falling, COST, rounds=5, longest=5, serving=serving)
    tallies = played(FALLING, process, serving, length=5)
    assert misfit(tallies, law) > ALARM
    fresh = theory.enumerate_policy(process, falling, COST, rounds=5, longest=5, serving=Serving(delay=serving.delay))
    assert (misfit(tallies, fresh) < ALARM) == (process.alpha > 0.0)


def test_conditions_change_what_they_should():
    """Exact values by hand: α = ½, κ = 1, off, 1: tokens of three rounds 1.5 + 1 + 1 + ½f."""
    rule, plan = (lambda rounds: (1, 0, 1)[len(rounds)]), {"rounds": 3, "longest": 1}
    for factor in (1.0, 0.5, 0.0):
        serving = Serving(stale_rounds=1, stale_factor=factor)
        found = theory.enumerate_policy(Iid(alpha=0.5), rule, COST, serving=serving, **plan)
        assert found.mean_tokens == pytest.approx(3.5 + factor / 2)
        assert (found.mean_wakes, found.mean_flips) == (pytest.approx(1.0), pytest.approx(2.0))
    late = theory.enumerate_policy(
        Iid(alpha=1.0), lambda rounds: 2 + len(rounds), COST, rounds=4, longest=8, serving=Serving(delay=2)
    )
    assert np.argwhere(late.expected_counts).tolist() == [[2, 2], [3, 3]]
    assert late.mean_tokens == 3 * 3 + 4
