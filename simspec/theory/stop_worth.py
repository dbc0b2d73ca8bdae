"""What is a stop rule worth, between the best fixed length and perfect foresight?  Exact, under any price."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.theory.confidence_stops import Rule, StoppedDraft, best_threshold, confidence_law, stopped_draft
from simspec.theory.law import FloatArray
from simspec.theory.ranges import check_whole

CANDIDATES_LIMIT = 400
"""Thresholds that are tried one by one: some seconds."""
KMAX_LIMIT = 64


@dataclass(frozen=True)
class StopBounds:
    """Speed-ups of rules that draft at least one and at most ``kmax`` tokens.

    Attributes
    ----------
    kappa : int
        The best fixed length.
    fixed : float
        Its speed-up.
    theta, most : float, int
        The best threshold on the product of confidences (SpecDec++), with a limit of so many drafts.
    threshold : float
        Its speed-up.
    confidence_theta, confidence_most : float, int
        The best threshold on the last confidence (p_min, DISCO, Kangaroo), and its limit.
    confidence : float
        Its speed-up.
    foresight : float
        Of a draft that knows what will be accepted: no rule does better.
    off : float
        Without drafts, one over the price of a chain of κ = 0: where it is above ``threshold``, do not draft.
    """

    kappa: int
    fixed: float
    theta: float
    most: int
    threshold: float
    confidence_theta: float
    confidence_most: int
    confidence: float
    foresight: float
    off: float


def stop_bounds(
    values: Sequence[float],
    weights: Sequence[float],
    cost: Cost,
    kmax: int = 20,
    acceptance: Sequence[float] | None = None,
    transition: Sequence[Sequence[float]] | None = None,
) -> StopBounds:
    """The best fixed length, the best thresholds and perfect foresight, for one law of confidences at one price.

    Parameters
    ----------
    values, weights, acceptance, transition
        As in `stopped_draft`.
    cost : Cost
        c_d and c_v per draft, c_r where one is rejected, or tables.
    kmax : int
        Most drafts, 1 to 64.

    Returns
    -------
    StopBounds
        ``fixed ≤ confidence, threshold ≤ foresight``.  Where confidences are calibrated and independent and prices no
        tables, ``threshold`` is the best of all rules that see them.

    Raises
    ------
    ParameterError
        If an argument is out of range, or there are too many thresholds to try.

    Notes
    -----
    With independent confidences of mean α, linear prices and no limit, foresight is 1/(1 − α(1 − c_d − c_v)).

    References
    ----------
    Huang, Guo, Wang (2024), SpecDec++; Leviathan, Kalman, Matias (2023), section 3.5, on what foresight would give.

    Examples
    --------
    >>> found = stop_bounds([0.9, 0.3], [0.75, 0.25], Cost(c_d=0.1))
    >>> found.kappa, [round(speed, 4) for speed in (found.fixed, found.confidence, found.threshold, found.foresight)]
    (5, [2.1921, 2.3694, 2.3694, 3.0719])
    """
    check_whole("kmax", kmax, 1, KMAX_LIMIT)
    confidence, law = confidence_law(values, weights)
    if cost.longest_draft is not None and kmax > cost.longest_draft:
        raise ParameterError("kmax", f"kmax = {kmax} is beyond the cost tables; allowed: 1 to {cost.longest_draft}")

    def drafts(theta: float, which: Rule) -> StoppedDraft:
        return stopped_draft(values, weights, theta, which, 1, kmax, acceptance, transition)

    def best(thetas: Iterable[float], which: Rule) -> tuple[float, int, float]:
        """Speed-up, limit and threshold of the best of these rules, the longest of equal limits."""
        tried = list[tuple[float, int, float]]()
        for theta in thetas:
            law = drafts(theta, which)
            tried += [(_speed_within(law, most, cost), most, theta) for most in range(1, kmax + 1)]
        return max(tried)

    open_ended = drafts(0.0, "confidence")
    fixed, kappa, _ = best([0.0], "confidence")
    last, last_most, last_theta = best((0.0, *np.unique(confidence).tolist(), 1.0), "confidence")
    if acceptance is None and transition is None and cost.longest_draft is None:
        found, law_of_best = best_threshold(values, weights, cost, kmax)
        speed = law_of_best.speedup(cost)
        theta, most = (found, kmax) if found is not None else (0.0, 1)  # one draft: the limit says it
    else:
        speed, most, theta = best(_products(confidence[law > 0.0], kmax), "survival")
    return StopBounds(
        kappa, fixed, theta, most, speed, last_theta, last_most, last, _foresight(open_ended, cost),
        1.0 / cost.base(0),
    )  # fmt: skip


def _products(confidence: FloatArray, kmax: int) -> list[float]:
    """Every product that confidences can have: a rule differs from another by which of them are below θ."""
    found = layer = np.ones(1)
    for _ in range(kmax - 1):  # after the last draft nothing is asked
        layer = _distinct(np.multiply.outer(layer, confidence).ravel())
        found = _distinct(np.concatenate((found, layer)))
        if found.size > CANDIDATES_LIMIT:
            told = f"kmax = {kmax} has over {CANDIDATES_LIMIT} products of confidences"
            raise ParameterError("kmax", f"{told}; allowed: a smaller kmax, or fewer values")
    return [0.0, *found.tolist()]


def _distinct(values: FloatArray) -> FloatArray:
    """Sorted values, those alike but for rounding once."""
    ordered = np.unique(values)
    apart = np.append(True, np.diff(ordered) > 1e-11 * ordered[1:])
    return np.asarray(ordered[apart])


def _foresight(drafts: StoppedDraft, cost: Cost) -> float:
    """max E[tokens]/E[cost] of a draft that knows how many of its next tokens are right, and makes as many or fewer."""
    runs = drafts.pmf_accepted
    tokens = np.arange(runs.size) + 1.0
    price = np.array([cost.base(kept) for kept in range(runs.size)])
    best, speed = 1.0 / float(price[0]), 0.0
    while best > speed * (1.0 + 1e-13):
        speed = best
        gain = tokens - speed * price
        last = np.array([int(np.argmax(gain[: run + 1])) for run in range(runs.size)])  # best of what is right
        best = float(runs @ tokens[last]) / float(runs @ price[last])
    return best


def _speed_within(drafts: StoppedDraft, most: int, cost: Cost) -> float:
    """Speed-up of the same rule with a smaller limit: drafts and accepted ones beyond it are cut off."""
    whole = drafts.joint
    size = np.minimum(np.arange(whole.shape[0]), most)
    joint = np.zeros((most + 1, most + 1))
    np.add.at(joint, (size[:, None], size[None, :]), whole)
    count = np.arange(most + 1)
    price = float(joint.sum(axis=1) @ [cost.base(d) for d in range(most + 1)]) + cost.c_r * (
        1.0 - float(np.trace(joint))
    )
    return (1.0 + float(joint.sum(axis=0) @ count)) / price
