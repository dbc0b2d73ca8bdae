"""What does a gate do, one lane at a time, in plain Python?  Twins of `simspec.kernels.gates`, bit for bit."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from simspec.kernels.policy_rule import Rule


class Gate(Rule):
    """Open, or closed for ``probe`` rounds; an opened gate is judged after ``trial`` rounds."""

    def __init__(self, figures: Sequence[float], initial: Sequence[float]) -> None:
        super().__init__(figures, initial)
        self.rounds, self.least, self.probe, self.trial, self.opening, self.lengths = self.figures
        self.closed, self.due = 0, self.state[1]

    def after(self, kappa: int, asked: int, drafted: int, accepted: int, word: int) -> int:
        if kappa > 0:
            return 0 if asked > 0 and self.fails(drafted, accepted) else kappa
        if asked > 0:  # news of a round before it closed
            return 0
        self.closed += 1
        if not 0 < self.probe <= self.closed:
            return 0
        self.closed, self.due = 0, self.trial
        self.forget()
        return int(self.opening)

    def fails(self, drafted: int, accepted: int) -> bool:
        """Whether it closes, after a round."""
        raise NotImplementedError

    def forget(self) -> None:
        """Empty what it was judged by."""
        raise NotImplementedError


class ByGate(Gate):
    """Accepted over drafted of a stretch."""

    seen: tuple[tuple[int, int], ...] = ()

    def fails(self, drafted: int, accepted: int) -> bool:
        self.seen = (*self.seen, (drafted, accepted))
        if len(self.seen) < self.due:
            return False
        made, kept = (float(sum(column)) for column in zip(*self.seen, strict=True))
        self.seen, self.due = (), self.rounds
        return kept < self.least * made

    def forget(self) -> None:
        self.seen = ()


class ByRollingGate(Gate):
    """The mean of accepted/drafted, or of accepted lengths, over the last rounds that drafted."""

    def __init__(self, figures: Sequence[float], initial: Sequence[float]) -> None:
        super().__init__(figures, initial)
        self.values: deque[float] = deque()
        self.many, self.sum = 0, 0.0

    def fails(self, drafted: int, accepted: int) -> bool:
        if drafted == 0:
            return False
        value = float(accepted) if self.lengths else accepted / drafted
        self.many, self.sum = self.many + 1, self.sum + value
        self.values.append(value)
        if len(self.values) > self.rounds:
            self.sum -= self.values.popleft()
        return self.many >= self.due and self.sum / len(self.values) < self.least

    def forget(self) -> None:
        self.values.clear()
        self.many, self.sum = 0, 0.0
