"""Which rule keeps a draft as often as any lossless rule can?  A plan that moves mass from drafted sets to tokens."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import Any

from simspec.model.errors import ParameterError
from simspec.model.token_rules.positions import Judge, Then
from simspec.model.token_rules.walk import Outcomes, Row, Walk, minus, scaled

SETS_LIMIT = 5000
"""Drafted sets for which a plan is made: a linear program of some seconds."""
_ROUNDING = 1e-12
_Set = frozenset[int]


def transport(unlike: bool = False) -> Judge:
    """All drafts are drawn, ``unlike`` ones without replacement; a plan says which is kept, if any.

    The plan is a linear program.  Of all that keep a draft as often as can be it is the one that keeps token 0 as often
    as can be, then token 1, and so on: how often each token is kept is then no accident of the program.
    """

    def judge(walk: Walk, place: Hashable, p: Row, laws: Sequence[Row], then: Then) -> Outcomes:
        sets, plan = _planned(tuple(p), tuple(map(tuple, laws)), unlike, walk.key)
        moved = [math.fsum(own[token] for own in plan.values()) for token in range(len(p))]
        left = minus(p, moved)

        def stage(i: int, drawn: _Set) -> Outcomes:
            if i == len(laws):
                return choose(drawn)
            law = _without(laws[i], drawn) if unlike else laws[i]
            return walk.draw(law, lambda token: following(i + 1, drawn | {token}))

        def following(i: int, drawn: _Set) -> int:
            return walk.state((place, "draft", i, drawn), lambda: stage(i, drawn))

        def choose(drawn: _Set) -> Outcomes:
            kept: Outcomes = [
                (min(plan[drawn][token] / sets[drawn], 1.0), then(token, (0,), len(laws)))
                for token in sorted(drawn)
                if plan[drawn][token] > 0.0
            ]
            rest = 1.0 - math.fsum(chance for chance, _ in kept)
            if rest <= _ROUNDING:
                return [(chance / (1.0 - rest), target) for chance, target in kept]
            lost = walk.state((place, "left"), lambda: walk.draw(left, lambda token: then(token, (), len(laws))))
            return [*kept, (rest, lost)]

        return stage(0, frozenset())

    return judge


def _without(law: Row, drawn: _Set) -> list[float]:
    return scaled([0.0 if token in drawn else own for token, own in enumerate(law)])


@lru_cache(maxsize=64)
def _planned(
    p: tuple[float, ...], laws: tuple[tuple[float, ...], ...], unlike: bool, key: str
) -> tuple[dict[_Set, float], dict[_Set, list[float]]]:
    """The chance of every drafted set, and what is moved from it; the same at every depth of a context."""
    sets = _drafted(laws, unlike, key)
    return sets, _plan(p, sets)


def _drafted(laws: Sequence[Row], unlike: bool, key: str) -> dict[_Set, float]:
    """Chance of every set of tokens that the drafts can make."""
    chances: dict[_Set, float] = {frozenset(): 1.0}
    for q in laws:
        following: dict[_Set, float] = {}
        for drawn, chance in chances.items():
            for token, own in enumerate(_without(q, drawn) if unlike else q):
                if own > 0.0:
                    following[drawn | {token}] = following.get(drawn | {token}, 0.0) + chance * own
            if len(following) > SETS_LIMIT:
                told = f"{key} takes over {SETS_LIMIT:,} drafted sets to play"
                raise ParameterError(key, f"{told}; allowed: fewer drafts or tokens")
        chances = following
    return chances


def _plan(p: Row, sets: dict[_Set, float]) -> dict[_Set, list[float]]:
    """Mass moved from every drafted set to each of its tokens.

    With weights that fall from token to token a program over such flows fills the tokens in this order (what can be
    kept is a polymatroid), and moves as much in all as without them.
    """
    from scipy.optimize import linprog  # here, since it takes a second to load
    from scipy.sparse import coo_array

    pairs = [(i, token) for i, drawn in enumerate(sets) for token in sorted(drawn)]
    rows = [i for i, _ in pairs] + [len(sets) + token for _, token in pairs]
    columns = [*range(len(pairs))] * 2
    limits: Any = coo_array(([1.0] * len(rows), (rows, columns)), shape=(len(sets) + len(p), len(pairs)))
    weights = [token / len(p) - 2.0 for _, token in pairs]
    found = linprog(weights, A_ub=limits.tocsr(), b_ub=[*sets.values(), *p], method="highs")
    assert found.x is not None, "a transport of bounded mass has an optimum"
    plan, names = {drawn: [0.0] * len(p) for drawn in sets}, list(sets)
    for (i, token), mass in zip(pairs, found.x, strict=True):
        plan[names[i]][token] = max(float(mass), 0.0)
    return plan
