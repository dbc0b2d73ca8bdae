"""Which two hidden states explain sequences of verdicts best?  Maximum likelihood by forward and backward recursion.

The gradient is that of Fisher's identity: expected numbers of states and moves under the present parameters give the
slope of the log-likelihood exactly, so that a quasi-Newton search needs one pass forward and one back per step.  Plain
expectation–maximisation goes to the same place but takes hundreds of passes where states are hardly told apart.

A place of a sequence may be without a verdict (``known`` False): the state moves over it and nothing is learnt.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simspec.evidence.dense import Floats, Ints

Bits = NDArray[np.bool_]
EDGE = 9.0
"""Rates and stay-probabilities lie between 1/(1 + e⁹) ≈ 1.2e-4 and 1 less that."""
STARTS = ((0.85, 0.35, 0.9, 0.9), (0.95, 0.45, 0.98, 0.98), (0.8, 0.4, 0.5, 0.5))
"""Rates of both states and their probabilities to stay, from which a search begins."""

STEEP = 1e-7
"""Slope per position where a search ends: a looser one would hide how a fit moves when a few requests are left out."""


def log_likelihood(parameters: Floats, bits: Bits, lengths: Ints, known: Bits | None = None) -> Floats:
    """Log-likelihood of each sequence under rates and stay-probabilities (rate, rate, stay, stay).

    The first state has the long-run law.

    Examples
    --------
    >>> both = np.array([0.5, 0.5, 0.9, 0.9])  # states that do not differ: a fair coin
    >>> (log_likelihood(both, np.array([[True, False]]), np.array([2])) / np.log(2)).round(6)
    array([-2.])
    """
    return np.asarray(np.log(_forward(parameters, bits, lengths, known)[1]).sum(axis=0))


def state_before(parameters: Floats, bits: Bits, lengths: Ints, known: Bits | None = None) -> Floats:
    """Chance of the first state at each place given the verdicts before it, (sequences, longest).

    Examples
    --------
    >>> state_before(np.array([1.0, 0.5, 0.9, 0.9]), np.array([[False, True]]), np.array([2])).round(6)
    array([[0.5, 0.1]])
    """
    law = _forward(parameters, bits, lengths, known)[0]
    stay, leave = parameters[2:], 1.0 - parameters[2:]
    before = np.empty(law.shape)
    before[0] = leave[1] / leave.sum()
    before[1:] = law[:-1] * (stay[0] - leave[1]) + leave[1]
    return before.T


def gradient(parameters: Floats, bits: Bits, lengths: Ints, known: Bits | None = None) -> Floats:
    """Slope of the log-likelihood of all sequences in the logits of (rate, rate, stay, stay).

    Examples
    --------
    >>> both = np.array([0.5, 0.5, 0.9, 0.9])
    >>> gradient(both, np.array([[True, False]]), np.array([2])).round(6) + 0.0
    array([0., 0., 0., 0.])
    """
    return _slope(parameters, bits, lengths, known)[1]


def maximise(
    bits: Bits, lengths: Ints, start: Floats | None = None, known: Bits | None = None, steep: float = STEEP
) -> Floats:
    """(rate, rate, stay, stay) of the greatest likelihood, the state of the higher rate first.

    Parameters
    ----------
    bits : bool array (sequences, longest)
        What lies beyond a sequence's length is not read.
    lengths : int array (sequences,)
    start : array, optional
        Where to begin; default: from the three `STARTS`, the best of which is kept.
    known : bool array (sequences, longest), optional
        Where there is a verdict; default: everywhere.
    steep : float
        Slope per position where the search ends.

    References
    ----------
    Baum, Petrie, Soules, Weiss (1970), for the recursions; Salakhutdinov, Roweis, Ghahramani (2003), section 2, for the
    gradient.

    Examples
    --------
    >>> stretches = np.tile(np.repeat([True, False], 25), (4, 4))
    >>> maximise(stretches, np.full(4, 200)).round(2)
    array([1.  , 0.  , 0.96, 0.96])
    """
    from scipy.optimize import minimize

    def loss(point: Floats) -> tuple[float, Floats]:
        value, gradient = _slope(_rate(point), bits, lengths, known)
        return -value / size, np.where(np.abs(point) < EDGE, -gradient / size, 0.0)

    size = float(lengths.sum())
    begins = [np.asarray(one) for one in (STARTS if start is None else (start,))]
    found = [minimize(loss, _logit(x), jac=True, method="BFGS", options={"gtol": steep}) for x in begins]
    best = _rate(np.asarray(min(found, key=lambda one: float(one.fun)).x))
    return best if best[0] >= best[1] else best[[1, 0, 3, 2]]


def _rate(point: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(point, -EDGE, EDGE))))


def _logit(rate: Floats) -> Floats:
    return np.clip(np.log(rate / (1.0 - rate)), -EDGE, EDGE)


def _judged(bits: Bits, lengths: Ints, known: Bits | None) -> Bits:
    """Where there is a verdict, (longest, sequences)."""
    inside = np.arange(bits.shape[1])[:, None] < lengths
    return np.asarray(inside if known is None else inside & known.T)


def _emit(rates: Floats, bits: Bits, inside: Bits) -> Floats:
    """Chance of each verdict by state, (2, longest, sequences); 1 where there is none."""
    return np.stack([np.where(inside, np.where(bits.T, rate, 1.0 - rate), 1.0) for rate in rates])


def _forward(parameters: Floats, bits: Bits, lengths: Ints, known: Bits | None = None) -> tuple[Floats, Floats, Floats]:
    """Chance of the first state given the verdicts so far; of each verdict given those before; of it by state."""
    stay, leave = parameters[2:], 1.0 - parameters[2:]
    first, second = emit = _emit(parameters[:2], bits, _judged(bits, lengths, known))
    law, scale = np.empty(first.shape), np.empty(first.shape)
    here = np.full(first.shape[1], leave[1] / leave.sum())
    gain, more = stay[0] - leave[1], np.empty(first.shape[1])
    for t in range(len(first)):
        np.multiply(here, first[t], out=law[t])
        np.subtract(1.0, here, out=more)
        more *= second[t]
        np.add(law[t], more, out=scale[t])
        law[t] /= scale[t]
        np.multiply(law[t], gain, out=here)
        here += leave[1]
    return law, scale, emit


def _slope(parameters: Floats, bits: Bits, lengths: Ints, known: Bits | None = None) -> tuple[float, Floats]:
    """Log-likelihood of all sequences, and its slope in the logits of the four parameters."""
    stay, leave = parameters[2:], 1.0 - parameters[2:]
    law, scale, emit = _forward(parameters, bits, lengths, known)
    ahead = np.ones(emit.shape)  # chance of the verdicts to come by state, over what was expected of them
    coming = emit / scale
    first, second = coming
    other = np.empty(law.shape[1])
    for t in range(len(law) - 1, 0, -1):
        first[t] *= ahead[0, t]
        second[t] *= ahead[1, t]
        for state in (0, 1):
            np.multiply(first[t], stay[0] if state == 0 else leave[1], out=ahead[state, t - 1])
            np.multiply(second[t], leave[0] if state == 0 else stay[1], out=other)
            ahead[state, t - 1] += other
    inside = np.arange(len(law))[:, None] < lengths
    both = np.stack([law, 1.0 - law])
    states = np.where(inside, both * ahead, 0.0)
    moved = np.einsum("ats,bts->ab", both[:, :-1], np.where(inside[1:], coming[:, 1:], 0.0))
    moved *= [[stay[0], leave[0]], [leave[1], stay[1]]]
    judged = np.where(_judged(bits, lengths, known), states, 0.0)
    by_rate = np.where(bits.T, judged, 0.0).sum(axis=(1, 2)) - parameters[:2] * judged.sum(axis=(1, 2))
    by_stay = np.diag(moved) * leave - (moved.sum(axis=1) - np.diag(moved)) * stay
    begun = states[:, 0].sum(axis=1)
    # log of the first state's law: its weights are the other state's chance to leave
    by_leave = begun[::-1] / leave - begun.sum() / leave.sum()
    return float(np.log(scale).sum()), np.concatenate([by_rate, by_stay - by_leave * stay * leave])
