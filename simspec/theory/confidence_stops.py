"""What if the draft stops by itself, when it is no longer confident?  The exact law of drafted and accepted tokens.

Draft j has a confidence c_j from a law of a few values and is accepted with a chance that depends on it: c_j itself if
the confidence is calibrated.  After draft j ≥ kmin the draft ends if c_j < θ (p_min of llama.cpp, Kangaroo, DISCO), or
if c_1 ⋯ c_j < θ (SpecDec++, with θ = 1 − h); the draft that failed the test is still submitted.  The states to follow
are the values that the product can have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.theory.law import FloatArray, moments
from simspec.theory.ranges import EXACT_KAPPA_LIMIT, as_numbers, check_range, check_whole

CELLS_LIMIT, WORK_LIMIT = 5_000_000, 200_000_000
"""Products × confidences × accepted drafts that are followed at once, and in all: some seconds."""
NEAR = 1e-12
"""A product counts as below θ if it is by more than this share; rounding alone never ends a draft."""

Rule = Literal["survival", "confidence"]


@dataclass(frozen=True, eq=False)
class StoppedDraft:
    """Exact law of a round whose draft ends by a rule.

    Attributes
    ----------
    joint : array, shape (kmax + 1, kmax + 1)
        P(d drafts, A = j) at [d, j].
    pmf_drafted, pmf_accepted : array, shape (kmax + 1,)
        Its margins.
    mean_drafted, mean_accepted : float
        Their means, in tokens.
    p_full : float
        P(every draft is accepted).
    pmf_steps : array, shape (kmax + 1,)
        P(so many draft steps): more than drafts where the draft that fails the test is thrown away.
    """

    joint: FloatArray
    pmf_drafted: FloatArray
    pmf_accepted: FloatArray
    mean_drafted: float
    mean_accepted: float
    p_full: float
    pmf_steps: FloatArray

    @property
    def mean_tokens(self) -> float:
        """E[A] + 1."""
        return self.mean_accepted + 1.0

    def mean_cost(self, cost: Cost) -> float:
        """c0 + E[drafted]·c_v + E[steps]·c_d + c_r·P(a draft is rejected), tables being read at those of a round."""
        cost.check_kappa(int(np.flatnonzero(self.pmf_steps)[-1]))
        passes = math.fsum(float(p) * cost.target_pass(d) for d, p in enumerate(self.pmf_drafted) if p > 0.0)
        steps = math.fsum(float(p) * cost.drafting(d) for d, p in enumerate(self.pmf_steps) if p > 0.0)
        return passes + steps + cost.c_r * (1.0 - self.p_full)

    def speedup(self, cost: Cost) -> float:
        """E[tokens]/E[cost], against one plain target step."""
        return self.mean_tokens / self.mean_cost(cost)


def stopped_draft(
    values: Sequence[float],
    weights: Sequence[float],
    theta: float,
    rule: Rule = "survival",
    kmin: int = 1,
    kmax: int = 20,
    acceptance: Sequence[float] | None = None,
    transition: Sequence[Sequence[float]] | None = None,
    submits: bool = True,
) -> StoppedDraft:
    """Drafted and accepted tokens of a round whose draft ends when a confidence falls below a threshold.

    Parameters
    ----------
    values : sequence of float
        Confidences a draft may have, each in [0, 1].
    weights : sequence of float
        Their probabilities, ≥ 0, in any common scale; those of the first draft where a ``transition`` is given.
    theta : float
        Threshold, 0 to 1.
    rule : str
        ``"survival"`` compares the product of the confidences so far, ``"confidence"`` the last one.
    kmin, kmax : int
        Fewest drafts before the rule is asked, and most; 0 ≤ kmin ≤ kmax ≤ 1000.  One draft is made if kmax ≥ 1.
    acceptance : sequence of float, optional
        Chance that a draft of each confidence is accepted; the confidence itself unless given.
    transition : sequence of rows, optional
        Law of the next confidence, given this one; independent ones unless given.
    submits : bool
        Whether the draft that fails the test is verified; if not, its step was in vain.

    Returns
    -------
    StoppedDraft

    Raises
    ------
    ParameterError
        If an argument is out of range, or the products take too many values.

    References
    ----------
    Huang, Guo, Wang (2024), SpecDec++; Mamou et al. (2024), DISCO; Liu et al. (2024), Kangaroo.

    Examples
    --------
    >>> found = stopped_draft([0.9, 0.3], [0.75, 0.25], theta=0.5, kmax=3)
    >>> found.pmf_drafted, round(found.mean_accepted, 6)
    (array([0.    , 0.25  , 0.1875, 0.5625]), 1.597969)
    """
    confidence, law = confidence_law(values, weights)
    if rule not in ("survival", "confidence"):
        raise ParameterError("rule", f'rule = {rule!r} is unknown; allowed: "survival" or "confidence"')
    check_range("theta", theta, 0, 1)
    check_whole("kmax", kmax, 0, EXACT_KAPPA_LIMIT)
    check_whole("kmin", kmin, 0, kmax)
    accepted = confidence if acceptance is None else _shares("acceptance", acceptance, confidence.size)
    moves = None if transition is None else _rows(transition, confidence.size)
    joint, steps = np.zeros((kmax + 1, kmax + 1)), np.zeros(kmax + 1)
    product, last, mass = np.ones(1), np.zeros(1, np.int64), np.ones((1, 1))  # mass[state, j]: first j accepted
    low, work = float(confidence.min()), 0
    joint[0, 0] = steps[0] = float(kmax == 0)
    for draft in range(1, kmax + 1):
        work = _checked_work(work, product.size * confidence.size * (draft + 1), confidence.size, kmax)
        product, last, mass = _one_more(product, last, mass, confidence, accepted, law, moves, draft)
        below = (product if rule == "survival" else confidence[last]) < theta * (1.0 - NEAR)
        fails = below & (draft >= kmin)
        stops = fails | (draft == kmax)
        steps[draft] = mass[stops, 0].sum()
        for ended, verified in ((fails, draft - 1), (stops & ~fails, draft)) if not submits else ((stops, draft),):
            reach = mass[ended].sum(axis=0)[: verified + 1]  # at [j]: that the first j were accepted
            joint[verified, : verified + 1] += reach - np.append(reach[1:], 0.0)
        product, last, mass = product[~stops], last[~stops], mass[~stops]
        product = np.ones_like(product) if rule == "confidence" else _told(product, theta, low ** (kmax - draft))
        product, last, mass = _merged(product, last if moves is not None else np.zeros_like(last), mass)
        if product.size == 0:
            break
    return _stopped(joint, steps)


def best_threshold(
    values: Sequence[float], weights: Sequence[float], cost: Cost, kmax: int = 20
) -> tuple[float | None, StoppedDraft]:
    """The best rule for calibrated, independent confidences: a threshold on the product of those so far.

    Parameters
    ----------
    values, weights
        As in `stopped_draft`.
    cost : Cost
        c0, c_d, c_v and c_r; without tables.
    kmax : int
        Most drafts, 1 to 1000; one is always made.

    Returns
    -------
    theta : float or None
        θ = S(c_d + c_v)/(m − S·c_r(1 − m)), S being the speed-up it reaches and m the mean confidence; 1 where one
        draft is best, and None where that is so but a confidence of 1 is never below 1: no threshold says it, a limit
        of one draft does.
    law : StoppedDraft
        Of that rule.

    Raises
    ------
    ParameterError
        If an argument is out of range, or the prices are tables.

    Notes
    -----
    With product s so far one draft more brings s·m tokens and costs c_d + c_v + c_r·s(1 − m); both are worth it at S
    tokens per unit of cost or they are not, and s never rises, so looking one step ahead is optimal (docs/systems.md).

    References
    ----------
    Huang, Guo, Wang (2024), SpecDec++, prove the form of the rule.

    Examples
    --------
    >>> theta, law = best_threshold([0.9, 0.3], [0.75, 0.25], Cost(c_d=0.1))
    >>> round(theta, 4), round(law.speedup(Cost(c_d=0.1)), 4)
    (0.3159, 2.3694)
    """
    if cost.longest_draft is not None:
        raise ParameterError("cost", "cost has tables; allowed: c0, c_d, c_v, c_r")
    check_whole("kmax", kmax, 1, EXACT_KAPPA_LIMIT)
    confidence, law = confidence_law(values, weights)
    mean, price = float(confidence @ law), cost.c_d + cost.c_v
    sure = bool(confidence[law > 0.0].max() >= 1.0 - NEAR)
    one = stopped_draft(values, weights, 1.0, kmax=1)
    best, speed, theta = one, 0.0, None if sure else 1.0
    while best.speedup(cost) > speed * (1.0 + 1e-13):
        speed = best.speedup(cost)
        worth = mean - speed * cost.c_r * (1.0 - mean)
        theta = speed * price / worth if worth > 0.0 else math.inf
        if theta > 1.0:
            theta = None if sure else 1.0
        better = one if theta is None else stopped_draft(values, weights, theta, kmax=kmax)
        best = better if better.speedup(cost) > speed else best
    return theta, best


def _one_more(
    product: FloatArray, last: npt.NDArray[np.int64], mass: FloatArray, confidence: FloatArray, accepted: FloatArray,
    law: FloatArray, moves: FloatArray | None, draft: int,
) -> tuple[FloatArray, npt.NDArray[np.int64], FloatArray]:  # fmt: skip
    """Every state with every confidence of one more draft; mass has a column more, for its acceptance."""
    many = confidence.size
    chance = np.tile(law, (product.size, 1)) if moves is None or draft == 1 else moves[last]
    grown = mass[:, None, :] * chance[:, :, None]
    survived = grown[:, :, -1:] * accepted[None, :, None]
    mass = np.concatenate((grown, survived), axis=2).reshape(product.size * many, draft + 1)
    following = np.tile(np.arange(many), product.size)
    product = (product[:, None] * confidence).ravel()
    kept = mass[:, 0] > 0.0
    return product[kept], following[kept], mass[kept]


def _told(product: FloatArray, theta: float, lowest: float) -> FloatArray:
    """Products that will be above θ whatever follows are all 1, those below it already are all 0: no test differs."""
    never = product * lowest >= theta
    already = product < theta * (1.0 - NEAR)
    return np.where(never, 1.0, np.where(already, 0.0, product))


def _checked_work(done: int, cells: int, many: int, kmax: int) -> int:
    """The work so far with that of one more draft, unless it is too much."""
    if cells > CELLS_LIMIT or done + cells > WORK_LIMIT:
        told = f"values has {many} entries, whose products in {kmax} drafts are too many to follow"
        raise ParameterError("values", f"{told}; allowed: fewer values, a smaller kmax, or a larger theta")
    return done + cells


def _merged(
    product: FloatArray, last: npt.NDArray[np.int64], mass: FloatArray
) -> tuple[FloatArray, npt.NDArray[np.int64], FloatArray]:
    """States with the same product, but for rounding, are one."""
    with np.errstate(divide="ignore"):
        keys = np.round(np.log(product), 11)
    if last.any():
        _, first, which = np.unique(np.stack([keys, last]), axis=1, return_index=True, return_inverse=True)
    else:  # the same on one axis is many times as fast
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    total = np.zeros((first.size, mass.shape[1]))
    np.add.at(total, which.ravel(), mass)
    return product[first], last[first], total


def _stopped(joint: FloatArray, steps: FloatArray) -> StoppedDraft:
    joint = np.maximum(joint, 0.0)
    drafted, accepted = joint.sum(axis=1), joint.sum(axis=0)
    mean = min(moments(drafted)[0], float(steps.size - 1))
    return StoppedDraft(joint, drafted, accepted, mean, moments(accepted)[0], min(float(np.trace(joint)), 1.0), steps)


def confidence_law(values: Sequence[float], weights: Sequence[float]) -> tuple[FloatArray, FloatArray]:
    """Values and their probabilities, checked."""
    confidence = _shares("values", values, None)
    law = as_numbers("weights", weights)
    if law.size != confidence.size:
        raise ParameterError("weights", f"weights has {law.size} entries; allowed: {confidence.size}, one per value")
    if not (law >= 0.0).all() or not 0.0 < law.max() < math.inf:
        raise ParameterError("weights", "weights are no probabilities; allowed: numbers ≥ 0, not all 0")
    law = law / law.max()  # first, as large ones may add up to more than a float holds
    return confidence, law / law.sum()


def _shares(key: str, values: Sequence[float], size: int | None) -> FloatArray:
    found = as_numbers(key, values)
    if size is not None and found.size != size:
        raise ParameterError(key, f"{key} has {found.size} entries; allowed: {size}, one per value")
    for i, value in enumerate(found):
        check_range(f"{key}[{i}]", float(value), 0, 1)
    return found


def _rows(transition: Sequence[Sequence[float]], size: int) -> FloatArray:
    rows = [_shares(f"transition[{i}]", row, size) for i, row in enumerate(transition)]
    if len(rows) != size:
        raise ParameterError("transition", f"transition has {len(rows)} rows; allowed: {size}, one per value")
    for i, row in enumerate(rows):
        if abs(float(row.sum()) - 1.0) > 1e-6:
            raise ParameterError(f"transition[{i}]", f"transition[{i}] adds up to {row.sum():g}; allowed: a sum of 1")
    return np.array([row / row.sum() for row in rows])
