"""In which states is a chain in the long run, wherever it begins?  By elimination: nothing is subtracted."""

from __future__ import annotations

from collections.abc import Sequence

from simspec.model.chains import closed_classes


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
        inside = sorted(own)
        law = _of_class([[rows[i][j] for j in inside] for i in inside])
        total = sum(mass[i] for i in inside)
        for i, share in zip(inside, law, strict=True):
            out[i] = total * share
    return out


def _of_class(left: list[list[float]]) -> list[float]:
    """Long-run law of a chain whose states all lead to each other (Grassmann, Taksar, Heyman 1985)."""
    for k in range(len(left) - 1, 0, -1):
        leaving = sum(left[k][:k])
        for i in range(k):
            left[i][k] /= leaving
            for j in range(k):
                left[i][j] += left[i][k] * left[k][j]
    law = [1.0]
    for k in range(1, len(left)):
        law.append(sum(law[i] * left[i][k] for i in range(k)))
    return [share / sum(law) for share in law]
