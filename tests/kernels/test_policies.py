"""Policies in the general loop: compiled passes against their twins, bit for bit."""

import math
from itertools import pairwise

import numpy as np
import pytest
from policy_cases import BOUNDS, CASES, COST

from simspec.kernels import lower, play, policies, policy_twin, series, series_twin, twin
from simspec.kernels.lower_policies import policy_form, rolling_table
from simspec.kernels.words import LANES, policy_word, stream_keys
from simspec.model import BetaMixture, Cost, DiscreteMixture, Drift, Iid, Markov, ParameterError
from simspec.model.policies import OwnPolicy, Planned, Policies, Rolling, Schedule

KEYS = stream_keys(7, "policies")
PROCESSES = [
    Iid(alpha=0.7),
    Iid(alpha=0.0),
    Iid(alpha=1.0),
    Markov(alpha=0.7, rho=0.3, start="carry"),
    Drift(alpha_start=0.9, alpha_end=0.3, tokens=50),
    Drift(alpha_start=0.2, alpha_end=0.95, tokens=30, truncate=False),
    BetaMixture(alpha=0.7, rho=0.1, request_tokens=40),
    DiscreteMixture(alphas=(0.9, 0.5), weights=(0.4, 0.6), weights_of="requests", request_tokens=25),
]


def assert_same(fast, slow):
    assert (fast.histogram == slow.histogram).all()
    assert (fast.sums == slow.sums).all()
    assert (fast.flips == slow.flips).all()
    assert (fast.made == slow.made).all()
    assert (fast.asked == slow.asked).all()
    assert (fast.made.sum(axis=0) == fast.histogram.sum(axis=1)).all()
    assert (fast.asked.sum(axis=1) == fast.column("n")).all()


@pytest.mark.parametrize("process", PROCESSES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_a_pass_is_its_twin(name, process):
    form, first = policy_form(CASES[name])
    rows = lower.form(process, form.highest)
    lengths = (1, 3) if process.unit == "generation" else (10, 60)
    for lanes, length in zip((LANES, 5), lengths, strict=True):
        fast = play.play(rows, KEYS, 3, lanes, length, first, form)
        assert_same(fast, twin.play(rows, KEYS, 3, lanes, length, first, form))
        assert len(fast.flips) == lanes


def test_every_policy_and_every_pass_is_tried():
    built_in = {kind for kind, own in Policies.table.items() if not issubclass(own, OwnPolicy | Planned)}
    assert {policy.type for policy in CASES.values()} == built_in - {"fixed", "foresight"}  # see test_foresight
    assert {policy_form(policy)[0].rule for policy in CASES.values()} == set(policies.RULES)
    assert set(policy_twin.RULE_TWINS) == set(policies.RULES) - {""}


@pytest.mark.parametrize("name", CASES)
def test_a_planted_error_is_seen(name):
    """The first κ off by one, or the figures of a pass moved: another tally."""
    form, first = policy_form(CASES[name])
    rows = lower.form(PROCESSES[3], form.highest)
    own = play.play(rows, KEYS, 3, LANES, 60, first, form)
    other = 1 if first != 1 else 2
    moved = twin.play(rows, KEYS, 3, LANES, 60, other, form)
    assert (own.histogram != moved.histogram).any()


def test_words_of_a_policy_are_addressed():
    for lane, number in ((0, 0), (63, 5), (64 * 9 + 3, 10**6)):
        assert int(policy_word(KEYS, lane, number)) == policy_twin.policy_word(KEYS, lane, number)
    assert len({policy_twin.policy_word(KEYS, lane, number) for lane in range(70) for number in range(70)}) == 4900


def test_functions_built_from_sums_and_products():
    for x in (1.0, 1.2, 1.5, 2.0, 7.3, 1e3, 12345.678, 1e12):
        assert series.logarithm(x) == series_twin.logarithm(x) == pytest.approx(math.log(x), rel=1e-13, abs=1e-15)
    for x in (0.0, -1e-9, -0.3, -1.0, -20.0, -300.0, -699.0):
        assert series.exponential(x) == series_twin.exponential(x) == pytest.approx(math.exp(x), rel=1e-10)
    assert series.exponential(-701.0) == series_twin.exponential(-701.0) == 0.0


def test_the_kappa_of_an_estimate_by_search():
    """Cuts found by bisection are where the best of all κ, looked for by itself, changes."""
    cuts, lengths = rolling_table(Rolling(first=1, highest=20, cost=COST))
    assert lengths == tuple(range(1, 21))

    def search(e):
        speeds = [sum(e**j for j in range(k + 1)) / (COST.base(k) + COST.c_r * (1 - e**k)) for k in range(21)]
        return max(1, int(np.argmax(speeds)))

    for cut, (below, above) in zip(cuts, pairwise(lengths), strict=True):
        assert (search(cut - 1e-4), search(cut + 1e-4)) == (below, above)  # prices are in ticks of 1e-6


def test_the_guard_fires_where_it_should():
    """σ/α > .25 ⟺ e < 1/(1 + κ/16): for κ = 4, below .8; repeated, it ends at the shortest."""
    table = {"rule": "table", "cuts": (), "kappas": (4,), "first": 4, "highest": 4}
    cuts, lengths = rolling_table(Rolling(**table, guard=0.25))
    assert (lengths, cuts) == ((1, 4), (pytest.approx(0.8, abs=1e-12),))
    cuts, lengths = rolling_table(Rolling(**table, guard=0.25, degrade="once"))
    assert (lengths, cuts) == ((3, 4), (pytest.approx(0.8, abs=1e-12),))


def goes_on(policy, keeps, alpha):
    """Whether a second request differs from the first, all drafts being accepted, or all rejected."""
    form, first = policy_form(policy.model_copy(update={"keeps": keeps}))
    assert form.keeps == keeps
    rows = lower.form(Drift(shape="table", alphas=(alpha,) * 62), form.highest)
    one, two = (play.play(rows, KEYS, 0, 4, requests, first, form).histogram for requests in (1, 2))
    return (2 * one != two).any()


FORGETFUL = {"rolling off", "ucb one round"}
"""One never drafts, and so learns nothing; the other knows one round."""


@pytest.mark.parametrize("name", [name for name, own in CASES.items() if hasattr(own, "keeps")])
def test_requests_begin_anew_unless_kept(name):
    """With memory the second request goes on where the first one ended; else it is the first over again."""
    policy = CASES[name]
    if not policy_form(policy)[0].random:
        assert not any(goes_on(policy, False, alpha) for alpha in (0.0, 1.0))
    assert any(goes_on(policy, True, alpha) for alpha in (0.0, 1.0)) == (name not in FORGETFUL)


class Climber(OwnPolicy):
    """One draft more in every round."""

    type: str = "climber"

    def start(self):
        return [1.0]

    @staticmethod
    def choose(kappa, accepted, full, state):
        for lane in range(kappa.size):
            state[0, lane] += 1.0
            kappa[lane] = min(16, int(state[0, lane]))


def test_a_policy_of_ones_own_is_kept_too():
    assert [goes_on(Climber(first=1), keeps, 1.0) for keeps in (False, True)] == [False, True]


def test_flips_are_counted_by_hand():
    """κ = 2, 0, 2, 0 … by position, everything accepted: 3 + 1 + 3 + 1 tokens, three changes in four rounds."""
    plan = Schedule(kappas=(2, 2, 2, 0, 2, 2, 2, 0))
    form, first = policy_form(plan)
    rows = lower.form(Drift(shape="table", alphas=(1.0,) * 8), 2)
    for player in (play, twin):
        tally = player.play(rows, KEYS, 0, 3, 2, first, form)
        assert (tally.total("n"), tally.flips.tolist()) == (3 * 2 * 4, [6, 6, 6])  # a new request is no flip


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"type": "heuristic", "first": 30}, "first = 30 is above highest = 16"),
        ({"type": "heuristic", "first": 1, "lowest": 2}, "first = 1 is below lowest = 2"),
        ({"type": "heuristik"}, 'did you mean "heuristic"'),
        ({"type": "steps", "candidates": [3, 1]}, "do not ascend"),
        ({"type": "steps", "first": 2}, "first = 2 is no candidate"),
        ({"type": "rolling", "kappas": [3]}, "kappas has no meaning with rule = 'best'"),
        ({"type": "rolling", "rule": "table", "cuts": [0.5]}, "allowed: one more than cuts"),
        ({"type": "rolling", "smoothing": 1.0}, "smoothing = 1.0 is out of range"),
        ({"type": "schedule", "kappas": []}, "kappas"),
        ({"type": "ucb", "cost": {"c_d": -1}}, "cost.c_d = -1 is out of range"),
        ({"type": "gate", "lowest": 1}, "lowest = 1 is out of range"),
        ({"type": "batch_table", "batches": [1]}, "table is missing"),
        ({"type": "batch_table", "batches": [1], "table": [[1, 2, 3]], "draft_len_schedule": {"4": 2}}, "one of them"),
        ({"type": "batch_table", "batches": [1], "draft_len_schedule": {}}, "is no table"),
        ({"type": "batch_table", "batches": [1], "draft_len_schedule": [4, 2]}, "is no table"),
        ({"type": "batch_table", "batches": [1], "draft_len_schedule": {"0": 2}}, "has the key '0'"),
        ({"type": "batch_table", "batches": [1], "draft_len_schedule": {"four": 2}}, "allowed: a table of"),
        ({"type": "batch_table", "batches": [1], "draft_len_schedule": {"4": -1}}, "draft_len_schedule drafts -1"),
        (
            {"type": "batch_table", "batches": [1], "table": [[2, 8, 3]]},
            "table begins at a batch of 2",
        ),
        (
            {"type": "batch_table", "batches": [1], "table": [[1, 8, 3], [8, 9, 2]]},
            "from 8 to 9 behind a range",
        ),
        (
            {"type": "batch_table", "batches": [1], "table": [[1, 4, 3], [9, 6, 2]]},
            "from 9 to 6; allowed",
        ),
        ({"type": "optimal", "first": 3}, 'unknown key "first"'),
        ({}, "type is missing"),
        ({"type": "schedule", "kappas": 4}, "kappas = 4 is not a list; allowed: κ by tokens out"),
        ({"type": "schedule", "kappas": []}, "kappas has 0 values; allowed: at least 1"),
        ({"type": "batch_table", "batches": [1], "table": [[1, 2]]}, "table[0] = (1, 2) is too short; it takes (first"),
        ({"type": "heuristic", "keeps": "yes"}, "keeps = 'yes' is not true or false; allowed: true or false"),
        ({"type": "ucb", "cost": 3}, "cost = 3 is not a table"),
        ({"type": "follow_me"}, "one of your own is known once its module is imported"),
    ],
)
def test_what_is_no_policy_is_refused_in_one_line(keys, told):
    with pytest.raises(ParameterError) as error:
        Policies.make(**keys)
    assert told in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("kind", "released"),
    [
        ("heuristic", {"first": 5, "up": 2, "down": 1, "lowest": 1, "keeps": False}),  # transformers 4.40
        ("rolling", {"smoothing": 0.85, "of": "examined", "rule": "best", "guard": None, "degrade": "repeat"}),
        ("steps", {"candidates": (1, 3, 5, 7), "weight": 0.2, "warm_up": 10, "interval": 5, "down": -0.25, "up": 0.0,
                   "ceiling": 0.0, "begins": 5}),  # SGLang's AdaptiveStepSlot, batch of one
        ("ucb_spec", {"lowest": 1, "highest": 4, "confidence": 0.5, "reward": "tokens", "begins": 1}),  # BanditSpec
        ("exp3_spec", {"lowest": 1, "highest": 4}),
        ("ucb", {"keep": 1.0, "window": None}),  # UCB1
        ("thompson", {"keep": 1.0, "accepted": 1.0, "rejected": 1.0}),  # a flat prior
        ("gate", {"of": "stretch", "probe": None, "trial": None}),  # TensorRT-LLM: for good
    ],
)  # fmt: skip
def test_what_is_not_said_is_as_released(kind, released):
    own = Policies.make(type=kind)
    assert {key: getattr(own, key) for key in released} == released


def test_prices_are_asked_for():
    with pytest.raises(ParameterError, match="cost is missing"):
        policy_form(Rolling(**BOUNDS))
    with pytest.raises(ParameterError, match="c_r > 0"):
        policy_form(Rolling(**BOUNDS, rule="article", cost=Cost(c_d=0.1)))
    with pytest.raises(ParameterError, match="has 2 costs"):
        Rolling(**BOUNDS).told((Cost(), Cost(c_d=0.1)))
    told = Rolling(**BOUNDS, rule="article").told((Cost(c_d=0.2),))
    assert told.cost == Cost(c_d=0.2, c_v=0.5, c_r=1.0)
