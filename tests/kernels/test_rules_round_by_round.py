"""Rules over hundreds of rounds, cut drafts among them, against readings that keep their own state: nothing is random.

Short generations end before a warm-up is over, and what a cut draft or a forgotten round leaves behind shows late.
Kernels are held against the twins elsewhere; the twins are driven here.
"""

import math

import numpy as np
import pytest
from policy_cases import COST

from simspec.kernels.bandit_twin import ByWeight
from simspec.kernels.lower_policies import policy_form, rolling_table
from simspec.kernels.policies import RULES
from simspec.kernels.policy_twin import RULE_TWINS
from simspec.kernels.words import LANES
from simspec.model.policies import Exp3, Gate, Goodput, Rolling, Steps, Ucb

ROUNDS = 600


def twin_of(policy):
    form, kappa = policy_form(policy)
    return RULE_TWINS[form.rule](form.figures.tolist(), form.initial.tolist()), form, kappa


def driven(policy, seed=5):
    """(asked, drafted, accepted, next κ, word) round by round; every fifth draft is cut, rates change now and then."""
    (twin, form, kappa), rng = twin_of(policy), np.random.default_rng(seed)
    for r in range(ROUNDS):
        asked = kappa
        drafted = min(asked, int(rng.integers(0, 3))) if r % 5 == 4 else asked
        rate = (0.85, 0.5, 0.95, 0.2)[r // 40 % 4]
        accepted, word = min(int(rng.geometric(1.0 - rate)) - 1, drafted), int(rng.integers(2**63))
        kappa = min(max(twin.after(kappa, asked, drafted, accepted, word), form.lowest), form.highest)
        yield asked, drafted, accepted, kappa, word


def misses(policy, rule):
    """Rounds after which a reading asks for another κ."""
    return sum(rule(asked, drafted, accepted) != kappa for asked, drafted, accepted, kappa, _ in driven(policy))


class Slot:
    """SGLang's slot: a decision at the ``interval``-th, 2·``interval``-th … verdict after the warm-up."""

    def __init__(self, own, warm_up=0, interval=0, off=1, by_drafts=False):
        self.own, self.lengths, self.kappa = own, own.candidates, own.begins
        self.warm_up, self.interval = own.warm_up + warm_up, own.interval + interval
        self.average, self.seen, self.off, self.by_drafts = self.kappa - 1.0, 0, off, by_drafts

    def __call__(self, asked, drafted, accepted):
        self.seen += 1
        if (drafted if self.by_drafts else asked) > 0:
            self.average += self.own.weight * (accepted - self.average)
        due = self.seen > self.warm_up and (self.seen - self.warm_up) % self.interval == 0
        self.kappa = self.decided() if due else self.kappa
        return self.kappa

    def decided(self):
        place, old = self.lengths.index(self.kappa), self.kappa
        if old == 0:
            place = min(place + self.off, len(self.lengths) - 1)
            if self.average < 0:
                self.average = self.lengths[place] - 1.0
            return self.lengths[place]
        while place and self.average <= self.fall_to(self.lengths[place - 1]):
            place -= 1
        if self.lengths[place] == old:
            while place + 1 < len(self.lengths) and self.average > self.lengths[place] - 0.5 + self.own.up:
                place += 1
        if self.own.ceiling and self.lengths[place] <= old:
            top = max(1, math.ceil(self.own.ceiling * self.average))
            place = max((i for i in range(place + 1) if self.lengths[i] <= top), default=0)
        return self.lengths[place]

    def fall_to(self, kappa):
        """κ falls to 0 from ½ accepted on, not from −½."""
        return (kappa - 0.5 if kappa else 0.5) + self.own.down


STEPS = {
    "as released": Steps(),
    "may rest": Steps(candidates=(0, 1, 3, 6), first=3, warm_up=3, interval=2, down=0.0, up=0.2),
    "begins off": Steps(candidates=(0, 2, 4), first=0, warm_up=4, interval=3, weight=0.1),
    "below a ceiling": Steps(candidates=(1, 2, 4, 7), warm_up=1, interval=4, ceiling=1.2, weight=0.5),
}


@pytest.mark.parametrize("name", STEPS)
def test_steps_after_a_warm_up(name):
    assert misses(STEPS[name], Slot(STEPS[name])) == 0


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("as released", {"warm_up": 1}), ("as released", {"interval": 1}), ("may rest", {"off": 2}),
     ("begins off", {"by_drafts": True})],
)  # fmt: skip
def test_other_steps_are_seen(name, wrong):
    assert misses(STEPS[name], Slot(STEPS[name], **wrong)) > 10


def test_an_average_of_shares_divides_by_what_was_drafted():
    """A cut draft is judged by its own length; a round without drafts tells nothing."""
    policy = Rolling(first=3, lowest=0, highest=7, of="drafted", initial=0.6, cost=COST)
    lengths = set()
    found, off = [0.6, 0.6], 0
    twin, form, _ = twin_of(policy)
    for asked, drafted, accepted, kappa, word in driven(policy):
        assert min(max(twin.after(asked, asked, drafted, accepted, word), form.lowest), form.highest) == kappa
        for way, judged in enumerate((drafted, asked)):
            found[way] = 0.85 * found[way] + 0.15 * accepted / judged if drafted else found[way]
        assert twin.state[0] == pytest.approx(found[0], abs=1e-12)
        off += abs(found[1] - found[0]) > 0.01
        speeds = [
            sum(found[0] ** j for j in range(k + 1)) / (COST.base(k) + COST.c_r * (1 - found[0] ** k)) for k in range(8)
        ]
        assert speeds[kappa] > max(speeds) - 1e-5  # prices are in ticks of 1e-6
        lengths.add(kappa)
    assert off > 100
    assert lengths >= {0, 1, 4}  # off where no draft pays


def test_a_cut_belongs_to_the_length_above_it():
    policy = Rolling(first=1, highest=4, rule="table", cuts=(0.5, 0.75), kappas=(1, 2, 4))
    assert rolling_table(policy) == ((0.5, 0.75), (1, 2, 4))


def discounted(keep, width, lowest, highest, late=False, own_only=False):
    """Discounted UCB: everything that was seen fades with every round, whatever that round was worth."""
    seen, age = [], 0

    def rule(asked, drafted, accepted):
        nonlocal age
        age += 1
        if drafted == asked:
            seen.append((age, asked, accepted + 1.0, COST.of_round(asked, accepted < drafted)))
        weights = [keep ** (age - then + late) for then, *_ in seen]
        total = sum(weights)
        speed = sum(w * t for w, (_, _, t, _) in zip(weights, seen, strict=True)) / sum(
            w * c for w, (_, _, _, c) in zip(weights, seen, strict=True)
        )
        index = {}
        for arm in range(lowest, highest + 1):
            own = [(w, t - speed * c) for w, (_, k, t, c) in zip(weights, seen, strict=True) if k == arm]
            mine = [(1.0, x) for _, x in own] if own_only else own
            n = sum(w for w, _ in mine)
            index[arm] = math.inf
            if n > 1e-9:
                index[arm] = sum(w * x for w, x in mine) / n + width * math.sqrt(math.log(max(total, 1.0)) / n)
        return max(index, key=lambda arm: (index[arm] >= max(index.values()) - 1e-9, -arm))

    return rule


def test_discounted_bounds():
    """Prices are in ticks of 1e-6, which no index comes near here."""
    keys = {"keep": 0.9, "width": 0.3, "lowest": 1, "highest": 4}
    policy = Ucb(first=1, cost=COST, **keys)
    assert misses(policy, discounted(**keys)) == 0
    for wrong in ({"late": True}, {"own_only": True}, {"keep": 0.81}):
        assert misses(policy, discounted(**(keys | wrong))) > 10


@pytest.mark.parametrize(("lowest", "first", "even", "rate"), [(1, 2, 0.2, 0.6), (0, 0, 0.05, 0.05)])
def test_every_chance_of_exp3(lowest, first, even, rate):
    """Worth over the chance that the arm had, tokens − Ŝ·cost over the longest round; a share drawn evenly."""
    policy = Exp3(first=first, lowest=lowest, highest=4, even=even, rate=rate, cost=COST)
    form, kappa = policy_form(policy)
    twin, rng = ByWeight(form.figures.tolist(), form.initial.tolist()), np.random.default_rng(6)
    arms, worth, tokens, spent, chance, drawn = list(range(lowest, 5)), {}, 0.0, 0.0, 1.0, {}
    for r in range(ROUNDS):
        drafted = min(kappa, 1) if r % 7 == 6 else kappa
        accepted = min(int(rng.geometric(0.4)) - 1, drafted)
        if drafted == kappa:
            price = COST.of_round(kappa, accepted < drafted)
            tokens, spent = tokens + accepted + 1, spent + price
            worth[kappa] = worth.get(kappa, 0.0) + (accepted + 1 - tokens / spent * price) / 5 / chance
        word = int(rng.integers(2**64, dtype=np.uint64))
        kappa = twin.after(kappa, kappa, drafted, accepted, word)
        weights = {arm: math.exp(rate * worth.get(arm, 0.0)) for arm in arms}
        due = {arm: (1 - even) * own / sum(weights.values()) + even / len(arms) for arm, own in weights.items()}
        chance = twin.chances[-1]
        assert chance == pytest.approx(due[kappa], rel=1e-4)  # prices are in ticks of 1e-6
        reached = np.cumsum([due[arm] for arm in arms])
        assert (
            kappa == arms[int(np.searchsorted(reached, (word >> 11) * 2.0**-53, side="right"))]
            or np.abs(reached - (word >> 11) * 2.0**-53).min() < 1e-4
        )
        drawn[kappa] = drawn.get(kappa, 0) + 1
    assert set(drawn) == set(arms)


@pytest.mark.parametrize("of", ["stretch", "share", "length"])
def test_a_gate_stays_open_at_its_least_value(of):
    """What must be reached is reached: 2 of 4 drafts are a half, and a length of 1."""
    least = 1.0 if of == "length" else 0.5
    for own, open_ in ((least, True), (least + 1e-9, False)):
        twin, _, kappa = twin_of(Gate(first=2, highest=2, of=of, rounds=2, least=own))
        for _ in range(8):
            kappa = twin.after(kappa, kappa, kappa, min(kappa, 1), 0)
        assert (kappa == 2) == open_


@pytest.mark.parametrize("of", ["stretch", "share"])
def test_a_gate_is_tried_again_at_its_first_length(of):
    """κ may have grown by then, but not that at which a gate opens: κ = 2 of at most 5, shut after two bad rounds."""
    twin, _, kappa = twin_of(Gate(first=2, highest=5, of=of, rounds=2, least=0.5, probe=3, trial=1))
    seen = []
    for _ in range(9):
        kappa = twin.after(kappa, kappa, kappa, 0, 0)
        seen.append(kappa)
    assert seen == [2, 0, 0, 0, 2, 0, 0, 0, 2]


def test_after_its_trial_a_gate_is_judged_by_whole_stretches_again():
    """Three bad rounds shut it; opened, one good round is its trial, and then it takes three bad ones again."""
    twin, _, kappa = twin_of(Gate(first=2, highest=2, rounds=3, least=0.5, probe=2, trial=1))
    seen = []
    for accepted in (0, 0, 0, 0, 0, 2, 0, 0, 0):
        kappa = twin.after(kappa, kappa, kappa, min(accepted, kappa), 0)
        seen.append(kappa)
    assert seen == [2, 2, 0, 0, 2, 2, 2, 2, 0]


@pytest.mark.parametrize("of", ["stretch", "share"])
def test_late_news_of_a_closed_gate_are_no_rounds_of_its_trial(of):
    """Opened again, it is told of rounds in which it was closed; its trial of three rounds begins with its own news."""
    policy = Gate(first=2, highest=2, of=of, rounds=3, least=0.5, probe=2, trial=3)
    form, _ = policy_form(policy)
    twin, seen = RULE_TWINS[form.rule](form.figures.tolist(), form.initial.tolist()), []
    told = [(2, 0)] * 5 + [(0, 0)] * 4 + [(2, 0)] * 3 + [(0, 0)] * 2
    kappa = np.full(LANES, 2, np.int32)
    memory = np.repeat(form.initial[:, None], LANES, axis=1)
    for asked, accepted in told:
        news = [np.full(LANES, own, np.int32) for own in (asked, asked, accepted, accepted == asked)]
        before = int(kappa[0])
        RULES[form.rule](kappa, *news, memory, form.figures, np.zeros(LANES, np.uint64))
        assert int(kappa[0]) == twin.after(before, asked, asked, accepted, 0)
        seen.append(int(kappa[0]))
    assert seen == [2, 2, 0, 0, 0, 0, 2, 2, 2, 2, 2, 0, 0, 2]


def test_rates_by_depth_are_looked_at_now_and_then():
    """κ moves at every third round only, by all that was examined until then; what was not judged counts nowhere."""
    policy = Goodput(first=2, lowest=0, highest=5, keep=0.9, interval=3, prior=0.6, cost=COST)
    examined, kept, kappa = [1.0] * 5, [0.6] * 5, 2
    for r, (_, drafted, accepted, chosen, _) in enumerate(driven(policy), start=1):
        for j in range(5):
            examined[j] = 0.9 * examined[j] + (j < accepted + (accepted < drafted))
            kept[j] = 0.9 * kept[j] + (j < accepted)
        if r % 3 == 0:
            alive = np.cumprod([1.0, *(a / b for a, b in zip(kept, examined, strict=True))])
            price = [COST.base(k) + COST.c_r * (1.0 - alive[k]) for k in range(6)]
            kappa = int(np.argmax(np.cumsum(alive) / price))
        assert chosen == kappa
