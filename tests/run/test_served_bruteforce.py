"""Do requests served together, and processes that go on from round to round, agree with dice thrown here?

Places of a batch and chains of verdicts are played one draft at a time, from the descriptions in docs/control.md and
of the processes; nothing is simspec's.  Both sides are drawn, so that a figure is held at 8 standard errors of the
two, of 40 units or more: 1e-9 each, fewer than 50 of them.
"""

from __future__ import annotations

import math
import random
from typing import Any

import control_brute as brute
import numpy as np
import pytest
from control_brute import Price, law

import simspec
from simspec.model import Cost, Drift
from simspec.model.policies import Heuristic
from simspec.run.makespan import makespan

PRICE = Price(c_d=0.1, c_v=0.02, c_r=0.3)
BOUNDS = {"first": 3, "lowest": 1, "highest": 7}
HALVES = {"type": "discrete_mixture", "alphas": [0.9, 0.3], "weights": [0.4, 0.6], "weights_of": "requests"}
TOKENS = 9
MOODS = {"P": [[0.95, 0.05], [0.1, 0.9]], "alphas": [0.95, 0.3], "start": "carry"}
WORDS = {"target": [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]],
         "draft": [[0.4, 0.5, 0.1], [0.3, 0.3, 0.4], [0.3, 0.2, 0.5]]}  # fmt: skip
OFTEN_OFF = {"first": 3, "lowest": 0, "highest": 4, "rounds": 3, "least": 0.6, "probe": 2, "trial": 1}
SUMS = ("tokens", "cost", "own", "rounds", "kappa", "flips", "off")


class Requests:
    """Of 9 tokens, four in ten with α = .9, the others with .3."""

    def begin(self, dice: random.Random) -> None:
        self.alpha, self.out = (0.9 if dice.random() < 0.4 else 0.3), 0

    def cut(self, kappa: int) -> int:
        return min(kappa, TOKENS - 1 - self.out)

    def play(self, dice: random.Random, drafted: int) -> int:
        accepted = 0
        while accepted < drafted and dice.random() < self.alpha:
            accepted += 1
        self.out += accepted + 1
        return accepted

    def over(self) -> bool:
        return self.out >= TOKENS


class Endless:
    """A lane of so many rounds."""

    def __init__(self, rounds: int, **own: Any) -> None:
        self.rounds, self.own, self.played = rounds, own, 0

    def cut(self, kappa: int) -> int:
        return kappa

    def over(self) -> bool:
        return self.played == self.rounds

    def play(self, dice: random.Random, drafted: int) -> int:
        self.played += 1
        for accepted in range(drafted):
            if not self.passes(dice, last=accepted == drafted - 1):
                return accepted
        self.rest(dice, drafted)
        return drafted


class Hmm(Endless):
    """The state moves with every draft; behind a full round ``full`` times from its last draft's, and not at κ = 0."""

    def begin(self, dice: random.Random) -> None:
        self.state = 0
        self.move(dice, 200)

    def move(self, dice: random.Random, steps: int) -> None:
        for _ in range(steps):
            self.state = dice.choices((0, 1), self.own["P"][self.state])[0]

    def passes(self, dice: random.Random, last: bool) -> bool:
        good = dice.random() < self.own["alphas"][self.state]
        if not (good and last):
            self.move(dice, 1 if good else self.own["steps_after_reject"])
        return good

    def rest(self, dice: random.Random, drafted: int) -> None:
        self.move(dice, self.own["steps_after_full"] - (drafted == 0))


class TokenChain(Endless):
    """min(1, target/draft); a rejected draft is replaced from what target has more, a full round has a bonus token."""

    def begin(self, dice: random.Random) -> None:
        self.word = 0
        for _ in range(50):
            self.rest(dice, 0)

    def passes(self, dice: random.Random, last: bool) -> bool:
        target, draft = self.own["target"][self.word], self.own["draft"][self.word]
        (word,) = dice.choices(range(3), draft)
        good = dice.random() * draft[word] < target[word]
        more = [max(0.0, p - q) for p, q in zip(target, draft, strict=True)]
        self.word = word if good else dice.choices(range(3), more)[0]
        return good

    def rest(self, dice: random.Random, drafted: int) -> None:
        (self.word,) = dice.choices(range(3), self.own["target"][self.word])


def played(make: Any, rule: brute.Rule, units: int, requests: int, batch: int, shares: bool) -> np.ndarray:
    """Sums of every batch, each place counting its first ``requests``; whoever has done goes on, uncounted."""
    dice, out = random.Random(5), np.zeros((units, len(SUMS)))
    for sums in out:
        places, left, asked = [make() for _ in range(batch)], [requests] * batch, [None] * batch
        state: list[Any] = [None] * batch
        kappa: list[int] = [0] * batch

        def anew(place: int, state: Any = state, kappa: Any = kappa) -> None:
            state[place], chances = rule.start()
            kappa[place] = draw(dice, chances)

        for place in range(batch):
            places[place].begin(dice)
            anew(place)
        while any(left):
            own = [0] * batch if shares else range(batch)
            now = [kappa[i] for i in own]
            drafted = [place.cut(k) for place, k in zip(places, now, strict=True)]
            accepted = [place.play(dice, k) for place, k in zip(places, drafted, strict=True)]
            step = PRICE(max(drafted), any(a < k for a, k in zip(accepted, drafted, strict=True)))
            for i in range(batch):
                if left[i]:
                    flip = asked[i] is not None and asked[i] != now[i]
                    emitted, alone = accepted[i] + 1, PRICE(drafted[i], accepted[i] < drafted[i])
                    sums += (emitted, step, alone, 1, now[i], flip, now[i] == 0)
                asked[i] = now[i]
                state[own[i]], chances = rule.told(state[own[i]], kappa[own[i]], now[i], drafted[i], accepted[i])
                kappa[own[i]] = draw(dice, chances)
            for i in range(batch):
                if places[i].over():
                    left[i] = max(left[i] - 1, 0)
                    if left[i] or batch > 1:
                        places[i].begin(dice)
                    if not shares:
                        asked[i] = None
                        anew(i)
    return out


def draw(dice: random.Random, chances: brute.Chances) -> int:
    return dice.choices([*chances], [*chances.values()])[0]


def assert_same(row: Any, sums: np.ndarray) -> None:
    """S, mean κ and time spent waiting; changes of κ and rounds without drafts by the spread of those played here."""
    column = dict(zip(SUMS, sums.T, strict=True))
    for name, over, under, scale in (
        ("speedup", column["tokens"], column["cost"], 1.0), ("mean_kappa", column["kappa"], column["rounds"], 1.0),
        ("straggling", column["cost"] - column["own"], column["cost"], 1.0),
        ("flips_per_1000", column["flips"], column["rounds"], 1000.0),
        ("share_off", column["off"], column["rounds"], 1.0),
    ):  # fmt: skip
        mean = over.sum() / under.sum()
        error = (over - mean * under).std(ddof=1) * math.sqrt(len(over)) / under.sum()
        theirs = (row[f"{name}_high"] - row[f"{name}_low"]) / 3.92 if f"{name}_low" in row else error
        assert abs(row[name] / scale - mean) < 8.0 * math.hypot(error, theirs) + 1e-9, (name, row[name], mean)


@pytest.mark.parametrize(
    ("kind", "own", "batch", "shares"),
    [
        (brute.Heuristic, BOUNDS, 4, False),
        (brute.Heuristic, BOUNDS, 2, True),
        (brute.Rolling, BOUNDS, 64, True),
        (brute.UcbSpec, {"highest": 3}, 8, True),
        (brute.Exp3, {"first": 1, "highest": 3, "rate": 0.4, "even": 0.1}, 4, True),
    ],
    ids=["heuristic apart", "heuristic", "rolling, 64 places", "ucb_spec", "exp3"],
)
def test_requests_that_are_served_together(kind: Any, own: dict[str, Any], batch: int, shares: bool) -> None:
    names = {brute.Heuristic: "heuristic", brute.Rolling: "rolling", brute.UcbSpec: "ucb_spec", brute.Exp3: "exp3"}
    row = simspec.simulate(HALVES | {"request_tokens": TOKENS}, vars(PRICE), windows=20_000,
                           policy={"type": names[kind], **own}, serving={"batch": batch, "shares": shares})  # fmt: skip
    row = row.to_pandas().iloc[0]
    requests = round(row["unit_tokens"] / TOKENS / batch)
    rule = kind(**own, price=PRICE, members=batch)
    assert_same(row, played(Requests, rule, max(40, 200 // batch), requests, batch, shares))


@pytest.mark.parametrize("steps", [(1, 1), (2, 3)])
def test_a_hidden_state_that_goes_on(steps: tuple[int, int]) -> None:
    own = MOODS | {"steps_after_reject": steps[0], "steps_after_full": steps[1]}
    row = simspec.simulate({"type": "hmm", **own}, vars(PRICE), policy={"type": "gate", **OFTEN_OFF}, windows=200_000)
    row = row.to_pandas().iloc[0]
    rounds = int(row["rounds"] // row["units"])
    assert_same(row, played(lambda: Hmm(rounds, **own), brute.Gate(**OFTEN_OFF), 100, 1, 1, False))


def test_words_that_go_on() -> None:
    chain = {"type": "token_chain", **WORDS}
    row = simspec.simulate(chain, vars(PRICE), policy={"type": "gate", **OFTEN_OFF}, windows=60_000)
    row = row.to_pandas().iloc[0]
    rounds = int(row["rounds"] // row["units"])
    assert_same(row, played(lambda: TokenChain(rounds, **WORDS), brute.Gate(**OFTEN_OFF), 60, 1, 1, False))


def test_the_slowest_of_a_batch() -> None:
    alphas = (0.9, 0.8, 0.7, 0.6, 0.5, 0.6, 0.7, 0.8)
    ends = law(brute.Heuristic(**BOUNDS), PRICE, alphas).ends
    mean = sum(rounds * chance for rounds, chance in ends.items())
    found = makespan(Drift(shape="table", alphas=alphas), Cost(c_d=0.1), Heuristic(**BOUNDS), batches=(1, 2, 8, 64))
    for batch, factor, half in zip((1, 2, 8, 64), found.factor, found.half, strict=True):
        within = np.cumsum([ends.get(rounds, 0.0) for rounds in range(9)])
        slowest = float((1.0 - np.minimum(within, 1.0) ** batch).sum())
        assert abs(factor - slowest / mean) < 7.0 * half / 1.96 + 1e-9, (batch, factor, slowest / mean)
