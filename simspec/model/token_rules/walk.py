"""How is a table of rounds filled by what is known in each state?  States are made when met, and numbered in the end.

A round on real tokens can come to the same state by ways of different length, so that the order in which states are met
is not one in which every outcome leads onward; the numbers are given when all states are known.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from graphlib import TopologicalSorter

from simspec.model.errors import ParameterError
from simspec.model.rounds import STATES_LIMIT, End, RoundTable

Outcomes = list[tuple[float, int | End]]
Row = Sequence[float]
_FEW = 2
SURE = 1.0 - 1e-12
"""A chance that differs from 1 by rounding alone."""


class Walk:
    """A table in the making.

    Parameters
    ----------
    key : str
        What an error calls too large.
    """

    def __init__(self, key: str) -> None:
        self.table = RoundTable()
        self.key = key
        self._numbers: dict[Hashable, int] = {}
        self._open: list[Callable[[], Outcomes]] = []

    def state(self, known: Hashable, outcomes: Callable[[], Outcomes]) -> int:
        """The state in which ``known`` is known; ``outcomes`` is called once, when the table is done."""
        if known not in self._numbers:
            if len(self._numbers) >= STATES_LIMIT:
                told = f"{self.key} as large as this takes over {STATES_LIMIT:,} states to play"
                raise ParameterError(self.key, f"{told}; allowed: fewer drafts or tokens")
            self._numbers[known] = len(self._open)
            self._open.append(outcomes)
        return self._numbers[known]

    def draw(self, law: Row, after: Callable[[int], int | End]) -> Outcomes:
        """A token of a law, which need not be scaled, and what follows it."""
        total = math.fsum(law)
        return [(own / total, after(token)) for token, own in enumerate(law) if own > 0.0]

    def draw_and(self, law: Row, judged: Callable[[int], Outcomes]) -> Outcomes:
        """A token of a law, and what is at once made of it."""
        total = math.fsum(law)
        drawn = ((own / total, token) for token, own in enumerate(law) if own > 0.0)
        return [(chance * own, to) for chance, token in drawn for own, to in judged(token)]

    def either(self, chance: float, yes: Callable[[], int | End], no: Callable[[], int | End]) -> Outcomes:
        """One thing or the other; what has no chance, but for rounding, is not even made."""
        if chance >= SURE:
            return [(1.0, yes())]
        if chance <= 1.0 - SURE:
            return [(1.0, no())]
        return [(chance, yes()), (1.0 - chance, no())]

    def done(self, roots: int = 1) -> RoundTable:
        """The table with every state filled; the first ``roots`` ones, in which rounds start, keep their numbers."""
        filled = list[_Merged]()
        for outcomes in self._open:  # grows while it is read
            filled.append(_merged(outcomes()))
        order = _onward(filled, roots)
        joined = _joined(filled, order, roots)
        new = {old: at for at, old in enumerate(number for number in order if number not in joined)}
        self.table.states = [
            [(chance, to if isinstance(to, End) else new[to]) for to, chance in filled[old].items()] for old in new
        ]
        return self.table


_Merged = dict[int | End, float]


def _merged(outcomes: Outcomes) -> _Merged:
    """Outcomes by what follows."""
    out: _Merged = {}
    for chance, to in outcomes:
        out[to] = out.get(to, 0.0) + chance
    return out


def _onward(filled: list[_Merged], roots: int) -> list[int]:
    """All states, roots first, in an order in which outcomes lead onward."""
    before: TopologicalSorter[int] = TopologicalSorter(dict.fromkeys(range(len(filled)), ()))
    for number, own in enumerate(filled):
        for target in own:
            if not isinstance(target, End):
                before.add(target, number)
    return [*range(roots), *(number for number in before.static_order() if number >= roots)]


def _joined(filled: list[_Merged], order: list[int], roots: int) -> set[int]:
    """Join states that have one way in and at most two out to the state before; returns those that are gone.

    What is asked of one token after another, such as whether a draft is it, is then read at once, and tables are small.
    """
    ways = Counter(to for own in filled for to in own if not isinstance(to, End))
    gone = set[int]()
    for number in reversed(order):
        out = list[tuple[float, int | End]]()
        for to, chance in filled[number].items():
            if isinstance(to, End) or to < roots or ways[to] > 1 or len(filled[to]) > _FEW:
                out.append((chance, to))
            else:
                out += [(chance * own, further) for further, own in filled[to].items()]
                gone.add(to)
        filled[number] = _merged(out)
    return gone


def scaled(weights: Row) -> list[float]:
    """Weights divided by their sum; as they are where nothing is left."""
    total = math.fsum(weights)
    return [own / total for own in weights] if total > 0.0 else list(weights)


def minus(law: Row, other: Row) -> list[float]:
    """(law − other)⁺."""
    return [max(one - two, 0.0) for one, two in zip(law, other, strict=True)]


def one_hot(token: int, tokens: int) -> list[float]:
    """The law that draws one token.

    Examples
    --------
    >>> one_hot(1, 3)
    [0.0, 1.0, 0.0]
    """
    return [float(other == token) for other in range(tokens)]


def likeliest(law: Row, many: int) -> list[int]:
    """The ``many`` likeliest tokens; of equally likely ones the first.

    Examples
    --------
    >>> likeliest([0.2, 0.4, 0.4], 2)
    [1, 2]
    """
    return sorted(range(len(law)), key=lambda token: -law[token])[:many]


def entropy_threshold(law: Row, epsilon: float, delta: float) -> float:
    """min(ε, δe^(−H)): what typical acceptance asks of a token's chance under the target; H is the entropy in nats.

    Examples
    --------
    >>> entropy_threshold([0.5, 0.5], 0.3, 0.4)
    0.2
    """
    return min(epsilon, delta * math.exp(math.fsum(own * math.log(own) for own in law if own > 0.0)))


def typical_tokens(law: Row, epsilon: float, delta: float) -> list[bool]:
    """Whether each token's chance is above that; rounding alone does not lift one above.

    Examples
    --------
    >>> typical_tokens([0.2] * 5, 1.0, 1.0), typical_tokens([0.75, 0.25], 0.3, 0.5)
    ([False, False, False, False, False], [True, False])
    """
    least = entropy_threshold(law, epsilon, delta) * (2.0 - SURE)
    return [own > least for own in law]


def ahead(rows: Sequence[Row], levels: int) -> list[list[list[float]]]:
    """Law of the first, second, … token behind a context, whatever stands between: powers of a matrix.

    Examples
    --------
    >>> ahead([[0.5, 0.5], [1.0, 0.0]], 2)[1]
    [[0.75, 0.25], [0.5, 0.5]]
    """
    out = [[list(row) for row in rows]]
    for _ in range(levels - 1):
        last = out[-1]
        out.append(
            [
                scaled(
                    [math.fsum(a * b for a, b in zip(row, column, strict=True)) for column in zip(*rows, strict=True)]
                )
                for row in last
            ]
        )
    return out
