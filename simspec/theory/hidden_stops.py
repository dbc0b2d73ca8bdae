"""What of drafts that stop where they are unsure, if the hidden state behind the confidence runs on over windows?

Every path of hidden states is listed: it says how long the draft is, where it may be rejected, and in which state the
next window begins.  So paths are few: draft lengths times states must stay small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simspec.model.chains import Hmm, normalised
from simspec.model.errors import ParameterError
from simspec.model.schemes import SelfDraft, Stop
from simspec.theory.lanes import long_run_law
from simspec.theory.law import FloatArray
from simspec.theory.scheme_means import SchemeLaw, with_rollback
from simspec.theory.self_drafts import layers_price

PATHS_LIMIT = 100_000
_NEAR = 1e-12


@dataclass(frozen=True, eq=False)
class _Listing:
    """By the state of the first draft: P(d drafts, A = a) at [state, d, a], and the law of the next first state."""

    joint: FloatArray
    step: FloatArray


def _listed(stop: Stop, process: Hmm, kappa: int) -> _Listing:
    moves, alphas = np.array(normalised(process.P)), process.alphas
    size, believed = len(alphas), stop.confidences or process.alphas
    if size**kappa > PATHS_LIMIT:
        told = f"kappa = {kappa} makes {size**kappa:,} paths of hidden states"
        raise ParameterError("kappa", f"{told}; allowed for the exact route: {PATHS_LIMIT:,}")
    lags = (process.steps_after_reject, process.steps_after_full)
    after_reject, after_full = (np.linalg.matrix_power(moves, lag) for lag in lags)
    joint, step = np.zeros((size, kappa + 1, kappa + 1)), np.zeros((size, size))

    def end(path: tuple[int, ...], chance: float) -> None:
        first, drafts = path[0], len(path)
        for accepted, state in enumerate(path):
            joint[first, drafts, accepted] += chance * (1.0 - alphas[state])
            step[first] += chance * (1.0 - alphas[state]) * after_reject[state]
            chance *= alphas[state]
        joint[first, drafts, drafts] += chance
        step[first] += chance * after_full[path[-1]]

    def draw(path: tuple[int, ...], chance: float, product: float) -> None:
        confidence = product * believed[path[-1]] if stop.rule == "survival" else believed[path[-1]]
        if len(path) == kappa or (len(path) >= stop.kmin and confidence < stop.theta * (1.0 - _NEAR)):
            end(path, chance)
            return
        for state, move in enumerate(moves[path[-1]]):
            if move > 0.0:
                draw((*path, state), chance * move, confidence)

    for state in range(size):
        draw((state,), 1.0, 1.0)
    return _Listing(joint, step)


def _long_run(listing: _Listing) -> FloatArray:
    """P(d drafts, A = a), whatever the first state."""
    law = long_run_law(listing.step)
    if law is None:
        raise ParameterError("kappa", "windows stay in the states they begin in for ever; allowed: another κ")
    return np.asarray(np.tensordot(law, listing.joint, 1))


def carried_stop(scheme: Stop | SelfDraft, process: Hmm, kappa: int) -> SchemeLaw:
    """Long-run means of a draft that stops by the confidence of a hidden state, carried over windows.

    Raises
    ------
    ParameterError
        There are too many paths, or windows have no long-run law.

    Examples
    --------
    >>> process = Hmm(P=[[0.9, 0.1], [0.2, 0.8]], alphas=[0.95, 0.4], start="carry")
    >>> law = carried_stop(Stop(theta=0.5, rule="confidence"), process, 6)
    >>> round(law.mean_drafted, 4), round(law.mean_accepted, 4)
    (2.4916, 1.7603)
    """
    stop = scheme.stop if isinstance(scheme, SelfDraft) else scheme
    assert stop is not None  # a self-draft without a rule is a chain
    if len(stop.confidences or process.alphas) != len(process.alphas):
        many = len(process.alphas)
        raise ParameterError("confidences", f"confidences has not one entry per state; allowed: {many}")
    joint = np.ones((1, 1)) if kappa == 0 else _long_run(_listed(stop, process, kappa))
    drafts = np.arange(kappa + 1)
    accepted, drafted = float(joint.sum(axis=0) @ drafts), float(joint.sum(axis=1) @ drafts)
    rejected = 1.0 - float(np.trace(joint))
    lengths = [(d, float(p)) for d, p in enumerate(joint.sum(axis=1)) if p > 0.0]
    if isinstance(scheme, SelfDraft):
        price = layers_price(lengths, rejected, scheme.layers, scheme.adapter, scheme.reuse)
    else:
        price = with_rollback(lambda cost: sum(p * cost.base(d) for d, p in lengths), rejected)
    return SchemeLaw(accepted + 1.0, accepted, drafted, rejected, price)
