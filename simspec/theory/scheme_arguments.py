"""What do exact laws of schemes take?  Rates by depth, trees and confidences, made of a scheme and a process.

Of a scheme's own code only `Tree.shape` is asked: which nodes there are is what the scheme is, not what is true of it.
Their chances are made here, from the exact law of the process.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from simspec.model.chains import Hmm, normalised
from simspec.model.errors import ParameterError
from simspec.model.iid import Iid
from simspec.model.markov import Markov
from simspec.model.position import Position
from simspec.model.process import Process
from simspec.model.rounds import DraftLaw
from simspec.model.schemes import DynamicTree, Stop, Tree
from simspec.model.trees import DraftTree
from simspec.theory.confidence_vectors import vector_arguments
from simspec.theory.fresh import stay_accepted
from simspec.theory.lanes import long_run_law
from simspec.theory.law import FloatArray
from simspec.theory.routes import survival_curve


def depth_rates(process: Process, kappa: int) -> list[float]:
    """Chance of draft 1, …, kappa given that those before it were accepted, from the survival curve.

    Parameters
    ----------
    process : Process
        One with a survival curve.
    kappa : int
        Drafts, ≥ 0.

    Returns
    -------
    list of float
        α_j = S_j/S_{j−1}; 0 behind a draft that is never accepted, but for a process that names its rates.

    Raises
    ------
    ParameterError
        The process has no survival curve, or a shorter one.

    Examples
    --------
    >>> from simspec.model import Markov
    >>> [round(rate, 4) for rate in depth_rates(Markov(alpha=0.7, rho=0.3), 3)]
    [0.7, 0.79, 0.79]
    """
    curve = survival_curve(process, kappa)
    if isinstance(process, Position):  # a curve that is 0 tells no more, but a rank 2 may lead on
        return list(process.alphas[:kappa])
    if isinstance(process, Iid):  # to the last digit, so that equal nodes of a tree are equal
        return [process.alpha] * kappa
    if isinstance(process, Markov):
        return [process.alpha, *[stay_accepted(process)] * kappa][:kappa]
    return rates_of(curve)


def rates_of(curve: FloatArray) -> list[float]:
    """Conditional rates from a survival curve; 0 behind a draft that is never accepted.

    Examples
    --------
    >>> rates_of(np.array([0.8, 0.4, 0.0, 0.0]))
    [0.8, 0.5, 0.0, 0.0]
    """
    before = np.concatenate(([1.0], curve[:-1])) if curve.size else curve
    rates = np.divide(curve, before, out=np.zeros_like(curve), where=before > 0.0)
    return [float(rate) for rate in rates.clip(0.0, 1.0)]


def equal_rates(rates: Sequence[float]) -> bool:
    """Whether rates do not depend on the depth."""
    return not rates or max(rates) - min(rates) <= 1e-9


def one_rate(process: Process, kappa: int) -> float:
    """The rate of every draft; `ParameterError` if rates depend on the depth."""
    if not equal_rates(depth_rates(process, max(kappa, 1))):
        raise ParameterError("process", "rates differ by position; allowed: iid for this scheme")
    return depth_rates(process, 1)[0]


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
        missed = 1.0 if scheme.siblings == "sequential" else 1.0 - rates[depth - 1]
        chances.append(rates[depth - 1] if rank == 1 else missed * shares_at(scheme, depth)[rank - 2])
    return DraftTree(parents=tuple(parents), chances=tuple(chances), siblings=scheme.siblings)


def shares_at(scheme: Tree, depth: int) -> tuple[float, ...]:
    """What ranks 2, 3, … recover at a depth.

    Examples
    --------
    >>> shares_at(Tree(misses=((0.5, 0.2), (0.4,))), 2), shares_at(Tree(misses=(0.5, 0.2)), 2)
    ((0.4,), (0.5, 0.2))
    """
    rows = [row for row in scheme.misses if isinstance(row, tuple)]
    return rows[depth - 1] if rows else tuple(share for share in scheme.misses if not isinstance(share, tuple))


def stop_arguments(scheme: Stop, process: Process, kappa: int) -> dict[str, Any]:
    """What `stopped_draft` takes of a scheme on a process: confidences are rates of hidden states, or one rate.

    Examples
    --------
    >>> from simspec.model import Iid
    >>> stop_arguments(Stop(theta=0.4), Iid(alpha=0.7), 4)["values"]
    (0.7,)
    """
    asked: dict[str, Any] = {"rule": scheme.rule, "kmin": min(scheme.kmin, kappa), "kmax": kappa}
    asked["theta"] = scheme.theta if scheme.kmin <= kappa else 0.0  # no draft is long enough to be tested
    asked["submits"] = scheme.submits
    if isinstance(process, Hmm) and not process.carried:
        rows = np.array(normalised(process.P))
        law = long_run_law(rows)
        assert law is not None  # the process has one closed class
        asked |= {"values": scheme.confidences or process.alphas, "weights": law}
        return asked | {"acceptance": process.alphas, "transition": rows}
    rate = one_rate(process, kappa)
    return asked | {"values": scheme.confidences or (rate,), "weights": (1.0,), "acceptance": (rate,)}


def dynamic_arguments(scheme: DynamicTree, process: Process, kappa: int) -> dict[str, Any]:
    """What `dynamic_tree` takes of a scheme on a process.

    Examples
    --------
    >>> from simspec.model import Iid
    >>> dynamic_arguments(DynamicTree(misses=(0.5,), breadth=2, depth=2), Iid(alpha=0.6), 3)["confidences"]
    [[0.6, 0.2]]
    """
    if scheme.vectors is not None:
        size = {"breadth": scheme.breadth, "depth": scheme.depth, "nodes": kappa}
        return vector_arguments(scheme, one_rate(process, scheme.depth)) | size
    if isinstance(process, Hmm) and not process.carried:
        if len(set(process.P)) > 1:
            raise ParameterError("process", "rows of P differ; allowed: equal rows for this scheme")
        alphas, law = list(process.alphas), normalised(process.P)[0]
    else:
        alphas, law = [one_rate(process, scheme.depth)], [1.0]

    def vectors(rates: Sequence[float]) -> FloatArray:
        one = np.array(rates)[:, None]
        return np.hstack([one, (1.0 - one) * np.array(scheme.misses)])[:, : scheme.breadth]

    believed, true = vectors(scheme.confidences or alphas), vectors(alphas)
    order = np.argsort(-believed, axis=1, kind="stable")
    return {
        "confidences": np.take_along_axis(believed, order, axis=1).tolist(), "weights": law,
        "acceptance": np.take_along_axis(true, order, axis=1).tolist(), "breadth": scheme.breadth,
        "depth": scheme.depth, "nodes": kappa,
    }  # fmt: skip


def matched_share(after_match: float, after_miss: float) -> float:
    """Long-run share of rounds with a match, where a match follows a match or a miss with these chances.

    Parameters
    ----------
    after_match, after_miss : float
        Chance of a match in the round after one with, and after one without a match; 0 to 1.

    Returns
    -------
    float
        b/(b + 1 − a): the stationary law of a chain of two states.

    Raises
    ------
    ParameterError
        Rounds stay as they began for ever, so that there is no long-run share.

    Examples
    --------
    >>> round(matched_share(0.8, 0.2), 12)
    0.5
    """
    if after_match == 1.0 and after_miss == 0.0:
        raise ParameterError("after_match", "after_match = 1 with after_miss = 0 never changes; allowed: either change")
    return after_miss / (after_miss + (1.0 - after_match))
