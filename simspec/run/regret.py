"""How does the loss of a controller grow with time?  Regret at marks along long lanes, priced after they were played.

Regret is what rounds cost beyond the tokens they made at the speed of a comparator, in plain target steps:
cost − tokens/S.  It is what a user waits longer.  Marks are rounds, or whole requests where output has an end: there
every controller makes the same tokens, and regret is the difference of what they cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simspec import theory
from simspec.kernels.words import LANES
from simspec.model import Cost, ParameterError, Process, Simulation, Trace
from simspec.model.policies import Policy, Schedule
from simspec.model.serving import NORMAL, Serving
from simspec.run.comparators import FIXED, Comparator, comparators
from simspec.run.engine import Job, players
from simspec.run.plans import steered_form_of, steering
from simspec.stats.controlled import controlled
from simspec.stats.intervals import ratio, student
from simspec.text import table

Floats = npt.NDArray[np.float64]
ROUNDS_LIMIT = 2**30
"""Counts of a lane are 32 bits wide."""


@dataclass(frozen=True, eq=False)
class Against:
    """Regret against one comparator.

    Attributes
    ----------
    comparator : Comparator
    mean, half : array (marks,)
        Mean over lanes at the marks, and half the width of its interval.
    by_lane : array (marks, lanes)
        Regret of every lane: lanes are independent, so they are what errors come from.
    """

    comparator: Comparator
    mean: Floats
    half: Floats
    by_lane: Floats


@dataclass(frozen=True, eq=False)
class RegretCurve:
    """Regret of one controller.

    Attributes
    ----------
    policy : Policy
    unit : str
        What marks count: ``"rounds"`` or ``"requests"``.
    marks : array of int
    rounds, tokens : array
        Rounds and tokens of a lane at the marks; means.
    against : dict of str to Against
        ``"fixed"``: the best fixed κ; ``"schedule"``: the best plan by output position; ``"oracle"``: who knows the
        rate of each request or window; ``"foresight"``: who knows what the coming round accepts.  The latter three
        where they have a meaning; none drafts longer than the policy may.
    level : float
        Confidence level of the bands.
    """

    policy: Policy
    unit: str
    marks: npt.NDArray[np.int64]
    rounds: Floats
    tokens: Floats
    against: dict[str, Against]
    level: float = 0.95

    @property
    def mean(self) -> Floats:
        """Regret against the best fixed κ."""
        return self.against[FIXED].mean

    @property
    def half(self) -> Floats:
        """Half the width of its interval."""
        return self.against[FIXED].half

    @property
    def best_fixed(self) -> float:
        """Speed of the best fixed κ."""
        return self.against[FIXED].comparator.speedup

    @property
    def kappa_star(self) -> int:
        """The best fixed κ."""
        return self.against[FIXED].comparator.kappa

    @property
    def slope(self) -> float:
        """Growth over the last decade of marks: log₁₀ of the ratio of its ends; 1 is linear, NaN if not positive.

        The decade begins at the mark nearest to a tenth of the last one.
        """
        first = self._decade_ago
        low, high = self.mean[first], self.mean[-1]
        if first == len(self.marks) - 1 or min(low, high) <= 0.0:
            return float("nan")
        return float(np.log(high / low) / np.log(self.marks[-1] / self.marks[first]))

    def slope_half(self, level: float | None = None) -> float:
        """Half the width of the interval of `slope`, from lanes at both marks; NaN where there is no slope.

        A lane moves the logarithm of a mean by its share of it; ``level`` is that of the bands if left out.
        """
        if np.isnan(self.slope):
            return float("nan")
        first, by_lane = self._decade_ago, self.against[FIXED].by_lane
        moved = by_lane[-1] / self.mean[-1] - by_lane[first] / self.mean[first]
        error = float(moved.std(ddof=1)) / np.sqrt(moved.size) / np.log(self.marks[-1] / self.marks[first])
        return float(student(self.level if level is None else level, moved.size) * error)

    @property
    def _decade_ago(self) -> int:
        """The mark nearest to a tenth of the last one."""
        return int(np.argmin(np.abs(np.log(self.marks * 10.0 / self.marks[-1]))))

    def records(self) -> list[dict[str, object]]:
        """One plain dictionary per mark and comparator."""
        return [
            {"policy": str(self.policy), "unit": self.unit, "mark": int(self.marks[i]), "rounds": float(self.rounds[i]),
             "tokens": float(self.tokens[i]), "against": name, "comparator_speedup": own.comparator.speedup,
             "regret": float(own.mean[i]), "half": float(own.half[i])}
            for name, own in self.against.items() for i in range(len(self.marks))
        ]  # fmt: skip

    def __repr__(self) -> str:
        names = list(self.against)
        rows = [
            [f"{mark:,}", f"{self.tokens[i]:,.0f}",
             *(f"{own.mean[i]:.2f} ± {own.half[i]:.2f}" for own in self.against.values()),
             f"{1000 * self.mean[i] / self.tokens[i]:.2f}"]
            for i, mark in enumerate(self.marks.tolist())
        ]  # fmt: skip
        slope = f", slope {self.slope:.3f} ± {self.slope_half():.3f}" if self.slope == self.slope else ""
        head = f"{self.policy}: regret in plain target steps{slope}"
        told = [
            f"{name}: {own.comparator.says}, S = {own.comparator.speedup:.4f}" for name, own in self.against.items()
        ]
        columns = [self.unit, "tokens", *names, f"{names[0]} per 1,000 tokens"]
        return "\n".join([head, "", table(columns, rows), "", *told])


def regret(
    process: Process, policy: Policy, cost: Cost, marks: Sequence[int], seed: int = 1, chunks: int = 1,
    level: float = 0.95, serving: Serving = NORMAL,
) -> RegretCurve:  # fmt: skip
    """Regret of a controller over time, against the best fixed κ and against those who know more.

    Where windows are independent a round counts by what its κ loses on average: the choices are judged, not their luck.
    Elsewhere the same lanes are played with the best fixed κ too, and its luck is taken off.

    Parameters
    ----------
    process : Process
        Any that a policy can play.
    policy : Policy
        Who chooses κ; told ``cost`` if it reads prices.
    cost : Cost
        What rounds pay.
    marks : sequence of int
        Rounds, or requests where output has an end (of a dense trace: times that all was replayed), at which regret is
        taken, ascending, the last at most 2³⁰.
    seed : int
        As everywhere; all policies meet the same words.
    chunks : int
        Of 64 lanes each; of a dense trace all requests are played, one lane each.
    level : float
        Confidence level of the bands.
    serving : Serving
        Under which conditions the controller chooses, requests one by one.

    Returns
    -------
    RegretCurve

    Raises
    ------
    ParameterError
        The marks do not ascend, a number is out of range, no policy can play the process, or requests are served in
        batches.

    Examples
    --------
    >>> from simspec.model import DiscreteMixture, Iid
    >>> from simspec.model.policies import Rolling, Ucb
    >>> marks, cost = [100, 1000, 10_000], Cost(c_d=0.1)
    >>> curves = [regret(Iid(alpha=0.7), own, cost, marks) for own in (Rolling(), Ucb(first=1))]
    >>> abs(curves[0].slope - 1) < 0.1, curves[1].slope < 0.9
    (True, True)

    Half of the requests are code and half are prose: a long memory beats every fixed κ, and loses to who knows which.

    >>> mix = DiscreteMixture(alphas=(0.91, 0.49), weights=(0.5, 0.5), weights_of="requests", request_tokens=256)
    >>> found = regret(mix, Rolling(smoothing=0.95), cost, [1, 10, 100])
    >>> bool(found.against["fixed"].mean[-1] < 0.0 < found.against["oracle"].mean[-1])
    True
    """
    at = _checked(marks)
    check_asked(policy, seed, level)
    if chunks < 1:
        raise ParameterError("chunks", f"chunks = {chunks} is out of range; allowed: chunks ≥ 1")
    policy = policy.told((cost,))
    check_alone(serving)
    Simulation(process, policy=policy, serving=serving).check((policy.longest,), [cost])
    held = comparators(process, cost.without_changes(), policy.longest)
    own = _played(process, policy, cost, at, seed, chunks, serving)
    still = _played(process, Schedule(kappas=(held[FIXED].kappa,)), cost, at, seed, chunks)
    ones = np.ones_like(own.cost)
    control = ratio(still.loss(held[FIXED].speedup), ones)
    quantile = student(level, ones.shape[1] - 1)
    against = {}
    for name, other in held.items():
        found = controlled(ratio(own.loss(other.speedup), ones), control, 0.0)
        against[name] = Against(other, found.value, quantile * found.error, found.by_unit)
    unit = "requests" if process.unit == "generation" else "rounds"
    return RegretCurve(policy, unit, at, own.rounds.mean(axis=1), own.tokens.mean(axis=1), against, level)


def _checked(marks: Sequence[int]) -> npt.NDArray[np.int64]:
    """The marks, as whole numbers that ascend."""
    try:
        at = np.asarray(marks, float)
    except (TypeError, ValueError):
        at = np.array(np.nan)
    if at.ndim != 1 or not at.size or not (at == np.floor(at)).all():
        raise ParameterError("marks", f"marks = {marks!r:.60} is no list of whole numbers; allowed: [100, 1000]")
    if at[0] < 1 or (np.diff(at) < 1).any() or at[-1] > ROUNDS_LIMIT:
        told = f"marks = {list(marks)[:8]} do not ascend from 1"
        raise ParameterError("marks", f"{told}; allowed: 1 ≤ each ≤ {ROUNDS_LIMIT}, each above the last")
    return at.astype(np.int64)


@dataclass(frozen=True)
class _Played:
    """Rounds, tokens and cost so far, (marks, lanes) each."""

    rounds: Floats
    tokens: Floats
    cost: Floats

    def loss(self, speed: float) -> Floats:
        return self.cost - self.tokens / speed


def check_asked(policy: Policy | None, seed: int, level: float) -> None:
    """Raise `ParameterError` for a policy that never changes κ, or a number out of range."""
    if policy is not None and not policy.adapts:
        raise ParameterError(
            "policy", f'policy {policy.type} names no κ; allowed: {{"type": "schedule", "kappas": [4]}}'
        )
    if not 0 <= seed < 2**64 - 1:
        raise ParameterError("seed", f"seed = {seed} is out of range; allowed: 0 ≤ seed < 2⁶⁴ − 1")
    if not 0.0 < level < 1.0:
        raise ParameterError("level", f"level = {level:g} is out of range; allowed: 0 < level < 1")


def check_alone(serving: Serving) -> None:
    """Raise `ParameterError` if requests are served together: a step of a batch has another price."""
    if serving.batch > 1:
        told = f"batch = {serving.batch} is not priced here"
        raise ParameterError("batch", f"{told}; allowed: 1 (batches: [serving] in a scenario)").under("serving")


def _played(
    process: Process, policy: Policy, cost: Cost, at: npt.NDArray[np.int64], seed: int, chunks: int,
    serving: Serving = NORMAL,
) -> _Played:  # fmt: skip
    """All lanes under one policy, priced."""
    job = Job(Simulation(process, policy=policy), (policy.longest,), 1, seed)
    rows, (steer, first) = steered_form_of(process, policy.longest), steering(process, policy, serving)
    tokens, price = _of_rounds(process, cost, policy.longest)
    lanes = [LANES] * chunks
    if isinstance(process, Trace):
        lanes = [job.layout.lanes_of(chunk) for chunk in range(job.layout.chunks)]
    rounds, made, spent = [], [], []
    for chunk, many in enumerate(lanes):
        seen = players().counts_at(rows, job.keys, chunk, at, first, steer, many)
        counts = seen.counts.astype(np.float64)
        changes = cost.c_switch * seen.flips + cost.c_wake * seen.wakes
        rounds.append(counts.sum(axis=(2, 3)))
        made.append(np.einsum("mlka,ka->ml", counts, tokens) - seen.discarded)
        spent.append(np.einsum("mlka,ka->ml", counts, price) + changes)
    return _Played(*(np.concatenate(own, axis=1) for own in (rounds, made, spent)))


def _of_rounds(process: Process, cost: Cost, longest: int) -> tuple[Floats, Floats]:
    """``[κ, A]``: tokens and cost of a round; their expectations at κ where windows are independent."""
    lengths = range(longest + 1)
    price = np.array([[cost.of_round(kappa, accepted < kappa) for accepted in lengths] for kappa in lengths])
    tokens = np.tile(np.arange(longest + 1) + 1.0, (longest + 1, 1))
    if process.unit != "window":
        return tokens, price
    laws = [theory.window(process, kappa).pmf_accepted for kappa in lengths]

    def mean(own: Floats) -> Floats:
        at_kappa = [float(law @ row[: len(law)]) for law, row in zip(laws, own, strict=True)]
        return np.repeat(np.array(at_kappa)[:, None], longest + 1, axis=1)

    return mean(tokens), mean(price)


def crossover(one: RegretCurve, other: RegretCurve) -> int | None:
    """The first mark from which on ``one`` has the smaller regret; None if there is none."""
    behind = np.flatnonzero(one.mean >= other.mean)
    last = int(behind[-1]) + 1 if len(behind) else 0
    return int(one.marks[last]) if last < len(one.marks) else None
