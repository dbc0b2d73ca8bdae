"""How does a turn of two models go that write real tokens?  A table over contexts: one writes until unsure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from simspec.model.errors import ParameterError
from simspec.model.long_run import long_run_from
from simspec.model.round_starts import start_moves
from simspec.model.rounds import STATES_LIMIT, End, RoundTable

Row = Sequence[float]
Law = list[tuple[float, int]]


@dataclass(frozen=True)
class _Writing:
    """``written`` small tokens, all kept so far, ``differ`` of which are not the large model's likeliest."""

    written: int
    context: int
    differ: int


@dataclass(frozen=True)
class _TakenBack:
    """The small model writes on, and knows not that all after ``kept`` tokens is lost and ``token`` stands there."""

    written: int
    context: int
    kept: int
    token: int
    differ: int


State = _Writing | _TakenBack


@dataclass(frozen=True)
class TwoModels:
    """Two models on one vocabulary, and when they hand over and take back.

    Attributes
    ----------
    large, small : rows
        Next-token laws by the last token.
    fallback : float
        The small model hands over where its largest probability is below.
    rollback : float
        The large model takes back a token with −log p above, in nats.
    sampled : bool
        Whether tokens are drawn; else each model writes its likeliest one, of equal ones the first.
    """

    large: Sequence[Row]
    small: Sequence[Row]
    fallback: float
    rollback: float
    sampled: bool

    def table(self, kappa: int) -> RoundTable:
        """A turn of at most ``kappa`` small tokens; state c starts behind token c; those that differ are lost.

        A token differs if it is not the large model's likeliest in its context.
        """
        table = RoundTable()
        known: dict[State, int] = {}
        waiting: list[State] = []

        def number(state: State) -> int:
            if state not in known:
                known[state] = table.reserve()
                waiting.append(state)
            return known[state]

        for context in range(len(self.large)):
            number(_Writing(0, context, 0))
        for state in waiting:  # which grows: states of more tokens come later
            if len(waiting) > STATES_LIMIT:
                raise ParameterError("kappa", f"kappa = {kappa} with {len(self.large)} tokens makes more than "
                                     f"{STATES_LIMIT:,} states; allowed: fewer tokens, or a smaller kappa")  # fmt: skip
            outcomes = [
                (chance, number(after) if isinstance(after, State) else after)
                for chance, after in self._after(table, state, kappa)
            ]
            table.states[known[state]] = outcomes
        table.first = [(share, state) for state, share in enumerate(_starts(table, self.large)) if share > 0.0]
        return table

    def _after(self, table: RoundTable, state: State, kappa: int) -> list[tuple[float, State | End]]:
        """What a pass of the small model leads to; that in which it is unsure is wasted, and none follows κ tokens."""
        written, context = state.written, state.context
        if written < kappa and max(self.small[context]) >= self.fallback:
            return [
                (chance, after)
                for own, token in self._small(context)
                for chance, after in self._written(state, own, token)
            ]
        steps = written + (written < kappa)
        if isinstance(state, _TakenBack):
            return [(1.0, table.end(state.kept, written, steps, True, start=state.token, lost=state.differ))]
        return [
            (
                chance,
                table.end(
                    written, written, steps, False, start=token, lost=state.differ + self._differs(context, token)
                ),
            )
            for chance, token in self._large(context)
        ]

    def _written(self, state: State, chance: float, token: int) -> list[tuple[float, State]]:
        """Where a small token leads to that is written with some chance: kept, or taken back with all that follow."""
        written, context = state.written + 1, state.context
        if isinstance(state, _TakenBack):
            return [(chance, _TakenBack(written, token, state.kept, state.token, state.differ))]
        known = self.large[context][token]
        if known > 0.0 and -math.log(known) <= self.rollback:
            return [(chance, _Writing(written, token, state.differ + self._differs(context, token)))]
        return [
            (
                chance * own,
                _TakenBack(written, token, state.written, other, state.differ + self._differs(context, other)),
            )
            for own, other in self._large(context)
        ]

    def _differs(self, context: int, token: int) -> int:
        return int(token != _likeliest(self.large[context]))

    def _small(self, context: int) -> Law:
        return _drawn(self.small[context], self.sampled)

    def _large(self, context: int) -> Law:
        return _drawn(self.large[context], self.sampled)


def _likeliest(row: Row) -> int:
    return max(range(len(row)), key=row.__getitem__)


def _drawn(row: Row, sampled: bool) -> Law:
    if not sampled:
        return [(1.0, _likeliest(row))]
    return [(chance, token) for token, chance in enumerate(row) if chance > 0.0]


def _starts(table: RoundTable, large: Sequence[Row]) -> list[float]:
    """Long-run law of the contexts in which turns start, the first one being met in the large model's own text."""
    size = len(large)
    text = long_run_from([1.0 / size] * size, large)
    return long_run_from(text, start_moves(table, size))
