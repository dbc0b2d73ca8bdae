"""Is the doubt as large as the error really is?  Logs simulated from known requests, the truth beside each claim."""

import numpy as np
import pytest

from simspec import recommend
from simspec.advice.acceptance import Acceptance
from simspec.advice.recommend.decide import compare
from simspec.advice.recommend.posterior import BY_PROCESS, tokens_posterior
from simspec.advice.recommend.rate_draws import bootstrapped, group_weights, joined
from simspec.advice.recommend.request_spread import spread_of
from simspec.advice.recommend.request_weights import request_weights
from simspec.advice.recommend.text import sentence
from simspec.evidence.costs.round_costs import RoundCosts
from simspec.evidence.observed import LOG_LINE, NO_UNIT, REQUEST, Observed
from simspec.model import Cost

A, B = 5.0, 2.2
"""Rates of requests: Beta(5, 2.2), mean .694, standard deviation .161."""


def truth(kappa_max, rates=None):
    """E at a fixed κ: tokens over rounds of requests with these rates and many tokens."""
    rates = np.random.default_rng(0).beta(A, B, 400_000) if rates is None else rates
    return np.array(
        [1.0 / np.mean(1.0 / ((rates[:, None] ** np.arange(k + 1.0)).sum(1))) for k in range(kappa_max + 1)]
    )


def requests(rng, number, tokens, kappa=4, rule=None):
    """Rounds of requests of so many tokens; ``rule`` gives the next κ from the last and whether it was full."""
    drafted, accepted = [], []
    for rate in rng.beta(A, B, number):
        far, long, left, now = [], [], tokens, kappa
        while left > 0:
            got = min(int(rng.geometric(1.0 - rate)) - 1, now)
            far.append(got)
            long.append(now)
            left -= got + 1
            now = rule(now, got == now) if rule else now
        drafted.append(long)
        accepted.append(far)
    return Observed.in_order(drafted, accepted)


def seen(observed, kappa=None):
    emitted = 1.0 + float(observed.accepted @ observed.count) / observed.rounds
    return Acceptance(kappa, emitted, None, None, None, observed, "simulated", rounds=observed.rounds)


def counted(observed, unit=NO_UNIT, groups=1):
    """The same rounds as counts."""
    parts = np.array_split(np.arange(observed.groups), groups)
    kappa = observed.kappa_max
    taken = [observed.take(part) for part in parts]
    return Observed.of_counts([(kappa, own.rounds, own.reached().tolist()) for own in taken], unit)


def heuristic(now, full):
    """+2 after a full round, −1 after a rejection, as in a common library's heuristic."""
    return min(now + 2, 20) if full else max(1, now - 1)


# --- the log's own E -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [REQUEST, LOG_LINE, NO_UNIT])
@pytest.mark.parametrize("number", [6, 40])
def test_at_the_logs_own_kappa_it_is_the_logs_own_e(unit, number):
    own = requests(np.random.default_rng(1), number, 60)
    data = own if unit == REQUEST else counted(own, unit, number if unit == LOG_LINE else 1)
    assert tokens_posterior(seen(data), 9, 50).tokens[4] == pytest.approx(1.0 + own.accepted.mean(), rel=1e-12)
    assert spread_of(1.0 + own.accepted.mean(), 4, 9, 100).factors[:, 4] == pytest.approx(1.0, abs=1e-9)


# --- κ moved ---------------------------------------------------------------------------------------------------------


def test_where_kappa_followed_acceptance_tokens_are_by_process():
    """50 requests of 200 tokens: E within 5 of its errors of the truth, and within 4% of what these requests give;
    the rounds that got so long a draft promise 8% more at κ = 10 and 2% less at κ = 1.

    False alarm 1e-6 for each κ (normal, 5 sd): with its rate known a request's E is known to 5%, that of 50 to 0.8%.
    """
    own = recommend(seen(requests(np.random.default_rng(8), 50, 200, 5, heuristic)), {"c_d": 0.03}, kappa_max=12)
    exact, posterior = truth(12, np.random.default_rng(8).beta(A, B, 50)), own.posterior
    for kappa in (1, 2, 5, 10, 12):
        assert abs(posterior.tokens[kappa] - truth(12)[kappa]) < 5 * posterior.draws[:, kappa].std()
        assert posterior.tokens[kappa] == pytest.approx(exact[kappa], rel=0.04)
        assert posterior.draws[:, kappa].std() < 0.08 * exact[kappa]
    offered = posterior.others["rates of the rounds that got so long a draft"]
    assert offered[10] / exact[10] > 1.08
    assert offered[1] / exact[1] < 0.98
    assert set(posterior.basis[1:]) == {BY_PROCESS}
    speed = exact[1:] / (1.0 + 0.03 * np.arange(1, 13))
    assert speed[own.kappa_star - 1] > 0.99 * speed.max()
    first, text = sentence(own), " ".join(str(own).split())
    assert first.endswith('if "Beta by request" holds') or 'if "Beta by request" holds; ' in first
    said = own.posterior.first
    assert said.startswith("tokens are by process, not measured: κ followed what was accepted")
    assert text.startswith(f"{first} {said}")
    data = own.to_dict()
    assert data["survival_is"] == "model"
    assert data["assumptions"][0] == said
    assert {row["acceptance_basis"] for row in data["kappas"][1:]} == {BY_PROCESS}


def test_where_no_process_explains_the_rounds_it_is_said_and_the_spread_between_them_is_in_the_doubt():
    """Second drafts do far worse than first and third ones: no process with memory here has that."""
    rng, rates = np.random.default_rng(2), np.array([0.9, 0.35, *[0.95] * 18])
    drafted, accepted = [], []
    for _ in range(30):
        now, long, far = 4, [], []
        for _ in range(60):
            got = int((rng.random(now) < rates[:now]).cumprod().sum())
            long.append(now)
            far.append(got)
            now = heuristic(now, got == now)
        drafted.append(long)
        accepted.append(far)
    own = recommend(seen(Observed.in_order(drafted, accepted)), {"c_d": 0.05}, kappa_max=6)
    assert "which does not explain them either" in own.posterior.first
    assert own.posterior.first in " ".join(str(own).split())
    assert "each counted the same" in own.posterior.method
    by = [tokens for name, tokens in own.posterior.others.items() if name.startswith("by ")]
    assert len(by) >= 2
    apart = np.std([own.posterior.tokens[5], *(tokens[5] for tokens in by)])
    assert own.posterior.draws[:, 5].std() >= 0.9 * apart


def test_where_kappa_moved_by_itself_and_requests_are_alike_it_is_measured():
    rng = np.random.default_rng(3)
    drafted = rng.choice([2, 4, 6], (60, 40))
    accepted = np.minimum(rng.geometric(0.35, drafted.shape) - 1, drafted)
    own = tokens_posterior(seen(Observed.in_order(drafted.tolist(), accepted.tolist())), 6, 400)
    assert set(own.basis) == {"measured"}
    assert own.first is None
    assert own.alike is None
    mixed = Observed.in_order(
        drafted.tolist(), np.minimum(accepted * ((np.arange(60) % 2) * 4)[:, None], drafted).tolist()
    )
    assert "κ varied, and requests differ" in tokens_posterior(seen(mixed), 6, 400).first


def test_without_order_nobody_can_see_whether_kappa_followed_and_that_is_said():
    own = recommend(
        seen(Observed.of_counts([(2, 600, [420, 290]), (6, 400, [320, 260, 200, 170, 140, 110])])), {"c_d": 0.1}
    )
    assert " if κ did not follow what was accepted" in sentence(own)
    text = " ".join(str(own).split())
    assert text.startswith(f"{sentence(own)} κ varied, and rounds have no order here")


# --- beyond the positions seen ---------------------------------------------------------------------------------------


def test_the_tail_is_as_unsure_as_it_varies():
    """S_6 ÷ S_4 of 40 logs of 60 requests: standard deviation of the draws over that of the logs.

    Of 40 logs a standard deviation is known to 11%: outside 1 ± .55 has probability below 1e-6 (χ², 39 degrees).  A
    shape taken as fixed gives 0.
    """
    best, errors = [], []
    for i in range(40):
        own = requests(np.random.default_rng(i), 60, 80)
        weights = group_weights(own.groups, 300, i + 1)
        found = request_weights(own, 8, weights, joined, 4)
        best.append(np.log(found.tail[1]))
        errors.append(np.log(found.tails[:, 1]).std())
    assert 0.45 < np.mean(errors) / np.std(best) < 1.55


# --- requests not told apart -----------------------------------------------------------------------------------------


def test_sureness_without_requests_is_how_often_it_is_right():
    """40 logs of 60 requests that differ, as counts: the chosen κ is within 1% of the best about as often as said.

    If requests were alike it would say 97% or more, which is far from true.  Given the mean sureness p, 40 logs lie
    within 4.9·√(p(1 − p)/40) of it but for 1e-6.
    """
    exact, costs = truth(14), RoundCosts.of_cost(Cost(c_d=0.03))
    speed = exact[1:] / (1.0 + 0.03 * np.arange(1, 15))
    said, said_alike, right, right_alike = [], [], [], []
    for i in range(40):
        posterior = tokens_posterior(seen(counted(requests(np.random.default_rng(i), 60, 80))), 14, 1000, i + 1)
        own = compare(posterior, costs, 0.95, 1000, i)
        said.append(own.sureness)
        right.append(speed[own.kappa - 1] >= 0.99 * speed.max())
        plain = tokens_posterior_alike(posterior, costs, i)
        said_alike.append(plain.sureness)
        right_alike.append(speed[plain.kappa - 1] >= 0.99 * speed.max())
    sure = np.mean(said)
    assert abs(np.mean(right) - sure) < 4.9 * np.sqrt(sure * (1 - sure) / 40)
    assert np.mean(said_alike) > 0.95
    assert np.mean(right_alike) < 0.75


def tokens_posterior_alike(posterior, costs, seed):
    import dataclasses

    return compare(dataclasses.replace(posterior, draws=posterior.alike), costs, 0.95, 1000, seed)


def test_the_headline_says_both():
    own = recommend({"survival": [0.84, 0.60, 0.39, 0.27], "rounds": 400}, {"c_d": 0.12})
    assert "sure to be within 1% of the best (more than 99% if requests are alike)" in sentence(own)
    assert own.sure_if_alike > own.choice.sureness
    assert own.to_dict()["probability_within_1pct_of_best"] == own.choice.sureness
    assert "if requests differ by ±0." in " ".join(str(own).split())
    noisy = RoundCosts.affine(1.0, 0.12, kappas=(1, 2, 4, 8), covariance=np.diag([0.01, 0.01]) ** 2)
    exact = recommend({"survival": [0.84, 0.60, 0.39, 0.27]}, noisy)
    assert " of the best if acceptance is exactly that" in sentence(exact)


# --- few requests ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("groups", [4, 8, 20])
def test_few_groups_cover(groups):
    """1,500 logs of few requests, normal rates .6 ± .05 of 400 examined drafts each: a nominal 95% interval.

    Outside ±2.8% has probability below 1e-6 (normal, 4.9 sd).  Weights as they are drawn cover 78% of 4 groups.
    """
    rng, hits, logs = np.random.default_rng(groups), 0, 1500
    weights = group_weights(groups, 400, 7)
    for _ in range(logs):
        rate = np.clip(rng.normal(0.6, 0.05, groups), 0.01, 0.99)
        reached = rng.binomial(400, rate)[:, None].astype(float)
        own = bootstrapped(reached, np.full((groups, 1), 400.0), weights, groups)
        low, high = np.quantile(own, [0.025, 0.975])
        hits += low <= 0.6 <= high
    assert abs(hits / logs - 0.95) < 4.9 * np.sqrt(0.95 * 0.05 / logs)
