"""Which exact law answers for which scheme?  One function per scheme, from its parameters and the law of a window."""

from __future__ import annotations

import itertools

from simspec.model.errors import ParameterError
from simspec.model.process import Process
from simspec.model.rounds import DraftLaw
from simspec.model.schemes.tree import Tree
from simspec.model.trees import DraftTree
from simspec.theory.routes import survival_curve


def depth_rates(process: Process, kappa: int) -> list[float]:
    """Chance of draft 1, …, kappa given that those before it were accepted, from the survival curve.

    Examples
    --------
    >>> from simspec.model import Markov
    >>> [round(rate, 4) for rate in depth_rates(Markov(alpha=0.7, rho=0.3), 3)]
    [0.7, 0.79, 0.79]
    """
    curve = [1.0, *survival_curve(process, kappa).tolist()]
    return [after / before if before > 0.0 else 0.0 for before, after in itertools.pairwise(curve)]


def tree_of(scheme: Tree, process: Process, kappa: int) -> DraftTree:
    """The tree that a scheme makes of a process, with chances from the exact law of its windows.

    Parameters
    ----------
    scheme : Tree
        Its shape, or how it grows.
    process : Process
        One with independent windows and no hidden state.
    kappa : int
        Nodes.

    Returns
    -------
    DraftTree

    Raises
    ------
    ParameterError
        The tree has fewer nodes, or the process no independent windows.

    Examples
    --------
    >>> from simspec.model import Iid
    >>> tree_of(Tree(misses=(0.5, 0.2)), Iid(alpha=0.6), 4).parents
    (0, 1, 2, 0)
    """
    longest = process.longest_draft
    rates = depth_rates(process, kappa if longest is None else min(kappa, longest))
    parents, ranks = scheme.shape(DraftLaw(tuple((rate,) for rate in rates)), kappa)
    depths, chances = [0], list[float]()
    for parent, rank in zip(parents, ranks, strict=True):
        depth = depths[parent] + 1
        depths.append(depth)
        if depth > len(rates):
            raise ParameterError("kappa", f"kappa = {kappa} reaches depth {depth}; allowed: {len(rates)} measured ones")
        row = scheme.misses[depth - 1] if scheme.misses and isinstance(scheme.misses[0], tuple) else scheme.misses
        assert isinstance(row, tuple)
        if rank == 1:
            chances.append(rates[depth - 1])
        elif scheme.siblings == "sequential":
            chances.append(float(row[rank - 2]))  # type: ignore[arg-type]
        else:
            chances.append((1.0 - rates[depth - 1]) * float(row[rank - 2]))  # type: ignore[arg-type]
    return DraftTree(parents=tuple(parents), chances=tuple(chances), siblings=scheme.siblings)
