"""Who should choose κ?  The league of controllers; of one of them regret over time, κ along the output, and waiting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from simspec.model import Cost, Process
from simspec.model.asked import as_cost, as_policy, as_process, as_serving

if TYPE_CHECKING:
    from simspec.model.policies import Policy
    from simspec.model.serving import Serving
    from simspec.run.league import League
    from simspec.run.makespan import Makespan
    from simspec.run.regret import RegretCurve
    from simspec.run.trajectory import Trajectory


def league(
    process: Process | dict[str, Any] | None = None,
    cost: Cost | dict[str, Any] | None = None,
    windows: int = 1_000_000,
    seed: int = 1,
    level: float = 0.95,
    threads: int | None = None,
    longest: int = 8,
    serving: Serving | dict[str, Any] | None = None,
) -> League:
    """Controllers of the draft length against the best fixed κ, on one process or in many surroundings.

    Parameters
    ----------
    process : Process or dict, optional
        As for `exact`; default fourteen surroundings, from one rate to quick changes of it.
    cost : Cost or dict, optional
        Prices of rounds and of changes of κ (``c_switch``, ``c_wake``); default c_d = .1.
    windows : int
        Rounds of each controller, at least 1; whole requests, so often more are played.
    seed : int
        All controllers meet the same random words.
    level : float
        Confidence level of the intervals, 0 < level < 1.
    threads : int, optional
        Changes no number.
    longest : int
        Longest draft of all controllers and fixed κ, 1 to 32.
    serving : Serving or dict, optional
        Conditions, as for `simulate`, without batches.

    Returns
    -------
    League
        With ``places``, ``records()`` and a readable repr that answers first.

    Raises
    ------
    ParameterError
        An argument is out of range, or no policy can play the process.

    References
    ----------
    Sources of the controllers stand with their classes in `simspec.model.policies`; docs/control.md, "The league".

    Examples
    --------
    >>> import simspec
    >>> mix = {"type": "discrete_mixture", "alphas": [0.9, 0.4], "weights": [0.5, 0.5], "weights_of": "requests"}
    >>> found = simspec.league(mix | {"request_tokens": 256}, {"c_d": 0.1}, windows=20_000)
    >>> best = max((place for place in found.places if not place.informed), key=lambda place: place.gain)
    >>> best.controller, best.verdict
    ('rolling .95', 'beats')
    """
    from simspec.run.league import league as play
    from simspec.run.surroundings import Surrounding

    own = None if process is None else as_process(process)
    where = None if own is None else {"yours": Surrounding(own, str(own))}
    price = Cost(c_d=0.1) if cost is None else as_cost(cost)
    return play(price, windows, seed, level, threads, where, longest, serving=as_serving(serving))


def regret(
    process: Process | dict[str, Any],
    policy: Policy | dict[str, Any] | str,
    cost: Cost | dict[str, Any],
    marks: Sequence[int],
    seed: int = 1,
    chunks: int = 1,
    level: float = 0.95,
    serving: Serving | dict[str, Any] | None = None,
) -> RegretCurve:
    """Regret of a controller over time: cost − tokens/S at marks, S of the best fixed κ and of those who know more.

    Parameters
    ----------
    process, policy, cost, serving
        As for `simulate`; requests are served one by one.
    marks : sequence of int
        Rounds, or requests where output has an end, ascending.
    seed : int
        All controllers meet the same random words.
    chunks : int
        Of 64 lanes each, at least 1: lanes are what bands come from.
    level : float
        Confidence level of the bands, 0 < level < 1.

    Returns
    -------
    RegretCurve
        With ``against["fixed"]`` and, where they have a meaning, ``["schedule"]``, ``["oracle"]``, ``["foresight"]``.

    Raises
    ------
    ParameterError
        The marks do not ascend, an argument is out of range, or no policy can play the process.

    References
    ----------
    Lai, Robbins (1985) for regret that grows like a logarithm; claim C45 for the loop of the article's section 5.2,
    whose regret is linear.  Here regret is in cost and not in tokens: docs/control.md, "How loss grows".

    Examples
    --------
    >>> import simspec
    >>> curve = simspec.regret({"type": "iid", "alpha": 0.7}, "rolling", {"c_d": 0.1}, [100, 1000, 10_000])
    >>> abs(curve.slope - 1.0) < 0.1  # a memory that forgets loses as much of every token
    True
    """
    from simspec.run.regret import regret as play

    chosen, conditions = as_policy(policy), as_serving(serving)
    return play(as_process(process), chosen, as_cost(cost), marks, seed, chunks, level, conditions)


def trajectory(
    process: Process | dict[str, Any],
    policy: Policy | dict[str, Any] | str,
    cost: Cost | dict[str, Any],
    stretch: int = 32,
    chunks: int = 16,
    seed: int = 1,
    level: float = 0.95,
    serving: Serving | dict[str, Any] | None = None,
) -> Trajectory:
    """Mean κ by output position, tokens until it has followed a change, and the cost per token there.

    Parameters
    ----------
    process, policy, cost
        As for `simulate`; the process has rates by position: ``drift``.
    stretch : int
        Tokens of a stretch of the output, at least 1.
    chunks : int
        64 outputs each, at least 2; a chunk is the unit of the error.
    seed : int
        All controllers meet the same random words.
    level : float
        Confidence level of the intervals, 0 < level < 1.
    serving : Serving or dict, optional
        Under which conditions the policy runs, e.g. ``{"delay": 2}``; a batch of one.

    Returns
    -------
    Trajectory
        With ``mean``, ``half``, ``spread``, ``tail_cost`` by stretch, ``recovery(change)`` and ``says(change)``.

    Raises
    ------
    ParameterError
        The process has no positions, or a number is out of range.

    Examples
    --------
    >>> import simspec
    >>> jump = {"type": "drift", "shape": "table", "alphas": [0.9] * 512 + [0.5] * 512}
    >>> found = simspec.trajectory(jump, "rolling", {"c_d": 0.1})
    >>> found.recovery(512), bool(found.mean[15] > 6 > 3 > found.mean[20])
    (32, True)
    """
    from simspec.run.trajectory import trajectory as play

    asked = as_process(process), as_policy(policy), as_cost(cost)
    return play(*asked, stretch, chunks, seed, level, as_serving(serving))


def makespan(
    process: Process | dict[str, Any],
    cost: Cost | dict[str, Any],
    policy: Policy | dict[str, Any] | str | None = None,
    kappa: int = 4,
    batches: Sequence[int] = (1, 2, 4, 8, 16),
    chunks: int = 64,
    seed: int = 1,
    level: float = 0.95,
) -> Makespan:
    """Rounds of a batch that lasts as long as its slowest request, over the rounds of a request on average.

    Parameters
    ----------
    process, cost
        As for `simulate`; requests have a fixed length.
    policy : Policy, dict or str, optional
        Who chooses κ of each request; default: the same ``kappa`` in every round.
    kappa : int
        Draft length without a policy.
    batches : sequence of int
        Requests that begin together, each a divisor of 64.
    chunks : int
        64 requests each, at least 1.
    seed : int
        All controllers meet the same random words.
    level : float
        Confidence level of the intervals, 0 < level < 1.

    Returns
    -------
    Makespan
        With ``factor``, ``half`` and, at a fixed κ, ``exact`` by batch.

    Raises
    ------
    ParameterError
        The process has no requests of fixed length, or a number is out of range.

    Examples
    --------
    >>> import simspec
    >>> flat = {"type": "drift", "alpha_start": 0.7, "alpha_end": 0.7, "tokens": 128}
    >>> simspec.makespan(flat, {"c_d": 0.1}, batches=[8]).exact.round(4).tolist()
    [1.1202]
    """
    from simspec.run.makespan import makespan as play

    chosen = None if policy is None else as_policy(policy)
    return play(as_process(process), as_cost(cost), chosen, kappa, batches, chunks, seed, level)
