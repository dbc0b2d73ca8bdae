"""What do controllers do, written from their descriptions alone?  Rules with plain states, and all their histories.

Nothing here is simspec's.  A rule has ``start() → (state, chances of κ)`` and ``told(state, now, asked, drafted,
accepted) → (state, chances of κ)``: ``now`` is the κ in play, ``asked`` the one that the round told of had asked for.
States are tuples, so that equal histories are merged.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

Chances = dict[int, float]


@dataclass(frozen=True)
class Price:
    c_d: float = 0.0
    c_v: float = 0.0
    c_r: float = 0.0
    c_switch: float = 0.0
    c_wake: float = 0.0

    def __call__(self, drafted: int, rejected: bool) -> float:
        return 1.0 + drafted * (self.c_d + self.c_v) + self.c_r * rejected


def speed(survival: Sequence[float], price: Price, kappa: int) -> float:
    """Tokens over cost of fresh rounds whose draft of j survives with ``survival[j]``."""
    rejected = price.c_r * (1.0 - survival[kappa])
    return sum(survival[: kappa + 1]) / (price(kappa, False) + rejected)


def fastest(survival: Sequence[float], price: Price, lowest: int, highest: int) -> int:
    return max(range(lowest, highest + 1), key=lambda kappa: (speed(survival, price, kappa), -kappa))


def powers(alpha: float, many: int) -> list[float]:
    return [alpha**j for j in range(many + 1)]


class Rule:
    """Parameters by name, over the defaults of the class."""

    first, lowest, highest = 4, 1, 16
    price = Price()
    delay, members = 0, 1

    def __init__(self, **own: Any) -> None:
        self.__dict__.update(own)

    def start(self) -> tuple[Any, Chances]:
        return (), {self.first: 1.0}

    def kept(self, kappa: int) -> int:
        return min(self.highest, max(self.lowest, kappa))


class Always(Rule):
    def told(self, state, now, asked, drafted, accepted):
        return state, {now: 1.0}


class ByPlan(Rule):
    kappas: Sequence[int] = ()

    def start(self):
        return 0, {self.kappas[0]: 1.0}

    def told(self, out, now, asked, drafted, accepted):
        out += accepted + 1
        return out, {self.kappas[min(out, len(self.kappas) - 1)]: 1.0}


class Heuristic(Rule):
    up, down = 2, 1

    def told(self, state, now, asked, drafted, accepted):
        return state, {self.kept(now + self.up if accepted == drafted else now - self.down): 1.0}


class Rolling(Rule):
    smoothing, initial, of, rule, guard, degrade = 0.85, 0.7, "examined", "best", None, "repeat"
    cuts: Sequence[float] = ()
    kappas: Sequence[int] = ()

    def start(self):
        return self.initial, {self.first: 1.0}

    def told(self, estimate, now, asked, drafted, accepted):
        verdicts = [1.0] * accepted + [0.0] * (accepted < drafted)
        if self.of == "round":
            verdicts = [1.0] * accepted + [0.0] * (drafted - accepted)
        if self.of == "drafted":
            verdicts = [accepted / drafted] if drafted else []
        for verdict in verdicts:
            estimate = self.smoothing * estimate + (1.0 - self.smoothing) * verdict
        return estimate, {self.choice(estimate): 1.0}

    def choice(self, e: float) -> int:
        if self.rule == "table":
            kappa = self.kappas[sum(cut <= e for cut in self.cuts)]
        elif self.rule == "best":
            kappa = fastest(powers(e, self.highest), self.price, self.lowest, self.highest)
        elif 0.0 < e < 1.0:
            within = self.price.c_r * math.log(1.0 / e) / (self.price.c_d + self.price.c_v)
            kappa = round(math.log(within) / math.log(e))
        else:
            kappa = self.highest if e else self.lowest
        kappa = self.kept(kappa)
        while self.guard is not None and kappa > self.lowest and 1.0 - e > self.guard**2 * kappa * e:
            kappa -= 1
            if self.degrade == "once":
                break
        return kappa


class Steps(Rule):
    candidates: Sequence[int] = (1, 3, 5, 7)
    weight, warm_up, interval, down, up, ceiling = 0.2, 10, 5, -0.25, 0.0, 0.0

    def start(self):
        middle = self.candidates[len(self.candidates) // 2]
        return (0, middle - 1.0), {middle: 1.0}

    def told(self, state, now, asked, drafted, accepted):
        rounds, mean = state[0] + 1, state[1]
        if asked:
            mean = (1.0 - self.weight) * mean + self.weight * accepted
        past, own = rounds - self.warm_up, self.candidates
        if past <= 0 or past % self.interval:
            return (rounds, mean), {now: 1.0}
        here = own.index(now)
        if now == 0:
            here = min(1, len(own) - 1)
            return (rounds, mean if mean >= 0.0 else own[here] - 1.0), {own[here]: 1.0}
        there = here
        while there and mean <= (0.5 if own[there - 1] == 0 else own[there - 1] - 0.5) + self.down:
            there -= 1
        if there == here:
            while there < len(own) - 1 and mean > own[there] - 0.5 + self.up:
                there += 1
        if self.ceiling and there <= here:
            while there and own[there] > max(1, math.ceil(self.ceiling * mean)):
                there -= 1
        return (rounds, mean), {own[there]: 1.0}


class Goodput(Rule):
    keep, interval, prior = 0.98, 1, 0.7

    def start(self):
        return (0, (1.0,) * self.highest, (self.prior,) * self.highest), {self.first: 1.0}

    def told(self, state, now, asked, drafted, accepted):
        rounds, seen, passed = state
        examined = accepted + (accepted < drafted)
        seen = tuple(self.keep * x + (j < examined) for j, x in enumerate(seen))
        passed = tuple(self.keep * x + (j < accepted) for j, x in enumerate(passed))
        state = (rounds + 1, seen, passed)
        if state[0] % self.interval:
            return state, {now: 1.0}
        survival = [1.0]
        for kept, judged in zip(passed, seen, strict=True):
            survival.append(survival[-1] * kept / judged)
        return state, {fastest(survival, self.price, self.lowest, self.highest): 1.0}


class Gate(Rule):
    """State: rounds behind a closed gate, rounds before it is judged, what it remembers, how many, their sum."""

    rounds, least, of, probe, trial = 32, 0.3, "stretch", None, None

    def start(self):
        return (0, self.rounds, (), 0, 0.0), {self.first: 1.0}

    def told(self, state, now, asked, drafted, accepted):
        closed, due, memory, many, total = state
        if now == 0:  # only rounds that it knows to lie behind the gate count
            if asked == 0 and self.probe == closed + 1:
                return (0, self.trial or self.rounds, (), 0, 0.0), {self.first: 1.0}
            return (closed + (asked == 0), due, memory, many, total), {0: 1.0}
        if asked == 0:
            return state, {now: 1.0}
        if self.of == "stretch":
            memory = (*memory, (accepted, drafted))
            if len(memory) < due:
                return (0, due, memory, 0, 0.0), {now: 1.0}
            kept, made = (sum(column) for column in zip(*memory, strict=True))
            return (0, self.rounds, (), 0, 0.0), {0 if kept < self.least * made else now: 1.0}
        if drafted == 0:
            return state, {now: 1.0}
        value = float(accepted) if self.of == "length" else accepted / drafted
        memory, many, total = (*memory, value), many + 1, total + value  # a running sum, as released
        if len(memory) > self.rounds:
            memory, total = memory[1:], total - memory[0]
        shut = many >= due and total / len(memory) < self.least
        return (0, due, memory, many, total), {0 if shut else now: 1.0}


class Arms(Rule):
    """A draft that was cut says nothing of its arm."""

    def arms(self) -> range:
        return range(self.lowest, self.highest + 1)


class Ucb(Arms):
    """State: (κ, tokens, cost, weight) of the rounds that count."""

    highest, width, keep, window = 8, 2.0, 1.0, None

    def told(self, state, now, asked, drafted, accepted):
        state = tuple((*own[:3], own[3] * self.keep) for own in state)
        if drafted == asked:
            state = (*state, (asked, accepted + 1, self.price(drafted, accepted < drafted), 1.0))
            state = state[-(self.window or len(state)) :]
        if not state:
            return state, {now: 1.0}
        tokens, cost, many = (sum(column) for column in zip(*((t * w, c * w, w) for _, t, c, w in state), strict=True))
        bounds = {}
        for arm in self.arms():
            own = [(t - tokens / cost * c, w) for kappa, t, c, w in state if kappa == arm]
            n = sum(w for _, w in own)
            if n <= 1e-9:
                return state, {arm: 1.0}
            bounds[arm] = sum(w * gain for gain, w in own) / n + self.width * math.sqrt(max(math.log(many), 0.0) / n)
        return state, {max(bounds, key=lambda arm: (round(bounds[arm], 12), -arm)): 1.0}


class UcbSpec(Arms):
    """State: rounds and summed rewards of every arm."""

    highest, confidence, reward = 4, 0.5, "tokens"

    def start(self):
        return ((0, 0.0),) * len(self.arms()), {self.lowest: 1.0}

    def told(self, state, now, asked, drafted, accepted):
        if drafted == asked:
            worth = (accepted + 1) / (1.0 if self.reward == "tokens" else self.price(drafted, accepted < drafted))
            at = asked - self.lowest
            state = (*state[:at], (state[at][0] + 1, state[at][1] + worth), *state[at + 1 :])
        rounds = sum(n for n, _ in state)
        unseen = [arm for arm, (n, _) in zip(self.arms(), state, strict=True) if n == 0]
        if rounds == 0 or unseen:
            return state, {unseen[0] if rounds else now: 1.0}
        half = self.highest / 2.0
        if self.reward != "tokens":
            best = max((kappa + 1) / self.price(kappa, False) for kappa in self.arms())
            half = (best - min(1.0 / self.price(kappa, kappa > 0) for kappa in self.arms())) / 2.0
        bounds = {}
        for arm, (n, x) in zip(self.arms(), state, strict=True):
            log = math.log(len(state) * rounds**2 * math.sqrt(1.0 + n) / self.confidence)
            bounds[arm] = x / n + half * math.sqrt((1.0 + n) / n**2 * (1.0 + 2.0 * log))
        return state, {max(bounds, key=lambda arm: (round(bounds[arm], 12), -arm)): 1.0}


class Drawing(Arms):
    """State: rounds counted, tokens, cost, worth of the arms, chances of rounds not yet told of, verdicts so far."""

    def start(self):
        return (0, 0.0, 0.0, (0.0,) * len(self.arms()), (), 0), {self.first: 1.0}

    def told(self, state, now, asked, drafted, accepted):
        rounds, tokens, cost, worth, waiting, heard = state
        if heard == 0:
            waiting = (((self.first, 1.0),),) * ((self.delay + 1) * self.members)
        chance, waiting, heard = dict(waiting[0])[asked], waiting[1:], heard + 1
        if drafted == asked:
            rounds, tokens, cost = rounds + 1, tokens + accepted + 1, cost + self.price(drafted, accepted < drafted)
            gain = self.gain(accepted, self.price(drafted, accepted < drafted), tokens / cost) / chance
            worth = tuple(own + gain * (arm == asked) for arm, own in zip(self.arms(), worth, strict=True))
        chances = self.chances(rounds, worth)
        if heard % self.members == 0:
            waiting = (*waiting, *[tuple(chances.items())] * self.members)
        return (rounds, tokens, cost, worth, waiting, heard), chances


class Exp3(Drawing):
    highest, rate, even = 8, 0.05, 0.05

    def gain(self, accepted, cost, pace):
        return (accepted + 1 - pace * cost) / (self.highest + 1)

    def chances(self, rounds, worth):
        weights = [math.exp(self.rate * (own - max(worth))) for own in worth]
        share = [(1.0 - self.even) * own / sum(weights) + self.even / len(worth) for own in weights]
        return dict(zip(self.arms(), share, strict=True))


class Exp3Spec(Drawing):
    highest = 4

    def gain(self, accepted, cost, pace):
        return -(self.highest - accepted) / self.highest

    def chances(self, rounds, worth):
        rate = math.sqrt(math.log(len(worth)) / ((rounds + 1) * len(worth)))
        weights = [math.exp(rate * (own - max(worth))) for own in worth]
        return dict(zip(self.arms(), [own / sum(weights) for own in weights], strict=True))


class Thompson(Rule):
    """State: accepted and rejected drafts.  A chance is that of the rates at which a κ is best, cut at 1/2,000."""

    keep, accepted, rejected = 1.0, 1.0, 1.0
    bands: list[tuple[float, int]] | None = None

    def start(self):
        return (0.0, 0.0), {self.first: 1.0}

    def told(self, state, now, asked, drafted, accepted):
        state = (self.keep * state[0] + accepted, self.keep * state[1] + (accepted < drafted))
        if self.bands is None:
            rates = np.linspace(0.0, 1.0, 1001)
            best = [fastest(powers(rate, self.highest), self.price, self.lowest, self.highest) for rate in rates]
            ends = [i for i in range(1000) if best[i] != best[i + 1]]
            self.bands = [((rates[i] + rates[i + 1]) / 2.0, best[i]) for i in ends] + [(1.0, best[-1])]
        out: Chances = defaultdict(float)
        below = 0.0
        for end, kappa in self.bands:
            reached = float(stats.beta.cdf(end, self.accepted + state[0], self.rejected + state[1]))
            out[kappa], below = out[kappa] + reached - below, reached
        return state, dict(out)


@dataclass
class Law:
    """Expected sums over one request, or over some rounds, and the expected rounds by (drafted, accepted)."""

    sums: dict[str, float]
    rounds_by: dict[tuple[int, int], float]
    ends: dict[int, float]

    def per_round(self, name: str) -> float:
        return self.sums[name] / self.sums["rounds"]

    @property
    def speedup(self) -> float:
        return self.sums["tokens"] / self.sums["cost"]


def law(
    rule: Rule, price: Price, alphas: Sequence[float] | float, rounds: int = 10**9, truncate: bool = True,
    delay: int = 0, stale: tuple[int, float] = (0, 1.0),
) -> Law:  # fmt: skip
    """Every history of a request with rates by position, or of the first ``rounds`` rounds at one rate."""
    many = len(alphas) if isinstance(alphas, Sequence) else 0
    rate: Callable[[int], float] = lambda i: alphas[min(i, many - 1)] if many else alphas  # noqa: E731
    state, chances = rule.start()
    layer = {(0, state, kappa, (), None, 0): chance for kappa, chance in chances.items()}
    sums, by, ends, played = defaultdict(float), defaultdict(float), defaultdict(float), 0
    while layer and played < rounds:
        played, after = played + 1, defaultdict(float)
        for (out, state, kappa, news, last, left), chance in layer.items():
            drafted = min(kappa, many - 1 - out) if many and truncate else kappa
            wakes, flips = last == 0 and drafted > 0, last is not None and kappa != last
            left = stale[0] if wakes else left
            factor = stale[1] if drafted and left else 1.0
            alive = 1.0
            for accepted in range(drafted + 1):
                passes = rate(out + accepted) * factor if accepted < drafted else 0.0
                here, alive = chance * alive * (1.0 - passes), alive * passes
                if here <= 0.0:
                    continue
                rejected, emitted = accepted < drafted, accepted + 1
                paid = price(drafted, rejected) + price.c_switch * flips + price.c_wake * wakes
                kept = min(emitted, many - out) if many else emitted
                for name, value in (
                    ("rounds", 1.0), ("tokens", kept), ("cost", paid), ("kappa", kappa), ("squares", kappa**2),
                    ("drafted", drafted), ("accepted", accepted), ("off", kappa == 0), ("flips", flips),
                    ("wakes", wakes), ("examined", accepted + rejected),
                ):  # fmt: skip
                    sums[name] += here * value
                by[drafted, accepted] += here
                if many and out + emitted >= many:
                    ends[played] += here
                    continue
                waits, then, choice = (*news, (kappa, drafted, accepted)), state, {kappa: 1.0}
                if len(waits) > delay:
                    (then, choice), waits = rule.told(state, kappa, *waits[0]), waits[1:]
                for wanted, share in choice.items():
                    place = out + emitted if many else 0
                    after[place, then, wanted, waits, kappa, left - (drafted > 0 and left > 0)] += here * share
        layer = after
    return Law(dict(sums), dict(by), dict(ends))
