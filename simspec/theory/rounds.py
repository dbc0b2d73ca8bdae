"""How many rounds does one generation take: the whole law, not only its mean?"""

from __future__ import annotations

import numpy as np

from simspec.model.drift import Drift
from simspec.model.errors import ParameterError
from simspec.theory.generations import GenerationRows
from simspec.theory.law import FloatArray
from simspec.theory.ranges import check_kappa

WORK_LIMIT = 5e8
"""Tokens^1.5 × (κ + 1), which is how the work grows: some ten seconds."""
_NOTHING = 1e-40
"""Positions less likely than this are dropped: far below a rounding of what remains."""


def generation_rounds(process: Drift, kappa: int) -> FloatArray:
    """Law of the number of rounds of one generation of N tokens.

    Parameters
    ----------
    process : Drift
        The rates α_i and the length N; N^1.5 (kappa + 1) ≤ 5·10⁸, that is N ≤ 215,443 at kappa = 4.
    kappa : int
        Draft length, 0 ≤ kappa ≤ 1000.

    Returns
    -------
    array, shape (N + 1,)
        P(rounds = r), r = 0 … N.

    Raises
    ------
    ParameterError
        If ``kappa`` is out of range or the generation too long.

    References
    ----------
    A forward pass over (rounds, position); its mean and variance are those of `simspec.theory.generation`.

    Examples
    --------
    >>> generation_rounds(Drift(shape="table", alphas=[0.5, 0.5, 0.5]), 1)
    array([0.  , 0.  , 0.75, 0.25])
    """
    check_kappa(process, kappa)
    n = process.n_tokens
    most = int((WORK_LIMIT / (kappa + 1)) ** (2 / 3))
    if n > most:
        raise ParameterError("tokens", f"tokens = {n} at kappa = {kappa} is out of range; allowed: tokens ≤ {most}")
    pmf = np.concatenate([block for _, block in GenerationRows(process, kappa).pmf_blocks()])
    steps = np.flatnonzero(pmf.max(axis=0) > _NOTHING)
    law = np.zeros(n + 1)
    now, first = np.ones(1), 0  # P(the next round starts at first, first + 1, …)
    for played in range(1, n + 1):
        after = np.zeros(now.size + kappa + 1)  # from position ``first`` on
        for accepted in steps:
            after[accepted + 1 : accepted + 1 + now.size] += now * pmf[first : first + now.size, accepted]
        law[played] = after[n - first :].sum()
        alive = np.flatnonzero(after[: n - first] > _NOTHING)
        if not alive.size:
            break
        now, first = after[alive[0] : alive[-1] + 1], first + int(alive[0])
    return law
