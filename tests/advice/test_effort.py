"""What it takes to tell two draft lengths apart, and the p99 of requests that differ: against runs that are played."""

import json

import numpy as np
import pytest

from simspec.advice.acceptance import Acceptance
from simspec.advice.recommend.answer import recommend
from simspec.advice.recommend.effort import effort_of
from simspec.advice.recommend.latency_limit import rounds_quantile
from simspec.advice.recommend.request_mix import request_mix
from simspec.evidence.observed import LOG_LINE, Observed

BETA = (5.0, 2.2)
TOKENS = 100
BEYOND = 1.959964


def played(rng, rates, kappa, tokens=TOKENS):
    """Accepted lengths (requests, tokens) of i.i.d. drafts, and which of these rounds it takes to emit ``tokens``."""
    accepted = np.minimum(rng.geometric(np.broadcast_to(1.0 - rates[:, None], (len(rates), tokens))) - 1, kappa)
    return accepted, np.cumsum(accepted + 1, axis=1) - (accepted + 1) < tokens


def log_of(rng, count, kappa, law=BETA, tokens=TOKENS):
    """Rounds of requests whose rates have a Beta law."""
    accepted, kept = played(rng, rng.beta(*law, count), kappa, tokens)
    own = [row[took].tolist() for row, took in zip(accepted, kept, strict=True)]
    return Observed.in_order([[kappa] * len(row) for row in own], own)


def geometric(alpha, kappa):
    return alpha ** np.arange(1.0, kappa + 1)


@pytest.mark.parametrize(("alpha", "one", "two", "gap"), [(0.7, 2, 3, 0.03), (0.8, 6, 5, 0.02)])
def test_two_runs_of_independent_rounds_find_it_and_one_run_needs_far_fewer(alpha, one, two, gap):
    """2,000 pairs: the share found is within 5 standard errors (.034) of .9: a false alarm of 6e-7."""
    rng = np.random.default_rng(5)
    own = effort_of(geometric(alpha, 6), None, one, two, gap)
    assert own.rounds_each > 5 * own.rounds
    assert own.requests is own.requests_each is None
    n = round(own.rounds_each)
    # sums of n rounds, drawn as counts of accepted lengths
    means, errors = [], []
    for kappa in (one, two):
        pmf = -np.diff(np.concatenate([[1.0], geometric(alpha, kappa)]), append=0.0)
        counts, at = rng.multinomial(n, pmf, 2000), np.arange(kappa + 1.0) + 1.0
        mean = counts @ at / n
        means.append(np.log(mean / (pmf @ at)))
        errors.append((counts @ at**2 / n - mean**2) / mean**2 / n)
    found = np.abs((means[0] - means[1] + gap) / np.sqrt(errors[0] + errors[1])) > BEYOND
    assert abs(found.mean() - 0.9) < 0.034


def test_two_runs_of_the_same_requests_vary_as_said_and_find_it():
    """30,000 requests played at both κ: their variance, with a standard error of 1%, is the one behind the figure ± 6%.

    So is that of one run cut at both, with each request's own E_r.  300 pairs of runs then find the difference in .9
    within 5 standard errors (.087) and .02 for the mix that was estimated, and the requests of one run are too few.
    """
    rng = np.random.default_rng(6)
    gap, long, short = 0.03, 4, 2
    own = effort_of(geometric(0.7, 4), log_of(rng, 4000, long), long, short, gap)
    rates = rng.beta(*BETA, 30_000)
    needed = []
    for kappa in (long, short):
        accepted, kept = played(rng, rates, kappa)
        needed.append(kept.sum(axis=1) / ((accepted + 1) * kept).sum(axis=1))
    within = ((BEYOND + 1.281552) / gap) ** 2
    two = np.var(needed[0] / needed[0].mean() - needed[1] / needed[1].mean())
    assert own.requests_each == pytest.approx(within * two, rel=0.06)
    accepted, kept = played(rng, rates, long)
    emitted = [((np.minimum(accepted, kappa) + 1) * kept).sum(axis=1) / kept.sum(axis=1) for kappa in (long, short)]
    needed = [1.0 / e for e in emitted]
    one = np.var(needed[0] / needed[0].mean() - needed[1] / needed[1].mean())
    assert own.requests == pytest.approx(within * one, rel=0.06)
    assert own.design_effect > 3
    truth = [-np.log(np.mean((1.0 - rates) / (1.0 - rates ** (kappa + 1)))) for kappa in (long, short)]

    def power(count):
        found = 0
        for _ in range(300):
            chosen, parts = rng.beta(*BETA, count), []
            for kappa in (long, short):
                accepted, kept = played(rng, chosen, kappa)
                tokens, rounds = ((accepted + 1) * kept).sum(axis=1), kept.sum(axis=1)
                parts.append((np.log(tokens.sum() / rounds.sum()), tokens / tokens.sum() - rounds / rounds.sum()))
            move = parts[0][0] - parts[1][0] - (truth[0] - truth[1]) + gap
            error = np.sqrt(((parts[0][1] - parts[1][1]) ** 2).sum() * count / (count - 1))
            found += abs(move / error) > BEYOND
        return found / 300

    assert abs(power(round(own.requests_each)) - 0.9) < 0.107
    assert power(round(own.requests)) < 0.85


def test_rounds_follow_from_requests_and_lines_bring_their_own_effect():
    rng = np.random.default_rng(7)
    log = log_of(rng, 300, 4)
    own = effort_of(geometric(0.7, 4), log, 4, 2, 0.03)
    assert own.rounds / own.requests == pytest.approx(log.rounds / log.groups, rel=0.03)
    lines = Observed(log.drafted, log.accepted, log.count, log.offsets, LOG_LINE)
    by_line = effort_of(geometric(0.7, 4), lines, 4, 2, 0.03)
    assert by_line.requests is None
    alone = effort_of(geometric(0.7, 4), None, 4, 2, 0.03)
    assert by_line.rounds_each > 1.5 * alone.rounds_each
    parts = 0.0
    for kappa in (4, 2):
        value = np.minimum(log.accepted, kappa) + 1.0
        by_group = np.bincount(log.group, value / value.mean() - 1.0)
        parts += float((by_group**2).sum()) / log.rounds
    within = ((BEYOND + 1.281552) / 0.03) ** 2
    assert by_line.rounds_each == pytest.approx(within * parts, rel=0.1)
    assert effort_of(geometric(0.7, 4), None, -1, 3, 0.0).rounds == np.inf


def test_both_ways_to_decide_are_said_in_words():
    rng = np.random.default_rng(8)
    own = recommend({"alpha": 0.7}, {"c_d": 0.2})
    text = " ".join(str(own).split())
    assert "of one run at κ = 3, its drafts cut at both lengths; or two runs, one with each, of about" in text
    told = own.to_dict()["rounds_to_decide"]
    assert told["rounds_each"] > told["rounds"]
    assert told["requests"] is None
    work = effort_of(geometric(0.7, 4), log_of(rng, 100, 4), 4, 2, 0.03)
    assert " requests (" in work.says("κ = 4", "κ = 2")
    assert "on the same requests" in work.says("κ = 4", "κ = 2")


@pytest.mark.parametrize("kappa", [2, 4, 8])
def test_the_hardest_requests_make_the_p99_of_a_time_per_token(kappa):
    """Beta(4, 2), 128 tokens: rounds at p99 of 20,000 played requests; one rate for all would say 40 to 60 fewer.

    ±4: the quantile of 20,000 has a standard error of .4, and that of a mix of 800 requests .7.
    """
    rng = np.random.default_rng(9)
    _, kept = played(rng, rng.beta(4.0, 2.0, 20_000), kappa, 128)
    truth = np.quantile(kept.sum(axis=1), 0.99)
    mix = request_mix(log_of(rng, 800, 4, (4.0, 2.0), 128))
    assert abs(rounds_quantile(mix.curves(kappa), 128, 0.99, mix.share) - truth) <= 4
    assert rounds_quantile(geometric(2 / 3, kappa), 128, 0.99) < truth - 20


def test_a_log_by_request_brings_its_mix_to_the_advice():
    """p99, rollback and what would settle it, against 20,000 played requests at κ = 2: .03 of each, .2 ms."""
    rng = np.random.default_rng(12)
    log = log_of(rng, 1500, 4)
    seen = Acceptance(4, 1.0 + float(log.accepted.mean()), None, None, 4, log, "played", 0.7, log.rounds)
    own = recommend(seen, {"c_d": 0.1, "c_r": 1.0}, p99_tpot_ms=50.0, plain_ms=10.0, tokens=TOKENS, kappa_max=4)
    accepted, kept = played(rng, rng.beta(*BETA, 20_000), 2)
    place = own.choice.options.index(2)
    rejecting = 1.0 - ((accepted == 2) & kept).sum() / kept.sum()
    assert own.choice.round_cost[place] == pytest.approx(1.2 + rejecting, abs=0.008)
    assert own.choice.cost_draws[:, place].mean() == pytest.approx(1.2 + rejecting, abs=0.008)
    truth = np.quantile(kept.sum(axis=1), 0.99) / TOKENS * (1.2 + rejecting) * 10.0
    assert own.limits[0].times_ms[place] == pytest.approx(truth, rel=0.05)
    assert own.limits[0].spread == pytest.approx((0.694, 0.161), abs=0.02)
    assert own.effort.requests is not None
    assert json.loads(json.dumps(own.to_dict()))["rounds_to_decide"]["requests_each"] > own.effort.requests


def test_the_limit_says_whose_requests_it_is_about():
    rng = np.random.default_rng(10)
    log = log_of(rng, 200, 4, (4.0, 2.0), 128)
    rates = {"c_d": 0.05}
    curve = log.reached() / log.rounds
    known = recommend({"survival": curve.tolist()}, rates, p99_tpot_ms=20.0, plain_ms=10.0, kappa_max=4)
    assert "requests taken as alike" in known.limits[0].quantity
    assert known.limits[0].spread is None


def test_a_rollback_is_paid_by_rounds_that_reject_as_played():
    """Share of full rounds at κ, of requests weighted for that κ, against 20,000 played requests: within .007.

    Both have a standard error of .001 to .0015.  The difference of E at κ and κ − 1 is .012 to .034 off, as the two
    hold other shares of easy requests.
    """
    rng = np.random.default_rng(11)
    mix = request_mix(log_of(rng, 3000, 6))
    for kappa in (2, 4, 6):
        accepted, kept = played(rng, rng.beta(*BETA, 20_000), kappa)
        truth = ((accepted == kappa) & kept).sum() / kept.sum()
        emitted = [1.0 / float(mix.share @ (1.0 / mix.emitted(own))) for own in (kappa, kappa - 1)]
        assert abs(mix.full(kappa) * (emitted[0] - emitted[1]) - truth) < 0.007
        assert abs(emitted[0] - emitted[1] - truth) > 0.009
    assert mix.full(0) == 1.0
