"""What do verdicts by cell say?  A cell is a draft's position in its round, or what came right before it.

Processes without memory, and the two-state chain, are a rate for every cell.  Numbers of verdicts and of acceptances by
cell are all that their likelihood asks for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simspec.evidence.observed import Floats, Observed
from simspec.stats.logits import climb, logit, rate

Cells = tuple[Floats, Floats]
"""Verdicts and acceptances, (groups, cells) each."""


def cells_by_position(observed: Observed) -> Cells:
    """By position of the draft, as deep as any was examined."""
    depth = int(np.minimum(observed.accepted + 1, observed.drafted).max())
    seen, hits = observed.examined_by_group(), observed.reached_by_group()
    return seen[:, :depth].astype(float), hits[:, :depth].astype(float)


def cells_by_before(observed: Observed) -> Cells:
    """By what came before: nothing, a rejection, a full round, an accepted draft of the same round."""
    accepted, group = observed.accepted, observed.group
    kinds = np.zeros((len(accepted), 4))
    hits = np.zeros((len(accepted), 4))
    rows = np.arange(len(accepted))
    kinds[rows, begun_after(observed)] = 1.0
    hits[rows, begun_after(observed)] = accepted > 0
    kinds[:, 3] = np.minimum(accepted + 1, observed.drafted) - 1
    hits[:, 3] = np.maximum(accepted - 1, 0)
    return _by_group(kinds, group, observed.groups), _by_group(hits, group, observed.groups)


def _by_group(values: Floats, group: Any, groups: int) -> Floats:
    return np.stack([np.bincount(group, column, groups).astype(float) for column in values.T], axis=1)


def begun_after(observed: Observed) -> Any:
    """What each round came after: 0 nothing, 1 a rejection, 2 a full round.

    Examples
    --------
    >>> begun_after(Observed.in_order([[2, 2, 2], [2]], [[2, 0, 1], [2]])).tolist()
    [0, 2, 1, 0]
    """
    full = observed.accepted == observed.drafted
    kinds = np.concatenate([[0], np.where(full[:-1], 2, 1)]) if len(full) else np.zeros(0, np.int64)
    kinds[observed.offsets[:-1][np.diff(observed.offsets) > 0]] = 0
    return kinds


def iid_rates(point: Floats, cells: int) -> Floats:
    return np.full(cells, rate(point[0]))


def position_rates(point: Floats, cells: int) -> Floats:
    return np.concatenate([rate(point), np.zeros(max(0, cells - len(point)))])[:cells]


def tail_rates(point: Floats, cells: int) -> Floats:
    return np.concatenate([rate(point[:1]), np.full(max(0, cells - 1), rate(point[-1]))])[:cells]


def urn_rates(point: Floats, cells: int) -> Floats:
    alpha, rho = rate(point)
    before = np.arange(float(cells))
    return np.asarray((alpha * (1.0 - rho) + before * rho) / (1.0 - rho + before * rho))


def chain_rates(point: Floats, cells: int = 4) -> Floats:
    """After nothing, a rejection, a full round (two steps on: the bonus token has a position), an acceptance."""
    again, back = rate(point)
    return np.array([back / (1.0 - again + back), back, again * again + (1.0 - again) * back, again])


Rates = Callable[[Floats, int], Floats]
"""Rates of so many cells at a point."""


def cells_by_group(rates: Rates) -> Callable[[Floats, Cells], Floats]:
    def by_group(point: Floats, cells: Cells) -> Floats:
        from scipy.special import xlog1py, xlogy  # slow to import

        seen, hits = cells
        chance = rates(point, seen.shape[1])
        return np.asarray((xlogy(hits, chance) + xlog1py(seen - hits, -chance)).sum(axis=1))

    return by_group


def pooled_cells(cells: Cells) -> Cells:
    return cells[0].sum(axis=0, keepdims=True), cells[1].sum(axis=0, keepdims=True)


def _shares(cells: Cells) -> Floats:
    seen, hits = cells[0].sum(axis=0), cells[1].sum(axis=0)
    return np.asarray(hits / np.maximum(seen, 1.0))


def iid_point(cells: Cells) -> Floats:
    return logit(np.array([cells[1].sum() / cells[0].sum()]))


def position_point(cells: Cells) -> Floats:
    return logit(_shares(cells))


def tail_point(cells: Cells) -> Floats:
    seen, hits = cells[0].sum(axis=0), cells[1].sum(axis=0)
    deep = hits[1:].sum() / seen[1:].sum() if seen[1:].sum() else hits[0] / seen[0]
    return logit(np.array([hits[0] / seen[0], deep]))


def searched(rates: Rates, begins: Callable[[Cells], list[Floats]]) -> Callable[[Cells], Floats]:
    """The best point found by simplex from several beginnings."""
    by_group = cells_by_group(rates)

    def maximise(cells: Cells) -> Floats:
        pooled = pooled_cells(cells)
        return climb(lambda point: float(by_group(point, pooled)[0]), begins(cells))

    return maximise


def urn_begins(cells: Cells) -> list[Floats]:
    alpha = iid_point(cells)[0]
    return [np.array([alpha, logit(rho)]) for rho in (0.02, 0.3)]


def chain_begins(cells: Cells) -> list[Floats]:
    shares = _shares(cells)
    alpha = cells[1].sum() / cells[0].sum()
    return [logit(np.array([shares[3] or alpha, shares[1] or alpha])), logit(np.array([alpha, alpha]))]


def fresh_ahead(rates: Rates) -> Callable[[Floats, Observed], Floats]:
    def ahead(point: Floats, observed: Observed) -> Floats:
        curve = np.cumprod(rates(point, observed.kappa_max))
        return np.broadcast_to(curve, (len(observed.drafted), len(curve)))

    return ahead


def chain_ahead(point: Floats, observed: Observed) -> Floats:
    chances = chain_rates(point)
    further = np.power(chances[3], np.arange(float(observed.kappa_max)))
    return np.asarray(chances[begun_after(observed)][:, None] * further)
