"""Can two runs at different κ differ only because hard requests make another share of the rounds?

A request of so many tokens makes fewer rounds the more it emits per round.  Longer drafts save rounds to easy requests
and none to hard ones, so that hard ones make a larger share of the rounds, and S_1 and E at any one κ fall although no
draft changed.  Had a run stopped its drafts at κ, each of its requests would have made E_r(its own κ)/E_r(κ) times as
many rounds: rounds weighted so are those of that run at κ, and what is left between two runs is the draft.

Where requests are told apart, E_r is what a request shows.  Where not, any round may have been a request of its own, so
that nothing is known but that the truth lies between the rounds as seen and rounds weighted as if each were one: a
difference is real where no mixture in between takes it away.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simspec.advice.ab.run import Run
from simspec.evidence.observed import REQUEST, Observed
from simspec.stats.ab_curves import Joint, joint_change
from simspec.stats.ab_tests import Change, Outcomes, Share, mean_change, share_change

Floats = NDArray[np.float64]
STEPS = tuple(step / 8 for step in range(9))
"""How far rounds are weighted anew, of all the way: as seen, …, all."""


@dataclass(frozen=True, eq=False)
class Weighted:
    """Rounds of one run, each ``worth`` so many rounds of the same run with drafts stopped at ``kappa``."""

    observed: Observed
    worth: Floats
    kappa: int

    def at(self, step: float) -> Floats:
        """Worth of each row, weighted anew only so far; rounds in all are as many as equal ones that tell as much."""
        worth = 1.0 + step * (self.worth - 1.0)
        count = self.observed.count
        return np.asarray(worth * float(worth @ count) / float(worth**2 @ count))

    @property
    def held(self) -> NDArray[np.bool_]:
        """Groups with a round that was offered ``kappa`` drafts."""
        own = self.observed
        return np.bincount(own.group, own.drafted >= self.kappa, own.groups) > 0

    def outcomes(self, step: float, kept: NDArray[np.bool_]) -> Outcomes:
        """Rounds by independent unit and accepted length, cut at ``kappa``, of the groups ``kept``."""
        own, worth, wide = self.observed, self.at(step), self.kappa + 1
        offered = (own.drafted >= self.kappa) & kept[own.group]
        length = np.minimum(own.accepted[offered], self.kappa)
        if own.clustered and kept.sum() > 1:
            flat = own.group[offered] * wide + length
            table = np.bincount(flat, (own.count * worth)[offered], own.groups * wide).reshape(own.groups, wide)
            return Outcomes(table[kept])
        single = np.zeros((len(length), wide))
        single[np.arange(len(length)), length] = worth[offered]
        return Outcomes(single, own.count[offered])

    def examined(self, j: int, step: float) -> Share:
        """Acceptances of draft j of those examined, by independent unit."""
        own, worth = self.observed, self.at(step)
        hits = worth * (own.accepted >= j)
        risk = worth * (np.minimum(own.accepted + 1, own.drafted) >= j)
        if not own.clustered:
            return Share(hits, risk, own.count)
        by_group = [np.bincount(own.group, part * own.count, own.groups) for part in (hits, risk)]
        return Share(by_group[0], by_group[1])


def weighted(observed: Observed, kappa: int) -> Weighted:
    """A run's rounds with what each would be worth at ``kappa``.

    Examples
    --------
    >>> own = weighted(Observed.of_counts([(4, 10, [6, 6, 3, 3])]), 2)
    >>> own.observed.accepted.tolist(), [round(float(value), 2) for value in own.worth]
    ([0, 2, 4], [1.0, 1.0, 1.67])
    """
    own = observed if observed.clustered else _alike(observed)
    whole, cut = own.accepted + 1.0, np.minimum(own.accepted, kappa) + 1.0
    if own.unit == REQUEST and own.clustered:
        group = own.group
        long, short = (np.bincount(group, part * own.count, own.groups) for part in (whole, cut))
        return Weighted(own, (long / short)[group], kappa)
    return Weighted(own, whole / cut, kappa)


def _alike(own: Observed) -> Observed:
    """Rounds of one group, those alike together."""
    pairs, which = np.unique(np.stack([own.drafted, own.accepted], axis=1), axis=0, return_inverse=True)
    count = np.bincount(which.reshape(-1), own.count).astype(np.int64)
    return Observed(pairs[:, 0], pairs[:, 1], count, np.array([0, len(pairs)]), own.unit)


def moved(first: Run, second: Run) -> bool:
    """Whether requests may have other shares of the rounds in either run because of its κ."""
    return first.kappa is None or first.kappa != second.kappa


@dataclass(frozen=True)
class Mixture:
    """What is left of each comparison where requests may weigh differently: p by quantity, and the curve."""

    p: dict[str, float]
    joint: Joint | None


def mixture(a: Observed, b: Observed, kappa: int, pairs: bool, level: float, depths: Sequence[int]) -> Mixture:
    """The largest p of each comparison over all mixtures, from rounds as seen to rounds weighted anew all the way.

    Parameters
    ----------
    a, b : Observed
        With ``pairs``, group for group the same requests.
    kappa : int
        Draft length that both are cut at.
    pairs : bool
    level : float
    depths : sequence of int
        Positions whose conditional rates are compared.

    Examples
    --------
    >>> short, long = Observed.of_counts([(2, 900, [600, 480])]), Observed.of_counts([(6, 900, [540, 430] + [400] * 4)])
    >>> found = mixture(short, long, 2, False, 0.95, [])
    >>> found.p["S_1"], found.p["E"]  # below in rounds as seen, above were each round a request
    (1.0, 1.0)
    """
    sides = weighted(a, kappa), weighted(b, kappa)
    held = [own.held for own in sides]
    if pairs:
        held = [np.logical_and(*held)] * 2
    seen: dict[str, list[Change]] = {}
    joints = []
    for step in STEPS:
        left, right = (own.outcomes(step, kept) for own, kept in zip(sides, held, strict=True))
        found = {"E": mean_change(left, right, level, pairs)}
        found |= {f"S_{j}": share_change(left.share(j), right.share(j), level, pairs) for j in range(1, kappa + 1)}
        found |= {
            f"α_{j}": share_change(sides[0].examined(j, step), sides[1].examined(j, step), level, pairs) for j in depths
        }
        for name, change in found.items():
            seen.setdefault(name, []).append(change)
        joints.append(joint_change(left, right, pairs) if kappa > 1 else None)
    known = [own for own in joints if own is not None]
    least = max(known, key=lambda own: own.p_value) if len(known) == len(joints) else None
    return Mixture({name: _least(changes) for name, changes in seen.items()}, least)


def _least(changes: Sequence[Change]) -> float:
    """p of a difference that no mixture takes away: 1 where it changes its sign on the way."""
    known = [own for own in changes if not math.isnan(own.p_value)]
    if len({own.difference > 0.0 for own in known}) > 1:
        return 1.0
    return max((own.p_value for own in known), default=math.nan)
