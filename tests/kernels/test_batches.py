"""Requests that are served together: kernel against twin bit for bit, and both against all histories, listed.

Each rule is written here once more, from its definition: told of the requests of a batch one after the other.
"""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from policy_cases import CASES
from scipy import stats

from simspec import theory
from simspec.kernels import lower, play, twin
from simspec.kernels.forms import Dense
from simspec.kernels.forms import Policy as PolicyForm
from simspec.kernels.lower_policies import policy_form
from simspec.kernels.policy_twin import RULE_TWINS
from simspec.kernels.words import LANES, stream_keys
from simspec.model import BetaMixture, Cost, DiscreteMixture, Drift, Iid, Markov, ParameterError
from simspec.model.policies import Exp3, Gate, Goodput, Heuristic, OwnPolicy, Rolling, Ucb
from simspec.model.serving import Serving

KEYS = stream_keys(7, "batches")
COST = Cost(c_d=0.1, c_v=0.02, c_r=0.3)
CHUNKS = 100
ALARM = 1e-8
"""False alarm of one test; there are fewer than 100."""

MIX = DiscreteMixture(alphas=(0.9, 0.5), weights=(0.4, 0.6), weights_of="requests", request_tokens=25)
PROCESSES = [
    Iid(alpha=0.7),
    Iid(alpha=0.0),
    Markov(alpha=0.7, rho=0.3, start="carry"),
    Drift(alpha_start=0.2, alpha_end=0.95, tokens=30, truncate=False),
    BetaMixture(alpha=0.7, rho=0.1, request_tokens=20, request_law="geometric"),
    MIX,
]


def assert_same(fast, slow):
    for name in ("histogram", "sums", "flips", "wakes", "made", "asked", "steps"):
        assert (getattr(fast, name) == getattr(slow, name)).all(), name


def both(process, form, first, lanes, length):
    rows = lower.form(process, form.highest)
    return [player.play(rows, KEYS, 3, lanes, length, first, form) for player in (play, twin)]


@pytest.mark.parametrize("process", PROCESSES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_a_batch_is_its_twin(name, process):
    for number, (batch, shares) in enumerate(((2, True), (16, True), (4, False))):
        form, first = policy_form(CASES[name], Serving(batch=batch, shares=shares))
        lengths = (1, 2) if process.unit == "generation" else (6, 25)
        fast, slow = both(process, form, first, (21, 5, 9)[number], lengths[number % 2])
        assert_same(fast, slow)
        assert (fast.steps.sum(axis=(1, 2)) == fast.column("n")).all()


@pytest.mark.parametrize("delay", [1, 3])
def test_late_news_of_a_batch_are_its_twin(delay):
    for name, shares in itertools.product(("heuristic", "corrected", "ucb", "exp3"), (True, False)):
        form, first = policy_form(CASES[name], Serving(batch=4, shares=shares, delay=delay))
        for process, length in ((PROCESSES[0], 12), (MIX, 2)):
            assert_same(*both(process, form, first, 9, length))


@pytest.mark.parametrize("shares", [True, False])
def test_stale_drafters_of_a_batch_are_their_twins(shares):
    serving = Serving(batch=4, shares=shares, delay=1, stale_rounds=2, stale_factor=0.6)
    form, first = policy_form(CASES["ucb discounted"], serving)
    for process, length in ((PROCESSES[0], 40), (PROCESSES[2], 40), (MIX, 2)):
        fast, slow = both(process, form, first, 9, length)
        assert_same(fast, slow)
        assert fast.wakes.sum() > 0


@pytest.mark.parametrize("name", ["heuristic", "corrected", "exp3", "ucb"])
def test_a_batch_of_one_is_no_batch(name):
    """And places that choose for themselves play the rounds that they play alone."""
    rows = lower.form(MIX, 7)
    form, first = policy_form(CASES[name])
    alone = play.play(rows, KEYS, 3, LANES, 3, first, form)
    for serving in (Serving(batch=1), Serving(batch=8, shares=False)):
        own = play.play(rows, KEYS, 3, LANES, 3, first, policy_form(CASES[name], serving)[0])
        assert (own.sums == alone.sums).all()
        assert (own.flips == alone.flips).all()
    assert alone.steps.size == 0
    shared = play.play(rows, KEYS, 3, LANES, 3, first, policy_form(CASES[name], Serving(batch=8))[0])
    assert (shared.sums != alone.sums).any()


# what the rules are, told of a batch: rounds of the batch, each (drafted, accepted) by place


def heuristic(rounds, kappa=3):
    for drafted, accepted in itertools.chain(*rounds):
        kappa = min(7, kappa + 2) if accepted == drafted else max(1, kappa - 1)
    return kappa


def corrected(rounds):
    estimate = 0.7
    for drafted, accepted in itertools.chain(*rounds):
        for verdict in [1] * accepted + [0] * (accepted < drafted):
            estimate = theory.article.ewma_step(estimate, verdict, 0.85)
    return int(theory.plug_in_kappas(np.array([estimate]), COST, 7)[0]) if rounds else 3


def gated(rounds):
    told = list(itertools.chain(*rounds))
    for first in range(0, len(told) - 2, 3):
        made, kept = (sum(column) for column in zip(*told[first : first + 3], strict=True))
        if kept < 0.4 * made:
            return 0
    return 4


def goodput(rounds):
    if not rounds:
        return 3
    examined, kept = [1.0] * 7, [0.7] * 7
    for drafted, accepted in itertools.chain(*rounds):
        for j in range(7):
            examined[j] = 0.9 * examined[j] + (j < accepted + (accepted < drafted))
            kept[j] = 0.9 * kept[j] + (j < accepted)
    alive = [1.0, *itertools.accumulate((a / b for a, b in zip(kept, examined, strict=True)), lambda x, y: x * y)]
    speed = [sum(alive[: k + 1]) / (COST.base(k) + COST.c_r * (1 - alive[k])) for k in range(8)]
    return max(range(1, 8), key=lambda k: speed[k])


def bounded(rounds, by_play=False):
    """UCB over κ = 1 … 3: every verdict is put down to the κ that its round had asked for, whatever is in play now."""
    kappa, seen = 1, []
    for places in rounds:
        asked = kappa
        for drafted, accepted in places:
            asked = kappa if by_play else asked
            if drafted == asked:
                seen = [*seen, (asked, accepted + 1, COST.of_round(asked, accepted < drafted))]
            if not seen:
                continue
            speed = sum(t for _, t, _ in seen) / sum(c for _, _, c in seen)
            index = {}
            for arm in (1, 2, 3):
                own = [t - speed * c for k, t, c in seen if k == arm]
                index[arm] = sum(own) / len(own) + math.sqrt(math.log(len(seen)) / len(own)) if own else math.inf
            kappa = max(index, key=lambda arm: (index[arm] >= max(index.values()) - 1e-9, -arm))
    return kappa


class Slow(OwnPolicy):
    """Half of what was accepted on average, and one."""

    type: str = "slow of a batch"

    def start(self):
        return [2.0]

    @staticmethod
    def choose(kappa, accepted, full, state):
        for lane in range(kappa.size):
            state[0, lane] = 0.5 * state[0, lane] + accepted[lane]
            kappa[lane] = min(5, int(0.5 * state[0, lane]) + 1)


def slow(rounds):
    average = 2.0
    for _, accepted in itertools.chain(*rounds):
        average = 0.5 * average + accepted
    return min(5, int(0.5 * average) + 1) if rounds else 4


BOUNDS = {"first": 3, "lowest": 1, "highest": 7}
RULES = {
    "heuristic": (Heuristic(**BOUNDS), heuristic),
    "corrected": (Rolling(**BOUNDS, cost=COST), corrected),
    "gate": (Gate(first=4, highest=4, rounds=3, least=0.4), gated),
    "goodput": (Goodput(**BOUNDS, keep=0.9, cost=COST), goodput),
    "ucb": (Ucb(first=1, lowest=1, highest=3, width=1.0, cost=COST), bounded),
    "own": (Slow(), slow),
    "fixed": (None, lambda rounds: 3),
}
SHORT = {
    "falls": Drift(alpha_start=0.9, alpha_end=0.4, tokens=5),
    "rises, uncut": Drift(alpha_start=0.4, alpha_end=0.95, tokens=4, truncate=False),
    "code and prose": DiscreteMixture(alphas=(0.9, 0.3), weights=(0.4, 0.6), weights_of="requests", request_tokens=4),
    "never": Drift(alpha_start=0.0, alpha_end=0.0, tokens=4),
    "always": Drift(alpha_start=1.0, alpha_end=1.0, tokens=6),
    "one token": Drift(alpha_start=0.5, alpha_end=0.5, tokens=1),
}


def played(policy, process, serving, chunks=CHUNKS):
    form, first = (
        (PolicyForm(lowest=3, highest=3, serving=serving), 3) if policy is None else policy_form(policy, serving)
    )
    rows = lower.form(process, form.highest)
    return [play.play(rows, KEYS, chunk, LANES, 1, first, form) for chunk in range(chunks)]


def misfit(tallies, law):
    """Least probability, over figures, of a distance as large as seen; chunks are the units, by Bonferroni."""
    figures = []
    for seen, exact in (
        (np.array([t.histogram for t in tallies]), law.expected_counts),
        (np.array([t.steps.sum(axis=0) for t in tallies]), law.expected_steps),
    ):
        wide = np.zeros(seen.shape[1:])
        wide[: len(exact), : exact.shape[1]] = exact
        if (seen.sum(axis=0)[wide == 0.0] > 0).any():
            return 0.0
        figures += [(seen[:, a, b] / LANES, wide[a, b]) for a, b in np.argwhere(wide > 0.02)]
    figures.append((np.array([t.flips.mean() for t in tallies]), law.mean_flips))
    worst = 1.0
    for own, mean in figures:
        error = own.std(ddof=1) / math.sqrt(len(own))
        if error < 1e-12:
            worst = worst if abs(own.mean() - mean) < 1e-9 else 0.0
            continue
        worst = min(worst, 2 * len(figures) * stats.t.sf(abs(own.mean() - mean) / error, len(own) - 1))
    return worst


@pytest.mark.parametrize("process", SHORT.values(), ids=SHORT)
@pytest.mark.parametrize("name", RULES)
def test_batches_follow_their_exact_law(name, process):
    policy, rule = RULES[name]
    assert misfit(played(policy, process, Serving(batch=2)), theory.enumerate_batch(process, rule, COST)) > ALARM


@pytest.mark.parametrize("name", RULES)
def test_a_slightly_other_rule_is_seen(name):
    policy, rule = RULES[name]
    law = theory.enumerate_batch(SHORT["falls"], lambda rounds: max(0, rule(rounds) - (len(rounds) == 1)), COST)
    assert misfit(played(policy, SHORT["falls"], Serving(batch=2)), law) < ALARM


def test_a_verdict_is_put_down_to_the_kappa_that_its_round_asked_for():
    seven = Drift(alpha_start=0.9, alpha_end=0.4, tokens=7)
    own = played(RULES["ucb"][0], seven, Serving(batch=2), 1000)
    assert misfit(own, theory.enumerate_batch(seven, bounded, COST)) > ALARM
    assert misfit(own, theory.enumerate_batch(seven, lambda rounds: bounded(rounds, by_play=True), COST)) < ALARM


@pytest.mark.parametrize("delay", [0, 1])
def test_exp3_divides_by_the_chance_that_the_judged_round_had(delay):
    """By hand: of two places a draw, the second stands for the next round of both, and is judged d rounds later."""
    cost = Cost(c_d=0.1)
    form, _ = policy_form(Exp3(first=1, lowest=1, highest=3, cost=cost), Serving(batch=2, delay=delay))
    rule = RULE_TWINS["weight"](form.figures.tolist(), form.initial.tolist())
    rate, even = form.figures[1:3]
    worth, tokens, spent = np.zeros(4), 0.0, 0.0
    arms, chances = [1] * (1 + delay), [1.0] * (1 + delay)
    random = np.random.default_rng(5)
    for number in range(40):
        arm, chance = arms[number], chances[number]
        for _ in range(2):
            accepted = int(random.integers(0, arm + 1))
            tokens, spent = tokens + accepted + 1, spent + cost.of_round(arm, accepted < arm)
            worth[arm] += (accepted + 1 - tokens / spent * cost.of_round(arm, accepted < arm)) / 4 / chance
            weights = np.exp(rate * (worth[1:] - worth[1:].max()))
            law = (1 - even) * weights / weights.sum() + even / 3
            drawn = rule.after(0, arm, arm, accepted, int(random.integers(0, 2**64, dtype=np.uint64)))
        arms, chances = [*arms, drawn], [*chances, law[drawn - 1]]
    assert set(arms) == {1, 2, 3}
    np.testing.assert_allclose(rule.state[4:7], worth[1:], rtol=1e-5)  # prices are in ticks of 1e-6


def test_the_order_of_the_lanes_is_seen():
    """Told of the second request first, +2/−1 chooses otherwise at its bounds."""
    law = theory.enumerate_batch(SHORT["falls"], lambda rounds: heuristic([r[::-1] for r in rounds]), COST)
    own = played(RULES["heuristic"][0], SHORT["falls"], Serving(batch=2))
    first, last = (np.array([t.sums[place::2].sum(axis=0) for t in own]).sum(axis=0) for place in (0, 1))
    assert misfit(own, law) > ALARM  # both orders have one law, since requests are alike
    assert (first != last).any()


def test_a_batch_is_told_in_the_order_of_its_lanes():
    """One request is always right, the next never: 3 + 2, at most 4, then − 1; the other way round 3 − 1 + 2."""
    form, first = policy_form(Heuristic(first=3, lowest=1, highest=4), Serving(batch=2))
    for good_first, asked in ((True, [3, 3, 3]), (False, [3, 4, 4])):
        rates = [1.0] * 12 + [0.0] * 12
        rows = Dense(np.array(rates if good_first else rates[::-1]), np.array([0, 12, 24]))
        for player in (play, twin):
            tally = player.play(rows, KEYS, 0, 2, 1, first, form)
            good = tally.asked[0 if good_first else 1]
            assert np.repeat(np.arange(5), good).tolist() == asked


def test_four_places_and_places_that_choose_for_themselves():
    three = Drift(alpha_start=0.8, alpha_end=0.5, tokens=3)
    policy, rule = RULES["heuristic"]
    four = theory.enumerate_batch(three, rule, COST, batch=4)
    assert misfit(played(policy, three, Serving(batch=4)), four) > ALARM
    assert misfit(played(policy, three, Serving(batch=2)), four) < ALARM
    alone = theory.enumerate_batch(SHORT["falls"], lambda rounds: heuristic([rounds]), COST, shares=False)
    assert misfit(played(policy, SHORT["falls"], Serving(batch=2, shares=False)), alone) > ALARM
    assert misfit(played(policy, SHORT["falls"], Serving(batch=2)), alone) < ALARM


def test_what_a_lane_counts_does_not_depend_on_how_many_are_asked():
    """Lanes that are not in use are company all the same: five of them are the first five of 64."""
    form, first = policy_form(CASES["corrected"], Serving(batch=8))
    rows = lower.form(MIX, form.highest)
    few, all_ = (play.play(rows, KEYS, 3, lanes, 1, first, form) for lanes in (5, LANES))
    assert (few.sums[:5] == all_.sums[:5]).all()
    assert (few.steps == all_.steps[:5]).all()


def broken(kappa, accepted, full, state):
    for lane in range(kappa.size):
        state[0, lane] += 1.0
        if state[0, lane] > 10.0:
            kappa[lane] = -1


def raising(kappa, accepted, full, state):
    for lane in range(kappa.size):
        state[0, lane] += 1.0
        if state[0, lane] > 10.0:
            raise ValueError("tired")


@pytest.mark.parametrize(("function", "told"), [(broken, "asks for κ = -1"), (raising, "raises ValueError .tired.")])
def test_a_broken_pass_is_named_with_its_lane(function, told):
    """Told of four lanes a round, it breaks at the eleventh: round 3, third lane."""
    form = PolicyForm(lowest=0, highest=8, own=function, initial=np.zeros(1), strict=True, serving=Serving(batch=4))
    with pytest.raises(ParameterError, match=f"policy {told}.* after round 3 of lane 194, κ = 4"):
        play.play(lower.form(Iid(alpha=0.7), 8), KEYS, 3, 5, 20, 4, form)
    assert play.play(lower.form(Iid(alpha=0.7), 8), KEYS, 3, 5, 2, 4, replace(form)).total("n") == 10
