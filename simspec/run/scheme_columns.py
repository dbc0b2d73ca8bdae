"""What do exact laws of a scheme add to its rows: its speed-ups, and what it loses?"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simspec.model import Cost, ParameterError, Scheme, Simulation
from simspec.stats.counts import Counts
from simspec.stats.point import loss_estimates
from simspec.theory.scheme_means import SchemeLaw
from simspec.theory.scheme_routes import scheme_law

Floats = NDArray[np.float64]


@functools.lru_cache(maxsize=8)
def scheme_laws(simulation: Simulation, kappas: tuple[int, ...]) -> tuple[SchemeLaw | None, ...]:
    """The exact law of a scheme by κ; None where there is no exact route.

    The last few are remembered: a simulation of many costs is priced a few of them at a time.

    Examples
    --------
    >>> from simspec.model import Iid
    >>> from simspec.model.schemes import Tree
    >>> [law.mean_tokens for law in scheme_laws(Simulation(Iid(alpha=0.5), Tree(misses=(0.4,))), (0, 2))]
    [1.0, 1.75]
    """
    out: list[SchemeLaw | None] = []
    for kappa in kappas:
        try:
            out.append(scheme_law(simulation.scheme, simulation.process, kappa))
        except ParameterError:
            out.append(None)
    return tuple(out)


def scheme_speedups(laws: Sequence[SchemeLaw | None], costs: Sequence[Cost]) -> Floats:
    """Speed-ups from exact laws by κ, (costs, κ); NaN where there is none, or none at that price.

    Examples
    --------
    >>> scheme_speedups([SchemeLaw(1.75, 0.75, 2.0, 0.5, lambda cost: cost.c0), None], [Cost()]).tolist()
    [[1.75, nan]]
    """
    out = np.full((len(costs), len(laws)), np.nan)
    for (i, cost), (j, law) in itertools.product(enumerate(costs), enumerate(laws)):
        if law is not None:
            with contextlib.suppress(ParameterError):
                out[i, j] = law.speedup(cost)
    return out


def losses(
    scheme: Scheme, laws: Sequence[Sequence[SchemeLaw | None]], counts: Counts | None, level: float
) -> dict[str, Floats]:
    """What a token loses, counted and exact: name → array (simulations, 1, κ); 0 if lossless, NaN where not known.

    Parameters
    ----------
    scheme : Scheme
    laws : sequence of sequence of SchemeLaw or None
        By simulation and κ; not asked if nothing is lost.
    counts : Counts, optional
        Of these simulations; None where exact values stand in the place of counts.
    level : float
    """
    if scheme.lossless:
        return _everywhere(np.zeros((1, 1, 1)), np.zeros((1, 1, 1)))
    exact = np.array([[[np.nan if law is None or law.loss is None else law.loss for law in own]] for own in laws])
    if scheme.loses is None or not scheme.loses.counted:
        return _everywhere(np.full(exact.shape, np.nan), exact)
    if counts is None:
        return _everywhere(exact, exact)
    if counts.kinds is None:  # a chain of a user's own: chains have no kinds of rounds
        return _everywhere(np.full(exact.shape, np.nan), exact)
    return {"loss_exact": exact} | loss_estimates(counts, level)


def _everywhere(counted: Floats, exact: Floats) -> dict[str, Floats]:
    return {**{f"loss_per_token{end}": counted for end in ("", "_low", "_high")}, "loss_exact": exact}
