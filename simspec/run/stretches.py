"""What do rounds cost whose price depends on where in the output they start?  Played one by one, priced by stretch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from simspec.kernels.tally import Tally
from simspec.kernels.words import LANES
from simspec.model import Cost, Drift, ParameterError, Process, Simulation
from simspec.model.policies import Policy
from simspec.model.serving import NORMAL, Serving
from simspec.run.engine import Job, join, players
from simspec.run.plans import steered_form_of, steering
from simspec.run.processors import default_threads
from simspec.stats.intervals import Ratio, ratio
from simspec.theory.stretch_costs import Stretches, check_stretches


class Priced(NamedTuple):
    """What was played by one policy, and tokens over cost by lane; a lane is one output."""

    tally: Tally
    speed: Ratio


def by_stretch(
    process: Process, policies: Sequence[Policy], prices: Stretches, longest: int, windows: int, seed: int,
    threads: int | None = None, serving: Serving = NORMAL,
) -> Iterator[Priced]:  # fmt: skip
    """Each policy over the same outputs, its rounds priced by the stretch in which they start.

    Parameters
    ----------
    process : Drift
        Outputs of N tokens.
    policies : sequence of Policy
        Each begins anew with every output.
    prices : sequence of (int, Cost)
        First position and prices of each stretch; changes of κ cost what the first one says.
    longest : int
        The longest draft of all policies, which says how many outputs make ``windows`` rounds.
    windows, seed : int
    threads : int, optional
        Changes no number.
    serving : Serving
        Under which conditions they choose, outputs one by one.

    Raises
    ------
    ParameterError
        The process has no positions, or the stretches do not ascend.

    Examples
    --------
    >>> from simspec.model.policies import Schedule
    >>> flat = Drift(alpha_start=1.0, alpha_end=1.0, tokens=20)
    >>> stretches = [(0, Cost(c_d=0.1)), (10, Cost(c_d=0.2))]
    >>> (own,) = by_stretch(flat, [Schedule(kappas=(4,))], stretches, 4, 1000, 1)
    >>> round(float(own.speed.value[0]), 4)  # 20 tokens in four rounds, two at 1.4 and two at 1.8
    3.125
    """
    check_stretches(prices)
    if not isinstance(process, Drift):
        raise ParameterError("process", f"{process} has no positions; allowed with prices by stretch: type = drift")
    starts = np.array([start for start, _ in prices])
    table = np.array([_prices(cost, longest) for _, cost in prices])
    with ThreadPoolExecutor(threads or default_threads()) as pool:
        for policy in policies:
            job = Job(Simulation(process, policy=policy, serving=serving.under(policy)), (longest,), windows, seed)
            plan = job.layout
            outputs = plan.lanes * plan.length
            chunks = range(-(-outputs // LANES))
            parts = list(pool.map(lambda chunk, own=job: _chunk(own, chunk, starts, table), chunks))
            tally = replace(join([part for part, _ in parts]), kappa=longest)
            changes = prices[0][1].c_switch * tally.flips + prices[0][1].c_wake * tally.wakes
            spent = np.concatenate([own for _, own in parts]) + changes
            yield Priced(tally, ratio(tally.column("tokens")[None, :], spent[None, :]))


def _prices(cost: Cost, longest: int) -> list[list[float]]:
    lengths = range(longest + 1)
    return [[cost.of_round(kappa, accepted < kappa) for accepted in lengths] for kappa in lengths]


def _chunk(job: Job, chunk: int, starts: np.ndarray, table: np.ndarray) -> tuple[Tally, np.ndarray]:
    """One output per lane: its tally, and what its rounds cost."""
    process, policy = job.process, job.simulation.policy
    assert isinstance(process, Drift)
    rows = steered_form_of(process, policy.longest)
    steer, first = steering(process, policy, job.simulation.serving)
    where = (rows, job.keys, chunk, LANES)
    position, drafted, accepted = players().steered_rounds(*where, process.n_tokens, first, steer)
    stretch = np.searchsorted(starts, position, side="right") - 1
    spent = np.where(drafted >= 0, table[stretch, np.maximum(drafted, 0), accepted], 0.0)
    return players().play(*where, 1, first, steer), spent.sum(axis=0)
