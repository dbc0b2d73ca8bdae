"""What does a bandit do, one lane at a time, in plain Python?  Twins of `simspec.kernels.bandits`, bit for bit."""

from __future__ import annotations

import math
from collections.abc import Sequence

from simspec.kernels.policy_rule import Rule
from simspec.kernels.series_twin import beta_draw, exponential, logarithm


class ByBound(Rule):
    """Upper confidence bound of tokens − Ŝ·cost, arm by arm."""

    def after(self, kappa: int, asked: int, drafted: int, accepted: int, word: int) -> int:
        longest, keep, width, lowest = int(self.figures[0]), *self.figures[1:3], int(self.figures[3])
        arms = longest + 1
        if keep != 1.0:
            self.state = [x * keep for x in self.state]
        if drafted == asked:
            cost = self.figures[4 + asked + (arms if accepted < drafted else 0)]
            for row, amount in enumerate((1.0, accepted + 1.0, cost)):
                self.state[row] += amount
                self.state[3 + row * arms + asked] += amount
        if self.state[0] == 0.0:
            return kappa
        log = logarithm(max(self.state[0], 1.0))
        bounds = []
        for arm in range(lowest, arms):
            n, tokens, cost = (self.state[3 + row * arms + arm] for row in range(3))
            if n > 1e-9:
                bounds.append((tokens - self.state[1] / self.state[2] * cost) / n + width * math.sqrt(log / n))
            else:
                bounds.append(math.inf)
        return lowest + bounds.index(max(bounds))


class ByWindow(Rule):
    """The same of the last so many rounds, summed anew each time."""

    def __init__(self, figures: Sequence[float], initial: Sequence[float]) -> None:
        super().__init__(figures, initial)
        self.rounds: list[tuple[int, float, float]] = []

    def after(self, kappa: int, asked: int, drafted: int, accepted: int, word: int) -> int:
        longest, window, width, lowest = int(self.figures[0]), int(self.figures[1]), *self.figures[2:4]
        if drafted == asked:
            cost = self.figures[4 + asked + (longest + 1 if accepted < drafted else 0)]
            self.rounds = [*self.rounds, (asked, accepted + 1.0, cost)][-window:]
        if not self.rounds:
            return kappa
        rate = sum(tokens for _, tokens, _ in self.rounds) / sum(cost for _, _, cost in self.rounds)
        log = logarithm(float(len(self.rounds)))
        bounds = []
        for arm in range(int(lowest), longest + 1):
            own = [(tokens, cost) for played, tokens, cost in self.rounds if played == arm]
            gain = sum(tokens for tokens, _ in own) - rate * sum(cost for _, cost in own)
            bounds.append(gain / len(own) + width * math.sqrt(log / len(own)) if own else math.inf)
        return int(lowest) + bounds.index(max(bounds))


class ByRadius(Rule):
    """UCBSpec."""

    def __init__(self, figures: Sequence[float], initial: Sequence[float]) -> None:
        super().__init__(figures, initial)
        self.lowest, self.highest = int(self.figures[0]), int(self.figures[1])
        self.rewards: dict[int, list[float]] = {arm: [] for arm in range(self.lowest, self.highest + 1)}

    def after(self, kappa: int, asked: int, drafted: int, accepted: int, word: int) -> int:
        radius, factor, *prices = self.figures[2:]
        if drafted == asked:
            price = prices[asked + (self.highest + 1 if accepted < drafted else 0)]
            self.rewards[asked].append((accepted + 1.0) / price)
        rounds = float(sum(len(own) for own in self.rewards.values()))
        if rounds == 0.0:
            return kappa
        bounds = []
        for own in self.rewards.values():
            if not own:
                bounds.append(math.inf)
                continue
            n, total = float(len(own)), 0.0
            for reward in own:
                total += reward
            log = logarithm(factor * (rounds * rounds) * math.sqrt(1.0 + n))
            bounds.append(total / n + radius * math.sqrt((1.0 + n) / (n * n) * (1.0 + 2.0 * log)))
        return self.lowest + bounds.index(max(bounds))


class ByWeight(Rule):
    """EXP3; ``chances`` are those of the rounds it has yet to be told of, the oldest first."""

    def __init__(self, figures: Sequence[float], initial: Sequence[float]) -> None:
        super().__init__(figures, initial)
        self.chances, self.told = self.state[4 + int(figures[0]) :], 0

    def after(self, kappa: int, asked: int, drafted: int, accepted: int, word: int) -> int:
        longest, rate, even, lowest = int(self.figures[0]), *self.figures[1:3], int(self.figures[3])
        arms = longest + 1
        if drafted == asked:
            cost = self.figures[4 + asked + (arms if accepted < drafted else 0)]
            self.state[1] += accepted + 1.0
            self.state[2] += cost
            gain = ((accepted + 1.0) - self.state[1] / self.state[2] * cost) / float(arms)
            self.state[3 + asked] += gain / self.chances[0]
        own = self.state[3 + lowest : 3 + arms]
        weights = [exponential(rate * (worth - max(own))) for worth in own]
        total = 0.0
        for weight in weights:
            total += weight
        left = (word >> 11) * 2.0**-53
        arm = lowest
        for arm, weight in enumerate(weights, start=lowest):  # noqa: B007 - where it ends
            chance = (1.0 - even) * weight / total + even / float(arms - lowest)
            left -= chance
            if left < 0.0:
                break
        self.told += 1
        members = int(self.figures[-1])
        self.chances = [*self.chances[1:], *[chance] * (members if self.told % members == 0 else 0)]
        return arm


class ByLosses(Rule):
    """EXP3Spec; ``chances`` are those of the rounds it has yet to be told of, the oldest first."""

    def __init__(self, figures: Sequence[float], initial: Sequence[float]) -> None:
        super().__init__(figures, initial)
        self.lowest, self.highest = int(self.figures[0]), int(self.figures[1])
        arms = self.highest - self.lowest + 1
        self.rounds, self.told, self.lost, self.chances = 0, 0, [0.0] * arms, self.state[2 + arms :]

    def after(self, kappa: int, asked: int, drafted: int, accepted: int, word: int) -> int:
        if drafted == asked:
            self.rounds += 1
            self.lost[asked - self.lowest] += (self.highest - accepted) / self.highest / self.chances[0]
        rate = math.sqrt(self.figures[2] / (self.rounds + 1))
        weights = [exponential(rate * (min(self.lost) - lost)) for lost in self.lost]
        total = 0.0
        for weight in weights:
            total += weight
        left, chosen, chance = (word >> 11) * 2.0**-53, 0, 1.0
        for arm, weight in enumerate(weights):
            if weight / total > 0.0:
                chosen, chance = arm, weight / total
            left -= weight / total
            if left < 0.0:
                break
        self.told += 1
        members = int(self.figures[3])
        self.chances = [*self.chances[1:], *[chance] * (members if self.told % members == 0 else 0)]
        return self.lowest + chosen


class BySample(Rule):
    """Thompson sampling of the acceptance rate."""

    def after(self, kappa: int, asked: int, drafted: int, accepted: int, word: int) -> int:
        keep, known, refused, many = self.figures[:4]
        cuts, lengths = self.figures[4 : 4 + int(many)], self.figures[4 + int(many) :]
        self.state[0] = keep * self.state[0] + accepted
        self.state[1] = keep * self.state[1] + (accepted < drafted)
        rate = beta_draw(word, known + self.state[0], refused + self.state[1])
        return int(lengths[sum(cut <= rate for cut in cuts)])
