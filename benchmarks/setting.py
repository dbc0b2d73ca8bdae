"""Which questions are timed?  One set of numbers, read by simspec's arms, by every peer and by the exact laws."""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

ALPHA, RHO, KAPPA = 0.8, 0.3, 8
AFTER_ACCEPT = ALPHA + RHO * (1.0 - ALPHA)
AFTER_REJECT = ALPHA * (1.0 - RHO)

TOKENS = 512
DRIFT_START, DRIFT_END, DRIFT_KAPPA = 0.9, 0.4, 6
DRIFT_RATES: FloatArray = DRIFT_START + (DRIFT_END - DRIFT_START) * np.arange(TOKENS) / (TOKENS - 1)
"""Acceptance rate of the token at each output position."""

MOVES: FloatArray = np.array([[0.90, 0.08, 0.02], [0.05, 0.90, 0.05], [0.02, 0.08, 0.90]])
REGIMES: FloatArray = np.array([0.95, 0.75, 0.40])
"""Three hidden regimes: row = regime now, moved once per drafted token after its outcome."""

MIX_ALPHAS, MIX_WEIGHTS = (0.95, 0.75, 0.45), (0.5, 0.3, 0.2)
"""Rates of requests and their shares of the requests."""
BETA_MEAN, BETA_RHO = 0.7, 0.1
BETA_A = BETA_MEAN * (1.0 / BETA_RHO - 1.0)
BETA_B = (1.0 - BETA_MEAN) * (1.0 / BETA_RHO - 1.0)

TREE_ALPHA, TREE_MISSES, TREE_NODES = 0.7, (0.4, 0.2, 0.1), 64
"""A token tree: chance of the first child, shares of its misses that the next ones are, and drafted tokens."""


def tree() -> tuple[IntArray, FloatArray]:
    """Parents (0 is the root) and chances of the nodes 1, 2, …: those with the largest product along their path.

    Examples
    --------
    >>> parents, chances = tree()
    >>> len(parents), parents[:3].tolist(), chances[:3].tolist()
    (64, [0, 1, 2], [0.7, 0.7, 0.7])
    """
    ranks = [TREE_ALPHA, *((1.0 - TREE_ALPHA) * share for share in TREE_MISSES)]
    waiting = [(-chance, 1, 0, chance) for chance in ranks]
    heapq.heapify(waiting)
    parents, chances = list[int](), list[float]()
    while len(parents) < TREE_NODES:
        reach, depth, parent, chance = heapq.heappop(waiting)
        parents.append(parent)
        chances.append(chance)
        for more in ranks:
            heapq.heappush(waiting, (reach * more, depth + 1, len(parents), more))
    return np.array(parents), np.array(chances)


def tree_depths(parents: IntArray) -> IntArray:
    """Depth of the root and of every node.

    Examples
    --------
    >>> tree_depths(np.array([0, 1, 0]))
    array([0, 1, 2, 1])
    """
    depths = [0]
    for parent in parents:
        depths.append(depths[parent] + 1)
    return np.array(depths)


LONGEST, POLICY_START = 16, 8
"""Where a policy sets kappa it stays in 1 … `LONGEST`; every lane and every generation starts at `POLICY_START`."""


def follow(kappa: int, full: bool) -> int:
    """The "+2/−1" heuristic: kappa of the next round.

    Examples
    --------
    >>> follow(8, True), follow(1, False), follow(15, True)
    (10, 1, 16)
    """
    return min(max(kappa + 2 if full else kappa - 1, 1), LONGEST)


SMOOTHING, FIRST_ESTIMATE, CELLS = 0.85, 0.7, 256
"""The rolling estimate e ← λe + (1 − λ)·[accepted] of examined drafts; kappa is looked up by its cell of [0, 1]."""


def lengths() -> IntArray:
    """kappa by cell of the estimate: the best for independent drafts at its middle, a draft costing a tenth of a step.

    Examples
    --------
    >>> lengths()[[0, 128, 179, 255]].tolist()
    [1, 2, 4, 16]
    """
    middle = (np.arange(CELLS)[:, None] + 0.5) / CELLS
    kappas = np.arange(LONGEST + 1)
    speed = np.cumsum(middle**kappas, axis=1) / (1.0 + 0.1 * kappas)
    return np.asarray(1 + speed[:, 1:].argmax(axis=1))


def fixed_kappa(case: str) -> int:
    """The draft length of a case whose rounds all have the same one."""
    if case == "tree":
        return int(tree_depths(tree()[0]).max())
    return DRIFT_KAPPA if case.startswith("drift") else KAPPA


CASES = (
    "iid", "markov", "drift", "hmm", "beta requests", "discrete requests", "tree",
    "iid fixed", "markov fixed", "drift fixed", "iid heuristic", "markov heuristic", "drift heuristic",
    "iid rolling", "markov rolling", "drift rolling",
)  # fmt: skip
"""What a peer can simulate: a process at its `fixed_kappa`, or "<process> <policy>" as the general loop has it."""
