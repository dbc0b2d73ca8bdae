"""What becomes of several drafted sequences at one position?  All tuples of their next tokens are listed and judged."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from simspec.model.errors import ParameterError
from simspec.theory.law import FloatArray
from simspec.theory.multidraft import k_seq

TUPLES_LIMIT, STATES_LIMIT = 2_000_000, 3000
Contexts = npt.NDArray[np.intp]
"""The last token on the path, by state."""


def agreeing(
    target: FloatArray, models: Sequence[FloatArray], rule: str, lenience: float
) -> tuple[FloatArray, FloatArray, Contexts]:
    """Positions of a merged tree: a state is a context and the sequences that agree with the path so far.

    Parameters
    ----------
    target : array, shape (V, V)
        Laws by context.
    models : sequence of arrays, shape (V, V)
        Laws of sequence 1, 2, …; they may be one model.
    rule : {"rrs", "naive", "kseq", "lenient"}
        How the next tokens of the sequences that agree are judged, in their order.
    lenience : float
        l of "lenient".

    Returns
    -------
    kept : array, shape (states, states)
        Mass of "a draft is kept, and then this state".
    lost : array, shape (states, V)
        Mass of a token drawn instead.
    contexts : array, shape (states,)
        The context of a state; in the first V all sequences agree.

    Raises
    ------
    ParameterError
        More than 2,000,000 tuples would be listed, or 3000 groups of sequences behind contexts told apart.

    Examples
    --------
    >>> half = np.full((2, 2), 0.5)
    >>> kept, lost, contexts = agreeing(half, [half, half], "naive", 1.0)
    >>> kept[0].round(3).tolist(), contexts.tolist()
    ([0.125, 0.125, 0.125, 0.125, 0.125, 0.125], [0, 1, 0, 1, 0, 1])
    """
    tokens, many = len(target), len(models)
    everyone = tuple(range(many))
    states = tokens * ((1 << many) - 1)
    if tokens * ((tokens + 1) ** many - 1) > TUPLES_LIMIT or states > STATES_LIMIT:
        told = f"sequences = {many} over {tokens} tokens makes more than {TUPLES_LIMIT:,} tuples"
        told += f" or {STATES_LIMIT:,} groups and contexts"
        raise ParameterError("sequences", f"{told}; allowed: fewer sequences or tokens")
    groups = [everyone, *(g for size in range(1, many) for g in itertools.combinations(everyone, size))]
    place = np.zeros(1 << many, np.intp)  # number of a group, by its members as binary digits
    for at, group in enumerate(groups):
        place[sum(1 << i for i in group)] = at
    kept, lost = np.zeros((states, states)), np.zeros((states, tokens))
    for at, group in enumerate(groups):
        drawn = np.indices((tokens,) * len(group)).reshape(len(group), -1)
        for context in range(tokens):
            laws, state = [models[i][context] for i in group], at * tokens + context
            weight = np.prod([law[own] for law, own in zip(laws, drawn, strict=True)], axis=0)
            own, lost[state] = _judged(target[context], laws, drawn, weight, rule, lenience)
            for token in range(tokens):
                same = sum((drawn[k] == token).astype(np.intp) << i for k, i in enumerate(group))
                there = np.flatnonzero(same)
                np.add.at(kept[state], place[same[there]] * tokens + token, own[token, there])
    return kept, lost, np.tile(np.arange(tokens, dtype=np.intp), len(groups))


def _judged(
    p: FloatArray, laws: Sequence[FloatArray], drawn: Contexts, weight: FloatArray, rule: str, lenience: float
) -> tuple[FloatArray, FloatArray]:
    """Mass of each token kept, by token and tuple of what is drafted, and of each token drawn instead."""
    own, tuples = np.zeros((p.size, weight.size)), np.arange(weight.size)
    if rule == "naive":
        for token, chance in enumerate(p):
            own[token] = weight * chance * (drawn == token).any(axis=0)
        return own, np.maximum(p * weight.sum() - own.sum(axis=1), 0.0)
    reached, owed = weight.copy(), p
    used = k_seq(p, laws[0], len(laws)) if rule == "kseq" else None
    scale = lenience if used is None else float(used.rho or 1.0)
    for law, tokens in zip(laws, drawn, strict=True):
        most = np.divide(owed, scale * law, out=np.ones_like(p), where=law > 0.0)
        now = reached * np.minimum(most, 1.0)[tokens]
        own[tokens, tuples] += now
        reached = reached - now
        if used is None:
            left = np.maximum(owed - scale * law, 0.0)
            owed = left / left.sum() if left.sum() > 1e-15 else owed
    if used is not None:
        owed = np.maximum(used.output_law - used.kept, 0.0)
        owed = owed / owed.sum() if owed.sum() > 1e-15 else p
    return own, float(reached.sum()) * owed
