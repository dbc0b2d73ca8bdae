"""What becomes of several drafted sequences at one position?  All tuples of their next tokens are listed and judged."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from simspec.model.errors import ParameterError
from simspec.theory.law import FloatArray
from simspec.theory.multidraft import k_seq

TUPLES_LIMIT = 1_000_000
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
        More than 1,000,000 tuples would be listed.

    Examples
    --------
    >>> half = np.full((2, 2), 0.5)
    >>> kept, lost, contexts = agreeing(half, [half, half], "naive", 1.0)
    >>> kept[0].round(3).tolist(), contexts.tolist()
    ([0.125, 0.125, 0.125, 0.125, 0.125, 0.125], [0, 1, 0, 1, 0, 1])
    """
    tokens, many = len(target), len(models)
    everyone = tuple(range(many))
    groups = [everyone, *(g for size in range(1, many) for g in itertools.combinations(everyone, size))]
    if tokens * sum(tokens ** len(group) for group in groups) > TUPLES_LIMIT:
        told = f"sequences = {many} over {tokens} tokens makes more than {TUPLES_LIMIT:,} tuples"
        raise ParameterError("sequences", f"{told}; allowed: fewer sequences or tokens")
    number = {state: i for i, state in enumerate((c, g) for g in groups for c in range(tokens))}
    kept, lost = np.zeros((len(number), len(number))), np.zeros((len(number), tokens))
    for (context, group), state in number.items():
        laws = [models[i][context] for i in group]
        for drawn in itertools.product(range(tokens), repeat=len(group)):
            weight = float(np.prod([law[token] for law, token in zip(laws, drawn, strict=True)]))
            if weight == 0.0:
                continue
            own, instead = _judged(target[context], laws, drawn, rule, lenience)
            lost[state] += weight * instead
            for token in np.flatnonzero(own):
                same = tuple(i for i, other in zip(group, drawn, strict=True) if other == token)
                kept[state, number[int(token), same]] += weight * own[token]
    return kept, lost, np.array([context for context, _ in number], np.intp)


def _judged(
    p: FloatArray, laws: Sequence[FloatArray], drawn: Sequence[int], rule: str, lenience: float
) -> tuple[FloatArray, FloatArray]:
    """Given what is drafted: chance that each drafted token is kept, and law of what is drawn if none is."""
    among = np.isin(np.arange(p.size), drawn)
    if rule == "naive":
        return p * among, p * ~among
    own, reached, owed = np.zeros_like(p), 1.0, p
    used = k_seq(p, laws[0], len(laws)) if rule == "kseq" else None
    for law, token in zip(laws, drawn, strict=True):
        scale = lenience if used is None else float(used.rho or 1.0)
        chance = min(float(owed[token]) / (scale * float(law[token])), 1.0)
        own[token] += reached * chance
        reached *= 1.0 - chance
        if used is None:
            left = np.maximum(owed - scale * law, 0.0)
            owed = left / left.sum() if left.sum() > 1e-15 else owed
    if used is not None:
        owed = np.maximum(used.output_law - used.kept, 0.0)
        owed = owed / owed.sum() if owed.sum() > 1e-15 else p
    return own, reached * owed
