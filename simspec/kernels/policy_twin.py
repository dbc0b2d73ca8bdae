"""What does a policy do, one lane at a time, in plain Python?  Twins of the passes that loops call, bit for bit."""

from __future__ import annotations

import math
from collections.abc import Sequence

from simspec.kernels.bandit_twin import ByBound, ByLosses, ByRadius, BySample, ByWeight, ByWindow
from simspec.kernels.gate_twin import ByGate, ByRollingGate
from simspec.kernels.policy_rule import Rule
from simspec.kernels.words import GOLD
from simspec.kernels.words_twin import MASK, mixed


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
        self.state[0] = self.averaged(self.state[0], powers, drafted, accepted)
        return int(lengths[sum(cut <= self.state[0] for cut in cuts)])

    def averaged(self, estimate: float, powers: Sequence[float], drafted: int, accepted: int) -> float:
        """The estimate after a round."""
        estimate = 1.0 - (1.0 - estimate) * powers[accepted]
        return estimate * powers[1] if accepted < drafted else estimate


class ByVerdicts(ByEstimate):
    """Drafts behind a rejection count as rejected."""

    def averaged(self, estimate: float, powers: Sequence[float], drafted: int, accepted: int) -> float:
        return (1.0 - (1.0 - estimate) * powers[accepted]) * powers[drafted - accepted]


class ByShare(ByEstimate):
    """A round is one number, accepted over drafted."""

    def averaged(self, estimate: float, powers: Sequence[float], drafted: int, accepted: int) -> float:
        if drafted == 0:
            return estimate
        return powers[1] * estimate + (1.0 - powers[1]) * (accepted / drafted)


class ByLength(Rule):
    """An average of A, compared now and then with thresholds between neighbouring draft lengths."""

    def after(self, kappa: int, asked: int, drafted: int, accepted: int, word: int) -> int:
        weight, warm, interval, ceiling, many = self.figures[:5]
        n = int(many)
        lengths, down, up = self.figures[5 : 5 + n], self.figures[5 + n : 4 + 2 * n], self.figures[4 + 2 * n :]
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
        began = here
        while here > 0 and self.state[0] <= down[here - 1]:
            here -= 1
        if here == began:
            while here < n - 1 and self.state[0] > up[here]:
                here += 1
        if ceiling > 0.0 and here <= began:
            allowed = [i for i in range(here + 1) if lengths[i] <= max(math.ceil(ceiling * self.state[0]), 1)]
            here = max(allowed, default=0)
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


def policy_word(keys: Sequence[int], lane: int, number: int) -> int:
    """The word of round ``number`` of a lane, counted over all chunks."""
    return _round_word(int(keys[5]), lane, number)


def row_word(keys: Sequence[int], lane: int, number: int) -> int:
    """The word that draws the row after that round."""
    return _round_word(int(keys[6]), lane, number)


def _round_word(key: int, lane: int, number: int) -> int:
    return mixed((mixed((key + GOLD * (lane + 1)) & MASK) + GOLD * (number + 1)) & MASK)


RULE_TWINS: dict[str, type[Rule]] = {
    "position": ByPosition,
    "estimate": ByEstimate,
    "verdicts": ByVerdicts,
    "share": ByShare,
    "length": ByLength,
    "survival": BySurvival,
    "bound": ByBound,
    "window": ByWindow,
    "radius": ByRadius,
    "weight": ByWeight,
    "losses": ByLosses,
    "sample": BySample,
    "gate": ByGate,
    "rolling gate": ByRollingGate,
}
