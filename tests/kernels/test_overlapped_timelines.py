"""Do overlapped schedules take the time that a list of events takes?  Two machines, a clock, verdicts one by one.

Nothing is taken from the formulas or the tables: a draft machine makes tokens, target machines make passes, and what is
rejected is thrown away when it is known to be.
"""

from __future__ import annotations

import heapq
import math
import random

import numpy as np
import pytest

from simspec import theory
from simspec.kernels import play
from simspec.kernels.lower_schemes import scheme_form
from simspec.kernels.words import LANES, stream_keys
from simspec.model import Cost, Iid
from simspec.model.draft_laws import draft_law
from simspec.model.rounds import End
from simspec.model.schemes import Ahead, Parallel


def rejections(alpha, number, seed):
    """Good drafts before each of so many rejections."""
    draw = random.Random(seed)
    runs, run = [], 0
    while len(runs) < number:
        if draw.random() < alpha:
            run += 1
        else:
            runs.append(run)
            run = 0
    return runs


def pearl(runs, c_d, gamma, c0, pre_verify):
    """When each rejection is known.  The draft makes a window while the target verifies the one before it."""
    clock, known = 0.0, []
    for run in runs:
        made = judged = 0  # drafts of this stretch that exist, and that have been judged good
        target_until = draft_until = clock
        asked = None  # drafts that the pass under way judges
        events = [(clock, 0, "go")]
        while True:
            clock, _, what = heapq.heappop(events)
            if what == "verdict":
                if run < asked[1]:  # what is drafted meanwhile is waited for, and thrown away
                    clock = max(clock, draft_until)
                    break
                judged, asked = asked[1], None
            if asked is not None or clock < max(target_until, draft_until) - 1e-12:
                continue  # one of the two is still at work
            if made == 0:  # nothing to verify
                if pre_verify:  # the target judges the token to come while a window is made, which begins with it
                    asked = (judged, judged + 1)
                    target_until = clock + c0
                    heapq.heappush(events, (target_until, 1, "verdict"))
                draft_until = clock + gamma * c_d
                made += gamma
            else:
                asked = (judged, made + pre_verify)  # its last law judges the draft that is made first meanwhile
                target_until, draft_until = clock + c0, clock + gamma * c_d
                heapq.heappush(events, (target_until, 1, "verdict"))
                made += gamma
            heapq.heappush(events, (draft_until, 2, "drafted"))
        known.append(clock)
    return known


def dsi(runs, c_d, lookahead):
    """The same where drafting never waits and a pass starts after every ``lookahead`` drafts; and passes at once.

    The clock counts hundredths, so that what ends and what begins at one moment are told apart.
    """
    step = round(100 * c_d)
    clock, known, most = 0, [], 0
    for run in runs:
        events, under_way = [(clock, 1, "draft", 0)], 0
        while True:
            clock, _, what, number = heapq.heappop(events)
            if what == "draft":  # so many drafts exist
                if number % lookahead == 0:
                    under_way += 1
                    most = max(most, under_way)
                    heapq.heappush(events, (clock + 100, 0, "pass", number))
                heapq.heappush(events, (clock + step, 1, "draft", number + 1))
                continue
            under_way -= 1
            if run < number + 1:  # the pass judges those drafts and the next one
                break
        known.append(clock / 100)
    return known, most


CASES = [(0.7, 0.1, 4), (0.9, 0.2, 5), (0.9, 0.3, 6), (0.0, 0.1, 3), (0.95, 0.05, 12), (0.6, 0.25, 1), (0.8, 0.5, 2)]


def assert_speed(runs, times, exact):
    """Tokens per time of independent stretches: the mean of tokens − exact·time is 0 within 5.5 standard errors."""
    gaps = np.array(runs) + 1.0 - exact * np.diff([0.0, *times])
    assert abs(gaps.mean()) <= 5.5 * gaps.std(ddof=1) / math.sqrt(gaps.size) + 1e-9, (gaps.mean(), exact)


def played(scheme, alpha, kappa, cost):
    """Tokens and prices by lane."""
    own = scheme_form(scheme.rounds(draft_law(Iid(alpha=alpha), kappa), kappa))
    keys = stream_keys(31, f"{scheme} {alpha}")
    lanes = np.concatenate([play.scheme_counts(own, keys, c, LANES, 1000) for c in range(4)])
    return lanes @ [kind.tokens for kind in own.kinds], lanes @ [kind.price(cost) for kind in own.kinds]


def assert_played(scheme, alpha, kappa, cost, exact):
    tokens, prices = played(scheme, alpha, kappa, cost)
    gaps = tokens - exact * prices
    assert abs(gaps.mean()) <= 5.5 * gaps.std(ddof=1) / math.sqrt(gaps.size) + 1e-6, (gaps.mean(), exact)


@pytest.mark.parametrize(("alpha", "c_d", "gamma"), CASES)
@pytest.mark.parametrize("pre_verify", [False, True])
def test_windows_made_ahead_by_events(alpha, c_d, gamma, pre_verify):
    """20,000 stretches of text; every stretch takes what the formula says, and the table that is played agrees."""
    runs = rejections(alpha, 20_000, seed=5)
    times = pearl(runs, c_d, gamma, 1.0, pre_verify)
    for run, time in list(zip(runs, np.diff([0.0, *times]), strict=True))[:200]:
        assert time == pytest.approx(theory.draft_ahead_time(run, c_d, gamma, 1.0, pre_verify), abs=1e-6)
    exact = theory.draft_ahead(alpha, c_d, gamma, 1.0, pre_verify).speedup
    assert_speed(runs, times, exact)
    assert_played(Ahead(pre_verify=pre_verify), alpha, gamma, Cost(c_d=c_d), exact)


@pytest.mark.parametrize(("alpha", "c_d", "lookahead"), CASES)
def test_passes_beside_drafting_by_events(alpha, c_d, lookahead):
    runs = rejections(alpha, 20_000, seed=6)
    times, most = dsi(runs, c_d, lookahead)
    own = theory.speculation_parallel(alpha, c_d, lookahead)
    assert_speed(runs, times, own.speedup)
    assert most <= own.targets
    assert most == own.targets or max(runs) * c_d < 1.0
    assert_played(Parallel(), alpha, lookahead, Cost(c_d=c_d), own.speedup)


@pytest.mark.parametrize("pre_verify", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("gamma", [1, 2, 5])
def test_a_lane_starts_as_rounds_do_in_the_long_run(alpha, gamma, pre_verify):
    """One round on, the law of the state in which a round starts is the same."""
    table = Ahead(pre_verify=pre_verify).rounds(draft_law(Iid(alpha=alpha), gamma), gamma)
    begin = {state: share for share, state in table.first}
    at, after = [begin.get(state, 0.0) for state in range(len(table.states))], {}
    for state, outcomes in enumerate(table.states):  # outcomes lead to later states
        for chance, target in outcomes:
            if isinstance(target, End):
                start = table.kinds[target.kind].start
                after[start] = after.get(start, 0.0) + at[state] * chance
            else:
                at[target] += at[state] * chance
    assert sum(begin.values()) == pytest.approx(1.0)
    assert {k: v for k, v in after.items() if v > 0.0} == pytest.approx(begin)


def test_one_text_without_a_rejection():
    """All drafts are right: the two machines never stop."""
    (end,) = pearl([4000], 0.1, 4, 1.0, pre_verify=False)
    assert 4001 / end == pytest.approx(theory.draft_ahead(1.0, 0.1, 4).speedup, rel=2e-3)
    ((last,), _) = dsi([4000], 0.1, 4)
    assert 4001 / last == pytest.approx(theory.speculation_parallel(1.0, 0.1, 4).speedup, rel=5e-3)


def test_another_rate_would_be_seen():
    runs = rejections(0.7, 20_000, seed=5)
    times = pearl(runs, 0.1, 4, 1.0, pre_verify=False)
    with pytest.raises(AssertionError):
        assert_speed(runs, times, theory.draft_ahead(0.72, 0.1, 4).speedup)
    with pytest.raises(AssertionError):
        assert_played(Ahead(), 0.7, 4, Cost(c_d=0.1), theory.draft_ahead(0.71, 0.1, 4).speedup)
