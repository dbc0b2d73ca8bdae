"""What does a policy do, one lane at a time, in plain Python?  Twins of `simspec.kernels.policies`, bit for bit."""

from __future__ import annotations

import math
from collections.abc import Sequence

from simspec.kernels.words import GOLD, MIX_1, MIX_2

_MASK = 2**64 - 1
LN2 = 0.6931471805599453


class Rule:
    """One lane of a policy.

    Parameters
    ----------
    figures, initial : sequence of float
        As in `simspec.kernels.forms.Policy`.
    """

    def __init__(self, figures: Sequence[float], initial: Sequence[float]) -> None:
        self.figures = [float(x) for x in figures]
        self.state = [float(x) for x in initial]

    def after(self, kappa: int, asked: int, drafted: int, accepted: int, word: int) -> int:
        """The κ after ``kappa``, told of a round that was to draft ``asked``, and drafted and accepted so many."""
        raise NotImplementedError


class ByPosition(Rule):
    def after(self, kappa: int, asked: int, drafted: int, accepted: int, word: int) -> int:
        self.state[0] += accepted + 1
        return int(self.figures[min(int(self.state[0]), len(self.figures) - 1)])


class ByEstimate(Rule):
    """e ← 1 − (1 − e)λ^A, then λe if a draft was rejected; κ by how many cuts are at most e."""

    def after(self, kappa: int, asked: int, drafted: int, accepted: int, word: int) -> int:
        many = int(self.figures[0])
        powers, rest = self.figures[1 : 1 + many], self.figures[1 + many :]
        cuts, lengths = rest[1 : 1 + int(rest[0])], rest[1 + int(rest[0]) :]
        self.state[0] = 1.0 - (1.0 - self.state[0]) * powers[accepted]
        if accepted < drafted:
            self.state[0] *= powers[1]
        return int(lengths[sum(cut <= self.state[0] for cut in cuts)])


class ByLength(Rule):
    """An average of A, compared now and then with thresholds between neighbouring draft lengths."""

    def after(self, kappa: int, asked: int, drafted: int, accepted: int, word: int) -> int:
        weight, warm, interval, many = self.figures[:4]
        n = int(many)
        lengths, down, up = self.figures[4 : 4 + n], self.figures[4 + n : 3 + 2 * n], self.figures[3 + 2 * n :]
        if asked > 0:
            self.state[0] = (1.0 - weight) * self.state[0] + weight * accepted
        self.state[1] += 1.0
        past = self.state[1] - warm
        if past <= 0.0 or past % interval != 0.0:
            return kappa
        here = lengths.index(kappa)
        if kappa == 0:
            here = min(here + 1, n - 1)
            if self.state[0] < 0.0:
                self.state[0] = lengths[here] - 1.0
            return int(lengths[here])
        lower = here
        while lower > 0 and self.state[0] <= down[lower - 1]:
            lower -= 1
        if lower < here:
            return int(lengths[lower])
        while here < n - 1 and self.state[0] > up[here]:
            here += 1
        return int(lengths[here])


class BySurvival(Rule):
    """κ with the most tokens per cost, by accepted over examined at every depth; a draft not judged counts nowhere."""

    def after(self, kappa: int, asked: int, drafted: int, accepted: int, word: int) -> int:
        longest, keep, interval, lowest = int(self.figures[0]), *self.figures[1:3], int(self.figures[3])
        plain, after_reject = self.figures[4 : 5 + longest], self.figures[5 + longest :]
        examined = accepted + (accepted < drafted)
        for j in range(longest):
            self.state[1 + j] = keep * self.state[1 + j] + (j < examined)
            self.state[1 + longest + j] = keep * self.state[1 + longest + j] + (j < accepted)
        self.state[0] += 1.0
        if self.state[0] < interval:
            return kappa
        self.state[0] = 0.0
        alive = tokens = 1.0
        speeds = []
        for j in range(longest + 1):
            if j > 0:
                alive *= self.state[longest + j] / self.state[j]
                tokens += alive
            speeds.append(tokens / (plain[j] + (after_reject[j] - plain[j]) * (1.0 - alive)))
        return max(range(lowest, longest + 1), key=lambda j: (speeds[j], -j))


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


class BySample(Rule):
    """Thompson sampling of the acceptance rate."""

    def after(self, kappa: int, asked: int, drafted: int, accepted: int, word: int) -> int:
        keep, many = self.figures[0], int(self.figures[1])
        cuts, lengths = self.figures[2 : 2 + many], self.figures[2 + many :]
        self.state[0] = keep * self.state[0] + accepted
        self.state[1] = keep * self.state[1] + (accepted < drafted)
        total = self.state[0] + self.state[1]
        mean = self.state[0] / total
        normal = -6.0
        for i in range(12):
            normal += (_mix((word + GOLD * (i + 1)) & _MASK) >> 11) * 2.0**-53
        rate = mean + normal * math.sqrt(mean * (1.0 - mean) / (total + 1.0))
        return int(lengths[sum(cut <= rate for cut in cuts)])


class ByGate(Rule):
    """Off for good once accepted/drafted of a stretch is too small."""

    def after(self, kappa: int, asked: int, drafted: int, accepted: int, word: int) -> int:
        for row, amount in enumerate((1, accepted, drafted)):
            self.state[row] += amount
        rounds, kept, made = self.state
        if rounds < self.figures[0]:
            return kappa
        self.state = [0.0, 0.0, 0.0]
        return 0 if kept < self.figures[1] * made else kappa


def policy_word(keys: Sequence[int], lane: int, number: int) -> int:
    """The word of round ``number`` of a lane, counted over all chunks."""
    return _round_word(int(keys[5]), lane, number)


def row_word(keys: Sequence[int], lane: int, number: int) -> int:
    """The word that draws the row after that round."""
    return _round_word(int(keys[6]), lane, number)


def _round_word(key: int, lane: int, number: int) -> int:
    return _mix((_mix((key + GOLD * (lane + 1)) & _MASK) + GOLD * (number + 1)) & _MASK)


def _mix(z: int) -> int:
    z = (z ^ (z >> 30)) * MIX_1 & _MASK
    z = (z ^ (z >> 27)) * MIX_2 & _MASK
    return z ^ (z >> 31)


def logarithm(x: float) -> float:
    """ln x for x ≥ 1, by halving and the series of artanh."""
    halvings = 0
    while x > 1.5:
        x, halvings = x / 2.0, halvings + 1
    y = (x - 1.0) / (x + 1.0)
    total, power = 0.0, y
    for k in range(14):
        total, power = total + power / (2 * k + 1), power * (y * y)
    return halvings * LN2 + 2.0 * total


def exponential(x: float) -> float:
    """eˣ for x ≤ 0, by a Taylor sum of x/1024 squared ten times."""
    if x < -700.0:
        return 0.0
    term = total = 1.0
    for n in range(1, 12):
        term = term * (x / 1024.0) / n
        total += term
    for _ in range(10):
        total *= total
    return total


RULE_TWINS: dict[str, type[Rule]] = {
    "position": ByPosition,
    "estimate": ByEstimate,
    "length": ByLength,
    "survival": BySurvival,
    "bound": ByBound,
    "window": ByWindow,
    "weight": ByWeight,
    "sample": BySample,
    "gate": ByGate,
}
