"""In which state does a round start in the long run?  Rounds of a table as a chain of their starts."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace

from simspec.model.chains import closed_classes
from simspec.model.errors import ParameterError
from simspec.model.long_run import long_run
from simspec.model.rounds import End, RoundKind, RoundTable

_ROOTS_LIMIT = 512
_NEAR = 1e-9


def start_law(table: RoundTable, begins: Sequence[int]) -> list[tuple[float, int]]:
    """Long-run law of the state in which a round starts.

    Rounds lead on to states with larger numbers, but for the roots.  So the visits between two roots are one pass, and
    only the roots are a chain to be solved.

    Examples
    --------
    >>> table = RoundTable()
    >>> _ = table.add([(0.5, table.end(0, 1, start=0)), (0.5, table.end(1, 1, start=1))])
    >>> _ = table.add([(1.0, table.end(0, 1, start=0))])
    >>> [(round(share, 4), state) for share, state in start_law(table, [0])]
    [(0.6667, 0), (0.3333, 1)]
    """
    steps: dict[int, dict[int, float]] = {}
    open_ = list(dict.fromkeys(begins))
    while open_:
        here = open_.pop()
        if here not in steps:
            steps[here] = _next_start(table, here)
            open_ += steps[here]
    back = {to for here, law in steps.items() for to in law if to <= here}
    roots = sorted(back | set(begins))
    if len(roots) > _ROOTS_LIMIT:
        told = f"the process leaves {len(roots)} states behind"
        raise ParameterError("process", f"{told}; allowed: {_ROOTS_LIMIT}, as of fewer hidden states")
    order = sorted(steps)
    visits = [_visits(steps, order, root, set(roots)) for root in roots]
    rows = [[ends.get(root, 0.0) for root in roots] for _, ends in visits]
    laws = list[list[tuple[float, int]]]()
    for own in closed_classes(tuple(tuple(row) for row in rows)):
        mass: dict[int, float] = {}
        for share, (seen, _) in zip(long_run(rows, sorted(own)), visits, strict=True):
            for state, many in seen.items():
                mass[state] = mass.get(state, 0.0) + share * many
        total = sum(mass.values())
        laws.append([(many / total, state) for state, many in sorted(mass.items()) if many > 0.0])
    kinds = [_kinds(table, own) for own in laws] if len(laws) > 1 else []
    if any(abs(own.get(kind, 0.0) - share) > _NEAR for own in kinds[1:] for kind, share in kinds[0].items()):
        told = "rounds stay in the state they begin in for ever, so no long-run law exists"
        raise ParameterError("kappa", f"{told}; allowed: another κ, or steps between windows that mix")
    return laws[0]


def _kinds(table: RoundTable, first: Sequence[tuple[float, int]]) -> dict[RoundKind, float]:
    """Shares of kinds of round, wherever the next one starts."""
    mass, out = {state: share for share, state in first}, dict[RoundKind, float]()
    for state, outcomes in enumerate(table.states):
        for chance, target in outcomes if state in mass else ():
            share = mass[state] * chance
            if isinstance(target, End):
                kind = replace(table.kinds[target.kind], start=0)
                out[kind] = out.get(kind, 0.0) + share
            else:
                mass[target] = mass.get(target, 0.0) + share
    return out


def start_moves(table: RoundTable, starts: int) -> list[list[float]]:
    """Law of the state in which the next round starts, by the one in which this one did: states 0, …, ``starts`` − 1.

    All starts are followed at once, an array per state, since there are as many as tokens.

    Examples
    --------
    >>> table = RoundTable()
    >>> _ = table.add([(0.5, table.end(0, 1, start=0)), (0.5, table.end(1, 1, start=1))])
    >>> _ = table.add([(1.0, table.end(0, 1, start=0))])
    >>> start_moves(table, 2)
    [[0.5, 0.5], [1.0, 0.0]]
    """
    import numpy as np  # here, since no other model needs it

    mass = {state: np.eye(starts)[state] for state in range(starts)}
    step = np.zeros((starts, starts))  # row: the start that follows, column: the start
    for state, outcomes in enumerate(table.states):
        here = mass.pop(state)
        for chance, to in outcomes:
            if isinstance(to, End):
                step[table.kinds[to.kind].start] += chance * here
            elif to in mass:
                mass[to] = mass[to] + chance * here
            else:
                mass[to] = chance * here
    rows: list[list[float]] = (step.T / step.sum(axis=0)[:, None]).tolist()
    return rows


def _next_start(table: RoundTable, start: int) -> dict[int, float]:
    """Law of the state in which the next round starts."""
    mass, open_, out = {start: 1.0}, [start], dict[int, float]()
    while open_:
        here = heapq.heappop(open_)  # every state that leads here has a smaller number
        own = mass.pop(here)
        for chance, target in table.states[here]:
            if chance == 0.0:
                continue
            if isinstance(target, End):
                following = table.kinds[target.kind].start
                out[following] = out.get(following, 0.0) + own * chance
                continue
            if target not in mass:
                heapq.heappush(open_, target)
            mass[target] = mass.get(target, 0.0) + own * chance
    return out


def _visits(
    steps: dict[int, dict[int, float]], order: Sequence[int], root: int, roots: set[int]
) -> tuple[dict[int, float], dict[int, float]]:
    """Expected rounds by their start until the next root, and the law of that root."""
    mass, ends = {root: 1.0}, dict[int, float]()
    for here in order:
        own = mass.get(here, 0.0)
        if own == 0.0:
            continue
        for to, chance in steps[here].items():
            into = ends if to in roots else mass
            into[to] = into.get(to, 0.0) + own * chance
    return mass, ends
