"""What is compared between rounds and a process?  One function per statistic, a line each in `CHECKS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simspec.evidence.observed import Floats, Ints, Observed

ENOUGH = 30.0
"""Verdicts expected at a position, or rounds at a κ, that stand for themselves; fewer are put together."""
BINS = 8


@dataclass(frozen=True, eq=False)
class Check:
    """One statistic: sums over rounds of values that have mean 0 under the process, given the past.

    Attributes
    ----------
    name, says : str
        What it is; what a rejection says.
    values : float array (rounds, kappa_max + 1, sums)
        What a round adds to each sum if it accepts a drafts.
    size : float
        Observed over expected, where that has a meaning; else NaN.
    """

    name: str
    says: str
    values: Floats
    size: float = float("nan")


@dataclass(frozen=True, eq=False)
class Expected:
    """What the process expects of each round given the past: P(A = a), P(A ≥ j), E[A], and what came instead."""

    rounds: Observed
    chance: Floats
    ahead: Floats

    @property
    def lengths(self) -> Floats:
        return np.arange(self.chance.shape[1], dtype=float)

    @property
    def mean(self) -> Floats:
        return np.asarray(self.chance @ self.lengths)

    @property
    def excess(self) -> Floats:
        """Accepted drafts above what was expected, (rounds,)."""
        return self.rounds.accepted - self.mean

    @property
    def centred(self) -> Floats:
        """a − E[A], (rounds, kappa_max + 1)."""
        return self.lengths - self.mean[:, None]


def checks_of(rounds: Observed, chance: Floats, ahead: Floats) -> list[Check]:
    """All statistics that these rounds allow."""
    expected = Expected(rounds, chance, ahead)
    return [own for make in CHECKS if (own := make(expected)) is not None]


def _bins(weight: Floats) -> Ints:
    """Neighbours put together until each bin has `ENOUGH`, at most `BINS` of them; bin of each place."""
    enough = max(ENOUGH, float(weight.sum()) / (4 * BINS))
    bins, filled, here = np.zeros(len(weight), np.int64), 0.0, 0
    for i, own in enumerate(weight):
        if filled >= enough and here < BINS - 1:
            here, filled = here + 1, 0.0
        bins[i] = here
        filled += own
    if here and filled < ENOUGH:
        bins[bins == here] = here - 1
    return bins


def _profile(own: Expected) -> Check:
    """Verdicts at a position against the chance of each, given that the drafts before were accepted."""
    reach = np.concatenate([np.ones((len(own.ahead), 1)), own.ahead], axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        hazard = np.nan_to_num(reach[:, 1:] / reach[:, :-1])
    position = np.arange(1, reach.shape[1])
    offered = position <= own.rounds.drafted[:, None]
    examined = (reach[:, :-1] * offered).sum(axis=0)
    bins = _bins(examined)
    values = np.zeros((*own.chance.shape, int(bins.max()) + 1))
    for j in position:
        risk = offered[:, j - 1].astype(float)
        values[:, j - 1, bins[j - 1]] -= hazard[:, j - 1] * risk  # rejected at j
        values[:, j:, bins[j - 1]] += ((1.0 - hazard[:, j - 1]) * risk)[:, None]
    return Check("position profile", "acceptance by draft position differs", values)


def _full(own: Expected) -> Check:
    """Rounds without a rejection."""
    at = np.arange(len(own.chance))
    full = own.chance[at, own.rounds.drafted]
    values = np.repeat(-full[:, None], own.chance.shape[1], axis=1)
    values[at, own.rounds.drafted] += 1.0
    ratio = float((own.rounds.accepted == own.rounds.drafted).sum() / max(full.sum(), 1e-300))
    return Check(
        "full rounds", f"fully accepted rounds are {ratio:.2f} times the expected number", values[:, :, None], ratio
    )


def _by_kappa(own: Expected) -> Check | None:
    """Accepted drafts by κ."""
    kappas, index = np.unique(own.rounds.drafted, return_inverse=True)
    if len(kappas) < 2:
        return None
    bins = _bins(np.bincount(index).astype(float))[index]
    inside = bins[:, None] == np.arange(bins.max() + 1)
    values = own.centred[:, :, None] * inside[:, None, :]
    return Check("accepted by κ", "accepted length at short and long drafts differs", values)


def _successive(own: Expected) -> Check | None:
    """Excess of a round times that of the round before it in its group."""
    if not own.rounds.ordered:
        return None
    before = np.concatenate([[0.0], own.excess[:-1]])
    before[own.rounds.offsets[:-1][np.diff(own.rounds.offsets) > 0]] = 0.0
    values = (own.centred * before[:, None])[:, :, None]
    excess = own.excess
    correlation = float((excess * before).sum() / max((before**2).sum(), 1e-300))
    says = f"successive rounds hang together beyond it (correlation {correlation:+.3f})"
    return Check("successive rounds", says, values, 1.0 + correlation)


CHECKS: tuple[Callable[[Expected], Check | None], ...] = (_profile, _full, _by_kappa, _successive)
"""A further statistic is a function and a name here."""
