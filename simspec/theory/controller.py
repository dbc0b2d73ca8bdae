"""What does a controller reach that averages verdicts exponentially and drafts what is best for its average?

The estimate e moves with every examined draft, e ← λe + (1 − λ)·[accepted], and a round drafts rule(e) tokens.  A round
that starts at e and accepts j drafts ends at 1 − (1 − e)λ^j, times λ if it rejects the next: the chain of estimates at
round starts has no other randomness, and is put on a grid by splitting a point between its two neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral

import numpy as np
import numpy.typing as npt

from simspec.model.cost import Cost
from simspec.model.drift import Drift
from simspec.model.errors import ParameterError
from simspec.model.markov import Markov
from simspec.theory.law import FloatArray
from simspec.theory.ranges import as_numbers, check_inside, check_range, check_whole, whole_numbers

IntArray = npt.NDArray[np.int64]
Rule = Callable[[FloatArray], IntArray]
"""Draft lengths for estimates."""

KAPPA_LIMIT = 64
POINTS = 1025
LISTED_TOKENS_LIMIT = 16
"""Longest generation whose verdicts are all listed: their number doubles with every token."""
_STEADY, _STEPS = 1e-14, 200_000
"""The long-run law has settled when a round moves less mass than this; how many rounds that may take."""


def plug_in_kappas(estimates: FloatArray, cost: Cost, kappa_max: int = 20, kappa_min: int = 1) -> IntArray:
    """Draft length that would be best if each estimate were the acceptance rate of independent drafts.

    Parameters
    ----------
    estimates : array
        Values in [0, 1].
    cost : Cost
        The prices of a round.
    kappa_max, kappa_min : int
        The length is kept inside, 0 ≤ kappa_min ≤ kappa_max ≤ 64.  With kappa_min = 0 a controller that once stops
        drafting sees no verdict again and never starts again; without a limit an estimate near 1 asks for very long
        drafts, since κ* has no bound there.

    Returns
    -------
    array of int
        The smallest κ of the best, for every estimate.

    Raises
    ------
    ParameterError
        If an estimate or a length is out of range.

    References
    ----------
    Leviathan, Kalman, Matias (2023), Theorem 3.8 and section 3.5; the article's section 7, guide 1, asks for it.

    Examples
    --------
    >>> plug_in_kappas(np.array([0.05, 0.6, 0.7, 0.85]), Cost(c_d=0.1))
    array([1, 3, 4, 7])
    """
    values = as_numbers("estimates", estimates)
    check_range("estimates", float(values.min()), 0, 1)
    check_range("estimates", float(values.max()), 0, 1)
    check_whole("kappa_max", kappa_max, 0, KAPPA_LIMIT)
    check_whole("kappa_min", kappa_min, 0, kappa_max)
    lengths = np.arange(kappa_max + 1)
    reach = values[:, None] ** lengths  # 0⁰ = 1: the first token is the round's own
    base = np.array([cost.base(kappa) for kappa in range(kappa_max + 1)])
    speed = np.cumsum(reach, axis=1) / (base + cost.c_r * (1.0 - reach))
    best = (speed >= speed.max(axis=1, keepdims=True) * (1.0 - 1e-12)).argmax(axis=1)
    return np.asarray(np.maximum(best, kappa_min), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class LongRun:
    """What a controller does in the long run.

    Attributes
    ----------
    speedup : float
        E[tokens]/E[cost] per round.
    mean_tokens, mean_cost : float
        Per round, the cost in plain target steps.
    mean_estimate, sd_estimate : float
        Of the estimate at round starts; below α in the mean, since most rounds have just ended with a rejection.
    kappa_law : array
        P(a round drafts κ), κ = 0, 1, … .
    grid_error : float
        Change of ``speedup`` when the grid of estimates is made twice as coarse.
    """

    speedup: float
    mean_tokens: float
    mean_cost: float
    mean_estimate: float
    sd_estimate: float
    kappa_law: FloatArray
    grid_error: float


def controller_long_run(
    alpha: float | Markov, rule: Rule, cost: Cost, smoothing: float, points: int = 2 * POINTS - 1
) -> LongRun:
    """Long-run throughput of an EWMA controller on independent drafts, or on those of a two-state chain.

    Parameters
    ----------
    alpha : float or Markov
        Acceptance rate of one examined draft, 0 < alpha < 1; or a chain of verdicts with such a rate.
    rule : callable
        Array of estimates → array of draft lengths, each 1 to 64, e.g. `plug_in_kappas`.
    cost : Cost
        The prices of a round.
    smoothing : float
        λ, the weight of the old estimate, 0 < smoothing < 1.
    points : int
        Points of the grid of estimates, odd, 101 to 100,001.

    Returns
    -------
    LongRun

    Raises
    ------
    ParameterError
        If an argument is out of range, or the rule drafts nothing at some estimate: it would stay there for ever.

    References
    ----------
    The article's sections 5.2 (estimate, λ = .85) and 7; docs/theory.md section 8 and claim C44.

    Examples
    --------
    >>> cost = Cost(c_d=0.1)
    >>> found = controller_long_run(0.7, lambda e: plug_in_kappas(e, cost), cost, smoothing=0.85)
    >>> round(found.speedup, 3), round(found.mean_estimate, 3)
    (1.908, 0.635)
    """
    verdicts = _verdicts(alpha)
    check_inside("smoothing", smoothing, 0, 1)
    cost.check_changes_are_free("the long run of a controller")
    _check_points(points)
    fine = _settled(_Moves(rule, smoothing, points), verdicts, cost)
    coarse = _settled(_Moves(rule, smoothing, (points + 1) // 2), verdicts, cost)
    return LongRun(*fine, grid_error=abs(fine[0] - coarse[0]))


@dataclass(frozen=True)
class _Verdicts:
    """Rate of all drafts together, of the first one of a round by how the round before ended, and of later ones.

    ``first`` has one rate if the round before does not matter, else that after a rejection and that after a full one.
    """

    mean: float
    first: tuple[float, ...]
    later: float


def _verdicts(alpha: float | Markov) -> _Verdicts:
    if not isinstance(alpha, Markov):
        check_inside("alpha", alpha, 0, 1)
        return _Verdicts(alpha, (alpha,), alpha)
    mean, rho = alpha.alpha, alpha.rho
    check_inside("alpha", mean, 0, 1)
    later = mean + rho * (1.0 - mean)
    if not alpha.carried:
        return _Verdicts(mean, (mean,), later)
    lower = mean * (1.0 - rho**alpha.steps_after_reject)
    return _Verdicts(mean, (lower, mean + (1.0 - mean) * rho**alpha.steps_after_full), later)


def _settled(moves: _Moves, verdicts: _Verdicts, cost: Cost) -> tuple[float, float, float, float, float, FloatArray]:
    if moves.kappas.min() < 1:
        raise ParameterError("rule", "rule drafts nothing at some estimate and so never learns; allowed: kappa ≥ 1")
    later = [verdicts.later] * (int(moves.kappas.max()) - 1)
    chances = [moves.chances(np.array([first, *later])) for first in verdicts.first]
    size, rows = moves.grid.size, len(chances)
    below = moves.below + size * moves.full if rows == 2 else moves.below
    law = np.zeros((rows, size))
    law[0, round(verdicts.mean * (size - 1))] = 1.0
    for _ in range(_STEPS):
        mass = moves.outcomes(law, chances)
        after = _binned(below, mass * (1.0 - moves.weight), rows * size)
        after += _binned(below + 1, mass * moves.weight, rows * size)
        after = (after / after.sum()).reshape(rows, size)
        moved, law = float(np.abs(after - law).sum()), after
        if moved < _STEADY * size**0.5:
            break
    else:
        raise ParameterError("smoothing", f"smoothing does not settle within {_STEPS:,} rounds; allowed: a smaller one")
    mass, estimates = moves.outcomes(law, chances), law.sum(axis=0)
    tokens = float(mass @ (moves.accepted + 1.0))
    spent = float(estimates @ moves.base(cost)) + cost.c_r * float(mass[~moves.full].sum())
    mean = float(estimates @ moves.grid)
    spread = float(np.sqrt(estimates @ (moves.grid - mean) ** 2))
    return tokens / spent, tokens, spent, mean, spread, _binned(moves.kappas, estimates, 0)


def _lengths(rule: Rule, estimates: FloatArray) -> IntArray:
    """What the rule drafts at each estimate, once it is known to be a length."""
    lengths = whole_numbers("rule", rule(estimates), 0, KAPPA_LIMIT)
    if lengths.shape != estimates.shape:
        raise ParameterError(
            "rule", f"rule gives {lengths.size} lengths for {estimates.size} estimates; allowed: one each"
        )
    return lengths


def _binned(place: IntArray, mass: FloatArray, size: int) -> FloatArray:
    return np.asarray(np.bincount(place, mass, size), dtype=np.float64)


@dataclass(frozen=True)
class ControlledGeneration:
    """What a controller does along one generation.

    Attributes
    ----------
    mean_cost : float
        Expected cost, in plain target steps.
    speedup : float
        N over the expected cost.
    """

    mean_cost: float
    speedup: float


def controller_generation(
    process: Drift, rule: Rule, cost: Cost, smoothing: float, start: float, points: int | None = POINTS
) -> ControlledGeneration:
    """Expected cost of one generation under an EWMA controller.

    Parameters
    ----------
    process : Drift
        The rates α_i, unknown to the controller, and the length N; with ``truncate`` a draft is cut to what is needed.
    rule : callable
        Array of estimates → array of draft lengths, each 0 to 64.
    cost : Cost
        The prices of a round.
    smoothing : float
        λ, the weight of the old estimate, 0 < smoothing < 1.
    start : float
        The first estimate, 0 ≤ start ≤ 1.
    points : int or None
        Points of the grid of estimates, odd, 101 to 100,001; None lists all sequences of verdicts instead, without any
        grid, for N ≤ 16.

    Returns
    -------
    ControlledGeneration

    Raises
    ------
    ParameterError
        If an argument is out of range, or N too long to be listed.

    References
    ----------
    The article's section 5.2; docs/theory.md section 8 and claim C44.

    Examples
    --------
    >>> cost, short = Cost(c_d=0.1), Drift(shape="linear", alpha_start=0.85, alpha_end=0.62, tokens=12)
    >>> def rule(estimates):
    ...     return plug_in_kappas(estimates, cost)
    >>> [round(controller_generation(short, rule, cost, 0.85, 0.7, points).speedup, 4) for points in (1025, None)]
    [2.026, 2.026]
    """
    check_inside("smoothing", smoothing, 0, 1)
    check_range("start", start, 0, 1)
    cost.check_changes_are_free("a controller on a grid")
    if points is None:
        if process.n_tokens > LISTED_TOKENS_LIMIT:
            raise ParameterError(
                "points", f"points = None lists {process.n_tokens} tokens; allowed: up to {LISTED_TOKENS_LIMIT} tokens"
            )
        price = _listed(process, rule, cost, smoothing, start)
    else:
        _check_points(points)
        price = _backward(process, _Moves(rule, smoothing, points), cost, start)
    return ControlledGeneration(mean_cost=price, speedup=process.n_tokens / price)


def _backward(process: Drift, moves: _Moves, cost: Cost, start: float) -> float:
    """V(i, e) = cost of a round at e + E[V(i + A + 1, estimate after it)], from the last position back."""
    rates, n, size = np.array(process.rates()), process.n_tokens, moves.grid.size
    longest = int(moves.kappas.max())
    ahead = np.zeros((longest + 2, size))  # V(i), V(i + 1), …; 0 once all tokens are out
    cut = moves
    for i in range(n - 1, -1, -1):
        if process.truncate:
            cut = moves.cut(n - 1 - i) if n - 1 - i < longest else moves
        chance = cut.chances(rates[np.minimum(np.arange(i, i + longest), n - 1)])
        at = (cut.accepted + 1) * size + cut.below
        later = ahead.ravel()
        outcome = later[at] + cut.weight * (later[at + 1] - later[at]) + cost.c_r * ~cut.full
        value = cut.base(cost) + np.add.reduceat(chance * outcome, cut.first)
        ahead[2:] = ahead[1:-1].copy()
        ahead[1] = value
    return float(np.interp(start, moves.grid, ahead[1]))


def _listed(process: Drift, rule: Rule, cost: Cost, smoothing: float, start: float) -> float:
    """The same by all sequences of verdicts: estimates are floats, no grid."""
    rates, n = process.rates(), process.n_tokens
    price = 0.0
    waiting: list[dict[float, float]] = [{} for _ in range(n)]
    waiting[0][start] = 1.0
    for i in range(n):
        if not waiting[i]:
            continue
        lengths = _lengths(rule, np.array(list(waiting[i])))
        for (estimate, chance), kappa in zip(waiting[i].items(), lengths, strict=True):
            drafts = min(int(kappa), n - 1 - i) if process.truncate else int(kappa)
            price += chance * cost.base(drafts)
            for accepted in range(drafts + 1):
                after, next_one = estimate, i + accepted + 1
                going_on = chance
                if accepted < drafts:
                    rate = rates[min(i + accepted, n - 1)]
                    chance, going_on = chance * rate, chance * (1.0 - rate)
                    price += going_on * cost.c_r
                    after = smoothing * estimate
                    estimate = smoothing * estimate + (1.0 - smoothing)
                if next_one < n:
                    waiting[next_one][after] = waiting[next_one].get(after, 0.0) + going_on
    return price


class _Moves:
    """All outcomes of a round on a grid of estimates, in order of the estimate it starts from and of A.

    ``start`` is the grid point, ``accepted`` is A, ``full`` says that nothing was rejected, and the estimate after it
    lies ``weight`` of the way from grid point ``below`` to the next.
    """

    def __init__(self, rule: Rule, smoothing: float, points: int, longest: int | None = None) -> None:
        self.smoothing, self.points = smoothing, points
        self.grid = np.linspace(0.0, 1.0, points)
        self.kappas = _lengths(rule, self.grid)
        if longest is not None:
            self.kappas = np.minimum(self.kappas, longest)
        self.first = np.concatenate(([0], np.cumsum(self.kappas + 1)[:-1]))
        self.start = np.repeat(np.arange(points), self.kappas + 1)
        self.accepted = np.arange(self.start.size) - self.first[self.start]
        self.full = self.accepted == self.kappas[self.start]
        after = 1.0 - (1.0 - self.grid[self.start]) * smoothing**self.accepted
        after[~self.full] *= smoothing
        place = after * (points - 1)
        self.below = np.minimum(place.astype(np.int64), points - 2)
        self.weight = place - self.below

    def cut(self, longest: int) -> _Moves:
        """The same with drafts of at most ``longest``."""
        return _Moves(lambda _: self.kappas, self.smoothing, self.points, longest)

    def chances(self, rates: FloatArray) -> FloatArray:
        """Probability of every outcome, for the rates of the drafts of a round."""
        alive = np.concatenate(([1.0], np.cumprod(rates)))
        rejected = np.append(alive[:-1] - alive[1:], 0.0)
        return np.where(self.full, alive[self.accepted], rejected[self.accepted])

    def outcomes(self, law: FloatArray, chances: list[FloatArray]) -> FloatArray:
        """Probability of every outcome under a law of (how the round before ended, estimate)."""
        return np.asarray(sum(own[self.start] * chance for own, chance in zip(law, chances, strict=True)))

    def base(self, cost: Cost) -> FloatArray:
        """Cost of a round without rollback, by grid point."""
        prices = np.array([cost.base(kappa) for kappa in range(int(self.kappas.max()) + 1)])
        return np.asarray(prices[self.kappas])


def _check_points(points: int) -> None:
    if not (isinstance(points, Integral) and 101 <= points <= 100_001 and points % 2 == 1):
        raise ParameterError("points", f"points = {points} is out of range; allowed: odd, 101 ≤ points ≤ 100001")
