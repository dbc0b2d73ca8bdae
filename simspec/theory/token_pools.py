"""How long are drafts copied from what followed the same token last time?  By the chain of texts and memories.

The state is the last token and, for every token, what followed it when it was last emitted.  A draft follows this
memory from the last token; the target draws its own tokens and keeps the draft as far as they agree.  Accepted tokens
leave the memory as it is, the one that ends a round changes one entry.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simspec.model.errors import ParameterError
from simspec.theory.lanes import long_run_law
from simspec.theory.law import FloatArray, moments
from simspec.theory.ranges import EXACT_KAPPA_LIMIT, check_whole
from simspec.theory.token_laws import as_law

STATES_LIMIT = 4096
"""Tokens times memories: four tokens have 1024."""


@dataclass(frozen=True, eq=False)
class PoolLaw:
    """Long-run law of rounds that draft from a pool.

    Attributes
    ----------
    pmf_accepted : array, shape (kappa + 1,)
        P(A = j).
    mean_accepted, var_accepted : float
        Of A, in tokens; A + 1 are emitted.
    agreement : float
        P(a token is what followed the same token last time), per token: the acceptance rate of a draft of one that is
        made at every token.
    """

    pmf_accepted: FloatArray
    mean_accepted: float
    var_accepted: float
    agreement: float


def pool_law(target: Sequence[Sequence[float]], kappa: int) -> PoolLaw:
    """Accepted length of drafts that follow what came after each token when it was last emitted.

    Parameters
    ----------
    target : sequence of rows
        Law of the next token by the last one, 2 to 4 tokens, all of which keep coming back.
    kappa : int
        Draft length, 0 to 1000.

    Returns
    -------
    PoolLaw
        Once every token has been seen, all drafts are κ long.

    Raises
    ------
    ParameterError
        A row is no law, there are too many tokens, or some never come back.

    Notes
    -----
    For κ = 0 a round is a token, and the law of the state is explicit: the memories of all tokens but the last emitted
    one form a tree towards it, and a state weighs the product of P over all memories (the Markov chain tree theorem).
    So P(agreement) = Σ_x π_x Σ_y P(x, y)², since the memory of the last token is a draw of its own.

    References
    ----------
    Anantharam, Tsoucas (1989), A proof of the Markov chain tree theorem.

    Examples
    --------
    >>> law = pool_law([[0.5, 0.5], [0.9, 0.1]], 2)
    >>> law.pmf_accepted.round(6), round(law.agreement, 6)
    (array([0.379743, 0.270513, 0.349743]), 0.614286)
    """
    check_whole("kappa", kappa, 0, EXACT_KAPPA_LIMIT)
    tokens = len(target)
    if tokens ** (tokens + 1) > STATES_LIMIT:
        raise ParameterError("target", f"target has {tokens} tokens; allowed: up to 4")
    rows = returning_rows(target)
    law = long_run_law(rows)
    assert law is not None  # all tokens keep coming back
    memories = list(itertools.product(range(tokens), repeat=tokens))
    number = {state: i for i, state in enumerate(itertools.product(range(tokens), memories))}
    step, lengths = np.zeros((len(number), len(number))), np.zeros((len(number), kappa + 1))
    for (last, memory), i in number.items():
        here, reached = last, 1.0
        for accepted in range(kappa + 1):
            draft = memory[here] if accepted < kappa else -1
            for token in range(tokens):
                if token != draft:
                    changed = (*memory[:here], token, *memory[here + 1 :])
                    step[i, number[token, changed]] += reached * rows[here, token]
                    lengths[i, accepted] += reached * rows[here, token]
            if accepted < kappa:
                reached *= float(rows[here, draft])
                here = draft
    rounds = long_run_law(step)
    if rounds is None:  # a text that repeats itself for ever, in step with the rounds
        raise ParameterError(
            "kappa", f"kappa = {kappa}: rounds keep starting at the same tokens; allowed: another kappa"
        )
    pmf = rounds @ lengths
    mean, var = moments(pmf)
    return PoolLaw(pmf, mean, var, float(law @ (rows**2).sum(axis=1)))


def returning_rows(target: Sequence[Sequence[float]]) -> FloatArray:
    """The laws of the next token by the last one; `ParameterError` unless all tokens keep coming back.

    Examples
    --------
    >>> returning_rows([[0, 1], [0.5, 0.5]]).tolist()
    [[0.0, 1.0], [0.5, 0.5]]
    """
    rows = np.array([as_law(f"target[{i}]", row, len(target)) for i, row in enumerate(target)])
    law = long_run_law(rows) if len(rows) else None
    if law is None or not (law > 0.0).all():
        raise ParameterError("target", "target has tokens that never come back; allowed: one class of all tokens")
    return rows
