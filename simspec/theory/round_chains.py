"""What do rounds do in the long run that start where the one before ended?  By the chain of states they start in."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

import numpy as np

from simspec.model.errors import ParameterError

State = TypeVar("State", bound=Hashable)
STATES_LIMIT, MOVES_LIMIT = 5_000, 500_000
"""States that are listed, and moves between them; the linear system is sparse."""


def long_run(
    starts: Iterable[State], follow: Callable[[State], Iterable[tuple[float, State]]], key: str = "kappa"
) -> dict[State, float]:
    """Long-run law of the states in which rounds start: those that keep coming back.

    Parameters
    ----------
    starts : iterable of states
        Where a first round may start.
    follow : callable
        State → chances of the next states, which may be named several times.
    key : str
        What an error is said of.

    Raises
    ------
    ParameterError
        There are too many states or moves, or several sets of them that are never left.

    Examples
    --------
    >>> moves = {0: [(0.5, 0), (0.5, 1)], 1: [(0.2, 2), (0.8, 1)], 2: [(1.0, 1)]}
    >>> {state: round(share, 6) for state, share in long_run([0], moves.__getitem__).items()}
    {1: 0.833333, 2: 0.166667}
    """
    from scipy.sparse import csr_matrix, identity
    from scipy.sparse.csgraph import connected_components
    from scipy.sparse.linalg import splu

    number: dict[State, int] = {}
    for state in starts:
        number.setdefault(state, len(number))
    waiting, rows, columns, chances = list(number), list[int](), list[int](), list[float]()
    while waiting:
        here = waiting.pop()
        for chance, state in follow(here):
            if len(rows) >= MOVES_LIMIT or len(number) > STATES_LIMIT:
                many = f"more than {STATES_LIMIT:,} states of text and memory, or {MOVES_LIMIT:,} moves between them"
                raise ParameterError(key, f"{key} leads to {many}; allowed: fewer tokens, or less to remember")
            if chance <= 0.0:
                continue
            if state not in number:
                number[state] = len(number)
                waiting.append(state)
            rows.append(number[here])
            columns.append(number[state])
            chances.append(chance)
    step = csr_matrix((chances, (rows, columns)), shape=(len(number), len(number)))
    _, classes = connected_components(step, connection="strong")
    left = classes[np.array(rows)] != classes[np.array(columns)]
    closed = np.setdiff1d(classes, classes[np.array(rows)[left]])
    if closed.size > 1:
        raise ParameterError(
            key, f"{key}: rounds keep starting in one of {closed.size} sets of states for ever; allowed: another {key}"
        )
    inside = np.flatnonzero(classes == closed[0])
    rest = step[inside][:, inside].tocsc()
    law = np.ones(inside.size)  # of the first state; the others in proportion
    if inside.size > 1:
        law[1:] = splu(identity(inside.size - 1, format="csc") - rest[1:, 1:].T.tocsc()).solve(rest[0, 1:].toarray()[0])
    names = list(number)
    return {names[i]: float(share) for i, share in zip(inside, law / law.sum(), strict=True)}
