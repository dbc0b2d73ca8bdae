"""Which κ does a controller choose where, and how soon does it follow a change?  Mean κ by output position."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simspec.kernels.words import LANES
from simspec.model import Cost, Drift, ParameterError, Simulation
from simspec.model.policies import Policy
from simspec.run.engine import Job, form_of, players
from simspec.run.plans import steering
from simspec.stats.intervals import student
from simspec.text import table

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trajectory:
    """κ along one output sequence, a mean over many.

    Attributes
    ----------
    policy : Policy
    starts : array of int
        First position of each stretch of the output.
    mean, half : array
        Mean κ of the rounds that start in a stretch, and half the width of its interval; drafts cut at the end of the
        sequence count as what was drafted.
    spread : array
        Standard deviation of κ over all rounds that start there.
    """

    policy: Policy
    starts: npt.NDArray[np.int64]
    mean: Floats
    half: Floats
    spread: Floats

    def recovery(self, change: int, within: float = 0.5) -> int | None:
        """Tokens after a change at position ``change`` until the mean κ stays near its last level.

        That level is the mean over the last quarter of what follows, cut drafts left out; None if the stretches do not
        show it, or it is reached in none.
        """
        after = np.flatnonzero(self.starts >= change)[:-1]
        if len(after) < 4:
            return None
        level = float(self.mean[after[-(len(after) // 4) :]].mean())
        far = np.flatnonzero(np.abs(self.mean[after] - level) > within)
        first = int(far[-1]) + 1 if len(far) else 0
        return None if first == len(after) else int(self.starts[after[first]] - change)

    def __repr__(self) -> str:
        rows = [
            [f"{start:,}", f"{mean:.2f} ± {half:.2f}", f"{spread:.2f}"]
            for start, mean, half, spread in zip(self.starts.tolist(), self.mean, self.half, self.spread, strict=True)
        ]
        return "\n".join([str(self.policy), "", table(["from token", "mean κ", "sd"], rows)])


def trajectory(
    process: Drift, policy: Policy, cost: Cost, stretch: int = 32, chunks: int = 16, seed: int = 1, level: float = 0.95
) -> Trajectory:
    """Mean κ by output position under a policy.

    Parameters
    ----------
    process : Drift
        Rates by position, e.g. a table with a jump.
    policy : Policy
        Who chooses κ; told ``cost`` if it reads prices.
    cost : Cost
        Prices that it may read.
    stretch : int
        Tokens of a stretch.
    chunks : int
        Of 64 output sequences each; one chunk is the unit of the error.
    seed : int
        As everywhere.
    level : float
        Confidence level of the intervals.

    Returns
    -------
    Trajectory

    Raises
    ------
    ParameterError
        The process has no positions, or a number is out of range.

    Examples
    --------
    A fall from .9 to .5 halfway: a short memory follows at once, a long one late.

    >>> from simspec.model.policies import Rolling
    >>> jump = Drift(shape="table", alphas=(0.9,) * 512 + (0.5,) * 512)
    >>> quick, slow = (Rolling(smoothing=smoothing) for smoothing in (0.85, 0.99))
    >>> found = [trajectory(jump, own, Cost(c_d=0.1)).recovery(512) for own in (quick, slow)]
    >>> found[0] < 64 < found[1]
    True
    """
    if not isinstance(process, Drift):
        raise ParameterError("process", f"{process} has no rates by position; allowed: type = drift")
    for key, value, least in (("stretch", stretch, 1), ("chunks", chunks, 2)):
        if value < least:
            raise ParameterError(key, f"{key} = {value} is out of range; allowed: {key} ≥ {least}")
    policy = policy.told((cost,))
    simulation = Simulation(process, policy=policy)
    simulation.check((policy.longest,), [cost])
    job = Job(simulation, (policy.longest,), 1, seed)
    rows, (steer, first) = form_of(process, policy.longest), steering(process, policy)
    bins = -(-process.n_tokens // stretch)
    rounds, drafts, squares = (np.zeros((chunks, bins)) for _ in range(3))
    for chunk in range(chunks):
        position, drafted, _ = players().steered_rounds(rows, job.keys, chunk, LANES, process.n_tokens, first, steer)
        played = drafted >= 0
        place, own = position[played] // stretch, drafted[played].astype(float)
        for total, weight in ((rounds, np.ones_like(own)), (drafts, own), (squares, own**2)):
            total[chunk] = np.bincount(place, weight, bins)
    mean = drafts.sum(axis=0) / rounds.sum(axis=0)
    error = np.sqrt(((drafts - mean * rounds) ** 2).sum(axis=0) * chunks / (chunks - 1)) / rounds.sum(axis=0)
    spread = np.sqrt(np.maximum(squares.sum(axis=0) / rounds.sum(axis=0) - mean**2, 0.0))
    return Trajectory(policy, np.arange(bins) * stretch, mean, student(level, chunks) * error, spread)
