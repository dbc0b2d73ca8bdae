"""News that come late, a stale drafter: kernel against twin bit for bit, and by hand."""

import numpy as np
import pytest
from policy_cases import CASES

from simspec.kernels import lower, play, twin
from simspec.kernels.lower_policies import policy_form
from simspec.kernels.words import LANES, stream_keys
from simspec.model import BetaMixture, Cost, DiscreteMixture, Drift, Hmm, Iid, Markov, ParameterError, Simulation
from simspec.model.policies import Heuristic, Schedule
from simspec.model.serving import Serving

KEYS = stream_keys(8, "serving")
PROCESSES = [
    Iid(alpha=0.7),
    Markov(alpha=0.7, rho=0.3, start="carry"),
    Drift(alpha_start=0.9, alpha_end=0.3, tokens=50),
    Drift(alpha_start=0.2, alpha_end=0.95, tokens=8, truncate=False),
]


def assert_same(fast, slow):
    for name in ("histogram", "sums", "flips", "wakes", "made", "asked"):
        assert (getattr(fast, name) == getattr(slow, name)).all(), name


def both(policy, process, serving, lanes=5, length=None):
    form, first = policy_form(policy, serving)
    rows = lower.form(process, form.highest)
    length = length or (3 if process.unit == "generation" else 60)
    return [player.play(rows, KEYS, 3, lanes, length, first, form) for player in (play, twin)]


@pytest.mark.parametrize("process", PROCESSES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_late_news_are_those_of_the_twin(name, process):
    delay = 1 + len(name) % 4
    assert_same(*both(CASES[name], process, Serving(delay=delay)))


def test_the_first_rounds_know_nothing():
    """Nothing is rejected: κ = 3, 3, 3, 5, 7, 7 … for news of two rounds ago."""
    for tally in both(Heuristic(first=3, highest=7), Iid(alpha=1.0), Serving(delay=2), LANES, 10):
        assert np.diag(tally.histogram).tolist() == [0, 0, 0, 3 * LANES, 0, LANES, 0, 6 * LANES]
    forever = both(Heuristic(first=3, highest=7), Iid(alpha=1.0), Serving(delay=1000), LANES, 10)
    assert [tally.histogram[3, 3] for tally in forever] == [10 * LANES] * 2


@pytest.mark.parametrize("name", ["heuristic", "corrected", "goodput", "ucb", "steps quick"])
def test_no_news_of_another_request(name):
    """Nothing is rejected: a second request waits for its first news as the first one did, unless all is kept."""
    for keeps in (False, True):
        policy = CASES[name].model_copy(update={"keeps": keeps})
        one, two = (
            both(policy, Drift(shape="table", alphas=(1.0,) * 40), Serving(delay=3), 4, requests) for requests in (1, 2)
        )
        for first, second in zip(one, two, strict=True):
            assert (2 * first.histogram == second.histogram).all() != keeps


def test_wakes_by_hand():
    """κ = 2, 0, 0, 2 by position, all accepted: 3 + 1 + 1 + 3 tokens; one wake in each request of eight."""
    plan = Schedule(kappas=(2, 2, 2, 0, 0, 2))
    for tally in both(plan, Drift(shape="table", alphas=(1.0,) * 8), Serving(), 3, 4):
        assert (tally.total("n"), tally.wakes.tolist(), tally.flips.tolist()) == (3 * 4 * 4, [4] * 3, [8] * 3)


MIX = DiscreteMixture(alphas=(0.9, 0.5), weights=(0.4, 0.6), weights_of="requests", request_tokens=25)


@pytest.mark.parametrize("process", [*PROCESSES, MIX], ids=str)
@pytest.mark.parametrize("name", ["schedule", "rolling off", "table", "steps quick", "thompson short", "gate shut"])
@pytest.mark.parametrize("stale", [(1, 0.5), (3, 0.0), (1000, 0.9)])
def test_stale_drafts_are_those_of_the_twin(name, process, stale):
    rounds, factor = stale
    serving = Serving(stale_rounds=rounds, stale_factor=factor, delay=rounds % 3)
    fast, slow = both(CASES[name], process, serving)
    assert_same(fast, slow)


@pytest.mark.parametrize(
    ("rounds", "cells"),
    [
        (1, {(2, 2): 2, (0, 0): 1, (2, 0): 1}),  # tokens 3 + 1 + 1 + 3
        (2, {(2, 2): 1, (0, 0): 1, (2, 0): 2, (1, 1): 1}),  # tokens 3 + 1 + 1 + 1 + 2, the last draft cut
    ],
)
def test_a_stale_drafter_by_hand(rounds, cells):
    """κ = 2, then 0, then 2; a stale drafter is never right, a fresh one always; a request begins with one."""
    plan, process = Schedule(kappas=(2, 2, 2, 0, 2)), Drift(shape="table", alphas=(1.0,) * 8)
    for tally in both(plan, process, Serving(stale_rounds=rounds, stale_factor=0.0), 3, 4):
        assert {(int(d), int(a)): int(tally.histogram[d, a]) // 12 for d, a in np.argwhere(tally.histogram)} == cells
        assert tally.wakes.tolist() == [4] * 3


def test_a_request_begins_with_a_fresh_drafter():
    """κ = 2, then off until the end: three tokens and one, four times over, though a stale drafter is never right."""
    plan, process = Schedule(kappas=(2, 2, 2, 0)), Drift(shape="table", alphas=(1.0,) * 4)
    for tally in both(plan, process, Serving(stale_rounds=5, stale_factor=0.0), 3, 4):
        assert [tuple(cell) for cell in np.argwhere(tally.histogram).tolist()] == [(0, 0), (2, 2)]
        assert (tally.total("n"), tally.wakes.tolist()) == (3 * 4 * 2, [0] * 3)


def test_a_stale_drafter_needs_rows_of_its_own():
    urn, hidden = BetaMixture(alpha=0.7, rho=0.1, request_tokens=40), Hmm(P=((0.9, 0.1), (0.2, 0.8)), alphas=(0.9, 0.5))
    stale = Serving(stale_rounds=2, stale_factor=0.5)
    for process in (urn, hidden.model_copy(update={"start": "carry"})):
        with pytest.raises(ParameterError, match=f"stale_factor = 0.5 has no meaning for {process.type}"):
            Simulation(process, policy=Heuristic(lowest=0), serving=stale).check((16,), [Cost()])
    with pytest.raises(TypeError, match="Urn has no rows"):
        both(CASES["rolling off"], urn, stale)
