"""Which κ does a controller choose where, and how soon does it follow a change?  Mean κ by output position."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simspec.kernels.words import LANES
from simspec.model import Cost, Drift, ParameterError, Process, Simulation
from simspec.model.policies import Policy
from simspec.model.serving import NORMAL, Serving
from simspec.run.engine import Job, form_of, players
from simspec.run.plans import steering
from simspec.run.regret import check_alone, check_asked
from simspec.stats.intervals import quantiles, student
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
    median_cost, tail_cost : array
        Half and 99% of the rounds that start there cost at most so much per token that they emit, changes of κ left
        out.
    """

    policy: Policy
    starts: npt.NDArray[np.int64]
    mean: Floats
    half: Floats
    spread: Floats
    median_cost: Floats
    tail_cost: Floats

    def recovery(self, change: int, within: float = 0.5) -> int | None:
        """Tokens after a change at position ``change`` until the mean κ stays near its last level.

        That level is the mean over the last quarter of what follows, cut drafts left out; None if the stretches do not
        show it, or it is reached in none.
        """
        return self._reached(change, within, 0.0)

    def recovery_between(self, change: int, within: float = 0.5) -> tuple[int | None, int | None]:
        """Interval of `recovery`: when the mean κ may be near its last level, and when it surely is.

        From the bands of the means, each at its own level; that of the last level is left out.
        """
        return self._reached(change, within, -1.0), self._reached(change, within, 1.0)

    def says(self, change: int, within: float = 0.5) -> str:
        """The time to recover, in words.

        Examples
        --------
        >>> from simspec.model.policies import Rolling
        >>> jump = Drift(shape="table", alphas=(0.9,) * 512 + (0.5,) * 512)
        >>> print(trajectory(jump, Rolling(), Cost(c_d=0.1)).says(512))
        rolling: 32 tokens after the change at token 512 the mean κ is within 0.5 of its new level (32 to 32)
        """
        found, (low, high) = self.recovery(change, within), self.recovery_between(change, within)
        near = f"the mean κ is within {within:g} of its new level"
        if found is None:
            return f"{self.policy}: after the change at token {change:,} {near} in no stretch but the last ones"
        ends = " to ".join("the end" if end is None else f"{end:,}" for end in (low, high))
        return f"{self.policy}: {found:,} tokens after the change at token {change:,} {near} ({ends})"

    def _reached(self, change: int, within: float, bands: float) -> int | None:
        """Tokens until the mean κ, moved away from its last level by so many bands, stays near it."""
        after = np.flatnonzero(self.starts >= change)[:-1]
        if len(after) < 4:
            return None
        level = float(self.mean[after[-(len(after) // 4) :]].mean())
        far = np.flatnonzero(np.abs(self.mean[after] - level) + bands * self.half[after] > within)
        first = int(far[-1]) + 1 if len(far) else 0
        return None if first == len(after) else int(self.starts[after[first]] - change)

    def __repr__(self) -> str:
        rows = [
            [f"{start:,}", f"{self.mean[i]:.2f} ± {self.half[i]:.2f}", f"{self.spread[i]:.2f}",
             f"{self.median_cost[i]:.3f}", f"{self.tail_cost[i]:.3f}"]
            for i, start in enumerate(self.starts.tolist())
        ]  # fmt: skip
        columns = ["from token", "mean κ", "sd", "cost per token: half", "99%"]
        return "\n".join([str(self.policy), "", table(columns, rows)])


def trajectory(
    process: Process,
    policy: Policy,
    cost: Cost,
    stretch: int = 32,
    chunks: int = 16,
    seed: int = 1,
    level: float = 0.95,
    serving: Serving = NORMAL,
) -> Trajectory:
    """Mean κ by output position under a policy, and what rounds cost per token there.

    Parameters
    ----------
    process : Drift
        Rates by position, e.g. a table with a jump.
    policy : Policy
        Who chooses κ; told ``cost`` if it reads prices.
    cost : Cost
        Prices that it may read, and that rounds are priced by.
    stretch : int
        Tokens of a stretch.
    chunks : int
        Of 64 output sequences each; one chunk is the unit of the error.
    seed : int
        As everywhere.
    level : float
        Confidence level of the intervals.
    serving : Serving
        Under which conditions the policy runs; a batch of one.

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
    check_asked(policy, seed, level)
    check_alone(serving)
    policy = policy.told((cost,))
    simulation = Simulation(process, policy=policy, serving=serving)
    simulation.check((policy.longest,), [cost])
    job = Job(simulation, (policy.longest,), 1, seed)
    rows, (steer, first) = form_of(process, policy.longest), steering(process, policy, serving)
    bins, width = -(-process.n_tokens // stretch), policy.longest + 1
    seen = np.zeros((chunks, bins, width, width))
    for chunk in range(chunks):
        played = players().steered_rounds(rows, job.keys, chunk, LANES, process.n_tokens, first, steer)
        position, drafted, accepted = (own[played[1] >= 0].astype(np.int64) for own in played)
        cell = (position // stretch * width + drafted) * width + accepted
        seen[chunk] = np.bincount(cell, minlength=bins * width**2).reshape(bins, width, width)
    rounds, kappas = seen.sum(axis=(2, 3)), np.arange(width)
    drafts, squares = (seen.sum(axis=3) @ kappas**power for power in (1, 2))
    mean = drafts.sum(axis=0) / rounds.sum(axis=0)
    error = np.sqrt(((drafts - mean * rounds) ** 2).sum(axis=0) * chunks / (chunks - 1)) / rounds.sum(axis=0)
    spread = np.sqrt(np.maximum(squares.sum(axis=0) / rounds.sum(axis=0) - mean**2, 0.0))
    half = student(level, chunks) * error
    return Trajectory(policy, np.arange(bins) * stretch, mean, half, spread, *_token_costs(seen.sum(axis=0), cost))


def _token_costs(seen: Floats, cost: Cost) -> list[Floats]:
    """Cost per token of half, and of 99%, of the rounds (stretches, drafted, accepted)."""
    lengths = range(seen.shape[1])
    price = [[cost.of_round(kappa, accepted < kappa) / (accepted + 1) for accepted in lengths] for kappa in lengths]
    return quantiles(np.ravel(price), seen.reshape(len(seen), -1).astype(np.int64), (0.5, 0.99))
