"""How does the loss of a controller grow with time?  Regret at marks along long lanes, priced after they were played.

Regret after r rounds is what they cost beyond the tokens they made at the speed of the best fixed κ, in plain target
steps: cost − tokens/S.  It is what a user waits longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simspec import theory
from simspec.model import Cost, ParameterError, Process, Simulation
from simspec.model.policies import Policy
from simspec.run.engine import Job, players, steered_form_of
from simspec.run.plans import steering
from simspec.stats.intervals import student
from simspec.text import table

Floats = npt.NDArray[np.float64]
ROUNDS_LIMIT = 2**30
"""Counts of a lane are 32 bits wide."""


@dataclass(frozen=True, eq=False)
class RegretCurve:
    """Regret of one controller.

    Attributes
    ----------
    policy : Policy
    rounds : array of int
        The marks.
    mean, half : array
        Mean over lanes, and half the width of its interval.
    best_fixed, kappa_star : float, int
        The speed it is held against, and its κ.
    by_lane : array, shape (marks, lanes)
        Regret of every lane: lanes are independent, so they are what errors come from.
    level : float
        Confidence level of the bands.
    """

    policy: Policy
    rounds: npt.NDArray[np.int64]
    mean: Floats
    half: Floats
    best_fixed: float
    kappa_star: int
    by_lane: Floats
    level: float = 0.95

    @property
    def slope(self) -> float:
        """Growth over the last decade of rounds: log₁₀ of the ratio of its ends; 1 is linear, NaN if not positive.

        The decade begins at the mark nearest to a tenth of the last one.
        """
        first = self._decade_ago
        low, high = self.mean[first], self.mean[-1]
        if first == len(self.rounds) - 1 or min(low, high) <= 0.0:
            return float("nan")
        return float(np.log(high / low) / np.log(self.rounds[-1] / self.rounds[first]))

    def slope_half(self, level: float | None = None) -> float:
        """Half the width of the interval of `slope`, from lanes at both marks; NaN where there is no slope.

        A lane moves the logarithm of a mean by its share of it; ``level`` is that of the bands if left out.
        """
        if np.isnan(self.slope):
            return float("nan")
        first, lanes = self._decade_ago, self.by_lane.shape[1]
        moved = self.by_lane[-1] / self.mean[-1] - self.by_lane[first] / self.mean[first]
        error = float(moved.std(ddof=1)) / np.sqrt(lanes) / np.log(self.rounds[-1] / self.rounds[first])
        return float(student(self.level if level is None else level, lanes) * error)

    @property
    def _decade_ago(self) -> int:
        """The mark nearest to a tenth of the last one."""
        return int(np.argmin(np.abs(np.log(self.rounds * 10.0 / self.rounds[-1]))))

    def __repr__(self) -> str:
        rows = [
            [f"{n:,}", f"{mean:.2f} ± {half:.2f}", f"{1000 * mean / n:.3f}"]
            for n, mean, half in zip(self.rounds.tolist(), self.mean, self.half, strict=True)
        ]
        slope = f"slope {self.slope:.3f} ± {self.slope_half():.3f}"
        head = f"{self.policy}: regret against κ = {self.kappa_star} (S = {self.best_fixed:.4f}), {slope}"
        return "\n".join([head, "", table(["rounds", "plain target steps", "per 1,000 rounds"], rows)])


def regret(
    process: Process, policy: Policy, cost: Cost, marks: Sequence[int], seed: int = 1, chunks: int = 1,
    level: float = 0.95,
) -> RegretCurve:  # fmt: skip
    """Regret of a controller against the best fixed κ, over time.

    Where windows are independent a round counts by what its κ loses on average: the choices are judged, not their luck.

    Parameters
    ----------
    process : Process
        One whose lanes go on for ever: independent windows, or a carried chain.
    policy : Policy
        Who chooses κ; told ``cost`` if it reads prices.
    cost : Cost
        What rounds pay.
    marks : sequence of int
        Rounds at which regret is taken, ascending, the last at most 2³⁰.
    seed : int
        As everywhere; all policies meet the same words.
    chunks : int
        Of 64 lanes each.
    level : float
        Confidence level of the band.

    Returns
    -------
    RegretCurve

    Raises
    ------
    ParameterError
        The process has requests, or the marks do not ascend.

    Examples
    --------
    >>> from simspec.model import Iid
    >>> from simspec.model.policies import Rolling, Ucb
    >>> marks, cost = [100, 1000, 10_000], Cost(c_d=0.1)
    >>> curves = [regret(Iid(alpha=0.7), own, cost, marks) for own in (Rolling(), Ucb(first=1))]
    >>> abs(curves[0].slope - 1) < 0.1, curves[1].slope < 0.9
    (True, True)
    """
    at = np.asarray(marks, np.int64)
    if not len(at) or at[0] < 1 or (np.diff(at) < 1).any() or at[-1] > ROUNDS_LIMIT:
        raise ParameterError("marks", f"marks = {list(marks)[:8]} do not ascend; allowed: 1 ≤ … ≤ {ROUNDS_LIMIT}")
    if process.unit == "generation":
        raise ParameterError("process", f"{process} has requests; allowed: a process whose rounds go on for ever")
    policy = policy.told((cost,))
    simulation = Simulation(process, policy=policy)
    simulation.check((policy.longest,), [cost])
    job = Job(simulation, (policy.longest,), 1, seed)
    rows, (steer, first) = steered_form_of(process, policy.longest), steering(process, policy)
    best = theory.optimum(process, cost, policy.longest)
    loss = _losses(process, cost, policy.longest, best.best_speedup)
    lanes = []
    for chunk in range(chunks):
        seen = players().counts_at(rows, job.keys, chunk, at, first, steer)
        lanes.append(np.einsum("mlka,ka->ml", seen.astype(np.float64), loss))
    own = np.concatenate(lanes, axis=1)
    half = student(level, own.shape[1]) * own.std(axis=1, ddof=1) / np.sqrt(own.shape[1])
    return RegretCurve(policy, at, own.mean(axis=1), half, best.best_speedup, best.kappa_star, own, level)


def _losses(process: Process, cost: Cost, longest: int, speed: float) -> Floats:
    """``[κ, A]``: what a round loses; its expectation at κ where windows are independent."""
    lengths = range(longest + 1)
    price = np.array([[cost.of_round(kappa, accepted < kappa) for accepted in lengths] for kappa in lengths])
    loss = np.asarray(price - (np.arange(longest + 1) + 1.0) / speed)
    if process.unit != "window":
        return loss
    laws = [theory.window(process, kappa).pmf_accepted for kappa in lengths]
    means = [float(law @ own[: len(law)]) for law, own in zip(laws, loss, strict=True)]
    return np.repeat(np.array(means)[:, None], longest + 1, axis=1)


def crossover(one: RegretCurve, other: RegretCurve) -> int | None:
    """The first mark from which on ``one`` has the smaller regret; None if there is none."""
    behind = np.flatnonzero(one.mean >= other.mean)
    last = int(behind[-1]) + 1 if len(behind) else 0
    return int(one.rounds[last]) if last < len(one.rounds) else None
