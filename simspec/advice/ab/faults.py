"""Is a run broken rather than weak?  Patterns of acceptance that chance and difficulty do not make, with their odds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from simspec.evidence.drift import Drift
from simspec.evidence.observed import NO_UNIT, Ints, Observed
from simspec.text import number, plural

CHANCE = 1e-6
"""A pattern that an intact draft shows less often than this is called a fault."""
WORTHLESS = 0.05
"""A draft whose α is surely below this gains nothing at any cost."""
FEWEST = 20
"""Rounds, or examined drafts, below which a run of equal outcomes says little."""
NOTED = 1e-3
"""A pattern that is no fault in itself is told from here on."""
SURE = 0.95
"""α at which even an easy text would reject now and then."""
RISE = 0.2
"""Rise of α after the first draft from which rounds are called all-or-nothing."""


@dataclass(frozen=True)
class Fault:
    """One pattern.

    Attributes
    ----------
    code : str
    says : str
        What was seen, and what it means.
    broken : bool
        Whether it is a fault; else it is a reason for caution.
    chance : float or None
        Chance of the pattern, or of more, without the fault.
    """

    code: str
    says: str
    broken: bool
    chance: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return dict(vars(self))


@dataclass(frozen=True)
class _Seen:
    """Counts by position, from the first."""

    observed: Observed
    reached: Ints
    examined: Ints
    level: float
    other: float | None

    def alpha(self, j: int) -> float:
        """α of the draft at index j."""
        return float(self.reached[j] / self.examined[j]) if self.examined[j] else float("nan")


def faults(observed: Observed, level: float = 0.95, other: float | None = None) -> list[Fault]:
    """Faults of one run and reasons for caution.

    Parameters
    ----------
    observed : Observed
    level : float
        Of the bounds named.
    other : float, optional
        Acceptance rate of the first draft in the run it is compared with.

    Examples
    --------
    >>> found = faults(Observed.of_counts([(3, 894, [0, 0, 0])]), other=0.7)
    >>> found[0].code, found[0].broken
    ('NO_DRAFT_ACCEPTED', True)
    >>> faults(Observed.of_counts([(2, 100, [70, 49])]))
    []
    """
    if observed.rounds == 0:
        return []
    seen = _Seen(observed, observed.reached(), observed.examined(), level, other)
    return [fault for look in _LOOKS if (fault := look(seen)) is not None]


def _nothing(seen: _Seen) -> Fault | None:
    if seen.reached[0]:
        return None
    rounds = int(seen.examined[0])
    bound = 1.0 - (1.0 - seen.level) ** (1.0 / rounds)
    chance = None if seen.other is None else (1.0 - seen.other) ** rounds
    says = f"no draft was accepted in {plural(rounds, 'round')}, E is exactly 1: α of the first draft is below "
    says += f"{number(bound)} ({seen.level:.0%}, each round for itself)"
    if chance is not None:
        says += f"; at the other run's α = {number(seen.other or 0.0, 3)} this has probability {_odds(chance)}"
    broken = bound < WORTHLESS or (chance is not None and chance < CHANCE)
    if broken:
        says += ": a broken draft rather than a weak one; until it is mended κ = 0 is best"
    else:
        says += ": too few rounds to tell a broken draft from a weak one"
    return Fault("NO_DRAFT_ACCEPTED", says, broken, chance)


def _everything(seen: _Seen) -> Fault | None:
    own = seen.observed
    if not (own.accepted == own.drafted).all() or own.rounds < FEWEST:
        return None
    bound = 1.0 - (1.0 - seen.level) ** (1.0 / own.rounds)
    says = (
        f"every draft was accepted in each of {plural(own.rounds, 'round')}, E is exactly κ + 1 (a rejection in less "
        f"than {number(bound)} of rounds, {seen.level:.0%}): verification that accepts anything (NaN, a mask), a draft "
        "that is the target, or the output repeats itself"
    )
    return Fault("EVERY_DRAFT_ACCEPTED", says, True)


def _zeros(seen: _Seen) -> Fault | None:
    """A position that is never accepted, and with it all after it."""
    where = np.flatnonzero(seen.reached == 0)
    if not where.size or where[0] == 0:
        return None
    j = int(where[0])
    before = float(seen.reached[:j].sum() / seen.examined[:j].sum())
    risk = int(seen.examined[j])
    chance = (1.0 - before) ** risk
    if chance >= CHANCE:
        return None
    after = len(seen.reached) - j
    says = (
        f"draft {j + 1} was never accepted in {risk:,} rounds that examined it, nor {plural(after - 1, 'draft')} after "
        f"it; at the α = {number(before, 3)} of the drafts before, that has probability {_odds(chance)}: the drafter "
        f"works for {plural(j, 'draft')} only (its own cache or hidden state is wrong after that, or it was trained "
        f"for no more); κ = {j} loses nothing"
    )
    return Fault("ZEROS_AFTER_A_POSITION", says, True, chance)


def _weak_position(seen: _Seen) -> Fault | None:
    """One position far below the one before and the one after it."""
    worst: Fault | None = None
    for j in range(1, len(seen.reached) - 1):
        if not seen.reached[j] or not seen.alpha(j) < 0.5 * min(seen.alpha(j - 1), seen.alpha(j + 1)):
            continue
        chance = max(_fewer(seen, j, j - 1), _fewer(seen, j, j + 1))
        if chance * len(seen.reached) < CHANCE and (worst is None or chance < (worst.chance or 1.0)):
            says = (
                f"draft {j + 1} alone is weak: α = {number(seen.alpha(j), 3)} between {number(seen.alpha(j - 1), 3)} "
                f"and {number(seen.alpha(j + 1), 3)} (probability {_odds(chance)} if alike): one broken head or step"
            )
            worst = Fault("BROKEN_POSITION", says, True, chance)
    return worst


def _all_or_nothing(seen: _Seen) -> Fault | None:
    own = seen.observed
    none = int(own.count[own.accepted == 0].sum())
    full = int(own.count[own.accepted == own.drafted].sum())
    middle = own.rounds - none - full
    later, chance = _later(seen)
    if later is None or not (full > middle and later - seen.alpha(0) >= RISE and chance < NOTED):
        return None
    says = (
        f"all or nothing: {none:,} rounds accept no draft, {full:,} all of them, {middle:,} some; α is "
        f"{number(seen.alpha(0), 3)} for the first draft and {number(later, 3)} after an accepted one: two kinds of "
        f"text (copied and new), which the mean hides; gate drafting rather than tune κ"
    )
    return Fault("ALL_OR_NOTHING", says, False, chance)


def _replayed(seen: _Seen) -> Fault | None:
    """From one position on every examined draft accepted, though first ones are not."""
    own = seen.observed
    deep = int((seen.examined >= FEWEST).sum())
    first = deep
    while first > 1 and seen.reached[first - 1] == seen.examined[first - 1]:
        first -= 1
    risk = int(seen.examined[first:deep].sum())
    if first == deep or seen.alpha(0) ** risk >= CHANCE:
        return None
    # one request that repeats itself can make all of them: requests count once
    trials = int((own.examined_by_group()[:, first] > 0).sum()) if own.clustered else risk
    odds = SURE**trials
    if odds >= NOTED:
        return None
    says = (
        f"drafts {first + 1} to {deep} were accepted every time they were examined, {risk:,} times, though draft 1 has "
        f"α = {number(seen.alpha(0), 3)} (probability {_odds(odds)} even at {SURE}): drafts already verified are "
        "replayed and counted again, or the output repeats itself"
    )
    return Fault("REPLAYED_DRAFTS", says, odds < CHANCE and len(own.kappas) == 1, odds)


def _rising(seen: _Seen) -> Fault | None:
    """α that rises with depth, of which requests of several difficulties are the usual cause."""
    later, chance = _later(seen)
    if later is None or chance >= NOTED or _all_or_nothing(seen) is not None or _replayed(seen) is not None:
        return None
    says = (
        f"α rises with depth, from {number(seen.alpha(0), 3)} to {number(later, 3)} after the first draft: requests "
        "(or stretches) of different difficulty, of which the easy ones get deep; no single α fits, S_1 moves with κ"
    )
    if len(seen.observed.kappas) > 1:
        says += "; a κ that follows past acceptance does the same"
    return Fault("ALPHA_RISES_WITH_DEPTH", says, False, chance)


def _moving(seen: _Seen) -> Fault | None:
    """Drift along the file, by request or line where they are known."""
    own, drift = seen.observed, Drift()
    if own.unit == NO_UNIT and not own.ordered:
        return None
    examined = np.minimum(own.accepted + 1, own.drafted)
    if own.unit == NO_UNIT:
        drift.add(own.accepted, examined)
    else:
        drift.add(own.reached_by_group().sum(axis=1), own.examined_by_group().sum(axis=1))
    chance = drift.chance()
    if chance is None or chance >= Drift.FALSE_ALARM:
        return None
    unit = "rounds" if own.unit == NO_UNIT else f"{own.unit}s"
    says = (
        f"α moves along the file: as much between blocks of {unit} has probability {_odds(chance)} if they are alike; "
        "the average belongs to no stretch of it, and a difference to another run may be one of content or load"
    )
    return Fault("NON_STATIONARY", says, False, chance)


_LOOKS: tuple[Callable[[_Seen], Fault | None], ...] = (
    _nothing, _everything, _zeros, _weak_position, _replayed, _all_or_nothing, _rising, _moving,
)  # fmt: skip


def _later(seen: _Seen) -> tuple[float | None, float]:
    """α of all drafts after the first, and the chance that it is so far above the first one's."""
    hits, risk = int(seen.reached[1:].sum()), int(seen.examined[1:].sum())
    if risk == 0:
        return None, 1.0
    return hits / risk, _tail(int(seen.reached[0]), int(seen.examined[0]), hits, risk)


def _fewer(seen: _Seen, j: int, other: int) -> float:
    hits, risk = (tuple(int(column[i]) for i in (j, other)) for column in (seen.reached, seen.examined))
    return _tail(hits[0], risk[0], hits[1], risk[1])


def _tail(hits: int, risk: int, other_hits: int, other_risk: int) -> float:
    """Chance that so few of all hits fall to the first, if both have one rate (Fisher's exact test)."""
    from scipy.stats import hypergeom

    return float(hypergeom.cdf(hits, risk + other_risk, hits + other_hits, risk))


def _odds(chance: float) -> str:
    """A probability as text.

    Examples
    --------
    >>> _odds(0.0), _odds(0.0123), _odds(2e-9)
    ('below 1e-300', '0.012', '2.0e-09')
    """
    if chance < 1e-300:
        return "below 1e-300"
    return f"{chance:.1e}" if chance < 1e-3 else f"{chance:.2g}"
