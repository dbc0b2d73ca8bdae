"""Which rounds are looked at one by one?  Not too many: whole requests in order, or single rounds in a random order."""

from __future__ import annotations

import numpy as np

from simspec.evidence.observed import Observed
from simspec.evidence.words import DOMAIN, uniforms
from simspec.kernels.words import stream_keys


def one_by_one(observed: Observed, most: int, seed: int) -> Observed:
    """At most about ``most`` rounds, one to a row: whole groups where rounds have an order, else in a random order.

    Examples
    --------
    >>> own = one_by_one(Observed.of_counts([(2, 100, [70, 49])]), 1000, 1)
    >>> own.rounds, own.reached().tolist()
    (100, [70, 49])
    """
    if observed.ordered:
        return _some_groups(observed, most)
    ends, total = np.cumsum(observed.count), observed.rounds
    kept = np.arange(total) if total <= most else (np.arange(most) * total) // most
    rows = np.searchsorted(ends, kept, side="right")
    group = observed.group[rows]
    order = np.lexsort((uniforms(stream_keys(seed, "order of rounds", DOMAIN), np.arange(len(rows)), 0), group))
    rows, group = rows[order], group[order]
    offsets = np.searchsorted(group, np.arange(observed.groups + 1))
    ones = np.ones(len(rows), np.int64)
    return Observed(observed.drafted[rows], observed.accepted[rows], ones, offsets, observed.unit)


def _some_groups(observed: Observed, most: int) -> Observed:
    if observed.rounds <= most:
        return observed
    every = -(-observed.rounds // most)
    chosen = np.arange(min(every // 2, observed.groups - 1), observed.groups, every)
    own = observed.take(chosen)
    if own.rounds <= 2 * most:
        return own
    kept = np.minimum(np.diff(own.offsets), max(1, most // len(chosen)))  # long groups: their beginning
    rows = np.concatenate([np.arange(begin, begin + size) for begin, size in zip(own.offsets, kept, strict=False)])
    offsets = np.concatenate([[0], np.cumsum(kept)])
    return Observed(own.drafted[rows], own.accepted[rows], own.count[rows], offsets, own.unit, own.ordered)
