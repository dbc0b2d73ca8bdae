"""How does each scheme with several drafts for one position go, draw by draw?  As a table of rounds, to be played.

States are what a scheme knows between two draws: the target it still owes, the token it looks for, the drafts so far.
Every draft is drawn from its law and judged by itself; nothing is taken from the sums that give the exact acceptance.
A round is one position; its kind bears the emitted token as its mark.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from simspec.model import ParameterError
from simspec.model.rounds import STATES_LIMIT, End, RoundTable
from simspec.theory.law import FloatArray

Outcomes = list[tuple[float, int | End]]
SETS_LIMIT = 5000
"""Drafted sets for which a plan is made: a linear program of some seconds."""
_SURE = 1.0 - 1e-12


class Rounds:
    """A table in the making: states by what is known in them, made in the order in which they are met."""

    def __init__(self, drafts: int) -> None:
        self.table, self.drafts = RoundTable(), drafts
        self._states: dict[Hashable, int] = {}
        self._open: list[Callable[[], Outcomes]] = []

    def state(self, known: Hashable, outcomes: Callable[[], Outcomes]) -> int:
        """The state in which ``known`` is known; ``outcomes`` is called once, after all states before it."""
        if known not in self._states:
            if len(self._states) >= STATES_LIMIT:
                raise ParameterError(
                    "K", f"K takes over {STATES_LIMIT:,} states to play; allowed: fewer drafts or tokens"
                )
            self._states[known] = self.table.reserve()
            self._open.append(outcomes)
        return self._states[known]

    def emit(self, token: int, accepted: bool) -> End:
        """The position is done: a draft was kept, or a token drawn instead."""
        return self.table.end(int(accepted), self.drafts, rejected=not accepted, tokens=1, mark=token)

    def draw(self, law: FloatArray, after: Callable[[int], int | End]) -> Outcomes:
        """A token of a law, and what follows it."""
        return [(float(chance), after(token)) for token, chance in enumerate(_law(law)) if chance > 0.0]

    def done(self) -> RoundTable:
        """The table, with every state filled."""
        for number, outcomes in enumerate(self._open):  # grows while it is read
            self.table.states[number] = outcomes()
        return self.table


def _law(values: FloatArray) -> FloatArray:
    return np.asarray(values / values.sum())


def rejection_rounds(p: FloatArray, laws: Sequence[FloatArray]) -> RoundTable:
    """Speculative sampling draft by draft, each rejection leaving the residual target to the next."""
    own = Rounds(len(laws))

    def stage(i: int, owed: FloatArray) -> Outcomes:
        if i == len(laws):
            return own.draw(owed, lambda token: own.emit(token, accepted=False))
        return own.draw(laws[i], lambda token: own.state(("judge", i, token), lambda: judge(i, owed, token)))

    def judge(i: int, owed: FloatArray, token: int) -> Outcomes:
        kept = min(float(owed[token] / laws[i][token]), 1.0)
        if kept >= _SURE:
            return [(1.0, own.emit(token, accepted=True))]
        left = _law(np.maximum(owed - laws[i], 0.0))
        rest = own.state(("stage", i + 1), lambda: stage(i + 1, left))
        return [(kept, own.emit(token, accepted=True)), (1.0 - kept, rest)]

    own.state(("stage", 0), lambda: stage(0, p))
    return own.done()


def matching_rounds(p: FloatArray, laws: Sequence[FloatArray]) -> RoundTable:
    """The target's token is drawn first; a draft is kept if it happens to be that token."""
    own = Rounds(len(laws))

    def look(i: int, token: int) -> Outcomes:
        hit = float(laws[i][token])
        missed = own.state((i + 1, token), lambda: look(i + 1, token)) if i + 1 < len(laws) else None
        return [
            (hit, own.emit(token, accepted=True)),
            (1.0 - hit, own.emit(token, accepted=False) if missed is None else missed),
        ]

    own.state("draw", lambda: own.draw(p, lambda token: own.state((0, token), lambda: look(0, token))))
    return own.done()


def distinct_rounds(p: FloatArray, q: FloatArray, draws: int) -> RoundTable:
    """Rejection with distinct drafts: a rejected token is not drawn again."""
    own = Rounds(draws)

    def stage(rejected: tuple[int, ...], owed: FloatArray) -> Outcomes:
        if len(rejected) == draws:
            return own.draw(owed, lambda token: own.emit(token, accepted=False))
        unused = q.copy()
        unused[list(rejected)] = 0.0
        law = _law(unused)
        return own.draw(
            law, lambda token: own.state(("judge", rejected, token), lambda: judge(rejected, owed, law, token))
        )

    def judge(rejected: tuple[int, ...], owed: FloatArray, law: FloatArray, token: int) -> Outcomes:
        kept = min(float(owed[token] / law[token]), 1.0)
        if kept >= _SURE:
            return [(1.0, own.emit(token, accepted=True))]
        more, left = (*rejected, token), _law(np.maximum(owed - law, 0.0))
        rest = own.state(("stage", more), lambda: stage(more, left))
        return [(kept, own.emit(token, accepted=True)), (1.0 - kept, rest)]

    own.state(("stage", ()), lambda: stage((), p))
    return own.done()


def k_seq_rounds(p: FloatArray, q: FloatArray, draws: int, rho: float) -> RoundTable:
    """The first draft that passes min(1, p/(ρq)) is kept; if none does, the rest of the target is drawn."""
    own = Rounds(draws)
    passes = np.minimum(1.0, np.divide(p, rho * q, out=np.zeros_like(p), where=q > 0.0))
    one = float(q @ passes)
    taken = q * passes * ((1.0 - (1.0 - one) ** draws) / one if one > 0.0 else 0.0)

    def stage(i: int) -> Outcomes:
        if i == draws:
            return own.draw(np.maximum(p - taken, 0.0), lambda token: own.emit(token, accepted=False))
        return own.draw(q, lambda token: own.state((i, token), lambda: judge(i, token)))

    def judge(i: int, token: int) -> Outcomes:
        kept = float(passes[token])
        if kept >= _SURE:
            return [(1.0, own.emit(token, accepted=True))]
        return [(kept, own.emit(token, accepted=True)), (1.0 - kept, own.state(i + 1, lambda: stage(i + 1)))]

    own.state(0, lambda: stage(0))
    return own.done()


def lenient_rounds(p: FloatArray, q: FloatArray, lenience: float) -> RoundTable:
    """One draft, kept with min(1, p/(l·q)); otherwise (p − l·q)⁺ is drawn from.  Not lossless for l < 1."""
    own = Rounds(1)
    left = np.maximum(p - lenience * q, 0.0)

    def judge(token: int) -> Outcomes:
        kept = min(float(p[token] / (lenience * q[token])), 1.0)
        if kept >= _SURE:
            return [(1.0, own.emit(token, accepted=True))]
        rest = own.state("left", lambda: own.draw(left, lambda other: own.emit(other, accepted=False)))
        return [(kept, own.emit(token, accepted=True)), (1.0 - kept, rest)]

    own.state("draw", lambda: own.draw(q, lambda token: own.state(token, lambda: judge(token))))
    return own.done()


def typical_rounds(p: FloatArray, q: FloatArray, threshold: float, instead: FloatArray) -> RoundTable:
    """One draft, kept if p is above a threshold; otherwise ``instead`` is drawn from.  Not lossless."""
    own = Rounds(1)

    def after(token: int) -> int | End:
        if p[token] > threshold:
            return own.emit(token, accepted=True)
        return own.state("left", lambda: own.draw(instead, lambda other: own.emit(other, accepted=False)))

    own.state("draw", lambda: own.draw(q, after))
    return own.done()


def transport_rounds(p: FloatArray, laws: Sequence[FloatArray], distinct: bool = False) -> RoundTable:
    """All drafts are drawn; which of them is kept, if any, says a plan that keeps one as often as can be.

    The plan is a linear program over drafted sets; the exact acceptance is a minimal cut, another route.
    """
    own = Rounds(len(laws))
    sets = _drafted(laws, distinct)
    plan = _plan(p, sets)
    left = np.maximum(p - sum(plan.values(), np.zeros_like(p)), 0.0)

    def stage(i: int, drawn: frozenset[int]) -> Outcomes:
        if i == len(laws):
            return choose(drawn)
        law = laws[i].copy()
        if distinct:
            law[list(drawn)] = 0.0
        return own.draw(law, lambda token: own.state((i + 1, drawn | {token}), lambda: stage(i + 1, drawn | {token})))

    def choose(drawn: frozenset[int]) -> Outcomes:
        shares = np.minimum(plan[drawn] / sets[drawn], 1.0)
        kept: Outcomes = [(float(shares[token]), own.emit(token, accepted=True)) for token in sorted(drawn)]
        rest = 1.0 - math.fsum(chance for chance, _ in kept)
        if rest <= 1.0 - _SURE:
            total = 1.0 - rest
            return [(chance / total, target) for chance, target in kept]
        other = own.state(("left", drawn), lambda: own.draw(left, lambda token: own.emit(token, accepted=False)))
        return [*kept, (rest, other)]

    own.state((0, frozenset()), lambda: stage(0, frozenset()))
    return own.done()


def _drafted(laws: Sequence[FloatArray], distinct: bool) -> dict[frozenset[int], float]:
    """Chance of every set of tokens that the drafts can make."""
    chances: dict[frozenset[int], float] = {frozenset(): 1.0}
    for q in laws:
        following: dict[frozenset[int], float] = {}
        for drawn, chance in chances.items():
            law = q.copy()
            if distinct:
                law[list(drawn)] = 0.0
            for token, own in enumerate(_law(law)):
                if own > 0.0:
                    following[drawn | {token}] = following.get(drawn | {token}, 0.0) + chance * float(own)
            if len(following) > SETS_LIMIT:
                raise ParameterError(
                    "K", f"K takes over {SETS_LIMIT:,} drafted sets to play; allowed: fewer drafts or tokens"
                )
        chances = following
    return chances


def _plan(p: FloatArray, sets: dict[frozenset[int], float]) -> dict[frozenset[int], FloatArray]:
    """Mass moved from every drafted set to each of its tokens, as much as possible."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    pairs = [(i, token) for i, drawn in enumerate(sets) for token in sorted(drawn)]
    flow = np.arange(len(pairs))
    rows = np.concatenate([[i for i, _ in pairs], [len(sets) + token for _, token in pairs]])
    shape = (len(sets) + p.size, flow.size)
    limits: Any = coo_array((np.ones(2 * flow.size), (rows, np.tile(flow, 2))), shape=shape)
    supply = np.concatenate([list(sets.values()), p])
    found = linprog(-np.ones(flow.size), A_ub=limits.tocsr(), b_ub=supply, method="highs")
    assert found.x is not None, "a transport of bounded mass has an optimum"
    plan = {drawn: np.zeros_like(p) for drawn in sets}
    names = list(sets)
    for (i, token), mass in zip(pairs, found.x, strict=True):
        plan[names[i]][token] = max(float(mass), 0.0)
    return plan
