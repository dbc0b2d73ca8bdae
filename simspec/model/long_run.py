"""In which states is a chain in the long run, wherever it begins?  By elimination: nothing is subtracted."""

from __future__ import annotations

from collections.abc import Sequence

from simspec.model.chains import closed_classes


def long_run(rows: Sequence[Sequence[float]], closed: Sequence[int]) -> list[float]:
    """Long-run shares of the states of a chain in one closed class, 0 outside it.

    Parameters
    ----------
    rows : sequence of rows
        Law of the next state by the last one.
    closed : sequence of int
        States that all lead to each other, and to no other.

    References
    ----------
    Grassmann, Taksar, Heyman (1985), Regenerative analysis and steady state distributions for Markov chains.

    Examples
    --------
    >>> long_run([[0.2, 0.8, 0.0], [0.0, 0.0, 1.0], [0.0, 0.5, 0.5]], [1, 2])
    [0.0, 0.3333333333333333, 0.6666666666666666]
    """
    left = [[rows[i][j] for j in closed] for i in closed]
    for k in range(len(closed) - 1, 0, -1):
        leaving = sum(left[k][:k])
        for i in range(k):
            left[i][k] /= leaving
            for j in range(k):
                left[i][j] += left[i][k] * left[k][j]
    law = [1.0]
    for k in range(1, len(closed)):
        law.append(sum(law[i] * left[i][k] for i in range(k)))
    total, out = sum(law), [0.0] * len(rows)
    for state, share in zip(closed, law, strict=True):
        out[state] = share / total
    return out


def long_run_from(begin: Sequence[float], rows: Sequence[Sequence[float]]) -> list[float]:
    """Long-run shares of the states of a chain that begins with a given law, however many classes it has.

    Parameters
    ----------
    begin : sequence of float
        Law of the first state.
    rows : sequence of rows
        Law of the next state by the last one.

    Examples
    --------
    >>> long_run_from([0.5, 0.5, 0.0], [[0.0, 1.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    [0.3333333333333333, 0.6666666666666666, 0.0]
    >>> long_run_from([1.0, 0.0, 0.0], [[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    [0.0, 0.5, 0.5]
    """
    mass, left = list(begin), [list(row) for row in rows]
    classes = closed_classes(tuple(tuple(row) for row in rows))
    passing = [i for i in range(len(left)) if not any(i in own for own in classes)]
    for place, k in enumerate(passing):  # its mass and its visits go to where it leads
        others = [j for j in range(len(left)) if j not in passing[: place + 1]]
        leaving = sum(left[k][j] for j in others)
        for j in others:
            share = left[k][j] / leaving
            mass[j] += mass[k] * share
            for i in others:
                left[i][j] += left[i][k] * share
        mass[k] = 0.0
    out = [0.0] * len(left)
    for own in classes:
        law, total = long_run(rows, sorted(own)), sum(mass[i] for i in sorted(own))
        for i in own:
            out[i] = total * law[i]
    return out
