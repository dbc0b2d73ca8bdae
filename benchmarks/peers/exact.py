"""What should a peer's histogram look like?  The exact shares of rounds by drafted and accepted tokens, per case.

Nothing here is shared with simspec: a peer and simspec are judged by different hands.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import setting
from scipy.special import roots_jacobi
from setting import FloatArray, IntArray

Policy = Callable[[int, bool], int]
_NODES = 128
"""Gauss–Jacobi nodes for a Beta rate: the mean counts of 512 tokens are far smoother than that."""


def steps_law(accept: FloatArray, reject: FloatArray, start: int, policy: Policy) -> FloatArray:
    """Long-run shares ``[drafted, accepted]`` of a process that moves a hidden state once per drafted token.

    Parameters
    ----------
    accept, reject : array (states, states)
        Chance that a draft is accepted (rejected) and the state moves from row to column.
    start : int
        First kappa.
    policy : callable
        kappa of the next round, from this round's kappa and whether all drafts were accepted.

    Examples
    --------
    >>> steps_law(np.array([[0.5]]), np.array([[0.5]]), 1, lambda kappa, full: kappa)[1, :2]
    array([0.5, 0.5])
    """
    kappas, size = _reachable(start, policy), len(accept)
    at = {kappa: slice(i * size, (i + 1) * size) for i, kappa in enumerate(kappas)}
    chain = np.zeros((len(kappas) * size, len(kappas) * size))
    powers = [np.eye(size)]
    for _ in range(setting.LONGEST):
        powers.append(powers[-1] @ accept)
    for kappa in kappas:
        for a in range(kappa):
            chain[at[kappa], at[policy(kappa, False)]] += powers[a] @ reject
        chain[at[kappa], at[policy(kappa, True)]] += powers[kappa]
    rounds = _stationary(chain)
    shares = np.zeros((setting.LONGEST + 1, setting.LONGEST + 1))
    for kappa in kappas:
        for a in range(kappa):
            shares[kappa, a] = rounds[at[kappa]] @ powers[a] @ reject.sum(axis=1)
        shares[kappa, kappa] = rounds[at[kappa]] @ powers[kappa].sum(axis=1)
    return shares


def sequence_law(rates: FloatArray, weights: FloatArray, start: int, policy: Policy) -> FloatArray:
    """Shares ``[drafted, accepted]`` of the rounds of many outputs whose last drafts are cut to what is needed.

    Parameters
    ----------
    rates : array (tokens, classes)
        Acceptance rate at each output position, for each class of outputs.
    weights : array (classes,)
        Share of each class in the outputs.

    Examples
    --------
    >>> sequence_law(np.full((2, 1), 0.5), np.ones(1), 1, lambda kappa, full: kappa)[:2, :2]
    array([[0.33333333, 0.        ],
           [0.33333333, 0.33333333]])
    """
    tokens, kappas = len(rates), _reachable(start, policy)
    visits = np.zeros((tokens + 1, setting.LONGEST + 1, len(weights)))
    visits[0, start] = weights
    counts = np.zeros((setting.LONGEST + 1, setting.LONGEST + 1))
    for t in range(tokens):
        for kappa in kappas:
            alive, drafted = visits[t, kappa].copy(), min(kappa, tokens - 1 - t)
            for a in range(drafted):
                lost = alive * (1.0 - rates[t + a])
                counts[drafted, a] += lost.sum()
                visits[t + a + 1, policy(kappa, False)] += lost
                alive -= lost
            counts[drafted, drafted] += alive.sum()
            visits[t + drafted + 1, policy(kappa, True)] += alive
    return counts / counts.sum()


def _reachable(start: int, policy: Policy) -> list[int]:
    found, fresh = {start}, {start}
    while fresh:
        fresh = {policy(kappa, full) for kappa in fresh for full in (False, True)} - found
        found |= fresh
    return sorted(found)


def _stationary(chain: FloatArray) -> FloatArray:
    """Long-run law of a chain with one closed class."""
    size = len(chain)
    equations = np.vstack([chain.T - np.eye(size), np.ones(size)])
    found: FloatArray = np.linalg.lstsq(equations, np.append(np.zeros(size), 1.0), rcond=None)[0]
    return found


def _steps(process: str) -> tuple[FloatArray, FloatArray]:
    if process == "iid":
        return np.array([[setting.ALPHA]]), np.array([[1.0 - setting.ALPHA]])
    if process == "markov":  # the state is the last outcome
        rates = np.array([setting.AFTER_REJECT, setting.AFTER_ACCEPT])
        return np.outer(rates, [0.0, 1.0]), np.outer(1.0 - rates, [1.0, 0.0])
    rates = setting.REGIMES[:, None]
    return rates * setting.MOVES, (1.0 - rates) * setting.MOVES


def _sequence(process: str) -> tuple[FloatArray, FloatArray]:
    if process == "drift":
        return setting.DRIFT_RATES[:, None], np.ones(1)
    if process == "discrete":
        rates, weights = np.array(setting.MIX_ALPHAS), np.array(setting.MIX_WEIGHTS)
    else:
        nodes, weights = roots_jacobi(_NODES, setting.BETA_B - 1.0, setting.BETA_A - 1.0)
        rates, weights = (nodes + 1.0) / 2.0, weights / weights.sum()
    return np.tile(rates, (setting.TOKENS, 1)), weights


_GRID = 2048
"""Points of the grid of estimates, in the middle of its cells: a step of kappa lies halfway between two of them, where
splitting mass between neighbours favours neither side."""


def rolling_law(process: str) -> FloatArray:
    """Shares of rounds where kappa follows a rolling estimate, put on a grid between whose points mass is split.

    Long-run shares of a chain whose state is the last verdict; for drift those of one output after another.
    """
    grid, kappas = (np.arange(_GRID) + 0.5) / _GRID, setting.lengths()
    shares = np.zeros((setting.LONGEST + 1, setting.LONGEST + 1))
    chosen = kappas[(grid * setting.CELLS).astype(int)]

    def moved(mass: FloatArray, start: IntArray, drafted: int, rates: FloatArray) -> list[tuple[int, bool, FloatArray]]:
        """(A, full, mass by estimate afterwards) of the rounds that draft so many from these grid points."""
        found, alive, e = [], mass, grid[start]
        for a in range(drafted):
            found.append((a, False, _binned(setting.SMOOTHING * e, alive * (1.0 - rates[a]))))
            alive, e = alive * rates[a], setting.SMOOTHING * e + 1.0 - setting.SMOOTHING
        found.append((drafted, True, _binned(e, alive)))
        for a, _, after in found:
            shares[drafted, a] += after.sum()
        return found

    groups = [(int(kappa), np.flatnonzero(chosen == kappa)) for kappa in np.unique(chosen)]
    if process == "drift":
        at = np.zeros((setting.TOKENS + setting.LONGEST + 1, _GRID))
        first = int(setting.FIRST_ESTIMATE * _GRID)
        for t in range(setting.TOKENS):
            left, own = setting.TOKENS - 1 - t, groups
            if t == 0:
                at[0, first] = 1.0
                own = [(setting.POLICY_START, np.array([first]))]
            for kappa, points in own:
                rates = setting.DRIFT_RATES[t : t + min(kappa, left)]
                for a, _, after in moved(at[t, points], points, min(kappa, left), rates):
                    at[t + a + 1] += after
        return shares / shares.sum()
    before = setting.ALPHA if process == "iid" else setting.AFTER_REJECT
    going = setting.ALPHA if process == "iid" else setting.AFTER_ACCEPT
    law = np.full((2, _GRID), 0.5 / _GRID)
    for _ in range(400):
        shares[:] = 0.0
        after = np.zeros_like(law)
        for verdict, first_rate in enumerate((before, going)):
            for kappa, points in groups:
                rates = np.array([first_rate] + [going] * (kappa - 1))
                for _, full, mass in moved(law[verdict, points], points, kappa, rates):
                    after[int(full)] += mass
        law = after
    return shares / shares.sum()


def _binned(place: FloatArray, mass: FloatArray) -> FloatArray:
    """Mass split between the two neighbouring grid points."""
    at = np.clip(place * _GRID - 0.5, 0.0, _GRID - 1.0)
    below = np.minimum(at.astype(np.int64), _GRID - 2)
    part = at - below
    found: FloatArray = np.bincount(below, mass * (1.0 - part), _GRID) + np.bincount(below + 1, mass * part, _GRID)
    return found


def tree_law() -> FloatArray:
    """Shares by accepted length of a walk through the tree, in the row of its depth."""
    parents, chances = setting.tree()
    depths, reach = setting.tree_depths(parents), np.ones(len(parents) + 1)
    stays = np.ones(len(parents) + 1)
    for node, (parent, chance) in enumerate(zip(parents, chances, strict=True), 1):
        reach[node] = reach[parent] * chance
        stays[parent] -= chance
    shares = np.zeros((setting.LONGEST + 1, setting.LONGEST + 1))
    np.add.at(shares[depths.max()], depths, reach * stays)
    return shares


@functools.cache
def law(case: str) -> FloatArray:
    """Exact shares of rounds ``[drafted, accepted]`` of one of `setting.CASES`."""
    if case == "tree":
        return tree_law()
    process, _, policy_name = case.partition(" ")
    if policy_name == "rolling":
        return rolling_law(process)
    adapts = policy_name == "heuristic"
    policy: Policy = setting.follow if adapts else lambda kappa, full: kappa
    start = setting.POLICY_START if adapts else setting.fixed_kappa(case)
    if process in ("iid", "markov", "hmm"):
        return steps_law(*_steps(process), start, policy)
    return sequence_law(*_sequence(process), start, policy)
