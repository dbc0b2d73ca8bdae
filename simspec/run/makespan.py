"""How long does a batch wait for its last request, if all begin together and nobody is replaced?

The other way to serve a batch, each finished request being replaced at once, is `simspec.model.Serving`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simspec import theory
from simspec.kernels.forms import Policy as PolicyForm
from simspec.kernels.words import LANES
from simspec.model import KAPPA_LIMIT, BetaMixture, Cost, DiscreteMixture, Drift, ParameterError, Process, Simulation
from simspec.model.policies import Fixed, Policy
from simspec.run.engine import Job, form_of, players
from simspec.run.plans import steering
from simspec.run.regret import check_asked
from simspec.stats.intervals import ratio, student
from simspec.text import table

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Makespan:
    """The straggler factor of static batches: rounds of the slowest request over rounds of a request on average.

    Attributes
    ----------
    policy : Policy
    kappa : int
        The fixed κ, or the longest that the policy may choose.
    batches : array of int
        Requests that begin together.
    factor, half : array
        Mean of the slowest over the mean of all, and half the width of its interval.
    exact : array
        The same by the exact route; NaN where there is none.
    """

    policy: Policy
    kappa: int
    batches: npt.NDArray[np.int64]
    factor: Floats
    half: Floats
    exact: Floats

    def __repr__(self) -> str:
        who = f"κ = {self.kappa}" if isinstance(self.policy, Fixed) else str(self.policy)
        rows = [
            [f"{batch}", f"{factor:.4f} ± {half:.4f}", f"{exact:.4f}" if np.isfinite(exact) else "–", f"{wait:.1%}"]
            for batch, factor, half, exact, wait in zip(
                self.batches, self.factor, self.half, self.exact, 1.0 - 1.0 / self.factor, strict=True
            )
        ]
        head = f"{who}: rounds of the slowest request over those of a request on average"
        return "\n".join([head, "", table(["batch", "factor", "exact", "places idle"], rows)])


def makespan(
    process: Process, cost: Cost, policy: Policy | None = None, kappa: int = 4,
    batches: Sequence[int] = (1, 2, 4, 8, 16), chunks: int = 64, seed: int = 1, level: float = 0.95,
) -> Makespan:  # fmt: skip
    """Rounds of a batch that lasts as long as its slowest request, over the rounds of a request on average.

    Parameters
    ----------
    process : Drift, DiscreteMixture or BetaMixture
        Requests of a fixed length.
    cost : Cost
        Told to a policy that reads prices; rounds are counted, not priced.
    policy : Policy, optional
        Who chooses κ of each request by itself; default: the same ``kappa`` in every round.
    kappa : int
        Draft length without a policy.
    batches : sequence of int
        Requests that begin together, each a divisor of 64.
    chunks : int
        64 requests each; a batch is the unit of the error.
    seed : int
        As everywhere: other policies meet the same words.
    level : float
        Confidence level of the intervals.

    Returns
    -------
    Makespan

    Raises
    ------
    ParameterError
        The process has no requests of fixed length, or a number is out of range.

    Examples
    --------
    >>> flat = Drift(alpha_start=0.7, alpha_end=0.7, tokens=128)
    >>> found = makespan(flat, Cost(c_d=0.1), batches=(1, 8))
    >>> found.factor.round(1).tolist(), found.exact.round(4).tolist()
    ([1.0, 1.1], [1.0, 1.1202])
    """
    tokens = _tokens(process)
    _check(batches, chunks, kappa)
    check_asked(policy, seed, level)
    chosen = Fixed() if policy is None else policy.told((cost,))
    simulation, longest = Simulation(process, policy=chosen), kappa if policy is None else chosen.longest
    simulation.check((longest,), [cost])
    process.check_kappa(longest)
    first, steer = kappa, PolicyForm(lowest=kappa, highest=kappa)
    if policy is not None:
        steer, first = steering(process, chosen)
    job, rows = Job(simulation, (longest,), 1, seed), form_of(process, longest)
    rounds = [_rounds(rows, job.keys, chunk, tokens, first, steer) for chunk in range(chunks)]
    spent = np.concatenate(rounds).astype(np.float64)
    factor, half = np.array([_factor(spent, batch, level) for batch in batches]).T
    exact = np.full(len(batches), np.nan)
    if policy is None and isinstance(process, (Drift, DiscreteMixture)):
        exact = theory.static_batch(process, kappa, batches).factor
    return Makespan(chosen, longest, np.array(batches, np.int64), factor, half, exact)


def _check(batches: Sequence[int], chunks: int, kappa: int) -> None:
    allowed = "allowed: 1, 2, 4, 8, 16, 32 or 64, so that 64 lanes are whole batches"
    if not len(batches):
        raise ParameterError("batches", f"batches is empty; {allowed}")
    for batch in batches:
        if isinstance(batch, bool) or not isinstance(batch, (int, np.integer)) or batch < 1 or LANES % batch:
            raise ParameterError("batches", f"batches has {batch!r}; {allowed}")
    for key, value, least, most in (("chunks", chunks, 1, math.inf), ("kappa", kappa, 0, KAPPA_LIMIT)):
        if not least <= value <= most:
            ends = f"{least} ≤ {key}" + (f" ≤ {most}" if most < math.inf else "")
            raise ParameterError(key, f"{key} = {value} is out of range; allowed: {ends}")


def _tokens(process: Process) -> int:
    """Length of every request."""
    if isinstance(process, Drift):
        return process.n_tokens
    fixed = isinstance(process, (DiscreteMixture, BetaMixture)) and not process.geometric and process.request_tokens
    if not fixed:
        told = f"{process} has no requests of fixed length"
        raise ParameterError("process", f"{told}; allowed: drift, or a mixture with request_tokens")
    return int(fixed)


def _rounds(rows: object, keys: npt.NDArray[np.uint64], chunk: int, most: int, first: int, steer: PolicyForm) -> Floats:
    """Rounds of the 64 requests of a chunk."""
    _, drafted, _ = players().steered_rounds(rows, keys, chunk, LANES, most, first, steer)
    return np.asarray((drafted >= 0).sum(axis=0))


def _factor(spent: Floats, batch: int, level: float) -> tuple[float, float]:
    """Σ of the slowest over Σ of the means, batch by batch, and half its interval."""
    own = spent.reshape(-1, batch)
    found = ratio(own.max(axis=1)[None], own.mean(axis=1)[None])
    error = float(found.error[0])
    return float(found.value[0]), student(level, len(own)) * error if error > 0.0 else 0.0
